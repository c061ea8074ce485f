"""The encoding of programs as numbers for compiled code: ops, rows of vertices, copies.

`poplite.compile.compiler` writes ops, and engines run them. An int64 array has a row for each op::

    op               a              b            c
    LAUNCH           step           phase                         run a table of driver calls
    REPEAT           loop number    count        row after its AGAIN
    AGAIN            loop number    row after its REPEAT
    JUMP             row
    JUMP_IF_ZERO     row            scalar       its bytes
    JUMP_IF_NONZERO  row            scalar       its bytes
    SWITCH           CASE rows      scalar       row if none matches
    CASE             value          row                           these rows follow a SWITCH
    CALL             row                                          run from there to its RETURN
    RETURN
    CALLBACK         action                                       return to Python, then continue
    MARK                                                          nothing, but it is counted
    EXPECT           launch                                       clear what vertices returned
    COLLECT          launch         scalar                        store whether all returned true
    AGREE            row            scalar       its bytes        jump if true in all replicas
                                                                  or in none
    SAME             row            scalar       its bytes        jump if equal in all replicas
    FLOATS           bits to clear  bits to set  compute sets     change floating-point mode
    EXCHANGE         number                                       exchange data with other ranks
    ALL              scalar         first byte   bytes            store whether all bytes are true
    LOOK             goes on        rows         address          strict checks, and launches
    END

A scalar is given by its byte position in the arena; after a check that replicas agree, the value of
replica 0 is used. The cases of a switch are in ascending order of their values, as signed numbers.
Only programs that run on several ranks have EXCHANGE and ALL. No file contains these, nor LOOK,
which replaces the first LAUNCH of some steps in engines.

An engine binds every LAUNCH to a row of its launch table (a: the row, b: whether the next op
belongs to the same step), which refers to chunks. A chunk is one driver call: the vertices of one
group, from a number in the first of its descriptor rows to a number in the last. Gathers,
vertices, scatters and copies are all launches: a copy is a driver whose rows are copy records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, repeated
from poplite.frozen import frozen
from poplite.source import SourceLocation
from poplite.vertex.fields import Field

(
    LAUNCH, REPEAT, AGAIN, JUMP, JUMP_IF_ZERO, JUMP_IF_NONZERO, SWITCH, CASE, CALL, RETURN,
    CALLBACK, MARK, EXPECT, COLLECT, AGREE, SAME, FLOATS, END, EXCHANGE, ALL, LOOK,
) = range(21)  # fmt: skip

MOST_RUNS = 1 << 62
"""Maximum number of steps in a run that takes each branch; reports count in 64 bits."""

COUNTED = LAUNCH, CALLBACK, MARK, EXCHANGE
"""Ops whose executions are counted."""

OP_WORDS = 4

TARGETS = {
    JUMP: 1, JUMP_IF_ZERO: 1, JUMP_IF_NONZERO: 1, CALL: 1, AGREE: 1, SAME: 1,
    AGAIN: 2, CASE: 2, REPEAT: 3, SWITCH: 3,
}  # fmt: skip
"""The position of the word that refers to a row, by kind of op."""

GATHER, SAVE, COUNT, COMPUTE, SCATTER, SUM_SLOTS = range(6)
"""Phases of a compute set; a copy has only the first. COUNT and SUM_SLOTS exist if the slots of
vertices may depend on data: COUNT counts vertices that cannot count while they run, SUM_SLOTS
records the slots of all vertices."""

DEFINED = 6
"""The phase that strict checks run instead of COMPUTE: vertices run `compute`, not faster forms,
and vertices with workers log their accesses."""

LOG_BITS = 10
"""Bits of a worker number, from 1, in a word of a log of accesses: the first worker that wrote the
element, the first that read it, and the first that conflicted with another one; the kind of
conflict is in the higher bits. Workers whose numbers do not fit count as one worker."""

READ_WRITTEN, CHANGED_WRITTEN, WROTE_READ = 1, 2, 3
"""Kinds of conflicts with another worker: a read of an element that it wrote, a store of a
different value, or a store to an element that it had read."""

(
    LAUNCH_CHUNKS, LAUNCH_COUNT, LAUNCH_SHARES, LAUNCH_SHARE_COUNT, LAUNCH_CHECKED,
    LAUNCH_UNMEASURED, LAUNCH_COST, LAUNCH_SPENT, LAUNCH_WORDS,
) = range(9)  # fmt: skip
"""Words of a launch: address and number of its chunks; the same for chunks that threads share, 0
if one thread runs everything; whether vertices may record faults; number of runs still to measure;
the cost of a run, and of an unfinished run so far, in nanoseconds."""

(
    CHUNK_DRIVER, CHUNK_ARENA, CHUNK_ROWS, CHUNK_WIDTH, CHUNK_LOW, CHUNK_HIGH, CHUNK_FIRST,
    CHUNK_LAST, CHUNK_ROW, CHUNK_VERTEX, CHUNK_FALSE, CHUNK_FLOATS, CHUNK_SLOTS, CHUNK_LOG,
    FAULT_WORD,
) = range(15)  # fmt: skip
"""Words of a chunk: driver, arena, descriptor rows and their width (0 for copy records); its
rows, the first vertex in its first row and the end of the vertices in its last row; where it
resumes after a cut; whether a vertex returned false; the floating-point state; the address at which
to record the slots of vertices; for DEFINED, the position of the log of an address, minus four
times that address; its fault."""

FAULT_WORDS = 7
"""A chunk's fault record: flag, vertex number, field number, index, length; file and line, which
are 0 if the class's text is Python."""

