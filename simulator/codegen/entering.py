"""How Python enters the interpreter: with one argument.

For seven, ctypes takes a quarter of a microsecond longer, and after each block of a stream Python
enters anew.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from poplite.jit.numba_context import emitted
from poplite.simulator.codegen.driver import WORDS

ARGUMENTS = 7
"""Of the interpreter, all of them addresses."""

_WORD = ir.IntType(64)


def _emit_enter(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    (words,) = args
    *passed, function = (
        builder.load(builder.gep(words, [_WORD(number)])) for number in range(ARGUMENTS + 1)
    )
    kind = ir.FunctionType(_WORD, [_WORD] * ARGUMENTS).as_pointer()
    return builder.call(builder.inttoptr(function, kind), passed)


_enter = emitted(_emit_enter, (WORDS,), types.int64)


def enter(words: Any) -> int:
    """Run the interpreter.

    Args:
        words: its arguments, and its own address behind them.

    Returns:
        What it returns.
    """
    reason: int = _enter(words)
    return reason


def enter_source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for `enter`."""
    return enter, (WORDS,), types.int64
