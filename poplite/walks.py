"""Walks over nodes that may be shared, each visited once; no depth is too deep for them.

`key` tells nodes apart; without it, nodes that compare equal are visited as one.
"""

from __future__ import annotations

from collections.abc import Callable, Reversible
from typing import Any, TypeVar

N = TypeVar("N")

Below = Callable[[N], Reversible[N]]
"""The nodes below a node, in order."""


def top_down(
    starts: Reversible[N],
    below: Below[N],
    *,
    seen: set[Any] | None = None,
    key: Callable[[N], object] | None = None,
) -> list[N]:
    """Return nodes, and all below them: each before those below it, and in their order.

    `seen` are keys of nodes that are left out; those of the nodes found are added.

    >>> top_down([6], lambda n: [n - 1, n // 2] if n > 1 else [])
    [6, 5, 4, 3, 2, 1]
    """
    seen = set() if seen is None else seen
    found: list[N] = []
    waiting = [*reversed(starts)]
    while waiting:
        node = waiting.pop()
        mark = node if key is None else key(node)
        if mark not in seen:
            seen.add(mark)
            found.append(node)
            waiting += reversed(below(node))
    return found


def bottom_up(
    starts: Reversible[N], below: Below[N], *, key: Callable[[N], object] | None = None
) -> list[N]:
    """Return nodes, and all below them: each after those below it.

    >>> bottom_up([6], lambda n: [n // 2, n - 1] if n > 1 else [])
    [1, 2, 3, 4, 5, 6]
    """
    seen: set[object] = set()
    found: list[N] = []
    waiting: list[Any] = [*reversed(starts)]
    while waiting:
        node = waiting.pop()
        if node is _BELOW_DONE:
            found.append(waiting.pop())
            continue
        mark = node if key is None else key(node)
        if mark not in seen:
            seen.add(mark)
            if lower := below(node):
                waiting += (node, _BELOW_DONE)
                waiting += reversed(lower)
            else:
                found.append(node)
    return found


_BELOW_DONE = object()
"""Lies above a node that waits until all nodes below it are found."""
