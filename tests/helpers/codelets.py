"""Codelets compiled by a C++ compiler of this machine, and run on arrays beside the simulator.

All classes of a test are one file, as a compiler takes longest to start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from poplite.cpp.compilers import any_compiler
from poplite.errors import FileLoadError
from poplite.ipu.codelet_file import declared_fields
from poplite.testing.forms import (
    EXACT as EXACT,
    CompiledCodelets as CompiledCodelets,
    Fields,
    compiled as compiled_natively,
    copied,
    difference as native_difference,
    equal_elements,
)
from poplite.vertex.vertex import Vertex

STAND_IN = Path(__file__).parent / "stand_in"
"""The stand-in of Poplar's graphs; the headers of codelets are `NATIVE`."""

NATIVE = Path(str(files("poplite.testing").joinpath("native")))

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-attributes")


def compiler() -> tuple[str, ...]:
    """Return the words that call a C++ compiler; skip the test where there is none."""
    try:
        return any_compiler()
    except FileLoadError as error:
        pytest.skip(error.what)


def compiled(
    classes: Iterable[type[Vertex]],
    folder: Path,
    *,
    edit: Callable[[str], str] = str,
    flags: Sequence[str] = EXACT,
) -> CompiledCodelets:
    """Compile the codelets of classes, without a warning; `edit` may change the text before."""
    compiler()
    return compiled_natively(classes, folder, edit=edit, flags=(*WARNINGS, *flags))


def equal_bits(got: npt.NDArray[Any], want: npt.NDArray[Any]) -> bool:
    """Return whether arrays have equal bits; any NaN is as good as another."""
    return bool(equal_elements(got, want).all())


def difference(cls: type[Vertex], native: CompiledCodelets, fields: Fields) -> str | None:
    """Return how the native codelet differs from the simulator; None where it does not.

    Fields for which the simulator finds an index outside are not run natively.
    """
    found = native_difference(cls, native, fields)
    return f"{found}, of {fields}" if found else None


def arrays_of(cls: type[Vertex], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as arrays of the element types of a class; outputs that are left out are 0."""
    made: dict[str, Any] = {}
    for field in declared_fields(cls):
        value, dtype = values[field.name], field.element.dtype
        if field.depth == 2:
            made[field.name] = [np.array(row, dtype).reshape(-1) for row in value]
        else:
            made[field.name] = np.array(value, dtype).reshape(-1)
    return made


SPECIAL = (0.0, 1.0, np.inf, np.nan, 6e-8, 1e-40, 65504.0, 3e38, 1e-46, 16777217.0, 0.1)


def with_special_floats(fields: Fields, rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Return fields in which a share of the floats are special ones, of both signs."""
    made = copied(fields)
    for value in made.values():
        for array in value if isinstance(value, list) else [value]:
            if array.dtype.kind == "f" and array.size:
                special = rng.choice(SPECIAL, array.size) * rng.choice([-1.0, 1.0], array.size)
                chosen = rng.random(array.size) < share
                with np.errstate(all="ignore"):
                    array[chosen] = special[chosen].astype(array.dtype)
    return made


def drawn(cls: type[Vertex], rng: np.random.Generator, size: int) -> dict[str, Any]:
    """Return fields of a class, all of one size, with special numbers among them."""
    made: dict[str, Any] = {}
    special = float(rng.choice([0.0, 0.1, 0.6]))
    for field in declared_fields(cls):
        count = size if field.depth else 1
        rows = [_elements(field.element.dtype, count, rng, special) for _ in range(3)]
        made[field.name] = rows if field.depth == 2 else rows[0]
    return made


def _elements(dtype: Any, count: int, rng: np.random.Generator, special: float) -> Any:
    chosen = rng.random(count) < special
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            usual = (rng.standard_normal(count) * 10.0 ** rng.integers(-2, 3, count)).astype(dtype)
            signs = rng.choice([-1.0, 1.0], count)
            return np.where(chosen, (rng.choice(SPECIAL, count) * signs).astype(dtype), usual)
    ends = np.iinfo(dtype)
    usual = rng.integers(0, 20, count).astype(dtype)
    return np.where(chosen, rng.choice(np.array([ends.min, ends.max, 0, 1], dtype), count), usual)
