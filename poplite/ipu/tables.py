"""The tables of an exported graph, for the host program.

Features that are not yet supported on real IPUs, which are replicas, several IPUs and remote
buffers, are refused before any file is written. All errors are reported together, those
about programs and names with their lines.

Program trees are stored as columns: each distinct program once, after its parts.
    node.op, .a, .b       its kind, and up to two numbers
    node.children_end     the end of its parts in `child`
    case.value            the values of the cases of a Switch, from `b` on
    call.tensor           inputs, then outputs of a host call, from `b` on
    stamp.tile, .sync, .tensor, .since
    program.name, .root
    function.name, .root

Each printed tensor has its own stream, so that Python prints it as usual. An Execute whose
vertices read elements that they write becomes a sequence of copies and the Execute. `cycle_count`
subtracts two cycle counters with the vertex `CyclesSince`, since Poplar's `cycleStamp` only returns
a counter, as two words, low word first.

Compute sets are stored as families of vertices of one class, and their fields:

    cs.name, cs.families_end
    family.class, .count      the class in C++, and the number of vertices
    family.stops, .tiles      one past the last vertex of each run on one tile, and its tile
    family.cycles, .flops     the user's estimates for each vertex, if any
    family.fields_end
    field.name, .kind, .type  its name in C++
    field.of                  by kind: the number of its `edges`, of a series, or the first value
    field.length              for a State field of vectors, the length for each vertex
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from poplite.arrays.series import Series, compact, progression
from poplite.compile.compiler import Programs, named_programs
from poplite.compile.program_parts import parts_of
from poplite.errors import ExportError, listed
from poplite.files import replacing
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, StateValues, Vectors
from poplite.graph.compute_sets.edge_table import EdgeTable, EdgeTables, Family, FieldEdges
from poplite.graph.compute_sets.vertex_block import Edges, VertexBlock
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.codelet_file import CodeletFile, codelet_file, declared_fields
from poplite.ipu.codelet_function import member
from poplite.ipu.table_columns import (
    ALIGNMENT,
    NONE,
    ColumnRows,
    CopiedInput,
    EdgesTable,
    HostPlaces,
    Place,
    Stored,
    Texts,
    VariableColumns,
    copied_inputs,
    file_of,
    handle_columns,
    handle_places,
    host_variables,
    type_number,
)
from poplite.machine.floating_point import OVERFLOW_NAN, TRAPS
from poplite.program import (
    Abort,
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Block,
    CodeCopy,
    CrossReplicaCopy,
    CycleStamp,
    ErrorProgram,
    Execute,
    Function,
    HostCall,
    If,
    Loop,
    ModifyFloatingPointBehaviour,
    PrintTensor,
    Program,
    RemoteCopy,
    Repeat,
    RepeatWhile,
    RepeatWhileTrue,
    Sequence as Steps,
    SetFloatingPointBehaviour,
    SetStochasticRounding,
    StreamCopy,
    Switch,
    Sync,
    SyncType,
    TensorCopy,
    WriteUndef,
    children_first,
    distinct_steps,
)
from poplite.program.base import FunctionCall, unknown_kind
from poplite.source import SourceLocation
from poplite.text import amount, clipped
from poplite.types import UNSIGNED_INT
from poplite.vertex import Input, Output, Vector, Vertex
from poplite.vertex.fields import Field


@frozen(eq=False)
class Tables:
    """A graph and its programs in the form that the host program reads.

    Attributes:
        data: the content of the file.
        codelets: the C++ text of all vertex classes, and their names in it.
        programs: names of the programs.
        streams: the place of each stream, by name, including those of printed tensors.
        functions: the places of the arrays of each host function, inputs first.
        prints: the programs that print, by the names of their streams.
        reads: the place of each handle that the host reads: "variable:x", "handle:x".
        writes: the place of each handle that the host writes.
        mapping_bytes: size of the mapping that Python shares with the host program.
    """

    data: bytes
    codelets: CodeletFile
    programs: tuple[str, ...]
    streams: Mapping[str, Place]
    functions: Mapping[str, tuple[Place, ...]]
    prints: Mapping[str, PrintTensor]
    reads: Mapping[str, Place]
    writes: Mapping[str, Place]
    mapping_bytes: int

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, completely or not at all."""
        with replacing(Path(path)) as file:
            file.write(self.data)


