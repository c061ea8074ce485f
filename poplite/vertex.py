"""Vertex classes: fields as annotations, work in `compute`.

A vertex is written once, as a Python class::

    class Axpy(Vertex):
        a: State[FLOAT]                    # a value fixed when the graph is built
        x: Input[Vector[FLOAT]]            # one contiguous edge, read only
        y: InOut[Vector[FLOAT]]            # read and written

        def compute(self) -> None:
            for i in range(len(self.y)):
                self.y[i] += self.a * self.x[i]

`Input`, `Output` and `InOut` connect tensors: of an element type a scalar edge, of
`Vector[T]` one edge of many elements, of `Vector[Vector[T]]` a list of edges, each with its
own length.  `State[T]` and `State[Vector[T]]` are values given to `add_vertex`.  An element
type may also be written as a NumPy type (`Input[np.float32]`), which type checkers know
nothing about inside `compute`.

The four roles are descriptors for type checkers only: inside `compute`, `self.a` is a
float to mypy and pyright.  At run time the class holds no such attributes; the compiled
and the interpreted form supply them.  Field forms: Poplar user guide, "Understanding
vertices".
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

from poplite.errors import ElementTypeError, UnknownField, VertexDefinitionError, did_you_mean
from poplite.source import SourceLocation, here
from poplite.types import ElementType, FieldKind, element_type, spelled

K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)
P = TypeVar("P")
V = TypeVar("V", bound="Vertex")

Role = Literal["input", "output", "inout", "state"]

RESERVED_NAMES = frozenset({"self", "tile", "name", "compute", "cycles", "num_workers"})

_CLASS_VARIABLE = re.compile(r"\s*(\w+\s*\.\s*)*ClassVar\b")
"""How the annotation of a class variable starts, as text; its type may be unknown here."""


class Elements(Generic[K_co]):
    """What a vector field looks like inside `compute` (for type checkers)."""

    def __getitem__(self: Elements[FieldKind[P]], index: int) -> P:
        raise NotImplementedError

    def __setitem__(self: Elements[FieldKind[P]], index: int, value: P) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self: Elements[FieldKind[P]]) -> Iterator[P]:
        raise NotImplementedError


class Vector(FieldKind[Elements[K]], Generic[K]):
    """`Vector[T]`: many elements behind one edge; `Vector[Vector[T]]`: a list of edges."""


class _Readable(Generic[K_co]):
    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self: _Readable[FieldKind[P]], instance: object, owner: type) -> P: ...
    def __get__(self, instance: object, owner: type) -> Any:
        raise NotImplementedError


class _Writable(_Readable[K_co]):
    def __set__(self: _Writable[FieldKind[P]], instance: object, value: P) -> None:
        raise NotImplementedError


class Input(_Readable[K_co]):
    """A field that reads a tensor."""


class State(_Readable[K_co]):
    """A field whose value is fixed when the graph is built."""


class Output(_Writable[K_co]):
    """A field that writes a tensor; elements not written keep their value."""


class InOut(_Writable[K_co]):
    """A field that reads and writes a tensor in place."""


_ROLES: dict[object, Role] = {Input: "input", Output: "output", InOut: "inout", State: "state"}
_ROLE_NAMES = {"input": "Input", "output": "Output", "inout": "InOut", "state": "State"}


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of a vertex class.

    Attributes:
        name: attribute name.
        role: "input", "output", "inout" or "state".
        element: its element type.
        depth: 0 scalar, 1 vector, 2 list of vectors.
    """

    name: str
    role: Role
    element: type[ElementType[Any]]
    depth: int

    @property
    def is_edge(self) -> bool:
        """Whether the field connects a tensor."""
        return self.role != "state"

    @property
    def reads(self) -> bool:
        """Whether the field reads the tensor connected to it."""
        return self.role in ("input", "inout")

    @property
    def writes(self) -> bool:
        """Whether the field writes the tensor connected to it."""
        return self.role in ("output", "inout")

    def __str__(self) -> str:
        kind = repr(self.element)
        for _ in range(self.depth):
            kind = f"Vector[{kind}]"
        return f"{self.name}: {_ROLE_NAMES[self.role]}[{kind}]"


class Vertex:
    """Base of all vertex classes.

    Subclasses annotate fields and define `compute(self) -> None`.  Plain class attributes
    that are numbers serve as constants inside `compute`.

    Raises:
        VertexDefinitionError: at class creation, for a field or a `compute` that cannot be.

    >>> from poplite.types import FLOAT
    >>> class Scale(Vertex):
    ...     x: InOut[FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> [str(field) for field in Scale.fields.values()]
    ['x: InOut[FLOAT]']
    """

    fields: ClassVar[Mapping[str, Field]] = MappingProxyType({})
    """Declared fields by name, in the order of declaration, bases first."""

    location: ClassVar[SourceLocation]
    """Where the class was defined."""

    def compute(self) -> None:
        """Do the work of one vertex; overridden by every vertex class."""
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        cls.location = here()
        if cls.__init__ is not object.__init__:
            raise _definition_error(cls, "a vertex has no __init__", "declare fields instead")
        fields = dict(cls.fields)
        fields.update((f.name, f) for f in _own_fields(cls))
        cls.fields = MappingProxyType(fields)
        _check_compute(cls)

    def __new__(cls, *args: object, **kwargs: object) -> Vertex:
        """Refuse: vertices are added to a graph."""
        raise _definition_error(
            cls, "a vertex is not made by calling its class", "graph.add_vertex(cs, V, tile=0, ...)"
        )


