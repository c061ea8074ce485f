"""Pictures of what reads and writes what, as functions of the graph and its program.

print(graph_text(graph, program))
graph_svg(graph, program, around="weights").write("weights.svg")
write_text("step.gv", graph_dot(graph, program))          then: dot -Tsvg step.gv -o step.svg
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.viz.dataflow.dot import dataflow_dot
from poplite.viz.dataflow.graph import HOPS, MAX_NODES, dataflow_of
from poplite.viz.dataflow.svg import draw_dataflow_svg
from poplite.viz.dataflow.text import draw_dataflow_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program


def graph_text(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
    width: int = 80,
    color: bool = False,
) -> str:
    """List what reads and writes what, in program order.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set to stay near.
        hops: how many edges away from it.
        scope: show only what is in it, and its neighbours.
        max_nodes: collapse scopes, then numbered names, until so many nodes are left.
        width: columns to fit.
        color: write escape codes for a terminal.

    Returns:
        Lines, the last one ended.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program is of another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("int32", (4,), "x", mapping=0)
    >>> print(graph_text(graph).splitlines()[-1])
      'x'  int32[4], 16 B, not used, on 1 tile (0)
    """
    flow = dataflow_of(graph, program, around=around, hops=hops, scope=scope, max_nodes=max_nodes)
    return draw_dataflow_text(flow, width=width, style=Style(color=color))


def graph_svg(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
) -> SvgText:
    """Draw what reads and writes what, by the built-in layout.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set to stay near.
        hops: how many edges away from it.
        scope: show only what is in it, and its neighbours.
        max_nodes: collapse scopes, then numbered names, until so many nodes are left.

    Returns:
        The picture.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program is of another graph.

    >>> from poplite.graph import Graph
    >>> graph_svg(Graph())[:4]
    '<svg'
    """
    return draw_dataflow_svg(
        dataflow_of(graph, program, around=around, hops=hops, scope=scope, max_nodes=max_nodes)
    )


def graph_dot(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
) -> str:
    """Write what reads and writes what in Graphviz's language.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set to stay near.
        hops: how many edges away from it.
        scope: show only what is in it, and its neighbours.
        max_nodes: collapse scopes, then numbered names, until so many nodes are left.

    Returns:
        Lines, the last one ended.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program is of another graph.

    >>> from poplite.graph import Graph
    >>> "digraph {" in graph_dot(Graph())
    True
    """
    return dataflow_dot(
        dataflow_of(graph, program, around=around, hops=hops, scope=scope, max_nodes=max_nodes)
    )
