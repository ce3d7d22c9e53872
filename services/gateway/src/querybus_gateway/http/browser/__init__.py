"""What a browser needs: the page and its files, and short-lived tokens."""
