"""Estimated costs of vertices: set by users, or computed by estimators and the method `cycles`.

    def cost(vertex, target):                       an estimator of a class
        return 20 + 3 * vertex.field_info("x").size

    graph.register_perf_estimator(Axpy, cost)
    graph.set_perf_estimate(vertex, 164)            for one vertex; overrides the estimator

Without either, the method `cycles` of the class is called, which does not see data::

    class Axpy(Vertex):
        ...
        def cycles(self, target) -> int:
            return 20 + 3 * len(self.y)          worker slots of one vertex

The method is ordinary Python and is never compiled. `self` provides the lengths of vectors and
lists, integer state, and the attributes of the class. It has no data, so one result is valid for
all vertices of equal shape. The words of the shape that the method reads are recorded, and only
those distinguish vertices.

Cycles are those of the thread that runs the vertex; for a `MultiVertex`, those of its tile.
Source: Poplar API reference, "VertexPerfEstimate", "VertexIntrospector", "FieldData".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index as whole_number
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    PopliteError,
    SizeOverflowError,
    TensorIndexError,
    VertexDefinitionError,
    made_by,
    refuse_empty,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import (
    FieldRef,
    StateValues,
    Vectors,
    VertexInstance,
    size_of,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.build import run_kernel
from poplite.jit.kernels_intervals import distinct as distinct_kernel
from poplite.poplar.callable_values import CalledInt, CalledText
from poplite.poplar.spelling import cpp_spelling
from poplite.source import SourceLocation
from poplite.text import amount, clipped, integer_or_none, why_not_called
from poplite.types import ElementType, spelled, unmasked
from poplite.vertex.fields import (
    Field,
    Layout,
    ProfilerVectorLayout,
    ProfilerVectorListLayout,
    Role,
    ShapeField,
    definition_error,
    fields_of,
    profiler_layout,
    profiler_list_layout,
    shape_kind,
)
from poplite.vertex.vertex import Vertex, has_cycles

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import Family
    from poplite.graph.compute_sets.vertex_block import Edges
    from poplite.machine.target import Target

MOST = 1 << 40
"""Maximum number of cycles (a quarter of an hour) or operations of a vertex; the sums over many
vertices fit in 64 bits."""


@refuse_empty("VertexPerfEstimate(cycles, flops)")
@frozen
class VertexPerfEstimate:
    """The cost of running a vertex once.

    Args:
        cycles: cycles of the thread that runs it.
        flops: number of floating-point operations.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] *= 2.0
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=3)
    >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=3, x=x)
    >>> graph.set_perf_estimate(vertex, VertexPerfEstimate(30, flops=8))
    >>> vertex.estimate
    VertexPerfEstimate(cycles=30, flops=8)
    """

    cycles: int
    flops: int = 0


Estimator = Callable[["VertexInstance", "Target"], VertexPerfEstimate | int]
"""A function that returns the cost of a vertex, an estimate or cycles, given its fields."""


def estimator_for(
    cls: type[Vertex], estimators: Mapping[type[Vertex], Estimator]
) -> Estimator | None:
    """Return the estimator of a class, or of the nearest base class with one.

    None if there is no such class, or a nearer class has a method `cycles`.
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
        sizes: int64[size], number of elements of each vector of a list; one number for a vector,
            empty for one element.
        layout: how its vectors are stored in memory.
        initial_values: the values of state; None for edges, and if no values were set.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] *= 2.0
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=3)
    >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=3, x=x)
    >>> data = vertex.field_info("x")
    >>> data.name, data.role, data.rank, data.size, data.element_type
    ('x', 'inout', 1, 8, FLOAT)
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
        """Number of vectors of a list or of elements of a vector; else 1."""
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
                found=f"it is a list of {amount(self.size, 'vector')}"
                if self.rank == 2
                else "it is not a list of vectors",
                fix="call size_at(0) for a list; use size for other fields",
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
        """Return how the vectors of a dimension are stored; for dimension 0 of a list, the list.

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
        """Return how a list of vectors is stored, if it is stored in one descriptor."""
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
    state = vertex.state.get(field.name)
    values = None if state is None else np.asarray(state, field.element.dtype)
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
    """Return checked cycles and flops of many vertices, both int64[count]."""
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
            + ("but at least 0 is needed" if number < 0 else f"but the maximum is {MOST:,}"),
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
            found="one whole number for all vertices, or one for each, is needed",
            fix=f"pass {what}=120, or an integer array of shape ({count},)",
        )
    for k in {int(numbers.argmin()), int(numbers.argmax())} if count else ():
        _count(f"{name} {k}", what, int(numbers[k]))
    copied = numbers.astype(np.int64)
    copied.flags.writeable = False
    return copied


# -- the method cycles -----------------------------------------------------------------------------


def checked_estimator(estimator: object) -> Estimator:
    """Return an estimator after checking that it is callable."""
    why = f"its type is {spelled(type(estimator))}"
    if callable(estimator):
        why = why_not_called(estimator, 2)
        if not why:
            return estimator
    raise ElementTypeError(
        f"register_perf_estimator: {clipped(estimator)} cannot be called"
        f"{' with a vertex and the target' if callable(estimator) else ''}",
        found=why,
        fix="pass a function of a vertex and the target that returns cycles",
    )


def estimate_of(
    vertex: VertexInstance,
    target: Target,
    estimators: Mapping[type[Vertex], Estimator],
) -> VertexPerfEstimate | None:
    """Return the estimated cost of a vertex; see `Graph.perf_estimate`."""
    if vertex.estimate is not None:
        return vertex.estimate
    cls = vertex.vertex_class
    estimator = estimator_for(cls, estimators)
    if estimator is not None:
        return checked_estimate(f"estimator of {vertex}", estimator(vertex, target), 0)
    return cycles_of(cls, words_of_vertex(vertex), target, set()) if has_cycles(cls) else None


def cycles_of(
    cls: type[Vertex], words: Sequence[int], target: Target, read: set[int]
) -> VertexPerfEstimate:
    """Return the cost that the method `cycles` of a class computes for a vertex's shape.

    The positions of the words that the method reads are added to `read`.

    >>> from poplite.machine.target import Target
    >>> from poplite.types import FLOAT
    >>> from poplite.vertex import InOut, Vector, Vertex
    >>> class Double(Vertex):
    ...     x: InOut[Vector[FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] = 2.0 * self.x[i]
    ...     def cycles(self, target: Target) -> int:
    ...         return 12 + 2 * len(self.x)
    >>> cycles_of(Double, [8], Target(), set())
    VertexPerfEstimate(cycles=28, flops=0)
    """
    shape = _Shape(cls, words, read)
    try:
        answer = shape.cycles(target)
    except PopliteError:
        raise
    except Exception as error:
        raise VertexDefinitionError(
            f"vertex class '{cls.__name__}': cycles raises {type(error).__name__}: {error}",
            at=_innermost(error.__traceback__),
            found=_in_words(cls, words),
            fix="return worker slots for any lengths, including 0",
        ) from error
    cycles, flops = (
        (answer.cycles, answer.flops) if isinstance(answer, VertexPerfEstimate) else (answer, 0)
    )
    return VertexPerfEstimate(
        _checked(cls, words, "cycles", cycles), _checked(cls, words, "flops", flops)
    )


def _checked(cls: type[Vertex], words: Sequence[int], what: str, value: Any) -> int:
    try:
        number = -1 if isinstance(value, bool) else whole_number(value)
    except TypeError:
        number = -1
    if 0 <= number <= MOST:
        return number
    method: Any = inspect.unwrap(cls.cycles)  # type: ignore[attr-defined]
    code = method.__code__
    raise VertexDefinitionError(
        f"vertex class '{cls.__name__}': cycles returns {what}={clipped(value)}, "
        "which is not a whole number from 0 to 2**40",
        at=SourceLocation(code.co_filename, code.co_firstlineno, "cycles"),
        found=f"its type is {type(value).__name__}\n{_in_words(cls, words)}",
        fix="return 20 + 3 * len(self.x) // 2, or VertexPerfEstimate(cycles, flops)",
    )


def _innermost(trace: TracebackType | None) -> SourceLocation | None:
    place = None
    while trace is not None:
        code = trace.tb_frame.f_code
        place = SourceLocation(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return place


def _in_words(cls: type[Vertex], words: Sequence[int]) -> str:
    """Describe a shape in words."""
    parts = []
    for field in fields_of(cls):
        first = field.first_word
        if field.kind == "length":
            parts.append(f"{field.name} of {amount(words[first], 'element')}")
        elif field.kind == "rows":
            rows = amount(words[first], "row")
            parts.append(f"{field.name} of {rows}, {amount(words[first + 1], 'element')} in total")
        elif field.kind == "value":
            parts.append(f"{field.name}={_value(cls.fields[field.name], words[first])}")
    return "a vertex with " + ", ".join(parts or ["no lengths and no whole numbers of state"])


def _value(field: Field, word: int) -> int | bool:
    if field.element.dtype.kind == "b":
        return bool(word)
    return word % (1 << 64) if field.element.dtype.kind == "u" else word


def _refuse_data(cls: type[Vertex], name: str, what: str) -> Never:
    raise definition_error(
        cls,
        f"cycles reads {what}, but may depend only on lengths and integer state",
        f"use len(self.{name}) or integer State; call graph.set_perf_estimate(vertex, "
        "cycles) where costs depend on data; leave cycles out to have them estimated",
        found=f"declared {cls.fields[name]}",
    )


def _fields(cls: type[Vertex]) -> Mapping[str, ShapeField]:
    if cls not in _known:
        _known[cls] = {field.name: field for field in fields_of(cls)}
    return _known[cls]


_known: WeakKeyDictionary[type[Vertex], Mapping[str, ShapeField]] = WeakKeyDictionary()


class _Shape:
    """`self` inside `cycles`; its own names are mangled, so that they do not hide the user's."""

    def __init__(self, cls: type[Vertex], words: Sequence[int], read: set[int]) -> None:
        state = {"cls": cls, "words": words, "read": read, "fields": _fields(cls)}
        vars(self).update({f"_Shape__{name}": value for name, value in state.items()})

    # super() in a user's `cycles` accepts this object as an instance of the class.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.__cls

    def __getattr__(self, name: str) -> Any:
        if name in self.__fields:
            return self.__value(self.__fields[name])
        for base in self.__cls.__mro__:
            if name in vars(base):
                value = vars(base)[name]
                return value.__get__(self, self.__cls) if hasattr(value, "__get__") else value
        raise AttributeError(f"'{self.__cls.__name__}' has no field and no attribute '{name}'")

    def __value(self, field: ShapeField) -> Any:
        first = field.first_word
        if field.kind == "length":
            return _Length(self.__cls, field.name, self.__words[first], self.__read, (first,))
        if field.kind == "rows":
            return _Rows(self.__cls, field, self.__words, self.__read)
        if field.kind == "nothing":
            _refuse_data(self.__cls, field.name, f"self.{field.name}")
        self.__read.add(first)
        return _value(self.__cls.fields[field.name], self.__words[first])

    def __setattr__(self, name: str, value: object) -> Never:
        raise definition_error(
            self.__cls,
            f"cycles assigns self.{name}",
            "use a local variable: cycles only computes the cost of a vertex",
        )


class _Length:
    """A vector inside `cycles`; only its length is available."""

    def __init__(
        self, cls: type[Vertex], name: str, length: int, read: set[int], words: tuple[int, ...]
    ) -> None:
        self._cls, self._name, self._length = cls, name, length
        self._read, self._words = read, words

    def __len__(self) -> int:
        self._read.update(self._words)
        return self._length

    def __getitem__(self, index: object) -> Never:
        _refuse_data(self._cls, self._name, f"an element of '{self._name}'")

    def __setitem__(self, index: object, value: object) -> Never:
        _refuse_data(self._cls, self._name, f"an element of '{self._name}'")

    def __iter__(self) -> Never:
        _refuse_data(self._cls, self._name, f"the elements of '{self._name}'")


class _Rows:
    """A list of vectors inside `cycles`: rows as equal in length as possible."""

    def __init__(
        self, cls: type[Vertex], field: ShapeField, words: Sequence[int], read: set[int]
    ) -> None:
        self._cls, self._name, self._first, self._read = cls, field.name, field.first_word, read
        self._rows, elements = words[self._first : self._first + 2]
        self._length, self._longer = divmod(elements, self._rows) if self._rows else (0, 0)

    def __len__(self) -> int:
        self._read.add(self._first)
        return self._rows

    def __getitem__(self, index: int) -> _Length:
        row = whole_number(index)
        if not 0 <= row < len(self):
            raise TensorIndexError(
                f"'{self._cls.__name__}': cycles reads row {row:,} of '{self._name}', which "
                f"has {amount(self._rows, 'row')}",
                fix=f"use a row from 0 to len(self.{self._name}) - 1",
            )
        length = self._length + (row < self._longer)
        words = self._first, self._first + 1
        return _Length(self._cls, self._name, length, self._read, words)

    def __iter__(self) -> Iterator[_Length]:
        return (self[row] for row in range(len(self)))


# -- shapes of vertices ----------------------------------------------------------------------------
# A shape is the few integers that the worker slots of a vertex may depend on::
#
#     x: Input[Vector[FLOAT]]             its length
#     rows: Input[Vector[Vector[HALF]]]   number of rows, total number of elements
#     taps: State[Vector[INT]]            its length
#     first: State[INT]                   its value
#     a: Input[FLOAT], k: State[FLOAT]    nothing
#
# Vertices of equal shape take the same number of slots, unless their work depends on data. So the
# cost of a million vertices is found from their few distinct shapes. The rows of a list are
# assumed to be equally long, with the same total number of elements.

Column = int | Int64
"""One word of the shapes of many vertices: one number for all, or int64[vertices]."""


def shapes_of(columns: Sequence[Column], count: int) -> tuple[Int64, Series]:
    """Return the distinct shapes of vertices, and the index of each vertex's shape.

    The shapes are int64[shapes, words], in the order in which they first occur.

    >>> shapes, shape = shapes_of([7, np.array([5, 4, 5])], 3)
    >>> shapes.tolist(), shape.array().tolist()
    ([[7, 5], [7, 4]], [0, 1, 0])
    """
    first, index = distinct(columns, count)
    shapes = np.empty((len(first), len(columns)), np.int64)
    for word, column in enumerate(columns):
        shapes[:, word] = column if isinstance(column, int) else column[first]
    return shapes, index


def words_of(family: Family) -> list[Column]:
    """Return the words of the shapes of all vertices of a family that is not empty."""
    edges = {part.field.name: part.edges for part in family.fields}
    columns: list[Column] = []
    for name, field in family.cls.fields.items():
        kind = shape_kind(field)
        if kind == "value":
            columns.append(_values(family.state[name]))
        elif kind != "nothing" and field.is_edge:
            columns += _lengths(edges[name]) if kind == "length" else _rows(edges[name])
        elif kind == "length":
            vectors = family.state[name]
            assert isinstance(vectors, Vectors)
            columns.append(_column(vectors.length))
    return columns


def words_of_vertex(vertex: VertexInstance) -> list[int]:
    """Return the words of the shape of one vertex."""
    words = []
    for field in fields_of(vertex.vertex_class):
        if field.kind == "nothing":
            continue
        data = vertex.field_info(field.name)
        if field.kind == "value":
            if data.initial_value is None:
                raise GraphConnectionError(
                    f"{vertex}: field '{field.name}' has no value",
                    found=f"declared {vertex.vertex_class.fields[field.name]}",
                    fix=f"graph.set_initial_value(vertex['{field.name}'], value)",
                )
            words.append(_word(data.initial_value))
        else:
            words.append(data.size)
        if field.kind == "rows":
            words.append(int(data.sizes.sum()))
    return words


def distinct(columns: Sequence[Column], count: int) -> tuple[Int64, Series]:
    """Group one or more vertices by some words of their shapes.

    Returns the first vertex of each group, int64[groups], ascending, and the group of each vertex.
    """
    varied = [column for column in columns if not isinstance(column, int)]
    if not varied:
        return np.zeros(1, np.int64), constant(0, count)
    table = np.full(2 << count.bit_length(), -1, np.int32)
    first, index = np.empty(count, np.int64), np.empty(count, np.int64)
    joined = np.concatenate(varied)
    words, mask = len(varied), len(table) - 1
    found = run_kernel(
        distinct_kernel, len(joined), joined, words, count, table, mask, first, index
    )
    return first[:found].copy(), compact(index)


def _word(value: float) -> int:
    """Return an integer of state as a signed 64-bit word; larger numbers wrap around."""
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def _values(values: StateValues) -> Column:
    assert not isinstance(values, Vectors), "those have a length"
    if not isinstance(values, np.ndarray):
        return _word(values)
    numbers = values.astype(np.int64)
    return int(numbers[0]) if (numbers == numbers[0]).all() else numbers


def _column(series: Series) -> Column:
    only = series.only
    return series.array() if only is None else only


def _lengths(edges: Edges) -> Iterator[Column]:
    yield _column(edges.length)


def _rows(edges: Edges) -> Iterator[Column]:
    rows, length = _column(edges.rows), edges.length.only
    yield rows
    if length is not None:
        yield rows * length
        return
    elements = np.zeros(edges.length.count + 1, np.int64)
    np.cumsum(edges.length.array(), out=elements[1:])
    ends = np.cumsum(edges.rows.array())
    yield np.diff(elements[ends], prepend=0)
