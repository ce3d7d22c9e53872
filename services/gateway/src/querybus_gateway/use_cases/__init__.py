"""What the gateway can do, whatever API asks for it."""
