"""`python -m querybus_gateway` runs the service."""

from querybus_gateway.app import main

if __name__ == "__main__":
    main()
