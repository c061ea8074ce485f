"""The driver that moves bytes: copies, gathers and scatters.

Its rows are the records of `poplite.compile.records`.  Blocks of four bytes are moved by one load
and one store, as the call of the C library costs more than the move.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from poplite.compile.records import RECORD_WORDS
from poplite.jit.context import emitted
from poplite.simulator.driver import ARGUMENTS

_WORD = ir.IntType(64)
_FOUR = ir.IntType(32)


def _emit_record(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    arena, rows, number = args
    record = builder.gep(rows, [builder.mul(number, _WORD(RECORD_WORDS))])
    destination, source, blocks, size, far, near = (
        builder.load(builder.gep(record, [_WORD(i)])) for i in range(RECORD_WORDS)
    )

    def addresses(index: Any) -> tuple[Any, Any]:
        to = builder.add(destination, builder.mul(index, far))
        start = builder.add(source, builder.mul(index, near))
        return builder.gep(arena, [to]), builder.gep(arena, [start])

    is_four = builder.icmp_unsigned("==", size, _WORD(4))
    with builder.if_else(is_four) as (four, other):
        with four, cgutils.for_range(builder, blocks) as block:
            to, start = (builder.bitcast(p, _FOUR.as_pointer()) for p in addresses(block.index))
            # BOOL blocks of four may lie at any byte.
            builder.store(builder.load(start, align=1), to, align=1)
        with other, cgutils.for_range(builder, blocks) as block:
            to, start = addresses(block.index)
            cgutils.raw_memcpy(builder, to, start, size, 1)


_move_record = emitted(_emit_record, (*ARGUMENTS[:2], types.int64), types.none)


def move(arena: Any, rows: Any, low: int, high: int, faults: Any) -> None:
    """Move the records `low` to `high`."""
    for number in range(low, high):
        _move_record(arena, rows, number)


def move_source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for `move`."""
    return move, ARGUMENTS, types.none
