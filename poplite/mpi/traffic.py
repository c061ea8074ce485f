"""Messages between ranks, by step: how often each row ran, times the bytes sent at it.

    rows             ran      sent at one                       sent
    LAUNCH 'blur'    100      2 messages, 32,784 bytes          200 messages, 3,278,400 bytes

All ranks have the same plan and count the same rows, so that they need not communicate for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.steps import action_text
from poplite.mpi.messages import Messages
from poplite.mpi.rank_plan import Exchange
from poplite.report.execution import BetweenRanks


def between_ranks(
    executable: Executable,
    exchanges: Sequence[Exchange],
    places: Mapping[str, Sequence[tuple[int, int]]],
    counts: Mapping[str, Int64],
    is_sent: Callable[[int], bool],
) -> tuple[BetweenRanks, ...]:
    """Return what each place sent that ran, by program and number; numbers are of each replica.

    `places` are those of a `RankPlan`; `counts` say how often each row ran; `is_sent` tells
    whether an exchange is done at all.
    """
    amounts = [
        _amount(each.messages) if is_sent(number) else (0, 0)
        for number, each in enumerate(exchanges)
    ]
    found: list[BetweenRanks] = []
    for program, code in executable.programs.items():
        sent = _sent(code, places[program], counts[program], amounts)
        numbers = code.first_numbers.tolist()
        found += (
            BetweenRanks(
                name=_name(executable, code, row),
                program_name=program,
                row=row,
                number=numbers[row],
                at=code.locations[row].portable if code.locations else "",
                executions=int(counts[program][row]),
                messages=messages,
                bytes=size,
            )
            for row, (messages, size) in sorted(
                sent.items(), key=lambda each: (numbers[each[0]], each[0])
            )
            if messages
        )
    return tuple(found)


def _amount(messages: Messages) -> tuple[int, int]:
    """Return how many messages an exchange takes, and their bytes."""
    pairs = np.unique(np.stack([messages.sender, messages.receiver]), axis=1)
    return pairs.shape[1], int(messages.pieces.size.sum())


def _sent(
    code: Code,
    places: Sequence[tuple[int, int]],
    counts: Int64,
    amounts: Sequence[tuple[int, int]],
) -> dict[int, tuple[int, int]]:
    """Return messages and bytes by row; those of a step by the row that does its work."""
    numbers = code.first_numbers.tolist()
    works = {(int(code.ops[row, 1]), numbers[row]): row for row in code.step_rows.tolist()}
    sent: dict[int, tuple[int, int]] = {}
    for row, exchange in places:
        kind, what = code.ops[row, :2].tolist()
        place = row
        if kind in (op.LAUNCH, op.COLLECT):
            work = works.get((what, numbers[row]))
            place = _call_beside(code, row) if work is None else work
        messages, size = sent.get(place, (0, 0))
        count = int(counts[row])
        sent[place] = messages + count * amounts[exchange][0], size + count * amounts[exchange][1]
    return sent


def _call_beside(code: Code, row: int) -> int:
    """Return the row of the host function whose inputs or outputs a LAUNCH copies."""
    is_before = code.ops[row + 1, 0] == op.CALLBACK
    is_before &= code.step_numbers[row + 1] == code.step_numbers[row]
    return row + 1 if is_before else row - 1


def _name(executable: Executable, code: Code, row: int) -> str:
    kind, number = map(int, code.ops[row, :2])
    if kind == op.LAUNCH:
        return executable.steps[number].name
    if kind == op.CALLBACK:
        return action_text(executable.actions[number])
    return "a scalar that decides"
