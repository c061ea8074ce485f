"""Compiled code that runs one launch: its chunks in sequence, or shared by threads.

The cost of a launch is known from its first runs. In these, and whenever it takes long, a launch
runs in pieces of one vertex, two, four, and so on as long as pieces are quick; the clock is read
after each. So a launch of a million slow vertices can be cut after any of them, and a launch of six
quick vertices is not slowed down.

Threads share a launch through the C entry point `parallel_for` of Numba's threading layer, with
`run_shares` as the function that one thread runs on one chunk.

The rows of the driver that moves bytes are the records of `poplite.executable.encoding`. Blocks of
certain sizes, up to a cache line, are moved by one load and one store, since a call to the C
library costs more than the move. Filling memory with one element is a loop of stores, which LLVM
vectorizes. In launches too large for the caches, large blocks are written with non-temporal stores.

A driver also adds up the slots of a compute set with counted vertices: its rows are one
record (`encoding.SLOTS_WORDS`).

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from poplite.executable import encoding as op
from poplite.executable.encoding import PIECE_WORDS, RECORD_WORDS
from poplite.jit.kernel_code import BOOL, WORD, Primitive, count_up, not_inlined
from poplite.jit.kernels import Bytes, Int64s

LONG_NS = 2_000_000
"""Time of a launch above which it always runs in pieces."""

PIECE_NS = 1_000_000
"""Time above which a piece is followed by a smaller one."""

CHUNK_BYTES = 8 * op.CHUNK_WORDS

_POINTER, _BYTES = WORD.as_pointer(), ir.IntType(8).as_pointer()


def _emit_word(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    return builder.load(builder.gep(builder.inttoptr(args[0], _POINTER), [args[1]]))


def _emit_set_word(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    builder.store(args[2], builder.gep(builder.inttoptr(args[0], _POINTER), [args[1]]))


def _emit_set_byte(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    place = builder.inttoptr(args[0], _BYTES)
    builder.store(builder.trunc(args[1], ir.IntType(8)), place)


def _emit_address(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    return builder.ptrtoint(args[0], WORD)


def _on_stack(builder: ir.IRBuilder, kind: Any) -> Any:
    """Allocate a value on the stack, in the entry block, so that loops allocate it only once."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


def _entries(builder: ir.IRBuilder, state: Any, *numbers: int) -> list[Any]:
    """Load the selected addresses of functions that the interpreter calls."""
    place = builder.load(builder.gep(state, [WORD(op.STATE_ENTRIES)]))
    table = builder.inttoptr(place, _POINTER)
    return [builder.load(builder.gep(table, [WORD(number)])) for number in numbers]


def _emit_clock(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    clock, kind = _entries(builder, args[0], op.ENTRY_CLOCK, op.ENTRY_CLOCK_KIND)
    time = _on_stack(builder, ir.ArrayType(WORD, 2))
    number = ir.IntType(32)
    function = ir.FunctionType(number, [number, time.type]).as_pointer()
    builder.call(builder.inttoptr(clock, function), [builder.trunc(kind, number), time])
    seconds, rest = (builder.extract_value(builder.load(time), i) for i in range(2))
    return builder.add(builder.mul(seconds, WORD(1_000_000_000)), rest)


def _emit_call(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    chunk = builder.inttoptr(args[0], _POINTER)
    driver, arena, rows = (
        builder.load(builder.gep(chunk, [WORD(word)]))
        for word in (op.CHUNK_DRIVER, op.CHUNK_ARENA, op.CHUNK_ROWS)
    )
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _POINTER, *[WORD] * 4, _POINTER])
    function = builder.inttoptr(driver, kind.as_pointer())
    data = [builder.inttoptr(arena, _BYTES), builder.inttoptr(rows, _POINTER)]
    builder.call(function, [*data, *args[1:], builder.gep(chunk, [WORD(op.FAULT_WORD)])])


