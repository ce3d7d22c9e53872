"""Rules for missing and wrong joins."""
