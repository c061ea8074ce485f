"""Compiled code as plain data: instructions, basic blocks, loops.

    entry ─> header <─┐       loop: header, latch, all blocks between
               v      │
             body ─> latch ─> exit

Instructions come from an LLVM module in which every value has a name.

Integer divisions yield zero where the divisor is zero; the machine itself does not check::

    %z = icmp eq i64 %b, 0                            free
    br i1 %z, label %zero, label %other, !prof        free; it counts as never taken
    %y = sdiv i64 %a, %b                              priced, whatever was loaded

Data may decide what a function does next.  Values that are loaded are data: of an edge, of a
vector, of a State that is a float.  Lengths of fields and integers of State are arguments, and
known when a graph is compiled.  Data matter only where a branch depends on them: a sum of what was
loaded decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

SIZES = {"float": 4, "half": 2, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
"""Bytes of numbers in memory, by LLVM type."""

_LABEL = re.compile(r'label %("[^"]+"|[^\s,\]]+)')
_WRAPS_NOT = re.compile(r" n[us]w ")
_MASKED = re.compile(r"llvm\.masked\.(load|store)\.")
_CALLEE = re.compile(r'@("[^"]+"|[\w.$]+)\(')


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; loads and stores of lanes that are present are loads and stores as well.

    Attributes:
        name: of its result; empty where it has none.
        operands: names of its operands; empty for constants.
        kind: LLVM type of its result, or of what it stores.
        callee: what a call calls.
        text: as LLVM prints it.
    """

    name: str
    opcode: str
    operands: tuple[str, ...]
    kind: str
    callee: str
    text: str

    @property
    def is_of_library(self) -> bool:
        """Whether it calls a function that is not LLVM's own."""
        return self.opcode == "call" and not self.callee.startswith("llvm.")


@dataclass(frozen=True, slots=True, eq=False)
class BasicBlock:
    """A basic block; its last instruction ends it."""

    name: str
    instructions: tuple[Instruction, ...]
    successors: tuple[str, ...]

    @property
    def end(self) -> Instruction:
        """The instruction that leaves the block."""
        return self.instructions[-1]


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """A natural loop: it is entered at its header and goes on from its latches, all by label."""

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class LoopCount:
    """How a loop counts.

    Attributes:
        compare: name of the comparison that ends it.
        steps: names of the additions of constants that make its next numbers.
        bounds: names of the values between which it counts; none where they are constants.
        ends: whether its number is known not to wrap around, so that it meets the bound.
    """

    compare: str
    steps: frozenset[str]
    bounds: frozenset[str]
    ends: bool = True


def blocks_of(function: Any) -> list[BasicBlock]:
    """Return the basic blocks of a function (`llvmlite.binding`, values named), the entry first."""
    return [
        BasicBlock(
            block.name,
            instructions := tuple(_instruction(each) for each in block.instructions),
            tuple(label.strip('"') for label in _LABEL.findall(instructions[-1].text)),
        )
        for block in function.blocks
    ]


def _instruction(value: Any) -> Instruction:
    text, operands = str(value).strip(), list(value.operands)
    called, opcode = _CALLEE.search(text) if value.opcode == "call" else None, value.opcode
    if called is not None and (masked := _MASKED.match(called[1])) is not None:
        called, opcode = None, masked[1]
        operands = operands[: 2 if opcode == "store" else 1]
    kind = operands[0].type if opcode == "store" else value.type
    return Instruction(
        value.name,
        opcode,
        tuple(operand.name for operand in operands),
        str(kind),
        called[1].strip('"') if called else "",
        text,
    )


def loops_of(blocks: Sequence[BasicBlock]) -> list[NaturalLoop]:
    """Return the natural loops of a function, by position of their headers."""
    successors = {block.name: block.successors for block in blocks}
    dominators = _dominators(successors, blocks[0].name)
    latches: dict[str, list[str]] = {}
    for name, targets in successors.items():
        for target in targets:
            if target in dominators[name]:
                latches.setdefault(target, []).append(name)
    return [
        NaturalLoop(block.name, tuple(latches[block.name]), _body(block.name, latches, successors))
        for block in blocks
        if block.name in latches
    ]


def counting_of(loop: NaturalLoop, blocks: Mapping[str, BasicBlock]) -> LoopCount | None:
    """Return how a loop counts; None for a loop that ends otherwise.

    A loop counts where its only latch compares a number, to which each iteration adds a constant,
    with a value that the loop does not change.
    """
    made = {i.name: i for name in loop.blocks for i in blocks[name].instructions if i.name}
    steps: dict[str, Instruction] = {}
    for phi in blocks[loop.header].instructions:
        if phi.opcode != "phi":
            break
        for operand in phi.operands:
            step = made.get(operand)
            adds = step is not None and step.opcode in ("add", "sub")
            if adds and step is not None and sorted(step.operands) == ["", phi.name]:
                steps[operand] = steps[phi.name] = phi
    end = blocks[loop.latches[0]].end
    compare = made.get(end.operands[0]) if end.opcode == "br" and end.operands else None
    if len(loop.latches) > 1 or compare is None or compare.opcode != "icmp":
        return None
    changing = [operand for operand in compare.operands if operand in made]
    if len(changing) != 1 or changing[0] not in steps:
        return None
    phi = steps[changing[0]]
    bounds = [operand for operand in compare.operands if operand not in made]
    starts = [operand for operand in phi.operands if operand not in made]
    added = frozenset(name for name in steps if made[name].opcode != "phi")
    ends = all(_WRAPS_NOT.search(made[name].text) for name in phi.operands if name in added)
    return LoopCount(compare.name, added, frozenset(bounds + starts) - {""}, ends)


def has_constant_trip(loop: NaturalLoop, blocks: Sequence[BasicBlock]) -> bool:
    """Tell whether the number of iterations is known without the function's arguments."""
    counting = counting_of(loop, {block.name: block for block in blocks})
    return counting is not None and not counting.bounds


def _dominators(successors: Mapping[str, Sequence[str]], entry: str) -> dict[str, set[str]]:
    """Return the dominators of each block: the blocks, itself included, on every path to it."""
    predecessors = _predecessors(successors)
    dominators = {name: set(successors) for name in successors} | {entry: {entry}}
    changed = True
    while changed:
        changed = False
        for name, before in predecessors.items():
            if name != entry:
                common = set.intersection(*[dominators[other] for other in before]) | {name}
                changed |= common != dominators[name]
                dominators[name] = common
    return dominators


def _predecessors(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    before: dict[str, list[str]] = {}
    for name, targets in successors.items():
        for target in targets:
            before.setdefault(target, []).append(name)
    return before


def _body(
    header: str, latches: Mapping[str, Sequence[str]], successors: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    predecessors, body, pending = _predecessors(successors), {header}, list(latches[header])
    while pending:
        name = pending.pop()
        if name not in body:
            body.add(name)
            pending += predecessors[name]
    return frozenset(body)


# -- divisions ---------------------------------------------------------------------------------


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


# -- what decides ------------------------------------------------------------------------------


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
