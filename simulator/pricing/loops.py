"""What loops cost beside their bodies, and what a program only computes in order to count.

    brnzdec    1 slot    the machine counts down and branches in one instruction
    rpt        0 slots   an innermost loop of one block that runs as often as a field is long
    otherwise            addition, comparison and branch, as they stand

`range(first, last, step)` divides to compute its number of iterations, where C++ compares: if the
step is not constant, that division is free, and the comparison is not.

Sources: llvm-ipu, lowering of loops; popc listings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from poplite.simulator.pricing.blocks import (
    BasicBlock,
    Instruction,
    LoopCount,
    NaturalLoop,
    counting_of,
)
from poplite.simulator.pricing.divisors import DIVISIONS, second_operand

_OF_COUNTS = frozenset(
    ("add", "sub", "select", "icmp", "zext", "sext", "trunc", "and", "or", "xor", "freeze")
)
"""Operations on a quotient that yield the number of iterations."""

_KEEPS_SHORT = frozenset(
    ("add", "sub", "lshr", "ashr", "sdiv", "udiv", "and", "zext", "sext", "trunc", "freeze")
    + ("llvm.smax.i64", "llvm.smin.i64", "llvm.umax.i64", "llvm.umin.i64")
)
"""Operations on a field's length whose result is about as small."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopCosts:
    """Facts about the loops of a function.

    Attributes:
        free: names of instructions that cost nothing, as they only count.
        repeated: by block, the lengths of fields that say how often the hardware may repeat it.
    """

    free: frozenset[str]
    repeated: Mapping[str, frozenset[str]]


def loop_costs(
    blocks: Sequence[BasicBlock], loops: Sequence[NaturalLoop], lengths: frozenset[str]
) -> LoopCosts:
    """Return facts about a function's loops; `lengths` are arguments, the lengths of fields."""
    by_name = {block.name: block for block in blocks}
    made = {i.name: i for block in blocks for i in block.instructions if i.name}
    uses = Counter(chain.from_iterable(i.operands for b in blocks for i in b.instructions))
    free: set[str] = set()
    repeated: dict[str, frozenset[str]] = {}
    for loop in loops:
        counting = counting_of(loop, by_name)
        if counting is None:
            continue
        divided = _divided_for(loop, counting, by_name, made)
        free |= counting.steps | divided
        if uses[counting.compare] == 1 and not divided:
            free.add(counting.compare)
            leaves = [_lengths_in(bound, made, lengths) for bound in counting.bounds]
            if len(loop.blocks) == 1 and None not in leaves:
                found = [leaf for leaf in leaves if leaf is not None]
                repeated[loop.header] = frozenset[str]().union(*found)
    return LoopCosts(frozenset(free), repeated)


def _divided_for(
    loop: NaturalLoop,
    counting: LoopCount,
    blocks: Mapping[str, BasicBlock],
    made: Mapping[str, Instruction],
) -> set[str]:
    """Return the instructions that compute a loop's number of iterations by a division."""
    steps = {
        second_operand(made[operand])
        for phi in blocks[loop.header].instructions
        for operand in phi.operands
        if phi.opcode == "phi" and operand in made and phi.name in made[operand].operands
    }
    found: set[str] = set()
    for name, instruction in made.items():
        operands = set(instruction.operands)
        divides = instruction.opcode in DIVISIONS and second_operand(instruction) in steps
        if divides or (instruction.opcode in _OF_COUNTS and operands & found):
            found.add(name)
    return found if _reaches(counting.bounds, made) & found else set()


def _reaches(names: frozenset[str], made: Mapping[str, Instruction]) -> set[str]:
    """Return names, and the names of all values from which they are computed."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in made and name not in found:
            found.add(name)
            pending += made[name].operands
    return found


def _lengths_in(
    name: str, made: Mapping[str, Instruction], lengths: frozenset[str]
) -> frozenset[str] | None:
    """Return the lengths from which a number is computed; None where anything else enters it."""
    if not name or name in lengths:
        return frozenset((name,)) if name else frozenset()
    instruction = made.get(name)
    if instruction is None or (instruction.callee or instruction.opcode) not in _KEEPS_SHORT:
        return None
    operands = instruction.operands[:2] if instruction.callee else instruction.operands
    leaves = [_lengths_in(operand, made, lengths) for operand in operands]
    found = [leaf for leaf in leaves if leaf is not None]
    return frozenset[str]().union(*found) if len(found) == len(leaves) else None