def tables_of(
    graph: Graph,
    programs: Programs,
    edges_of: EdgeTables | None = None,
    *,
    float_mode: int = 0,
    stops_outside: bool = False,
) -> Tables:
    """Return a graph and its programs as tables.

    The programs must have been checked, as in `compile_graph`.

    Args:
        graph: the graph.
        programs: as for `compile_graph`.
        edges_of: the edges of compute sets, if they are already known.
        float_mode: the initial floating-point behaviour (`poplite.machine`), which determines
            traps; halves that are too large become NaN.
        stops_outside: whether an out-of-range index of a field stops its vertex.

    Raises:
        ExportError: for features not yet supported on real IPUs; the error gives the lines.
        VertexCompileError: for vertex classes that cannot become codelets.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> tables = tables_of(graph, {"there": pl.Copy(a, b)})
    >>> sorted(tables.reads), tables.writes["variable:a"].shape
    (['variable:a', 'variable:b'], (3,))
    """
    graph = graph.top_level_graph
    named = named_programs(programs)
    check_exported(graph, named)
    edges_of = edges_of or EdgeTables(graph.space)
    parts = parts_of(named.values())
    compute_sets = parts.compute_sets
    classes = {family.cls: None for each in compute_sets for family in edges_of(each).families}
    if any(isinstance(leaf, CycleStamp) and leaf.since is not None for leaf in parts.leaves):
        classes[CyclesSince] = None
    codelets = codelet_file(classes, stops_outside=stops_outside)
    hosted = host_variables(graph)
    reads, writes = handle_places(graph, hosted)
    largest = max((each.size_bytes for each in (*reads.values(), *writes.values())), default=0)

    stored = Stored()
    edges = EdgesTable(stored.series)
    variables = VariableColumns(stored)
    for variable in graph.variables:
        variables.add(variable, hosted=variable in hosted)
    vertices = VertexColumns(codelets.names, graph.target.tiles, stored, edges)
    host = HostPlaces(graph._parts.handles.streams, largest)
    trees = ProgramColumns(host, stored.texts, edges)
    for number, each in enumerate(compute_sets):
        copied = copied_inputs(graph, each, edges_of(each), variables.end)
        for one in copied:
            variables.add_copy(one)
        vertices.add(each, edges_of(each), {one.field: one.edges for one in copied})
        trees.add_compute_set(each, number, copied)
    for name, program in named.items():
        trees.add(name, program)

    size = max(host.end, ALIGNMENT)
    counts = [*variables.columns()["variable.count"], *vertices.columns()["family.count"]]
    largest = max(edges.largest, max(counts, default=0))  # the maximum of all counts in the tables
    columns: dict[str, Any] = {
        "machine": [graph.target.tiles, size, (float_mode & TRAPS) | OVERFLOW_NAN, largest],
        **variables.columns(),
        **host.columns(stored.texts),
        **handle_columns(graph, stored.texts, edges),
        **vertices.columns(),
        **trees.columns(),
        "since.class": [stored.texts.number(codelets.names[CyclesSince])]
        if CyclesSince in classes
        else [],
        **edges.columns(),
        **stored.columns(),
    }
    return Tables(
        data=file_of(columns),
        codelets=codelets,
        programs=tuple(named),
        streams=host.streams,
        functions=host.functions,
        prints=host.prints,
        reads=reads,
        writes=writes,
        mapping_bytes=size,
    )


# -- cycles ----------------------------------------------------------------------------------------


class CyclesSince(Vertex):
    """Cycles between two counters, each of two words, low word first."""

    before: Input[Vector[UNSIGNED_INT]]
    now: Input[Vector[UNSIGNED_INT]]
    taken: Output[Vector[UNSIGNED_INT]]

    def compute(self) -> None:
        """Subtract the earlier counter, with a borrow from the high word."""
        borrow = 1 if self.now[0] < self.before[0] else 0
        self.taken[0] = self.now[0] - self.before[0]
        self.taken[1] = self.now[1] - self.before[1] - borrow


# -- unsupported features --------------------------------------------------------------------------


_PROGRAMS: Mapping[type[Program], str] = {
    RemoteCopy: "remote buffers",
    CrossReplicaCopy: "replicas",
}

Fault = tuple[str, SourceLocation | None]


def check_exported(graph: Graph, programs: Mapping[str, Program]) -> None:
    """Refuse a graph and programs with features not yet supported on real IPUs.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    >>> check_exported(graph, {})
    Traceback (most recent call last):
    ...
    poplite.errors.ExportError: the IPU export does not support 1 feature of this graph yet
      the graph has 2 replicas
      try: leave out these features, or run on the simulator: Engine(graph, program)
    """
    faults = [*_of_machine(graph), *_of_names(graph, programs), *_of_programs(programs.values())]
    if not faults:
        return
    raise ExportError(
        f"the IPU export does not support {amount(len(faults), 'feature')} of this graph yet",
        at=next((at for _, at in faults if at is not None), None),
        found=listed([f"{what} ({at})" if at else what for what, at in faults], "parts"),
        fix="leave out these features, or run on the simulator: Engine(graph, program)",
    )


