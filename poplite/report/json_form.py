"""Reports as JSON, and back.

    {"poplite": "report", "version": 2, "compilation": {...}, "execution": {...}, ...}

Every dataclass is an object with the names of its fields; keys are sorted.  Numbers per tile are
written as ranges of tiles with their values, or one value if all are equal; where that would be
many numbers as bytes in base 64, of tiles the distances from each to the next.  Programs are a list
of nodes in which children stand before their parents, so that a function stands there once.
"""

from __future__ import annotations

import dataclasses
import json
from base64 import b64decode, b64encode
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact
from poplite.errors import FileLoadError, PopliteError
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, Programs, ProgramType
from poplite.text import clipped

VERSION = 2
"""Increases when the meaning of a field changes.

Version 1 had no numbers of steps and steps in the order of code rows.
"""

OLDEST = 1
"""The oldest version that can be read: what it lacks gets defaults."""

KIND = "report"

FEW = 64
"""Most ranges of tiles, and most different numbers, that are written out as lists."""

PACKED = {"u1": 0xFF, "u2": 0xFFFF, "u4": 0xFFFFFFFF, "i8": 2**63 - 1}
"""Types of numbers that are written as bytes in base 64, little-endian, and the most of each."""

T = TypeVar("T")


class _Malformed(Exception):
    """Why JSON is no report."""


def to_json(report: Any) -> str:
    """Return a report, a dataclass, as JSON."""
    outer = {"poplite": KIND, "version": VERSION, **_encoded(report)}
    return json.dumps(outer, sort_keys=True, allow_nan=False) + "\n"


def from_json(cls: type[T], text: str, source: str = "this") -> T:
    """Return what JSON describes; raise FileLoadError, which names the source, where it cannot."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("poplite") != KIND:
            raise _Malformed("it does not say that it is a report")
        if data.get("version") not in range(OLDEST, VERSION + 1):
            version = clipped(data.get("version"))
            raise _Malformed(
                f"it has version {version}, and this poplite reads {OLDEST} to {VERSION}"
            )
        loaded: T = _decoded(cls, data, {})
        return loaded
    except (
        *(_Malformed, PopliteError, RecursionError),
        *(ValueError, TypeError, IndexError, OverflowError),
    ) as error:
        raise FileLoadError(
            f"{source} is no report that can be loaded: {error}",
            found=clipped(text),
            fix="write it again: report.save(path)",
        ) from error


# -- writing ---------------------------------------------------------------------------------


def _encoded(value: Any) -> Any:
    if isinstance(value, PerTile):
        return _encoded_per_tile(value)
    if isinstance(value, Programs):
        return {name: _encoded_tree(tree) for name, tree in value.items()}
    if isinstance(value, Enum):
        return value.name
    if dataclasses.is_dataclass(value):
        return {field.name: _encoded(getattr(value, field.name)) for field in _saved(value)}
    if isinstance(value, Mapping):
        return {name: _encoded(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_encoded(each) for each in value]
    return value


def _saved(cls: Any) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(cls) if f.metadata.get("saved", True)]


def _encoded_per_tile(numbers: PerTile) -> dict[str, Any]:
    tiles, values = numbers.tiles.array(), numbers.values
    begins = np.flatnonzero(np.diff(tiles, prepend=-2) != 1)
    if len(begins) > FEW:
        where: Any = _packed(np.diff(tiles, prepend=0))
    else:
        ends = np.append(begins[1:], len(tiles)) - 1
        where = np.stack([tiles[begins], tiles[ends]], axis=1).tolist() if len(tiles) else []
    only = values.only if len(tiles) else 0
    written: Any = only
    if only is None:
        written = values.array()
        written = written.tolist() if len(tiles) <= FEW else _packed(written)
    return {"of": numbers.num_tiles, "tiles": where, "values": written}


def _packed(numbers: Int64) -> str:
    """Return many whole numbers as text: their type, and their bytes in base 64."""
    high = int(numbers.max())
    kind = "i8" if int(numbers.min()) < 0 else next(k for k, most in PACKED.items() if high <= most)
    return f"{kind}:{b64encode(numbers.astype('<' + kind).tobytes()).decode()}"


def _unpacked(text: str) -> Int64:
    kind, _, data = text.partition(":")
    if kind not in PACKED:
        raise _Malformed(f"{clipped(kind)} is no type of numbers")
    return np.frombuffer(b64decode(data, validate=True), "<" + kind).astype(np.int64)


def _encoded_tree(tree: Program) -> list[Any]:
    """Return a list for each node: type, name, row, numbers of its children, line, role and count.

    The root comes last.
    """
    numbers: dict[int, int] = {}
    nodes: list[Any] = []
    pending = [tree]
    while pending:
        node = pending[-1]
        if below := [child for child in node.children if id(child) not in numbers]:
            pending.extend(reversed(below))
            continue
        pending.pop()
        if id(node) not in numbers:
            children = [numbers[id(child)] for child in node.children]
            numbers[id(node)] = len(nodes)
            own = [node.type.name, node.name, node.row, children]
            nodes.append([*own, node.at, node.role, node.count])
    return nodes


# -- reading ---------------------------------------------------------------------------------


def _decoded(kind: Any, data: Any, known: Mapping[str, Any]) -> Any:
    """Return the value of JSON by its annotation; `known` has fields that are not saved."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is PerTile:
        return _decoded_per_tile(data)
    if kind is Programs:
        trees = {name: _decoded_tree(nodes) for name, nodes in _object(data).items()}
        return Programs(lambda: trees)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _decoded_object(kind, _object(data), known)
    if origin is UnionType:
        if data is None and NoneType in arguments:
            return None
        (other,) = (each for each in arguments if each is not NoneType)
        return _decoded(other, data, known)
    if origin is Literal:
        if data not in arguments:
            raise _Malformed(f"{clipped(data)} is none of {', '.join(map(repr, arguments))}")
        return data
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        if len(_list(data)) != len(arguments):
            raise _Malformed(f"{clipped(data)} has not {len(arguments)} members")
        return tuple(_decoded(*each, known) for each in zip(arguments, data, strict=True))
    if origin is tuple or origin is Sequence:
        return tuple(_decoded(arguments[0], each, known) for each in _list(data))
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        raise _Malformed(f"{clipped(data)} is not of type {kind.__name__}")
    return data


