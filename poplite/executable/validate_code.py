"""Check that the ops of a program refer only to existing objects.

A program and each function that it calls are sections: they end with the only END, or with a
RETURN, and only a CALL leaves them, to the start of another section. So every RETURN has its CALL,
and since no function calls itself, the number of open calls is at most the number of functions.
Jumps are those of nested loops and branches, so that reports can state how often each row runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, repeated
from poplite.codec.file_formats import Malformed, check_room
from poplite.executable import encoding as op
from poplite.executable.encoding import (
    COUNT_WORD,
    NUMBER,
    WORDS,
    Code,
    Column,
    columns,
    forms_of,
    positions,
    width,
)
from poplite.executable.parts import ComputeStep, CopyStep, Vertices, phases_of
from poplite.executable.program_trees import ControlFlow, Unstructured
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_block import VertexTiles

OPERANDS: dict[int, tuple[str, ...]] = {
    op.LAUNCH: ("step", "phase"),
    op.REPEAT: ("loop", "number", "row"),
    op.AGAIN: ("loop", "row"),
    op.JUMP: ("row",),
    op.JUMP_IF_ZERO: ("row", "scalar", "bytes"),
    op.JUMP_IF_NONZERO: ("row", "scalar", "bytes"),
    op.SWITCH: ("cases", "scalar", "row"),
    op.CASE: ("number", "row"),
    op.CALL: ("function",),
    op.RETURN: (),
    op.CALLBACK: ("action",),
    op.MARK: (),
    op.EXPECT: ("compute set",),
    op.COLLECT: ("compute set", "scalar"),
    op.AGREE: ("row", "scalar", "bytes"),
    op.SAME: ("row", "scalar", "bytes"),
    op.FLOATS: ("number", "number", "number"),
    op.END: (),
}
"""The kind of object that each operand of an op refers to."""


def check_code(
    code: Code,
    steps: Sequence[ComputeStep | CopyStep],
    float_modes: tuple[int, ...],
    *,
    num_actions: int,
    arena: int,
) -> None:
    """Check the ops of a program.

    `steps` have been checked, `float_modes` are the modes for which drivers are made, and `arena`
    is the size of the arena in bytes.
    """
    ops = code.ops
    if len(code.locations) not in (0, len(ops)):
        raise Malformed(f"{len(ops):,} ops must have lines; found {len(code.locations):,}")
    if ops.ndim != 2 or ops.shape[1] != op.OP_WORDS or not len(ops):
        raise Malformed(f"ops have an invalid shape {ops.shape}")
    if code.step_numbers.shape != (len(ops),):
        raise Malformed(f"step_numbers have shape {code.step_numbers.shape} for {len(ops):,} ops")
    for kind in ops[(ops[:, 0] < 0) | (ops[:, 0] >= len(OPERANDS)), 0][:1].tolist():
        raise Malformed(f"there is no op with number {kind}")
    section, begins = _sections(ops)
    if not (0 <= code.num_loops <= len(ops) and len(begins) - 1 <= code.num_functions <= len(ops)):
        found = f"{code.num_loops:,} loops, {code.num_functions:,} functions"
        raise Malformed(f"{found} in {len(ops):,} ops")
    _check_steps(code, steps)
    there = {
        "row": len(ops),
        "function": len(ops),
        "loop": code.num_loops,
        "action": num_actions,
        "compute set": sum(isinstance(step, ComputeStep) for step in steps),
    }
    kinds = np.flatnonzero(np.bincount(ops[:, 0])).tolist()
    for kind in kinds:
        rows = np.flatnonzero(ops[:, 0] == kind)
        for word, operand in enumerate(OPERANDS[kind], 1):
            _check_operand(operand, ops, rows, ops[rows, word], section, there)
    for kind in kinds:
        if "scalar" in OPERANDS[kind]:
            _check_scalars(kind, ops[ops[:, 0] == kind], arena)
    _check_floats(ops, float_modes)
    _check_calls(ops, section, begins)
    _check_blocks(ops)


def _sections(ops: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the section of each row, and the first row of each section."""
    ends = np.flatnonzero((ops[:, 0] == op.END) | (ops[:, 0] == op.RETURN))
    if not len(ends) or ends[-1] != len(ops) - 1:
        raise Malformed("its last op must be END or RETURN")
    if (ops[ends, 0] == op.END).tolist() != [True] + [False] * (len(ends) - 1):
        raise Malformed("END must be at the end of the program")
    begins = np.append(0, ends[:-1] + 1)
    return np.searchsorted(ends, np.arange(len(ops))), begins


