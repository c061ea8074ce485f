"""`poplite-viz report`: what an engine's report says, as text, as a page, as a map, or compared."""

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
    Commands,
    add_report,
    add_run,
    fitted,
    set_run,
    terminal_columns,
)

if TYPE_CHECKING:
    from poplite.report import Report
    from poplite.tools.viz.load_report import LoadedReport
    from poplite.tools.viz.output import Destination


MOST_TRACED = 10_000
"""The largest number of steps whose order `--trace` keeps."""


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "report",
        help="what runs took, or what changed from one report to another",
        description="Build, compile and run a target once, or read a file that report.save or "
        "executable.save wrote, and tell cycles, memory, and what to look at first: as text, or as "
        "a page to click on (-o FILE.html). With a second report, tell what changed.",
    )
    add_report(parser, formats=("txt", "html", "svg", "png", "json"))
    parser.add_argument("later", metavar="LATER", nargs="?", help="another one to compare with")
    add_run(parser)
    parser.add_argument("--title", metavar="T", help="of the page (default: the target)")
    parser.add_argument(
        "--open", action="store_true", help="show the page in a browser; without -o FILE a new file"
    )
    parser.set_defaults(width=terminal_columns())  # else lines are as long as they are
    parser.add_argument(
        "--trace",
        action="store_true",
        help=f"keep the order in which the first {MOST_TRACED:,} steps run",
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_each

    out = _destination(arguments)
    _check(arguments, out)
    later = [] if arguments.later is None else [arguments.later]
    tracing = MOST_TRACED if arguments.trace else None
    loaded = load_each(arguments, arguments.target, *later, tracing=tracing)
    if any(each.trace is not None and not each.trace.is_complete for each in loaded):
        print(f"poplite-viz: the order is that of the first {MOST_TRACED:,} steps", file=sys.stderr)
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
    """Return where to write; a page that is opened and has no file gets a new one."""
    from poplite.tools.viz.output import Destination

    if arguments.open and arguments.output == "-":
        arguments.format = arguments.format or "html"
    out = Destination.of(arguments)
    if not arguments.open:
        return out
    if out.path is None and out.format == "html":
        file, path = tempfile.mkstemp(prefix="poplite-", suffix=".html")
        os.close(file)
        return replace(out, path=Path(path))
    return out


def _check(arguments: argparse.Namespace, out: Destination) -> None:
    """Refuse flags that do not go together, before the user's program runs."""
    from poplite.errors import InvalidOption

    page = f"poplite-viz report {arguments.target} -o report.html"
    for flag, given in (("--open", arguments.open), ("--title", arguments.title)):
        if given and out.format != "html":
            raise InvalidOption(
                f"{flag} is for a page, and the format is {out.format}",
                at=None,
                fix=f"{page} {flag}",
            )
    if arguments.trace:
        _check_trace(arguments)
    if arguments.later is not None and out.format not in ("txt", "html"):
        raise InvalidOption(
            "two reports are compared as text, or as a page",
            at=None,
            found=f"the format is {out.format}",
            fix=f"poplite-viz report {arguments.target} {arguments.later}",
        )


def _check_trace(arguments: argparse.Namespace) -> None:
    """Refuse an order of what does not run."""
    from poplite.errors import InvalidOption

    places = [each for each in (arguments.target, arguments.later) if each is not None]
    if arguments.execute is False or all(Path(place).is_file() for place in places):
        why = "--no-run is given" if arguments.execute is False else "saved files are not run"
        raise InvalidOption(
            "--trace keeps the order in which steps run, and nothing runs",
            at=None,
            found=why,
            fix="poplite-viz report file.py:callable --run --trace, or report.save(path, trace)",
        )


# -- forms -----------------------------------------------------------------------------------------


def _page(loaded: list[LoadedReport], arguments: argparse.Namespace) -> str:
    from poplite.viz.page import report_page

    names = [_short(each) for each in (arguments.target, arguments.later) if each is not None]
    title = arguments.title or " and ".join(names)
    if len(loaded) == 1:
        return report_page(loaded[0].report, title=title, graph_svg=_graph(loaded[0]))
    if names[0] == names[1]:
        names = [arguments.target, arguments.later]
    return report_page(
        loaded[1].report,
        title=title,
        before=loaded[0].report,
        names=(names[0], names[1]),
        graph_svg=_graph(loaded[1]),
    )


def _short(place: str) -> str:
    """Return a target or file without its folder.

    >>> _short("examples/photo.py:build")
    'photo.py:build'
    """
    return place.replace(os.sep, "/").rpartition("/")[2]


def _graph(loaded: LoadedReport) -> str:
    """Return the dataflow graph of a target; of a file it is what the report knows."""
    if loaded.graph is None:
        return ""
    from poplite.program import Sequence
    from poplite.viz.dataflow.graph import dataflow_of
    from poplite.viz.forms import dataflow_forms

    program = Sequence(*(each for _, each in loaded.programs)) if loaded.programs else None
    return dataflow_forms(dataflow_of(loaded.graph, program)).svg()


def _show(out: Destination) -> None:
    assert out.path is not None
    if not webbrowser.open(out.path.resolve().as_uri()):
        print(f"poplite-viz: no browser found; open {out.path} in one", file=sys.stderr)


def _differences(
    report: Report, later: Report, arguments: argparse.Namespace, out: Destination
) -> str:
    from poplite.viz.compare.names import column_names

    names = column_names(arguments.target, arguments.later)
    text = report.diff(later).text(names, width=arguments.width)
    return fitted(text.replace("×", "x") if out.style.ascii_only else text, arguments.width)


def _draw(report: Report, arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.errors import InvalidOption
    from poplite.viz.overview import draw_overview_svg, overview_of

    if report.compilation.modelled is None:
        raise InvalidOption(
            f"{arguments.target!r} has no numbers to draw",
            at=None,
            found="cycles and memory are not modelled in it: debug.instrument was False",
            fix="leave that option out, and save a report again",
        )
    picture = draw_overview_svg(overview_of(report))
    if out.format == "png":
        out.write_png(picture)
    else:
        out.write(picture)
