"""References to objects in the file of a graph, written as numbers.

    Variable, ComputeSet     its number in the graph
    Program                  its number in the list of all programs, children first
    Function                 its number in the list of functions
    FunctionBuffer           the number of its function
    DataStream, ...          its handle
    View                     a list of numbers
    Tensor                   its element type and its view; without elements, also its name and the
                             view of its metadata
    HostHandle               its tensor and its line

The numbers of a view give the element of a variable for each index:

    [3, 0, 4, 6]                  space 3, from position 0, of shape (4, 6), in row-major order
    [3, 0, 4, 6, [1, 4]]          with these dimensions: transposed
    [3, 0, 24, [[[6, 1], [4, 6]]]]   a dimension of several digits
    [-1, 7, 5]                    in concatenation 0
    [null, 0, 5]                  no elements, but this shape

Nonnegative spaces are variables; negative spaces are concatenations, each listed once, after its
parts. A view is accepted only if it is within its space.

Importing this module registers these annotations with the codec (`codec.GRAPHS`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poplite.arrays.series import Dim, coalesce, pack, row_major
from poplite.codec.archive import ArrayReader, ArrayWriter
from poplite.codec.codec import GRAPHS, WHOLE, Coder, Json, PartsCoder, Reader, Writer, coder_of
from poplite.codec.file_formats import Malformed, at, check_room, shown
from poplite.errors import ControlProgramError
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.host import DataStream, HostFunction, HostHandle, RemoteBuffer
from poplite.graph.space import Variable, check_same_metadata
from poplite.graph.tensor.tensor import Origin, Tensor
from poplite.program import Program
from poplite.program.base import Function, FunctionBuffer
from poplite.source import SourceLocation
from poplite.types import QUARTER, QUARTER_METADATA, ElementType
from poplite.view import Cat, Storage, View, empty, storages
from poplite.view.concatenation import SlicedViews
from poplite.view.view import NOWHERE

MOST = 1 << 62
"""Upper bound for the elements of a view and the strides of a dimension."""

BYTES_A_PIECE = 192
"""Memory in bytes for a piece of a concatenation, if pieces are processed one by one."""

MOST_LEVELS = 128
"""Maximum nesting depth of concatenations."""


class ViewWriter:
    """Writes views, and lists the concatenations that they use."""

    def __init__(self, arrays: ArrayWriter) -> None:
        self.spaces: list[Json] = []
        self._arrays = arrays
        self._numbers: dict[int, int] = {}
        self._kept: list[Cat] = []

    def encode(self, view: View) -> Json:
        """Return a view as JSON."""
        if view.space is NOWHERE:
            return [None, 0, *view.shape]
        usual = row_major(view.shape)
        dims = [
            d if size > 1 else u for size, d, u in zip(view.shape, view.dims, usual, strict=True)
        ]
        data = [self._number(view.space), view.off, *view.shape]
        return data if tuple(dims) == usual else [*data, [_listed(dim) for dim in dims]]

    def _number(self, space: Storage | Cat) -> int:
        if isinstance(space, Storage):
            return space.id
        if id(space) not in self._numbers:
            kids = space.kids
            made: Json
            if isinstance(kids, tuple):
                made = [space.outer, [self.encode(kid) for kid in kids]]
            else:
                slices = [self._arrays.add(each) for each in (kids.extent, kids.off)]
                made = [space.outer, self.encode(kids.template), *slices]
            self._kept.append(space)  # kept alive so that its id is not reused
            self._numbers[id(space)] = -1 - len(self.spaces)
            self.spaces.append(made)
        return self._numbers[id(space)]


def _listed(dim: Dim) -> Json:
    return dim if isinstance(dim, int) else [list(digit) for digit in dim]


class ViewReader:
    """Reads views of the variables of a graph."""

    def __init__(self, variables: Sequence[Variable], arrays: ArrayReader) -> None:
        self._variables, self._arrays = variables, arrays
        self._spaces: list[Cat] = []
        self._pieces: dict[int, int] = {}  # number of pieces of each concatenation, by its id

    def read_spaces(self, data: Json) -> None:
        """Read the concatenations that `ViewWriter.spaces` lists."""
        if type(data) is not list:
            raise Malformed(f"{shown(data)} is not a valid list of concatenations")
        for number, each in enumerate(data):
            with at(f"[{number}]"):
                self._spaces.append(self._space(each))

    def decode(self, data: Json) -> View:
        """Return the view for JSON data; raise `Malformed` if it is not valid."""
        if type(data) is not list or len(data) < 2:
            raise Malformed(f"{shown(data)} is not a valid view")
        number, off, *shape = data
        given = shape.pop() if shape and type(shape[-1]) is list else None
        if not all(type(size) is int and 0 <= size < MOST for size in shape):
            raise Malformed(f"{shown(shape)} is not a valid shape")
        if number is None:
            if off != 0 or given is not None or math.prod(shape):
                raise Malformed(f"{shown(data)} is not a valid empty view")
            return empty(tuple(shape))
        if not 0 < math.prod(shape) < MOST or len(shape) > 32:
            raise Malformed(f"{shown(data)} has no elements, or too many elements")
        dims = row_major(shape) if given is None else _dims(given, shape)
        space = self._space_numbered(number)
        if type(off) is not int or not _is_within(shape, dims, off, space.num_elements):
            raise Malformed(f"{shown(data)} exceeds its space of {space.num_elements:,} elements")
        return View(tuple(shape), dims, off, space)

    def _space_numbered(self, number: Any) -> Storage | Cat:
        if type(number) is int and 0 <= number < len(self._variables):
            return self._variables[number]
        if type(number) is int and -len(self._spaces) <= number < 0:
            return self._spaces[-1 - number]
        raise Malformed(f"{shown(number)} is not the number of a variable or concatenation")

    def _space(self, data: Json) -> Cat:
        match data:
            case [int(outer), list(kids)] if kids and type(outer) is int and outer > 0:
                views = tuple(self.decode(kid) for kid in kids)
                if not all(len(kid.shape) == 2 and kid.shape[0] == outer for kid in views):
                    raise Malformed(f"each of its views must have {outer:,} rows")
                made = Cat(views, outer)
            case [int(outer), template, extent, off] if type(outer) is int and outer > 0:
                made = Cat(self._slices(template, extent, off, outer), outer)
            case _:
                raise Malformed(f"{shown(data)} is not a valid concatenation")
        if made.levels > MOST_LEVELS or made.num_elements >= MOST:
            raise Malformed("it is too large, or nested too deeply")
        pieces = self._pieces_of(made.kids)
        check_room(BYTES_A_PIECE * pieces, f"a concatenation of {pieces:,} pieces")
        self._pieces[id(made)] = pieces
        return made

    def _pieces_of(self, views: Sequence[View]) -> int:
        """Return an upper bound for the number of variable views that are parts of views."""
        if isinstance(views, SlicedViews):
            outer, _, inner = views.template.shape
            most = self._pieces.get(id(views.template.space), 1)
            return int(np.minimum(views.extent * (outer * inner), most).sum())
        return sum(min(self._pieces.get(id(v.space), 1), math.prod(v.shape)) for v in views)

    def _slices(self, template: Json, extent: Json, off: Json, outer: int) -> SlicedViews:
        view = self.decode(template)
        extents, offs = self._arrays.take(extent), self._arrays.take(off)
        is_one_each = extents.dtype == offs.dtype == np.int64 and extents.ndim == 1
        if not is_one_each or extents.shape != offs.shape or not extents.size:
            raise Malformed("its slices must be two lists of equal length")
        if len(view.shape) != 3 or view.shape[0] != outer or not isinstance(view.dims[1], int):
            raise Malformed(f"{shown(template)} cannot be cut")
        if extents.min() < 1 or extents.max() >= MOST // (view.shape[2] * len(extents)):
            raise Malformed("a slice has no elements, or too many elements")
        (_, _, inner), (first, _, rest) = view.shape, view.dims
        stride = view.dims[1]
        size = view.space.num_elements
        if offs.min() < 0 or offs.max() >= size or abs(stride) >= size:
            raise Malformed("a slice exceeds its space")
        if outer > 1 or inner > 1:
            low, high = _reach((outer, inner), (first, rest))
        else:
            low = high = 0
        if extents.max() > size and stride:
            raise Malformed("a slice exceeds its space")
        reach = (extents - 1) * stride
        if (offs + low + np.minimum(reach, 0)).min() < 0:
            raise Malformed("a slice exceeds its space")
        if (offs + high + np.maximum(reach, 0)).max() >= size:
            raise Malformed("a slice exceeds its space")
        return SlicedViews(view, extents, offs)


def _dims(given: Json, shape: Sequence[int]) -> tuple[Dim, ...]:
    """Return dimensions in the form that views use: digits that cannot be joined."""
    if len(given) != len(shape):
        raise Malformed(f"{shown(given)} must be {len(shape)} dimensions")
    found: list[Dim] = []
    for size, each in zip(shape, given, strict=True):
        digits = each if type(each) is list else [[size, each]]
        numbers = [pair for pair in digits if type(pair) is list and len(pair) == 2]
        if len(numbers) < len(digits) or not all(
            type(n) is int and -MOST < n < MOST for pair in numbers for n in pair
        ):
            raise Malformed(f"{shown(each)} is not a valid dimension")
        if type(each) is list:
            pairs = [(extent, stride) for extent, stride in numbers]
            whole = len(pairs) > 1 and min(extent for extent, _ in pairs) > 1
            if not whole or math.prod(extent for extent, _ in pairs) != size:
                raise Malformed(f"{shown(each)} is not a valid dimension of {size:,}")
            if pack(coalesce(pairs)) != tuple(pairs):
                raise Malformed(f"{shown(each)} has digits that can be joined")
            found.append(tuple(pairs))
        else:
            found.append(each)
    return tuple(found)


def _reach(shape: Sequence[int], dims: Sequence[Dim]) -> tuple[int, int]:
    """Return the minimum and the maximum position, relative to the first element."""
    low = high = 0
    for size, dim in zip(shape, dims, strict=True):
        for extent, stride in ((size, dim),) if isinstance(dim, int) else dim:
            low += min(0, (extent - 1) * stride)
            high += max(0, (extent - 1) * stride)
    return low, high


def _is_within(shape: Sequence[int], dims: Sequence[Dim], off: int, size: int) -> bool:
    low, high = _reach(shape, dims)
    return off in WHOLE and off + low >= 0 and off + high < size


# -- references ------------------------------------------------------------------------------------


class GraphWriter(Writer):
    """State of a graph that is being written: collected data, and the numbers of its objects.

    Attributes:
        views: writes views, and lists the concatenations that they use.
        number_of: returns the number of a program or function; a new one is written first.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.views = ViewWriter(self.arrays)
        self.compute_sets = {cs: number for number, cs in enumerate(graph.compute_sets)}
        self.number_of: Callable[[Program | Function], int]


