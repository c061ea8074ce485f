"""Places for results of PopLibs' functions: tiles, programs, compute sets.

Source: PopLibs, `popops::createOutputForElementWiseOp`, `poputil::TensorUseTracker`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from zlib import crc32

import numpy as np

from poplite.arrays.intervals import Int64, Interval
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
)
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.partition import cut_regions
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.fuse.placement import grain_of
from poplite.program import Sequence as Steps
from poplite.program.recording import ComputeSetList
from poplite.text import clipped, integer_or_none, of_type


def part_ends(what: str, size: int, grain: int, most: int, least: int) -> Int64:
    """Return where parts of nearly equal size end: as few parts as have no larger one."""
    numbers = {"grain": grain, "parts": most, "minimum": least}
    for name, number in numbers.items():
        if integer_or_none(number) is None or number < (name != "minimum"):
            raise InvalidOption(
                f"poputil.{what}: {name} {clipped(number)}",
                found=", ".join(f"{each} {clipped(n)}" for each, n in numbers.items()),
                fix="whole numbers of at least 1; the minimum may be 0",
            )
    grain = min(grain, max(1, size))
    grains = -(-size // grain)
    largest = -(-grains // most)
    if least:
        largest = max(largest, -(-grains // max(1, grains // -(-least // grain))))
    parts = -(-grains // max(1, largest))
    return np.minimum(np.arange(1, parts + 1) * grains // max(1, parts) * grain, size)


def linear_mapping(
    tiles: int, size: int, grain: int, least: int, offset: int = 0, *, ascending: bool = True
) -> TileMapping:
    """Return a mapping of elements in order, from a tile on; tiles wrap around at the last."""
    ends = part_ends("mapTensorLinearly", size, grain, tiles, least)
    tile = (np.arange(len(ends)) + offset % tiles) % tiles
    tile = tile if ascending else tiles - 1 - tile
    return TileMapping(tiles, tile, np.diff(ends, prepend=0))


def output_mapping(graph: Graph, inputs: Iterable[object], result: Tensor | Expr) -> TileMapping:
    """Return the mapping of the result of an elementwise function, a tensor or an expression.

    It is that of the input whose fullest tile has least; of equal ones, the one on most tiles, then
    of fewest pieces. Inputs that are broadcast, or hold an element twice, do not count.
    """
    tensors = [each for each in inputs if isinstance(each, Tensor)]
    sized = [each for each in tensors if each.shape == result.shape]
    chosen = [each for each in sized if not each.contains_aliases()]
    if not chosen and sized and sized[0].num_elements == 1:
        chosen = sized[:1]
    if chosen:
        found = [graph.tile_mapping(each) for each in chosen]
        return min(
            found,
            key=lambda mapping: (
                mapping.elements_per_tile.max(initial=0),
                -len(mapping.tiles),
                len(mapping.begin),
            ),
        )
    grain = grain_of(result.element_type)
    return linear_mapping(graph.target.tiles, result.num_elements, grain, 0)


def mapping_by_use(graph: Graph, full: Tensor, dim: int, element: ElementClass) -> TileMapping:
    """Return the mapping of a vector that is broadcast along all dimensions of a tensor but one.

    Elements are shared among the tiles that use them; neighbours that some tile uses both, among
    the tiles of both.
    """
    size = full.shape[dim]
    mapping = graph.tile_mapping(full.dim_roll(dim, full.rank - 1))
    tile = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    groups: dict[tuple[int, ...], list[Interval]] = {}
    for low, high, users in _joined(_uses(tile, mapping.begin, mapping.end, size)):
        groups.setdefault(tuple(sorted(users)), []).append(Interval(low, high))
    owner = np.zeros(size, np.int64)
    for tiles, held in groups.items():
        count = sum(end - begin for begin, end in held)
        ends = part_ends("createBroadcastOperand", count, grain_of(element), len(tiles), 0)
        for each, part in zip(tiles, cut_regions(held, ends), strict=False):
            for begin, end in part:
                owner[begin:end] = each
    return TileMapping(len(mapping), owner, np.ones(size, np.int64))


def dithered(mapping: TileMapping, shape: Sequence[int]) -> TileMapping:
    """Return a mapping whose tiles are moved on, by as many as follow from a shape."""
    tiles = len(mapping)
    by = crc32(str(tuple(shape)).encode())
    return mapping.renumbered((np.arange(tiles) + by) % tiles, tiles)


def _uses(tile: Int64, begin: Int64, end: Int64, size: int) -> list[tuple[int, int, set[int]]]:
    """Return ranges of the vector that the same tiles use, in order: intervals count modulo."""
    changes: dict[int, list[tuple[int, int]]] = {0: []}
    for at, first, last in zip(tile.tolist(), begin.tolist(), end.tolist(), strict=True):
        low, high = first % size, (last - 1) % size + 1
        whole = last - first >= size
        ranges = [(0, size)] if whole else [(low, high)] if low < high else [(low, size), (0, high)]
        for each, stop in ranges:
            changes.setdefault(each, []).append((at, 1))
            changes.setdefault(stop, []).append((at, -1))
    counts: dict[int, int] = {}
    found = []
    breaks = sorted({*changes, size})
    for low, high in zip(breaks[:-1], breaks[1:], strict=True):
        for at, by in changes.get(low, ()):
            counts[at] = counts.get(at, 0) + by
            if not counts[at]:
                del counts[at]
        found.append((low, high, set(counts)))
    return found


def _joined(uses: list[tuple[int, int, set[int]]]) -> list[tuple[int, int, set[int]]]:
    """Return neighbouring ranges that have a user in common as one, with the users of all."""
    found: list[tuple[int, int, set[int]]] = []
    for low, high, users in uses:
        if found and found[-1][2] & users:
            begin, _, before = found[-1]
            found[-1] = begin, high, before | users
        else:
            found.append((low, high, users))
    return found


# -- compute sets in place of a program ------------------------------------------------------------
#
#     popops::cast(graph, src, dst, cs)                    vertices beside those that cs has
#     popops::reduce(graph, in, {0}, params, css)          of each step in another one of a list
#
# Other functions refuse them: their steps are more than vertices.


Place: TypeAlias = Steps | ComputeSet | None
"""Where the steps of a function go; None for the block that is open."""

Places: TypeAlias = Steps | list[ComputeSet] | None


def one_set(what: str, graph: Graph, place: Place) -> Steps | None:
    """Return what takes the step of a function: a program as it is, and a compute set as one."""
    if not isinstance(place, ComputeSet):
        return place
    return ComputeSetList([checked_set(what, graph, place)], most=1)


def list_of_sets(what: str, graph: Graph, place: Places) -> Steps | None:
    """Return what takes the steps of a function: a program as it is, a list of sets as one.

    What the list lacks is appended to it.
    """
    if isinstance(place, ComputeSet):
        raise ControlProgramError(
            f"{what}: compute set '{place.name}' in place of a list of them",
            found="its steps are compute sets, of which those that are missing are appended",
            fix=f"css = [cs]; {what}(..., css), and Execute each of css in order",
        )
    if not isinstance(place, list):
        return place
    for each in place:
        checked_set(what, graph, each)
    return ComputeSetList(place)


def checked_set(what: str, graph: Graph, each: object) -> ComputeSet:
    """Return a compute set of a graph, or raise."""
    if not isinstance(each, ComputeSet):
        raise ElementTypeError(
            f"{what}: {clipped(each)} where a compute set is asked for",
            found=of_type(each),
            fix="a compute set, as graph.add_compute_set makes it",
        )
    if each.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{what}: compute set '{each.name}' belongs to another graph",
            found=f"this is {graph!r}, the compute set's is {each.graph!r}",
            fix="graph.add_compute_set(name) of the graph of the tensors",
        )
    return each
