"""Dense matrix products of a whole Bow against hardware.

    python benchmarks/fidelity_matmul.py [--only KEY] [--json FILE]

Rates of Graphcore's library with the best of its options (graphcore-research/sparsity-benchmarks,
read off a figure, about 3 %), for [m, m] times [m, n].  Operands have the plan's mapping.
What was added up there is compute of the product, and every exchange of the program, also those of
casts and of the host's tensors, but no sync: so small products were measured somewhat too slow.

Farthest off are 1,024 x 1,024 halves times 64 columns: 3,743 cycles for 5,410, as a rate 45 % too
much.  With partials of floats they take 6 % longer than measured, but 256 columns 45 %; without
tiles that take data in pairs they are 17 % off.  So it is PopLibs' plan for that size,
which nobody published, rather than a number of the model.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import poplite as pl
from fidelity_rows import Row, Rows, run, steps
from poplite import ops
from poplite.machine.facts import Architecture

Rates = dict[int, dict[int, float]]

HALF: Rates = {
    1024: {4: 6.1, 16: 20.5, 64: 45.9, 256: 89.9, 1024: 120.8, 2048: 153.9, 4096: 180.8,
           8192: 206.9, 16384: 224, 32768: 224},
    2048: {4: 13.0, 16: 44.7, 64: 82.9, 256: 134.5, 1024: 166.8, 2048: 201.4, 4096: 212.5,
           8192: 230.4, 16384: 239.9},
    4096: {4: 18.4, 16: 61.7, 64: 131.0, 256: 176.0, 1024: 209.7, 2048: 224.3},
    8192: {4: 21.6, 16: 72.5, 64: 158.1, 256: 224.3},
}  # fmt: skip
"""TFLOP/s by m and n."""

FLOAT: Rates = {
    1024: {4: 3.7, 8: 6.5, 16: 11.1, 32: 16.2, 64: 21.2, 128: 29.2, 256: 34.3, 512: 36.2,
           1024: 43.6, 2048: 49.9, 4096: 55.5, 8192: 57.0},
    2048: {4: 5.7, 8: 10.3, 16: 18.0, 32: 26.2, 64: 34.3, 128: 39.2, 256: 44.8, 512: 49.9,
           1024: 52.6, 2048: 57.0, 4096: 58.6, 8192: 60.2},
    4096: {4: 7.1, 8: 12.4, 16: 22.3, 32: 31.6, 64: 41.4, 128: 48.6, 256: 52.6, 512: 54.0,
           1024: 55.5, 2048: 57.0, 4096: 58.6},
    8192: {4: 7.7, 8: 13.8, 16: 24.9, 32: 36.2, 64: 48.6, 128: 49.9, 256: 55.5, 1024: 54.0},
}  # fmt: skip
"""The same of floats."""

GATED = range(16, 4_097)
"""Values of n that count; below, rearrangement decides, above, passes one after the other."""


def cycles(
    element: type[pl.ElementType[float]],
    m: int,
    n: int,
    architecture: Architecture = "bow",
) -> int:
    """Return what a product takes."""
    graph, program = pl.Graph(pl.Target(architecture=architecture)), pl.Sequence()
    plan = ops.plan_matmul(graph, m=m, k=m, n=n, type=element, partials=element)
    ops.map(ops.matmul(plan.create_left(), plan.create_right(), plan), program=program)
    totals = steps(graph, program)
    return sum(total.cycles - sum(phase.sync for phase in total.phases) for total in totals)


def products(element: type[pl.ElementType[float]], rates: Rates) -> Iterator[Row]:
    """B4: one row for each size."""
    clock = pl.Target(architecture="bow").clock_hz
    for m, by_columns in rates.items():
        for n, measured in by_columns.items():
            rate = 2 * m * m * n * clock / cycles(element, m, n) / 1e12
            what = f"matmul {element.__name__}, [{m}, {m}] x [{m}, {n}]"
            yield Row(
                "B4", what, 2, "H~ PS", "TFLOP/s", measured, rate, 0.35,
                "dense matmul" if n in GATED else "",
                "exchanges besides the product that were counted too; PopLibs' choice of plans",
            )  # fmt: skip


def halves() -> Iterator[Row]:
    """Products of halves."""
    return products(pl.HALF, HALF)


def floats() -> Iterator[Row]:
    """Products of floats."""
    return products(pl.FLOAT, FLOAT)


def open_toolchain() -> Iterator[Row]:
    """W18: a product of halves on a C600 by an open toolchain, at a third of its peak."""
    what = "matmul HALF, 4096^3, another toolchain"
    yield Row(
        "W18", what, 2, "H IS", "cycles", 2_262_696, cycles(pl.HALF, 4096, 4096, "c600"), 0.35, "",
        "that toolchain's layouts and plans: its rate is a lower bound",
    )  # fmt: skip


ROWS: Rows = {"B4-half": halves, "B4-float": floats, "W18": open_toolchain}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
