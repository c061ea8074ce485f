"""Who reads and writes what: variables, compute sets and copies before any is left out.

Items are in program order: a variable stands just before what first reads it, or just after
what first writes it; what is in no program follows in the order in which it was made::

    items   x   double   y   Copy y -> z   z          Links.tail   0 1 2 3
            0   1        2   3             4          Links.head   1 2 3 4

Vertices are summed up in their compute set, in one pass over their edges: 10^5 of them take a
second.  Numbers that a user connects to fields of vertices are constants of the graph; those of
one compute set are one item.  A report knows the accesses of every step, and its items are alike.

>>> from poplite.graph import Graph
>>> from poplite.program import Copy
>>> graph = Graph()
>>> y, z = graph.add_variable("int32", (4,), "y"), graph.add_variable("int32", (4,), "z")
>>> links = links_of(graph, Copy(y, z))
>>> [item.name for item in links.items], links.size_bytes.tolist()
(['y', 'y -> z', 'z'], [16, 16])
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ControlProgramError
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.vertex_block import Edges
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import made_from
from poplite.graph.tile_mapping import NO_TILE
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
from poplite.report import Report
from poplite.report.compilation import (
    Access,
    Compilation,
    ComputeSet as CompiledSet,
    StepAccesses,
    Variable as CompiledVariable,
)
from poplite.report.program_tree import num_steps
from poplite.types import type_text
from poplite.view import Storage, View, runs, storages
from poplite.viz.draw.words import name_text, names_in, parts_of_name
from poplite.viz.names import TYPES, check_known, size_bytes
from poplite.viz.program_nodes import leaf_kind, of_copy
from poplite.viz.summary import class_counts, edges_of

Kind: TypeAlias = Literal["variable", "constant", "compute", "copy", "control", "host"]
NodeKind: TypeAlias = Kind | Literal["operation", "scope"]
NOUNS: Mapping[NodeKind, tuple[str, str]] = {
    "variable": ("variable", "variables"),
    "constant": ("constant", "constants"),
    "compute": ("compute set", "compute sets"),
    "copy": ("copy", "copies"),
    "control": ("decision", "decisions"),
    "host": ("host step", "host steps"),
    "operation": ("operation", "operations"),
    "scope": ("scope", "scopes"),
}
"""Names of kinds, in the order of counts and legends."""

Scope: TypeAlias = tuple[str, ...]
Share: TypeAlias = tuple[int, int]
"""Number of a variable, and the number of its elements that something accesses."""


@frozen(eq=False)
class ItemFacts:
    """Further facts about an item that is drawn separately.

    Attributes:
        type_name: element type of data, and of what is moved.
        shape: shape of the same; None for anything else.
        vertices: vertex classes of a compute set, and how many vertices each has.
        tiles: where it lies or runs, ascending.
        location: the user's line that made it.
        parts: which parts of its two variables a copy moves; empty for all of both.
    """

    type_name: str = ""
    shape: tuple[int, ...] | None = None
    vertices: tuple[tuple[str, int], ...] = ()
    tiles: Sequence[int] | Int64 = ()
    location: str = ""
    parts: str = ""


class Item(NamedTuple):
    """One item through which data flows.

    Attributes:
        kind: what it is; "host" is a print or a call, "control" a program in which data decide.
        name: with its scopes; for a copy, the names of both ends.
        scope: its scopes, the outermost first; for a copy, those that both ends share.
        facts: gathers further facts, for the few items that are drawn.
        size_bytes: bytes of data, or of what is moved; 0 of compute sets.
        steps: its step numbers in the program; empty if it is not a step.
        operation: the name of the operation that it is a part of; empty for none.
        verb: what it does with what its name says; empty if that needs no word.
        numbers: names of the constants connected as numbers that it represents.
    """

    kind: Kind
    name: str
    scope: Scope
    facts: Callable[[], ItemFacts] = ItemFacts
    size_bytes: int = 0
    steps: tuple[int, ...] = ()
    operation: str = ""
    verb: str = ""
    numbers: tuple[str, ...] = ()


@frozen(eq=False)
class Links:
    """All items through which data flows, and the bytes that flow.

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


