"""Files of graphs with their programs, as the user built them, before compilation.

    manifest.json    {"kind": "poplite graph", "format": 2, "classes": [...], "locations": [...],
                      "spaces": [...], "nodes": [...], "graph": {...}}
    arrays/...       values, tiles, edges (possibly millions)

The container is that of executables (`poplite.codec.archive`), for the same reasons: no code, no
pickle, and equal graphs give equal bytes. The content differs: an executable has steps lowered to
addresses, and neither the user's views nor single vertices; a graph has views and vertices, but no
costs, code or layout, so that it can still be compiled with any options.

The content is not trusted: numbers are checked by the coders and when each part is made, and
objects are made by the functions that users call. Estimators (`register_perf_estimator`) are
Python functions and are not saved.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import numpy.typing as npt

from poplite.codec.archive import ArrayWriter, opened, read_archive, write_archive
from poplite.codec.codec import (
    Coder,
    EitherCoder,
    ItemsCoder,
    Json,
    PartsCoder,
    Reader,
    ScalarCoder,
    coder_of,
    decoded,
    decoded_locations,
    written_locations,
)
from poplite.codec.file_formats import GRAPHS, Malformed, add_room, at, shown, take_room
from poplite.errors import ControlProgramError, PopliteError, checked_truth
from poplite.executable.executable_file import VertexSource
from poplite.executable.graph_references import (
    GraphReader,
    GraphWriter,
    ReferenceCoder,
    ViewReader,
)
from poplite.executable.graph_vertices import (
    DeclaredClass,
    SavedComputeSet,
    add_vertices,
    declared_class,
    known_classes,
    saved_compute_set,
)
from poplite.executable.validate import check_with_value
from poplite.files import check_folder, checked_path, replacing
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import RecordedOperation
from poplite.graph.graph import Graph
from poplite.graph.host import (
    DataStream,
    HostFunction,
    HostHandle,
    RemoteBuffer,
    host_function_of,
    registered,
    remote_buffer_of,
    stream_of,
    write_handle,
)
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import SomeTiles
from poplite.graph.variable_mapping import NO_TILE
from poplite.machine.target import MOST_REPLICAS, Target
from poplite.program import Call, Copy, CycleStamp, Program, RepeatWhile, Sequence, Switch
from poplite.program.base import (
    Function,
    FunctionBuffer,
    children_first,
    made_kinds,
    saved_fields,
    unknown_kind,
)
from poplite.program.control import MOST_TIMES, with_times
from poplite.source import SourceLocation
from poplite.text import clipped, items_or_none, of_type
from poplite.types import QUARTER, QUARTER_METADATA, UNSIGNED_INT, ElementType
from poplite.vertex.from_source import is_of_graph
from poplite.view import Storage

# -- variables -------------------------------------------------------------------------------------

Array = npt.NDArray[Any]


@frozen(eq=False)
class SavedVariable:
    """A variable or constant.

    Attributes:
        tile: the tile of all its elements; None if they have no tile, or if `breaks` and `tiles`
            give the tiles.
        breaks: int64[pieces + 1], elements at which its tiles change.
        tiles: int32[pieces], the tile of each piece; negative for none.
        values: its initial values, in its shape; None for zeros.
        replica_values: initial values of replicas that differ.
        with_value: which elements have an initial value, as bits, like in `StoredVariable`.
        metadata: for QUARTER, the number of the variable with format and scale, and the position
            of its element in that variable.
        home: the number of the virtual graph with which it was made, if any.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    location: SourceLocation
    is_constant: bool = False
    tile: int | None = None
    breaks: Array | None = None
    tiles: Array | None = None
    values: Array | None = None
    replica_values: Mapping[int, Array] | None = None
    metadata: tuple[int, int] | None = None
    home: int | None = None
    with_value: Mapping[int, Array] | None = None


def saved_homes(graph: Graph) -> tuple[tuple[Array, ...], dict[int, int]]:
    """Return the tiles of virtual graphs that made variables, and the graph of each variable."""
    homes = {home.tiles.tobytes(): home.tiles for home in graph.space.homes.values()}
    numbers = {tiles: number for number, tiles in enumerate(homes)}
    made_with = {v: numbers[home.tiles.tobytes()] for v, home in graph.space.homes.items()}
    return tuple(homes.values()), made_with


