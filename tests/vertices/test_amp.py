"""The AMP unit: what products and convolutions take, against measured rows and the estimator."""

from __future__ import annotations

from math import ceil
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.machine.facts import Architecture
from poplite.vertices.amp import AmpMatMul, AmpMatMulInHalf, amp_cycles
from poplite.vertices.convolution import convolution_cycles, pooling_cycles

# tessellate-ipu, notebooks/IPU Peak Flops.ipynb: columns, and cycles on a Bow.
MEASURED = {
    16: 402, 32: 461, 48: 524, 64: 584, 80: 653, 96: 716, 112: 776, 128: 845, 144: 908, 160: 968,
    192: 1100, 256: 1352, 320: 1613, 512: 2381, 1024: 4424, 1536: 6476, 2032: 8456, 2048: 8525,
}  # fmt: skip


@pytest.mark.parametrize(("columns", "cycles"), MEASURED.items())
def test_measured_lengths(columns: int, cycles: int) -> None:
    bow = pl.Target(architecture="bow")
    found = int(amp_cycles(16, 16, columns, pl.HALF, pl.HALF, bow))
    assert found == pytest.approx(cycles, rel=0.004 if columns > 16 else 0.03)


# Types of inputs and of sums, and the outputs that PopLibs' vertices for Mk2 make at once.
Kinds = tuple[type[pl.ElementType[float]], type[pl.ElementType[float]]]
KINDS: dict[Kinds, int] = {
    (pl.HALF, pl.HALF): 16, (pl.HALF, pl.FLOAT): 8, (pl.FLOAT, pl.FLOAT): 16,
}  # fmt: skip


def estimate(outputs: int, inputs: int, columns: int, kinds: Kinds, workers: int) -> int:
    """The estimator of poplibs, worker by worker, for one group of convolutions.

    Of floats it has 46 slots for two and three rows; hardware takes 8 more for each.
    """
    is_float, units = kinds[0] is pl.FLOAT, KINDS[kinds]
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

    groups, passes = ceil(inputs / (8 if is_float else 16)), ceil(outputs / units)
    kept = 0 if is_float else workers * (7 + 3 * (groups - 1))
    first = (groups - 1) * (15 + passes * (19 + 6 + 2 * units + streamed(False)))
    return 50 + kept + 13 + first + 11 + passes * (18 + 7 + 2 * units + streamed(True))


@given(
    outputs=st.integers(1, 100),
    inputs=st.integers(1, 100),
    columns=st.integers(1, 100),
    kinds=st.sampled_from([*KINDS]),
    workers=st.integers(1, 7),
)
def test_it_is_the_estimate_of_poplibs_and_a_launch(
    outputs: int, inputs: int, columns: int, kinds: Kinds, workers: int
) -> None:
    target = pl.Target(workers=workers)
    found = int(amp_cycles(outputs, inputs, columns, *kinds, target))
    assert found == estimate(outputs, inputs, columns, kinds, workers) + 37


def test_arrays_are_priced_at_once() -> None:
    outputs, inputs, columns = (a.ravel() for a in np.mgrid[1:40:13, 0:40:7, 1:40:5])
    target = pl.Target()
    for kinds in KINDS:
        found = amp_cycles(outputs, inputs, columns, *kinds, target)
        each = [
            int(amp_cycles(m, k, n, *kinds, target))
            for m, k, n in zip(outputs.tolist(), inputs.tolist(), columns.tolist(), strict=True)
        ]
        assert found.tolist() == each


@given(
    sizes=st.tuples(*3 * [st.integers(1, 300)]),
    more=st.integers(0, 2),
    kinds=st.sampled_from([*KINDS]),
)
def test_more_work_never_takes_less(sizes: tuple[int, int, int], more: int, kinds: Kinds) -> None:
    outputs, inputs, columns = (n + 16 * (k == more) for k, n in enumerate(sizes))
    target = pl.Target()
    more_cycles = amp_cycles(outputs, inputs, columns, *kinds, target)
    assert more_cycles >= amp_cycles(*sizes, *kinds, target)


def test_an_old_machine_is_half_as_fast_but_where_floats_sum_up_halves() -> None:
    """Both make 8 outputs at once there, and the old one of all types (Jia et al. 2019)."""

    def peak(architecture: Architecture, kinds: Kinds) -> float:
        target, inputs = pl.Target(architecture=architecture), 32 // kinds[0].size_bytes
        few, many = (int(amp_cycles(16, inputs, n, *kinds, target)) for n in (6_000, 12_000))
        zeroed = 6_000 * target.cost("amp_float_zero_row") * 16 / target.getNumConvUnits(*kinds)
        return 6_000 * 16 * inputs / (many - few - zeroed * (kinds[0] is pl.FLOAT))

    assert [peak("gc200", kinds) for kinds in KINDS] == [64, 32, 16]
    assert [peak("gc2", kinds) for kinds in KINDS] == [32, 32, 8]


