"""Commands: `poplite-viz` draws graphs and mappings."""
