"""Runs ops with every vertex as interpreted Python: what `interpreted_program` calls, op by op.

For debugging: breakpoints in `compute` work, and errors are ordinary tracebacks.  It walks
the ops that the compiled interpreter would run and reads the same descriptor rows, so that
both engines do the same work in the same order.  It needs no Numba.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poplite.executable.descriptor import COUNT, NUMBER, positions
from poplite.executable.moves import Moves
from poplite.executable.opcodes import (
    AGAIN,
    AGREE,
    CALL,
    CALLBACK,
    COLLECT,
    END,
    EXPECT,
    FLOATS,
    JUMP,
    JUMP_IF_NONZERO,
    JUMP_IF_ZERO,
    LAUNCH,
    MARK,
    REPEAT,
    RETURN,
    SAME,
    SWITCH,
)
from poplite.executable.step import Vertices
from poplite.simulator.run.arena import Arena, Bytes, typed
from poplite.simulator.run.float_modes import Floats
from poplite.simulator.run.touched import ranges
from poplite.vertex.compute import InterpretedSelf
from poplite.vertex.vertex import Field, MultiVertex

Integers = npt.NDArray[np.int64]
Compute = Callable[..., bool | None]
"""Takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""


class OpHandlers(Protocol):
    """What ops work on."""

    def scalar(self, position: int, size: int) -> int:
        """Return the number at a byte position, of so many bytes."""

    def launch(self, row: int, calls: Sequence[int]) -> None:
        """Run the launch of a row, of a function that is called from these rows."""

    def act(self, action: int, row: int, calls: Sequence[int]) -> None:
        """Do what Python does, by its number, at a row."""

    def agree(self, position: int, size: int, same: bool) -> bool:
        """Tell whether a number is the same in all replicas, or true in all or none."""

    def change_floats(self, clear: int, set: int, executions: int) -> None:
        """Change how floating-point arithmetic behaves."""

    def expect(self, step: int) -> None:
        """Forget what the vertices of a step returned."""

    def collect(self, step: int, position: int) -> None:
        """Store at a byte position whether no vertex of a step returned false since then."""

    def watch(self, row: int) -> None:
        """Take note that a row is to run; what it raises ends the run."""

    def look(self, row: int, calls: Sequence[int]) -> int:
        """Return the row to go on with, which is this one unless strict checks ran it."""


def run_ops(ops: Integers, counts: Integers, machine: OpHandlers) -> None:
    """Run ops to the end.

    Args:
        ops: int64[rows, 4].
        counts: int64[rows], increased by one for each time a launch, a callback or a mark runs.
        machine: what they work on.
    """
    left: dict[int, int] = {}
    calls: list[int] = []
    row = 0
    while True:
        op, a, b, c = ops[row].tolist()
        if op == END:
            return
        machine.watch(row)
        if (end := machine.look(row, calls)) != row:
            row = end
            continue
        next_row = row + 1
        if op == LAUNCH:
            machine.launch(row, calls)
            counts[row] += 1
        elif op == REPEAT:
            left[a] = b
            next_row = row + 1 if b > 0 else c
        elif op == AGAIN:
            left[a] -= 1
            next_row = b if left[a] > 0 else row + 1
        elif op == JUMP:
            next_row = a
        elif op == JUMP_IF_ZERO:
            next_row = row + 1 if machine.scalar(b, c) else a
        elif op == JUMP_IF_NONZERO:
            next_row = a if machine.scalar(b, c) else row + 1
        elif op == SWITCH:
            targets = dict(ops[row + 1 : row + 1 + a, 1:3].tolist())
            next_row = targets.get(machine.scalar(b, 4), c)
        elif op == CALL:
            calls.append(row)
            next_row = a
        elif op == RETURN:
            next_row = calls.pop() + 1
        elif op == CALLBACK:
            counts[row] += 1
            machine.act(a, row, calls)
        elif op in (AGREE, SAME):
            next_row = a if machine.agree(b, c, op == SAME) else row + 1
        elif op == MARK:
            counts[row] += 1
        elif op == FLOATS:
            machine.change_floats(a, b, c)
        elif op == EXPECT:
            machine.expect(a)
        elif op == COLLECT:
            machine.collect(a, b)
        row = next_row


def move(moves: Moves, arena: Arena, replica_map: Sequence[int] | None = None) -> None:
    """Run copies within the arena.

    Args:
        moves: the copies of one replica.
        arena: the memory.
        replica_map: for each replica the one whose memory is written; by default its own.
    """
    for replica, memory in enumerate(arena.parts):
        to = replica if replica_map is None else replica_map[replica]
        move_between(moves, arena.parts[to], memory)


PIECES = 1 << 14
"""Pieces of a list that are moved at once."""


