"""The fields that a vertex class declares, as annotations or as data.

    x: Input[Vector[FLOAT]]     one contiguous edge, read only
    y: InOut[FLOAT]             one element, read and written
    k: State[Vector[INT]]       values fixed when the graph is built

For type checkers the roles are descriptors: inside `compute`, `self.y` is a float to mypy
and pyright, and `self.x` a vector of floats.  At run time a vertex class has no such attributes;
the compiled and the interpreted form add them.

In a template, a class whose element types are not yet fixed, the element type of a field is a type
variable::

    class Add(Vertex, Generic[T]):          the template; T is a TypeVar
        x: Input[Vector[T]]
        ...

    Add[FLOAT]                              a vertex class with x: Input[Vector[FLOAT]]
    class Scaled(Add[T])                    another template, with more fields
    class FloatAdd(Add[FLOAT])              a vertex class like any other

The class for particular element types is created once, derives from its template and shares its
`compute`; the compiler and the interpreter use only such classes.  A type variable accepts the
types that its bound and its constraints allow, `TypeVar("T", FLOAT, INT)`.

Type checkers fully understand one that is bound to the element types (`TypeVar("T",
bound=ElementType[Any])`), or constrained to some. With an unbound one, or with a NumPy type, they
do not allow storing a literal (`self.y = 0`), since the type of its numbers is unknown.

For field forms see the Poplar user guide, "Understanding vertices".

A layout describes how a vector field is stored in the memory of its tile::

    x: Annotated[Input[Vector[FLOAT]], Layout(VectorLayout.SHORT_SPAN, min_align=8)]

    SPAN         | pointer | 32-bit count |      any length
    SHORT_SPAN   | pointer | count |             11 bits of a count: at most 2,047 elements
    ONE_PTR      | pointer |                     the length is not stored

A vertex's results do not depend on it: a layout limits how many elements can be connected, and
determines the size of the field in the cost model.

Source: Poplar user guide, "Vertex vector types".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field as attribute
from itertools import chain
from types import MappingProxyType, new_class
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    Never,
    NoReturn,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

from poplite.errors import ElementTypeError, Enumeration, VertexDefinitionError, checked_member
from poplite.frozen import frozen
from poplite.text import amount, clipped
from poplite.types import (
    ELEMENT_TYPES,
    QUARTER_METADATA,
    ElementType,
    FieldKind,
    element_type,
    metadata_edge,
    spelled,
)

if TYPE_CHECKING:
    from poplite.vertex.compute.lanes import Lanes
    from poplite.vertex.vertex import Vertex

# -- layouts ---------------------------------------------------------------------------------------


LARGEST_COUNT = 2**32 - 1
LARGEST_SHORT_COUNT = 2**11 - 1


class VectorLayout(Enumeration):
    """The data stored for a vector besides its elements."""

    SPAN = "pointer and count"
    """The default; any length."""
    SHORT_SPAN = "pointer and count of 11 bits"
    """At most 2,047 elements, in half the bytes of `SPAN`."""
    ONE_PTR = "pointer"
    """No count, so half the bytes of `SPAN`."""
    SCALED_PTR32 = "16-bit pointer in units of 4 bytes"
    """A shorter pointer, to elements that begin at a multiple of 4 bytes."""
    SCALED_PTR64 = "16-bit pointer in units of 8 bytes"
    """A shorter pointer, to elements that begin at a multiple of 8 bytes."""
    SCALED_PTR128 = "16-bit pointer in units of 16 bytes"
    """A shorter pointer, to elements that begin at a multiple of 16 bytes."""
    COMPACT_PTR = "the shortest pointer that suffices"
    """No count, and as few bytes for the pointer as possible."""

    @property
    def limit(self) -> int:
        """The maximum number of elements of a vector."""
        return LARGEST_SHORT_COUNT if self is VectorLayout.SHORT_SPAN else LARGEST_COUNT


class VectorListLayout(Enumeration):
    """The data stored for a list of vectors besides their elements."""

    DELTANELEMENTS = "a pointer, and for each vector an offset and a count"
    """The form that replaced `DELTAN`."""
    DELTAN = "a pointer, and for each vector an offset and a count, the older form"
    """Poplar's older form."""
    COMPACT_DELTAN = "as DELTAN, in as few bytes as possible"
    """Smaller, where offsets and counts are small."""


