"""`python -m querybus_recovery` runs recovery."""

from querybus.ops.start import run_main

run_main("querybus_recovery.app")
