"""Variables of a graph, including constants, clones and initial values.

    x = graph.add_variable(FLOAT, (8,), "x", initial_value=1)
    taps = graph.add_constant(FLOAT, (3,), [1, 2, 1], "taps", mapping=0)
    y = graph.clone(x.T)

Everything is checked before anything is stored; a variable is removed again when its mapping,
metadata or value is refused.

Semantics: Poplar API reference, "Graph"; a variable has no tile until it is mapped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    PopliteError,
    TensorCreationError,
    TensorMetadataError,
    checked_member,
)
from poplite.graph.host_values import ElementClass, check_room, element_array
from poplite.graph.space import (
    COMMON,
    EXAMPLE,
    ShapeLike,
    Space,
    Variable,
    checked_name,
    initial_metadata,
    shape_of,
    variable_below,
)
from poplite.graph.tensor import arguments
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.rearrange import (
    CloneLayout,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    check_keeps_order,
    interleaved,
    layout,
)
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.graph.tensor.tensor_mapping import Nested, paint_mapping
from poplite.graph.tensor.tensor_text import why_not_writeable
from poplite.graph.tile_mapping import AllTiles, TileNumbers
from poplite.graph.variable_mapping import NO_TILE, Linear
from poplite.machine.target import by_replica
from poplite.source import SourceLocation
from poplite.text import amount, clipped
from poplite.types import (
    QUARTER,
    QUARTER_METADATA,
    ElementType,
    ElementTypeLike,
    QuarterMetadata,
    element_type,
)
from poplite.view import View, address_at, addresses, num_runs, storages

MappingLike = SupportsIndex | Nested
"""One tile for all elements, or for each tile intervals over the flattened view."""

Value = npt.ArrayLike | Mapping[int, npt.ArrayLike]
"""Initial values of elements: for all replicas, or by replica number."""


def add_variable(
    space: Space,
    tiles: TileNumbers,
    like: ElementTypeLike,
    shape: ShapeLike,
    name: object,
    mapping: Literal["linear"] | MappingLike | None,
    value: Value | None,
    metadata: Tensor | QuarterMetadata | None,
    replicas: int,
    at: SourceLocation,
) -> Variable:
    """Create a variable; see `Graph.add_variable`."""
    tile = tiles.in_range(mapping)
    variable = _declared(space, like, shape, name, tile, at, constant=False)
    if tiles.home is not None:
        space.note_home(variable, tiles.home)
    try:
        _attach(space, tiles, variable, metadata)
        if mapping is not None and tile is None:
            _map(space, tiles, variable, mapping)
        if value is not None:
            kind, view, full_name = variable.element_type, variable.view, variable.name
            value = _of_replicas(value, full_name, replicas)
            _store(space, kind, view, variable.metadata, value, full_name)
    except PopliteError:
        space.take_back(variable)
        raise
    return variable


def add_constant(
    space: Space,
    tiles: TileNumbers,
    like: ElementTypeLike,
    shape: ShapeLike,
    name: object,
    mapping: Literal["linear"] | MappingLike | None,
    value: npt.ArrayLike,
    metadata: Tensor | QuarterMetadata | None,
    at: SourceLocation,
) -> Variable:
    """Create a constant; see `Graph.add_constant`."""
    variable = _declared(space, like, shape, name, at=at, constant=True)
    if tiles.home is not None:
        space.note_home(variable, tiles.home)
    try:
        _attach(space, tiles, variable, metadata)
        kind, view = variable.element_type, variable.view
        check_room(space, kind, view.shape, f"'{variable.name}'")
        codes = None if variable.metadata is None else initial_metadata(space, variable.metadata)
        _fix(variable, values_for(kind, view.shape, value, codes, variable.name))
        if mapping is not None:
            _map(space, tiles, variable, mapping)
    except PopliteError:
        space.take_back(variable)
        raise
    return variable


def add_clone(
    tiles: TileNumbers,
    source: Tensor,
    name: str,
    like: ElementTypeLike | None,
    method: object,
    metadata: Tensor | QuarterMetadata | None,
) -> Tensor:
    """Create a variable for the elements of a tensor; see `Graph.clone`."""
    kind = checked_member(method, TensorCloneMethod, "clone, method")
    return _clone(tiles, source, name, like, metadata, layout(source, kind))


def add_clones(
    tiles: TileNumbers,
    source: Tensor,
    n: int,
    name: str,
    like: ElementTypeLike | None,
    method: object,
    duplication: object,
    metadata: Tensor | QuarterMetadata | None,
) -> Tensor:
    """Create n clones of a tensor, as one tensor; see `Graph.clone_n`."""
    kind = checked_member(method, TensorCloneMethod, "clone_n, method")
    duplicate = checked_member(duplication, TensorCloneDuplicationMethod, "clone_n, duplication")
    count = arguments.number(n, "n", source)
    arguments.check_size(count * source.num_elements, source, "make fewer clones")
    shape = (count, *source.shape)  # every clone has separate memory
    check_room(source.graph.space, source.element_type, shape, f"clone_n of '{source.name}'")
    if duplicate is TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION:
        check_keeps_order(source, kind)
        many = interleaved(source, layout(source, kind), count)
        return _clone(tiles, source, name, like, metadata, many)
    one = layout(source, kind)
    clones = [_clone(tiles, source, name, like, metadata, one).expand([0]) for _ in range(count)]
    if clones:
        return concat(clones)
    # Without clones, an empty variable provides the element type.
    none = source.expand([0]).broadcast(0, 0)
    if like is None or _element_type(like, name) is source.element_type:
        return none
    return _clone(tiles, none, name, like, metadata, layout(none, kind))


def _clone(
    tiles: TileNumbers,
    source: Tensor,
    name: str,
    like: ElementTypeLike | None,
    metadata: Tensor | QuarterMetadata | None,
    place: CloneLayout,
) -> Tensor:
    """Create a variable for a tensor's elements, in the order and on the tiles of a layout."""
    space = source.graph.space
    kind = source.element_type if like is None else like
    if metadata is None and kind is source.element_type:
        metadata = source.metadata
    local = space.names.local(source.name) if isinstance(name, str) and not name else name
    variable = _declared(space, kind, (place.size,), local, constant=False)
    space.note_home(variable, tiles.home or space.home_of([source.view]))
    try:
        _attach(space, tiles, variable, metadata)
    except PopliteError:
        space.take_back(variable)
        raise
    end = np.cumsum(place.length)
    variable.mapping.paint_many(end - place.length, end, tiles.of_clone(place.tile))
    return of_variable(source.graph, variable)._of(place.view(variable.view))