class ProfilerVectorLayout(Enumeration):
    """The layout of a vector, for estimators; source: Poplar API reference, "layout::Vector"."""

    NOT_A_VECTOR = "one element"
    SPAN = VectorLayout.SPAN.value
    SHORT_SPAN = VectorLayout.SHORT_SPAN.value
    ONE_PTR = VectorLayout.ONE_PTR.value
    SCALED_PTR32 = VectorLayout.SCALED_PTR32.value
    SCALED_PTR64 = VectorLayout.SCALED_PTR64.value
    SCALED_PTR128 = VectorLayout.SCALED_PTR128.value

    # C++ spelling

    NotAVector = NOT_A_VECTOR
    Span = SPAN
    ShortSpan = SHORT_SPAN
    OnePtr = ONE_PTR
    ScaledPtr32 = SCALED_PTR32
    ScaledPtr64 = SCALED_PTR64
    ScaledPtr128 = SCALED_PTR128


class ProfilerVectorListLayout(Enumeration):
    """The layout of a list, for estimators; source: Poplar API reference, "layout::VectorList"."""

    NOT_A_VECTOR_LIST = "not a list in one descriptor"
    DELTANELEMENTS = VectorListLayout.DELTANELEMENTS.value
    DELTAN = VectorListLayout.DELTAN.value
    ONE_PTR = "a pointer to vectors of equal lengths; no field has it"
    SCALED_PTR32 = "a 16-bit pointer in units of 4 bytes to such vectors; no field has it"
    SCALED_PTR64 = "a 16-bit pointer in units of 8 bytes to such vectors; no field has it"
    SCALED_PTR128 = "a 16-bit pointer in units of 16 bytes to such vectors; no field has it"

    # C++ spelling

    NotAVector = NOT_A_VECTOR_LIST
    OnePtr = ONE_PTR
    ScaledPtr32 = SCALED_PTR32
    ScaledPtr64 = SCALED_PTR64
    ScaledPtr128 = SCALED_PTR128
    DeltaN = DELTAN
    DeltaNElements = DELTANELEMENTS


@frozen(repr=False)
class Layout:
    """How a vector field is stored in memory; it is in `Annotated`, after the field's type.

    Args:
        vector: the data for each vector; for a list of edges, also a `VectorListLayout`, for the
            list of all its vectors.
        min_align: alignment of the first element in bytes; a power of two.
        interleaved: whether the elements are in interleaved memory.

    Raises:
        VertexDefinitionError: for an invalid layout, or an alignment that is not a power of two.

    >>> Layout(VectorLayout.ONE_PTR, min_align=8)
    Layout(VectorLayout.ONE_PTR, min_align=8)
    """

    vector: VectorLayout | VectorListLayout = VectorLayout.SPAN
    min_align: int = 1
    interleaved: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.vector, VectorListLayout):
            of_list = isinstance(self.vector, str) and self.vector in VectorListLayout.__members__
            kind: type[VectorLayout | VectorListLayout] = (
                VectorListLayout if of_list else VectorLayout
            )
            vector = checked_member(self.vector, kind, "Layout", error=VertexDefinitionError)
            object.__setattr__(self, "vector", vector)
        align = self.min_align
        if type(align) is not int or align < 1 or align & (align - 1):
            raise VertexDefinitionError(
                f"Layout: min_align={clipped(align)} is not a power of two",
                found="the alignment is in bytes, such as 8 for loads of 64 bits",
                fix="Layout(min_align=8)",
            )

    @property
    def limit(self) -> int:
        """The maximum number of elements of a vector."""
        return self.vector.limit if isinstance(self.vector, VectorLayout) else LARGEST_COUNT

    def __str__(self) -> str:
        align = f", min_align {self.min_align}" if self.min_align > 1 else ""
        return f"{self.vector.name}{align}{', interleaved' if self.interleaved else ''}"

    def __repr__(self) -> str:
        align = f", min_align={self.min_align}" if self.min_align > 1 else ""
        interleaved = ", interleaved=True" if self.interleaved else ""
        return f"Layout({type(self.vector).__name__}.{self.vector.name}{align}{interleaved})"


