"""The places of neighbour Copies that could be one, and what one would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from poplite.cost.memory.code_size import ControlCode
from poplite.cost.step_cost import StepCost
from poplite.executable import joined
from poplite.executable.executable import Executable
from poplite.report.compilation import JoinedCopies
from poplite.simulator.accounts.accounts import elapsed

_NO_TILES = np.zeros(0, np.int64)


def joined_copies(executable: Executable) -> Iterator[JoinedCopies]:
    """Yield neighbour Copies that could be one, at each place where programs have them."""
    beginning: dict[int, list[joined.JoinedCopyCost]] = {}
    for each in executable.joined:
        beginning.setdefault(each.steps[0], []).append(each)
    for name, code in executable.programs.items() if beginning else ():
        rows = code.step_rows.tolist()
        numbers = code.ops[code.step_rows, 1].tolist()
        for at, number in enumerate(numbers):
            for each in beginning.get(number, ()):
                end = at + len(each.steps)
                own = tuple(rows[at:end])
                if tuple(numbers[at:end]) == each.steps and own[-1] - own[0] == len(own) - 1:
                    yield _at_rows(executable, each, name, own)


def _at_rows(
    executable: Executable, copies: joined.JoinedCopyCost, name: str, rows: tuple[int, ...]
) -> JoinedCopies:
    """Return what one Copy takes in place of some, which are rows of a program."""
    apart = [executable.costs[number] for number in copies.steps]
    one, several = (_code_bytes(executable, each) for each in ([copies.cost], apart))
    cycles = elapsed(copies.cost.before, executable.target.tiles)
    return JoinedCopies(name, rows, cycles, one, several)


def _code_bytes(executable: Executable, costs: Iterable[StepCost]) -> int:
    """Return the bytes of code of the fullest tile for some Copies."""
    code = ControlCode(executable.target)
    for cost in costs:
        code.step(cost, _NO_TILES)
    return int(np.sum(list(code.found().values()), axis=0).max())
