"""Variables and constants as columns: names, types, shapes, tiles and first values.

variable.tile      the tile of all elements; or, where there are several,
variable.breaks    where each part on one tile begins, and the end, and
variable.tiles     the tile of each part, -1 for none
variable.values    where first values begin; one for all elements where `variable.uniform`
variable.host      whether the host reads and writes it
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from poplite.graph.storage.variable import Variable
from poplite.ipu.tables.copied_inputs import CopiedInput
from poplite.ipu.tables.series import NONE, ElementBytes, SeriesTable, Texts
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    QUARTER,
    QUARTER_METADATA,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    ElementType,
)

TYPES: tuple[type[ElementType[Any]], ...] = (
    BOOL,
    CHAR,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    SHORT,
    UNSIGNED_SHORT,
    INT,
    UNSIGNED_INT,
    LONGLONG,
    UNSIGNED_LONGLONG,
    HALF,
    FLOAT,
)
"""Element types by number, in the order in which the host program names them."""


def type_number(element: type[ElementType[Any]]) -> int:
    """Return the number of an element type; quarters are moved as bytes, and not computed with.

    >>> type_number(FLOAT), type_number(QUARTER) == type_number(UNSIGNED_CHAR)
    (11, True)
    """
    return TYPES.index(UNSIGNED_CHAR if element in (QUARTER, QUARTER_METADATA) else element)


class VariableColumns:
    """Writes down variables, by rising address.

    Attributes:
        end: an address behind all of them.
    """

    def __init__(self, texts: Texts, series: SeriesTable, values: ElementBytes) -> None:
        self._texts, self._series, self._values = texts, series, values
        self._columns: defaultdict[str, list[int]] = defaultdict(list)
        self._dims: list[int] = []
        self.end = 0

    def add(self, variable: Variable, *, hosted: bool) -> None:
        """Write down a variable of the graph."""
        tile, breaks, tiles = _placed(variable, self._series)
        at, uniform = _first_values(variable, self._values)
        self._dims += variable.shape
        self._row(
            name=self._texts.number(variable.name),
            type=type_number(variable.element_type),
            constant=int(variable.constant),
            base=variable.base,
            count=variable.num_elements,
            tile=tile,
            breaks=breaks,
            tiles=tiles,
            values=at,
            uniform=uniform,
            host=int(hosted),
        )

    def add_copy(self, copied: CopiedInput) -> None:
        """Write down a variable for what a field reads a copy of."""
        self._dims.append(copied.num_elements)
        self._row(
            name=self._texts.number(copied.name),
            type=type_number(copied.element_type),
            constant=0,
            base=copied.base,
            count=copied.num_elements,
            tile=NONE,
            breaks=self._series.listed(copied.breaks),
            tiles=self._series.listed(copied.tiles),
            values=NONE,
            uniform=0,
            host=0,
        )

    def columns(self) -> dict[str, Sequence[int]]:
        """Return the columns of all variables."""
        names = "name type constant base count tile breaks tiles values uniform host dims_end"
        own = {f"variable.{name}": self._columns[name] for name in names.split()}
        return {**own, "dim.size": self._dims}

    def _row(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self._columns[name].append(number)
        self._columns["dims_end"].append(len(self._dims))
        self.end = max(self.end, numbers["base"] + numbers["count"] + 1)


def _placed(variable: Variable, series: SeriesTable) -> tuple[int, int, int]:
    tile = variable.only_tile
    if tile is not None:
        return tile, NONE, NONE
    breaks, tiles = variable.mapping.pieces()
    if len(tiles) == 1:
        return int(tiles[0]), NONE, NONE
    return NONE, series.listed(breaks), series.listed(tiles)


def _first_values(variable: Variable, values: ElementBytes) -> tuple[int, int]:
    array = variable.initial_value
    if array is None and variable.constant:
        array = np.zeros(variable.shape, variable.element_type)
    if array is None:
        return NONE, 0
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    is_uniform = len(flat) > 0 and bool((bits == bits[0]).all())
    return values.add(flat[:1] if is_uniform else flat), int(is_uniform)
