"""How sure a reading is, how it is said, what is asked back."""