PLAIN = Layout()
"""The layout of a field that does not specify one."""


def split_annotation(annotation: Any) -> tuple[Any, list[Layout]]:
    """Return the type in an annotation, and its layouts; other metadata is ignored.

    >>> split_annotation(Annotated[int, "a count", PLAIN])
    (<class 'int'>, [Layout(VectorLayout.SPAN)])
    """
    if get_origin(annotation) is not Annotated:
        return annotation, []
    kind, *metadata = get_args(annotation)
    return kind, [each for each in metadata if isinstance(each, Layout)]


def refusal_of_layouts(layouts: list[Layout], depth: int, is_edge: bool) -> str:
    """Return the reason why a field of this depth cannot have these layouts, or ""."""
    if len(layouts) > 1:
        return f"has {len(layouts)} layouts, but may have only one"
    if layouts and depth == 0:
        return f"is one element, which cannot have {layouts[0]!r}"
    is_list = layouts and isinstance(layouts[0].vector, VectorListLayout)
    if is_list and (depth != 2 or not is_edge):
        return f"is not a list of edges, as {layouts[0]!r} needs"
    return ""


def profiler_layout(layout: Layout, rank: int, dim: int) -> ProfilerVectorLayout:
    """Return the layout of the vectors of a dimension; a list itself is a pointer and a count.

    >>> profiler_layout(Layout(VectorLayout.ONE_PTR), rank=2, dim=1)
    <ProfilerVectorLayout.ONE_PTR: 'pointer'>
    """
    if rank == 0 or isinstance(layout.vector, VectorListLayout):
        return ProfilerVectorLayout.NOT_A_VECTOR
    if dim == 0 and rank == 2:
        return ProfilerVectorLayout.SPAN
    if layout.vector is VectorLayout.COMPACT_PTR:
        return ProfilerVectorLayout.ONE_PTR
    return ProfilerVectorLayout[layout.vector.name]


def profiler_list_layout(layout: Layout, rank: int) -> ProfilerVectorListLayout:
    """Return the layout of a list of vectors in one descriptor, if it has one.

    >>> profiler_list_layout(Layout(VectorListLayout.COMPACT_DELTAN), rank=2)
    <ProfilerVectorListLayout.DELTAN: 'a pointer, and for each vector an offset and a count, ...'>
    """
    if rank != 2 or not isinstance(layout.vector, VectorListLayout):
        return ProfilerVectorListLayout.NOT_A_VECTOR_LIST
    if layout.vector is VectorListLayout.DELTANELEMENTS:
        return ProfilerVectorListLayout.DELTANELEMENTS
    return ProfilerVectorListLayout.DELTAN


# -- fields ----------------------------------------------------------------------------------------


K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)
P = TypeVar("P")

Role = Literal["input", "output", "inout", "state"]


class Elements(Generic[K_co]):
    """The type of a vector field inside `compute`, for type checkers."""

    @overload
    def __getitem__(self: Elements[FieldKind[P]], index: int) -> P: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    @overload
    def __setitem__(self: Elements[FieldKind[P]], index: int, value: P) -> None: ...
    @overload
    def __setitem__(self, index: int, value: Never) -> None: ...
    def __setitem__(self, index: int, value: Any) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def lanes(self, first: int, count: int = 64) -> Lanes:
        """Return elements from `first` on: `count`, or without it up to 64."""
        raise NotImplementedError

    def set_lanes(self, first: int, value: Lanes) -> None:
        """Store lanes in elements from `first` on."""
        raise NotImplementedError

    @overload
    def __iter__(self: Elements[FieldKind[P]]) -> Iterator[P]: ...
    @overload
    def __iter__(self) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class Vector(FieldKind[Elements[K]], Generic[K]):
    """`Vector[T]`: one edge with many elements; `Vector[Vector[T]]`: a list of edges.

    >>> import poplite as pl
    >>> class RowSums(pl.Vertex):
    ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    ...     sums: pl.Output[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for r in range(len(self.rows)):
    ...             total = 0.0
    ...             for i in range(len(self.rows[r])):
    ...                 total += self.rows[r][i]
    ...             self.sums[r] = total
    >>> [(field.name, field.depth) for field in RowSums.fields.values()]
    [('rows', 2), ('sums', 1)]
    """


