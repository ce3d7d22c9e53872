"""Oracle through oracledb."""
