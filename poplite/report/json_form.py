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
import math
from base64 import b64decode, b64encode
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import (
    MOST_NARROW,
    NARROW,
    Listed,
    Runs,
    Series,
    compact,
    constant,
    counting,
)
from poplite.errors import FileLoadError, PopliteError
from poplite.files import WRONG_CONTENT, parsed_json
from poplite.report.accesses import MOST_PIECES
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Programs, nodes_of, tree_of
from poplite.report.validate import check_report
from poplite.source import here
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

MOST = 2**63
"""Whole numbers are below it, as those of arrays, and not below 0."""

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
    """Return the report of JSON; raise FileLoadError, which names the source, for all else."""
    try:
        data = parsed_json(text)
        if not isinstance(data, dict) or data.get("poplite") != KIND:
            raise _Malformed("it does not say that it is a report")
        if data.get("version") not in range(OLDEST, VERSION + 1):
            version = clipped(data.get("version"))
            raise _Malformed(
                f"it has version {version}, and this poplite reads {OLDEST} to {VERSION}"
            )
        loaded: T = _decoded(cls, data, {})
        check_report(loaded)
        return loaded
    except (_Malformed, PopliteError, *WRONG_CONTENT) as error:
        raise FileLoadError(
            f"{source} is no report that can be loaded: {error}",
            at=here(),
            found=clipped(text),
            fix="write it again: report.save(path)",
        ) from error


# -- writing ---------------------------------------------------------------------------------


def _encoded(value: Any) -> Any:
    if isinstance(value, PerTile):
        return _encoded_per_tile(value)
    if isinstance(value, Programs):
        return {name: nodes_of(tree) for name, tree in value.items()}
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


def _unpacked(text: str) -> npt.NDArray[np.integer[Any]]:
    kind, _, data = text.partition(":")
    if kind not in PACKED:
        raise _Malformed(f"{clipped(kind)} is no type of numbers")
    return np.frombuffer(b64decode(data, validate=True), "<" + kind)


# -- reading ---------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What an annotation says, looked up once."""

    origin: Any
    arguments: tuple[Any, ...]
    is_object: bool


@cache
def _kind(annotation: Hashable) -> _Kind:
    is_object = isinstance(annotation, type) and dataclasses.is_dataclass(annotation)
    return _Kind(get_origin(annotation), get_args(annotation), is_object)


class _Part(NamedTuple):
    """A field of a class: its annotation; of a PerTile what it counts, and from where."""

    name: str
    kind: Any
    is_saved: bool
    default: Any
    numbers: Literal["pairs", "pieces"] | None
    least: int


@cache
def _parts(cls: Hashable) -> tuple[_Part, ...]:
    hints, fields = get_type_hints(cls), dataclasses.fields(cls)  # type: ignore[arg-type]
    return tuple(
        _Part(
            *(f.name, hints[f.name], f.metadata.get("saved", True), f.default),
            f.metadata.get(NUMBERS),
            f.metadata.get(LEAST, 0),
        )
        for f in fields
    )


NUMBERS = "numbers"
"""Says of what a PerTile has numbers: blocks of tiles in pairs, or pieces; otherwise of tiles."""

LEAST = "least"
"""Says what the numbers of a PerTile are not below, where that is not 0."""

LENT = ("target", "programs")
"""Fields that are not saved with each step, but once for all."""


@cache
def _lent(kind: Hashable) -> tuple[str, ...]:
    """Return which of these a class has."""
    parts = _parts(kind) if _kind(kind).is_object else ()
    return tuple(part.name for part in parts if part.name in LENT)


def _decoded(kind: Any, data: Any, known: Mapping[str, Any]) -> Any:
    """Return the value of JSON by its annotation; `known` has fields that are not saved."""
    if kind is PerTile:
        size = known.get(NUMBERS, known["target"].tiles)
        return _decoded_per_tile(data, size, known.get(LEAST, 0))
    origin, arguments, is_object = _kind(kind)
    if is_object:
        return _decoded_object(kind, _object(data), known)
    if kind is Programs:
        trees = {name: tree_of(_list(nodes)) for name, nodes in _object(data).items()}
        return Programs(lambda: trees)
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
        inner = arguments[0]
        return tuple([_decoded(inner, each, known) for each in _list(data)])
    if kind is float and type(data) is int:
        data = float(data)
    if type(data) is not kind:
        raise _Malformed(f"{clipped(data)} is not of type {kind.__name__}")
    if kind is int and not 0 <= data < MOST:
        raise _Malformed(f"{clipped(data)} is not among the numbers of a report")
    if kind is float and not 0 <= data < math.inf:
        raise _Malformed(f"{clipped(data)} is not a finite number from 0 on")
    return data


