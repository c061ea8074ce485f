"""The part of an engine that tells what ran, and what it took.

print(engine.report())
with engine.tracing() as trace:
    engine.run()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from poplite.arrays.intervals_part import Int64
from poplite.compile.code import TALLY
from poplite.compile.executable import Checks, Executable
from poplite.compile.step import CopyStep
from poplite.errors import ControlProgramError
from poplite.simulator.accounts import Accounts
from poplite.simulator.compiled import CompiledProgram
from poplite.simulator.interpreted import InterpretedProgram
from poplite.simulator.recording import Recording
from poplite.simulator.strict import StrictChecks
from poplite.source import here

if TYPE_CHECKING:
    from poplite.report.run import Report
    from poplite.report.trace import Trace

LAUNCHES = TALLY + 1
"""Rows of an Execute that run, at most: one for each phase."""


class EngineReports:
    """An engine as whoever looks for time and memory sees it; see `poplite.simulator.engine`."""

    checks: Checks
    interpret: bool
    _executable: Executable
    _accounts: Accounts
    _counts: Mapping[str, Int64]
    _programs: dict[str, CompiledProgram] | dict[str, InterpretedProgram]
    _recording: Recording | None
    _runs: int
    _strict: StrictChecks | None

    def report(self) -> Report:
        """Return what the engine is made of, and what has run so far and what it took.

        The report is of this moment: runs that come later do not change it.
        """
        # Engines start sooner without what only reports need.
        from poplite.report.execution import Execution
        from poplite.report.run import Instrumentation, Report
        from poplite.simulator.reporting import compilation_of, execution_steps

        steps = vertices = copied = gathered = 0
        for name, code in self._executable.programs.items():
            for row in code.step_rows.tolist():
                count = int(self._counts[name][row])
                step = self._executable.steps[code.ops[row, 1]]
                steps += count
                if isinstance(step, CopyStep):
                    copied += count * step.moves.size_bytes
                else:
                    vertices += count * step.num_vertices
                    gathered += count * (step.gather.size_bytes + step.scatter.size_bytes)
        totals = self._accounts.totals() if self._accounts.are_kept else ()
        compilation = compilation_of(self._executable)
        execution = Execution(
            runs=self._runs,
            num_steps=steps,
            vertices=vertices,
            bytes_copied=copied,
            bytes_gathered=gathered,
            runs_again=0 if self._strict is None else self._strict.runs_again,
            steps=execution_steps(totals, self._executable, compilation.programs),
            cycles=sum(each.cycles for each in totals) if self._accounts.are_kept else None,
            target=self._executable.target,
        )
        looked = Instrumentation(self._accounts.are_kept, self.checks, self.interpret)
        return Report(compilation, execution, looked)

    @contextmanager
    def tracing(self, limit: int = 10_000) -> Iterator[Trace]:
        """Record the steps that run in a `with` statement, in their order.

        Args:
            limit: steps that are recorded; those after it run as well.

        Yields:
            The trace, which is complete when the statement has ended: `trace.save(path)` writes it
            for Perfetto and Chrome.

        Raises:
            ControlProgramError: when cycles are not modelled, and for a limit below 1.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=1)
        >>> b = graph.add_variable(pl.INT, (3,), "b", mapping=1)
        >>> engine = pl.Engine(graph, pl.Repeat(5, pl.Copy(a, b)))
        >>> with engine.tracing() as trace:
        ...     engine.run()
        >>> len(trace.steps)
        5
        """
        # Few programs are traced.
        from poplite.report.trace import Trace
        from poplite.simulator.reporting import steps_between

        if not self._accounts.are_kept:
            raise ControlProgramError(
                "engine.tracing: cycles are not modelled",
                at=here(),
                found="the option debug.instrument is False",
                fix="leave that option out",
            )
        if limit < 1:
            raise ControlProgramError(
                f"engine.tracing: {limit:,} steps cannot be recorded",
                at=here(),
                fix="engine.tracing(), for the first 10,000 steps",
            )
        trace, recording = Trace(self._executable.target), Recording(LAUNCHES * limit)
        earlier = self._accounts.totals()
        before, self._recording = self._recording, recording
        try:
            for program in self._programs.values():
                program.record(recording)
            yield trace
        finally:
            self._recording = before
            for program in self._programs.values():
                program.record(before)
            later = self._accounts.totals()
            ran = steps_between(earlier, later, list(recording.rows()), self._executable)
            trace.steps = ran[:limit]
            trace.is_complete = not recording.is_full and len(ran) <= limit

    # -- C++ spelling ------------------------------------------------------------------------

    getReport = report
