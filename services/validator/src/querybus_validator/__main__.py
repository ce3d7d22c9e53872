"""`python -m querybus_validator` runs the validator."""

from querybus.ops.start import run_main

run_main("querybus_validator.app")
