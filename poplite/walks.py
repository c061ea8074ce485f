"""Walks over nodes that may be shared, each visited once; no depth is too deep for them.

`key` tells nodes apart; without it, nodes that compare equal are visited as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Reversible
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
) -> Iterator[N]:
    """Yield nodes, and all below them: each before those below it, and in their order.

    `seen` are keys of nodes that are left out; those of the nodes found are added.

    >>> list(top_down([6], lambda n: [n - 1, n // 2] if n > 1 else []))
    [6, 5, 4, 3, 2, 1]
    """
    seen = set() if seen is None else seen
    waiting = [*reversed(starts)]
    while waiting:
        node = waiting.pop()
        mark = node if key is None else key(node)
        if mark not in seen:
            seen.add(mark)
            yield node
            waiting += reversed(below(node))


def bottom_up(
    starts: Reversible[N], below: Below[N], *, key: Callable[[N], object] | None = None
) -> Iterator[N]:
    """Yield nodes, and all below them: each after those below it.

    >>> list(bottom_up([6], lambda n: [n // 2, n - 1] if n > 1 else []))
    [1, 2, 3, 4, 5, 6]
    """
    seen: set[object] = set()
    waiting = [(node, False) for node in reversed(starts)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            yield node
            continue
        mark = node if key is None else key(node)
        if mark not in seen:
            seen.add(mark)
            lower = [(each, False) for each in reversed(below(node))]
            if lower:
                waiting.append((node, True))
                waiting += lower
            else:
                yield node
