"""Checks that the ops of a program refer only to existing objects.

A program and each function that it calls are sections: they end in the only END, or in a RETURN,
and only a CALL leaves them, for the beginning of another.  So every RETURN has its CALL, and as no
function calls itself, at most as many calls are open as there are functions.  Jumps are those of
nested loops and branches, so that reports can tell what runs how often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.codec.loading import Malformed
from poplite.executable import opcodes as op
from poplite.executable.control_flow import ControlFlow, Unstructured
from poplite.executable.step import ComputeStep, CopyStep, phases_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from poplite.executable.opcodes import Code

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
"""What the operands of each op name."""


def check_code(
    code: Code,
    steps: Sequence[ComputeStep | CopyStep],
    float_modes: tuple[int, ...],
    *,
    num_actions: int,
    arena: int,
) -> None:
    """Check the ops of a program.

    `steps` have been checked, `float_modes` are those that drivers are made for, and `arena` is its
    size in bytes.
    """
    ops = code.ops
    if len(code.locations) not in (0, len(ops)):
        raise Malformed(f"{len(code.locations):,} lines of {len(ops):,} ops")
    if ops.ndim != 2 or ops.shape[1] != op.OP_WORDS or not len(ops):
        raise Malformed(f"ops of shape {ops.shape}")
    if code.step_numbers.shape != (len(ops),):
        raise Malformed(f"step_numbers of shape {code.step_numbers.shape} of {len(ops):,} ops")
    if not np.isin(ops[:, 0], list(OPERANDS)).all():
        raise Malformed(f"an op of number {_strange(ops[:, 0], OPERANDS)}")
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
    for kind, operands in OPERANDS.items():
        rows = np.flatnonzero(ops[:, 0] == kind)
        for word, operand in enumerate(operands, 1):
            if len(rows):
                _check_operand(operand, ops, rows, ops[rows, word], section, there)
    _check_scalars(ops, arena)
    _check_floats(ops, float_modes)
    _check_calls(ops, section, begins)
    _check_blocks(ops)


def _strange(found: npt.NDArray[np.int64], known: Iterable[int]) -> int:
    return int(found[~np.isin(found, list(known))][0])


def _sections(ops: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the section of each row, and the row that each begins with."""
    ends = np.flatnonzero(np.isin(ops[:, 0], [op.END, op.RETURN]))
    if not len(ends) or ends[-1] != len(ops) - 1:
        raise Malformed("its last op is neither END nor RETURN")
    if (ops[ends, 0] == op.END).tolist() != [True] + [False] * (len(ends) - 1):
        raise Malformed("END is not the end of the program")
    begins = np.append(0, ends[:-1] + 1)
    return np.searchsorted(ends, np.arange(len(ops))), begins


def _check_steps(code: Code, steps: Sequence[ComputeStep | CopyStep]) -> None:
    ops, rows = code.ops, code.step_rows
    if rows.ndim != 1 or (len(rows) and not 0 <= rows.min() <= rows.max() < len(ops)):
        raise Malformed("step_rows names ops that are not there")
    if (ops[rows, 0] != op.LAUNCH).any():
        raise Malformed("step_rows names ops that launch nothing")
    phases = np.array([len(phases_of(step)) for step in steps], np.int64)
    launches = ops[ops[:, 0] == op.LAUNCH]
    _check_below(launches[:, 1], len(phases), "step")
    if (
        len(launches)
        and not ((launches[:, 2] >= 0) & (launches[:, 2] < phases[launches[:, 1]])).all()
    ):
        raise Malformed("a LAUNCH of a phase that is not there")


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
    """Check an operand of some rows; `there` counts what each kind of operand may name."""
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
            raise Malformed(f"a SWITCH of {count:,} cases, which do not follow it")
        if (cases[1:, 1] <= cases[:-1, 1]).any():
            raise Malformed("the cases of a SWITCH do not rise")


def _check_scalars(ops: npt.NDArray[np.int64], arena: int) -> None:
    for kind, operands in OPERANDS.items():
        if "scalar" not in operands:
            continue
        own = ops[ops[:, 0] == kind]
        position = own[:, 2]
        size = 1 if kind == op.COLLECT else 4
        sizes = own[:, 3] if "bytes" in operands else np.full(len(own), size)
        if not np.isin(sizes, [1, 4]).all():
            raise Malformed(f"a scalar of {int(sizes.max()):,} B")
        inside = (position >= 0) & (position <= arena - sizes) & (position % sizes == 0)
        if not inside.all():
            raise Malformed(f"a scalar at {int(position[~inside][0]):,} of {arena:,} B")


def _check_floats(ops: npt.NDArray[np.int64], modes: tuple[int, ...]) -> None:
    """Check that programs reach only the modes of arithmetic that drivers are made for."""
    changes = ops[ops[:, 0] == op.FLOATS, 1:3]
    known = np.array(modes, np.int64)
    for clear, set_bits in np.unique(changes, axis=0).tolist():
        if not np.isin(known & ~clear | set_bits, known).all():
            raise Malformed("an op leads to a mode of floating-point arithmetic that is not listed")


def _check_blocks(ops: npt.NDArray[np.int64]) -> None:
    """Check that loops and branches are those of programs, which end and are nested."""
    loops, counts = ops[ops[:, 0] == op.REPEAT, 1:3].T
    if len(np.unique(loops)) < len(loops):
        raise Malformed("two REPEATs count in one place")
    if ((counts < 0) | (counts >= 1 << 32)).any():
        raise Malformed("a REPEAT of a number that no program has")
    try:
        ControlFlow(ops).check_counts()
    except Unstructured as error:
        raise Malformed(str(error)) from None


def _check_calls(
    ops: npt.NDArray[np.int64], section: npt.NDArray[np.int64], begins: npt.NDArray[np.int64]
) -> None:
    """Check that calls go to functions, none of which calls itself through others."""
    rows = np.flatnonzero(ops[:, 0] == op.CALL)
    if not np.isin(ops[rows, 1], begins[1:]).all():
        raise Malformed("a CALL leads to no function")
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