def _decoded_object(cls: Any, data: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for name, kind, is_saved, default, numbers, least in _parts(cls):
        if not is_saved:
            values[name] = known[name]
        elif name not in data and default is not dataclasses.MISSING:
            values[name] = default  # it is younger than the report
        elif name not in data:
            raise _Malformed(f"a {cls.__name__} has no {name!r}")
        else:
            inner = known
            if numbers is not None:
                count = _count(numbers, values, data[name], known)
                inner = {**known, NUMBERS: count, LEAST: least}
            value = values[name] = _decoded(kind, data[name], inner)
            if name in LENT:  # for those that come later, in this object and beside it
                known = {**known, name: value}
            elif lent := _lent(kind):
                known = {**known, **{each: getattr(value, each) for each in lent}}
    return cls(**values)


def _count(numbers: str, values: Mapping[str, Any], data: Any, known: Mapping[str, Any]) -> int:
    """Return how many numbers a PerTile may have that are not those of tiles."""
    if numbers == "pairs":
        block = values["block"]
        return (-(-known["target"].tiles // block) if block > 0 else 0) ** 2
    size = data.get("of") if isinstance(data, dict) else 0
    return size if type(size) is int and 0 <= size <= MOST_PIECES else 0


def _decoded_per_tile(data: Any, size: int, least: int) -> PerTile:
    """Return the numbers of so many tiles: what is written about ranges stays as short."""
    saved = _object(data)
    where, values = saved.get("tiles"), saved.get("values")
    if saved.get("of") != size:
        raise _Malformed(f"{clipped(data)} is not a number for each of {size:,}")
    tiles = _listed(_of_steps(where, size)) if isinstance(where, str) else _of_ranges(where, size)
    if type(values) is int and abs(values) < MOST:
        numbers: Series = constant(values, tiles.count)
    elif isinstance(values, str):
        numbers = _listed(_unpacked(values))
    else:
        numbers = compact(_whole(values))
    if numbers.count != tiles.count:
        raise _Malformed(f"{clipped(data)} is no number for each tile")
    if numbers.count and numbers.low < least:
        raise _Malformed(f"{clipped(data)} has numbers below {least}")
    return PerTile(size, tiles, numbers)


def _listed(numbers: npt.NDArray[np.integer[Any]]) -> Series:
    """Return many numbers as they are: what is regular was not written as bytes."""
    return Listed(0, numbers.astype(NARROW if numbers.dtype.kind == "u" else np.int64, copy=False))


def _of_steps(text: str, size: int) -> npt.NDArray[np.integer[Any]]:
    """Return the tiles of the distances from each to the next."""
    steps = _unpacked(text)
    tiles = np.cumsum(steps, dtype=np.int64)
    if (steps[1:] < 1).any() or (steps[:1] < 0).any() or (tiles < 0).any():
        raise _Malformed(f"{clipped(text)}: tiles do not rise")
    if len(tiles) and tiles[-1] >= size:
        raise _Malformed(f"tile {tiles[-1]:,} of {size:,}")
    return tiles.astype(NARROW) if size <= MOST_NARROW else tiles


def _whole(data: Any) -> Int64:
    """Return a list of whole numbers, or of lists of as many."""
    numbers = np.array(_list(data))
    if numbers.size and numbers.dtype != np.int64:
        raise _Malformed(f"{clipped(data)} are no whole numbers")
    return numbers.astype(np.int64)


def _of_ranges(ranges: Any, size: int) -> Series | Runs:
    """Return the tiles of ranges, which may be many more than their numbers."""
    before = -1
    bounds = _whole(ranges).reshape(-1, 2).tolist()
    for first, last in bounds:
        if not before < first <= last:
            raise _Malformed(f"tiles {first:,} to {last:,} do not rise")
        if last >= size:
            raise _Malformed(f"tile {last:,} of {size:,}")
        before = last
    if len(bounds) == 1:
        return counting(bounds[0][0], bounds[0][1] - bounds[0][0] + 1)
    if not bounds:
        return constant(0, 0)
    runs = np.array(bounds, np.int64)
    return Runs(runs[:, 0], runs[:, 1] + 1)


def _object(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _Malformed(f"{clipped(data)} is no object")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise _Malformed(f"{clipped(data)} is no list")
    return data