class _Readable(Generic[K_co]):
    if not TYPE_CHECKING:

        def __new__(cls, *given: object, **_: object) -> NoReturn:
            """Refuse: a field is declared by an annotation."""
            kind = getattr(given[0], "__name__", "FLOAT") if given else "FLOAT"
            raise VertexDefinitionError(
                f"{cls.__name__} is not called: it is the annotation of a field",
                found=f"given {clipped(given[0], 60)}" if given else "",
                fix=f"x: {cls.__name__}[{kind}]",
            )

    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self: _Readable[FieldKind[P]], instance: object, owner: type) -> P: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Any: ...
    def __get__(self, instance: object, owner: type) -> Any:
        raise NotImplementedError


class _Writable(_Readable[K_co]):
    @overload
    def __set__(self: _Writable[FieldKind[P]], instance: object, value: P) -> None: ...
    @overload
    def __set__(self, instance: object, value: Never) -> None: ...
    def __set__(self, instance: object, value: Any) -> None:
        raise NotImplementedError


class Input(_Readable[K_co]):
    """A field that reads a tensor.

    >>> import poplite as pl
    >>> class First(pl.Vertex):
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     y: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.y = self.x[0]
    >>> First.fields["x"].role, First.fields["y"].role
    ('input', 'output')
    """


class State(_Readable[K_co]):
    """A field whose value is fixed when the graph is built.

    >>> import poplite as pl
    >>> class Scale(pl.Vertex):
    ...     factor: pl.State[pl.FLOAT]
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x *= self.factor
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.FLOAT, (), "x", mapping=0)
    >>> vertex = graph.add_vertex(graph.add_compute_set("scale"), Scale, tile=0, x=x, factor=2.5)
    >>> vertex.state
    {'factor': 2.5}
    """


class Output(_Writable[K_co]):
    """A field that writes a tensor; elements not written keep their value.

    >>> import poplite as pl
    >>> class Ones(pl.Vertex):
    ...     y: pl.Output[pl.Vector[pl.INT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.y)):
    ...             self.y[i] = 1
    >>> Ones.fields["y"].role
    'output'
    """


class InOut(_Writable[K_co]):
    """A field that reads and writes a tensor in place.

    >>> import poplite as pl
    >>> class Increment(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.INT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] += 1
    >>> Increment.fields["x"].role
    'inout'
    """


ROLES: dict[object, Role] = {Input: "input", Output: "output", InOut: "inout", State: "state"}
ROLE_NAMES = {"input": "Input", "output": "Output", "inout": "InOut", "state": "State"}


