"""Snowflake through its connector."""
