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

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
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
from poplite.report.program_tree import num_steps
from poplite.text import amount
from poplite.types import ELEMENT_TYPES, type_text
from poplite.view import Cat, Storage, View, num_runs, runs, storages
from poplite.viz.draw.columns import names_in
from poplite.viz.draw.units import name_text, parts_of_name
from poplite.viz.graph_counts import class_counts, edges_of
from poplite.viz.names import check_known, size_bytes
from poplite.viz.program_nodes import of_copy

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.report import Report
    from poplite.report.compilation import (
        Compilation,
        ComputeSet as CompiledSet,
        StepAccesses,
        Variable as CompiledVariable,
    )

Kind: TypeAlias = Literal["variable", "constant", "compute", "copy", "control", "host"]
Scope: TypeAlias = tuple[str, ...]
Share: TypeAlias = tuple[int, int]
"""Number of a variable, and how many of its elements something touches."""


@frozen(eq=False)
class ItemFacts:
    """What else there is to say of an item that is drawn by itself.

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
    """One thing that data flows through.

    Attributes:
        kind: what it is; "host" is a print or a call, "control" a program in which data decide.
        name: with its scopes; for a copy, the names of both ends.
        scope: its scopes, the outermost first; for a copy, those that both ends share.
        facts: gathers what else there is to say, for the few items that are drawn.
        size_bytes: bytes of data, or of what is moved; 0 of compute sets.
        steps: their numbers where it stands in the program; empty for what is no step of it.
        operation: the name of the operation that it is a part of; empty for none.
        verb: what it does with what its name says; empty where that needs no word.
        numbers: names of the constants connected as numbers that it stands for.
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


class Touch(NamedTuple):
    """Bytes of something, by its number, that a step reads or writes through a field."""

    number: int
    field: str
    size_bytes: int


Touching: TypeAlias = tuple[Item, Sequence[Touch], Sequence[Touch]]
"""What works on data, with what it reads and what it writes."""


def _linked(
    steps: Iterable[Touching], data: Callable[[int], Item], numbers: Iterable[int], num_steps: int
) -> Links:
    """Put data, by their numbers, just before what first reads them or after what first writes."""
    place: dict[int, int] = {}
    items: list[Item] = []
    flows: list[tuple[int, int, int, int]] = []
    fields: dict[str, int] = {"": -1}

    def place_of(number: int) -> int:
        if number not in place:
            place[number] = len(items)
            items.append(data(number))
        return place[number]

    for item, read, written in steps:
        for each in (*read, *written):
            fields.setdefault(each.field, len(fields) - 1)
        sources = [(place_of(each.number), each) for each in read]
        own = len(items)
        items.append(item)
        flows += [(source, own, each.size_bytes, fields[each.field]) for source, each in sources]
        flows += [
            (own, place_of(each.number), each.size_bytes, fields[each.field]) for each in written
        ]
    for number in numbers:
        place_of(number)
    tail, head, size, through = np.array(flows, np.int64).reshape(-1, 4).T
    return Links(tuple(items), tail, head, size, through, tuple(fields)[1:], num_steps)


# -- links of a graph ------------------------------------------------------------------------------


Thing: TypeAlias = Variable | ComputeSet | Program

VERBS: Mapping[type[Program], str] = {Copy: "", HostCall: "Call", PrintTensor: "Print"}
"""What programs do with what their names say; others are called by their kinds."""


class Action(NamedTuple):
    """What works on data in a graph: a compute set or a program, and its steps."""

    kind: Kind
    name: str
    scope: Scope
    thing: ComputeSet | Program
    steps: tuple[int, ...]


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

    def touching() -> Iterator[Touching]:
        count, results = _VariableShares(), _results(program)
        for action in _actions(graph, program):
            touched = _touched(action.thing, count)
            for tensor in results.get(action.thing, ()):
                for number, elements in count(tensor.view):
                    touched.written[number, ""] += elements
            read, written = (_bytes(part, owner, variables) for part in touched)
            yield _item(action, operations.get(action.thing, ""), first), read, written

    def data(number: int) -> Item:
        return numbers.get(number) or _data_item(variables[number], operations)

    steps = program.num_steps if program is not None else 0
    return _linked(touching(), data, dict.fromkeys(owner), steps)


