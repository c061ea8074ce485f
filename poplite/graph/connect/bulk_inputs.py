"""Numbers and tiles for many vertices: for how many they are, and how they are kept.

Of all vertices, or of each::

    tile=0       tile=[0, 0, 1]
    k=7          k=[1, 2, 3]                            State or Input of a number
                 v=array of (3, 2)  v=[[1], [], [2, 3]]     State of a Vector
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.series import compact, constant
from poplite.errors import GraphConnectionError, InvalidTileMapping, PopliteError
from poplite.graph.compute_sets.vertex_block import StateValues, Vectors
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.graph.connect.bulk_checks import Probe
from poplite.graph.connect.rules import as_state, check_tensor, takes_number
from poplite.graph.mapping.user_mapping import no_such_tile
from poplite.graph.storage.host_values import elements, scalar
from poplite.graph.storage.tile_numbers import TileNumbers
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.text import clipped, counted
from poplite.vertex.fields import Field

Array = npt.NDArray[Any]


def count_of(probe: Probe, field: Field, value: Any) -> int | None:
    """Return how many vertices a value is for; None where it is for any number of them.

    Args:
        probe: names the class.
        field: the field.
        value: what the user gave.

    Raises:
        GraphConnectionError: for another shape.
        ElementTypeError: for something that cannot stand behind the field.
    """
    if not field.is_edge:
        return _count_of_state(probe, field, value)
    if isinstance(value, Tensor):
        if value.rank != field.depth + 1:
            raise _misshapen(probe, field, f"'{value.name}' has shape {value.shape}")
        return value.shape[0]
    if isinstance(value, Slices | list | tuple):
        return len(value)
    if isinstance(value, np.ndarray) and field.role == "input" and field.depth == 0:
        return _count_of_array(probe, field, value)
    if not takes_number(field, value):
        check_tensor(probe.vertex, field, value, field.depth, probe.at)  # refuses it
    return None


def _count_of_state(probe: Probe, field: Field, value: Any) -> int | None:
    if isinstance(value, Tensor | Slices):
        as_state(probe.vertex, field, value, probe.at)  # refuses it
    if field.depth and isinstance(value, list | tuple):
        if not all(np.ndim(item) == 1 for item in value):
            raise _misshapen(probe, field, "a list of other things than lists is given")
        return len(value)
    return _count_of_array(probe, field, np.asarray(value))


def _count_of_array(probe: Probe, field: Field, array: Array) -> int | None:
    if array.ndim == 0 and field.depth == 0:
        return None
    if array.ndim != field.depth + 1:
        raise _misshapen(probe, field, f"an array of shape {array.shape} is given")
    return len(array)


def _misshapen(probe: Probe, field: Field, what: str) -> GraphConnectionError:
    shape = ("(n,)", "(n, length)", "(n, rows, length)")[field.depth]
    remedy = (
        "one element for each vertex; of one for all, t.reshape((1,)).broadcast(n, 0)",
        "one row for each vertex, such as t.reshape((n, -1)), or t.slices(intervals)",
        "a matrix for each vertex, or a list of lists of 1-D tensors",
    )[field.depth]
    of_state = f"an array of shape {shape}" + (", or a list of lists" if field.depth else "")
    return GraphConnectionError(
        f"{probe.name}: field '{field.name}' of n vertices needs shape {shape}, but {what}",
        at=probe.at,
        found=f"declared {field}",
        fix=remedy if field.is_edge else of_state,
    )


def is_numbers(field: Field, value: Any) -> bool:
    """Tell whether a scalar Input is given plain numbers.

    Args:
        field: any edge field.
        value: what the user gave.
    """
    if isinstance(value, list | tuple):
        return bool(value) and all(takes_number(field, item) for item in value)
    return isinstance(value, np.ndarray) or takes_number(field, value)


def numbers_of(probe: Probe, field: Field, value: Any) -> Any:
    """Return a number for all vertices, or an array of one for each, as a field holds them.

    Args:
        probe: names vertices at fault.
        field: a scalar field.
        value: what the user gave.

    Raises:
        ElementTypeError: for numbers of a kind the field cannot hold.
        SizeOverflowError: for a number outside its range.
    """
    if np.ndim(value):
        return _stored(probe, field, np.asarray(value))
    what = f"{probe.vertex}: field '{field.name}'"
    return scalar(field.element, value, what=what, at=probe.at)


def state_of(probe: Probe, field: Field, value: Any) -> StateValues:
    """Return the values of a state field as they are kept.

    Args:
        probe: names vertices at fault.
        field: the field.
        value: what the user gave.

    Raises:
        ElementTypeError: for numbers of a kind the field cannot hold.
        SizeOverflowError: for a number outside its range.
    """
    if field.depth == 0:
        numbers: StateValues = numbers_of(probe, field, value)
        return numbers
    if isinstance(value, np.ndarray):
        stored = _stored(probe, field, value)
        return Vectors(stored.reshape(-1), constant(value.shape[1], probe.count))
    vectors: list[Array] = []

    def check(k: int) -> None:
        vectors.append(np.asarray(as_state(probe.vertex, field, value[k], probe.at)))

    probe.check_each(check)
    lengths = compact(np.array([len(vector) for vector in vectors], np.int64))
    joined = np.concatenate([np.empty(0, field.element.dtype), *vectors])
    joined.flags.writeable = False
    return Vectors(joined, lengths)


def _stored(probe: Probe, field: Field, array: Array) -> Array:
    """Return the numbers of all vertices as elements."""

    def check(k: int) -> None:
        what = f"{probe.vertex}: field '{field.name}'"
        elements(field.element, array[k], what=what, at=probe.at)

    try:
        stored = elements(field.element, array, what=field.name, at=probe.at)
    except PopliteError:
        probe.check_each(check)
        raise
    stored.flags.writeable = False
    return stored


def listed_tiles(probe: Probe, tile: object) -> object:
    """Return what is given as tiles, a list as an array.

    Args:
        probe: names the class.
        tile: what the user gave.

    Raises:
        InvalidTileMapping: for lists of different lengths in a list.
    """
    try:
        return np.asarray(tile) if isinstance(tile, list | tuple) else tile
    except ValueError:
        raise InvalidTileMapping(
            f"{probe.name}: tile is {clipped(tile, 60)}, lists of different lengths",
            at=probe.at,
            found="tiles are whole numbers",
            fix="one tile for all, or an integer array of one tile for each vertex",
        ) from None


def tiles_of(probe: Probe, numbers: TileNumbers, tile: object) -> VertexTiles:
    """Return the tiles of all vertices.

    Args:
        probe: names vertices at fault, and knows how many there are.
        numbers: of the tiles that are meant.
        tile: what the user gave.

    Raises:
        InvalidTileMapping: for something else than tiles of the graph.
    """
    num_tiles, all_tiles = numbers.num_tiles, probe.graph.space.num_tiles
    if tile is None:
        raise InvalidTileMapping(
            f"{probe.name}: add_vertices is given no tile",
            at=probe.at,
            found="vertices that are added together get their tiles with them",
            fix="tile=0, or an array of one tile for each vertex",
        )
    if np.ndim(tile) == 0:  # type: ignore[arg-type]
        number = numbers.checked(tile, probe.names, probe.at)
        return VertexTiles.alike(number, probe.count, all_tiles)
    tiles = np.asarray(tile)
    if tiles.ndim != 1 or (tiles.dtype.kind not in "iu" and len(tiles)):
        raise InvalidTileMapping(
            f"{probe.name}: tile is an array of shape {tiles.shape} of {tiles.dtype}",
            at=probe.at,
            found=f"{counted(probe.count, 'vertex', 'vertices')}; tiles are whole numbers",
            fix="one tile for all, or an integer array of one tile for each vertex",
        )

    def check(k: int) -> None:
        raise no_such_tile(probe.vertex.label, int(tiles[k]), num_tiles, probe.at)

    probe.refuse(np.flatnonzero((tiles < 0) | (tiles >= num_tiles)), check)
    return VertexTiles.of(numbers.to_top_level(tiles), all_tiles)