def _decoded_object(cls: Any, data: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    hints = _hints(cls)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if not field.metadata.get("saved", True):
            values[field.name] = known[field.name]
        elif field.name not in data and field.default is not dataclasses.MISSING:
            values[field.name] = field.default  # it is younger than the report
        elif field.name not in data:
            raise _Malformed(f"a {cls.__name__} has no {field.name!r}")
        else:
            value = _decoded(hints[field.name], data[field.name], known)
            values[field.name] = value
            known = {**known, field.name: value}
            if dataclasses.is_dataclass(value):  # such as the target, for those that come later
                fields = dataclasses.fields(value)
                known = {**known, **{f.name: getattr(value, f.name) for f in fields}}
    return cls(**values)


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls)


def _decoded_per_tile(data: Any) -> PerTile:
    saved = _object(data)
    size, where, values = saved.get("of"), saved.get("tiles"), saved.get("values")
    if type(size) is not int:
        raise _Malformed(f"{clipped(data)} is no number for each tile")
    tiles = np.cumsum(_unpacked(where)) if isinstance(where, str) else _of_ranges(where, size)
    if isinstance(values, int):
        numbers = np.full(len(tiles), values, np.int64)
    else:
        numbers = _unpacked(values) if isinstance(values, str) else _whole(values)
    if len(numbers) != len(tiles) or (np.diff(tiles, prepend=-1) <= 0).any():
        raise _Malformed(f"{clipped(data)} is no number for each tile")
    if len(tiles) and tiles[-1] >= size:
        raise _Malformed(f"tile {tiles[-1]:,} of {size:,}")
    return PerTile(size, compact(tiles), compact(numbers))


def _whole(data: Any) -> Int64:
    """Return a list of whole numbers, or of lists of as many."""
    numbers = np.array(_list(data))
    if numbers.size and numbers.dtype != np.int64:
        raise _Malformed(f"{clipped(data)} are no whole numbers")
    return numbers.astype(np.int64)


def _of_ranges(ranges: Any, size: int) -> Int64:
    """Return the tiles of ranges; refuse them before they are written out, as they may be long."""
    bounds = _whole(ranges).reshape(-1, 2)
    for first, last in bounds.tolist():
        if not 0 <= first <= last < size:
            raise _Malformed(f"tile {last:,} of {size:,}")
    parts = [np.arange(first, last + 1) for first, last in bounds.tolist()]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _decoded_tree(data: Any) -> Program:
    nodes: list[Program] = []
    for kind, name, row, children, *younger in _list(data):
        if kind not in ProgramType.__members__:
            raise _Malformed(f"{clipped(kind)} is no type of program")
        below = tuple(nodes[number] for number in children)
        nodes.append(Program(ProgramType[kind], name, row, below, *younger))
    if not nodes:
        raise _Malformed("a program without nodes")
    return nodes[-1]


def _object(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _Malformed(f"{clipped(data)} is no object")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise _Malformed(f"{clipped(data)} is no list")
    return data
