"""The driver that moves bytes: copies, gathers and scatters.

Its rows are the records of `poplite.executable.moves`.  Blocks of a few sizes, up to a cache line,
are moved by one load and one store, as the call of the C library costs more than the move; one
element repeated side by side is a loop of stores, which the compiler widens.  In launches too large
for the caches, large blocks are written past them.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from poplite.executable.moves import PIECE_WORDS, RECORD_WORDS
from poplite.jit.numba_context import emitted
from poplite.simulator.codegen.launcher import ARGUMENTS

_WORD, _HALF_WORD, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)

INLINE_BYTES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of blocks that are moved by one load and one store."""

LINE_BYTES = 64
"""What is written past the caches at a time."""

STREAMED_BLOCK = 4096
"""Bytes of a block from which it is worth while to write it past the caches."""

Place = Callable[[Any], tuple[Any, Any]]
"""From the number of a block to its destination and its source."""


class _Mover:
    """Emits what moves one record.

    Args:
        builder: where.
        arena: address that positions count from.
        streamed: whether large blocks are written past the caches.
    """

    def __init__(self, builder: ir.IRBuilder, arena: Any, streamed: bool) -> None:
        self.builder, self.arena, self.streamed = builder, arena, streamed

    def record(self, rows: Any, number: Any) -> None:
        """Emit the moves of a record: blocks at even distances, or a list."""
        builder = self.builder
        record = builder.gep(rows, [builder.mul(number, _WORD(RECORD_WORDS))])
        to, start, count, size, far, near = (
            builder.load(builder.gep(record, [_WORD(i)])) for i in range(RECORD_WORDS)
        )
        to, start = (builder.gep(self.arena, [position]) for position in (to, start))
        is_list = builder.icmp_unsigned("==", size, _WORD(0))
        with builder.if_else(is_list) as (listed, even):
            with listed:
                self._pieces(to, start, count, builder.gep(_as(builder, rows, _BYTE), [far]))
            with even:

                def place(row: Any) -> tuple[Any, Any]:
                    return (
                        builder.gep(to, [builder.mul(row, far)]),
                        builder.gep(start, [builder.mul(row, near)]),
                    )

                repeated = builder.icmp_unsigned("==", near, _WORD(0))
                dense = builder.icmp_unsigned("==", far, size)
                self._even(place, count, size, builder.and_(repeated, dense))

    def _pieces(self, to: Any, start: Any, count: Any, table: Any) -> None:
        builder = self.builder
        table = _as(builder, table, _HALF_WORD)
        with cgutils.for_range(builder, count) as piece:
            at = builder.mul(piece.index, _WORD(PIECE_WORDS))
            far, near, size = (
                builder.zext(builder.load(builder.gep(table, [builder.add(at, _WORD(i))])), _WORD)
                for i in range(PIECE_WORDS)
            )
            places = builder.gep(to, [far]), builder.gep(start, [near])
            for width in self._by_size(size):
                self._block(*places, size, width)

    def _even(self, place: Place, count: Any, size: Any, is_fill: Any) -> None:
        builder = self.builder
        for width in self._by_size(size):
            if width is None or width > 8:
                with cgutils.for_range(builder, count) as row:
                    self._block(*place(row.index), size, width)
                continue
            with builder.if_else(is_fill) as (fill, move):
                with fill:
                    to, start = (_as(builder, p, _unit(width)) for p in place(_WORD(0)))
                    value = builder.load(start, align=1)
                    with cgutils.for_range(builder, count) as row:
                        builder.store(value, builder.gep(to, [row.index]), align=1)
                with move, cgutils.for_range(builder, count) as row:
                    self._block(*place(row.index), size, width)

    def _by_size(self, size: Any) -> Any:
        """Yield each size that is moved inline, and None for all others, where to emit it."""
        builder = self.builder
        done, other = (builder.append_basic_block() for _ in range(2))
        chosen = builder.switch(size, other)
        for width in INLINE_BYTES:
            block = builder.append_basic_block()
            chosen.add_case(_WORD(width), block)
            builder.position_at_end(block)
            yield width
            builder.branch(done)
        builder.position_at_end(other)
        yield None
        builder.branch(done)
        builder.position_at_end(done)

    def _block(self, to: Any, start: Any, size: Any, width: int | None) -> None:
        builder = self.builder
        if width is not None:
            to, start = (_as(builder, place, _unit(width)) for place in (to, start))
            builder.store(builder.load(start, align=1), to, align=1)
        elif not self.streamed:
            cgutils.raw_memcpy(builder, to, start, size, 1)
        else:
            large = builder.icmp_unsigned(">=", size, _WORD(STREAMED_BLOCK))
            with builder.if_else(large) as (stream, plain):
                with stream:
                    self._stream(to, start, size)
                with plain:
                    cgutils.raw_memcpy(builder, to, start, size, 1)

    def _stream(self, to: Any, start: Any, size: Any) -> None:
        """Emit a copy in lines of the destination, and what lies before and behind them."""
        builder = self.builder
        before = builder.and_(builder.neg(builder.ptrtoint(to, _WORD)), _WORD(LINE_BYTES - 1))
        cgutils.raw_memcpy(builder, to, start, before, 1)
        lines = builder.lshr(builder.sub(size, before), _WORD(LINE_BYTES.bit_length() - 1))
        with cgutils.for_range(builder, lines) as line:
            at = builder.add(before, builder.mul(line.index, _WORD(LINE_BYTES)))
            here, there = (
                _as(builder, builder.gep(place, [at]), _unit(LINE_BYTES)) for place in (to, start)
            )
            stored = builder.store(builder.load(there, align=1), here, align=LINE_BYTES)
            stored.set_metadata("nontemporal", builder.module.add_metadata([_HALF_WORD(1)]))
        done = builder.add(before, builder.mul(lines, _WORD(LINE_BYTES)))
        rest = (builder.gep(place, [done]) for place in (to, start))
        cgutils.raw_memcpy(builder, *rest, builder.sub(size, done), 1)


def _unit(width: int) -> Any:
    return ir.IntType(8 * width) if width <= 8 else ir.VectorType(_HALF_WORD, width // 4)


def _as(builder: ir.IRBuilder, place: Any, kind: Any) -> Any:
    return builder.bitcast(place, kind.as_pointer())


def move_source(streamed: bool) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles to move records.

    Args:
        streamed: whether large blocks are written past the caches.
    """

    def emit_record(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> None:
        arena, rows, number = args
        _Mover(builder, arena, streamed).record(rows, number)

    def emit_fence(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> None:
        if streamed:  # what went past the caches is not ordered by itself
            builder.fence("seq_cst")

    move_record = emitted(emit_record, (*ARGUMENTS[:2], types.int64), types.none)
    finish = emitted(emit_fence, (), types.none)

    def move(
        arena: Any, rows: Any, low: int, high: int, first: int, last: int, faults: Any
    ) -> None:
        for number in range(low, high):
            move_record(arena, rows, number)
        finish()

    return move, ARGUMENTS, types.none
