"""From a vertex class to native code that returns what its vertices take.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.jit.instructions import count_up
from poplite.jit.job import Job, Made, exported
from poplite.jit.native_code import Processor, hide, object_of
from poplite.simulator.pricing.blocks import (
    BasicBlock,
    NaturalLoop,
    blocks_of,
    counting_of,
    loops_of,
)
from poplite.simulator.pricing.divisors import without_checks
from poplite.simulator.pricing.instruction_prices import Cost, prices_of
from poplite.simulator.pricing.loops import loop_costs
from poplite.simulator.pricing.module import folded, optimize, priced_text
from poplite.simulator.pricing.parameters import PRICED, Parameter, parameters_of
from poplite.simulator.pricing.pointers import pointers_of
from poplite.simulator.pricing.schedule import FREE, PARTS, block_parts
from poplite.simulator.pricing.slot_function import (
    BlockCost,
    declarations,
    slot_counting_text,
    without_memory,
)
from poplite.simulator.pricing.taint import deciding

if TYPE_CHECKING:
    from poplite.vertex.vertex import Vertex

WORD = ir.IntType(64)


def slots_job(name: str, cls: type[Vertex], costs: Mapping[str, float]) -> Job:
    """Return the job that makes the code for the slots of the vertices of a class.

    The function is `slots(shapes, count, words, workers, budget, parts)`: for each of `count`
    shapes of `words` words it writes to `parts` the 64ths of a slot of the slowest of `workers`
    workers; `OVER` where they exceed `budget`. With the code {"deciding": names of arguments on
    which its cost depends} is kept.

    Raises `VertexCompileError` when `compute` is outside the dialect.
    """
    from poplite.jit.llvm_modules import processor

    parameters = parameters_of(cls)
    over_shapes = str(_over_shapes(parameters, exported(name)))
    texts = priced_text(cls), over_shapes, [astuple(each) for each in parameters]
    maker = "poplite.simulator.pricing.native_slots:slots_object"
    return Job(name, maker, (*texts, dict(costs), processor().words()))


def slots_object(
    exported: str,
    priced: str,
    over_shapes: str,
    parameters: Sequence[Sequence[Any]],
    costs: Mapping[str, float],
    processor: list[Any],
) -> Made:
    """Compile the code for the slots of the vertices of a class, as a job.

    `priced` and `over_shapes` are texts of modules: with `PRICED`, and with what calls it for each
    shape.
    """
    decoded = [Parameter(*each) for each in parameters]
    module = folded(priced)
    blocks = blocks_of(module.get_function(PRICED))
    lengths = frozenset(p.name for p in decoded if p.what in ("length", "rows"))
    block_cost = block_costs(blocks, lengths, costs.__getitem__)
    arguments = [*(parameter.declared for parameter in decoded), "i64 %slots.budget"]
    # Values that are loaded count as zero, except as divisors.
    body, declared = without_checks(blocks), declarations(module)
    text = slot_counting_text(PRICED, arguments, body, block_cost, declared, without_memory)
    counted = llvm.parse_assembly(text)
    counted.link_in(llvm.parse_assembly(over_shapes))
    hide(counted, exported)
    optimize(counted)
    code, needed = object_of(counted, exported, Processor(*processor))
    return code, needed, {"deciding": sorted(deciding(blocks))}


def block_costs(
    blocks: Sequence[BasicBlock], lengths: frozenset[str], cost: Cost
) -> dict[str, BlockCost]:
    """Return what each block of a function takes; `lengths` are those arguments that are."""
    by_name = {block.name: block for block in blocks}
    loops = loops_of(blocks)
    known = loop_costs(blocks, loops, lengths)
    pointers = pointers_of(blocks, loops, cost("farthest_step"))
    prices = prices_of(blocks, known.free | pointers.free, cost)
    pairs = cost("issue_width") > 1
    pairing = cost("pairing") if pairs else 0.0
    unbounded = {loop.header for loop in loops if not _is_one_product(loop, by_name)}
    outer = [
        sum(loop.blocks < other.blocks for other in loops) for loop in loops
    ]  # how deep each block is nested
    is_nest = len(set(outer)) == len(outer)
    entry = cost("slot_entry" if is_nest else "slot_entry_nested")
    found = {}
    for number, block in enumerate(blocks):
        own = prices[block.name]
        parts = block_parts(block.instructions, own, pairing)
        parts += int(PARTS * cost("slot_row_pointer") * pointers.made.get(block.name, 0))
        if not number:
            parts += int(PARTS * entry)
        is_short = pairs and block.name in known.repeated and not any(p.calls for p in own)
        short = block_parts(block.instructions, [*own[:-1], FREE], pairing)
        if not short and block.name in unbounded:  # without a cost it would never exceed the budget
            is_short = False
        found[block.name] = BlockCost(
            parts=parts,
            short=short,
            lengths=known.repeated[block.name] if is_short else frozenset(),
            limit=int(cost("repeat_limit")),
            may_not_end=block.name in unbounded,
        )
    for loop in loops:  # one that LLVM knows never to end: a mere jump, which would be free
        if loop.header in unbounded and not any(found[name].parts for name in loop.blocks):
            found[loop.header] = replace(found[loop.header], parts=PARTS)
    return found


def _is_one_product(loop: NaturalLoop, blocks: Mapping[str, BasicBlock]) -> bool:
    """Tell whether every iteration takes the same, and LLVM can compute their number beforehand."""
    counting = counting_of(loop, blocks)
    return len(loop.blocks) == 1 and counting is not None and counting.ends


def _over_shapes(parameters: Sequence[Parameter], exported: str) -> ir.Module:
    """Return a module with the function that iterates over shapes and workers."""
    module = ir.Module()
    words = WORD.as_pointer()
    taking = [_kind(p) for p in parameters]
    priced = ir.Function(module, ir.FunctionType(WORD, [*taking, WORD]), PRICED)
    kind = ir.FunctionType(ir.VoidType(), [words, WORD, WORD, WORD, WORD, words])
    function = ir.Function(module, kind, exported)
    shapes, count, width, workers, budget, parts = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with count_up(builder, count) as number:
        shape = builder.gep(shapes, [builder.mul(number, width)])
        place = builder.gep(parts, [number])
        builder.store(WORD(0), place)
        with count_up(builder, workers) as worker:
            arguments = [_argument(builder, p, shape, worker) for p in parameters]
            taken = builder.call(priced, [*arguments, budget])
            most = builder.load(place)
            # Compared unsigned, so that -1 (OVER) exceeds all others.
            is_more = builder.icmp_unsigned(">", taken, most)
            builder.store(builder.select(is_more, taken, most), place)
    builder.ret_void()
    return module


def _kind(parameter: Parameter) -> ir.Type:
    return ir.IntType(8).as_pointer() if parameter.what == "data" else WORD


def _argument(builder: ir.IRBuilder, parameter: Parameter, shape: Any, worker: Any) -> Any:
    """Emit the value of an argument."""

    def word(number: int) -> Any:
        return builder.load(builder.gep(shape, [WORD(parameter.word + number)]))

    if parameter.what == "data":
        return ir.Constant(_kind(parameter), None)
    if parameter.what == "worker":
        return worker
    if parameter.kind != "rows" or parameter.what == "rows":
        return word(0)
    rows, elements = word(0), word(1)
    rows = builder.select(builder.icmp_unsigned("==", rows, WORD(0)), WORD(1), rows)
    return builder.udiv(builder.add(elements, builder.sub(rows, WORD(1))), rows)
