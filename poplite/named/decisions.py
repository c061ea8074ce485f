"""Decisions of a computation: how tensors are stored, by votes or hints; the text of `explain()`.

The innermost axis of a tensor is chosen by votes of its readers, its tiles by hints:

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from poplite.errors import AxisError, InvalidTileMapping
from poplite.expr.operations import CAST, OPERATIONS
from poplite.expr.tree import PRECEDENCE, applied, bracketed, number_text
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTables, Family
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.named.along_axes import (
    Count,
    DotProduct,
    Extreme,
    Reduce,
    Softmax,
    VertexMap,
    num_elements_of,
)
from poplite.named.axes import Axes, Axis, AxisRoot, FlattenedAxis, leaves, some
from poplite.named.changed_axes import Part
from poplite.named.description import NO_COPY, TensorDescription
from poplite.named.elementwise import Elementwise, NumberOp, StopGradient
from poplite.named.layout import Layout, row_major
from poplite.named.op import Op, nodes_below
from poplite.named.shaping import Broadcast, Regrouped, Relabelled, Slice
from poplite.named.tensors import Gradient, Keep, PlacedByHint, TensorOp, axis_blocks, check_by_axes
from poplite.ops.fuse.recipe import NOTES, Note
from poplite.text import amount, clipped, clipped_text, integer_or_none, of_type
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


# -- explain ---------------------------------------------------------------------------------------
# Operations over named axes are shown as formulas: `sum((x - y) ** 2, [H])`, with tensor names.


def headline(
    name: str, params: Iterable[Op], sets: Sequence[ComputeSet], own: int, other: int
) -> str:
    """Return the first line: the number of steps and classes, and the memory."""
    classes = {each.vertex_class for one in sets for each in one.vertices}
    return (
        f"computation '{name}' ({', '.join(each.name for each in params)}): "
        f"{amount(len(sets), 'compute set')}, "
        f"{amount(len(classes), 'vertex class', 'vertex classes')}, "
        f"{own:,} B of tensors, {other:,} B of other variables"
    )


def tensor_lines(
    listed: Iterable[TensorOp],
    storages: Mapping[TensorOp, Variable],
    why: Callable[[TensorOp], str],
) -> list[str]:
    """Return two lines for each tensor: its kind and axes, and its layout with the reason."""
    lines = []
    for each in listed:
        size = (each.axes.size or 0) * each.element_type.size_bytes
        stored = sum_bytes([storages[each]])
        room = "" if size == stored else f", {size:,} B without padding"
        what = f"{each.kind}, {stored:,} B{room}"
        lines.append(f"  {each.name:<12} {each.axes} {each.element_type!r}  {what}  {each.line}")
        lines.append(f"    {why(each)}")
    return lines


@frozen
class Copied:
    """Elements that are gathered or scattered because a step needs them in a different order.

    Attributes:
        variable: the variable that holds them.
        op: the operation whose value it holds; None for a part of an operation.
        reader: the operation that reads or makes them; None for a part of an operation.
        step: the compute set.
        size: their size in bytes.
    """

    variable: Variable
    op: Op | None
    reader: Op | None
    step: ComputeSet
    size: int

    def concerns(self, view: Op) -> bool:
        """Return whether the copied elements are those of a view."""
        below_reader = self.reader is None or view in nodes_below([self.reader])
        return self.op is not view and self.op in nodes_below([view]) and below_reader


def views(
    roots: list[Op], description: Callable[[Op], TensorDescription], copied: Sequence[Copied]
) -> list[str]:
    """Return a line for each view of a tensor: its steps, and the positions of its elements."""
    lines = []
    for node in nodes_below(roots):
        found = description(node)
        if found.is_view and all(each.fixed for each in found.bases):
            first, *others = found.explain().splitlines()
            steps = others[0].strip()
            if any(each.concerns(node) for each in copied):
                steps = f"{steps.removesuffix(NO_COPY)}; gathered, as described below"
            lines += [f"  {first}  {node.line}", f"    {steps}"]
            lines.append(f"    {others[-1].strip()}")
    return lines


def copies(graph: Graph, sets: Iterable[ComputeSet], owners: Mapping[Variable, Op]) -> list[Copied]:
    """Return the elements that steps read or write in a different order, one item per reader.

    Args:
        graph: the graph of the steps.
        sets: the compute sets of the steps.
        owners: the operation whose value each variable holds.
    """
    tables, found = EdgeTables(graph.space), []
    for each in sets:
        sizes: dict[tuple[int, Op | None], int] = {}
        for family in tables(each).families:
            reader = _written_by(graph, family, owners)
            for field in (field for field in family.fields if field.edges.start is None):
                first, begin, size = field.runs
                is_apart = np.repeat(np.diff(first) > 1, np.diff(first))
                held = graph.space.owners(begin[is_apart])
                total = np.bincount(held, size[is_apart]) * field.field.element.size_bytes
                for number in np.flatnonzero(total).tolist():
                    key = number, reader
                    sizes[key] = sizes.get(key, 0) + int(total[number])
        for (number, reader), count in sizes.items():
            variable = graph.variables[number]
            found.append(Copied(variable, owners.get(variable), reader, each, count))
    return found


def _written_by(graph: Graph, family: Family, owners: Mapping[Variable, Op]) -> Op | None:
    """Return the operation that vertices compute: the owner of the variable that they write."""
    for field in family.fields:
        if field.field.writes and field.edges.num_elements:
            (number,) = graph.space.owners(np.array(field.envelope[:1])).tolist()
            return owners.get(graph.variables[number])
    return None


def copy_lines(copied: Iterable[Copied], why: Mapping[Op, Mapping[Op, str]]) -> list[str]:
    """Return a line for each copy: its source, its reader and the reason.

    Args:
        copied: the copies.
        why: the readers of rows of each tensor, from `readers`.
    """
    lines = []
    for each in copied:
        shown = f"'{each.variable.name}'"
        if each.op is not None:
            shown = f"'{each.op.name or each.op.called}' {each.op.axes}"
        lines.append(f"  copied: {shown}, {each.size:,} B: {_reason(each, why)}")
    return lines


def _reason(copied: Copied, why: Mapping[Op, Mapping[Op, str]]) -> str:
    told = {} if copied.op is None else why.get(copied.op, {})
    reader = copied.reader
    if reader is None or reader is copied.op:
        step = f"step '{copied.step.name}' at {copied.step.location}"
        return next(iter(told.values()), f"{step} reads elements that are not adjacent")
    inside = nodes_below([reader])
    by_rows = next((text for node, text in told.items() if node in inside), None)
    step = f"{formula_text(reader)} at {reader.line}"
    return by_rows or f"{step} reads elements that are not adjacent"


def readers(
    roots: list[Op], description: Callable[[Op], TensorDescription], tensors: Iterable[TensorOp]
) -> dict[Op, dict[Op, str]]:
    """Return the operations that read rows which are not contiguous, with the distances."""
    owners = {id(description(each)): each for each in tensors}
    found: dict[Op, dict[Op, str]] = {}
    for node in nodes_below(roots):
        if not isinstance(node, DotProduct | VertexMap):
            continue
        for x, root in wishes(node):
            seen = description(x)
            stride = seen.strides[seen.axes.roots.index(root)]
            if not seen.fixed or stride == 1:
                continue
            far = "in several pieces" if stride is None else f"{stride} apart"
            told = f"{node.called} at {node.line} reads rows along '{root.shown}', "
            for base in seen.bases:
                if id(base) in owners:
                    own = found.setdefault(owners[id(base)], {})
                    own.setdefault(node, f"{told}whose elements are {far}")
    return found


def notes_of(graph: Graph, made: Iterable[Tensor]) -> list[Note]:
    """Return the notes on what was stored, reduced, multiplied or computed again."""
    notes = NOTES.get(graph, {})
    found = {id(n): n for each in made for n in notes.get((each.name, each.shape), ())}
    return [*found.values()]


def decisions(notes: Iterable[Note]) -> list[str]:
    """Return the line for each note."""
    return [f"  {_decision(note)}" for note in notes]


def _decision(note: Note) -> str:
    """Return the line for a note: the operation with its axes, size, reason and source line."""
    shown, where = note.formula, ""
    if isinstance(note.origin, Op):
        shown = f"{formula_text(note.origin)} {note.origin.axes}"
        where = f"  {note.origin.line}"
    size = f", {note.bytes:,} B" if note.bytes else ""
    return f"{note.what}: {shown}{size} ({note.why}){where}"


def sum_bytes(variables: Iterable[Variable]) -> int:
    """Return the total size of variables in bytes."""
    return sum(each.num_elements * each.element_type.size_bytes for each in variables)


# -- formulas --------------------------------------------------------------------------------------


_SHOWN = 80
"""Maximum number of characters in a formula."""

_MOST_NODES, _MOST_LEVELS = 40, 20
"""Limits on the text of a formula: with shared parts, it can be very long, or very deep."""


def formula_text(op: Op) -> str:
    """Return an operation as a formula, with dots for the parts beyond the limits.

    Operations that only name, order or place their operand are omitted.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> x, y = ng.placeholder([H, W], name="x"), ng.placeholder([W], name="y")
    >>> formula_text(-ng.sum((x - y) ** 2, [W])), formula_text(ng.mean(x[H, 1:], [H]))
    ('-sum((x - y) ** 2, [W])', 'mean = sum(x[H, 1:], [H]) / 2')
    """
    name = f"{op.written} = " if op.written else ""
    return name + clipped_text(bracketed(op, _with_precedence, _MOST_NODES, _MOST_LEVELS), _SHOWN)


def _with_precedence(node: Op, shown: Any) -> tuple[str, int]:
    while isinstance(node, _NAMES_ONLY) and not node.name:
        (node,) = node.args
    closest = PRECEDENCE["name"]
    match node:
        case Elementwise():
            if node.operation != "cast":
                return applied(OPERATIONS[node.operation], node.args, node.dtype, shown)
            (one,) = node.args
            if isinstance(one, NumberOp):
                return number_text(one.value)
            return applied(CAST, node.args, node.dtype, shown)
        case NumberOp():
            return number_text(node.value)
        case Count():
            return number_text(num_elements_of(node.counted, "mean"))
        case Reduce() | Extreme():
            return f"{node.what}({shown(node.args[0], 0)}, {_listed(node.reduced)})", closest
        case DotProduct():
            one, other = (shown(each, 0) for each in node.args)
            return f"dot({one}, {other}, {_listed(node.summed)})", closest
        case Slice():
            parts = ", ".join(
                f"{axis.name}, {_part(node.parts[axis.root])}"
                for axis in node.args[0].axes
                if axis.root in node.parts
            )
            return f"{shown(node.args[0], closest)}[{parts}]", closest
    if node.name or not node.args:
        return node.name or node.called, closest
    return f"{node.called}({', '.join(shown(each, 0) for each in node.args)})", closest


_NAMES_ONLY = Broadcast, StopGradient, Softmax, Gradient, Keep, PlacedByHint
"""Operations that do not compute anything themselves."""


def _listed(axes: Axes) -> str:
    return f"[{', '.join(axes.names)}]"


def _part(part: Part) -> str:
    """Return an index, or a slice, as the text between brackets."""
    if not isinstance(part, slice):
        return str(part)
    ends = ":".join("" if each is None else str(each) for each in (part.start, part.stop))
    return ends if part.step in (None, 1) else f"{ends}:{part.step}"
