"""Answers, charts and words on a terminal."""
