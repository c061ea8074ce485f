"""Sorted contiguous regions: the order of memory without sorting, whole and by tile.

    python benchmarks/views_order.py [--samples 9] [--json FILE] [--small]

The tensor is a matrix, transposed; the baselines sort its addresses with NumPy, and for the rows
by tile start from the addresses and positions of each tile, already apart.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

import poplite as pl
from rows import Row, in_turn, run

TILES = 1472


def matrix(small: bool) -> tuple[pl.Graph, pl.Tensor, npt.NDArray[np.int64]]:
    """Return a transposed matrix spread over all tiles, and its addresses."""
    n = 64 if small else 4096
    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.FLOAT, (n, n), "x", mapping="linear")
    return graph, x.T, np.ascontiguousarray(np.arange(n * n).reshape(n, n).T).reshape(-1)


def whole_row(small: bool, samples: int) -> Row:
    """The whole tensor against argsort."""
    graph, tensor, addresses = matrix(small)
    groups = graph.sorted_contiguous_regions(tensor)
    if len(groups) != 1 or (groups.begin != np.argsort(addresses)).any():
        sys.exit("sorted regions differ from argsort")
    ours, baseline = in_turn(
        lambda: graph.sorted_contiguous_regions(tensor),
        lambda: np.argsort(addresses, kind="stable"),
        samples,
    )
    name = f"T13 sorted regions, {len(addresses):,} transposed: argsort / poplite"
    return Row(name, min(baseline) / min(ours), "x", ">=", 20.0, ours, baseline)


def tiles_row(small: bool, samples: int) -> Row:
    """Every tile's groups against an argsort of every tile."""
    graph, tensor, addresses = matrix(small)
    mapping = graph.variable_tile_mapping(tensor)
    last = np.searchsorted(mapping.end, addresses, side="right")
    by_tile = np.argsort(last, kind="stable")
    cuts = np.searchsorted(last[by_tile], np.arange(len(mapping.end) + 1))
    apart = [(addresses[by_tile[a:b]], by_tile[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]

    def sort_each() -> list[npt.NDArray[np.int64]]:
        return [position[np.argsort(address, kind="stable")] for address, position in apart]

    groups = graph.sorted_contiguous_regions_by_tile(tensor).groups
    if (groups.begin != np.concatenate(sort_each())).any():
        sys.exit("sorted regions by tile differ from argsort")
    ours, baseline = in_turn(
        lambda: graph.sorted_contiguous_regions_by_tile(tensor), sort_each, samples
    )
    name = f"T13 the same on {TILES:,} tiles: argsort of each / poplite"
    return Row(name, min(baseline) / min(ours), "x", ">=", 8.0, ours, baseline)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [make(small, samples) for make in (whole_row, tiles_row)]


if __name__ == "__main__":
    sys.exit(run(__doc__.partition("\n")[0], rows))
