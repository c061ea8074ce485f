"""Tensors with the addresses of their elements, drawn at random or made by hand.

NumPy has every view operation of a tensor. They are applied to an array that holds, at each index,
the address of the tensor's element at that index. On that array every query is simple::

    x of shape (2, 3) at address 7      tensor  x.T        addresses  7 10
                                                                      8 11
                                                                      9 12
    x.T.contiguous_regions()            where do the flattened addresses not increase by one?

The same calls make the tensor and the array, and are recorded as Python lines that reproduce the
tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ArgumentKind,
    ElementTypeError,
    TensorCreationError,
    UnknownName,
    annotated,
    checked_integer,
    checked_items,
    checked_kind,
    did_you_mean,
    instance_of,
    items_of,
    made_by,
)
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import append, concat
from poplite.graph.tensor.regions import SortedRegions, VariableInterval
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.graph.variable_mapping import NO_TILE
from poplite.machine.target import Target
from poplite.public import checked_call, misfit
from poplite.text import clipped
from poplite.types import INT, QuarterMetadata
from poplite.vertex.vertex import Vertex

F = TypeVar("F", bound=Callable[..., Any])

Addresses = npt.NDArray[np.int64]

Nested = Sequence[Sequence[tuple[int, int]]]
"""For each tile, intervals over a flattened tensor."""


@made_by("variables({'x': (2, 3)})")
@frozen(repr=False)
class AddressedTensor:
    """A tensor, the addresses of its elements, and the lines that made both.

    Attributes:
        tensor: a view of some variables.
        addresses: int64[shape], the address of the element at each index; element `i` of a variable
            has the address `variable.storage.base + i`.
        lines: statements that precede `text`.
        text: an expression for the tensor.

    >>> x = variables({"x": (2, 3)})[0]
    >>> y = x.call("dim_shuffle", [1, 0]).call("slice", 1, 3, 0)
    >>> y.addresses.tolist()
    [[1, 4], [2, 5]]
    >>> print(y)
    import poplite as pl
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (2, 3), "x")
    t = x.dim_shuffle([1, 0]).slice(1, 3, 0)
    """

    tensor: Tensor
    addresses: Addresses
    lines: tuple[str, ...]
    text: str

    def call(self, method: str, *args: Any) -> AddressedTensor:
        """Call a method of the tensor, and apply the same operation to the addresses.

        Args:
            method: name of a method of `Tensor` that returns a tensor.
            *args: valid arguments, all positional.

        Raises:
            UnknownName: if `Tensor` has no such method.
        """
        if not isinstance(method, str) or method not in _METHODS:
            meant = did_you_mean(method, _METHODS)
            raise UnknownName(
                f"AddressedTensor.call: there is no method {clipped(method)}{meant}",
                found=f"the methods are {', '.join(_METHODS)}",
                fix="call one of these methods, such as .call('reverse', 0)",
            )
        text = f"{self.text}.{method}({_written(args)})"
        with _noted(text):
            tensor = getattr(self.tensor, method)(*args)
            try:
                addresses = _METHODS[method](self.addresses, *args)
            except TypeError as error:
                raise ElementTypeError(
                    f"AddressedTensor.call: {text} cannot be applied to addresses",
                    found=str(error),
                    fix="pass whole numbers, or lists of them, as the method's parameters require",
                ) from error
        return AddressedTensor(tensor, addresses, self.lines, text)

    def joined_slices(self, intervals: Sequence[tuple[int, int]], dim: int) -> AddressedTensor:
        """Concatenate slices along the dimension that is sliced.

        Args:
            intervals: start and end of each slice; at least one.
            dim: the dimension.
        """
        fix = "pass the begin and end of each slice, such as [(0, 2), (3, 4)]"
        listed = checked_items(intervals, "AddressedTensor.joined_slices: intervals", fix)
        checked_integer(dim, "AddressedTensor.joined_slices: dim")
        for each in listed:
            checked_kind(each, tuple, "AddressedTensor.joined_slices: an interval", fix)
        text = f"pl.concat({self.text}.slices([{_written(listed)}], {dim}), {dim})"
        with _noted(text):
            tensor = concat(self.tensor.slices(listed, dim), dim)
        indices = [i for begin, end in listed for i in range(begin, end)]
        return AddressedTensor(tensor, _taken(self.addresses, indices, dim), self.lines, text)

    def assigned(self) -> AddressedTensor:
        """Give the tensor the name `t`, which keeps further expressions short."""
        return AddressedTensor(self.tensor, self.addresses, (*self.lines, f"t = {self.text}"), "t")

    def __repr__(self) -> str:
        return "\n".join(self.lines if self.text == "t" else self.assigned().lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # For Hypothesis, which would print the fields of a dataclass.
        printer.text(repr(self))


def _is_vertex_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Vertex)


def _are_integers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


_TENSORS = items_of(AddressedTensor, "a list of them")
_BY_NAME = instance_of(Mapping, "a dictionary of values by the names of fields")

_by_annotation = annotated(
    "testing",
    {
        "Graph": instance_of(Graph, "a graph"),
        "Tensor": instance_of(Tensor, "a tensor"),
        "AddressedTensor": instance_of(AddressedTensor, "a tensor that testing.variables made"),
        "Sequence[AddressedTensor]": ArgumentKind(
            lambda value: _TENSORS.fits(value) and len(value) > 0,  # type: ignore[arg-type]
            "a list of tensors that testing.variables made",
        ),
        "Sequence[str]": items_of(str, "a list of names"),
        "Int64": ArgumentKind(_are_integers, "an array of int64"),
        "Random": instance_of(Random, "random.Random(0)"),
        "QuarterMetadata": instance_of(QuarterMetadata, 'pl.QuarterMetadata("F143")'),
        "type[Vertex]": ArgumentKind(_is_vertex_class, "a vertex class"),
        "Mapping[str, Any]": _BY_NAME,
        "Mapping[str, Sequence[Any]]": _BY_NAME,
        "Callable[..., Any]": ArgumentKind(callable, "a function of them"),
        "Shapes": ArgumentKind(callable, "a function of a size"),
        "dict[str, Sequence[int]]": instance_of(dict, 'shapes by name, such as {"x": (2, 3)}'),
        "dict[str, Nested]": instance_of(dict, "intervals of each tile, by name"),
    },
)
"""Decorator that checks arguments by annotation."""

_CALLS = {"assert_vertex": "testing.assert_vertex(V, {'x': values}, {'y': expected})"}
"""Calls that show which arguments are dictionaries."""


def checked(function: F) -> F:
    """Decorate a function of `poplite.testing`, whose arguments and their number are checked."""
    called = f"testing.{function.__name__}"
    unfit = partial(misfit, called, otherwise=_CALLS.get(function.__name__, ""))
    made: Any = checked_call(_by_annotation(function), called, unfit)
    return made  # type: ignore[no-any-return]


def _written(values: Iterable[object]) -> str:
    """Return arguments as Python source text, which all valid arguments have."""
    try:
        return ", ".join(map(repr, values))
    except (RecursionError, ValueError):
        return ", ".join(map(clipped, values))


@contextmanager
def _noted(text: str) -> Iterator[None]:
    """Add the expression that raised them to exceptions of the `with` block."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in: t = {text}")
        raise