def home_of(graph: Graph, tiles: Array) -> SomeTiles:
    """Return the tile numbers of a virtual graph from unchecked data."""
    made = graph.create_virtual_graph(tiles)._tiles
    assert isinstance(made, SomeTiles)
    return made


def saved_variable(variable: Variable, home: int | None) -> SavedVariable:
    """Return the data of a variable."""
    tile, breaks, tiles = variable.only_tile, None, None
    if tile is None and variable.num_elements:
        breaks, tiles = variable.mapping.pieces()
        if len(tiles) == 1:
            tile = None if tiles[0] == NO_TILE else int(tiles[0])
            breaks = tiles = None
    metadata = None
    if variable.metadata is not None:
        assert isinstance(variable.metadata.space, Storage)
        metadata = variable.metadata.space.id, variable.metadata.off
    return SavedVariable(
        variable.name,
        variable.element_type,
        variable.shape,
        variable.location,
        variable.constant,
        tile,
        breaks,
        tiles,
        variable.initial_value,
        dict(variable.replica_values) or None,
        metadata,
        home,
        variable.packed_with_value or None,
    )


def add_variable(graph: Graph, saved: SavedVariable, homes: list[SomeTiles]) -> None:
    """Add a variable from unchecked data."""
    space = graph.space
    if not saved.name or any(size < 0 for size in saved.shape) or len(saved.shape) > 32:
        raise Malformed(f"variable {saved.name!r} has no name, or no valid shape")
    tile = NO_TILE if saved.tile is None else saved.tile
    if tile != NO_TILE and not 0 <= tile < space.num_tiles:
        raise Malformed(f"variable '{saved.name}' is on tile {tile:,} of {space.num_tiles:,}")
    variable = space.make(
        saved.name, saved.element_type, saved.shape, saved.is_constant, tile, saved.location
    )
    if variable.name != saved.name:
        raise Malformed(f"two variables have the name '{saved.name}'")
    if saved.home is not None:
        if not 0 <= saved.home < len(homes):
            raise Malformed(f"the virtual graph of variable '{saved.name}' is not listed")
        space.note_home(variable, homes[saved.home])
    if saved.breaks is not None:
        _paint(variable, saved, space.num_tiles)
    if saved.is_constant and saved.values is None:
        raise Malformed(f"constant '{saved.name}' has no value")
    if saved.values is not None:
        variable.initial_value = _values(saved, saved.values)
    if saved.replica_values is not None:
        if not all(0 <= each < graph.replication_factor for each in saved.replica_values):
            raise Malformed(f"variable '{saved.name}' has values for replicas that do not exist")
        variable.replica_values = {
            replica: _values(saved, values) for replica, values in saved.replica_values.items()
        }
    check_with_value(saved.with_value, variable)
    variable.with_value = {
        replica: _each_with_value(variable, packed)
        for replica, packed in (saved.with_value or {}).items()
    }


def _each_with_value(variable: Variable, packed: Array) -> npt.NDArray[np.bool_]:
    take_room(variable.num_elements, f"which elements of '{variable.name}' have a value")
    return np.unpackbits(packed, count=variable.num_elements).view(np.bool_)


def add_metadata(graph: Graph, number: int, saved: SavedVariable) -> None:
    """Attach the metadata of a QUARTER variable, possibly from a variable made after it."""
    if (saved.element_type is QUARTER) != (saved.metadata is not None):
        raise Malformed(f"variable '{saved.name}': only QUARTER must have metadata")
    if saved.metadata is None:
        return
    other, position = saved.metadata
    variables = graph.space.variables
    if not 0 <= other < len(variables) or variables[other].element_type is not QUARTER_METADATA:
        raise Malformed(f"variable '{saved.name}' has no metadata variable of the right type")
    if not 0 <= position < variables[other].num_elements:
        raise Malformed(
            f"variable '{saved.name}' has its metadata beyond the end of '{variables[other].name}'"
        )
    flat = variables[other].view.reshape((variables[other].num_elements,))
    variables[number].metadata = flat.slice(position, position + 1, 0).reshape(())


def _values(saved: SavedVariable, values: Array) -> Array:
    if values.dtype != saved.element_type.dtype or values.shape != saved.shape:
        raise Malformed(f"variable '{saved.name}' has values of the wrong type or shape")
    return values


