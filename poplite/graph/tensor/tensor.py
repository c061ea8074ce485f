"""Tensors: what a user slices, reshapes, maps to tiles and connects to vertices.

A tensor is a graph, an element type and a view; it holds no values.  Every operation
returns another view of the same variables in about a microsecond, whatever the sizes, and
nothing is ever copied::

    image = graph.add_variable(FLOAT, (480, 640))
    image[1:-1, ::2]                     NumPy's basic indexing
    image.reshape((48, 10, 640))         any view can be reshaped
    pl.concat([image, image.T.reshape((480, 640))], dim=1)

Questions are in `tensor_queries`, reordering and reshaping in `tensor_shape`, `concat` in
`joining`.  Method names are Poplar's, also in its C++ spelling (`dimShuffle`); methods raise
where `t[...]` clamps.  Source: Poplar API reference, "Tensor".
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from poplite.display import Displayed
from poplite.errors import ElementTypeError, TensorCreationError, TensorIndexError
from poplite.graph.tensor import indexing
from poplite.graph.tensor.explain import Explanation, explain
from poplite.graph.tensor.metadata import check_alike
from poplite.graph.tensor.slices import slices_of
from poplite.graph.tensor.tensor_shape import TensorShaping
from poplite.source import here
from poplite.text import counted
from poplite.types import ElementTypeLike, element_type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.integer[Any]]


class UpsampleMethod(enum.Enum):
    """How `Tensor.upsample` fills in elements."""

    REPEAT = "repeat"


class Tensor(TensorShaping, Displayed):
    """An immutable, hashable view of elements of a graph's variables.

    Its questions are those of `TensorQueries`, what keeps all elements and changes their order
    or shape is in `TensorShaping`; here are the operations that select and repeat elements.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.FLOAT, (4, 6), "t")[1:3, ::-1]
    <Tensor 't' float32[2, 6] on no tile, 48 B>
    """

    __slots__ = ()

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
        indexing.check_size(count * self.num_elements, self)
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
        indexing.check_size(count * self.num_elements, self)
        return self._of(self.view.upsample(count, d))

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
          elements      12 (48 B)
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

    # C++ spelling

    subSample = sub_sample
