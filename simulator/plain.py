"""The interpreted engine: the same ops, every vertex as plain Python.

For debugging: breakpoints in `compute` work, and errors are ordinary tracebacks.  It walks
the ops that the compiled interpreter would run and reads the same descriptor rows, so that
both engines do the same work in the same order.  It needs no Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import positions
from poplite.compile.opcodes import AGAIN, CALL, END, OP_WORDS, REPEAT
from poplite.compile.step import Moves, Vertices
from poplite.compute import InterpretedSelf
from poplite.errors import PopliteError
from poplite.simulator.memory import Arena
from poplite.vertex import Field, MultiVertex

Integers = npt.NDArray[np.int64]
Compute = Callable[..., None]
"""Takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""


def run_ops(
    ops: Integers,
    counts: Integers,
    launch: Callable[[int], None],
    callback: Callable[[int], None],
) -> None:
    """Run ops to the end.

    Args:
        ops: int64[rows, 4].
        counts: int64[rows], increased by one for each time a row runs.
        launch: runs the launch of a row.
        callback: runs a host callback by number.
    """
    assert ops.shape[1] == OP_WORDS
    left: dict[int, int] = {}
    row = 0
    while True:
        op, a, b, c = ops[row].tolist()
        counts[row] += 1
        if op == END:
            return
        if op == REPEAT:
            left[a] = b
            row = row + 1 if b > 0 else c
        elif op == AGAIN:
            left[a] -= 1
            row = b if left[a] > 0 else row + 1
        else:
            callback(a) if op == CALL else launch(row)
            row += 1


def move(moves: Moves, arena: Arena) -> None:
    """Run copy records."""
    for to, start, blocks, size, far, near in moves.records.tolist():
        for block in range(blocks):
            at, source = to + block * far, start + block * near
            arena.bytes[at : at + size] = arena.bytes[source : source + size]


class VertexFault(Exception):
    """An error that `compute` raised, and the vertex it ran for.

    Attributes:
        number: position of the vertex in its compute set.
        error: the error.
        worker: number of the worker, of a `MultiVertex`.
    """

    def __init__(self, number: int, error: PopliteError, worker: int | None = None) -> None:
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
        VertexFault: when a vertex indexes outside a field.
    """
    for number, values in described(group, arena):
        if only is None or number == only:
            vertex = InterpretedSelf(group.cls, values)
            if issubclass(group.cls, MultiVertex):
                for worker in range(vertex.num_workers):
                    _run(compute, number, vertex, worker)
            else:
                _run(compute, number, vertex)


def _run(compute: Compute, number: int, vertex: InterpretedSelf, *worker: int) -> None:
    try:
        compute(vertex, *worker)
    except PopliteError as error:
        raise VertexFault(number, error, *worker) from error


def described(group: Vertices, arena: Arena) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each vertex of a group: its number and its fields as views of the arena.

    Args:
        group: descriptor rows and their tables.
        arena: what they describe.
    """
    fields = list(group.cls.fields.values())
    named = list(positions(group.columns))
    for words in group.rows.tolist():
        for k in range(words[0]):
            parts: dict[int, dict[str, int]] = {number: {} for number in range(len(fields))}
            for column, at in named:
                step = words[at + 1] if column.affine else 0
                parts[column.field][column.part] = words[at] + k * step
            values = {
                field.name: _value(field, parts[number], group.tables, arena)
                for number, field in enumerate(fields)
            }
            yield words[1] + k * words[2], values


def _value(field: Field, part: dict[str, int], tables: Integers, arena: Arena) -> Any:
    elements = arena.typed(field.element)
    if field.depth == 0:
        scalar = elements[part["start"] : part["start"] + 1]
        return scalar[0] if field.role == "state" else scalar
    if field.depth == 1:
        return elements[part["start"] : part["start"] + part["length"]]
    if "table" in part:
        pairs = tables[part["table"] : part["table"] + 2 * part["rows"]].reshape(-1, 2).tolist()
    else:
        starts = (part["start"] + row * part["stride"] for row in range(part["rows"]))
        pairs = [[start, part["length"]] for start in starts]
    return [elements[start : start + length] for start, length in pairs]
