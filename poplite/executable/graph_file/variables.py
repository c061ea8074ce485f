"""Variables of a graph's file, with the host's handles.

Variables have names, types, tiles and first values.  Of the host there are streams, remote buffers,
functions and tensors: each is a list of what it is made of, and made by the function that a user's
call makes it with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

import numpy as np
import numpy.typing as npt

from poplite.codec.codec import coder_of
from poplite.codec.coders import Coder, ItemsCoder, PartsCoder
from poplite.codec.loading import Malformed, take_room
from poplite.executable.file.validate import check_with_value
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.host import (
    DataStream,
    HostFunction,
    HostHandle,
    RemoteBuffer,
    host_function_of,
    registered,
    remote_buffer_of,
    stream_of,
    write_handle,
)
from poplite.graph.space import Variable
from poplite.graph.tile_mapping import SomeTiles
from poplite.graph.variable_mapping import NO_TILE
from poplite.source import SourceLocation
from poplite.types import QUARTER, QUARTER_METADATA, ElementType
from poplite.view import Storage

Array = npt.NDArray[Any]


@frozen(eq=False)
class SavedVariable:
    """A variable or constant.

    Attributes:
        tile: of all its elements; None for none, or where `breaks` and `tiles` say more.
        breaks: int64[pieces + 1], where its tiles change.
        tiles: int32[pieces], the tile of each piece, below 0 for none.
        values: its first values, in its shape; None for zeros.
        replica_values: those of replicas that have others.
        with_value: which elements have a first value, in bits, as in `StoredVariable`.
        metadata: of QUARTER, the number of the variable with format and scale, and the position
            of the element there.
        home: the number of the virtual graph that it was made with, if any.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    location: SourceLocation
    is_constant: bool = False
    tile: int | None = None
    breaks: Array | None = None
    tiles: Array | None = None
    values: Array | None = None
    replica_values: Mapping[int, Array] | None = None
    metadata: tuple[int, int] | None = None
    home: int | None = None
    with_value: Mapping[int, Array] | None = None


def saved_homes(graph: Graph) -> tuple[tuple[Array, ...], dict[int, int]]:
    """Return the tiles of the virtual graphs that made variables, and which one made each."""
    homes = {home.tiles.tobytes(): home.tiles for home in graph.space.homes.values()}
    numbers = {tiles: number for number, tiles in enumerate(homes)}
    made_with = {v: numbers[home.tiles.tobytes()] for v, home in graph.space.homes.items()}
    return tuple(homes.values()), made_with


def home_of(graph: Graph, tiles: Array) -> SomeTiles:
    """Return the tile numbers of a virtual graph, of data that may be anything."""
    made = graph.create_virtual_graph(tiles)._tiles
    assert isinstance(made, SomeTiles)
    return made


def saved_variable(variable: Variable, home: int | None) -> SavedVariable:
    """Return a variable as data."""
    tile, breaks, tiles = variable.only_tile, None, None
    if tile is None and variable.num_elements:
        breaks, tiles = variable.mapping.pieces()
        if len(tiles) == 1:
            tile = None if tiles[0] == NO_TILE else int(tiles[0])
            breaks = tiles = None
    metadata = None
    if variable.metadata is not None:
        assert isinstance(variable.metadata.space, Storage)
        metadata = variable.metadata.space.id, variable.metadata.off
    return SavedVariable(
        variable.name,
        variable.element_type,
        variable.shape,
        variable.location,
        variable.constant,
        tile,
        breaks,
        tiles,
        variable.initial_value,
        dict(variable.replica_values) or None,
        metadata,
        home,
        variable.packed_with_value or None,
    )


def add_variable(graph: Graph, saved: SavedVariable, homes: Sequence[SomeTiles]) -> None:
    """Make a variable of data that may be anything."""
    space = graph.space
    if not saved.name or any(size < 0 for size in saved.shape) or len(saved.shape) > 32:
        raise Malformed(f"variable {saved.name!r} has no name, or no shape")
    tile = NO_TILE if saved.tile is None else saved.tile
    if tile != NO_TILE and not 0 <= tile < space.num_tiles:
        raise Malformed(f"variable '{saved.name}' is on tile {tile:,} of {space.num_tiles:,}")
    variable = space.make(
        saved.name, saved.element_type, saved.shape, saved.is_constant, tile, saved.location
    )
    if variable.name != saved.name:
        raise Malformed(f"two variables are called '{saved.name}'")
    if saved.home is not None:
        if not 0 <= saved.home < len(homes):
            raise Malformed(f"variable '{saved.name}' was made with a virtual graph not listed")
        space.note_home(variable, homes[saved.home])
    if saved.breaks is not None:
        _paint(variable, saved, space.num_tiles)
    if saved.is_constant and saved.values is None:
        raise Malformed(f"constant '{saved.name}' has no value")
    if saved.values is not None:
        variable.initial_value = _values(saved, saved.values)
    if saved.replica_values is not None:
        if not all(0 <= each < graph.replication_factor for each in saved.replica_values):
            raise Malformed(f"variable '{saved.name}' has values of replicas that are not there")
        variable.replica_values = {
            replica: _values(saved, values) for replica, values in saved.replica_values.items()
        }
    check_with_value(saved.with_value, variable)
    variable.with_value = {
        replica: _each_with_value(variable, packed)
        for replica, packed in (saved.with_value or {}).items()
    }


