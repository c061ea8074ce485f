"""Tiles, things and steps as pictures name them, and as users choose them.

>>> from poplite.report.memory import MemoryStep
>>> step = MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)
>>> title_of(step), number_of(step)
("Execute 'blur'", '2')
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from poplite.errors import InvalidOption, InvalidTileMapping, UnknownName, did_you_mean
from poplite.report import Report
from poplite.report.compilation import Compilation, ComputeSet, Variable
from poplite.report.execution import ExecutionStep
from poplite.report.memory import Held, Memory, MemoryStep
from poplite.text import amount, clipped, integer_or_none
from poplite.types import ELEMENT_TYPES
from poplite.viz.draw.words import name_text, shape_text

NOT_MODELLED = "cycles are not modelled: the graph was compiled with debug.instrument=False"

TYPES = {each.__name__: each for each in ELEMENT_TYPES}
"""Element types by the names that reports have for them."""

SAVE_AGAIN = "save it again: reports and executables of today hold it"
"""What to do about a file that an older poplite wrote."""

VARIABLES = ("variable", "constant")
"""Categories of things that users named."""


def title_of(step: MemoryStep) -> str:
    """Return the title of a step, without its number and program.

    >>> from poplite.report.memory import MemoryStep
    >>> title_of(MemoryStep("a", "step 2 of 5: Execute 'blur', of program 'a'", "", 0, 0, 2))
    "Execute 'blur'"
    """
    _, colon, title = step.name.partition(": ")
    name = title if colon and step.name.startswith("step ") else step.name
    return name.removesuffix(f", of program '{step.program}'")


def number_of(step: MemoryStep) -> str:
    """Return the number of a step, counted over all programs."""
    return f"{step.number:,}" if step.number else ""


def full_title(step: MemoryStep, steps: Sequence[MemoryStep]) -> str:
    """Return number and name of a step, with its program where there are several.

    >>> from poplite.report.memory import MemoryStep
    >>> step = MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)
    >>> full_title(step, [step])
    "step 2, Execute 'blur'"
    """
    number = f"step {number_of(step)}, " if step.number else ""
    programs = {each.program for each in steps}
    return label_of_step(step.program, f"{number}{title_of(step)}", programs)


def label_of_step(program: str, name: str, programs: Collection[str]) -> str:
    """Return the label of a step, with its program if the steps belong to several."""
    return name_text(f"{program}: {name}" if len(programs) > 1 else name)


def places_of(steps: Sequence[MemoryStep], choice: str) -> list[int]:
    """Return the positions of the steps of a number, or of a name, in one or several programs.

    Raises UnknownName if there are none.

    >>> from poplite.report.memory import MemoryStep
    >>> places_of([MemoryStep("main", "step 2 of 5: Execute 'blur'", "", 0, 0, 2)], "blur")
    [0]
    """
    names = [{title_of(step), title_of(step).partition("'")[2].rstrip("'")} for step in steps]
    named = [k for k, found in enumerate(names) if choice in found]
    numbered = [k for k, step in enumerate(steps) if str(step.number) == choice and step.number]
    if named or numbered:
        return named or numbered
    most = max((step.number for step in steps), default=0)
    fix = f'--step {most}, or --step "{title_of(steps[-1])}"' if steps else ""
    raise _no_step(choice, sorted(set().union(*names)), most, fix)


def _no_step(choice: str, names: Sequence[str], most: int, fix: str) -> UnknownName:
    return UnknownName(
        f"there is no step {choice!r}{did_you_mean(choice, names)}",
        at=None,
        found=f"steps are numbered 1 to {most:,}" if fix else "there are no steps",
        fix=fix,
    )


def modelled_memory(report: Report) -> Memory:
    """Return the memory of a report; raises InvalidOption if it is not modelled."""
    memory = report.compilation.modelled
    if memory is None:
        raise InvalidOption(
            "there is no memory to draw: it is not modelled",
            at=None,
            found="the graph was compiled with debug.instrument=False",
            fix="leave that option out: Engine(graph, program)",
        )
    return memory


def note_of(report: Report) -> str:
    """Return the origin of a report's numbers, in words; empty if they are those of one run."""
    notes = []
    if not report.instrumentation.is_modelled:
        notes.append(NOT_MODELLED)
    elif report.run_note:
        notes.append(report.run_note)
    if report.is_run and report.runs != 1:
        notes.append(f"in {amount(report.runs, 'run')}")
    return "; ".join(filter(None, (*notes, of_replicas(report.replicas))))


def of_replicas(count: int) -> str:
    """Return a note that numbers are those of one replica; empty if there is only one."""
    return f"of one of {count:,} replicas" if count > 1 else ""


def have_no_tile(count: int, noun: str, plural: str = "") -> str:
    """Return a note on the number of things without a tile."""
    return f"{amount(count, noun, plural)} {'has' if count == 1 else 'have'} no tile"


