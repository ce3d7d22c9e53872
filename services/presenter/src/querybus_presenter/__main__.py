"""`python -m querybus_presenter` runs the presenter."""

from querybus_presenter.app import main

main()
