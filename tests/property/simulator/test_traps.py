"""Traps against NumPy: what raises there under `np.errstate(all="raise")` stops a vertex here.

NumPy raises for what IEEE 754 signals.  Here NaN among the operands is invalid as well.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import values_only

OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    lambda x, y: np.float32(np.float16(x)),
    lambda x, y: np.sqrt(x),
    operator.lt,
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, 3e38, -3e38, 65504.0, 65520.0, 2e19, np.inf, np.nan)
NUMBERS = st.sampled_from(SPECIAL) | st.floats(width=32)
CODES = {"invalid": "INVALID_OPERATION", "divide": "DIVIDE_BY_ZERO", "overflow": "OVERFLOW"}


class Work(pl.Vertex):
    """One operation on every element; enough of them for vectors."""

    which: pl.State[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.InOut[pl.Vector[pl.FLOAT]]
    h: pl.InOut[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.which == 0:
                self.z[i] = self.x[i] + self.y[i]
            elif self.which == 1:
                self.z[i] = self.x[i] - self.y[i]
            elif self.which == 2:
                self.z[i] = self.x[i] * self.y[i]
            elif self.which == 3:
                self.z[i] = self.x[i] / self.y[i]
            elif self.which == 4:
                self.h[i] = self.x[i]
            elif self.which == 5:
                self.z[i] = math.sqrt(self.x[i])
            elif self.x[i] < self.y[i]:
                self.z[i] = 1.0


def first_trap(which: int, x: Any, y: Any, enabled: frozenset[str]) -> tuple[int, str] | None:
    """Return the first element that stops a vertex, and why."""
    for at, (left, right) in enumerate(zip(x, y, strict=True)):
        has_nan = np.isnan(left) or (which not in (4, 5) and np.isnan(right))
        if has_nan:
            if "invalid" in enabled and which != 4:
                return at, "invalid"
            continue
        for kind in CODES:
            does: list[Literal["raise", "ignore"]]
            does = ["raise" if kind == each else "ignore" for each in CODES]
            with np.errstate(invalid=does[0], divide=does[1], over=does[2], under="ignore"):
                try:
                    OPERATIONS[which](left, right)
                except FloatingPointError:
                    if kind in enabled:
                        return at, kind
    return None


@given(
    which=st.integers(0, len(OPERATIONS) - 1),
    values=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40),
    enabled=st.sampled_from([*(frozenset({kind}) for kind in CODES), frozenset(CODES)]),
    interpret=st.booleans(),
)
def test_what_numpy_raises_for_stops_the_vertex(
    which: int, values: Any, enabled: frozenset[str], interpret: bool
) -> None:
    x, y = (np.array(column, np.float32) for column in zip(*values, strict=True))
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {
        "x": graph.add_variable(pl.FLOAT, x.shape, "x", mapping=0, initial_value=x),
        "y": graph.add_variable(pl.FLOAT, x.shape, "y", mapping=0, initial_value=y),
        "z": graph.add_variable(pl.FLOAT, x.shape, "z", mapping=0),
        "h": graph.add_variable(pl.HALF, x.shape, "h", mapping=0),
    }
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Work, tile=0, which=which, **fields)
    inv, div0, oflo = (kind in enabled for kind in CODES)
    behaviour = pl.FloatingPointBehaviour(inv, div0, oflo, esr=False, nanoo=False)
    program = pl.Sequence(pl.SetFloatingPointBehaviour(behaviour), pl.Execute(work))
    engine = pl.Engine(graph, program, interpret=interpret, checks="fast", options=values_only())
    expected = first_trap(which, x, y, enabled)
    if expected is None:
        engine.run()
        if which != 4:
            with np.errstate(all="ignore"):
                results = OPERATIONS[which](x, y)
            np.testing.assert_array_equal(engine.read(fields["z"]), results.astype(np.float32))
        return
    at, kind = expected
    with pytest.raises(pl.FloatingPointTrap, match=f"{CODES[kind]}: ") as raised:
        engine.run()
    shown = [str(value) for value in (x[at], y[at])]
    assert shown[0] in raised.value.what
    assert which in (4, 5) or shown[1] in raised.value.what
    assert not engine.read(fields["z"]).any()