def _paint(variable: Variable, saved: SavedVariable, num_tiles: int) -> None:
    breaks, tiles = saved.breaks, saved.tiles
    if breaks is None or tiles is None or breaks.ndim != 1 or tiles.shape != (len(breaks) - 1,):
        raise Malformed(f"variable '{saved.name}' must have one tile for each piece")
    breaks, tiles = breaks.astype(np.int64), tiles.astype(np.int64)
    if not len(tiles) or breaks[0] != 0 or breaks[-1] != variable.num_elements:
        raise Malformed(f"variable '{saved.name}': its tiles do not cover its elements")
    if (breaks[1:] <= breaks[:-1]).any() or (tiles >= num_tiles).any() or tiles.min() < NO_TILE:
        raise Malformed(f"variable '{saved.name}' has pieces without elements or a valid tile")
    placed = tiles != NO_TILE
    variable.mapping.paint_many(breaks[:-1][placed], breaks[1:][placed], tiles[placed])


# -- host accesses ---------------------------------------------------------------------------------
# Each stream, remote buffer, function or tensor is a list of its fields, and is made by the
# function that users call.


def _made_by(cls: type, make: Callable[..., Any]) -> Coder:
    """Return the coder of objects that `make` makes from a graph and the remaining fields."""
    hints = get_type_hints(cls, localns={"Graph": Graph, "SourceLocation": SourceLocation})
    names = [each.name for each in dataclasses.fields(cls) if each.name != "graph"]
    coders = {name: coder_of(hints[name]) for name in names}
    return ItemsCoder(tuple, PartsCoder(cls, coders, lambda of, *parts: make(of.graph, *parts)))


HOST: dict[str, Coder] = {
    "streams": _made_by(DataStream, stream_of),
    "remote_buffers": _made_by(RemoteBuffer, remote_buffer_of),
    "host_functions": _made_by(HostFunction, host_function_of),
}
"""Coders of objects that programs name by handle, by their names in `Handles`."""

HANDLES = Mapping[str, HostHandle]
"""The tensors that the host reads or writes, by handle."""


def add_host(graph: Graph, part: Callable[[str], Any]) -> dict[type, Mapping[str, Any]]:
    """Register the objects that `part` returns, and return them by class and handle."""
    handles = graph._parts.handles
    for name in HOST:
        kind, known = name.removesuffix("s").replace("_", " "), getattr(handles, name)
        for each in part(name):
            registered(known, kind, each.handle, each)
    return {
        DataStream: handles.streams,
        RemoteBuffer: handles.remote_buffers,
        HostFunction: handles.host_functions,
    }


def add_host_tensors(graph: Graph, reads: HANDLES, writes: HANDLES) -> None:
    """Register tensors that the host accesses by handle."""
    handles = graph._parts.handles
    for name, handle in reads.items():
        registered(handles.reads, "host read", name, handle)
    for name, handle in writes.items():
        checked = write_handle(handle.tensor, name, handle.location)
        registered(handles.writes, "host write", name, checked)


# -- programs --------------------------------------------------------------------------------------
# One list of nodes, children before their parents:
#
#     0  ["Execute", 3, [0, null]]      compute set 0, made at line 3
#     1  ["Repeat", 4, [9, 0]]          node 0, nine times
#
# The reader makes each node with its class, which checks arguments as it does for users. The
# programs that operations recorded in a block are a Sequence; the Sequence of an operation names
# the variables that it made. A counting loop has its count:
#
#     2  ["Sequence", 5, ["softmax", [0, 1], [4, 9]]]      variables 4 to 8
#     3  ["RepeatWhileTrue", 6, [1, "go_on", 2, 10]]       ten times


_KINDS = {kind.__name__: kind for kind in made_kinds()}

_LOCATION = coder_of(SourceLocation)


def _variables(of: GraphReader, data: Json) -> range:
    """Return the numbers of the variables that an operation made."""
    count = len(of.graph.variables)
    match data:
        case None:
            return range(0)
        case [int(first), int(end)] if 0 <= first < end <= count:
            return range(first, end)
    raise Malformed(f"{shown(data)} must be the numbers of variables up to {count:,}")


_TIMES = ScalarCoder(int, range(MOST_TIMES + 1), "is not a valid number of iterations")

_CODERS: dict[str, Coder] = {
    "programs": coder_of(tuple[Program, ...]),
    "_made": ReferenceCoder(
        range, lambda _, made: [made.start, made.stop] if made else None, _variables
    ),
    "times": EitherCoder([_TIMES], optional=True),
    "cases": coder_of(Mapping[int, Program]),
}
"""Coders that do not follow from annotations."""