def move_between(moves: Moves, destination: Bytes, source: Bytes) -> None:
    """Run copies from one block of bytes to another."""
    for to, start, rows, size, far, near in moves.records.tolist():
        if size:
            kind = f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"
            there: npt.NDArray[Any] = np.ndarray(rows, kind, destination, to, (far,))
            there[...] = np.ndarray(rows, kind, source, start, (near,))
            continue
        for first in range(far, far + rows, PIECES):
            pieces = moves.pieces[first : min(first + PIECES, far + rows)].astype(np.int64)
            moved = source[ranges(start + pieces[:, 1], pieces[:, 2])]
            destination[ranges(to + pieces[:, 0], pieces[:, 2])] = moved


class VertexFault(Exception):
    """An error that `compute` raised, and the vertex it ran for.

    Attributes:
        number: position of the vertex in its compute set.
        error: the error.
        worker: number of the worker, of a `MultiVertex`.
        replica: number of the replica it ran in.
    """

    def __init__(self, number: int, error: Exception, worker: int | None = None) -> None:
        super().__init__(number, error, worker)
        self.number, self.error, self.worker = number, error, worker
        self.replica = 0

    @property
    def place(self) -> tuple[int, int]:
        """Replica and number: what faults are ordered by."""
        return self.replica, self.number


def run_vertices(
    group: Vertices,
    memory: Bytes,
    compute: Compute,
    *,
    only: int | None = None,
    watch: Callable[[], None] = lambda: None,
    floats: Floats,
    is_falling: bool = False,
) -> bool:
    """Run a group of vertices as plain Python, in order.

    Args:
        group: descriptor rows and their tables.
        memory: what they describe: the bytes of a replica.
        compute: the interpreted form of the group's class.
        only: number of the one vertex to run; by default all.
        watch: called before each of them; what it raises ends the run.
        floats: how floating-point arithmetic behaves.
        is_falling: whether workers run in falling order.

    Returns:
        Whether none of them returned false.

    Raises:
        VertexFault: when a vertex indexes outside a field, or raises an exception.
    """
    returned = True
    for number, values in described(group, memory, only):
        watch()
        vertex = InterpretedSelf(group.cls, values, floats.stores(number, 0))
        if issubclass(group.cls, MultiVertex):
            workers = range(vertex.num_workers)
            for worker in reversed(workers) if is_falling else workers:
                mine = InterpretedSelf(group.cls, values, floats.stores(number, worker))
                returned &= _run(compute, number, mine, worker)
        else:
            returned &= _run(compute, number, vertex)
    return returned


def _run(compute: Compute, number: int, vertex: InterpretedSelf, *worker: int) -> bool:
    try:
        returned = compute(vertex, *worker)
        return returned is None or bool(returned)
    except BdbQuit:  # the user left the debugger
        raise
    except Exception as error:
        raise VertexFault(number, error, *worker) from error


def described(
    group: Vertices, memory: Bytes, only: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield vertices of a group: the number of each, and its fields as views of memory.

    Args:
        group: descriptor rows and their tables.
        memory: what they describe: the bytes of a replica.
        only: number of the one vertex to yield, if it is of the group; by default all.
    """
    fields = list(group.cls.fields.values())
    named = list(enumerate(positions(group.columns)))
    for words in group.rows.tolist():
        chosen: Iterable[int] = range(words[COUNT])
        if only is not None:
            chosen = _where(group, words, only)
        for k in chosen:
            parts: dict[int, dict[str, Any]] = {number: {} for number in range(NUMBER, len(fields))}
            for number, (column, at) in named:
                parts[column.field][column.part] = _part(group, number, words[at:], k)
            values = {
                field.name: _value(field, parts[number], memory)
                for number, field in enumerate(fields)
            }
            yield parts[NUMBER]["number"], values


def _where(group: Vertices, words: list[int], number: int) -> list[int]:
    """Return the position of a vertex in a row, or none where it is not there."""
    count, first, step = words[COUNT : COUNT + 3]  # the number is the first column
    if group.columns[0].kind == "affine":
        k, rest = divmod(number - first, step or 1)
        return [k] if not rest and 0 <= k < count else []
    numbers = group.tables[0][step : step + count]
    return np.flatnonzero(numbers == number - first).tolist()


def _part(group: Vertices, number: int, words: list[int], k: int) -> Any:
    """Return what a column says of vertex `k` of a row: a number, or a table."""
    match group.columns[number].kind:
        case "affine":
            return words[0] + k * words[1]
        case "flat":
            return words[0] + int(group.tables[number][words[1] + k])
        case "table":
            return group.tables[number][words[0] :]
        case "fixed":
            return words[0]


def _value(field: Field, part: dict[str, Any], memory: Bytes) -> Any:
    elements = typed(memory, field.element)
    if field.depth == 0:
        scalar = elements[part["start"] : part["start"] + 1]
        return scalar[0] if field.role == "state" else scalar
    if field.depth == 1:
        return elements[part["start"] : part["start"] + part["length"]]
    if "stride" in part:
        starts = (part["start"] + row * part["stride"] for row in range(part["rows"]))
        return [elements[start : start + part["length"]] for start in starts]
    table, base = part["pairs"] if "pairs" in part else part["wide"], part["base"]
    pairs = table[part["first"] : part["first"] + part["rows"]].tolist()
    return [elements[base + start : base + start + length] for start, length in pairs]
