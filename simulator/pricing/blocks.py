"""Compiled code as plain data: instructions, basic blocks, loops.

    entry ─> header <─┐       loop: header, latch, all blocks between
               v      │
             body ─> latch ─> exit

Instructions come from an LLVM module in which every value has a name.

Integer divisions yield zero if the divisor is zero; the machine itself does not check::

    %z = icmp eq i64 %b, 0                            free
    br i1 %z, label %zero, label %other, !prof        free; it counts as never taken
    %y = sdiv i64 %a, %b                              priced, for any loaded values

Branches of a function may depend on data, which are values loaded from an edge, a vector or a
floating-point State.  Lengths of fields and integers of State are arguments, and known when a graph
is compiled.  Data affect the cost only if a branch depends on them: summing loaded values has the
same cost for all values.

The cost of a loop's control, in addition to its body::

    brnzdec    1 slot    the machine counts down and branches in one instruction
    rpt        0 slots   an innermost loop of one block whose trip count is the length of a field
    otherwise            addition, comparison and branch at their own prices

`range(first, last, step)` divides to compute its number of iterations, whereas C++ only compares:
if the step is not constant, that division is free, and the comparison is not.

Addresses that advance with a loop cost nothing except before the loop starts::

    for r in range(rows):
        for i in range(columns):       two row pointers, y + r * columns and x + r * stride
            y[r * columns + i] = x[r * stride + i] + x[r * stride + i + 1]

Loads and stores of the machine advance their pointer and accept constant offsets.  A loop whose
addresses move by a constant therefore needs no instructions for them.  Each time the loop starts,
every pointer that an outer loop has changed is computed: loaded, advanced, stored and copied, since
there are few registers.

Sources: llvm-ipu (lowering of loops, post-increment accesses, and their tests); popc listings (also
for the cost of computing a pointer).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import chain
from typing import Any

from poplite.frozen import frozen
from poplite.simulator.codegen.compute_code import DATA
from poplite.walks import top_down

SIZES = {"float": 4, "half": 2, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
"""Size of a number in memory in bytes, by LLVM type."""

_LABEL = re.compile(r'label %("[^"]+"|[^\s,\]]+)')
_WRAPS_NOT = re.compile(r" n[us]w ")
_MASKED = re.compile(r"llvm\.masked\.(load|store)\.")
_CALLEE = re.compile(r'@("[^"]+"|[\w.$]+)\(')


@frozen
class Instruction:
    """One instruction; masked loads and stores count as loads and stores.

    Attributes:
        name: name of its result; empty if it has none.
        operands: names of its operands; empty for constants.
        kind: LLVM type of its result, or of the value that it stores.
        callee: the function that a call calls.
        text: the instruction as LLVM prints it.
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


@frozen(eq=False)
class BasicBlock:
    """A basic block; its last instruction ends it."""

    name: str
    instructions: tuple[Instruction, ...]
    successors: tuple[str, ...]

    @property
    def end(self) -> Instruction:
        """The instruction that leaves the block."""
        return self.instructions[-1]


@frozen
class NaturalLoop:
    """A natural loop: entered at its header, repeated from its latches; blocks are labels."""

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]


@frozen(eq=False)
class LoopCount:
    """How a loop counts its iterations.

    Attributes:
        compare: name of the comparison that ends it.
        steps: names of the additions of constants that compute the counter's next value.
        bounds: names of the values between which it counts; constants are omitted.
        ends: whether the counter is known not to wrap around, so that it reaches the bound.
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
    """Return the natural loops of a function, in order of their headers."""
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
    """Return how a loop counts its iterations; None for a loop that ends in another way.

    A loop counts if its only latch compares a number, to which each iteration adds a constant, with
    a value that the loop does not change.
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
    """Return whether the number of iterations is known without the function's arguments."""
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
    predecessors, body = _predecessors(successors), {header}
    return frozenset(top_down(latches[header], predecessors.__getitem__, seen=body)) | {header}


