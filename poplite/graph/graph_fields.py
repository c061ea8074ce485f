"""The part of a graph about fields of vertices, and what vertices cost.

    graph.set_field_size(vertex["rows"], 3)       how many rows a list of edges has
    graph.max_field_dim(Axpy, "x", 0)             how many elements a layout allows
    graph.set_perf_estimate(vertex, 164)          what a vertex costs

Source: Poplar API reference, "Graph::setFieldSize", "Graph::getMaxFieldDim",
"Graph::setPerfEstimate".
"""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.errors import ElementTypeError, GraphConnectionError
from poplite.graph.compute_sets.compute_set import FieldRef, VertexInstance
from poplite.graph.compute_sets.field_sizes import max_dim, set_size, size_of
from poplite.graph.compute_sets.perf_estimates import (
    Estimator,
    VertexPerfEstimate,
    estimate_given,
    estimates_given,
    estimator_for,
)
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.connect.connect import bind, check_single, field_ref, vertex_class_of
from poplite.graph.graph_mapping import GraphMapping
from poplite.source import SourceLocation, here
from poplite.text import clipped
from poplite.types import spelled
from poplite.vertex.vertex import Vertex, field_of, has_cycles

if TYPE_CHECKING:
    import numpy.typing as npt

_Field = FieldRef | tuple[VertexInstance, str]