def _of_machine(graph: Graph) -> Iterable[Fault]:
    if graph.replication_factor > 1:
        yield f"the graph has {graph.replication_factor} replicas", None
    if graph.target.ipus > 1:
        yield f"the graph has {graph.target.ipus} IPUs", None


def _of_names(graph: Graph, programs: Mapping[str, Program]) -> Iterable[Fault]:
    handles = graph._parts.handles
    located: list[tuple[str, str, Any]] = [
        *(("variable", each.name, each) for each in graph.variables),
        *(("program", name, each) for name, each in programs.items()),
        *(("stream", name, each) for name, each in handles.streams.items()),
        *(("host function", name, each) for name, each in handles.host_functions.items()),
        *(("host read", name, each) for name, each in handles.reads.items()),
        *(("host write", name, each) for name, each in handles.writes.items()),
    ]
    for kind, name, each in located:
        if not name.isprintable():
            yield (
                f"the name of {kind} {clipped(name)} must be printable",
                each.location,
            )


def _of_programs(programs: Iterable[Program]) -> Iterable[Fault]:
    found = {step.program: None for program in programs for step in distinct_steps(program)}
    for leaf in found:
        for kind, what in _PROGRAMS.items():
            if isinstance(leaf, kind):
                yield f"{leaf} uses {what}", leaf.location


# -- programs --------------------------------------------------------------------------------------


_SYNCS = tuple(SyncType)

NO_CASE = "no case of the Switch matches"
"""The error of a Switch that stops the program because no case matches."""


class NodeOp(IntEnum):
    """The operation of a node, with `a` and `b` in parentheses."""

    SEQUENCE = 0
    EXECUTE = 1
    """(compute set, tensor of the result or none)"""
    COPY = 2
    """(source, destination)"""
    FROM_HOST = 3
    """(stream, destination)"""
    TO_HOST = 4
    """(stream, source)"""
    REPEAT = 5
    """(count)"""
    WHILE_TRUE = 6
    """(predicate); condition and body"""
    WHILE_FALSE = 7
    LOOP = 8
    IF = 9
    """(predicate); both bodies"""
    SWITCH = 10
    """(control, first of its cases); the default, then the cases"""
    CALL = 11
    """(function)"""
    ABORT = 12
    """(text)"""
    ABORT_ON = 13
    """(predicate, text)"""
    ERROR = 14
    """(text, tensor)"""
    SYNC = 15
    """(0 internal, 1 external, 2 global)"""
    WRITE_UNDEF = 16
    """(tensor)"""
    HOST_CALL = 17
    """(function of the host, first of its tensors)"""
    STAMP = 18
    """(stamp)"""
    SET_BEHAVIOUR = 19
    """(bits)"""
    MODIFY_BEHAVIOUR = 20
    """(bits to clear, bits to set after that)"""
    SET_ROUNDING = 21
    """(whether rounding is stochastic)"""
    LOAD_CODE = 22
    """(function)"""


