"""Members of Graph whose C++ spelling takes its arguments in another order than ours.

    graph.addVariable(FLOAT, (4,), VariableMappingMethod.LINEAR, "x")
    graph.add_variable(FLOAT, (4,), "x", mapping="linear")

Each function becomes a method of `Graph` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from poplite.errors import (
    Absent,
    AbsentMember,
    ElementTypeError,
    GraphConnectionError,
    checked_member,
    checked_truth,
)
from poplite.graph.compute_sets.compute_set import FieldRef
from poplite.graph.connect.connect import classes_named
from poplite.graph.poplar_arguments import (
    called_in_order,
    check_once,
    halves,
    metadata_first,
    pairs,
    tensor_third,
)
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.poplar.binder import VariableMappingMethod
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.types import HALF, element_type as _element_type
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
    from poplite.graph.graph import Graph
    from poplite.graph.mapping.tile_mapping import TileMapping
    from poplite.graph.storage.variable import ShapeLike
    from poplite.machine.target import Target
    from poplite.types import ElementTypeLike


def addVariable(
    graph: Graph, element_type: ElementTypeLike, *arguments: Any, **keywords: Any
) -> Tensor:
    """C++ spelling of `add_variable`.

    Args:
        graph: where it is made.
        element_type: element type, or the NumPy dtype of one.
        *arguments: `[metadata,] shape, [method,] [name]`. A text that is a method's name, such as
            "LINEAR", is that method; `name="LINEAR"` gives a variable such a name.
        **keywords: those of `add_variable`.

    Raises:
        PopliteError: as `add_variable`, and for arguments in another order.

    >>> from poplite.graph import Graph
    >>> Graph().addVariable("float32", [4], VariableMappingMethod.NONE, "x")
    <Tensor 'x' float32[4] on no tile, 16 B>
    """
    metadata, arguments = metadata_first(arguments, keywords, "addVariable")
    if len(arguments) > 1 and _is_method(arguments[1:]):
        shape, method, *rest = arguments
        method = checked_member(method, VariableMappingMethod, "addVariable: method")
        if method is VariableMappingMethod.LINEAR:
            check_once("addVariable", "mapping", method, keywords)
            keywords["mapping"] = "linear"
        arguments = (shape, *rest)
    call = "addVariable(type, [metadata,] shape, [method,] [name])"
    return called_in_order(
        graph.add_variable, call, element_type, *arguments, metadata=metadata, **keywords
    )


def _is_method(arguments: Sequence[Any]) -> bool:
    """Return whether what follows the shape begins with a method, or what should be one."""
    first = arguments[0]
    is_text = isinstance(first, str) and (first in VariableMappingMethod.__members__)
    return isinstance(first, VariableMappingMethod) or is_text or len(arguments) == 2


def addConstant(
    graph: Graph, element_type: ElementTypeLike, *arguments: Any, **keywords: Any
) -> Tensor:
    """C++ spelling of `add_constant`.

    Args:
        graph: where it is made.
        element_type: element type, or the NumPy dtype of one.
        *arguments: `[metadata,] shape, value, [name]`.
        **keywords: those of `add_constant`.

    Raises:
        PopliteError: as `add_constant`, and for arguments in another order.

    >>> from poplite.graph import Graph
    >>> Graph().addConstant("int32", [2], [7, 8], "k")
    <Tensor 'k' int32[2] on no tile, 8 B>
    """
    metadata, arguments = metadata_first(arguments, keywords, "addConstant")
    call = "addConstant(type, [metadata,] shape, value, [name])"
    return called_in_order(
        graph.add_constant, call, element_type, *arguments, metadata=metadata, **keywords
    )


def addConstantHalf(
    graph: Graph,
    element_type: ElementTypeLike,
    shape: ShapeLike,
    bits: npt.ArrayLike,
    name: str = "",
) -> Tensor:
    """Make a constant of HALF from the bits of its values.

    Args:
        graph: where it is made.
        element_type: HALF.
        shape: sizes of the dimensions.
        bits: numbers from 0 to 65535; one for all elements, or one each.
        name: as in `add_constant`.

    Raises:
        ElementTypeError: for another element type.
        TensorCreationError: for anything but such numbers, or another number of them.

    >>> from poplite.graph import Graph
    >>> Graph().addConstantHalf(HALF, [2], [0x3C00, 0xC000])[1].constant_value()
    np.float16(-2.0)
    """
    if _element_type(element_type) is not HALF:
        raise ElementTypeError(
            f"addConstantHalf: a constant of {clipped(element_type)}, but the bits are of HALF",
            at=here(),
            fix="graph.addConstantHalf(HALF, shape, bits)",
        )
    return graph.add_constant(element_type, shape, halves(bits, "addConstantHalf"), name)


def setInitialValueHalf(graph: Graph, target: Tensor | FieldRef, bits: npt.ArrayLike) -> None:
    """Set initial values of HALF from their bits.

    Args:
        graph: the graph of what is set.
        target: a tensor, or a state field of a vertex.
        bits: numbers from 0 to 65535; one for all elements, or one each.

    Raises:
        ElementTypeError: for a target of another element type.
        TensorCreationError: for anything but such numbers.
        PopliteError: as `set_initial_value`.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.setInitialValueHalf(graph.add_variable("float16", (2,)), 0x3C00)
    >>> graph.variables[0].initial_value
    array([1., 1.], dtype=float16)
    """
    given: Any = target  # set_initial_value says what is neither a tensor nor a field
    kind = (
        given.field.element
        if isinstance(given, FieldRef)
        else getattr(given, "element_type", None) or HALF
    )
    if kind is not HALF:
        raise ElementTypeError(
            f"setInitialValueHalf: {clipped(given, 60)} is {kind.__name__}, the bits are of HALF",
            at=here(),
            fix="graph.setInitialValue(x, values)",
        )
    graph.set_initial_value(target, halves(bits, "setInitialValueHalf"))


def cloneN(graph: Graph, *arguments: Any, **keywords: Any) -> Tensor:
    """C++ spelling of `clone_n`.

    Args:
        graph: where the clones are made.
        *arguments: `[type,] [metadata,] tensor, n, [name], [method], [duplication]`.
        **keywords: those of `clone_n`.

    Raises:
        PopliteError: as `clone_n`, and for arguments in another order.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.cloneN("float16", graph.add_variable("float32", (3,), "x", mapping=1), 2, "y")
    <Tensor concat(['y'.expand([0]), 'y_1'.expand([0])]) float16[2, 3] on tile 1, 12 B>
    """
    element_type, metadata, rest = tensor_third(arguments, keywords, "cloneN")
    keywords |= {"element_type": element_type, "metadata": metadata}
    keywords |= dict(zip(("method", "duplication"), rest[3:5], strict=False))
    call = "cloneN([type,] [metadata,] tensor, n, [name], [method], [duplication])"
    return called_in_order(graph.clone_n, call, *rest[:3], *rest[5:], **keywords)


class NoTensor:
    """What stands for a tensor where there is none: Poplar's tensor that is not valid."""

    def valid(self) -> bool:
        """Return false."""
        return False

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise AbsentMember(
            f"there is no tensor, so it has no {clipped(name)}",
            at=here(),
            found="findUnbroadcastTensor found nothing that is broadcast",
            fix="if found.valid(): ...",
        )

    def __repr__(self) -> str:
        return "<no Tensor>"


