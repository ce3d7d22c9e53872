"""SQL: text -> tree -> facts -> decision -> text, all pure."""
