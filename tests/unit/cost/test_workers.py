"""How vertices share the workers of their tiles."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from poplite.arrays.series import Series, compact, counting
from poplite.cost.step_cost import VertexCosts
from poplite.cost.workers import tile_cycles
from poplite.graph.compute_sets.edges import VertexTiles


class One(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 1


class All(pl.MultiVertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self, worker: int) -> None:
        self.x = 1


TARGET = pl.Target(tiles=4)


def family(
    cls: type[pl.Vertex], tiles: list[int], slots: list[int], numbers: Series | None = None
) -> tuple[VertexCosts, Series]:
    placed = VertexTiles.of(np.array(tiles, np.int64), TARGET.tiles)
    given = compact(np.array(slots, np.int64))
    numbers = counting(0, len(tiles)) if numbers is None else numbers
    return VertexCosts(cls, numbers, placed, "given", given, None, None, None), given


def cycles(*families: tuple[VertexCosts, Series], target: pl.Target = TARGET) -> list[int]:
    costs, slots = [costs for costs, _ in families], [slots for _, slots in families]
    return [*map(int, tile_cycles(costs, slots, target).array())]


def test_nothing_takes_nothing() -> None:
    assert not tile_cycles([], [], TARGET).num_used
    costs, slots = family(One, [], [])
    assert not tile_cycles([costs], [slots], TARGET).num_used


def test_a_worker_with_nothing_to_do_lets_no_other_go_faster() -> None:
    assert cycles(family(One, [2], [100])) == [0, 0, 600, 0]
    assert cycles(family(One, [2] * 6, [100] * 6)) == [0, 0, 600, 0]
    assert cycles(family(One, [2] * 7, [100] * 7)) == [0, 0, 1200, 0]


def test_the_published_program_of_48_vertices_on_a_tile() -> None:
    # 48 dot products, then 9 that add up: 3,802 cycles in Graphcore's model, as tiles differ.
    dots, sums = family(One, [0] * 48, [77] * 48), family(One, [0] * 9, [9] * 9)
    assert cycles(dots)[0] + cycles(sums)[0] == 8 * 6 * 77 + 2 * 6 * 9 == 3_804


def test_each_goes_to_the_worker_that_is_free_first() -> None:
    target = pl.Target(tiles=4, workers=3)
    assert cycles(family(One, [0] * 5, [5, 3, 4, 4, 2]), target=target) == [21, 0, 0, 0]
    assert cycles(family(One, [0, 1] * 3, [9, 1, 9, 1, 9, 1]), target=target) == [27, 3, 0, 0]
    single = pl.Target(tiles=4, workers=1)
    assert cycles(family(One, [3] * 3, [5, 0, 2]), target=single) == [0, 0, 0, 7]


def test_families_start_in_the_order_of_their_numbers() -> None:
    target = pl.Target(tiles=4, workers=2)
    # 8 first, then 1 1 1 beside it; or 1 and 1, then 8 beside 1.
    short, long = [0, 0, 0], [0]
    in_front = family(One, short, [1] * 3, counting(1, 3)), family(One, long, [8], counting(0, 1))
    behind = family(One, short, [1] * 3, counting(0, 3)), family(One, long, [8], counting(3, 1))
    mixed = (
        family(One, short, [1] * 3, compact(np.array([0, 2, 3]))),
        family(One, long, [8], counting(1, 1)),
    )
    assert [cycles(*each, target=target)[0] for each in (in_front, behind, mixed)] == [16, 18, 16]
    assert cycles(*reversed(behind), target=target)[0] == 18


def test_families_of_equal_slots_share_workers() -> None:
    assert cycles(
        family(One, [0] * 4, [10] * 4), family(One, [0] * 3, [10] * 3, counting(4, 3))
    ) == [*(120, 0, 0, 0)]


def test_a_multi_vertex_has_its_tile_for_itself() -> None:
    assert cycles(family(All, [0, 0, 3], [101, 101, 101])) == [202, 0, 0, 101]
    assert cycles(family(All, [0, 0, 3], [101, 50, 7])) == [151, 0, 0, 7]
    assert cycles(family(One, [0], [10]), family(All, [0], [100], counting(1, 1)))[0] == 160


@pytest.mark.parametrize("equal", [True, False])
def test_many_vertices_are_shared_out(equal: bool) -> None:
    made = np.random.default_rng(3)
    tiles = made.integers(0, 4, 500).tolist()
    slots = [37] * 500 if equal else made.integers(0, 90, 500).tolist()
    found = cycles(family(One, tiles, slots))
    busy = [[0] * 6 for _ in range(4)]
    for tile, taken in zip(tiles, slots, strict=True):
        own = busy[tile]
        own[own.index(min(own))] += taken
    assert found == [6 * max(own) for own in busy]
    fewer = cycles(family(One, tiles, slots), family(One, [0], [1], counting(500, 1)))
    assert fewer[1:] == found[1:]
