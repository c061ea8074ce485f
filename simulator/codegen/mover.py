"""The driver that moves bytes: copies, gathers and scatters.

Its rows are the records of `poplite.executable.moves`.  Blocks of a few sizes, up to a cache line,
are moved by one load and one store, as the call of the C library costs more than the move.  One
element repeated side by side is a loop of stores, which LLVM makes vector stores.  In launches too
large for the caches, large blocks are written past them.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from poplite.executable.moves import PIECE_WORDS, RECORD_WORDS
from poplite.jit.instructions import count_up
from poplite.jit.kernel_code import BOOL, WORD, Primitive
from poplite.jit.kernels import Bytes, Int64s

_HALF_WORD, _BYTE = ir.IntType(32), ir.IntType(8)

INLINE_BYTES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of blocks that are moved by one load and one store."""

LINE_BYTES = 64
"""Bytes that are written past the caches at a time."""

STREAMED_BLOCK = 4096
"""Bytes from which a block is written past the caches."""

Place = Callable[[Any], tuple[Any, Any]]
"""From the number of a block to its destination and its source."""


class _Mover:
    """Emits the moves of one record; `streamed` writes large blocks past the caches."""

    def __init__(self, builder: ir.IRBuilder, arena: Any, streamed: bool) -> None:
        self.builder, self.arena, self.streamed = builder, arena, streamed

    def record(self, rows: Any, number: Any) -> None:
        """Emit the moves of a record: blocks at even distances, or a list."""
        builder = self.builder
        record = builder.gep(rows, [builder.mul(number, WORD(RECORD_WORDS))])
        to, start, count, size, far, near = (
            builder.load(builder.gep(record, [WORD(i)])) for i in range(RECORD_WORDS)
        )
        to, start = (builder.gep(self.arena, [position]) for position in (to, start))
        is_list = builder.icmp_unsigned("==", size, WORD(0))
        with builder.if_else(is_list) as (listed, even):
            with listed:
                self._pieces(to, start, count, builder.gep(_as(builder, rows, _BYTE), [far]))
            with even:

                def place(row: Any) -> tuple[Any, Any]:
                    return (
                        builder.gep(to, [builder.mul(row, far)]),
                        builder.gep(start, [builder.mul(row, near)]),
                    )

                repeated = builder.icmp_unsigned("==", near, WORD(0))
                dense = builder.icmp_unsigned("==", far, size)
                self._even(place, count, size, builder.and_(repeated, dense))

    def _pieces(self, to: Any, start: Any, count: Any, table: Any) -> None:
        builder = self.builder
        table = _as(builder, table, _HALF_WORD)
        with count_up(builder, count) as piece:
            at = builder.mul(piece, WORD(PIECE_WORDS))
            far, near, size = (
                builder.zext(builder.load(builder.gep(table, [builder.add(at, WORD(i))])), WORD)
                for i in range(PIECE_WORDS)
            )
            places = builder.gep(to, [far]), builder.gep(start, [near])
            for width in self._by_size(size):
                self._block(*places, size, width)

    def _even(self, place: Place, count: Any, size: Any, is_fill: Any) -> None:
        builder = self.builder
        for width in self._by_size(size):
            if width is None or width > 8:
                with count_up(builder, count) as row:
                    self._block(*place(row), size, width)
                continue
            with builder.if_else(is_fill) as (fill, move):
                with fill:
                    to, start = (_as(builder, p, _unit(width)) for p in place(WORD(0)))
                    value = builder.load(start, align=1)
                    with count_up(builder, count) as row:
                        builder.store(value, builder.gep(to, [row]), align=1)
                with move, count_up(builder, count) as row:
                    self._block(*place(row), size, width)

    def _by_size(self, size: Any) -> Any:
        """Yield each size that is moved inline, and None for all others, where its code goes."""
        builder = self.builder
        done, other = (builder.append_basic_block() for _ in range(2))
        chosen = builder.switch(size, other)
        for width in INLINE_BYTES:
            block = builder.append_basic_block()
            chosen.add_case(WORD(width), block)
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
            _copy(builder, to, start, size)
        else:
            large = builder.icmp_unsigned(">=", size, WORD(STREAMED_BLOCK))
            with builder.if_else(large) as (stream, plain):
                with stream:
                    self._stream(to, start, size)
                with plain:
                    _copy(builder, to, start, size)

    def _stream(self, to: Any, start: Any, size: Any) -> None:
        """Emit a copy in cache lines of the destination, and of the bytes around them."""
        builder = self.builder
        before = builder.and_(builder.neg(builder.ptrtoint(to, WORD)), WORD(LINE_BYTES - 1))
        _copy(builder, to, start, before)
        lines = builder.lshr(builder.sub(size, before), WORD(LINE_BYTES.bit_length() - 1))
        with count_up(builder, lines) as line:
            at = builder.add(before, builder.mul(line, WORD(LINE_BYTES)))
            here, there = (
                _as(builder, builder.gep(place, [at]), _unit(LINE_BYTES)) for place in (to, start)
            )
            stored = builder.store(builder.load(there, align=1), here, align=LINE_BYTES)
            stored.set_metadata("nontemporal", builder.module.add_metadata([_HALF_WORD(1)]))
        done = builder.add(before, builder.mul(lines, WORD(LINE_BYTES)))
        to, start = (builder.gep(place, [done]) for place in (to, start))
        _copy(builder, to, start, builder.sub(size, done))


def _unit(width: int) -> Any:
    return ir.IntType(8 * width) if width <= 8 else ir.VectorType(_HALF_WORD, width // 4)


def _as(builder: ir.IRBuilder, place: Any, kind: Any) -> Any:
    return builder.bitcast(place, kind.as_pointer())


def _copy(builder: ir.IRBuilder, to: Any, start: Any, size: Any) -> None:
    kinds = [to.type, start.type, size.type]
    function = builder.module.declare_intrinsic("llvm.memcpy", kinds)
    builder.call(function, [to, start, size, BOOL(0)])


def _emit_record(builder: ir.IRBuilder, args: Sequence[Any], *, streamed: bool) -> None:
    arena, rows, number = args
    _Mover(builder, arena, streamed).record(rows, number)


def _emit_fence(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    builder.fence("seq_cst")


_move_record = Primitive(partial(_emit_record, streamed=False))
_stream_record = Primitive(partial(_emit_record, streamed=True))
_fence = Primitive(_emit_fence)


def move(
    arena: Bytes, rows: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Move the bytes of records `low` to `high`; the arguments behind are those of every driver."""
    for number in range(low, high):
        _move_record(arena, rows, number)


def move_past_caches(
    arena: Bytes, rows: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Move the bytes of some records, large blocks past the caches; as `move`."""
    for number in range(low, high):
        _stream_record(arena, rows, number)
    _fence()  # stores past the caches are not ordered otherwise
