"""Random helpers called by random vertices, computed in both forms: equal to the last bit.

Each program has plain functions, methods and a static method that call those before them,
with arguments of all kinds, with returns on several paths and in loops, and with stores to
fields, so that the order of calls counts.  Some raise exceptions: then the first vertex that
stops, its line and its message are equal, too.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only

PROGRAMS, RAISING = 15, 15
SHORT = (0, 23)
"""Seeds of programs that are soon compiled."""

HEAD = """
import math

import poplite as pl

LIMIT = 0.75


class Stopped(Exception):
    pass

{functions}

class Drawn(pl.Vertex):
    n: pl.State[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    i: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.BOOL]
    w: pl.InOut[pl.Vector[pl.FLOAT]]
    k: pl.InOut[pl.INT]
    y: pl.Output[pl.Vector[pl.FLOAT]]
{methods}
"""

FLOATS = ["0.1", "0.5", "-2.25", "16777217.0", "LIMIT"]
SINGLES = ["self.x[0]", "self.x[2]", "self.w[0]", "self.w[1]"]
WHOLE = ["0", "1", "-3", "123456789", "self.n", "self.i[0]", "self.i[1]", "self.k", "self.b"]


class Writer:
    """Writes helpers (int, number, vector) -> int or number, and a compute that calls them."""

    def __init__(self, seed: int, *, raises: bool) -> None:
        self.random = random.Random(seed)
        self.kinds = ["float", "int", "if", "for", "store", "call"]
        self.kinds += ["raise", "assert"] * raises
        self.helpers: list[tuple[str, bool]] = []  # how it is called, whether it gives an int
        self.lines: list[str] = []
        self.owner = True

    def write(self) -> str:
        functions = [self.helper(f"f{number}", "") for number in range(2)]
        methods = [self.helper(f"g{number}", "self") for number in range(3)]
        methods.append(self.compute())
        return HEAD.format(functions="\n".join(functions), methods="\n".join(methods))

    def helper(self, name: str, owner: str) -> str:
        gives_int, self.owner = self.random.random() < 0.4, bool(owner)
        static = owner and self.random.random() < 0.25
        if static:
            self.owner = False
        head = f"def {name}({'self, ' * self.owner}a, c=0.5, v=0):"
        head = head.replace(", v=0", "") if self.random.random() < 0.3 else head
        self.lines = ["@staticmethod"] * bool(static) + [head]
        self.body(1, 2, gives_int)
        self.line(1, f"return {self.result(gives_int)}")
        self.helpers.append((f"self.{name}" if owner else name, gives_int))
        indent = "    " * bool(owner)
        return "\n".join(["", *(indent + line for line in self.lines)])

    def compute(self) -> str:
        self.owner = True
        self.lines = ["def compute(self):", "    a, c = 1, 0.1"]
        for slot in range(3):
            self.statement(1, 2)
            self.line(1, f"self.y[{slot}] = {self.number(2)}")
            self.line(
                1, f"self.k = {self.whole(2)} + self.n"
            )  # no constant, which is refused if large
        return "\n".join(["", *("    " + line for line in self.lines)])

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def body(self, depth: int, nesting: int, gives_int: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, nesting)
            if self.random.random() < 0.3:
                self.line(depth, f"if {self.condition()}:")
                self.line(depth + 1, f"return {self.result(gives_int)}")

    def result(self, gives_int: bool) -> str:
        return self.whole(2) if gives_int else self.number(2)

    def statement(self, depth: int, nesting: int) -> None:
        kind = self.random.choice(self.kinds)
        if nesting and kind == "if":
            self.line(depth, f"if {self.condition()}:")
            self.statement(depth + 1, nesting - 1)
        elif nesting and kind == "for":
            self.line(depth, f"for j in range({self.random.choice(['0', '3', 'a % 4'])}):")
            self.statement(depth + 1, nesting - 1)
            self.line(depth + 1, f"c = c {self.random.choice('+-*')} {self.number(1)}")
        elif kind == "int":
            self.line(depth, f"a = {self.whole(2)}")
        elif kind == "store" and self.owner:
            target = f"self.w[{self.whole(0)} % 3]"
            self.line(depth, f"{target} {self.random.choice(['', '+'])}= {self.number(1)}")
        elif kind == "call" and self.visible(None):
            self.line(depth, self.call(None))
        elif kind == "raise":
            self.line(depth, f"if {self.condition()} and {self.condition()}:")
            self.line(depth + 1, f"raise {self.exception()}")
        elif kind == "assert":
            self.line(depth, f"assert {self.condition()} or {self.condition()}, {self.text()}")
        else:
            self.line(depth, f"c = {self.number(2)}")

    def exception(self) -> str:
        return self.random.choice(
            ["ValueError", "OSError()", f"Stopped({self.whole(1)}, {self.text()})"]
        )

    def text(self) -> str:
        return self.random.choice(['"text"', f'f"{{{self.number(1)}}} {{a}}"', self.number(1)])

    def visible(self, gives_int: bool | None) -> list[str]:
        """Return the helpers that may be called here."""
        return [
            name
            for name, whole in self.helpers
            if gives_int in (None, whole) and (self.owner or not name.startswith("self"))
        ]

    def call(self, gives_int: bool | None) -> str:
        name = self.random.choice(self.visible(gives_int))
        # An int of more than 53 bits would be refused where it meets float and float32.
        arguments = [self.whole(1), f"float({self.number(1)})"]
        forms = ["{0}, {1}", "{0}, c={1}", "c={1}, a={0}", "a={0}", "{0}"]
        return f"{name}({self.random.choice(forms).format(*arguments)})"

    def whole(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*(WHOLE if self.owner else WHOLE[:4]), "a"])
        if self.visible(True) and self.random.random() < 0.4:
            return self.call(True)
        return f"({self.whole(depth - 1)} {self.random.choice('+-*%&')} {self.whole(depth - 1)})"

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice([*FLOATS, *(SINGLES if self.owner else []), "c", "c"])
        if self.visible(False) and self.random.random() < 0.5:
            return self.call(False)
        left, right = self.number(depth - 1), self.number(depth - 1)
        return self.random.choice(
            [f"({left} {self.random.choice('+-*/')} {right})", f"max({left}, {right})"]
        )

    def condition(self) -> str:
        return f"{self.number(1)} {self.random.choice(['<', '>=', '!='])} {self.number(1)}"


@pytest.mark.parametrize("seed", thinned(range(PROGRAMS + RAISING), SHORT))
def test_forms_agree(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "drawn.py"
    path.write_text(Writer(seed, raises=seed >= PROGRAMS).write())
    spec = importlib.util.spec_from_file_location(f"drawn_helpers_{seed}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    forms: list[dict[str, Any]] = [{"interpret": True}, {"checks": "strict"}, {"checks": "fast"}]
    # From one line, which messages name.
    interpreted, *others = [outputs(module.Drawn, seed, **form) for form in forms]
    for compiled in others:
        assert interpreted[0] == compiled[0], path.read_text()
        for one, other in zip(interpreted[1], compiled[1], strict=True):
            assert one.tobytes() == other.tobytes(), path.read_text()


def outputs(cls: type[pl.Vertex], seed: int, **options: Any) -> tuple[str, list[np.ndarray]]:
    """Run three vertices with drawn data; return what they raised and all they may write."""
    drawn = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set()

    def variable(element: Any, values: Any) -> pl.Tensor:
        array = np.asarray(values, element.dtype)
        return graph.add_variable(element, array.shape, mapping=0, initial_value=array)

    x = variable(pl.FLOAT, drawn.normal(size=(3, 3)))
    i = variable(pl.INT, drawn.integers(-(2**31), 2**31, (3, 2)))
    b = variable(pl.BOOL, drawn.random(3) < 0.5)
    w = variable(pl.FLOAT, drawn.normal(size=(3, 3)))
    k = variable(pl.INT, [0, 5, -7])
    y = variable(pl.FLOAT, np.zeros((3, 3)))
    for v in range(3):
        fields = {"n": v, "x": x[v], "i": i[v], "b": b[v], "w": w[v], "k": k[v], "y": y[v]}
        graph.add_vertex(work, cls, tile=0, **fields)
    engine = pl.Engine(graph, pl.Execute(work), options=values_only(), **options)
    raised = ""
    try:
        engine.run()
    except pl.ApplicationRuntimeError as error:
        raised = f"{error.what} {error.at} {error.found}"
    read = [engine.read(t) for t in (w, k, y)]
    # NaNs compare by being NaN: which NaN an operation makes is the processor's choice.
    bits = [np.where(np.isnan(a), np.nan, a) if a.dtype.kind == "f" else a for a in read]
    return raised, bits
