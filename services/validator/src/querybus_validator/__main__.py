"""`python -m querybus_validator` runs the validator."""

from querybus_validator.app import main

main()