@checked
def variables(
    shapes: dict[str, Sequence[int]],
    *,
    num_tiles: int = 4,
    constants: Sequence[str] = (),
    mappings: dict[str, Nested] | None = None,
) -> tuple[AddressedTensor, ...]:
    """Create the variables of a new graph.

    Args:
        shapes: the shape of each variable, by name.
        num_tiles: number of tiles of the graph.
        constants: names of the variables that are constants, with the value 0.
        mappings: tile mappings by name; other variables are not mapped.

    >>> x, y = variables({"x": (4,), "y": ()}, constants=["y"])
    >>> y.tensor.contains_constant(), y.addresses.tolist()
    (True, 5)
    """
    graph = Graph(Target(tiles=num_tiles))
    lines = ["import poplite as pl", f"graph = pl.Graph(pl.Target(tiles={num_tiles}))"]
    tensors = {}
    for name, extents in shapes.items():
        fix = '{"x": (2, 3)}'
        listed = checked_items(extents, f"testing.variables: the shape of {clipped(name)}", fix)
        shape = tuple(listed)
        if name in constants:
            tensors[name] = graph.add_constant(INT, shape, 0, name)
            lines.append(f'{name} = graph.add_constant(pl.INT, {shape}, 0, "{name}")')
        else:
            tensors[name] = graph.add_variable(INT, shape, name)
            lines.append(f'{name} = graph.add_variable(pl.INT, {shape}, "{name}")')
    for name, mapping in (mappings or {}).items():
        if name not in tensors:
            raise UnknownName(
                f"testing.variables: mappings name {clipped(name)}{did_you_mean(name, tensors)}",
                found=f"shapes name {', '.join(tensors) or 'nothing'}",
                fix="pass intervals for each tile, by one of these names",
            )
        graph.set_tile_mapping(tensors[name], mapping)
        lines.append(f"graph.set_tile_mapping({name}, {mapping!r})")
    made = []
    for variable in graph.variables:
        storage, tensor = variable.storage, tensors[variable.name]
        addresses = np.arange(storage.base, storage.base + storage.num_elements)
        made.append(
            AddressedTensor(tensor, addresses.reshape(tensor.shape), tuple(lines), variable.name)
        )
    return tuple(made)


