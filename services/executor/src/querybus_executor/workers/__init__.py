"""Processes in which embedded engines run, and what passes between them and the executor."""
