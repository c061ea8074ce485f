"""Every public function and method, by its name, and which of them a call is of."""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import poplite as pl
import poplite.named as ng
from poplite import ops, testing, tools, viz
from poplite.compat import poplin, popnn, popops, poprand, poputil
from poplite.compat.popops import expr
from poplite.ops.control import LoopIndex

OPERATIONS = {"ops": ops, "ops.random": ops.random, "ops.linalg": ops.linalg, "ops.nn": ops.nn}
AROUND: dict[str, Any] = {
    **{"testing": testing, "viz": viz, "tools": tools},
    **{"pl.mpi": pl.mpi, "pl.ipu": pl.ipu, "pl.program": pl.program},
}
LIBRARIES: dict[str, Any] = {
    "popops": popops,
    "popops.embedding": popops.embedding,
    "popops.expr": expr,
    "poplin": poplin,
    "poplin.experimental": poplin.experimental,
    "popnn": popnn,
    **{f"popnn.{n}": getattr(popnn, n) for n in ("bn", "gn", "in_", "ln", "lstm", "gru")},
    "poprand": poprand,
    "poputil": poputil,
    "layout": pl.layout,
}


def core() -> Iterator[tuple[str, Any]]:
    """Yield what `poplite` has, and the methods of its classes."""
    values = {f"pl.{name}": getattr(pl, name) for name in pl.__all__}
    yield from _members(values)


def operations() -> Iterator[tuple[str, Any]]:
    """Yield what `poplite.ops` and its rooms have."""
    values = {
        f"{room}.{name}": value
        for room, module in OPERATIONS.items()
        for name in module.__all__
        for value in [getattr(module, name)]
    }
    yield from _members({**values, "LoopIndex": LoopIndex})


def named_axes() -> Iterator[tuple[str, Any]]:
    """Yield what `poplite.named` has."""
    yield from _members({f"ng.{name}": getattr(ng, name) for name in ng.__all__})


def libraries() -> Iterator[tuple[str, Any]]:
    """Yield what the libraries of `poplite.compat` have, in PopLibs' spelling."""
    for library, module in LIBRARIES.items():
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if "_" not in name and getattr(value, "__module__", "").startswith("poplite.compat"):
                yield from _members({f"{library}.{name}": value})


def around() -> Iterator[tuple[str, Any]]:
    """Yield what is around graphs and engines: tests, pictures, commands, ranks, IPUs, programs."""
    values = {
        f"{room}.{name}": getattr(module, name)
        for room, module in AROUND.items()
        for name in module.__all__
        if getattr(module, name) is not getattr(pl, name, None)  # which `core` has
    }
    yield from _members(values)


def _members(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield functions that take arguments, and those of classes, with their constructors."""
    for name, value in values.items():
        if name.rsplit(".", 1)[1:] and name.rsplit(".", 1)[1].startswith("_"):
            continue
        if isinstance(value, ModuleType) or not callable(value):
            continue
        if not inspect.isclass(value):
            if _takes(value):
                yield name, value
        elif value.__module__.startswith("poplite"):
            yield from _of_class(name, value)


def _of_class(name: str, cls: type) -> Iterator[tuple[str, Any]]:
    if issubclass(cls, BaseException | enum.Enum | pl.ElementType):
        return
    if not issubclass(cls, tuple) and _takes(cls):
        yield name, cls
    for base in cls.__mro__:
        for member in vars(base) if base.__module__.startswith("poplite") else ():
            value = inspect.getattr_static(cls, member)
            if isinstance(value, staticmethod | classmethod):
                value = value.__func__
            if member.startswith("_") or not inspect.isfunction(value):
                continue
            is_static = isinstance(inspect.getattr_static(cls, member), staticmethod)
            if len(inspect.signature(value).parameters) > (not is_static):
                yield f"{name}.{member}", value


def _takes(function: Any) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False


def called(call: str, names: dict[str, Any]) -> Iterator[Any]:
    """Yield the functions that a text of a call calls, and the classes whose objects it makes."""
    for node in ast.walk(ast.parse(call, mode="eval")):
        if isinstance(node, ast.Call):
            try:
                function = eval(ast.unparse(node.func), names)
            except NameError:  # of a parameter, within a lambda
                continue
            yield function
            yield getattr(function, "__func__", None)
