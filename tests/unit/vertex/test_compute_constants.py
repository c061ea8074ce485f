"""Constants that `compute` stores: which are refused, and what those that are taken leave."""

from __future__ import annotations

import textwrap
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import running
from helpers.arithmetic_rows import ROWS, SECTIONS, TYPES, Row, source
from helpers.depth import thinned
from helpers.running import interpreted_sooner, load
from poplite.errors import VertexCompileError
from poplite.types import ElementType
from poplite.vertex.compute.arithmetic import wrap
from poplite.vertex.compute.meaning import check

HEAD = """
import math
import poplite as pl

WIDE = False
NARROW = True
STEPS = 4
LARGE = 2**33


def large():
    return 2**40


def one_of(n):
    if n > 3:
        return 2**20 << 20
    return 2**40


def half(n):
    return n >> 20


class V(pl.Vertex):
    n: pl.Input[pl.INT]
    k: pl.InOut[pl.Vector[pl.INT]]
    small: pl.InOut[pl.Vector[pl.UNSIGNED_CHAR]]
    long: pl.InOut[pl.Vector[pl.LONGLONG]]
    huge: pl.InOut[pl.Vector[pl.UNSIGNED_LONGLONG]]

    def method(self):
        return LARGE

    def compute(self):
"""


def define(bodies: list[str], folder: Path) -> type[pl.Vertex]:
    path = folder / "constants.py"
    path.write_text(HEAD + "".join(textwrap.indent(f"{body}\n", " " * 8) for body in bodies))
    vertex: type[pl.Vertex] = load(path).V
    return vertex


