"""The compiled interpreter: loops and launches without Python between them.

A step costs a few nanoseconds beside hundreds for a Python walker, so a Repeat of small
Executes runs at the speed of the vertices.  A launch runs its chunks in order, or hands
them to Numba's threading layer through its C entry point `parallel_for`, with `kernel` as
the function that one thread runs on one chunk.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from poplite.compile.opcodes import (
    AGAIN,
    CALL,
    CALLED,
    CHECKED,
    CHUNK_WORDS,
    DONE,
    FAULT_WORD,
    FAULTED,
    FLAG_BITS,
    LAUNCH,
    OP_WORDS,
    OP_WORK,
    PARALLEL,
    PAUSED,
    REPEAT,
    STATE_CALLBACK,
    STATE_ROW,
    UNFINISHED,
)
from poplite.jit.context import emitted
from poplite.simulator.driver import WORDS

_WORD = ir.IntType(64)
_POINTER, _BYTES = _WORD.as_pointer(), ir.IntType(8).as_pointer()


def _emit_call(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    chunk = builder.gep(args[0], [builder.mul(args[1], _WORD(CHUNK_WORDS))])
    words = [builder.load(builder.gep(chunk, [_WORD(i)])) for i in range(FAULT_WORD)]
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _POINTER, _WORD, _WORD, _POINTER])
    driver = builder.inttoptr(words[0], kind.as_pointer())
    arena, rows = builder.inttoptr(words[1], _BYTES), builder.inttoptr(words[2], _POINTER)
    faults = builder.gep(chunk, [_WORD(FAULT_WORD)])
    builder.call(driver, [arena, rows, words[3], words[4], faults])


def _emit_parallel(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    """Emit `parallel_for(kernel, args, dimensions, steps, data, 0, 1, get_num_threads())`.

    Source of the signature: numba/np/ufunc/omppool.cpp; a thread sees `args` advanced by
    `steps` and `dimensions[0]` set to its share.
    """
    chunks, first, last, threads, kernel = args
    begin = builder.gep(chunks, [builder.mul(first, _WORD(CHUNK_WORDS))])
    passed = [builder.bitcast(begin, _BYTES), builder.sub(last, first), _WORD(8 * CHUNK_WORDS)]
    blocks = [builder.bitcast(cgutils.alloca_once_value(builder, p), _BYTES) for p in passed]
    parallel_for, get_num_threads = (
        builder.load(builder.gep(threads, [_WORD(i)])) for i in range(2)
    )
    count_type = ir.FunctionType(_WORD, []).as_pointer()
    count = builder.call(builder.inttoptr(get_num_threads, count_type), [])
    kind = ir.FunctionType(ir.VoidType(), [_BYTES] * 5 + [_WORD] * 3).as_pointer()
    callee = [builder.inttoptr(kernel, _BYTES), *blocks, ir.Constant(_BYTES, None)]
    sizes = [_WORD(0), _WORD(1), count]
    builder.call(builder.inttoptr(parallel_for, kind), [*callee, *sizes])


_call_chunk = emitted(_emit_call, (WORDS, types.int64), types.none)
_call_parallel = emitted(
    _emit_parallel, (WORDS, *[types.int64] * 2, WORDS, types.int64), types.none
)


def run_chunks(chunks: Any, dimensions: Any, steps: Any, data: Any) -> None:
    """Run one thread's share of a launch; the kernel given to the threading layer."""
    for chunk in range(dimensions[0]):
        _call_chunk(chunks[0], chunk)


def run_chunks_source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for `run_chunks`."""
    return run_chunks, (types.CPointer(WORDS), WORDS, WORDS, types.voidptr), types.none


def interpret_source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for `interpret`."""
    return interpret, (*[WORDS] * 6, types.int64, types.int64), types.int64


def interpret(
    ops: Any,
    chunks: Any,
    state: Any,
    loops: Any,
    counts: Any,
    threads: Any,
    kernel: int,
    budget: int,
) -> int:
    """Run ops from the row in `state` until the end, a callback, a fault or the budget.

    Args:
        ops: the op rows.
        chunks: the chunk rows.
        state: next row and callback number.
        loops: iterations left of each Repeat.
        counts: how often each row ran.
        threads: entry points of the threading layer: parallel_for, get_num_threads.
        kernel: address of `run_chunks`.
        budget: work to do before returning, in elements, so that Python sees signals.

    Returns:
        DONE, PAUSED, CALLED or FAULTED.
    """
    row = state[STATE_ROW]
    while budget > 0:
        at = row * OP_WORDS
        op = ops[at]
        budget -= OP_WORK
        counts[row] += 1
        if op == LAUNCH:
            first, last, flags = ops[at + 1], ops[at + 2], ops[at + 3]
            budget -= flags >> FLAG_BITS
            if flags & UNFINISHED and budget <= 0:
                budget = 1
            if flags & PARALLEL:
                _call_parallel(chunks, first, last, threads, kernel)
            else:
                for chunk in range(first, last):
                    _call_chunk(chunks, chunk)
            if flags & CHECKED:
                for chunk in range(first, last):
                    if chunks[chunk * CHUNK_WORDS + FAULT_WORD] != 0:
                        state[STATE_ROW] = row
                        return FAULTED
            row += 1
        elif op == AGAIN:
            loops[ops[at + 1]] -= 1
            row = ops[at + 2] if loops[ops[at + 1]] > 0 else row + 1
        elif op == REPEAT:
            loops[ops[at + 1]] = ops[at + 2]
            row = row + 1 if ops[at + 2] > 0 else ops[at + 3]
        elif op == CALL:
            state[STATE_CALLBACK] = ops[at + 1]
            state[STATE_ROW] = row + 1
            return CALLED
        else:
            return DONE
    state[STATE_ROW] = row
    return PAUSED