def findUnbroadcastTensor(graph: Graph, tensor: Tensor) -> Tensor | NoTensor:
    """C++ spelling of `find_unbroadcast_tensor`, which is None where nothing is broadcast.

    Args:
        graph: the graph of the tensor.
        tensor: any view.

    Returns:
        As there; where nothing is broadcast, what answers `valid()` with false.

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


def getTileMapping(
    graph: Graph,
    tensor: Tensor,
    require_complete: bool = True,
    allow_external: bool = False,
) -> TileMapping:
    """C++ spelling of `tile_mapping`.

    Args:
        graph: whose tile numbers are returned.
        tensor: any view.
        require_complete: whether elements without a tile are an error.
        allow_external: as in Poplar; no variable is external, so it changes nothing.

    Raises:
        ElementTypeError: for anything but truth values; Poplar's pointer is refused.
        InvalidTileMapping: when elements have no tile, and that is an error.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.getTileMapping(graph.add_variable("int32", (4,), mapping=2), True, False)[2]
    [Interval(begin=0, end=4)]
    """
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

    Args:
        graph: whose tile numbers are used.
        compute_set: where it is added.
        vertex_class: its class, or the name of one.
        connections: what is connected to its fields, which Poplar takes as
            `{{"x", x}, {"y", y}}`: a dictionary, or pairs.
        tile: as in `add_vertex`.
        **fields: as in `add_vertex`.

    Raises:
        GraphConnectionError: for a field that is connected twice.
        ElementTypeError: for connections that are neither.
        PopliteError: as `add_vertex`.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> graph = pl.Graph()
    >>> x = graph.addVariable(pl.FLOAT, [], "x")
    >>> graph.addVertex(graph.addComputeSet("double"), Double, {"x": x}, tile=3)
    <VertexInstance Double 0 on tile 3 of 'double'>
    """
    given: dict[str, Any] = {}
    for name, value in (*pairs(connections), *fields.items()):
        if name in given:
            raise GraphConnectionError(
                f"addVertex: field {name!r} of a vertex of {clipped(vertex_class, 60)} twice",
                at=here(),
                found=f"to {clipped(given[name], 60)} and to {clipped(value, 60)}",
                fix="connect every field once",
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
    """Return whether a vertex class is known: every class is, by its name once it was defined.

    Several classes may have a name; then it is known, and `addVertex` wants the class itself.

    Args:
        graph: any graph.
        vertex_class: the class, or its name.

    >>> from poplite.graph import Graph
    >>> Graph().hasCodelet(Vertex), Graph().hasCodelet("NoSuchClass")
    (True, False)
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
