"""Tensors: what a user slices, reshapes, maps to tiles and connects to vertices.

A tensor is a graph, an element type and a view; it holds no values.  Every operation
returns another view of the same variables in about a microsecond, whatever the sizes, and
nothing is ever copied::

    image = graph.add_variable(FLOAT, (480, 640))
    image[1:-1, ::2]                     NumPy's basic indexing
    image.reshape((48, 10, 640))         any view can be reshaped
    pl.concat([image, image.T.reshape((480, 640))], dim=1)

Method names are Poplar's, also in its C++ spelling (`dimShuffle`); methods raise where
`t[...]` clamps.  Source: Poplar API reference, "Tensor".
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO, overload

import numpy as np

from poplite import indexing, tensor_text
from poplite import view as views
from poplite.errors import (
    ElementTypeError,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
)
from poplite.source import here
from poplite.types import ElementType, ElementTypeLike, element_type
from poplite.view import Interval, View

if TYPE_CHECKING:
    from poplite.graph import Graph
    from poplite.variable import Variable

MOST_ELEMENTS = 2**62
"""Elements of the largest tensor, so that every index fits a 64-bit integer."""


class UpsampleMethod(enum.Enum):
    """How `Tensor.upsample` fills in elements."""

    REPEAT = "repeat"


class VariableInterval(NamedTuple):
    """The elements [begin, end) of a flattened variable."""

    variable: Variable
    begin: int
    end: int


class Tensor:
    """An immutable, hashable view of elements of a graph's variables.

    Tensors are equal when they view the same elements in the same shape and type.

    Attributes:
        graph: the graph that owns the variables.
        element_type: what one element is.
        view: which elements, in which order.
    """

    __slots__ = ("element_type", "graph", "view")
    # NumPy functions and operators refuse a tensor instead of making object arrays of it.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, element_type: type[ElementType[Any]], view: View) -> None:
        self.graph = graph
        self.element_type = element_type
        self.view = view

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.view.shape

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.view.shape)

    @property
    def num_elements(self) -> int:
        """Number of elements, repeats counted."""
        return math.prod(self.view.shape)

    @property
    def name(self) -> str:
        """Name of the variable viewed, or of several; empty without elements."""
        return tensor_text.name(self)

    @property
    def T(self) -> Tensor:  # NumPy's spelling
        """The tensor with its dimensions in opposite order."""
        return self._of(self.view.dim_shuffle(range(self.rank)[::-1]))

    def dim(self, i: int) -> int:
        """Return the size of one dimension.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).dim(1)
        3
        """
        return self.view.shape[indexing.dimension(i, self)]

    # Selecting elements

    def __getitem__(self, key: indexing.Index) -> Tensor:
        if type(key) is int:
            shape = self.view.shape
            if shape and 0 <= key < shape[0]:
                return Tensor(self.graph, self.element_type, self.view.index(key))
        return Tensor(self.graph, self.element_type, indexing.select(self, key))

    def __len__(self) -> int:
        if not self.view.shape:
            raise ElementTypeError(
                "a tensor of rank 0 has no length",
                at=here(),
                found=indexing.described(self),
                fix="t.num_elements is 1; t.reshape((1,)) has length 1",
            )
        return self.view.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self._of(self.view.index(i)) for i in range(len(self)))

    @overload
    def slice(self, begin: int, end: int, dim: int = 0) -> Tensor: ...
    @overload
    def slice(self, begin: tuple[int, int], end: int = 0) -> Tensor: ...
    @overload
    def slice(self, begin: tuple[int, int], *, dim: int) -> Tensor: ...
    @overload
    def slice(self, begin: Sequence[int], end: Sequence[int]) -> Tensor: ...

    def slice(self, begin: Any, end: Any = None, dim: Any = None) -> Tensor:
        """Select a range of one dimension, or of each leading dimension.

        Args:
            begin: first index; or an interval, then `end` may hold the dimension; or the
                first index of each leading dimension.
            end: one past the last index; or a list of those.
            dim: the dimension, 0 when left out.

        Returns:
            A tensor of the same rank.

        Raises:
            TensorIndexError: unless 0 <= begin <= end <= size.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (4, 6))
        >>> t.slice(1, 3).shape, t.slice((0, 2), 1).shape, t.slice([1, 1], [2, 4]).shape
        ((2, 6), (4, 2), (1, 3))
        """
        if indexing.is_sequence(begin) and not indexing.is_sequence(end):
            if not indexing.is_interval(begin):
                raise self._no_interval(begin)
            dim = end if dim is None else dim
            begin, end = begin
        if indexing.is_sequence(begin):
            return self._slice_leading(begin, end, dim)
        d = indexing.dimension(0 if dim is None else dim, self)
        first, last = indexing.span(begin, end, d, self)
        return self._of(self.view.slice(first, last, d))

    def _slice_leading(self, begin: Sequence[int], end: Sequence[int], dim: object) -> Tensor:
        first = indexing.numbers(begin, "begin", self)
        last = indexing.numbers(end, "end", self)
        if len(first) != len(last) or len(first) > self.rank or dim is not None:
            raise TensorIndexError(
                f"slice with {len(first)} begins and {len(last)} ends"
                + (f" and dim={dim!r}" if dim is not None else ""),
                at=here(),
                found=indexing.described(self),
                fix=f"as many begins as ends, one for each leading dimension, at most {self.rank}",
            )
        view = self.view
        for d, (a, b) in enumerate(zip(first, last, strict=True)):
            view = view.slice(*indexing.span(a, b, d, self), d)
        return self._of(view)

    def _no_interval(self, value: object) -> PopliteError:
        return TensorIndexError(
            f"{value!r} is not an interval",
            at=here(),
            found=indexing.described(self),
            fix="an interval is a tuple (begin, end), or pl.Interval(begin, end)",
        )

    def slices(
        self,
        intervals: Sequence[int] | Sequence[tuple[int, int]] | Sequence[Sequence[tuple[int, int]]],
        dim: int = 0,
    ) -> list[Tensor]:
        """Select several ranges of one dimension.

        Args:
            intervals: for each result an interval `(begin, end)`, or an index (which keeps
                its dimension, of size 1), or a list of intervals to concatenate.
            dim: the dimension.

        Returns:
            One tensor for each item.

        Raises:
            TensorIndexError: for an interval or index outside the dimension.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (6,))
        >>> [s.shape for s in t.slices([(0, 4), (2, 3)])], t.slices([[(0, 1), (3, 6)]])[0].shape
        ([(4,), (1,)], (4,))
        """
        d = indexing.dimension(dim, self)
        if not indexing.is_sequence(intervals):
            raise self._no_interval(intervals)
        return [self._of(self._piece(item, d)) for item in intervals]

    def _piece(self, item: object, dim: int) -> View:
        if indexing.is_interval(item):
            return self.view.slice(*indexing.span(item[0], item[1], dim, self), dim)
        if indexing.is_sequence(item):
            for part in item:
                if not indexing.is_interval(part):
                    raise self._no_interval(part)
            found = [self._piece(part, dim) for part in item]
            return views.concat(found, dim) if found else self.view.slice(0, 0, dim)
        i = indexing.index(item, self.view.shape[dim], self, dim)  # type: ignore[arg-type]
        return self.view.slice(i, i + 1, dim)

    def index(self, indices: Sequence[int]) -> Tensor:
        """Select one index of each leading dimension, which disappear.

        Raises:
            TensorIndexError: for an index outside its dimension, or too many indices.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (4, 6, 2)).index([3, 5]).shape
        (2,)
        """
        chosen = indexing.numbers(indices, "indices", self)
        if len(chosen) > self.rank:
            raise indexing.outside(
                f"{len(chosen)} indices for a tensor of rank {self.rank}", self, self.rank, "dim"
            )
        view = self.view
        for d, i in enumerate(chosen):
            view = view.index(indexing.index(i, self.view.shape[d], self, d))
        return self._of(view)

    def sub_sample(self, stride: int, dim: int) -> Tensor:
        """Select every stride-th index of one dimension, from 0.

        Raises:
            TensorIndexError: when there is no such dimension, or the stride is 0.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (5,)).sub_sample(2, 0).shape
        (3,)
        """
        step, d = indexing.number(stride, "stride", self), indexing.dimension(dim, self)
        if step == 0:
            raise TensorIndexError(
                "sub_sample with stride 0, but the least is 1",
                at=here(),
                found=indexing.described(self),
                fix="t.sub_sample(1, dim) selects every element",
            )
        return self._of(self.view.sub_sample(step, d))

    # Reordering and reshaping

    def reverse(self, dim: int) -> Tensor:
        """Read one dimension backwards.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (5,))
        >>> t.reverse(0)[0] == t[4]
        True
        """
        return self._of(self.view.reverse(indexing.dimension(dim, self)))

    def dim_shuffle(self, permutation: Sequence[int]) -> Tensor:
        """Permute the dimensions.

        Args:
            permutation: dimension k of the result is dimension `permutation[k]` of this.

        Raises:
            TensorCreationError: unless it is a permutation of all dimensions.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3, 4)).dim_shuffle([2, 0, 1]).shape
        (4, 2, 3)
        """
        order = indexing.numbers(permutation, "permutation", self)
        if sorted(order) != list(range(self.rank)):
            raise TensorCreationError(
                f"dim_shuffle by {order} of a tensor of rank {self.rank}",
                at=here(),
                found=indexing.described(self),
                fix=f"list each of the dimensions {list(range(self.rank))} once",
            )
        return self._of(self.view.dim_shuffle(order))

    def dim_shuffle_partial(self, source: Sequence[int], destination: Sequence[int]) -> Tensor:
        """Move some dimensions; the others stay in order around them.

        Args:
            source: dimensions to move.
            destination: where each goes.

        Raises:
            TensorCreationError: for lists of different lengths, or repeated dimensions.
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3, 4))
        >>> t.dim_shuffle_partial([0, 2], [1, 0]).shape
        (4, 2, 3)
        """
        moved = [indexing.dimension(d, self) for d in indexing.numbers(source, "source", self)]
        places = [
            indexing.dimension(d, self) for d in indexing.numbers(destination, "destination", self)
        ]
        if len({*moved}) != len(places) or len({*places}) != len(moved):
            raise TensorCreationError(
                f"dim_shuffle_partial of dimensions {moved} to {places}",
                at=here(),
                found=indexing.described(self),
                fix="as many destinations as sources, each dimension at most once",
            )
        others = iter([d for d in range(self.rank) if d not in moved])
        to = dict(zip(places, moved, strict=True))
        order = [to[d] if d in to else next(others) for d in range(self.rank)]
        return self._of(self.view.dim_shuffle(order))

    def dim_roll(self, dim: int, new_index: int = 0) -> Tensor:
        """Move one dimension; the others keep their order.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3, 4)).dim_roll(2).shape
        (4, 2, 3)
        """
        return self.dim_shuffle_partial([dim], [new_index])

    def transpose(self) -> Tensor:
        """Swap the dimensions of a tensor of rank 2.

        Raises:
            TensorCreationError: for another rank.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).transpose().shape
        (3, 2)
        """
        if self.rank != 2:
            raise TensorCreationError(
                f"transpose of a tensor of rank {self.rank}, but rank 2 is needed",
                at=here(),
                found=indexing.described(self),
                fix="t.T reverses any number of dimensions, t.dim_shuffle([...]) permutes them",
            )
        return self._of(self.view.dim_shuffle((1, 0)))

    def reshape(self, shape: int | Sequence[int]) -> Tensor:
        """Read the elements in another shape, in row-major order.

        Args:
            shape: the new sizes; their product is `num_elements`.

        Raises:
            TensorCreationError: for another number of elements.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (4, 6)).T.reshape((8, 3)).shape
        (8, 3)
        """
        sizes = shape if indexing.is_sequence(shape) else (shape,)
        new = tuple(indexing.numbers(sizes, "shape", self))  # type: ignore[arg-type]
        if math.prod(new) != self.num_elements:
            raise TensorCreationError(
                f"reshape to {new}: {math.prod(new):,} elements, "
                f"but the tensor has {self.num_elements:,}",
                at=here(),
                found=indexing.described(self),
                fix=f"a shape of {self.num_elements:,} elements, such as ({self.num_elements},)",
            )
        return self._of(self.view.reshape(new))

    def reshape_partial(self, begin: int, end: int, new_dims: Sequence[int]) -> Tensor:
        """Replace the dimensions [begin, end) by others.

        Args:
            begin: first dimension replaced.
            end: one past the last; equal to `begin`, sizes of 1 are inserted.
            new_dims: sizes of as many elements together as those replaced.

        Raises:
            TensorIndexError: unless begin <= end <= rank.
            TensorCreationError: when the numbers of elements differ.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6, 4)).reshape_partial(1, 3, [3, 8]).shape
        (2, 3, 8)
        """
        first, last = self._dims_between(begin, end)
        new = tuple(indexing.numbers(new_dims, "new_dims", self))
        old = self.shape[first:last]
        if math.prod(new) != math.prod(old):
            raise TensorCreationError(
                f"reshape_partial of dimensions [{first}, {last}) to {new}: "
                f"{math.prod(new):,} elements, but {math.prod(old):,} are replaced",
                at=here(),
                found=indexing.described(self),
                fix=f"sizes whose product is {math.prod(old):,}",
            )
        return self._of(self.view.reshape((*self.shape[:first], *new, *self.shape[last:])))

    def flatten(self, dim_begin: int | None = None, dim_end: int | None = None) -> Tensor:
        """Merge all dimensions, or those in [dim_begin, dim_end), into one.

        Raises:
            TensorIndexError: unless dim_begin <= dim_end <= rank.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6, 4))
        >>> t.flatten().shape, t.flatten(0, 2).shape
        ((48,), (12, 4))
        """
        first, last = self._dims_between(
            0 if dim_begin is None else dim_begin, self.rank if dim_end is None else dim_end
        )
        shape = self.shape
        new = (*shape[:first], math.prod(shape[first:last]), *shape[last:])
        return self._of(self.view.reshape(new))

    def _dims_between(self, begin: object, end: object) -> tuple[int, int]:
        first = indexing.number(begin, "dim_begin", self)
        last = indexing.number(end, "dim_end", self)
        if first <= last <= self.rank:
            return first, last
        raise TensorIndexError(
            f"dimensions [{first}, {last}) of a tensor of rank {self.rank}",
            at=here(),
            found=indexing.described(self),
            fix=f"0 <= begin <= end <= {self.rank}",
        )

    def expand(self, indices: Sequence[int]) -> Tensor:
        """Insert a dimension of size 1 before each listed dimension.

        Args:
            indices: dimensions of this tensor, also its rank; a repeated one inserts more.

        Raises:
            TensorIndexError: for an index above the rank.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).expand([0, 0, 2]).shape
        (1, 1, 2, 3, 1)
        """
        places = indexing.numbers(indices, "indices", self)
        for place in places:
            if place > self.rank:
                raise indexing.outside(
                    f"expand before dimension {place} of a tensor of rank {self.rank}",
                    self, self.rank + 1, "index",
                )
        return self._of(self.view.expand(places))

    def squeeze(self, indices: Sequence[int]) -> Tensor:
        """Remove the listed dimensions, which have size 1.

        Raises:
            TensorIndexError: when there is no such dimension, or its size is not 1.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 1, 3)).squeeze([1]).shape
        (2, 3)
        """
        removed = [indexing.dimension(d, self) for d in indexing.numbers(indices, "indices", self)]
        for d in removed:
            if self.shape[d] != 1:
                raise TensorIndexError(
                    f"squeeze of dimension {d} of size {self.shape[d]}, but size 1 is needed",
                    at=here(),
                    found=indexing.described(self),
                    fix=f"t[{':, ' * d}i] selects one index of dimension {d} and removes it",
                )
        return self._of(self.view.squeeze(removed))

    # Repeating and reinterpreting

    def broadcast(self, n: int, dim: int) -> Tensor:
        """Repeat the whole tensor n times along one dimension: 1 2 -> 1 2 1 2.

        Raises:
            TensorIndexError: when there is no such dimension, or n is negative.
            SizeOverflowError: for more than 2**62 elements.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).broadcast(4, 1).shape
        (2, 12)
        """
        count, d = indexing.number(n, "n", self), indexing.dimension(dim, self)
        self._check_size(count * self.num_elements)
        return self._of(self.view.broadcast(count, d))

    def upsample(
        self, scale: int, dim: int, method: UpsampleMethod = UpsampleMethod.REPEAT
    ) -> Tensor:
        """Repeat each index of one dimension in place: 1 2 -> 1 1 2 2.

        Args:
            scale: how often.
            dim: the dimension.
            method: how to fill in; repeating is the only method.

        Raises:
            TensorIndexError: when there is no such dimension, or the scale is negative.
            TensorCreationError: for another method.
            SizeOverflowError: for more than 2**62 elements.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).upsample(2, 0).shape
        (4, 3)
        """
        count, d = indexing.number(scale, "scale", self), indexing.dimension(dim, self)
        if method is not UpsampleMethod.REPEAT:
            raise TensorCreationError(
                f"upsample with method {method!r}",
                at=here(),
                found=indexing.described(self),
                fix="UpsampleMethod.REPEAT, the only one",
            )
        self._check_size(count * self.num_elements)
        return self._of(self.view.upsample(count, d))

    def _check_size(self, size: int) -> None:
        if size > MOST_ELEMENTS:
            raise SizeOverflowError(
                f"a tensor of {size:,} elements, but the most is {MOST_ELEMENTS:,}",
                at=here(),
                found=indexing.described(self),
                fix="repeat fewer times",
            )

    def reinterpret(self, element_type_: ElementTypeLike) -> Tensor:
        """Read the same bits as another element type of equal size.

        Raises:
            ElementTypeError: for a type of another size.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2,)).reinterpret(pl.INT).element_type
        INT
        """
        new = element_type(element_type_)
        if new.size_bytes != self.element_type.size_bytes:
            raise ElementTypeError(
                f"reinterpret {self.element_type!r} of {self.element_type.size_bytes} bytes "
                f"as {new!r} of {new.size_bytes}",
                at=here(),
                found=indexing.described(self),
                fix="use a type of equal size, or a vertex that casts",
            )
        return Tensor(self.graph, new, self.view)

    # Questions about storage

    def is_contiguous(self) -> bool:
        """Tell whether the elements are one ascending range of one variable, or none."""
        return views.is_contiguous(self.view)

    def contains_aliases(self) -> bool:
        """Tell whether some element of a variable occurs twice."""
        return views.contains_aliases(self.view)

    def contains_constant(self) -> bool:
        """Tell whether some element belongs to a constant."""
        return views.contains_constant(self.view)

    def is_parallel_writeable(self) -> bool:
        """Tell whether all elements may be written at once: no aliases, no constants."""
        return not (self.contains_constant() or self.contains_aliases())

    def intersects_with(self, other: Tensor) -> bool:
        """Tell whether two tensors share an element.

        Raises:
            ElementTypeError: when `other` is no tensor.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
        >>> t[0].intersects_with(t[:, 1]), t[0].intersects_with(t[1])
        (True, False)
        """
        if not isinstance(other, Tensor):
            raise _no_tensor("intersects_with", other)
        return views.intersects(self.view, other.view)

    def contiguous_regions(self) -> list[Interval]:
        """Return where the flattened tensor breaks in memory.

        Returns:
            Intervals that partition [0, num_elements), each a maximal range of consecutive
            elements of one variable.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6))[:, 2:4].contiguous_regions()
        [Interval(begin=0, end=2), Interval(begin=2, end=4)]
        """
        _, length = views.runs(self.view)
        end = np.cumsum(length)
        return list(map(Interval, (end - length).tolist(), end.tolist()))

    def var_regions(self) -> list[VariableInterval]:
        """Return which ranges of which variables the tensor reads, in order.

        Returns:
            Ranges that follow each other in the flattened tensor, each maximal.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")
        >>> [(v.name, begin, end) for v, begin, end in t[:, 2:4].var_regions()]
        [('t', 2, 4), ('t', 8, 10)]
        """
        begin, length = views.runs(self.view)
        storages = sorted(views.storages(self.view), key=lambda storage: storage.base)
        bases = np.array([storage.base for storage in storages], np.int64)
        owner = np.searchsorted(bases, begin, side="right") - 1
        first = begin - bases[owner] if len(begin) else begin
        variables = [self.graph.variable_of(storage) for storage in storages]
        ranges = zip(owner.tolist(), first.tolist(), (first + length).tolist(), strict=True)
        return [VariableInterval(variables[k], a, b) for k, a, b in ranges]

    def constant_value(self) -> np.generic | None:
        """Return the value of a one-element constant; None for anything else.

        >>> import poplite as pl
        >>> pl.Graph().add_constant(pl.INT, (2,), [7, 8])[1].constant_value()
        np.int32(8)
        """
        if self.num_elements != 1 or not self.contains_constant():
            return None
        (variable, begin, _) = self.var_regions()[0]
        assert variable.initial_value is not None
        value = variable.initial_value.reshape(-1)[begin]
        return value.view(self.element_type.dtype)  # type: ignore[no-any-return]

    # Text

    def shape_to_string(self) -> str:
        """Return the shape as Poplar writes it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).shape_to_string()
        '{2,3}'
        """
        return "{" + ",".join(map(str, self.shape)) + "}"

    def var_str(self) -> str:
        """Return the number of the first variable, and what was done to it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).T.broadcast(2, 0).var_str()
        'VAR:0 BROADCAST[2] DIMSHUFFLE(1,0)'
        """
        return tensor_text.summary(self, lambda variable: str(variable.storage.id))

    def debug_str(self) -> str:
        """Return the name of the first variable, and what was done to it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.debug_str()
        'VAR:t DIMSHUFFLE(1,0)'
        """
        return tensor_text.summary(self, lambda variable: variable.name)

    def output(self, stream: TextIO) -> TextIO:
        """Write the view as an expression; returns the stream."""
        stream.write(tensor_text.expression(self) + "\n")
        return stream

    def output_regions(self, stream: TextIO) -> TextIO:
        """Write the ranges of variables, one a line; returns the stream."""
        for variable, begin, end in self.var_regions():
            stream.write(f"{variable.name}[{begin}, {end})\n")
        return stream

    def dump(self) -> None:
        """Print the view as an expression.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.dump()
        float32[3, 2]: t from 0, extent:stride (3:1) (2:3)
        """
        self.output(sys.stdout)

    def dump_regions(self) -> None:
        """Print the ranges of variables.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")[:, 2:4].dump_regions()
        t[2, 4)
        t[8, 10)
        """
        self.output_regions(sys.stdout)

    def __repr__(self) -> str:
        return tensor_text.one_line(self)

    # Equality, and what a tensor is not

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        return (
            self.graph is other.graph
            and self.element_type is other.element_type
            and self.view == other.view
        )

    def __hash__(self) -> int:
        return hash((id(self.graph), self.element_type, self.view))

    def __bool__(self) -> NoReturn:
        raise self._no_values("a tensor has no truth value")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise self._no_values("a tensor is not a NumPy array")

    def _no_values(self, what: str) -> PopliteError:
        return ElementTypeError(
            f"{what}: it holds no values while a graph is built",
            at=here(),
            found=indexing.described(self),
            fix="engine.read(t) returns the values after a run; t.num_elements counts them",
        )

    def _of(self, view: View) -> Tensor:
        return Tensor(self.graph, self.element_type, view)

    # C++ spelling

    def elementType(self) -> type[ElementType[Any]]:
        """Return `element_type`."""
        return self.element_type

    def numElements(self) -> int:
        """Return `num_elements`."""
        return self.num_elements

    subSample = sub_sample
    dimShuffle = dim_shuffle
    dimShufflePartial = dim_shuffle_partial
    dimRoll = dim_roll
    reshapePartial = reshape_partial
    isContiguous = is_contiguous
    containsAliases = contains_aliases
    containsConstant = contains_constant
    isParallelWriteable = is_parallel_writeable
    intersectsWith = intersects_with
    getContiguousRegions = contiguous_regions
    getVarRegions = var_regions
    getConstantValue = constant_value
    shapeToString = shape_to_string
    getVarStr = var_str
    getDebugStr = debug_str
    outputRegions = output_regions
    dumpRegions = dump_regions


@overload
def concat(tensors: Sequence[Tensor], dim: int = 0, /) -> Tensor: ...
@overload
def concat(tensors: Sequence[Tensor], /, *, dim: int) -> Tensor: ...
@overload
def concat(tensors: Tensor, other: Tensor, /, dim: int = 0) -> Tensor: ...


def concat(tensors: Any, other: Any = 0, /, dim: Any = None) -> Tensor:
    """Join tensors along one dimension.

    Args:
        tensors: a list of tensors, or the first of two.
        other: the dimension after a list, or the second tensor.
        dim: the dimension, 0 when left out.

    Returns:
        A tensor that views all of them, in order.

    Raises:
        TensorCreationError: for no tensors, or different ranks or sizes.
        ElementTypeError: for different element types, or something that is no tensor.
        TensorIndexError: when there is no such dimension.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
    >>> pl.concat([t, t, t[:, :1]], 1).shape, pl.concat(t, t).shape
    ((2, 7), (4, 3))
    """
    if isinstance(tensors, Tensor):
        items, d = [tensors, other], dim or 0
    else:
        items, d = list(tensors), other if dim is None else dim
    if not items:
        raise TensorCreationError(
            "concat of 0 tensors", at=here(), fix="concat at least one; its type is the result's"
        )
    for item in items:
        if not isinstance(item, Tensor):
            raise _no_tensor("concat", item)
    d = indexing.dimension(d, items[0])
    for i, item in enumerate(items):
        _check_joinable(items[0], item, i, d)
    view = views.concat([item.view for item in items], d)
    return Tensor(items[0].graph, items[0].element_type, view)


def append(tensor: Tensor, other: Tensor, dim: int = 0) -> Tensor:
    """Add one more index to a dimension.

    Args:
        tensor: the tensor that grows.
        other: the elements at the new, last index: a tensor of one rank less.
        dim: the dimension that grows.

    Returns:
        A tensor that views both.

    Raises:
        TensorCreationError: when the shapes do not fit.
        ElementTypeError: for different element types, or something that is no tensor.
        TensorIndexError: when there is no such dimension.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
    >>> pl.append(t, t[0]).shape
    (3, 3)
    """
    for item in (tensor, other):
        if not isinstance(item, Tensor):
            raise _no_tensor("append", item)
    d = indexing.dimension(dim, tensor)
    if other.rank != tensor.rank - 1:
        raise TensorCreationError(
            f"append of a tensor of rank {other.rank} to one of rank {tensor.rank}",
            at=here(),
            found=indexing.described(tensor) + "\n" + indexing.described(other),
            fix=f"append rank {tensor.rank - 1}, or use concat for equal ranks",
        )
    return concat(tensor, other.expand([d]), d)


def _check_joinable(first: Tensor, item: Tensor, i: int, dim: int) -> None:
    if item.graph is not first.graph:
        raise TensorCreationError(
            f"concat: tensor {i} belongs to another graph than tensor 0",
            at=here(),
            found=f"{first!r}\n{item!r}",
            fix="copy through the host, or build both in one graph",
        )
    if item.element_type is not first.element_type:
        raise ElementTypeError(
            f"concat: tensor {i} is {item.element_type!r}, tensor 0 is {first.element_type!r}",
            at=here(),
            found=f"{first!r}\n{item!r}",
            fix="concat tensors of one type; t.reinterpret(...) reads equal sizes as another",
        )
    a, b = first.shape, item.shape
    if len(a) != len(b) or a[:dim] != b[:dim] or a[dim + 1 :] != b[dim + 1 :]:
        raise TensorCreationError(
            f"concat along dimension {dim}: tensor {i} has shape {b}, tensor 0 has {a}",
            at=here(),
            found=f"{first!r}\n{item!r}",
            fix=f"equal ranks, and equal sizes but for dimension {dim}",
        )


def _no_tensor(what: str, value: object) -> PopliteError:
    return ElementTypeError(
        f"{what}: {type(value).__name__} is not a tensor",
        at=here(),
        fix="graph.add_variable(...) and graph.add_constant(...) return tensors",
    )
