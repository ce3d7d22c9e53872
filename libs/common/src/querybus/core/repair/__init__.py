"""One rule per file; the tuple of rules is the pipeline."""
