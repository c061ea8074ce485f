"""What the public functions of this package are given."""

from __future__ import annotations

from poplite.errors import ControlProgramError
from poplite.graph.graph import Graph
from poplite.text import clipped, of_type


def check_graph(graph: object, call: str) -> None:
    """Refuse what is no graph; `call` is what the user writes with one."""
    if not isinstance(graph, Graph):
        raise ControlProgramError(
            f"{call.partition('(')[0]}: {clipped(graph)} is not a graph",
            found=of_type(graph),
            fix=f"pl.ipu.{call}",
        )
