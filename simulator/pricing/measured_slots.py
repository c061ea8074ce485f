"""Code that runs a vertex and returns what it took, where data decide that.

The blocks of `compute` are priced as for estimates (`poplite.simulator.pricing.native_slots`), but
loads and stores stay.  Uneven rows of a list are looked up in its table, as when vertices run.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm

from poplite.jit.job import Made
from poplite.jit.native_code import optimized_object
from poplite.simulator.pricing.blocks import BasicBlock, blocks_of
from poplite.simulator.pricing.inside_fields import RECORD, inside_fields
from poplite.simulator.pricing.module import folded
from poplite.simulator.pricing.native_slots import block_costs
from poplite.simulator.pricing.parameters import PRICED, Parameter
from poplite.simulator.pricing.slot_function import (
    BlockCost,
    Memory,
    declarations,
    is_loop,
    slot_counting_text,
    with_bounded_memory,
    with_its_memory,
)

COUNTED = "counted"
"""Name of the function that runs a vertex, or a copy of it, and returns what it took."""


def measuring_object(
    exported: str,
    driver: str,
    rehearsing: str,
    priced: str,
    parameters: Sequence[Sequence[Any]],
    sizes: Mapping[str, int],
    costs: Mapping[str, float],
    on_copies: bool,
    processor: list[Any],
) -> Made:
    """Compile a driver that counts, as a job.

    `driver` is the text of its module, which declares `COUNTED`.  Where vertices are only counted
    (`on_copies`), the parameters of that are followed by a budget, memory that it reads and memory
    that it changes, each with its bytes (`slot_function.with_bounded_memory`).

    Where indices are checked, `rehearsing` is the text of a driver that runs each vertex on copies
    first; else it is empty. It is taken only where `COUNTED` cannot check them itself, whose
    parameters are then followed by `inside_fields.RECORD`; `sizes` are bytes of elements by field.
    """
    decoded = [Parameter(*each) for each in parameters]
    blocks = blocks_of((module := folded(priced)).get_function(PRICED))
    lengths = {p.name for p in decoded if p.what in ("length", "rows")}
    tables = {p.name for p in decoded if p.what in ("pairs", "wide")}
    lengths |= _looked_up(blocks, tables)
    block_cost = block_costs(blocks, frozenset(lengths), costs.__getitem__)
    if not on_copies:  # a vertex that runs may run for ever
        block_cost = {
            block.name: _unbounded(block, blocks, block_cost[block.name]) for block in blocks
        }
    arguments = [parameter.declared for parameter in decoded]
    if on_copies:
        arguments += ["i64 %slots.budget", "ptr %arena.memory", "i64 %arena.bytes"]
        arguments += ["ptr %copy.memory", "i64 %copy.bytes"]
    memory: Memory = with_bounded_memory(blocks) if on_copies else with_its_memory
    splits: Mapping[str, str] = {}
    inside = inside_fields(blocks, decoded, sizes) if rehearsing else None
    if inside is not None:
        memory, splits = inside, inside.ends
        arguments.append(f"ptr %{RECORD}")
    elif rehearsing:
        driver = rehearsing
    declared = declarations(module)
    counted = slot_counting_text(COUNTED, arguments, blocks, block_cost, declared, memory, splits)
    linked = llvm.parse_assembly(driver)
    linked.link_in(llvm.parse_assembly(counted))
    return optimized_object(exported, str(linked), processor)


def _unbounded(block: BasicBlock, blocks: Sequence[BasicBlock], cost: BlockCost) -> BlockCost:
    """Return the cost of a block that may run for ever."""
    counts_times = cost.may_not_end and is_loop(block, blocks)
    return replace(cost, may_not_end=False, counts_times=counts_times)


def _looked_up(blocks: Sequence[BasicBlock], tables: set[str]) -> set[str]:
    """Return the i64 numbers that are loaded from tables: lengths of rows, or their starts.

    No loop runs as often as a start says.
    """
    places, found = set(tables), set[str]()
    for block in blocks:
        for instruction in block.instructions:
            if instruction.opcode == "getelementptr" and instruction.operands[0] in places:
                places.add(instruction.name)
            elif instruction.opcode in ("load", "zext") and instruction.operands[0] in places:
                (found if instruction.kind == "i64" else places).add(instruction.name)
    return found
