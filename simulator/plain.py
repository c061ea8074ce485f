"""The interpreted engine: the same ops, every vertex as plain Python.

For debugging: breakpoints in `compute` work, and errors are ordinary tracebacks.  It walks
the ops that the compiled interpreter would run and reads the same descriptor rows, so that
both engines do the same work in the same order.  It needs no Numba.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import COUNT, NUMBER, positions
from poplite.compile.moves import Moves
from poplite.compile.opcodes import (
    AGAIN,
    CALL,
    CALLBACK,
    END,
    JUMP,
    JUMP_IF_NONZERO,
    JUMP_IF_ZERO,
    LAUNCH,
    REPEAT,
    RETURN,
    SWITCH,
)
from poplite.compile.step import Vertices
from poplite.compute import InterpretedSelf
from poplite.simulator.memory import Arena, Bytes
from poplite.vertex import Field, MultiVertex

Integers = npt.NDArray[np.int64]
Compute = Callable[..., None]
"""Takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""


def run_ops(
    ops: Integers,
    counts: Integers,
    scalar: Callable[[int, int], int],
    launch: Callable[[int, list[int]], None],
    actions: Sequence[Callable[[], None]],
) -> None:
    """Run ops to the end.

    Args:
        ops: int64[rows, 4].
        counts: int64[rows], increased by one for each time a launch runs.
        scalar: returns the number at a byte position, of so many bytes.
        launch: runs the launch of a row, of a function that is called from these rows.
        actions: what Python does, by number.
    """
    left: dict[int, int] = {}
    calls: list[int] = []
    row = 0
    while True:
        op, a, b, c = ops[row].tolist()
        if op == END:
            return
        next_row = row + 1
        if op == LAUNCH:
            launch(row, calls)
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
            next_row = row + 1 if scalar(b, c) else a
        elif op == JUMP_IF_NONZERO:
            next_row = a if scalar(b, c) else row + 1
        elif op == SWITCH:
            targets = dict(ops[row + 1 : row + 1 + a, 1:3].tolist())
            next_row = targets.get(scalar(b, 4), c)
        elif op == CALL:
            calls.append(row)
            next_row = a
        elif op == RETURN:
            next_row = calls.pop() + 1
        elif op == CALLBACK:
            actions[a]()
        row = next_row


def move(moves: Moves, arena: Arena) -> None:
    """Run copies within the arena."""
    move_between(moves, arena.bytes, arena.bytes)


def move_between(moves: Moves, destination: Bytes, source: Bytes) -> None:
    """Run copies from one block of bytes to another."""
    for to, start, rows, size, far, near in moves.records.tolist():
        if size:
            blocks = [(row * far, row * near, size) for row in range(rows)]
        else:
            blocks = moves.pieces[far : far + rows].tolist()
        for far, near, length in blocks:
            moved = source[start + near : start + near + length]
            destination[to + far : to + far + length] = moved


class VertexFault(Exception):
    """An error that `compute` raised, and the vertex it ran for.

    Attributes:
        number: position of the vertex in its compute set.
        error: the error.
        worker: number of the worker, of a `MultiVertex`.
    """

    def __init__(self, number: int, error: Exception, worker: int | None = None) -> None:
        super().__init__(number, error, worker)
        self.number, self.error, self.worker = number, error, worker


def run_vertices(
    group: Vertices, arena: Arena, compute: Compute, *, only: int | None = None
) -> None:
    """Run a group of vertices as plain Python, in order.

    Args:
        group: descriptor rows and their tables.
        arena: what they describe.
        compute: the interpreted form of the group's class.
        only: number of the one vertex to run; by default all.

    Raises:
        VertexFault: when a vertex indexes outside a field, or raises an exception.
    """
    for number, values in described(group, arena, only):
        vertex = InterpretedSelf(group.cls, values)
        if issubclass(group.cls, MultiVertex):
            for worker in range(vertex.num_workers):
                _run(compute, number, vertex, worker)
        else:
            _run(compute, number, vertex)


def _run(compute: Compute, number: int, vertex: InterpretedSelf, *worker: int) -> None:
    try:
        compute(vertex, *worker)
    except BdbQuit:  # the user left the debugger
        raise
    except Exception as error:
        raise VertexFault(number, error, *worker) from error


def described(
    group: Vertices, arena: Arena, only: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield vertices of a group: the number of each, and its fields as views of the arena.

    Args:
        group: descriptor rows and their tables.
        arena: what they describe.
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
                field.name: _value(field, parts[number], arena)
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


def _value(field: Field, part: dict[str, Any], arena: Arena) -> Any:
    elements = arena.typed(field.element)
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
