"""How long a block takes on a machine with two pipes, in order, with every latency one slot.

    main    load c   load k   load b   store
    aux                       mul      add            5 slots instead of 4 + 2

Only neighbours form pairs, and the compiler finds a share of the ideal pairings: that share
is `pairing`.  The branch at the end of a block is never paired.

Sources: llvm-ipu, scheduling model and pairing pass; the share is fitted to 11 loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from poplite.simulator.pricing.blocks import Instruction

Pipe = Literal["main", "aux"]

PARTS = 64
"""Parts of a slot: costs are integers, so that sums do not depend on their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """What an instruction costs.

    Attributes:
        pipe: where it runs; None for what costs nothing.
        slots: how long it keeps the pipe.
        ends: whether it leaves the block.
        calls: whether it is a call of the library.
    """

    pipe: Pipe | None = None
    slots: int = 0
    ends: bool = False
    calls: bool = False


FREE = Price()


def block_parts(
    instructions: Sequence[Instruction], prices: Sequence[Price], pairing: float
) -> int:
    """Return what a block costs, in 64ths of a slot; with `pairing` 0 nothing runs side by side."""
    single = sum(price.slots for price in prices)
    return round(PARTS * (single - pairing * (single - ideal_slots(instructions, prices))))


def ideal_slots(instructions: Sequence[Instruction], prices: Sequence[Price]) -> int:
    """Return the slots of a block in which all possible pairs form."""
    needs = _needs(instructions, prices)
    urgency = _urgency(needs, prices)
    end = sum(price.slots for price in prices if price.ends)
    waiting = {k: len(needs[k]) for k, price in enumerate(prices) if price.slots and not price.ends}
    after: dict[int, list[int]] = defaultdict(list)
    for k in waiting:
        for before in needs[k]:
            after[before].append(k)
    finishing: dict[int, list[int]] = defaultdict(list)
    ready: dict[Pipe | None, list[tuple[int, int]]] = {"main": [], "aux": []}
    free_at = dict.fromkeys(ready, 0)
    begun = [k for k, missing in waiting.items() if not missing]
    left, now = len(waiting), 0
    while True:
        for k in begun:
            heappush(ready[prices[k].pipe], (-urgency[k], k))  # among equals, the first goes first
        for pipe, queue in ready.items():
            if queue and free_at[pipe] <= now:
                _, chosen = heappop(queue)
                free_at[pipe] = now + prices[chosen].slots
                finishing[free_at[pipe]].append(chosen)
                left -= 1
        if not left:
            return max(free_at.values()) + end
        now += 1
        begun = []
        for finished in finishing.pop(now, ()):
            for k in after[finished]:
                waiting[k] -= 1
                if not waiting[k]:
                    begun.append(k)


def _urgency(needs: Mapping[int, set[int]], prices: Sequence[Price]) -> dict[int, int]:
    """Return, for each instruction, the slots from its beginning to the end of its dependents."""
    after = dict.fromkeys(needs, 0)
    urgency = {}
    for k in reversed(range(len(prices))):
        urgency[k] = after[k] + prices[k].slots
        for before in needs[k]:
            after[before] = max(after[before], urgency[k])
    return urgency


def _needs(instructions: Sequence[Instruction], prices: Sequence[Price]) -> dict[int, set[int]]:
    """Return, for each instruction, those that must have finished before it begins.

    An instruction without cost passes on its own needs; a store waits for all accesses before it.
    """
    made_by: Mapping[str, int] = {each.name: k for k, each in enumerate(instructions) if each.name}
    needs: dict[int, set[int]] = {}
    accesses: list[int] = []
    for k, instruction in enumerate(instructions):
        own: set[int] = set()
        if instruction.opcode != "phi":
            for operand in instruction.operands:
                before = made_by.get(operand, k)
                if before < k:
                    own |= {before} if prices[before].slots else needs[before]
        if instruction.opcode == "store":
            own.update(accesses)
            accesses.clear()  # to wait for this store is to wait for them
        if instruction.opcode in ("load", "store") and prices[k].slots:
            accesses.append(k)
        needs[k] = own
    return needs
