"""Who reads and writes what: variables, compute sets and copies before any is left out.

Items are in program order: a variable stands just before what first reads it, or just after
what first writes it; what is in no program follows in the order in which it was made::

    items   x   double   y   Copy y -> z   z          Links.tail   0 1 2 3
            0   1        2   3             4          Links.head   1 2 3 4

Vertices are summed up in their compute set, in one pass over their edges: 10^5 of them take a
second.  Numbers that a user connects to fields of vertices are constants of the graph; those of
one compute set are one item.

>>> from poplite.graph import Graph
>>> from poplite.program import Copy
>>> graph = Graph()
>>> y, z = graph.add_variable("int32", (4,), "y"), graph.add_variable("int32", (4,), "z")
>>> links = links_of(graph, Copy(y, z))
>>> [item.name for item in links.items], links.size_bytes.tolist()
(['y', 'y -> z', 'z'], [16, 16])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ControlProgramError
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.vertex_block import Edges
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    Copy,
    Execute,
    HostCall,
    Mark,
    PrintTensor,
    Program,
    Step,
    distinct_decisions,
    distinct_steps,
)
from poplite.view import Storage, View, runs, storages
from poplite.viz.draw.units import name_text, parts_of_name
from poplite.viz.graph_counts import edges_of

if TYPE_CHECKING:
    from poplite.graph.graph import Graph

Kind: TypeAlias = Literal["variable", "constant", "compute", "copy", "control", "host"]
Scope: TypeAlias = tuple[str, ...]
Share: TypeAlias = tuple[int, int]
"""Number of a variable, and how many of its elements something touches."""


@frozen(eq=False)
class Saved:
    """What a report knows of a variable, a compute set or a step.

    Attributes:
        type_name: element type of data.
        shape: shape of the same; None for anything else.
        size_bytes: bytes of data, or of what is moved.
        vertices: vertex classes of a compute set, and how many vertices each has.
        tiles: where it lies or runs, ascending.
        location: the user's line that made it.
        verb: what it does with what its name says; empty where that needs no word.
    """

    type_name: str = ""
    shape: tuple[int, ...] | None = None
    size_bytes: int = 0
    vertices: tuple[tuple[str, int], ...] = ()
    tiles: tuple[int, ...] = ()
    location: str = ""
    verb: str = ""


Thing: TypeAlias = Variable | ComputeSet | Program | tuple[Variable, ...] | Saved


class Item(NamedTuple):
    """One thing that data flows through.

    Attributes:
        kind: what it is; "host" is a print or a call, "control" a program in which data decide.
        name: with its scopes; for a copy, the names of both ends.
        scope: its scopes, the outermost first; for a copy, those that both ends share.
        thing: the variable, compute set or program, or what a report knows of it; or the constants
            connected as numbers.
        steps: their numbers where it stands in the program; empty for what is no step of it.
        operation: the name of the operation that it is a part of; empty for none.
    """

    kind: Kind
    name: str
    scope: Scope
    thing: Thing
    steps: tuple[int, ...]
    operation: str = ""


@frozen(eq=False)
class Links:
    """Everything that data flows through, and how much flows.

    Attributes:
        items: in program order.
        tail: int64[links], the item that data comes from.
        head: int64[links], the item that it goes to.
        size_bytes: int64[links], above 0; what several vertices read counts for each.
        field: int64[links], which of `fields` connects them, -1 for none.
        fields: names of fields of vertices.
        num_steps: steps of the program, 0 without one.
    """

    items: tuple[Item, ...]
    tail: Int64
    head: Int64
    size_bytes: Int64
    field: Int64
    fields: tuple[str, ...]
    num_steps: int


class TouchedElements(NamedTuple):
    """Elements that a step reads and writes, by the number of a variable and the field."""

    read: dict[tuple[int, str], int]
    written: dict[tuple[int, str], int]


def links_of(graph: Graph, program: Program | None = None, first: int = 1) -> Links:
    """Gather what reads and writes what, in program order, its steps numbered from `first` on.

    Raises ControlProgramError when the program is of another graph.
    """
    graph = graph.top_level_graph
    operations = _operations(graph)
    variables, (owner, numbers) = graph.variables, _owners(graph, operations)
    place: dict[int, int] = {}
    items: list[Item] = []
    flows: list[tuple[int, int, int, int]] = []
    fields: dict[str, int] = {"": -1}

    def place_of(key: int) -> int:
        if key not in place:
            place[key] = len(items)
            item = numbers[key] if key in numbers else _data_item(variables[key], operations)
            items.append(item)
        return place[key]

    count, results = _VariableShares(), _results(program)
    for action in _actions(graph, program):
        touched = _touched(action.thing, count)
        for tensor in results.get(action.thing, ()):
            for number, elements in count(tensor.view):
                touched.written[number, ""] += elements
        read, written = (_bytes(part, owner, variables) for part in touched)
        for _, field, _ in (*read, *written):
            fields.setdefault(field, len(fields) - 1)
        sources = [(place_of(key), fields[field], size) for key, field, size in read]
        own = len(items)
        numbered = tuple(first - 1 + number for number in action.steps)
        operation = operations.get(action.thing, "")
        items.append(action._replace(steps=numbered, operation=operation))
        flows += [(source, own, size, field) for source, field, size in sources]
        flows += [(own, place_of(key), size, fields[field]) for key, field, size in written]
    for key in dict.fromkeys(owner):
        place_of(key)
    table = np.array(flows, np.int64).reshape(-1, 4)
    steps = program.num_steps if program is not None else 0
    tail, head, size, through = table.T
    return Links(tuple(items), tail, head, size, through, tuple(fields)[1:], steps)


def _operations(graph: Graph) -> dict[Thing, str]:
    """Return the operation of compute sets, and of variables that no other operation reads."""
    found: dict[Thing, str] = {}
    for each in graph.operations:
        found |= dict.fromkeys(each.compute_sets, each.name)
        found |= dict.fromkeys(each.temporaries, each.name)
    return found


def _owners(graph: Graph, operations: Mapping[Thing, str]) -> tuple[list[int], dict[int, Item]]:
    """Return what stands for each variable: itself, or all numbers of its compute set."""
    owner = [variable.storage.id for variable in graph.variables]
    numbers: dict[int, Item] = {}
    for compute_set in graph.compute_sets:
        constants = [
            graph.variable_of(storage)
            for vertex in compute_set.vertices.items()
            for tensor in vertex.constants
            for storage in storages(tensor.view)
        ]
        if constants:
            first = constants[0].storage.id
            for variable in constants:
                owner[variable.storage.id] = first
            name = f"{compute_set.name} numbers"
            scope, operation = scope_of(compute_set.name), operations.get(compute_set, "")
            numbers[first] = Item("constant", name, scope, tuple(constants), (), operation)
    return owner, numbers


def _results(program: Program | None) -> Mapping[Thing, Iterable[Tensor]]:
    """Return where Executes put what the vertices of a compute set return."""
    results: dict[Thing, dict[Tensor, None]] = defaultdict(dict)
    for step in () if program is None else distinct_steps(program):
        if isinstance(step.program, Execute) and step.program.result is not None:
            results[step.program.compute_set][step.program.result] = None
    return results


def _data_item(variable: Variable, operations: Mapping[Thing, str]) -> Item:
    kind: Kind = "constant" if variable.constant else "variable"
    operation = operations.get(variable, "")
    return Item(kind, variable.name, scope_of(variable.name), variable, (), operation)


def scope_of(name: str) -> Scope:
    """Return the scopes in a name.

    >>> scope_of("model/conv/w")
    ('model', 'conv')
    """
    return tuple(parts_of_name(name)[:-1])


def shared(scopes: Iterable[Scope]) -> Scope:
    """Return the outermost scopes that all items have in common.

    >>> shared([("model", "conv1"), ("model", "conv2", "a")]), shared([])
    (('model',), ())
    """
    distinct = set(scopes)
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*distinct, strict=False))
    return tuple(parts[0] for parts in same)


def _actions(graph: Graph, program: Program | None) -> Iterator[Item]:
    """Yield what reads and writes, each once: the program's steps, then what it leaves out."""
    seen: set[object] = set()
    steps = _steps(program)
    for step in () if program is None else _reading(program):
        match step.program:
            case Execute(compute_set=compute_set):
                _check_graph(graph, compute_set.graph, step)
                if compute_set not in seen:
                    seen.add(compute_set)
                    yield _compute_item(compute_set, steps[compute_set])
            case Copy(source=source, destination=end, tensor=Tensor() as tensor) as leaf:
                _check_graph(graph, tensor.graph, step)
                if (source, end) not in seen:
                    seen.add((source, end))
                    tensors = *leaf.reads, *leaf.writes
                    scope = shared([scope_of(each.name) for each in tensors])
                    name = f"{source.name} -> {end.name}"
                    yield Item("copy", name, scope, leaf, steps[source, end])
            case PrintTensor(title=title, tensor=tensor) as leaf:
                _check_graph(graph, tensor.graph, step)
                yield Item("host", title, scope_of(tensor.name), leaf, (step.number,))
            case HostCall(function=function) as leaf:
                _check_graph(graph, function.graph, step)
                yield Item("host", function.handle, (), leaf, (step.number,))
            case Program(decided_by=Tensor() as tensor) as node:
                _check_graph(graph, tensor.graph, step)
                # A decision is no step: this number is that of the step after it.
                yield Item("control", tensor.name, scope_of(tensor.name), node, ())
            case leaf:
                tensors = *leaf.reads, *leaf.writes
                for tensor in tensors:
                    _check_graph(graph, tensor.graph, step)
                if tensors and not isinstance(leaf, Mark):  # otherwise it touches no data
                    kind: Kind = "copy" if leaf.reads and leaf.writes else "host"
                    name = " -> ".join(tensor.name for tensor in tensors)
                    scope = shared([scope_of(tensor.name) for tensor in tensors])
                    yield Item(kind, name, scope, leaf, (step.number,))
    for compute_set in graph.compute_sets:
        if compute_set not in seen:
            yield _compute_item(compute_set, ())


