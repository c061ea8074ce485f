"""`poplite-viz trace`: what ran in which order, for Perfetto."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import Commands, add_report, build_flags, command, count, set_run

if TYPE_CHECKING:
    from poplite.report.trace import Trace


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "trace",
        help="what ran in which order, for Perfetto",
        description="Run a program and write what its steps, phases and some tiles did in time, "
        "for https://ui.perfetto.dev. A saved report is one that report.save(FILE, trace) wrote.",
    )
    add_report(parser, formats=("json",))
    parser.add_argument(
        "--run",
        dest="execute",
        action="store_true",
        default=None,
        help="run it with zeros in its streams; else one that needs streams is not run",
    )
    parser.add_argument(
        "--tiles",
        metavar="N,...",
        type=_tiles,
        help="tiles with tracks of their own (default: the busiest, the least busy, one between)",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=count,
        default=10_000,
        help="steps that are recorded (default: 10,000)",
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    trace = _trace(arguments)
    out.write(trace.to_json(arguments.tiles))
    if not trace.is_complete and not out.quiet:
        limit = f"{10 * arguments.limit}"
        more = command("trace", arguments.target, *build_flags(arguments), "--limit", limit)
        print(f"the first {arguments.limit:,} steps; for more: {more}", file=sys.stderr)
    return 0


def _trace(arguments: argparse.Namespace) -> Trace:
    from poplite.errors import FileLoadError
    from poplite.report.trace import trace_of
    from poplite.tools.viz.load_report import load

    loaded = load(
        arguments.target,
        arguments.given,
        arguments.program,
        run=arguments.execute,
        vertices=arguments.vertices,
        tracing=arguments.limit,
    )
    if loaded.trace is not None:
        return loaded.trace
    trace = trace_of(loaded.report)
    if trace.steps:
        steps = len(trace.steps)
        trace.steps, trace.is_complete = trace.steps[: arguments.limit], steps <= arguments.limit
        return trace
    saved = "report.save(FILE, trace), with the trace of engine.tracing()"
    what = f"{arguments.target!r} has no order of steps"
    found, fix = "none was saved with the report", saved
    if loaded.note:
        found, what = (
            "a trace is of a run",
            f"{arguments.target!r} is not run: {loaded.report.note}",
        )
        fix = command("trace", arguments.target, *build_flags(arguments), "--run")
    elif loaded.graph is not None:
        found = "of a saved graph nothing is run"
        fix = f"poplite-viz trace file.py:callable, which runs it, or {saved}"
    raise FileLoadError(what, at=None, found=found, fix=fix)


def _tiles(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} are not numbers of tiles, as in 0,7")
    return [int(part) for part in parts]
