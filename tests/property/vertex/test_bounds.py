"""Loops drawn at random: with guards they read what plain Python reads, and stop where it stops."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers import running
from helpers.depth import examples, values_only
from poplite.vertex.compute.bounds import conditions
from poplite.vertex.compute.identity import guarded
from poplite.vertex.compute.meaning import check

HEAD = """
import poplite as pl

class Walk(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]
    rows: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]
    place: pl.InOut[pl.Vector[pl.INT]]
    n: pl.State[pl.INT]
    long: pl.State[pl.LONGLONG]
    m: pl.Input[pl.INT]
    total: pl.Output[pl.INT]

    def compute(self) -> None:
        total = 0
"""

NUMBERS = st.sampled_from(
    ["0", "1", "2", "3", "self.n", "self.m", "len(self.x)", "len(self.y)", "len(self.rows)"]
    + ["len(self.rows[0])", "len(r)", "self.long"]
)
KINDS = ["loop", "read", "row", "store", "if", "local", "add", "row store", "assert", "place"]
KINDS += ["set", "quotient", "sum", "exchange", "row local", "row of local"]
STEPS = st.sampled_from(["", "", ", 1", ", 2", ", 3", ", -1", ", -2"])


@st.composite
def indices(draw: st.DrawFn, names: list[str]) -> str:
    """An index made of loop variables, lengths and numbers."""
    name = draw(st.sampled_from([*names, *names, "self.n", "1"]))
    shape = draw(
        st.sampled_from(
            ["{0}", "{0}", "{0} + {1}", "{0} - {1}", "{0} * {1}", "2 * {0} + {1}", "{0} // 2"]
            + ["{0} % 3", "{0} & 3", "-{0} + {1}", "{0} % {1}", "self.place[{0}]", "{0} - 1"]
            + ["max({1}, min({0}, self.n))", "max(0, min(self.place[0] + {0}, len(self.x) - 1))"]
        )
    )
    other = draw(st.one_of(NUMBERS, st.sampled_from(names)))
    return shape.format(name, other)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Some loops in each other, and accesses in them."""
    lines: list[str] = []

    def block(depth: int, names: list[str], indent: str) -> None:
        for _ in range(draw(st.integers(1, 2))):
            kind = draw(st.sampled_from(KINDS))
            index = draw(indices(names)) if names else draw(NUMBERS)
            if kind == "loop" and depth < 3:
                name = "ijk"[depth]
                begin = draw(st.one_of(st.just("0"), NUMBERS, st.sampled_from([*names, "0"])))
                stop, step = draw(NUMBERS), draw(STEPS)
                lines.append(f"{indent}for {name} in range({begin}, {stop}{step}):")
                block(depth + 1, [*names, name], indent + "    ")
            elif kind == "if" and names:
                left = draw(st.one_of(st.sampled_from(names), NUMBERS))
                operator = draw(st.sampled_from(["<", "<=", ">", ">=", "=="]))
                lines.append(f"{indent}if {left} {operator} {draw(NUMBERS)}:")
                block(depth, names, indent + "    ")
            elif kind == "local" and names:
                lines.append(f"{indent}t{len(lines)} = {index}")
                lines.append(f"{indent}total += self.x[t{len(lines) - 1}]")
            elif kind == "set":
                lines.append(f"{indent}s = {index}")
            elif kind == "quotient":
                lines.append(f"{indent}s = {draw(NUMBERS)} // len(self.y)")
            elif kind == "sum":
                lines.append(f"{indent}s {draw(st.sampled_from(['+=', '-=']))} {draw(NUMBERS)}")
            elif kind == "exchange":
                lines.append(f"{indent}s, u = u, {index}")
            elif kind == "row local":
                lines.append(f"{indent}r = self.rows[{index}]")
            elif kind == "row of local":
                lines.append(f"{indent}total += r[{index}]")
            elif kind == "row":
                other = draw(indices(names)) if names else draw(NUMBERS)
                lines.append(f"{indent}total += self.rows[{index}][{other}]")
            elif kind == "assert":
                lines.append(f"{indent}assert self.x[{index}] != -1, self.y[99]")
            elif kind == "place":
                lines.append(f"{indent}self.place[{draw(NUMBERS)}] += 1")
                lines.append(f"{indent}total += self.rows[self.place[0]][{index}]")
            elif kind == "row store":
                lines.append(f"{indent}self.rows[{index}][{draw(NUMBERS)}] += total")
            elif kind == "store":
                lines.append(f"{indent}self.y[{index}] = total")
            elif kind == "add":
                lines.append(f"{indent}self.y[{index}] += 1")
            else:
                lines.append(f"{indent}total += self.x[{index}]")

    lines.append("        s, u, r = 0, 1, self.rows[0]")
    block(0, ["s", "u"], "        ")
    return "\n".join([*lines, "        self.total = total"])


