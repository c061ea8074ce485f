"""Which vertex classes check their indices: not where all are known to be inside beforehand.

The text of `compute` says which conditions lengths and numbers must meet for that
(`poplite.vertex.compute.bounds`); here they are evaluated for all vertices, from their descriptor
rows.  The code of a class whose vertices meet them checks nothing.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from poplite.executable.descriptor import COUNT, Column, positions
from poplite.executable.executable import Executable
from poplite.executable.step import ComputeStep, Vertices
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.faster_forms import Forms
from poplite.vertex.compute import remembered
from poplite.vertex.compute.bounds import conditions
from poplite.vertex.compute.bounds.functions import NUMBER_BITS
from poplite.vertex.vertex import Vertex


def checked_classes(executable: Executable, arena: Arena, forms: Forms) -> frozenset[type[Vertex]]:
    """Return the classes whose code checks indices, as they are not known to be inside.

    Those of faster forms are among them.
    """
    if executable.checks == "none":
        return frozenset()
    groups: dict[type[Vertex], list[Vertices]] = defaultdict(list)
    for step in executable.steps:
        for group in step.groups if isinstance(step, ComputeStep) else ():
            groups[group.cls].append(group)
            if group.cls in forms:
                groups[forms[group.cls].vertex].append(group)
    return frozenset(cls for cls, found in groups.items() if not _is_proved(cls, found, arena))


def _is_proved(cls: type[Vertex], groups: list[Vertices], arena: Arena) -> bool:
    needed = remembered(cls, "conditions", conditions)
    if needed is None:
        return False
    try:
        some = [each for each in groups if len(each.rows)]
        return all(_Numbers(each, arena).hold(needed) for each in some if needed)
    except KeyError:  # a number that is only known at run time
        return False


class _Numbers:
    """Lengths and numbers of the vertices of a group; the arena holds values of state."""

    def __init__(self, group: Vertices, arena: Arena) -> None:
        self._group, self._arena = group, arena
        self._fields = list(group.cls.fields)
        self._columns: dict[tuple[int, str], tuple[int, Column, int]] = {
            (column.field, column.part): (number, column, at)
            for number, (column, at) in enumerate(positions(group.columns))
        }

    def hold(self, needed: list[ast.expr]) -> bool:
        """Tell whether conditions hold for all vertices."""
        return all(bool(np.all(self._value(each))) for each in needed)

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a part of a condition: one for all vertices, or one for each."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Attribute():
                return self._state(node)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATIONS[type(op)](self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATIONS[type(op)](self._value(left), self._value(right))
            case ast.Call(func=ast.Name("len"), args=[owner]):
                return self._length(owner)
            case ast.Call(func=ast.Name("@fits"), args=[owner, least, most]):
                return self._fits(least, most, self._length(owner))
            case ast.Call(func=ast.Name("@rows_fit"), args=[owner, least, most]):
                return self._fits(least, most, self._part(owner, "length"))
            case ast.Call(func=ast.Name("@row_fits"), args=[owner, row, least, most]):
                in_row = self._fits(least, most, self._part(owner, "length"))
                return np.logical_and(in_row, self._fits(row, row, self._length(owner)))
            case ast.Call(func=ast.Name("@is_small"), args=[number]):
                value, limit = self._value(number), 1 << NUMBER_BITS
                return np.logical_and(np.greater_equal(value, -limit), np.less(value, limit))
        raise KeyError(ast.dump(node))

    def _fits(self, least: ast.expr, most: ast.expr, length: Any) -> Any:
        from_zero = np.greater_equal(self._value(least), 0)
        return np.logical_and(from_zero, np.less(self._value(most), length))

    def _length(self, owner: ast.expr) -> Any:
        """Return the elements of a vector, or the rows of a list."""
        position = self._position(owner)
        depth = self._group.cls.fields[self._fields[position]].depth
        return self._part(owner, "rows" if depth == 2 else "length")

    def _position(self, node: ast.expr) -> int:
        if not isinstance(node, ast.Attribute):
            raise KeyError(ast.dump(node))
        return self._fields.index(node.attr)

    def _part(self, owner: ast.expr, part: str) -> Any:
        return self._words(self._position(owner), part)

    def _words(self, field: int, part: str) -> Any:
        """Return a number that describes a field: one for each run, or one for each vertex."""
        number, column, at = self._columns[field, part]
        rows, counts = self._group.rows, self._group.rows[:, COUNT]
        words = rows[:, at]
        if column.kind == "affine" and rows[:, at + 1].any():
            raise KeyError(part)
        if column.kind != "flat":
            return self._of_vertices(words)
        run = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)
        return words[run] + self._group.tables[number][rows[run, at + 1] + within]

    def _of_vertices(self, words: Any) -> Any:
        """Return words of runs for all vertices, as one number where they are equal."""
        if (words == words[0]).all():
            return int(words[0])
        return np.repeat(words, self._group.rows[:, COUNT])

    def _state(self, node: ast.Attribute) -> Any:
        field = self._group.cls.fields[node.attr]
        if field.is_edge:
            raise KeyError(node.attr)
        memory = self._arena.parts[0]
        size = field.element.size_bytes
        values = memory[: len(memory) // size * size].view(field.element.dtype)
        return values[self._words(self._fields.index(node.attr), "start")].astype(np.int64)


_OPERATIONS: Mapping[type[ast.operator | ast.cmpop], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.FloorDiv: np.floor_divide,
    ast.BitOr: np.logical_or,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
