"""Subcommands that draw a report: what was compiled, and what runs took."""
