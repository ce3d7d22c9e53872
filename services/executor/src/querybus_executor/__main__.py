"""`python -m querybus_executor` runs the executor."""

from querybus_executor.app import main

main()
