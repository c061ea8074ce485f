"""Multigrid on Poisson's equation, a million unknowns to a residual of 10^-6: ratio.

    python benchmarks/ops_multigrid.py [--samples 9] [--json FILE] [--small]

The vertices of `ops_multigrid_levels.py` against the same cycle by a user of Numba: rows of every
step in parallel, the norm of the residual in the loop that makes it, all V-cycles in one compiled
call.
"""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import ops_multigrid_levels as multigrid
import poplite as pl
from ops_maps import least
from rows import SETTLING, Row, check, in_turn, run

Floats = npt.NDArray[np.float32]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def residual(high: Any, low: Any, b: Any, r: Any) -> Any:
    total = 0.0
    four = np.float32(4)
    for i in numba.prange(1, r.shape[0] - 1):
        squares: Any = np.float32(0)
        for j in range(1, r.shape[1] - 1):
            u = high[i, j]
            across = (u - high[i, j - 1]) - (high[i, j + 1] - u)
            along = (u - high[i - 1, j]) - (high[i + 1, j] - u)
            sides = low[i, j - 1] + low[i, j + 1]
            rest = four * low[i, j] - ((low[i - 1, j] + low[i + 1, j]) + sides)
            r[i, j] = b[i, j] - ((across + along) + rest)
        for j in range(1, r.shape[1] - 1):
            squares += r[i, j] * r[i, j]
        total += squares
    return np.sqrt(total)


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def start(b: Any, e: Any) -> None:
    middle, side = np.float32(0.24), np.float32(0.04)
    for i in numba.prange(1, e.shape[0] - 1):
        for j in range(1, e.shape[1] - 1):
            around = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
            e[i, j] = middle * b[i, j] + side * around


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def smooth(old: Any, b: Any, new: Any) -> None:
    fifth = np.float32(0.2)
    for i in numba.prange(1, new.shape[0] - 1):
        for j in range(1, new.shape[1] - 1):
            around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
            new[i, j] = fifth * (old[i, j] + around + b[i, j])


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def defect(e: Any, b: Any, r: Any) -> None:
    four = np.float32(4)
    for i in numba.prange(1, r.shape[0] - 1):
        for j in range(1, r.shape[1] - 1):
            around = e[i - 1, j] + e[i + 1, j] + e[i, j - 1] + e[i, j + 1]
            r[i, j] = b[i, j] + around - four * e[i, j]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def restrict(r: Any, b: Any) -> None:
    two, quarter = np.float32(2), np.float32(0.25)
    for i in numba.prange(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            y, x = 2 * i, 2 * j
            left = r[y - 1, x - 1] + r[y + 1, x - 1] + two * r[y, x - 1]
            here = r[y - 1, x] + r[y + 1, x] + two * r[y, x]
            right = r[y - 1, x + 1] + r[y + 1, x + 1] + two * r[y, x + 1]
            b[i, j] = quarter * (left + right + two * here)


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def correct(coarse: Any, e: Any) -> None:
    half = np.float32(0.5)
    for i in numba.prange(1, e.shape[0] - 1):
        above, below = i // 2, (i + 1) // 2
        for j in range((e.shape[1] - 2) // 2 + 1):
            before = half * (coarse[above, j] + coarse[below, j])
            there = half * (coarse[above, j + 1] + coarse[below, j + 1])
            e[i, 2 * j + 1] += half * (before + there)
            if 2 * j + 2 < e.shape[1] - 1:
                e[i, 2 * j + 2] += there


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add(e: Any, high: Any, low: Any) -> None:
    for i in numba.prange(1, e.shape[0] - 1):
        for j in range(1, e.shape[1] - 1):
            old, more = high[i, j], e[i, j]
            new = old + more
            taken = new - old
            low[i, j] += (old - (new - taken)) + (more - taken)
            high[i, j] = new


@numba.njit  # type: ignore[untyped-decorator]
def v_cycle(e: Any, other: Any, b: Any) -> None:
    """One V-cycle; levels are lists of arrays."""
    last = len(e) - 1
    for k in range(last):
        start(b[k], e[k])
        defect(e[k], b[k], other[k])
        restrict(other[k], b[k + 1])
    e[last][1, 1] = np.float32(0.25) * b[last][1, 1]
    for k in range(last - 1, -1, -1):
        correct(e[k + 1], e[k])
        smooth(e[k], b[k], other[k])
        smooth(other[k], b[k], e[k])


@numba.njit  # type: ignore[untyped-decorator]
def solve(b: Any, high: Any, low: Any, levels: Any, limit: float) -> int:
    """What a Numba user writes; returns how many cycles it took."""
    e, other, right = levels
    high[:], low[:] = 0, 0
    cycles = 0
    while residual(high, low, b, right[0]) > limit:
        v_cycle(e, other, right)
        add(e[0], high, low)
        cycles += 1
    return cycles


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size, grid = (31, (4, 2)) if small else (multigrid.SIZE, multigrid.GRID)
    solver = multigrid.Solver(size, grid)
    engine = pl.Engine(solver.graph, solver.program, checks="fast")
    charges = multigrid.charges(size)
    limit = multigrid.REDUCTION * float(np.linalg.norm(charges))
    engine.write(solver.b, charges)
    engine.write(solver.limit, limit)
    sides = [2**power + 1 for power in range((size + 1).bit_length() - 1, 0, -1)]
    levels = tuple(
        numba.typed.List([np.zeros((side, side), np.float32) for side in sides]) for _ in range(3)
    )
    b = np.pad(charges, 1)
    high, low = np.zeros_like(b), np.zeros_like(b)

    def hand() -> int:
        return int(solve(b, high, low, levels, limit))

    engine.run()
    if int(engine.read(solver.cycles)) != hand():
        sys.exit("multigrid: the numbers of cycles differ")
    for name, tensor, by_hand in (("high", solver.high, high), ("low", solver.low, low)):
        check(f"multigrid, {name}", engine.read(tensor), by_hand[1:-1, 1:-1].copy())
    ours, theirs = in_turn(engine.run, hand, samples, warm_up=0.0 if small else SETTLING)
    name = f"multigrid {size} x {size}: poplite / prange"
    return [Row(name, least(ours, theirs), "x", "<=", 2.0, ours, theirs)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
