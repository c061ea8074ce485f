"""Runs ops with every vertex as interpreted Python: what `interpreted_program` calls, op by op.

For debugging: breakpoints in `compute` work, and errors are ordinary tracebacks.  It walks
the ops that the compiled interpreter would run and reads the same descriptor rows, so that
both engines do the same work in the same order.  It needs no Numba.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poplite.errors import VertexCompileError
from poplite.executable import opcodes as op
from poplite.executable.descriptor import COUNT, NUMBER, Kind, positions
from poplite.executable.moves import Moves
from poplite.executable.step import Vertices
from poplite.simulator.run.access_log import AccessLog
from poplite.simulator.run.arena import Arena, Bytes, typed
from poplite.simulator.run.float_modes import Floats
from poplite.simulator.run.touched import ranges
from poplite.simulator.run.vertex_runs import VertexRun
from poplite.vertex.compute import InterpretedSelf
from poplite.vertex.vertex import Field, MultiVertex

Integers = npt.NDArray[np.int64]
Compute = Callable[..., bool | None]
"""Takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""


class OpHandlers(Protocol):
    """What executes the effects of ops."""

    def scalar(self, position: int, size: int) -> int:
        """Return the number of `size` bytes at a byte position."""

    def launch(self, row: int, calls: Sequence[int]) -> None:
        """Run the launch of a row, in a function called from the rows `calls`."""

    def act(self, action: int, row: int, calls: Sequence[int]) -> None:
        """Do the numbered action of Python at a row."""

    def agree(self, position: int, size: int, same: bool) -> bool:
        """Tell whether a number is the same in all replicas, or true in all or none."""

    def change_floats(self, clear: int, set: int, executions: int) -> None:
        """Change how floating-point arithmetic behaves."""

    def expect(self, step: int) -> None:
        """Forget what the vertices of a step returned."""

    def collect(self, step: int, position: int) -> None:
        """Store at a byte position whether no vertex of a step returned false since `expect`."""

    def exchange(self, number: int) -> None:
        """Do an exchange with other ranks."""

    def all_true(self, position: int, first: int, count: int) -> None:
        """Store at a byte position whether some bytes are all true."""

    def watch(self, row: int) -> None:
        """Note that a row is to run; what it raises ends the run."""

    def look(self, row: int, calls: Sequence[int]) -> int:
        """Return the row to go on with, which is this one unless strict checks ran it."""


def run_ops(ops: Integers, counts: Integers, machine: OpHandlers) -> None:
    """Run ops, int64[rows, 4], and count in `counts` the launches, callbacks and marks that ran."""
    left: dict[int, int] = {}
    calls: list[int] = []
    row = 0
    while True:
        kind, a, b, c = ops[row].tolist()
        if kind == op.END:
            return
        machine.watch(row)
        if (end := machine.look(row, calls)) != row:
            row = end
            continue
        next_row = row + 1
        if kind == op.LAUNCH:
            machine.launch(row, calls)
            counts[row] += 1
        elif kind == op.REPEAT:
            left[a] = b
            next_row = row + 1 if b > 0 else c
        elif kind == op.AGAIN:
            left[a] -= 1
            next_row = b if left[a] > 0 else row + 1
        elif kind == op.JUMP:
            next_row = a
        elif kind == op.JUMP_IF_ZERO:
            next_row = row + 1 if machine.scalar(b, c) else a
        elif kind == op.JUMP_IF_NONZERO:
            next_row = a if machine.scalar(b, c) else row + 1
        elif kind == op.SWITCH:
            targets = dict(ops[row + 1 : row + 1 + a, 1:3].tolist())
            next_row = targets.get(machine.scalar(b, 4), c)
        elif kind == op.CALL:
            calls.append(row)
            next_row = a
        elif kind == op.RETURN:
            next_row = calls.pop() + 1
        elif kind == op.CALLBACK:
            counts[row] += 1
            machine.act(a, row, calls)
        elif kind in (op.AGREE, op.SAME):
            next_row = a if machine.agree(b, c, kind == op.SAME) else row + 1
        elif kind == op.MARK:
            counts[row] += 1
        elif kind == op.FLOATS:
            machine.change_floats(a, b, c)
        elif kind == op.EXPECT:
            machine.expect(a)
        elif kind == op.COLLECT:
            machine.collect(a, b)
        elif kind == op.EXCHANGE:
            machine.exchange(a)
            counts[row] += 1
        elif kind == op.ALL:
            machine.all_true(a, b, c)
        row = next_row


def move(moves: Moves, arena: Arena, replica_map: Sequence[int] | None = None) -> None:
    """Run the copies of one replica in each; `replica_map` says whose memory each writes to."""
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
    """An error that `compute` raised, and the vertex for which it ran.

    Attributes:
        number: position of the vertex in its compute set.
        worker: number of the worker, in a `MultiVertex`.
    """

    def __init__(self, number: int, error: Exception, worker: int | None = None) -> None:
        super().__init__(number, error, worker)
        self.number, self.error, self.worker = number, error, worker
        self.replica = 0

    @property
    def place(self) -> tuple[int, int]:
        """Replica and number, by which faults are ordered."""
        return self.replica, self.number


