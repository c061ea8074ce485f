"""Compiled code that sends and gets data of other ranks: persistent requests of MPI.

    words    started, 2, requests, ...       `poplite.executable.opcodes` lists them

MPI is called through addresses that the words hold, never by name, so that kept code knows no MPI
library.  It is asked again and again whether all requests are done; nobody waits inside of MPI,
which would be deaf to Ctrl-C and to ranks that are gone.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from poplite.executable import opcodes as op
from poplite.jit.kernel_code import WORD, Primitive, not_inlined
from poplite.jit.kernels import Int64s
from poplite.simulator.codegen.launcher import clock, set_word, word

WAIT_NS = 10_000_000
"""Time after which an exchange that is not done returns to Python."""

ASKS = 64
"""Questions between two looks at the clock."""

GIVES_WAY, SLEEP_US = 16, 20
"""Questions between which others get the processor, before there are pauses, and how long these
are: a rank that shares its processor with the one it waits for only keeps that from working."""

_INT, _WORDS = ir.IntType(32), WORD.as_pointer()


def _function(builder: ir.IRBuilder, words: Any, number: int, *arguments: Any) -> Any:
    """Load the address of a C function that takes these and returns an int."""
    kind = ir.FunctionType(_INT, [each.type for each in arguments]).as_pointer()
    return builder.inttoptr(_word(builder, words, number), kind)


def _word(builder: ir.IRBuilder, words: Any, number: int) -> Any:
    return builder.load(builder.gep(builder.inttoptr(words, _WORDS), [WORD(number)]))


def _emit_start(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    """Emit `MPI_Startall(count, requests)`."""
    (words,) = args
    passed = (
        builder.trunc(_word(builder, words, op.EXCHANGE_COUNT), _INT),
        builder.inttoptr(_word(builder, words, op.EXCHANGE_REQUESTS), _WORDS),
    )
    builder.call(_function(builder, words, op.EXCHANGE_STARTALL, *passed), passed)


def _emit_test(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    """Emit `MPI_Testall(count, requests, &flag, statuses)`, and load the flag."""
    (words,) = args
    flag = builder.inttoptr(_word(builder, words, op.EXCHANGE_FLAG), _INT.as_pointer())
    passed = (
        builder.trunc(_word(builder, words, op.EXCHANGE_COUNT), _INT),
        builder.inttoptr(_word(builder, words, op.EXCHANGE_REQUESTS), _WORDS),
        flag,
        builder.inttoptr(_word(builder, words, op.EXCHANGE_STATUSES), _WORDS),
    )
    builder.call(_function(builder, words, op.EXCHANGE_TESTALL, *passed), passed)
    return builder.zext(builder.load(flag), WORD)


def _emit_give_way(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    """Emit `sched_yield()`."""
    (words,) = args
    builder.call(_function(builder, words, op.EXCHANGE_YIELD), ())


def _emit_sleep(builder: ir.IRBuilder, args: Sequence[Any]) -> None:
    """Emit `usleep(microseconds)`."""
    (words,) = args
    time = _INT(SLEEP_US)
    builder.call(_function(builder, words, op.EXCHANGE_SLEEP, time), (time,))


_start = Primitive(_emit_start)
_is_done = Primitive(_emit_test)
_give_way = Primitive(_emit_give_way)
_sleep = Primitive(_emit_sleep)


@not_inlined
def exchange(words: int, state: Int64s) -> int:
    """Send and get data; return the nanoseconds that it waited, or -1 while it is not done."""
    if word(words, op.EXCHANGE_COUNT) == 0:
        return 0
    if word(words, op.EXCHANGE_STARTED) == 0:
        _start(words)
        set_word(words, op.EXCHANGE_STARTED, 1)
    if _is_done(words) != 0:
        _finish(words)
        return 0
    begin, spins, asked = clock(state), word(words, op.EXCHANGE_SPINS), 0
    while _is_done(words) == 0:
        asked += 1
        if asked > spins + GIVES_WAY:
            _sleep(words)
        elif asked > spins:
            _give_way(words)
        if asked % ASKS == 0 and clock(state) - begin > WAIT_NS:
            return -1
    _finish(words)
    return clock(state) - begin


def _finish(words: int) -> None:
    """Note that an exchange is done."""
    set_word(words, op.EXCHANGE_STARTED, 0)
    set_word(words, op.EXCHANGE_DONE, word(words, op.EXCHANGE_DONE) + 1)
