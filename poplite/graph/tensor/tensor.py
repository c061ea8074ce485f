"""Tensors: views of variables.

A tensor consists of a graph, an element type and a view; it has no values. Every operation
returns another view of the same variables, in about a microsecond at any size, and copies nothing::

    image = graph.add_variable(FLOAT, (480, 640))
    image[1:-1, ::2]                     NumPy's basic indexing
    image.reshape((48, 10, 640))         any view can be reshaped
    pl.concat([image, image.T.reshape((480, 640))], dim=1)

Queries visit no elements, except those that list regions::

    image.T.is_contiguous()              False: its elements are not one range of a variable
    image[:, 2:4].var_regions()          image[2, 4), image[642, 644), ...
    image.broadcast(2, 0).contains_aliases()    True: every element occurs twice

Many slices of a tensor are stored as arrays; they behave like a list of tensors, each created on
access. A list of intervals gives a single tensor, the concatenation of its slices::

    t.slices([(0, 4), (2, 3)])[1]        the slice [2, 3)
    t.slices(intervals)                  intervals: int64[N, 2]
    pl.concat(t.slices(intervals))       creates no tensor for each slice

The class delegates: `arguments` checks arguments, `tensor_text` writes texts, `concat` joins
tensors. Method names are Poplar's, also in their C++ spelling (`dimShuffle`). Methods raise an
error where `t[...]` clamps.

Source: Poplar API reference, "Tensor".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    Protocol,
    SupportsIndex,
    TextIO,
    overload,
)

import numpy as np
import numpy.typing as npt

from poplite import view as views
from poplite.arrays.intervals import Int64, place
from poplite.arrays.series import LikeList, OnAccess
from poplite.display import Displayed
from poplite.errors import (
    NONE,
    Enumeration,
    GraphConnectionError,
    TensorCreationError,
    checked_member,
    not_called,
)
from poplite.expr.numpy_names import refuse_absent_names
from poplite.expr.operand import Operand
from poplite.files import check_stream
from poplite.graph.space import Variable, check_same_metadata, initial_metadata, metadata_of
from poplite.graph.tensor import arguments, tensor_text
from poplite.graph.tensor.arguments import no_length, no_tensor, no_values, refuse_operators
from poplite.graph.tensor.regions import VarRegions, region_chunks, var_regions
from poplite.graph.tensor.tensor_text import Explanation, explain
from poplite.poplar.callable_values import CalledInt, CalledShape, CalledText
from poplite.poplar.spelling import cpp_spelling
from poplite.text import fitted
from poplite.types import (
    QUARTER,
    QUARTER_METADATA,
    ElementType,
    ElementTypeLike,
    decode,
    element_type,
    type_text,
    unmasked,
)
from poplite.view import MOST_LEVELS, Cat, Interval, Intervals, View, concat_slices
from poplite.view.view import NOWHERE

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.graph import Graph
    from poplite.poplar.spellings import TensorSpelling

    IntArray = npt.NDArray[np.integer[Any]]
else:
    TensorSpelling = object

_EVERY = "use t.sub_sample(1, dim) to select every element"
_PARTS = "use t.region_chunks() for parts of 2**20 regions"


class UpsampleMethod(Enumeration):
    """Method of `Tensor.upsample` for filling in elements."""

    REPEAT = "repeat"
    """Each element is repeated `scale` times."""


class Origin(NamedTuple):
    """The name of the tensor from which a tensor was cut, and its QUARTER metadata, if any."""

    name: str
    metadata: View | None


@cpp_spelling(
    but="slice flatten reshape expand squeeze transpose broadcast reinterpret reverse dim index"
)
@refuse_operators
@refuse_absent_names
class Tensor(Displayed, Operand, TensorSpelling):
    """An immutable, hashable view of elements of a graph's variables.

    Tensors are equal if they view the same elements in the same shape and type, however they
    were created. Tensors without elements are equal if shape and type are the same.

    Attributes:
        graph: the graph that owns the variables.
        element_type: type of the elements.
        view: the elements and their order.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.FLOAT, (4, 6), "t")[1:3, ::-1]
    <Tensor 't'[1:3, ::-1] float32[2, 6] on no tile, 48 B>
    """

    # An empty view has no underlying variable; `_origin` is set only for empty views.
    __slots__ = {
        "_hash": "",
        "_origin": "",
        "element_type": "Type of the elements.",
        "graph": "The graph that owns the variables.",
        "view": "The elements and their order; `reinterpret` reads their bits as another type.",
    }
    _hash: int
    _origin: Origin

    def __init__(
        self, graph: Graph = NONE, element_type: type[ElementType[Any]] = NONE, view: View = NONE
    ) -> None:
        if not isinstance(view, View):
            instead = "graph.add_variable(FLOAT, (4,), 'x')"  # type: ignore[unreachable]
            raise not_called("Tensor", instead, is_empty=graph is NONE)
        self.graph: Graph = graph
        self.element_type: type[ElementType[Any]] = element_type
        self.view: View = view

    @property
    def shape(self) -> CalledShape:
        """Size of each dimension."""
        return CalledShape(self.view.shape)

    @property
    def rank(self) -> CalledInt:
        """Number of dimensions."""
        return CalledInt(len(self.view.shape))

    @property
    def num_elements(self) -> CalledInt:
        """Number of elements, including repetitions."""
        return CalledInt(math.prod(self.view.shape))

    @property
    def name(self) -> str:
        """Name of the underlying variable or variables; if there are no elements, of the origin."""
        if self.view.space is NOWHERE:
            return self._cut_from().name
        return CalledText(tensor_text.name(self))

    def _in_formula(self) -> str:
        """Return the name for formulas, with `.T` if it is the transpose of a variable."""
        is_whole = self.rank > 1 and tensor_text.is_transpose(self)
        return f"{self.name}.T" if is_whole else self.name or "tensor"

    def _as_written(self) -> str:
        """Return the view as a program would write it, with the names of its variables."""
        return tensor_text.made_from(self).replace("'", "") if self.num_elements else ""

    @property
    def metadata(self) -> Tensor | None:
        """Format and scale of a QUARTER tensor; None for any other element type.

        A tensor of one QUARTER_METADATA element, the same for all views. A program may change
        it, unless it is a constant.

        Source: Poplar API reference, "Tensor::getMetadata".

        >>> import poplite as pl
        >>> metadata = pl.QuarterMetadata("F143", scale=-2)
        >>> x = pl.Graph().add_variable(pl.QUARTER, (4,), "x", metadata=metadata)
        >>> x[1:3].metadata
        <Tensor 'x/metadata' QUARTER_METADATA[] on tile 0, 1 B>
        """
        if not self.element_type.requires_metadata:
            return None
        below = self._cut_from().metadata
        return None if below is None else Tensor(self.graph, QUARTER_METADATA, below)

    def has_metadata(self) -> bool:
        """Return whether the tensor has metadata: format and scale of QUARTER elements."""
        return self.metadata is not None

    def dim(self, i: int) -> int:
        """Return the size of one dimension.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).dim(1)
        3
        """
        return self.view.shape[arguments.dimension(i, self)]

    def _of(self, view: View) -> Tensor:
        """Return a tensor with this graph and element type."""
        tensor = Tensor.__new__(Tensor)  # `__init__` checks users' arguments
        tensor.graph, tensor.element_type, tensor.view = self.graph, self.element_type, view
        space = view.space
        if space is NOWHERE:
            tensor._origin = self._cut_from()
        elif isinstance(space, Cat) and space.levels > MOST_LEVELS:
            tensor.view = arguments.of_one_level(view)
        return tensor

    def _cut_from(self) -> Origin:
        """Return the name and metadata of the elements, or of the origin if there are none."""
        if self.view.space is NOWHERE:
            return getattr(self, "_origin", Origin("", None))
        may_be_codes = self.element_type.size_bytes == QUARTER.size_bytes
        below = metadata_of(self.graph.space, self.view) if may_be_codes else None
        return Origin(self.name, below)

    # Selecting elements

    def __getitem__(self, key: arguments.Index) -> Tensor:
        """Select as NumPy's basic indexing does.

        Raises:
            TensorIndexError: for an index outside its dimension, too many indices, or arrays.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x[1]  # [3, 4, 5]
        <Tensor 'x'[1] float32[3] on no tile, 12 B>
        >>> x[:, ::2]  # [[0, 2], [3, 5]]
        <Tensor 'x'[:, ::2] float32[2, 2] on no tile, 16 B>
        >>> x[0, None]  # [[0, 1, 2]]
        <Tensor 'x'[0].expand([0]) float32[1, 3] on no tile, 12 B>
        """
        # Fast path: one index or one range within the first dimension needs no checks.
        view = self.view
        if type(key) is int:
            if view.shape and 0 <= key < view.shape[0] and view.space is not NOWHERE:
                return Tensor(self.graph, self.element_type, view.index(key))
        elif type(key) is slice and key.step is None:
            begin, end = key.start, key.stop
            are_plain = type(begin) is int and type(end) is int and view.shape
            if are_plain and 0 <= begin < end <= view.shape[0] and view.space is not NOWHERE:
                return Tensor(self.graph, self.element_type, view.slice(begin, end, 0))
        return self._of(arguments.select(key, self))

    def __len__(self) -> int:
        if not self.view.shape:
            raise no_length(self)
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
    def slice(self, begin: int, end: int, *, axis: int) -> Tensor: ...
    @overload
    def slice(self, begin: tuple[int, int], *, axis: int) -> Tensor: ...
    @overload
    def slice(self, begin: Sequence[int], end: Sequence[int]) -> Tensor: ...
    def slice(self, begin: Any, end: Any = None, dim: Any = None, *, axis: Any = None) -> Tensor:
        """Select a range of one dimension, or of each leading dimension.

        Args:
            begin: first index; or an interval, in which case `end` may be the dimension; or a
                list of the first index of each leading dimension.
            end: one past the last index, or a list of these.
            dim: the dimension, by default 0.
            axis: NumPy's name for `dim`.

        Returns:
            A tensor of the same rank.

        Raises:
            TensorIndexError: unless 0 <= begin <= end <= size.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.slice(1, 3, 1)  # [[1, 2], [4, 5]]
        <Tensor 'x'[:, 1:] float32[2, 2] on no tile, 16 B>
        >>> x.slice([0, 1], [1, 3])  # [[1, 2]]
        <Tensor 'x'[0, 1:].expand([0]) float32[1, 2] on no tile, 8 B>
        """
        if axis is not None:
            dim = arguments.one_of("dim", dim, axis)
        if type(begin) is int and type(end) is int:
            d = arguments.dimension(0 if dim is None else dim, self)
            if 0 <= begin <= end <= self.view.shape[d]:
                return self._of(self.view.slice(begin, end, d))
        return self._of(arguments.ranges(begin, end, dim, self))

    def slices(
        self,
        intervals: Sequence[int]
        | Sequence[tuple[int, int]]
        | Sequence[Sequence[tuple[int, int]]]
        | IntArray,
        dim: int | None = None,
        *,
        axis: int | None = None,
    ) -> Sequence[Tensor]:
        """Select several ranges of one dimension.

        Args:
            intervals: for each result an interval `(begin, end)`, an index (its dimension
                stays, with size 1), or a list of intervals to concatenate; or as an array,
                int64[N, 2] intervals or int64[N] indices.
            dim: the dimension, by default 0; negative numbers count from the end.
            axis: NumPy's name for `dim`.

        Returns:
            A sequence with a tensor for each item, created on access; `concat` takes millions of
            slices at once.

        Raises:
            TensorIndexError: for an interval or index outside the dimension.
            SizeOverflowError: for a list of intervals of more than 2**62 elements.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (6,), "x")  # [0, 1, 2, 3, 4, 5]
        >>> first, both = x.slices([(0, 4), [(0, 1), (3, 6)]])
        >>> first  # [0, 1, 2, 3]
        <Tensor 'x'[:4] float32[4] on no tile, 16 B>
        >>> both  # [0, 3, 4, 5]
        <Tensor concat(['x'[0].expand([0]), 'x'[3:]]) float32[4] on no tile, 16 B>
        """
        given = arguments.one_of("dim", dim, axis)
        d = arguments.dimension(0 if given is None else given, self)
        if not arguments.is_sequence(intervals):
            raise arguments.no_interval(intervals, self)
        return slices_of(self, intervals, d)

    def index(self, indices: Sequence[int]) -> Tensor:
        """Select one index of each leading dimension; these dimensions are removed.

        Raises:
            TensorIndexError: for an index outside its dimension, or too many indices.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.index([1])  # [3, 4, 5]
        <Tensor 'x'[1] float32[3] on no tile, 12 B>
        >>> x.index([1, 2])  # 5
        <Tensor 'x'[1, 2] float32[] on no tile, 4 B>
        """
        return self._of(arguments.leading_indices(indices, self))

    def sub_sample(self, stride: int, dim: int | None = None, *, axis: int | None = None) -> Tensor:
        """Select every stride-th index of one dimension, starting at 0.

        Raises:
            TensorIndexError: when there is no such dimension, or the stride is 0.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.sub_sample(2, 1)  # [[0, 2], [3, 5]]
        <Tensor 'x'[:, ::2] float32[2, 2] on no tile, 16 B>
        """
        d = arguments.dimension(dim, self, axis)
        step = arguments.positive(stride, "stride", self, "sub_sample with stride 0", _EVERY)
        return self._of(self.view.sub_sample(step, d))

    # Order and shape of the same elements

    @property
    def T(self) -> Tensor:  # NumPy's spelling
        """The tensor with its dimensions in reverse order.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.T  # [[0, 3], [1, 4], [2, 5]]
        <Tensor 'x'.T float32[3, 2] on no tile, 24 B>
        """
        return self._of(self.view.dim_shuffle(range(self.rank)[::-1]))

    def reverse(self, dim: int | None = None, *, axis: int | None = None) -> Tensor:
        """Read one dimension backwards.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.reverse(1)  # [[2, 1, 0], [5, 4, 3]]
        <Tensor 'x'[:, ::-1] float32[2, 3] on no tile, 24 B>
        """
        return self._of(self.view.reverse(arguments.dimension(dim, self, axis)))

    def dim_shuffle(self, permutation: Sequence[int]) -> Tensor:
        """Permute the dimensions.

        Args:
            permutation: dimension k of the result is dimension `permutation[k]` of this tensor.

        Raises:
            TensorCreationError: unless it is a permutation of all dimensions.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (1, 2, 3), "x")  # [[[0, 1, 2], [3, 4, 5]]]
        >>> x.dim_shuffle([2, 0, 1])  # [[[0, 3]], [[1, 4]], [[2, 5]]]
        <Tensor 'x'.squeeze([0]).T.expand([1]) float32[3, 1, 2] on no tile, 24 B>
        """
        if not arguments.permutes(permutation, len(self.view.shape)):
            permutation = arguments.permutation(permutation, self)
        return self._of(self.view.dim_shuffle(permutation))

    def dim_shuffle_partial(self, source: Sequence[int], destination: Sequence[int]) -> Tensor:
        """Move some dimensions; the others keep their order.

        Args:
            source: dimensions to move.
            destination: the new position of each.

        Raises:
            TensorCreationError: for lists of different lengths, or repeated dimensions.
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (1, 2, 3), "x")  # [[[0, 1, 2], [3, 4, 5]]]
        >>> x.dim_shuffle_partial([0], [2])  # [[[0], [1], [2]], [[3], [4], [5]]]
        <Tensor 'x'.reshape((2, 3, 1)) float32[2, 3, 1] on no tile, 24 B>
        """
        return self._of(self.view.dim_shuffle(arguments.moved(source, destination, self)))

    def dim_roll(
        self, dim: int | None = None, new_index: int = 0, *, axis: int | None = None
    ) -> Tensor:
        """Move one dimension; the others keep their order. NumPy's name for `dim` is `axis`.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.dim_roll(1)  # [[0, 3], [1, 4], [2, 5]]
        <Tensor 'x'.T float32[3, 2] on no tile, 24 B>
        """
        return self.dim_shuffle_partial([arguments.dimension(dim, self, axis)], [new_index])

    def transpose(self, *permutation: SupportsIndex | Sequence[int]) -> Tensor:
        """Swap the dimensions of a tensor of rank 2, or permute those of any tensor.

        Args:
            permutation: dimension k of the result is dimension `permutation[k]` of this tensor;
                negative numbers count from the end.

        Raises:
            TensorCreationError: if the permutation does not contain all dimensions; without one, if
                the rank is not 2.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.transpose()  # [[0, 3], [1, 4], [2, 5]]
        <Tensor 'x'.T float32[3, 2] on no tile, 24 B>
        >>> x.transpose(1, 0)  # [[0, 3], [1, 4], [2, 5]]
        <Tensor 'x'.T float32[3, 2] on no tile, 24 B>
        """
        if permutation:
            return self.dim_shuffle(arguments.spread_out(permutation))
        if self.rank != 2:
            raise arguments.not_a_matrix(self)
        return self._of(self.view.dim_shuffle((1, 0)))

    def reshape(self, *shape: SupportsIndex | Sequence[int]) -> Tensor:
        """Read the elements in another shape, in row-major order.

        Args:
            shape: the new sizes, one by one or in a list, whose product is `num_elements`. One of
                them may be -1, which is then inferred.

        Raises:
            TensorCreationError: for a different number of elements.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.reshape(3, 2)  # [[0, 1], [2, 3], [4, 5]]
        <Tensor 'x'.reshape((3, 2)) float32[3, 2] on no tile, 24 B>
        >>> x.T.reshape(-1)  # [0, 3, 1, 4, 2, 5]
        <Tensor 'x'.T.flatten() float32[6] on no tile, 24 B>
        """
        return self._of(self.view.reshape(arguments.new_shape(arguments.spread_out(shape), self)))

    def reshape_partial(self, begin: int, end: int, new_dims: Sequence[int]) -> Tensor:
        """Replace the dimensions [begin, end) by others.

        Args:
            begin: first dimension to replace.
            end: one past the last; if it equals `begin`, dimensions of size 1 are inserted.
            new_dims: the new sizes, with the same product as the sizes they replace.

        Raises:
            TensorIndexError: unless begin <= end <= rank.
            TensorCreationError: when the numbers of elements differ.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 4), "x")  # [[0, 1, 2, 3], [4, 5, 6, 7]]
        >>> x.reshape_partial(1, 2, [2, 2])  # [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
        <Tensor 'x'.reshape((2, 2, 2)) float32[2, 2, 2] on no tile, 32 B>
        """
        return self._of(self.view.reshape(arguments.partly_new_shape(begin, end, new_dims, self)))

    def flatten(self, dim_begin: int | None = None, dim_end: int | None = None) -> Tensor:
        """Merge all dimensions, or those in [dim_begin, dim_end), into one.

        Raises:
            TensorIndexError: unless dim_begin <= dim_end <= rank.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (1, 2, 3), "x")  # [[[0, 1, 2], [3, 4, 5]]]
        >>> x.flatten()  # [0, 1, 2, 3, 4, 5]
        <Tensor 'x'.flatten() float32[6] on no tile, 24 B>
        >>> x.flatten(1)  # [[0, 1, 2, 3, 4, 5]]
        <Tensor 'x'.reshape((1, 6)) float32[1, 6] on no tile, 24 B>
        """
        if dim_begin is None and dim_end is None:
            return self._of(self.view.reshape((self.num_elements,)))
        return self._of(self.view.reshape(arguments.flattened(dim_begin, dim_end, self)))

    def expand(self, indices: Sequence[int]) -> Tensor:
        """Insert a dimension of size 1 before each listed dimension.

        Args:
            indices: dimensions of this tensor, or its rank for the end; a repeated index inserts
                several dimensions.

        Raises:
            TensorIndexError: for an index above the rank.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.expand([1])  # [[[0, 1, 2]], [[3, 4, 5]]]
        <Tensor 'x'.expand([1]) float32[2, 1, 3] on no tile, 24 B>
        """
        return self._of(self.view.expand(arguments.places(indices, self)))

    def squeeze(
        self,
        indices: int | Sequence[int] | None = None,
        *,
        axis: int | Sequence[int] | None = None,
    ) -> Tensor:
        """Remove the listed dimensions, which must have size 1, or all dimensions of size 1.

        NumPy's name for `indices` is `axis`.

        Raises:
            TensorIndexError: when there is no such dimension, or its size is not 1.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 1, 3), "x")  # [[[0, 1, 2]], [[3, 4, 5]]]
        >>> x.squeeze([1])  # [[0, 1, 2], [3, 4, 5]]
        <Tensor 'x'.squeeze([1]) float32[2, 3] on no tile, 24 B>
        """
        return self._of(
            self.view.squeeze(arguments.removed(arguments.one_of("indices", indices, axis), self))
        )

    # Repeating and reinterpreting

    def broadcast(self, n: int, dim: int | None = None, *, axis: int | None = None) -> Tensor:
        """Repeat the tensor n times along one dimension: 1 2 -> 1 2 1 2.

        Raises:
            TensorIndexError: when there is no such dimension, or n is negative.
            SizeOverflowError: for more than 2**62 elements.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.broadcast(2, 0)  # [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]]
        <Tensor 'x'.broadcast(2, 0) float32[4, 3] on no tile, 6 distinct elements, 24 B>
        """
        count, d = arguments.number(n, "n", self), arguments.dimension(dim, self, axis)
        arguments.check_size(count * self.num_elements, self)
        return self._of(self.view.broadcast(count, d))

    def upsample(
        self,
        scale: int,
        dim: int | None = None,
        method: UpsampleMethod | str = UpsampleMethod.REPEAT,
        *,
        axis: int | None = None,
    ) -> Tensor:
        """Repeat each index of one dimension in place: 1 2 -> 1 1 2 2.

        Args:
            scale: number of repetitions.
            dim: the dimension.
            method: how to fill in elements; REPEAT is the only method.
            axis: NumPy's name for `dim`.

        Raises:
            TensorIndexError: when there is no such dimension, or the scale is negative.
            TensorCreationError: for any other method.
            SizeOverflowError: for more than 2**62 elements.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.upsample(2, 1, "REPEAT")  # [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]
        <Tensor 'x'.upsample(2, 1) float32[2, 6] on no tile, 6 distinct elements, 24 B>
        """
        count, d = arguments.number(scale, "scale", self), arguments.dimension(dim, self, axis)
        checked_member(method, UpsampleMethod, "upsample", error=TensorCreationError)
        arguments.check_size(count * self.num_elements, self)
        return self._of(self.view.upsample(count, d))

    def reinterpret(self, element_type_: ElementTypeLike) -> Tensor:
        """Read the same bits as a different element type of equal size.

        Raises:
            ElementTypeError: for a type of a different size.
            TensorMetadataError: for QUARTER, unless the underlying variables are QUARTER variables
                with the same metadata.

        >>> import poplite as pl
        >>> x = pl.Graph().add_variable(pl.INT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
        >>> x.reinterpret(pl.UNSIGNED_INT)  # [[0, 1, 2], [3, 4, 5]]
        <Tensor 'x'.reinterpret(UNSIGNED_INT) uint32[2, 3] on no tile, 24 B>
        """
        new = element_type(element_type_)
        if new.size_bytes != self.element_type.size_bytes:
            raise arguments.of_other_size(new, self.element_type, self)
        if new is QUARTER:
            check_same_metadata(f"reinterpret as {new!r}", self.graph.space, self.view)
        tensor = Tensor(self.graph, new, self.view)
        if self.view.space is NOWHERE:
            tensor._origin = self._cut_from()
        return tensor

    # Queries about memory

    def is_contiguous(self) -> bool:
        """Return whether the elements are one ascending range of a variable, or there are none."""
        return views.is_contiguous(self.view)

    def contains_aliases(self) -> bool:
        """Return whether an element of a variable occurs more than once."""
        return views.contains_aliases(self.view)

    def contains_constant(self) -> bool:
        """Return whether any element belongs to a constant."""
        return views.contains_constant(self.view)

    def is_parallel_writeable(self) -> bool:
        """Return whether all elements may be written at once: no aliases, no constants."""
        return not (views.contains_constant(self.view) or views.contains_aliases(self.view))

    def intersects_with(self, other: Tensor) -> bool:
        """Return whether two tensors share an element.

        Raises:
            ElementTypeError: when `other` is not a tensor.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
        >>> t[0].intersects_with(t[:, 1]), t[0].intersects_with(t[1])
        (True, False)
        """
        if not isinstance(other, Tensor):
            raise no_tensor("intersects_with", other)
        return views.intersects(self.view, other.view)

    def num_regions(self) -> int:
        """Count the contiguous regions, without listing them.

        It takes microseconds at any size, unless the view reorders a concatenation.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2**15, 2**15)).T.num_regions()
        1073741824
        """
        return views.num_runs(self.view)

    def contiguous_regions(self) -> Intervals:
        """Return the parts of the flattened tensor that are contiguous in memory.

        Returns:
            Intervals that partition [0, num_elements), each a maximal range of consecutive
            elements of one variable; a read-only sequence, with `begin` and `end` as arrays.

        Raises:
            SizeOverflowError: for more than 2**27 regions; `region_chunks` streams them.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6))[:, 2:4].contiguous_regions()
        [Interval(begin=0, end=2), Interval(begin=2, end=4)]
        """
        length = views.runs(self.view)[1]
        end = np.cumsum(length)
        return Intervals(end - length, end)

    def var_regions(self) -> VarRegions:
        """Return the ranges of variables that the tensor reads, in order.

        Returns:
            Maximal ranges, in the order of the flattened tensor; a read-only sequence, with
            `variables`, `number`, `begin` and `end` as arrays.

        Raises:
            SizeOverflowError: for more than 2**27 regions; `region_chunks` streams them.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")
        >>> [(v.name, begin, end) for v, begin, end in t[:, 2:4].var_regions()]
        [('t', 2, 4), ('t', 8, 10)]
        """
        return var_regions(self.graph.space, self.view)

    def region_chunks(self, most: int = 2**20) -> Iterator[VarRegions]:
        """Yield the result of `var_regions` in parts, for tensors with very many regions.

        Args:
            most: maximum number of regions in a part, at least 1; a region takes 64 bytes while
                its part is built.

        Yields:
            Successive parts; no region is divided between two.

        Raises:
            TensorIndexError: when `most` is not a positive integer.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (100, 100), "t")
        >>> sum(len(part) for part in t.T.region_chunks(1000))
        10000
        """
        limit = arguments.positive(most, "most", self, "region_chunks of at most 0 regions", _PARTS)
        return region_chunks(self.graph.space, self.view, limit)

    def constant_value(self) -> np.generic | None:
        """Return the value of a constant with one element; None for anything else.

        The result is also None for `add_replication_index_constant`, whose value differs between
        replicas.

        >>> import poplite as pl
        >>> pl.Graph().add_constant(pl.INT, (2,), [7, 8])[1].constant_value()
        np.int32(8)
        """
        if self.num_elements != 1 or not self.contains_constant():
            return None
        (variable, begin, _) = self.var_regions()[0]
        if variable.replica_values:
            return None
        assert variable.initial_value is not None
        value = variable.initial_value.reshape(-1)[begin]
        if variable.metadata is not None and self.element_type is QUARTER:
            metadata = initial_metadata(self.graph.space, variable.metadata)
            return np.float32(decode(value, metadata))
        return value.view(self.element_type.dtype)  # type: ignore[no-any-return]

    # Text

    def explain(self) -> Explanation:
        """Describe the elements that the tensor reads, their order, and the consequences.

        The description contains the operations that create the tensor, the steps of each
        dimension, variables, layers, regions and tiles, and whether the tensor is contiguous and
        can be written in parallel (or why not).

        Returns:
            At most 24 lines of 80 columns; the interactive prompt shows them without quotes.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (3, 6), "x").T[:4].explain()
        'x' float32[4, 3]
          view          'x'[:, :4].T
          elements      12 (48 B)
          dimension 0   4: steps of 1
          dimension 1   3: steps of 6
          reads         'x' float32[3, 6]
          layers        none: directly from the variable
          regions       12 of 1 element: 'x' [0, 1) 3 times every 6, 4 times every 1
          tiles         on no tile
          contiguous    no: neighbours along dimension 1 are 6 elements apart
          aliases       none
          constants     none
          writeable     yes, in parallel
        """
        return explain(self)

    def shape_to_string(self) -> str:
        """Return the shape as Poplar writes it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).shape_to_string()
        '{2,3}'
        """
        return "{" + ",".join(map(str, self.shape)) + "}"

    def var_str(self) -> str:
        """Return the number of the first variable, and the operations on it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).T.broadcast(2, 0).var_str()
        'VAR:0 BROADCAST[2] DIMSHUFFLE(1,0)'
        """
        return tensor_text.summary(self, lambda variable: str(variable.storage.id))

    def debug_str(self) -> str:
        """Return the name of the first variable, and the operations on it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.debug_str()
        'VAR:t DIMSHUFFLE(1,0)'
        """
        return tensor_text.summary(self, lambda variable: variable.name)

    def output(self, stream: TextIO) -> TextIO:
        """Write the view as an expression, and return the stream."""
        check_stream(stream, "t.output")
        stream.write(tensor_text.expression(self) + "\n")
        return stream

    def output_regions(self, stream: TextIO) -> TextIO:
        """Write the ranges of variables, and return the stream.

        Equally spaced ranges are written as one line, as `var_regions().strided()` groups them.
        """
        check_stream(stream, "t.output_regions")
        for part in self.region_chunks():
            for variable, ranges in part.strided():
                stream.write(f"{variable.name}{ranges}\n")
        return stream

    def dump(self) -> None:
        """Print the view as an expression.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.dump()
        float32[3, 2]: t from 0, extent:stride (3:1) (2:3)
        """
        self.output(sys.stdout)

    def dump_regions(self) -> None:
        """Print the ranges of variables, with equally spaced ranges on one line.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (8, 12), "t")
        >>> t[:2, 2:4].dump_regions()
        t[2, 4)
        t[14, 16)
        >>> t.T.dump_regions()
        t[0, 1) 8 times every 12, 12 times every 1
        """
        self.output_regions(sys.stdout)

    def __repr__(self) -> str:
        return tensor_text.one_line(self)

    # Equality, and refused conversions

    _kind = "a tensor"

    def _is_same(self, other: Operand) -> bool | None:
        """Return whether both view the same elements; None if `other` is an expression."""
        if not isinstance(other, Tensor):
            return None
        return (
            self.graph is other.graph
            and self.element_type is other.element_type
            and views.same_elements(self.view, other.view)
        )

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:  # not computed yet
            view = self.view
            self._hash = hash((id(self.graph), self.element_type, view.shape, views.sample(view)))
        return self._hash

    def __bool__(self) -> NoReturn:
        raise no_values("a tensor has no truth value", self)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise no_values("a tensor is not a NumPy array", self)

    def valid(self) -> bool:
        """Return True: in C++, a tensor without an assigned value is invalid."""
        return True


def of_variable(graph: Graph, variable: Variable) -> Tensor:
    """Return the tensor of all elements of a variable, in its shape."""
    view = views.all_of(variable, variable.shape)
    tensor = Tensor(graph, variable.element_type, view)
    if view.space is NOWHERE:
        tensor._origin = Origin(variable.name, variable.metadata)
    return tensor


class AnyGraph(Protocol):
    """A graph, or a virtual graph."""

    @property
    def top_level_graph(self) -> object:
        """The graph over all tiles, which owns its variables and compute sets."""


def check_own(graph: AnyGraph, tensor: object, what: str, call: str = "") -> None:
    """Refuse anything but a tensor of this graph; `what` is the method, `call` an example call."""
    if not isinstance(tensor, Tensor):
        raise no_tensor(what, tensor, call)
    if tensor.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"'{tensor.name}' belongs to another graph",
            found=f"this graph is {graph!r}, the tensor's is {tensor.graph!r}",
            fix="use the graph of the tensor: tensor.graph",
        )


# -- many slices -----------------------------------------------------------------------------------


class Slices(LikeList["Tensor"]):
    """The slices of a tensor along one dimension; equal to a list of them.

    Attributes:
        begin: int64[P], first indices.
        end: int64[P], one past the last.
        first: int64[N + 1], position of each item's first interval in `begin` and `end`; None
            if every item is one interval.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,), "t")
    >>> t.slices([(0, 4), (2, 3)])
    <2 Slices of 't' float32[6] along dimension 0>
    """

    __slots__ = ("begin", "dim", "end", "first", "tensor")

    def __init__(
        self, tensor: Tensor, dim: int, begin: Int64, end: Int64, first: Int64 | None = None
    ) -> None:
        self.tensor: Tensor = tensor
        self.dim: int = dim
        self.begin: Int64 = begin
        self.end: Int64 = end
        self.first: Int64 | None = first

    def __len__(self) -> int:
        return len(self.begin if self.first is None else self.first[1:])

    def _item(self, key: int) -> Tensor:
        k = place(key, len(self), "slice")
        view, low, high = self.tensor.view, k, k + 1
        if self.first is not None:
            low, high = self.first[k : k + 2].tolist()
        if high - low == 1:
            part = view.slice(int(self.begin[low]), int(self.end[low]), self.dim)
        else:
            part = concat_slices(view, self.begin[low:high], self.end[low:high], self.dim, self.dim)
        return self.tensor._of(part)

    def __repr__(self) -> str:
        tensor = self.tensor
        sliced = f"'{{}}' {type_text(tensor.element_type)}{list(tensor.shape)}"
        return fitted(f"<{len(self):,} Slices of {sliced} along dimension {self.dim}>", tensor.name)

    def sizes(self) -> Int64:
        """Return the size of each item along `dim`, int64[N]."""
        size = self.end - self.begin
        if self.first is None:
            return size
        total = np.zeros(len(size) + 1, np.int64)
        np.cumsum(size, out=total[1:])
        return np.diff(total[self.first])


class SliceLists(OnAccess[list["Tensor"]]):
    """Lists of slices of a vector, stored as arrays: a list of vectors for each of many vertices.

    Attributes:
        slices: all slices, one interval each.
        first: int64[N + 1], position of each list's first slice.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,), "t")
    >>> rows = SliceLists(t.slices([(0, 4), (2, 3), (1, 2)]), np.array([0, 2, 3]))
    >>> len(rows), len(rows[0]), rows[1][0] == t[1:2]
    (2, 2, <same elements: True (not ops.equal)>)
    """

    __slots__ = ("first", "slices")
    first: Int64
    slices: Slices
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # like a list

    def __init__(self, slices: Slices, first: Int64) -> None:
        self.slices, self.first = slices, first

    def __len__(self) -> int:
        return len(self.first) - 1

    def _item(self, key: int) -> list[Tensor]:
        k = place(key, len(self), "list")
        return self.slices[int(self.first[k]) : int(self.first[k + 1])]


def slices_of(tensor: Tensor, items: Sequence[Any] | npt.NDArray[Any], dim: int) -> Slices:
    """Return the slices for the items of a list; see `Tensor.slices`.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,))
    >>> slices_of(t, [3, (0, 2), [(0, 1), (4, 6)]], 0).sizes().tolist()
    [1, 2, 3]
    """
    size = tensor.view.shape[dim]
    plain = _plain(items)
    if plain is not None:
        begin, end = plain
        if ((begin >= 0) & (begin <= end) & (end <= size)).all():
            return Slices(tensor, dim, begin, end)
    if isinstance(items, np.ndarray) and items.ndim == 2:
        items = [tuple(item) for item in items.tolist()]
    found = [_pairs(item, tensor, dim) for item in items]
    bounds = np.array(list(chain.from_iterable(found)), np.int64).reshape(-1, 2)
    first = np.array(list(accumulate(map(len, found), initial=0)), np.int64)
    one_each = len(first) > len(bounds) and bool((np.diff(first) == 1).all())
    return Slices(tensor, dim, bounds[:, 0], bounds[:, 1], None if one_each else first)


def _plain(items: Sequence[Any] | npt.NDArray[Any]) -> tuple[Int64, Int64] | None:
    """Return unchecked begins and ends if all items are intervals, or all are indices."""
    if isinstance(items, Intervals):
        return items.begin, items.end
    if isinstance(items, np.ndarray):
        unmasked(items, "slices")
        if items.dtype.kind not in "iu" or items.dtype == np.uint64:
            return None
        values = items.astype(np.int64)
        pairs = values.ndim == 2 and values.shape[1] == 2
    else:
        pairs = set(map(type, items)) <= {tuple, Interval} and set(map(len, items)) <= {2}
        numbers = list(chain.from_iterable(items)) if pairs else items
        if set(map(type, numbers)) != {int}:
            return None
        try:
            values = np.fromiter(numbers, np.int64, len(numbers))
        except OverflowError:
            return None
        values = values.reshape(-1, 2) if pairs else values
    if pairs:
        return values[:, 0], values[:, 1]
    return (values, values + 1) if values.ndim == 1 else None


def _pairs(item: object, tensor: Tensor, dim: int) -> list[tuple[int, int]]:
    """Return the checked intervals of one item."""
    if arguments.is_interval(item):
        return [arguments.span(item[0], item[1], dim, tensor)]
    if arguments.is_sequence(item):
        for part in item:
            if not arguments.is_interval(part):
                raise arguments.no_interval(part, tensor)
        pairs = [arguments.span(begin, end, dim, tensor) for begin, end in item]
        others = tensor.num_elements // max(tensor.view.shape[dim], 1)
        size = sum([end - begin for begin, end in pairs]) * others
        arguments.check_size(size, tensor, "use fewer intervals")
        return pairs
    i = arguments.index(item, tensor.view.shape[dim], tensor, dim)
    return [(i, i + 1)]