# -- divisions -------------------------------------------------------------------------------------


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
        # The compiler, not the user, wrote a branch that is marked as unlikely.
        compare = made.get(block.end.operands[0]) if "!prof" in block.end.text else None
        if compare is not None and compare.operands[0] in divisors and _zero(compare):
            found[block.name] = compare
    return found


def _zero(compare: Instruction) -> str:
    """Return "eq" or "ne" for a comparison with zero, otherwise an empty string."""
    found = _IS_ZERO.search(compare.text)
    return found[1] if found else ""


def without_checks(blocks: Sequence[BasicBlock]) -> list[BasicBlock]:
    """Return blocks that always divide: by one if the divisor is zero."""
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


# -- values that branches depend on ----------------------------------------------------------------


def deciding(
    blocks: Sequence[BasicBlock],
    tables: Collection[str] = frozenset(),
    *,
    also: Sequence[str] = (),
) -> frozenset[str]:
    """Return the values that a function's branches depend on: names of arguments, and `DATA`.

    The values named in `also` count as branches do.

    If the result includes `DATA`, it also includes the addresses of the data, and the values that
    determine which elements are loaded. The contents of `tables`, which are arguments, are not
    data unless the addresses from which they are loaded depend on data.
    """
    made = {i.name: i for block in blocks for i in block.instructions if i.name}
    checks = checks_of(blocks)
    decided = [
        operand
        for block in blocks
        if len(block.successors) > 1 and block.name not in checks
        for operand in block.end.operands[:1]
    ]
    decided += also
    reached = {*top_down(decided, lambda name: made[name].operands if name in made else ())} - {""}
    is_of_data = any(
        each.is_of_library or (each.opcode == "load" and _pointed_to(each, made).isdisjoint(tables))
        for each in (made[name] for name in reached if name in made)
    )
    return frozenset(reached - made.keys()) | ({DATA} if is_of_data else set())


def _pointed_to(load: Instruction, made: Mapping[str, Instruction]) -> set[str]:
    """Return the arguments into which an address may point."""

    def below(name: str) -> tuple[str, ...]:
        by = made.get(name)
        if by is None or by.opcode == "load":
            return ()
        return by.operands[:1] if by.opcode == "getelementptr" else by.operands

    return set(top_down(load.operands[:1], below))


# -- costs of loops --------------------------------------------------------------------------------


_OF_COUNTS = frozenset(
    ("add", "sub", "select", "icmp", "zext", "sext", "trunc", "and", "or", "xor", "freeze")
)
"""Operations that compute the number of iterations from a quotient."""

_KEEPS_SHORT = frozenset(
    ("add", "sub", "lshr", "ashr", "sdiv", "udiv", "and", "zext", "sext", "trunc", "freeze")
    + ("llvm.smax.i64", "llvm.smin.i64", "llvm.umax.i64", "llvm.umin.i64")
)
"""Operations on a field's length whose result is about as small."""


@frozen(eq=False)
class LoopCosts:
    """Facts about the loops of a function.

    Attributes:
        free: names of instructions that cost nothing, because they only count iterations.
        repeated: for each block that the hardware may repeat, the lengths of fields that determine
            the number of repetitions.
    """

    free: frozenset[str]
    repeated: Mapping[str, frozenset[str]]


def loop_costs(
    blocks: Sequence[BasicBlock], loops: Sequence[NaturalLoop], lengths: frozenset[str]
) -> LoopCosts:
    """Return facts about a function's loops; `lengths` names the arguments that are lengths."""
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
    """Return the given names, and the names of all values from which they are computed."""
    below = {name: instruction.operands for name, instruction in made.items()}
    return {*top_down([*names], lambda name: below.get(name, ()))} & below.keys()


def _lengths_in(
    name: str, made: Mapping[str, Instruction], lengths: frozenset[str]
) -> frozenset[str] | None:
    """Return the lengths from which a number is computed; None if it depends on other values."""
    if not name or name in lengths:
        return frozenset((name,)) if name else frozenset()
    instruction = made.get(name)
    if instruction is None or (instruction.callee or instruction.opcode) not in _KEEPS_SHORT:
        return None
    operands = instruction.operands[:2] if instruction.callee else instruction.operands
    leaves = [_lengths_in(operand, made, lengths) for operand in operands]
    found = [leaf for leaf in leaves if leaf is not None]
    return frozenset[str]().union(*found) if len(found) == len(leaves) else None


