"""The summary of a graph and the tree of a program, as functions of the things drawn.

print(summary_text(graph, program))
print(program_text(program, match="blur", counts=True))
program_svg(program).write("program.svg")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.program.svg import draw_program_svg
from poplite.viz.program.text import draw_program_text
from poplite.viz.program.tree import MOST_LINES, program_tree
from poplite.viz.summary import summary_of
from poplite.viz.summary_svg import draw_summary_svg
from poplite.viz.summary_text import draw_summary_text

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program


def summary_text(
    graph: Graph, program: Program | None = None, *, width: int = 80, color: bool = False
) -> str:
    """Say what a graph holds, which tile holds most, and whether that fits.

    Args:
        graph: the graph.
        program: what runs on it, if it is known.
        width: columns to fit.
        color: write escape codes for a terminal.

    Returns:
        Lines, the last one ended.

    >>> from poplite.graph import Graph
    >>> summary_text(Graph()).splitlines()[0]
    'summary: fits'
    """
    style = Style(color=color)
    return draw_summary_text(summary_of(graph, program), width=width, style=style)


def summary_svg(graph: Graph, program: Program | None = None) -> SvgText:
    """Draw what a graph holds, and how full its fullest tile is, as SVG.

    Args:
        graph: the graph.
        program: what runs on it, if it is known.

    Returns:
        The picture.

    >>> from poplite.graph import Graph
    >>> summary_svg(Graph())[:4]
    '<svg'
    """
    return draw_summary_svg(summary_of(graph, program))


def program_text(
    program: Program,
    *,
    depth: int | None = None,
    match: str | None = None,
    counts: bool = False,
    width: int = 80,
    color: bool = False,
    full: bool = False,
) -> str:
    """Draw a program as a tree, as text.

    Args:
        program: the whole program.
        depth: deepest level that is drawn; what lies below is counted instead.
        match: a regular expression; only steps whose line it is found in are drawn, with
            what they stand in.
        counts: write how often each step runs.
        width: columns to fit.
        color: write escape codes for a terminal.
        full: draw all lines, however many.

    Returns:
        Lines, the last one ended.

    Raises:
        UnknownName: when no step matches.
        re.error: when `match` is no regular expression.

    >>> from poplite.program import Repeat, Sequence
    >>> program_text(Repeat(9, Sequence())).splitlines()[0]
    'program: 0 steps'
    """
    tree = program_tree(program, depth=depth, match=match, most=None if full else MOST_LINES)
    return draw_program_text(tree, counts=counts, width=width, style=Style(color=color))


def program_svg(
    program: Program, *, depth: int | None = None, match: str | None = None, counts: bool = False
) -> SvgText:
    """Draw a program as a tree, as SVG.

    Args:
        program: the whole program.
        depth: deepest level that is drawn; what lies below is counted instead.
        match: a regular expression; only steps whose line it is found in are drawn, with
            what they stand in.
        counts: write how often each step runs.

    Returns:
        The picture, of 300 lines at most.

    Raises:
        UnknownName: when no step matches.
        re.error: when `match` is no regular expression.

    >>> from poplite.program import Sequence
    >>> program_svg(Sequence())[:4]
    '<svg'
    """
    tree = program_tree(program, depth=depth, match=match, most=MOST_LINES)
    return draw_program_svg(tree, counts=counts)
