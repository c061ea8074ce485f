"""Subcommands that tell what runs took: steps, exchange, operations, order, changes."""
