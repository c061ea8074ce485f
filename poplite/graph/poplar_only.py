"""Members of Graph under Poplar's names, with arguments that only Poplar has.

    graph.addVertex(cs, Scale, {"x": x})                            connections in one argument
    graph.addHostToDeviceFIFO("in", FLOAT, 6, {"bufferingDepth": "2"})   options by name

Each function becomes a method of `Graph` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from poplite.errors import (
    AbsentMember,
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
    UnknownField,
    did_you_mean,
)
from poplite.graph import compute_sets, connect
from poplite.graph.host import DataStream, ReplicatedStreamMode, TypeLike
from poplite.graph.space import ShapeLike, Variable
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.machine.option_flags import checked_options
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import HALF, ElementTypeLike, element_type as _element_type, unmasked

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance
    from poplite.graph.graph import Graph
    from poplite.vertex.vertex import Vertex


def addConstantHalf(
    graph: Graph,
    element_type: ElementTypeLike,
    shape: ShapeLike,
    bits: npt.ArrayLike,
    name: str = "",
) -> Tensor:
    """Create a HALF constant from the bits of its values.

    Args:
        graph: the graph of the constant.
        element_type: HALF.
        shape: sizes of the dimensions.
        bits: numbers from 0 to 65535: one for all elements, or one for each.
        name: as in `add_constant`.

    Raises:
        ElementTypeError: for any other element type.
        TensorCreationError: for anything but such numbers, or a wrong number of them.

    >>> from poplite.graph import Graph
    >>> Graph().addConstantHalf(HALF, [2], [0x3C00, 0xC000])[1].constant_value()
    np.float16(-2.0)
    """
    if _element_type(element_type) is not HALF:
        raise ElementTypeError(
            f"addConstantHalf: element_type is {clipped(element_type)}, but must be HALF",
            fix="graph.addConstantHalf(HALF, shape, bits)",
        )
    return graph.add_constant(element_type, shape, _halves(bits, "addConstantHalf"), name)


def setInitialValueHalf(graph: Graph, target: Tensor | FieldRef, bits: npt.ArrayLike) -> None:
    """Set initial values of HALF elements from their bits.

    Args:
        graph: the graph of the target.
        target: a tensor, or a state field of a vertex.
        bits: numbers from 0 to 65535: one for all elements, or one for each.

    Raises:
        ElementTypeError: for a target of any element type but HALF.
        TensorCreationError: for anything but such numbers.
        PopliteError: as for `set_initial_value`.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.setInitialValueHalf(graph.add_variable("float16", (2,)), 0x3C00)
    >>> graph.variables[0].initial_value
    array([1., 1.], dtype=float16)
    """
    given: Any = target  # set_initial_value refuses anything but tensors and fields
    kind = (
        given.field.element
        if isinstance(given, compute_sets.FieldRef)
        else getattr(given, "element_type", None) or HALF
    )
    if kind is not HALF:
        raise ElementTypeError(
            f"setInitialValueHalf: {clipped(given, 60)} is {kind.__name__}, but must be HALF",
            fix="graph.setInitialValue(x, values)",
        )
    graph.set_initial_value(target, _halves(bits, "setInitialValueHalf"))


class NoTensor:
    """Poplar's invalid tensor, returned where no tensor exists."""

    def valid(self) -> bool:
        """Return False."""
        return False

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise AbsentMember(
            f"an invalid tensor has no attribute {clipped(name)}",
            found="findUnbroadcastTensor returned it, since nothing is broadcast",
            fix="check it first: if found.valid(): ...",
        )

    def __repr__(self) -> str:
        return "<no Tensor>"


def findUnbroadcastTensor(graph: Graph, tensor: Tensor) -> Tensor | NoTensor:
    """C++ spelling of `find_unbroadcast_tensor`, which returns None if nothing is broadcast.

    Args:
        graph: the graph of the tensor.
        tensor: any view.

    Returns:
        The same tensor; if nothing is broadcast, an object whose `valid()` is false.

    Raises:
        GraphConnectionError: for a tensor of another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> x = graph.add_variable("int32", (2, 3), "x")
    >>> [graph.findUnbroadcastTensor(t).valid() for t in (x.broadcast(4, 0), x)]
    [True, False]
    """
    found = graph.find_unbroadcast_tensor(tensor)
    return NoTensor() if found is None else found


