"""What a graph's file says of objects that stand elsewhere in it: their numbers.

    Variable, ComputeSet     its number in the graph
    Program                  its number in the list of all programs, children first
    Function                 its number in the list of functions
    FunctionBuffer           that of its function
    DataStream, ...          its handle
    View                     a list of numbers (`poplite.executable.graph_file.views`)
    Tensor                   its element type and its view; without elements, what it was cut from:
                             its name, and the view of its metadata
    HostHandle               its tensor and its line

Importing this module makes the codec know these annotations (`codec.GRAPHS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from poplite.codec.codec import GRAPHS, coder_of
from poplite.codec.coders import Coder, Json, PartsCoder, Reader, Writer
from poplite.codec.loading import Malformed, shown
from poplite.errors import ControlProgramError
from poplite.executable.graph_file.views import ViewReader, ViewWriter
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.host.handles import HostHandle
from poplite.graph.host.remote import HostFunction, RemoteBuffer
from poplite.graph.host.streams import DataStream
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.metadata import check_alike
from poplite.graph.tensor.tensor import Origin, Tensor
from poplite.program import Program
from poplite.program.function import Function, FunctionBuffer
from poplite.source import SourceLocation
from poplite.types import QUARTER, QUARTER_METADATA, ElementType
from poplite.view import View, storages
from poplite.view.view import NOWHERE


class GraphWriter(Writer):
    """What is collected while a graph is written, and the numbers of its objects.

    Attributes:
        views: writes views, and lists the concatenations below them.
        number_of: returns the number of a program or function, which is written first if it is new.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.views = ViewWriter(self.arrays)
        self.compute_sets = {cs: number for number, cs in enumerate(graph.compute_sets)}
        self.number_of: Callable[[Program | Function], int]


@dataclass(slots=True, eq=False)
class GraphReader(Reader):
    """What is looked up while a graph is read.

    Attributes:
        graph: what has been made so far.
        views: reads views of its variables.
        handles: streams, remote buffers and functions of the host, each kind by handle.
        programs: those that were read, by number.
        function: returns a function by its number.
        buffer: returns the function buffer of a function by its number.
    """

    graph: Graph
    views: ViewReader
    handles: dict[type, Mapping[str, Any]] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)
    function: Callable[[Json], Function] = field(init=False)
    buffer: Callable[[Json], FunctionBuffer] = field(init=False)


class ReferenceCoder(Coder):
    """Objects of one kind: `number` and `found` say what stands for one, and which one is meant."""

    def __init__(
        self,
        kind: type,
        number: Callable[[GraphWriter, Any], Json],
        found: Callable[[GraphReader, Json], Any],
    ) -> None:
        self.kind, self.name = kind, kind.__name__
        self._number, self._found = number, found

    def fits(self, value: Any) -> bool:
        """Tell whether a value is one of these."""
        return isinstance(value, self.kind)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON; refuse what belongs to another graph."""
        assert isinstance(to, GraphWriter)
        owner = getattr(value, "graph", to.graph)
        if owner.top_level_graph is not to.graph:
            raise ControlProgramError(
                f"{self.name} '{value.name}' belongs to another graph than the one that is saved",
                found=f"{owner!r} and {to.graph!r}",
                fix="save a graph with its own programs",
            )
        return self._number(to, value)

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        assert isinstance(of, GraphReader)
        return self._found(of, data)


def _listed(objects: Callable[[GraphReader], Any]) -> Callable[[GraphReader, Json], Any]:
    def found(of: GraphReader, data: Json) -> Any:
        known = objects(of)
        if type(data) is not int or not 0 <= data < len(known):
            raise Malformed(f"{shown(data)} is the number of nothing that stands before")
        return known[data]

    return found


def _of_handle(kind: type) -> ReferenceCoder:
    def found(of: GraphReader, data: Json) -> Any:
        if type(data) is not str or data not in of.handles[kind]:
            raise Malformed(f"there is no {kind.__name__} {shown(data)}")
        return of.handles[kind][data]

    return ReferenceCoder(kind, lambda to, value: value.handle, found)


_TYPE = coder_of(type[ElementType[Any]])


def _write_tensor(to: GraphWriter, tensor: Tensor) -> Json:
    data = [_TYPE.encode(tensor.element_type, to), to.views.encode(tensor.view)]
    if tensor.view.space is not NOWHERE:
        return data
    name, metadata = tensor._cut_from()
    return [*data, str(name), None if metadata is None else to.views.encode(metadata)]


def _read_tensor(of: GraphReader, data: Json) -> Tensor:
    if type(data) is not list or len(data) not in (2, 4):
        raise Malformed(f"{shown(data)} is no tensor")
    tensor = tensor_of(of.graph, _TYPE.decode(data[0], of), of.views.decode(data[1]))
    if len(data) == 4:
        if tensor.view.space is not NOWHERE or type(data[2]) is not str:
            raise Malformed(f"{shown(data)} names a tensor that has the name of its variables")
        tensor._origin = Origin(data[2], _metadata(of, data[3]))
    return tensor


def _metadata(of: GraphReader, data: Json) -> View | None:
    """Return the metadata of what a tensor without elements was cut from."""
    view = None if data is None else of.views.decode(data)
    if view is None:
        return None
    if view.shape or not all(
        of.graph.space.variable_of(each).element_type is QUARTER_METADATA for each in storages(view)
    ):
        raise Malformed(f"{shown(data)} is no metadata")
    return view


def tensor_of(graph: Graph, element: type[ElementType[Any]], view: View) -> Tensor:
    """Return a tensor whose variables have elements of its size; raise `Malformed` for others."""
    for storage in storages(view):
        variable = graph.space.variable_of(storage)
        if variable.element_type.size_bytes != element.size_bytes:
            raise Malformed(f"variable '{variable.name}' has elements of another size")
    if element is QUARTER:
        check_alike("a tensor of QUARTER", graph.space, view)
    return Tensor(graph, element, view)


GRAPHS.coders[View] = ReferenceCoder(
    View, lambda to, view: to.views.encode(view), lambda of, data: of.views.decode(data)
)
GRAPHS.coders[Tensor] = ReferenceCoder(Tensor, _write_tensor, _read_tensor)
GRAPHS.coders[Variable] = ReferenceCoder(
    Variable, lambda to, variable: variable.id, _listed(lambda of: of.graph.space.variables)
)
GRAPHS.coders[ComputeSet] = ReferenceCoder(
    ComputeSet, lambda to, cs: to.compute_sets[cs], _listed(lambda of: of.graph.compute_sets)
)
GRAPHS.coders[Program] = ReferenceCoder(
    Program, lambda to, program: to.number_of(program), _listed(lambda of: of.programs)
)
GRAPHS.coders[Function] = ReferenceCoder(
    Function, lambda to, function: to.number_of(function), lambda of, data: of.function(data)
)
GRAPHS.coders[FunctionBuffer] = ReferenceCoder(
    FunctionBuffer,
    lambda to, buffer: to.number_of(buffer.function),
    lambda of, data: of.buffer(data),
)
GRAPHS.coders |= {kind: _of_handle(kind) for kind in (DataStream, RemoteBuffer, HostFunction)}
GRAPHS.coders[HostHandle] = PartsCoder(
    HostHandle, {"tensor": coder_of(Tensor), "location": coder_of(SourceLocation)}
)
