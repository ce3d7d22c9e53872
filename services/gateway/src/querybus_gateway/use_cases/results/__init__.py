"""A finished query's rows: page by page, as a file, as a chart."""
