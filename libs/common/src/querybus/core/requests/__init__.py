"""What a caller may ask for beside words: figures by name, and a change to how an answer was read."""