def _check_steps(code: Code, steps: Sequence[ComputeStep | CopyStep]) -> None:
    ops, rows = code.ops, code.step_rows
    if rows.ndim != 1 or (len(rows) and not 0 <= rows.min() <= rows.max() < len(ops)):
        raise Malformed("step_rows names ops that do not exist")
    if (ops[rows, 0] != op.LAUNCH).any():
        raise Malformed("step_rows names ops that are not LAUNCHes")
    phases = np.array([len(phases_of(step)) for step in steps], np.int64)
    launches = ops[ops[:, 0] == op.LAUNCH]
    _check_below(launches[:, 1], len(phases), "step")
    if (
        len(launches)
        and not ((launches[:, 2] >= 0) & (launches[:, 2] < phases[launches[:, 1]])).all()
    ):
        raise Malformed("a LAUNCH names a phase that does not exist")


def _check_below(found: npt.NDArray[np.int64], limit: int, what: str) -> None:
    if len(found) and not 0 <= int(found.min()) <= int(found.max()) < limit:
        wrong = found.min() if found.min() < 0 else found.max()
        raise Malformed(f"{what} {int(wrong):,} of {limit:,}")


def _check_operand(
    operand: str,
    ops: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
    section: npt.NDArray[np.int64],
    there: Mapping[str, int],
) -> None:
    """Check an operand of the given rows; `there` contains the number of objects of each kind."""
    if operand in there:
        _check_below(found, there[operand], "row" if operand == "function" else operand)
    if operand == "row" and (section[found] != section[rows]).any():
        raise Malformed("a jump leads out of its function")
    if operand == "cases":
        _check_cases(ops, rows, found)