# -- addresses -------------------------------------------------------------------------------------


_COMPUTES = frozenset(("add", "sub", "mul", "shl", "or"))
_PASSES = _COMPUTES | {"sext", "zext", "trunc", "freeze", "getelementptr"}
_BYTES = {"i8": 1, "half": 2, "i16": 2, "float": 4, "i32": 4, "i64": 8}
_OF_TWO = re.compile(r"= \w+ (?:[a-z]+ )*i(?:32|64) (\S+), (\S+)$")
_FROM = re.compile(r'\[ (\S+), %("[^"]+"|[^\s\]]+) \]')
_STEP = re.compile(r"= getelementptr (?:[a-z]+ )*?(\w+), ptr (\S+), i64 (\S+)$")

TERMS = 16
"""Maximum number of terms of an address; larger sums are not analysed."""

WIDEST = 64
"""Number of bits of the widest integers in addresses."""

Sum = Mapping[str, int]
"""How often each name occurs in a sum; constants have no name."""


@frozen
class Pointers:
    """Facts about the addresses of a function.

    Attributes:
        free: names of instructions that only compute addresses which advance with loops.
        made: by block, how many row pointers are computed at its end, for the loops that follow.
    """

    free: frozenset[str]
    made: Mapping[str, int]


def pointers_of(
    blocks: Sequence[BasicBlock], loops: Sequence[NaturalLoop], farthest: float
) -> Pointers:
    """Return facts about addresses; an access moves a pointer by at most `farthest` elements."""
    function = _Function(blocks, loops)
    rows: dict[NaturalLoop, set[frozenset[tuple[str, int]]]] = defaultdict(set)
    walked: set[Instruction] = set()
    for block in blocks:
        if (loop := function.innermost.get(block.name)) is None:
            continue
        for access in block.instructions:
            if access.opcode not in ("load", "store"):
                continue
            address = function.sum_of(access.operands[-1])
            moved = function.moved(address, loop)
            if moved is not None and abs(moved) <= farthest * _BYTES.get(access.kind, 8):
                walked.add(access)
                row = frozenset((name, often) for name, often in address.items() if name)
                if any(function.changes(name, loop) for name, _ in row):
                    rows[loop].add(row)
    made: dict[str, int] = defaultdict(int)
    for loop, found in rows.items():
        for name in function.before(loop):
            made[name] += len(found)
    return Pointers(function.only_for(walked), made)