class ProgramColumns(ColumnRows):
    """Columns of programs.

    Args:
        host: the numbers of the host's streams and functions.
    """

    names = (
        "node.op node.a node.b node.children_end child case.value call.tensor stamp.tile "
        "stamp.sync stamp.tensor stamp.since program.name program.root function.name "
        "function.root"
    )

    def __init__(self, host: HostPlaces, texts: Texts, edges: EdgesTable) -> None:
        super().__init__()
        self._host, self._texts, self._edges = host, texts, edges
        self._stream_of = host.stream
        self._compute_sets: dict[ComputeSet, tuple[int, Sequence[CopiedInput]]] = {}
        self._numbers: dict[Program, int] = {}
        self._functions: dict[Function, int] = {}

    def add_compute_set(
        self, compute_set: ComputeSet, number: int, copied: Sequence[CopiedInput]
    ) -> None:
        """Record the number of a compute set, and the copies that precede it."""
        self._compute_sets[compute_set] = number, copied

    def add(self, name: str, program: Program) -> None:
        """Add a program under its name."""
        self._write(program)
        self.row("program", name=self._texts.number(name), root=self._numbers[program])

    def _write(self, program: Program) -> None:
        for node in children_first(program):
            if node not in self._numbers:
                self._numbers[node] = self._node(node)

    def _node(self, node: Program) -> int:
        match node:
            case FunctionCall(function=function):
                return self._add(NodeOp.CALL, self._function(function))
            case Execute():
                return self._execute(node)
            case TensorCopy():
                return self._add(NodeOp.COPY, self._of(node.source), self._of(node.destination))
            case StreamCopy(source=Tensor() as source, stream=stream):
                return self._add(NodeOp.TO_HOST, self._stream_of(stream), self._of(source))
            case StreamCopy(destination=Tensor() as destination, stream=stream):
                return self._add(NodeOp.FROM_HOST, self._stream_of(stream), self._of(destination))
            case PrintTensor(tensor=tensor):
                return self._add(NodeOp.TO_HOST, self._stream_of(node), self._of(tensor))
            case Repeat(count=count):
                return self._add(NodeOp.REPEAT, count, parts=node.children)
            case RepeatWhile(predicate=predicate):
                op = NodeOp.WHILE_TRUE if isinstance(node, RepeatWhileTrue) else NodeOp.WHILE_FALSE
                return self._add(op, self._of(predicate), parts=node.children)
            case Loop():
                return self._add(NodeOp.LOOP, parts=node.children)
            case If(predicate=predicate):
                return self._add(NodeOp.IF, self._of(predicate), parts=node.children)
            case Switch():
                return self._switch(node)
            case Abort(message=message):
                return self._add(NodeOp.ABORT, self._texts.number(message))
            case AbortOnCondition(predicate=predicate, message=message):
                number = self._texts.number(message)
                return self._add(NodeOp.ABORT_ON, self._of(predicate), number)
            case ErrorProgram(message=message, debug_tensor=tensor):
                return self._add(NodeOp.ERROR, self._texts.number(message), self._of(tensor))
            case Sync(sync_type=sync_type):
                return self._add(NodeOp.SYNC, _SYNCS.index(sync_type))
            case WriteUndef(tensor=tensor):
                return self._add(NodeOp.WRITE_UNDEF, self._of(tensor))
            case HostCall(function=host_function):
                first = len(self._columns["call.tensor"])
                tensors = [self._of(each) for each in (*node.inputs, *node.outputs)]
                self._columns["call.tensor"] += tensors
                return self._add(NodeOp.HOST_CALL, self._host.function(host_function), first)
            case CodeCopy(destination=function):
                return self._add(NodeOp.LOAD_CODE, self._function(function))
            case CycleStamp():
                return self._stamp(node)
            case SetFloatingPointBehaviour(behaviour=behaviour):
                return self._add(NodeOp.SET_BEHAVIOUR, behaviour.bits)
            case ModifyFloatingPointBehaviour(off=off, on=on):
                return self._add(NodeOp.MODIFY_BEHAVIOUR, off.bits, on.bits)
            case SetStochasticRounding():
                return self._add(NodeOp.SET_ROUNDING, int(node.set != 0))
            case Steps() | Block() | AssumeEqualAcrossReplicas():  # there is one replica
                return self._add(NodeOp.SEQUENCE, parts=node.children)
        if node.num_steps or node.children:
            raise unknown_kind(node, "the IPU export does not support {}")
        return self._add(NodeOp.SEQUENCE)

    def _execute(self, node: Execute) -> int:
        result = NONE if node.result is None else self._of(node.result)
        number, copied = self._compute_sets[node.compute_set]
        copies = []
        for each in copied:
            kind = each.element_type
            source = self._edges.add(each.taken, kind)
            copies.append(self._add(NodeOp.COPY, source, self._edges.add(each.destination, kind)))
        execute = self._add(NodeOp.EXECUTE, number, result)
        return self._add(NodeOp.SEQUENCE, numbers=[*copies, execute]) if copies else execute

    def _switch(self, node: Switch) -> int:
        cases = node.cases
        if node.unmatched == "default":
            default = self._numbers[node.default]
        else:
            default = self._add(NodeOp.ABORT, self._texts.number(NO_CASE))
        first = len(self._columns["case.value"])
        self._columns["case.value"] += cases.keys()
        bodies = [self._numbers[each] for each in cases.values()]
        return self._add(NodeOp.SWITCH, self._of(node.control), first, numbers=[default, *bodies])

    def _stamp(self, node: CycleStamp) -> int:
        tiles = node.tensor.graph.top_level_graph.tile_mapping(node.tensor)
        number = self.row(
            "stamp",
            tile=int(np.flatnonzero(tiles.elements_per_tile)[0]),
            sync=_SYNCS.index(node.sync_type),
            tensor=self._of(node.tensor),
            since=NONE if node.since is None else self._of(node.since),
        )
        return self._add(NodeOp.STAMP, number)

    def _function(self, function: Function) -> int:
        if function not in self._functions:
            self._write(function.program)  # a program may load a function before calling it
            root = self._numbers[function.program]
            name = self._texts.number(function.name)
            self._functions[function] = self.row("function", name=name, root=root)
        return self._functions[function]

    def _of(self, tensor: Tensor) -> int:
        return self._edges.tensor(tensor.view, tensor.element_type)

    def _add(
        self,
        op: NodeOp,
        a: int = 0,
        b: int = 0,
        parts: Sequence[Program] = (),
        numbers: Sequence[int] = (),
    ) -> int:
        children = self._columns["child"]
        children += [*numbers, *(self._numbers[part] for part in parts)]
        return self.row("node", op=op, a=a, b=b, children_end=len(children))


