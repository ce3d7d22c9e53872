"""Rules for names that do not resolve or resolve twice."""
