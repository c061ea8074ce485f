"""Compiled programs as data, the input of every device."""
