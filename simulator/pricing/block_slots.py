"""The slots of a basic block: its instructions, at their prices, in the two pipes of a worker.

The main pipe loads, stores, branches and computes integers; the aux pipe computes floats.
Addresses, conversions between integer widths, and instructions that only count iterations are free
(`poplite.simulator.pricing.blocks`), because the machine has post-increment accesses.

Prices are in `poplite.machine.instruction_prices`.

A block runs in order on two pipes; every latency is one slot::
    main    load c   load k   load b   store
    aux                       mul      add            5 slots instead of 4 + 2

Only adjacent instructions form pairs, and the compiler finds only a fraction, `pairing`, of the
ideal pairs.  The branch at the end of a block is never paired.

Sources: llvm-ipu, scheduling model and pairing pass; the fraction is fitted to 11 loops.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain

from poplite.errors import VertexCompileError
from poplite.frozen import frozen
from poplite.machine.instruction_prices import (
    BY_CALL,
    BY_OPCODE,
    FREE_CALLS,
    FREE_OPCODES,
    LIBRARY_CALLS,
    NO_OPERATIONS,
    Pipe,
)
from poplite.simulator.codegen.compute_code import PARTS
from poplite.simulator.pricing.blocks import SIZES, BasicBlock, Instruction, checks_of

# -- pipes -----------------------------------------------------------------------------------------


@frozen(eq=False)
class Price:
    """The cost of an instruction.

    Attributes:
        pipe: the pipe that runs it; None for an instruction that costs nothing.
        slots: the number of slots for which it occupies the pipe.
        ends: whether it leaves the block.
        calls: whether it is a library call.
    """

    pipe: Pipe | None = None
    slots: int = 0
    ends: bool = False
    calls: bool = False


FREE = Price()


def block_parts(
    instructions: Sequence[Instruction], prices: Sequence[Price], pairing: float
) -> int:
    """Return the cost of a block in 64ths of a slot; with `pairing` 0 nothing runs in parallel."""
    single = sum(price.slots for price in prices)
    return round(PARTS * (single - pairing * (single - ideal_slots(instructions, prices))))


def ideal_slots(instructions: Sequence[Instruction], prices: Sequence[Price]) -> int:
    """Return the slots of a block if all possible pairs form."""
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
    """Return, for each instruction, the slots from its start to the end of its dependents."""
    after = dict.fromkeys(needs, 0)
    urgency = {}
    for k in reversed(range(len(prices))):
        urgency[k] = after[k] + prices[k].slots
        for before in needs[k]:
            after[before] = max(after[before], urgency[k])
    return urgency


def _needs(instructions: Sequence[Instruction], prices: Sequence[Price]) -> dict[int, set[int]]:
    """Return, for each instruction, those that must have finished before it starts.

    An instruction without cost passes on its dependencies; a store waits for all accesses before
    it.
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
            accesses.clear()  # waiting for this store implies waiting for them
        if instruction.opcode in ("load", "store") and prices[k].slots:
            accesses.append(k)
        needs[k] = own
    return needs


# -- instructions ----------------------------------------------------------------------------------


Cost = Callable[[str], float]
"""Returns the value of a machine fact by its name."""

_FLOATS = ("half", "float", "double")
_NARROW = ("i8", "i16", "half")
_LANES = re.compile(r"<([3-9]|\d\d+) x (float|half|i\d+)>")
"""Vectors of lanes other than pairs of floats, which the machine has instructions for."""

_TYPE = re.compile(r"(v\d+)?[fip]\d+")
"""The part of an intrinsic's name that gives its type."""

_VECTOR = re.compile(r"<(\d+) x")

_PAIR = 8
"""Bytes of two floats, which one load or store moves."""

_DOUBLE = re.compile(r"\bdouble\b|\.f64\b")


def prices_of(
    blocks: Sequence[BasicBlock], free: Container[str], cost: Cost
) -> dict[str, list[Price]]:
    """Return the price of every instruction of a function, by block.

    Raises `VertexCompileError` for an instruction or a call without a price.
    """
    extremes = _compares_of_extremes(blocks)
    in_registers = _arrays(blocks)
    checks = checks_of(blocks)
    checking = {compare.name for compare in checks.values()}
    prices: dict[str, list[Price]] = {}
    for block in blocks:
        own = []
        for instruction in block.instructions:
            name = instruction.name
            if name and (name in free or name in extremes or name in checking):
                own.append(FREE)
            elif instruction.opcode == "br":
                jumps = len(block.successors) > 1 and block.name not in checks
                own.append(_price("main", cost("slot_branch"), ends=True) if jumps else FREE)
            elif (
                instruction.opcode in ("load", "store") and instruction.operands[-1] in in_registers
            ):
                own.append(FREE)
            elif instruction.opcode == "select" and instruction.operands[0] in extremes:
                own.append(_price("aux", cost("slot_float")))
            else:
                own.append(_price_of(instruction, cost))
        prices[block.name] = own
    return prices


