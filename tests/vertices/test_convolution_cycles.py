"""Cycles of convolutions and of pooling: PopLibs' estimates, worker by worker."""

from __future__ import annotations

from math import ceil
from typing import Literal

from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.vertices.amp import amp_cycles
from poplite.vertices.convolution import convolution_cycles
from poplite.vertices.pooling import pooling_cycles

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


def estimate(
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
        assert found == estimate(outputs, inputs, kernel, rows, is_float) + launch


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
