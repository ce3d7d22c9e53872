"""What operators' commands do."""
