"""Views: operations, regions, aliases, sorted regions and tile mappings against NumPy and others.

    python benchmarks/views.py [--samples 9] [--json FILE] [--small]

Some rows compare with islpy, portion, bioframe, ncls or tinygrad 0.10.3; each says so and is
skipped where that is not installed.
"""

from __future__ import annotations

import sys

import views_aliases
import views_mapping
import views_ops
import views_order
import views_regions
from rows import Row, run


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of all parts."""
    parts = (views_ops, views_regions, views_aliases, views_order, views_mapping)
    return [row for part in parts for row in part.rows(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
