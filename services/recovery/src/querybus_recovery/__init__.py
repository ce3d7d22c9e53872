"""Turns a failure into a repaired draft, a returned draft with advice, or a conclusion."""
