"""Steps as pictures of memory name them, and as users choose them.

>>> from poplite.report.memory import MemoryStep
>>> step = MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)
>>> title_of(step), number_of(step)
("Execute 'blur'", '2')
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite.errors import UnknownName, did_you_mean
from poplite.report.memory import MemoryStep


def title_of(step: MemoryStep) -> str:
    """Return what a step is, without its number."""
    _, colon, title = step.name.partition(": ")
    return title if colon and step.name.startswith("step ") else step.name


def number_of(step: MemoryStep) -> str:
    """Return the number of a step in its program; empty in reports of version 1."""
    return f"{step.number:,}" if step.number else ""


def full_title(step: MemoryStep, steps: Sequence[MemoryStep]) -> str:
    """Return number and name of a step, with its program where there are several.

    >>> from poplite.report.memory import MemoryStep
    >>> step = MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)
    >>> full_title(step, [step])
    "step 2, Execute 'blur'"
    """
    several = len({each.program for each in steps}) > 1
    number = f"step {number_of(step)}, " if step.number else ""
    return f"{f'{step.program}: ' if several else ''}{number}{title_of(step)}"


def places_of(steps: Sequence[MemoryStep], choice: str) -> list[int]:
    """Return the positions of the steps of a number, or of a name, in one or several programs.

    Raises UnknownName where there are none.

    >>> from poplite.report.memory import MemoryStep
    >>> places_of([MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)], "blur")
    [0]
    """
    names = [{title_of(step), title_of(step).partition("'")[2].rstrip("'")} for step in steps]
    named = [k for k, found in enumerate(names) if choice in found]
    numbered = [k for k, step in enumerate(steps) if str(step.number) == choice and step.number]
    if named or numbered:
        return named or numbered
    known = [title_of(step) for step in steps]
    most = max((step.number for step in steps), default=0)
    raise UnknownName(
        f"there is no step {choice!r}{did_you_mean(choice, set().union(*names))}",
        found=f"steps are numbered 1 to {most:,}" if steps else "there are no steps",
        fix=f'--step {most}, or --step "{known[-1]}"' if steps else "",
    )
