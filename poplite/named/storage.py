"""How tensors are stored: the innermost axis by votes of their readers, tiles by hints.

    reader                           votes for                        because
    a sum over some of the axes      the last summed axis             tiles have complete sums
    dot, as the left matrix          the last summed axis             its blocks are read by rows
    dot, as the right matrix         the last of its own axes         its blocks are read by rows
    nmap over vertices               the last axis a vertex sees      it reads rows

A vote is weighted by the number of elements read. Tensors that are combined elementwise vote
together, since a common order needs no exchange; elementwise operations themselves do not
vote. The most votes win; with a tie, or no votes, the listed order is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from poplite.errors import AxisError, InvalidTileMapping
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tile_mapping import TileMapping
from poplite.named.along_axes import DotProduct, Extreme, Reduce, Softmax, VertexMap
from poplite.named.axes import Axes, Axis, AxisRoot, FlattenedAxis, leaves, some
from poplite.named.elementwise import Elementwise, StopGradient
from poplite.named.layout import Layout, row_major
from poplite.named.op import Op, nodes_below
from poplite.named.shaping import Broadcast, Regrouped, Relabelled, Slice
from poplite.named.tensors import Gradient, TensorOp, axis_blocks, check_by_axes
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.walks import bottom_up


class Choice(NamedTuple):
    """The result of the votes for a tensor.

    Attributes:
        inner: the innermost axis; None for the listed order.
        why: the reason, for `explain()`.
    """

    inner: Axis | None
    why: str


Bases = dict[tuple[TensorOp, AxisRoot], None]
"""Tensors, each with its axis that corresponds to an axis of a result."""


class Votes:
    """The votes of all readers of tensors.

    Args:
        roots: all operations that are computed.
        pairs: tensors that are written, each with its value.
    """

    def __init__(self, roots: Sequence[Op], pairs: Sequence[tuple[Op, Op]] = ()) -> None:
        self._votes: dict[TensorOp, Counter[AxisRoot]] = {}
        self._leader: dict[TensorOp, TensorOp] = {}
        self._known: dict[tuple[Op, AxisRoot], Bases] = {}
        nodes = nodes_below([*roots, *(each for pair in pairs for each in pair)])
        for node in nodes:
            for op, root in wishes(node):
                self._vote(op, root)
        self._like: dict[Op, TensorOp | None] = {}
        for node in nodes:
            self._like[node] = self._met(node)
        for one, other in pairs:
            met = [self._like[one], self._like[other]]
            self._join([each for each in met if each is not None])
        self._sums: dict[TensorOp, Counter[AxisRoot]] = {}
        for each in [*self._leader]:
            self._sums.setdefault(self._of(each), Counter()).update(self._votes.get(each, {}))

    def choice(self, op: TensorOp) -> Choice:
        """Return the innermost axis of a tensor, and the reason."""
        votes = self._sums.get(self._of(op), Counter())
        listed = [(root, votes[root]) for root in op.axes.roots if votes[root]]
        if not listed:
            return Choice(None, "no votes")
        listed.sort(key=lambda each: -each[1])
        told = ", ".join(f"{root.shown} {count:,}" for root, count in listed)
        (best, most), *others = listed
        if others and others[0][1] == most:
            return Choice(None, f"a tie of votes: {told}")
        return Choice(op.axes.items[op.axes.roots.index(best)], f"votes: {told}")

    def _vote(self, op: Op, root: AxisRoot) -> None:
        weight = math.prod(length or 0 for length in op.axes.lengths)
        for base, own in self._bases(op, root):
            self._votes.setdefault(base, Counter())[own] += weight

    def _bases(self, op: Op, root: AxisRoot) -> Bases:
        """Return the tensors from which an operation is computed elementwise."""
        known = self._known
        for node, own in bottom_up(
            [(op, root)], lambda part: () if part in known else _read(*part)
        ):
            if (node, own) in known:
                continue
            read = _read(node, own)
            found: Bases = {(node, own): None} if isinstance(node, TensorOp) else {}
            if len(read) == 1:
                found = known[read[0]]
            else:
                for each in read:
                    found |= known[each]
            known[node, own] = found
        return self._known[op, root]

    def like(self, op: Op) -> TensorOp | None:
        """Return a tensor from which an operation is computed elementwise, or None."""
        return self._like.get(op)

    def _met(self, node: Op) -> TensorOp | None:
        """Return a tensor from which a node is computed elementwise; join those of its operands."""
        if isinstance(node, TensorOp):
            self._leader.setdefault(node, node)
            return node
        if not isinstance(node, Elementwise | StopGradient | Softmax | Gradient | Broadcast):
            return None
        wide = node.axes.root_set
        met = [self._like[each] for each in node.args if each.axes.root_set == wide]
        found = [each for each in met if each is not None]
        self._join(found)
        return found[0] if found else None

    def _join(self, tensors: list[TensorOp]) -> None:
        """Make tensors vote together."""
        for each in tensors[1:]:
            self._leader[self._of(each)] = self._of(tensors[0])

    def _of(self, op: TensorOp) -> TensorOp:
        """Return the tensor that represents all tensors that vote together."""
        leader = op
        while (above := self._leader.get(leader, leader)) is not leader:
            leader = above
        while op is not leader:  # path compression
            self._leader[op], op = leader, self._leader[op]
        return leader


def wishes(node: Op) -> Iterator[tuple[Op, AxisRoot]]:
    """Yield the operands of a node for which it votes, with the axis that should be innermost."""
    match node:
        case Reduce() | Extreme():
            (x,) = node.args
            if 0 < len(node.reduced) < x.rank:
                yield x, node.reduced.roots[-1]
        case DotProduct():
            x, y = node.args
            own = y.axes - x.axes
            if node.summed.items and own.items and (x.axes - y.axes).items:
                yield x, node.summed.roots[-1]
                yield y, own.roots[-1]
        case VertexMap():
            for x in node.args:
                seen = [root for root in node.seen.roots if root in x.axes.root_set]
                if seen:
                    yield x, seen[-1]


def _read(node: Op, own: AxisRoot) -> list[tuple[Op, AxisRoot]]:
    """Return the operands read elementwise, each with its axis for a given axis of the result."""
    match node:
        case Elementwise() | StopGradient() | Softmax() | Gradient() | Broadcast() | Slice():
            return [(each, own) for each in node.args if own in each.axes.root_set]
        case Relabelled():
            (x,) = node.args
            return [(x, x.axes.roots[node.axes.roots.index(own)])]
        case Regrouped():
            (x,) = node.args
            last = _last(node.axes, own)
            return [(x, each.root) for each in x.axes if _last(x.axes, each.root) is last]
    return []


def _last(axes: Axes, root: AxisRoot) -> AxisRoot:
    """Return the innermost part of an axis."""
    axis = axes.items[axes.roots.index(root)]
    if not isinstance(axis, FlattenedAxis) or not axis.axes.items:
        return root
    return leaves(axis.axes)[-1].root


# -- layout and tile mapping by hints --------------------------------------------------------------


LEAST_BYTES = 128
"""Minimum number of bytes per tile of a linearly spread tensor. Source: PopLibs, the default of
`poputil::mapTensorLinearly`."""


@frozen
class StoredTensor:
    """How a tensor is stored.

    Attributes:
        layout: the order in which its axes are stored, and their room.
        mapping: the mapping of its elements in that order, as in `graph.add_variable`.
        why: the reason, for `explain()`.
    """

    layout: Layout
    mapping: Any
    why: str


def hinted(
    graph: Graph,
    name: str,
    axes: Axes,
    element: int,
    hint: Any,
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return how a tensor is stored according to a hint.

    Args:
        graph: the graph with the tiles.
        name: the name of the tensor.
        axes: the axes of the tensor.
        element: the bytes of an element.
        hint: None, a tile, a `TileMapping`, or a dictionary of axes.
        layout: the layout that a user gave; None for one whose outermost axes are the divided ones.
        inner: the innermost axis if there is a choice; None for the listed order.

    Raises:
        MissingAxisError: for an axis in another tensor's hint that this tensor lacks.
        InvalidTileMapping: for tiles that do not exist.
    """
    tiles = graph.target.tiles
    if hint is None:
        stored = layout or _layout(axes, [], inner)
        per_tile = max(-(-stored.size // tiles), LEAST_BYTES // element, 1)
        count = -(-stored.size // per_tile)
        why = f"linear over {amount(count, 'tile')}"
        return StoredTensor(stored, _blocks(tiles, stored.size, per_tile), why)
    if isinstance(hint, TileMapping):
        return StoredTensor(layout or row_major(axes), hint, "as given")
    tile = integer_or_none(hint)
    if tile is not None:
        return StoredTensor(layout or _layout(axes, [], inner), tile, f"on tile {tile}")
    return _by_axes(tiles, name, axes, hint, layout, inner)


def check_hints(hints: Mapping[Any, Any]) -> None:
    """Raise AxisError for hints of a transformer that are not given by axis."""
    for axis, count in hints.items():
        if not isinstance(axis, Axis):
            raise AxisError(
                f"make_transformer: map has {clipped(axis)}, which is not an axis",
                found=of_type(axis),
                fix='pass the axis itself: map={N: "tiles"}',
            )
        axis_blocks("make_transformer: map", axis, count, 1)


def _layout(axes: Axes, cut: list[Axis], inner: Axis | None) -> Layout:
    """Return the layout with the divided axes outermost, and the given axis innermost."""
    outer = [axes.own(axis) for axis in cut]
    last = [axes.own(inner)] if inner is not None and inner not in some(outer) else []
    return Layout(some([*outer, *(axes - some(outer) - some(last)), *last])).by(axes)


def _blocks(tiles: int, size: int, per_tile: int) -> TileMapping:
    bounds = np.minimum(np.arange(-(-size // per_tile) + 1) * per_tile, size)
    return TileMapping(tiles, np.arange(len(bounds) - 1), np.diff(bounds))


def _by_axes(
    tiles: int,
    name: str,
    axes: Axes,
    hint: Mapping[Axis, Any],
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return a mapping by blocks of axes."""
    cuts = _cuts(tiles, f"map of '{name}'", axes, hint)
    own = [axis for axis, _ in cuts if axis in axes]
    stored = layout or _layout(axes, own, inner)
    outer = 1 + max([stored.order.index(axis) for axis in own], default=-1)
    shape = stored.stored_shape
    tile = np.zeros(shape[:outer] or (1,), np.int64)
    stride = math.prod(number for _, number in cuts)
    for axis, number in cuts:
        stride //= number
        if axis not in axes:
            continue
        dim = stored.order.index(axis)
        length = axes.own(axis).known_length("a place")
        # Padding is mapped like the last index.
        index = np.minimum(np.arange(shape[dim]), max(length - 1, 0))
        block = index // max(1, -(-length // number))
        tile = tile + (block * stride).reshape([-1 if d == dim else 1 for d in range(outer)])
    flat = tile.reshape(-1)
    text = ", ".join(f"{axis.name} in {number}" for axis, number in cuts)
    mapping = TileMapping(tiles, flat, np.full(len(flat), math.prod(shape[outer:])))
    return StoredTensor(stored, mapping, f"blocks of {text}")


def _cuts(tiles: int, what: str, axes: Axes, hint: Mapping[Axis, Any]) -> list[tuple[Axis, int]]:
    """Return the axes that a hint divides, each with its number of blocks."""
    check_by_axes(what, axes, hint)  # a hint may be another tensor, with its own axes
    cuts: list[tuple[Axis, int]] = []
    for axis, count in hint.items():
        number = axis_blocks(what, axis, count, tiles)
        if number is not None:
            cuts.append((axis, number))
    grid = math.prod(number for _, number in cuts)
    if grid > tiles:
        text = " x ".join(str(number) for _, number in cuts)
        raise InvalidTileMapping(
            f"{what}: {text} = {grid:,} blocks do not fit {tiles:,} tiles",
            found=f"the axes are {axes}",
            fix="use fewer blocks, or more tiles",
        )
    return cuts
