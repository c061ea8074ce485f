"""The report of an engine."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from poplite.display import Displayed, ShownPage, report_page
from poplite.errors import (
    ProfilingDisabled,
    UnknownName,
    checked_kind,
    did_you_mean,
    listed,
    made_by,
)
from poplite.files import checked_path, read_content, replacing
from poplite.frozen import frozen
from poplite.public import optional_package
from poplite.report.compilation import Compilation
from poplite.report.execution import TIME_PARTS, BetweenRanks, Execution, ExecutionStep, Measured
from poplite.report.validate import Known, Rule, checked
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pandas import DataFrame

    from poplite.report.diff import ReportDiff
    from poplite.report.findings import Insights
    from poplite.report.trace import Trace


def step_named(
    report: Report, name: object, program: object = None, row: object = None
) -> ExecutionStep:
    """Return a step by name, as `Report.step` does; None means any program or row."""
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
            what = f"row {clipped(row)}{of_program} has no step with that name"
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
        f"{call}: no step{of_program} with that name has run"
        + (did_you_mean(name, known) if isinstance(name, str) else ""),
        at=at,
        found="steps that ran: "
        + listed([repr(each) for each in known], "names").replace("\n", ", ")
        if known
        else "nothing ran",
        fix=f"report.step({known[0]!r})" if known else "call engine.run() before engine.report()",
    )


def data_frame(columns: Mapping[str, Any], call: str) -> DataFrame:
    """Return a pandas.DataFrame; pandas is imported here alone, since few need it."""
    made: DataFrame = optional_package("pandas", call, "sweep").DataFrame(columns)
    return made


def _place(step: ExecutionStep) -> str:
    times = amount(step.executions, "time")
    at = f" ({step.at})" if step.at else ""
    return f"program {step.program_name!r}, row {step.row}, run {times}{at}"


def _program(report: Report, program: object, call: str) -> str:
    """Return the name of a program, specified by name or position."""
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


# Methods import the modules that they need, as an engine creates a report without them.

NO_PROGRAM = "no program given"
"""The note in the report of a graph without its program."""


@frozen
class Instrumentation:
    """The modelling and checks of an engine.

    Attributes:
        is_modelled: whether cycles and memory of the machine are modelled.
        checks: the level of checks: "strict", "fast" (indices) or "none".
        interpreted: whether all vertices ran as plain Python.
        faster: names of the faster forms that ran instead of the `compute` of their classes.
    """

    is_modelled: bool
    checks: Literal["strict", "fast", "none"]
    interpreted: bool
    faster: tuple[str, ...] = ()


MOST_ORDERED = 1 << 27
"""Maximum number of steps in an order, which is also the limit of `Engine.tracing`."""


def _is_order(order: tuple[tuple[int, int], ...], known: Known) -> bool:
    are_there = all(place < known.places and times for place, times in order)
    return are_there and sum(times for _, times in order) <= MOST_ORDERED


def _is_cut(cut: tuple[int, ...], known: Known) -> bool:
    return list(cut) == sorted(cut) and max(cut, default=0) < known.tiles


@made_by("engine.report(), or pl.Report.load(path)")
@frozen(repr=False)
class Report(Displayed):
    """The contents of an engine, and all its runs since it was created.

    `print(report)` prints it as text. Reports of one graph and machine are equal if all their
    numbers are equal.

    Attributes:
        compilation: machine, graph, programs, memory.
        execution: steps and their cycles.
        instrumentation: the modelling and checks of the engine.
        order: the order of execution, if it was recorded: positions in `Execution.steps`, and
            how often each ran in succession.
        measured: measurements of runs on a device, by program; steps and cycles are the model's.
        between_ranks: messages between ranks, by place; empty without ranks.
        cut: the first tile of each rank except rank 0, as for `pl.mpi.Device`; empty for one rank.
        note: why nothing was run, the unwritten value on which a branch in the run depended, or the
            run that would take more cycles than the limit; empty otherwise.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> engine = pl.Engine(graph, pl.Copy(a, b))
    >>> engine.run()
    >>> report = engine.report()
    >>> report.runs, report.steps, report.bytes_copied
    (1, 1, 12)
    >>> sum(step.ipus[0].cycles for step in report.execution.steps) == report.cycles
    True
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        (
            "cycles and memory must both be modelled, or neither",
            lambda each, _: (
                each.instrumentation.is_modelled == (each.compilation.modelled is not None)
            ),
        ),
    )

    compilation: Compilation
    execution: Execution
    instrumentation: Instrumentation
    order: tuple[tuple[int, int], ...] = field(default=(), metadata=checked(_is_order))
    measured: tuple[Measured, ...] = ()
    between_ranks: tuple[BetweenRanks, ...] = ()
    cut: tuple[int, ...] = field(default=(), metadata=checked(_is_cut))
    note: str = ""

    @property
    def insights(self) -> Insights:
        """The largest costs by cause; if nothing ran, those of one run of each program."""
        from poplite.report.findings import insights_of

        return insights_of(self.compilation, self.shown)

    @property
    def is_run(self) -> bool:
        """Whether anything has run."""
        return bool(self.execution.runs or self.execution.num_steps)

    @property
    def shown(self) -> Execution:
        """The execution; if nothing ran, one run of each program as compiled."""
        planned = self.compilation.planned
        if self.is_run or not planned:
            return self.execution
        return replace(
            self.execution,
            num_steps=sum(step.executions for step in planned),
            vertices=sum(each.vertices for step in planned for each in step.vertex_types),
            steps=tuple(planned),
            cycles=sum(step.cycles for step in planned),
        )

    @property
    def fit_words(self) -> str:
        """The verdict in words for a program that fits on all tiles."""
        return f"variables fit; {self.note}" if self.note == NO_PROGRAM else "fits"

    @property
    def has_branches(self) -> bool:
        """Whether the steps that the programs run depend on data."""
        from poplite.report.program_tree import are_decided_by_data

        return are_decided_by_data(self.compilation.programs.values())

    @property
    def run_note(self) -> str:
        """What the numbers describe if nothing ran, then `note`; after a run, only `note`."""
        if (
            self.is_run
            or self.note == NO_PROGRAM
            or (self.instrumentation.is_modelled and self.cycles is None)
        ):
            return self.note
        words = "as compiled"
        if self.instrumentation.is_modelled:
            words += ", of one run" + (" with all branches" if self.has_branches else "")
        return f"{words}; {self.note}" if self.note else words

    @property
    def places(self) -> Sequence[ExecutionStep]:
        """The cost of each place of the programs; if nothing ran, in one run."""
        return self.shown.steps

    @property
    def cycles(self) -> int | None:
        """Total of tile cycles of all runs; None if they are not modelled, or too many."""
        return self.execution.cycles

    @property
    def seconds(self) -> float | None:
        """The total of cycles at the clock of the target; None if they are not modelled."""
        return self.execution.seconds

    @property
    def runs(self) -> int:
        """Calls of `Engine.run` that reached the end."""
        return self.execution.runs

    @property
    def steps(self) -> int:
        """Total of Execute and Copy steps run."""
        return self.execution.num_steps

    @property
    def vertices(self) -> int:
        """Total of vertices run."""
        return self.execution.vertices

    @property
    def bytes_copied(self) -> int:
        """Total of bytes moved by Copy steps."""
        return self.execution.bytes_copied

    @property
    def bytes_gathered(self) -> int:
        """Total of bytes that the simulator moved to and from temporaries."""
        return self.execution.bytes_gathered

    @property
    def runs_again(self) -> int:
        """Total number of times that strict checks repeated the vertices of a compute set."""
        return self.execution.runs_again

    @property
    def tiles(self) -> int:
        """Tiles of the target."""
        return self.compilation.target.tiles

    @property
    def elements_per_tile(self) -> tuple[int, int]:
        """Minimum and maximum number of variable elements on one tile."""
        return self.compilation.graph.elements_per_tile

    @property
    def replicas(self) -> int:
        """The number of replicas, each with `tiles` tiles."""
        return self.compilation.replicas

    def step(
        self, name: str, *, program: str | int | None = None, row: int | None = None
    ) -> ExecutionStep:
        """Return the cost of one place of a program, by name.

        Args:
            name: the name of the compute set, or source and target of a copy.
            program: the program's name or position; by default, the program that has such a step.
            row: the row in the program's code, if a step occurs in it several times.

        Raises:
            UnknownName: if no such step has run, with the nearest name, or if several have.
            ControlProgramError: when cycles are not modelled.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
        >>> engine = pl.Engine(graph, {"forth": pl.Copy(a, b), "back": pl.Copy(b, a)})
        >>> engine.run("back")
        >>> engine.report().step("b to a").executions
        1
        """
        return step_named(self, name, program, row)

    def diff(self, other: Report) -> ReportDiff:
        """Compare with another report, for example of a different mapping or of more runs.

        Args:
            other: the later report.

        Returns:
            The changes, which `print` shows with the largest first.
        """
        from poplite.report.diff import diff_of

        checked_kind(other, Report, "report.diff: other", "report.diff(engine.report())")
        return diff_of(self, other)

    def to_pandas(self) -> DataFrame:
        """Return the steps as a pandas.DataFrame, one row a step; cycles and bytes are totals.

        The columns `work` to `sync` are what a tile did on average, in cycles that add up to
        `cycles`. If nothing ran, the steps are of one run of each program, as compiled.

        Raises:
            ControlProgramError: if pandas is not installed.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> x, y = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "xy")
        >>> report = pl.Engine(graph, pl.Copy(x, y)).report()
        >>> report.to_pandas()[["name", "executions"]].values.tolist()  # doctest: +SKIP
        [['x to y', 1]]
        """
        steps = self.shown.steps
        parts = [step.time_parts() for step in steps]
        plain = (
            *("number", "program_name", "name", "at", "kind", "operation"),
            *("executions", "cycles", "flops", "code_bytes"),
        )
        columns: dict[str, list[Any]] = {
            **{name: [getattr(step, name) for step in steps] for name in plain},
            **{part: [each[part] for each in parts] for part in TIME_PARTS},
            "balance": [step.tile_balance for step in steps],
            "bytes_sent": [int(step.bytes_sent.sum()) for step in steps],
            "bytes_received": [int(step.bytes_received.sum()) for step in steps],
        }
        return data_frame(columns, "report.to_pandas")

    def to_json(self) -> str:
        """Return the report as JSON; the texts of equal reports are equal."""
        from poplite.report.json_form import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Report:
        """Return the report encoded in JSON.

        Args:
            text: the result of `to_json`.

        Raises:
            FileLoadError: for any other text.
        """
        from poplite.report.json_form import from_json

        fix = "report.to_json() of a report"
        return from_json(Report, checked_kind(text, str, "Report.from_json: text", fix))

    def with_order(self, trace: Trace) -> Report:
        """Return the report with the order in which steps ran.

        Args:
            trace: the trace of the same engine, from `engine.tracing()`.

        Raises:
            UnknownName: when a step of the trace is not among those of the report.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
        >>> program = pl.Sequence(pl.Repeat(3, pl.Copy(a, b)), pl.Copy(b, a), pl.Copy(a, b))
        >>> engine = pl.Engine(graph, program)
        >>> with engine.tracing() as trace:
        ...     engine.run()
        >>> engine.report().with_order(trace).order
        ((0, 3), (1, 1), (2, 1))
        """
        from poplite.report.trace import Trace, trace_order

        checked_kind(trace, Trace, "report: trace", "with engine.tracing() as trace: ...")
        return replace(self, order=trace_order(self.execution, trace))

    def save(self, path: str | os.PathLike[str], trace: Trace | None = None) -> None:
        """Write the report to a file as JSON.

        Args:
            path: the file; one that exists is replaced.
            trace: a trace of the same engine, whose order is saved as by `with_order`.

        Raises:
            FileLoadError: when it cannot be written.
            UnknownName: when a step of the trace is not among those of the report.
        """
        report = self if trace is None else self.with_order(trace)
        with replacing(path, "run.json") as file:
            file.write(report.to_json().encode())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Report:
        """Read a report from a file that `save` wrote.

        Args:
            path: the file.

        Raises:
            FileLoadError: if there is no such file, or it is not a report.
        """
        name = str(checked_path(path, "Report.load", "run.json"))
        from poplite.codec.file_formats import REPORTS
        from poplite.report.json_form import from_json

        with REPORTS.loading(repr(name)):
            content = read_content(name)
        return from_json(Report, content, repr(name))

    def to_html(self, *, title: str = "poplite report", source: bool = False) -> str:
        """Return the report as a page: interactive pictures of tiles, memory, time and programs.

        Args:
            title: the title of the page.
            source: whether the page contains the text of the lines that the report names, with five
                lines around each; only of files that are the same as when the report was made.

        Returns:
            The content of an HTML file that needs no other file and no network. Without `source`,
            pages of equal reports and titles are equal.

        >>> import poplite as pl
        >>> engine = pl.Engine(pl.Graph(pl.Target(tiles=4)), pl.Sequence())
        >>> engine.report().to_html(title="nothing yet").splitlines()[0]
        '<!doctype html>'
        """
        fix = 'report.to_html(title="heat")'
        checked_kind(title, str, "report.to_html: title", fix)
        checked_kind(source, bool, "report.to_html: source", "report.to_html(source=True)")
        return report_page(self, title, source=source)

    def show(
        self, *, height: int = 720, title: str = "poplite report", source: bool = False
    ) -> ShownPage:
        """Return the page of the report for a notebook, which shows it in a frame of the cell.

        Args:
            height: the height of the frame, in pixels.
            title: the title of the page.
            source: as in `to_html`.

        Returns:
            What the last line of a cell shows. It needs no other file and no network.

        >>> import poplite as pl
        >>> engine = pl.Engine(pl.Graph(pl.Target(tiles=4)), pl.Sequence())
        >>> engine.report().show(height=400)._repr_html_().count("height:400px")
        1
        """
        pixels = checked_kind(height, int, "report.show: height", "report.show(height=720)")
        return ShownPage(self.to_html(title=title, source=source), pixels)

    def rows(self) -> dict[str, str]:
        """Return the most important numbers as text, by name."""
        from poplite.report.report_text import facts

        return facts(self)

    def __str__(self) -> str:
        from poplite.report.report_text import report_text

        return report_text(self)

    def __repr__(self) -> str:
        runs, steps = amount(self.runs, "run"), amount(self.steps, "step")
        took = "" if self.cycles is None else f", {amount(self.cycles, 'cycle')}"
        return f"<Report {runs}, {steps}, {amount(self.vertices, 'vertex', 'vertices')}{took}>"