@checked
def concatenated(parts: Sequence[AddressedTensor], dim: int) -> AddressedTensor:
    """Concatenate tensors of one graph along a dimension.

    Args:
        parts: at least one tensor; those that are not variables come from one chain of operations.
        dim: the dimension.

    >>> x, y = variables({"x": (2,), "y": (1,)})
    >>> concatenated([y, x], 0).addresses.tolist()
    [3, 0, 1]
    """
    text = f"pl.concat([{', '.join([part.text for part in parts])}], {dim})"
    with _noted(text):
        tensor = concat([part.tensor for part in parts], dim)
    addresses = np.concatenate([part.addresses for part in parts], dim)
    return AddressedTensor(tensor, addresses, _longest(parts), text)


@checked
def appended(one: AddressedTensor, other: AddressedTensor, dim: int) -> AddressedTensor:
    """Extend a tensor by one index at the end of a dimension.

    Args:
        one: the tensor to extend.
        other: the elements at that index; its rank is one less.
        dim: the dimension.

    >>> x, y = variables({"x": (2,), "y": ()})
    >>> appended(x, y, 0).addresses.tolist()
    [0, 1, 3]
    """
    text = f"pl.append({one.text}, {other.text}, {dim})"
    with _noted(text):
        tensor = append(one.tensor, other.tensor, dim)
    last = np.expand_dims(other.addresses, dim)
    addresses = np.concatenate([one.addresses, last], dim)
    return AddressedTensor(tensor, addresses, _longest([one, other]), text)


def _longest(parts: Sequence[AddressedTensor]) -> tuple[str, ...]:
    return max([part.lines for part in parts], key=len)


def _taken(a: Addresses, indices: Sequence[int], dim: int) -> Addresses:
    return a.take(np.array(indices, np.int64), dim)


def _flattened(a: Addresses, begin: int = 0, end: int | None = None) -> Addresses:
    last = a.ndim if end is None else end
    return a.reshape(*a.shape[:begin], math.prod(a.shape[begin:last]), *a.shape[last:])


def _expanded(a: Addresses, indices: Sequence[int]) -> Addresses:
    for i in sorted(indices, reverse=True):
        a = np.expand_dims(a, i)
    return a


_METHODS: dict[str, Callable[..., Addresses]] = {
    "slice": lambda a, begin, end, dim: _taken(a, range(begin, end), dim),
    "index": lambda a, indices: a[(*indices, ...)],
    "sub_sample": lambda a, stride, dim: _taken(a, range(0, a.shape[dim], stride), dim),
    "reverse": np.flip,
    "dim_shuffle": np.transpose,
    "dim_roll": np.moveaxis,
    "reshape": np.reshape,
    "flatten": _flattened,
    "expand": _expanded,
    "squeeze": lambda a, indices: a.squeeze(tuple(indices)),
    "broadcast": lambda a, n, dim: np.concatenate([a] * n or [_taken(a, (), dim)], dim),
    "upsample": np.repeat,
}
"""NumPy's counterparts of the methods of a tensor."""


# -- queries of a tensor, compared with the addresses of its elements ------------------------------
# Each check computes the answer as plainly as NumPy allows, from every element. If it differs, the
# check raises an `AssertionError` with the query, the answer, and the answer from the addresses.


