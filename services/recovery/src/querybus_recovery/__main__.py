"""`python -m querybus_recovery` runs recovery."""

from querybus_recovery.app import main

main()
