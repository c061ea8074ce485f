"""Whether all indices of vertices are in range, found by running them without their data.

    stays_inside(Axpy, shapes, target)      True if no vertex of these shapes leaves a field

It serves classes of which no conditions are known (`poplite.vertex.compute.bounds`). `compute` is
prepared as for pricing, with a call of `vertex.mark` at each index; loads are replaced by zeros,
and stores are left out. That tells nothing if a branch or an index depends on data, or on rows that
differ in length; such a class is compiled with checks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.jit import digest
from poplite.jit.build import Job, Made, built, exported
from poplite.machine.target import Target
from poplite.simulator.codegen.compute_code import DATA, OVER, PRICED, Parameter, parameters_of
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import MultiVertex, Vertex

MOST_BLOCKS = 1 << 22
"""Maximum number of basic blocks that one vertex runs."""


def stays_inside(cls: type[Vertex], shapes: Int64, target: Target) -> bool:
    """Return whether all indices of vertices with these shapes are in range; False if unknown."""
    meaning = meaning_of(cls)
    name = digest([__name__], "ranges", meaning.identity)
    code = meaning.remembered("ranges", lambda: built(name, partial(_job, name, cls)))
    if code.about["unknown"]:
        return False
    table = np.ascontiguousarray(np.unique(shapes, axis=0), np.int64)
    found = np.empty(len(table), np.int64)
    words = [ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p]
    workers = target.workers if issubclass(cls, MultiVertex) else 1
    sizes = (*table.shape, workers, MOST_BLOCKS)
    ctypes.CFUNCTYPE(None, *words)(code.address)(table.ctypes.data, *sizes, found.ctypes.data)
    return bool((found != OVER).all())


def _job(name: str, cls: type[Vertex]) -> Job:
    from dataclasses import astuple

    from poplite.jit.numba_context import processor
    from poplite.simulator.pricing.native_slots import over_shapes, priced_text

    parameters = parameters_of(cls)
    texts = priced_text(cls, marked=True), str(over_shapes(parameters, exported(name)))
    arguments = (*texts, [astuple(each) for each in parameters], processor().words())
    return Job(name, "poplite.simulator.pricing.index_ranges:ranges_object", arguments)


_WATCHED = """
@outside = internal global i64 0
define void @vertex.mark(i64 %index, i64 %length) alwaysinline {{
  %inside = icmp ult i64 %index, %length
  %fault = select i1 %inside, i64 0, i64 1
  %before = load i64, ptr @outside
  %after = or i64 %before, %fault
  store i64 %after, ptr @outside
  ret void
}}
define i64 @{priced}({declared}) {{
  store i64 0, ptr @outside
  %taken = call i64 @vertex.walk({given})
  %found = load i64, ptr @outside
  %is.outside = icmp ne i64 %found, 0
  %result = select i1 %is.outside, i64 {over}, i64 %taken
  ret i64 %result
}}
define i64 @{flops}({declared}) {{ ret i64 0 }}
declare i64 @vertex.walk({kinds})
"""


def ranges_object(
    exported: str,
    priced: str,
    shapes: str,
    parameters: Sequence[Sequence[Any]],
    processor: list[Any],
) -> Made:
    """Compile the code that runs vertices without data, as a job; the texts are those of `_job`."""
    import llvmlite.binding as llvm

    from poplite.jit.native_code import Processor, hide, object_of
    from poplite.simulator.codegen.numbered_accessors import MARK
    from poplite.simulator.pricing import native_slots as slots
    from poplite.simulator.pricing.blocks import blocks_of, deciding

    module = slots.folded(priced)
    blocks = blocks_of(module.get_function(PRICED))
    marks = [i for block in blocks for i in block.instructions if i.callee == MARK]
    operands = [operand for mark in marks for operand in mark.operands]
    unknown = DATA in deciding(blocks, also=operands)
    arguments = [*(Parameter(*each).declared for each in parameters), "i64 %slots.budget"]
    linked = llvm.parse_assembly("" if unknown else _walk(blocks, module, arguments))
    pairs = {
        "declared": ", ".join(arguments),
        "given": ", ".join(arguments),
        "kinds": ", ".join(each.split()[0] for each in arguments),
        "priced": PRICED,
        "flops": slots.FLOPS,
        "over": OVER,
    }
    text = _WATCHED.format(**pairs)
    if unknown:
        text = text.replace("declare i64 @vertex.walk", "define i64 @vertex.walk").rstrip()
        text += " { ret i64 0 }\n"
    linked.link_in(llvm.parse_assembly(text))
    linked.link_in(llvm.parse_assembly(shapes))
    hide(linked, exported)
    slots.optimize(linked)
    code, needed = object_of(linked, exported, Processor(*processor))
    return code, needed, {"unknown": unknown}


def _walk(blocks: Sequence[Any], module: object, arguments: Sequence[str]) -> str:
    """Return the text of the function that runs a vertex without data, up to a number of blocks."""
    from poplite.simulator.codegen.numbered_accessors import MARK
    from poplite.simulator.pricing.blocks import loops_of, without_checks
    from poplite.simulator.pricing.slot_function import (
        BlockCost,
        declarations,
        slot_counting_text,
        with_its_memory,
        without_memory,
    )

    headers = {loop.header for loop in loops_of(blocks)}
    costs = {each.name: BlockCost(1, may_not_end=each.name in headers) for each in blocks}

    def without_data(instruction: Any, number: int = 0) -> str:
        keeps = instruction.callee == MARK
        return (with_its_memory if keeps else without_memory)(instruction, number)

    body, declared = without_checks(blocks), declarations(module)
    return slot_counting_text("vertex.walk", arguments, body, costs, declared, without_data)
