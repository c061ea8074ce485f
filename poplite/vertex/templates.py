"""Templates: vertex classes whose element types are not yet fixed.

    class Add(Vertex, Generic[T]):          the template; T is a TypeVar
        x: Input[Vector[T]]
        ...

    Add[FLOAT]                              a vertex class with x: Input[Vector[FLOAT]]
    class Scaled(Add[T])                    another template, with more fields
    class FloatAdd(Add[FLOAT])              a vertex class like any other

The class for particular element types is created once, derives from its template and shares its
`compute`; the compiler and the interpreter use only such classes.  A type variable accepts the
types that its bound and its constraints allow, `TypeVar("T", FLOAT, INT)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import new_class
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin

from poplite.errors import ElementTypeError
from poplite.text import amount
from poplite.types import ELEMENT_TYPES, ElementType, element_type, spelled
from poplite.vertex.fields import Field, definition_error, with_metadata

if TYPE_CHECKING:
    from poplite.vertex.vertex import Vertex

ElementClass = type[ElementType[Any]]


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