RAISED = -1
"""In place of the field number: `compute` raised an exception."""

TRAPPED = -2
"""In place of the field number: floating-point arithmetic stopped the vertex."""

OF_LANES = -1
"""In place of the length: the index is a number of lanes that cannot be accessed at once."""

FLOAT_MODE, FLOAT_EXECUTIONS, FLOAT_SEED, FLOAT_WORDS = range(4)
"""Words of the floating-point state: mode (`poplite.machine.floating_point`); number of compute
sets that have run, if rounding may be stochastic; seed."""

CHUNK_WORDS = FAULT_WORD + FAULT_WORDS

(
    EXCHANGE_STARTED, EXCHANGE_COUNT, EXCHANGE_REQUESTS, EXCHANGE_STATUSES, EXCHANGE_FLAG,
    EXCHANGE_STARTALL, EXCHANGE_TESTALL, EXCHANGE_YIELD, EXCHANGE_SLEEP, EXCHANGE_SPINS,
    EXCHANGE_DONE, EXCHANGE_WORDS,
) = range(12)  # fmt: skip
"""Words of an exchange: whether it was started; number and address of its persistent requests;
addresses of the buffers for their statuses and for the answer; addresses of MPI_Startall,
MPI_Testall, sched_yield and usleep; number of polls before the processor is yielded; number of
executions.
"""

LOOK_IN_PYTHON = -1
"""In place of the number of an action: strict checks process the row."""

(
    LOOK_FUNCTION, LOOK_LAUNCH, LOOK_LEFT, LOOK_WORKERS, LOOK_TRUSTS, LOOK_BEGINS, LOOK_RUNS,
    LOOK_MARKS, LOOK_UNDOES, LOOK_ITEMS,
) = range(10)  # fmt: skip
"""Words of the work of a LOOK: its function; the launch of its row; how often it may look before
Python does, negative for no limit; whether it also looks if all elements are written, since
workers may race; whether it trusts the step, which then runs unchecked; the ends of the four parts
of its items, and the items. The parts are the work before anything except temporaries changes; the
work that undoes it after a fault; the work if there is no fault; and the work that undoes the
second part."""

ITEM_FUNCTION, ITEM_COUNT, ITEM_RULE, ITEM_ARGUMENTS = range(4)
"""Words of an item: a kernel, the number of its arguments, the meaning of its result, and the
arguments; for a launch, 0 and its number."""

LOOK_ITEM_WORDS = ITEM_ARGUMENTS + 13

RULE_NONE, RULE_NEEDED, RULE_REFUSED, RULE_HOLES = range(4)
"""The meaning of a kernel's result: none; Python makes the check if it is 0, or if it is not 0; or
as for `find_holes`: Python makes it if holes are read, and without holes nothing is checked."""

DONE, PAUSED, CALLED, FAULTED, WAITING = range(5)
"""Reasons why the interpreter returned; WAITING is for data from other ranks."""

