"""How right answers are, measured over files of questions."""
