"""Commands: `poplite-viz` draws graphs and mappings; and how scripts end."""
