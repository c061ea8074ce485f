"""Vertex classes: annotations declare fields, and `compute` is the work.

A vertex is written once, as a Python class::

    class Axpy(Vertex):
        a: State[FLOAT]                    # a value fixed when the graph is built
        x: Input[Vector[FLOAT]]            # one contiguous edge, read only
        y: InOut[Vector[FLOAT]]            # read and written

        def compute(self) -> None:
            for i in range(len(self.y)):
                self.y[i] += self.a * self.x[i]

`Input`, `Output` and `InOut` connect tensors: `Input[T]` is a scalar edge, `Input[Vector[T]]` one
edge of many elements, `Input[Vector[Vector[T]]]` a list of edges, each with its own length.
`State[T]` and `State[Vector[T]]` are values passed to `add_vertex`.  An element type may also be
written as a NumPy type (`Input[np.float32]`); type checkers do not know the type of its numbers
inside `compute`.

The memory layout of a vector is written with its type: `Annotated[Input[Vector[FLOAT]],
Layout(VectorLayout.SHORT_SPAN)]` (`poplite.vertex.fields`).

Annotations may be strings, in quotes or with `from __future__ import annotations`.  They are
resolved when the class is created, in the scopes of the class statement::

    T = TypeVar("T")                      module
    def make(Real):                       functions around the class
        class Blur(Vertex, Generic[T]):
            Row = Vector[Real]            the class itself, and the variables of `class Blur[T]`
            x: "Input[Row]"

A class with type variables, `class Axpy(Vertex, Generic[T])`, is a template: `Axpy[FLOAT]` is a
vertex class.  The `compute` of a `MultiVertex` runs once for each worker of the tile. A class can
require fields in different memories, `constraints = ("elem(*x) != elem(*y)",)`.  A load and a store
in different memory elements can then be issued together.  The results of a vertex do not depend on
it.

A faster form of a vertex is a second method with the effect of `compute`, faster on this machine::

    class Total(Vertex):
        def compute(self) -> None: ...          the definition, which determines cycles

        @faster(bits="equal")
        def blocked(self) -> None: ...          compiled engines run this one instead

Rows that are scattered over memory are copied to be contiguous before a vertex reads them.  If the
class declares its rows, they are read in place, with a different stride.

Sources: Poplar user guide, "Understanding vertices" and "Memory constraints".
"""

from __future__ import annotations

import abc
import copyreg
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field as attribute
from types import FrameType, FunctionType, MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
)

import numpy as np

from poplite.errors import (
    ElementTypeError,
    MemoryElemConstraintsError,
    UnknownField,
    VertexDefinitionError,
    did_you_mean,
)
from poplite.frozen import frozen
from poplite.source import SourceLocation, here, lines_as
from poplite.text import clipped, of_type
from poplite.types import INT, ElementType, FieldKind, element_type, spelled
from poplite.vertex.fields import (
    PLAIN,
    ROLE_NAMES,
    ROLES,
    Field,
    InOut,
    Input,
    Output,
    Role,
    State,
    Vector,
    definition_error,
    example,
    inherited_fields,
    mixin_arguments,
    parameters,
    refusal,
    refusal_of_layouts,
    specialise,
    split_annotation,
    with_metadata,
)

__all__ = [
    "RESERVED_NAMES",
    "Field",
    "InOut",
    "Input",
    "MultiVertex",
    "Output",
    "State",
    "Vector",
    "Vertex",
    "field_of",
    "has_compute",
    "has_cycles",
]

# -- rows that are read ----------------------------------------------------------------------------


class StridedRows(NamedTuple):
    """The elements of a field that `compute` reads: `field[r * stride + i]` for each column i.

    The stride and length of the field must only be used to find and count rows.

    Attributes:
        field: an Input vector.
        stride: the State number that gives the distance between rows in elements.
        columns: a vector with one element for each column.
        offset: a State number that is non-zero if the first row is incomplete; None if it never is.
    """

    field: str
    stride: str
    columns: str
    offset: str | None = None


# -- annotations -----------------------------------------------------------------------------------


_CLASS_VARIABLE = re.compile(r"\s*(\w+\s*\.\s*)*ClassVar\b")
"""The beginning of a class variable's annotation as text; its type may be unknown at run time."""


