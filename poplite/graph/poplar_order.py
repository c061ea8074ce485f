"""Members of Graph whose C++ spelling takes its arguments in another order than ours.

    graph.addVariable(FLOAT, (4,), VariableMappingMethod.LINEAR, "x")
    graph.add_variable(FLOAT, (4,), "x", mapping="linear")

Each function becomes a method of `Graph` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Graph".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from poplite.errors import (
    Absent,
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
    UnknownField,
    checked_truth,
    did_you_mean,
)
from poplite.graph.clone import TensorCloneMethod
from poplite.graph.connect.connect import classes_named
from poplite.graph.host.streams import DataStream, ReplicatedStreamMode
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.machine.option_flags import checked_options
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.types import HALF, QuarterMetadata, element_type as _element_type
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance
    from poplite.graph.graph import Graph
    from poplite.graph.host.transfer_checks import TypeLike
    from poplite.graph.mapping.tile_mapping import TileMapping
    from poplite.graph.storage.variable import ShapeLike
    from poplite.machine.target import Target
    from poplite.program.function import Function, FunctionBuffer
    from poplite.types import ElementTypeLike

    Metadata = Tensor | QuarterMetadata


T = TypeVar("T")


class VariableMappingMethod(Enum):
    """How `graph.addVariable` maps a new variable."""

    NONE = "none"
    """No element has a tile."""
    LINEAR = "linear"
    """Elements are spread evenly and in order over all tiles."""


class FunctionBufferMappingType(Enum):
    """Where the code of a function buffer is."""

    REMOTE = "remote"
    """In memory of the host."""


def addVariable(
    graph: Graph, element_type: ElementTypeLike, *arguments: Any, **keywords: Any
) -> Tensor:
    """C++ spelling of `add_variable`.

    `addVariable(type, [metadata,] shape, [method,] [name])`; keywords are those of `add_variable`.

    Raises:
        PopliteError: as `add_variable`, and for arguments in another order.

    >>> from poplite.graph import Graph
    >>> Graph().addVariable("float32", [4], VariableMappingMethod.NONE, "x")
    <Tensor 'x' float32[4] on no tile, 16 B>
    """
    metadata, arguments = _metadata_first(arguments, keywords, "addVariable")
    if len(arguments) > 1 and isinstance(arguments[1], VariableMappingMethod):
        shape, method, *rest = arguments
        if method is VariableMappingMethod.LINEAR:
            _check_once("addVariable", "mapping", method, keywords)
            keywords["mapping"] = "linear"
        arguments = (shape, *rest)
    call = "addVariable(type, [metadata,] shape, [method,] [name])"
    return _called(
        graph.add_variable, call, element_type, *arguments, metadata=metadata, **keywords
    )


def addConstant(
    graph: Graph, element_type: ElementTypeLike, *arguments: Any, **keywords: Any
) -> Tensor:
    """C++ spelling of `add_constant`.

    `addConstant(type, [metadata,] shape, value, [name])`; keywords are those of `add_constant`.
    """
    metadata, arguments = _metadata_first(arguments, keywords, "addConstant")
    call = "addConstant(type, [metadata,] shape, value, [name])"
    return _called(
        graph.add_constant, call, element_type, *arguments, metadata=metadata, **keywords
    )


def addConstantHalf(
    graph: Graph,
    element_type: ElementTypeLike,
    shape: ShapeLike,
    bits: npt.ArrayLike,
    name: str = "",
) -> Tensor:
    """Make a constant of HALF from the bits of its values, as `uint16`."""
    if _element_type(element_type) is not HALF:
        raise ElementTypeError(
            f"addConstantHalf: a constant of {clipped(element_type)}, but the bits are of HALF",
            at=here(),
            fix="graph.addConstantHalf(HALF, shape, bits)",
        )
    return graph.add_constant(element_type, shape, _halves(bits, "addConstantHalf"), name)


def setInitialValueHalf(graph: Graph, target: Tensor | FieldRef, bits: npt.ArrayLike) -> None:
    """Set initial values of HALF from their bits, as `uint16`."""
    graph.set_initial_value(target, _halves(bits, "setInitialValueHalf"))


def cloneN(graph: Graph, *arguments: Any, **keywords: Any) -> Tensor:
    """C++ spelling of `clone_n`.

    `cloneN([type,] [metadata,] tensor, n, [name], [method], [duplication])`; keywords are those of
    `clone_n`.

    Raises:
        PopliteError: as `clone_n`, and for arguments in another order.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.cloneN("float16", graph.add_variable("float32", (3,), "x", mapping=1), 2, "y")
    <Tensor 'y', 'y.1' float16[2, 3] on tile 1, 12 B>
    """
    element_type, metadata, rest = _tensor_third(arguments, keywords, "cloneN")
    keywords |= {"element_type": element_type, "metadata": metadata}
    keywords |= dict(zip(("method", "duplication"), rest[3:5], strict=False))
    call = "cloneN([type,] [metadata,] tensor, n, [name], [method], [duplication])"
    return _called(graph.clone_n, call, *rest[:3], *rest[5:], **keywords)


def getTileMapping(
    graph: Graph,
    tensor: Tensor,
    require_complete: bool = True,
    allow_external: bool = False,
) -> TileMapping:
    """C++ spelling of `tile_mapping`; no variable is external, so the last changes nothing."""
    if not isinstance(require_complete, bool):
        raise ElementTypeError(
            f"getTileMapping: requireComplete is {clipped(require_complete)}, not true or false",
            at=here(),
            found="Poplar has a pointer there, which is told whether all elements have a tile",
            fix="graph.getTileMapping(tensor, False)",
        )
    checked_truth(allow_external, "getTileMapping: allowExternal")
    return graph.tile_mapping(tensor, require_complete)


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

    The connections, which Poplar takes as `{{"x", x}, {"y", y}}`, are a dictionary or pairs;
    keywords are those of `add_vertex`.
    """
    given: dict[str, Any] = {}
    for name, value in (*_pairs(connections), *fields.items()):
        if name in given:
            raise GraphConnectionError(
                f"addVertex: field {name!r} of a vertex of {clipped(vertex_class, 60)} twice",
                at=here(),
                found=f"to {clipped(given[name], 60)} and to {clipped(value, 60)}",
                fix="connect every field once",
            )
        given[name] = value
    return graph.add_vertex(compute_set, vertex_class, tile=tile, **given)


