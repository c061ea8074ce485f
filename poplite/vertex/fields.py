"""What a vertex class declares: roles and kinds of fields, as annotations and as data.

    x: Input[Vector[FLOAT]]     one contiguous edge, read only
    y: InOut[FLOAT]             one element, read and written
    k: State[Vector[INT]]       values fixed when the graph is built

For type checkers the roles are descriptors: inside `compute`, `self.y` is a float to mypy
and pyright, and `self.x` a vector of floats.  At run time a vertex class holds no such
attributes; the compiled and the interpreted form supply them.

In a template the element type is a type variable.  One that is bound to the element types
(`TypeVar("T", bound=ElementType[Any])`), or constrained to some, type-checks throughout.  With
an unbound one, or with a NumPy type, checkers refuse to store a literal (`self.y = 0`), as
neither says which numbers it holds.

Field forms: Poplar user guide, "Understanding vertices".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field as attribute
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeVar, overload

from poplite.errors import VertexDefinitionError
from poplite.types import QUARTER_METADATA, ElementType, FieldKind, metadata_edge
from poplite.vertex.layouts import PLAIN, Layout

if TYPE_CHECKING:
    from poplite.vertex.compute.lanes import Lanes

K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)
P = TypeVar("P")

Role = Literal["input", "output", "inout", "state"]


class Elements(Generic[K_co]):
    """What a vector field looks like inside `compute` (for type checkers)."""

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
        """Return elements from `first` on; without `count`, 64 or as many as there are."""
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
    """`Vector[T]`: many elements behind one edge; `Vector[Vector[T]]`: a list of edges."""


class _Readable(Generic[K_co]):
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
    """A field that reads a tensor."""


class State(_Readable[K_co]):
    """A field whose value is fixed when the graph is built."""


class Output(_Writable[K_co]):
    """A field that writes a tensor; elements not written keep their value."""


class InOut(_Writable[K_co]):
    """A field that reads and writes a tensor in place."""


ROLES: dict[object, Role] = {Input: "input", Output: "output", InOut: "inout", State: "state"}
ROLE_NAMES = {"input": "Input", "output": "Output", "inout": "InOut", "state": "State"}


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of a vertex class.

    Attributes:
        element: its element type; `ElementType` itself if a type variable takes its place.
        depth: 0 scalar, 1 vector, 2 list of vectors.
        variable: the type variable, in a template.
        is_edge: whether it connects a tensor.
        is_implicit: whether it is the edge that brings the metadata of a QUARTER field.

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
        # These are read for every field of every vertex, so they are computed once.
        object.__setattr__(self, "is_edge", self.role != "state")
        object.__setattr__(self, "reads", self.role in ("input", "inout"))
        object.__setattr__(self, "writes", self.role in ("output", "inout"))
        object.__setattr__(self, "is_implicit", "." in self.name)

    @property
    def element_name(self) -> str:
        """The name of its element type, or of the type variable that takes its place."""
        return repr(self.element) if self.variable is None else self.variable.__name__

    def __str__(self) -> str:
        kind = self.element_name
        for _ in range(self.depth):
            kind = f"Vector[{kind}]"
        layout = "" if self.layout == PLAIN else f" with {self.layout}"
        return f"{self.name}: {ROLE_NAMES[self.role]}[{kind}]{layout}"


def with_metadata(cls: type, fields: Iterable[Field]) -> Mapping[str, Field]:
    """Return fields by name, those of QUARTER followed by an edge for their metadata.

    Such an edge is read only, whatever the role of the field, and is connected with it.  Raises
    `VertexDefinitionError` for a State of QUARTER, which could have no metadata.

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
                f"field '{field.name}' is State of {field.element!r}, and state has no metadata",
                f"declare {field.name}: Input[...] and connect a constant",
                found=f"declared: {field}",
            )
        edge = metadata_edge(field.name)
        named[edge] = Field(edge, "input", QUARTER_METADATA, 0)
    return MappingProxyType(named)


def definition_error(cls: type, what: str, fix: str, *, found: str = "") -> VertexDefinitionError:
    """Return the error of an invalid vertex class, at the user's line."""
    what = f"vertex class '{cls.__name__}': {what}"
    return VertexDefinitionError(what, found=found, fix=fix)
