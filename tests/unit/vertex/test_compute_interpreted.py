"""The interpreted form: what it computes, how it fails; how long deep loops take to be typed."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import load
from poplite.errors import TensorIndexError, UnknownField, VertexCompileError
from poplite.ipu.codelet_file import codelet_file
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.identity import compiled_form
from poplite.vertex.compute.interpreted_fields import InterpretedSelf
from poplite.vertex.compute.meaning import check, loops_of, meaning_of
from poplite.vertex.vertex import Vertex

F = np.float32
GLOBAL = 3


class Total(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.1
        for i in range(len(self.x)):
            total += self.x[i]
        self.y = total * total


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    sums: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for r in range(len(self.rows)):
            row = self.rows[r]
            total = 0.0
            for value in row:
                total += value
            self.sums[r] = total


class Wrap(pl.Vertex):
    n: pl.InOut[pl.INT]
    u: pl.InOut[pl.UNSIGNED_INT]
    b: pl.InOut[pl.BOOL]
    big: pl.Output[pl.BOOL]

    def compute(self) -> None:
        product = self.n * self.n * 4
        self.big = product > 0
        self.n += 1
        self.u -= 1
        self.b = self.n  # type: ignore[call-overload]


class Statements(pl.Vertex):
    n: pl.State[pl.INT]
    weights: pl.State[pl.Vector[pl.FLOAT]]
    out: pl.InOut[pl.Vector[pl.INT]]
    SHIFT = 2

    def compute(self) -> None:
        """A docstring."""
        low: int = 0
        high = extra = self.n
        low, high = high, low
        k = 0
        while True:
            k += 1
            if k == 2:
                continue
            if k > 5:
                break
            self.out[0] += k
        for i, weight in enumerate(self.weights):
            self.out[1] += i * int(weight)
        for weight, element in zip(self.weights, self.out):  # noqa: B905 (equal lengths or not)
            self.out[2] += int(weight) + element * 0
        for k in range(5, 0, -2):
            self.out[3] = self.out[3] * 10 + k
        else:
            self.out[4] = low << self.SHIFT
        self.out[5] = 1 if 0 < k <= GLOBAL != 2 else -1
        self.out[6] = extra + high
        if not (low and high):
            return
        self.out[6] = -1


class Deep(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    i: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        first = self.x[0]
        self.y[0] = first / 0
        self.y[self.i] = self.x[self.i]  # the line that fails


def floats(*values: float) -> npt.NDArray[np.float32]:
    return np.array(values, np.float32)


def run(vertex: type[pl.Vertex], **values: Any) -> None:
    with np.errstate(all="ignore"):
        meaning_of(vertex).interpreted()(InterpretedSelf(vertex, values))


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def test_a_loop_that_never_runs_still_widens() -> None:
    y = np.zeros(1, F)
    run(Total, x=np.zeros(0, F), y=y)
    assert y[0] == F(0.1) * F(0.1)
    assert y[0] != F(0.1 * 0.1)


def test_float32_rounds_after_every_operation() -> None:
    x, y = floats(1e8, 1, 1), np.zeros(1, F)
    run(Total, x=x, y=y)
    total = F(F(F(0.1) + F(1e8)) + F(1)) + F(1)
    assert y[0] == total * total


def test_lists_of_vectors_of_different_lengths() -> None:
    sums = np.full(3, 9, F)
    run(Rows, rows=[floats(1, 2), floats(), floats(3)], sums=sums)
    assert sums.tolist() == [3, 0, 3]


def test_vectors_may_be_strided() -> None:
    memory = np.zeros(6, F)
    run(Rows, rows=[np.arange(8, dtype=F)[::4]] * 3, sums=memory[::2])
    assert memory.tolist() == [4, 0, 4, 0, 4, 0]


def test_integers_wrap_at_64_bits_and_at_the_store() -> None:
    n, u = np.array([2**31 - 1], np.int32), np.zeros(1, np.uint32)
    b, big = np.array([False]), np.array([True])
    run(Wrap, n=n, u=u, b=b, big=big)
    assert (n[0], u[0], b[0], big[0]) == (-(2**31), 2**32 - 1, True, False)


def test_statements() -> None:
    out = np.zeros(7, np.int32)
    run(Statements, n=5, weights=floats(2.5, 3.5), out=out)
    assert out.tolist() == [1 + 3 + 4 + 5, 3, 2 + 3, 531, 20, 1, 5]


def test_nothing_warns_and_infinities_arrive() -> None:
    y = np.zeros(2, F)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(Deep, x=floats(1, 2), i=np.array([1], np.int32), y=y)
    assert y.tolist() == [np.inf, 2]


@pytest.mark.parametrize("index", [2, -1, 2**31 - 1])
def test_an_index_outside_names_field_index_and_length(index: int) -> None:
    with pytest.raises(TensorIndexError, match=f"'Deep.x': index {index} of 2 elements") as caught:
        run(Deep, x=floats(1, 2), i=np.array([index], np.int32), y=np.zeros(2, F))
    assert "from 0 to 1" in caught.value.fix
    assert isinstance(caught.value, IndexError)


def test_a_row_is_named_in_the_message() -> None:
    with pytest.raises(TensorIndexError, match=r"'Rows.sums': index 1 of 1 elements"):
        run(Rows, rows=[floats(1), floats(2)], sums=np.zeros(1, F))
    row = InterpretedSelf(Rows, {"rows": [floats(1), floats(2)], "sums": floats(0)}).rows[1]
    with pytest.raises(TensorIndexError, match=r"'Rows.rows\[1\]': index 5 of 1 elements"):
        row[5]
    with pytest.raises(TensorIndexError, match=r"'Rows.rows\[1\]': index -1 of 1 elements"):
        row[-1] = F(0)


def test_an_empty_vector_has_no_index() -> None:
    with pytest.raises(TensorIndexError, match="index 0 of 0 elements") as caught:
        run(Deep, x=floats(), i=np.zeros(1, np.int32), y=np.zeros(2, F))
    assert "longer tensor" in caught.value.fix


def test_the_traceback_and_the_error_name_the_users_line() -> None:
    with pytest.raises(TensorIndexError) as caught:
        run(Deep, x=floats(1, 2), i=np.array([7], np.int32), y=np.zeros(2, F))
    line = line_of("# the line that fails")
    frames = traceback.extract_tb(caught.tb)
    assert (__file__, line, "compute") in [(f.filename, f.lineno, f.name) for f in frames]
    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.function) == (line, "compute")


def test_every_line_is_reported_to_debuggers() -> None:
    seen: list[tuple[str, int]] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_code.co_name == "compute":
            seen.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        run(Total, x=floats(1), y=np.zeros(1, F))
    finally:
        sys.settrace(previous)
    first = line_of("total = 0.1")
    assert seen == [(__file__, first + step) for step in (0, 1, 2, 1, 3)]


def test_what_a_debugger_shows_of_self() -> None:
    values: dict[str, Any] = {"rows": [floats(1)] * 2, "sums": floats(0.5, 0.25)}
    owner = InterpretedSelf(Rows, values)
    assert repr(owner) == (
        "<Rows interpreted: rows=<Rows.rows FLOAT: 2 vectors>, sums=<Rows.sums FLOAT: [0.5  0.25]>>"
    )
    with pytest.raises(UnknownField, match=r"no field 'sum' \(did you mean 'sums'\?\)"):
        owner.sum  # noqa: B018


def test_class_numbers_are_visible_to_debuggers() -> None:
    owner = InterpretedSelf(
        Statements, {"n": 1, "weights": floats(1), "out": np.zeros(7, np.int32)}
    )
    assert owner.SHIFT == 2
    assert isinstance(owner.n, int)
    assert type(owner.weights[0]) is F


def test_a_debugger_may_change_scalars() -> None:
    i, y = np.array([1], np.int32), np.zeros(2, F)
    owner = InterpretedSelf(Deep, {"x": floats(1, 2), "i": i, "y": y})
    owner.i = 0
    assert (owner.i, i[0]) == (0, 0)
    with pytest.raises(
        AttributeError, match=r"'x: Input\[Vector\[FLOAT\]\]' is a vector; its elements"
    ):
        owner.x = 3
    with pytest.raises(UnknownField, match="no field 'z'"):
        owner.z = 3
    u = np.zeros(1, np.uint32)
    owner = InterpretedSelf(
        Wrap, {"n": i, "u": u, "b": np.zeros(1, bool), "big": np.zeros(1, bool)}
    )
    owner.u = -1
    assert (owner.u, u[0]) == (2**32 - 1, 2**32 - 1)
    with pytest.raises(AttributeError):
        copy.copy(owner)


def test_the_form_is_made_once() -> None:
    assert meaning_of(Total).interpreted() is meaning_of(Total).interpreted()
    assert check(Total) is check(Total)


def test_numbers_of_an_enclosing_function() -> None:
    factor, unused = 0.5, 2

    class Scale(pl.Vertex):
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.y = factor * GLOBAL

    y = np.zeros(1, F)
    run(Scale, y=y)
    assert y[0] == factor * GLOBAL
    assert unused == 2


def test_a_name_the_enclosing_function_never_assigned() -> None:
    class Early(pl.Vertex):
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.y = later

    with pytest.raises(VertexCompileError, match="name 'later' is not defined"):
        check(Early)
    later = 1


def test_inherited_compute_reads_the_numbers_of_the_subclass() -> None:
    class Scaled(Total):
        SHIFT = 1

    class More(Statements):
        SHIFT = 3

    y, out = np.zeros(1, F), np.zeros(7, np.int32)
    run(Scaled, x=floats(1), y=y)
    run(More, n=5, weights=floats(), out=out)
    assert y[0] == F(F(0.1) + F(1)) * F(F(0.1) + F(1))
    assert out[4] == 5 << 3


def test_a_class_without_text_is_refused() -> None:
    names: dict[str, Any] = {"pl": pl, "__name__": "made_by_exec"}
    exec("class V(pl.Vertex):\n    def compute(self):\n        open('f')\n", names)
    with pytest.raises(VertexCompileError, match=r"'V.compute': there is no source text") as caught:
        check(names["V"])
    assert "into a file" in caught.value.fix


@deep
def test_a_class_on_the_command_line_has_text() -> None:
    program = (
        "import poplite as pl\n"
        "class V(pl.Vertex):\n"
        "    x: pl.InOut[pl.INT]\n"
        "    def compute(self):\n"
        "        self.x += BODY\n"
        "for interpret in (True, False):\n"
        "    graph = pl.Graph(pl.Target(tiles=1))\n"
        "    x = graph.add_variable(pl.INT, (), mapping=0, initial_value=0)\n"
        "    cs = graph.add_compute_set()\n"
        "    graph.add_vertex(cs, V, tile=0, x=x)\n"
        "    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret)\n"
        "    engine.run()\n"
        "    print(engine.read(x))\n"
    )

    def run_text(text: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", text]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run_text(program.replace("BODY", "2")).stdout == "2\n2\n"
    told = run_text(program.replace("BODY", "open('f')")).stderr
    assert "<string>:5 in compute" in told


@pytest.mark.parametrize(
    ("body", "edited"),
    [
        ("self.y = 1.0 + 2", "self.y = 1.0 - 2"),
        ("if self.a > 0 and self.b > 0: self.y = 1", "if self.a > 0 or self.b > 0: self.y = 1"),
        ("if self.a > 0: self.y = 1", "if not self.a > 0: self.y = 1"),
        (
            "if self.a > 0:\n            if self.b > 0: self.y = 1\n            else: self.y = 2",
            "if self.a > 0:\n            if self.b > 0: self.y = 1\n        else: self.y = 2",
        ),
    ],
)
def test_a_file_edited_after_its_import_is_refused(tmp_path: Path, body: str, edited: str) -> None:
    path = tmp_path / "edited.py"
    text = (
        "import poplite as pl\nclass V(pl.Vertex):\n    a: pl.Input[pl.FLOAT]\n"
        "    b: pl.Input[pl.FLOAT]\n    y: pl.Output[pl.FLOAT]\n"
        "    def compute(self):\n        BODY\n"
    )
    path.write_text(text.replace("BODY", body))
    vertex = load(path).V
    path.write_text(text.replace("BODY", edited))
    os.utime(path, (1, 1))
    with pytest.raises(VertexCompileError, match="edited.py' changed since it was imported"):
        check(vertex)


def test_comments_in_the_first_column_and_continued_lines(tmp_path: Path) -> None:
    path = tmp_path / "layout.py"
    path.write_text(
        "import poplite as pl\nclass V(pl.Vertex):\n    y: pl.Output[pl.FLOAT]\n"
        "    def compute(self):\n# first column\n        self.y = (1.0 +\n2 +\n  zz)\n"
    )
    with pytest.raises(VertexCompileError, match="name 'zz' is not defined") as caught:
        check(load(path).V)
    assert caught.value.at is not None
    assert caught.value.at.line == 8
    assert caught.value.found == "zz)"


def test_kinds_belong_to_versions_of_a_variable() -> None:
    facts = check(Total).facts
    assert set(facts.kinds.values()) == {Kind.INT, Kind.F32, Kind.FLOAT}
    assert list(facts.casts.values()) == [Kind.F32] * 3


# -- nested loops take no more than a few passes each, however deep they are nested ----------------


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