def addHostToDeviceFIFO(
    graph: Graph,
    handle: str,
    element_type: TypeLike,
    num_elements: int,
    replicated_mode: ReplicatedStreamMode | Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    *,
    buffering_depth: int | None = None,
) -> DataStream:
    """C++ spelling of `add_host_to_device_fifo`.

    `addHostToDeviceFIFO(handle, type, numElements, [mode,] [options])`; the options are Poplar's:
    `bufferingDepth`, and `splitLimit`, which has no effect.
    """
    if isinstance(replicated_mode, Mapping):
        if options is not None:
            raise InvalidOption(
                f"stream {clipped(handle)}: options {clipped(replicated_mode)} and "
                f"{clipped(options)}",
                at=here(),
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
    """C++ spelling of `add_device_to_host_fifo`, with Poplar's options, which have no effect."""
    _buffering_depth(options, handle)
    return graph.add_device_to_host_fifo(handle, element_type, num_elements)


def createHostWrite(
    graph: Graph, handle: str, tensor: Tensor, rearrange_on_host: bool = False
) -> None:
    """C++ spelling of `create_host_write`; where elements are rearranged has no effect."""
    checked_truth(rearrange_on_host, "createHostWrite: rearrangeOnHost")
    graph.create_host_write(handle, tensor)


def createHostRead(
    graph: Graph, handle: str, tensor: Tensor, rearrange_on_host: bool = False
) -> None:
    """C++ spelling of `create_host_read`; where elements are rearranged has no effect."""
    checked_truth(rearrange_on_host, "createHostRead: rearrangeOnHost")
    graph.create_host_read(handle, tensor)


def addFunctionBuffer(
    graph: Graph,
    function: Function,
    mapping_type: FunctionBufferMappingType = FunctionBufferMappingType.REMOTE,
) -> FunctionBuffer:
    """C++ spelling of `add_function_buffer`; REMOTE is the one type there is."""
    if not isinstance(mapping_type, FunctionBufferMappingType):
        raise ElementTypeError(
            f"addFunctionBuffer: {clipped(mapping_type)} is no FunctionBufferMappingType",
            at=here(),
            fix="graph.addFunctionBuffer(function, FunctionBufferMappingType.REMOTE)",
        )
    return graph.add_function_buffer(function)


def getVariable(graph: Graph, variable: Variable) -> Tensor:
    """Return the tensor of all elements of a variable, as `graph.tensor(name)` does."""
    return of_variable(graph.top_level_graph, _variable_of(graph, variable, "getVariable"))


def isConstant(graph: Graph, variable: Variable) -> bool:
    """Whether a variable is a constant."""
    return _variable_of(graph, variable, "isConstant").constant


def hasCodelet(graph: Graph, vertex_class: type[Vertex] | str) -> bool:
    """Whether a vertex class is known: every class is, by its name once it was defined.

    Several classes may have a name; then it is known, and `addVertex` wants the class itself.
    """
    if isinstance(vertex_class, str):
        return bool(classes_named(vertex_class))
    return isinstance(vertex_class, type) and issubclass(vertex_class, Vertex)


def getReplicationFactor(graph: Graph) -> int:
    """C++ spelling of `replication_factor`."""
    return graph.replication_factor


def getTarget(graph: Graph) -> Target:
    """C++ spelling of `target`."""
    return graph.target


def getNumVertices(graph: Graph) -> int:
    """C++ spelling of `num_vertices`."""
    return graph.num_vertices


def getTopLevelGraph(graph: Graph) -> Graph:
    """C++ spelling of `top_level_graph`."""
    return graph.top_level_graph


addCodelets = Absent(
    "vertex classes are Python; C++, assembly and .gp files are not read",
    "class MyVertex(pl.Vertex)",
)
addExternalVariable = Absent(
    "an executable is whole: no variable is of another module", "graph.add_variable(...)"
)
ConnectionDesc = Absent(
    "a connection is a pair of a name and what it is connected to", '("x", tensor)'
)
addExternalExchangeVertex = Absent(
    "tiles have no exchange code of their own", "pl.Copy(source, destination)"
)


def clone_arguments(
    arguments: tuple[Any, ...], element_type: ElementTypeLike | None, metadata: Metadata | None
) -> tuple[Any, ...]:
    """Return type, metadata, tensor, name and method of a `clone` in Poplar's order."""
    keywords = {"element_type": element_type, "metadata": metadata}
    element_type, metadata, rest = _tensor_third(arguments, keywords, "clone")
    if len(rest) > 3:
        raise TensorCreationError(
            f"clone: {amount(len(rest) - 3, 'argument')} too many",
            at=here(),
            found=f"given {', '.join(clipped(each, 60) for each in arguments)}",
            fix="graph.clone([type,] [metadata,] tensor, [name], [method])",
        )
    given = (*rest, *("", TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES)[len(rest) - 1 :])
    return element_type, metadata, *given


def is_tensor_or_metadata(what: object) -> bool:
    """Whether what follows an element type means that Poplar's order is used."""
    return isinstance(what, Tensor | QuarterMetadata)


def _variable_of(graph: Graph, variable: object, call: str) -> Variable:
    """Return a variable of the graph, or refuse anything else."""
    if not isinstance(variable, Variable):
        raise ElementTypeError(
            f"{call}: {clipped(variable, 60)} is no variable",
            at=here(),
            found=of_type(variable),
            fix=f"graph.{call}(tensor.getVarRegions()[0].var)",
        )
    return graph.variable_of(variable.storage)


def _pairs(connections: Any) -> Iterable[tuple[str, Any]]:
    """Return pairs of a field's name and what it is connected to."""
    pairs = connections.items() if isinstance(connections, Mapping) else connections
    try:
        found = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise ElementTypeError(
            f"addVertex: connections {clipped(connections, 60)} are no dictionary",
            at=here(),
            fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
        ) from None
    for name, _ in found:
        if not isinstance(name, str):
            raise ElementTypeError(
                f"addVertex: {clipped(name, 60)} is no name of a field",
                at=here(),
                found=f"connections are {clipped(connections, 80)}",
                fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
            )
        if name == "tile":
            raise UnknownField(
                f"addVertex: connections have {clipped('tile')}, which no vertex has as a field",
                at=here(),
                fix="graph.addVertex(compute_set, Vertex, {...}, tile=3)",
            )
    return found


def _tensor_third(
    arguments: Sequence[Any], keywords: Mapping[str, Any], call: str
) -> tuple[ElementTypeLike | None, Metadata | None, tuple[Any, ...]]:
    """Take the element type and the metadata from before a tensor, where Poplar has them."""
    element_type, metadata = keywords.get("element_type"), keywords.get("metadata")
    is_first = len(arguments) > 1 and is_tensor_or_metadata(arguments[1])
    if is_first and not is_tensor_or_metadata(arguments[0]):
        _check_once(call, "element_type", arguments[0], keywords)
        element_type, *arguments = arguments
    if len(arguments) > 1 and isinstance(arguments[1], Tensor):
        _check_once(call, "metadata", arguments[0], keywords)
        metadata, *arguments = arguments
    return element_type, metadata, tuple(arguments)


def _check_once(call: str, name: str, value: object, keywords: Mapping[str, Any]) -> None:
    """Refuse an argument that is given in Poplar's order and by name."""
    if keywords.get(name) is not None:
        raise TensorCreationError(
            f"{call}: {name} in order, {clipped(value, 60)}, and by name",
            at=here(),
            found=f"{name}={clipped(keywords[name], 60)}",
            fix="give it once",
        )


def _called(ours: Callable[..., T], call: str, *arguments: Any, **keywords: Any) -> T:
    """Return what a call of ours returns; arguments that do not fit it are told in Poplar's order.

    `call` is the signature in Poplar's order.
    """
    try:
        return ours(*arguments, **keywords)
    except TypeError:
        try:
            inspect.signature(ours).bind(*arguments, **keywords)
        except TypeError as error:
            given = [clipped(each, 60) for each in arguments]
            given += [name for name, value in keywords.items() if value is not None]
            raise TensorCreationError(
                f"{call.partition('(')[0]}: {error}",
                at=here(),
                found=f"given {', '.join(given) or 'nothing'}",
                fix=f"graph.{call}",
            ) from None
        raise


def _metadata_first(
    arguments: tuple[Any, ...], keywords: dict[str, Any], call: str
) -> tuple[Metadata | None, tuple[Any, ...]]:
    """Take the metadata from before the shape, where Poplar has them."""
    if not arguments or not is_tensor_or_metadata(arguments[0]):
        return keywords.pop("metadata", None), arguments
    _check_once(call, "metadata", arguments[0], keywords)
    keywords.pop("metadata", None)
    return arguments[0], arguments[1:]


def _halves(bits: npt.ArrayLike, call: str) -> npt.NDArray[np.float16]:
    """Return the values of bits of HALF."""
    try:
        array = np.asarray(bits)
        found = f"an array of {array.dtype}"
    except ValueError:
        array, found = np.array(""), "rows of several lengths"
    array = array if array.size else array.astype(np.uint16)
    if array.dtype.kind not in "iu" or np.any((array < 0) | (array > 0xFFFF)):
        raise TensorCreationError(
            f"{call}: {clipped(bits, 60)} are not the bits of {HALF}",
            at=here(),
            found=found,
            fix="numbers from 0 to 65535; values go to the call without Half",
        )
    return array.astype(np.uint16).view(np.float16)


_STREAM_OPTIONS = ("bufferingDepth", "splitLimit")


def _buffering_depth(options: Mapping[str, object] | None, handle: str) -> int:
    """Return the depth that a stream's options ask for; 1 if none."""
    depth = 1
    checked_options(options, f"stream {clipped(handle)}")
    for name, value in (options or {}).items():
        is_text = isinstance(value, str) and value.removeprefix("-").isdecimal()
        number = integer_or_none(int(str(value)) if is_text else value)
        if name not in _STREAM_OPTIONS:
            raise InvalidOption(
                f"stream {clipped(handle)} has no option {clipped(name)}"
                f"{did_you_mean(str(name), _STREAM_OPTIONS)}",
                at=here(),
                found=f"options are {' and '.join(_STREAM_OPTIONS)}",
                fix='{"bufferingDepth": 2}',
            )
        if number is None or number < 0:
            raise InvalidOption(
                f"stream {clipped(handle)}: {name} is {clipped(value)}, not a whole number from 0",
                at=here(),
                fix=f'{{"{name}": 2}}',
            )
        depth = number if name == "bufferingDepth" else depth
    return depth
