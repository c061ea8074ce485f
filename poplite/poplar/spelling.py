"""The C++ spelling of our classes' members, set when a class is defined.

    @cpp_spelling()
    class Tensor:
        def dim_shuffle(self, permutation): ...      becomes dimShuffle as well

A method whose arguments have Poplar's order is the same under both names; an attribute becomes a
method that returns it; if the order differs, `binder` reads the declarations at the first call.
The error for arguments that do not match contains the declaration. Calls by our own names have no
extra cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.errors import Absent, ElementTypeError, present_names
from poplite.poplar.absent import absent_members
from poplite.poplar.declarations import Row, declared_rows
from poplite.public import checked_call

if TYPE_CHECKING:
    from poplite.poplar.binder import Binder

C = TypeVar("C", bound=type)


def cpp_spelling(
    functions: ModuleType | None = None, owner: str = "", but: str = ""
) -> Callable[[C], C]:
    """Add the names that the members of a class have in Poplar.

    Args:
        functions: a module whose functions become methods under their own names, for members that
            only Poplar has.
        owner: Poplar's name for the class, if it differs.
        but: members with the same name here that are called too often to be checked.
    """

    def spelled(cls: C) -> C:
        name = owner or cls.__name__
        members: dict[str, list[Row]] = {}
        for row in declared_rows(name):
            members.setdefault(row.member, []).append(row)
        for member, rows in members.items():
            value = None if member in but.split() else _attribute(cls, member, rows, functions)
            if value is not None:
                setattr(cls, member, value)
        for member, why in absent_members(cls.__name__).items():
            absent = Absent(*why)
            absent.__set_name__(cls, member)
            setattr(cls, member, absent)
        cls.__dir__ = _listed  # type: ignore[method-assign, assignment]
        return cls

    return spelled


def _listed(self: object) -> list[str]:
    return present_names(type(self), object.__dir__(self))


def _attribute(
    cls: type, member: str, rows: Sequence[Row], functions: ModuleType | None
) -> object | None:
    """Return the attribute to set for a member; None if the class has the member already."""
    own: Any = vars(functions).get(member) if functions else None
    if isinstance(own, FunctionType) and functions and own.__module__ == functions.__name__:
        is_static = rows[0].declaration.startswith("static ")
        return _checked(staticmethod(own) if is_static else own, cls, rows)
    written, ours = vars(cls).get(member), rows[0].ours
    if written and not hasattr(getattr(written, "__func__", written), "__wrapped__"):
        return _checked(written, cls, rows) if isinstance(written, _METHODS) else None
    if not ours or hasattr(cls, member):
        return None
    if not ours.isidentifier():
        return _named(_bound(rows[0].owner, member), cls, rows)
    found = next((vars(base)[ours] for base in cls.__mro__ if ours in vars(base)), None)
    is_method = isinstance(found, _METHODS)
    return _checked(found, cls, rows) if is_method else _named(_getter(ours, rows[0]), cls, rows)


_METHODS = (FunctionType, staticmethod, classmethod)


def _checked(method: Any, cls: type, rows: Sequence[Row]) -> object:
    """Return a method whose errors for arguments that do not match contain its declaration."""
    row, owners = rows[0], int(not isinstance(method, staticmethod))

    def refusal(function: Any, arguments: Any, keywords: Any) -> ElementTypeError | None:
        return binder_of(row.owner, row.member).refusal(function, arguments, keywords, owners)

    function: FunctionType = getattr(method, "__func__", method)
    checked = checked_call(function, row.member, refusal)
    _name(checked, cls, row.member)
    if function.__module__ != cls.__module__:  # its doctest calls functions of that module
        checked.__doc__ = (function.__doc__ or "").partition(">>>")[0].rstrip()
    return checked if isinstance(method, FunctionType) else type(method)(checked)


@cache
def names_here() -> Mapping[str, str]:
    """Return our names for Poplar's functions, classes and types with a different name here."""
    return {row.member: row.ours for row in declared_rows("") if row.ours.isidentifier()}


def declared_function(name: str, value: object) -> object:
    """Return the object of a Poplar name; argument errors of a function contain its declaration."""
    if not isinstance(value, FunctionType):
        return value
    checked = checked_call(value, name, lambda *given: binder_of("", name).refusal(*given))
    checked.__module__, checked.__name__, checked.__qualname__ = "poplite", name, name
    return checked


def _getter(name: str, row: Row) -> FunctionType:
    def get(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) != 1 or keywords:
            raise _refusal_of_more(row.owner, row.member, arguments, keywords)
        return getattr(arguments[0], name)

    return get  # type: ignore[return-value]  # a `def` makes a FunctionType


def _refusal_of_more(
    owner: str, member: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> ElementTypeError:
    """Return the error for arguments other than the object itself."""
    error = binder_of(owner, member).refusal(_get_alone, arguments, keywords, owners=1)
    assert error is not None
    return error


def _get_alone(self: object, /) -> None:
    """Placeholder for a method without arguments."""


def _bound(owner: str, member: str) -> FunctionType:
    def call(*given: Any, **keywords: Any) -> Any:
        if not given:
            raise _refusal_of_more(owner, member, given, keywords)
        return binder_of(owner, member).call(given[0], given[1:], keywords)

    return call  # type: ignore[return-value]  # a `def` makes a FunctionType


@cache
def binder_of(owner: str, member: str) -> Binder:
    """Return the binder for the declarations of a member."""
    from poplite.poplar.binder import Binder  # most programs never need it

    return Binder([row for row in declared_rows(owner) if row.member == member])


def _named(function: FunctionType, cls: type, rows: Sequence[Row]) -> FunctionType:
    _name(function, cls, rows[0].member)
    lines = "\n".join(f"    {row.declaration}" for row in rows)
    function.__doc__ = f"C++ spelling of `{rows[0].ours}`.\n\n{lines}\n"
    return function


def _name(function: Callable[..., Any], cls: type, member: str) -> None:
    """Set the qualified name of a function in its class, so that it can be pickled by reference."""
    function.__name__, function.__module__ = member, cls.__module__
    function.__qualname__ = f"{cls.__qualname__}.{member}"
