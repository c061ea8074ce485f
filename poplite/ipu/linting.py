"""The public function that says what a graph would cost a tile beyond the simulator's model."""

from __future__ import annotations

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.ipu.emulation import emulated
from poplite.ipu.findings import Finding
from poplite.ipu.graph_check import check_graph
from poplite.ipu.words import are_mapped, in_memory

_OF_POPLITE = ("poplite.", "<poplite ")
"""How modules of poplite's classes begin, those that are made of expressions among them."""


def lint(graph: Graph) -> list[Finding]:
    """Return what a real tile would emulate, do with a copy, or get wrong.

    Looked at are the classes of all vertices: doubles, divisions of 64-bit ints, functions of
    `math` that compute in double, and stores of less than a word by the workers of a MultiVertex.
    Of compute sets whose vertices all have a tile and are connected to elements that have one also
    what they ask of memory: words that two vertices of a tile write, edges that are not aligned as
    their layout says, inputs that share elements with an output of their vertex, and fields that
    are copied on their tiles as the cost model says.

    Args:
        graph: any graph; it is not changed.

    Returns:
        Findings, in the order of compute sets, vertices and lines, those of the user's classes
        before those of poplite's; printed, each has the line, what is wrong and what to try.

    Raises:
        ControlProgramError: for what is no graph.
        VertexCompileError: when a `compute` is outside the dialect.

    >>> import poplite as pl
    >>> class Midpoint(pl.Vertex):
    ...     first: pl.State[pl.INT]
    ...     y: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.y = (self.first + 0.5) * 0.1
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    >>> work = graph.add_compute_set("work")
    >>> vertex = graph.add_vertex(work, Midpoint, tile=0, first=1, y=y)
    >>> [(finding.rule, finding.found) for finding in pl.ipu.lint(graph)]
    [('double', 'self.y = (self.first + 0.5) * 0.1')]
    """
    check_graph(graph, "lint(graph)")
    of_user: dict[Finding, None] = {}
    of_poplite: dict[Finding, None] = {}
    for compute_set in graph.compute_sets:
        classes = dict.fromkeys(item.vertex_class for item in compute_set.vertices.items())
        users = [cls for cls in classes if not cls.__module__.startswith(_OF_POPLITE)]
        for cls in classes:
            found = of_user if cls in users else of_poplite
            found |= dict.fromkeys(emulated(cls))
        if is_placed(graph, compute_set):
            found = of_user if users else of_poplite
            found |= dict.fromkeys(in_memory(graph, compute_set))
    return list(of_user | of_poplite)


def is_placed(graph: Graph, compute_set: ComputeSet) -> bool:
    """Return whether all vertices, and all elements behind all their fields, have a tile."""
    are_connected = all(
        vertex.tile is not None
        and len(vertex.connections) + len(vertex.state) == len(vertex.vertex_class.fields)
        for vertex in compute_set.vertices.singles()
    )
    return are_connected and are_mapped(graph, compute_set)