def _linked(
    steps: Iterable[tuple[Item, Sequence[Access]]],
    data: Callable[[int], Item],
    numbers: Iterable[int],
    num_steps: int,
) -> Links:
    """Put data, given by number, just before their first reader or after their first writer."""
    place: dict[int, int] = {}
    items: list[Item] = []
    flows: list[tuple[int, int, int, int]] = []
    fields: dict[str, int] = {"": -1}

    def place_of(number: int) -> int:
        if number not in place:
            place[number] = len(items)
            items.append(data(number))
        return place[number]

    for item, accesses in steps:
        read = [(place_of(each.variable), each) for each in accesses if each.read]
        own = len(items)
        items.append(item)
        written = [(place_of(each.variable), each) for each in accesses if each.written]
        through = [fields.setdefault(each.field, len(fields) - 1) for _, each in (*read, *written)]
        flows += [(at, own, each.read, k) for (at, each), k in zip(read, through, strict=False)]
        rest = through[len(read) :]
        flows += [(own, at, each.written, k) for (at, each), k in zip(written, rest, strict=True)]
    for number in numbers:
        place_of(number)
    tail, head, size, through_field = np.array(flows, np.int64).reshape(-1, 4).T
    return Links(tuple(items), tail, head, size, through_field, tuple(fields)[1:], num_steps)


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
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*set(scopes), strict=False))
    return tuple(parts[0] for parts in same)


# -- links of a graph ------------------------------------------------------------------------------


Thing: TypeAlias = Variable | ComputeSet | Program


class _Work(NamedTuple):
    """A compute set or a program that works on data.

    Attributes:
        thing: which.
        steps: its step numbers in the program; empty for a decision, which is not a step.
        results: where Executes store the results of a compute set's vertices.
    """

    thing: ComputeSet | Program
    steps: list[int]
    results: dict[Tensor, None]


def links_of(graph: Graph, program: Program | None = None, first: int = 1) -> Links:
    """Gather the dataflow in program order, with steps numbered from `first`.

    Raises ControlProgramError when the program belongs to another graph.
    """
    graph = graph.top_level_graph
    operations: dict[Thing, str] = {}  # temporaries are read by no other operation
    for each in graph.operations:
        operations |= dict.fromkeys((*each.compute_sets, *each.temporaries), each.name)
    variables, (owner, numbers) = graph.variables, _owners(graph, operations)
    shares = _VariableShares()

    def steps() -> Iterator[tuple[Item, Sequence[Access]]]:
        for work in _works(graph, program):
            places = tuple(first - 1 + number for number in work.steps)
            item = _item(work.thing, places, operations.get(work.thing, ""))
            yield item, _accesses(_touched(work, shares), owner, variables)

    def data(number: int) -> Item:
        variable = variables[number]
        facts = partial(_facts_of_variable, variable)
        own = variable, facts, _data_bytes(variable), operations.get(variable, "")
        return numbers.get(number) or _data_item(*own)

    count = program.num_steps if program is not None else 0
    return _linked(steps(), data, dict.fromkeys(owner), count)


def _works(graph: Graph, program: Program | None) -> Iterable[_Work]:
    """Return all readers and writers, each once: the program's steps, then unused compute sets."""
    found: dict[object, _Work] = {}
    several = () if program is None else (distinct_decisions(program), distinct_steps(program))
    for step in merge(*several, key=lambda step: step.number):
        node = step.program
        tensors: Sequence[Tensor] = (*node.reads, *node.writes)
        key: object = node
        thing: ComputeSet | Program = node
        match node:
            case Execute(compute_set=compute_set):
                key = thing = compute_set
                _check_graph(graph, compute_set.graph, step)
            case HostCall(function=function):
                _check_graph(graph, function.graph, step)
            case Copy(source=source, destination=end) if tensors:
                key = source, end
            case _ if not tensors or isinstance(node, Mark):
                continue  # it touches no data
        for tensor in tensors:
            _check_graph(graph, tensor.graph, step)
        work = found.setdefault(key, _Work(thing, [], {}))
        if node.decided_by is None:
            work.steps.append(step.number)
        if isinstance(node, Execute) and node.result is not None:
            work.results[node.result] = None
    for each in graph.compute_sets:
        found.setdefault(each, _Work(each, [], {}))
    return found.values()


def _check_graph(graph: Graph, other: Graph, step: Step) -> None:
    if other is not graph:
        raise ControlProgramError(
            f"the program belongs to another graph than {graph!r}",
            at=step.program.location,
            where=name_text(str(step)),
            found=f"that step is of {other!r}",
            fix="draw a program with the graph that its variables and compute sets were made with",
        )