SHOWN = 300
"""Maximum number of characters shown for an answer in a message."""


@checked
def check_tensor(tensor: Tensor, addresses: Int64) -> None:
    """Assert that every query of a tensor has the answer that follows from its addresses.

    Args:
        tensor: any view.
        addresses: int64[shape], the address of the element at each index; element `i` of a variable
            has the address `variable.storage.base + i`.

    Raises:
        AssertionError: with the query, the answer, and what was expected.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (2, 3), "x")
    >>> check_tensor(x.T, np.array([[0, 3], [1, 4], [2, 5]]))
    >>> check_tensor(x[0], np.array([1, 2]))
    Traceback (most recent call last):
    AssertionError: shape is (3,), expected (2,)
    """
    check_view(tensor, addresses)
    tiles = tiles_of(tensor.graph)
    check_tile_mapping(tensor, addresses, tiles)
    check_sorted_regions(tensor, addresses, tiles)


def check_view(tensor: Tensor, addresses: Int64) -> None:
    """Make the checks of `check_tensor`, except those of tiles and memory order.

    Args:
        tensor: any view.
        addresses: int64[shape], the address of the element at each index.

    Raises:
        AssertionError: with the query, the answer, and what was expected.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (2,), "x")
    >>> check_view(x.broadcast(2, 0), np.array([0, 1, 0, 1]))
    """
    _same("shape", tensor.shape, addresses.shape)
    _same("num_elements", tensor.num_elements, addresses.size)
    flat = addresses.reshape(-1)
    owners = _owners(tensor.graph, flat)
    _check_regions(tensor, flat, owners)
    used = [tensor.graph.variables[k] for k in np.unique(owners)]
    constant = any([variable.constant for variable in used])
    aliased = len(np.unique(flat)) < len(flat)
    _same("contains_constant()", tensor.contains_constant(), constant)
    _same("contains_aliases()", tensor.contains_aliases(), aliased)
    _same("is_parallel_writeable()", tensor.is_parallel_writeable(), not (constant or aliased))
    _same("intersects_with(itself)", tensor.intersects_with(tensor), len(flat) > 0)


def _check_regions(tensor: Tensor, flat: Int64, owners: Int64) -> None:
    breaks = np.flatnonzero(np.diff(flat, prepend=flat[:1] - 2) != 1)
    ends = np.append(breaks[1:], len(flat))[: len(breaks)]
    contiguous = list(zip(breaks.tolist(), ends.tolist(), strict=True))
    variables = tensor.graph.variables
    regions = []
    for begin, end in contiguous:
        variable = variables[owners[begin]]
        first = int(flat[begin]) - variable.storage.base
        regions.append(VariableInterval(variable, first, first + end - begin))
    _same("var_regions()", tensor.var_regions(), regions)
    _same("contiguous_regions()", tensor.contiguous_regions(), contiguous)
    _same("is_contiguous()", tensor.is_contiguous(), len(contiguous) < 2)


@checked
def check_intersection(one: Tensor, addresses: Int64, other: Tensor, others: Int64) -> None:
    """Assert that two tensors share elements exactly if their addresses do.

    Args:
        one: a tensor.
        addresses: int64[shape], the addresses of its elements.
        other: another tensor of the graph.
        others: int64[shape], the addresses of its elements.

    Raises:
        AssertionError: if one of the two gives a different answer.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (4,), "x")
    >>> check_intersection(x[::2], np.array([0, 2]), x[1::2], np.array([1, 3]))
    """
    shared = bool(np.isin(addresses, others).any())
    _same("intersects_with(other)", one.intersects_with(other), shared)
    _same("other.intersects_with(tensor)", other.intersects_with(one), shared)


@checked
def tiles_of(graph: Graph) -> Int64:
    """Return the tile at every address of a graph; -1 where there is none.

    Args:
        graph: any graph.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> _ = graph.add_variable(pl.INT, (2,), mapping=1), graph.add_variable(pl.INT, (2,))
    >>> tiles_of(graph).tolist()
    [1, 1, -1, -1, -1]
    """
    last = graph.variables[-1].storage if graph.variables else None
    tiles = np.full(last.base + last.num_elements if last else 0, NO_TILE)
    for variable in graph.variables:
        breaks, own = variable.mapping.pieces()
        base = variable.storage.base
        tiles[base : base + variable.num_elements] = np.repeat(own, np.diff(breaks))
    return tiles