def _item(action: Action, operation: str, first: int) -> Item:
    """Return what works on data as an item; `first` is the number of the program's first step."""
    kind, name, scope, thing, steps = action
    numbered = tuple(first - 1 + number for number in steps)
    if isinstance(thing, ComputeSet):
        return Item(kind, name, scope, partial(_facts_of_set, thing), 0, numbered, operation)
    verbs = (verb for kind_of, verb in VERBS.items() if isinstance(thing, kind_of))
    verb = next(verbs, type(thing).__name__)
    facts = partial(_facts_of_program, thing)
    return Item(kind, name, scope, facts, _moved_bytes(thing), numbered, operation, verb)


def _moved_bytes(program: Program) -> int:
    """Return the bytes that a program writes, or else reads; of a call both."""
    tensors = program.writes or program.reads
    if isinstance(program, HostCall):
        tensors = program.reads + program.writes
    return sum(tensor.num_elements * tensor.element_type.size_bytes for tensor in tensors)


def _facts_of_set(compute_set: ComputeSet) -> ItemFacts:
    return ItemFacts(
        vertices=class_counts(compute_set.vertices.items()),
        tiles=sorted(compute_set.vertices.tiles()),
        location=compute_set.location.portable,
    )


def _facts_of_variable(variable: Variable) -> ItemFacts:
    _, owner = variable.mapping.pieces()
    return ItemFacts(
        type_name=type_text(variable.element_type),
        shape=variable.shape,
        tiles=np.unique(owner[owner != NO_TILE]),
        location=variable.location.portable,
    )


def _facts_of_program(program: Program) -> ItemFacts:
    tensor, parts = next(iter((*program.writes, *program.reads)), None), ""
    if isinstance(program, Copy):
        tensor, parts = program.tensor, _parts(program)
    if isinstance(program, HostCall) or tensor is None:
        return ItemFacts(location=program.location.portable)
    return ItemFacts(
        type_name=type_text(tensor.element_type),
        shape=tensor.shape,
        location=program.location.portable,
        parts=parts,
    )


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
            numbers[first] = Item(
                *("constant", name, scope),
                size_bytes=sum(map(_data_bytes, constants)),
                operation=operation,
                numbers=tuple(variable.name for variable in constants),
            )
    return owner, numbers


def _results(program: Program | None) -> Mapping[Thing, Iterable[Tensor]]:
    """Return where Executes put what the vertices of a compute set return."""
    results: dict[Thing, dict[Tensor, None]] = defaultdict(dict)
    for step in () if program is None else distinct_steps(program):
        if isinstance(step.program, Execute) and step.program.result is not None:
            results[step.program.compute_set][step.program.result] = None
    return results


def _data_item(variable: Variable, operations: Mapping[Thing, str]) -> Item:
    return Item(
        "constant" if variable.constant else "variable",
        variable.name,
        scope_of(variable.name),
        partial(_facts_of_variable, variable),
        _data_bytes(variable),
        operation=operations.get(variable, ""),
    )


def _data_bytes(variable: Variable) -> int:
    return variable.num_elements * variable.element_type.size_bytes


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


def _actions(graph: Graph, program: Program | None) -> Iterator[Action]:
    """Yield what reads and writes, each once: the program's steps, then what it leaves out."""
    seen: set[object] = set()
    steps = _steps(program)
    for step in () if program is None else _reading(program):
        match step.program:
            case Execute(compute_set=compute_set):
                _check_graph(graph, compute_set.graph, step)
                if compute_set not in seen:
                    seen.add(compute_set)
                    yield _compute_action(compute_set, steps[compute_set])
            case Copy(source=source, destination=end, tensor=Tensor() as tensor) as leaf:
                _check_graph(graph, tensor.graph, step)
                if (source, end) not in seen:
                    seen.add((source, end))
                    tensors = *leaf.reads, *leaf.writes
                    scope = shared([scope_of(each.name) for each in tensors])
                    name = f"{source.name} -> {end.name}"
                    yield Action("copy", name, scope, leaf, steps[source, end])
            case PrintTensor(title=title, tensor=tensor) as leaf:
                _check_graph(graph, tensor.graph, step)
                yield Action("host", title, scope_of(tensor.name), leaf, (step.number,))
            case HostCall(function=function) as leaf:
                _check_graph(graph, function.graph, step)
                yield Action("host", function.handle, (), leaf, (step.number,))
            case Program(decided_by=Tensor() as tensor) as node:
                _check_graph(graph, tensor.graph, step)
                # A decision is no step: this number is that of the step after it.
                yield Action("control", tensor.name, scope_of(tensor.name), node, ())
            case leaf:
                tensors = *leaf.reads, *leaf.writes
                for tensor in tensors:
                    _check_graph(graph, tensor.graph, step)
                if tensors and not isinstance(leaf, Mark):  # otherwise it touches no data
                    kind: Kind = "copy" if leaf.reads and leaf.writes else "host"
                    name = " -> ".join(tensor.name for tensor in tensors)
                    scope = shared([scope_of(tensor.name) for tensor in tensors])
                    yield Action(kind, name, scope, leaf, (step.number,))
    for compute_set in graph.compute_sets:
        if compute_set not in seen:
            yield _compute_action(compute_set, ())


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


