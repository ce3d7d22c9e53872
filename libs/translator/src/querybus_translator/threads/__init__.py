"""What the questions of a thread have to do with each other."""