@checked
def check_tile_mapping(tensor: Tensor, addresses: Int64, tiles: Int64) -> None:
    """Assert that a tensor's elements are on the tiles of their addresses.

    Args:
        tensor: any view.
        addresses: int64, the addresses of its elements, in order.
        tiles: int64, the tile at every address; -1 where there is none.

    Raises:
        AssertionError: if an element is on a different tile, or an interval is not as long as
            possible.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (4,), mapping="linear")
    >>> check_tile_mapping(x[::-1], np.array([3, 2, 1, 0]), np.array([0, 0, 1, 1]))
    """
    expected = _tiles_at(addresses.reshape(-1), tiles, "check_tile_mapping")
    cuts = [0, *(np.flatnonzero(np.diff(expected)) + 1).tolist(), len(expected)]
    nested: list[list[tuple[int, int]]] = [[] for _ in range(tensor.graph.target.tiles)]
    holes: list[tuple[int, int]] = []
    for begin, end in pairwise(cuts if len(expected) else []):
        held = nested[expected[begin]] if expected[begin] != NO_TILE else holes
        held.append((begin, end))
    answer = tensor.graph.tile_mapping(tensor, require_complete=False)
    _same("graph.tile_mapping(tensor)", _nested(answer), nested)
    _same("graph.tile_mapping(tensor).unmapped", answer.unmapped, holes)
    count = np.bincount(expected[expected != NO_TILE], minlength=len(nested)).tolist()
    _same("...elements_per_tile", answer.elements_per_tile.tolist(), count)
    _same("...num_unmapped", answer.num_unmapped, len(expected) - sum(count))


def _nested(mapping: TileMapping) -> list[list[tuple[int, int]]]:
    return [[(begin, end) for begin, end in held] for held in mapping]


@checked
def check_sorted_regions(tensor: Tensor, addresses: Int64, tiles: Int64) -> None:
    """Assert that a tensor's groups list its elements in memory order, overall and by tile.

    Args:
        tensor: any view.
        addresses: int64, the addresses of its elements, in order.
        tiles: int64, the tile at every address; -1 where there is none.

    Raises:
        AssertionError: if an element is missing or in the wrong place, or a group or an
            interval is not as long as possible.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (4,), mapping="linear")
    >>> check_sorted_regions(x[::-1], np.array([3, 2, 1, 0]), np.array([0, 0, 1, 1]))
    """
    graph, flat = tensor.graph, addresses.reshape(-1)
    nowhere = np.zeros_like(flat)
    _same_groups("regions", graph.sorted_contiguous_regions(tensor), *_groups(flat, nowhere))
    once = graph.sorted_contiguous_regions(tensor, remove_aliased=True)
    _check_once(once, flat, nowhere)
    _check_aliases(graph.sorted_contiguous_regions(tensor, report_aliases=True), flat)
    own = _tiles_at(flat, tiles, "check_sorted_regions")
    if (own != NO_TILE).all():
        by_tile = graph.sorted_contiguous_regions_by_tile(tensor)
        ptr, begin, end = _groups(flat, own)
        _same_groups("regions by tile", by_tile.groups, ptr, begin, end)
        tile_ptr = np.searchsorted(own[begin][ptr[:-1]], np.arange(graph.target.tiles + 1))
        _same("regions by tile: groups of each tile", by_tile.tile_ptr, tile_ptr)
        once_by_tile = graph.sorted_contiguous_regions_by_tile(tensor, remove_aliased=True)
        _check_once(once_by_tile.groups, flat, own)


def _groups(flat: Int64, tiles: Int64) -> tuple[Int64, Int64, Int64]:
    """Group positions by tile and address; return group offsets, interval starts and ends."""
    new = np.append(True, (np.diff(flat) != 1) | (np.diff(tiles) != 0))[: len(flat)]
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(flat))[: len(begin)]
    order = np.lexsort((flat[begin], tiles[begin]))  # stable: ties keep their order
    begin, end = begin[order], end[order]
    joined = (flat[end[:-1] - 1] + 1 == flat[begin[1:]]) & (np.diff(tiles[begin]) == 0)
    breaks = np.flatnonzero(np.append(True, ~joined)[: len(begin)])
    return np.append(breaks, len(begin)), begin, end