def addVertex(
    graph: Graph,
    compute_set: ComputeSet,
    vertex_class: type[Vertex] | str,
    connections: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
    /,
    *,
    tile: int | None = None,
    **fields: Any,
) -> VertexInstance:
    """C++ spelling of `add_vertex`.

    Args:
        graph: the graph whose tile numbers are used.
        compute_set: the compute set to which the vertex is added.
        vertex_class: its class, or the name of the class.
        connections: the tensors and values of its fields, as a dictionary or pairs; in Poplar
            `{{"x", x}, {"y", y}}`.
        tile: as in `add_vertex`.
        **fields: as in `add_vertex`.

    Raises:
        GraphConnectionError: for a field that is connected twice.
        ElementTypeError: for connections that are neither a dictionary nor pairs.
        PopliteError: as for `add_vertex`.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> graph = pl.Graph()
    >>> x = graph.addVariable(pl.FLOAT, [], "x")
    >>> graph.addVertex(graph.addComputeSet("double"), Double, {"x": x}, tile=3)
    <VertexInstance 0 of 'Double' on tile 3 of 'double'>
    """
    given: dict[str, Any] = {}
    for name, value in (*_pairs(connections), *fields.items()):
        if name in given:
            raise GraphConnectionError(
                f"addVertex: field {name!r} of {clipped(vertex_class, 60)} is connected twice",
                found=f"to {clipped(given[name], 60)} and to {clipped(value, 60)}",
                fix="connect each field once",
            )
        given[name] = value
    return graph.add_vertex(compute_set, vertex_class, tile=tile, **given)


def getVariable(graph: Graph, variable: Variable) -> Tensor:
    """Return the tensor of all elements of a variable, as `graph.tensor(name)` does.

    Args:
        graph: its graph.
        variable: Poplar's VariableRef, `t.getVarRegions()[0].var`.

    Raises:
        ElementTypeError: for anything but a variable.
        PopliteError: for a variable of another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> x = graph.add_variable("int32", (2, 3), "x")
    >>> graph.getVariable(x[1].getVarRegions()[0].var) == x
    <same elements: True (not ops.equal)>
    """
    return of_variable(graph.top_level_graph, _variable_of(graph, variable, "getVariable"))


def isConstant(graph: Graph, variable: Variable) -> bool:
    """Return whether a variable is a constant.

    Args:
        graph: its graph.
        variable: Poplar's VariableRef, `t.getVarRegions()[0].var`.

    Raises:
        ElementTypeError: for anything but a variable.
        PopliteError: for a variable of another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.isConstant(graph.add_variable("int32", (2,)).getVarRegions()[0].var)
    False
    """
    return _variable_of(graph, variable, "isConstant").constant


def hasCodelet(graph: Graph, vertex_class: type[Vertex] | str) -> bool:
    """Return whether a vertex class is known, as all are once they have been defined.

    A name that several classes share is known, too, but `addVertex` then needs the class itself.

    Args:
        graph: any graph.
        vertex_class: the class, or its name.

    >>> import poplite as pl
    >>> pl.Graph().hasCodelet(pl.Vertex), pl.Graph().hasCodelet("NoSuchClass")
    (True, False)
    """
    return connect.has_codelet(vertex_class, graph._parts.codelets)


def addHostToDeviceFIFO(
    graph: Graph,
    handle: str,
    element_type: TypeLike,
    num_elements: int,
    replicated_mode: ReplicatedStreamMode | str | Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    *,
    buffering_depth: int | None = None,
) -> DataStream:
    """C++ spelling of `add_host_to_device_fifo`.

    `addHostToDeviceFIFO(handle, type, numElements, [mode,] [options])`

    Args:
        graph: the graph of the stream.
        handle: as in `add_host_to_device_fifo`.
        element_type: as there.
        num_elements: as there.
        replicated_mode: as there; or the options, if they follow the number.
        options: Poplar's options by name: `bufferingDepth`, and `splitLimit`, which has no effect.
        buffering_depth: as in `add_host_to_device_fifo`; it takes precedence over the option.

    Raises:
        InvalidOption: for an unknown option, or a value that is not a non-negative whole number.
        PopliteError: as for `add_host_to_device_fifo`.

    >>> from poplite.graph import Graph
    >>> Graph().addHostToDeviceFIFO("in", "int32", 6, {"bufferingDepth": "3"}).buffering_depth
    3
    """
    if isinstance(replicated_mode, Mapping):
        if options is not None:
            raise InvalidOption(
                f"stream {clipped(handle)}: options are given twice, as "
                f"{clipped(replicated_mode)} and {clipped(options)}",
                fix="addHostToDeviceFIFO(handle, type, n, ReplicatedStreamMode.REPLICATE, options)",
            )
        replicated_mode, options = None, replicated_mode
    asked = _buffering_depth(options, handle)
    depth = asked if buffering_depth is None else buffering_depth
    mode = ReplicatedStreamMode.REPLICATE if replicated_mode is None else replicated_mode
    return graph.add_host_to_device_fifo(handle, element_type, num_elements, mode, depth)