def _emit_share(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    """Emit `parallel_for(kernel, args, dimensions, steps, data, 0, 1, get_num_threads())`.

    Source of the signature: numba/np/ufunc/omppool.cpp; a thread gets `args` advanced by
    `steps`, and its share in `dimensions[0]`.
    """
    chunks, count, state, data = args
    passed = [builder.inttoptr(chunks, _BYTES), count, WORD(CHUNK_BYTES)]
    places = [_on_stack(builder, each.type) for each in passed]
    for place, each in zip(places, passed, strict=True):
        builder.store(each, place)
    blocks = [builder.bitcast(place, _BYTES) for place in places]
    called = op.ENTRY_PARALLEL_FOR, op.ENTRY_THREADS, op.ENTRY_KERNEL
    parallel_for, get_num_threads, kernel = _entries(builder, state, *called)
    count_type = ir.FunctionType(WORD, []).as_pointer()
    threads = builder.call(builder.inttoptr(get_num_threads, count_type), [])
    kind = ir.FunctionType(ir.VoidType(), [_BYTES] * 5 + [WORD] * 3).as_pointer()
    callee = [builder.inttoptr(kernel, _BYTES), *blocks, builder.inttoptr(data, _BYTES)]
    builder.call(builder.inttoptr(parallel_for, kind), [*callee, WORD(0), WORD(1), threads])


word = Primitive(_emit_word)
set_word = Primitive(_emit_set_word)
_set_byte = Primitive(_emit_set_byte)
address = Primitive(_emit_address)
clock = Primitive(_emit_clock)
_call_driver = Primitive(_emit_call)
_share = Primitive(_emit_share)


def _run_chunk(chunk: int) -> None:
    """Run all vertices of a chunk."""
    low, high = word(chunk, op.CHUNK_LOW), word(chunk, op.CHUNK_HIGH)
    _call_driver(chunk, low, high, word(chunk, op.CHUNK_FIRST), word(chunk, op.CHUNK_LAST))


def _run_pieces(chunk: int, state: Int64s) -> None:
    """Run a chunk from its resume position to its end, a fault or the deadline."""
    rows, width = word(chunk, op.CHUNK_ROWS), word(chunk, op.CHUNK_WIDTH)
    high, last = word(chunk, op.CHUNK_HIGH), word(chunk, op.CHUNK_LAST)
    row, vertex = word(chunk, op.CHUNK_ROW), word(chunk, op.CHUNK_VERTEX)
    now, deadline, size = clock(state), state[op.STATE_DEADLINE], 1
    while row < high and now < deadline:
        end_row, end = row, vertex + size
        while True:
            count = 1 if width == 0 else word(rows, end_row * width)
            count = last if end_row == high - 1 else count
            if end <= count or end_row == high - 1:
                break
            end -= count
            end_row += 1
        end = min(end, count)
        _call_driver(chunk, row, end_row + 1, vertex, end)
        row = end_row + 1 if end == count else end_row
        vertex = 0 if end == count else end
        if word(chunk, op.FAULT_WORD) != 0:
            row = high
        before, now = now, clock(state)
        size = 2 * size if now - before < PIECE_NS else max(1, size // 2)
    set_word(chunk, op.CHUNK_ROW, row)
    set_word(chunk, op.CHUNK_VERTEX, vertex)


def run_shares(chunks: Int64s, dimensions: Int64s, steps: Int64s, state: Int64s) -> None:
    """Run one thread's share of a launch, as the kernel for the threading layer.

    `chunks` contains the address of the share's first chunk, `dimensions` the number of chunks,
    `steps` the distance between chunks in bytes; `state` is null unless chunks run in pieces.
    """
    first = chunks[0]
    for number in range(dimensions[0]):
        chunk = first + number * steps[0]
        if address(state) == 0:
            _run_chunk(chunk)
        else:
            _run_pieces(chunk, state)


def _run_measured(launch: int, chunks: int, count: int, shared: bool, state: Int64s) -> int:
    """Run a launch in pieces and record its cost; return its time, -1 if it was cut."""
    begin = clock(state)
    if state[op.STATE_CUT] == 0:
        for number in range(count):
            chunk = chunks + CHUNK_BYTES * number
            set_word(chunk, op.CHUNK_ROW, word(chunk, op.CHUNK_LOW))
            set_word(chunk, op.CHUNK_VERTEX, word(chunk, op.CHUNK_FIRST))
    if shared:
        _share(chunks, count, state, address(state))
    else:
        for number in range(count):
            _run_pieces(chunks + CHUNK_BYTES * number, state)
    unfinished = 0
    for number in range(count):
        chunk = chunks + CHUNK_BYTES * number
        if word(chunk, op.CHUNK_ROW) < word(chunk, op.CHUNK_HIGH):
            unfinished += 1
    spent = word(launch, op.LAUNCH_SPENT) + clock(state) - begin
    if unfinished > 0:
        set_word(launch, op.LAUNCH_SPENT, spent)
        state[op.STATE_CUT] = 1
        return -1
    set_word(launch, op.LAUNCH_SPENT, 0)
    state[op.STATE_CUT] = 0
    # The first run also brings data to the caches, so the quickest run counts.
    known = word(launch, op.LAUNCH_COST)
    set_word(launch, op.LAUNCH_COST, spent if known == 0 else min(spent, known))
    if spent < LONG_NS:
        set_word(launch, op.LAUNCH_UNMEASURED, word(launch, op.LAUNCH_UNMEASURED) - 1)
    return spent


@not_inlined
def _run_as_needed(launch: int, state: Int64s) -> int:
    """Run a launch that threads share, or whose cost is unknown."""
    chunks, count = word(launch, op.LAUNCH_CHUNKS), word(launch, op.LAUNCH_COUNT)
    shared = False
    shares = word(launch, op.LAUNCH_SHARE_COUNT)
    if shares > 0 and word(state[op.STATE_ENTRIES], op.ENTRY_PARALLEL_FOR) != 0:
        chunks, count = word(launch, op.LAUNCH_SHARES), shares
        shared = True
    if word(launch, op.LAUNCH_UNMEASURED) != 0:
        return _run_measured(launch, chunks, count, shared, state)
    if shared:
        _share(chunks, count, state, 0)
    else:
        for number in range(count):
            _run_chunk(chunks + CHUNK_BYTES * number)
    return word(launch, op.LAUNCH_COST)


def run_launch(launch: int, state: Int64s) -> int:
    """Run a launch; return its cost in nanoseconds, or -1 if it was cut at the deadline."""
    if word(launch, op.LAUNCH_UNMEASURED) != 0 or word(launch, op.LAUNCH_SHARE_COUNT) > 0:
        return _run_as_needed(launch, state)
    chunk = word(launch, op.LAUNCH_CHUNKS)
    for _ in range(word(launch, op.LAUNCH_COUNT)):
        _run_chunk(chunk)
        chunk += CHUNK_BYTES
    return word(launch, op.LAUNCH_COST)


@not_inlined
def forget_cost(launch: int) -> None:
    """Forget the cost of a launch, so that its next run is measured."""
    set_word(launch, op.LAUNCH_COST, 0)
    set_word(launch, op.LAUNCH_UNMEASURED, max(1, word(launch, op.LAUNCH_UNMEASURED)))


def record(trace: int, row: int) -> None:
    """Record that a row ran, if there is space."""
    used = word(trace, op.TRACE_USED)
    if used < word(trace, op.TRACE_ROOM):
        set_word(trace, op.TRACE_ROWS + used, row)
        set_word(trace, op.TRACE_USED, used + 1)


def change_floats(floats: int, clear: int, set: int, executions: int) -> None:
    """Change the floating-point state."""
    set_word(floats, op.FLOAT_MODE, word(floats, op.FLOAT_MODE) & ~clear | set)
    set_word(floats, op.FLOAT_EXECUTIONS, word(floats, op.FLOAT_EXECUTIONS) + executions)


def expect(launch: int) -> None:
    """Clear the results of the vertices of a launch."""
    for part in range(2):
        chunk = word(launch, op.LAUNCH_CHUNKS if part == 0 else op.LAUNCH_SHARES)
        for _ in range(word(launch, op.LAUNCH_COUNT if part == 0 else op.LAUNCH_SHARE_COUNT)):
            set_word(chunk, op.CHUNK_FALSE, 0)
            chunk += CHUNK_BYTES


def collect(launch: int, position: int) -> None:
    """Store in the arena of every chunk whether none of its vertices returned false."""
    for part in range(3):  # first all results are set to true, then chunks and shares clear some
        chunk = word(launch, op.LAUNCH_CHUNKS if part < 2 else op.LAUNCH_SHARES)
        for _ in range(word(launch, op.LAUNCH_COUNT if part < 2 else op.LAUNCH_SHARE_COUNT)):
            if part == 0:
                _set_byte(word(chunk, op.CHUNK_ARENA) + position, 1)
            elif word(chunk, op.CHUNK_FALSE) != 0:
                _set_byte(word(chunk, op.CHUNK_ARENA) + position, 0)
            chunk += CHUNK_BYTES


def faulted(launch: int) -> bool:
    """Return whether a vertex of a launch left a fault record."""
    if word(launch, op.LAUNCH_CHECKED) != 0:
        for part in range(2):
            chunk = word(launch, op.LAUNCH_CHUNKS if part == 0 else op.LAUNCH_SHARES)
            for _ in range(word(launch, op.LAUNCH_COUNT if part == 0 else op.LAUNCH_SHARE_COUNT)):
                if word(chunk, op.FAULT_WORD) != 0:
                    return True
                chunk += CHUNK_BYTES
    return False


def forget_faults(launch: int) -> None:
    """Forget the fault records of a launch."""
    for part in range(2):
        chunk = word(launch, op.LAUNCH_CHUNKS if part == 0 else op.LAUNCH_SHARES)
        for _ in range(word(launch, op.LAUNCH_COUNT if part == 0 else op.LAUNCH_SHARE_COUNT)):
            for number in range(op.FAULT_WORDS):
                set_word(chunk, op.FAULT_WORD + number, 0)
            chunk += CHUNK_BYTES


# -- moves of bytes --------------------------------------------------------------------------------


_HALF_WORD, _BYTE = ir.IntType(32), ir.IntType(8)

INLINE_BYTES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of blocks that are moved by one load and one store."""

LINE_BYTES = 64
"""Number of bytes that are written past the caches at a time."""

STREAMED_BLOCK = 4096
"""Minimum size in bytes of a block that is written past the caches."""

Place = Callable[[Any], tuple[Any, Any]]
"""Maps the number of a block to its destination and its source."""


class _Mover:
    """Emits the moves of one record; `streamed` writes large blocks past the caches."""

    def __init__(self, builder: ir.IRBuilder, arena: Any, streamed: bool) -> None:
        self.builder, self.arena, self.streamed = builder, arena, streamed

    def record(self, rows: Any, number: Any) -> None:
        """Emit the moves of a record: evenly spaced blocks, or a list."""
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
        """Yield each size that is moved inline, then None for all others, to emit its code."""
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
        """Emit a copy of the destination's cache lines, and of the bytes before and after them."""
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
    """Move the bytes of records `low` to `high`; other arguments are those of all drivers."""
    for number in range(low, high):
        _move_record(arena, rows, number)


def move_past_caches(
    arena: Bytes, rows: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Move the bytes of records like `move`, but write large blocks past the caches."""
    for number in range(low, high):
        _stream_record(arena, rows, number)
    _fence()  # otherwise stores past the caches are not ordered


# -- sums of slots ---------------------------------------------------------------------------------


def _add(place: int, number: int, value: int) -> None:
    set_word(place, number, word(place, number) + value)


def _pack(record: Int64s, table: int) -> None:
    """Set the cycles of vertices that share workers; each vertex runs on the first free worker."""
    busy, workers, vertices = (
        record[op.SLOTS_BUSY],
        record[op.SLOTS_WORKERS],
        record[op.SLOTS_SHARED],
    )
    begin = 0
    for tile in range(record[op.SLOTS_TILES]):
        end, slowest = word(record[op.SLOTS_SHARED_ENDS], tile), 0
        if end - begin <= workers:  # the usual case: each vertex has its own worker
            for k in range(begin, end):
                slowest = max(slowest, word(table, word(vertices, k)))
        else:
            for worker in range(workers):
                set_word(busy, worker, 0)
            for k in range(begin, end):
                free, least = 0, word(busy, 0)
                for worker in range(1, workers):
                    if word(busy, worker) < least:
                        free, least = worker, word(busy, worker)
                taken = least + word(table, word(vertices, k))
                set_word(busy, free, taken)
                slowest = max(slowest, taken)
        set_word(record[op.SLOTS_CYCLES], tile, slowest * workers)
        begin = end


def sum_slots(
    arena: Bytes, record: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Add the slots of one execution to the totals of a record; this is a driver."""
    cycles, most = record[op.SLOTS_CYCLES], record[op.SLOTS_MOST]
    totals, tiles = record[op.SLOTS_TOTALS], record[op.SLOTS_TILES]
    for tile in range(tiles):
        set_word(most, tile, 0)
    for replica in range(record[op.SLOTS_REPLICAS]):
        table = record[op.SLOTS_TABLE] + 8 * replica * record[op.SLOTS_STRIDE]
        _pack(record, table)
        for k in range(record[op.SLOTS_ALONE_COUNT]):
            _add(
                cycles,
                word(record[op.SLOTS_ALONE_TILES], k),
                word(table, word(record[op.SLOTS_ALONE], k)),
            )
        for tile in range(tiles):
            set_word(most, tile, max(word(most, tile), word(cycles, tile)))
    slowest, segment = 0, record[op.SLOTS_LEAST]
    for tile in range(tiles):
        taken = word(most, tile)
        slowest = max(slowest, taken)
        segment = max(segment, taken + word(record[op.SLOTS_BESIDE], tile))
        _add(totals, op.TOTAL_WORDS + tile, taken)
    _add(totals, op.TOTAL_EXECUTIONS, 1)
    _add(totals, op.TOTAL_SLOWEST, slowest)
    _add(totals, op.TOTAL_SEGMENT, segment)
    slots = op.TOTAL_WORDS + tiles
    cut = slots + record[op.SLOTS_FAMILIES]
    for replica in range(record[op.SLOTS_REPLICAS]):
        table, begin = record[op.SLOTS_TABLE] + 8 * replica * record[op.SLOTS_STRIDE], 0
        for run in range(record[op.SLOTS_RUNS]):
            end, taken, longest = word(record[op.SLOTS_RUN_ENDS], run), 0, 0
            for vertex in range(begin, end):
                taken += word(table, vertex)
                longest = max(longest, word(table, vertex))
            family = word(record[op.SLOTS_RUN_FAMILIES], run)
            if replica == 0:
                _add(totals, slots + family, taken)
            if longest >= word(record[op.SLOTS_RUN_LIMITS], run):
                _add(totals, cut + family, 1)
            begin = end
