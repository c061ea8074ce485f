"""`addCodelets` of the libraries: nothing has to be added to a graph before it is used."""

from __future__ import annotations

from collections.abc import Callable

from poplite.compat.arguments import checked
from poplite.graph.graph import Graph


def library_codelets(library: str) -> Callable[[Graph], None]:
    """Return a library's `addCodelets`."""

    @checked(library)
    def addCodelets(graph: Graph) -> None:
        """Do nothing: each operation makes the vertex classes that it needs.

        Args:
            graph: any graph.

        Raises:
            ElementTypeError: for anything but a graph.

        >>> import poplite as pl
        >>> from poplite.compat import popops
        >>> popops.addCodelets(pl.Graph())
        """

    return addCodelets
