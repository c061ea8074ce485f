"""What runs `poplite-viz report`, `diff`, `trace` and `sweep`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path

from poplite.errors import UnknownName
from poplite.report import Report
from poplite.report.sweep import Sweep
from poplite.report.trace import Trace, trace_of
from poplite.tools.viz.commands import MOST_TRACED
from poplite.tools.viz.flags import build_flags, command, file_error, fitted, option_error
from poplite.tools.viz.load_report import LoadedReport, load, load_each
from poplite.tools.viz.load_target import in_order
from poplite.tools.viz.output import Destination, write_stdout
from poplite.tools.viz.progress import doing
from poplite.viz.compare import Comparison, column_names, outcomes, sweep_grid
from poplite.viz.dataflow.graph import dataflow_of
from poplite.viz.dataflow.picture import DataflowPicture
from poplite.viz.page import report_page
from poplite.viz.summary import overview_of

# -- report ----------------------------------------------------------------------------------------


def draw_report(arguments: argparse.Namespace) -> int:
    """Show the costs of runs, or the changes from one report to another."""
    out = _destination(arguments)
    _check(arguments, out)
    later = [] if arguments.later is None else [arguments.later]
    tracing = MOST_TRACED if arguments.trace else None
    loaded = load_each(arguments, arguments.target, *later, tracing=tracing)
    doing("drawing")
    if any(each.trace is not None and not each.trace.is_complete for each in loaded):
        print(f"poplite-viz: the order ends after {MOST_TRACED:,} steps", file=sys.stderr)
    report = loaded[0].report
    if out.format == "html":
        out.write(_page(loaded, arguments))
        if arguments.open:
            _show(out)
    elif len(loaded) > 1:
        out.write(_differences(report, loaded[1].report, arguments, out))
    elif out.format == "json":
        out.write(report.to_json())
    elif out.format == "txt":
        out.write(fitted(str(report), arguments.width))
    else:
        _draw(report, arguments, out)
    return 0


def _destination(arguments: argparse.Namespace) -> Destination:
    """Return the destination; a page that is to be opened but has no file gets a new one."""
    if arguments.open and arguments.output == "-":
        arguments.format = arguments.format or "html"
    out = Destination.of(arguments)
    if not arguments.open or out.path is not None or out.format != "html":
        return out
    file, path = tempfile.mkstemp(prefix="poplite-", suffix=".html")
    os.close(file)
    return replace(out, path=Path(path))


def _check(arguments: argparse.Namespace, out: Destination) -> None:
    """Reject incompatible flags, before the user's program runs."""
    page = f"poplite-viz report {arguments.target} -o report.html"
    for flag in ("open", "title", "source"):
        if getattr(arguments, flag) and out.format != "html":
            raise option_error(
                f"--{flag} needs a page; found format {out.format}", fix=f"run {page} --{flag}"
            )
    if arguments.trace:
        _check_trace(arguments)
    if arguments.later is not None and out.format not in ("txt", "html"):
        raise option_error(
            f"two reports can be compared only as text or as a page; found format {out.format}",
            fix=f"run poplite-viz report {arguments.target} {arguments.later}",
        )


def _check_trace(arguments: argparse.Namespace) -> None:
    """Reject `--trace` if nothing runs."""
    places = [each for each in (arguments.target, arguments.later) if each is not None]
    if arguments.execute is False or all(Path(place).is_file() for place in places):
        why = "--no-run is given" if arguments.execute is False else "saved files are not run"
        raise option_error(
            "--trace records the order in which steps run, but nothing runs",
            found=why,
            fix="run poplite-viz report file.py:callable --run --trace, or call "
            "report.save(path, trace)",
        )


# -- forms -----------------------------------------------------------------------------------------


def _page(loaded: list[LoadedReport], arguments: argparse.Namespace) -> str:

    places = [each for each in (arguments.target, arguments.later) if each is not None]
    names = [each.replace(os.sep, "/").rpartition("/")[2] for each in places]  # without folders
    title, graph = arguments.title or " and ".join(names), _graph(loaded[-1])
    shown = partial(report_page, title=title, graph_svg=graph, source=arguments.source)
    if len(loaded) == 1:
        return shown(loaded[0].report)
    one, other = names if names[0] != names[1] else places
    before, after = (each.report for each in loaded)
    return shown(after, before=before, names=(one, other))