def _item(thing: ComputeSet | Program, steps: tuple[int, ...], operation: str) -> Item:
    """Return a compute set or program as an item."""
    if isinstance(thing, ComputeSet):
        facts, name = partial(_facts_of_set, thing), thing.name
        return Item("compute", name, scope_of(name), facts, 0, steps, operation)
    tensors, moved = (*thing.reads, *thing.writes), thing.writes or thing.reads
    kind: Kind = leaf_kind(thing)
    verb = type(thing).__name__
    name = " -> ".join(tensor.name for tensor in tensors)
    match thing:
        case Copy(source=source, destination=end):
            kind, verb, name = "copy", "", f"{source.name} -> {end.name}"
        case PrintTensor(title=title):
            verb, name = "Print", title
        case HostCall(function=function):
            kind, verb, name, moved = "host", "Call", function.handle, tensors
        case Program(decided_by=Tensor() as tensor):
            kind, name = "control", tensor.name
    size = sum(tensor.num_elements * tensor.element_type.size_bytes for tensor in moved)
    scope = shared(scope_of(tensor.name) for tensor in tensors)
    return Item(kind, name, scope, partial(_facts_of_program, thing), size, steps, operation, verb)


def _facts_of_set(compute_set: ComputeSet) -> ItemFacts:
    vertices, at = compute_set.vertices, compute_set.location.portable
    counts, tiles = class_counts(vertices.items()), sorted(vertices.tiles())
    return ItemFacts(vertices=counts, tiles=tiles, location=at)


def _facts_of_variable(variable: Variable) -> ItemFacts:
    _, owner = variable.mapping.pieces()
    kind, tiles = type_text(variable.element_type), np.unique(owner[owner != NO_TILE])
    return ItemFacts(kind, variable.shape, tiles=tiles, location=variable.location.portable)


def _facts_of_program(program: Program) -> ItemFacts:
    location, parts = program.location.portable, ""
    tensor = next(iter((*program.writes, *program.reads)), None)
    if isinstance(program, Copy):
        tensor, ends = program.tensor, (program.source, program.destination)
        parts = " -> ".join(map(_part_text, ends)).removeprefix("all -> all")
    if isinstance(program, HostCall) or tensor is None:
        return ItemFacts(location=location)
    return ItemFacts(type_text(tensor.element_type), tensor.shape, location=location, parts=parts)


def _part_text(end: object) -> str:
    """Return the part of its variable that a tensor views; for other ends of copies, the name."""
    if not isinstance(end, Tensor):
        return f"'{name_text(getattr(end, 'name', ''))}'"
    if not end.num_elements:
        return "no elements"
    return name_text(made_from(end).removeprefix(f"'{end.name}'").strip()) or "all"


def _owners(graph: Graph, operations: Mapping[Thing, str]) -> tuple[list[int], dict[int, Item]]:
    """Return the item of each variable: its own, or that of all numbers of its compute set."""
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
            size, names = sum(map(_data_bytes, constants)), tuple(each.name for each in constants)
            item = Item("constant", name, scope, size_bytes=size, operation=operation)
            numbers[first] = item._replace(numbers=names)
    return owner, numbers


def _data_item(
    variable: Variable | CompiledVariable, facts: Callable[[], ItemFacts], size: int, made: str = ""
) -> Item:
    """Return a variable or constant of a graph or of a report, which an operation may have made."""
    kind: Kind = "constant" if variable.constant else "variable"
    scope = scope_of(variable.name)
    return Item(kind, variable.name, scope, facts, size, operation=made)


def _data_bytes(variable: Variable) -> int:
    return variable.num_elements * variable.element_type.size_bytes


Touched: TypeAlias = "dict[tuple[int, str], list[int]]"
"""Elements that are read and written, by the number of a variable and the field."""


def _touched(work: _Work, shares_of: _VariableShares) -> Touched:
    found: Touched = defaultdict(lambda: [0, 0])

    def add(shares: Iterable[Share], name: str, *, reads: bool, writes: bool) -> None:
        for number, elements in shares:
            found[number, name][0] += elements * reads
            found[number, name][1] += elements * writes

    thing, written = work.thing, tuple(work.results)
    if isinstance(thing, ComputeSet):
        for vertex in thing.vertices.singles():
            for field, tensor in edges_of(vertex):
                add(shares_of(tensor.view), field.name, reads=field.reads, writes=field.writes)
        for block in thing.vertices.blocks():
            for name, edges in block.edges.items():
                field = block.vertex_class.fields[name]
                shares = _shares_of_edges(block.graph, edges)
                add(shares, name, reads=field.reads, writes=field.writes)
    else:
        written = thing.writes
        for tensor in thing.reads:
            add(shares_of(tensor.view), "", reads=True, writes=False)
    for tensor in written:
        add(shares_of(tensor.view), "", reads=False, writes=True)
    return found


