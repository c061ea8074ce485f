"""Subcommands that draw a graph and its programs, as they were built."""