(
    STATE_ROW, STATE_REASON, STATE_CALLBACK, STATE_DEPTH, STATE_CUT, STATE_DEADLINE,
    STATE_ENTRIES, STATE_FLOATS, STATE_REPLICAS, STATE_STRIDE, STATE_TRACE, STATE_LEFT,
    STATE_RECENT,
) = range(13)  # fmt: skip
"""Words of the interpreter's state: next row; reason of the return; callback number; number of open
calls; whether the next row was cut in the middle; time at which to return; the addresses of the
entries and of the floating-point state; the number of replicas and the bytes from one to the next;
where rows that run are recorded, 0 for nowhere; number of counted rows after which to return, at
the end of the current step; and the addresses of the launches that ran since the clock was read.
"""

UNLIMITED = 1 << 48
"""The row of a run that was not interrupted."""

MOST_RECENT = 64
"""Maximum number of launches between two readings of the clock."""

STATE_WORDS = STATE_RECENT + MOST_RECENT

TRACE_ROOM, TRACE_USED, TRACE_ROWS = range(3)
"""Words of a recording: its capacity in rows, the number of rows in it, and the first row."""

(
    SLOTS_REPLICAS, SLOTS_TABLE, SLOTS_STRIDE, SLOTS_RUNS, SLOTS_RUN_ENDS, SLOTS_RUN_FAMILIES,
    SLOTS_RUN_LIMITS, SLOTS_SHARED, SLOTS_SHARED_ENDS, SLOTS_WORKERS, SLOTS_BUSY, SLOTS_TILES,
    SLOTS_ALONE, SLOTS_ALONE_COUNT, SLOTS_ALONE_TILES, SLOTS_CYCLES, SLOTS_MOST, SLOTS_BESIDE,
    SLOTS_LEAST, SLOTS_FAMILIES, SLOTS_TOTALS, SLOTS_WORDS,
) = range(22)  # fmt: skip
"""Words of the record of a compute set whose vertices are counted: number of replicas; the table of
the first one, and words from one table to the next; runs of vertices of one family, with the end
of each, its family, and the slots at which counting stops; vertices that share workers, by tile,
and the end of each tile; the workers of a tile, and the slots assigned to each; tiles that run
vertices; MultiVertices, and their tiles; cycles of each tile in one replica, in the slowest
replica, and in adjacent phases that no sync separates from it, with their maximum on other tiles;
number of families plus one; totals."""

TOTAL_EXECUTIONS, TOTAL_SLOWEST, TOTAL_SEGMENT, TOTAL_WORDS = range(4)
"""Words of totals: executions; cycles of the slowest tile, without and with adjacent phases. They
are followed by the cycles of each tile, the slots of each family, and, for each family, how often a
run had a vertex that exceeded the counted slots. The last element of each is for no family."""

ENTRY_CLOCK, ENTRY_CLOCK_KIND, ENTRY_PARALLEL_FOR, ENTRY_THREADS, ENTRY_KERNEL, ENTRIES = range(6)
"""The functions that the interpreter calls: clock_gettime and its argument; parallel_for, 0 without
threads; get_num_threads; and the function that a thread runs."""


