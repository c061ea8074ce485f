"""Compiled code that looks at a step and runs it: `poplite.simulator.strict.compiled_look`.

A look is all or nothing: where anything is wrong, a vertex faults, or it takes long, it leaves
memory as it was, so that Python can look from the beginning.  So no look is ever found half done.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from poplite.executable import opcodes as op
from poplite.jit.kernel_code import WORD, Primitive
from poplite.jit.kernels import Int64s, simple
from poplite.simulator.codegen.launcher import (
    address,
    clock,
    faulted,
    forget_faults,
    run_launch,
    set_word,
)

IN_PYTHON, AS_IT_IS = -1, -2
"""What a look returns, or 0 where it ran the step: Python looks; or there is nothing to look at,
and the step runs as if it were not looked at."""

MOST_NS = 20_000_000
"""Longest time of the vertices in a look; what takes longer is left to Python, which can be
interrupted."""

MOST_ARGUMENTS = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS


def _emit_call(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    """Emit the call of a kernel with as many arguments as its item says."""
    words, at = args
    loaded = [
        builder.load(builder.gep(words, [builder.add(at, WORD(n))]))
        for n in range(op.LOOK_ITEM_WORDS)
    ]
    function, count = loaded[op.ITEM_FUNCTION], loaded[op.ITEM_COUNT]
    end = builder.append_basic_block("called")
    other = builder.append_basic_block("other")
    ways = [(WORD(0), other)]
    switch = builder.switch(count, other)
    for number in range(1, MOST_ARGUMENTS + 1):
        block = builder.append_basic_block("call")
        switch.add_case(WORD(number), block)
        builder.position_at_end(block)
        kind = ir.FunctionType(WORD, [WORD] * number).as_pointer()
        passed = loaded[op.ITEM_ARGUMENTS : op.ITEM_ARGUMENTS + number]
        ways.append((builder.call(builder.inttoptr(function, kind), passed), block))
        builder.branch(end)
    builder.position_at_end(other)
    builder.branch(end)
    builder.position_at_end(end)
    result = builder.phi(WORD)
    for value, block in ways:
        result.add_incoming(value, block)
    return result


def _emit_look_at(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    place, launches, state = args
    words = builder.inttoptr(place, WORD.as_pointer())
    function = builder.load(builder.gep(words, [WORD(op.LOOK_FUNCTION)]))
    kind = ir.FunctionType(WORD, [words.type, launches.type, state.type]).as_pointer()
    return builder.call(builder.inttoptr(function, kind), [words, launches, state])


_call = Primitive(_emit_call)

look_at = Primitive(_emit_look_at)
"""Calls `look` with the words at an address."""


def _at(item: int) -> int:
    return op.LOOK_ITEMS + op.LOOK_ITEM_WORDS * item


def _found(words: Int64s, at: int) -> int:
    """Call a kernel; return 0 where the look goes on, or what `look` returns."""
    rule, result = words[at + op.ITEM_RULE], _call(words, at)
    if rule == op.RULE_NEEDED:
        return 0 if result != 0 else IN_PYTHON
    if rule == op.RULE_REFUSED:
        return 0 if result == 0 else IN_PYTHON
    if rule == op.RULE_HOLES and result > 1:
        return IN_PYTHON
    if rule == op.RULE_HOLES and result == 0 and words[op.LOOK_WORKERS] == 0:
        return AS_IT_IS
    return 0


def _is_launched(launch: int, state: Int64s) -> bool:
    """Run a launch; return whether it ran to its end without a fault."""
    if run_launch(launch, state) < 0:
        state[op.STATE_CUT] = 0
        set_word(launch, op.LAUNCH_SPENT, 0)
        forget_faults(launch)
        return False
    if faulted(launch):
        forget_faults(launch)
        return False
    return True


def _run(words: Int64s, launches: Int64s, state: Int64s) -> int:
    """Run the step and return 0; or return another result of `look`, with memory as before."""
    for item in range(words[op.LOOK_RUNS]):
        at = _at(item)
        if words[at + op.ITEM_FUNCTION] != 0:
            found = _found(words, at)
        else:
            launch = address(launches) + 8 * op.LAUNCH_WORDS * words[at + op.ITEM_COUNT]
            found = 0 if _is_launched(launch, state) else IN_PYTHON
        if found != 0:
            if item >= words[op.LOOK_BEGINS]:
                for other in range(words[op.LOOK_MARKS], words[op.LOOK_UNDOES]):
                    _call(words, _at(other))
            return found
    return 0


def _mark(words: Int64s, launches: Int64s, state: Int64s) -> None:
    """Do what is done when nothing was wrong: copies, which do not fault, and kernels."""
    for item in range(words[op.LOOK_RUNS], words[op.LOOK_MARKS]):
        at = _at(item)
        if words[at + op.ITEM_FUNCTION] == 0:
            launch = address(launches) + 8 * op.LAUNCH_WORDS * words[at + op.ITEM_COUNT]
            while run_launch(launch, state) < 0:
                state[op.STATE_DEADLINE] += MOST_NS
        else:
            _call(words, at)


@simple
def look(words: Int64s, launches: Int64s, state: Int64s) -> int:
    """Look at a step and run it; return 0, IN_PYTHON or AS_IT_IS."""
    if words[op.LOOK_LEFT] == 0:
        return IN_PYTHON
    deadline = state[op.STATE_DEADLINE]
    state[op.STATE_DEADLINE] = clock(state) + MOST_NS
    result = _run(words, launches, state)
    if result == 0:
        _mark(words, launches, state)
        if words[op.LOOK_RUNS] == words[op.LOOK_BEGINS]:  # the step itself is still to run
            result = AS_IT_IS
        elif words[op.LOOK_LEFT] > 0:
            words[op.LOOK_LEFT] -= 1
    state[op.STATE_DEADLINE] = deadline
    return result