def add_number(
    space: Space,
    kind: ElementClass,
    number: bool | int | float,
    tile: int | None,
    at: SourceLocation,
) -> Variable:
    """Create a scalar constant, fast, for a checked, rounded number connected to a vertex."""
    variable = space.make("", kind, (), True, NO_TILE if tile is None else tile, at)
    variable.initial_value = value = np.array(number, kind.dtype)
    value.setflags(write=False)
    return variable


def add_numbers(
    space: Space,
    kind: ElementClass,
    numbers: npt.NDArray[Any],
    begin: Int64,
    end: Int64,
    tile: Int64,
    at: SourceLocation,
) -> Variable:
    """Create a constant from checked, rounded numbers that are connected to many vertices.

    `begin` and `end` are the elements of each run on one tile, and `tile` is that tile. The array
    of numbers becomes read-only.
    """
    variable = space.make("", kind, numbers.shape, True, at=at)
    _fix(variable, numbers)
    variable.mapping.paint_many(begin, end, tile)
    return variable


def add_metadata(space: Space, name: str, metadata: QuarterMetadata, tile: int) -> Variable:
    """Create a constant, with this full name, for the format and scale of a QUARTER variable."""
    variable = space.make(space.names.local(name), QUARTER_METADATA, (), True)
    _fix(variable, np.array(metadata.to_byte(), QUARTER_METADATA.dtype))
    variable.mapping.paint(0, 1, tile)
    return variable


def _fix(constant: Variable, values: npt.NDArray[Any]) -> None:
    values.flags.writeable = False
    constant.initial_value = values


