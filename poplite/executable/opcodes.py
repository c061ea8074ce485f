"""The ops of compiled programs, with the interpreter's tables.

`poplite.compile.compiler` writes them, engines run them.  They are an int64 array, one op a row::

    op               a              b            c
    LAUNCH           step           phase                         run a table of driver calls
    REPEAT           loop number    count        row behind its AGAIN
    AGAIN            loop number    row behind its REPEAT
    JUMP             row
    JUMP_IF_ZERO     row            scalar       its bytes
    JUMP_IF_NONZERO  row            scalar       its bytes
    SWITCH           CASE rows      scalar       row where none matches
    CASE             value          row                           these rows follow a SWITCH
    CALL             row                                          run it until its RETURN
    RETURN
    CALLBACK         action                                       return to Python, then continue
    MARK                                                          nothing, but it is counted
    EXPECT           launch                                       forget what vertices returned
    COLLECT          launch         scalar                        whether all returned true
    AGREE            row            scalar       its bytes        jump if it is true in all replicas
                                                                  or in none
    SAME             row            scalar       its bytes        jump if all replicas hold the same
    FLOATS           bits to clear  bits to set  compute sets     change floating-point arithmetic
    EXCHANGE         number                                       send and get data of other ranks
    ALL              scalar         first byte   bytes            whether all these bytes are true
    LOOK             goes on        rows         address          strict checks, and launches
    END

A scalar is named by its byte position in the arena, and is that of replica 0 where replicas were
found to agree; the cases of a switch are in rising order of their values, as signed numbers.
Only programs that run on several ranks have EXCHANGE and ALL; no file holds them, nor LOOK, which
engines write in place of the first LAUNCH of some steps.

An engine binds every LAUNCH to a row of its launch table (a: the row, b: whether the next op
belongs to the same step), which names chunks.  A chunk is one driver call: the vertices of one
group from one number in the first of its descriptor rows to one in the last.  Gathers, vertices,
scatters and copies are all launches: a copy is a driver whose rows are copy records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from poplite.frozen import frozen
from poplite.source import SourceLocation

(
    LAUNCH, REPEAT, AGAIN, JUMP, JUMP_IF_ZERO, JUMP_IF_NONZERO, SWITCH, CASE, CALL, RETURN,
    CALLBACK, MARK, EXPECT, COLLECT, AGREE, SAME, FLOATS, END, EXCHANGE, ALL, LOOK,
) = range(21)  # fmt: skip

MOST_RUNS = 1 << 62
"""Most steps of one run, if each branch is taken once: reports count them in 64 bits."""

COUNTED = LAUNCH, CALLBACK, MARK, EXCHANGE
"""Ops of which it is counted how often they run."""

OP_WORDS = 4

TARGETS = {
    JUMP: 1, JUMP_IF_ZERO: 1, JUMP_IF_NONZERO: 1, CALL: 1, AGREE: 1, SAME: 1,
    AGAIN: 2, CASE: 2, REPEAT: 3, SWITCH: 3,
}  # fmt: skip
"""The word of an op that is a row."""

GATHER, SAVE, COUNT, COMPUTE, SCATTER, SUM_SLOTS = range(6)
"""Phases of a compute set; a copy has the first only.  COUNT and SUM_SLOTS exist where data may
decide what vertices take: the first counts those that cannot count while they run, the second
writes down what all of them took."""

DEFINED = 6
"""The phase that strict checks run for COMPUTE: vertices by the definition of their class, not in
faster forms; those with workers log their accesses."""

LOG_BITS = 10
"""Bits of a worker, from 1, in a word of a log of accesses: the first that wrote the element, the
first that read it, and the first that did what another one must not see; above them what it did.
Workers whose numbers do not fit count as one."""

READ_WRITTEN, CHANGED_WRITTEN, WROTE_READ = 1, 2, 3
"""What a worker did to an element of another one: read what that wrote, stored another value, or
stored what that had read."""

(
    LAUNCH_CHUNKS, LAUNCH_COUNT, LAUNCH_SHARES, LAUNCH_SHARE_COUNT, LAUNCH_CHECKED,
    LAUNCH_UNMEASURED, LAUNCH_COST, LAUNCH_SPENT, LAUNCH_WORDS,
) = range(9)  # fmt: skip
"""Words of a launch: address and number of its chunks; the same of those that threads share,
0 when one thread runs it all; whether vertices may record faults; runs left to measure; what a
run costs, and what an unfinished one has cost so far, in nanoseconds."""

(
    CHUNK_DRIVER, CHUNK_ARENA, CHUNK_ROWS, CHUNK_WIDTH, CHUNK_LOW, CHUNK_HIGH, CHUNK_FIRST,
    CHUNK_LAST, CHUNK_ROW, CHUNK_VERTEX, CHUNK_FALSE, CHUNK_FLOATS, CHUNK_SLOTS, CHUNK_LOG,
    FAULT_WORD,
) = range(15)  # fmt: skip
"""Words of a chunk: driver, arena, descriptor rows and their width (0 for copy records); its
rows, the first vertex in the first of them and the end of those in the last; where it resumes
after it was cut; whether a vertex returned false; the floating-point state; where to write down
what each vertex took; where the log of an address is, of DEFINED, less four times that address;
its fault."""

FAULT_WORDS = 5
"""A chunk's fault record: flag, vertex number, field number, index, length."""

