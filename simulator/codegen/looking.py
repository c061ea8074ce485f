"""Compiled code that looks at a step and runs it: `poplite.simulator.strict.compiled_look`.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from poplite.executable import opcodes as op
from poplite.jit.kernel_code import WORD, Primitive
from poplite.jit.kernels import Int64s
from poplite.jit.kernels.written import INCOMPLETE, LOSSY
from poplite.simulator.codegen.launcher import address, faulted, run_launch

IN_PYTHON, CUT, DONE = -1, -2, 0
"""What a look returns in place of what launches cost: Python looks, or the deadline cut it."""

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


def _mode(words: Int64s, holes: int) -> int:
    """Return the mode of a look at a step with such holes, 0 where Python looks."""
    if holes > 0:
        return op.MODE_READ if holes > 1 else op.MODE_OUTPUTS
    if words[op.LOOK_WORKERS] != 0:
        return op.MODE_WORKERS
    return op.MODE_COMPLETE if words[op.LOOK_HELD] != 0 else 0


def _is_passed(words: Int64s, rule: int, result: int) -> bool:
    """Return whether a look goes on after the result of a kernel."""
    if rule == op.RULE_NEEDED:
        return result != 0
    if rule == op.RULE_REFUSED:
        return result == 0
    if rule == op.RULE_HOLES:
        words[op.LOOK_MODE] = _mode(words, result)
        return words[op.LOOK_MODE] != 0
    if rule == op.RULE_MARKED:
        if words[op.LOOK_LACKING] > 0:
            words[op.LOOK_LACKING] = max(0, words[op.LOOK_LACKING] - result)
    elif rule in (op.RULE_FLAGS, op.RULE_WRITTEN) and result & LOSSY:
        words[op.LOOK_LOST] = 1
    return rule != op.RULE_WRITTEN or result & INCOMPLETE == 0


def _fail(words: Int64s, item: int) -> int:
    """Note which item failed; return that Python looks."""
    words[op.LOOK_AT] = item
    words[op.LOOK_BEGUN] = item >= words[op.LOOK_BEGINS]
    return IN_PYTHON


def look(words: Int64s, launches: Int64s, state: Int64s) -> int:
    """Look at a step and run it; return what that cost, IN_PYTHON or CUT."""
    begin = words[op.LOOK_AT]
    if begin == 0:
        if words[op.LOOK_LACKING] == 0 or words[op.LOOK_LEFT] == 0:
            return _fail(words, 0)
        words[op.LOOK_MODE], words[op.LOOK_SPENT], words[op.LOOK_RUNS] = op.MODES, 0, 0
    for item in range(begin, words[op.LOOK_COUNT]):
        at = op.LOOK_ITEMS + op.LOOK_ITEM_WORDS * item
        if words[at + op.ITEM_MODES] & words[op.LOOK_MODE] == 0:
            continue
        if words[at + op.ITEM_FUNCTION] != 0:
            if not _is_passed(words, words[at + op.ITEM_RULE], _call(words, at)):
                return _fail(words, item)
            continue
        launch = address(launches) + 8 * op.LAUNCH_WORDS * words[at + op.ITEM_COUNT]
        cost = run_launch(launch, state)
        if cost < 0:
            words[op.LOOK_AT] = item
            return CUT
        words[op.LOOK_SPENT] += cost
        words[op.LOOK_RUNS] += words[at + op.ITEM_RULE]
        if faulted(launch):
            words[op.LOOK_FAULTED] = 1
            return _fail(words, item)
    words[op.LOOK_AT] = 0
    words[op.LOOK_AGAIN] += words[op.LOOK_RUNS]
    if words[op.LOOK_MODE] != op.MODE_COMPLETE:
        words[op.LOOK_PASSED] += 1
        if words[op.LOOK_LEFT] > 0:
            words[op.LOOK_LEFT] -= 1
    return words[op.LOOK_SPENT]
