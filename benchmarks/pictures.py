"""Pictures: how long the tile map of a whole machine takes to draw, and how large it is.

    python benchmarks/pictures.py [--samples 9] [--json FILE] [--small]

The baseline writes a coloured rectangle with a tooltip for every tile, and nothing else.
"""

from __future__ import annotations

import sys

import numpy as np

import poplite as pl
from poplite.viz import tiles_svg
from rows import Row, in_turn, run


def machine() -> pl.Graph:
    """A Mk2 with a photograph and its weights spread over all tiles."""
    graph = pl.Graph()
    graph.add_variable(pl.FLOAT, (427, 640, 4), "image/a", mapping="linear")
    graph.add_variable(pl.FLOAT, (500,), "image/row", mapping="linear")
    return graph


def bare_svg(size_bytes: np.ndarray) -> str:
    """Return one rectangle a tile."""
    largest = int(size_bytes.max())
    shapes = [
        f'<rect x="{12 * (tile % 64)}" y="{12 * (tile // 64)}" width="11" height="11"'
        f' fill="hsl(200,60%,{90 - 60 * size // largest}%)">'
        f"<title>tile {tile}: {size:,} B</title></rect>"
        for tile, size in enumerate(size_bytes.tolist())
    ]
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    graph = machine()
    tiles = graph.target.tiles
    size_bytes = np.random.default_rng(0).integers(1, 10_000, tiles)
    ours, bare = in_turn(lambda: tiles_svg(graph), lambda: bare_svg(size_bytes), samples)
    name = f"tile map of {tiles:,} tiles"
    size = len(tiles_svg(graph).encode()) / 1000
    return [
        Row(f"{name}, drawn as SVG", min(ours), "s", "<=", 0.1, ours, bare),
        Row(f"{name}, size of the SVG", size, "kB", "<=", 200, ours, bare),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