RAISED = -1
"""In place of the field number: `compute` raised an exception."""

TRAPPED = -2
"""In place of the field number: floating-point arithmetic stopped the vertex."""

OF_LANES = -1
"""In place of the length: the index is a number of lanes that are not there at a time."""

FLOAT_MODE, FLOAT_EXECUTIONS, FLOAT_SEED, FLOAT_WORDS = range(4)
"""Words of the floating-point state: mode (`poplite.machine.floating_point`); compute sets that
ran, where rounding may be stochastic; seed."""

CHUNK_WORDS = FAULT_WORD + FAULT_WORDS

(
    EXCHANGE_STARTED, EXCHANGE_COUNT, EXCHANGE_REQUESTS, EXCHANGE_STATUSES, EXCHANGE_FLAG,
    EXCHANGE_STARTALL, EXCHANGE_TESTALL, EXCHANGE_YIELD, EXCHANGE_SLEEP, EXCHANGE_SPINS,
    EXCHANGE_DONE, EXCHANGE_WORDS,
) = range(12)  # fmt: skip
"""Words of an exchange: whether it was started; number and address of its persistent requests;
addresses of room for their statuses and for the answer; of MPI_Startall, MPI_Testall, sched_yield
and usleep; how often to ask before the processor is given to others; how often it was done."""

LOOK_IN_PYTHON = -1
"""In place of the number of an action: strict checks look at the row."""

(
    LOOK_FUNCTION, LOOK_LAUNCH, LOOK_LEFT, LOOK_WORKERS, LOOK_TRUSTS, LOOK_BEGINS, LOOK_RUNS,
    LOOK_MARKS, LOOK_UNDOES, LOOK_ITEMS,
) = range(10)  # fmt: skip
"""Words of what a LOOK does: the function that does it; the launch of its row; how often it may
look until Python does, fewer than 0 for any number; whether it also looks where all is written, as
workers may race; whether it trusts the step, which then runs as it is; the ends of four parts of
its items, and the items.  The parts are the work before anything but temporaries changes; the work
that undoes it after a fault; the work once there is no fault; and the work that undoes the second
part."""

ITEM_FUNCTION, ITEM_COUNT, ITEM_RULE, ITEM_ARGUMENTS = range(4)
"""Words of an item: a kernel, the number of its arguments, what its result means, and the
arguments.  For a launch: 0, and its number."""

LOOK_ITEM_WORDS = ITEM_ARGUMENTS + 13