REFUSED = {
    "local": ("v = 2**40\nself.k[0] = v", 2**40),
    "local of a local": ("v = 2**20\nw = v * v\nself.k[0] = w", 2**40),
    "named": ("v = LARGE\nself.k[0] = v + 1", 2**33 + 1),
    "unpacked": ("v, w = 1, 2**40\nself.k[0] = w", 2**40),
    "+= of a local": ("v = 1\nv += 2**40\nself.k[0] = v", 2**40 + 1),
    "+=": ("self.k[0] += 2**40", 2**40),
    "-=": ("self.k[0] -= 2**40", 2**40),
    "*=": ("self.k[0] *= 2**40", 2**40),
    "|=": ("self.k[0] |= 2**40", 2**40),
    "^=": ("self.k[0] ^= 2**40", 2**40),
    "+= chosen": ("self.k[0] += 1 if self.n else 2**40", 2**40),
    "max": ("self.k[0] = max(2**40, 1)", 2**40),
    "min": ("self.k[0] = min(2**40, 2**41)", 2**40),
    "abs": ("self.k[0] = abs(-(2**40))", 2**40),
    "int": ("self.k[0] = int(2**40)", 2**40),
    "int of a float": ("self.k[0] = int(1e12)", 10**12),
    "int of an infinite float": ("v = 1e300\nself.k[0] = int(v * v)", 2**63 - 1),
    "floor": ("self.k[0] = math.floor(1e12 + 0.5)", 10**12),
    "root": ("self.k[0] = int(math.sqrt(2.0**64 * 65536.0))", 2**40),
    "unsigned": ("self.k[0] = pl.UNSIGNED_LONGLONG(-1)", 2**64 - 1),
    "low bits of another type": ("self.small[0] = pl.SHORT(2**40 + 300)", 300),
    "inverted": ("self.small[0] = ~300", -301),
    "function": ("self.k[0] = large()", 2**40),
    "function of two paths": ("self.k[0] = one_of(self.n)", 2**40),
    "method": ("self.k[0] = self.method()", 2**33),
    "all paths": ("if self.n:\n    v = 2**40\nelse:\n    v = 2**20 * 2**20\nself.k[0] = v", 2**40),
    "before a loop": ("v = 2**40\nfor i in range(3):\n    self.k[i] = v", 2**40),
    "in a loop that widens": (
        "v, t = 2**40, 0\nfor i in range(3):\n    t += 0.5\n    self.k[i] = v\nself.k[0] = int(t)",
        2**40,
    ),
    "in an inner loop": (
        "v = 2**40\nfor i in range(3):\n    t = 0\n    for j in range(3):\n        t += j\n"
        "        self.k[i] = v\n    self.k[i] = t",
        2**40,
    ),
    "and": ("self.k[0] = self.n and 2**40", 2**40),
    "or": ("self.k[0] = self.n or 2**40", 2**40),
    "a branch that runs": ("if NARROW and STEPS == 4:\n    self.k[0] = 2**40", 2**40),
    "a branch that may run": ("if NARROW and self.n:\n    self.k[0] = 2**40", 2**40),
    "the other branch": ("if WIDE:\n    pass\nelse:\n    self.k[0] = 2**40", 2**40),
    "a choice that is made": ("self.k[0] = 2**40 if not WIDE else self.n", 2**40),
    "after a branch": ("if WIDE:\n    self.k[0] = 1\nself.k[0] = 2**40", 2**40),
    "after a return on one path": ("if self.n:\n    return\nself.k[0] = 2**40", 2**40),
    "after a loop that is off": ("while WIDE:\n    self.k[0] = 1\nself.k[0] = 2**40", 2**40),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_constant_outside_both_ranges_is_refused(name: str, tmp_path: Path) -> None:
    body, constant = REFUSED[name]
    with pytest.raises(VertexCompileError) as caught:
        check(define([body], tmp_path))
    field = "small" if "small" in body else "k"
    element = "UNSIGNED_CHAR" if field == "small" else "INT"
    assert caught.value.what == (
        f"'V.compute': {constant} does not fit '{field}', a field of {element}"
    )
    assert f"use pl.{element}({constant}) for its low " in caught.value.fix


TAKEN = [
    ("v = 2**40\nself.k[at] = v >> 9", -(2**31)),
    ("v = 2**40\nself.k[at] = v & 0xFFFF | 5", 5),
    ("v = 0xFFFFFFFF\nself.k[at] = v", -1),
    ("v = 2**40\nself.k[at] = pl.INT(v + 7)", 7),
    ("v = 2**62\nself.k[at] = v * 4 + 3", 3),  # 2**64 + 3, in 64 bits
    ("self.k[at] += 0xFFFFFFFF", 0),
    ("self.k[at] |= 2**31", 1 - 2**31),
    ("self.k[at] &= 2**40 + 1", 1),
    ("self.k[at] %= 2**40", 1),
    ("self.k[at] = (self.n + 1) << 33", 0),
    ("self.k[at] = self.k[at] + 2**40", 1),
    ("v = 1\nfor i in range(4):\n    v = v * 1000\nself.k[at] = v", wrap(10**12, 32)),
    ("v = 1\nwhile v < 2**40:\n    v = v * 2\nself.k[at] = v + 5", 5),
    ("v = 2**40\nfor i in range(2):\n    self.k[at] = v\n    v = 6", 6),
    ("v = 1\nif self.n:\n    v = 2**40 + 9\nself.k[at] = v", 9),
    ("self.k[at] = half(2**40)", 2**20),
    ("self.k[at] = int(7e0)", 7),
    ("if WIDE:\n    self.k[at] = 2**40", 1),
    ("if not WIDE:\n    self.k[at] = 4\nelse:\n    self.k[at] += 2**40", 4),
    ("if WIDE or STEPS < 3:\n    self.k[at] = 2**40\nelif self.n:\n    self.k[at] = 8", 8),
    ("if WIDE and self.n:\n    v = 2**40\n    self.k[at] = v", 1),
    ("while WIDE:\n    self.k[at] = 2**40", 1),
    ("self.k[at] = 2**40 if WIDE else 12", 12),
    ("self.k[at] = WIDE and 2**40", 0),
    ("self.k[at] = STEPS or 2**40", 4),
    ("for i in range(2):\n    if NARROW:\n        continue\n    self.k[at] = 2**40", 1),
    ("self.k[at] = 3\nif NARROW:\n    return\nself.k[at] = 2**40", 3),  # the last one
]
"""What runs, and what it leaves in an element of INT that was 1; `n` is 3."""


@interpreted_sooner
def test_what_is_taken_leaves_its_low_bits(interpret: bool, tmp_path: Path) -> None:
    bodies = [body.replace("[at]", f"[{at}]") for at, (body, _) in enumerate(TAKEN)]
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    fields = {
        name: graph.add_variable(element, (len(TAKEN),), name, mapping=0)
        for name, element in (
            ("k", pl.INT),
            ("small", pl.UNSIGNED_CHAR),
            ("long", pl.LONGLONG),
            ("huge", pl.UNSIGNED_LONGLONG),
        )
    }
    n = graph.add_constant(pl.INT, (), 3, mapping=0)
    graph.set_initial_value(fields["k"], np.ones(len(TAKEN), np.int32))
    graph.add_vertex(work, define(bodies, tmp_path), tile=0, n=n, **fields)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, options={"debug.instrument": False}
    )
    engine.run()
    assert engine.read(fields["k"]).tolist() == [value for _, value in TAKEN]


EXPRESSIONS = [
    "2**62 + v * v",
    "(v << 62) * 4 + v",
    "-(v << 63)",
    "v // -7",
    "v % -7",
    "v // (v - v)",
    "~v ^ 0x5A",
    "min(v, 3, -2) - max(v, True)",
    "int(v / 3)",
    "int(-v / 3)",
    "int(1e30 * v)",
    "math.floor(-0.5 * v) + math.ceil(0.5 * v)",
    "int(float(v) ** 3)",
    "abs(-v) + (not v) + (v == 9) + (1 < v <= 9)",
    "pl.SHORT(v * 9999) + pl.UNSIGNED_CHAR(-v) + pl.BOOL(v)",
    "int(pl.UNSIGNED_LONGLONG(-v) // 5)",
    "pl.UNSIGNED_LONGLONG(v) - 10 >> 3",
    "int(math.exp(v)) + int(pl.fma(v, 0.1, 7))",
    "(v and 5) + (v or 6) + (7 if v > 3 else 8)",
    "(-v >> 1) + (v >> 1)",
]
"""Of the constant 9 in the local `v`."""