@frozen(eq=False)
class SavedFunction:
    """A function, and the line that made its buffer, if it has a buffer."""

    name: str
    program: int
    location: SourceLocation
    buffer: SourceLocation | None = None


class ProgramWriter:
    """Writes programs, each one once; attaches itself to the graph's writer."""

    def __init__(self, graph: Graph, to: GraphWriter) -> None:
        self.nodes: list[Json] = []
        self.functions: list[SavedFunction] = []
        self._to, self._buffers = to, graph.function_buffers
        self._numbers: dict[int, int] = {}
        self._kept: list[Program | Function] = []
        to.number_of = self.number

    def number(self, part: Program | Function) -> int:
        """Return the number of a program or function; a new one is written first."""
        if id(part) not in self._numbers:
            if isinstance(part, Function):
                self._add_function(part)
            else:
                for node in children_first(part):
                    if id(node) not in self._numbers:
                        self._add(node)
        return self._numbers[id(part)]

    def _add_function(self, function: Function) -> None:
        program = self.number(function.program)
        buffer = self._buffers.get(function.name)
        made = None if buffer is None else buffer.location
        self._keep(function, len(self.functions))
        self.functions.append(SavedFunction(function.name, program, function.location, made))

    def _add(self, node: Program) -> None:
        # A user's class is saved as the kind from which it derives.
        kinds = [kind for kind in type(node).__mro__ if _KINDS.get(kind.__name__) is kind]
        kind = kinds[0] if kinds else Program
        if kind is Program and type(node) is not Program:
            raise unknown_kind(node, "files cannot store {}")
        data = _node_coder(kind.__name__).encode(node, self._to)
        self._keep(node, len(self.nodes))
        self.nodes.append([kind.__name__, _LOCATION.encode(node.location, self._to), data])

    def _keep(self, part: Program | Function, number: int) -> None:
        self._kept.append(part)  # kept alive so that its id is not reused
        self._numbers[id(part)] = number


@cache
def _node_coder(name: str) -> PartsCoder:
    kind = _KINDS[name]
    hints = get_type_hints(kind, localns={"RecordedSteps": object})
    coders = {name: _CODERS.get(name) or coder_of(hints[name]) for name in saved_fields(kind)}
    make = next((_MADE_BY[base] for base in kind.__mro__ if base in _MADE_BY), kind)
    return PartsCoder(kind, coders, lambda _, *parts: make(*parts))


class ProgramReader:
    """Reads programs; attaches itself to the graph's reader."""

    def __init__(self, functions: tuple[SavedFunction, ...], of: GraphReader) -> None:
        self._saved, self._of = functions, of
        self._functions: dict[int, Function] = {}
        of.function, of.buffer = self.function, self.buffer

    def read(self, nodes: Json) -> None:
        """Read all programs, then the functions that no program calls."""
        if type(nodes) is not list:
            raise Malformed(f"{shown(nodes)} is not a valid list of programs")
        for number, each in enumerate(nodes):
            with at(f".programs[{number}]"):
                self._of.programs.append(self._program(each))
        for number, saved in enumerate(self._saved):
            if saved.buffer is not None:
                self.buffer(number)

    def function(self, number: Json) -> Function:
        """Return a function; it is made on first use."""
        if type(number) is not int or not 0 <= number < len(self._saved):
            raise Malformed(f"{shown(number)} is not the number of a function")
        if number not in self._functions:
            saved = self._saved[number]
            if not 0 <= saved.program < len(self._of.programs):
                raise Malformed(f"the program of function '{saved.name}' must precede its calls")
            graph = self._of.graph
            made = graph.add_function(self._of.programs[saved.program], saved.name)
            if made.name != saved.name:
                raise Malformed(f"two functions have the name '{saved.name}'")
            object.__setattr__(made, "location", saved.location)
            self._functions[number] = made
        return self._functions[number]

    def buffer(self, number: Json) -> FunctionBuffer:
        """Return the buffer of a function."""
        function, graph = self.function(number), self._of.graph
        location = self._saved[number].buffer
        if location is None:
            raise Malformed(f"function '{function.name}' has no buffer")
        if function.name not in graph.function_buffers:
            made = graph.add_function_buffer(function)
            object.__setattr__(made, "location", location)
        return graph.function_buffers[function.name]

    def _program(self, data: Json) -> Program:
        match data:
            case [str() as name, location, parts] if name in _KINDS:
                made: Program = decoded(_node_coder(name), parts, self._of)
                object.__setattr__(made, "location", _LOCATION.decode(location, self._of))
                return made
        raise Malformed(f"{shown(data)} is not a valid program")