RULE_NONE, RULE_NEEDED, RULE_REFUSED, RULE_HOLES = range(4)
"""What the result of a kernel means: nothing; 0, or another number, lets Python look; or as of
`find_holes`: Python looks where holes are read, and without holes there is nothing to look at."""

DONE, PAUSED, CALLED, FAULTED, WAITING = range(5)
"""Why the interpreter returned; it waits for what other ranks send."""

(
    STATE_ROW, STATE_REASON, STATE_CALLBACK, STATE_DEPTH, STATE_CUT, STATE_DEADLINE,
    STATE_ENTRIES, STATE_FLOATS, STATE_REPLICAS, STATE_STRIDE, STATE_TRACE, STATE_LEFT,
    STATE_RECENT,
) = range(13)  # fmt: skip
"""Words of the interpreter's state: next row; why it returned; callback number; calls that have
not returned; whether the next row was cut in the middle; when to return; the addresses of
the entries and of the floating-point state; the number of replicas and the bytes from one to the
next; where rows that run are recorded, 0 for nowhere; counted rows after which to return, behind
the step that is running then; and the addresses of the launches that ran since the clock was
read."""

UNLIMITED = 1 << 48
"""Rows that no run has left."""

MOST_RECENT = 64
"""Launches between two looks at the clock, at most."""

STATE_WORDS = STATE_RECENT + MOST_RECENT

TRACE_ROOM, TRACE_USED, TRACE_ROWS = range(3)
"""Words of a recording: how many rows it may hold, how many it holds, and the first of them."""

(
    SLOTS_REPLICAS, SLOTS_TABLE, SLOTS_STRIDE, SLOTS_RUNS, SLOTS_RUN_ENDS, SLOTS_RUN_FAMILIES,
    SLOTS_RUN_LIMITS, SLOTS_SHARED, SLOTS_SHARED_ENDS, SLOTS_WORKERS, SLOTS_BUSY, SLOTS_TILES,
    SLOTS_ALONE, SLOTS_ALONE_COUNT, SLOTS_ALONE_TILES, SLOTS_CYCLES, SLOTS_MOST, SLOTS_BESIDE,
    SLOTS_LEAST, SLOTS_FAMILIES, SLOTS_TOTALS, SLOTS_WORDS,
) = range(22)  # fmt: skip
"""Words of the record of a compute set whose vertices are counted: how many replicas; the table of
the first one, and words from one table to the next; runs of vertices of one family, where each
ends, its family, and the slots at which they are not counted any more; those that share workers,
tile by tile, and where each tile ends; the workers of a tile, and the slots assigned to each; tiles
that run any; MultiVertices, and their tiles; cycles of each tile in one replica, in the slowest
one, and in adjacent phases that no sync separates from it, the most of these on other tiles;
families, and one more; totals."""

TOTAL_EXECUTIONS, TOTAL_SLOWEST, TOTAL_SEGMENT, TOTAL_WORDS = range(4)
"""Words of totals: executions; cycles of the slowest tile; the same with the adjacent phases.  They
are followed by the cycles of each tile, the slots of each family, and how often a run of vertices
of each had one that took more than is counted.  The last of each belongs to no family."""

ENTRY_CLOCK, ENTRY_CLOCK_KIND, ENTRY_PARALLEL_FOR, ENTRY_THREADS, ENTRY_KERNEL, ENTRIES = range(6)
"""What the interpreter calls: clock_gettime and its argument; parallel_for, 0 for no threads,
get_num_threads, and the function that a thread runs."""


