"""`python -m querybus_executor` runs the executor."""

from querybus.ops.start import run_main

run_main("querybus_executor.app")
