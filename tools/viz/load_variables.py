"""The variables of TARGET or of a saved file, for pictures that need nothing else of a graph."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from poplite.tools.viz.load_report import load_saved
from poplite.tools.viz.load_target import load_target

if TYPE_CHECKING:
    from poplite.graph.graph import Graph


def load_variables(arguments: argparse.Namespace, names: Iterable[str]) -> Graph:
    """Return the graph that a target builds, or one of the variables of a saved file.

    Raises FileLoadError when the file or target cannot be read, and UnknownName when a file does
    not know where a variable of these names lies.
    """
    saved = load_saved(arguments)
    if saved is None:
        return load_target(arguments.target, arguments.given, None, arguments.vertices)[0]
    from poplite.viz.tensor.of_report import graph_of_variables

    return graph_of_variables(saved, names)