@frozen(eq=False)
class Code:
    """One program as ops.

    Attributes:
        ops: int64[rows, 4]; a LAUNCH names step and phase in its first two operands.
        step_numbers: int64[rows], number of the program's step that a row belongs to; in a
            function counted from its beginning.
        step_rows: int64[...], the rows that do the work of an Execute or a Copy.
        num_steps: steps of the program.
        num_runs: how often Executes and Copies run in one run of it; None where data, or whoever
            stops it, decide.
        num_loops: Repeats in it.
        num_functions: functions that it calls, none of them twice at a time.
        locations: the user's line of each row; nothing in files that were written without lines.
        of_program: `, of program 'train'` where the executable has several; set by the executable.
    """

    ops: npt.NDArray[np.int64]
    step_numbers: npt.NDArray[np.int64]
    step_rows: npt.NDArray[np.int64]
    num_steps: int
    num_runs: int | None
    num_loops: int
    num_functions: int
    locations: tuple[SourceLocation, ...] = ()
    of_program: str = field(default="", metadata={"saved": False})

    @property
    def goes_on(self) -> npt.NDArray[np.bool_]:
        """Which rows finish what the row before them began: bool[rows].

        A run does not end before such a row, so that a step is done completely or not at all.
        """
        op, number = self.ops[:, 0], self.step_numbers
        works = (op == LAUNCH) | (op == EXCHANGE)
        launched = works[1:] & (works[:-1] | (op[:-1] == CALLBACK) | (op[:-1] == COLLECT))
        collected = (op[1:] == COLLECT) | (op[1:] == ALL)
        same = number[1:] == number[:-1]
        return np.append(False, same & (launched | collected))

    def end_of_launches(self, row: int) -> int:
        """Return the row behind the launches of a step from `row` on, but for the sum of slots."""
        ops, end = self.ops, row + 1
        while (ops[end, :2] == ops[row, :2]).all() and ops[end - 1, 2] < ops[end, 2] < SUM_SLOTS:
            end += 1
        return end

    @property
    def acting_rows(self) -> list[int]:
        """The rows that do the work of a step or call back, rising."""
        callbacks = np.flatnonzero(self.ops[:, 0] == CALLBACK)
        return [*map(int, np.union1d(self.step_rows, callbacks))]

    @property
    def first_numbers(self) -> npt.NDArray[np.int64]:
        """Step numbers in the place where a function is first called: int64[rows].

        A row of a function gets the number that messages of its first call use.
        """
        begins = np.unique(self.ops[self.ops[:, 0] == CALL, 1])
        calls = np.flatnonzero(self.ops[:, 0] == CALL)
        of_row = np.searchsorted(begins, np.arange(len(self.ops)), "right")  # 0 for the program
        before = np.full(len(begins) + 1, self.num_steps, np.int64)
        before[0] = 0
        callee = 1 + np.searchsorted(begins, self.ops[calls, 1])
        while True:  # as often as calls are nested
            earlier = before.copy()
            np.minimum.at(before, callee, earlier[of_row[calls]] + self.step_numbers[calls])
            if np.array_equal(before, earlier):
                return self.step_numbers + before[of_row]

    def called_from(self, rows: Sequence[int]) -> Code:
        """Return the code with the step numbers of one call; `rows` are the open CALLs."""
        before = int(self.step_numbers[np.array(rows, np.int64)].sum())
        return replace(self, step_numbers=self.step_numbers + before)

    def step_text(self, number: int, what: str, *, decides: bool = False) -> str:
        """Return which step of which program it is: `step 3 of 5: Execute 'blur', of program 'b'`.

        `decides` says that `what` is not a step, but decides which step follows step `number`.
        """
        if not decides:
            does = f": {what}" if what else ""
            return f"step {number:,} of {self.num_steps:,}{does}{self.of_program}"
        if not self.num_steps:  # as in a loop around nothing
            return f"what {what} decides on{self.of_program}"
        first = min(number + 1, self.num_steps)
        step = f"step {first:,} of {self.num_steps:,}"
        return f"{step}, which {what} decides on{self.of_program}"


def steps_before(programs: Mapping[str, Code]) -> dict[str, int]:
    """Return how many steps the programs before each one have: a report counts over all."""
    counts = [code.num_steps for code in programs.values()]
    return dict(zip(programs, accumulate(counts, initial=0), strict=False))
