"""Estimated costs of vertices.

    def cost(vertex, target):                       an estimator of a class
        return 20 + 3 * vertex.field_info("x").size

    graph.register_perf_estimator(Axpy, cost)
    graph.set_perf_estimate(vertex, 164)            for one vertex; it precedes the estimator

Without either, the method `cycles` of the class is called, which knows only sizes.

Cycles are those of the thread that runs the vertex; for a `MultiVertex`, those of its tile.
Source: Poplar API reference, "VertexPerfEstimate", "VertexIntrospector", "FieldData".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index as whole_number
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    SizeOverflowError,
    TensorIndexError,
    made_by,
    refuse_empty,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import size_of
from poplite.graph.tensor.tensor import Tensor
from poplite.poplar.callable_values import CalledInt, CalledText
from poplite.poplar.spelling import cpp_spelling
from poplite.text import amount, clipped, integer_or_none
from poplite.types import ElementType, unmasked
from poplite.vertex.fields import (
    Layout,
    ProfilerVectorLayout,
    ProfilerVectorListLayout,
    Role,
    profiler_layout,
    profiler_list_layout,
)

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import FieldRef, VertexInstance
    from poplite.machine.target import Target
    from poplite.vertex.vertex import Vertex


MOST = 1 << 40
"""Largest number of cycles (a quarter of an hour) or operations of a vertex; the sums over many
vertices fit 64 bits."""


@refuse_empty("VertexPerfEstimate(cycles, flops)")
@frozen
class VertexPerfEstimate:
    """The cost of running a vertex once.

    Args:
        cycles: cycles of the thread that runs it.
        flops: floating-point operations.
    """

    cycles: int
    flops: int = 0


Estimator = Callable[["VertexInstance", "Target"], VertexPerfEstimate | int]
"""Returns the cost of a vertex of a class from its fields: an estimate, or cycles."""


def estimator_for(
    cls: type[Vertex], estimators: Mapping[type[Vertex], Estimator]
) -> Estimator | None:
    """Return the estimator of a class, or of the nearest base class with one.

    None without one, or if a nearer class has a method `cycles`.
    """
    for base in cls.__mro__:
        if base in estimators:
            return estimators[base]
        if "cycles" in vars(base):
            return None
    return None


@made_by('vertex.field_info("x")')
@cpp_spelling()
@frozen(eq=False)
class FieldData:
    """A field of one vertex, as an estimator sees it.

    Attributes:
        name: name of the field.
        role: "input", "output", "inout" or "state".
        element_type: type of its elements.
        rank: 0 for one element, 1 for a vector, 2 for a list of vectors.
        sizes: int64[size], elements of each vector of a list; one number for a vector, none for
            one element.
        layout: how its vectors are stored in memory.
        initial_values: the values of state; None for edges, and where no values were set.
    """

    name: str
    role: Role
    element_type: type[ElementType[Any]]
    rank: int
    sizes: Int64
    layout: Layout
    initial_values: npt.NDArray[Any] | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", CalledText(self.name))
        object.__setattr__(self, "rank", CalledInt(self.rank))

    @property
    def size(self) -> CalledInt:
        """Vectors of a list, elements of a vector, or 1."""
        sizes = self.sizes
        return CalledInt(len(sizes) if self.rank == 2 else sizes[0] if self.rank else 1)

    def size_at(self, index: int) -> int:
        """Return the number of elements of one vector of a list.

        Args:
            index: position of the vector.

        Raises:
            TensorIndexError: when there is no such vector.
        """
        number = integer_or_none(index)
        if self.rank != 2 or number is None or not 0 <= number < self.size:
            raise TensorIndexError(
                f"field '{self.name}' has no vector {clipped(index)}",
                found=f"a list of {amount(self.size, 'vector')}"
                if self.rank == 2
                else "it is not a list of vectors",
                fix="size_at(0) of a list, size of other fields",
            )
        return int(self.sizes[number])

    @property
    def initial_value(self) -> bool | int | float | None:
        """The value of scalar state; None for other fields."""
        values = self.initial_values
        return None if self.rank or values is None else values.item()

    # C++ spelling

    getSizeAtIndex = size_at

    def getInitialValue(self, target: Target | None = None) -> bool | int | float | None:
        """C++ spelling of `initial_value`, which is the same on every target."""
        return self.initial_value

    def getProfilerVectorLayout(self, dim: int = 0) -> ProfilerVectorLayout:
        """Return how the vectors of a dimension are stored; dimension 0 of a list is the list.

        Raises:
            TensorIndexError: when the field has no such dimension.
        """
        if type(dim) is not int or not 0 <= dim < max(self.rank, 1):
            raise TensorIndexError(
                f"field '{self.name}' has no dimension {clipped(dim)}",
                found=f"its rank is {self.rank}",
                fix=f"data.getProfilerVectorLayout({max(self.rank - 1, 0)})",
            )
        return profiler_layout(self.layout, self.rank, dim)

    def getProfilerVectorListLayout(self) -> ProfilerVectorListLayout:
        """Return how a list of vectors is stored in one descriptor, if it is."""
        return profiler_list_layout(self.layout, self.rank)

    def getInitialValues(self, target: Target | None = None) -> npt.NDArray[Any] | None:
        """C++ spelling of `initial_values`, which are the same on every target."""
        return self.initial_values


def field_data(ref: FieldRef) -> FieldData:
    """Return the sizes, element type, layout and values of a field."""
    vertex, field = ref.vertex, ref.field
    size = size_of(ref)
    if field.depth == 2:
        whole = vertex.connections.get(field.name)
        sizes = (
            np.full(size, whole.shape[1])
            if isinstance(whole, Tensor)
            else np.array([size_of(ref[row]) for row in range(size)], np.int64)
        )
    else:
        sizes = np.full(field.depth, size)
    held = vertex.state.get(field.name)
    values = None if held is None else np.asarray(held, field.element.dtype)
    return FieldData(
        field.name, field.role, field.element, field.depth, sizes, field.layout, values
    )


def checked_estimate(name: str, cycles: object, flops: object) -> VertexPerfEstimate:
    """Return an estimate after checking it; `cycles` may be an estimate itself."""
    if isinstance(cycles, VertexPerfEstimate):
        flops = cycles.flops
        cycles = cycles.cycles
    return VertexPerfEstimate(*(_count(name, w, n) for w, n in _named(cycles, flops)))


def checked_estimates(name: str, cycles: object, flops: object, count: int) -> tuple[Int64, Int64]:
    """Return checked cycles and flops of many vertices, each int64[count]."""
    cycles_, flops_ = (_counts(name, w, n, count) for w, n in _named(cycles, flops))
    return cycles_, flops_


def _named(cycles: object, flops: object) -> list[tuple[str, object]]:
    return [("cycles", cycles), ("flops", flops)]


def _count(name: str, what: str, value: object) -> int:
    try:
        number = whole_number(value)  # type: ignore[arg-type]
    except TypeError:
        raise ElementTypeError(
            f"{name}: {what}={clipped(value)} is not a whole number",
            found=f"its type is {type(value).__name__}",
            fix="graph.set_perf_estimate(vertex, 120, flops=64)",
        ) from None
    if not 0 <= number <= MOST:
        raise SizeOverflowError(
            f"{name}: {what}={number:,}, "
            + ("but at least 0 is needed" if number < 0 else f"but {MOST:,} is the most"),
            fix="graph.set_perf_estimate(vertex, 120, flops=64)",
        )
    return number


def _counts(name: str, what: str, value: object, count: int) -> Int64:
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        return np.broadcast_to(np.int64(_count(name, what, value)), (count,))
    numbers = np.asarray(unmasked(value, f"{name}: {what}"))
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu":
        raise ElementTypeError(
            f"{name}: {what} is an array of shape {numbers.shape} of {numbers.dtype}, "
            f"but there are {amount(count, 'vertex', 'vertices')}",
            found="one whole number for all, or one for each vertex",
            fix=f"{what}=120, or an integer array of shape ({count},)",
        )
    for k in {int(numbers.argmin()), int(numbers.argmax())} if count else ():
        _count(f"{name} {k}", what, int(numbers[k]))
    kept = numbers.astype(np.int64)
    kept.flags.writeable = False
    return kept
