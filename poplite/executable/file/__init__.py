"""Executables as files, written and loaded with suspicion."""