def _declared(
    space: Space,
    like: ElementTypeLike,
    shape: ShapeLike,
    name: object,
    tile: int | None = None,
    at: SourceLocation | None = None,
    *,
    constant: bool,
) -> Variable:
    """Create a variable with the user's type and shape, which are checked here."""
    if isinstance(shape, type) and issubclass(shape, ElementType):
        given: list[object] = [like, name]
        extents = next((each for each in given if isinstance(each, tuple | list | int)), (4,))
        text = next((each for each in given if isinstance(each, str)), "")
        raise ElementTypeError(
            f"a shape is needed, but {shape!r} is an element type",
            found=f"element type {clipped(like)}, shape {shape!r}, name {clipped(name)}",
            fix="pass the element type first, then shape and name: "
            f"({shape!r}, {clipped(extents)}, {clipped(text or 'x')})",
        )
    own = checked_name(name, "variable", "name='x'; a tile goes to mapping=")
    title = own or space.default_name(constant)
    kind, sizes = _element_type(like, title), shape_of(shape, title)
    return space.make(own, kind, sizes, constant, NO_TILE if tile is None else tile, at)


def _element_type(like: ElementTypeLike, name: str) -> ElementClass:
    try:
        return element_type(like)
    except ElementTypeError as error:
        raise ElementTypeError(
            f"'{name}': {error.what}" if name else error.what,
            found=error.found or f"the element type is {clipped(like)}",
            fix=error.fix,
        ) from None


def _map(space: Space, tiles: TileNumbers, variable: Variable, mapping: object) -> None:
    """Put a new variable on tiles."""
    is_linear = isinstance(mapping, str) and mapping == "linear"
    if is_linear and isinstance(tiles, AllTiles):  # nothing to look up
        variable.mapping.paint_linearly(Linear.over(variable.num_elements, tiles.num_tiles))
    else:
        paint_mapping(space, tiles, variable.view, mapping, variable.name)


# Metadata


def _attach(space: Space, tiles: TileNumbers, variable: Variable, metadata: object) -> None:
    """Attach metadata to a new QUARTER variable, and refuse it for any other element type.

    A `QuarterMetadata` becomes a constant on tile 0.
    """
    if variable.element_type is not QUARTER and metadata is None:
        return
    name = f"'{variable.name}'"
    if variable.element_type is not QUARTER:
        raise TensorMetadataError(
            f"{name}: metadata is given for {variable.element_type!r}, but only QUARTER has it",
            found=f"metadata={clipped(metadata, 60)}",
            fix="leave it out",
        )
    if isinstance(metadata, QuarterMetadata):
        tile = int(tiles.to_top_level(np.zeros(1, np.int64))[0])
        constant = add_metadata(space, f"{variable.name}/metadata", metadata, tile)
        variable.metadata = constant.view
        return
    if metadata is None:
        raise TensorMetadataError(
            f"{name}: a QUARTER variable needs metadata",
            found="the bits of a QUARTER element have no meaning without a format and a scale",
            fix=EXAMPLE,
        )
    tensor = _one_element(name, metadata)
    if tensor.graph.space is not space:
        raise TensorMetadataError(
            f"{name}: its metadata '{tensor.name}' belongs to another graph",
            fix="create it with this graph's add_variable(pl.QUARTER_METADATA, (), mapping=tile)",
        )
    variable.metadata = tensor.view


def _one_element(name: str, metadata: object) -> Tensor:
    if isinstance(metadata, Tensor):
        one_element = metadata.num_elements == 1
        if one_element and metadata.element_type is QUARTER_METADATA:
            return metadata
    raise TensorMetadataError(
        f"{name}: {clipped(metadata, 80)} is not the metadata of a QUARTER tensor",
        found="metadata is one element of QUARTER_METADATA",
        fix=f"{EXAMPLE}, or a tensor from add_variable(pl.QUARTER_METADATA, (), mapping=tile)",
    )


# Initial values


def set_values(tensor: Tensor, value: Value, replicas: int) -> None:
    """Set the initial values of a tensor's elements, in its underlying variables.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> set_values(graph.add_variable("int32", (4,), "x")[1::2], [5, 6], 1)
    >>> graph.variables[0].initial_value
    array([0, 5, 0, 6], dtype=int32)
    """
    value = _of_replicas(value, tensor.name, replicas)
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"'{tensor.name}': an initial value cannot be set, since the view {reason}",
            found=fact,
            fix="pass the value to add_constant, or use a variable to set another"
            if tensor.contains_constant()
            else "set it for the view before broadcast, upsample or concat with itself",
        )
    kind, metadata = tensor.element_type, tensor.metadata
    below = None if metadata is None else metadata.view
    _store(tensor.graph.space, kind, tensor.view, below, value, tensor.name)