def _accesses(touched: Touched, owner: list[int], variables: Sequence[Variable]) -> list[Access]:
    """Sum bytes over the items of variables, in order of creation of the variables."""
    sizes: Touched = defaultdict(lambda: [0, 0])
    for number, field in sorted(touched, key=lambda key: key[0]):
        for way, elements in enumerate(touched[number, field]):
            sizes[owner[number], field][way] += elements * variables[number].element_type.size_bytes
    return [Access(*key, *both) for key, both in sizes.items()]


class _VariableShares:
    """Counts the elements of each variable in views; the results of views are cached."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[View, list[Share]]] = {}

    def __call__(self, view: View) -> Iterable[Share]:
        """Return (number of the variable, elements) for each variable a view touches."""
        if isinstance(view.space, Storage):
            size = view.num_elements
            return [(view.space.id, size)] if size else []
        if id(view) not in self._known:
            # The view is kept with its answer, so that no other can get its id.
            self._known[id(view)] = view, _shares(view)
        return self._known[id(view)][1]


def _shares(view: View) -> list[Share]:
    """Return (number of the variable, elements) for a view of a concatenation."""
    owners = sorted(storages(view), key=lambda storage: storage.base)
    begin, length = runs(view)
    owner = np.searchsorted([storage.base for storage in owners], begin, side="right") - 1
    elements = np.zeros(len(owners), np.int64)
    np.add.at(elements, owner, length)
    return [(s.id, n) for s, n in zip(owners, elements.tolist(), strict=True) if n]


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


# -- links of a report -----------------------------------------------------------------------------


def links_of_report(report: Report, program: str | None = None) -> Links:
    """Gather the same from a report, of all its programs or of one.

    Raises UnknownName when the report does not know its variables, or there is no such program.
    """
    check_known(report)
    compilation = report.compilation
    if program is not None:
        _ = compilation.programs[program]  # raises where there is none
    counts = {name: num_steps(compilation.programs[name]) for name in compilation.program_names}
    before = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))

    def steps() -> Iterator[tuple[Item, Sequence[Access]]]:
        for step in compilation.accesses:
            numbers = tuple(before[name] + n for name, n in step.places if program in (None, name))
            if numbers:
                yield _step_of_report(step, numbers, compilation), step.accesses

    def data(number: int) -> Item:
        return _data_of_report(compilation.variables[number])

    total = sum(count for name, count in counts.items() if program in (None, name))
    return _linked(steps(), data, range(len(compilation.variables)), total)


def _data_of_report(variable: CompiledVariable) -> Item:
    tiles = set() if variable.tiles is None else set(variable.tiles.array().tolist())
    kind = type_text(TYPES[variable.element_type])
    known = sorted(tiles - {NO_TILE})
    facts = ItemFacts(kind, variable.shape, tiles=known, location=variable.at)
    return _data_item(variable, lambda: facts, size_bytes(variable))


def _step_of_report(step: StepAccesses, numbers: tuple[int, ...], compilation: Compilation) -> Item:
    if step.compute_set is not None:
        by = (o.name for o in compilation.operations if step.compute_set in o.compute_sets)
        operation = next(by, "")
        found = compilation.compute_sets[step.compute_set]
        facts = partial(_facts_of_compiled, found, step.at)
        return Item("compute", step.name, scope_of(step.name), facts, 0, numbers, operation)
    moved = sum(each.written for each in step.accesses) or sum(e.read for e in step.accesses)
    touched = [compilation.variables[each.variable].name for each in step.accesses]
    first = touched[0] if touched else step.name
    kind: Kind = "copy" if step.kind == "execute" else step.kind
    if kind == "copy":
        name, verb = " -> ".join(of_copy(step.name)[1]), ""
    elif kind == "control":
        name, verb, numbers = first, step.name, ()  # a decision is not a step
    else:
        pattern, names = names_in(step.name)
        verb = pattern.partition(" ")[0].replace("PrintTensor", "Print")
        name = " -> ".join(names) or first
    scope, known = shared(map(scope_of, touched)), ItemFacts(location=step.at)
    return Item(kind, name, scope, lambda: known, moved, numbers, verb=name_text(verb))


def _facts_of_compiled(found: CompiledSet, at: str) -> ItemFacts:
    used = {t for each in found.vertices for t in each.count_by_tile.tiles.array().tolist()}
    counts: Counter[str] = Counter()
    for each in found.vertices:
        counts[each.type] += each.count_by_tile.total
    return ItemFacts(vertices=tuple(counts.most_common()), tiles=sorted(used), location=at)
