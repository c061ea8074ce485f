"""The program tree."""
