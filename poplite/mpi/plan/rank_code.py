"""Programs with exchanges: rows before and after others, the same on all ranks.

    REPEAT      10 times, else row 3          REPEAT      10 times, else row 5
      LAUNCH    'blur', COMPUTE                 EXCHANGE  0: what 'blur' touches elsewhere
    AGAIN       row 1                           LAUNCH    'blur', COMPUTE
    END                                         EXCHANGE  1: what it wrote elsewhere
                                              AGAIN       row 1
                                              END

What jumped to a row jumps to the first row in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.opcodes import Code

Integers = npt.NDArray[np.int64]
Rows = Mapping[int, Sequence[Sequence[int]]]
"""Ops by the row before or after which they are inserted."""


@dataclass(frozen=True, slots=True, eq=False)
class RankCode:
    """A program with exchanges.

    Attributes:
        code: the program.
        row: int64[rows], the new position of each row of the program without them.
        of: int64[rows of the program], the row without them to which each one belongs.
    """

    code: Code
    row: Integers
    of: Integers


def with_rows(
    code: Code, before: Rows, after: Rows, changed: Mapping[int, Sequence[int]]
) -> RankCode:
    """Return a program with more rows, each of the same step as the row to which it belongs.

    `changed` are ops that replace others.
    """
    ops: list[Sequence[int]] = []
    of: list[int] = []  # the row to which each new row belongs
    first, place = (np.zeros(len(code.ops), np.int64) for _ in range(2))
    for row, words in enumerate(code.ops.tolist()):
        first[row] = len(ops)
        ops += before.get(row, ())
        place[row] = len(ops)
        ops += [changed.get(row, words), *after.get(row, ())]
        of += [row] * (len(ops) - len(of))
    made = np.array(ops, np.int64)
    for kind, word in op.TARGETS.items():
        rows = np.flatnonzero(made[:, 0] == kind)
        made[rows, word] = first[made[rows, word]]
    with_exchanges = replace(
        code,
        ops=made,
        step_numbers=code.step_numbers[of],
        step_rows=place[code.step_rows],
        locations=tuple(code.locations[row] for row in of) if code.locations else (),
    )
    return RankCode(with_exchanges, place, np.array(of, np.int64))
