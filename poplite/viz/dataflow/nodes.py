"""One node of the dataflow graph, in words: name, second line, and all that is known.

>>> node = Node("variable", "layer1/w", type_name="float32", shape=(4, 8), size_bytes=128)
>>> node.title, node.detail, node.facts()
('layer1/w', 'float32[4, 8]', ['float32[4, 8], 128 B'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.program import Copy, HostCall, PrintTensor, Program
from poplite.text import amount
from poplite.types import type_text
from poplite.viz.dataflow.fold import Label, NodeKind
from poplite.viz.dataflow.links import Item, Kind, Saved, Thing
from poplite.viz.dataflow.parts import part_text
from poplite.viz.draw.units import name_text, shape_text, size_text
from poplite.viz.graph_counts import class_counts

NOUNS: dict[Kind, tuple[str, str]] = {
    "variable": ("variable", "variables"),
    "constant": ("constant", "constants"),
    "compute": ("compute set", "compute sets"),
    "copy": ("copy", "copies"),
    "control": ("decision", "decisions"),
    "host": ("host step", "host steps"),
}
"""What the kinds are called, in the order in which they are counted."""


LOOKS_AS: Mapping[str, str] = {"operation": "compute"}
"""Kinds of nodes that are drawn as others are."""


def members_of(items: Iterable[Item]) -> Counter[Kind]:
    """Count things of each kind; vertices are counted one by one."""
    counts: Counter[Kind] = Counter()
    for item in items:
        counts[item.kind] += len(item.thing) if isinstance(item.thing, tuple) else 1
    return counts


def members_text(counts: Mapping[Kind, int]) -> str:
    """Return how many there are of each kind, in words.

    >>> members_text({"compute": 1, "variable": 2000})
    '2,000 variables, 1 compute set'
    """
    return ", ".join(amount(counts[kind], *NOUNS[kind]) for kind in NOUNS if counts.get(kind))


MOST_STEPS = 3
"""Steps of a node that are listed; of more, the first two and the last."""


@frozen
class Node:
    """Something that data flows through, or several such things put together.

    Attributes:
        kind: what it is; "host" is a print or a call, "control" a program in which data decide,
            "operation" what an operation of `poplite.ops` made, "scope" what is in a scope.
        name: with its scopes, verbatim; for several things, their common name.
        members: how many things of each kind it stands for; empty for one thing.
        type_name: element type of data, and of what is copied or printed.
        shape: shape of the same; None for anything else.
        size_bytes: bytes of data, or of what is copied.
        vertices: vertex classes of a compute set, and how many vertices each has.
        tiles: where it lies or runs, as ranges.
        steps: where it stands in the program, from 1.
        location: the user's line that made it.
        focus: whether it was asked for by name.
        verb: what it does with what its name says; empty where that needs no word.
        parts: which parts of its two variables a copy moves from and to; empty for all of both.
    """

    kind: NodeKind
    name: str
    members: tuple[tuple[Kind, int], ...] = ()
    type_name: str = ""
    shape: tuple[int, ...] | None = None
    size_bytes: int = 0
    vertices: tuple[tuple[str, int], ...] = ()
    tiles: str = ""
    num_tiles: int = 0
    steps: tuple[int, ...] = ()
    location: str = ""
    focus: bool = False
    verb: str = ""
    parts: str = ""

    @property
    def is_data(self) -> bool:
        """Whether it holds data and does nothing."""
        return self.kind in ("variable", "constant")

    @property
    def step(self) -> int:
        """The number of the first step, 0 for none."""
        return self.steps[0] if self.steps else 0

    @property
    def step_text(self) -> str:
        """Its steps in words; empty for none.

        >>> Node("copy", "x -> y", steps=(2,)).step_text
        'step 2'
        >>> Node("copy", "x -> y", steps=(2, 4, 6, 8)).step_text
        'steps 2, 4 ... 8'
        """
        if not self.steps:
            return ""
        if len(self.steps) == 1:
            return f"step {self.step:,}"
        if len(self.steps) <= MOST_STEPS:
            return f"steps {', '.join(f'{step:,}' for step in self.steps)}"
        return f"steps {self.steps[0]:,}, {self.steps[1]:,} ... {self.steps[-1]:,}"

    @property
    def title(self) -> str:
        """Its name on one line, or what it does."""
        if self.kind == "copy" and not self.members:
            return self.verb or "Copy"
        return f"{self.verb} {name_text(self.name)}".lstrip()

    @property
    def detail(self) -> str:
        """The most important fact about it."""
        if self.members:
            text = members_text(dict(self.members))
            return f"{text}, {size_text(self.size_bytes)}" if self.kind == "copy" else text
        if self.kind == "copy" and self.parts:
            return f"{self.parts}, {size_text(self.size_bytes)}"
        if self.kind == "compute":
            return _vertices_text(self.vertices)
        if self.kind == "copy" or self.shape is None:
            return size_text(self.size_bytes)
        what = "constant " if self.kind == "constant" else ""
        return f"{what}{self.type_name}{shape_text(self.shape)}"

    @property
    def place(self) -> str:
        """Its tiles, empty when it has none."""
        return f"on {amount(self.num_tiles, 'tile')} ({self.tiles})" if self.tiles else ""

    def facts(self) -> list[str]:
        """Return all that is known about the node but its name, as lines."""
        lines = [self.detail]
        if self.kind == "compute" and len(self.vertices) > 2:
            lines += [f"{count:,} {name_text(name)}" for name, count in self.vertices]
        if self.kind == "copy" and not self.members:
            lines.append(name_text(self.name))
        elif self.size_bytes and self.kind != "copy":
            lines[0] += f", {size_text(self.size_bytes)}"
        lines += [self.place] if self.place else []
        lines += [self.step_text] if self.steps else []
        return lines + ([name_text(self.location)] if self.location else [])


def _vertices_text(vertices: Sequence[tuple[str, int]]) -> str:
    if not vertices:
        return "no vertices"
    shown = [f"{count:,} {name_text(name)}" for name, count in vertices[:2]]
    more = f" and {len(vertices) - 2:,} more classes" if len(vertices) > 2 else ""
    return ", ".join(shown) + more


def node_of(items: Sequence[Item], label: Label | None, *, focus: bool) -> Node:
    """Describe a node of one item, or of several with the kind and name in `label`."""
    if label is not None:
        members = members_of(items)
        is_copy = label[0] == "copy"
        size = sum(_copied_bytes(i.thing) if is_copy else _data_bytes(i.thing) for i in items)
        node = Node(*label, tuple(members.items()), size_bytes=size, focus=focus)
        if is_copy:
            return replace(node, steps=tuple(sorted(s for item in items for s in item.steps)))
        return _of_operation(node, items) if node.kind == "operation" else node
    (item,) = items
    node = Node(item.kind, item.name, steps=item.steps, focus=focus)
    match item.thing:
        case ComputeSet() as compute_set:
            return _of_compute_set(node, compute_set)
        case Variable() as variable:
            return _of_variable(node, variable)
        case Program() as program:
            return _of_program(node, program)
        case Saved() as saved:
            return _of_saved(node, saved)
        case numbers:
            size = _data_bytes(numbers)
            return replace(node, members=tuple(members_of(items).items()), size_bytes=size)


def _of_operation(node: Node, items: Sequence[Item]) -> Node:
    """Add where the compute sets of an operation run, and the first step of them."""
    things = [item.thing for item in items if item.kind == "compute"]
    tiles = sorted(set[int]().union(*map(_tiles_of, things)))
    lines = [
        each.location.portable if isinstance(each, ComputeSet) else each.location
        for each in things
        if isinstance(each, ComputeSet | Saved)
    ]
    return replace(
        node,
        tiles=_ranges(tiles),
        num_tiles=len(tiles),
        steps=tuple(sorted(step for item in items for step in item.steps)[:1]),
        location=lines[0] if lines else "",
    )


def _tiles_of(thing: Thing) -> Iterable[int]:
    """Return the tiles that a compute set runs on."""
    if isinstance(thing, Saved):
        return thing.tiles
    assert isinstance(thing, ComputeSet)
    return thing.vertices.tiles()


def _of_saved(node: Node, saved: Saved) -> Node:
    return replace(
        node,
        verb=saved.verb,
        type_name=saved.type_name,
        shape=saved.shape,
        size_bytes=saved.size_bytes,
        vertices=saved.vertices,
        tiles=_ranges(saved.tiles),
        num_tiles=len(saved.tiles),
        location=saved.location,
    )


def _of_compute_set(node: Node, compute_set: ComputeSet) -> Node:
    tiles = sorted(compute_set.vertices.tiles())
    return replace(
        node,
        vertices=class_counts(compute_set.vertices.items()),
        tiles=_ranges(tiles),
        num_tiles=len(tiles),
        location=compute_set.location.portable,
    )


def _of_variable(node: Node, variable: Variable) -> Node:
    _, owner = variable.mapping.pieces()
    tiles = np.unique(owner[owner != NO_TILE])
    return replace(
        node,
        type_name=type_text(variable.element_type),
        shape=variable.shape,
        size_bytes=_data_bytes(variable),
        tiles=_ranges(tiles),
        num_tiles=len(tiles),
        location=variable.location.portable,
    )


def _of_program(node: Node, program: Program) -> Node:
    if isinstance(program, HostCall):
        sizes = (t.num_elements * t.element_type.size_bytes for t in program.reads + program.writes)
        return replace(node, verb="Call", size_bytes=sum(sizes), location=program.location.portable)
    if isinstance(program, Copy):
        assert program.tensor is not None
        tensor, verb = program.tensor, ""
        node = replace(node, parts=_parts(program))
    elif isinstance(program, PrintTensor):
        tensor, verb = program.tensor, "Print"
    else:
        tensor, verb = (*program.writes, *program.reads)[0], type(program).__name__
    return replace(
        node,
        verb=verb,
        type_name=type_text(tensor.element_type),
        shape=tensor.shape,
        size_bytes=tensor.num_elements * tensor.element_type.size_bytes,
        location=program.location.portable,
    )


def _parts(copy: Copy) -> str:
    """Return what a copy moves from and to; empty where that is all of two variables."""
    parts = [
        part_text(end) if isinstance(end, Tensor) else f"'{name_text(end.name)}'"
        for end in (copy.source, copy.destination)
    ]
    return "" if parts == ["all", "all"] else " -> ".join(parts)


def _copied_bytes(thing: Thing) -> int:
    """Return the bytes that a copy moves."""
    if isinstance(thing, Saved):
        return thing.size_bytes
    assert isinstance(thing, Program)
    tensors = thing.writes or thing.reads
    return sum(tensor.num_elements * tensor.element_type.size_bytes for tensor in tensors)


def _data_bytes(thing: Thing) -> int:
    """Return the bytes of variables and constants; what works on data has none."""
    if isinstance(thing, tuple):
        return sum(map(_data_bytes, thing))
    if isinstance(thing, Saved):
        return thing.size_bytes if thing.shape is not None else 0
    if isinstance(thing, Variable):
        return thing.num_elements * thing.element_type.size_bytes
    return 0


def _ranges(tiles: Sequence[int] | Int64) -> str:
    return ranges(tiles) if len(tiles) else ""
