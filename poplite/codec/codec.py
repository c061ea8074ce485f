"""The codec of frozen dataclasses: JSON with arrays, by the annotations of their fields.

Executables and reports are made of frozen dataclasses, so their annotations say how to write them,
and what a file may hold at each place.  A file names a class only where there are several to
choose from (`ComputeStep | CopyStep`)::

    Cause(what="x", bytes=40, ...)      {"what": "x", "bytes": 40, ...}
    ComputeStep | CopyStep              ["CopyStep", {"moves": ...}]
    int64[9, 4]                         ["int64", 120, [9, 4]]     see `archive`

A new field of such types needs no change here.  Fields that have their default are left out.
"""

from __future__ import annotations

import dataclasses
import os
import types
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from poplite.arrays.series import Listed, Steps
from poplite.codec.coders import (
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
from poplite.codec.loading import Malformed, shown
from poplite.source import Line, SourceLocation, shortest
from poplite.types import ELEMENT_TYPES, ElementType
from poplite.vertex.vertex import Vertex, VertexMeta


class Codec:
    """The coders of one kind of files.

    Args:
        known: those of annotations that only such files have, or have otherwise.
    """

    def __init__(self, known: Mapping[Any, Coder]) -> None:
        self.coders: dict[Any, Coder] = dict(known)

    def coder_of(self, annotation: Any) -> Coder:
        """Return the coder of an annotation as `typing.get_type_hints` returns it.

        >>> from poplite.codec.coders import Writer
        >>> Codec({}).coder_of(tuple[int, ...]).encode((1, 2), Writer())
        [1, 2]
        >>> Codec({}).coder_of(object)
        Traceback (most recent call last):
        TypeError: <class 'object'> cannot be saved
        """
        if annotation not in self.coders:
            self.coders[annotation] = self._made(annotation)
        return self.coders[annotation]

    def _made(self, annotation: Any) -> Coder:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        if hasattr(origin, "__value__"):  # an alias as of Python 3.12, which NumPy 2.5 has
            return self.coder_of(origin.__value__[arguments] if arguments else origin.__value__)
        if annotation in (bool, int, float, str):
            return ScalarCoder(annotation)
        if annotation == Line:
            return NumberedCoder(str, "line", "lines")
        if annotation is SourceLocation:
            return NumberedCoder(SourceLocation, "location", "locations")
        if origin is Literal:
            return ChosenCoder("literal", {value: value for value in arguments})
        if origin is type:
            inner = get_origin(arguments[0]) or arguments[0]
            if inner is Vertex:
                return NumberedCoder(VertexMeta, "class", "classes")
            if inner is ElementType:
                return ChosenCoder(
                    "element type", {repr(element): element for element in ELEMENT_TYPES}
                )
        if origin is np.ndarray:
            return ArrayCoder(get_args(arguments[1])[0])
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin in (tuple, list, Sequence):
            if origin is not tuple or arguments[-1] is ...:
                return ItemsCoder(origin, self.coder_of(arguments[0]))
            return FixedCoder([self.coder_of(each) for each in arguments])
        if isinstance(origin, type) and issubclass(origin, Mapping) and arguments:
            return TableCoder(self.coder_of(arguments[0]), self.coder_of(arguments[1]))
        if isinstance(origin, type) and issubclass(origin, Enum):
            return ChosenCoder(origin.__name__, {member.name: member for member in origin})
        if dataclasses.is_dataclass(annotation):
            return self._record(annotation)
        raise TypeError(f"{annotation} cannot be saved")

    def _union(self, arguments: tuple[Any, ...]) -> Coder:
        optional = type(None) in arguments
        if {Steps, Listed} == set(arguments) - {type(None)}:
            return EitherCoder([SeriesCoder()], optional=True) if optional else SeriesCoder()
        some = [self.coder_of(each) for each in arguments if each is not type(None)]
        return EitherCoder(some, optional=optional)

    def _record(self, cls: Any) -> Coder:
        hints, taken = get_type_hints(cls, include_extras=True), dataclasses.fields(cls)
        own = [each.name for each in taken if each.init and each.metadata.get("saved", True)]
        return RecordCoder(cls, {name: self.coder_of(hints[name]) for name in own})


GRAPHS = Codec({})
"""Of graphs, which add annotations of their own."""


def coder_of(annotation: Any) -> Coder:
    """Return the coder of an annotation in files of graphs."""
    return GRAPHS.coder_of(annotation)


def lines_of(data: Json) -> list[str]:
    """Return the lines that are text, as a file lists them."""
    if type(data) is not list or any(type(each) is not str for each in data):
        raise Malformed(f"{shown(data)} is not a valid list of lines")
    return data


def written_locations(locations: Iterable[SourceLocation]) -> list[Json]:
    """Return lines as a file lists them, each with those that called it, the nearest first."""
    return [[_portable(line), _callers(line)] for line in locations]


def decoded_locations(data: Json) -> list[SourceLocation]:
    """Return the lines that `written_locations` returned."""
    if type(data) is not list:
        raise Malformed("its manifest lists no locations")
    found = []
    for pair in data:
        if type(pair) is not list or len(pair) != 2 or type(pair[1]) is not list:
            raise Malformed("its manifest does not list the callers of each line")
        location = None
        for each in [*reversed(pair[1]), pair[0]]:
            match each:
                case [str() as file, int() as line, str() as function]:
                    location = SourceLocation(file, line, function, location)
                case _:
                    raise Malformed(f"{shown(each)} is not a valid line of a file")
        assert location is not None
        found.append(location)
    return found


def _portable(location: SourceLocation) -> list[Any]:
    """Return a line with its path below the working directory, else the file's name."""
    # Bytes of a path that are not UTF-8 are surrogates in its text.
    file = shortest(location.file).encode(errors="replace").decode()
    return [
        os.path.basename(file) if os.path.isabs(file) else file,
        location.line,
        location.function,
    ]


def _callers(location: SourceLocation) -> list[list[Any]]:
    found, caller = [], location.caller
    while caller is not None:
        found.append(_portable(caller))
        caller = caller.caller
    return found
