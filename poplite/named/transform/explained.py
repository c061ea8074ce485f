"""What `explain()` of a computation prints: of its tensors, its views, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.forms import EdgeTables
from poplite.graph.graph import Graph
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axis import Root
from poplite.named.description.description import TensorDescription
from poplite.named.ops.lifting import VertexMap
from poplite.named.ops.op import Op, below
from poplite.named.ops.reducing import Dot
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


def tensors(listed: Iterable[TensorOp], why: Callable[[TensorOp], str]) -> list[str]:
    """Return two lines for each tensor: what it is, and how and why it is stored so."""
    lines = []
    for each in listed:
        size = (each.axes.size or 0) * each.element_type.size_bytes
        what = f"{each.kind}, {size:,} B"
        lines.append(f"  {each.name:<12} {each.axes} {each.element_type!r}  {what}  {each.line}")
        lines.append(f"    {why(each)}")
    return lines


def views(roots: list[Op], description: Callable[[Op], TensorDescription]) -> list[str]:
    """Return a line for each view of a tensor: by which steps, and where its elements lie."""
    lines = []
    for node in below(roots):
        found = description(node)
        if found.is_view and all(each.fixed for each in found.bases):
            first, *others = found.explain().splitlines()
            lines += [f"  {first}  {node.line}", f"    {others[0].strip()}"]
            lines.append(f"    {others[-1].strip()}")
    return lines


def copies(
    graph: Graph, sets: Iterable[ComputeSet], owners: Mapping[Variable, Op], why: Mapping[Op, str]
) -> list[str]:
    """Return a line for each tensor whose elements do not lie as a step reads or writes them.

    Args:
        graph: of the steps.
        sets: the steps.
        owners: what variables hold.
        why: what reads rows of which tensor, as `readers` returns it.
    """
    tables, lines = EdgeTables(graph.space), []
    for each in sets:
        sizes: dict[int, int] = {}
        for field in (field for family in tables(each).families for field in family.fields):
            if field.edges.start is None:
                first, begin, size = field.runs
                is_apart = np.repeat(np.diff(first) > 1, np.diff(first))
                held = graph.space.owners(begin[is_apart])
                total = np.bincount(held, size[is_apart]) * field.field.element.size_bytes
                for number in np.flatnonzero(total).tolist():
                    sizes[number] = sizes.get(number, 0) + int(total[number])
        for number, count in sizes.items():
            variable = graph.variables[number]
            op = owners.get(variable)
            shown = f"'{variable.name}'" if op is None else f"'{op.name or op.called}' {op.axes}"
            reader = f"step '{each.name}' at {each.location} reads elements that lie apart"
            reason = reader if op is None else why.get(op, reader)
            lines.append(f"  copied: {shown}, {count:,} B: {reason}")
    return lines


def readers(
    roots: list[Op], description: Callable[[Op], TensorDescription], tensors: Iterable[TensorOp]
) -> dict[Op, str]:
    """Return which operations read rows of a tensor that are none, and how far elements lie."""
    owners = {id(description(each)): each for each in tensors}
    found: dict[Op, str] = {}
    for node in below(roots):
        if not isinstance(node, Dot | VertexMap):
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
                    found.setdefault(owners[id(base)], f"{told}whose elements lie {far}")
    return found


def _stride(description: TensorDescription, root: Root) -> int | None:
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