def flops_of(blocks: Sequence[BasicBlock]) -> dict[str, int]:
    """Return the floating-point operations of each block of a function.

    A fused multiplication and addition counts 2, any other function of numbers 1, also the larger
    or smaller of two; comparisons, conversions and other choices do not count.
    """
    extremes = _compares_of_extremes(blocks)
    return {
        block.name: sum(_flops_of(each, extremes) for each in block.instructions)
        for block in blocks
    }


def _flops_of(instruction: Instruction, extremes: Container[str]) -> int:
    lanes = _VECTOR.match(instruction.kind)
    count = int(lanes[1]) if lanes else 1
    if instruction.opcode == "select":
        return count if instruction.operands[0] in extremes else 0
    found = BY_OPCODE.get(instruction.opcode) or BY_CALL.get(_function(instruction.callee))
    if found is None or found[0] != "aux" or found[1] in NO_OPERATIONS:
        return 0
    return 2 * count if found[1] == "slot_fma" else count


def _price(pipe: Pipe, slots: float, *, ends: bool = False, calls: bool = False) -> Price:
    return Price(pipe, int(slots), ends, calls)


def _price_of(instruction: Instruction, cost: Cost) -> Price:
    opcode, callee = instruction.opcode, instruction.callee
    if opcode in FREE_OPCODES or callee.startswith(FREE_CALLS):
        return FREE
    lanes = _LANES.search(instruction.text)
    if lanes is not None:
        return _of_lanes(instruction, int(lanes[1]), lanes[2], cost)
    if opcode in ("load", "store"):
        return _access(instruction, cost)
    if opcode == "select":
        is_float = instruction.kind in _FLOATS
        return _price("aux" if is_float else "main", cost("slot_select"))
    pipe, name = _pipe_of(instruction)
    if pipe == "aux" and _DOUBLE.search(instruction.text):
        return _price(pipe, max(cost(name), cost("slot_double")), calls=True)
    return _price(pipe, cost(name), ends=opcode == "switch", calls=name in LIBRARY_CALLS)


def _pipe_of(instruction: Instruction) -> tuple[Pipe, str]:
    """Return the pipe of an instruction, and the name of its cost."""
    opcode, callee = instruction.opcode, instruction.callee
    found = BY_OPCODE.get(opcode) or BY_CALL.get(_function(callee))
    if found is None:
        raise VertexCompileError(
            f"no price for {callee or opcode}",
            at=None,
            found=instruction.text,
            fix="give the class a cycles method, or the vertex a perf estimate",
        )
    return found


def _of_lanes(instruction: Instruction, count: int, element: str, cost: Cost) -> Price:
    """Return the price of an instruction on lanes: the machine computes floats two at a time.

    The machine derives the active lanes from the end of the loop, so masks cost nothing.
    """
    opcode = instruction.opcode
    if opcode in ("load", "store"):
        return _price("main", -(-count * SIZES[element] // _PAIR) * cost("slot_memory"))
    is_mask = element in ("i1", "i8") or (opcode == "fcmp" and "fcmp uno" in instruction.text)
    if opcode == "select" or is_mask:
        return FREE
    pipe, name = _pipe_of(instruction)
    if opcode == "fcmp":  # the machine has instructions for minimum and maximum
        name = "slot_float"
    together = 2 if element in ("float", "half") and name not in LIBRARY_CALLS else 1
    return _price(pipe, -(-count // together) * cost(name))


def _arrays(blocks: Sequence[BasicBlock]) -> set[str]:
    """Return the addresses of arrays on the stack: lanes passed to a function and back."""
    found: set[str] = set()
    for block in blocks:
        for each in block.instructions:
            derives = each.opcode in ("getelementptr", "bitcast") and each.operands[0] in found
            if each.opcode == "alloca" or derives:
                found.add(each.name)
    return found


def _access(instruction: Instruction, cost: Cost) -> Price:
    """Return the price of a load or store, by width; some must be merged or split."""
    kind, slots = instruction.kind, cost("slot_memory")
    if instruction.opcode == "store" and kind in _NARROW:
        return _price("main", cost("slot_narrow_store"), calls=True)
    is_cut = kind in ("i64", "double") or (kind == "<2 x float>" and "align 4" in instruction.text)
    return _price("main", 2 * slots if is_cut else slots)


def _function(callee: str) -> str:
    """Return the function that a callee computes: exp for llvm.exp.f32 and expf, fptosi.sat."""
    if callee.startswith("llvm."):
        parts = callee.removeprefix("llvm.").split(".")
        return ".".join(part for part in parts if not _TYPE.fullmatch(part))
    return callee if callee in BY_CALL else callee.removesuffix("f")


def _compares_of_extremes(blocks: Sequence[BasicBlock]) -> set[str]:
    """Return the comparisons that only select the larger or smaller of their two operands."""
    uses = Counter(chain.from_iterable(i.operands for b in blocks for i in b.instructions))
    extremes = set()
    for block in blocks:
        compares = {i.name: i for i in block.instructions if i.opcode == "fcmp"}
        for select in block.instructions:
            compare = compares.get(select.operands[0]) if select.opcode == "select" else None
            if compare is None or uses[compare.name] > 1:
                continue
            if set(compare.operands) == set(select.operands[1:]):
                extremes.add(compare.name)
    return extremes
