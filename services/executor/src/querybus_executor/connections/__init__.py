"""The configured connections: file, diagnosis, reload, the databases behind them."""