def noted(text: str, note: str) -> str:
    """Return a heading, followed by the origin of its numbers."""
    return f"{text}; {note}" if note else text


def chosen_steps(steps: Sequence[ExecutionStep], choice: str) -> list[ExecutionStep]:
    """Return the steps of a number, of a range of numbers `3:7` with both ends, or of a name.

    Raises UnknownName if there are none.
    """
    first, colon, last = choice.partition(":")
    name = [step for step in steps if step.name == choice]
    if name:
        return name
    if first.isdecimal() and (last.isdecimal() or not colon):
        numbers = range(int(first), int(last or first) + 1)
        if found := [step for step in steps if step.number in numbers]:
            return found
    known = list(dict.fromkeys(step.name for step in steps))
    most = max((step.number for step in steps), default=0)
    one = f"--step {steps[0].number}, --step 1:{most}" if steps else ""
    raise _no_step(choice, known, most, f"{one}, or --step {known[0]!r}" if steps else "")


def tile_number(tile: object, tiles: int) -> int:
    """Return a tile that a user names; raises InvalidTileMapping if it does not exist.

    >>> tile_number("3", 4)
    3
    """
    number = int(tile) if isinstance(tile, str) and tile.isdecimal() else integer_or_none(tile)
    if number is None or not 0 <= number < tiles:
        raise InvalidTileMapping(
            f"there is no tile {clipped(tile)}",
            at=None,
            found=f"tiles are 0 to {tiles - 1:,}",
            fix=f"name one of them, such as {tiles - 1}",
        )
    return number


def part_of(report: Report, ipu: int | None, rank: int | None) -> tuple[range | None, str]:
    """Return the tiles of an IPU or of a rank, and its name; None for all tiles.

    Raises InvalidOption if it does not exist, or has no tiles.
    """
    tiles, ipus = report.tiles, report.compilation.target.ipus
    if ipu is not None:
        return _tiles_between(range(0, tiles + 1, tiles // ipus), ipu, "IPU"), f"IPU {ipu}"
    if rank is not None:
        return _tiles_between((0, *report.cut, tiles), rank, "rank"), f"rank {rank}"
    return None, ""


def _tiles_between(bounds: Sequence[int], number: int, what: str) -> range:
    last = len(bounds) - 2
    tiles = range(*bounds[number : number + 2]) if number <= last else range(0)
    if not tiles:
        is_one = f"{what} {number:,} has no tiles"
        raise InvalidOption(
            is_one if number <= last else f"there is no {what} {number:,}",
            at=None,
            found=f"{what}s are 0 to {last:,}" if last else f"there is one {what}",
            fix=f"leave out --{what.lower()}, for all tiles",
        )
    return tiles


def name_of(held: Held) -> str:
    """Return the name of a thing; unless it is a variable, with its kind."""
    what = short_name(held)
    if held.category in VARIABLES or held.name.rstrip("s") == what:
        return what
    return f"{what} of {name_text(held.name)}"


def short_name(held: Held) -> str:
    """Return the name of a variable, or the kind of any other thing."""
    if held.category in VARIABLES:
        return f"'{name_text(held.name)}'"
    return name_text(held.category.replace("_", " "))


def form_of(held: Held) -> str:
    """Return element type and shape of a variable; empty for other things."""
    if held.shape is None:
        return ""
    return f"{held.element_type.lower()}{shape_text(held.shape)}"


def place_of(at: str) -> str:
    """Return file and line of a user's line, without folders, functions and callers.

    >>> place_of("examples/heat.py:87 in build, called at main.py:3")
    'heat.py:87'
    """
    return name_text(at.partition(" in ")[0].rpartition("/")[2])


def in_brackets(at: str) -> str:
    """Return file and line in brackets; empty if there are none."""
    place = place_of(at)
    return f"({place})" if place else ""


def compute_sets_of(
    compilation: Compilation, steps: Sequence[ExecutionStep] | None
) -> Iterator[ComputeSet]:
    """Yield the compute sets of some steps, each once, or all of them."""
    chosen = None if steps is None else {step.compute_set for step in steps}
    for number, compute_set in enumerate(compilation.compute_sets):
        if chosen is None or number in chosen:
            yield compute_set


def check_known(report: Report) -> None:
    """Raise UnknownName if a report contains no variables."""
    compilation = report.compilation
    if compilation.graph.num_variables and not len(compilation.variables):
        raise UnknownName(
            "the file does not say which variables there are, and what reads and writes them",
            at=None,
            fix=SAVE_AGAIN,
        )


def size_bytes(variable: Variable) -> int:
    """Return the bytes of all elements of a variable.

    >>> from poplite.report.compilation import Compilation, ComputeSet, Variable
    >>> size_bytes(Variable("x", "HALF", (2, 3), False, ""))
    12
    """
    return math.prod(variable.shape) * TYPES[variable.element_type].size_bytes