def _same_groups(
    question: str, answer: SortedRegions, ptr: Int64, begin: Int64, end: Int64
) -> None:
    _same(f"{question}: groups", answer.ptr, ptr)
    _same(f"{question}: begins", answer.begin, begin)
    _same(f"{question}: ends", answer.begin + answer.length, end)


def _check_once(answer: SortedRegions, flat: Int64, tiles: Int64) -> None:
    """Assert that groups list every address once, in order, and cannot be merged."""
    positions = _positions(answer.begin, answer.length)
    memory, first = np.unique(flat, return_index=True)
    order = np.argsort(tiles[first], kind="stable")
    memory, tile = memory[order], tiles[first][order]
    _same("without aliases: addresses", flat[positions], memory)
    cuts = np.append(True, (np.diff(memory) != 1) | (np.diff(tile) != 0))[: len(memory)]
    starts = (np.cumsum(answer.length) - answer.length)[answer.ptr[:-1]]
    _same("without aliases: begins of groups", starts, np.flatnonzero(cuts))
    inside = np.ones(len(answer.begin), np.bool_)
    inside[answer.ptr[:-1]] = False
    goes_on = inside[1:] & (answer.begin[1:] == (answer.begin + answer.length)[:-1])
    _same("without aliases: intervals that continue", np.flatnonzero(goes_on), [])


def _check_aliases(answer: SortedRegions, flat: Int64) -> None:
    """Assert that every element is listed, with the first interval that shows its memory."""
    assert answer.aliases is not None
    positions = _positions(answer.begin, answer.length)
    _same("with aliases: elements", np.sort(positions), np.arange(len(flat)))
    _, first, which = np.unique(flat, return_index=True, return_inverse=True)
    origins = _positions(answer.aliases, answer.length)
    _same("aliases", origins, first[which.reshape(-1)[positions]])


def _positions(begin: Int64, length: Int64) -> Int64:
    first = np.repeat(begin - (np.cumsum(length) - length), length)
    return first + np.arange(len(first))


def _tiles_at(flat: Int64, tiles: Int64, call: str) -> Int64:
    """Return the tile of each element; reject `tiles` unless it has one for each address."""
    if tiles.ndim != 1 or (len(flat) and not 0 <= flat.min() <= flat.max() < len(tiles)):
        raise TensorCreationError(
            f"testing.{call}: `tiles` must have a tile for each address; found shape {tiles.shape}",
            fix="pass tiles_of(graph)",
        )
    return tiles[flat]


def _owners(graph: Graph, flat: Int64) -> Int64:
    bases = np.array([variable.storage.base for variable in graph.variables], np.int64)
    return np.searchsorted(bases, flat, side="right") - 1


def _same(question: str, answer: object, expected: object) -> None:
    if isinstance(answer, np.ndarray):
        answer, expected = answer.tolist(), np.asarray(expected).tolist()
    if answer != expected:
        raise AssertionError(
            f"{question} is {clipped(answer, SHOWN)}, expected {clipped(expected, SHOWN)}"
        )


# -- random tensors --------------------------------------------------------------------------------
# All choices are drawn from a `random.Random`, so that a seed determines a tensor:
#     variables and a constant, of a few sizes that have many divisors
#     up to n steps, each a random operation with random valid arguments, such as
#     slice, reverse, dim_shuffle, reshape, broadcast; concatenation with itself, with slices,
#     with shifted windows as in a convolution, with other variables
#
# Sizes of 0 and 1, rank 0, and reshapes that do not match strides occur often enough.

MOST_ELEMENTS = 600
"""Maximum number of elements of a random tensor; variables have fewer."""

LARGEST = 2**20
"""Maximum size for which a shape or a mapping is drawn, and maximum number of steps."""

SIZES = {"v0": 24, "c1": 36, "v2": 60, "v3": 1, "v4": 24}
"""Number of elements of each random variable; c1 is a constant."""


