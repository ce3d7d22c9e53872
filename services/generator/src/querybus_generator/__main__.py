"""`python -m querybus_generator` runs the generator."""

from querybus_generator.app import main

main()
