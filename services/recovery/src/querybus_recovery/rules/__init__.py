"""Repair rules and the pipeline that tries them in memory."""