# -- programs that are not made by their class -----------------------------------------------------


def _sequence(name: str, programs: tuple[Program, ...], made: range) -> Sequence:
    sequence = Sequence(list(programs), name=name)
    object.__setattr__(sequence, "_made", made)
    return sequence


def _loop(kind: type[RepeatWhile]) -> Callable[..., RepeatWhile]:
    return lambda *parts: with_times(kind(*parts[:3]), parts[3])


def _switch(
    control: Tensor, unmatched: str, default: Program, cases: Mapping[int, Program]
) -> Switch:
    if unmatched != "default" and not default.is_empty:
        raise Malformed("a Switch without a default must have an empty default program")
    switch = Switch.__new__(Switch)
    switch._fill(control, cases, unmatched, default)
    return switch


def _stamp(tensor: Tensor, sync_type: Any, since: Tensor | None) -> CycleStamp:
    """Return a stamp; reject one that `cycle_stamp` and `cycle_count` cannot make."""
    for each in (tensor,) if since is None else (tensor, since):
        if each.element_type is not UNSIGNED_INT or each.shape != (2,):
            raise Malformed(f"'{each.name}' is not a valid stamp of the cycle counter")
    if not tensor.is_parallel_writeable():
        raise Malformed(f"'{tensor.name}' cannot be written")
    return CycleStamp(tensor, sync_type, since)


_MADE_BY: dict[type[Program], Callable[..., Program]] = {
    Copy: Copy,
    Call: Call,
    Sequence: _sequence,
    **{kind: _loop(kind) for kind in made_kinds() if issubclass(kind, RepeatWhile)},
    Switch: _switch,
    CycleStamp: _stamp,
}


# -- graphs ----------------------------------------------------------------------------------------

PARTS: dict[str, Any] = {
    "target": Target,
    "replication_factor": int,
    "virtual_graphs": tuple[npt.NDArray[np.int64], ...],
    "variables": tuple[SavedVariable, ...],
    "compute_sets": tuple[SavedComputeSet, ...],
    "operations": tuple[RecordedOperation, ...],
    "functions": tuple[SavedFunction, ...],
    "programs": Mapping[str, Program],
    "reads": HANDLES,
    "writes": HANDLES,
}
"""The content of a manifest, except for views and the nodes of programs."""


def _coder(part: str) -> Coder:
    return HOST[part] if part in HOST else coder_of(PARTS[part])


def save(graph: Graph, programs: object, path: str | os.PathLike[str]) -> None:
    """Write a graph and programs to a file; see `Graph.save`."""
    place = check_folder(path, "heat.graph")
    manifest, arrays = _written(graph, _named(programs))
    text = GRAPHS.text(manifest, str(place))
    with replacing(place, "heat.graph") as file:
        write_archive(file, text, arrays)


def _named(programs: object) -> dict[str, Program]:
    """Return programs by name; unnamed programs are "0", "1", ... as in an engine."""
    found: Any = (programs,) if isinstance(programs, Program) else programs
    if not isinstance(found, Mapping) and (listed := items_or_none(found)) is not None:
        found = {str(number): program for number, program in enumerate(listed)}
    if not isinstance(found, Mapping):
        found = {"0": found}
    for name, program in found.items():
        if not isinstance(name, str) or not isinstance(program, Program):
            raise ControlProgramError(
                f"graph.save: {clipped(program, 60)} is not a program",
                found=f"{of_type(program)}, by the name {clipped(name, 60)}",
                fix="pass graph.save(path, program), a list of programs, or {'name': program}",
            )
    return dict(found)


