"""What a regions picture shows: tensors as intervals of the variables below them.

The variables lie on a strip one after the other; an interval is a range of the strip::

    strip        a a a a a a b b b        positions 0 to 8, tiles below them
    x.reverse    5 4 3 2 1 0              6 intervals of 1
    concat       0 1 2 3 4 5 6 7 8        2 intervals: none joins two variables

>>> from poplite.graph import Graph
>>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
>>> frames = frames_of(x, [read_operation("1:3, ::2"), read_operation("dimShuffle 1,0")])
>>> [(frame.shape, frame.num_intervals) for frame in frames.frames]
[((4, 6), 1), ((2, 3), 6), ((3, 2), 6)]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.frozen import frozen
from poplite.graph.tensor.tensor_text import made_from
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.graph.variable_mapping import split
from poplite.types import type_text
from poplite.view import num_runs, runs, storages
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import name_text, shape_text
from poplite.viz.tensors.views import TensorOperation, applied, read_operation

if TYPE_CHECKING:
    from poplite.graph.space import Variable
    from poplite.graph.tensor.tensor import Tensor
    from poplite.viz.tensors.field import FieldCopies


MOST_INTERVALS = 1 << 20
"""Intervals of the finest tensor of a picture."""

__all__ = ["Frame", "TileRuns", "RegionFrames", "Strip", "frames_of", "read_operation"]


@frozen(eq=False)
class TileRuns:
    """Consecutive elements of one tile: int64[n] each, in order.

    Attributes:
        begin: first elements.
        length: elements of each.
        tile: their tiles, -1 for none.
    """

    begin: Int64
    length: Int64
    tile: Int64

    def tiles(self) -> Int64:
        """Return the tiles that have elements, rising."""
        return np.unique(self.tile[self.tile != NO_TILE])


@frozen(eq=False)
class Strip:
    """The memory of variables, one after the other.

    Attributes:
        names: of the variables, verbatim.
        first: int64[variables + 1], where each begins; the last is the end.
        pieces: the tiles of the elements, by position.
    """

    names: tuple[str, ...]
    first: Int64
    pieces: TileRuns

    @property
    def num_elements(self) -> int:
        """Elements of all variables."""
        return int(self.first[-1])

    def variable_at(self, position: int) -> int:
        """Return which variable a position is of."""
        return int(np.searchsorted(self.first, position, side="right")) - 1

    def interval_texts(self, begin: Int64, length: Int64) -> list[str]:
        """Return ranges of positions as elements of their variables.

        >>> nothing = np.empty(0, np.int64)
        >>> strip = Strip(("a", "b"), np.array([0, 6, 9]), TileRuns(nothing, nothing, nothing))
        >>> strip.interval_texts(np.array([1, 7]), np.array([4, 2]))
        ['a[1, 5)', 'b[1, 3)']
        """
        variable = np.searchsorted(self.first, begin, side="right") - 1
        low = begin - self.first[variable]
        names = [name_text(name) for name in self.names]
        numbers = zip(variable.tolist(), low.tolist(), (low + length).tolist(), strict=True)
        return [f"{names[number]}[{low:,}, {high:,})" for number, low, high in numbers]

    def tiles_within(self, begin: int, length: int) -> Int64:
        """Return the tiles of a range of positions, rising."""
        low, high = self._pieces_within(np.array([begin]), np.array([length]))
        return np.unique(self.pieces.tile[low[0] : high[0]])

    def tiles_texts(self, begin: Int64, length: Int64) -> list[str]:
        """Return the tiles of each range of positions in words, with "none" where there are none.

        >>> at, one = np.arange(3), np.ones(3, np.int64)
        >>> strip = Strip(("a",), np.array([0, 3]), TileRuns(at, one, at))
        >>> strip.tiles_texts(np.array([0, 1]), np.array([3, 1]))
        ['0-2', '1']
        """

        @cache
        def said(low: int, high: int) -> str:
            tiles = np.unique(self.pieces.tile[low:high])
            return ranges(tiles[tiles != NO_TILE])

        low, high = self._pieces_within(begin, length)
        return [said(*both) for both in zip(low.tolist(), high.tolist(), strict=True)]

    def _pieces_within(self, begin: Int64, length: Int64) -> tuple[Int64, Int64]:
        """Return which pieces ranges of positions begin in, and one past those that they end in."""
        low = np.searchsorted(self.pieces.begin + self.pieces.length, begin, side="right")
        high = np.searchsorted(self.pieces.begin, begin + length, side="left")
        return low, high


@frozen(eq=False)
class Frame:
    """A tensor.

    Attributes:
        operation: what made it of the tensor before; the name of the first one.
        type_name: its element type.
        begin: int64[intervals], positions on the strip, in the order of the tensor.
        length: int64[intervals], elements of each, above 0.
        pieces: the tiles of the tensor's elements, in row-major order.
    """

    operation: str
    type_name: str
    shape: tuple[int, ...]
    begin: Int64
    length: Int64
    pieces: TileRuns

    @property
    def num_elements(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def num_intervals(self) -> int:
        """Intervals that it is made of."""
        return len(self.begin)

    def positions(self) -> list[int]:
        """Return the position of each element."""
        ends = zip(self.begin.tolist(), self.length.tolist(), strict=True)
        return [place for begin, size in ends for place in range(begin, begin + size)]

    @property
    def type_and_shape(self) -> str:
        """As in `float32[4, 6]`."""
        return f"{self.type_name}{shape_text(self.shape)}"


@frozen(eq=False)
class RegionFrames:
    """Tensors, mostly one and what operations make of it one after the other.

    Attributes:
        title: what is shown.
        strip: the variables below all of them.
        frames: one for each tensor.
        field: what connecting the last one to a vertex costs; None where no field is shown.
        follows: whether each tensor is made of the one before.
    """

    title: str
    strip: Strip
    frames: tuple[Frame, ...]
    field: FieldCopies | None = None
    follows: bool = True


def frames_of(tensor: Tensor, operations: Sequence[TensorOperation]) -> RegionFrames:
    """Apply operations one after the other, and find the intervals after each.

    Raises what the operations raise, and SizeOverflowError for too many intervals.
    """
    tensors = [tensor]
    for operation in operations:
        tensors.append(applied(tensors[-1], operation))
    strip, base = strip_of(tensors)
    names = [name_text(tensor.name), *(operation.text for operation in operations)]
    frames = [frame_of(name, each, strip, base) for name, each in zip(names, tensors, strict=True)]
    title = f"regions of '{names[0]}' {frames[0].type_and_shape}"
    return RegionFrames(title, strip, tuple(frames))


def frames_of_tensors(tensors: Sequence[Tensor], names: Sequence[str] = ()) -> RegionFrames:
    """Find the intervals of tensors, whatever made them, after those of their whole variables.

    They have names, or what made them instead.

    Raises SizeOverflowError for too many intervals.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
    >>> [(each.operation, each.num_intervals) for each in frames_of_tensors([x.T[1:3]]).frames]
    [('x', 1), ("'x'[:, 1:3].T", 8)]
    """
    graph, variables = tensors[0].graph, variables_of(tensors)
    whole = {variable: graph.tensor(variable.name) for variable in variables}
    called = [name_text(name) for name in names or map(made_from, tensors)]
    drawn = [(name_text(variable.name), base) for variable, base in whole.items()]
    drawn += [
        (name, each)
        for name, each in zip(called, tensors, strict=True)
        if names or not any(each == base for base in whole.values())
    ]
    strip, base = strip_of([each for _, each in drawn])
    frames = tuple(frame_of(name, each, strip, base) for name, each in drawn)
    shown = ", ".join(called)
    return RegionFrames(f"regions of {shown}", strip, frames, follows=False)


def variables_of(tensors: Sequence[Tensor]) -> list[Variable]:
    """Return the variables below tensors, in the order in which they are met."""
    found = {storage: None for each in tensors for storage in storages(each.view)}
    return [tensors[0].graph.variable_of(storage) for storage in found]


def strip_of(tensors: Sequence[Tensor]) -> tuple[Strip, Int64]:
    """Return the strip of the variables below tensors, and the address where each begins."""
    variables = variables_of(tensors)
    first = np.cumsum([0, *(variable.num_elements for variable in variables)])
    begin, length, tile = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for variable, start in zip(variables, first.tolist(), strict=False):
        breaks, owner = variable.mapping.pieces()
        begin.append(breaks[:-1] + start)
        length.append(np.diff(breaks))
        tile.append(owner.astype(np.int64))
    pieces = TileRuns(np.concatenate(begin), np.concatenate(length), np.concatenate(tile))
    names = tuple(variable.name for variable in variables)
    base = np.array([variable.storage.base for variable in variables], np.int64)
    return Strip(names, first, pieces), base


def frame_of(name: str, tensor: Tensor, strip: Strip, base: Int64) -> Frame:
    """Return the intervals of a tensor; raises SizeOverflowError for too many of them."""
    count = num_runs(tensor.view)
    if count > MOST_INTERVALS:
        raise SizeOverflowError(
            f"{name} has {count:,} intervals, but at most {MOST_INTERVALS:,} can be drawn",
            at=None,
            found=f"its shape is {shape_text(tensor.shape)}",
            fix="take a part of it first, for instance --op '0:4'",
        )
    address, length = runs(tensor.view)
    owners = [(v.storage.base, v.mapping) for v in variables_of([tensor])]
    tile, _, own = split(owners, address, length)
    begin = np.cumsum(own) - own
    pieces = joined(TileRuns(begin, own, tile))
    order = np.argsort(base)
    owner = order[np.searchsorted(base[order], address, side="right") - 1]
    position = address - base[owner] + strip.first[owner]
    return Frame(
        name, type_text(tensor.element_type), tensor.shape, position, length.copy(), pieces
    )


def joined(pieces: TileRuns) -> TileRuns:
    """Join pieces that follow each other on one tile."""
    if not len(pieces.tile):
        return pieces
    starts = np.flatnonzero(np.diff(pieces.tile, prepend=pieces.tile[:1] - 1))
    begin = pieces.begin[starts]
    end = int(pieces.begin[-1] + pieces.length[-1])
    return TileRuns(begin, np.diff(np.append(begin, end)), pieces.tile[starts])


def regions_json(shown: RegionFrames) -> str:
    """Return the frames as JSON; intervals name the variable by position and its elements.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
    >>> '"variables": [' in regions_json(frames_of(x, []))
    True
    """
    first = shown.strip.first
    variables = [
        {"name": name, "elements": size}
        for name, size in zip(shown.strip.names, np.diff(first).tolist(), strict=True)
    ]
    data = {
        "title": shown.title,
        "variables": variables,
        "frames": [_frame_json(frame, first) for frame in shown.frames],
        "field": shown.field and shown.field.as_json(),
    }
    return json_text("regions", data)


def _frame_json(frame: Frame, first: Int64) -> dict[str, object]:
    variable = np.searchsorted(first, frame.begin, side="right") - 1
    return {
        "operation": frame.operation,
        "element_type": frame.type_name,
        "shape": frame.shape,
        "intervals": {
            "variable": variable.tolist(),
            "begin": (frame.begin - first[variable]).tolist(),
            "length": frame.length.tolist(),
        },
        "tiles": {
            "begin": frame.pieces.begin.tolist(),
            "length": frame.pieces.length.tolist(),
            "tile": [None if tile == NO_TILE else tile for tile in frame.pieces.tile.tolist()],
        },
    }
