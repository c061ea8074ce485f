"""Views as lists of numbers: which element of a variable each index means.

    [3, 0, 4, 6]                  space 3, from its position 0, of shape (4, 6), row by row
    [3, 0, 4, 6, [1, 4]]          with these dimensions: transposed
    [3, 0, 24, [[[6, 1], [4, 6]]]]   a dimension of several digits
    [-1, 7, 5]                    of concatenation 0
    [null, 0, 5]                  nothing, of that shape

Spaces from 0 up are variables, those below it concatenations, each listed once, after the ones that
it is made of.  A view is read only where it stays within its space.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from poplite.arrays.digits import Dim, coalesce, pack, row_major
from poplite.codec.archive import ArrayReader, ArrayWriter
from poplite.codec.coders import WHOLE, Json
from poplite.codec.loading import Malformed, at, check_room, shown
from poplite.graph.storage.variable import Variable
from poplite.view import Cat, Storage, View, empty
from poplite.view.slices import SlicedViews
from poplite.view.view import NOWHERE

MOST = 1 << 62
"""Elements of a view, and steps of a dimension, stay below it."""

BYTES_A_PIECE = 192
"""Memory of a piece of a concatenation, where its pieces are looked at one by one."""

MOST_LEVELS = 128
"""Concatenations within each other."""


class ViewWriter:
    """Writes views, and lists the concatenations below them."""

    def __init__(self, arrays: ArrayWriter) -> None:
        self.spaces: list[Json] = []
        self._arrays = arrays
        self._numbers: dict[int, int] = {}
        self._kept: list[Cat] = []

    def encode(self, view: View) -> Json:
        """Return a view as JSON."""
        if view.space is NOWHERE:
            return [None, 0, *view.shape]
        usual = row_major(view.shape)
        dims = [
            d if size > 1 else u for size, d, u in zip(view.shape, view.dims, usual, strict=True)
        ]
        data = [self._number(view.space), view.off, *view.shape]
        return data if tuple(dims) == usual else [*data, [_listed(dim) for dim in dims]]

    def _number(self, space: Storage | Cat) -> int:
        if isinstance(space, Storage):
            return space.id
        if id(space) not in self._numbers:
            kids = space.kids
            made: Json
            if isinstance(kids, tuple):
                made = [space.outer, [self.encode(kid) for kid in kids]]
            else:
                slices = [self._arrays.add(each) for each in (kids.extent, kids.off)]
                made = [space.outer, self.encode(kids.template), *slices]
            self._kept.append(space)  # so that no other gets its id
            self._numbers[id(space)] = -1 - len(self.spaces)
            self.spaces.append(made)
        return self._numbers[id(space)]


def _listed(dim: Dim) -> Json:
    return dim if isinstance(dim, int) else [list(digit) for digit in dim]


class ViewReader:
    """Reads views of the variables of a graph."""

    def __init__(self, variables: Sequence[Variable], arrays: ArrayReader) -> None:
        self._variables, self._arrays = variables, arrays
        self._spaces: list[Cat] = []
        self._pieces: dict[int, int] = {}  # of each concatenation, by its id

    def read_spaces(self, data: Json) -> None:
        """Read the concatenations that `ViewWriter.spaces` lists."""
        if type(data) is not list:
            raise Malformed(f"{shown(data)} is no list of concatenations")
        for number, each in enumerate(data):
            with at(f"[{number}]"):
                self._spaces.append(self._space(each))

    def decode(self, data: Json) -> View:
        """Return the view of JSON; raise `Malformed` when there is none."""
        if type(data) is not list or len(data) < 2:
            raise Malformed(f"{shown(data)} is no view")
        number, off, *shape = data
        given = shape.pop() if shape and type(shape[-1]) is list else None
        if not all(type(size) is int and 0 <= size < MOST for size in shape):
            raise Malformed(f"{shown(shape)} is no shape")
        if number is None:
            if off != 0 or given is not None or math.prod(shape):
                raise Malformed(f"{shown(data)} is no view of nothing")
            return empty(tuple(shape))
        if not 0 < math.prod(shape) < MOST or len(shape) > 32:
            raise Malformed(f"{shown(data)} has no elements, or too many")
        dims = row_major(shape) if given is None else _dims(given, shape)
        space = self._space_numbered(number)
        if type(off) is not int or not _is_within(shape, dims, off, space.num_elements):
            raise Malformed(f"{shown(data)} leaves its space of {space.num_elements:,} elements")
        return View(tuple(shape), dims, off, space)

    def _space_numbered(self, number: Any) -> Storage | Cat:
        if type(number) is int and 0 <= number < len(self._variables):
            return self._variables[number]
        if type(number) is int and -len(self._spaces) <= number < 0:
            return self._spaces[-1 - number]
        raise Malformed(f"{shown(number)} is the number of no variable and no concatenation")

    def _space(self, data: Json) -> Cat:
        match data:
            case [int(outer), list(kids)] if kids and type(outer) is int and outer > 0:
                views = tuple(self.decode(kid) for kid in kids)
                if not all(len(kid.shape) == 2 and kid.shape[0] == outer for kid in views):
                    raise Malformed(f"its views are not {outer:,} rows each")
                made = Cat(views, outer)
            case [int(outer), template, extent, off] if type(outer) is int and outer > 0:
                made = Cat(self._slices(template, extent, off, outer), outer)
            case _:
                raise Malformed(f"{shown(data)} is no concatenation")
        if made.levels > MOST_LEVELS or made.num_elements >= MOST:
            raise Malformed("it is too large, or nested too deeply")
        pieces = self._pieces_of(made.kids)
        check_room(BYTES_A_PIECE * pieces, f"a concatenation of {pieces:,} pieces")
        self._pieces[id(made)] = pieces
        return made

    def _pieces_of(self, views: Sequence[View]) -> int:
        """Return of how many views of variables views consist at most: none has fewer elements."""
        if isinstance(views, SlicedViews):
            outer, _, inner = views.template.shape
            most = self._pieces.get(id(views.template.space), 1)
            return int(np.minimum(views.extent * (outer * inner), most).sum())
        return sum(min(self._pieces.get(id(v.space), 1), math.prod(v.shape)) for v in views)

    def _slices(self, template: Json, extent: Json, off: Json, outer: int) -> SlicedViews:
        view = self.decode(template)
        extents, offs = self._arrays.take(extent), self._arrays.take(off)
        is_one_each = extents.dtype == offs.dtype == np.int64 and extents.ndim == 1
        if not is_one_each or extents.shape != offs.shape or not extents.size:
            raise Malformed("its slices are not two lists of equal length")
        if len(view.shape) != 3 or view.shape[0] != outer or not isinstance(view.dims[1], int):
            raise Malformed(f"{shown(template)} cannot be cut")
        if extents.min() < 1 or extents.max() >= MOST // (view.shape[2] * len(extents)):
            raise Malformed("a slice has no element, or too many")
        (_, _, inner), (first, _, rest) = view.shape, view.dims
        stride = view.dims[1]
        size = view.space.num_elements
        if offs.min() < 0 or offs.max() >= size or abs(stride) >= size:
            raise Malformed("a slice leaves its space")
        if outer > 1 or inner > 1:
            low, high = _reach((outer, inner), (first, rest))
        else:
            low = high = 0
        if extents.max() > size and stride:
            raise Malformed("a slice leaves its space")
        reach = (extents - 1) * stride
        if (offs + low + np.minimum(reach, 0)).min() < 0:
            raise Malformed("a slice leaves its space")
        if (offs + high + np.maximum(reach, 0)).max() >= size:
            raise Malformed("a slice leaves its space")
        return SlicedViews(view, extents, offs)


def _dims(given: Json, shape: Sequence[int]) -> tuple[Dim, ...]:
    """Return dimensions as views have them: digits that cannot be joined."""
    if len(given) != len(shape):
        raise Malformed(f"{shown(given)} are no dimensions of {len(shape)}")
    found: list[Dim] = []
    for size, each in zip(shape, given, strict=True):
        digits = each if type(each) is list else [[size, each]]
        numbers = [pair for pair in digits if type(pair) is list and len(pair) == 2]
        if len(numbers) < len(digits) or not all(
            type(n) is int and -MOST < n < MOST for pair in numbers for n in pair
        ):
            raise Malformed(f"{shown(each)} is no dimension")
        if type(each) is list:
            pairs = [(extent, stride) for extent, stride in numbers]
            whole = len(pairs) > 1 and min(extent for extent, _ in pairs) > 1
            if not whole or math.prod(extent for extent, _ in pairs) != size:
                raise Malformed(f"{shown(each)} is no dimension of {size:,}")
            if pack(coalesce(pairs)) != tuple(pairs):
                raise Malformed(f"{shown(each)} has digits that can be joined")
            found.append(tuple(pairs))
        else:
            found.append(each)
    return tuple(found)


def _reach(shape: Sequence[int], dims: Sequence[Dim]) -> tuple[int, int]:
    """Return the least and the greatest position, from the first element on."""
    low = high = 0
    for size, dim in zip(shape, dims, strict=True):
        for extent, stride in ((size, dim),) if isinstance(dim, int) else dim:
            low += min(0, (extent - 1) * stride)
            high += max(0, (extent - 1) * stride)
    return low, high


def _is_within(shape: Sequence[int], dims: Sequence[Dim], off: int, size: int) -> bool:
    low, high = _reach(shape, dims)
    return off in WHOLE and off + low >= 0 and off + high < size
