"""What runs `poplite-viz summary`, `program`, `graph` and `lint`."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from poplite.errors import FileLoadError, UnknownName
from poplite.files import write_text
from poplite.tools.viz.flags import (
    build_flags,
    command,
    drawn_width,
    file_error,
    fitted,
    option_error,
)
from poplite.tools.viz.load_report import LoadedGraph, is_report_file, load_graph
from poplite.tools.viz.load_target import first_steps, in_order, load_programs
from poplite.tools.viz.output import Destination
from poplite.viz.dataflow.graph import Dataflow, Excerpt, dataflow_of, dataflow_of_report
from poplite.viz.dataflow.picture import FIRST_LINE, DataflowPicture, dataflow_dot
from poplite.viz.draw.layouts import graphviz_links, graphviz_picture
from poplite.viz.program import MOST_LINES, ProgramTree, program_tree
from poplite.viz.summary import summary_of, summary_of_report

# -- summary ---------------------------------------------------------------------------------------


def draw_summary(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw what a graph holds, and whether it fits."""
    loaded = load_graph(arguments)
    if loaded.graph is not None:
        out.draw(summary_of(loaded.graph, loaded.chosen), arguments)
    elif loaded.report is not None:
        out.draw(summary_of_report(loaded.report, loaded.name), arguments)


# -- program ---------------------------------------------------------------------------------------


def draw_program(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the tree of a program, or of several as text."""
    loaded = load_graph(arguments)
    if not loaded.programs:
        raise file_error(
            f"{arguments.target!r} must return a program; found a Graph alone",
            found=f"it returned {loaded.graph!r}",
            fix="define it as def build() -> tuple[Graph, Program]: ... return graph, program",
        )
    if len(loaded.chosen) > 1 and out.format != "txt":
        named = *build_flags(arguments), "--program", next(iter(loaded.chosen))
        raise option_error(
            f"{out.format} shows one program, but {arguments.target!r} has {len(loaded.chosen)}",
            found=f"its programs are {', '.join(map(repr, loaded.chosen))}",
            fix=command("program", arguments.target, *named),
        )
    all_lines = out.format == "json" or (out.format == "txt" and out.path is not None)
    trees = _trees(loaded, arguments, all_lines=all_lines)
    if out.format == "txt":
        style = out.text_style(arguments)
        out.write("\n".join(each.text(style) for each in trees))
    else:
        out.draw(trees[0], arguments)


def _trees(
    loaded: LoadedGraph, arguments: argparse.Namespace, *, all_lines: bool
) -> list[ProgramTree]:
    """Return the trees to draw; with several programs, only those with a matching step."""
    firsts, trees, refusals = first_steps(loaded.programs), [], []
    for name, program in loaded.chosen.items():
        try:
            tree = program_tree(
                program,
                name=name if len(loaded.chosen) > 1 else "",
                depth=arguments.depth,
                match=arguments.match,
                most=None if all_lines else MOST_LINES,
                first=firsts[name],
                counts=arguments.counts,
            )
            trees.append(tree)
        except UnknownName as error:
            refusals.append(error)
    if not trees:
        raise refusals[0]
    return trees


# -- graph -----------------------------------------------------------------------------------------


LEAST_NODES = 10
INSTALL = 'pip install "poplite[dot]"'


def draw_graph(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the dataflow graph, by Graphviz or the built-in layout."""
    if out.format in ("svg", "png", "pdf"):
        _check_layout(arguments.layout, out.format)
    flow = _flow(arguments)

    if flow.notice:
        more = f"--max-nodes {flow.full_size} shows all nodes"
        print(f"poplite-viz: {flow.notice}; {more}", file=sys.stderr)
    match out.format:
        case "dot":
            out.write(dataflow_dot(flow))
        case "svg" | "png" | "pdf":
            _lay_out(flow, out, arguments.layout)
        case _:
            out.draw(DataflowPicture(flow), arguments)


def _flow(arguments: argparse.Namespace) -> Dataflow:
    """Return the data flow of a target or a saved file."""
    excerpt = Excerpt(arguments.around, arguments.hops, arguments.scope, arguments.max_nodes)
    loaded = load_graph(arguments)
    if loaded.graph is None:
        assert loaded.report is not None
        return dataflow_of_report(loaded.report, loaded.name, excerpt=excerpt)
    first = first_steps(loaded.programs).get(loaded.name or "", 1)
    return dataflow_of(loaded.graph, in_order(loaded.chosen), excerpt=excerpt, first=first)


def _check_layout(layout: str, form: str) -> None:
    """Reject an unavailable layout before the user's program runs."""
    if layout == "builtin" and form == "pdf":
        raise file_error(
            f"the built-in layout draws svg and png, not {form}",
            fix=f"pass --format svg, or --layout dot for {form}",
        )
    if (layout == "dot" or form == "pdf") and not any(graphviz_links()):
        raise _no_graphviz(form, "Graphviz was not found")


def _no_graphviz(form: str, reason: str) -> FileLoadError:
    return file_error(
        f"cannot draw {form} with dot: {reason}",
        found="neither the program dot nor the package pygraphviz was found",
        fix=f"run {INSTALL}, or install Graphviz, or draw svg with --layout builtin",
    )


def _lay_out(flow: Dataflow, out: Destination, layout: str) -> None:
    """Write a picture with Graphviz or the built-in layout."""
    dot = dataflow_dot(flow)
    if layout == "builtin":
        out.write_picture(DataflowPicture(flow).svg())
        return
    content, reason = graphviz_picture(dot, out.format)
    if content is not None:
        out.write(content)
        return
    if layout == "dot" or out.format == "pdf":
        raise _no_graphviz(out.format, reason)
    out.write_picture(DataflowPicture(flow).svg())
    written = _write_dot(out.path, dot)
    if not out.quiet:
        drew = f"drew '{out.path}'" if out.path else "drew it"
        also, run = "", ""
        if written:
            words = ["dot", f"-T{out.format}", str(written), "-o", str(out.path)]
            also, run = f" and wrote '{written}'", f" and run  {shlex.join(words)}"
        print(f"poplite-viz: {reason}; {drew} with the built-in layout{also}.", file=sys.stderr)
        print(f"  for a better layout: {INSTALL}   or install Graphviz{run}", file=sys.stderr)


def _write_dot(picture: Path | None, dot: str) -> Path | None:
    """Write DOT text next to a picture, unless the user has a different file with that name."""
    if picture is None or picture.suffix.lower() not in (".svg", ".png"):  # such as /dev/stdout
        return None
    path = picture.with_suffix(".gv")
    ours = path.is_file() and path.read_bytes().startswith(FIRST_LINE.encode())
    return write_text(path, dot) if ours or not path.exists() else None


# -- lint ------------------------------------------------------------------------------------------


def draw_lint(arguments: argparse.Namespace, out: Destination) -> None:
    """Write what a real tile would emulate, copy first, or get wrong."""
    if is_report_file(arguments.target):
        raise option_error(
            "lint needs code and edges, which a saved report or executable does not contain",
            found=f"{arguments.target!r} is such a file",
            fix="pass file.py:callable, which builds the graph, or a file from graph.save",
        )
    from poplite.ipu.linting import findings_json, findings_text, is_placed, lint

    graph, _ = load_programs(arguments.target, arguments.given, arguments.vertices)
    found = lint(graph)
    if out.format == "json":
        out.write(findings_json(found))
    else:
        unplaced = sum(not is_placed(graph, each) for each in graph.compute_sets)
        out.write(fitted(findings_text(found, unplaced), drawn_width(arguments)))
