"""LLVM instructions of all emitted code: loops, room on the stack, calls by name, statuses.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

OUTSIDE_STATUS, RAISED_STATUS, TRAPPED_STATUS = (ir.IntType(32)(each) for each in (-1, 1, 2))
"""What a compiled function returns where it stops: an access was outside of a field, which is
recorded; it raised an exception; a trap. Where it comes to its end, it returns 0.

Numba has the first two, and its own code returns them.
"""


@contextmanager
def count_up(builder: ir.IRBuilder, end: Any, begin: Any = None) -> Iterator[Any]:
    """Emit a loop from `begin` (0 if None) to `end`; what is emitted inside is its body.

    The value yielded is the number of the iteration.
    """
    before, head, body, after = builder.block, *(builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(end.type)
    number.add_incoming(end.type(0) if begin is None else begin, before)
    builder.cbranch(builder.icmp_signed("<", number, end), body, after)
    builder.position_at_end(body)
    yield number
    number.add_incoming(builder.add(number, end.type(1), flags=["nsw"]), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def on_stack(builder: ir.IRBuilder, kind: ir.Type, count: int = 1) -> Any:
    """Emit room on the stack for `count` values, of which the first is 0 at the beginning."""
    with builder.goto_entry_block():
        place = builder.alloca(kind, size=count if count > 1 else None)
        builder.store(kind(None), place)
    return place


def call_named(builder: ir.IRBuilder, name: str, result: ir.Type, arguments: Sequence[Any]) -> Any:
    """Emit the call of a function that is defined elsewhere."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)
