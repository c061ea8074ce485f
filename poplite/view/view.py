"""Views, which map the indices of a tensor to elements of a linear space.

A view is `(shape, dims, off, space)`: index (i, j, ...) is the element at position
`off + dims[0](i) + dims[1](j) + ...` of the space, where each dimension is a stride or a
short mixed-radix number (see `digits`).  The space is the storage of one variable, or a
`Cat`, the concatenation of other views::

    a = all_of(storage, (4, 6))      shape (4, 6)   dims (6, 1)                off 0
    a.dim_shuffle((1, 0))           shape (6, 4)   dims (1, 6)
    ... .reshape((24,))             shape (24,)    dims (((6, 1), (4, 6)),)
    ... .slice(3, 4, 0)             shape (1,)     dims (0,)                  off 18

A graph has one linear space of addresses, cut into variables.  Each variable owns the addresses
[base, base + num_elements), with at least one unused guard address between neighbours, so that
a run of addresses never joins two variables::

    address   0 1 2 3 4 5 6 7 8
    variable  a a a a . b b b .        a.base = 0, b.base = 5

Addresses count elements, not bytes, because a view never changes the size of an element.

Every operation returns a new view, visits no element, and assumes checked arguments.
A view without elements is always `empty(shape)`.

Composition expresses a view of another view's row-major order in the other view's own space.
The elements of the other view, the kid, are counted in digits with place values.  Each step of the
outer view is written as a multiple of one place value::

    kid digits ((6, 1), (4, 6)), places 4 and 1      a step of 4 is one step of the digit (6, 1)

Source: Shah, "A Note on the Algebra of CuTe Layouts", with offsets and signs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NoReturn

from poplite.arrays import series
from poplite.arrays.series import Digit, Digits, Dim
from poplite.errors import ElementTypeError

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.view.concatenation import SlicedViews

Shape = tuple[int, ...]


class Storage:
    """The elements of one variable; compared by identity.

    Attributes:
        id: number of the variable in its graph.
        base: address of its first element.
        constant: whether a program may only read them.
    """

    __slots__ = ("base", "constant", "id", "num_elements")

    def __init__(self, id: int, base: int, num_elements: int, constant: bool = False) -> None:
        self.id: int = id
        self.base: int = base
        self.num_elements: int = num_elements
        self.constant: bool = constant

    def __repr__(self) -> str:
        kind = "constant" if self.constant else "variable"
        return f"<Storage {kind} {self.id}, {self.num_elements:,} elements at {self.base:,}>"


NOWHERE = Storage(-1, 0, 0)
"""The space of every view without elements."""


class View:
    """An immutable view; equal views have the same form (`aliases` compares their elements).

    Attributes:
        dims: stride or digits of each dimension; ignored where the size is 1.
        off: position of the first element in the space.
        space: the storage of a variable, or a concatenation of views.
    """

    __slots__ = ("dims", "off", "shape", "space")

    def __init__(self, shape: Shape, dims: tuple[Dim, ...], off: int, space: Storage | Cat) -> None:
        self.shape: Shape = shape
        self.dims: tuple[Dim, ...] = dims
        self.off: int = off
        self.space: Storage | Cat = space

    if not TYPE_CHECKING:

        def __call__(self, *_: object, **__: object) -> NoReturn:
            """Refuse: NumPy's `a.view(dtype)` is `t.reinterpret(element_type)`."""
            raise ElementTypeError(
                "t.view is the view of a tensor, not a function",
                found="NumPy's a.view(dtype) reads the bits of an array as another type",
                fix="call t.reinterpret(element_type)",
            )

    @property
    def num_elements(self) -> int:
        """Number of elements, including repeats."""
        return math.prod(self.shape)

    def flat_digits(self) -> list[Digit]:
        """Return the coalesced digits of the view's row-major order; none when empty."""
        return [] if self.space is NOWHERE else series.flat_digits(self.shape, self.dims)

    def slice(self, begin: int, end: int, dim: int) -> View:
        """Select [begin, end) of one dimension."""
        shape = self.shape
        size = end - begin
        if size == shape[dim]:
            return self
        shape = (size,) if len(shape) == 1 else (*shape[:dim], size, *shape[dim + 1 :])
        if size == 0:
            return empty(shape)
        dims = self.dims
        stride = dims[dim]
        if isinstance(stride, int):
            off = self.off + begin * stride
        else:
            pieces = series.cut_digits(stride, begin, end, self.off)
            if len(pieces) > 1:
                # Only this path needs concatenation, which itself builds on views.
                from poplite.view.concatenation import cut

                return cut(self, pieces, shape, dim)
            ((digits, _, off),) = pieces
            dims = (*dims[:dim], series.pack(digits), *dims[dim + 1 :])
        space = self.space
        if isinstance(space, Storage):
            return View(shape, dims, off, space)
        return placed(shape, dims, off, space)

    def index(self, i: int) -> View:
        """Select index i of dimension 0, which is removed."""
        stride = self.dims[0]
        step = i * stride if isinstance(stride, int) else series.locate(stride, i)
        space = self.space
        if space is NOWHERE:
            return empty(self.shape[1:])
        if isinstance(space, Storage):
            return View(self.shape[1:], self.dims[1:], self.off + step, space)
        return placed(self.shape[1:], self.dims[1:], self.off + step, space)

    def dim_shuffle(self, permutation: Sequence[int]) -> View:
        """Permute dimensions: dimension k of the result is permutation[k] of this view."""
        shape, dims = self.shape, self.dims
        return View(
            tuple([shape[p] for p in permutation]),
            tuple([dims[p] for p in permutation]),
            self.off,
            self.space,
        )

    def expand(self, indices: Sequence[int]) -> View:
        """Insert a dimension of size 1 before each listed dimension."""
        shape, dims = list(self.shape), list(self.dims)
        for i in sorted(indices, reverse=True):
            shape.insert(i, 1)
            dims.insert(i, 0)
        return View(tuple(shape), tuple(dims), self.off, self.space)

    def squeeze(self, indices: Sequence[int]) -> View:
        """Remove the listed dimensions, all of size 1."""
        return self.dim_shuffle([i for i in range(len(self.shape)) if i not in indices])

    def sub_sample(self, step: int, dim: int) -> View:
        """Select every step-th index of one dimension, from 0."""
        size = self.shape[dim]
        if step == 1 or size < 2:
            return self
        if step >= size:
            return self.slice(0, 1, dim)
        stride = self.dims[dim]
        new: Dim
        if isinstance(stride, int):
            new = stride * step
        else:
            digits = series.sub_sample_digits(stride, step)
            if digits is None:
                return layer(self).sub_sample(step, dim)
            new = series.pack(digits)
        return placed(
            (*self.shape[:dim], -(-size // step), *self.shape[dim + 1 :]),
            (*self.dims[:dim], new, *self.dims[dim + 1 :]),
            self.off,
            self.space,
        )

    def reverse(self, dim: int) -> View:
        """Read one dimension backwards."""
        stride = self.dims[dim]
        new: Dim
        if isinstance(stride, int):
            new = -stride
            off = self.off + (self.shape[dim] - 1) * stride
        else:
            new = tuple([(e, -s) for e, s in stride])
            off = self.off + sum([(e - 1) * s for e, s in stride])
        if self.space is NOWHERE:
            return self
        return View(self.shape, (*self.dims[:dim], new, *self.dims[dim + 1 :]), off, self.space)

    def broadcast(self, n: int, dim: int) -> View:
        """Repeat one dimension as a block n times: 1 2 -> 1 2 1 2."""
        return self._repeat(n, dim, True)

    def upsample(self, n: int, dim: int) -> View:
        """Repeat each index of one dimension n times in place: 1 2 -> 1 1 2 2."""
        return self._repeat(n, dim, False)

    def _repeat(self, n: int, dim: int, outer: bool) -> View:
        if n == 1:
            return self
        shape, dims = self.shape, self.dims
        size, stride = shape[dim], dims[dim]
        shape = (*shape[:dim], size * n, *shape[dim + 1 :])
        if n == 0 or self.space is NOWHERE:
            return empty(shape)
        digits = series.digits_of(size, stride)
        repeated: Digits = ((n, 0), *digits) if outer else (*digits, (n, 0))
        new: Dim = repeated
        if not digits or digits[0 if outer else -1][1] == 0:
            new = series.pack(series.coalesce(repeated))
        return View(shape, (*dims[:dim], new, *dims[dim + 1 :]), self.off, self.space)

    def reshape(self, shape: Shape) -> View:
        """Read the elements, in row-major order, in another shape of equal size."""
        space = self.space
        if shape == self.shape:
            return self
        if space is NOWHERE:
            return empty(shape)
        digits = series.flat_digits(self.shape, self.dims)
        if type(space) is Cat and len(space.kids) == 1 and digits == [(space.num_elements, 1)]:
            # A layer read from end to end may not be needed for this shape.
            below = space.kids[0]
            dims = series.regroup(below.flat_digits(), shape)
            if dims is not None:
                return View(shape, dims, below.off, below.space)
        dims = series.regroup(digits, shape)
        if dims is not None:
            return View(shape, dims, self.off, space)
        return View(shape, series.row_major(shape), 0, Cat((flat(self),), 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        space = self.space
        return self is other or (
            self.shape == other.shape
            and self.off == other.off
            and (space is other.space or isinstance(space, Cat))
            and self.flat_digits() == other.flat_digits()
            and space == other.space
        )

    def __hash__(self) -> int:
        return hash((self.shape, tuple(self.flat_digits()), self.off, self.space))

    def __repr__(self) -> str:
        return f"View(shape={self.shape}, dims={self.dims}, off={self.off}, space={self.space!r})"


class Cat:
    """Several views read one after the other, repeatedly, as one linear space.

    The space repeats `outer` times: one chunk of kid 0, one chunk of kid 1, ...  Kids have
    shape (outer, chunk).  An `outer` above 1 describes the row-major order of a concatenation along
    an inner dimension::

        concat of a (2, 3) and b (2, 1) along dimension 1, outer = 2, period = 4

        position  0  1  2  3  4  5  6  7
        element   a0 a1 a2 b0 a3 a4 a5 b1

    Attributes:
        kids: the views, none empty; `SlicedViews` for many slices of one view.
        breaks: the start of each kid's chunk in a period, and the period; int64[K + 1] for
            `SlicedViews`.
        period: number of elements of one repetition.
        outer: number of repetitions.
        num_elements: outer * period.
        levels: number of nested concatenations, including this one.
        storages: every storage below, in order of first use; a view need not read all of them.
    """

    __slots__ = (
        "alias_free",
        "breaks",
        "kids",
        "leaves",
        "levels",
        "num_elements",
        "outer",
        "period",
        "storages",
    )

    def __init__(self, kids: tuple[View, ...] | SlicedViews, outer: int) -> None:
        breaks: list[int] | Int64
        if isinstance(kids, tuple):
            breaks = [0, *accumulate([kid.shape[1] for kid in kids])]
            spaces = list({id(kid.space): kid.space for kid in kids}.values())
        else:
            breaks = kids.breaks()
            spaces = [kids.template.space]
        below = [(s,) if isinstance(s, Storage) else s.storages for s in spaces]
        self.kids: tuple[View, ...] | SlicedViews = kids
        self.breaks: list[int] | Int64 = breaks
        self.period: int = int(breaks[-1])
        self.outer: int = outer
        self.num_elements: int = outer * self.period
        self.levels: int = 1 + max([0 if isinstance(s, Storage) else s.levels for s in spaces])
        self.storages: tuple[Storage, ...] = (
            below[0] if len(below) == 1 else tuple(dict.fromkeys(chain.from_iterable(below)))
        )
        # Results of queries, cached on first use by `aliases` and by `concatenation_leaves`, whose
        # `Leaves` cannot be imported here.
        self.alias_free: bool | None = None
        self.leaves: object = None

    def kid_at(self, position: int) -> tuple[View, int, int]:
        """Return the kid at a position of the period, and the [begin, end) of its chunk."""
        breaks = self.breaks
        k = bisect_right(breaks, position) - 1
        return self.kids[k], int(breaks[k]), int(breaks[k + 1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cat):
            return NotImplemented
        return self is other or _has_same_structure(self, other)

    def __hash__(self) -> int:
        return hash((self.outer, self.num_elements, len(self.kids)))

    def __repr__(self) -> str:
        times = f"{self.outer:,} times, {self.num_elements:,} elements"
        return f"<Cat of {len(self.kids):,} views, {times}>"


def _has_same_structure(a: Cat, b: Cat) -> bool:
    """Compare two spaces level by level, each pair once, since a view may occur many times."""
    todo: list[tuple[Storage | Cat, Storage | Cat]] = [(a, b)]
    done: set[tuple[int, int]] = set()
    while todo:
        one, other = todo.pop()
        if one is other:
            continue
        if isinstance(one, Storage) or isinstance(other, Storage):
            return False
        if (id(one), id(other)) in done:
            continue
        done.add((id(one), id(other)))
        if one.outer != other.outer or one.num_elements != other.num_elements:
            return False
        if not isinstance(one.kids, tuple):
            if isinstance(other.kids, tuple) or not one.kids.are_cut_as(other.kids):
                return False
            todo.append((one.kids.template.space, other.kids.template.space))
            continue
        if not isinstance(other.kids, tuple) or len(one.kids) != len(other.kids):
            return False
        for kid, its in zip(one.kids, other.kids):  # noqa: B905  (as in `flat_digits`)
            if kid.shape != its.shape or kid.off != its.off:
                return False
            if kid.dims != its.dims and kid.flat_digits() != its.flat_digits():
                return False
            if kid.space is not its.space:
                todo.append((kid.space, its.space))
    return True


def all_of(storage: Storage, shape: Shape) -> View:
    """Return the view of all elements of a variable in row-major order.

    >>> all_of(Storage(0, 0, 24), (4, 6)).dims
    (6, 1)
    """
    return (
        View(shape, series.row_major(shape), 0, storage) if storage.num_elements else empty(shape)
    )


def empty(shape: Shape) -> View:
    """Return the one empty view of this shape."""
    return View(shape, (0,) * len(shape), 0, NOWHERE)


def flat(view: View) -> View:
    """Return a view in the shape of a kid of a `Cat` with outer 1: (1, elements)."""
    digits = view.flat_digits()
    return View((1, view.num_elements), (0, series.pack(digits)), view.off, view.space)


def once(view: View) -> View:
    """Return a view of the same elements in the same order, without repeats from strides of 0.

    >>> once(all_of(Storage(0, 0, 6), (6,)).broadcast(2**40, 0)).shape
    (6,)
    """
    digits = view.flat_digits()
    if all([stride for _, stride in digits]):
        return view
    moving = series.coalesce([digit for digit in digits if digit[1]])
    size = math.prod([extent for extent, _ in moving])
    return View((size,), (series.pack(moving),), view.off, view.space)


def layer(view: View) -> View:
    """Return an equivalent view with one stride per dimension, over a new space.

    >>> layer(all_of(Storage(0, 0, 6), (2, 3)).dim_shuffle((1, 0))).dims
    (2, 1)
    """
    return View(view.shape, series.row_major(view.shape), 0, Cat((flat(view),), 1))


def placed(shape: Shape, dims: tuple[Dim, ...], off: int, space: Storage | Cat) -> View:
    """Return a nonempty view on the innermost possible space.

    A view inside one kid of a `Cat` is moved down to that kid's own space.
    """
    while type(space) is Cat:
        period, repetition, first = space.period, 0, off
        repeated = space.outer > 1
        if repeated:
            repetition, first = divmod(off, period)
        low = high = first
        for size, dim in zip(shape, dims):  # noqa: B905  (as in `flat_digits`)
            # Steps of whole periods move between repetitions; the others must stay in one chunk.
            if isinstance(dim, int):
                reach = (size - 1) * dim
                if repeated and dim % period == 0:
                    reach = 0
            else:
                steps = [(e - 1) * s for e, s in dim if s % period]
                reach = sum([step for step in steps if step > 0])
                low += sum(steps) - reach
            if reach > 0:
                high += reach
            else:
                low += reach
        if low < 0 or high >= period:
            break
        breaks = space.breaks
        k = bisect_right(breaks, low) - 1
        if high >= breaks[k + 1]:
            break
        kid, begin = space.kids[k], breaks[k]
        first -= begin if type(begin) is int else int(begin)
        if kid.dims[1] == 1 and not repeated:
            off, space = kid.off + first, kid.space
            continue
        chunk = kid.shape[1]
        moved = dims
        if chunk != period:
            moved = tuple([_rebase(dim, period, chunk) for dim in dims])
        found = compose(shape, moved, repetition * chunk + first, kid.flat_digits(), kid.off)
        if found is None:
            break
        dims, off = found
        space = kid.space
    return View(shape, dims, off, space)


def _rebase(dim: Dim, period: int, chunk: int) -> Dim:
    if isinstance(dim, int):
        return dim // period * chunk if dim % period == 0 else dim
    return series.pack(
        series.coalesce([(e, s // period * chunk if s % period == 0 else s) for e, s in dim])
    )


# -- compose ---------------------------------------------------------------------------------------


def compose(
    shape: Sequence[int],
    dims: Sequence[Dim],
    off: int,
    kid_digits: Sequence[Digit],
    kid_off: int,
) -> tuple[tuple[Dim, ...], int] | None:
    """Express a view of another view's row-major order in the other view's own space.

    Each step is written as a multiple of one place of the kid's number.  That is exact as long as
    no place carries, so the largest value that every place can reach is tracked; the result is None
    if a carry cannot be excluded.  `dims` and `off` are positions in the kid's row-major order;
    `kid_digits` are coalesced; `kid_off` and the result are in the kid's space.

    >>> compose((2, 4), (4, 1), 4, [(6, 1), (4, 6)], 0)
    ((1, 6), 1)
    """
    if len(kid_digits) < 2:
        scale = kid_digits[0][1] if kid_digits else 0
        if scale == 1:
            return tuple(dims), kid_off + off
        scaled = [
            d * scale
            if isinstance(d, int)
            else series.pack(series.coalesce([(e, s * scale) for e, s in d]))
            for d in dims
        ]
        return tuple(scaled), kid_off + off * scale
    return _Composition(kid_digits, kid_off).apply(shape, dims, off)


class _Composition:
    """The state of one `compose`: the largest value of every place so far."""

    __slots__ = ("base", "digits", "places", "used")

    def __init__(self, digits: Sequence[Digit], base: int) -> None:
        self.digits = digits
        self.places = series.place_values(digits)
        self.used = [0] * len(digits)
        self.base = base

    def apply(
        self, shape: Sequence[int], dims: Sequence[Dim], off: int
    ) -> tuple[tuple[Dim, ...], int] | None:
        numbers = [series.digits_of(size, dim) for size, dim in zip(shape, dims, strict=True)]
        lowest = off + sum((e - 1) * s for number in numbers for e, s in number if s < 0)
        for j in range(len(self.digits) - 1, -1, -1):
            extent, stride = self.digits[j]
            lowest, self.used[j] = divmod(lowest, extent)
            self.base += self.used[j] * stride
        packed: list[Dim] = []
        for number in reversed(numbers):
            emitted: list[Digit] = []
            for extent, step in reversed(number):
                found = self._express(extent, abs(step))
                if found is None:
                    return None
                if step < 0:
                    self.base += sum((e - 1) * s for e, s in found)
                    found = [(e, -s) for e, s in found]
                emitted += found
            packed.append(series.pack(series.coalesce(reversed(emitted))))
        return tuple(reversed(packed)), self.base

    def _express(self, extent: int, step: int) -> list[Digit] | None:
        """Express one digit in the kid's places, innermost first."""
        if step == 0:
            return [(extent, 0)]
        emitted: list[Digit] = []
        while True:
            j = next(j for j, w in enumerate(self.places) if w <= step and step % w == 0)
            count = step // self.places[j]
            size, stride = self.digits[j]
            room = size - 1 - self.used[j]
            if (extent - 1) * count <= room:
                self.used[j] += (extent - 1) * count
                emitted.append((extent, count * stride))
                return emitted
            # The steps fill this place completely and continue in the next coarser one.
            filled = size // count
            if j == 0 or size % count or extent % filled or (filled - 1) * count > room:
                return None
            self.used[j] += (filled - 1) * count
            emitted.append((filled, count * stride))
            extent //= filled
            step = self.places[j - 1]