class _Function:
    """The values of a function: their definitions, their forms as sums, and their users."""

    def __init__(self, blocks: Sequence[BasicBlock], loops: Sequence[NaturalLoop]) -> None:
        named = [(i, block.name) for block in blocks for i in block.instructions if i.name]
        self.made = {instruction.name: instruction for instruction, _ in named}
        self.where = {instruction.name: block for instruction, block in named}
        self._blocks = blocks
        self._widest_first = sorted(loops, key=lambda loop: len(loop.blocks), reverse=True)
        self.innermost = {name: loop for loop in self._widest_first for name in loop.blocks}
        self._around = {o: [p.blocks for p in loops if o.blocks < p.blocks] for o in loops}
        self.users: dict[str, list[Instruction]] = defaultdict(list)
        for block in blocks:
            for instruction in block.instructions:
                for operand in instruction.operands:
                    self.users[operand].append(instruction)
        self._sums: dict[str, Sum] = {}
        passing = {name: i.operands for name, i in self.made.items() if i.opcode in _PASSES}
        for name in TopologicalSorter(passing).static_order():
            added = self._added_by(self.made[name]) if name in passing else None
            if added and len(added) <= TERMS:
                self._sums[name] = added

    def sum_of(self, name: str) -> Sum:
        """Return a value as a sum of values that are not sums."""
        return self._sums.get(name, {name: 1})

    def _added_by(self, instruction: Instruction) -> Sum | None:
        """Return the sum that an instruction computes; None if it is not an addition."""
        opcode, text = instruction.opcode, instruction.text
        if opcode == "getelementptr":
            step = _STEP.search(text)
            if step is None or step[1] not in _BYTES:
                return None
            return _plus(self._value(step[2]), self._value(step[3]), _BYTES[step[1]])
        if opcode not in _COMPUTES:  # a conversion to a wider or narrower integer
            return self.sum_of(instruction.operands[0])
        two = _OF_TWO.search(text)
        if two is None or (opcode == "or" and "= or disjoint " not in text):
            return None
        first, second = self._value(two[1]), self._value(two[2])
        if opcode in ("mul", "shl"):
            factor = second.get("", 0)
            if second.keys() - {""} or (opcode == "shl" and not 0 <= factor < WIDEST):
                return None
            return _plus({}, first, factor if opcode == "mul" else 1 << factor)
        return _plus(first, second, -1 if opcode == "sub" else 1)

    def _value(self, operand: str) -> Sum:
        """Return an operand, which may be a constant, as a sum."""
        if operand.startswith("%"):
            return self.sum_of(operand[1:].strip('"'))
        return {"": int(operand)} if operand.lstrip("-").isdigit() else {operand: 1}

    def moved(self, address: Sum, loop: NaturalLoop) -> int | None:
        """Return the bytes by which each iteration moves an address; None if they differ."""
        moved = 0
        for name, often in address.items():
            if self.where.get(name) in loop.blocks:
                step = self._step(name, loop)
                if step is None:
                    return None
                moved += often * step
        return moved

    def _step(self, name: str, loop: NaturalLoop) -> int | None:
        """Return the increment of a number in each iteration of a loop; None if not constant."""
        if self.made[name].opcode != "phi" or self.where[name] != loop.header:
            return None
        steps = set()
        for value, block in _FROM.findall(self.made[name].text):
            if block.strip('"') in loop.blocks:
                added = dict(self._value(value))
                step = added.pop("", 0)
                steps.add(step if added == {name: 1} else None)
        return steps.pop() if len(steps) == 1 else None

    def changes(self, name: str, loop: NaturalLoop) -> bool:
        """Return whether an outer loop changes a value, or its value at the start of this loop."""
        names: Iterable[str] = (name,)
        if self.where.get(name) in loop.blocks:
            starts = (each for each in self.made[name].operands if each in self.where)
            starts = (each for each in starts if self.where[each] not in loop.blocks)
            names = chain.from_iterable(map(self.sum_of, starts))
        around = self._around[loop]
        return any(self.where.get(each) in blocks for each in names for blocks in around)

    def before(self, loop: NaturalLoop) -> set[str]:
        """Return the blocks from which a loop is entered; whole loops before it are skipped."""
        found: set[str] = set()
        pending, seen = [loop], {loop}
        while pending:
            own = pending.pop()
            for block in self._blocks:
                if own.header in block.successors and block.name not in own.blocks:
                    others = (o for o in self._widest_first if block.name in o.blocks)
                    other = next((o for o in others if own.header not in o.blocks), None)
                    if other is None:
                        found.add(block.name)
                    elif other not in seen:
                        seen.add(other)
                        pending.append(other)
        return found

    def only_for(self, accesses: set[Instruction]) -> frozenset[str]:
        """Return the values in loops that are computed only for the addresses of accesses."""
        found = {name for name, made in self.made.items() if made.opcode in _PASSES}
        pending = list(found)
        while pending:
            name = pending.pop()
            serves = (
                (each in accesses and name not in each.operands[:-1]) or each.name in found
                for each in self.users[name]
            )
            if name in found and not all(serves):
                found.remove(name)
                pending += self.made[name].operands
        return frozenset(
            name
            for name in found
            if self.made[name].opcode in _COMPUTES and self.where[name] in self.innermost
        )


def _plus(first: Sum, second: Sum, times: int) -> Sum:
    """Return the sum of `first` and a multiple of `second`."""
    found = dict(first)
    for name, often in second.items():
        found[name] = found.get(name, 0) + times * often
    return {name: often for name, often in found.items() if often}