def values_for(
    kind: ElementClass,
    shape: tuple[int, ...],
    value: npt.ArrayLike,
    metadata: QuarterMetadata | None,
    name: str,
) -> npt.NDArray[Any]:
    """Return host values as an array of a shape, from one number for all or one for each element.

    >>> from poplite.types import INT
    >>> values_for(INT, (2, 2), [1, 2, 3, 4], None, "x")
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    what = f"'{name}'"
    values = element_array(kind, value, what=what, metadata=metadata)
    if values.ndim == 0:
        return np.full(shape, values)
    if values.shape not in (shape, (math.prod(shape),)):
        raise TensorCreationError(
            f"{what}: {amount(values.size, 'value')} of shape {list(values.shape)} for "
            f"{amount(math.prod(shape), 'element')} of shape {list(shape)}",
            fix=f"pass one number for all, or an array of shape {shape}",
        )
    return values.reshape(shape)


def _of_replicas(value: Value, name: str, replicas: int) -> Value:
    if not isinstance(value, Mapping):
        return value
    return by_replica(value, replicas, f"initial value of '{name}'")


def _store(
    space: Space,
    kind: ElementClass,
    view: View,
    metadata: View | None,
    value: Value,
    name: str,
) -> None:
    """Set the initial values of a view's elements; all are checked before any is stored."""
    check_room(space, kind, view.shape, f"'{name}'")
    owners = [space.variable_of(storage) for storage in storages(view)]
    by_number: Iterable[tuple[int | None, npt.ArrayLike]]
    if isinstance(value, Mapping):
        by_number = value.items()
    else:
        differ = {n for variable in owners for n in variable.replica_values}
        if metadata is not None:
            differ.update(variable_below(space, metadata).replica_values)
        by_number = [(number, value) for number in (None, *sorted(differ))]
    checked = []
    for number, own in by_number:
        codes = None if metadata is None else initial_metadata(space, metadata, number or 0)
        checked.append((number, values_for(kind, view.shape, own, codes, name)))
    for number, values in checked:
        _write(owners, view, values.reshape(-1), number)


def _write(
    owners: list[Variable], view: View, values: npt.NDArray[Any], replica: int | None
) -> None:
    """Store values in the variables of a view, for one replica, or for all others if None."""
    for variable in owners:
        storage = variable.storage
        is_all = len(owners) == 1 and len(values) == storage.num_elements
        stored, some = _stored(variable, replica, is_all=is_all)
        if len(owners) == 1 and num_runs(view) == 1:
            first = address_at(view, 0) - storage.base
            mine: Any = slice(first, first + len(values))
            stored[mine] = values
        else:
            where = addresses(view).reshape(-1) - storage.base
            own = (where >= 0) & (where < storage.num_elements)
            mine = where[own]
            stored[mine] = values[own]
        if some is not None:
            some[mine] = True


def _stored(
    variable: Variable, replica: int | None, *, is_all: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the initial values of a replica, or of all others if None, flat and writable.

    Also returns which elements have a value, or None if all have; with `is_all`, all get one now.
    """
    number = COMMON if replica is None else replica
    values, some = variable.initial_value, variable.with_value.get(number)
    if replica is not None:
        values = variable.replica_values.get(replica)
        if values is None and variable.initial_value is not None:
            values = variable.initial_value.copy()
            common = variable.with_value.get(COMMON)
            some = None if common is None else common.copy()
    if values is None:
        values = np.zeros(variable.shape, variable.element_type.dtype)
        some = np.zeros(variable.num_elements, np.bool_)
    elif not values.flags.writeable:  # an engine shares them
        values = values.copy()
    if replica is None:
        variable.initial_value = values
    else:
        variable.replica_values = {**variable.replica_values, replica: values}
    if some is not None or variable.with_value:
        known = {each: own for each, own in variable.with_value.items() if each != number}
        variable.with_value = known if some is None or is_all else {**known, number: some}
    return values.reshape(-1), None if is_all else some
