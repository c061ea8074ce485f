"""Tables without a plan are read and changed in the way that reports count fewest cycles for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite import ops
from poplite.ops.slices import choice

NEAR = 1.12
"""How many times the cycles of the best way the chosen one may take: prices are formulas."""


def cycles_of(
    operation: str, tiles: int, kind: Any, sizes: tuple[int, int, int], lies: tuple[Any, Any]
) -> int:
    """The cycles of a report on reading or changing rows of [entries, width], by number."""
    entries, width, lookups = sizes
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    x = graph.add_variable(kind, (entries, width), "x", mapping=lies[0], initial_value=0)
    numbers = np.random.default_rng(1).integers(0, entries, lookups)
    k = graph.add_variable(pl.UNSIGNED_INT, (lookups,), "k", mapping=lies[1], initial_value=numbers)
    if operation == "multi_slice":
        ops.multi_slice(x, k, program=program)
    else:
        new = graph.add_variable(kind, (lookups, width), "s", mapping=lies[0], initial_value=1)
        getattr(ops, operation)(x, new, k, program=program)
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    cycles = engine.report().cycles
    assert cycles is not None
    return cycles


@pytest.mark.parametrize("operation", ["multi_slice", "multi_update"])
@examples(15, quick=2)
@given(
    tiles=st.sampled_from([4, 16, 64]),
    kind=st.sampled_from([pl.FLOAT, pl.HALF]),
    sizes=st.tuples(st.integers(8, 2000), st.sampled_from([1, 2, 8, 12, 32]), st.integers(1, 300)),
    lies=st.tuples(st.sampled_from(["linear", 0]), st.sampled_from(["linear", 0])),
)
def test_the_chosen_way_is_the_cheapest_as_reports_count(
    operation: str, tiles: int, kind: Any, sizes: tuple[int, int, int], lies: tuple[Any, Any]
) -> None:
    case = operation, tiles, kind, sizes, lies
    found: list[Any] = []
    best = choice.Ways.best

    def remembered(ways: choice.Ways[Any]) -> Any:
        found.extend(ways.found)
        return best(ways)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice.Ways, "best", remembered)
        chosen = cycles_of(*case)
        fitting = [n for n, ((excess, *_), _) in enumerate(found) if not excess]
        others = []
        for number in fitting:
            patch.setattr(choice.Ways, "best", lambda ways, n=number: ways.found[n][1])
            others.append(cycles_of(*case))
    assert chosen <= NEAR * min(others)


@pytest.mark.parametrize(
    ("tiles", "sizes", "most"),
    [(64, (4000, 100, 200), 13_654), (1472, (1000, 16, 50), 2_239)],
    ids=["64 tiles", "1,472 tiles"],
)
def test_no_table_is_read_dearer_than_by_copying_it_first(
    tiles: int, sizes: tuple[int, int, int], most: int
) -> None:
    assert cycles_of("multi_slice", tiles, pl.FLOAT, sizes, ("linear", "linear")) <= most
