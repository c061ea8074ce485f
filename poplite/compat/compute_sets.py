"""Compute sets where PopLibs' functions take them in the place of a program.

    popops::cast(graph, src, dst, cs)                    vertices beside those that cs has
    popops::reduce(graph, in, {0}, params, css)          of each step in another one of a list

Other functions refuse them: their steps are more than vertices.
"""

from __future__ import annotations

from typing import TypeAlias

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.program import Sequence as Steps
from poplite.program.recording import ComputeSetList
from poplite.text import clipped, of_type

Place: TypeAlias = Steps | ComputeSet | None
"""Where the steps of a function go; None for the block that is open."""

Places: TypeAlias = Steps | list[ComputeSet] | None


def one_set(what: str, graph: Graph, place: Place) -> Steps | None:
    """Return what takes the step of a function: a program as it is, and a compute set as one."""
    if not isinstance(place, ComputeSet):
        return place
    return ComputeSetList([checked_set(what, graph, place)], most=1)


def list_of_sets(what: str, graph: Graph, place: Places) -> Steps | None:
    """Return what takes the steps of a function: a program as it is, a list of sets as one.

    What the list lacks is appended to it.
    """
    if isinstance(place, ComputeSet):
        raise ControlProgramError(
            f"{what}: compute set '{place.name}' in place of a list of them",
            found="its steps are compute sets, of which those that are missing are appended",
            fix=f"css = [cs]; {what}(..., css), and Execute each of css in order",
        )
    if not isinstance(place, list):
        return place
    for each in place:
        checked_set(what, graph, each)
    return ComputeSetList(place)


def checked_set(what: str, graph: Graph, each: object) -> ComputeSet:
    """Return a compute set of a graph, or raise."""
    if not isinstance(each, ComputeSet):
        raise ElementTypeError(
            f"{what}: {clipped(each)} where a compute set is asked for",
            found=of_type(each),
            fix="a compute set, as graph.add_compute_set makes it",
        )
    if each.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{what}: compute set '{each.name}' belongs to another graph",
            found=f"this is {graph!r}, the compute set's is {each.graph!r}",
            fix="graph.add_compute_set(name) of the graph of the tensors",
        )
    return each
