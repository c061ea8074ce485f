"""Launches bound to memory, and what runs them."""