def _compute_action(compute_set: ComputeSet, steps: tuple[int, ...]) -> Action:
    return Action("compute", compute_set.name, scope_of(compute_set.name), compute_set, steps)


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


def _touched(thing: ComputeSet | Program, count: _VariableShares) -> TouchedElements:
    touched = TouchedElements(defaultdict(int), defaultdict(int))
    for shares, name, reads, writes in _ends(thing, count):
        for number, elements in shares:
            if reads:
                touched.read[number, name] += elements
            if writes:
                touched.written[number, name] += elements
    return touched


def _ends(
    thing: ComputeSet | Program, count: _VariableShares
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
) -> list[Touch]:
    """Sum bytes over what stands for the variables, in the order the variables were made."""
    sizes: dict[tuple[int, str], int] = defaultdict(int)
    for number, field in sorted(elements, key=lambda key: key[0]):
        size = variables[number].element_type.size_bytes
        sizes[owner[number], field] += elements[number, field] * size
    return [Touch(key, field, size) for (key, field), size in sizes.items()]


def _parts(copy: Copy) -> str:
    """Return what a copy moves from and to; empty where that is all of two variables."""
    parts = [
        part_text(end) if isinstance(end, Tensor) else f"'{name_text(end.name)}'"
        for end in (copy.source, copy.destination)
    ]
    return "" if parts == ["all", "all"] else " -> ".join(parts)


def part_text(tensor: Tensor) -> str:
    """Return the part of its variable that a tensor is, in the words of an index.

    What no index says is told by the number of its intervals.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4, 6), "x")
    >>> part_text(x), part_text(x[1:3, ::2]), part_text(x[:, 2:4].T), part_text(x[3])
    ('all', '[1:3, 0:5:2]', '[:, 2:4] dimShuffle(1, 0)', '[3]')
    >>> part_text(x.flatten()[3:20:5])
    '4 intervals'
    """
    if not tensor.num_elements:
        return "no elements"
    if isinstance(tensor.view.space, Cat):
        return f"{amount(len(storages(tensor.view)), 'variable')} together"
    variable = tensor.graph.variable_of(tensor.view.space)
    found = _index(tensor, variable.shape)
    if found is not None:
        return found
    if any(stride == 0 for _, stride in tensor.view.flat_digits()):
        return "a broadcast"
    intervals = num_runs(tensor.view)
    if intervals > 1:
        return f"{intervals:,} intervals"
    if tensor.num_elements == variable.num_elements:
        return "all"
    return f"elements [{tensor.view.off:,}, {tensor.view.off + tensor.num_elements:,})"


