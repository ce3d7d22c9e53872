"""What the words of a question say by rule, before any model: a change of data, a refinement, a word without a definition."""
