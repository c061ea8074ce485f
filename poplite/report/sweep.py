"""What a sweep found: a row for each point of a grid of parameters, as arrays by name.

split   cycles   ...   error
1       709            ''
2       612            ''
999     nan            "InvalidTileMapping: ..."        a point that failed keeps its row
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    FileLoadError,
    UnknownName,
    checked_items,
    checked_kind,
    did_you_mean,
)
from poplite.files import WRONG_CONTENT, checked_path, parsed_json, read_text, write_text
from poplite.source import here
from poplite.text import amount, clipped, of_type

CYCLES = "cycles", "compute", "copy", "exchange", "waiting"
BYTES = "received", "fullest", "bytes"
SECONDS = "build_seconds", "compile_seconds", "run_seconds"
MEASURES = (*CYCLES, *BYTES, *SECONDS)
"""What is measured of a point, in the order of columns."""

ERROR = "error"
KIND, VERSION = "sweep", 1
NOT_FINITE = "float"
"""Key of the text of a parameter that JSON cannot write: {"float": "inf"}."""

Scalar = str | int | float | bool

_NUMBERS = (int, float, np.integer, np.floating)
_SCALARS = (str, *_NUMBERS, np.bool_)
"""Kinds of what is measured, and of parameters."""


class Sweep(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a sweep by name, each with an element for each point of its grid.

    First the parameters; then, float64[points], and NaN where a point failed:

    - `cycles` of all programs, and of these `compute`, `copy`, `exchange` and `waiting` for others;
    - `received`: bytes that tiles receive; `fullest`: bytes of the fullest tile; `bytes`: of all;
    - `build_seconds`, `compile_seconds` and `run_seconds` that this took here; `compile_seconds` is
      NaN where `build` returned an engine, which is part of `build_seconds`.

    Last `error`, text: what was raised, "" where nothing was. `pl.sweep` makes it.

    Args:
        parameters: their names.
        rows: of each point its parameters, what was measured, and its `error`, by name.

    Raises:
        ElementTypeError: for rows without a value of each parameter, or without an error.

    >>> found = Sweep(("n",), [{"n": 1, "cycles": 70, "error": ""}, {"n": 2, "error": "no"}])
    >>> found["n"].tolist(), found["cycles"].tolist(), found.num_failed
    ([1, 2], [70.0, nan], 1)
    """

    def __init__(self, parameters: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        self.parameters = _checked_names(parameters)
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
                at=here(),
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

    def measure(self, name: str) -> npt.NDArray[np.float64]:
        """Return what was measured; raises `UnknownName` where that is no measure."""
        if not isinstance(name, str) or name not in MEASURES:
            raise UnknownName(
                f"a sweep does not measure {clipped(name)}{_meant(name, MEASURES)}",
                at=here(),
                found=f"it measures {', '.join(MEASURES)}",
                fix="'cycles', or another of these",
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
        """Return the parameters of the point with the least of a measure, the first of equals.

        Raises:
            UnknownName: where there is no such measure.
            ControlProgramError: where no point has it: all failed, or it is not modelled.

        >>> Sweep(("n",), [{"n": n, "cycles": 9 - n, "error": ""} for n in (1, 2)]).best()
        {'n': 2}
        """
        row = self.best_row(by)
        if row is None:
            raise ControlProgramError(
                f"sweep.best: no point has {by!r}",
                at=here(),
                found=f"{self.num_failed:,} of {amount(self.num_points, 'point')} failed",
                fix="look at sweep['error']",
            )
        return {name: self[name].tolist()[row] for name in self.parameters}

    def best_row(self, by: str) -> int | None:
        """Return the position of the point with the least of a measure; None where none has it."""
        values = self.measure(by)
        return None if np.isnan(values).all() else int(np.nanargmin(values))

    def to_pandas(self) -> Any:
        """Return the columns as a pandas.DataFrame.

        Raises:
            ControlProgramError: where pandas is missing.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ControlProgramError(
                "sweep.to_pandas: pandas is not installed",
                at=here(),
                fix="pip install 'poplite[sweep]'; dict(sweep) holds the same arrays",
            ) from error
        return pandas.DataFrame(dict(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sweep to a file as JSON, which `poplite-viz sweep` draws.

        Raises:
            FileLoadError: when it cannot be written.
        """
        columns = {
            name: [(_encoded if name in self.parameters else _plain)(v) for v in values.tolist()]
            for name, values in self.items()
        }
        outer = {"poplite": KIND, "version": VERSION, "parameters": self.parameters}
        write_text(path, json.dumps(outer | {"columns": columns}, allow_nan=False) + "\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep from a file that `save` wrote.

        Raises:
            FileLoadError: for anything else.
            ElementTypeError: for what is no path.
        """
        name = str(checked_path(path, "Sweep.load", "sweep.json"))
        try:
            return _read(parsed_json(read_text(path)))
        except OSError as error:
            raise FileLoadError(
                f"cannot read {name!r}: {error.strerror or error}",
                at=here(),
                fix="name a file that pl.sweep(build, grid).save(path) wrote",
            ) from error
        except WRONG_CONTENT as error:
            raise FileLoadError(
                f"{name!r} is no sweep that can be loaded: {error}",
                at=here(),
                fix="save one: pl.sweep(build, grid).save(path)",
            ) from error

    def __repr__(self) -> str:
        failed = f", {self.num_failed:,} failed" if self.num_failed else ""
        return f"<Sweep of {amount(self.num_points, 'point')} over {', '.join(self.parameters)}" + (
            f"{failed}>"
        )


def _checked_names(parameters: object) -> tuple[str, ...]:
    fix = 'pl.Sweep(["split"], rows), as pl.sweep(build, {"split": [1, 2]}) makes it'
    names = checked_items(parameters, "Sweep: parameters", fix)
    for name in names:
        checked_kind(name, str, "Sweep: the name of a parameter", fix)
    return tuple(names)


def _checked_rows(rows: object, parameters: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Return rows that have what each of a sweep has, or raise."""
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
                    f"{what}: {name!r} is {clipped(value)}",
                    at=here(),
                    found=of_type(value),
                    fix=fix,
                )
    return listed


def _column(values: Sequence[Scalar]) -> npt.NDArray[Any]:
    """Return an array of one kind of values; of objects where there are several kinds."""
    kinds = {type(value) for value in values}
    return np.array(values) if len(kinds) == 1 and str not in kinds else np.array(values, object)


def _meant(name: object, known: Iterable[str]) -> str:
    return did_you_mean(name, known) if isinstance(name, str) else ""


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _encoded(value: Any) -> Any:
    """Return a parameter as JSON has it, which has no infinities and no NaN."""
    return value if _plain(value) is not None else {NOT_FINITE: str(value)}


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == [NOT_FINITE]:
        found = float(value[NOT_FINITE])
        if not math.isfinite(found):
            return found
    return value


def _read(data: Any) -> Sweep:
    if data["poplite"] != KIND or data["version"] != VERSION:
        raise ValueError(f"it is of kind {data['poplite']!r:.40}, version {data['version']!r:.40}")
    parameters, columns = list(data["parameters"]), dict(data["columns"])
    if list(columns) != [*parameters, *MEASURES, ERROR]:
        raise ValueError("its columns are not those of a sweep")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise ValueError("its columns are of several lengths")
    for name in parameters:
        columns[name] = [_decoded(value) for value in columns[name]]
    for name, values in columns.items():
        kinds = (str,) if name == ERROR else (str, int, float) if name in parameters else ()
        for value in values:
            is_number = value is None or type(value) in (int, float)
            if not (isinstance(value, kinds) if kinds else is_number):
                raise ValueError(f"column {name!r} holds {value!r:.40}")
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return Sweep(parameters, [{k: v for k, v in row.items() if v is not None} for row in rows])
