"""Whether a policy lets anything of hidden rows reach a reader: made statements, run for that reader and judged."""