@frozen
class Field:
    """One declared field of a vertex class.

    Attributes:
        element: its element type, or `ElementType` itself for a type variable.
        depth: 0 scalar, 1 vector, 2 list of vectors.
        variable: the type variable, in a template.
        is_edge: whether it connects a tensor.
        is_implicit: whether it is the edge for the metadata of a QUARTER field.

    >>> from poplite.types import FLOAT
    >>> str(Field("x", "input", FLOAT, 1))
    'x: Input[Vector[FLOAT]]'
    """

    name: str
    role: Role
    element: type[ElementType[Any]]
    depth: int
    variable: TypeVar | None = None
    layout: Layout = PLAIN
    is_edge: bool = attribute(init=False, repr=False, compare=False)
    reads: bool = attribute(init=False, repr=False, compare=False)
    writes: bool = attribute(init=False, repr=False, compare=False)
    is_implicit: bool = attribute(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # This is read for every field of every vertex, so it is computed once.
        object.__setattr__(self, "is_edge", self.role != "state")
        object.__setattr__(self, "reads", self.role in ("input", "inout"))
        object.__setattr__(self, "writes", self.role in ("output", "inout"))
        object.__setattr__(self, "is_implicit", "." in self.name)

    @property
    def element_name(self) -> str:
        """The name of its element type or type variable."""
        return repr(self.element) if self.variable is None else self.variable.__name__

    def __str__(self) -> str:
        kind = self.element_name
        for _ in range(self.depth):
            kind = f"Vector[{kind}]"
        layout = "" if self.layout == PLAIN else f" with {self.layout}"
        return f"{self.name}: {ROLE_NAMES[self.role]}[{kind}]{layout}"


def with_metadata(cls: type, fields: Iterable[Field]) -> Mapping[str, Field]:
    """Return fields by name, those of QUARTER followed by an edge for their metadata.

    Such an edge is read-only for every role of the field, and is connected together with it.
    Raises `VertexDefinitionError` for a State of QUARTER, which cannot have metadata.

    >>> from poplite.types import QUARTER
    >>> list(with_metadata(type("V", (), {}), [Field("x", "output", QUARTER, 1)]))
    ['x', 'x.metadata']
    """
    named: dict[str, Field] = {}
    for field in fields:
        named[field.name] = field
        if field.variable is not None or not field.element.requires_metadata:
            continue
        if not field.is_edge:
            raise definition_error(
                cls,
                f"field '{field.name}' is State of {field.element!r}, but state has no metadata",
                f"declare {field.name}: Input[...] and connect a constant",
                found=f"declared: {field}",
            )
        edge = metadata_edge(field.name)
        named[edge] = Field(edge, "input", QUARTER_METADATA, 0)
    return MappingProxyType(named)


def definition_error(cls: type, what: str, fix: str, *, found: str = "") -> VertexDefinitionError:
    """Return the error for an invalid vertex class, at the user's line."""
    what = f"vertex class '{cls.__name__}': {what}"
    return VertexDefinitionError(what, found=found, fix=fix)


# -- words of shapes -------------------------------------------------------------------------------
# The words of each field in the shape of a vertex; `poplite.graph.compute_sets.perf_estimates`
# computes their values.

ShapeKind = Literal["nothing", "length", "rows", "value"]

WORDS: dict[ShapeKind, int] = {"nothing": 0, "length": 1, "rows": 2, "value": 1}
"""Number of words of each kind; "rows" has the numbers of rows and of all elements."""


@frozen(eq=False)
class ShapeField:
    """The words of a field in a shape.

    Attributes:
        first_word: position of its first word in a shape.
    """

    name: str
    kind: ShapeKind
    first_word: int


def fields_of(cls: type[Vertex]) -> tuple[ShapeField, ...]:
    """Return the shape field of each field of a class, in order; it must not be a template.

    >>> from poplite.types import FLOAT, INT
    >>> from poplite.vertex import Input, Output, State, Vector, Vertex
    >>> class Pick(Vertex):
    ...     rows: Input[Vector[Vector[FLOAT]]]
    ...     row: State[INT]
    ...     y: Output[FLOAT]
    ...     def compute(self) -> None:
    ...         self.y = self.rows[self.row][0]
    >>> [(field.name, field.kind, field.first_word) for field in fields_of(Pick)]
    [('rows', 'rows', 0), ('row', 'value', 2), ('y', 'nothing', 3)]
    """
    found, word = [], 0
    for field in cls.fields.values():
        kind = shape_kind(field)
        found.append(ShapeField(field.name, kind, word))
        word += WORDS[kind]
    return tuple(found)


def shape_kind(field: Field) -> ShapeKind:
    """Return the kind of words that a shape has for a field."""
    if field.depth:
        return "rows" if field.depth == 2 else "length"
    # An integer may be the number of iterations of a loop, so it is part of the shape.
    is_number = field.variable is None and field.element.dtype.kind != "f"
    return "value" if is_number and not field.is_edge else "nothing"


ElementClass = type[ElementType[Any]]


# -- templates -------------------------------------------------------------------------------------


def parameters(cls: type[Vertex]) -> tuple[TypeVar, ...]:
    """Return the type variables of a class that is being defined.

    These are the ones that it declares with `Generic[T]`, otherwise those of its base template.
    Raises `VertexDefinitionError` for one that allows no element type.
    """
    originals = vars(cls).get("__orig_bases__")
    if originals is None:
        inherited = (base.type_variables for base in _vertex_bases(cls))
        return next((variables for variables in inherited if variables), ())
    # Not `cls.__parameters__`, which `Generic` sets last if it precedes Vertex.
    own = [get_args(base) for base in originals if get_origin(base) is Generic]
    of_bases = (
        () if isinstance(base, type) else getattr(base, "__parameters__", ()) for base in originals
    )
    declared: tuple[Any, ...] = own[0] if own else tuple(dict.fromkeys(chain(*of_bases)))
    for variable in declared:
        if not isinstance(variable, TypeVar):
            raise definition_error(
                cls,
                f"{variable} is not a TypeVar",
                "use one type variable for each type: class V(Vertex, Generic[T, U])",
            )
        _check_bounds(cls, variable)
    return declared


def inherited_fields(cls: type[Vertex]) -> Iterator[Field]:
    """Yield the fields of the bases of a class that is being defined.

    For a base such as `Add[U]`, U replaces the template's T.
    """
    originals = vars(cls).get("__orig_bases__", ())
    arguments = {get_origin(base): get_args(base) for base in originals}
    for base in reversed(_vertex_bases(cls)):
        binding = dict(zip(base.type_variables, arguments.get(base, ()), strict=False))
        yield from (_bound(f, binding) for f in base.fields.values() if not f.is_implicit)


def mixin_arguments(cls: type[Vertex]) -> dict[type, dict[TypeVar, Any]]:
    """Return the arguments of generic bases that are not vertex classes, by base and type variable.

    For a base `Row[FLOAT]`, FLOAT replaces the T of `class Row(Generic[T])`, and of the bases of
    Row.
    """
    found: dict[type, dict[TypeVar, Any]] = {}
    waiting: list[tuple[type, dict[TypeVar, Any]]] = [(cls, {})]
    while waiting:
        owner, known = waiting.pop()
        for original in vars(owner).get("__orig_bases__", owner.__bases__):
            base = get_origin(original) or original
            if base is Generic or hasattr(base, "type_variables"):
                continue
            pairs = zip(getattr(base, "__parameters__", ()), get_args(original), strict=False)
            arguments = {
                variable: known.get(each, each) if isinstance(each, TypeVar) else each
                for variable, each in pairs
            }
            found.setdefault(base, arguments)
            waiting.append((base, arguments))
    return found


def specialise(cls: type[Vertex], arguments: Sequence[Any]) -> Any:
    """Return `cls[arguments]`, see `Vertex.__class_getitem__`.

    For element types this is a vertex class, always the same one for the same types. If all
    arguments are type variables, it is an alias of `typing`, from which a class can derive.
    """
    variables = cls.type_variables
    names = ", ".join(variable.__name__ for variable in variables)
    if not variables:
        raise definition_error(
            cls,
            f"it is not a template, so it cannot have the arguments {_list(arguments)}",
            f"use {cls.__name__} without them, or declare class V(Vertex, Generic[T])",
        )
    if len(arguments) != len(variables):
        raise definition_error(
            cls,
            f"{amount(len(variables), 'element type')} needed for {names}, "
            f"but {len(arguments)} passed: {_list(arguments)}",
            example(cls),
        )
    open_ones = [argument for argument in arguments if isinstance(argument, TypeVar)]
    if len(open_ones) == len(arguments):
        return vars(Generic)["__class_getitem__"].__get__(None, cls)(tuple(arguments))
    if open_ones:
        raise definition_error(
            cls,
            f"{_list(arguments)} has the type variable {spelled(open_ones[0])} and element types",
            f"pass element types for all of {names}, or for none",
        )
    pairs = zip(variables, arguments, strict=True)
    elements = tuple(_argument(cls, variable, argument) for variable, argument in pairs)
    if elements not in cls._specialised:
        cls._specialised[elements] = _new_class(cls, elements)
    return cls._specialised[elements]


def example(cls: type[Vertex]) -> str:
    """Return an example of a template's class, such as `Add[FLOAT]`, for messages."""
    allowed = (allowed_elements(variable)[0] for variable in cls.type_variables)
    return f"{cls.__name__}[{', '.join(map(repr, allowed))}]"


def refusal(variable: TypeVar, element: ElementClass) -> str:
    """Return the reason why a type variable cannot be an element type, or "".

    >>> from poplite.types import BOOL, FLOAT, INT
    >>> refusal(TypeVar("T", FLOAT, INT), BOOL)
    'T must be one of FLOAT, INT'
    """
    if _admits(variable, element):
        return ""
    return f"{variable.__name__} must be one of {', '.join(map(repr, allowed_elements(variable)))}"


def _list(arguments: Sequence[Any]) -> str:
    return f"[{', '.join(map(spelled, arguments))}]"


def _new_class(cls: type[Vertex], elements: tuple[ElementClass, ...]) -> type[Vertex]:
    suffix = _list(elements)
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__ + suffix,
        "__doc__": cls.__doc__,
    }
    new: type[Vertex] = new_class(
        cls.__name__ + suffix, (cls,), exec_body=lambda body: body.update(namespace)
    )
    binding = dict(zip(cls.type_variables, elements, strict=True))
    fields = (_bound(field, binding) for field in cls.fields.values())
    new.fields = with_metadata(new, fields)
    new.type_variables, new.location = (), cls.location
    return new


