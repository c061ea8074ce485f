"""A tensor with the addresses of its elements.

NumPy has every view operation of a tensor, on an array that holds, at each index, the address
of the element that the tensor shows there.  On that array every question is easy::

    x of shape (2, 3) at address 7      tensor  x.T        addresses  7 10
                                                                      8 11
                                                                      9 12
    x.T.contiguous_regions()            where do the flattened addresses not rise by one?

Both are made by the same calls, and remember them as Python lines that make the tensor again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ArgumentKind,
    ElementTypeError,
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
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.text import clipped
from poplite.types import INT, QuarterMetadata
from poplite.vertex.vertex import Vertex

Addresses = npt.NDArray[np.int64]

Nested = Sequence[Sequence[tuple[int, int]]]
"""For each tile, intervals over a flattened tensor."""


@made_by("variables({'x': (2, 3)})")
@frozen(repr=False)
class AddressedTensor:
    """A tensor, the addresses of its elements, and the lines that made both.

    Attributes:
        tensor: a view of some variables.
        addresses: int64[shape], of the element at each index; element `i` of a variable has
            the address `variable.storage.base + i`.
        lines: statements that come before `text`.
        text: an expression that makes the tensor.

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
        """Call a method of the tensor, and do the same to the addresses.

        Args:
            method: of `Tensor`, one that returns a tensor.
            *args: legal arguments, all by position.

        Raises:
            UnknownName: for any other method.
        """
        if not isinstance(method, str) or method not in _METHODS:
            meant = did_you_mean(method, _METHODS)
            raise UnknownName(
                f"AddressedTensor.call: no method {clipped(method)}{meant}",
                found=f"the methods are {', '.join(_METHODS)}",
                fix=".call('reverse', 0), or another of these",
            )
        text = f"{self.text}.{method}({_written(args)})"
        with _noted(text):
            tensor = getattr(self.tensor, method)(*args)
            try:
                addresses = _METHODS[method](self.addresses, *args)
            except TypeError as error:
                raise ElementTypeError(
                    f"AddressedTensor.call: {text} is not done to addresses",
                    found=str(error),
                    fix="whole numbers, or lists of them, as the method's names say",
                ) from error
        return AddressedTensor(tensor, addresses, self.lines, text)

    def joined_slices(self, intervals: Sequence[tuple[int, int]], dim: int) -> AddressedTensor:
        """Concatenate slices along the dimension that is sliced.

        Args:
            intervals: begin and end of each, at least one.
            dim: the dimension.
        """
        fix = "[(0, 2), (3, 4)], begin and end of each"
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
        # What Hypothesis asks; it would print the fields of a dataclass.
        printer.text(repr(self))


def _is_vertex_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Vertex)


def _are_integers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


_TENSORS = items_of(AddressedTensor, "a list of them")
_BY_NAME = instance_of(Mapping, "a dictionary of values by the names of fields")

checked = annotated(
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
"""Decorates the functions of `poplite.testing`: what their annotations ask for."""


def _written(values: Iterable[object]) -> str:
    """Return arguments as Python writes them; those that it cannot write fit no method."""
    try:
        return ", ".join(map(repr, values))
    except (RecursionError, ValueError):
        return ", ".join(map(clipped, values))


@contextmanager
def _noted(text: str) -> Iterator[None]:
    """Tell, of an exception inside the `with` block, which expression raised it."""
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
    """Make the variables of a new graph.

    Args:
        shapes: extents of each, by name.
        num_tiles: tiles of the graph.
        constants: names of those that are constants, of value 0.
        mappings: tiles of elements, by name; others have none.

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
                fix="intervals of each tile for one of these",
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
        parts: at least one; those that are not variables come from one chain of operations.
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
    """Append to a tensor a last index of one dimension.

    Args:
        one: the tensor that grows.
        other: of one rank less.
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
"""What NumPy calls the methods of a tensor."""
