"""What the lint says of doubles and divisions is what a compiler for 32 bits does.

clang, of the package `ziglang` where that is installed, compiles codelets for a processor with
32-bit words, and calls a function of software for each operation on doubles, and each division of
64-bit integers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import poplite as pl
from helpers.codelets import NATIVE
from helpers.depth import deep
from helpers.vertex_classes import vertex_classes
from poplite.ipu.codelets.file_text import codelet_file
from poplite.ipu.linting import emulated
from poplite.testing.drawn_fields import classes_of
from poplite.vertex.vertex import MultiVertex, Vertex, has_compute

ROOT = Path(__file__).resolve().parents[3]

TARGET = ("-target", "thumb-linux-musleabihf", "-mcpu=cortex_m4")
CALL = re.compile(r"\bbl?\s+(__aeabi_(?:d\w+|\w+2d|u?ldivmod))\b")
STOP = "#define PL_STOP() __builtin_trap()\n"


def calls_of(classes: Iterable[type[Vertex]], folder: Path) -> set[str]:
    """Return the functions of software that codelets call for doubles and divisions."""
    pytest.importorskip("ziglang")
    made = codelet_file(classes)
    runs = (
        f'extern "C" bool run_{name}({name} &v) '
        f"{{ return v.compute({'0' if issubclass(cls, MultiVertex) else ''}); }}"
        for cls, name in made.names.items()
    )
    source, output = folder / "codelets.cpp", folder / "codelets.s"
    source.write_text("\n".join([STOP, made.text, *runs]))
    compiler = [sys.executable, "-m", "ziglang", "c++", *TARGET, "-std=c++17", "-O2", "-S"]
    command = [*compiler, "-ffp-contract=off", "-I", str(NATIVE), str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return set(CALL.findall(output.read_text(errors="replace")))


def is_linted(cls: type[Vertex]) -> bool:
    return any(each.rule in ("double", "division") for each in emulated(cls))


def has_codelet(cls: type[Vertex]) -> bool:
    try:
        codelet_file([cls])
    except pl.VertexCompileError:
        return False
    return True


def library() -> list[type[Vertex]]:
    """Return the vertex library, templates with some element types."""
    found: list[type[Vertex]] = []
    for path in sorted((ROOT / "vertices").rglob("*.py")):
        for _, cls in vertex_classes(path, ROOT):
            if has_compute(cls):
                found += filter(has_codelet, classes_of(cls)[:3])
    return list(dict.fromkeys(found))


class Doubles(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = (i + 0.5) * self.x[i]


class Divides(pl.Vertex):
    by: pl.State[pl.INT]
    n: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.n)):
            self.n[i] = self.n[i] // self.by


class Floats(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * 0.5 + self.x[i] / 3


class Compares(pl.Vertex):
    n: pl.Input[pl.LONGLONG]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        if self.n < 1e17:  # a small literal would be compared as an int
            self.y = 1.0


class Larger(pl.Vertex):
    n: pl.Input[pl.INT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = max(self.n, 0.5)


class Strides(pl.Vertex):
    first: pl.Input[pl.LONGLONG]
    n: pl.Input[pl.LONGLONG]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(self.first, self.n, 7):
            self.y[i % 8] = i


CLASSES = (Doubles, Divides, Floats, Compares, Larger, Strides)


def test_what_the_lint_finds_is_called(tmp_path: Path) -> None:
    assert "__aeabi_dadd" in calls_of([Doubles], tmp_path)
    assert calls_of([Divides], tmp_path) == {"__aeabi_ldivmod"}
    assert calls_of([Compares], tmp_path) == {"__aeabi_l2d", "__aeabi_dcmplt"}
    assert "__aeabi_d2f" in calls_of([Larger], tmp_path)
    assert calls_of([Floats, Strides], tmp_path) == set()
    linted = {cls for cls in CLASSES if is_linted(cls)}
    assert linted == {Doubles, Divides, Compares, Larger}


@deep
def test_codelets_without_a_finding_call_nothing(tmp_path: Path) -> None:
    classes = [cls for cls in library() if not is_linted(cls)]
    assert len(classes) > 30
    assert calls_of(classes, tmp_path) == set()
