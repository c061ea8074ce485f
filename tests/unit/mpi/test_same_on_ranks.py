"""Programs on ranks: the same bits, cycles and reports as on the simulator."""

from __future__ import annotations

from functools import cache

import pytest

from helpers.depth import deep, thinned
from helpers.rank_cases import CASES
from helpers.ranks import differences, needs_mpi

NAMES = [case.__name__ for case in CASES]
QUICK = [
    "bfs",
    "moved:compiled",
    "varying",
    "returned",
    "hosted",
    "replicas",
    "quarters",
    "states",
    "growing",
    "1",
    "bfs:strict",
    "states:strict",
]
FULL = [
    *NAMES,
    *(f"{name}:compiled" for name in NAMES if name != "quarters"),
    *(f"{name}:strict" for name in NAMES),
    *(f"{name}:strict:compiled" for name in NAMES if name != "quarters"),
    *(f"{seed}:strict" for seed in range(30, 40)),
    *map(str, range(2, 20)),
    *(f"{seed}:compiled" for seed in range(20, 30)),
]

NINE = ("returned", "bfs", "30:strict")
"""Programs that data decide, on so many ranks that these hand on what decides."""


@cache
def found(count: int, cases: tuple[str, ...]) -> dict[str, str]:
    """Run all cases at once, in processes that start once."""
    return differences(count, cases)


@needs_mpi
@pytest.mark.parametrize("count", thinned([3, 2, 1, 4], keep=1))
@pytest.mark.parametrize("name", QUICK)
def test_ranks_do_what_the_simulator_does(count: int, name: str) -> None:
    assert found(count, tuple(QUICK))[name] == ""


@deep
@needs_mpi
@pytest.mark.parametrize("name", NINE)
def test_nine_ranks_do_what_the_simulator_does(name: str) -> None:
    assert found(9, NINE)[name] == ""


@deep
@needs_mpi
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", FULL)
def test_ranks_do_in_all_forms_what_the_simulator_does(count: int, name: str) -> None:
    assert found(count, tuple(FULL))[name] == ""
