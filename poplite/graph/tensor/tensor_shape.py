"""What changes the order and the shape of a tensor, and keeps every element once.

    t of shape (2, 3, 4)
    t.dim_shuffle((2, 0, 1))      (4, 2, 3)      t.reverse(0)        (2, 3, 4)
    t.reshape((6, 4))             (6, 4)         t.flatten(1)        (2, 12)
    t.expand([0])                 (1, 2, 3, 4)   t[:1].squeeze([0])  (3, 4)

Source: Poplar API reference, "Tensor".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from poplite.errors import TensorCreationError, TensorIndexError
from poplite.graph.tensor import indexing
from poplite.graph.tensor.tensor_queries import TensorQueries
from poplite.source import here
from poplite.text import counted


class TensorShaping(TensorQueries):
    """The part of `Tensor` that reorders and reshapes."""

    __slots__ = ()

    @property
    def T(self) -> Self:  # NumPy's spelling
        """The tensor with its dimensions in opposite order."""
        return self._of(self.view.dim_shuffle(range(self.rank)[::-1]))

    def reverse(self, dim: int) -> Self:
        """Read one dimension backwards.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (5,))
        >>> t.reverse(0)[0] == t[4]
        True
        """
        return self._of(self.view.reverse(indexing.dimension(dim, self)))

    def dim_shuffle(self, permutation: Sequence[int]) -> Self:
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

    def dim_shuffle_partial(self, source: Sequence[int], destination: Sequence[int]) -> Self:
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

    def dim_roll(self, dim: int, new_index: int = 0) -> Self:
        """Move one dimension; the others keep their order.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3, 4)).dim_roll(2).shape
        (4, 2, 3)
        """
        return self.dim_shuffle_partial([dim], [new_index])

    def transpose(self) -> Self:
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

    def reshape(self, shape: int | Sequence[int]) -> Self:
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

    def reshape_partial(self, begin: int, end: int, new_dims: Sequence[int]) -> Self:
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

    def flatten(self, dim_begin: int | None = None, dim_end: int | None = None) -> Self:
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

    def expand(self, indices: Sequence[int]) -> Self:
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

    def squeeze(self, indices: Sequence[int]) -> Self:
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

    # C++ spelling

    dimShuffle = dim_shuffle
    dimShufflePartial = dim_shuffle_partial
    dimRoll = dim_roll
    reshapePartial = reshape_partial