@dataclass(slots=True, eq=False)
class GraphReader(Reader):
    """State of a graph that is being read: the objects to look up by number.

    Attributes:
        graph: the graph, with the parts that have been read so far.
        views: the reader of views of its variables.
        handles: streams, remote buffers and functions of the host, each kind by handle.
        programs: the programs that have been read, by number.
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
    """Coder of objects of one kind: `number` maps an object to its number, `found` maps it back."""

    def __init__(
        self,
        kind: type,
        number: Callable[[GraphWriter, Any], Json],
        found: Callable[[GraphReader, Json], Any],
    ) -> None:
        self.kind, self.name = kind, kind.__name__
        self._number, self._found = number, found

    def fits(self, value: Any) -> bool:
        """Return whether a value is an object of this kind."""
        return isinstance(value, self.kind)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON; reject an object from a different graph."""
        assert isinstance(to, GraphWriter)
        owner = getattr(value, "graph", to.graph)
        if owner.top_level_graph is not to.graph:
            raise ControlProgramError(
                f"{self.name} '{value.name}' must belong to {to.graph!r}, which is saved",
                found=f"it belongs to {owner!r}",
                fix="save each graph with its own programs",
            )
        return self._number(to, value)

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value for JSON data."""
        assert isinstance(of, GraphReader)
        return self._found(of, data)


def _of_list(objects: Callable[[GraphReader], Any]) -> Callable[[GraphReader, Json], Any]:
    def found(of: GraphReader, data: Json) -> Any:
        known = objects(of)
        if type(data) is not int or not 0 <= data < len(known):
            raise Malformed(f"{shown(data)} is not the number of an earlier object")
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
        raise Malformed(f"{shown(data)} is not a valid tensor")
    tensor = tensor_of(of.graph, _TYPE.decode(data[0], of), of.views.decode(data[1]))
    if len(data) == 4:
        if tensor.view.space is not NOWHERE or type(data[2]) is not str:
            raise Malformed(f"{shown(data)}: only a tensor without elements may have its own name")
        tensor._origin = Origin(data[2], _metadata(of, data[3]))
    return tensor


def _metadata(of: GraphReader, data: Json) -> View | None:
    """Return the metadata of the tensor from which a tensor without elements was cut."""
    view = None if data is None else of.views.decode(data)
    if view is None:
        return None
    if view.shape or not all(
        of.graph.space.variable_of(each).element_type is QUARTER_METADATA for each in storages(view)
    ):
        raise Malformed(f"{shown(data)} is not valid metadata")
    return view


def tensor_of(graph: Graph, element: type[ElementType[Any]], view: View) -> Tensor:
    """Return a tensor; raise `Malformed` if its variables have elements of a different size."""
    for storage in storages(view):
        variable = graph.space.variable_of(storage)
        if variable.element_type.size_bytes != element.size_bytes:
            raise Malformed(f"variable '{variable.name}' has elements of the wrong size")
    if element is QUARTER:
        check_same_metadata("a tensor of QUARTER", graph.space, view)
    return Tensor(graph, element, view)


GRAPHS.coders[View] = ReferenceCoder(
    View, lambda to, view: to.views.encode(view), lambda of, data: of.views.decode(data)
)
GRAPHS.coders[Tensor] = ReferenceCoder(Tensor, _write_tensor, _read_tensor)
GRAPHS.coders[Variable] = ReferenceCoder(
    Variable, lambda to, variable: variable.id, _of_list(lambda of: of.graph.space.variables)
)
GRAPHS.coders[ComputeSet] = ReferenceCoder(
    ComputeSet, lambda to, cs: to.compute_sets[cs], _of_list(lambda of: of.graph.compute_sets)
)
GRAPHS.coders[Program] = ReferenceCoder(
    Program, lambda to, program: to.number_of(program), _of_list(lambda of: of.programs)
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
