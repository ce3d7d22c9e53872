"""`python -m querybus_generator` runs the generator."""

from querybus.ops.start import run_main

run_main("querybus_generator.app")
