"""Codelets compiled by a C++ compiler of this machine, and run on arrays beside the simulator.

The headers in `stand_in` take the place of Poplar's. All classes of a test are one file, as a
compiler takes longest to start.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.ipu.codelets.class_text import declared_fields
from poplite.ipu.codelets.file_text import CodeletFile, codelet_file
from poplite.ipu.codelets.function import member
from poplite.vertex.compute import InterpretedSelf, interpreted
from poplite.vertex.vertex import MultiVertex, Vertex

STAND_IN = Path(__file__).parent / "stand_in"

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-attributes")
EXACT = ("-ffp-contract=off",)

Fields = Mapping[str, Any]
"""What a vertex is connected to: an array for each edge, a list of them for a list, numbers."""

STOPPED = "stopped"
OUTSIDE = "an index is outside"


def compiler() -> str:
    """Return the C++ compiler of this machine; skip the test where there is none."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name):
            return name
    pytest.skip("no C++ compiler: neither $CXX nor c++, g++, clang++ on PATH")


def compiled(
    classes: Iterable[type[Vertex]],
    folder: Path,
    *,
    edit: Callable[[str], str] = str,
    flags: Sequence[str] = EXACT,
) -> Native:
    """Compile the codelets of classes; `edit` may change the text before."""
    made = codelet_file(classes)
    source, library = folder / "codelets.cpp", folder / "codelets.so"
    stop = "namespace stand_in { [[noreturn]] void stop(); }\n#define PL_STOP() stand_in::stop()\n"
    source.write_text(stop + edit(made.text) + "\n" + _glue(made))
    command = [compiler(), "-std=c++17", "-O0", "-shared", "-fPIC", *WARNINGS, *flags]
    command += ["-I", str(STAND_IN), str(source), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return Native(ctypes.CDLL(str(library)), made.names)


def _glue(made: CodeletFile) -> str:
    lines = ['#include "binding.hpp"', "void stand_in::stop() { throw stand_in::Stopped{}; }"]
    for cls, name in made.names.items():
        binds = " ".join(f"b.bind(v.{member(field.name)});" for field in declared_fields(cls))
        is_multi = issubclass(cls, MultiVertex)
        run = "for (unsigned w = 0; w < workers; ++w) all = v.compute(w) && all;"
        run = run if is_multi else "all = v.compute();"
        lines.append(
            f'extern "C" int run_{name}(void *const *data, const std::size_t *sizes, '
            "[[maybe_unused]] unsigned workers) {\n"
            f"  {name} v; stand_in::Binding b{{data, sizes}}; bool all = true;\n"
            f"  stand_in::Binding::use(workers); {binds}\n"
            f"  try {{ {run} }} catch (const stand_in::Stopped &) {{ return 2; }}\n"
            "  catch (const std::out_of_range &) { return 3; }\n  return all;\n}"
        )
    return "\n".join(lines) + "\n"


class Native:
    """Compiled codelets."""

    def __init__(self, library: ctypes.CDLL, names: Mapping[type[Vertex], str]) -> None:
        self._library, self._names = library, names

    def run(self, cls: type[Vertex], fields: Fields, workers: int = 6) -> bool | str:
        """Run one vertex in place; return what it returns, or why it stopped."""
        rows: list[tuple[Any, int]] = []
        for field in declared_fields(cls):
            value = fields[field.name]
            if field.depth == 2:
                rows.append((None, len(value)))
            rows += [(each, each.size) for each in (value if field.depth == 2 else [value])]
        data = (ctypes.c_void_p * len(rows))(
            *[None if a is None else a.ctypes.data for a, _ in rows]
        )
        sizes = (ctypes.c_size_t * len(rows))(*[size for _, size in rows])
        found = getattr(self._library, f"run_{self._names[cls]}")(data, sizes, workers)
        return {2: STOPPED, 3: OUTSIDE}.get(found) or bool(found)


def run_interpreted(cls: type[Vertex], fields: Fields, workers: int = 6) -> bool | str:
    """Run one vertex in place, as the simulator does in its interpreted form."""
    given = {f.name: fields[f.name] for f in declared_fields(cls)}
    for field in declared_fields(cls):
        if not field.is_edge and not field.depth:
            given[field.name] = given[field.name][0]
    form = interpreted(cls)
    is_multi = issubclass(cls, MultiVertex)
    if is_multi:
        given["num_workers"] = workers
    own, result = InterpretedSelf(cls, given), True
    try:
        with np.errstate(all="ignore"):
            for arguments in [(w,) for w in range(workers)] if is_multi else [()]:
                result = form(own, *arguments) is not False and result
    except pl.TensorIndexError:
        return OUTSIDE
    except Exception:
        return STOPPED
    return result


def copied(fields: Fields) -> dict[str, Any]:
    """Return fields with arrays of their own."""
    return {
        name: [each.copy() for each in value] if isinstance(value, list) else value.copy()
        for name, value in fields.items()
    }


def difference(cls: type[Vertex], native: Native, fields: Fields) -> str | None:
    """Return how the native codelet differs from the simulator; None where it does not.

    Fields for which the simulator finds an index outside are not run natively.
    """
    defined, made = copied(fields), copied(fields)
    expected = run_interpreted(cls, defined)
    if expected == OUTSIDE:
        return None
    found = native.run(cls, made)
    if found != expected:
        return f"{cls.__name__} returns {found}, not {expected}, of {fields}"
    if expected == STOPPED:
        return None
    for field in declared_fields(cls):
        if not field.writes:
            continue
        pairs = zip(_listed(made[field.name]), _listed(defined[field.name]), strict=True)
        for row, (got, want) in enumerate(pairs):
            if not equal_bits(got, want):
                return f"{cls.__name__}.{field.name}[{row}] is {got}, not {want}, of {fields}"
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def equal_bits(got: Any, want: Any) -> bool:
    """Return whether arrays have equal bits; any NaN is as good as another."""
    if got.dtype.kind != "f":
        return bool((got == want).all())
    bits = f"u{got.dtype.itemsize}"
    same = (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))
    return bool(same.all())


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
        for array in _listed(value):
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
