"""The compiled interpreter, which runs control flow without Python.

A step costs a few nanoseconds, instead of hundreds in a Python interpreter, so a Repeat of Executes
runs at the speed of the vertices. `launcher` runs the vertices; this module runs all other ops.

Only Python handles signals such as Ctrl-C, so the interpreter returns to it about every `SLICE_NS`,
in the middle of a launch if necessary, and is called again. It is entered with one argument
(`enter`): with seven, ctypes takes a quarter of a microsecond longer, and Python enters it again
after each block of a stream.

Data are exchanged with other ranks by persistent MPI requests::

    words    started, 2, requests, ...       see the list in `poplite.executable.encoding`

MPI is called through addresses in the words, never by name, so that cached code is independent of
the MPI library. It is polled until all requests are done; no call waits inside MPI, since it would
then not respond to Ctrl-C or notice ranks that have ended.

Strict checks may let compiled code check a step and run it, a *look*
(`poplite.simulator.strict.looks`). A look is atomic: if a check or a vertex fails, or it takes too
long, memory is unchanged, so that Python can make the check from the start.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from poplite.executable import encoding as op
from poplite.jit.kernel_code import WORD, Primitive, not_inlined
from poplite.jit.kernels import Bytes, Int64s, simple
from poplite.simulator.codegen.launcher import (
    address,
    change_floats,
    clock,
    collect,
    expect,
    faulted,
    forget_cost,
    forget_faults,
    record,
    run_launch,
    set_word,
    word,
)

# -- looks -----------------------------------------------------------------------------------------


IN_PYTHON, AS_IT_IS = -1, -2
"""Results of a look that did not run the step (which returns 0): Python has to make the check; or
there is nothing to check, and the step runs unchecked."""

MOST_NS = 20_000_000
"""Maximum time of the vertices in a look; longer checks are left to Python, which can be
interrupted."""

MOST_ARGUMENTS = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS


def _emit_call(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    """Emit the call to a kernel with the number of arguments in its item."""
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
    """Call a kernel; return 0 if the look continues, else the result of `look`."""
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
    """Run a launch; return whether it reached its end without a fault."""
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
    """Run the step and return 0, or return another result of `look` and leave memory unchanged."""
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
    """Do the work after a step without faults: kernels, and copies, which cannot fault."""
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
    """Check a step and run it; return 0, IN_PYTHON or AS_IT_IS."""
    if words[op.LOOK_LEFT] == 0:
        return IN_PYTHON
    deadline = state[op.STATE_DEADLINE]
    state[op.STATE_DEADLINE] = clock(state) + MOST_NS
    result = _run(words, launches, state)
    if result == 0:
        _mark(words, launches, state)
        if words[op.LOOK_TRUSTS] != 0:  # the step itself is still to run
            result = AS_IT_IS
        elif words[op.LOOK_LEFT] > 0:
            words[op.LOOK_LEFT] -= 1
    state[op.STATE_DEADLINE] = deadline
    return result


# -- exchanges -------------------------------------------------------------------------------------


WAIT_NS = 10_000_000
"""Time after which an unfinished exchange returns to Python."""

ASKS = 64
"""Number of polls between two readings of the clock."""

GIVES_WAY, SLEEP_US = 16, 20
"""Number of polls that yield the processor before pauses start, and the length of a pause: without
pauses, a rank that shares its processor with the rank that it waits for would delay that rank."""

_INT, _WORDS = ir.IntType(32), WORD.as_pointer()


def _function(builder: ir.IRBuilder, words: Any, number: int, *arguments: Any) -> Any:
    """Load the address of a C function that takes the given arguments and returns an int."""
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
    """Exchange data; return the time waited in nanoseconds, or -1 if it is not done yet."""
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
    """Record that an exchange is done."""
    set_word(words, op.EXCHANGE_STARTED, 0)
    set_word(words, op.EXCHANGE_DONE, word(words, op.EXCHANGE_DONE) + 1)


# -- programs --------------------------------------------------------------------------------------


SLICE_NS = 50_000_000
"""Time between two returns to Python."""

LOOK_NS = 2_000
"""Time between two readings of the clock, from the known cost of ops."""

OP_NS, LAUNCH_NS = 4, 32
"""Assumed cost of an op, or of a launch without its vertices."""

SURPRISE_NS = 2_000_000
"""Unexplained time between two readings of the clock after which launches are measured again."""

ARGUMENTS = 7
"""Number of arguments of `interpret`, all of them addresses."""


def _emit_number(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    arena, position = args
    place = builder.bitcast(builder.gep(arena, [position]), ir.IntType(32).as_pointer())
    return builder.sext(builder.load(place, align=4), WORD)


_number = Primitive(_emit_number)


def _scalar(arena: Bytes, position: int, size: int) -> int:
    """Return a scalar of one or four bytes."""
    return arena[position] if size == 1 else _number(arena, position)


@not_inlined
def _agree(arena: Bytes, position: int, size: int, same: bool, state: Int64s) -> bool:
    """Return whether a scalar is equal in all replicas, or true in all or none of them."""
    first = _scalar(arena, position, size)
    for replica in range(1, state[op.STATE_REPLICAS]):
        other = _scalar(arena, position + replica * state[op.STATE_STRIDE], size)
        if other != first and (same or other == 0 or first == 0):
            return False
    return True


@not_inlined
def _all(arena: Bytes, position: int, first: int, count: int, state: Int64s) -> None:
    """Store in each replica whether all of `count` bytes are true."""
    for replica in range(state[op.STATE_REPLICAS]):
        shift, is_true = replica * state[op.STATE_STRIDE], 1
        for number in range(count):
            if arena[first + shift + number] == 0:
                is_true = 0
        arena[position + shift] = is_true


@not_inlined
def _row_of_case(ops: Int64s, at: int, value: int) -> int:
    """Return the row at which a SWITCH continues."""
    first = at // op.OP_WORDS + 1
    low, high = 0, ops[at + 1]
    while low < high:
        middle = (low + high) // 2
        if ops[(first + middle) * op.OP_WORDS + 1] < value:
            low = middle + 1
        else:
            high = middle
    case = (first + low) * op.OP_WORDS
    found = low < ops[at + 1] and ops[case + 1] == value
    return ops[case + 2] if found else ops[at + 3]


@not_inlined
def _count_looked(row: int, end: int, counts: Int64s, state: Int64s) -> int:
    """Record that rows up to `end` ran, and return `end`."""
    while row < end:
        counts[row] += 1
        if state[op.STATE_TRACE] != 0:
            record(state[op.STATE_TRACE], row)
        row += 1
    return row


@simple
def interpret(
    ops: Int64s,
    launches: Int64s,
    arena: Bytes,
    state: Int64s,
    loops: Int64s,
    returns: Int64s,
    counts: Int64s,
) -> int:
    """Run ops, starting at the row in `state`; return DONE, PAUSED, CALLED, FAULTED or WAITING.

    `loops` are the remaining iterations of each Repeat, `returns` the rows after open CALLs,
    `counts` how often each row ran.
    """
    row, now = state[op.STATE_ROW], clock(state)
    deadline = now + SLICE_NS
    state[op.STATE_DEADLINE] = deadline
    left = state[op.STATE_LEFT]
    while now < deadline and left > 0:
        allowed = min(LOOK_NS, OP_NS * left)  # maximum number of ops, except to the end of a step
        looked, budget, recent = now, allowed, 0
        while budget > 0:
            at = row * op.OP_WORDS
            kind = ops[at]
            budget -= OP_NS
            if kind == op.LAUNCH:
                launch = address(launches) + 8 * op.LAUNCH_WORDS * ops[at + 1]
                cost = run_launch(launch, state)
                if cost < 0:
                    state[op.STATE_ROW], state[op.STATE_REASON] = row, op.PAUSED
                    return op.PAUSED
                if faulted(launch):
                    state[op.STATE_ROW], state[op.STATE_REASON] = row, op.FAULTED
                    return op.FAULTED
                state[op.STATE_RECENT + recent] = launch
                recent += 1
                counts[row] += 1
                if state[op.STATE_TRACE] != 0:
                    record(state[op.STATE_TRACE], row)
                row += 1
                budget -= cost + LAUNCH_NS
                if ops[at + 2] != 0:  # the step continues: no interruption between launches
                    budget = max(budget, 1)
            elif kind == op.AGAIN:
                loops[ops[at + 1]] -= 1
                row = ops[at + 2] if loops[ops[at + 1]] > 0 else row + 1
            elif kind == op.JUMP_IF_NONZERO:
                row = ops[at + 1] if _scalar(arena, ops[at + 2], ops[at + 3]) != 0 else row + 1
            elif kind == op.JUMP_IF_ZERO:
                row = ops[at + 1] if _scalar(arena, ops[at + 2], ops[at + 3]) == 0 else row + 1
            elif kind == op.JUMP:
                row = ops[at + 1]
            elif kind == op.REPEAT:
                loops[ops[at + 1]] = ops[at + 2]
                row = row + 1 if ops[at + 2] > 0 else ops[at + 3]
            elif kind == op.CALL:
                returns[state[op.STATE_DEPTH]] = row + 1
                state[op.STATE_DEPTH] += 1
                row = ops[at + 1]
            elif kind == op.RETURN:
                state[op.STATE_DEPTH] -= 1
                row = returns[state[op.STATE_DEPTH]]
            elif kind == op.SWITCH:
                row = _row_of_case(ops, at, _scalar(arena, ops[at + 2], 4))
            elif kind == op.CALLBACK:
                if ops[at + 1] >= 0:  # an action of the program
                    counts[row] += 1
                    if state[op.STATE_TRACE] != 0:
                        record(state[op.STATE_TRACE], row)
                state[op.STATE_CALLBACK], state[op.STATE_ROW] = ops[at + 1], row + 1
                state[op.STATE_REASON] = op.CALLED
                return op.CALLED
            elif kind == op.LOOK:
                found = look_at(ops[at + 3], launches, state)
                if found == IN_PYTHON:
                    state[op.STATE_CALLBACK], state[op.STATE_ROW] = op.LOOK_IN_PYTHON, row + 1
                    state[op.STATE_REASON] = op.CALLED
                    return op.CALLED
                if found == AS_IT_IS:  # applies until steps are checked again
                    ops[at + 2] = ops[at + 1] if ops[at + 2] == 1 else 1
                    ops[at + 1] = word(ops[at + 3], op.LOOK_LAUNCH)
                    ops[at], ops[at + 3] = op.LAUNCH, 0
                    budget = max(budget, 1)  # the elements it writes already count as written
                else:
                    budget = ops[at + 1]  # so the clock is read next, unless the step continues
                    row = _count_looked(row, row + ops[at + 2], counts, state)
            elif kind in (op.AGREE, op.SAME):
                is_equal = _agree(arena, ops[at + 2], ops[at + 3], kind == op.SAME, state)
                row = ops[at + 1] if is_equal else row + 1
            elif kind == op.FLOATS:
                change_floats(state[op.STATE_FLOATS], ops[at + 1], ops[at + 2], ops[at + 3])
                row += 1
            elif kind == op.MARK:
                counts[row] += 1
                left -= 1
                row += 1
            elif kind == op.EXPECT:
                expect(address(launches) + 8 * op.LAUNCH_WORDS * ops[at + 1])
                row += 1
            elif kind == op.COLLECT:
                collect(address(launches) + 8 * op.LAUNCH_WORDS * ops[at + 1], ops[at + 2])
                row += 1
            elif kind == op.EXCHANGE:
                waited = exchange(ops[at + 1], state)
                if waited < 0:
                    state[op.STATE_ROW], state[op.STATE_REASON] = row, op.WAITING
                    return op.WAITING
                counts[row] += 1
                left -= 1
                row += 1
                budget -= waited + LAUNCH_NS
                if ops[at + 2] != 0:
                    budget = max(budget, 1)
            elif kind == op.ALL:
                _all(arena, ops[at + 1], ops[at + 2], ops[at + 3], state)
                row += 1
            else:
                state[op.STATE_REASON] = op.DONE
                return op.DONE
        left -= recent
        now = clock(state)
        if now - looked > allowed - budget + SURPRISE_NS:  # one launch takes longer than before
            for number in range(recent):
                forget_cost(state[op.STATE_RECENT + number])
    state[op.STATE_ROW], state[op.STATE_REASON] = row, op.PAUSED
    return op.PAUSED


def _emit_enter(builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
    (words,) = args
    *passed, function = (
        builder.load(builder.gep(words, [WORD(number)])) for number in range(ARGUMENTS + 1)
    )
    kind = ir.FunctionType(WORD, [WORD] * ARGUMENTS).as_pointer()
    return builder.call(builder.inttoptr(function, kind), passed)


_enter = Primitive(_emit_enter)


@simple
def enter(words: Int64s) -> int:
    """Run the interpreter; `words` are its arguments, followed by its own address."""
    return _enter(words)
