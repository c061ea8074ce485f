"""The text of `explain()`: tensors, views, and decisions of a computation.

Operations over named axes are shown as formulas: `sum((x - y) ** 2, [H])`, with tensor names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from poplite.expr.operations import CAST, OPERATIONS
from poplite.expr.tree import PRECEDENCE, applied, bracketed, number_text
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTables, Family
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.named.along_axes import (
    Count,
    DotProduct,
    Extreme,
    Reduce,
    Softmax,
    VertexMap,
    num_elements_of,
)
from poplite.named.axes import Axes
from poplite.named.changed_axes import Part
from poplite.named.description import NO_COPY, TensorDescription
from poplite.named.elementwise import Elementwise, NumberOp, StopGradient
from poplite.named.op import Op, nodes_below
from poplite.named.shaping import Broadcast, Slice
from poplite.named.storage import wishes
from poplite.named.tensors import Gradient, Keep, PlacedByHint, TensorOp
from poplite.ops.fuse.recipe import NOTES, Note
from poplite.text import amount, clipped_text


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
