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

import numba
import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter, uniform_filter

import poplite as pl
from ops_maps import least, target
from poplite import ops
from rows import BLAS_SPINS, SETTLING, Row, check, in_turn, run

LIMIT = 1.5
"""The most that an operation may take, relative to its baseline."""

Array = npt.NDArray[Any]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def histogram_by_hand(x: Any, edges: Any) -> Any:
    """Counts by bisection, as poplite's; NumPy sorts blocks, which is ten times as fast here."""
    cores, last = numba.get_num_threads(), len(edges) - 1
    partials = np.zeros((cores, last), np.uint32)
    for core in numba.prange(cores):
        for i in range(core * len(x) // cores, (core + 1) * len(x) // cores):
            low, high = 0, len(edges)
            while low < high:
                middle = (low + high) >> 1
                if edges[middle] <= x[i]:
                    low = middle + 1
                else:
                    high = middle
            place = last - 1 if x[i] == edges[last] else low - 1
            if 0 <= place < last:
                partials[core, place] += 1
    return partials.sum(0)


def row(
    small: bool,
    samples: int,
    name: str,
    record: Callable[..., pl.Tensor],
    baseline: Callable[..., Any],
    *values: Array,
    rest: float = 0.0,
    tolerance: float = 0.0,
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
    if tolerance:
        np.testing.assert_allclose(engine.read(result), expected, tolerance, tolerance)
    else:
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
            [n(2048, 1024), n(1024, 2048), n(2048, 1024)],
        ),
        (
            "einsum, bthd,bshd->bhts: poplite / NumPy, its path",
            lambda q, k: ops.einsum("bthd,bshd->bhts", q, k),
            lambda q, k: np.einsum("bthd,bshd->bhts", q, k, optimize=True),
            [n(4, 512, 8, 64), n(4, 512, 8, 64)],
        ),
        (
            "tensordot over two dimensions: poplite / NumPy",
            lambda a, b: ops.tensordot(a, b, ([1, 2], [1, 0])),
            lambda a, b: np.tensordot(a, b, ([1, 2], [1, 0])),
            [n(2048, 16, 64), n(64, 16, 2048)],
        ),
    ]
    return [
        row(small, samples, name, ours, theirs, *values, rest=BLAS_SPINS)
        for name, ours, theirs, values in cases
    ]


def functions(small: bool, samples: int) -> list[Row]:
    """Rows of functions of elements and of a deviation, which round in the last places."""
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(10_000 if small else 10**7, np.float32) for _ in "xy")
    matrix = x.reshape(-1, 1000)
    one = partial(row, small, samples, tolerance=1e-4)
    return [
        one(
            "hypot of 10^7: poplite / NumPy", lambda a, b: ops.map(ops.hypot(a, b)), np.hypot, x, y
        ),
        one(
            "logaddexp of 10^7: poplite / NumPy",
            lambda a, b: ops.map(ops.logaddexp(a, b)),
            np.logaddexp,
            x,
            y,
        ),
        one(
            "std of rows of 10^3: poplite / NumPy",
            lambda a: ops.map(ops.std(a, 1)),
            lambda a: a.std(1),
            matrix,
        ),
    ]


def bins(small: bool, samples: int) -> list[Row]:
    """Rows of positions, counts, scans and windows."""
    rng = np.random.default_rng(3)
    size = 10_000 if small else 10**6
    x, keys = rng.standard_normal(size, np.float32), np.sort(rng.standard_normal(4000, np.float32))
    many = size if small else 10**7  # each of 8,832 workers has bins of its own
    numbers, weights = rng.integers(0, 256, many, np.int32), np.ones(many, np.float32)
    image, edges = whole(small, 1024, 1024), np.linspace(-3, 3, 65).astype(np.float32)
    one = partial(row, small, samples)
    return [
        one(
            "searchsorted of 10^6: poplite / NumPy",
            lambda v, k: ops.searchsorted(k, v),
            lambda v, k: np.searchsorted(k, v),
            x,
            keys,
        ),
        one(
            "bincount of 10^7 in 256: poplite / NumPy",
            lambda k: ops.bincount(k, 256),
            lambda k: np.bincount(k, minlength=256),
            numbers,
        ),
        one(
            "weighted bincount of 10^7: poplite / NumPy",
            lambda k, w: ops.bincount(k, 256, w),
            lambda k, w: np.bincount(k, w, 256),
            numbers,
            weights,
        ),
        one(
            "histogram of 10^6 in 64: poplite / prange",
            ops.histogram,
            histogram_by_hand,
            x,
            edges,
        ),
        one(
            "cumulative_max of 10^6: poplite / NumPy", ops.cumulative_max, np.maximum.accumulate, x
        ),
        one(
            "sums of 9 x 9 windows: poplite / SciPy",
            lambda a: ops.reduce_window(a, 9, "add"),
            lambda a: uniform_filter(a, 9)[4:-4, 4:-4] * 81,
            image,
            tolerance=1e-3,
        ),
        one(
            "maxima of 9 x 9 windows: poplite / SciPy",
            lambda a: ops.reduce_window(a, 9, "max"),
            lambda a: maximum_filter(a, 9)[4:-4, 4:-4],
            image,
        ),
    ]


def training(small: bool, samples: int) -> list[Row]:
    """Rows of what training needs; logits differ by so much that noise changes no choice."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((100, 64) if small else (8192, 1024), np.float32)
    logits = x[:, :64].copy()
    one = partial(row, small, samples, tolerance=1e-4)

    def clipped(a: pl.Tensor, b: pl.Tensor) -> pl.Tensor:
        made = ops.nn.clip_by_global_norm([a, b], 1.0)
        ops.map(made.gradients[1])
        return ops.map(made.gradients[0])

    def clipped_by_numpy(a: Array, b: Array) -> Array:
        factor = np.float32(min(1.0, 1.0 / np.sqrt(np.vdot(a, a) + np.vdot(b, b))))
        b * factor
        found: Array = a * factor
        return found

    def chosen(a: pl.Tensor) -> pl.Tensor:
        return ops.random.categorical(ops.random.key(a.graph, 1), a * 1e8)

    def chosen_by_numpy(a: Array) -> Array:
        noise = -np.log(-np.log(rng.random(a.shape, np.float32) + np.float32(2.0**-25)))
        found: Array = (a * np.float32(1e8) + noise).argmax(1)
        return found

    return [
        one(
            "has_nan_or_inf of 8 x 2^20: poplite / NumPy",
            lambda a: ops.map(ops.has_nan_or_inf(a)),
            lambda a: not np.isfinite(a).all(),
            x,
        ),
        one(
            "rms_norm of rows of 1,024: poplite / NumPy",
            lambda a: ops.map(ops.nn.rms_norm(a)),
            lambda a: a / np.sqrt((a * a).mean(1, keepdims=True) + np.float32(1e-5)),
            x,
        ),
        one("clip_by_global_norm: poplite / NumPy", clipped, clipped_by_numpy, x, logits),
        one("categorical of 64: poplite / NumPy", chosen, chosen_by_numpy, logits),
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = products, functions, bins, training
    return [each for part in parts for each in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run((__doc__ or "").splitlines()[0], rows))