def outcome(vertex: type[pl.Vertex], values: dict[str, Any], **options: Any) -> object:
    """Run one vertex; return what it left, or where it stopped."""
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    held: dict[str, pl.Tensor] = {}
    for name in ("x", "y", "place", "m"):
        shape = np.shape(values[name])
        held[name] = graph.add_variable(pl.INT, shape, name, mapping=0, initial_value=values[name])
    rows = [
        graph.add_variable(pl.INT, (len(row),), f"row{k}", mapping=0, initial_value=row)
        for k, row in enumerate(values["rows"])
    ]
    total = graph.add_variable(pl.INT, (), "total", mapping=0)
    graph.add_vertex(
        work, vertex, tile=0, **held, rows=rows, total=total, n=values["n"], long=values["long"]
    )
    engine = pl.Engine(graph, pl.Execute(work), options=values_only(), **options)
    try:
        engine.run()
    except pl.TensorIndexError as error:
        return error.what
    return [engine.read(each).tolist() for each in (total, held["y"], *rows)]


SMALL = st.integers(-3, 9)


@examples(100, quick=8)
@given(
    body=bodies(),
    x=st.integers(1, 8),
    y=st.integers(1, 8),
    lengths=st.one_of(
        st.lists(st.integers(1, 6), min_size=1, max_size=5),
        st.integers(1, 6).flatmap(lambda n: st.lists(st.just(n), min_size=1, max_size=5)),
    ),
    place=st.lists(SMALL, min_size=1, max_size=8),
    n=SMALL,
    m=SMALL,
    long=st.one_of(SMALL, st.sampled_from([-(2**63), 2**62, -(2**32), 2**32])),
)
def test_the_same_as_plain_python(
    tmp_path_factory: pytest.TempPathFactory,
    body: str,
    x: int,
    y: int,
    lengths: list[int],
    place: list[int],
    n: int,
    m: int,
    long: int,
) -> None:
    path = tmp_path_factory.mktemp("drawn") / "walk.py"
    path.write_text(HEAD + body + "\n")
    vertex: type[pl.Vertex] = running.load(path).Walk
    try:
        check(vertex)
    except pl.VertexCompileError:  # a division by a number that may be 0, say
        return
    values = {
        "x": np.arange(1, x + 1),
        "y": np.arange(10, y + 10),
        "rows": [np.arange(length) * 3 for length in lengths],
        "place": np.array(place),
        "n": n,
        "m": m,
        "long": long,
    }
    expected = outcome(vertex, values, interpret=True)
    assert outcome(vertex, values, checks="strict") == expected
    assert without_row(outcome(vertex, values, checks="fast")) == without_row(expected)


def without_row(left: object) -> object:
    """An error of fast checks, which replay no fault, does not say which row it was."""
    if not isinstance(left, str):
        return left
    return re.sub(r"(?<=Walk.rows)\[\d+\]|(rows or elements|rows|elements)$", "", left)


# -- what guards are -------------------------------------------------------------------------------


def text(folder: Path, body: str) -> tuple[str, list[str] | None]:
    """The guarded text of a body, and what must be so for it to need no checks."""
    path = folder / "walk.py"
    path.write_text(HEAD + body + "\n        self.total = total\n")
    checked = check(running.load(path).Walk)
    tree, needed = guarded(checked), conditions(checked)
    found = "" if tree is None else ast.unparse(ast.fix_missing_locations(tree))
    return found, None if needed is None else [ast.unparse(each) for each in needed]


def test_an_index_over_the_length_of_its_own_needs_nothing(tmp_path: Path) -> None:
    found, needed = text(
        tmp_path, "        for i in range(len(self.x)):\n            total += self.x[i]"
    )
    assert "@element(self.x, i, True)" in found
    assert "@fits" not in found
    assert needed == []