def _steps(program: Program | None) -> dict[object, tuple[int, ...]]:
    """Return where each compute set and each pair of copied tensors stands in a program."""
    found: dict[object, list[int]] = defaultdict(list)
    for step in () if program is None else distinct_steps(program):
        match step.program:
            case Execute(compute_set=compute_set):
                found[compute_set].append(step.number)
            case Copy(source=source, destination=end):
                found[source, end].append(step.number)
    return {key: tuple(numbers) for key, numbers in found.items()}


def _reading(program: Program) -> Iterator[Step]:
    """Return the steps of a program and what decides in it, in its order."""
    decisions, steps = distinct_decisions(program), distinct_steps(program)
    return merge(decisions, steps, key=lambda step: step.number)


def _check_graph(graph: Graph, other: Graph, step: Step) -> None:
    if other is not graph:
        raise ControlProgramError(
            f"the program belongs to another graph than {graph!r}",
            at=step.program.location,
            where=name_text(str(step)),
            found=f"that step is of {other!r}",
            fix="draw a program with the graph that its variables and compute sets were made with",
        )


def _compute_item(compute_set: ComputeSet, steps: tuple[int, ...]) -> Item:
    return Item("compute", compute_set.name, scope_of(compute_set.name), compute_set, steps)


class _VariableShares:
    """Counts the elements of each variable in views; a view met again is not looked at again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[View, list[tuple[int, int]]]] = {}

    def __call__(self, view: View) -> Iterable[tuple[int, int]]:
        """Return (number of the variable, elements) for each variable a view touches."""
        if isinstance(view.space, Storage):
            size = view.num_elements
            return [(view.space.id, size)] if size else []
        if id(view) not in self._known:
            # The view is kept with its answer, so that no other can get its id.
            self._known[id(view)] = view, _shares(view)
        return self._known[id(view)][1]


def _shares(view: View) -> list[tuple[int, int]]:
    """Return (number of the variable, elements) for a view of a concatenation."""
    owners = sorted(storages(view), key=lambda storage: storage.base)
    if len(owners) == 1:
        return [(owners[0].id, view.num_elements)]
    begin, length = runs(view)
    owner = np.searchsorted([storage.base for storage in owners], begin, side="right") - 1
    elements = np.zeros(len(owners), np.int64)
    np.add.at(elements, owner, length)
    return [(s.id, n) for s, n in zip(owners, elements.tolist(), strict=True)]


def _shares_of_edges(graph: Graph, edges: Edges) -> list[Share]:
    """Return (number of the variable, elements) for the edges of many vertices."""
    if not edges.num_elements:
        return []
    low, high = edges.envelope()
    first, last = graph.space.owners(np.array([low, high - 1])).tolist()
    if first == last:
        return [(first, edges.num_elements)]
    _, begin, count = edges.runs()
    elements = np.zeros(last + 1, np.int64)
    np.add.at(elements, graph.space.owners(begin), count)
    used = np.flatnonzero(elements)
    return list(zip(used.tolist(), elements[used].tolist(), strict=True))


def _touched(thing: Thing, count: _VariableShares) -> TouchedElements:
    touched = TouchedElements(defaultdict(int), defaultdict(int))
    for shares, name, reads, writes in _ends(thing, count):
        for number, elements in shares:
            if reads:
                touched.read[number, name] += elements
            if writes:
                touched.written[number, name] += elements
    return touched


def _ends(
    thing: Thing, count: _VariableShares
) -> Iterator[tuple[Iterable[Share], str, bool, bool]]:
    """Yield what something touches in each place, by which field, and if it reads and writes."""
    match thing:
        case ComputeSet():
            for vertex in thing.vertices.singles():
                for field, tensor in edges_of(vertex):
                    yield count(tensor.view), field.name, field.reads, field.writes
            for block in thing.vertices.blocks():
                for name, edges in block.edges.items():
                    field = block.vertex_class.fields[name]
                    shares = _shares_of_edges(block.graph, edges)
                    yield shares, name, field.reads, field.writes
        case Program(reads=reads, writes=writes):
            for tensor in reads:
                yield count(tensor.view), "", True, False
            for tensor in writes:
                yield count(tensor.view), "", False, True


def _bytes(
    elements: dict[tuple[int, str], int], owner: list[int], variables: tuple[Variable, ...]
) -> list[tuple[int, str, int]]:
    """Sum bytes over what stands for the variables, in the order the variables were made."""
    sizes: dict[tuple[int, str], int] = defaultdict(int)
    for number, field in sorted(elements, key=lambda key: key[0]):
        size = variables[number].element_type.size_bytes
        sizes[owner[number], field] += elements[number, field] * size
    return [(key, field, size) for (key, field), size in sizes.items()]
