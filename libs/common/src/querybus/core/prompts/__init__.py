"""Rendering of prompts; the texts belong to the services that use them."""
