"""The results of a sweep: a row for each point of a grid of parameters, as arrays by name.

A point that failed also has a row::

    split   cycles   ...   error
    1       709            ''
    2       612            ''
    999     nan            "InvalidTileMapping: ..."
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.codec.archive import ArrayReader
from poplite.codec.codec import Codec, Coder, Json, Reader, Writer, decoded
from poplite.codec.file_formats import SWEEPS, Malformed, add_room, parsed_json, shown
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    UnknownName,
    checked_items,
    checked_kind,
    did_you_mean,
)
from poplite.files import checked_path, read_content, write_text
from poplite.frozen import frozen
from poplite.report.report import data_frame
from poplite.text import amount, clipped, of_type

if TYPE_CHECKING:
    from pandas import DataFrame

CYCLES = "cycles", "compute", "copy", "exchange", "waiting"
BYTES = "received", "fullest", "bytes"
SECONDS = "build_seconds", "compile_seconds", "run_seconds"
MEASURES = (*CYCLES, *BYTES, *SECONDS)
"""Measures of a point, in the order of columns."""

ERROR = "error"
Scalar = str | int | float | bool

_NUMBERS = (int, float, np.integer, np.floating)
_SCALARS = (str, *_NUMBERS, np.bool_)
"""Types of measures, and of parameters."""


class Sweep(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a sweep by name, each with an element for each point of its grid.

    The parameters come first; then, as float64[points], with NaN where a point failed:

    - `cycles` of all programs, and their parts `compute`, `copy`, `exchange` and `waiting`;
    - `received`: bytes that tiles receive; `fullest`: bytes of the fullest tile; `bytes`: of all;
    - `build_seconds`, `compile_seconds` and `run_seconds` on this machine; `compile_seconds` is
      NaN if `build` returned an engine, whose time is part of `build_seconds`.

    `error` comes last: the error that was raised, as text, or "". `pl.sweep` makes a `Sweep`.

    Args:
        parameters: their names.
        rows: for each point its parameters, its measures and its `error`, by name.

    Raises:
        ElementTypeError: for rows without a value for each parameter, or without an error.
        ControlProgramError: if there are no parameters, or one has the name of a measure.

    >>> found = Sweep(("n",), [{"n": 1, "cycles": 70, "error": ""}, {"n": 2, "error": "no"}])
    >>> found["n"].tolist(), found["cycles"].tolist(), found.num_failed
    ([1, 2], [70.0, nan], 1)
    """

    def __init__(self, parameters: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        self.parameters: tuple[str, ...] = _checked_names(parameters)
        rows = _checked_rows(rows, self.parameters)
        self._columns: dict[str, npt.NDArray[Any]] = {
            name: _column([row[name] for row in rows]) for name in self.parameters
        }
        for name in MEASURES:
            self._columns[name] = np.array([row.get(name, math.nan) for row in rows], np.float64)
        self._columns[ERROR] = np.array([row[ERROR] for row in rows], object)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if not isinstance(name, str) or name not in self._columns:
            raise UnknownName(
                f"the sweep has no column {clipped(name)}{_meant(name, self._columns)}",
                found=f"columns: {', '.join(self._columns)}",
                fix=f"sweep[{next(iter(self._columns))!r}]",
            )
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        """Return whether two sweeps have equal columns; NaN equals itself."""
        if not isinstance(other, Sweep):
            return NotImplemented
        return list(self) == list(other) and all(
            np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == theirs.dtype.kind == "f")
            for mine, theirs in zip(self.values(), other.values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def measure(self, name: str) -> npt.NDArray[np.float64]:
        """Return the values of a measure; raise `UnknownName` if there is no such measure."""
        if not isinstance(name, str) or name not in MEASURES:
            raise UnknownName(
                f"a sweep does not measure {clipped(name)}{_meant(name, MEASURES)}",
                found=f"it measures {', '.join(MEASURES)}",
                fix="pass 'cycles' or another of these",
            )
        return self._columns[name]

    @property
    def num_points(self) -> int:
        """Points of the grid."""
        return len(self._columns[ERROR])

    @property
    def num_failed(self) -> int:
        """Points that failed."""
        return int(np.count_nonzero(self._columns[ERROR] != ""))

    def best(self, by: str = "cycles") -> dict[str, Any]:
        """Return the parameters of the first point with the least value of a measure.

        Raises:
            UnknownName: if there is no such measure.
            ControlProgramError: if no point has the measure: all failed, or it is not modelled.

        >>> Sweep(("n",), [{"n": n, "cycles": 9 - n, "error": ""} for n in (1, 2)]).best()
        {'n': 2}
        """
        row = self.best_row(by)
        if row is None:
            raise ControlProgramError(
                f"sweep.best: no point has {by!r}",
                found=f"{self.num_failed:,} of {amount(self.num_points, 'point')} failed",
                fix="read the errors in sweep['error']",
            )
        return {name: self[name].tolist()[row] for name in self.parameters}

    def best_row(self, by: str) -> int | None:
        """Return the position of the first point with the least value of a measure, if any."""
        values = self.measure(by)
        return None if np.isnan(values).all() else int(np.nanargmin(values))

    def to_pandas(self) -> DataFrame:
        """Return the columns as a pandas.DataFrame.

        Raises:
            ControlProgramError: if pandas is not installed.
        """
        return data_frame(dict(self), "sweep.to_pandas")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sweep to a file as JSON, which `poplite-viz sweep` draws.

        Raises:
            FileLoadError: when it cannot be written.
        """
        saved = SavedSweep(
            {name: self[name].tolist() for name in self.parameters},
            {name: self[name].tolist() for name in MEASURES},
            [text.encode(errors="replace").decode() for text in self[ERROR]],
        )
        write_text(path, SWEEPS.text(_CODER.encode(saved, Writer()), "sweep") + "\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep from a file that `save` wrote.

        Raises:
            FileLoadError: for any other file.
            ElementTypeError: if it is not a path.
        """
        name = str(checked_path(path, "Sweep.load", "sweep.json"))
        with SWEEPS.loading(repr(name)):
            content = read_content(path)
            add_room(len(content))
            return _read(parsed_json(content))

    def __repr__(self) -> str:
        failed = f", {self.num_failed:,} failed" if self.num_failed else ""
        return f"<Sweep of {amount(self.num_points, 'point')} over {', '.join(self.parameters)}" + (
            f"{failed}>"
        )


def _checked_names(parameters: object) -> tuple[str, ...]:
    fix = 'pl.Sweep(["split"], rows), as pl.sweep(build, {"split": [1, 2]}) makes it'
    names = checked_items(parameters, "Sweep: parameters", fix)
    if not names:
        raise ControlProgramError("Sweep: there are no parameters", fix=fix)
    for name in names:
        checked_kind(name, str, "Sweep: the name of a parameter", fix)
        check_parameter(name, "Sweep")
    return tuple(names)


def check_parameter(name: str, call: str) -> None:
    """Refuse a parameter with the name of a column of measures."""
    if name in (*MEASURES, ERROR):
        raise ControlProgramError(
            f"{call}: parameter '{name}' has the name of a measure",
            found=f"the measures are {', '.join((*MEASURES, ERROR))}",
            fix=f"rename it, for example to {name}_",
        )


def _checked_rows(rows: object, parameters: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Return the rows if each has all entries that a row of a sweep needs, or raise."""
    example = [*(f"{name!r}: 1" for name in parameters), "'cycles': 70", "'error': ''"]
    fix = f"[{{{', '.join(example)}}}], a dictionary for each point"
    listed = checked_items(rows, "Sweep: rows", fix)
    for number, row in enumerate(listed):
        what = f"Sweep: row {number:,}"
        checked_kind(row, Mapping, what, fix)  # type: ignore[type-abstract]
        kinds: dict[str, tuple[type, ...]] = dict.fromkeys(parameters, _SCALARS)
        kinds |= {name: (NoneType, *_NUMBERS) for name in MEASURES if name in row} | {ERROR: (str,)}
        for name, kind in kinds.items():
            value = row.get(name)
            if not isinstance(value, kind):
                raise ElementTypeError(
                    f"{what}: {name!r} is {clipped(value)}", found=of_type(value), fix=fix
                )
    return listed


def _column(values: Sequence[Scalar]) -> npt.NDArray[Any]:
    """Return an array of the values, with elements of one type, or objects if there are several."""
    kinds = {type(value) for value in values}
    return np.array(values) if len(kinds) == 1 and str not in kinds else np.array(values, object)


def _meant(name: object, known: Iterable[str]) -> str:
    return did_you_mean(name, known) if isinstance(name, str) else ""


# -- files -----------------------------------------------------------------------------------------


class _ParameterCoder(Coder):
    """Values of parameters as JSON; values that JSON lacks are text, {"float": "inf"}."""

    name = "value"

    def fits(self, value: Any) -> bool:
        """Return whether this coder can encode a value."""
        return isinstance(value, _SCALARS)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        value = value.item() if isinstance(value, np.generic) else value
        is_plain = not isinstance(value, float) or math.isfinite(value)
        return value if is_plain else {"float": str(value)}

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        match data:
            case {"float": "inf" | "-inf" | "nan" as text}:
                return float(text)
            case str() | int() | float():
                return data
        raise Malformed(f"{shown(data)} is not a valid parameter value")


class _MeasureCoder(Coder):
    """Measured numbers; null if a number is missing."""

    name = "number"

    def fits(self, value: Any) -> bool:
        """Return whether this coder can encode a value."""
        return isinstance(value, float)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return value if math.isfinite(value) else None

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if data is not None and type(data) not in (int, float):
            raise Malformed(f"{shown(data)} is not a number")
        return math.nan if data is None else float(data)


@frozen
class SavedSweep:
    """The columns of a sweep."""

    parameters: Mapping[str, list[Scalar]]
    measured: Mapping[str, list[float]]
    error: list[str]


_CODER = Codec({Scalar: _ParameterCoder(), float: _MeasureCoder()}).coder_of(SavedSweep)


def _read(data: Json) -> Sweep:
    of = Reader(ArrayReader({}), (), (), ())
    saved: SavedSweep = decoded(_CODER, SWEEPS.parts(data), of)
    named: dict[str, list[Any]] = {**saved.parameters, **saved.measured, ERROR: saved.error}
    if not saved.parameters or list(named) != [*saved.parameters, *MEASURES, ERROR]:
        raise Malformed("its columns must be those of a sweep")
    if len({len(values) for values in named.values()}) != 1:
        raise Malformed("its columns must have equal lengths")
    rows = zip(*named.values(), strict=True)
    return Sweep(tuple(saved.parameters), [dict(zip(named, row, strict=True)) for row in rows])