# -- vertices --------------------------------------------------------------------------------------


class FieldForm(IntEnum):
    """The form of a field's data."""

    SCALAR_EDGE = 0
    VECTOR_EDGE = 1
    LIST_OF_EDGES = 2
    ONE_VALUE = 3
    SERIES = 4
    """A State field of integers in arithmetic progression."""
    VALUES = 5
    VECTORS = 6


class VertexColumns(ColumnRows):
    """Columns of compute sets.

    Args:
        names: the C++ name of each vertex class.
        num_tiles: number of tiles of the graph.
    """

    names = (
        "cs.name cs.families_end family.class family.count family.stops family.tiles "
        "family.cycles family.flops family.fields_end field.name field.kind field.type "
        "field.of field.length"
    )

    def __init__(
        self, names: Mapping[type[Vertex], str], num_tiles: int, stored: Stored, edges: EdgesTable
    ) -> None:
        super().__init__()
        self._cpp_names, self._num_tiles, self._edges = names, num_tiles, edges
        self._texts, self._series, self._values = stored.texts, stored.series, stored.values

    def add(
        self, compute_set: ComputeSet, table: EdgeTable, copied: Mapping[FieldEdges, Edges]
    ) -> None:
        """Add a compute set; `copied` are edges that replace those of some fields."""
        for family in table.families:
            self._family(family, copied)
        self.row(
            "cs",
            name=self._texts.number(compute_set.name),
            families_end=len(self._columns["family.class"]),
        )

    def _family(self, family: Family, copied: Mapping[FieldEdges, Edges]) -> None:
        edges = {each.field.name: copied.get(each, each.edges) for each in family.fields}
        for field in declared_fields(family.cls):
            if field.is_edge:
                kind = FieldForm(field.depth)
                self._field(field, kind, self._edges.add(edges[field.name], field.element))
            else:
                self._state(field, family.state[field.name])
        begin, stops, tiles = family.tiles(self._num_tiles).runs()
        estimates = _estimates(family) or (None, None)
        cycles, flops = (NONE if each is None else self._series.add(each) for each in estimates)
        self.row(
            "family",
            **{"class": self._texts.number(self._cpp_names[family.cls])},
            count=len(family.vertices),
            stops=self._series.listed(stops),
            tiles=self._series.listed(tiles),
            cycles=cycles,
            flops=flops,
            fields_end=len(self._columns["field.name"]),
        )

    def _state(self, field: Field, state: StateValues) -> None:
        if isinstance(state, Vectors):
            lengths = self._series.add(state.length)
            self._field(field, FieldForm.VECTORS, self._values.add(state.values), lengths)
            return
        array = np.asarray(state, field.element.dtype).reshape(-1)
        if (array.view(f"u{array.itemsize}") == array[:1].view(f"u{array.itemsize}")).all():
            self._field(field, FieldForm.ONE_VALUE, self._values.add(array[:1]))
        elif array.dtype.kind in "iu" and progression(array) is not None:
            number = self._series.add(compact(array.astype(np.int64)))
            self._field(field, FieldForm.SERIES, number)
        else:
            self._field(field, FieldForm.VALUES, self._values.add(array))

    def _field(self, field: Field, kind: FieldForm, of: int, length: int = NONE) -> None:
        self.row(
            "field",
            name=self._texts.number(member(field.name)),
            kind=kind,
            type=type_number(field.element),
            of=of,
            length=length,
        )


def _estimates(family: Family) -> tuple[Series, Series] | None:
    """Return the user's cycles and flops of each vertex, 0 by default; None if none are given."""
    vertices = family.vertices
    if isinstance(vertices, VertexBlock):
        if vertices.estimates is None:
            return None
        cycles, flops = vertices.estimates
        return compact(cycles), compact(flops)
    estimates = [vertex.estimate for vertex in vertices]
    if not any(estimates):
        return None
    pairs = [(each.cycles, each.flops) if each else (0, 0) for each in estimates]
    both = np.array(pairs, np.int64)
    return compact(both[:, 0]), compact(both[:, 1])
