"""Mathematics of float32 in poplite's own arithmetic against the C library's: ratios.

    python benchmarks/ops_mathematics.py [--samples 9] [--json FILE] [--small]

Ten million FLOAT elements on 1,472 tiles; the C library is called in a loop over cores by Numba.
`python -m poplite.testing.mathematics` prints errors.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any

import numba
import numpy as np

from ops_maps import Floats, engine_of, least, operands
from poplite import ops
from rows import SETTLING, Row, in_turn, run


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def exp_by_library(x: Any, out: Any) -> None:
    """e^x of each element."""
    for i in numba.prange(len(x)):
        out[i] = math.exp(x[i])


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def sin_by_library(x: Any, out: Any) -> None:
    """The sine of each element."""
    for i in numba.prange(len(x)):
        out[i] = math.sin(x[i])


def softmax(x: Floats) -> Floats:
    """Softmax of rows, as NumPy users write it."""
    powers = np.exp(x - x.max(1, keepdims=True))
    result: Floats = powers / powers.sum(1, keepdims=True)
    return result


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def softmax_by_library(x: Any, out: Any) -> None:
    """Softmax of rows, each in three loops."""
    for row in numba.prange(len(x)):
        greatest = x[row, 0]
        for i in range(1, x.shape[1]):
            greatest = max(greatest, x[row, i])
        total = np.float32(0)
        for i in range(x.shape[1]):
            out[row, i] = math.exp(x[row, i] - greatest)
            total += out[row, i]
        for i in range(x.shape[1]):
            out[row, i] /= total


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    warm_up = 0.0 if small else SETTLING
    x, _ = operands(small)
    x = 5 * x
    made = []
    for name, function, by_library, limit in (
        ("exp", ops.exp, exp_by_library, 0.35),
        ("sin", ops.sin, sin_by_library, 0.4),
    ):
        engine, result = engine_of(small, {"x": x}, function)
        out = np.empty_like(x)
        engine.run()
        by_library(x, out)
        close(name, engine.read(result), out)
        ours, theirs = in_turn(engine.run, partial(by_library, x, out), samples, warm_up=warm_up)
        what = f"{name} of 10^7: poplite / prange over the C library"
        made.append(Row(what, least(ours, theirs), "x", "<=", limit, ours, theirs))
    matrix = x.reshape(-1, 100 if small else 1000)

    engine, result = engine_of(small, {"x": matrix}, ops.nn.softmax)
    engine.run()
    close("softmax", engine.read(result), softmax(matrix))
    ours, theirs = in_turn(engine.run, lambda: softmax(matrix), samples, warm_up=warm_up)
    what = "softmax of rows, 10^4 x 10^3: poplite / NumPy"
    made.append(Row(what, least(ours, theirs), "x", "<=", 0.5, ours, theirs))
    out = np.empty_like(matrix)
    by_hand = partial(softmax_by_library, matrix, out)
    by_hand()
    close("softmax by hand", engine.read(result), out)
    ours, theirs = in_turn(engine.run, by_hand, samples, warm_up=warm_up)
    what = "12 softmax of rows / prange over the C library"
    made.append(Row(what, least(ours, theirs), "x", "<=", 1.3, ours, theirs))
    return made


def close(what: str, found: Any, expected: Floats) -> None:
    """End the program when results differ by more than float32 does."""
    if not np.allclose(found, expected, rtol=1e-5, atol=1e-30):
        sys.exit(f"{what} differs")


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
