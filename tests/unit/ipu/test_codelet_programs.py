"""Codelets of classes that are hard to write in C++ have the bits of the simulator."""

from __future__ import annotations

import functools
import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import scripts
from helpers.arithmetic_rows import ROWS, SECTIONS, Row, source
from helpers.codelet_programs import PROGRAMS, Cast, Raised
from helpers.codelets import EXACT, NATIVE, CompiledCodelets, arrays_of, compiled, difference, drawn
from helpers.depth import deep
from poplite.errors import VertexCompileError
from poplite.ipu.codelets.file_text import codelet_file
from poplite.testing import native_codelets
from poplite.types import ELEMENT_TYPES
from poplite.vertex.compute import check
from poplite.vertex.vertex import Vertex

UBSAN = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
SIZES = (12, 70, 200)


def casts() -> Iterator[type[Vertex]]:
    """Yield `Cast` for all pairs of element types that it has a meaning for."""
    template: Any = Cast
    elements = [each for each in ELEMENT_TYPES if not each.__name__.startswith("QUARTER")]
    for pair in itertools.product(elements, repeat=2):
        try:
            check(template[pair])
        except VertexCompileError:  # a float is not stored as an int
            continue
        yield template[pair]


def tables(folder: Path) -> dict[type[Vertex], list[Row]]:
    """Return a class for each section of docs/arithmetic.md, with the rows that it evaluates."""
    found = {}
    for number, section in enumerate(SECTIONS):
        rows = [row for row in ROWS if row.section == section and "QUARTER" not in str(row)]
        path = folder / f"section{number}.py"
        path.write_text(source(rows).replace("class Table", f"class Table{number}"))
        found[getattr(scripts.load(path), f"Table{number}")] = rows
    return found


def assert_equal_bits(
    native: CompiledCodelets, classes: Iterator[type[Vertex]], turns: int
) -> None:
    """Compare drawn vertices of classes with the simulator."""
    rng = np.random.default_rng(7)
    for cls in classes:
        for turn in range(turns):
            found = difference(cls, native, drawn(cls, rng, SIZES[turn % len(SIZES)]))
            assert found is None, found


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Vertex], list[Row]]:
    return tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def native(
    tmp_path_factory: pytest.TempPathFactory, rows_of: dict[type[Vertex], list[Row]]
) -> CompiledCodelets:
    return compiled([*PROGRAMS, *casts(), *rows_of], tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("cls", PROGRAMS, ids=lambda cls: cls.__name__)
def test_programs_have_equal_bits(native: CompiledCodelets, cls: type[Vertex]) -> None:
    assert_equal_bits(native, iter([cls]), 12)


def test_every_element_type_is_stored_as_every_other(native: CompiledCodelets) -> None:
    assert_equal_bits(native, casts(), 2)


def test_rows_of_the_arithmetic_have_equal_bits(
    native: CompiledCodelets, rows_of: dict[type[Vertex], list[Row]]
) -> None:
    for cls, rows in rows_of.items():
        held = {f"{name}{row.line}": value for row in rows for name, _, value in row.fields}
        zeros = {f"out{row.line}": 0 for row in rows}
        found = difference(cls, native, arrays_of(cls, held | zeros))
        assert found is None, found


@deep
@pytest.mark.parametrize("flags", [(*EXACT, "-O2"), (*EXACT, *UBSAN)], ids=["optimised", "ubsan"])
def test_programs_have_equal_bits_under_other_flags(
    flags: tuple[str, ...], tmp_path: Path, rows_of: dict[type[Vertex], list[Row]]
) -> None:
    native = compiled([*PROGRAMS, *casts(), *rows_of], tmp_path, flags=flags)
    assert_equal_bits(native, iter(PROGRAMS), 24)
    assert_equal_bits(native, iter([*casts(), *rows_of]), 3)


@deep
def test_programs_that_check_indices_have_equal_bits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked = functools.partial(codelet_file, stops_outside=True)
    monkeypatch.setattr(native_codelets, "codelet_file", checked)
    assert_equal_bits(compiled([*PROGRAMS], tmp_path), iter(PROGRAMS), 6)


def test_stopped_vertices_stop_in_both(native: CompiledCodelets) -> None:
    fields = {"x": np.zeros(3, np.float32), "n": np.array([35], np.int32)}
    assert native.run(Raised, fields) == "stopped"


def test_equal_classes_have_equal_texts() -> None:
    assert pl.ipu.codelet_text(PROGRAMS) == pl.ipu.codelet_text(PROGRAMS)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="clang is not installed")
def test_clang_has_no_warning_of_parentheses(tmp_path: Path) -> None:
    """Trap 9: it warns of `if ((a == b))`, and popc is a clang."""
    text = codelet_file([*PROGRAMS]).text
    doubled = re.sub(r"if \(([^()]* == [^()]*)\) ", r"if ((\1)) ", text)
    warned = []
    for number, each in enumerate([text, doubled]):
        source = tmp_path / f"{number}.cpp"
        source.write_text(f"#define PL_STOP() __builtin_trap()\n{each}")
        words: list[Any] = [
            "clang++",
            "-std=c++17",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-I",
            NATIVE,
        ]
        words += ["-Wno-unknown-attributes", source]  # of Poplar's own
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        warned.append(done.stderr)
    assert warned[0] == ""
    assert "[-Wparentheses-equality]" in warned[1]
