"""Many small steps: Executes of six vertices in a Repeat, against a compiled and a Python loop.

python benchmarks/engine_steps.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np

from engine_axpy import axpy_engine
from rows import Row, check, in_turn, run


@numba.njit  # type: ignore[untyped-decorator]
def axpy_serial(a: Any, x: Any, y: Any) -> None:
    """One small step; all its vertices are neighbours, and so one loop."""
    for i in range(len(x)):
        y[i] += a * x[i]


@numba.njit  # type: ignore[untyped-decorator]
def axpy_loop(a: Any, x: Any, y: Any, times: int) -> None:
    """All steps, compiled."""
    for _ in range(times):
        axpy_serial(a, x, y)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    times = 1000 if small else 100_000
    engine, tensor, x, y = axpy_engine(6, 8, times, 1, checks="fast")
    a, x, y = np.float32(0.5), x.reshape(-1), y.reshape(-1)
    expected = y.copy()

    def compiled_loop() -> None:
        axpy_loop(a, x, y, times)

    def python_loop() -> None:
        for _ in range(times):
            axpy_serial(a, x, y)

    engine.run()
    axpy_loop(a, x, expected, times)
    python_loop()
    name = f"{times:,} Executes of six vertices"
    check(name, engine.read(tensor).reshape(-1), expected)
    check(name, y, expected)
    made = []
    for number, baseline, title, target in (
        ("R10", compiled_loop, "compiled loop", 5.0),
        ("R11", python_loop, "Python loop", 0.25),
    ):
        ours, theirs = in_turn(engine.run, baseline, samples)
        title = f"{number} {name}: poplite / {title}"
        made.append(Row(title, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    return made


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