def test_lengths_are_compared_once_before_the_loop(tmp_path: Path) -> None:
    body = (
        "        for i in range(1, self.n):\n            for j in range(0, 9, 2):\n"
        "                k = 3 * i + j\n                total += self.x[k] + self.y[i - 1]"
    )
    found, needed = text(tmp_path, body)
    before, _, _ = found.partition("for i")
    assert "@fits(self.x, 3, (self.n + -1) * 3 + 8)" in before
    assert "@fits(self.y, 0, self.n + -2)" in before
    assert needed == [
        "@is_small(self.n)",
        "@fits(self.x, 3, (self.n + -1) * 3 + 8)",
        "@fits(self.y, 0, self.n + -2)",
    ]


def test_what_a_branch_skips_need_not_be_inside(tmp_path: Path) -> None:
    body = (
        "        size = len(self.x) // len(self.y)\n        for r in range(len(self.y)):\n"
        "            if size >= 4:\n                total += self.x[r * size + 3]\n"
        "            else:\n                total += self.x[r * size]"
    )
    _, needed = text(tmp_path, body)
    assert needed is not None
    size = "len(self.x) // len(self.y)"
    assert (
        f"({size} < 4) | @fits(self.x, 0 * ({size}) + 3, (len(self.y) + -1) * ({size}) + 3)"
        in needed
    )
    assert f"({size} >= 4) | @fits(self.x, 0 * ({size}), (len(self.y) + -1) * ({size}))" in needed


def test_locals_are_what_was_assigned_last(tmp_path: Path) -> None:
    body = (
        "        a, b = self.rows[0], self.rows[1]\n        for i in range(self.n):\n"
        "            c = self.rows[i]\n            to = i * 3\n            a[to] = b[to]\n"
        "            to += 5\n            total += c[2] + self.x[to]\n"
        "            to, k = 0, to - 1\n            total += self.x[to] + self.y[k]"
    )
    found, needed = text(tmp_path, body)
    before, _, _ = found.partition("for i")
    assert "@fits(self.x, 5, (self.n + -1) * 3 + 5)" in before
    assert "@fits(self.y, 4, (self.n + -1) * 3 + 4)" in before
    assert "@rows_fit(self.rows, 2, 2)" in before
    assert "@fits(a, 0, (self.n + -1) * 3)" in before
    assert needed is not None
    assert "@row_fits(self.rows, 1, 0, (self.n + -1) * 3)" in needed


def test_the_length_of_rows_is_known_where_all_have_one(tmp_path: Path) -> None:
    body = (
        "        for k in range(len(self.rows)):\n            row = self.rows[k]\n"
        "            for i in range(len(row)):\n                row[i] = self.x[i] + self.y[k]"
    )
    found, needed = text(tmp_path, body)
    assert "@row_length" not in found  # before a loop, the row is known
    assert needed is not None
    assert sorted(needed) == [
        "@fits(self.x, 0, @row_length(self.rows) + -1)",
        "@fits(self.y, 0, len(self.rows) + -1)",
        "@is_small(@row_length(self.rows))",
        "@is_small(len(self.rows))",
    ]


@pytest.mark.parametrize(
    "change",
    ["if i > 2:\n                t = 9", "for j in range(i):\n                t += 1"]
    + ["while t < self.m:\n                t += 2", "t = self.place[i]"],
)
def test_locals_that_may_have_changed_are_not_known(tmp_path: Path, change: str) -> None:
    body = f"for i in range(self.n):\n            t = 1\n            {change}\n"
    found, needed = text(tmp_path, f"        {body}            total += self.x[t]")
    assert "@fits(self.x" not in found
    assert needed is None


def test_what_only_some_turns_access_does_not_slow_down_the_others(tmp_path: Path) -> None:
    body = (
        "        for i in range(self.n):\n            total += self.x[i]\n"
        "            if i > 0:\n                total += self.y[i - 1]"
    )
    found, _ = text(tmp_path, body)
    assert "@element(self.x, i, @inside0)" in found
    assert "@element(self.y, i - 1, @inside0.at_times)" in found
    assert "@inside0.at_times = @inside0 & @fits(self.y, -1, self.n + -2)" in found


