"""What `explain()` of a computation prints: of its tensors, its views, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from poplite.graph.compute_sets.compute_set import ComputeSet
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


def copies(roots: list[Op], description: Callable[[Op], TensorDescription]) -> list[str]:
    """Return a line for each operand that is copied, since rows of it are read that are none."""
    lines = []
    for node in below(roots):
        if not isinstance(node, Dot | VertexMap):
            continue
        for x, root in wishes(node):
            found = description(x)
            stride = _stride(found, root)
            if not found.fixed or stride == 1:
                continue
            name = x.name or found.bases[0].name
            far = "in several pieces" if stride is None else f"{stride} apart"
            size = (x.axes.size or 0) * x.element_type.size_bytes
            lines.append(
                f"  copied: '{name}' {x.axes}, {size:,} B: {node.called} at {node.line} reads rows "
                f"along '{root.shown}', whose elements lie {far}"
            )
    return lines


def _stride(description: TensorDescription, root: Root) -> int | None:
    axes = description.axes
    return description.strides[axes.roots.index(root)]


def decisions(graph: Graph, made: Iterable[Tensor]) -> list[str]:
    """Return a line for each note on what was stored, reduced, multiplied or computed again."""
    notes = NOTES.get(graph, {})
    found = {id(n): n for each in made for n in notes.get((each.name, each.shape), ())}
    return [f"  {_decision(note)}" for note in found.values()]


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
