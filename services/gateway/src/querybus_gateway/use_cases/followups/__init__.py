"""What goes on from an answer: choose an option, answer in own words, say yes, read it otherwise."""
