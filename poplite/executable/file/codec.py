"""Finished data as JSON and arrays, by the annotations of its classes.

An executable is made of frozen dataclasses, so their annotations say how to write them, and what
may stand in a file at each place.  A file names a class only where there are several to choose
from (`ComputeStep | CopyStep`)::

    Cause(what="x", bytes=40, ...)      {"what": "x", "bytes": 40, ...}
    ComputeStep | CopyStep              ["CopyStep", {"moves": ...}]
    int64[9, 4]                         ["int64", 120, [9, 4]]     see `archive`

A new field of such types needs no change here.  Fields that have their default are left out.
"""

from __future__ import annotations

import dataclasses
import os
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from poplite.arrays.series import Listed, Steps
from poplite.executable.file.archive import Malformed, shown
from poplite.executable.file.coders import (
    ArrayCoder,
    ChosenCoder,
    Coder,
    EitherCoder,
    FixedCoder,
    ItemsCoder,
    Json,
    NumberedCoder,
    RecordCoder,
    ScalarCoder,
    SeriesCoder,
    TableCoder,
)
from poplite.source import SourceLocation, shortest
from poplite.types import ELEMENT_TYPES, ElementType
from poplite.vertex.vertex import Vertex

CODERS: dict[Any, Coder] = {}
"""The coders of annotations that only files of graphs have."""


@cache
def coder_of(annotation: Any) -> Coder:
    """Return the coder of an annotation as `typing.get_type_hints` returns it.

    >>> from poplite.executable.file.coders import Writer
    >>> coder_of(tuple[int, ...]).encode((1, 2), Writer())
    [1, 2]
    >>> coder_of(object)
    Traceback (most recent call last):
    TypeError: <class 'object'> cannot be saved in an executable
    """
    if annotation in CODERS:
        return CODERS[annotation]
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if hasattr(origin, "__value__"):  # an alias as of Python 3.12, which NumPy 2.5 has for NDArray
        return coder_of(origin.__value__[arguments] if arguments else origin.__value__)
    if annotation in (bool, int, float, str):
        return ScalarCoder(annotation)
    if annotation is SourceLocation:
        return NumberedCoder(SourceLocation)
    if origin is Literal:
        return ChosenCoder("literal", {value: value for value in arguments})
    if origin is type:
        inner = get_origin(arguments[0]) or arguments[0]
        if inner is Vertex:
            return NumberedCoder(Vertex)
        if inner is ElementType:
            return ChosenCoder(
                "element type", {repr(element): element for element in ELEMENT_TYPES}
            )
    if origin is np.ndarray:
        return ArrayCoder(get_args(arguments[1])[0])
    if origin in (Union, types.UnionType):
        optional = type(None) in arguments
        if {Steps, Listed} == set(arguments) - {type(None)}:
            return EitherCoder([SeriesCoder()], optional=True) if optional else SeriesCoder()
        some = [coder_of(each) for each in arguments if each is not type(None)]
        return EitherCoder(some, optional=optional)
    if origin in (tuple, list):
        if origin is list or arguments[-1] is ...:
            return ItemsCoder(origin, coder_of(arguments[0]))
        return FixedCoder([coder_of(each) for each in arguments])
    if isinstance(origin, type) and issubclass(origin, Mapping) and arguments:
        return TableCoder(coder_of(arguments[0]), coder_of(arguments[1]))
    if isinstance(origin, type) and issubclass(origin, Enum):
        return ChosenCoder(origin.__name__, {member.name: member for member in origin})
    if dataclasses.is_dataclass(annotation):
        cls: Any = annotation
        hints, taken = get_type_hints(cls), [f for f in dataclasses.fields(cls) if f.init]
        own = [field.name for field in taken if field.metadata.get("saved", True)]
        return RecordCoder(cls, {name: coder_of(hints[name]) for name in own})
    raise TypeError(f"{annotation} cannot be saved in an executable")


def portable(location: SourceLocation) -> list[Any]:
    """Return a line as a file holds it: its path below the working directory, else the file's name.

    The lines that called it stand elsewhere (`callers`).
    """
    # Bytes of a path that are no UTF-8 are surrogates in its text.
    file = shortest(location.file).encode(errors="replace").decode()
    return [
        os.path.basename(file) if os.path.isabs(file) else file,
        location.line,
        location.function,
    ]


def callers(location: SourceLocation) -> list[list[Any]]:
    """Return the lines that called a line, the nearest first, as a file holds them."""
    found, caller = [], location.caller
    while caller is not None:
        found.append(portable(caller))
        caller = caller.caller
    return found


def location_of(data: Json, called: Json) -> SourceLocation:
    """Return the line of which `portable` returned `data` and `callers` returned `called`."""
    if type(called) is not list:
        raise Malformed(f"{shown(called)} is no list of callers")
    location = None
    for each in [*reversed(called), data]:
        match each:
            case [str() as file, int() as line, str() as function]:
                location = SourceLocation(file, line, function, location)
            case _:
                raise Malformed(f"{shown(each)} is no line of a file")
    assert location is not None
    return location