def _bound(field: Field, binding: Mapping[TypeVar, Any]) -> Field:
    if field.variable is None or field.variable not in binding:
        return field
    argument = binding[field.variable]
    if isinstance(argument, TypeVar):
        return dataclasses.replace(field, variable=argument)
    return dataclasses.replace(field, element=argument, variable=None)


def _vertex_bases(cls: type[Vertex]) -> list[type[Vertex]]:
    return [base for base in cls.__bases__ if hasattr(base, "type_variables")]


def _argument(cls: type[Vertex], variable: TypeVar, argument: Any) -> ElementClass:
    try:
        element = element_type(argument)
    except ElementTypeError as error:
        raise definition_error(cls, error.what, error.fix, found=error.found) from None
    why = refusal(variable, element)
    if why:
        raise definition_error(
            cls, f"{variable.__name__} cannot be {element!r}", example(cls), found=why
        )
    return element


def _check_bounds(cls: type[Vertex], variable: TypeVar) -> None:
    try:
        if all(map(element_type, variable.__constraints__)) and allowed_elements(variable):
            return
    except (ElementTypeError, TypeError):
        pass
    limits = variable.__constraints__ or (variable.__bound__,)
    raise definition_error(
        cls,
        f"type variable {variable.__name__} is limited to {', '.join(map(spelled, limits))}, "
        "which allows no element type",
        'use TypeVar("T", FLOAT, INT), or TypeVar("T", bound=ElementType[Any])',
        found="its bound and constraints must be element types",
    )


def allowed_elements(variable: TypeVar) -> list[ElementClass]:
    """Return the element types that a type variable allows."""
    return [element for element in ELEMENT_TYPES if _admits(variable, element)]


def _admits(variable: TypeVar, element: ElementClass) -> bool:
    if variable.__constraints__:
        return element in map(element_type, variable.__constraints__)
    bound = variable.__bound__
    if bound is None:
        return True
    value = float if element.is_floating_point else bool if element.dtype.kind == "b" else int
    return issubclass(element, get_origin(bound) or bound) and all(
        argument is Any or issubclass(value, argument) for argument in get_args(bound)
    )
