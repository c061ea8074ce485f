"""The links between IPUs: routes against a search of the ladder, rates, and the time of a sync."""

from __future__ import annotations

import itertools
from collections import deque

import pytest

import poplite as pl
from poplite.machine.facts import Architecture
from poplite.machine.links import (
    Link,
    bytes_per_cycle,
    global_sync_cycles,
    hops,
    link_bytes_per_cycle,
    route,
)

ALL = 16
PAIRS = list(itertools.permutations(range(ALL), 2))


def beyond(link: Link) -> int:
    """The IPU that a link leads to."""
    return {"card": link.ipu ^ 1, "cross": link.ipu ^ 1, "up": link.ipu + 2, "down": link.ipu - 2}[
        link.kind
    ]


def distances(start: int) -> dict[int, int]:
    """Fewest hops to each IPU of a ladder, by searching it."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        ipu = waiting.popleft()
        for other in (ipu ^ 1, ipu - 2, ipu + 2):
            if 0 <= other < ALL and other not in found:
                found[other] = found[ipu] + 1
                waiting.append(other)
    return found


@pytest.mark.parametrize("start", range(ALL))
def test_routes_are_the_shortest(start: int) -> None:
    assert {end: hops(start, end) for end in range(ALL)} == distances(start)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_routes_lead_from_one_to_the_other(a: int, b: int) -> None:
    here = a
    for link in route(a, b):
        assert link.ipu == here
        here = beyond(link)
    assert here == b
    assert any(link.kind == "card" for link in route(a, b)) == (a // 2 == b // 2)


def test_rates_are_those_of_the_links() -> None:
    target = pl.Target(
        ipus=4, clock_hz=1e9, costs={"link_bits_per_second": 8e9, "link_efficiency": 0.5}
    )
    rates = {kind: link_bytes_per_cycle(target, Link(kind, 0)) for kind in ("card", "cross", "up")}
    assert rates == {"card": 2, "cross": 1, "up": 1}  # 4, 2 and 2 links of half a byte
    assert bytes_per_cycle(target, 0, 1) == 2
    assert bytes_per_cycle(target, 0, 3) == bytes_per_cycle(target, 2, 0) == 1
    assert bytes_per_cycle(target, 2, 2) == float("inf")


@pytest.mark.parametrize(
    ("ipus", "architecture", "cycles"),
    [
        (1, "gc200", 0),
        (2, "gc200", 600),
        (16, "gc2", 600),  # 501 to 642 on hardware, lbm-graphcore
        (64, "gc200", 679),  # 17 hops of 15 ns, there and back, at 1.33 GHz: 678.3
    ],
)
def test_a_sync_takes_longer_on_a_long_ladder(
    ipus: int, architecture: Architecture, cycles: int
) -> None:
    assert global_sync_cycles(pl.Target(ipus=ipus, architecture=architecture)) == cycles
