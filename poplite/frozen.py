"""Frozen dataclasses that load quickly: `frozen`, like `dataclass(frozen=True, slots=True)`.

`dataclass` compiles six functions for such a class, in 0.4 ms, and a process that creates an
engine loads more than a hundred classes.  Here only `__init__` is compiled, and comparisons on
first use: defining a class takes a quarter of the time, and creating an object takes less, too.
`fields`, `replace` and other functions of `dataclasses` work with these classes.

A dataclass derived from one of these must use `frozen`, too, since `dataclass` does not
recognise them as frozen.  A class with a function among its fields uses `dataclass`:
otherwise a type checker takes the field for a method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


class _NotGiven:
    """Default of an argument with a default factory; its repr is the same as in `dataclass`."""

    def __repr__(self) -> str:
        return "<factory>"


_NOT_GIVEN = _NotGiven()


@overload
def frozen(cls: type[T]) -> type[T]: ...


@overload
def frozen(
    *, init: bool = True, eq: bool = True, repr: bool = True
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, init: bool = True, eq: bool = True, repr: bool = True) -> Any:
    """Make a class a frozen dataclass with slots; methods that it defines are not replaced.

    A class that defines only `__eq__` gets a `__hash__` computed from its fields.

    Args:
        cls: the class.
        init: whether the constructor takes the fields as arguments.
        eq: whether objects with equal fields are equal and have the same hash.
        repr: whether `repr` lists the fields.

    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1)
    Point(x=1, y=0)
    >>> Point(1).x = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'x'
    """

    def decorated(cls: Any) -> Any:
        made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
        methods = {"__setattr__": _refuse_to_assign, "__delattr__": _refuse_to_delete}
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
        if init:
            methods["__init__"] = _initializer(made)
        if repr:
            methods["__repr__"] = _representation
        if eq:
            methods |= _equality(made)
        own = vars(cls).keys()
        if "__eq__" in own and cls.__hash__ is None:  # Python sets this for a class with `__eq__`
            own -= {"__hash__"}
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made

    return decorated if cls is None else decorated(cls)


def _refuse_to_assign(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


@recursive_repr()
def _representation(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equality(cls: Any) -> dict[str, Callable[..., Any]]:
    """Return `__eq__` and `__hash__` over the fields, which are compiled on the first call."""

    def __eq__(self: object, other: object) -> bool:
        names = [each.name for each in fields(cls) if each.compare]
        same = f"{_values_of('self', names)} == {_values_of('other', names)}"
        result = f"{same} if other.__class__ is self.__class__ else NotImplemented"
        cls.__eq__ = _compiled(cls, "__eq__", "self, other", [f"return {result}"], {})
        return cls.__eq__(self, other)  # type: ignore[no-any-return]

    def __hash__(self: object) -> int:
        names = [
            each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)
        ]
        result = f"hash({_values_of('self', names)})"
        cls.__hash__ = _compiled(cls, "__hash__", "self", [f"return {result}"], {})
        return hash(self)

    return {"__eq__": __eq__, "__hash__": __hash__}


def _values_of(value: str, names: list[str]) -> str:
    """Return the expression for a tuple of attributes."""
    return f"({''.join(f'{value}.{name}, ' for name in names)})"


def _compiled(
    cls: Any, name: str, arguments: str, body: list[str], known: dict[str, Any]
) -> Callable[..., Any]:
    """Compile a method of a class from the lines of its body."""
    text = "\n    ".join([f"def {name}({arguments}):", *(body or ["pass"])])
    exec(text, known)  # noqa: S102 - its parts are names of fields
    made: Callable[..., Any] = known[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _initializer(cls: Any) -> Callable[..., None]:
    """Compile the `__init__` of a dataclass, which sets slots by their descriptors."""
    known: dict[str, Any] = {"__name__": cls.__module__, "_not_given": _NOT_GIVEN}
    arguments, passed = ["self"], []
    values: dict[str, str] = {}
    types: dict[str, Any] = {}
    stored = {each.name for each in fields(cls)}
    for name, each in cls.__dataclass_fields__.items():
        kind, _, inner = str(each.type).partition("[")
        is_argument = kind.rpartition(".")[2] == "InitVar"
        if not is_argument and name not in stored:  # a ClassVar
            continue
        value = name
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}()"
            if each.init:
                arguments.append(f"{name}=_not_given")
                value += f" if {name} is _not_given else {name}"
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            if each.init:
                arguments.append(f"{name}=_default_{name}")
            else:
                value = f"_default_{name}"
        elif each.init:
            arguments.append(name)
        else:
            continue
        if each.init:
            types[name] = inner[:-1] if is_argument else each.type
        if is_argument:
            passed.append(name)
        else:
            values[name] = value
    body = _assignments(cls, values, known)
    if hasattr(cls, "__post_init__"):
        body.append(f"self.__post_init__({', '.join(passed)})")
    made = _compiled(cls, "__init__", ", ".join(arguments), body, known)
    made.__annotations__ = {**types, "return": None}
    return made


_MANY = 8
"""Number of fields from which setting them is quicker while the object's class is not frozen."""


def _assignments(cls: Any, values: dict[str, str], known: dict[str, Any]) -> list[str]:
    """Return the lines that set the fields of a frozen object; add the names used to `known`."""
    known |= {f"_set_{name}": getattr(cls, name).__set__ for name in values}
    lines = [f"_set_{name}(self, {value})" for name, value in values.items()]
    if len(values) < _MANY or cls.__bases__ != (object,):
        return lines
    known["_frozen"] = cls
    known["_open"] = type(cls.__name__, (), {"__slots__": cls.__slots__})
    known["_become"] = vars(object)["__class__"].__set__
    opened = [f"self.{name} = {value}" for name, value in values.items()]
    opened = ["_become(self, _open)", *opened, "self.__class__ = _frozen"]
    # Objects of classes that were not derived by `frozen` have a different layout.
    lines = ["if self.__class__ is _frozen:", *opened, "else:", *lines]
    return [line if line.endswith(":") else f"    {line}" for line in lines]
