"""Compiled code as plain data: instructions, basic blocks, loops.

    entry ─> header <─┐       loop: header, latch, all blocks between
               v      │
             body ─> latch ─> exit

Instructions come from an LLVM module in which every value has a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
