"""Operations that people know from NumPy, against NumPy, SciPy or a loop in Numba.

    python benchmarks/ops_shelf.py [--samples 9] [--json FILE] [--small]

Each row runs a recorded operation on 1,472 tiles and the same function of NumPy or SciPy, after a
comparison of both results; numbers are whole, so that no order of additions changes a bit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from ops_maps import least, target
from poplite import ops
from rows import BLAS_SPINS, SETTLING, Row, check, in_turn, run

LIMIT = 1.5
"""The most that an operation may take, relative to its baseline."""

Array = npt.NDArray[Any]


def row(
    small: bool,
    samples: int,
    name: str,
    record: Callable[..., pl.Tensor],
    baseline: Callable[..., Any],
    *values: Array,
    rest: float = 0.0,
) -> Row:
    """Return the row of an operation on tensors, and of a function of the same arrays."""
    graph = pl.Graph(target(small))
    given = [
        graph.add_variable(each.dtype, each.shape, f"x{k}", mapping="linear", initial_value=each)
        for k, each in enumerate(values)
    ]
    with graph.steps() as steps:
        result = record(*given)
    engine = pl.Engine(graph, steps, checks="fast", options={"debug.allowOutOfMemory": True})
    engine.run()
    expected = np.asarray(baseline(*values))
    check(name, engine.read(result), expected.astype(result.element_type.dtype))
    pause = partial(time.sleep, 0.0 if small else rest)
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, partial(baseline, *values), samples, pause, warm_up)
    return Row(name, least(ours, theirs), "x", "<=", LIMIT, ours, theirs)


def whole(small: bool, *shape: int, dtype: str = "float32", most: int = 3) -> Array:
    """Return whole numbers of up to `most`; small ones of a small shape."""
    sizes = [max(1, size // 8) for size in shape] if small else shape
    found: Array = np.random.default_rng(1).integers(-most, most + 1, sizes).astype(dtype)
    return found


def products(small: bool, samples: int) -> list[Row]:
    """Rows of einsum and tensordot."""
    n = partial(whole, small)
    cases: list[tuple[str, Any, Any, list[Array]]] = [
        (
            "einsum, chain of three matrices: poplite / NumPy, its path",
            lambda a, b, c: ops.einsum("ij,jk,kl->il", a, b, c),
            lambda a, b, c: np.einsum("ij,jk,kl->il", a, b, c, optimize=True),
            [n(512, 1024), n(1024, 64), n(64, 1024)],
        ),
        (
            "einsum, bthd,bshd->bhts: poplite / NumPy, its path",
            lambda q, k: ops.einsum("bthd,bshd->bhts", q, k),
            lambda q, k: np.einsum("bthd,bshd->bhts", q, k, optimize=True),
            [n(8, 256, 8, 64), n(8, 256, 8, 64)],
        ),
        (
            "tensordot over two dimensions: poplite / NumPy",
            lambda a, b: ops.tensordot(a, b, ([1, 2], [1, 0])),
            lambda a, b: np.tensordot(a, b, ([1, 2], [1, 0])),
            [n(256, 32, 64), n(64, 32, 256)],
        ),
    ]
    return [
        row(small, samples, name, ours, theirs, *values, rest=BLAS_SPINS)
        for name, ours, theirs, values in cases
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return products(small, samples)


if __name__ == "__main__":
    sys.exit(run((__doc__ or "").splitlines()[0], rows))
