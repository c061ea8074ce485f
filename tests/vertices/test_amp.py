"""poplite.vertices.amp: what the AMP unit takes, against measured rows and the estimator."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.vertices.amp import AmpMatMulInHalf, amp_cycles

# tessellate-ipu, notebooks/IPU Peak Flops.ipynb: columns, and cycles on a Bow.
MEASURED = {
    16: 402, 32: 461, 48: 524, 64: 584, 80: 653, 96: 716, 112: 776, 128: 845, 144: 908, 160: 968,
    192: 1100, 256: 1352, 320: 1613, 512: 2381, 1024: 4424, 1536: 6476, 2032: 8456, 2048: 8525,
}  # fmt: skip


@pytest.mark.parametrize(("columns", "cycles"), MEASURED.items())
def test_measured_lengths(columns: int, cycles: int) -> None:
    found = int(amp_cycles(16, 16, columns, 2, pl.Target(architecture="bow")))
    assert found == pytest.approx(cycles, rel=0.004 if columns > 16 else 0.03)


def estimate(outputs: int, inputs: int, columns: int, is_float: bool, workers: int) -> int:
    """The estimator of poplibs, worker by worker, for 16 units and one group of convolutions.

    Of floats it has 46 slots for two and three rows; hardware takes 8 more for each.
    """
    shares = [columns // workers + (w < columns % workers) for w in range(workers)]

    def streamed(is_last: bool) -> int:
        slots = []
        for n in shares:
            if is_float:
                zeroed = (2 + 8 * n) * is_last if n else 0
                slots.append((47 + 8 * (n - 1) if n else 24) + zeroed)
            else:
                slots.append({0: 20, 1: 31, 2: 40}.get(n, 36 + 4 * (n - 3)) + 2 - is_last - 7)
        busy = [s for s, n in zip(slots, shares, strict=True) if n]
        least = min(busy) if len(busy) == workers else 0
        return max(workers * max(busy), workers * least + 14)

    groups, passes = ceil(inputs / (8 if is_float else 16)), ceil(outputs / 16)
    kept = 0 if is_float else workers * (7 + 3 * (groups - 1))
    first = (groups - 1) * (15 + passes * (19 + 6 + 32 + streamed(False)))
    return 50 + kept + 13 + first + 11 + passes * (18 + 7 + 32 + streamed(True))


@given(
    outputs=st.integers(1, 100),
    inputs=st.integers(1, 100),
    columns=st.integers(1, 100),
    is_float=st.booleans(),
    workers=st.integers(1, 7),
)
def test_it_is_the_estimate_of_poplibs_and_a_launch(
    outputs: int, inputs: int, columns: int, is_float: bool, workers: int
) -> None:
    target = pl.Target(workers=workers)
    found = int(amp_cycles(outputs, inputs, columns, 4 if is_float else 2, target))
    assert found == estimate(outputs, inputs, columns, is_float, workers) + 37


def test_arrays_are_priced_at_once() -> None:
    outputs, inputs, columns = (a.ravel() for a in np.mgrid[1:40:13, 0:40:7, 1:40:5])
    target = pl.Target()
    for size in (2, 4):
        found = amp_cycles(outputs, inputs, columns, size, target)
        each = [
            int(amp_cycles(m, k, n, size, target))
            for m, k, n in zip(outputs.tolist(), inputs.tolist(), columns.tolist(), strict=True)
        ]
        assert found.tolist() == each


@given(
    sizes=st.tuples(*3 * [st.integers(1, 300)]),
    more=st.integers(0, 2),
    size=st.sampled_from((2, 4)),
)
def test_more_work_never_takes_less(sizes: tuple[int, int, int], more: int, size: int) -> None:
    outputs, inputs, columns = (n + 16 * (k == more) for k, n in enumerate(sizes))
    target = pl.Target()
    assert amp_cycles(outputs, inputs, columns, size, target) >= amp_cycles(*sizes, size, target)


def test_an_old_machine_is_half_as_fast() -> None:
    def peak(**of: Any) -> float:
        target = pl.Target(**of)
        few, many = (int(amp_cycles(16, 16, n, 2, target)) for n in (6_000, 12_000))
        return 6_000 * 16 * 16 / (many - few)

    assert (peak(), peak(architecture="gc2")) == (64, 32)


def test_a_vertex_costs_what_its_lengths_say() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    tensors = {
        field: graph.add_variable(pl.HALF, (size,), field, mapping=0)
        for field, size in (("weights", 20 * 30), ("x", 30 * 50), ("out", 20 * 50))
    }
    vertex = graph.add_vertex(
        graph.add_compute_set("one"), AmpMatMulInHalf, tile=0, columns=50, **tensors
    )
    cycles = int(amp_cycles(20, 30, 50, 2, graph.target))
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(cycles, 2 * 20 * 30 * 50)
