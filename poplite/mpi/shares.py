"""Which tiles each rank gets: a contiguous share of about equal work.

    work of tiles    5 5 5 5 20 5 5 10        60, 20 a rank
    3 ranks          [5 5 5 5][20][5 5 10]    cut at 4 and 5

Work is modelled cycles of vertices, as often as Repeats run them; of classes whose cycles depend on
data, a guess.  Where costs are not modelled, it is elements that vertices touch.  A
boundary between IPUs is preferred where it is near.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poplite.cost.workers import tile_cycles
from poplite.executable import opcodes as op
from poplite.executable.descriptor import COUNT
from poplite.executable.executable import Executable
from poplite.executable.step import ComputeStep
from poplite.simulator.run.slot_counts import known_slots
from poplite.simulator.run.touched import vertex_numbers

NEAR = 0.05
"""A boundary between IPUs is preferred if it moves this part of a rank's work, or less."""


def equal_cut(executable: Executable, count: int) -> list[int]:
    """Return the first tile of each rank but the first, so that ranks get about equal work."""
    target = executable.target
    work = _work(executable, target.tiles)
    if not work.any():
        work[:] = 1
    return cut_of_work(work, count, target.tiles_per_ipu)


def cut_of_work(work: npt.NDArray[np.float64], count: int, tiles_per_ipu: int) -> list[int]:
    """Return the first tile of each rank but the first, by the work of tiles.

    >>> cut_of_work(np.array([5.0, 5, 5, 5, 20, 5, 5, 10]), 3, 8)
    [4, 5]
    """
    total = np.append(0, np.cumsum(work))
    goals = total[-1] * np.arange(1, count) / count
    cut = np.searchsorted(total, goals)
    # The tile in which a goal lies goes to the side that is nearer.
    cut -= total[cut] - goals > goals - total[np.maximum(cut - 1, 0)]
    of_ipu = np.round(cut / tiles_per_ipu).astype(np.int64) * tiles_per_ipu
    of_ipu = np.clip(of_ipu, 0, len(work))
    is_near = np.abs(total[of_ipu] - total[cut]) <= NEAR * total[-1] / count
    cut = np.where(is_near & (of_ipu > 0) & (of_ipu < len(work)), of_ipu, cut)
    return [int(tile) for tile in np.maximum.accumulate(cut)]


def _work(executable: Executable, tiles: int) -> npt.NDArray[np.float64]:
    """Return the work of each tile."""
    work = np.zeros(tiles)
    origins = iter(executable.origins)
    for number, (step, times) in enumerate(zip(executable.steps, _times(executable), strict=True)):
        if not isinstance(step, ComputeStep):
            continue
        tile_of = next(origins).tile_of
        if executable.costs:
            vertices, target = executable.costs[number].vertices, executable.target
            slots = [known_slots(each, target)[0] for each in vertices]
            work += times * tile_cycles(vertices, slots, target).array()
            continue
        for group in step.groups:
            counts = group.rows[:, COUNT]
            each = np.repeat(group.weights / np.maximum(counts, 1), counts)
            at = tile_of.array()[vertex_numbers(group)]
            work += times * np.bincount(at, each, minlength=tiles)
    return work


def _times(executable: Executable) -> npt.NDArray[np.float64]:
    """Return how often each step runs when all programs run once, and data decide nothing."""
    times = np.zeros(len(executable.steps))
    for code in executable.programs.values():
        rows = code.step_rows
        np.add.at(times, code.ops[rows, 1], _executions(code.ops)[rows])
    return times


def _executions(ops: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return how often each row runs: in Repeats by their counts, in functions by their calls."""
    kinds, rows = ops[:, 0], np.arange(len(ops))
    within = np.ones(len(ops))
    for row in np.flatnonzero(kinds == op.REPEAT).tolist():
        within[row + 1 : ops[row, 3]] *= ops[row, 2]
    calls = np.flatnonzero(kinds == op.CALL)
    begins = np.unique(ops[calls, 1])
    function = np.searchsorted(begins, rows, "right")  # 0 for the program
    called = 1 + np.searchsorted(begins, ops[calls, 1])
    entered = np.append(1.0, np.zeros(len(begins)))
    for _ in begins:  # calls are nested as deep as there are functions, at most
        before = entered.copy()
        entered[1:] = 0
        np.add.at(entered, called, (within * before[function])[calls])
    times: npt.NDArray[np.float64] = within * entered[function]
    return times