@checked
def random_variables(random: Random, num_tiles: int = 4) -> tuple[AddressedTensor, ...]:
    """Create the variables of a new graph, one of them a constant; some elements have no tile.

    Args:
        random: source of shapes and tiles.
        num_tiles: number of tiles of the graph.

    >>> [v.tensor.num_elements for v in random_variables(Random(0))]
    [24, 36, 60, 1, 24]
    """
    return variables(
        {name: random_shape(random, size) for name, size in SIZES.items()},
        num_tiles=num_tiles,
        constants=["c1"],
        mappings={name: random_mapping(random, size, num_tiles) for name, size in SIZES.items()},
    )


@checked
def random_tensor(
    random: Random, sources: Sequence[AddressedTensor], max_steps: int = 8
) -> AddressedTensor:
    """Draw a tensor that is the result of random operations.

    Args:
        random: source of all choices.
        sources: whole variables of one graph.
        max_steps: maximum number of operations.

    >>> random = Random(8)
    >>> print(random_tensor(random, random_variables(random), 3).text)
    t
    """
    _check_size("testing.random_tensor: max_steps", max_steps)
    made = random_reshaped_variable(random, sources)
    for _ in range(random.randint(0, max_steps)):
        made = random_step(random, made, sources)
    return made


def random_reshaped_variable(random: Random, sources: Sequence[AddressedTensor]) -> AddressedTensor:
    """Draw a variable in a random shape.

    Args:
        random: source of the choice.
        sources: whole variables of one graph.

    >>> random = Random(0)
    >>> random_reshaped_variable(random, random_variables(random)).tensor.is_contiguous()
    True
    """
    source = random.choice(sources)
    return source.call("reshape", random_shape(random, source.tensor.num_elements)).assigned()


@checked
def random_step(
    random: Random, one: AddressedTensor, sources: Sequence[AddressedTensor]
) -> AddressedTensor:
    """Apply one random operation to a tensor.

    Args:
        random: source of the choice.
        one: a tensor.
        sources: whole variables of its graph, to concatenate with.

    >>> random = Random(3)
    >>> sources = random_variables(random)
    >>> print(random_step(random, sources[0], sources).lines[-1])
    t = v0.reshape((24,))
    """
    rank = one.tensor.rank
    dim = random.randrange(max(rank, 1))
    if rank and random.random() < 0.06:
        made = _with_others(random, one, dim, sources)
    else:
        made = random.choice(_WITH_DIMENSIONS if rank else _ANY_RANK)(random, one, dim)
    return one if made is one else made.assigned()


@checked
def random_shape(random: Random, size: int) -> tuple[int, ...]:
    """Draw a shape with a given number of elements, of rank 0 to 4.

    Args:
        random: the source of randomness.
        size: the number of elements.

    >>> math.prod(random_shape(Random(0), 24))
    24
    """
    _check_size("testing.random_shape: size", size)
    shape = []
    if size == 0:
        shape = [0, *(random.randint(0, 3) for _ in range(random.randint(0, 2)))]
    while size > 1 and len(shape) < 3 and random.random() < 0.8:
        extent = random.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(extent)
        size //= extent
    if size > 1 or (size == 1 and random.random() < 0.3):
        shape.append(size)
    random.shuffle(shape)
    return tuple(shape)


@checked
def random_mapping(random: Random, size: int, num_tiles: int) -> list[list[tuple[int, int]]]:
    """Draw, for each tile, disjoint intervals of a flattened tensor; some elements get no tile.

    Args:
        random: the source of randomness.
        size: the number of elements.
        num_tiles: the number of tiles.

    >>> random_mapping(Random(1), 8, 2)
    [[], [(0, 1), (1, 8)]]
    """
    _check_size("testing.random_mapping: size", size)
    Target(tiles=num_tiles)  # rejects too many tiles
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(random.randint(0, 6)))})
    mapping: list[list[tuple[int, int]]] = [[] for _ in range(num_tiles)]
    for begin, end in pairwise(cuts):
        if random.random() < 0.9:
            random.choice(mapping).append((begin, end))
    return mapping


def _check_size(what: str, size: int) -> None:
    if not 0 <= size <= LARGEST:
        raise TensorCreationError(
            f"{what} must be from 0 to {LARGEST:,}; found {clipped(size)}",
            fix=f"pass a number from 0 to {LARGEST:,}",
        )


_Step = Callable[[Random, AddressedTensor, int], AddressedTensor]


