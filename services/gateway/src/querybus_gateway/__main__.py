"""`python -m querybus_gateway` runs the service."""

from querybus.ops.start import run_main

if __name__ == "__main__":
    run_main("querybus_gateway.app")
