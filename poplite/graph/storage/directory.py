"""The tiles of all addresses of a graph, for views of several variables.

    variables    x: 0 0 1 1    y: 2 2 2 -
    addresses       0 1 2 3 4     5 6 7 8          breaks  0 2 4 5 8 9
    tiles           0 0 1 1 -     2 2 2 -          tiles   0 1 - 2 -

One table for all variables would be made anew after every edit, and a graph is often edited and
asked in turn.  So a table is first made of the variables that a view touches; the whole one is
made when as much has been spent on such tables as it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from poplite.graph.mapping.edits import Version
from poplite.graph.mapping.tile_table import TileTable, joined_table

if TYPE_CHECKING:
    from poplite.graph.storage.variable import Variable


class Directory:
    """The tiles of a graph's addresses.

    Args:
        variables: the graph's own list, by rising base.

    Attributes:
        version: counts edits of the variables' mappings.
    """

    __slots__ = ("_made_of", "_spent", "_table", "_variables", "version")

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.version = Version()
        self._variables = variables
        self._table: TileTable | None = None
        self._made_of = -1
        self._spent = 0

    def table(self, touched: Sequence[Variable]) -> TileTable:
        """Return a table that has at least the addresses of some variables.

        Args:
            touched: variables of the graph, at least one.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x, y = (graph.add_variable("int32", (4,), mapping=tile) for tile in (3, 5))
        >>> table = Directory(graph.variables).table(graph.variables)
        >>> table.breaks.tolist(), table.tiles.tolist()
        ([0, 4, 5, 9], [3, -1, 5])
        """
        if self._table is not None and self._made_of == self.version.number:
            return self._table
        self._spent += len(touched)
        if self._spent < len(self._variables):
            ordered = sorted(touched, key=lambda variable: variable.storage.base)
            return joined_table((v.storage.base, v.mapping) for v in ordered)
        return self.whole()

    def whole(self) -> TileTable:
        """Return the table of all addresses; there are some."""
        if self._table is not None and self._made_of == self.version.number:
            return self._table
        self._spent = 0
        held = (v for v in self._variables if v.num_elements)
        self._table = joined_table((v.storage.base, v.mapping) for v in held)
        self._made_of = self.version.number
        return self._table
