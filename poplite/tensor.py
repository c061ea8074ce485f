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
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from poplite import indexing
from poplite import view as views
from poplite.errors import (
    ElementTypeError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
)
from poplite.explain import Explanation, explain
from poplite.metadata import check_alike
from poplite.slices import Slices, slices_of
from poplite.source import here
from poplite.tensor_queries import TensorQueries, VariableInterval, no_tensor
from poplite.types import ElementTypeLike, element_type
from poplite.view import View
from poplite.words import counted

if TYPE_CHECKING:
    import numpy.typing as npt

    IntArray = npt.NDArray[np.integer[Any]]

__all__ = ["Tensor", "UpsampleMethod", "VariableInterval", "append", "concat"]

MOST_ELEMENTS = 2**62
"""Elements of the largest tensor, so that every index fits a 64-bit integer."""

_FEWER = "concatenate fewer or smaller tensors"


class UpsampleMethod(enum.Enum):
    """How `Tensor.upsample` fills in elements."""

    REPEAT = "repeat"


class Tensor(TensorQueries):
    """An immutable, hashable view of elements of a graph's variables.

    Its questions are those of `TensorQueries`; here are the operations, which return
    tensors.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.FLOAT, (4, 6), "t")[1:3, ::-1]
    <Tensor 't' float32[2, 6] on no tile, 48 B>
    """

    __slots__ = ()

    @property
    def T(self) -> Tensor:  # NumPy's spelling
        """The tensor with its dimensions in opposite order."""
        return self._of(self.view.dim_shuffle(range(self.rank)[::-1]))

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
        if type(begin) is int and type(end) is int:
            d = indexing.dimension(0 if dim is None else dim, self)
            if 0 <= begin <= end <= self.view.shape[d]:
                return self._of(self.view.slice(begin, end, d))
        if indexing.is_sequence(begin) and not indexing.is_sequence(end):
            if not indexing.is_interval(begin):
                raise indexing.no_interval(begin, self)
            dim = end if dim is None else dim
            begin, end = begin
        if indexing.is_sequence(begin):
            return self._of(indexing.leading_ranges(self, begin, end, dim))
        d = indexing.dimension(0 if dim is None else dim, self)
        first, last = indexing.span(begin, end, d, self)
        return self._of(self.view.slice(first, last, d))

    def slices(
        self,
        intervals: Sequence[int]
        | Sequence[tuple[int, int]]
        | Sequence[Sequence[tuple[int, int]]]
        | IntArray,
        dim: int = 0,
    ) -> Sequence[Tensor]:
        """Select several ranges of one dimension.

        Args:
            intervals: for each result an interval `(begin, end)`, or an index (which keeps
                its dimension, of size 1), or a list of intervals to concatenate; or as an
                array, int64[N, 2] intervals or int64[N] indices.
            dim: the dimension.

        Returns:
            One tensor for each item, made when asked for; `concat` takes millions at once.

        Raises:
            TensorIndexError: for an interval or index outside the dimension.
            SizeOverflowError: for a list of intervals of more than 2**62 elements.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (6,))
        >>> [s.shape for s in t.slices([(0, 4), (2, 3)])], t.slices([[(0, 1), (3, 6)]])[0].shape
        ([(4,), (1,)], (4,))
        """
        d = indexing.dimension(dim, self)
        if not indexing.is_sequence(intervals):
            raise indexing.no_interval(intervals, self)
        return slices_of(self, intervals, d)

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
                f"{counted(len(chosen), 'index', 'indices')} for a tensor of rank {self.rank}",
                self,
                self.rank,
                "dim",
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
        if indexing.permutes(permutation, len(self.view.shape)):
            return self._of(self.view.dim_shuffle(permutation))
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
        given = shape if indexing.is_sequence(shape) else (shape,)
        count = self.num_elements
        new = tuple(indexing.sizes(given, "shape", count, self))  # type: ignore[arg-type]
        if math.prod(new) != count:
            raise TensorCreationError(
                f"reshape to {new}: {counted(math.prod(new), 'element')}, "
                f"but the tensor has {count:,}",
                at=here(),
                found=indexing.described(self),
                fix=f"a shape of {counted(count, 'element')}, such as ({count},)",
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
        old = self.shape[first:last]
        new = tuple(indexing.sizes(new_dims, "new_dims", math.prod(old), self))
        if math.prod(new) != math.prod(old):
            raise TensorCreationError(
                f"reshape_partial of dimensions [{first}, {last}) to {new}: "
                f"{counted(math.prod(new), 'element')}, but {math.prod(old):,} "
                f"{'is' if math.prod(old) == 1 else 'are'} replaced",
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
        if dim_begin is None and dim_end is None:
            return self._of(self.view.reshape((self.num_elements,)))
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
                    self,
                    self.rank + 1,
                    "index",
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

    def _check_size(self, size: int, fix: str = "repeat fewer times") -> None:
        if size > MOST_ELEMENTS:
            raise SizeOverflowError(
                f"a tensor of {size:,} elements, but the most is {MOST_ELEMENTS:,}",
                at=here(),
                found=indexing.described(self),
                fix=fix,
            )

    def reinterpret(self, element_type_: ElementTypeLike) -> Tensor:
        """Read the same bits as another element type of equal size.

        Raises:
            ElementTypeError: for a type of another size.
            TensorMetadataError: for QUARTER, unless the variables below are of QUARTER and
                their metadata is alike.

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
        read = Tensor(self.graph, new, self.view)
        check_alike(f"reinterpret as {new!r}", read)
        return read

    def explain(self) -> Explanation:
        """Return one screen of text: what is read, in which order, and what follows from that.

        Shape, steps of each dimension, variables, layers, number of regions, tiles, and whether
        the tensor is contiguous and can be written in parallel, or why not.

        Returns:
            At most 24 lines of 80 columns; they show as they are at the prompt.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (3, 6), "x").T[:4].explain()
        'x' float32[4, 3]
          elements      12, 48 B
          dimension 0   4: steps of 1
          dimension 1   3: steps of 6
          reads         'x' float32[3, 6]
          layers        none: straight from the variable
          regions       12 of 1 element each
          tiles         on no tile
          contiguous    no: neighbours along dimension 1 are 6 elements apart
          aliases       none
          constants     none
          writeable     yes, in parallel
        """
        return explain(self)

    def _of(self, view: View) -> Tensor:
        return Tensor(self.graph, self.element_type, view)

    def _repr_html_(self) -> str:
        from poplite.viz.notebook import tensor_cell

        return tensor_cell(self)

    # C++ spelling

    subSample = sub_sample
    dimShuffle = dim_shuffle
    dimShufflePartial = dim_shuffle_partial
    dimRoll = dim_roll
    reshapePartial = reshape_partial


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
        SizeOverflowError: for more than 2**62 elements.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
    >>> pl.concat([t, t, t[:, :1]], 1).shape, pl.concat(t, t).shape
    ((2, 7), (4, 3))
    """
    items: Sequence[Any]
    if isinstance(tensors, Tensor):
        items, d = [tensors, other], dim or 0
    else:
        items = tensors if isinstance(tensors, Slices) else list(tensors)
        d = other if dim is None else dim
    if not items:
        raise TensorCreationError(
            "concat of 0 tensors", at=here(), fix="concat at least one; its type is the result's"
        )
    if isinstance(items, Slices):
        joined = _concat_slices(items, indexing.dimension(d, items.tensor))
        if joined is not None:
            return joined
    for item in items:
        if not isinstance(item, Tensor):
            raise no_tensor("concat", item)
    d = indexing.dimension(d, items[0])
    for i, item in enumerate(items):
        _check_joinable(items[0], item, i, d)
    items[0]._check_size(sum([item.num_elements for item in items]), _FEWER)
    view = views.concat([item.view for item in items], d)
    return Tensor(items[0].graph, items[0].element_type, view)


def _concat_slices(slices: Slices, axis: int) -> Tensor | None:
    """Join slices by their arrays; None where each is itself a concatenation across the axis."""
    tensor, dim = slices.tensor, slices.dim
    size = slices.sizes()
    if axis != dim:
        other = np.flatnonzero(size != size[0])
        if len(other):
            _check_joinable(slices[0], slices[int(other[0])], int(other[0]), axis)
        if slices.first is not None:
            return None
    # Only sums that may be too large need Python's integers.
    if float(size.sum(dtype=np.float64)) * tensor.num_elements >= MOST_ELEMENTS:
        others = tensor.num_elements // max(tensor.shape[dim], 1)
        tensor._check_size(sum(size.tolist()) * others, _FEWER)
    view = views.concat_slices(tensor.view, slices.begin, slices.end, dim, axis)
    return Tensor(tensor.graph, tensor.element_type, view)


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
            raise no_tensor("append", item)
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
    check_alike(f"concat of tensors 0 and {i}", first, item)
    a, b = first.shape, item.shape
    if len(a) != len(b) or a[:dim] != b[:dim] or a[dim + 1 :] != b[dim + 1 :]:
        raise TensorCreationError(
            f"concat along dimension {dim}: tensor {i} has shape {b}, tensor 0 has {a}",
            at=here(),
            found=f"{first!r}\n{item!r}",
            fix=f"equal ranks, and equal sizes but for dimension {dim}",
        )
