"""A tensor with the addresses of its elements.

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
