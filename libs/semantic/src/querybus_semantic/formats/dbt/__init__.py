"""dbt's files: models, metrics, filters and the few Jinja calls that are read."""
