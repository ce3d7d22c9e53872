"""What of a thread enters a prompt, and what of a reply leaves while it comes."""
