"""Turns a failure into a mended draft, a returned draft with advice, or a conclusion."""