def _index(tensor: Tensor, shape: tuple[int, ...]) -> str | None:
    """Return an index of a shape and a shuffle of its dimensions; None where there is none."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    first, rest = [0] * len(shape), tensor.view.off
    for axis, stride in enumerate(strides):
        first[axis], rest = divmod(rest, stride)
    words = [f"{start:,}" if shape[axis] > 1 else ":" for axis, start in enumerate(first)]
    order: list[int] = []
    for extent, step in zip(tensor.shape, tensor.view.dims, strict=True):
        if extent == 1:
            continue
        if isinstance(step, tuple) or step == 0:
            return None
        fitting = [axis for axis, stride in enumerate(strides) if step % stride == 0]
        axis = next((axis for axis in fitting if shape[axis] > 1), len(shape))
        if axis == len(shape) or axis in order:
            return None
        step //= strides[axis]
        last = first[axis] + step * (extent - 1)
        if not 0 <= last < shape[axis]:
            return None
        order.append(axis)
        words[axis] = _slice(first[axis], last, step, shape[axis])
    while words and words[-1] == ":":
        words.pop()
    index = f"[{', '.join(words)}]" if words else "all"
    if order == sorted(order):
        return index
    shuffled = [sorted(order).index(axis) for axis in order]
    return f"{index} dimShuffle({', '.join(map(str, shuffled))})"


def _slice(first: int, last: int, step: int, extent: int) -> str:
    if step < 0:
        return f"{_slice(last, first, -step, extent)} reversed"
    if (first, last, step) == (0, extent - 1, 1):
        return ":"
    return f"{first}:{last + 1}" + (f":{step}" if step > 1 else "")


# -- links of a report -----------------------------------------------------------------------------

KINDS: dict[str, Kind] = {
    "execute": "compute",
    "copy": "copy",
    "host": "host",
    "control": "control",
}
"""Kinds of steps as kinds of items."""

_NAMES = {each.__name__: type_text(each) for each in ELEMENT_TYPES}


def links_of_report(report: Report, program: str | None = None) -> Links:
    """Gather the same from a report, of all its programs or of one.

    Raises UnknownName when the report does not know its variables, or there is no such program.
    """
    check_known(report)
    compilation = report.compilation
    if program is not None:
        _ = compilation.programs[program]  # raises where there is none

    def touching() -> Iterator[Touching]:
        for step, numbers in _numbered(compilation, program):
            found = step.accesses
            read = [Touch(each.variable, each.field, each.read) for each in found if each.read]
            written = [
                Touch(each.variable, each.field, each.written) for each in found if each.written
            ]
            yield _step_of_report(step, numbers, compilation), read, written

    def data(number: int) -> Item:
        return _data_of_report(compilation.variables[number])

    steps = sum(
        num_steps(tree) for name, tree in compilation.programs.items() if program in (None, name)
    )
    return _linked(touching(), data, range(len(compilation.variables)), steps)


def _numbered(
    compilation: Compilation, program: str | None
) -> Iterator[tuple[StepAccesses, tuple[int, ...]]]:
    """Yield the steps of all programs, or of one, with their numbers over all."""
    before, total = {}, 0
    for name in compilation.program_names:
        before[name] = total
        total += num_steps(compilation.programs[name])
    for step in compilation.accesses:
        numbers = [before[name] + n for name, n in step.places if program in (None, name)]
        if numbers:
            yield step, tuple(numbers)


def _data_of_report(variable: CompiledVariable) -> Item:
    tiles = set() if variable.tiles is None else set(variable.tiles.array().tolist())
    facts = ItemFacts(
        type_name=_NAMES[variable.element_type],
        shape=variable.shape,
        tiles=sorted(tiles - {NO_TILE}),
        location=variable.at,
    )
    kind: Kind = "constant" if variable.constant else "variable"
    scope = scope_of(variable.name)
    return Item(kind, variable.name, scope, lambda: facts, size_bytes(variable))


def _step_of_report(step: StepAccesses, numbers: tuple[int, ...], compilation: Compilation) -> Item:
    kind = KINDS[step.kind]
    if step.compute_set is not None:
        operation = next(
            (o.name for o in compilation.operations if step.compute_set in o.compute_sets), ""
        )
        found = compilation.compute_sets[step.compute_set]
        facts = partial(_facts_of_compiled, found, step.at)
        return Item(kind, step.name, scope_of(step.name), facts, 0, numbers, operation)
    moved = sum(each.written for each in step.accesses) or sum(e.read for e in step.accesses)
    touched = [compilation.variables[each.variable].name for each in step.accesses]
    first = touched[0] if touched else step.name
    if kind == "copy":
        name, verb = " -> ".join(of_copy(step.name)[1]), ""
    elif kind == "control":
        name, verb, numbers = first, step.name, ()  # a decision is no step
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
