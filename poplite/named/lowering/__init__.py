"""From named operations to expressions of `poplite.ops` over views, and their steps."""