def _graph(loaded: LoadedReport) -> str:
    """Return the dataflow graph of a target, or for a file the one in its report."""
    if loaded.graph is None:
        return ""

    program = in_order(dict(loaded.programs))
    return DataflowPicture(dataflow_of(loaded.graph, program)).svg()


def _show(out: Destination) -> None:
    assert out.path is not None
    if not webbrowser.open(out.path.resolve().as_uri()):
        print(f"poplite-viz: no browser found; open {out.path} in one", file=sys.stderr)


def _differences(
    report: Report, later: Report, arguments: argparse.Namespace, out: Destination
) -> str:

    names = column_names(arguments.target, arguments.later)
    text = report.diff(later).text(names, width=arguments.width)
    return fitted(text.replace("×", "x") if out.style.ascii_only else text, arguments.width)


def _draw(report: Report, arguments: argparse.Namespace, out: Destination) -> None:

    if report.compilation.modelled is None:
        raise option_error(
            f"{arguments.target!r} has no numbers to draw",
            found="cycles and memory are not modelled in it: debug.instrument was False",
            fix="leave out that option, and save a report again",
        )
    out.write_picture(overview_of(report).svg())


# -- diff ------------------------------------------------------------------------------------------


FAILED = 3
"""Exit code for a failed check."""

WRONG = 2
"""Exit code for a wrong command line."""


def draw_diff(arguments: argparse.Namespace, out: Destination) -> int:
    """Write the changes between two reports; return 3 if a check fails."""
    files = arguments.before, arguments.after
    before, after = load_each(arguments, *files)
    try:
        checked = outcomes(before.report, after.report, arguments.checks)
    except UnknownName as error:
        print(f"poplite-viz: {error}", file=sys.stderr)
        return WRONG
    diff = before.report.diff(after.report)
    comparison = Comparison(column_names(*files), diff, tuple(checked), arguments.top)
    failing = [word for each in arguments.checks for word in ("--fail-if", each.text)]
    out.draw(comparison, arguments, "diff", *files, *build_flags(arguments), *failing)
    if out.path is not None:  # print the checks as well
        write_stdout(comparison.checks_text())
    return FAILED if any(each.failed for each in checked) else 0


# -- trace -----------------------------------------------------------------------------------------


def draw_trace(arguments: argparse.Namespace, out: Destination) -> None:
    """Write the order of the steps of a run."""
    trace = _trace(arguments)
    out.write(trace.to_json(arguments.tiles))
    if not trace.is_complete and not out.quiet:
        limit = f"{10 * arguments.limit}"
        more = command("trace", arguments.target, *build_flags(arguments), "--limit", limit)
        print(f"recorded the first {arguments.limit:,} steps; for more: {more}", file=sys.stderr)


def _trace(arguments: argparse.Namespace) -> Trace:

    target, given, name = arguments.target, arguments.given, arguments.program
    run, vertices = arguments.execute, arguments.vertices
    limits = {"tracing": arguments.limit, "timeout": arguments.timeout}
    loaded = load(target, given, name, run=run, vertices=vertices, **limits)
    if loaded.trace is not None:
        return loaded.trace
    trace = trace_of(loaded.report)
    if trace.steps:
        steps = len(trace.steps)
        trace.steps, trace.is_complete = trace.steps[: arguments.limit], steps <= arguments.limit
        return trace
    saved = "call report.save(FILE, trace) with the trace from engine.tracing()"
    what = f"{arguments.target!r} has no recorded order of steps"
    found, fix = "none was saved with the report", saved
    if loaded.note:
        what, found = (
            f"{arguments.target!r} is not run: {loaded.report.note}",
            "a trace needs a run",
        )
        fix = command("trace", arguments.target, *build_flags(arguments), "--run")
    elif loaded.graph is not None:
        found, fix = (
            "a saved graph is not run",
            f"run poplite-viz trace file.py:callable, or {saved}",
        )
    raise file_error(what, found=found, fix=fix)


# -- sweep -----------------------------------------------------------------------------------------


def draw_sweep(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw a measure of a sweep."""
    grid = sweep_grid(Sweep.load(arguments.target), arguments.by, arguments.over)
    out.draw(grid, arguments)
