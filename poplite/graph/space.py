"""The variables of a graph, in one space of element addresses.

Users have tensors, which are views of variables. The graph creates a variable in every call of
`add_variable` and `add_constant`. All variables share the space. An unused address follows each, so
that no run of elements extends from one variable into the next::

    variables    x: 0 0 1 1    y: 2 2 2 -              each element's tile
    addresses       0 1 2 3 4     5 6 7 8              breaks  0 2 4 5 8 9
    tiles           0 0 1 1 -     2 2 2 -              tiles   0 1 - 2 -

A view of several variables is split by tile with a table of their tiles. A single table of all
variables would have to be rebuilt after every edit, and edits often alternate with queries. So at
first, tables are built only for the variables underlying a view; the full table is built once these
tables have cost as much as it does.

Names get their scopes as a prefix, and a number if already in use, so that they are unambiguous in
messages, drawings and `poplite-viz tensor NAME`::

    with graph.scope("layer1"):
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w'
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w_1'

A variable is found by its full name, or by the part after a slash if that is unique.

Each variable of QUARTER codes has metadata, one byte with their format and scale::

    metadata = QuarterMetadata("F143", scale=-2)
    x = graph.add_variable(QUARTER, (64,), "x", metadata=metadata)   a constant 'x/metadata'
    scale = graph.add_variable(QUARTER_METADATA, (), "scale", mapping=0)
    y = graph.add_variable(QUARTER, (64,), "y", metadata=scale)      programs may change it

Every view of a variable has the variable's metadata. Operations that join or copy codes need the
same metadata on both sides, since codes with a different scale represent different values.

Source: Poplar API reference, "Tensor::getMetadata", "Graph::addVariable".
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import (
    USERS_LINE,
    ElementTypeError,
    SizeOverflowError,
    TensorCreationError,
    TensorMetadataError,
    UnknownName,
    did_you_mean,
    listed,
    not_called,
    refuse_copies,
)
from poplite.graph.host_values import ElementClass
from poplite.graph.tile_mapping import SomeTiles
from poplite.graph.variable_mapping import (
    NO_TILE,
    TileTable,
    VariableMapping,
    Version,
    joined_table,
)
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, fitted, shape_text, shortened
from poplite.types import QuarterMetadata, type_text
from poplite.view import Storage, View, address_at, all_of, same_elements, storages

if TYPE_CHECKING:
    import numpy.typing as npt


class Names:
    """Unique names of several kinds of objects, within nested scopes.

    >>> names = Names()
    >>> with names.within("m4"):
    ...     names.unique("variable", "w"), names.unique("variable", "w")
    ('m4/w', 'm4/w_1')
    """

    def __init__(self) -> None:
        self._scopes: list[str] = []
        self._taken: defaultdict[str, dict[str, int]] = defaultdict(dict)

    @contextmanager
    def within(self, scope: str) -> Iterator[None]:
        """Add the prefix `scope/` to names created in a `with` block."""
        self._scopes.append(scope)
        try:
            yield
        finally:
            self._scopes.pop()

    def unique(self, kind: str, name: str) -> str:
        """Return a name with its scopes that no other object of its kind ("variable", ...) has."""
        full = self.full(name) if self._scopes else name
        unique, taken = full, self._taken[kind]
        while unique in taken:
            taken[full] += 1
            unique = f"{full}_{taken[full]}"
        taken[unique] = 0
        return unique

    def number(self, kind: str, name: str) -> int:
        """Return the number of names of a kind that were in use before this one.

        >>> names = Names()
        >>> _ = names.unique("function", "blur"), names.unique("function", "sum")
        >>> names.number("function", "sum")
        1
        """
        return list(self._taken[kind]).index(name)

    def full(self, name: str) -> str:
        """Return a name with the open scopes as a prefix."""
        return "/".join([*self._scopes, name]) if self._scopes else name

    def local(self, name: str) -> str:
        """Return a full name without the prefix of the open scopes.

        >>> names = Names()
        >>> with names.within("conv1"):
        ...     names.local("conv1/w")
        'w'
        """
        return name.removeprefix("/".join([*self._scopes, ""]))

    def release(self, kind: str, name: str) -> None:
        """Make a name available again."""
        del self._taken[kind][name]


def checked_name(name: object, kind: str, call: str) -> str:
    """Return a name, which may be empty, after checking that it is a string."""
    if isinstance(name, str):
        return name
    raise TensorCreationError(
        f"the name of a {kind} must be a string, not {clipped(name)}",
        found=f"its type is {type(name).__name__}",
        fix=call,
    )


def checked_scope(name: object) -> str:
    """Return the name of a scope after checking that it is a string, and not empty."""
    if isinstance(name, str) and name:
        return name
    raise TensorCreationError(
        f"{clipped(name)} is not a valid name for a scope",
        found="it is empty" if isinstance(name, str) else f"its type is {type(name).__name__}",
        fix="graph.scope('layer1')",
    )


ShapeLike = SupportsIndex | Sequence[SupportsIndex]
"""Sizes of the dimensions; a plain number is a shape of rank 1."""

_SEQUENCES = tuple, list, Sequence  # common ones first

_NONE: Mapping[int, Any] = MappingProxyType({})

COMMON = -1
"""Key in place of a replica number, for all replicas without separate values."""


@refuse_copies("call graph.clone(tensor) for a variable with the same shape and tiles")
class Variable(Storage):
    """A variable or constant of a graph.

    A graph may have a million variables, so each is a single object: it is the space of its views,
    and has a separate mapping only once it is on more than one tile.

    Attributes:
        name: name with its scopes, unique among the graph's variables.
        element_type: type of the elements.
        shape: shape of the tensor that the graph returned when it created the variable.
        location: the user's line that created it.
        initial_value: its values when a program is loaded, in its shape; None for zeros.
        replica_values: the initial values of replicas with separate values, by replica number.
        with_value: bool[elements], by replica number (`COMMON` for `initial_value`): which elements
            have an initial value; all others are zeros.  Without an entry, all elements have one.
        metadata: for QUARTER, the element that holds format and scale.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    >>> variable = graph.variables[0]
    >>> variable.name, variable.shape, variable.element_type
    ('x', (4, 6), FLOAT)
    """

    __slots__ = (
        "_mapping",
        "_tile",
        "_version",
        "element_type",
        "initial_value",
        "location",
        "metadata",
        "name",
        "replica_values",
        "shape",
        "with_value",
    )
    element_type: ElementClass
    name: str
    shape: tuple[int, ...]

    def __init__(self, *arguments: object, **named: object) -> None:
        """Refuse every call: only a graph creates variables."""
        instead = "graph.add_variable(FLOAT, (4,), 'x'), and graph.variable_of(tensor)"
        raise not_called("Variable", instead, is_empty=not arguments and not named)

    def _filled(
        self,
        number: int,
        base: int,
        num_elements: int,
        name: str,
        element_type: ElementClass,
        shape: tuple[int, ...],
        constant: bool,
        location: SourceLocation,
        version: Version,
        tile: int,
    ) -> Variable:
        """Set all attributes of a variable that `__new__` has created, and return it."""
        Storage.__init__(self, number, base, num_elements, constant)
        self.name, self.element_type, self.shape = name, element_type, shape
        self.location: SourceLocation = location
        self._mapping: VariableMapping | None = None
        self._tile, self._version = tile, version
        version.number += 1
        self.initial_value: npt.NDArray[Any] | None = None
        self.replica_values: Mapping[int, npt.NDArray[Any]] = _NONE
        self.with_value: Mapping[int, npt.NDArray[np.bool_]] = _NONE
        self.metadata: View | None = None
        return self

    @property
    def packed_with_value(self) -> dict[int, npt.NDArray[np.uint8]]:
        """`with_value` as bits (`np.packbits`), without the entries that are all true."""
        some = self.with_value
        return {each: np.packbits(some[each]) for each in sorted(some) if not some[each].all()}

    def initial_value_of(self, replica: int) -> npt.NDArray[Any] | None:
        """Return the values in one replica when a program is loaded; None for zeros.

        Args:
            replica: number of the replica.
        """
        return self.replica_values.get(replica, self.initial_value)

    def hash(self) -> int:
        """Return the number of the variable, which is unique in its graph."""
        return self.id

    @property
    def view(self) -> View:
        """All its elements, in its shape."""
        return all_of(self, self.shape)

    @property
    def storage(self) -> Storage:
        """The addresses of its elements."""
        return self

    @property
    def mapping(self) -> VariableMapping:
        """The tiles of its elements."""
        if self._mapping is None:
            self._mapping = VariableMapping(self.num_elements, self._version, self._tile)
        return self._mapping

    @property
    def only_tile(self) -> int | None:
        """The tile of all elements if only one was ever set; None if that is not known."""
        if self._mapping is not None:
            return self._mapping.only_tile
        return None if self._tile == NO_TILE else self._tile

    def __repr__(self) -> str:
        kind = "Constant" if self.constant else "Variable"
        content = f"{type_text(self.element_type)}{list(self.shape)}"
        return fitted(f"<{kind} '{{}}' {content}>", self.name)


def shape_of(shape: ShapeLike, name: str) -> tuple[int, ...]:
    """Return a shape as a tuple after checking it."""
    if type(shape) is tuple:
        for size in shape:
            if type(size) is not int or size < 0:
                break
        else:
            return shape  # the same object: a million variables may share it
    sizes: Any = shape if isinstance(shape, _SEQUENCES) else (shape,)
    try:
        extents = tuple(map(whole_number, sizes))
    except TypeError:
        extents = (-1,)
    if extents and min(extents) < 0:
        raise TensorCreationError(
            f"'{name}': {clipped(shape, 60)} is not a shape",
            fix="pass non-negative whole numbers, e.g. (64, 128), or () for one element",
        )
    return extents


MAX_ADDRESS = 1 << 62


class Space:
    """The variables of a graph, their addresses, and the tiles of all addresses.

    Attributes:
        variables: all variables and constants, by ascending address.
        num_constants: number of constants among them.
        next_base: the first free address.
        version: changes with every edit of a variable's mapping.
        homes: the tiles of the virtual graphs used to create variables, by variable number.

    >>> from poplite.graph.space import Names
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
    memory_bytes: int
    names: Names
    num_tiles: int

    def __init__(self, num_tiles: int, names: Names, memory_bytes: int) -> None:
        self.num_tiles, self.names, self.memory_bytes = num_tiles, names, memory_bytes
        self.variables: list[Variable] = []
        self.num_constants: int = 0
        self.next_base: int = 0
        self.version: Version = Version()
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
        """Create a variable with a checked shape, after all others.

        `name` is relative to the current scopes; an empty one becomes the default name. The
        location is by default the user's line.
        """
        title, base, size = name or self.default_name(constant), self.next_base, math.prod(shape)
        if base + size >= MAX_ADDRESS:
            raise SizeOverflowError(
                f"'{title}': shape {shape_text(shape)} has {amount(size, 'element')}, "
                "more than the addresses left",
                found=f"a graph has {MAX_ADDRESS:,} addresses; {base:,} are used",
                fix="use a smaller shape",
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
        """Record the virtual graph used to create a variable, if any."""
        if home is not None:
            self.homes[variable.id] = home

    def home_of(self, views: Iterable[View]) -> SomeTiles | None:
        """Return the virtual graph used to create the variables underlying views, if any.

        If there are several, it is the one that contains the tiles of all others. Constants and
        single elements are ignored unless there are no other variables; then only those created
        with a virtual graph count.
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
        """Return the default name of the next variable."""
        return f"{'const' if constant else 'var'}{len(self.variables)}"

    def take_back(self, variable: Variable) -> None:
        """Remove a variable and those created after it, before any tensor refers to them."""
        for removed in self.variables[variable.storage.id :]:
            self.num_constants -= removed.constant
            self.names.release("variable", removed.name)
            self.homes.pop(removed.id, None)
        del self.variables[variable.storage.id :]
        self._by_name.clear()
        self._by_ending.clear()
        self._bases = self._bases[: len(self.variables)]

    def named(self, name: str) -> list[Variable]:
        """Return the variable with a full name, or all whose names end with it after a slash.

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
        candidates = self._by_ending.get(name.rpartition("/")[2], [])
        return [variable for variable in candidates if variable.name.endswith(f"/{name}")]

    def variable_of(self, storage: Storage) -> Variable:
        """Return the variable that owns a storage of this space."""
        variable = self.variables[storage.id]
        assert variable.storage is storage, "tensors of another graph are refused by every call"
        return variable

    def owner(self, address: int) -> int:
        """Return the number of the variable that owns an address."""
        return bisect_right(self.variables, address, key=_base) - 1

    def owners(self, addresses: Int64) -> Int64:
        """Return, for each address, the number of the variable that owns it."""
        if len(self._bases) != len(self.variables):
            self._bases = np.array([variable.storage.base for variable in self.variables], np.int64)
        return np.searchsorted(self._bases, addresses, side="right") - 1

    def table(self, touched: Sequence[Variable]) -> TileTable:
        """Return a table of tiles that covers at least the given variables, one or more.

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
        """Return the table of all addresses; there must be at least one."""
        if self._table is not None and self._table_version == self.version.number:
            return self._table
        self._spent = 0
        filled = (v for v in self.variables if v.num_elements)
        self._table = joined_table((v.storage.base, v.mapping) for v in filled)
        self._table_version = self.version.number
        return self._table


def _base(variable: Variable) -> int:
    return variable.storage.base


NAME = 80
"""Maximum number of characters of a name in a list."""


def variable_named(
    space: Space,
    name: object,
    *,
    call: str = "",
    at: SourceLocation | None = USERS_LINE,
    others: Sequence[str] = (),
    missing: str = "the graph has no variable",
) -> Variable:
    """Return the variable or constant with a name, which may omit scopes if it is unambiguous.

    `call`, `at`, `others` (handles that the call also accepts) and `missing` are for the message.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> with graph.scope("blocks"):
    ...     w = graph.add_variable("float32", (4,), "w")
    >>> variable_named(graph.space, "w"), variable_named(graph.space, "blocks/w")
    (<Variable 'blocks/w' float32[4]>, <Variable 'blocks/w' float32[4]>)
    """
    before = f"{call}: " if call else ""
    if not isinstance(name, str):
        raise ElementTypeError(
            f"{before}{clipped(name)} is not a name", at=at, fix="pass the name of a variable"
        )
    found = space.named(name)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName(
            f"{before}{len(found):,} variables of the graph are called {name!r}",
            at=at,
            found=listed([f"{_described(v)}  ({v.location})" for v in found], "variables"),
            fix=f"pass the name with its scopes: {found[0].name!r}",
        )
    shown = [_described(variable) for variable in space.variables]
    known = [variable.name for variable in space.variables]
    short = [full.rpartition("/")[2] for full in known]
    hint = did_you_mean(name, [*known, *short, *others])
    raise UnknownName(
        f"{before}{missing} {name!r}{hint}",
        at=at,
        found=("it has:\n" + listed(shown, "variables") if shown else "it has none")
        + (f"\nhandles: {', '.join(map(repr, others))}" if others else ""),
        fix="use one of these names" if shown else "graph.add_variable(..., name=...)",
    )


def _described(variable: Variable) -> str:
    sizes = ", ".join(map(str, variable.shape))
    return f"{shortened(variable.name, NAME)}  {variable.element_type.dtype}[{sizes}]"


# -- metadata of QUARTER codes ---------------------------------------------------------------------

EXAMPLE = "metadata=pl.QuarterMetadata('F143', scale=0)"


def metadata_of(space: Space, view: View) -> View | None:
    """Return the metadata of a view of QUARTER codes; None for other types or an empty view."""
    below = storages(view)
    return space.variable_of(below[0]).metadata if below else None


def initial_metadata(space: Space, metadata: View, replica: int = 0) -> QuarterMetadata:
    """Return the initial format and scale in one QUARTER_METADATA element."""
    return QuarterMetadata.from_byte(_byte(space, metadata, replica))


def _byte(space: Space, metadata: View, replica: int = 0) -> int:
    variable = variable_below(space, metadata)
    stored = variable.initial_value_of(replica)
    element = address_at(metadata, 0) - variable.storage.base
    return 0 if stored is None else int(stored.reshape(-1)[element])


def variable_below(space: Space, metadata: View) -> Variable:
    """Return the variable that contains one QUARTER_METADATA element."""
    return space.variable_of(storages(metadata)[0])


def check_same_metadata(what: str, space: Space, *codes: View) -> None:
    """Refuse to combine QUARTER codes with different metadata, or without any.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.UNSIGNED_CHAR, (4,), "codes").reinterpret(pl.QUARTER)
    Traceback (most recent call last):
    poplite.errors.TensorMetadataError: reinterpret as QUARTER: 'codes' has no metadata ...
    """
    first: Variable | None = None
    for view in codes:
        for storage in storages(view):
            variable = space.variable_of(storage)
            if variable.metadata is None:
                raise _without_metadata(what, variable)
            first = first or variable
            if not same_meaning(space, first.metadata, variable.metadata):
                raise _different(what, space, first, variable)


def same_meaning(space: Space, one: View | None, other: View | None) -> bool:
    """Return whether two metadata views (or None) are the same, or equal constants."""
    if one is None or other is None:
        return one is other
    if same_elements(one, other):
        return True
    value = _constant(space, one)
    return value is not None and value == _constant(space, other)


def _constant(space: Space, metadata: View) -> int | None:
    """Return the byte if it is constant and the same in all replicas, else None."""
    variable = variable_below(space, metadata)
    if not variable.constant or variable.replica_values:
        return None
    return _byte(space, metadata)


def _without_metadata(what: str, variable: Variable) -> TensorMetadataError:
    return TensorMetadataError(
        f"{what}: '{variable.name}' has no metadata",
        found=f"{variable!r} was not created as QUARTER  ({variable.location})",
        fix=f"create it as QUARTER, with {EXAMPLE}; reinterpret reads its codes",
    )


def _different(what: str, space: Space, first: Variable, other: Variable) -> TensorMetadataError:
    assert first.metadata is not None
    assert other.metadata is not None
    return TensorMetadataError(
        f"{what}: '{first.name}' has {_shown(space, first.metadata)}, "
        f"but '{other.name}' has {_shown(space, other.metadata)}",
        found="their codes may represent different values: the metadata is neither the same tensor "
        "nor equal constants",
        fix="use one metadata tensor for both variables, or reinterpret(pl.UNSIGNED_CHAR) to copy "
        "the codes unchanged",
    )


def _shown(space: Space, metadata: View) -> str:
    value = _constant(space, metadata)
    if value is None:
        return f"'{variable_below(space, metadata).name}', which programs may change"
    return repr(QuarterMetadata.from_byte(value))
