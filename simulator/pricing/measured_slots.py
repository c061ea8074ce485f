"""Code that runs a vertex and returns what it took, for those of which data decide that.

The blocks of `compute` are priced as they are for estimates
(`poplite.simulator.pricing.native_slots`), and loads and stores stay.  Uneven rows of a list are
looked up in its table, as they are when vertices run.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

from poplite.simulator.pricing.blocks import Block, blocks_of
from poplite.simulator.pricing.module import priced_module
from poplite.simulator.pricing.native_slots import block_costs
from poplite.simulator.pricing.parameters import PRICED, parameters_of
from poplite.simulator.pricing.slot_function import (
    BlockCost,
    declarations,
    is_loop,
    slot_counting_text,
    with_bounded_memory,
    with_its_memory,
)

if TYPE_CHECKING:
    from poplite.executable.descriptor import Forms
    from poplite.simulator.pricing.instruction_prices import Cost
    from poplite.vertex.vertex import Vertex


def running_module(
    cls: type[Vertex], forms: Forms, cost: Cost, name: str, *, on_copies: bool
) -> llvm.ModuleRef:
    """Return a module whose function runs a vertex and returns what it took.

    Args:
        cls: the vertex class.
        forms: of each field, how the rows of a list are found.
        cost: facts of the machine.
        name: of the function.
        on_copies: whether it only counts: it takes, behind the arguments of `parameters_of`, a
            budget, memory that it reads and memory that it changes, each with its bytes
            (`poplite.simulator.pricing.slot_function.with_bounded_memory`).
    """
    module, parameters = priced_module(cls, forms), parameters_of(cls, forms)
    blocks = blocks_of(module.get_function(PRICED))
    lengths = {p.name for p in parameters if p.what in ("length", "rows")}
    tables = {p.name for p in parameters if p.what in ("pairs", "wide")}
    costs = block_costs(blocks, frozenset(lengths | _looked_up(blocks, tables)), cost)
    if not on_copies:  # what runs may take for ever
        costs = {block.name: _unbounded(block, costs[block.name]) for block in blocks}
    arguments = [parameter.declared for parameter in parameters]
    if on_copies:
        arguments += ["i64 %budget", "ptr %arena", "i64 %arena.bytes"]
        arguments += ["ptr %copy", "i64 %copy.bytes"]
    memory, declared = with_bounded_memory if on_copies else with_its_memory, declarations(module)
    return llvm.parse_assembly(slot_counting_text(name, arguments, blocks, costs, declared, memory))


def _unbounded(block: Block, cost: BlockCost) -> BlockCost:
    """Return the cost of a block that runs for ever if it must."""
    return replace(cost, may_not_end=False, counts_times=cost.may_not_end and is_loop(block))


def _looked_up(blocks: Sequence[Block], tables: set[str]) -> set[str]:
    """Return the numbers of 64 bits that are loaded from tables: lengths of rows, or their starts.

    Nothing is done as often as a start says.
    """
    places, found = set(tables), set[str]()
    for block in blocks:
        for instruction in block.instructions:
            if instruction.opcode == "getelementptr" and instruction.operands[0] in places:
                places.add(instruction.name)
            elif instruction.opcode in ("load", "zext") and instruction.operands[0] in places:
                (found if instruction.kind == "i64" else places).add(instruction.name)
    return found