def _each_with_value(variable: Variable, packed: Array) -> npt.NDArray[np.bool_]:
    take_room(variable.num_elements, f"which elements of '{variable.name}' have a value")
    return np.unpackbits(packed, count=variable.num_elements).view(np.bool_)


def add_metadata(graph: Graph, number: int, saved: SavedVariable) -> None:
    """Attach the metadata of a QUARTER variable, which may be a variable made after it."""
    if (saved.element_type is QUARTER) != (saved.metadata is not None):
        raise Malformed(f"variable '{saved.name}': QUARTER has metadata, and nothing else")
    if saved.metadata is None:
        return
    other, position = saved.metadata
    variables = graph.space.variables
    if not 0 <= other < len(variables) or variables[other].element_type is not QUARTER_METADATA:
        raise Malformed(f"variable '{saved.name}' has metadata in no variable of that type")
    if not 0 <= position < variables[other].num_elements:
        raise Malformed(
            f"variable '{saved.name}' has its metadata behind '{variables[other].name}'"
        )
    flat = variables[other].view.reshape((variables[other].num_elements,))
    variables[number].metadata = flat.slice(position, position + 1, 0).reshape(())


def _values(saved: SavedVariable, values: Array) -> Array:
    if values.dtype != saved.element_type.dtype or values.shape != saved.shape:
        raise Malformed(f"variable '{saved.name}' has values of another type or shape")
    return values


def _paint(variable: Variable, saved: SavedVariable, num_tiles: int) -> None:
    breaks, tiles = saved.breaks, saved.tiles
    if breaks is None or tiles is None or breaks.ndim != 1 or tiles.shape != (len(breaks) - 1,):
        raise Malformed(f"variable '{saved.name}' has no tile between each two breaks")
    breaks, tiles = breaks.astype(np.int64), tiles.astype(np.int64)
    if not len(tiles) or breaks[0] != 0 or breaks[-1] != variable.num_elements:
        raise Malformed(f"variable '{saved.name}': its tiles do not end with its elements")
    if (breaks[1:] <= breaks[:-1]).any() or (tiles >= num_tiles).any() or tiles.min() < NO_TILE:
        raise Malformed(f"variable '{saved.name}' has pieces without elements, or on no tile")
    placed = tiles != NO_TILE
    variable.mapping.paint_many(breaks[:-1][placed], breaks[1:][placed], tiles[placed])


# -- what the host accesses ------------------------------------------------------------------------


def _made_by(cls: type, make: Callable[..., Any]) -> Coder:
    """Return the coder of objects of a graph that `make` makes of it and their other fields."""
    hints = get_type_hints(cls, localns={"Graph": Graph, "SourceLocation": SourceLocation})
    names = [each.name for each in dataclasses.fields(cls) if each.name != "graph"]
    coders = {name: coder_of(hints[name]) for name in names}
    return ItemsCoder(tuple, PartsCoder(cls, coders, lambda of, *parts: make(of.graph, *parts)))


PARTS: dict[str, Coder] = {
    "streams": _made_by(DataStream, stream_of),
    "remote_buffers": _made_by(RemoteBuffer, remote_buffer_of),
    "host_functions": _made_by(HostFunction, host_function_of),
}
"""Coders of all that programs name by handle, by what `Handles` calls it."""

HANDLES = Mapping[str, HostHandle]
"""The tensors that the host reads or writes, by handle."""


def add_host(graph: Graph, part: Callable[[str], Any]) -> dict[type, Mapping[str, Any]]:
    """Name what `part` returns, and return it by handle, each kind by its class."""
    handles = graph._parts.handles
    for name in PARTS:
        kind, known = name.removesuffix("s").replace("_", " "), getattr(handles, name)
        for each in part(name):
            registered(known, kind, each.handle, each)
    return {
        DataStream: handles.streams,
        RemoteBuffer: handles.remote_buffers,
        HostFunction: handles.host_functions,
    }


def add_host_tensors(graph: Graph, reads: HANDLES, writes: HANDLES) -> None:
    """Let the host access tensors by name."""
    handles = graph._parts.handles
    for name, handle in reads.items():
        registered(handles.reads, "host read", name, handle)
    for name, handle in writes.items():
        checked = write_handle(handle.tensor, name, handle.location)
        registered(handles.writes, "host write", name, checked)