def run_vertices(
    group: Vertices,
    memory: Bytes,
    compute: Compute,
    *,
    floats: Floats,
    only: int | None = None,
    before: int | None = None,
    watch: Callable[[], None] = lambda: None,
    known: dict[int, VertexRun] | None = None,
    log: AccessLog | None = None,
) -> bool:
    """Run vertices of a group as plain Python, in order; return whether none returned false.

    Runs only vertex `only`, or those before number `before`; `watch` is called before each.  What
    `known` has by number does not run where it would do the same; other vertices are added to it.
    Workers note in `log` what they access.
    Raises `VertexFault` when a vertex indexes outside a field or raises an exception.
    """
    returned, stores = True, floats.stores if floats.mode else _to_nearest
    has_workers = issubclass(group.cls, MultiVertex)
    with np.errstate(all="ignore"):
        for number, values in described(group, memory, only):
            if before is not None and number >= before:
                continue
            watch()
            run = None
            if known is not None:
                if number not in known:
                    run = VertexRun(group.cls, values)
                elif known[number].is_of(values):
                    returned &= known[number].put(values)
                    continue
            marks = None if run is None else run.marks
            vertex = InterpretedSelf(group.cls, values, stores(number, 0), marks)
            own = True
            if has_workers:
                for worker in range(vertex.num_workers):
                    accesses = None if log is None else log.of_worker(group.cls, values, worker)
                    of_worker = InterpretedSelf(
                        group.cls, values, stores(number, worker), marks, accesses
                    )
                    own &= _run(compute, number, of_worker, worker)
            else:
                own = _run(compute, number, vertex)
            returned &= own
            if known is not None and run is not None:
                run.keep(values, returned=own)
                known[number] = run
    return returned


def _to_nearest(vertex: int, worker: int) -> None:
    """Do nothing: floats are stored in the default way."""


def _run(compute: Compute, number: int, vertex: InterpretedSelf, *worker: int) -> bool:
    try:
        returned = compute(vertex, *worker)
        return returned is None or bool(returned)
    except (BdbQuit, VertexCompileError):  # the user left the debugger; there is no form to run
        raise
    except Exception as error:
        raise VertexFault(number, error, *worker) from error


def described(
    group: Vertices, memory: Bytes, only: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each vertex of a group, and its fields as views of memory."""
    fields = list(group.cls.fields.values())
    columns = list(positions(group.columns))
    places: list[dict[str, int]] = [{} for _ in fields]
    for place, (column, _) in enumerate(columns):
        if column.field != NUMBER:
            places[column.field][column.part] = place
    readers = [
        (field.name, _reader(field, own, typed(memory, field.element)))
        for field, own in zip(fields, places, strict=True)
    ]
    for words in group.rows.tolist():
        parts = [
            _parts(column.kind, words[at:], words[COUNT], group.tables.get(place))
            for place, (column, at) in enumerate(columns)
        ]
        for part in zip(*parts, strict=False):  # columns equal for all vertices are endless
            if only is None or part[0] == only:  # the number is the first column
                yield part[0], {name: read(part) for name, read in readers}


def _parts(kind: Kind, words: list[int], count: int, table: Any) -> Iterable[Any]:
    """Return what a column says about each vertex of a row: a number, or a table."""
    match kind:
        case "affine" if words[1]:
            return range(words[0], words[0] + count * words[1], words[1])
        case "affine":
            return repeat(words[0], count)
        case "flat":
            numbers = table[words[1] : words[1] + count].astype(np.int64)
            found: list[int] = (words[0] + numbers).tolist()
            return found
        case "table":
            return repeat(table[words[0] :])
        case "fixed":
            return repeat(words[0])


def _reader(
    field: Field, places: Mapping[str, int], elements: npt.NDArray[Any]
) -> Callable[[Sequence[Any]], Any]:
    """Return what finds a field in memory from a vertex's columns; `places` are those by part."""
    if "start" not in places:
        return _list_reader(places, elements)
    start = places["start"]
    if field.depth == 0:
        return lambda part: elements[part[start] : part[start] + 1]
    length = places["length"]
    if field.depth == 1:
        return lambda part: elements[part[start] : part[start] + part[length]]
    rows, stride = places["rows"], places["stride"]

    def evenly(part: Sequence[Any]) -> list[npt.NDArray[Any]]:
        first, size = part[start], part[length]
        starts = (first + row * part[stride] for row in range(part[rows]))
        return [elements[each : each + size] for each in starts]

    return evenly


def _list_reader(
    places: Mapping[str, int], elements: npt.NDArray[Any]
) -> Callable[[Sequence[Any]], Any]:
    """Return what finds the rows of a list by their pairs, start and length."""
    table = places["pairs"] if "pairs" in places else places["wide"]
    base, first, rows = places["base"], places["first"], places["rows"]

    def read(part: Sequence[Any]) -> list[npt.NDArray[Any]]:
        pairs = part[table][part[first] : part[first] + part[rows]].tolist()
        zero = part[base]
        return [elements[zero + start : zero + start + size] for start, size in pairs]

    return read
