"""Integer divisions, which yield zero where the divisor is zero; the machine itself does not check.

%z = icmp eq i64 %b, 0                            free
br i1 %z, label %zero, label %other, !prof        free; it counts as never taken
%y = sdiv i64 %a, %b                              priced, whatever was loaded
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from poplite.simulator.pricing.blocks import BasicBlock, Instruction

DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))

_WIDENS = frozenset(("sext", "zext"))
_IS_ZERO = re.compile(r"icmp (eq|ne) \w+ \S+, 0\b")
_DIVIDES = re.compile(r"(.* (i\d+) \S+), (%\S+)$")
_DECIDES = re.compile(r"^br i1 \S+,")


def second_operand(instruction: Instruction) -> str:
    """Return the name or constant that is the second of an operation's two operands.

    >>> second_operand(Instruction("y", "sdiv", ("x", ""), "i64", "", "%y = sdiv i64 %x, 3"))
    '3'
    """
    name = instruction.operands[-1] if len(instruction.operands) > 1 else ""
    return name or instruction.text.split(",")[1].split()[-1] if "," in instruction.text else name


def checks_of(blocks: Sequence[BasicBlock]) -> Mapping[str, Instruction]:
    """Return the comparisons of divisors with zero, by the blocks that they end."""
    made = {i.name: i for block in blocks for i in block.instructions if i.name}
    divisors = set()
    for instruction in made.values():
        if instruction.opcode in DIVISIONS:
            name = second_operand(instruction)
            divisors.add(name)
            while name in made and made[name].opcode in _WIDENS:
                divisors.add(name := made[name].operands[0])
    found = {}
    for block in blocks:
        # A branch marked as unlikely was not written by the user.
        compare = made.get(block.end.operands[0]) if "!prof" in block.end.text else None
        if compare is not None and compare.operands[0] in divisors and _zero(compare):
            found[block.name] = compare
    return found


def _zero(compare: Instruction) -> str:
    """Return "eq" or "ne" for a comparison with zero; else an empty string."""
    found = _IS_ZERO.search(compare.text)
    return found[1] if found else ""


def without_checks(blocks: Sequence[BasicBlock]) -> list[BasicBlock]:
    """Return blocks that always divide: by one where the divisor is zero."""
    checks, found = checks_of(blocks), []
    for block in blocks:
        own = [_by_one(each) for each in block.instructions]
        if block.name in checks:
            divides = "true" if _zero(checks[block.name]) == "ne" else "false"
            own[-1] = replace(block.end, text=_DECIDES.sub(f"br i1 {divides},", block.end.text))
        found.append(replace(block, instructions=tuple(own)))
    return found


def _by_one(instruction: Instruction) -> Instruction:
    if instruction.opcode not in DIVISIONS or not (found := _DIVIDES.match(instruction.text)):
        return instruction
    before, kind, divisor = found.groups()
    name = instruction.name
    lines = [
        f'%"{name}.zero" = icmp eq {kind} {divisor}, 0',
        f'%"{name}.by" = select i1 %"{name}.zero", {kind} 1, {kind} {divisor}',
        f'{before}, %"{name}.by"',
    ]
    return replace(instruction, text="\n".join(lines))
