"""The links between IPUs: routes, speeds.

IPUs are arranged in a ladder; two of them make a card::

    0 ===== 1       card    4 links between the two of a card, for data from one to the other
    |       |       cross   2 links there, for data on the way to another card
    2 ===== 3       up      2 links to the same side of the next card
    |       |       down    2 links to the same side of the card before
    4 ===== 5

Data for the other side of another card cross first, then go up or down:

    >>> [(link.kind, link.ipu) for link in route(0, 5)]
    [('cross', 0), ('up', 1), ('up', 3)]

Each group of links serves one direction, and all data that pass it share its rate.

Source: poplibs, lib/poplibs_test/Util.cpp, addGlobalExchangeConstraints and setGlobalSyncLatency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from poplite.machine.target import Target


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A group of links that data pass together, in one direction.

    Attributes:
        kind: where it leads.
        ipu: the IPU that it leaves.
    """

    kind: Literal["card", "cross", "up", "down"]
    ipu: int


_LINKS = {
    "card": "card_links",
    "cross": "cross_links",
    "up": "ladder_links",
    "down": "ladder_links",
}


def route(a: int, b: int) -> tuple[Link, ...]:
    """Return the links that data take from one IPU to another, in order; none to the same IPU.

    >>> route(2, 3)
    (Link(kind='card', ipu=2),)
    """
    if a == b:
        return ()
    if a // 2 == b // 2:
        return (Link("card", a),)
    links = []
    if a % 2 != b % 2:
        links.append(Link("cross", a))
        a ^= 1
    links += [Link("up", ipu) for ipu in range(a, b, 2)]
    links += [Link("down", ipu) for ipu in range(a, b, -2)]
    return tuple(links)


def hops(a: int, b: int) -> int:
    """Return how many links data pass from one IPU to another.

    >>> hops(0, 0), hops(0, 1), hops(0, 4), hops(0, 5)
    (0, 1, 2, 3)
    """
    return len(route(a, b))


def link_bytes_per_cycle(target: Target, link: Link) -> float:
    """Return the bytes that pass a group of links in a tile cycle, in one direction.

    >>> from poplite.machine.target import Target
    >>> round(link_bytes_per_cycle(Target(ipus=2), Link("card", 0)), 2)
    43.92
    """
    bits = target.cost("link_bits_per_second") * target.cost("link_efficiency")
    return bits * target.cost(_LINKS[link.kind]) / (8 * target.clock_hz)


def bytes_per_cycle(target: Target, a: int, b: int) -> float:
    """Return the bytes that one IPU can send another in a tile cycle, without other traffic.

    To itself, an IPU can send any number.

    >>> from poplite.machine.target import Target
    >>> machine = Target(ipus=4)
    >>> bytes_per_cycle(machine, 0, 1) / bytes_per_cycle(machine, 0, 3)
    2.0
    """
    rates = (link_bytes_per_cycle(target, link) for link in route(a, b))
    return min(rates, default=math.inf)


def global_sync_cycles(target: Target) -> int:
    """Return the cycles until the tiles of all IPUs have waited for each other; 0 on one IPU.

    A signal goes to the farthest card and back; short ladders take as long as was measured on one
    of 16 IPUs.

    >>> from poplite.machine.target import Target
    >>> global_sync_cycles(Target()), global_sync_cycles(Target(ipus=2))
    (0, 600)
    """
    if target.ipus == 1:
        return 0
    farthest = 1 + target.ipus // 2 // 2
    signal = target.cost("global_sync_hop_seconds") * target.clock_hz * farthest * 2
    return max(int(target.cost("global_sync_cycles")), math.ceil(signal))
