"""The variables of a graph in one space of element addresses, and the tiles of all addresses.

All variables share the space. An unused address follows each, so that no run of elements extends
from one variable into the next::

    variables    x: 0 0 1 1    y: 2 2 2 -              each element's tile
    addresses       0 1 2 3 4     5 6 7 8              breaks  0 2 4 5 8 9
    tiles           0 0 1 1 -     2 2 2 -              tiles   0 1 - 2 -

A view of several variables is cut by a table of their tiles. A single table of all variables would
be remade after every edit, and edits often alternate with queries. So a table is first made of the
variables below a view only; the full table is made once such tables have cost as much as it does.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.graph.mapping.tile_table import NO_TILE, TileTable, joined_table
from poplite.graph.mapping.variable_mapping import Version
from poplite.graph.storage.host_values import ElementClass
from poplite.graph.storage.names import Names
from poplite.graph.storage.tile_numbers import SomeTiles
from poplite.graph.storage.variable import Variable
from poplite.source import SourceLocation, here
from poplite.text import amount, shape_text
from poplite.view import Storage, View, storages

MAX_ADDRESS = 1 << 62


class Space:
    """The variables of a graph, their addresses, and the tiles of all addresses.

    Attributes:
        variables: all variables and constants, by ascending address.
        num_constants: number of constants among them.
        next_base: the first free address.
        version: changes with every edit of a variable's mapping.
        homes: by the number of a variable that was made with a virtual graph: that graph's tiles.

    >>> from poplite.graph.storage.names import Names
    >>> from poplite.types import INT
    >>> space = Space(4, Names(), 4 * 1024)
    >>> [space.make(name, INT, (4,), False) for name in "xy"]
    [<Variable 'x' int32[4]>, <Variable 'y' int32[4]>]
    >>> space.owner(5), space.owners(np.array([3, 5, 8])).tolist()
    (1, [0, 1, 1])
    """

    __slots__ = (
        "_bases",
        "_by_ending",
        "_by_name",
        "_spent",
        "_table",
        "_table_version",
        "homes",
        "memory_bytes",
        "names",
        "next_base",
        "num_constants",
        "num_tiles",
        "variables",
        "version",
    )

    def __init__(self, num_tiles: int, names: Names, memory_bytes: int) -> None:
        self.num_tiles, self.names, self.memory_bytes = num_tiles, names, memory_bytes
        self.variables: list[Variable] = []
        self.num_constants = 0
        self.next_base = 0
        self.version = Version()
        self.homes: dict[int, SomeTiles] = {}
        self._table: TileTable | None = None
        self._table_version = -1
        self._spent = 0
        self._by_name: dict[str, Variable] = {}
        self._by_ending: dict[str, list[Variable]] = {}
        self._bases = np.zeros(0, np.int64)

    def make(
        self,
        name: str,
        element_type: ElementClass,
        shape: tuple[int, ...],
        constant: bool,
        tile: int = NO_TILE,
        at: SourceLocation | None = None,
    ) -> Variable:
        """Make a variable of a checked shape, after all others.

        `name` is within the current scopes; an empty one becomes the default name. It is made
        at a line, by default the user's.
        """
        title, base, size = name or self.default_name(constant), self.next_base, math.prod(shape)
        if base + size >= MAX_ADDRESS:
            raise SizeOverflowError(
                f"'{title}': shape {shape_text(shape)} has {amount(size, 'element')}, "
                "more than addresses are left",
                found=f"a graph has {MAX_ADDRESS:,} addresses; {base:,} are used",
                fix="a smaller shape",
            )
        number, full_name = len(self.variables), self.names.unique("variable", title)
        at = at or here()
        variable = Variable.__new__(Variable)._filled(
            number, base, size, full_name, element_type, shape, constant, at, self.version, tile
        )
        self.variables.append(variable)
        self.next_base = base + size + 1
        self.num_constants += constant
        return variable

    def note_home(self, variable: Variable, home: SomeTiles | None) -> None:
        """Note the virtual graph that a variable is made with, if any."""
        if home is not None:
            self.homes[variable.id] = home

    def home_of(self, views: Iterable[View]) -> SomeTiles | None:
        """Return the virtual graph that the variables below views were made with, if it is one.

        Of several it is the one that has the tiles of all others. Constants and single elements
        count only where there is nothing else, and then only those made with a virtual graph.
        """
        if not self.homes:
            return None
        found = [
            (
                self.homes.get(each.id),
                min(view.num_elements, each.num_elements) > 1 and not each.constant,
            )
            for view in views
            for each in storages(view)
        ]
        deciding = [home for home, decides in found if decides]
        if None in deciding:
            return None
        homes = dict.fromkeys(home for home in deciding or [h for h, _ in found] if home)
        if not homes:
            return None
        widest = max(homes, key=lambda home: home.num_tiles)
        return widest if all(np.isin(home.tiles, widest.tiles).all() for home in homes) else None

    def default_name(self, constant: bool) -> str:
        """Return the name of the next variable if the user does not name it."""
        return f"{'const' if constant else 'var'}{len(self.variables)}"

    def take_back(self, variable: Variable) -> None:
        """Remove a variable and those made after it, before any tensor of them exists."""
        for made in self.variables[variable.storage.id :]:
            self.num_constants -= made.constant
            self.names.release("variable", made.name)
            self.homes.pop(made.id, None)
        del self.variables[variable.storage.id :]
        self._by_name.clear()
        self._by_ending.clear()
        self._bases = self._bases[: len(self.variables)]

    def named(self, name: str) -> list[Variable]:
        """Return the variable with a full name; else all whose names end with it after a slash.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> with graph.scope("blocks"):
        ...     w = graph.add_variable("int32", (4,), "w")
        >>> graph.space.named("w"), graph.space.named("ocks/w")
        ([<Variable 'blocks/w' int32[4]>], [])
        """
        # Names are unique, never change, and are removed only together with all later ones.
        for variable in self.variables[len(self._by_name) :]:
            self._by_name[variable.name] = variable
            self._by_ending.setdefault(variable.name.rpartition("/")[2], []).append(variable)
        if name in self._by_name:
            return [self._by_name[name]]
        alike = self._by_ending.get(name.rpartition("/")[2], [])
        return [variable for variable in alike if variable.name.endswith(f"/{name}")]

    def variable_of(self, storage: Storage) -> Variable:
        """Return the variable that owns a storage of this space."""
        variable = self.variables[storage.id]
        assert variable.storage is storage, "tensors of another graph are refused by every call"
        return variable

    def owner(self, address: int) -> int:
        """Return the number of the variable that owns an address."""
        return bisect_right(self.variables, address, key=_base) - 1

    def owners(self, addresses: Int64) -> Int64:
        """Return the number of the variable that owns each of some addresses."""
        if len(self._bases) != len(self.variables):
            self._bases = np.array([variable.storage.base for variable in self.variables], np.int64)
        return np.searchsorted(self._bases, addresses, side="right") - 1

    def table(self, touched: Sequence[Variable]) -> TileTable:
        """Return a table of tiles with at least the addresses of some variables, at least one.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x, y = (graph.add_variable("int32", (4,), mapping=tile) for tile in (3, 5))
        >>> table = graph.space.table(graph.variables)
        >>> table.breaks.tolist(), table.tiles.tolist()
        ([0, 4, 5, 9], [3, -1, 5])
        """
        if self._table is not None and self._table_version == self.version.number:
            return self._table
        self._spent += len(touched)
        if self._spent < len(self.variables):
            return joined_table((v.storage.base, v.mapping) for v in sorted(touched, key=_base))
        return self.full_table()

    def full_table(self) -> TileTable:
        """Return the table of all addresses; there must be some."""
        if self._table is not None and self._table_version == self.version.number:
            return self._table
        self._spent = 0
        held = (v for v in self.variables if v.num_elements)
        self._table = joined_table((v.storage.base, v.mapping) for v in held)
        self._table_version = self.version.number
        return self._table


def _base(variable: Variable) -> int:
    return variable.storage.base