@frozen(eq=False)
class Code:
    """The ops of one program.

    Attributes:
        ops: int64[rows, 4]; the first two operands of a LAUNCH are its step and phase.
        step_numbers: int64[rows], number of the program's step that a row belongs to; in a
            function, counted from the start of the function.
        step_rows: int64[...], the rows that do the work of an Execute or a Copy.
        num_steps: number of steps of the program.
        num_runs: how many Executes and Copies run in one run of the program; None if that depends
            on data or on a request to stop.
        num_loops: number of Repeats in the program.
        num_functions: number of functions that it calls; none is active twice at a time.
        locations: the user's line of each row; empty in files that were written without lines.
        of_program: `, of program 'train'` if the executable has several; set by the executable.
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
        """Which rows continue the work of the row before them, bool[rows].

        A run does not end before such a row, so that a step runs completely or not at all.
        """
        op, number = self.ops[:, 0], self.step_numbers
        works = (op == LAUNCH) | (op == EXCHANGE)
        launched = works[1:] & (works[:-1] | (op[:-1] == CALLBACK) | (op[:-1] == COLLECT))
        collected = (op[1:] == COLLECT) | (op[1:] == ALL)
        same = number[1:] == number[:-1]
        return np.append(False, same & (launched | collected))

    def end_of_launches(self, row: int) -> int:
        """Return the row after the launches of a step from `row` on, without the sum of slots."""
        ops, end = self.ops, row + 1
        while (ops[end, :2] == ops[row, :2]).all() and ops[end - 1, 2] < ops[end, 2] < SUM_SLOTS:
            end += 1
        return end

    @property
    def acting_rows(self) -> list[int]:
        """The rows that do the work of a step or call back, ascending."""
        callbacks = np.flatnonzero(self.ops[:, 0] == CALLBACK)
        return sorted({*self.step_rows.tolist(), *callbacks.tolist()})

    @property
    def first_numbers(self) -> npt.NDArray[np.int64]:
        """Step numbers, int64[rows]; for rows of a function, those of its first call.

        These are the numbers in messages.
        """
        calls = np.flatnonzero(self.ops[:, 0] == CALL)
        if not len(calls):
            return self.step_numbers
        begins = np.unique(self.ops[calls, 1])
        of_row = np.searchsorted(begins, np.arange(len(self.ops)), "right")  # 0 for the program
        before = np.full(len(begins) + 1, self.num_steps, np.int64)
        before[0] = 0
        callee = 1 + np.searchsorted(begins, self.ops[calls, 1])
        while True:  # once for each level of nested calls
            earlier = before.copy()
            np.minimum.at(before, callee, earlier[of_row[calls]] + self.step_numbers[calls])
            if np.array_equal(before, earlier):
                return self.step_numbers + before[of_row]

    def called_from(self, rows: Sequence[int]) -> Code:
        """Return the code with the step numbers of one call, given the rows of the open CALLs."""
        before = int(self.step_numbers[np.array(rows, np.int64)].sum())
        return replace(self, step_numbers=self.step_numbers + before)

    def step_text(self, number: int, what: str, *, decides: bool = False) -> str:
        """Return a step as text: `step 3 of 5: Execute 'blur', of program 'b'`.

        With `decides`, `what` is not a step, but determines which step follows step `number`.
        """
        if not decides:
            does = f": {what}" if what else ""
            return f"step {number:,} of {self.num_steps:,}{does}{self.of_program}"
        if not self.num_steps:  # for example, a loop around an empty program
            return f"what {what} decides on{self.of_program}"
        first = min(number + 1, self.num_steps)
        step = f"step {first:,} of {self.num_steps:,}"
        return f"{step}, which {what} decides on{self.of_program}"


def steps_before(programs: Mapping[str, Code]) -> dict[str, int]:
    """Return the number of steps before each program; reports number the steps of all programs."""
    counts = [code.num_steps for code in programs.values()]
    return dict(zip(programs, accumulate(counts, initial=0), strict=False))


# -- descriptor rows of vertices -------------------------------------------------------------------
# Descriptor rows tell a driver where the vertices of a compute set have their fields. Vertices of
# one class are listed in *runs* of n vertices. Each run is one row of int64 words, whose columns
# give the positions of the fields of its vertices::
#
#     3 | number 12, +1 | x.start 0, +64 | x.length 64 | y.start 9000, table + 16 | ...
# A column has one of four forms. If all vertices are regular, all columns are affine or fixed, and
# a million vertices are one row; irregular numbers stay in the graph's tables::
#     affine   value, step         value + k * step for vertex k
#     fixed    value               for all vertices of the run
#     flat     value, address      value + table[k], a table of uint32
#     table    address             of a table, for the driver
# All positions are in elements of the field's type from the start of the arena. A list field
# whose rows are evenly spaced is described by start, rows, stride and length; any other list by
# its first pair (start, length) in a table, with starts relative to `base`. Pairs are uint32,
# or int64 if that does not suffice.
# Rows in an executable contain positions in tables; they become addresses when an engine is made.

RowForm = Literal["stride", "pairs", "wide"]
"""Form of the rows of a list field: evenly spaced, or pairs of uint32 or int64."""

Forms = tuple[RowForm | None, ...]
"""The form of the rows of each declared field; None for fields that are not lists."""

Kind = Literal["affine", "fixed", "flat", "table"]

WORDS: dict[Kind, int] = {"affine": 2, "fixed": 1, "flat": 2, "table": 1}

NUMBER = -1
"""In place of the position of a field, for the number of the vertex."""

COUNT_WORD = 0
"""The first word of a row: number of vertices in the run."""


@frozen
class Column:
    """One number that describes a vertex or one of its fields.

    Attributes:
        field: position of the field in the class, or NUMBER.
        part: "number", "start", "length", "rows", "stride", "base", "pairs", "wide" or "first".
        kind: the form.
    """

    field: int
    part: str
    kind: Kind


Columns = tuple[Column, ...]


def columns(fields: Sequence[Field], forms: Forms) -> Columns:
    """Return the columns of a vertex class in affine form, in the order of the words of a row."""
    return (
        Column(NUMBER, "number", "affine"),
        *(
            Column(position, part, kind)
            for position, (field, form) in enumerate(zip(fields, forms, strict=True))
            for part, kind in _parts(field, form)
        ),
    )


def _parts(field: Field, form: RowForm | None) -> Iterator[tuple[str, Kind]]:
    if form in ("pairs", "wide"):
        yield from (("base", "fixed"), (form, "table"), ("first", "affine"), ("rows", "fixed"))
        return
    yield "start", "affine"
    if field.depth == 2:
        yield from (("rows", "fixed"), ("stride", "fixed"))
    if field.depth:
        yield "length", "fixed"


def forms_of(described: Columns, num_fields: int) -> Forms:
    """Return the form of the rows of each declared field; None for fields that are not lists."""
    found: dict[int, RowForm] = {}
    for column in described:
        match column.part:
            case "pairs" | "wide" | "stride" as form:
                found[column.field] = form
    return tuple(found.get(position) for position in range(num_fields))


def width(described: Columns) -> int:
    """Return the number of words of a row."""
    return COUNT_WORD + 1 + sum(WORDS[column.kind] for column in described)


def positions(described: Columns) -> Iterator[tuple[Column, int]]:
    """Yield each column with the position of its first word in a row."""
    at = COUNT_WORD + 1
    for column in described:
        yield column, at
        at += WORDS[column.kind]


Rows = npt.NDArray[np.int64]


def bound_rows(rows: Rows, described: Columns, tables: Mapping[int, npt.NDArray[Any]]) -> Rows:
    """Return rows with addresses in place of table positions; the caller must keep tables alive.

    `tables` contains the tables by column number.
    """
    if not tables:
        return np.ascontiguousarray(rows)
    bound = rows.copy()
    for number, (column, at) in enumerate(positions(described)):
        if column.kind in ("flat", "table"):
            word = at + WORDS[column.kind] - 1
            bound[:, word] *= tables[number].strides[0]
            bound[:, word] += tables[number].ctypes.data
    return bound


# -- the bytes that a copy moves -------------------------------------------------------------------
# Evenly spaced blocks become records, all other blocks a list. A *record* is six words
# (destination, source, rows, bytes, far, near), with positions and distances in bytes: block r is
# copied from `source + r * near` to `destination + r * far`. Unevenly spaced pieces are listed in
# three uint32 words each, a quarter of the size of a record. One record represents a list; its
# `bytes` are 0, and `far` is the position of the list::
#
#     records    100   0   8   64   256   64       8 blocks of 64 bytes
#                  0 500   3    0     0    0       3 pieces, from number 0 of the list
#     pieces       0   0  12                       12 bytes from 500 + 0 to 0 + 0
#                 12  40   4                       ...
#                 16  52   4

Pieces = npt.NDArray[np.uint32]

RECORD_WORDS = 6

PIECE_WORDS = 3

BLOCK_OVERHEAD = 8
"""Work for starting one block, in elements; used only to balance chunks."""

BYTES_PER_ELEMENT = 4
"""Number of bytes that cost as much to copy as one element costs to compute."""

_NO_WEIGHTS = np.zeros(0, np.int64)

SPLIT_BYTES = 64
"""A single block is split at multiples of a cache line."""


@frozen(eq=False)
class Moves:
    """Copies that may run in any order: none writes bytes that another reads or writes.

    Attributes:
        records: int64[records, 6].
        pieces: uint32[pieces, 3], (destination, source, bytes) from those of their record.
    """

    records: Int64
    pieces: Pieces

    @property
    def weights(self) -> Int64:
        """The work of each record, in elements."""
        if not len(self.records):
            return _NO_WEIGHTS
        _, _, rows, size, far, _ = self.records.T
        weights = rows * (size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD)
        for record in np.flatnonzero(size == 0) if len(self.pieces) else ():
            weights[record] = self._piece_weights(far[record], rows[record]).sum()
        return np.asarray(weights)

    @property
    def size_bytes(self) -> int:
        """The number of bytes moved."""
        return int((self.records[:, 2] * self.records[:, 3]).sum() + self._listed())

    def blocks(self) -> tuple[Int64, Int64, Int64]:
        """Return, for each block or piece, the first bytes of destination and source, and its size.

        >>> record = np.array([[100, 0, 2, 8, 64, 16]])
        >>> found = Moves(record, np.zeros((0, PIECE_WORDS), np.uint32)).blocks()
        >>> [each.tolist() for each in found]
        [[100, 164], [0, 16], [8, 8]]
        """
        to, start, rows, size, far, near = self.records.T
        record, row = repeated(rows)
        pieces = np.stack([row * far[record], row * near[record], size[record]])
        is_listed = pieces[2] == 0
        pieces[:, is_listed] = self.pieces[(far[record] + row)[is_listed]].T
        return to[record] + pieces[0], start[record] + pieces[1], pieces[2]

    def moved(self, distance: int) -> Moves:
        """Return the same copies with all destinations shifted by a distance in bytes."""
        records = self.records.copy()
        records[:, 0] += distance
        return Moves(records, self.pieces)

    def _listed(self) -> int:
        return int(self.pieces[:, 2].sum(dtype=np.int64))

    def _piece_weights(self, first: int, count: int) -> Int64:
        size = self.pieces[first : first + count, 2].astype(np.int64)
        return np.asarray(size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD)

    def words(self) -> Int64:
        """Return records and pieces as the driver reads them, in one array.

        In this array, `far` of a list is the distance in bytes from the first record to its pieces.
        """
        if not len(self.pieces):
            return np.ascontiguousarray(self.records).reshape(-1)
        records = self.records.copy()
        listed = records[:, 3] == 0
        records[listed, 4] = records.nbytes + records[listed, 4] * PIECE_WORDS * 4
        pieces = np.zeros(-(-self.pieces.size // 2), np.int64)
        pieces.view(np.uint32)[: self.pieces.size] = self.pieces.ravel()
        return np.concatenate([records.ravel(), pieces])

    def reversed(self) -> Moves:
        """Return the reverse moves, from the destinations to the sources."""
        records = self.records.copy()
        records[:, :2] = self.records[:, 1::-1]
        blocks = records[:, 3] != 0  # the words of a list are not distances
        records[blocks, 4:] = self.records[blocks, :3:-1]
        return Moves(records, self.pieces[:, [1, 0, 2]])

    def split(self, limit: float) -> Moves:
        """Return the same moves in records of at most about `limit` work."""
        weights = self.weights
        if weights.max(initial=0) <= limit:
            return self
        parts = np.ceil(weights / limit).astype(np.int64)
        heavy = parts > 1
        many = self.records[heavy].tolist(), parts[heavy].tolist()
        cut = [self._cut(record, into) for record, into in zip(*many, strict=True)]
        return Moves(np.concatenate([self.records[~heavy], *cut]), self.pieces)

    def _cut(self, record: list[int], parts: int) -> Int64:
        to, start, rows, size, far, near = record
        if size == 0:
            ends = np.cumsum(self._piece_weights(far, rows))
            goals = ends[-1] * np.arange(1, parts) // parts
            first = np.unique(np.append(0, np.searchsorted(ends, goals) + 1))
            first = first[first < rows]
            cut = _alike(record, len(first))
            cut[:, 2], cut[:, 4] = np.diff(first, append=rows), far + first
            return cut
        if rows == 1:  # one block, cut into cache lines and a remainder
            most = max(SPLIT_BYTES, -(-size // parts) // SPLIT_BYTES * SPLIT_BYTES)
            at = np.arange(0, size, most)
            cut = _alike(record, len(at))
            cut[:, 0], cut[:, 1], cut[:, 3] = to + at, start + at, np.minimum(most, size - at)
            return cut
        most = -(-rows // parts)
        row = np.arange(0, rows, most)
        cut = _alike(record, len(row))
        cut[:, 0], cut[:, 1] = to + row * far, start + row * near
        cut[:, 2] = np.minimum(most, rows - row)
        return cut


def joined_moves(several: Sequence[Moves]) -> Moves:
    """Return several moves as one; none writes bytes that another reads or writes."""
    records = [np.zeros((0, RECORD_WORDS), np.int64)]
    pieces = [np.zeros((0, PIECE_WORDS), np.uint32)]
    for moves in several:
        own = moves.records.copy()
        own[own[:, 3] == 0, 4] += sum(map(len, pieces))
        records.append(own)
        pieces.append(moves.pieces)
    return Moves(np.concatenate(records), np.concatenate(pieces))


def _alike(record: list[int], count: int) -> Int64:
    return np.tile(np.array(record, np.int64), (count, 1))
