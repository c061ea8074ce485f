"""A program as ops, without its tree: what `poplite.compile.emit` writes and engines run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poplite.executable.opcodes import CALLBACK, COLLECT, LAUNCH

GATHER, SAVE, COUNT, COMPUTE, SCATTER, TALLY = range(6)
"""Phases of a compute set; a copy has the first only.  COUNT and TALLY are there where data may
decide what vertices take: in the first those are counted that cannot count while they run, in the
second what all of them took is written down."""

FALLING = 6
"""The phase that strict checks run again: COMPUTE with workers in falling order."""


@dataclass(frozen=True, slots=True)
class Code:
    """One program as ops.

    Attributes:
        ops: int64[rows, 4]; a LAUNCH names step and phase in its first two operands.
        step_numbers: int64[rows], number of the program's step that a row belongs to; in a
            function counted from its beginning.
        step_rows: int64[...], the rows that do the work of an Execute or a Copy.
        num_steps: steps of the program.
        num_runs: how often Executes and Copies run in one run of it; None where data decide, or
            somebody who stops it.
        num_loops: Repeats in it.
        num_functions: functions that it calls, none of them twice at a time.
    """

    ops: npt.NDArray[np.int64]
    step_numbers: npt.NDArray[np.int64]
    step_rows: npt.NDArray[np.int64]
    num_steps: int
    num_runs: int | None
    num_loops: int
    num_functions: int

    @property
    def goes_on(self) -> npt.NDArray[np.bool_]:
        """Which rows finish what the row before them began: bool[rows].

        A run that is ended is not left before them, so that a step is done or is not.
        """
        op, number = self.ops[:, 0], self.step_numbers
        launched = (op[1:] == LAUNCH) & ((op[:-1] == LAUNCH) | (op[:-1] == CALLBACK))
        same = number[1:] == number[:-1]
        return np.append(False, same & (launched | (op[1:] == COLLECT)))

    def called_from(self, rows: Sequence[int]) -> Code:
        """Return the code with the step numbers that a function has in one place.

        Args:
            rows: the CALL rows that have not returned.
        """
        before = int(self.step_numbers[np.array(rows, np.int64)].sum())
        return replace(self, step_numbers=self.step_numbers + before)

    def step_text(self, row: int) -> str:
        """Return which step a row belongs to, as in `step 3 of 5`.

        Args:
            row: its number.
        """
        return f"step {self.step_numbers[row]:,} of {self.num_steps:,}"
