"""Memory for things of known size and lifetime: each at the lowest address that is free for it."""

from __future__ import annotations

from poplite.jit.kernels import Int64s

ALWAYS = -1
"""First step of things that are needed all the time."""


def aligned(address: int, align: int) -> int:
    """Return the next multiple of an alignment."""
    return (address + align - 1) // align * align


def first_fit(
    size: Int64s, align: Int64s, upper: Int64s, first: Int64s, last: Int64s, count: int,
    border: int, limit: int, active: Int64s, out: Int64s,
) -> int:  # fmt: skip
    """Find addresses, and return the bytes in use, gaps included.

    Where things lie on both sides of a border, free memory below it can be used, and is no gap;
    but it is a gap if the things above reach beyond the end of memory.

    Args:
        size: bytes of each thing; those without any are skipped.
        align: alignment of each address.
        upper: 1 for things that lie above the border.
        first: the first step of each, `ALWAYS` before all others, and then rising.
        last: the last step of each.
        count: how many things.
        border: the first address of the upper part, if there are things for it.
        limit: the end of memory.
        active: room for all: those that are needed in the present step, by address.
        out: the addresses.
    """
    split = 0
    for i in range(count):
        if upper[i] > 0 and size[i] > 0:
            split = 1
    low = lowest = live = 0
    high = highest = border
    for i in range(count):
        if size[i] == 0:
            continue
        # Things that have ended make room: no later thing begins before this one.
        kept = 0
        for k in range(live):
            if last[active[k]] >= first[i]:
                active[kept] = active[k]
                kept += 1
        live = kept
        at = high if upper[i] > 0 else low
        at = aligned(at, align[i])
        if split > 0 and at < high and at + size[i] > border:
            at = aligned(high, align[i])
        place = 0
        for k in range(live):
            other = active[k]
            if at + size[i] <= out[other]:
                break
            if out[other] + size[other] > at:
                at = aligned(out[other] + size[other], align[i])
                if split > 0 and at < high and at + size[i] > border:
                    at = aligned(high, align[i])
            place = k + 1
        out[i] = at
        end = at + size[i]
        above = split > 0 and at >= border
        if first[i] == ALWAYS:
            if above:
                high = end
            else:
                low = end
        else:
            for k in range(live, place, -1):
                active[k] = active[k - 1]
            active[place] = i
            live += 1
        if above and end > highest:
            highest = end
        if not above and end > lowest:
            lowest = end
    if split > 0 and highest > limit:
        return highest
    return lowest + highest - border
