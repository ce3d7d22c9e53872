"""What short and foreign names stand for: abbreviations, German and French words, codes of countries and states. Pure."""
