"""The captions of frames: the operation, its result, and how many intervals that is.

dimShuffle(1, 0): float32[49, 20], 49 x 20 intervals of 1 element (were 20 of 49)
on 4 tiles (0-3); not contiguous: a vertex field is gathered from 980 places
"""

from __future__ import annotations

import math

import numpy as np

from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.text import amount
from poplite.viz.regions.frames import Frame, RegionFrames


def captions(shown: RegionFrames, number: int, *, times: str = "\u00d7") -> list[str]:
    """Return the lines of a frame, by its position; `times` stands between counts."""
    frame = shown.frames[number]
    counted = intervals_text(frame, times)
    if number:
        before = shown.frames[number - 1]
        counted += f" (were {before.num_intervals:,}{_of_each(before)})"
    lines = [f"{frame.operation}: {frame.type_and_shape}, {counted}"]
    if shown.field is not None:
        return [*lines, *shown.field.lines()]
    return [*lines, f"{tiles_text(frame)}; {contiguity_text(frame)}"]


def intervals_text(frame: Frame, times: str) -> str:
    """Return how many intervals a frame has, of how many elements.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.regions.frames import frames_of, read_operation
    >>> x = Graph().add_variable("float32", (4, 6), "x")
    >>> shuffled = frames_of(x, [read_operation("dimShuffle 1,0")]).frames[1]
    >>> intervals_text(shuffled, "x")
    '6 x 4 intervals of 1 element'
    """
    count = frame.num_intervals
    if not count:
        return "no elements"
    low, high = int(frame.length.min()), int(frame.length.max())
    of = amount(low, "element") if low == high else f"{low:,} to {high:,} elements"
    return f"{_counted(frame, times)} {'interval' if count == 1 else 'intervals'} of {of}"


def _counted(frame: Frame, times: str) -> str:
    """Return the number of intervals, as a product where the leading dimensions give it."""
    for rank in range(2, len(frame.shape) + 1):
        sizes = [size for size in frame.shape[:rank] if size > 1]
        if math.prod(sizes) == frame.num_intervals and len(sizes) > 1:
            return f" {times} ".join(f"{size:,}" for size in sizes)
    return f"{frame.num_intervals:,}"


def _of_each(frame: Frame) -> str:
    lengths = np.unique(frame.length)
    return f" of {int(lengths[0]):,}" if len(lengths) == 1 else ""


def tiles_text(frame: Frame) -> str:
    """Return the tiles of a frame."""
    tiles = frame.pieces.tiles()
    if not len(tiles):
        return "on no tile"
    missing = int(frame.pieces.length[frame.pieces.tile == NO_TILE].sum())
    unmapped = f", {amount(missing, 'element')} unmapped" if missing else ""
    return f"on {amount(len(tiles), 'tile')} ({ranges(tiles)}){unmapped}"


def contiguity_text(frame: Frame) -> str:
    """Return whether a field that is connected to a frame is consecutive."""
    if frame.num_intervals < 2:
        return "contiguous"
    places = f"{frame.num_intervals:,} places"
    return f"not contiguous: a vertex field is gathered from {places}"