@interpreted_sooner
def test_what_is_known_when_a_class_is_checked_is_what_a_run_computes(
    interpret: bool, tmp_path: Path
) -> None:
    many = "\n".join(f"self.long[{at}] = {each}" for at, each in enumerate(EXPRESSIONS))
    vertex = define([f"v = 9\n{many}"], tmp_path)
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    long = graph.add_variable(pl.LONGLONG, (len(EXPRESSIONS),), "long", mapping=0)
    k = graph.add_variable(pl.INT, (1,), "k", mapping=0)
    small = graph.add_variable(pl.UNSIGNED_CHAR, (1,), "small", mapping=0)
    huge = graph.add_variable(pl.UNSIGNED_LONGLONG, (1,), "huge", mapping=0)
    n = graph.add_constant(pl.INT, (), 3, mapping=0)
    graph.add_vertex(work, vertex, tile=0, n=n, k=k, small=small, long=long, huge=huge)
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    # Far outside of 8 bits every one is refused, by its value.
    for value, expression in zip(engine.read(long).tolist(), EXPRESSIONS, strict=True):
        shifted = wrap(value ^ 0x7FFF00)
        with pytest.raises(VertexCompileError) as caught:
            check(define([f"v = 9\nself.small[0] = int({expression}) ^ 0x7FFF00"], tmp_path))
        assert caught.value.what.split()[1] == str(shifted), expression


@pytest.mark.parametrize(
    ("body", "expression", "step"),
    [
        ("self.long[0] = 2**64 - 1", "2**64 - 1", 2**64),
        ("self.long[0] = -(0x10 << 60) + 5", "-(0x10 << 60) + 5", 2**64),
        ("self.long[0] = self.n + (1 + 2**63)", "self.n + (1 + 2**63)", 2**63),
        ("self.long[0] = max(3 * 2**62,\n    1)", "3 * 2**62", 3 * 2**62),
    ],
)
def test_a_step_that_leaves_64_bits_is_named_with_its_expression(
    body: str, expression: str, step: int, tmp_path: Path
) -> None:
    with pytest.raises(VertexCompileError) as caught:
        check(define([body], tmp_path))
    assert caught.value.what == (
        f"'V.compute': in '{expression}', {step} does not fit in 64 bits; "
        "ints range from -2**63 to 2**63 - 1"
    )


# -- tables of docs/arithmetic.md ------------------------------------------------------------------


METADATA = pl.QuarterMetadata("F143")
MINIMUM_ROWS = 180
LONG = ("Integers", "Functions")
"""Sections whose class takes seconds to compile."""


def load_table(text: str, folder: Path) -> type[pl.Vertex]:
    path = folder / "table.py"
    path.write_text(text)
    vertex: type[pl.Vertex] = running.load(path).Table
    return vertex


def variable(graph: pl.Graph, element: type[ElementType[Any]], name: str) -> pl.Tensor:
    metadata = METADATA if element is pl.QUARTER else None
    return graph.add_variable(element, (1,), name, mapping=0, metadata=metadata)


def host_type(element: type[ElementType[Any]]) -> np.dtype[Any]:
    """What the host reads: quarters as float32."""
    return np.dtype(np.float32) if element is pl.QUARTER else element.dtype


def results(rows: list[Row], vertex: type[pl.Vertex], *, interpret: bool) -> list[Any]:
    """Run one vertex and return what each row left in its field."""
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    fields: dict[str, Any] = {}
    outs = []
    for row in rows:
        for name, kind, value in row.fields:
            held = variable(graph, TYPES[kind], name)
            graph.set_initial_value(held, np.array([value], host_type(TYPES[kind])))
            fields[f"{name}{row.line}"] = held[0]
        out = variable(graph, TYPES[row.element], f"out{row.line}")
        fields[f"out{row.line}"] = out[0]
        outs.append(out)
    graph.add_vertex(work, vertex, tile=0, **fields)
    # No prices, which would be compiled.
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    return [engine.read(out)[0] for out in outs]


def test_the_tables_are_found() -> None:
    assert len(ROWS) >= MINIMUM_ROWS
    assert {row.element for row in ROWS} == set(TYPES)
    assert {kind for row in ROWS for _, kind, _ in row.fields} == set(TYPES)


@pytest.mark.parametrize(
    ("section", "interpret"),
    thinned(
        product(SECTIONS, [True, False]),
        [each for each in product(SECTIONS, [True, False]) if each[1] or each[0] not in LONG],
    ),
)
def test_rows(section: str, interpret: bool, tmp_path: Path) -> None:
    rows = [row for row in ROWS if row.section == section]
    found = results(rows, load_table(source(rows), tmp_path), interpret=interpret)
    wrong = []
    for row, value in zip(rows, found, strict=True):
        expected = np.array([row.value], host_type(TYPES[row.element]))[0]
        same = value.tobytes() == expected.tobytes() or (np.isnan(value) and np.isnan(expected))
        if not same:
            wrong.append(f"line {row.line}: {row.expression} gives {value!r}, not {expected!r}")
    assert wrong == []
