"""What `explain()` of a computation prints: of its tensors, its views, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import Family
from poplite.graph.compute_sets.forms import EdgeTables
from poplite.graph.graph import Graph
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axis import AxisRoot
from poplite.named.description.description import TensorDescription
from poplite.named.description.explained import NO_COPY
from poplite.named.ops.lifting import VertexMap
from poplite.named.ops.op import Op, below
from poplite.named.ops.reducing import DotProduct
from poplite.named.ops.tensors import TensorOp
from poplite.named.transform.formulas import written
from poplite.named.transform.votes import wishes
from poplite.ops.fuse.notes import NOTES, Note
from poplite.text import amount


def headline(
    name: str, params: Iterable[Op], sets: Sequence[ComputeSet], own: int, beside: int
) -> str:
    """Return the first line: how many steps and classes, and how much memory."""
    classes = {each.vertex_class for one in sets for each in one.vertices}
    return (
        f"computation '{name}' ({', '.join(each.name for each in params)}): "
        f"{amount(len(sets), 'compute set')}, "
        f"{amount(len(classes), 'vertex class', 'vertex classes')}, "
        f"{own:,} B of tensors, {beside:,} B beside them"
    )


def tensors(
    listed: Iterable[TensorOp],
    storages: Mapping[TensorOp, Variable],
    why: Callable[[TensorOp], str],
) -> list[str]:
    """Return two lines for each tensor: what it is, and how and why it is stored so."""
    lines = []
    for each in listed:
        size = (each.axes.size or 0) * each.element_type.size_bytes
        stored = bytes_of([storages[each]])
        room = "" if size == stored else f", {size:,} B without the room"
        what = f"{each.kind}, {stored:,} B{room}"
        lines.append(f"  {each.name:<12} {each.axes} {each.element_type!r}  {what}  {each.line}")
        lines.append(f"    {why(each)}")
    return lines


@dataclass(frozen=True, slots=True)
class Copied:
    """Elements that are gathered, or scattered, since they do not lie as a step takes them.

    Attributes:
        variable: which has them.
        op: what it holds; None where that is a part of an operation.
        reader: the operation that reads (or is) them; None where that is a part of one.
        step: of which compute set.
        size: bytes.
    """

    variable: Variable
    op: Op | None
    reader: Op | None
    step: ComputeSet
    size: int

    def concerns(self, view: Op) -> bool:
        """Tell whether these are elements of a view."""
        below_reader = self.reader is None or view in below([self.reader])
        return self.op is not view and self.op in below([view]) and below_reader


def views(
    roots: list[Op], description: Callable[[Op], TensorDescription], copied: Sequence[Copied]
) -> list[str]:
    """Return a line for each view of a tensor: by which steps, and where its elements lie."""
    lines = []
    for node in below(roots):
        found = description(node)
        if found.is_view and all(each.fixed for each in found.bases):
            first, *others = found.explain().splitlines()
            steps = others[0].strip()
            if any(each.concerns(node) for each in copied):
                steps = f"{steps.removesuffix(NO_COPY)}; gathered, as told below"
            lines += [f"  {first}  {node.line}", f"    {steps}"]
            lines.append(f"    {others[-1].strip()}")
    return lines


def copies(graph: Graph, sets: Iterable[ComputeSet], owners: Mapping[Variable, Op]) -> list[Copied]:
    """Return the elements that do not lie as a step reads or writes them, for each reader apart.

    Args:
        graph: of the steps.
        sets: the steps.
        owners: what variables hold.
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
    """Return what vertices compute: what is held by the variable that they write."""
    for field in family.fields:
        if field.field.writes and field.edges.num_elements:
            (number,) = graph.space.owners(np.array(field.envelope[:1])).tolist()
            return owners.get(graph.variables[number])
    return None


def copy_lines(copied: Iterable[Copied], why: Mapping[Op, Mapping[Op, str]]) -> list[str]:
    """Return a line for each copy: of what, by whom and why.

    Args:
        copied: them.
        why: what reads rows of which tensor, as `readers` returns it.
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
        return next(iter(told.values()), f"{step} reads elements that lie apart")
    inside = below([reader])
    by_rows = next((text for node, text in told.items() if node in inside), None)
    return by_rows or f"{written(reader)} at {reader.line} reads elements that lie apart"


def readers(
    roots: list[Op], description: Callable[[Op], TensorDescription], tensors: Iterable[TensorOp]
) -> dict[Op, dict[Op, str]]:
    """Return which operations read rows of a tensor that are none, and how far elements lie."""
    owners = {id(description(each)): each for each in tensors}
    found: dict[Op, dict[Op, str]] = {}
    for node in below(roots):
        if not isinstance(node, DotProduct | VertexMap):
            continue
        for x, root in wishes(node):
            seen = description(x)
            stride = _stride(seen, root)
            if not seen.fixed or stride == 1:
                continue
            far = "in several pieces" if stride is None else f"{stride} apart"
            told = f"{node.called} at {node.line} reads rows along '{root.shown}', "
            for base in seen.bases:
                if id(base) in owners:
                    own = found.setdefault(owners[id(base)], {})
                    own.setdefault(node, f"{told}whose elements lie {far}")
    return found


def _stride(description: TensorDescription, root: AxisRoot) -> int | None:
    axes = description.axes
    return description.strides[axes.roots.index(root)]


def notes_of(graph: Graph, made: Iterable[Tensor]) -> list[Note]:
    """Return the notes on what was stored, reduced, multiplied or computed again."""
    notes = NOTES.get(graph, {})
    found = {id(n): n for each in made for n in notes.get((each.name, each.shape), ())}
    return [*found.values()]


def decisions(notes: Iterable[Note]) -> list[str]:
    """Return a line for each note."""
    return [f"  {_decision(note)}" for note in notes]


def _decision(note: Note) -> str:
    """Return what was done with an operation: by its axes, with its size, reason and line."""
    shown, where = note.formula, ""
    if isinstance(note.origin, Op):
        shown = f"{written(note.origin)} {note.origin.axes}"
        where = f"  {note.origin.line}"
    size = f", {note.bytes:,} B" if note.bytes else ""
    return f"{note.what}: {shown}{size} ({note.why}){where}"


def bytes_of(variables: Iterable[Variable]) -> int:
    """Return how many bytes variables take."""
    return sum(each.num_elements * each.element_type.size_bytes for each in variables)
