"""Load the Report of a TARGET or a saved file, for all pictures of reports.

    file.py:build        built, compiled, run once            report of the run
                         ... with --no-run, or if host data   as compiled: what one run takes
                             are streamed or determine the
                             control flow
    run.json             a report that `Report.save` wrote    the saved report
    program.poplite      a saved executable                   the report as compiled; never run
    heat.graph           a saved graph                        the report as compiled; never run

Nothing in a saved file is executed. Its vertex classes are looked up among those of poplite, and
in modules that the user names.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poplite.errors import FileLoadError, PopliteError
from poplite.frozen import frozen
from poplite.tools.viz.flags import SAVED, file_error
from poplite.tools.viz.load_target import is_graph_file, load_module, load_programs, program_named
from poplite.tools.viz.progress import doing

if TYPE_CHECKING:
    from poplite import Engine
    from poplite.executable.executable import Executable
    from poplite.graph.graph import Graph
    from poplite.program import Program
    from poplite.report import Report
    from poplite.report.trace import Trace

MOST_NAMED = 3
"""Maximum number of streams that a message names."""


@frozen
class LoadedReport:
    """A report with its source.

    Attributes:
        graph: None if the report comes from a file.
        programs: the programs of the report, by name.
        note: the reason if nothing was run although that was allowed; otherwise empty.
        trace: the order in which steps ran, if requested; None if nothing ran.
    """

    report: Report
    graph: Graph | None = None
    programs: tuple[tuple[str, Program], ...] = ()
    note: str = ""
    trace: Trace | None = None


def load_report(arguments: argparse.Namespace, *, run: bool | None = None) -> Report:
    """Return the report of `arguments.target`, a TARGET or a saved file.

    If nothing was run, the reason is printed on standard error.  `run` is used if the subcommand
    has no flag for it: False for pictures that need no run.  Raises as `load` does.
    """
    (loaded,) = load_each(arguments, arguments.target, run=run)
    return loaded.report


def load_each(
    arguments: argparse.Namespace,
    *places: str,
    run: bool | None = None,
    tracing: int | None = None,
) -> list[LoadedReport]:
    """Load several targets or files; `--arg` applies to the targets, `--program` to all.

    If nothing was run, the reason is printed on standard error.  `tracing` is the number of steps
    whose order is recorded for targets.  Raises as `load` does.
    """
    targets = [each for each in places if not _is_saved(each)] or places
    wanted, found = getattr(arguments, "execute", run), []
    for place in places:
        is_target = place in targets
        loaded = load(
            place,
            arguments.given if is_target else (),
            arguments.program,
            run=wanted if is_target else None,
            vertices=arguments.vertices,
            tracing=tracing,
            timeout=getattr(arguments, "timeout", None),
        )
        if tracing is not None and loaded.trace is not None:
            loaded = replace(loaded, report=loaded.report.with_order(loaded.trace))
        found.append(loaded)
    for loaded in found:
        if loaded.note and not arguments.quiet:
            print(f"poplite-viz: {loaded.note}", file=sys.stderr)
    return found


def _is_saved(place: str) -> bool:
    return Path(place).is_file() and not is_graph_file(place)


def is_report_file(target: str) -> bool:
    """Return whether a target is a saved report or executable, or is empty."""
    return not is_graph_file(target) and (":" not in target or Path(target).is_file())


def load_saved(arguments: argparse.Namespace) -> Report | None:
    """Return the report of `arguments.target` if it is a saved report or executable.

    Returns None for a graph, from a target or a file, which `load_target` reads.
    Nothing is run.  Raises FileLoadError if it cannot be read, or if `--arg` is given.
    """
    if not _is_saved(arguments.target):
        return None
    return load(arguments.target, arguments.given, vertices=arguments.vertices).report


@frozen
class LoadedGraph:
    """What a picture of a graph is made of: a graph with programs, or the report of a saved file.

    Attributes:
        graph: the graph; None for a file without one.
        report: the report of such a file; else None.
        programs: all programs by name; those of a report as nodes.
        name: the program in `--program`; None for all.
    """

    graph: Graph | None
    report: Report | None
    programs: Mapping[str, Program]
    name: str | None

    @property
    def chosen(self) -> dict[str, Program]:
        """The programs to draw."""
        return {name: each for name, each in self.programs.items() if self.name in (None, name)}


def load_graph(arguments: argparse.Namespace) -> LoadedGraph:
    """Load the graph of a target or a graph file, or else the report of a saved file.

    Raises as `load_programs` does.
    """
    saved, graph, name = load_saved(arguments), None, getattr(arguments, "program", None)
    programs: Mapping[str, Program]
    if saved is not None:
        from poplite.viz.program_nodes import saved_programs

        programs = saved_programs(saved)
    else:
        graph, programs = load_programs(arguments.target, arguments.given, arguments.vertices)
    if name is not None:
        program_named(programs, name, arguments.target)
    return LoadedGraph(graph, saved, programs, name)


def load_variables(arguments: argparse.Namespace, names: Iterable[str]) -> Graph:
    """Return the graph that a target builds, or one with the variables of a saved file.

    Raises FileLoadError if the file or target cannot be read, and UnknownName if a file does not
    have the mapping of one of the named variables.
    """
    saved = load_saved(arguments)
    if saved is None:
        return load_programs(arguments.target, arguments.given, arguments.vertices)[0]
    from poplite.viz.tensors.ownership import graph_of_variables

    return graph_of_variables(saved, names)


def load(
    target: str,
    given: Iterable[tuple[str, object]] = (),
    name: str | None = None,
    *,
    run: bool | None = None,
    vertices: Sequence[str] = (),
    tracing: int | None = None,
    timeout: float | None = None,
) -> LoadedReport:
    """Return the report of a TARGET or of a saved file.

    `run` is whether the program runs once; if None, it runs unless it needs data from the host.
    `vertices` are Python files or modules with the vertex classes of a saved file.  `tracing` is
    the number of steps whose order is recorded.

    Raises FileLoadError if a file cannot be read, the user's code raises, or its program cannot
    be run; UnknownName for an unknown program or argument; and errors in compilation.

    >>> load("no_such_file.json")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: cannot read 'no_such_file.json': No such file or directory...
    """
    is_graph = is_graph_file(target)
    if _is_saved(target):
        doing(f"reading {target}")
        found = _of_file(target, given, run=run, vertices=vertices)
        _check_program(target, name, found.report)
        return found
    if is_graph:
        _refuse_flags(target, [("--run", run is True)])
        run = False
    elif ":" not in target:
        raise file_error(f"cannot read {target!r}: No such file or directory", fix=f"pass {SAVED}")
    graph, programs = load_programs(target, given, vertices, name)
    doing(f"compiling {target}")
    with contextlib.redirect_stdout(sys.stderr):
        report, trace, note = _of_target(
            graph, programs, target, run=run, tracing=tracing, timeout=timeout
        )
    return LoadedReport(report, graph, tuple(programs.items()), note, trace)


# -- saved files -----------------------------------------------------------------------------------


def _of_file(
    path: str, given: Iterable[tuple[str, object]], *, run: bool | None, vertices: Sequence[str]
) -> LoadedReport:
    from poplite.report import Report

    if path.endswith(".py"):
        raise file_error(
            f"{path!r} does not name a callable",
            fix=f"pass {path}:build, if build returns the graph",
        )
    _refuse_flags(path, [("--run", run is True), ("--arg", given)])
    if not zipfile.is_zipfile(path):
        return LoadedReport(Report.load(path))
    from poplite.executable.executable import Executable
    from poplite.simulator.engine import Engine

    try:
        executable = Executable.load(path, [load_module(place) for place in vertices])
    except FileLoadError as error:
        if "cannot be found" not in error.what:
            raise
        raise file_error(
            error.what,
            found=error.found,
            fix="pass --vertices FILE.py, the file that defines these classes, which determine "
            "the costs of vertices",
        ) from error
    with contextlib.redirect_stdout(sys.stderr):
        return LoadedReport(Engine(executable).report())


def _refuse_flags(path: str, flags: Iterable[tuple[str, object]]) -> None:
    for flag, is_given in flags:
        if is_given:
            raise file_error(
                f"{flag} needs a TARGET, but {path!r} is a saved file, which is never run",
                fix=f"leave out {flag}, or pass file.py:callable",
            )


def _check_program(path: str, name: str | None, report: Report) -> None:
    """Reject `--program` for a file with several programs, whose numbers are for all programs."""
    names = report.compilation.program_names
    if name is not None and names != [name]:
        raise file_error(
            f"--program {name} needs a TARGET or a file from graph.save, but {path!r} is a saved "
            "report or executable: its numbers are for all its programs together",
            found=f"its programs are {', '.join(map(repr, names))}",
            fix="leave out --program; summary, program and graph accept it for such a file",
        )


# -- targets ---------------------------------------------------------------------------------------


def _of_target(
    graph: Graph,
    programs: dict[str, Program],
    target: str,
    *,
    run: bool | None,
    tracing: int | None,
    timeout: float | None,
) -> tuple[Report, Trace | None, str]:
    """Run each program once, unless it should not run or its data are missing.

    Returns the report, the trace, and a note about the run.
    """
    # Saved files need no engine.
    from poplite.report.report import NO_PROGRAM
    from poplite.tools.viz.running import Once, run_each

    programs_once = Once(graph, programs, timeout=timeout)
    if run is False:
        report = programs_once.engine.report()
        return (report if programs else replace(report, note=NO_PROGRAM)), None, ""
    if run is None and (why := _asks_the_host(programs_once.engine.executable)):
        report = _noted(programs_once.engine.report(), why)
        return report, None, f"{target} is shown as compiled, since {why}; --run passes zeros"

    def traced(engine: Engine) -> Trace | None:
        with contextlib.nullcontext() if tracing is None else engine.tracing(tracing) as trace:
            run_each(engine, programs_once.limit)
        return trace

    try:
        trace = programs_once.run(traced, with_zeros=run is True)
    except PopliteError as error:
        raise FileLoadError(
            f"{target!r} cannot be run: {error.what}",
            at=error.at,
            where=error.where,
            found=error.found,
            fix="pass --no-run to show the costs of one run as compiled"
            + (", or a longer --timeout" if programs_once.limit.is_over else ""),
        ) from error
    report = programs_once.engine.report()
    if not programs:
        return replace(report, note=NO_PROGRAM), trace, ""
    if report.is_run:
        why = programs_once.note
        return replace(report, note=why), trace, f"{target} is run {why}" if why else ""
    unknown = programs_once.unknown
    assert unknown is not None, "only unknown data prevent a run"
    note = f"{target} is shown as compiled, since {unknown.why}; --run uses zeros"
    return _noted(report, unknown.why), None, note


def _noted(report: Report, why: str) -> Report:
    """Return a report whose note has the reason why nothing was run appended."""
    return replace(report, note="; ".join(filter(None, (report.note, why))))


def _asks_the_host(executable: Executable) -> str:
    """Return the streams and host functions that need data, as text; empty if none does."""
    from poplite.tools.viz.running import host_needs

    streams, functions = host_needs(executable)
    names = [*streams, *functions]
    named = ", ".join(map(repr, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    kind = "stream or host function needs" if len(names) == 1 else "streams or host functions need"
    return f"{len(names):,} {kind} data ({named}{more})" if names else ""