def field_of(cls: type[Vertex], name: str, *, at: SourceLocation | None = None) -> Field:
    """Return a declared field by name.

    Args:
        cls: the vertex class.
        name: the field's name.
        at: the user's line to report; by default the caller's.

    Raises:
        UnknownField: when there is none, with the declared ones and the closest name.
    """
    if name in cls.fields:
        return cls.fields[name]
    raise UnknownField(
        f"'{cls.__name__}' has no field '{name}'{did_you_mean(name, cls.fields)}",
        at=at or here(),
        found="declared: " + (", ".join(str(f) for f in cls.fields.values()) or "no fields"),
        fix=f"use a declared field, or declare '{name}' in class {cls.__name__} ({cls.location})",
    )


def _own_fields(cls: type[Vertex]) -> Iterator[Field]:
    namespaces: tuple[dict[str, Any], dict[str, Any]] | None = None
    for name, annotation in inspect.get_annotations(cls).items():
        if isinstance(annotation, str):
            if _CLASS_VARIABLE.match(annotation):
                continue
            namespaces = namespaces or _defining_namespaces(cls)
            annotation = _resolve(cls, name, annotation, *namespaces)
        if ClassVar in (get_origin(annotation), annotation):
            continue
        yield _parse(cls, name, annotation)


def _defining_namespaces(cls: type[Vertex]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Names visible where the class statement stands: module globals, enclosing locals.

    Of the calls under way only those count whose functions enclose the class in the text: a
    caller elsewhere may use the same names for other things.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_of(frame.f_globals, cls):
        frame = frame.f_back
    own = dict(vars(cls))
    if frame is None:  # made by other means than a class statement
        module = sys.modules.get(cls.__module__)
        return dict(vars(module)) if module else {}, own
    defining, enclosing = frame, dict(frame.f_locals)
    while frame is not None:
        function = f"{frame.f_code.co_qualname}.<locals>."
        if frame.f_globals is defining.f_globals and cls.__qualname__.startswith(function):
            enclosing = dict(frame.f_locals) | enclosing
        frame = frame.f_back
    return dict(defining.f_globals), enclosing | own


def _is_of(globals_: dict[str, Any], cls: type[Vertex]) -> bool:
    # Code that exec runs with globals of its own has no __name__ but that of the built-ins.
    return globals_.get("__name__", "builtins") == cls.__module__ and globals_ is not globals()


def _resolve(
    cls: type[Vertex], name: str, text: str, globals_: dict[str, Any], locals_: dict[str, Any]
) -> Any:
    try:
        return eval(text, globals_, locals_)  # the class's own annotation, as typing does
    except Exception as error:
        raise _definition_error(
            cls,
            f"field '{name}': annotation {text!r} cannot be resolved: {error}",
            "import the names it uses before the class, at run time",
        ) from error


def _parse(cls: type[Vertex], name: str, annotation: Any) -> Field:
    role = _ROLES.get(get_origin(annotation) or annotation)
    if role is None:
        raise _definition_error(
            cls,
            f"field '{name}' is annotated {spelled(annotation)}",
            "Input[...], Output[...], InOut[...] or State[...]; constants need no annotation",
        )
    if name in RESERVED_NAMES or name in Vertex.__dict__ or name.startswith("__"):
        raise _definition_error(cls, f"field name '{name}' is reserved", f"call it '{name}_value'")
    inner, depth = (get_args(annotation) or (None,))[0], 0
    while get_origin(inner) is Vector:
        inner, depth = get_args(inner)[0], depth + 1
    try:
        element = element_type(inner)
    except ElementTypeError as error:
        what = "nothing" if inner is None else f"{spelled(inner)}, which is no element type"
        raise _definition_error(
            cls,
            f"field '{name}' holds {what}",
            f"{name}: {_ROLE_NAMES[role]}[FLOAT], or of Vector[FLOAT]",
            found=error.found,
        ) from None
    limit = 1 if role == "state" else 2
    if depth > limit:
        raise _definition_error(
            cls,
            f"field '{name}' nests Vector {depth} deep; at most {limit} here",
            "connect a list of 1-D tensors to Vector[Vector[T]]",
        )
    return Field(name, role, element, depth)


def _check_compute(cls: type[Vertex]) -> None:
    compute = cls.__dict__.get("compute")
    if compute is None:
        if cls.compute is Vertex.compute and cls.fields:
            raise _definition_error(cls, "no compute", "def compute(self) -> None: ...")
        return
    if not inspect.isfunction(compute):
        raise _definition_error(
            cls,
            f"compute is of type {type(compute).__name__}, not a function",
            "def compute(self) -> None: ...",
        )
    if list(inspect.signature(compute).parameters) != ["self"]:
        raise _definition_error(
            cls,
            f"compute{inspect.signature(compute)} takes other arguments than self",
            "declare State fields for values, and connect tensors to Input fields",
        )


def _definition_error(cls: type, what: str, fix: str, *, found: str = "") -> VertexDefinitionError:
    what = f"vertex class '{cls.__name__}': {what}"
    return VertexDefinitionError(what, at=here(), found=found, fix=fix)