@pytest.mark.parametrize(
    ("cls", "out"), [(AmpMatMulInHalf, pl.HALF), (AmpMatMul[pl.HALF], pl.FLOAT)]
)
def test_a_vertex_costs_what_its_lengths_and_types_say(
    cls: type[pl.MultiVertex], out: type[pl.ElementType[float]]
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    tensors = {
        field: graph.add_variable(of, (size,), field, mapping=0)
        for field, of, size in (
            ("weights", pl.HALF, 20 * 30),
            ("x", pl.HALF, 30 * 50),
            ("out", out, 20 * 50),
        )
    }
    vertex = graph.add_vertex(graph.add_compute_set("one"), cls, tile=0, columns=50, **tensors)
    cycles = int(amp_cycles(20, 30, 50, pl.HALF, out, graph.target))
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(cycles, 2 * 20 * 30 * 50)


# -- cycles of convolutions and of pooling: PopLibs' estimates, worker by worker -------------------


SIZES = st.integers(1, 40)


def stretches(rows: int, columns: int, workers: int) -> list[list[int]]:
    """The lengths of the parts of rows that each worker has."""
    found = []
    for w in range(workers):
        first, end = rows * columns * w // workers, rows * columns * (w + 1) // workers
        own: dict[int, int] = {}
        for position in range(first, end):
            own[position // columns] = own.get(position // columns, 0) + 1
        found.append(list(own.values()))
    return found


def estimate_of_convolution(
    outputs: int, inputs: int, kernel: tuple[int, int], rows: tuple[int, int], is_float: bool
) -> int:
    """`getConvPartialnx1SupervisorCycleEstimate`, one group, a filter height of 1."""
    slots, units = [], 16 if is_float else 8  # of halves that are summed up in floats
    for own in stretches(*rows, 6):
        total = 17
        for n in own:
            few = {1: 33, 2: 44} if is_float else {1: 29, 2: 33}
            total += 3 + few.get(n, (45 if is_float else 34) + (n - 3) * (8 if is_float else 4)) - 9
        slots.append(6 * total)
    least = min(slots) if rows[0] * rows[1] >= 6 else 0
    streamed = max(*slots, least + 9)
    inner = kernel[0] * (14 + kernel[1] * (12 + 2 * units + 15 + 3 + streamed))
    depth, passes = ceil(inputs / (8 if is_float else 16)), ceil(outputs / units)
    share = ceil(rows[0] * rows[1] / 6)
    zeroed = passes * 17 + (passes - 1) * 6 + 1 + 1 + passes * 6 * (units // 2 * share + 14 - 9)
    return 109 + 6 * 9 + 6 * 9 + zeroed + 16 + depth * (14 + passes * (14 + inner))


@examples(60)
@given(
    outputs=SIZES,
    inputs=SIZES,
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    rows=st.tuples(st.integers(1, 9), st.integers(1, 20)),
    is_float=st.booleans(),
)
def test_a_convolution_takes_the_estimate_of_poplibs_and_a_launch(
    outputs: int, inputs: int, kernel: tuple[int, int], rows: tuple[int, int], is_float: bool
) -> None:
    target, element = pl.Target(tiles=1), pl.FLOAT if is_float else pl.HALF
    found = int(convolution_cycles(outputs, inputs, kernel, rows, element, target))
    if kernel == (1, 1):
        columns = rows[0] * rows[1]
        assert found == int(amp_cycles(outputs, inputs, columns, element, pl.FLOAT, target))
    else:
        launch = target.cost("amp_launch")
        assert found == estimate_of_convolution(outputs, inputs, kernel, rows, is_float) + launch


@examples(60)
@given(
    how=st.sampled_from(["max", "sum", "backward"]),
    rows=st.tuples(st.integers(1, 9), st.integers(1, 20)),
    taps=st.integers(1, 9),
    vectors=st.integers(1, 9),
)
def test_pooling_takes_the_estimate_of_poplibs(
    how: Literal["max", "sum", "backward"], rows: tuple[int, int], taps: int, vectors: int
) -> None:
    """`getPoolingCycles` of one group of channels, with its costs of unpacking pointers."""
    back, slots = how == "backward", []
    for own in stretches(*rows, 6):
        total = 4 + 1 + 2 + 7 + 2 + 5 + 1 + 1 + 2 + 1
        if own:
            total += 2 + (2 if how == "sum" else 1) + 1 + 3 + (6 + 2 + 2) * back
        for n in own:
            inner = {"max": 4, "sum": 5, "backward": 7}[how] + (5 if back else 3) * (n - 1)
            item = 20 + 2 + 2 + 2 + 2 + 4 + 1 + 3 + (1 + 1 + 2 + 2 + 4) * back
            total += 13 + 2 + 2 + taps * (item + vectors * (2 + inner + 1))
        slots.append(total)
    found = pooling_cycles(how, rows, taps, vectors, pl.Target(tiles=1))
    assert int(found) == 7 + 6 * max(slots) + 6
