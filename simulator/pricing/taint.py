"""Whether data decide what a function does next, and which of its arguments do.

Values that are loaded are data: of an edge, of a vector, of a State that is a float.  Lengths of
fields and integers of State are arguments, and known when a graph is compiled.  Data matter only
where a branch depends on them: a sum of what was loaded decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite.simulator.pricing.blocks import BasicBlock
from poplite.simulator.pricing.divisors import checks_of

DATA = "data"
"""Stands for everything that is loaded, among the names of arguments."""


def deciding(blocks: Sequence[BasicBlock]) -> frozenset[str]:
    """Return what a function's branches depend on: names of arguments, and `DATA`.

    Behind `DATA` these are addresses as well, and what decides which of their elements are loaded.
    """
    made = {i.name: i for block in blocks for i in block.instructions if i.name}
    checks = checks_of(blocks)
    pending = [
        operand
        for block in blocks
        if len(block.successors) > 1 and block.name not in checks
        for operand in block.end.operands[:1]
    ]
    found: set[str] = set()
    names: set[str] = set()
    while pending:
        name = pending.pop()
        if not name or name in found:
            continue
        found.add(name)
        instruction = made.get(name)
        if instruction is None:
            names.add(name)
        else:
            if instruction.opcode == "load" or instruction.is_of_library:
                names.add(DATA)
            pending += instruction.operands
    return frozenset(names)
