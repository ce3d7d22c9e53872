"""`python -m querybus_presenter` runs the presenter."""

from querybus.ops.start import run_main

run_main("querybus_presenter.app")