def _written(graph: Graph, programs: Mapping[str, Program]) -> tuple[dict[str, Json], ArrayWriter]:
    to = GraphWriter(graph)
    nodes = ProgramWriter(graph, to)
    for program in programs.values():
        nodes.number(program)
    for buffer in graph.function_buffers.values():
        nodes.number(buffer.function)
    homes, made_with = saved_homes(graph)
    handles = graph._parts.handles
    parts = {
        "target": graph.target,
        "replication_factor": graph.replication_factor,
        "virtual_graphs": homes,
        "variables": tuple(
            saved_variable(variable, made_with.get(number))
            for number, variable in enumerate(graph.variables)
        ),
        "compute_sets": tuple(map(saved_compute_set, graph.compute_sets)),
        "operations": graph.operations,
        **{name: tuple(getattr(handles, name).values()) for name in HOST},
        "functions": tuple(nodes.functions),
        "programs": programs,
        "reads": handles.reads,
        "writes": handles.writes,
    }
    encoded = {name: _coder(name).encode(part, to) for name, part in parts.items()}
    classes = tuple(map(declared_class, to.classes))
    manifest = {
        "classes": coder_of(tuple[DeclaredClass, ...]).encode(classes, to),
        "locations": written_locations(to.locations),
        "spaces": to.views.spaces,
        "nodes": nodes.nodes,
        "graph": encoded,
    }
    return manifest, to.arrays


def is_saved_graph(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a zip file whose manifest has the kind of a graph."""
    try:
        with opened(path) as (text, _):
            return f'"kind":"{GRAPHS.kind}"'.encode() in text
    except (OSError, Malformed):
        return False  # the reader of executables reports the fault


def load(
    path: str | os.PathLike[str],
    vertices: Iterable[VertexSource],
    title: str = "",
    *,
    codelets: bool = False,
) -> tuple[Graph, dict[str, Program]]:
    """Read a graph and its programs from a file, named `title` in messages; see `Graph.load`."""
    name = str(checked_path(path, "Graph.load", "heat.graph"))
    with GRAPHS.loading(title or repr(name)):
        return _loaded(name, vertices, codelets=checked_truth(codelets, "Graph.load: codelets"))


def _loaded(
    name: str, sources: Iterable[VertexSource], *, codelets: bool
) -> tuple[Graph, dict[str, Program]]:
    manifest, arrays = read_archive(name, GRAPHS)
    with at("classes"):
        coder = coder_of(tuple[DeclaredClass, ...])
        declared = decoded(coder, manifest.get("classes"), Reader(arrays, (), (), ()))
    locations = decoded_locations(manifest.get("locations"))
    classes = known_classes(declared, sources, codelets=codelets)
    reader = Reader(arrays, classes, locations, ())
    try:
        return _built(manifest, reader)
    except PopliteError as error:  # from a call that also checks users' arguments
        raise Malformed(str(error).partition("\n")[0]) from error


def _built(manifest: Mapping[str, Any], reader: Reader) -> tuple[Graph, dict[str, Program]]:
    data = manifest.get("graph")
    if type(data) is not dict or data.keys() != PARTS.keys() | HOST.keys():
        raise Malformed("its graph has missing or unknown parts")

    def part(name: str) -> Any:
        with at(name):
            return decoded(_coder(name), data[name], of)

    of = reader
    graph = Graph(part("target"))
    graph._parts.codelets.update({c.__name__: c for c in reader.classes if is_of_graph(c)})
    add_room(tiles=graph.target.tiles)
    replicas = part("replication_factor")
    if not 1 <= replicas <= MOST_REPLICAS:
        raise Malformed(f"it has {replicas:,} replicas")
    graph.replication_factor = replicas
    variables = part("variables")
    homes = [home_of(graph, tiles) for tiles in part("virtual_graphs")]
    for variable in variables:
        add_variable(graph, variable, homes)
    for number, variable in enumerate(variables):
        add_metadata(graph, number, variable)
    views = ViewReader(graph.space.variables, reader.arrays)
    of = GraphReader(reader.arrays, reader.classes, reader.locations, (), graph, views)
    with at("spaces"):
        views.read_spaces(manifest.get("spaces"))
    for saved in part("compute_sets"):
        made = graph.add_compute_set(saved.name)
        if made.name != saved.name:
            raise Malformed(f"two compute sets have the name '{saved.name}'")
        made.location = saved.location
        with at(f"compute set '{saved.name}'"):
            add_vertices(graph, made, saved)
    if len(graph.variables) > len(variables):  # there is unused metadata
        graph.space.take_back(graph.variables[len(variables)])
    of.handles = add_host(graph, part)
    ProgramReader(part("functions"), of).read(manifest.get("nodes"))
    graph._parts.operations.extend(part("operations"))
    add_host_tensors(graph, part("reads"), part("writes"))
    return graph, dict(part("programs"))