def addDeviceToHostFIFO(
    graph: Graph,
    handle: str,
    element_type: TypeLike,
    num_elements: int,
    options: Mapping[str, object] | None = None,
) -> DataStream:
    """C++ spelling of `add_device_to_host_fifo`.

    Args:
        graph: the graph of the stream.
        handle: as in `add_device_to_host_fifo`.
        element_type: as there.
        num_elements: as there.
        options: Poplar's options by name; none has an effect.

    Raises:
        InvalidOption: as for `addHostToDeviceFIFO`.
        PopliteError: as for `add_device_to_host_fifo`.

    >>> from poplite.graph import Graph
    >>> Graph().addDeviceToHostFIFO("out", "int32", 6, {"splitLimit": "0"})
    <DataStream 'out' device to host, int32[6], 24 B>
    """
    _buffering_depth(options, handle)
    return graph.add_device_to_host_fifo(handle, element_type, num_elements)


def _variable_of(graph: Graph, variable: object, call: str) -> Variable:
    """Return a variable of the graph, or refuse anything else."""
    if not isinstance(variable, Variable):
        raise ElementTypeError(
            f"{call}: {clipped(variable, 60)} is not a variable",
            found=of_type(variable),
            fix=f"graph.{call}(tensor.getVarRegions()[0].var)",
        )
    return graph.variable_of(variable.storage)


def _pairs(connections: Any) -> Iterable[tuple[str, Any]]:
    """Return pairs of a field's name and its connection."""
    pairs = connections.items() if isinstance(connections, Mapping) else connections
    try:
        found = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise ElementTypeError(
            f"addVertex: connections {clipped(connections, 60)} are neither a dictionary nor pairs",
            fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
        ) from None
    for name, _ in found:
        if not isinstance(name, str):
            raise ElementTypeError(
                f"addVertex: {clipped(name, 60)} is not the name of a field",
                found=f"connections are {clipped(connections, 80)}",
                fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
            )
        if name == "tile":
            raise UnknownField(
                f"addVertex: connections contain {clipped('tile')}, not a valid field name",
                fix="graph.addVertex(compute_set, Vertex, {...}, tile=3)",
            )
    return found


def _halves(bits: npt.ArrayLike, call: str) -> npt.NDArray[np.float16]:
    """Return the HALF values with these bits."""
    try:
        array = np.asarray(unmasked(bits, call))
        found = f"an array of {array.dtype}"
    except ValueError:
        array, found = np.array(""), "rows of different lengths"
    array = array if array.size else array.astype(np.uint16)
    if array.dtype.kind not in "iu" or np.any((array < 0) | (array > 0xFFFF)):
        raise TensorCreationError(
            f"{call}: {clipped(bits, 60)} are not the bits of {HALF}",
            found=found,
            fix="pass numbers from 0 to 65535; for values, use the call without Half",
        )
    return array.astype(np.uint16).view(np.float16)


_STREAM_OPTIONS = ("bufferingDepth", "splitLimit")


def _buffering_depth(options: Mapping[str, object] | None, handle: str) -> int:
    """Return the buffering depth in a stream's options; 1 by default."""
    depth = 1
    checked_options(options, f"stream {clipped(handle)}")
    for name, value in (options or {}).items():
        is_text = isinstance(value, str) and value.removeprefix("-").isdecimal()
        number = integer_or_none(int(str(value)) if is_text else value)
        if name not in _STREAM_OPTIONS:
            raise InvalidOption(
                f"stream {clipped(handle)} has no option {clipped(name)}"
                f"{did_you_mean(name, _STREAM_OPTIONS)}",
                found=f"options are {' and '.join(_STREAM_OPTIONS)}",
                fix='{"bufferingDepth": 2}',
            )
        if number is None or number < 0:
            raise InvalidOption(
                f"stream {clipped(handle)}: {name} is {clipped(value)}, "
                "not a non-negative whole number",
                fix=f'{{"{name}": 2}}',
            )
        depth = number if name == "bufferingDepth" else depth
    return depth
