"""Nested loops take no more than a few passes each, however deep they are nested."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from helpers.scripts import load
from poplite.ipu.codelets.file_text import codelet_file
from poplite.vertex.compute import check, compiled_form, loops_of
from poplite.vertex.vertex import Vertex

HEAD = """
import poplite as pl

{functions}

class V(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.INT]
    y: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
"""


def nest(depth: int, loop: str, inner: str, before: str = "", behind: str = "") -> str:
    """Return nested loops; `{k}` is the number of a loop, `{next}` that of the one inside."""
    lines, indent = [], " " * 8
    for k in range(depth):
        lines += [indent + before.format(k=k)] if before else []
        lines.append(indent + loop.format(k=k))
        indent += " "
    lines.append(indent + inner)
    for k in reversed(range(depth)):
        lines += [indent + behind.format(k=k, next=k + 1)] if behind else []
        indent = indent[:-1]
    return "\n".join(lines)


NESTS: dict[str, Callable[[int], str]] = {
    "for": lambda depth: nest(depth, "for i{k} in range(len(self.x)):", "self.x[i0] = 1.0"),
    "over vectors": lambda depth: nest(depth, "for v{k} in self.x:", "self.y += v0"),
    "while": lambda depth: nest(
        depth, "while i{k} < self.n:", "self.y += 1.0", "i{k} = 0", "i{k} += 1"
    ),
}

SUMS: Callable[[int], str] = lambda depth: (  # noqa: E731
    nest(
        depth,
        "for i{k} in range(self.n):",
        f"t{depth} = self.x[0]",
        "t{k} = 0",
        "t{k} += t{next} * self.x[i{k}]",
    )
    + "\n        self.y = t0 + 0.0"
)
"""Sums that are ints until a float32 reaches them, from the inside out."""


def define(tmp_path: Path, body: str, functions: str = "") -> type[Vertex]:
    path = tmp_path / f"nested_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(HEAD.format(functions=functions) + body + "\n")
    vertex: type[Vertex] = load(path).V
    return vertex


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions of poplite are called."""
    count = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call" and str(frame.f_globals.get("__name__")).startswith("poplite.")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def checked(vertex: type[Vertex]) -> None:
    """Do with a class all that is done with its text before a compiler sees it."""
    compiled_form(check(vertex))
    loops_of([vertex])
    codelet_file([vertex])


@pytest.mark.parametrize("kind", NESTS)
def test_the_work_for_nested_loops_is_in_proportion_to_their_number(
    kind: str, tmp_path: Path
) -> None:
    checked(define(tmp_path, NESTS[kind](1)))  # what is done once in a process
    few, more, most = (define(tmp_path, NESTS[kind](depth)) for depth in (4, 10, 16))
    counts = [calls_of(partial(checked, vertex)) for vertex in (few, more, most)]
    assert counts[2] - counts[1] < 2 * (counts[1] - counts[0])


def test_kinds_that_widen_from_the_inside_out_double_no_work(tmp_path: Path) -> None:
    checked(define(tmp_path, SUMS(1)))
    few, most = (define(tmp_path, SUMS(depth)) for depth in (6, 12))
    counts = [calls_of(partial(checked, vertex)) for vertex in (few, most)]
    assert counts[1] < 10 * counts[0]  # they were 700 times as many


def test_a_function_that_is_called_twice_is_looked_at_once(tmp_path: Path) -> None:
    functions = "def f0(a):\n    return a\n\n" + "\n\n".join(
        f"def f{k}(a):\n    return f{k - 1}(a + 1.0) * f{k - 1}(a)\n" for k in range(1, 17)
    )
    vertex = define(tmp_path, "        self.y = f16(self.y)", functions)
    check(vertex)
    assert calls_of(lambda: loops_of([vertex])) < 2_000  # 2^16 calls lead to the innermost one