class GraphFields(GraphMapping):
    """Sizes of fields, and costs of vertices."""

    _estimators: dict[type[Vertex], Estimator]

    def set_field_size(self, field: _Field, size: int) -> None:
        """Say how many rows a list of edges has, or how many values a vector of state.

        A list that is connected row by row is complete once it has as many rows. A vector of
        state holds zeros until it is given values.

        Args:
            field: `vertex["rows"]`.
            size: how many.

        Raises:
            GraphConnectionError: for another kind of field, a size already set, and one that
                does not fit what is connected, or the field's layout.
            TensorIndexError: when the size is no whole number from 0.

        >>> import poplite as pl
        >>> class Total(pl.Vertex):
        ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
        ...     y: pl.Output[pl.FLOAT]
        ...     def compute(self) -> None:
        ...         self.y = self.rows[0][0] + self.rows[1][0]
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping=0)
        >>> vertex = graph.add_vertex(graph.add_compute_set("total"), Total, tile=0)
        >>> graph.set_field_size(vertex["rows"], 2)
        >>> for row in range(2):
        ...     graph.connect(vertex["rows"][row], x[row])
        >>> graph.field_size(vertex["rows"]), graph.field_size(vertex["rows"][1])
        (2, 4)
        """
        at = here()
        ref = field_ref(field, at)
        check_single(ref.vertex, at)
        set_size(ref, size, at)
        if size == 0 and ref.field.is_edge and ref.field.name not in ref.vertex.connections:
            bind(ref.vertex, {ref.field.name: ()}, at)

    def field_size(self, field: _Field) -> int:
        """Return how many rows a list of edges has, or how many elements another field or a row.

        Args:
            field: `vertex["x"]`, or a row of a list: `vertex["rows"][2]`.

        Raises:
            NoSizeSpecified: when nothing tells it yet.
            TensorIndexError: for a row that the list does not have.
        """
        at = here()
        return size_of(field_ref(field, at), at)

    def max_field_dim(self, vertex_class: type[Vertex], field: str, dim: int = 0) -> int:
        """Return the largest size that a dimension of a field can have, by its layout.

        Args:
            vertex_class: the class, or a template.
            field: the field's name.
            dim: 0 is the length of a vector; of a list of edges how many there are, and 1 the
                length of each.

        Raises:
            UnknownField: for a name the class does not declare.
            TensorIndexError: for a dimension that the field does not have.

        >>> from typing import Annotated
        >>> import poplite as pl
        >>> class Scale(pl.Vertex):
        ...     x: Annotated[pl.InOut[pl.Vector[pl.HALF]], pl.Layout(pl.VectorLayout.SHORT_SPAN)]
        ...     def compute(self) -> None:
        ...         self.x[0] = 2.0 * self.x[0]
        >>> graph = pl.Graph()
        >>> graph.max_field_dim(Scale, "x"), graph.max_vertex_field_value(Scale, "x")
        (2047, 65504.0)
        """
        at = here()
        cls = vertex_class_of(vertex_class, at)
        return max_dim(cls, field_of(cls, field, at=at), dim, at)

    def max_vertex_field_value(self, vertex_class: type[Vertex], field: str) -> int | float:
        """Return the largest number that an element of a field can hold.

        Args:
            vertex_class: the class; of a template, one for given element types.
            field: the field's name.

        Raises:
            UnknownField: for a name the class does not declare.
            ElementTypeError: for an element type that is not known yet, and for QUARTER, whose
                largest number depends on format and scale.
        """
        at = here()
        cls = vertex_class_of(vertex_class, at)
        declared = field_of(cls, field, at=at)
        element = declared.element
        if declared.variable is not None or element.requires_metadata:
            raise ElementTypeError(
                f"{cls.__name__}: field '{field}' has no largest number",
                at=at,
                found=f"declared {declared}",
                fix=f"{cls.__name__}[pl.FLOAT]"
                if declared.variable is not None
                else "QuarterMetadata tells format and scale",
            )
        match element.dtype.kind:
            case "f":
                return float(np.finfo(element.dtype.char).max)
            case "b":
                return 1
        return int(np.iinfo(element.dtype.char).max)

    # Costs

    def set_perf_estimate(
        self,
        vertex: VertexInstance | VertexBlock,
        cycles: int | VertexPerfEstimate | Sequence[int] | npt.NDArray[np.integer[Any]],
        flops: int | Sequence[int] | npt.NDArray[np.integer[Any]] = 0,
    ) -> None:
        """Say what running a vertex once costs.

        Args:
            vertex: a vertex, or what `add_vertices` returned.
            cycles: of the thread that runs it; an estimate; for many vertices also an array of
                one number for each.
            flops: floating-point operations, likewise.

        Raises:
            GraphConnectionError: for something else, or one vertex of a block.
            ElementTypeError: for something that is no whole number, or another count of them.
            SizeOverflowError: for a number below 0.

        >>> import poplite as pl
        >>> class Double(pl.Vertex):
        ...     x: pl.InOut[pl.FLOAT]
        ...     def compute(self) -> None:
        ...         self.x = 2.0 * self.x
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
        >>> block = graph.add_vertices(graph.add_compute_set("double"), Double, tile=0, x=x)
        >>> graph.set_perf_estimate(block, [8, 8, 9, 8])
        >>> graph.perf_estimate(block[2])
        VertexPerfEstimate(cycles=9, flops=0)
        """
        at = here()
        self._check_vertex(vertex, VertexInstance | VertexBlock, "set_perf_estimate", at)
        if isinstance(vertex, VertexBlock):
            if isinstance(cycles, VertexPerfEstimate):
                flops = cycles.flops
                cycles = cycles.cycles
            name = vertex.vertex_class.__name__
            vertex.estimates = estimates_given(name, cycles, flops, len(vertex), at)
            return
        if vertex.block is not None:
            raise GraphConnectionError(
                f"{vertex} is one of {len(vertex.block):,} vertices that were added together",
                at=at,
                found=f"added by add_vertices at {vertex.location}",
                fix="graph.set_perf_estimate(block, cycles), one number or one for each",
            )
        vertex.estimate = estimate_given(f"{vertex}", cycles, flops, at)

    def perf_estimate(self, vertex: VertexInstance) -> VertexPerfEstimate | None:
        """Return what running a vertex once is said to cost.

        Args:
            vertex: the vertex.

        Returns:
            What was set for it, else what the estimator of its class says, else what the method
            `cycles` of its class does; None without any.

        Raises:
            GraphConnectionError: for something that is no vertex of this graph.
            ElementTypeError: when the estimator returns no estimate.
            NoSizeSpecified: when `cycles` is asked, and nothing tells how long a field is.
            VertexDefinitionError: when `cycles` reads data, raises, or returns no whole number.
        """
        at = here()
        self._check_vertex(vertex, VertexInstance, "perf_estimate", at)
        if vertex.estimate is not None:
            return vertex.estimate
        target = self.top_level_graph.target
        estimator = estimator_for(vertex.vertex_class, self._estimators)
        if estimator is not None:
            answer = estimator(vertex, target)
            return estimate_given(f"estimator of {vertex}", answer, 0, at)
        if not has_cycles(vertex.vertex_class):
            return None
        # Shapes are known above, where graphs are compiled.
        from poplite.graph.compute_sets.cycles_method import cycles_of
        from poplite.graph.compute_sets.vertex_shapes import words_of_vertex

        return cycles_of(vertex.vertex_class, words_of_vertex(vertex), target, set())

    def register_perf_estimator(self, vertex_class: type[Vertex], estimator: Estimator) -> None:
        """Say how to find what vertices of a class cost.

        Args:
            vertex_class: the class; a template for all classes made of it.
            estimator: takes a vertex, whose `field_info("x")` tells sizes and values, and the
                target; returns cycles or an estimate. A later one takes its place.

        Raises:
            ElementTypeError: for something that is no vertex class, or cannot be called.

        >>> import poplite as pl
        >>> class Double(pl.Vertex):
        ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
        ...     def compute(self) -> None:
        ...         for i in range(len(self.x)):
        ...             self.x[i] = 2.0 * self.x[i]
        >>> graph = pl.Graph()
        >>> graph.register_perf_estimator(
        ...     Double, lambda vertex, target: 12 + 2 * vertex.field_info("x").size
        ... )
        >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
        >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=0, x=x)
        >>> graph.perf_estimate(vertex).cycles
        28
        """
        at = here()
        cls = vertex_class_of(vertex_class, at)
        if not callable(estimator):
            raise ElementTypeError(
                f"register_perf_estimator: {clipped(estimator)} cannot be called",
                at=at,
                found=f"its type is {spelled(type(estimator))}",
                fix="a function of a vertex and the target that returns cycles",
            )
        self._estimators[cls] = estimator

    def _check_vertex(
        self, vertex: object, kind: type | UnionType, call: str, at: SourceLocation
    ) -> None:
        graph = vertex.graph if isinstance(vertex, VertexInstance | VertexBlock) else None
        if isinstance(vertex, kind) and graph is self.top_level_graph:
            return
        other = graph is not None and graph is not self.top_level_graph
        raise GraphConnectionError(
            f"{call}: {clipped(vertex, 100)} is no vertex of {self!r}",
            at=at,
            found="it is of another graph" if other else f"its type is {type(vertex).__name__}",
            fix="a vertex of this graph: what add_vertex returned, or a block's block[0]",
        )

    # C++ spelling

    setFieldSize = set_field_size
    getFieldSize = field_size
    getMaxFieldDim = max_field_dim
    getMaxVertexFieldValue = max_vertex_field_value
    setPerfEstimate = set_perf_estimate
    getPerfEstimate = perf_estimate
    registerPerfEstimator = register_perf_estimator