def test_a_loop_over_lanes_is_split_where_their_number_is_in_the_text(tmp_path: Path) -> None:
    body = "        for i in range(self.n):\n            total += self.x.lanes(2 * i, {}).sum()"
    found, _ = text(tmp_path, body.format(16))
    before, _, loops = found.partition("if @holds(@inside0):")
    assert "@inside0 = @is_small(self.n) & @fits(self.x, 0, (self.n + -1) * 2 + 15)" in before
    inside, _, outside = loops.partition("else:")
    assert "@lanes(self.x, 2 * i, 16, True)" in inside
    assert "@lanes(self.x, 2 * i, 16, False)" in outside
    for count in ("self.n", "65", "0"):
        found, _ = text(tmp_path, body.format(count))
        assert "@lanes" not in found


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(self.n):\n            total += self.x[self.place[i]]",
        "i = 0\n        while i < 4:\n            total += self.x[i]\n            i += 1",
        "for i in range(self.n):\n            i += 1\n            total += self.x[i]",
        "t = 0\n        for i in range(9):\n            t += i\n            total += self.x[t]",
        "for i in range(self.n):\n            total += self.x[i * i * i]",
    ],
)
def test_what_is_not_known_before_is_checked_each_time(tmp_path: Path, loop: str) -> None:
    found, needed = text(tmp_path, f"        {loop}")
    assert "@fits(self.x" not in found
    assert needed is None


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("assert self.x[len(self.x)] != 12345, self.y[99]", "'Walk.x': index 3 of 3"),
        (
            "for i in range(len(self.rows[self.place[0]])):\n            self.place[0] = 1\n"
            "            total += self.rows[self.place[0]][i]",
            "'Walk.rows[1]': index 2 of 2",
        ),
        (
            "for i in range(self.long, self.n):\n            total += self.x[i * 2]\n"
            "            if i == self.long + 8:\n                break",
            "'Walk.x': index 4 of 3",
        ),
        (
            "for i in range(2):\n            self.rows[9][0] = self.x[99 + i]",
            "'Walk.x': index 99 of 3",
        ),
    ],
)
@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_what_once_went_outside(tmp_path: Path, checks: str, body: str, fault: str) -> None:
    path = tmp_path / "walk.py"
    path.write_text(f"{HEAD}        {body}\n        self.total = total\n")
    values = {
        "x": np.arange(3),
        "y": np.arange(4),
        "rows": [np.arange(5), np.arange(2)],
        "place": np.zeros(2, np.int32),
        "n": -5,
        "m": 1,
        "long": -(2**63),
    }
    said = outcome(running.load(path).Walk, values, checks=checks)
    shown = fault.replace("rows[1]", "rows") if checks == "fast" else fault
    assert shown in str(said)


def test_long_chains_of_locals_take_no_longer(tmp_path: Path) -> None:
    """Each use of a local was followed anew: forty lines took hours, six hundred no stack held."""
    lines = ["for i in range(9):", "    t0 = i"]
    lines += [f"    t{k} = (t{k - 1} * 5 + t{k - 1}) % 97" for k in range(1, 41)]
    lines += [f"    t{k} = t{k - 1} + 1" for k in range(41, 600)]
    lines += ["    total += self.x[t599 % 3] + self.y[t40]"]
    found, needed = text(tmp_path, "\n".join(f"        {line}" for line in lines))
    assert "@fits(self.x, 0, 2)" in found
    assert "@fits(self.y, 0, 96)" in found
    assert needed == ["@fits(self.x, 0, 2)", "@fits(self.y, 0, 96)"]


class Clamped(pl.Vertex):
    """Reads by numbers from memory, which it keeps within its vector."""

    x: pl.Input[pl.Vector[pl.INT]]
    place: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        last = len(self.x) - 1
        for k in range(len(self.y)):
            self.y[k] = self.x[max(0, min(self.place[k], last))]


def test_an_index_between_limits_is_looked_at_before_the_loop() -> None:
    text = guarded(check(Clamped))
    assert text is not None
    before, loop = ast.unparse(text).split("for k in")
    assert "@fits" in before.replace("'", "")
    assert loop.count("@inside0") == 2