def annotations_of(cls: type, owner: type, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield by name the annotations of `owner`, `cls` or a base of it, without class variables.

    `frame` is the call that creates `cls`.  Raises `VertexDefinitionError` if a name in an
    annotation cannot be found.
    """
    namespaces: tuple[dict[str, Any], dict[str, Any]] | None = None
    for name, annotation in inspect.get_annotations(owner).items():
        for _ in range(2):  # nested strings: quotes under `from __future__ import annotations`
            if isinstance(annotation, str) and not _CLASS_VARIABLE.match(annotation):
                namespaces = namespaces or _defining_namespaces(owner, frame)
                annotation = _resolve(cls, name, annotation, *namespaces)
        if not _is_class_variable(annotation):
            yield name, annotation


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return _CLASS_VARIABLE.match(annotation) is not None
    return ClassVar in (get_origin(annotation), annotation)


def _defining_namespaces(cls: type, caller: FrameType) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the names visible to the class statement: module globals, enclosing locals.

    Of the calls in progress, only those of functions that enclose the class in the text count,
    since other callers may use the same names for other things.
    """
    frame: FrameType | None = caller
    while frame is not None and not _is_of(frame.f_globals, cls):
        frame = frame.f_back
    # Variables of `class Add[T](Vertex)` belong neither to the module nor to the class.
    own = {variable.__name__: variable for variable in getattr(cls, "__type_params__", ())}
    own |= vars(cls)
    if frame is None:  # not created by a class statement
        module = sys.modules.get(cls.__module__)
        return dict(vars(module)) if module else {}, own
    defining, enclosing = frame, dict(frame.f_locals)
    while frame is not None:
        function = f"{frame.f_code.co_qualname}.<locals>."
        if frame.f_globals is defining.f_globals and cls.__qualname__.startswith(function):
            enclosing = dict(frame.f_locals) | enclosing
        frame = frame.f_back
    return dict(defining.f_globals), enclosing | own


def _is_of(globals_: dict[str, Any], cls: type) -> bool:
    # Code that exec runs with separate globals only has the __name__ of the built-ins.
    return bool(globals_.get("__name__", "builtins") == cls.__module__)


def _resolve(
    cls: type, name: str, text: str, globals_: dict[str, Any], locals_: dict[str, Any]
) -> Any:
    try:
        return eval(text, globals_, locals_)  # the class's own annotation, as typing does
    except Exception as error:
        raise definition_error(
            cls,
            f"field '{name}': annotation {text!r} cannot be resolved: {error}",
            "import the names it uses before the class, at run time",
        ) from error


# -- memory constraints ----------------------------------------------------------------------------


@frozen
class Constraint:
    """Two fields in different memories: memory elements ("elem") or regions ("region")."""

    memory: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.memory} of {self.first} != {self.memory} of {self.second}"


_CONSTRAINT = re.compile(
    r"(elem|region)\s*\(\s*(\*+)\s*(\w+)\s*\)\s*!=\s*(elem|region)\s*\(\s*(\*+)\s*(\w+)\s*\)"
)


