"""The variables of a saved file with their tiles, as a graph that holds nothing else.

Pictures of variables and their views are made of it as of any other graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from poplite.errors import UnknownName
from poplite.executable.layout import MOST_PIECES
from poplite.graph.graph import Graph
from poplite.graph.space import variable_named
from poplite.report.compilation import Variable
from poplite.report.report import Report
from poplite.viz.names import SAVE_AGAIN, TYPES, check_known


def graph_of_variables(report: Report, names: Iterable[str] = ()) -> Graph:
    """Return a graph of the variables of a report, without their values.

    Raises UnknownName when the report does not know its variables, or there is none of one of the
    names, or its tiles are not known.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x, y = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "xy")
    >>> graph_of_variables(pl.Engine(graph, pl.Copy(x, y)).report()).tensor("x")
    <Tensor 'x' int32[8] on 4 tiles (0-3), 32 B>
    """
    check_known(report)
    graph = Graph(report.compilation.target)
    for variable in report.compilation.variables:
        kind = TYPES[variable.element_type]
        if variable.constant:
            graph.add_constant(kind, variable.shape, 0, variable.name)
        else:
            graph.add_variable(kind, variable.shape, variable.name)
        _place(graph, variable)
    known = dict(zip(graph.variables, report.compilation.variables, strict=True))
    for name in names:
        found = variable_named(graph.space, name, at=None)
        if known[found].first is None and found.num_elements:
            raise UnknownName(
                f"the file does not say on which tiles {name!r} lies",
                at=None,
                fix=f"{SAVE_AGAIN}, unless mappings have over {MOST_PIECES:,} pieces",
            )
    return graph


def _place(graph: Graph, variable: Variable) -> None:
    """Put the elements of the last variable of a graph on their tiles."""
    if variable.first is None or variable.tiles is None:
        return
    first, tile = variable.first.array(), variable.tiles.array()
    end = np.append(first[1:], math.prod(variable.shape))
    mapped = tile >= 0
    graph.variables[-1].mapping.paint_many(first[mapped], end[mapped], tile[mapped])
