"""A vertex class of a script, as it goes to other processes: with all that it holds now.

    class Scale(pl.Vertex):                name, bases
        x: pl.Input[pl.FLOAT]              fields, as they were made here
        def compute(self) -> None: ...     functions, whose code knows its file and line
    Scale.factor = 2                       and what the script did to the class

No statement of the script runs again there, nor `__init_subclass__` or a decorator, since what
they did arrives with the class and with the globals that they changed.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

from poplite.errors import ControlProgramError
from poplite.vertex.compute.parse.source_text import nested, why_no_text
from poplite.vertex.vertex import Vertex

_OF_PYTHON = frozenset({"__dict__", "__weakref__", "__annotate_func__", "__annotations_cache__"})
"""Attributes that Python makes for each class, and that no other can take."""


def reduced(cls: type[Vertex]) -> tuple[object, ...]:
    """Return what `pickle` makes a class of that cannot be imported.

    Raises `ControlProgramError` where the file of a function has another text by now.
    """
    for function in _functions(vars(cls)):
        if not _has_text(function.__code__):
            found, fix = why_no_text(function)
            raise _refusal(cls.__name__, f"class {cls.__name__} ({cls.location}): {found}", fix)
    state = {name: value for name, value in vars(cls).items() if name not in _OF_PYTHON}
    state["__qualname__"] = cls.__qualname__
    return _made, (type(cls), cls.__name__, cls.__bases__, cls.__base__), state, None, None, _fill


def _refusal(name: str, found: str, fix: str) -> ControlProgramError:
    return ControlProgramError(
        f"sweep: vertex class '{name}' of the script cannot be sent to workers",
        at=None,
        found=found,
        fix=f"{fix}; workers=1 runs all here",
    )


def _functions(attributes: Mapping[str, object]) -> Iterator[FunctionType]:
    for value in attributes.values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType):
            yield inner


def _has_text(code: CodeType) -> bool:
    """Return whether a file still has the text of a function; True where it never had a text."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    if not lines or "@pytest_ar" in code.co_names:  # pytest runs other code than the text says
        return True
    try:
        module = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return code in nested(module)


def _made(kind: type[type], name: str, bases: tuple[type, ...], base: type) -> type:
    """Return a class without attributes, made behind the back of `__init_subclass__`.

    It is made of a stand-in and then given its bases, which Python allows where the stand-in lies
    in memory as `base` does, the one of them that determines that.
    """
    while base.__base__ and _places(base) == _places(base.__base__):  # to one with a place more
        base = base.__base__
    offsets = {"__dict__": base.__dictoffset__, "__weakref__": base.__weakrefoffset__}
    slots = tuple(each for each, offset in offsets.items() if offset)
    stand_in = type("Base", (base.__base__ or object,), {"__slots__": slots})
    made = type.__new__(kind, name, (stand_in,), {})
    try:
        made.__bases__ = bases
    except TypeError as error:
        raise _refusal(name, str(error), "bases without __slots__") from error
    return made


def _places(cls: type) -> tuple[int, int, int]:
    return cls.__basicsize__, cls.__dictoffset__, cls.__weakrefoffset__


def _fill(cls: type, state: dict[str, object]) -> None:
    for name, value in state.items():
        type.__setattr__(cls, name, value)