def parsed_constraints(
    name: str, texts: object, fields: Mapping[str, Field]
) -> tuple[Constraint, ...]:
    """Check and return the memory constraints of a vertex class; `texts` is its `constraints`.

    Raises `MemoryElemConstraintsError` for text that is not a constraint, or refers to something
    other than an edge of the class.
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise _refused(name, f"constraints is {clipped(texts)}, not a tuple of strings")
    return tuple(_parsed(name, text, fields) for text in texts)


def _parsed(name: str, text: object, fields: Mapping[str, Field]) -> Constraint:
    match = _CONSTRAINT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise _refused(name, f"{clipped(text, 80)} is not a memory constraint")
    memory, stars, first, other, stars_too, second = match.groups()
    if memory != other:
        raise _refused(name, f"{text!r} compares {memory} with {other}")
    for field, found in ((first, stars), (second, stars_too)):
        declared = fields.get(field)
        if declared is None:
            guess = did_you_mean(field, fields)
            raise _refused(name, f"{text!r} refers to {field!r}, which is not a field{guess}")
        if not declared.is_edge or len(found) != max(declared.depth, 1):
            needed = "an edge" if not declared.is_edge else f"{'*' * max(declared.depth, 1)}{field}"
            raise _refused(
                name, f"{text!r} contains {found}{field}, where {needed} is needed", f"{declared}"
            )
    if first == second:
        raise _refused(name, f"{text!r} compares field {first!r} with itself")
    return Constraint(memory, first, second)


def _refused(name: str, what: str, declared: str = "") -> MemoryElemConstraintsError:
    return MemoryElemConstraintsError(
        f"vertex class '{name}': {what}",
        found=f"declared {declared}" if declared else "",
        fix='write constraints = ("elem(*x) != elem(*y)", "region(*x) != region(*y)")',
    )


# -- faster forms ----------------------------------------------------------------------------------

Method = TypeVar("Method", bound=Callable[..., bool | None])

_MARK = "_poplite_faster"


@frozen
class Promise:
    """Facts about a faster form.

    Attributes:
        rtol: largest relative difference from the results of `compute`; 0 for equal bits.
        wide: numbers of the class with different values on processors with many long registers.
    """

    rtol: float
    wide: Mapping[str, int] = attribute(default_factory=dict)

    def __str__(self) -> str:
        return f"rtol={self.rtol!r}" if self.rtol else 'bits="equal"'


def faster(
    *,
    bits: Literal["equal"] | None = None,
    rtol: float | None = None,
    wide: Mapping[str, int] | None = None,
) -> Callable[[Method], Method]:
    """Declare a method of a vertex class as a faster form of its `compute`.

    Compiled engines run it instead of `compute`, with the same fields and arguments. Everything
    else uses `compute`: cycles, memory of code, interpreted vertices, strict checks, errors. A
    subclass that overrides `compute`, or a method or number of its bases, does not inherit it.

    Args:
        bits: "equal" if no result differs in any bit, except for the bits of NaN.
        rtol: otherwise, the largest relative difference of results; such a form runs only in
            `Engine(..., faster="tolerant")`.
        wide: numbers of the class that have a different value in this form on processors with 32
            registers of 64 bytes (AVX-512), for instance the number of lanes.

    Raises:
        VertexDefinitionError: unless exactly one of `bits` and `rtol` is passed, and if it does not
            decorate a method.

    >>> from poplite.vertex.vertex import InOut, Vertex
    >>> from poplite.types import FLOAT
    >>> class Half(Vertex):
    ...     x: InOut[FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = self.x / 2.0
    ...     @faster(bits="equal")
    ...     def multiplied(self) -> None:
    ...         self.x = self.x * 0.5
    """
    promise = _promise(bits, rtol, {} if wide is None else wide)

    def mark(method: Method) -> Method:
        is_method = isinstance(method, FunctionType) and "." in method.__qualname__
        if not is_method or method.__qualname__.endswith("<locals>." + method.__name__):
            raise VertexDefinitionError(
                f"faster: {clipped(method)} is not a method of a vertex class",
                fix="decorate a method: "
                f"class V(pl.Vertex): ... @pl.faster({promise}) def blocked(self) -> None: ...",
            )
        setattr(method, _MARK, promise)
        return method

    return mark


def _promise(bits: object, rtol: object, wide: object) -> Promise:
    fix = 'pl.faster(bits="equal"), or pl.faster(rtol=1e-6)'
    if (bits is None) == (rtol is None):
        passed = "neither bits nor rtol is" if bits is None else "both bits and rtol are"
        raise VertexDefinitionError(f"faster: {passed} passed", fix=fix)
    if bits is not None and not (isinstance(bits, str) and bits == "equal"):
        what = f'faster: bits={clipped(bits)}, but it must be "equal"'
        raise VertexDefinitionError(what, fix=fix)
    is_number = isinstance(rtol, int | float) and not isinstance(rtol, bool)
    if rtol is not None and not (is_number and 0 < rtol <= sys.float_info.max):  # type: ignore[operator]
        what = f"faster: rtol={clipped(rtol)} is not a number above 0"
        raise VertexDefinitionError(what, fix=fix)
    if not isinstance(wide, Mapping):
        what = f"faster: wide={clipped(wide)} is not a dictionary of numbers of the class"
        raise VertexDefinitionError(what, fix='wide={"LANES": 32}')
    for each in wide:
        if not isinstance(each, str):
            raise VertexDefinitionError(
                f"faster: wide has the key {clipped(each)}, not a name",
                found=f"{of_type(each)}; keys are names of numbers of the class",
                fix='wide={"LANES": 32}',
            )
    return Promise(0.0 if rtol is None else float(rtol), dict(wide))  # type: ignore[arg-type]


def promise_of(method: object) -> Promise | None:
    """Return the promise of a method that is a faster form, or None for other methods."""
    if isinstance(method, staticmethod | classmethod):
        method = method.__func__
    found: Promise | None = vars(method).get(_MARK) if isinstance(method, FunctionType) else None
    return found


def faster_method(cls: type) -> FunctionType | None:
    """Return the faster form of a vertex class, its own or an inherited one."""
    for position, owner in enumerate(cls.__mro__):
        for method in _declared(owner).values():
            before = cls.__mro__[:position]
            changed = {each for base in before for each in vars(base) if _is_used(each)}
            return None if any(hasattr(owner, each) for each in changed) else method
    return None


_NOT_USED = frozenset(
    {"constraints", "cycles", "fields", "location", "memory_constraints", "type_variables"}
    | {"strided_rows", "_scattered", "_specialised"}
)
"""Attributes of vertex classes that `compute` cannot use."""


def _is_used(name: str) -> bool:
    """Return whether a class with such an attribute may compute different values from its base."""
    return name not in _NOT_USED and not name.startswith(("__", "@"))


def _check_faster_methods(cls: type[Vertex]) -> None:
    """Reject invalid faster forms of a class; a valid one has the arguments of compute."""
    declared = _declared(cls)
    if len(declared) > 1:
        raise definition_error(
            cls,
            f"it has {len(declared)} faster forms: {', '.join(declared)}",
            "remove all except the fastest one",
        )
    for name, method in declared.items():
        parameters = ", ".join(cls._arguments)
        fix = f"declare it like compute: def {name}({parameters}) -> None: ..."
        if not isinstance(method, FunctionType) or inspect.iscoroutinefunction(method):
            kind = "async" if isinstance(method, FunctionType) else type(method).__name__
            raise definition_error(cls, f"its faster form {name} is {kind}, not a method", fix)
        if name == "compute":
            what = "compute is the definition, so it cannot be a faster form"
            raise definition_error(cls, what, "write a second method, decorated with pl.faster")
        if tuple(inspect.signature(method).parameters) != cls._arguments:
            found = f"its faster form {name}{inspect.signature(method)} has different arguments"
            raise definition_error(cls, f"{found} from compute", fix)
        promise = promise_of(method)
        assert promise is not None, "declared methods have one"
        for each, number in promise.wide.items():
            if type(getattr(cls, each, None)) is not int or type(number) is not int:
                what = f"its faster form {name} has wide={clipped({each: number})}"
                numbers = [key for key, known in vars(cls).items() if type(known) is int]
                which = ", ".join(numbers) or f"{each} = 16, say"
                raise definition_error(cls, what, f"use an int for an int of the class: {which}")
        if not has_compute(cls):
            what = f"it has the faster form {name}, but no compute"
            raise definition_error(cls, what, "define compute, which both must agree with")


def _declared(owner: type) -> dict[str, Any]:
    """Return the faster forms that a class itself declares, by name."""
    return {name: each for name, each in vars(owner).items() if promise_of(each) is not None}


# -- vertex classes --------------------------------------------------------------------------------

RESERVED_NAMES = frozenset({"self", "tile", "name", "compute", "cycles", "num_workers"})


if TYPE_CHECKING:
    VertexMeta = type  # type checkers infer less for classes with a custom metaclass
else:

    class VertexMeta(abc.ABCMeta):
        """The type of vertex classes; those of templates are pickled as `Scale[FLOAT]`.

        It is an ABCMeta so that an abstract base class can be a mixin. Otherwise it behaves like
        `type`: creating a class has no stack frame of `abc`, and `isinstance` is faster.
        """

        __new__ = type.__new__
        __instancecheck__ = type.__instancecheck__
        __subclasscheck__ = type.__subclasscheck__


def _pickled(cls: type) -> str | tuple[Callable[..., type], tuple[Any, ...]]:
    """Return the name by which a class can be found, or the template and the element types."""
    template = cls.__bases__[0]
    for elements, specialised in getattr(template, "_specialised", {}).items():
        if specialised is cls:
            return specialise, (template, elements)
    return cls.__qualname__


copyreg.pickle(VertexMeta, _pickled)


class Vertex(metaclass=VertexMeta):
    """Base of all vertex classes.

    Subclasses annotate fields and define `compute(self) -> None`.  They inherit the fields of their
    bases, including bases that are not vertex classes; one without `compute` is only a base.
    A field that a class itself declares replaces a base's field of the same name.  Numbers that are
    class attributes without annotation are constants inside `compute`.  The result of a
    `compute(self) -> bool` is combined into the result of `Execute(compute_set, result)`.

    A `cycles(self, target) -> int` returns the cost of a vertex: slots of the worker that runs it,
    or, for a `MultiVertex`, cycles of its tile.  It is ordinary Python and is never compiled;
    `self` has lengths and the integers of state, but no data.

    Raises:
        VertexDefinitionError: at class creation, for an invalid field, `compute` or `cycles`.

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

    type_variables: ClassVar[tuple[TypeVar, ...]] = ()
    """The type variables of a template, or () for any other vertex class."""

    constraints: ClassVar[Sequence[str]] = ()
    """Memory constraints, such as `"elem(*x) != elem(*y)"`."""

    memory_constraints: ClassVar[tuple[Constraint, ...]] = ()
    """`constraints` as data."""

    strided_rows: ClassVar[StridedRows | None] = None
    """The field with rows at a stride, so that engines need not copy them to be contiguous."""

    location: ClassVar[SourceLocation]
    """Where the class was defined."""

    _scattered: ClassVar[str | None] = None
    """The vector that `compute` accesses in no order, so that drivers fetch it from memory."""

    _arguments: ClassVar[tuple[str, ...]] = ("self",)
    """Names of the arguments of `compute`."""

    _specialised: ClassVar[dict[tuple[type[ElementType[Any]], ...], type[Vertex]]]
    """The classes made from this template, by their element types."""

    if TYPE_CHECKING:
        # It takes self, and in a MultiVertex the worker as well.
        compute: Callable[..., bool | None]
    else:

        def compute(self):
            """Do the work of one vertex; overridden by every vertex class."""
            raise NotImplementedError

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # Generic's, which finds the type variables
        for name in ("fields", "location", "memory_constraints", "type_variables"):
            if name in vars(cls):  # it would be overwritten
                fix = f"rename it to 'own_{name}'"
                raise definition_error(cls, f"name '{name}' is reserved", fix)
        with lines_as(None):  # generated classes, and those of a module, have lines of their own
            cls.location = here()
        cls._specialised = {}
        cls.type_variables = parameters(cls)
        if cls.type_variables and Generic in cls.__mro__[: cls.__mro__.index(Vertex)]:
            raise definition_error(cls, "Generic precedes Vertex", _vertex_first(cls))
        if cls.__init__ is not object.__init__:
            raise definition_error(
                cls, "a vertex class cannot define __init__", "declare fields instead"
            )
        frame = sys._getframe(1)
        own = dict(annotations_of(cls, cls, frame))
        fields = _fields_of_bases(cls, own, frame)
        fields |= {name: _field(cls, cls, name, each, {}) for name, each in own.items()}
        _check_nothing_hides(cls, fields)
        _check_no_field_is_assigned(cls)
        cls.fields = with_metadata(cls, fields.values())
        cls.memory_constraints = parsed_constraints(cls.__name__, cls.constraints, cls.fields)
        _check_compute(cls)
        _check_cycles(cls)
        _check_faster_methods(cls)

    def __new__(cls, *args: object, **kwargs: object) -> Vertex:
        """Raise an error: vertices are added to a graph."""
        raise definition_error(
            cls,
            "a vertex is not created by calling its class",
            "use graph.add_vertex(cs, V, tile=0, ...)",
        )

    def __class_getitem__(cls, arguments: Any) -> Any:
        """Return the class of a template for these element types, such as `Add[FLOAT]`.

        Args:
            arguments: an element type, or NumPy dtype, for each type variable.

        Raises:
            VertexDefinitionError: for a class that is not a template, for the wrong number of
                arguments, and for element types that the variables do not allow.

        >>> from poplite.types import FLOAT
        >>> T = TypeVar("T")
        >>> class Scale(Vertex, Generic[T]):
        ...     x: InOut[T]
        ...     def compute(self) -> None:
        ...         self.x = 2 * self.x
        >>> Scale[FLOAT].__name__, [str(field) for field in Scale[FLOAT].fields.values()]
        ('Scale[FLOAT]', ['x: InOut[FLOAT]'])
        """
        return specialise(cls, arguments if isinstance(arguments, tuple) else (arguments,))


def field_of(cls: type[Vertex], name: str) -> Field:
    """Return a declared field by name.

    Raises `UnknownField` if there is none, and `ElementTypeError` if the name is not a string.
    """
    if isinstance(name, str) and name in cls.fields:
        return cls.fields[name]
    found = "declared: " + (", ".join(str(f) for f in cls.fields.values()) or "no fields")
    if not isinstance(name, str):
        raise ElementTypeError(
            f"'{cls.__name__}': {clipped(name)} is not the name of a field",
            found=found,
            fix="use vertex['x'], or vertex['x'][2] for a row of a list of edges",
        )
    raise UnknownField(
        f"'{cls.__name__}' has no field '{name}'{did_you_mean(name, cls.fields)}",
        found=found,
        fix=f"use a declared field, or declare '{name}' in class {cls.__name__} ({cls.location})",
    )


def vertex_label(cls: type[Vertex], index: int) -> str:
    """Return the name of a vertex in messages; a generated class is named by its formula.

    >>> vertex_label(Vertex, 3)
    "vertex 3 of 'Vertex'"
    """
    return f"vertex {index} of '{cls.__name__}'"


def dtype_of(cls: type[Vertex], name: str) -> np.dtype[Any]:
    """Return the NumPy type of a field of a class whose element types are known.

    Raises:
        ElementTypeError: for a template, whose type is not yet known.

    >>> from poplite.types import HALF
    >>> from poplite.vertices import Fill
    >>> dtype_of(Fill[HALF], "out")
    dtype('float16')
    """
    field = field_of(cls, name)
    if field.variable is not None:
        raise ElementTypeError(
            f"the element type of '{name}' of {cls.__name__} is not known",
            found=f"{cls.__name__} is a template",
            fix=f"specify the type: {example(cls)}.reference(...)",
        )
    return np.dtype(field.element.dtype)


def _fields_of_bases(
    cls: type[Vertex], own: Mapping[str, Any], frame: FrameType
) -> dict[str, Field]:
    """Return the fields of all bases of a class by name, those of vertex classes first.

    `own` are the annotations of the class itself, which override declarations in bases.
    Raises `VertexDefinitionError` if two bases declare a field differently and neither derives
    from the other.
    """
    fields = {field.name: field for field in inherited_fields(cls)}
    owners: dict[str, type] = {}
    arguments = mixin_arguments(cls)
    for mixin in _mixins(cls):
        for name, annotation in annotations_of(cls, mixin, frame):
            if name in own or not _is_meant_as_field(annotation):
                continue
            field = _field(cls, mixin, name, annotation, arguments.get(mixin, {}))
            known = fields.get(name, field)
            if known != field and not issubclass(mixin, owners.get(name, cls)):
                raise definition_error(
                    cls,
                    f"its bases declare field '{name}' differently",
                    f"declare '{name}' in {cls.__name__} itself, or in only one base",
                    found=f"{mixin.__name__} has {field}, another base has {known}",
                )
            fields[name], owners[name] = field, mixin
    return fields


def _check_nothing_hides(cls: type[Vertex], fields: Mapping[str, Field]) -> None:
    """Reject a class attribute that hides a field of one of the bases."""
    for name, field in fields.items():
        for base in cls.__mro__:
            if name in vars(base):
                value = f"{name} = {clipped(vars(base)[name])}"
                raise definition_error(
                    cls,
                    f"'{value}' hides field '{name}'",
                    f"remove it, or rename it to 'own_{name}'",
                    found=f"field {field}; class {base.__name__} has {value}",
                )
            if name in inspect.get_annotations(base):
                break


def _check_no_field_is_assigned(cls: type[Vertex]) -> None:
    """Refuse `x = Input[FLOAT]`, which would be a constant of the class."""
    for name, value in vars(cls).items():
        if value in ROLES if isinstance(value, type) else get_origin(value) in ROLES:
            raise definition_error(
                cls,
                f"'{name} = {spelled(value)}' declares no field",
                f"{name}: {spelled(value)}",
            )


def _vertex_first(cls: type[Vertex]) -> str:
    """Return the first line of a class statement with vertex bases before the others."""
    originals: tuple[Any, ...] = getattr(cls, "__orig_bases__", cls.__bases__)
    first = sorted(originals, key=lambda base: base is not Vertex)
    return f"class {cls.__name__}({', '.join(map(spelled, first))})"


def _mixins(cls: type[Vertex]) -> Iterator[type]:
    """Yield the bases of a class that are not vertex classes, each after its own bases.

    Bases of vertex bases are left out: their fields were inherited already.
    """
    known = {each for base in cls.__bases__ if issubclass(base, Vertex) for each in base.__mro__}
    yield from (base for base in reversed(cls.__mro__[1:]) if base not in {*known, Generic, object})


def _is_meant_as_field(annotation: Any) -> bool:
    """Return whether a mixin's annotation declares a field; its methods may use others."""
    inner, _ = split_annotation(annotation)
    kind = get_origin(inner) or inner
    return _role(annotation) is not None or (isinstance(kind, type) and issubclass(kind, FieldKind))


def _role(annotation: Any) -> Role | None:
    inner, _ = split_annotation(annotation)
    return ROLES.get(get_origin(inner) or inner)


def _role_outside(annotation: Any) -> str:
    """Return what to write instead of C++'s `Vector<Input<Vector<float>>>`, "" for others."""
    (inner,) = get_args(annotation) if get_origin(annotation) is Vector else (None,)
    role: Any = get_origin(inner)
    elements: Any = get_args(inner)
    return spelled(role[Vector[elements[0]]]) if role in ROLES else ""


def _field(
    cls: type[Vertex],
    owner: type,
    name: str,
    annotation: Any,
    arguments: Mapping[TypeVar, Any],
) -> Field:
    """Return the field that an annotation in `owner`, the class or a mixin of it, declares.

    `arguments` are the values of the owner's type variables in the class.
    """
    role = _role(annotation)
    annotation, layouts = split_annotation(annotation)
    if role is None:
        any_role = "Input[...], Output[...], InOut[...] or State[...]; constants need no annotation"
        raise definition_error(
            cls,
            f"field '{name}' has the annotation {spelled(annotation)}, which is not valid",
            f"use {_role_outside(annotation) or any_role}",
        )
    if name in RESERVED_NAMES or name in Vertex.__dict__ or name.startswith("__"):
        fix = f"rename it to '{name}_value'"
        raise definition_error(cls, f"field name '{name}' is reserved", fix)
    if name in vars(owner):
        default = clipped(vars(owner)[name], 60)
        raise definition_error(
            cls,
            f"field '{name}' has the default {default}, but fields cannot have defaults",
            f"pass the value to add_vertex, or remove the annotation to make '{name}' a constant",
        )
    inner, depth = (get_args(annotation) or (None,))[0], 0
    while get_origin(inner) is Vector:
        inner, depth = get_args(inner)[0], depth + 1
    variable = inner if isinstance(inner, TypeVar) else None
    inner = inner if variable is None else arguments.get(variable, variable)
    limit = 1 if role == "state" else 2
    if depth > limit:
        raise definition_error(
            cls,
            f"field '{name}' has {depth} nested Vectors, but the maximum here is {limit}",
            "connect a list of 1-D tensors to Vector[Vector[T]]",
        )
    layout = layouts[0] if layouts else PLAIN
    why = refusal_of_layouts(layouts, depth, is_edge=role != "state")
    if why:
        form = "Annotated[Input[Vector[FLOAT]], Layout(VectorLayout.ONE_PTR, min_align=8)]"
        raise definition_error(cls, f"field '{name}' {why}", f"declare it like {name}: {form}")
    if inner in cls.type_variables:
        return Field(name, role, ElementType, depth, inner, layout)
    element = _element(cls, owner, name, role, inner)
    why = refusal(variable, element) if variable else ""
    if why:
        what = f"field '{name}' of {owner.__name__} cannot have type {element!r}"
        fix = f"use {owner.__name__} with another element type"
        raise definition_error(cls, what, fix, found=why)
    return Field(name, role, element, depth, layout=layout)


def _element(
    cls: type[Vertex], owner: type, name: str, role: Role, inner: Any
) -> type[ElementType[Any]]:
    try:
        return element_type(inner)
    except ElementTypeError as error:
        what = "no element type"
        if inner is not None:
            what = f"{spelled(inner)}, which is not an element type"
        fix = f"declare {name}: {ROLE_NAMES[role]}[FLOAT], or use Vector[FLOAT]"
        if isinstance(inner, TypeVar):
            what = f"{inner.__name__}, a type variable that the class does not declare"
            open_ones = getattr(owner, "__parameters__", ())
            fix = f"class {cls.__name__}(Vertex, Generic[{inner.__name__}])"
            if owner is not cls and inner in open_ones:
                fix = f"class {cls.__name__}(Vertex, {owner.__name__}"
                fix += f"[{', '.join('FLOAT' for _ in open_ones)}])"
        raise definition_error(cls, f"field '{name}' has {what}", fix, found=error.found) from None


def has_cycles(cls: type[Vertex]) -> bool:
    """Return whether a vertex class, or one of its bases, defines `cycles`.

    >>> has_cycles(Vertex)
    False
    """
    return getattr(cls, "cycles", None) is not None


def has_compute(cls: type[Vertex]) -> bool:
    """Return whether a vertex class or one of its bases has a `compute`; if not, it is only a base.

    >>> has_compute(Vertex)
    False
    """
    is_abstract = getattr(cls.compute, "__isabstractmethod__", False)
    return not is_abstract and cls.compute not in (Vertex.compute, MultiVertex.compute)


def _check_compute(cls: type[Vertex]) -> None:
    compute = cls.__dict__.get("compute")
    if compute is None:  # inherited, or this is only a base
        return
    if not inspect.isfunction(compute):
        what = f"compute is of type {type(compute).__name__}, not a function"
        raise definition_error(cls, what, _definition(cls))
    if compute.__code__.co_name == "<lambda>" or inspect.iscoroutinefunction(compute):
        kind = "an async function" if inspect.iscoroutinefunction(compute) else "a lambda"
        raise definition_error(cls, f"compute is {kind}", _definition(cls))
    names = tuple(inspect.signature(compute).parameters)
    if names == cls._arguments:
        return
    what = f"compute{inspect.signature(compute)} has arguments other than "
    what += " and ".join(cls._arguments)
    fix = "declare State fields for values, and connect tensors to Input fields"
    if len(cls._arguments) == 2:
        fix = f"{_definition(cls)}, or derive it from Vertex"
    elif names == ("self", "worker"):
        fix = f"use class {cls.__name__}(MultiVertex), whose compute runs once for each worker"
    raise definition_error(cls, what, fix)


def _check_cycles(cls: type[Vertex]) -> None:
    cycles = vars(cls).get("cycles")
    if cycles is None:  # no definition, or `cycles = None`, which removes the inherited one
        return
    fix = "write def cycles(self, target) -> int: return 20 + 3 * len(self.x)"
    if not inspect.isfunction(cycles):
        what = f"cycles is of type {type(cycles).__name__}, not a function"
        raise definition_error(cls, what, fix)
    if tuple(inspect.signature(cycles).parameters) != ("self", "target"):
        what = f"cycles{inspect.signature(cycles)} has arguments other than self and target"
        raise definition_error(cls, what, fix)


def _definition(cls: type[Vertex]) -> str:
    worker = ", worker: int" if len(cls._arguments) == 2 else ""
    return f"write def compute(self{worker}) -> None: ..."


class MultiVertex(Vertex):
    """Base of vertex classes whose `compute` runs once for each worker thread of its tile.

    Subclasses define `compute(self, worker: int) -> None`.  Worker 0 of a vertex runs first and
    `self.num_workers - 1` last; a program should not depend on that order, since they run
    concurrently on a real machine.

    >>> from poplite.types import FLOAT
    >>> class Double(MultiVertex):
    ...     x: InOut[Vector[FLOAT]]
    ...     def compute(self, worker: int) -> None:
    ...         for i in range(worker, len(self.x), self.num_workers):
    ...             self.x[i] = 2.0 * self.x[i]
    >>> list(Double.fields)
    ['num_workers', 'x']
    """

    _arguments = ("self", "worker")

    if TYPE_CHECKING:
        num_workers: State[INT]

    def compute(self, worker: int) -> bool | None:
        """Do the work of one worker; overridden by every class.

        Args:
            worker: number of the worker, from 0 to `self.num_workers - 1`.
        """
        raise NotImplementedError


# The name is reserved, so an annotation cannot declare it; the graph sets it from its target.
MultiVertex.fields = MappingProxyType({"num_workers": Field("num_workers", "state", INT, 0)})
