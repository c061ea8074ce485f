"""Steps of a report by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.errors import ProfilingDisabled, UnknownName, did_you_mean, listed
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none

if TYPE_CHECKING:
    from poplite.report.execution import ExecutionStep
    from poplite.report.report import Report


def step_named(
    report: Report, name: object, program: object = None, row: object = None
) -> ExecutionStep:
    """Return a step by name, as `Report.step` does; None stands for any program or row."""
    call, at = f"report.step({clipped(name)})", here()
    if not report.instrumentation.is_modelled:
        raise ProfilingDisabled(
            f"{call}: cycles are not modelled here",
            at=at,
            found="the graph was compiled with debug.instrument=False",
            fix="leave that option out: Engine(graph, program)",
        )
    steps, of_program = report.execution.steps, ""
    if program is not None:
        chosen = _program(report, program, call)
        steps = tuple(step for step in steps if step.program_name == chosen)
        of_program = f" of program {chosen!r}"
    of_name = [step for step in steps if isinstance(name, str) and step.name == name]
    found = [step for step in of_name if row is None or step.row == integer_or_none(row)]
    if len(found) == 1:
        return found[0]
    if of_name:
        what = f"{len(of_name):,} steps{of_program} have that name"
        if not found:
            what = f"no step{of_program} of that name is in row {clipped(row)}"
        one = of_name[-1]
        raise UnknownName(
            f"{call}: {what}",
            at=at,
            found=listed([_place(step) for step in of_name], "steps"),
            fix=f"report.step({name!r}, program={one.program_name!r}, row={one.row})",
        )
    known = list(dict.fromkeys(step.name for step in steps))
    number = integer_or_none(name)
    numbered = [step for step in steps if step.number == number]
    if number is not None and numbered:
        one = numbered[0]
        raise UnknownName(
            f"{call}: steps are chosen by name, not by number",
            at=at,
            found=f"step {number:,} is {one.name!r}",
            fix=f"report.step({one.name!r}, program={one.program_name!r}, row={one.row})",
        )
    raise UnknownName(
        f"{call}: no step{of_program} of that name has run"
        + (did_you_mean(name, known) if isinstance(name, str) else ""),
        at=at,
        found="steps that ran: "
        + listed([repr(each) for each in known], "names").replace("\n", ", ")
        if known
        else "nothing ran",
        fix=f"report.step({known[0]!r})" if known else "run the engine before its report",
    )


def _place(step: ExecutionStep) -> str:
    times = amount(step.executions, "time")
    at = f" ({step.at})" if step.at else ""
    return f"program {step.program_name!r}, row {step.row}, run {times}{at}"


def _program(report: Report, program: object, call: str) -> str:
    """Return the name of a program that the user specified by name or position."""
    names = list(report.compilation.programs)
    if isinstance(program, str) and program in names:
        return program
    number = integer_or_none(program)
    if number is not None and 0 <= number < len(names):
        return names[number]
    raise UnknownName(
        f"{call}: there is no program {clipped(program)}"
        + (did_you_mean(program, names) if isinstance(program, str) else ""),
        found="programs: " + ", ".join(map(repr, names)),
        fix=f"program={names[0]!r}" if names else "",
    )
