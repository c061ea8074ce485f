"""`poplite-viz report`, `diff`, `trace`: show, compare, or trace reports."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    SAVED,
    add_call_arguments,
    add_number,
    add_output,
    add_program,
    add_report,
    add_run,
    add_vertices,
    build_flags,
    command,
    file_error,
    fitted,
    option_error,
    set_drawing,
    set_run,
    terminal_columns,
)

if TYPE_CHECKING:
    from poplite.report import Report
    from poplite.report.trace import Trace
    from poplite.tools.viz.load_report import LoadedReport
    from poplite.tools.viz.output import Destination
    from poplite.viz.compare import Check

# -- report ----------------------------------------------------------------------------------------


MOST_TRACED = 10_000
"""Maximum number of steps whose order `--trace` records."""


def report_command(parser: argparse.ArgumentParser) -> None:
    """Show the costs of runs, or the changes from one report to another.

    Build, compile and run a target once, or read a file that report.save or executable.save wrote,
    and show cycles, memory, and the main findings: as text, or as an interactive page (-o
    FILE.html). With a second report, show the changes.
    """
    add_report(parser, formats=("txt", "html", "svg", "png", "json"))
    parser.add_argument("later", metavar="LATER", nargs="?", help="a later report for comparison")
    add_run(parser)
    parser.add_argument("--title", metavar="T", help="title of the page (default: the target)")
    what = "show the page in a browser; without -o FILE in a new file"
    parser.add_argument("--open", action="store_true", help=what)
    parser.set_defaults(width=terminal_columns())  # with None, lines are not folded
    what = f"record the order in which the first {MOST_TRACED:,} steps run"
    parser.add_argument("--trace", action="store_true", help=what)
    set_run(parser, _report)


def _report(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_each

    out = _destination(arguments)
    _check(arguments, out)
    later = [] if arguments.later is None else [arguments.later]
    tracing = MOST_TRACED if arguments.trace else None
    loaded = load_each(arguments, arguments.target, *later, tracing=tracing)
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
    from poplite.tools.viz.output import Destination

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
    for flag, given in (("--open", arguments.open), ("--title", arguments.title)):
        if given and out.format != "html":
            raise option_error(
                f"{flag} needs a page; found format {out.format}", fix=f"run {page} {flag}"
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
    from poplite.viz.page import report_page

    places = [each for each in (arguments.target, arguments.later) if each is not None]
    names = [each.replace(os.sep, "/").rpartition("/")[2] for each in places]  # without folders
    title, graph = arguments.title or " and ".join(names), _graph(loaded[-1])
    if len(loaded) == 1:
        return report_page(loaded[0].report, title=title, graph_svg=graph)
    one, other = names if names[0] != names[1] else places
    before, after = (each.report for each in loaded)
    both = (one, other)
    return report_page(after, title=title, before=before, names=both, graph_svg=graph)


def _graph(loaded: LoadedReport) -> str:
    """Return the dataflow graph of a target, or for a file the one in its report."""
    if loaded.graph is None:
        return ""
    from poplite.tools.viz.load_target import in_order
    from poplite.viz.dataflow.graph import dataflow_of
    from poplite.viz.dataflow.picture import dataflow_forms

    program = in_order(dict(loaded.programs))
    return dataflow_forms(dataflow_of(loaded.graph, program)).svg()


def _show(out: Destination) -> None:
    assert out.path is not None
    if not webbrowser.open(out.path.resolve().as_uri()):
        print(f"poplite-viz: no browser found; open {out.path} in one", file=sys.stderr)


def _differences(
    report: Report, later: Report, arguments: argparse.Namespace, out: Destination
) -> str:
    from poplite.viz.compare import column_names

    names = column_names(arguments.target, arguments.later)
    text = report.diff(later).text(names, width=arguments.width)
    return fitted(text.replace("×", "x") if out.style.ascii_only else text, arguments.width)


def _draw(report: Report, arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.viz.summary import overview_of

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


def diff_command(parser: argparse.ArgumentParser) -> None:
    """Show the changes from one report to another, with checks for CI.

    Print the changes from A to B: cycles, steps, phases, memory. With --fail-if, check the changes;
    the exit code is 3 if a check fails.

    NAME of --fail-if: cycles, fullest (bytes of the fullest tile), bytes (of all tiles), balance
    (percent), a phase (compute, copy, exchange, 'global exchange', 'host exchange', sync), a part
    of time (work, 'idle workers', waiting), step:NAME, kind:NAME (of memory). OP: > or <. AMOUNT:
    +5% or +1000 for a change, 600000 for the later number.
    """
    for name, which in (("before", "A"), ("after", "B")):
        parser.add_argument(name, metavar=which, help=SAVED)
    parser.add_argument(
        "--fail-if",
        metavar="NAME OP AMOUNT",
        dest="checks",
        type=_parsed_check,
        action="append",
        default=[],
        help="fail if this is true, such as 'cycles>+5%%'; may be repeated",
    )
    add_number(parser, "--top", "number of changes of each kind", 20)
    add_call_arguments(parser)
    add_program(parser)
    add_vertices(parser)
    add_output(parser, formats=("txt", "svg", "png", "md", "html", "json"))
    add_run(parser)
    set_drawing(parser, _diff)


def _diff(arguments: argparse.Namespace, out: Destination) -> int:
    from poplite.errors import UnknownName
    from poplite.tools.viz.load_report import load_each
    from poplite.tools.viz.output import write_stdout
    from poplite.viz.compare import Comparison, column_names, outcomes

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
    if not out.is_stdout:  # print the checks as well
        write_stdout(comparison.checks_text())
    return FAILED if any(each.failed for each in checked) else 0


def _parsed_check(text: str) -> Check:
    from poplite.viz.compare import parsed

    try:
        return parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# -- trace -----------------------------------------------------------------------------------------


def trace_command(parser: argparse.ArgumentParser) -> None:
    """Write the order of steps in a run, for Perfetto.

    Run a program and write the times of its steps and phases and of some tiles, for
    https://ui.perfetto.dev. A saved report must be one that report.save(FILE, trace) wrote.
    """
    add_report(parser, formats=("json",))
    what = "run it with zeros in its streams (default: run it only if it needs no data)"
    parser.add_argument("--run", dest="execute", action="store_true", default=None, help=what)
    what = "tiles with their own tracks (default: the busiest, the least busy, one in between)"
    parser.add_argument("--tiles", metavar="N,...", type=_tile_list, help=what)
    add_number(parser, "--limit", "number of steps to record", 10_000)
    set_drawing(parser, _traced)


def _traced(arguments: argparse.Namespace, out: Destination) -> None:

    trace = _trace(arguments)
    out.write(trace.to_json(arguments.tiles))
    if not trace.is_complete and not out.quiet:
        limit = f"{10 * arguments.limit}"
        more = command("trace", arguments.target, *build_flags(arguments), "--limit", limit)
        print(f"recorded the first {arguments.limit:,} steps; for more: {more}", file=sys.stderr)


def _trace(arguments: argparse.Namespace) -> Trace:
    from poplite.report.trace import trace_of
    from poplite.tools.viz.load_report import load

    target, given, name = arguments.target, arguments.given, arguments.program
    run, vertices = arguments.execute, arguments.vertices
    loaded = load(target, given, name, run=run, vertices=vertices, tracing=arguments.limit)
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


def _tile_list(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"must be numbers of tiles, such as 0,7; found {text!r}")
    return [int(part) for part in parts]
