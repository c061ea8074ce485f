"""The vertices of examples/."""

from __future__ import annotations

import numpy as np

from helpers.recipes.shared import (
    Expected,
    Recipe,
    Values,
    diffuse,
    dot,
    floats,
    of_two,
    slice_,
    sum_,
)
from helpers.vertex_classes import Key


def blur(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 7, 2))
    x = floats(rng, rows + 2, (cols + 2) * 4)
    y = np.float32(0.0625) * x[:-2, :-8]
    for r in range(3):
        for c in range(3):
            if (r, c) != (0, 0):
                weight = np.float32((1, 2, 1)[r] * (1, 2, 1)[c] / 16)
                y = y + weight * x[r : r + rows, 4 * c : 4 * (c + cols)]
    return {"x": x, "y": floats(rng, rows, cols * 4)}, {"y": y}


def sort_block(rng: np.random.Generator) -> tuple[Values, Expected]:
    keys = rng.integers(-50, 50, int(rng.integers(0, 40)), np.int32)
    return {"keys": keys}, {"keys": np.sort(keys)}


def merge_split(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 20))
    left, right = (np.sort(rng.integers(low, 50, n, np.int32)) for low in (-50, -20))
    if rng.integers(2):
        left, right = left - 100, right
    merged = np.sort(np.concatenate([left, right]))
    swapped = np.array([left[-1] > right[0]])
    values: Values = {"left": left, "right": right, "swapped": ~swapped}
    return values, {"left": merged[:n], "right": merged[n:], "swapped": swapped}


def expand(rng: np.random.Generator) -> tuple[Values, Expected]:
    block = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 9)))) < 0.3
    rows, columns = np.nonzero(block)
    starts = np.searchsorted(rows, np.arange(len(block) + 1)).astype(np.uint16)
    frontier = rng.random(block.shape[1]) < 0.5
    hit = np.asarray((block & frontier).any(axis=1))
    matrix: Values = {"starts": starts, "columns": columns.astype(np.uint16)}
    return {**matrix, "frontier": frontier, "hit": np.logical_not(hit)}, {"hit": hit}


RECIPES: dict[Key, Recipe] = {
    ("examples/bfs.py", "Expand"): expand,
    ("examples/first_tiles.py", "SuffixSum"): sum_("tail", "total"),
    ("examples/heat.py", "Diffuse"): diffuse,
    ("examples/matvec.py", "Dot"): dot("row", "x", "partial"),
    ("examples/matvec.py", "Sum"): sum_("partials", "y"),
    ("examples/photo.py", "Blur"): blur,
    ("examples/pi.py", "Slice"): slice_,
    ("examples/sort.py", "MergeSplit"): merge_split,
    ("examples/sort.py", "SortBlock"): sort_block,
    ("examples/streams.py", "Add"): of_two(np.add, ("x", "y", "z")),
}