def _check_cases(
    ops: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> None:
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        cases = ops[row + 1 : row + 1 + max(count, 0)]
        if len(cases) != count or (cases[:, 0] != op.CASE).any():
            raise Malformed(f"a SWITCH must be followed by its {count:,} cases")
        if (cases[1:, 1] <= cases[:-1, 1]).any():
            raise Malformed("the cases of a SWITCH are not ascending")


def _check_scalars(kind: int, own: npt.NDArray[np.int64], arena: int) -> None:
    """Check the scalars that the ops of a kind name."""
    position = own[:, 2]
    size = 1 if kind == op.COLLECT else 4
    sizes = own[:, 3] if "bytes" in OPERANDS[kind] else np.full(len(own), size)
    if ((sizes != 1) & (sizes != 4)).any():
        raise Malformed(f"a scalar has an invalid size of {int(sizes.max()):,} B")
    inside = (position >= 0) & (position <= arena - sizes) & (position % sizes == 0)
    if not inside.all():
        raise Malformed(
            f"a scalar at {int(position[~inside][0]):,} is outside the arena of {arena:,} B"
        )


def _check_floats(ops: npt.NDArray[np.int64], modes: tuple[int, ...]) -> None:
    """Check that programs reach only the modes of arithmetic for which drivers are made."""
    changes = ops[ops[:, 0] == op.FLOATS, 1:3]
    known = np.array(modes, np.int64)
    for clear, set_bits in np.unique(changes, axis=0).tolist() if len(changes) else ():
        if not np.isin(known & ~clear | set_bits, known).all():
            raise Malformed("an op leads to a mode of floating-point arithmetic that is not listed")


def _check_blocks(ops: npt.NDArray[np.int64]) -> None:
    """Check that loops and branches form programs, which are nested and terminate."""
    loops, counts = ops[ops[:, 0] == op.REPEAT, 1:3].T
    if len(np.unique(loops)) < len(loops):
        raise Malformed("two REPEATs have the same loop number")
    if ((counts < 0) | (counts >= 1 << 32)).any():
        raise Malformed("the count of a REPEAT is out of range")
    try:
        ControlFlow(ops).check_counts()
    except Unstructured as error:
        raise Malformed(str(error)) from None


def _check_calls(
    ops: npt.NDArray[np.int64], section: npt.NDArray[np.int64], begins: npt.NDArray[np.int64]
) -> None:
    """Check that calls are to functions, and that no function calls itself, even indirectly."""
    rows = np.flatnonzero(ops[:, 0] == op.CALL)
    if not len(rows):
        return
    if not np.isin(ops[rows, 1], begins[1:]).all():
        raise Malformed("a CALL does not lead to a function")
    calls = np.unique(np.stack([section[rows], section[ops[rows, 1]]], axis=1), axis=0)
    waiting = np.bincount(calls[:, 1], minlength=len(begins))
    free = np.flatnonzero(waiting == 0).tolist()
    done = 0
    while free:
        function = free.pop()
        done += 1
        low, high = np.searchsorted(calls[:, 0], [function, function + 1])
        for callee in calls[low:high, 1].tolist():
            waiting[callee] -= 1
            if waiting[callee] == 0:
                free.append(callee)
    if done < len(begins):
        raise Malformed("a function calls itself")


# -- fields of vertices ----------------------------------------------------------------------------
# The fields of vertices must be inside the arena, in any form of rows.
#
# The minimum and maximum of a column are known without listing its numbers: for an affine column
# from both ends of each run, for a table from its minimum and maximum. So is the end of a field,
# `start + length`, except in one case: if both are tables, their large entries may be for
# different vertices. Only then are the values for all vertices listed. The minimum and maximum
# word of all rows are checked first, which usually suffices, since steps of few vertices have one
# row.

MOST = 1 << 58
"""Maximum absolute value of a number in a row, so that sums of a few numbers do not wrap around."""


@frozen(eq=False)
class _Numbers:
    """The values of one column.

    Attributes:
        count: int64[rows], number of vertices of each row.
        first: int64[rows], the value for the first vertex, or the base of a table.
        step: int64[rows], the difference to the next value; 0 with a table.
        table: uint32[n], offsets from `first`; None without a table.
        begin: int64[rows], position in the table of the first vertex of a row.
        added: minimum and maximum of the table.
        within: a range that contains all values, and possibly others.
    """

    count: Int64
    first: Int64
    step: Int64
    table: npt.NDArray[Any] | None
    begin: Int64
    added: tuple[int, int]
    within: tuple[int, int]

    def listed(self) -> Int64:
        """Return the values for all vertices."""
        row, within = repeated(self.count)
        numbers = self.first[row] + self.step[row] * within
        return numbers if self.table is None else numbers + self.table[self.begin[row] + within]

    def ends(self) -> Int64:
        """Return the values for the first and the last vertex of each row, without a table."""
        return np.concatenate([self.first, self.first + self.step * (self.count - 1)])


class _Words(NamedTuple):
    """The rows of vertices, int64[rows, words], with the minimum and maximum of each word."""

    rows: Int64
    least: list[int]
    most: list[int]


Parts = dict[str, _Numbers]


def check_vertices(group: Vertices, arena: int, num_vertices: int) -> int:
    """Check a group of vertices, and return the number of vertices it describes.

    `arena` is the size of the arena in bytes, `num_vertices` the count in the compute set.
    """
    _check_columns(group)
    rows = group.rows
    if rows.ndim != 2 or rows.shape[1] != width(group.columns) or not len(rows):
        raise Malformed(f"{width(group.columns)} words are needed; found rows of {rows.shape}")
    if group.weights.shape != (len(rows),) or int(group.weights.min()) < 0:
        raise Malformed(
            f"weights of shape {group.weights.shape} are not valid for {len(rows)} rows"
        )
    words = _Words(rows, rows.min(axis=0).tolist(), rows.max(axis=0).tolist())
    # Both limits are checked, since the smallest integer has no absolute value.
    if (
        int(group.weights.max()) > MOST // len(rows)
        or not -MOST <= min(words.least) <= max(words.most) <= MOST
    ):
        raise Malformed("a number in a row is too large")
    count = int(rows[:, COUNT_WORD].sum())
    if words.least[COUNT_WORD] < 1 or words.most[COUNT_WORD] > num_vertices or count > num_vertices:
        raise Malformed(f"rows describe {count:,} vertices of {num_vertices:,}")
    parts: dict[int, Parts] = {}
    for number, (column, at) in enumerate(positions(group.columns)):
        table = group.tables.get(number)
        parts.setdefault(column.field, {})[column.part] = _numbers(column, words, at, table)
    _check_range([parts[NUMBER]["number"]], num_vertices - 1, "the number of a vertex")
    for position, field in enumerate(group.cls.fields.values()):
        elements = arena // field.element.size_bytes
        own = parts[position]
        if "stride" in own:
            _check_even(own, elements, field.name)
        elif "base" in own:
            pairs = "pairs" if "pairs" in own else "wide"
            where = group.columns.index(Column(position, pairs, "table"))
            _check_pairs(own, group.tables[where], elements, field.name)
        elif field.depth:
            _check_range([own["start"]], elements, field.name)
            _check_range([own["length"]], elements, field.name)
            _check_range([own["start"], own["length"]], elements, field.name)
        else:
            _check_range([own["start"]], elements - 1, field.name)
    return count


def check_vertex_tiles(numbers: VertexTiles, count: int, limit: int) -> None:
    """Check that `count` numbers of vertices, such as tiles, are all less than `limit`."""
    stops, tiles = numbers.stops, numbers.tiles
    if tiles.ndim != 1 or (stops is not None and stops.shape != tiles.shape):
        raise Malformed(f"numbers have an invalid shape {tiles.shape}")
    if stops is not None and (not len(stops) or stops[0] < 1 or (stops[1:] <= stops[:-1]).any()):
        raise Malformed("its runs are not ascending")
    if numbers.count != count:
        raise Malformed(f"{count:,} numbers are needed; found {numbers.count:,}")
    if count and not 0 <= int(tiles.min()) <= int(tiles.max()) < limit:
        raise Malformed(
            f"numbers must be less than {limit:,}; found {int(tiles.min()):,} to "
            f"{int(tiles.max()):,}"
        )


def _check_columns(group: Vertices) -> None:
    fields = list(group.cls.fields.values())
    forms = forms_of(group.columns, len(fields))
    if any((form is not None) != (f.depth == 2) for form, f in zip(forms, fields, strict=True)):
        raise Malformed("its columns do not describe the fields")
    plain = columns(fields, forms)
    alike = len(plain) == len(group.columns) and all(
        (mine.field, mine.part) == (known.field, known.part)
        and (mine.kind == known.kind or (mine.kind == "flat" and known.kind != "table"))
        for mine, known in zip(group.columns, plain, strict=True)
    )
    if not alike:
        raise Malformed("its columns do not describe the fields")
    needed = {n for n, column in enumerate(plain) if column.kind == "table"}
    needed |= {n for n, column in enumerate(group.columns) if column.kind == "flat"}
    if set(group.tables) != needed:
        raise Malformed("its columns and tables do not match")


def _numbers(column: Column, words: _Words, at: int, table: npt.NDArray[Any] | None) -> _Numbers:
    rows, (least, most) = words.rows, (words.least[at], words.most[at])
    count, first = rows[:, COUNT_WORD], rows[:, at]
    step = begin = np.zeros(len(rows), np.int64)
    if table is not None:
        check_room(8 * table.size, "a table")
    if column.kind == "table":
        kind = np.uint32 if column.part == "pairs" else np.int64
        if table is None or table.dtype != kind or table.shape[1:] != (2,):
            raise Malformed("a table of pairs has the wrong type")
        return _Numbers(count, first, step, None, begin, (0, 0), (least, most))
    if column.kind == "flat":
        begin = rows[:, at + WORDS["flat"] - 1]
        if table is None or table.dtype != np.uint32 or table.ndim != 1:
            raise Malformed("a table has the wrong type")
        if int(begin.min()) < 0 or int((begin + count).max()) > len(table):
            raise Malformed(f"a table of {len(table):,} numbers is too short")
        if int(count.sum()) > len(table):  # numbers must not need more memory than the file
            raise Malformed(f"a table of {len(table):,} numbers is read more than once")
        added = int(table.min()), int(table.max())
        within = least + added[0], most + added[1]
        return _Numbers(count, first, step, table, begin, added, within)
    span = 0, 0
    if column.kind == "affine":
        step = rows[:, at + 1]
        behind = words.most[COUNT_WORD] - 1
        span = min(0, behind * words.least[at + 1]), max(0, behind * words.most[at + 1])
        if span[1] - span[0] > MOST and ((count - 1).astype(np.float64) * abs(step) > MOST).any():
            raise Malformed("a number in a row is too large")
    return _Numbers(count, first, step, None, begin, (0, 0), (least + span[0], most + span[1]))


def _bounds(*parts: _Numbers) -> tuple[int, int]:
    """Return a lower and an upper bound for a sum of columns; they are exact without tables."""
    first = np.sum([part.first for part in parts], axis=0)
    last = first + (parts[0].count - 1) * np.sum([part.step for part in parts], axis=0)
    low, high = int(np.minimum(first, last).min()), int(np.maximum(first, last).max())
    return low + sum(part.added[0] for part in parts), high + sum(part.added[1] for part in parts)


def _check_range(parts: Sequence[_Numbers], most: int, what: str) -> None:
    """Check that a sum of columns is in [0, most] for all vertices."""
    low, high = (sum(ends) for ends in zip(*(part.within for part in parts), strict=True))
    if low < 0 or high > most:
        low, high = _bounds(*parts)
    if (low < 0 or high > most) and any(part.table is not None for part in parts):
        total = np.sum([part.listed() for part in parts], axis=0)
        low, high = int(total.min()), int(total.max())
    if low < 0 or high > most:
        raise Malformed(f"{what} must be from 0 to {most:,}; found {low:,} to {high:,}")


def _check_even(parts: Parts, elements: int, what: str) -> None:
    """Check lists whose rows are evenly spaced."""
    least, most = _bounds(parts["rows"])
    shortest = _bounds(parts["length"])[0]
    if least < 0 or shortest < 0:
        raise Malformed(
            f"{what}: invalid number or length, {least:,} rows of {shortest:,} elements"
        )
    if not most:
        return
    reach = [0, *((most - 1) * stride for stride in _bounds(parts["stride"]))]
    begin, end = _bounds(parts["start"])[0], _bounds(parts["start"], parts["length"])[1]
    if begin + min(reach) >= 0 and end + max(reach) <= elements:
        return
    has_table = any(part.table is not None for part in parts.values())
    each = {name: part.listed() if has_table else part.ends() for name, part in parts.items()}
    some = each["rows"] > 0
    behind, stride = (each["rows"] - 1)[some], each["stride"][some]
    if not some.any():
        return
    if (behind.astype(np.float64) * abs(stride) > MOST).any():
        raise Malformed(f"{what}: rows are too far apart")
    span, start = behind * stride, each["start"][some]
    low = int((start + np.minimum(span, 0)).min())
    high = int((start + np.maximum(span, 0) + each["length"][some]).max())
    if low < 0 or high > elements:
        raise Malformed(f"{what} must be within {elements:,} elements; found {low:,} to {high:,}")


def _check_pairs(parts: Parts, table: npt.NDArray[Any], elements: int, what: str) -> None:
    """Check lists whose rows are found by pairs of start and length."""
    at = parts["pairs"] if "pairs" in parts else parts["wide"]
    _check_range([parts["rows"]], len(table), what)
    _check_range([at, parts["first"]], len(table), what)
    _check_range([at, parts["first"], parts["rows"]], len(table), what)
    if not len(table):
        return
    start, length = table.T
    if int(length.min()) < 0 or int(length.max()) > elements or int(start.max()) > MOST:
        raise Malformed(
            f"{what}: rows have {int(length.min()):,} to {int(length.max()):,} elements"
        )
    least, most = _bounds(parts["base"])
    low, high = least + int(start.min()), most + int((start.astype(np.int64) + length).max())
    if low < 0 or high > elements:
        raise Malformed(f"{what} must be within {elements:,} elements; found {low:,} to {high:,}")