def _slice(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    size = one.tensor.shape[dim]
    begin = random.randint(0, size // 2)
    end = random.randint(min(begin + 1, size), size) if random.random() < 0.98 else begin
    return one.call("slice", begin, end, dim)


def _index(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if not one.tensor.shape[0] or (one.tensor.num_elements < 9 and random.random() < 0.8):
        return one
    return one.call("index", [random.randrange(one.tensor.shape[0])])


def _shuffle(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    rank = one.tensor.rank
    if random.random() < 0.2:
        return one.call("dim_roll", dim, random.randrange(rank))
    return one.call("dim_shuffle", random.sample(range(rank), rank))


def _sub_sample(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("sub_sample", random.randint(1, 5), dim)


def _reverse(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("reverse", dim)


def _repeat(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    times = random.randint(1, 3) if 3 * one.tensor.num_elements <= MOST_ELEMENTS else 1
    times = 0 if random.random() < 0.02 else times
    return one.call(random.choice(["broadcast", "upsample"]), times, dim)


def _reshape(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("reshape", random_shape(random, one.tensor.num_elements))


def _flatten(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if random.random() < 0.7:
        return one.call("flatten")
    begin = random.randint(0, one.tensor.rank)
    return one.call("flatten", begin, random.randint(begin, one.tensor.rank))


def _expand(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if one.tensor.rank < 5:
        return one.call("expand", [random.randint(0, one.tensor.rank)])
    return one.call("squeeze", [d for d, size in enumerate(one.tensor.shape) if size == 1])


def _pieces(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Cut the tensor, and concatenate all pieces in order, or a selection in any order."""
    size = one.tensor.shape[dim]
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(random.randint(0, 5)))})
    ranges = list(pairwise(cuts)) or [(0, 0)]
    if random.random() < 0.5:
        ranges = random.sample(ranges, random.randint(1, len(ranges)))
    return _of_slices(random, one, ranges, dim)


def _windows(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Concatenate shifted windows of equal size."""
    size = one.tensor.shape[dim]
    if size < 2:
        return one
    width, step = random.randint(1, size - 1), random.randint(1, 2)
    ranges = [(begin, begin + width) for begin in range(0, size - width + 1, step)]
    if len(ranges) * width * (one.tensor.num_elements // size) > MOST_ELEMENTS:
        return one
    return _of_slices(random, one, ranges, dim)


def _of_slices(
    random: Random, one: AddressedTensor, ranges: list[tuple[int, int]], dim: int
) -> AddressedTensor:
    if random.random() < 0.3:
        return one.joined_slices(ranges, dim)
    return concatenated([one.call("slice", begin, end, dim) for begin, end in ranges], dim)


def _with_itself(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    times = random.randint(1, 4)
    if times * one.tensor.num_elements > MOST_ELEMENTS:
        return one
    return concatenated(
        [one.call("reverse", dim) if random.random() < 0.3 else one for _ in range(times)], dim
    )


def _grown(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Append one of the tensor's own indices."""
    size = one.tensor.shape[dim]
    if not size:
        return one
    own = one.call("dim_roll", dim, 0).call("index", [random.randrange(size)])
    return appended(one, own, dim)


def _with_others(
    random: Random, one: AddressedTensor, dim: int, sources: Sequence[AddressedTensor]
) -> AddressedTensor:
    """Concatenate with elements of other variables, cut to a shape that fits."""
    shape, parts, total = one.tensor.shape, [one], int(one.tensor.num_elements)
    chunk = math.prod(shape) // max(shape[dim], 1)
    for other in random.choices(sources, k=random.randint(1, 3)):
        rows = other.tensor.num_elements // chunk if chunk else 0
        total += rows * chunk
        if not rows or total > MOST_ELEMENTS:
            break
        part = other.call("flatten").call("slice", 0, rows * chunk, 0)
        parts.append(part.call("reshape", (*shape[:dim], rows, *shape[dim + 1 :])))
    random.shuffle(parts)
    return concatenated(parts, dim)


_ANY_RANK: tuple[_Step, ...] = (_reshape, _reshape, _flatten, _expand)
_WITH_DIMENSIONS: tuple[_Step, ...] = (
    *_ANY_RANK, _slice, _slice, _index, _shuffle, _sub_sample, _reverse, _repeat, _repeat,
    _pieces, _pieces, _with_itself, _windows, _grown,
)  # fmt: skip
