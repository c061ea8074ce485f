"""Which elements views share: aliases in one, intersections of two or many, equality of two.

Over one variable, a view is a strided set of addresses, and number theory gives the answer
(`poplite.view.address_sets`).  No elements are listed for a view of a `Cat` either, if it reads
every position of the Cat once: it then consists of the strided sets of the Cat's kids, which are
compared as arrays::

    view of a Cat
      repeats a position          -> aliases
      else, kids never overlap    -> none               (found once per Cat)
      else, reads all of the Cat  -> aliases
      else                        -> compare its runs

A Cat whose kids never overlap behaves like a variable: views of it share an element if and only if
they share a position.

Many strided sets of addresses are tested for a shared address at once, as arrays.

A set is a smallest address and digits with positive steps; the order of its elements is ignored.
Tests over all sets are tried in order of cost, the cheapest first::

    spans        |--a--|    |--b--|      do not overlap: apart; exact where sets have no gaps
    residues     a.b.a.b.a.b.            modulo the coarsest steps, the same for the rest
    pairs        a.....b.a               one by one, where few spans overlap
    bitmap       11.1..11                every element marked once

Sets are compared with each other, or the sets of one group with those of another.

Two views are equal if they have the same elements in the same order, however they were created::

    a, r = all_of(storage, (2,)), a.reverse(0)      concat([r, a]) and concat([a[1], a[0], a])

There are three tests, the quickest first:

1. Do they have the same structure?  On one variable that decides, since digits are unique;
2. Do they agree at a few positions, those used for the hash?
3. Do they agree everywhere?  Both are cut further and further, until parts of equal sizes have
   the same structure, or are on variables and differ.  If that takes many steps, the runs of
   addresses of both are compared, some at a time.

Nothing is listed after the first difference, and common repetitions are compared once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, product
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, Mask, repeated
from poplite.arrays.series import Digit, coalesce, locate, place_values, regroup
from poplite.errors import SizeOverflowError
from poplite.jit.build import address, native
from poplite.jit.kernels_views import MARK, TEST, visit
from poplite.view.address_sets import LARGEST_SPAN, meet, repeats, span
from poplite.view.concatenation import SlicedViews
from poplite.view.concatenation_leaves import (
    MOST_RUNS,
    below,
    cut,
    flat,
    leaves_of,
    levels,
    opened,
    stacked,
)
from poplite.view.intervals_of_view import address_at, chunks, runs
from poplite.view.view import NOWHERE, Cat, Storage, View, once

FEW_PAIRS = 1024
"""Number of pairs up to which pairs are always compared one by one, in a few milliseconds."""

ELEMENTS_PER_PAIR = 2048
"""Number of elements that can be marked in the time that comparing one pair takes."""

MOST_PAIRS = 2**20
"""Maximum number of pairs compared if a bitmap would be too large; takes a few seconds."""

MANY = 4096
"""Number of sets without gaps above which they are marked in a bitmap rather than sorted."""

ADDRESSES_PER_SET = 512
"""Average distance of sets above which they are sorted all the same."""


class Sets(NamedTuple):
    """Strided sets of addresses.

    Attributes:
        low: int64[N], the smallest address of each set.
        high: int64[N], the largest address of each set.
        extent: int64[N, K], extents of the digits, at least one column; 1 for padding.
        stride: int64[N, K], not negative; 0 only where the extent is 1.
    """

    low: Int64
    high: Int64
    extent: Int64
    stride: Int64

    def digits(self, i: int) -> list[Digit]:
        """Return the digits of one set."""
        rows = zip(self.extent[i].tolist(), self.stride[i].tolist(), strict=True)
        return [(extent, stride) for extent, stride in rows if extent > 1]


def sets_of(base: Int64, extent: Int64, stride: Int64) -> Sets:
    """Return sets from digits with strides of any sign; repeated elements count once.

    `base` is int64[N], the addresses at which all digits are 0; `extent` and `stride` are
    int64[N, K], with K at least 1.

    >>> one = sets_of(np.array([9]), np.array([[3, 2]]), np.array([[-4, 0]]))
    >>> one.low.tolist(), one.high.tolist(), one.digits(0)
    ([1], [9], [(3, 4)])
    """
    low, high = base.copy(), base.copy()
    for column in range(extent.shape[1]):
        reach = (extent[:, column] - 1) * stride[:, column]
        low += np.minimum(reach, 0)
        high += np.maximum(reach, 0)
    steps = stride != 0
    if not steps.all():
        extent = np.where(steps, extent, 1)
    return Sets(low, high, extent, np.abs(stride))


def intervals(begin: Int64, length: Int64) -> Sets:
    """Return sets of consecutive addresses."""
    extent = length.reshape(-1, 1)
    return Sets(begin, begin + (length - 1), extent, np.ones_like(extent))


def joined(parts: Sequence[Sets]) -> Sets:
    """Concatenate sets."""
    if len(parts) == 1:
        return parts[0]
    columns = max([part.extent.shape[1] for part in parts])

    def widened(digits: Int64, filler: int) -> Int64:
        missing = columns - digits.shape[1]
        return np.insert(digits, [0] * missing, filler, axis=1) if missing else digits

    return Sets(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([widened(part.extent, 1) for part in parts]),
        np.concatenate([widened(part.stride, 0) for part in parts]),
    )


def any_meet(a: Sets, b: Sets | None = None) -> bool:
    """Return whether a set of `a` and a set of `b` share an address; no set is empty.

    Without `b`, the sets of `a` are compared with each other; none may contain an address twice.
    Raises `SizeOverflowError` if too many sets overlap over too many addresses, or two sets are
    too hard to compare.

    >>> sets = sets_of(np.array([0, 1]), np.array([[5], [5]]), np.array([[2], [2]]))
    >>> any_meet(sets), any_meet(sets, intervals(np.array([8]), np.array([1])))
    (False, True)
    """
    parts = [a] if b is None else [a, b]
    low, high = min([int(s.low.min()) for s in parts]), max([int(s.high.max()) for s in parts])
    number = sum([len(s.low) for s in parts])
    without_gaps = all([_is_without_gaps(s) for s in parts])
    if without_gaps and number > MANY and high - low < ADDRESSES_PER_SET * number:
        return marks_meet([[part] for part in parts], low, high)
    sets = joined(parts)
    first = None if b is None else np.arange(number) < len(a.low)
    overlaps = _overlaps(sets.low, sets.high + 1, first)
    if without_gaps or not overlaps.number:
        return overlaps.number > 0
    residues = _residue_overlaps(sets, first)
    if residues is not None and residues.number < overlaps.number:
        overlaps = residues
    elements = float(sets.extent.prod(axis=1, dtype=np.float64).sum())
    too_many = max(high - low + 1, 0 if b is None else elements) > LARGEST_SPAN
    limit = MOST_PAIRS if too_many else max(FEW_PAIRS, elements / ELEMENTS_PER_PAIR)
    if overlaps.number <= limit:
        return any(
            meet(int(sets.low[i]), sets.digits(i), int(sets.low[j]), sets.digits(j))
            for i, j in overlaps.pairs()
        )
    if too_many:
        raise SizeOverflowError(
            f"too hard to compare: {number:,} strided pieces over {high - low + 1:,} addresses "
            f"(at most {MOST_PAIRS:,} overlapping pairs, or {LARGEST_SPAN:,} addresses)",
            found=f"{overlaps.number:,} pairs; the first piece has digits (extent, stride) "
            f"{sets.digits(0)}",
            fix="compare smaller slices, or copy the view to a new variable",
        )
    return marks_meet([[part] for part in parts], low, high)


def _is_without_gaps(sets: Sets) -> bool:
    """Return whether every set is a range of addresses."""
    width = np.ones_like(sets.low)
    for column in range(sets.extent.shape[1] - 1, -1, -1):
        extent = sets.extent[:, column]
        if not ((extent == 1) | (sets.stride[:, column] == width)).all():
            return False
        width *= extent
    return True


class _Overlaps(NamedTuple):
    """Pairs of intervals, one of which begins inside the other, grouped by the other.

    Attributes:
        number: number of pairs.
        rows: (inside, others, first, count); `others[first[k] : first[k] + count[k]]` begin inside
            `inside[k]`.
    """

    number: int
    rows: Sequence[tuple[Int64, ...]]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the two intervals of each pair."""
        for inside, others, first, count in self.rows:
            source, number = repeated(count)
            owner, number = inside[source], number + first[source]
            yield from zip(owner.tolist(), others[number].tolist(), strict=True)


def _overlaps(begin: Int64, end: Int64, first: Mask | None) -> _Overlaps:
    """Find the pairs of intervals that overlap, one of them `first` and the other not."""
    rows = []
    if first is None:
        order = np.argsort(begin, kind="stable")
        at = np.arange(1, len(order) + 1)
        rows.append((order, order, at, np.searchsorted(begin[order], end[order]) - at))
    else:
        ours, theirs = np.flatnonzero(first), np.flatnonzero(~first)
        ours, theirs = (part[np.argsort(begin[part], kind="stable")] for part in (ours, theirs))
        # The later one of a pair begins inside the earlier; at equal begins, ours is the later.
        at = np.searchsorted(begin[ours], begin[theirs])
        rows.append((theirs, ours, at, np.searchsorted(begin[ours], end[theirs]) - at))
        at = np.searchsorted(begin[theirs], begin[ours], side="right")
        rows.append((ours, theirs, at, np.searchsorted(begin[theirs], end[ours]) - at))
    return _Overlaps(sum([int(count.sum()) for *_, count in rows]), rows)


def _residue_overlaps(sets: Sets, first: Mask | None) -> _Overlaps | None:
    """Find the pairs that overlap modulo the coarsest steps; None if all pairs may overlap.

    Example: the 64 shuffled columns of a matrix have different residues, so no two overlap.
    """
    modulus = int(np.gcd.reduce(sets.stride.max(axis=1)))
    if modulus < 2:
        return None
    fine = sets.stride % modulus != 0
    width = ((sets.extent - 1) * sets.stride).sum(axis=1, where=fine) + 1
    if int(width.max()) > modulus:
        return None
    begin = sets.low % modulus
    end = begin + width
    # A range that extends past the modulus wraps around to 0.
    owner = np.append(np.arange(len(end)), np.flatnonzero(end > modulus))
    over = owner[len(end) :]
    begin = np.append(begin, np.zeros(len(over), np.int64))
    end = np.append(np.minimum(end, modulus), end[over] - modulus)
    number, rows = _overlaps(begin, end, None if first is None else first[owner])
    return _Overlaps(number, [(owner[a], owner[b], *rest) for a, b, *rest in rows])


def marks_meet(groups: Sequence[Iterable[Sets]], low: int, high: int) -> bool:
    """Return whether two sets share an address by marking every element in a bitmap.

    The sets of a single group are compared with each other; of two groups, those of one with those
    of the other.  All addresses are in [low, high].  Raises `SizeOverflowError` if the bitmap would
    have more than `LARGEST_SPAN` bits.

    >>> sets = intervals(np.array([0, 9]), np.array([4, 2]))
    >>> marks_meet([[sets]], 0, 10), marks_meet([[sets], [sets]], 0, 10)
    (False, True)
    """
    if high - low >= LARGEST_SPAN:
        raise SizeOverflowError(
            f"too hard to compare: irregular pieces over {high - low + 1:,} addresses "
            f"(at most {LARGEST_SPAN:,} are compared one by one)",
            found=f"{sum(len(sets.low) for group in groups for sets in group):,} pieces",
            fix="compare smaller slices, or copy the view to a new variable",
        )
    bits = np.zeros((high - low >> 3) + 1, np.uint8)
    *before, last = groups
    for group in before:
        for sets in group:
            _visit(bits, low, sets, MARK)
    return any(_visit(bits, low, sets, TEST if before else TEST | MARK) for sets in last)


def _visit(bits: npt.NDArray[np.uint8], low: int, sets: Sets, action: int) -> bool:
    first, extent, stride = (np.ascontiguousarray(part) for part in (sets.low, *sets[2:]))
    number, columns = extent.shape
    index = np.empty(columns, np.int64)
    where = [address(part) for part in (first, extent, stride)]
    arguments = (address(bits), low, *where, number, columns, address(index), action)
    return bool(native(visit)(*arguments))


Kids = tuple[View, ...] | SlicedViews
Blocks = tuple[list[Sets], list[View]]

FEW = 8
"""Maximum number of views that are compared in pairs, without arrays.

No benchmark depends on it: a field of three pieces takes 7 us this way, and 36 us with arrays."""


def contains_aliases(view: View) -> bool:
    """Return whether any element occurs twice in a view.

    Raises `SizeOverflowError` for the rare view that is too irregular and too large to examine.

    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 0, 6), (1, 6))
    >>> contains_aliases(row), contains_aliases(row.broadcast(2, 0))
    (False, True)
    """
    space, shape = view.space, view.shape
    if len(shape) == 1 and isinstance(space, Storage) and isinstance(view.dims[0], int):
        return view.dims[0] == 0 and shape[0] > 1  # the common case
    if repeats(view.flat_digits()):
        return True
    if isinstance(space, Storage) or _alias_free(space):
        return False
    if view.num_elements == space.num_elements:
        return True
    if view.num_elements > sum([storage.num_elements for storage in space.storages]):
        return True
    return _meet([_blocks(view)], space.storages)


def intersects(a: View, b: View) -> bool:
    """Return whether two views share an element.

    Raises `SizeOverflowError` for the rare views that are too irregular and too large to examine.

    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 0, 6), (6,))
    >>> even, odd = row.sub_sample(2, 0), row.slice(1, 6, 0).sub_sample(2, 0)
    >>> intersects(row, odd), intersects(even, odd)
    (True, False)
    """
    space = a.space
    if space is b.space:
        if space is NOWHERE:
            return False
        if meet(a.off, a.flat_digits(), b.off, b.flat_digits()):
            return True
        if isinstance(space, Storage) or _alias_free(space):
            return False
    elif isinstance(space, Storage) and isinstance(b.space, Storage):
        return False
    storages = (*storages_below(a), *storages_below(b))
    if len(set(storages)) == len(storages):
        return False
    return _meet([_blocks(a), _blocks(b)], storages)


def contains_constant(view: View) -> bool:
    """Return whether any element of a view belongs to a constant."""
    space = view.space
    if isinstance(space, Storage):
        return space.constant
    below_view = space.storages
    constants = [storage for storage in below_view if storage.constant]
    if len(constants) in (0, len(below_view)):
        return bool(constants)
    found = _reaches_constant(view)
    if found is not None:
        return found
    # Neither the space nor the view needs to read every storage below it.
    begin = np.array([storage.base for storage in constants], np.int64)
    length = np.array([storage.num_elements for storage in constants], np.int64)
    return _meet([_blocks(view), ([intervals(begin, length)], [])], below_view)


def _reaches_constant(view: View) -> bool | None:
    """Compare positions with those of constant kids; None for many kids, or a kid on a Cat."""
    space = view.space
    if isinstance(space, Storage) or isinstance(space.kids, SlicedViews):
        return None
    places = []
    for kid, begin, end in zip(space.kids, space.breaks, space.breaks[1:], strict=False):
        if isinstance(kid.space, Cat):
            return None
        if kid.space.constant:
            chunk = [(space.outer, space.period), (end - begin, 1)]
            places.append((begin, [digit for digit in chunk if digit[0] > 1]))
    if len(places) > FEW_PAIRS:
        return None
    digits = view.flat_digits()
    return any(meet(view.off, digits, begin, chunk) for begin, chunk in places)


def storages_below(view: View) -> tuple[Storage, ...]:
    """Return the storages below a view's space, whether or not the view reaches them."""
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    return space.storages


def _alias_free(cat: Cat) -> bool:
    if cat.alias_free is None:
        for space in below(cat):
            if space.alias_free is None:
                space.alias_free = _kids_apart(space)
    assert cat.alias_free is not None
    return cat.alias_free


def _kids_apart(cat: Cat) -> bool:
    """Return whether no element occurs twice in a Cat, given `alias_free` of all Cats below."""
    kids = cat.kids
    common = _common_space(kids)
    if isinstance(common, Cat) and common.alias_free:
        positions = Storage(-1, 0, common.num_elements)
        return _kids_apart(Cat(_moved(kids, positions), cat.outer))
    if any([contains_aliases(kid) for kid in _distinct(kids)]):
        return False
    if len(kids) == 1:
        return True
    everything = View((cat.num_elements,), (1,), 0, cat)
    few = few_on_variables(everything)
    if few:
        return not _some_meet(combinations(few, 2))
    return not _meet([_blocks(everything)], cat.storages)


def _common_space(kids: Kids) -> Storage | Cat | None:
    if isinstance(kids, SlicedViews):
        return kids.template.space
    space = kids[0].space
    return space if all([kid.space is space for kid in kids]) else None


def _moved(kids: Kids, space: Storage) -> Kids:
    """Return the same kids on another space."""
    if isinstance(kids, SlicedViews):
        (template,) = _moved((kids.template,), space)
        return SlicedViews(template, kids.extent, kids.off)
    return tuple([View(kid.shape, kid.dims, kid.off, space) for kid in kids])


def _distinct(kids: Kids) -> Iterable[View]:
    """Return kids that represent all: if any kid contains an element twice, one of these does.

    A kid on a Cat represents only itself, since the Cat may contain elements twice.
    """
    if isinstance(kids, SlicedViews):
        return (kids[int(kids.extent.argmax())],)
    found: dict[object, View] = {}
    for kid in kids:
        on_variable = isinstance(kid.space, Storage)
        found.setdefault((kid.shape, kid.dims) if on_variable else id(kid), kid)
    return found.values()


def few_on_variables(view: View) -> tuple[View, ...]:
    """Return the views of variables that a view consists of, or () if there are more than `FEW`."""
    space = view.space
    if isinstance(space, Storage):
        return (view,)
    kids = space.kids
    if len(kids) > FEW or isinstance(kids, SlicedViews):
        return ()
    on_variables = all([isinstance(kid.space, Storage) for kid in kids])
    return kids if on_variables and reads_all(view, space) else ()


def _some_meet(pairs: Iterable[tuple[View, View]]) -> bool:
    return any(
        a.space is b.space and meet(a.off, a.flat_digits(), b.off, b.flat_digits())
        for a, b in pairs
    )


def _meet(blocks: Sequence[Blocks], storages: Sequence[Storage]) -> bool:
    """Return whether two sets of one view share an address, or sets of two views do."""
    if not any([streamed for _, streamed in blocks]):
        return any_meet(*[joined(sets) for sets, _ in blocks])
    low = min([storage.base for storage in storages])
    high = max([storage.base + storage.num_elements for storage in storages]) - 1
    return marks_meet([_all_sets(*part) for part in blocks], low, high)


def _all_sets(sets: Iterable[Sets], streamed: Iterable[View]) -> Iterator[Sets]:
    yield from sets
    for view in streamed:
        for begin, length in chunks(view):
            yield intervals(begin, length)


def _blocks(view: View) -> Blocks:
    """Return the strided sets that a view consists of, and the parts that are too large to list.

    A view that reads only part of a Cat is listed as runs.
    """
    sets: list[Sets] = []
    streamed: list[View] = []
    on_variables: list[View] = []
    todo = [view]
    while todo:
        view = once(todo.pop())
        space = view.space
        if isinstance(space, Storage):
            on_variables.append(view)
            continue
        kids = space.kids if reads_all(view, space) else None
        if isinstance(kids, tuple):
            todo += kids
        elif kids is not None and isinstance(kids.template.space, Storage):
            leaves = leaves_of(space)
            sets.append(sets_of(leaves.base, leaves.extent, leaves.stride))
        elif view.num_elements > MOST_RUNS:
            streamed.append(view)
        else:
            sets.append(intervals(*runs(view)))
    if on_variables:
        sets.append(sets_of(*stacked(on_variables, split=False)[:3]))
    return sets, streamed


def reads_all(view: View, cat: Cat) -> bool:
    """Return whether a view reads every position of a Cat at least once."""
    digits = [digit for digit in view.flat_digits() if digit[1]]
    count = math.prod([extent for extent, _ in digits])
    return count == cat.num_elements and not repeats(digits)


# -- an index of views -----------------------------------------------------------------------------
# An index of many views finds those that share an element with a given view.
#
# A view of a variable has a range of addresses, and a range of residues modulo its coarsest step,
# if its finer steps stay within one such step. Rows of a matrix differ in their address ranges,
# columns in their residues::
#
#     row 2 of (100, 8)        addresses 16 to 23        no step but 1
#     column 2 of (100, 8)     addresses 2 to 794        residue 2 of 8
#
# Both ranges are cut into cells of about their own length (up to a factor of 2), so that a view
# occupies few cells, and is compared only with the views in its own cells. If it has too many
# cells, they are not looked up, and all views of the grid are compared.

T = TypeVar("T")


class ViewIndex(Generic[T]):
    """An index of views that finds the items of those that share elements with a view.

    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 0, 800), (100, 8))
    >>> index = ViewIndex[str]()
    >>> index.add(matrix.slice(2, 3, 1), "column 2")
    >>> index.add(matrix.slice(5, 6, 0), "row 5")
    >>> list(index.meeting(matrix.slice(0, 4, 0))), list(index.meeting(matrix.slice(5, 6, 0)))
    (['column 2'], ['column 2', 'row 5'])
    """

    def __init__(self) -> None:
        self._entries: list[tuple[View, T]] = []
        self._grids: dict[Storage, dict[_Kind, _Grid]] = {}

    def add(self, view: View, item: T) -> None:
        """Add a view and its item."""
        number = len(self._entries)
        self._entries.append((view, item))
        for storage in storages_below(view):
            _insert(self._grids.setdefault(storage, {}), storage, view, number)

    def meeting(self, view: View) -> Iterator[T]:
        """Yield the items of the views that share an element with a view, in order of addition.

        Raises `SizeOverflowError` for the rare views that are too irregular and too large to
        examine.
        """
        near: set[int] = set()
        for storage in storages_below(view):
            near |= _near(self._grids.get(storage, {}), storage, view)
        for number in sorted(near):
            other, item = self._entries[number]
            if intersects(other, view):
                yield item


def _insert(grids: dict[_Kind, _Grid], storage: Storage, view: View, number: int) -> None:
    """Put a view into the grids of one storage."""
    for part in _sets(view, storage):
        kind = part.kind
        grid = grids.setdefault(kind, _Grid([], {}))
        grid.numbers.append(number)
        addresses, residues = part.cells(kind)
        for cell in product(addresses, chain(*residues)):
            grid.cells.setdefault(cell, []).append(number)


def _near(grids: dict[_Kind, _Grid], storage: Storage, view: View) -> set[int]:
    """Return the numbers of the indexed views in the cells of a view."""
    near: set[int] = set()
    for part in _sets(view, storage):
        for kind, grid in grids.items():
            addresses, residues = part.cells(kind)
            if len(addresses) * sum(map(len, residues)) > len(grid.numbers):
                near.update(grid.numbers)
                continue
            for cell in product(addresses, chain(*residues)):
                near.update(grid.cells.get(cell, ()))
    return near


class _Kind(NamedTuple):
    """The common properties of the views of one grid.

    Attributes:
        modulus: their coarsest step; 1 if the finer digits do not fit between its steps.
        of_addresses: exponent of 2 of the length of an address cell.
        of_residues: exponent of 2 of the length of a residue cell.
    """

    modulus: int
    of_addresses: int
    of_residues: int


class _Grid(NamedTuple):
    """The numbers of all views of a grid, and by address cell and residue cell."""

    numbers: list[int]
    cells: dict[tuple[int, int], list[int]]


class _Set(NamedTuple):
    """A set of positions in one storage that contains all those that a view reads there."""

    low: int
    high: int
    digits: Sequence[Digit]

    @property
    def kind(self) -> _Kind:
        """The grid that it belongs to."""
        modulus = max([abs(stride) for _, stride in self.digits], default=1) or 1
        width = self._width(modulus)
        if width > modulus:
            modulus = width = 1
        return _Kind(modulus, (self.high - self.low).bit_length(), (width - 1).bit_length())

    def _width(self, modulus: int) -> int:
        """Return the length of a range that contains all residues."""
        return 1 + sum([(extent - 1) * abs(step) for extent, step in self.digits if step % modulus])

    def cells(self, kind: _Kind) -> tuple[range, list[range]]:
        """Return its address cells and residue cells in a grid."""
        modulus, length, width = kind.modulus, kind.of_residues, self._width(kind.modulus)
        addresses = range(self.low >> kind.of_addresses, (self.high >> kind.of_addresses) + 1)
        if width >= modulus:
            return addresses, [range((modulus - 1 >> length) + 1)]
        begin = self.low % modulus
        last = begin + width - 1
        residues = [range(begin >> length, (min(last, modulus - 1) >> length) + 1)]
        if last >= modulus:  # it wraps around to 0
            residues.append(range((last - modulus >> length) + 1))
        return addresses, residues


def _sets(view: View, storage: Storage) -> Iterator[_Set]:
    """Yield sets of positions that contain all elements of a view in one storage."""
    few = few_on_variables(view)
    for part in few:
        if part.space is storage:
            digits = part.flat_digits()
            yield _Set(*span(part.off, digits), digits)
    if not few:
        size = storage.num_elements
        yield _Set(0, size - 1, [(size, 1)])


# -- equality --------------------------------------------------------------------------------------


Pair = tuple[View, View]

STEPS = 2**12
"""Maximum comparisons of parts before runs are compared: about 20 ms."""

MOST_STEPS = 2**21
"""Maximum comparisons of parts of views that are too long for runs: about ten seconds."""

MOST_STREAMED = 2**30
"""Maximum number of elements of views whose runs are compared: about ten seconds."""


def sample(view: View) -> tuple[int, ...]:
    """Return the addresses of at most eight elements: both ends, and some in between.

    >>> from poplite.view.view import all_of
    >>> sample(all_of(Storage(0, 10, 100), (100,)))
    (10, 11, 35, 43, 60, 76, 108, 109)
    """
    space = view.space
    if space is NOWHERE:
        return ()
    last = view.num_elements - 1
    if last < 8:
        places: Iterable[int] = range(last + 1)
    else:
        size = last + 1
        places = (0, 1, size // 4, size // 3, size // 2, size * 2 // 3, last - 1, last)
    if isinstance(space, Storage):
        digits, base = view.flat_digits(), space.base + view.off
        return tuple([base + locate(digits, i) for i in places])
    return tuple([address_at(view, i) for i in places])


def same_elements(a: View, b: View) -> bool:
    """Return whether two views of one graph have the same elements in the same shape.

    Views without elements are the same if their shapes are equal.

    Raises:
        SizeOverflowError: when they are too long to compare.

    >>> from poplite.view.concatenation import concat
    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 2), (2,))
    >>> r = x.reverse(0)
    >>> same_elements(concat([r, x], 0), concat([x.slice(1, 2, 0), x.slice(0, 1, 0), x], 0))
    True
    """
    if a == b:
        return True
    if a.shape != b.shape:
        return False
    # On a variable, digits are unique.
    if isinstance(a.space, Storage) and isinstance(b.space, Storage):
        return False
    if NOWHERE in (a.space, b.space) or sample(a) != sample(b):
        return False
    one, other = (flat(view.flat_digits(), view.off, view.space) for view in (a, b))
    found = _compared(one, other, STEPS)
    if found is None and one.shape[0] <= MOST_STREAMED:
        try:
            return _same_runs(one, other)
        except SizeOverflowError:  # a space below has too many runs to be listed
            pass
    found = _compared(one, other, MOST_STEPS) if found is None else found
    if found is None:
        raise SizeOverflowError(
            f"two views of {one.shape[0]:,} elements are too long to compare",
            found=f"their structures differ; {MOST_STEPS:,} parts of them were compared",
            fix="compare slices of them",
        )
    return found


def _compared(a: View, b: View, limit: int) -> bool | None:
    """Compare part by part; None if that would take more than `limit` steps."""
    stack: list[Iterator[Pair]] = [iter([(a, b)])]
    steps = 0
    while stack:
        pair = next(stack[-1], None)
        if pair is None:
            stack.pop()
            continue
        if steps == limit:
            return None
        steps += 1
        one, other = _without_repeats(*pair)
        if one == other:
            continue
        if isinstance(one.space, Storage) and isinstance(other.space, Storage):
            return False
        stack.append(
            _periodic(one, other)
            or _ordered(one, other)
            or _columns(one, other)
            or _opened(one, other)
        )
    return True


def _without_repeats(a: View, b: View) -> Pair:
    """Remove the repetitions that both views have in the same places."""
    digits, others = a.flat_digits(), b.flat_digits()
    if not any([stride == 0 for _, stride in digits]):
        return a, b
    repeated = dict(zip(place_values(others), others, strict=True))
    dropped: dict[int, int] = {}
    for place, (extent, stride) in zip(place_values(digits), digits, strict=True):
        times, step = repeated.get(place, (1, 1))
        if stride == 0 == step:
            dropped[place] = math.gcd(extent, times)
    if not dropped:
        return a, b
    return _dropped(a, digits, dropped), _dropped(b, others, dropped)


def _dropped(view: View, digits: list[Digit], times: dict[int, int]) -> View:
    places = place_values(digits)
    left = [(e // times.get(p, 1), s) for p, (e, s) in zip(places, digits, strict=True)]
    return flat(coalesce([digit for digit in left if digit[0] > 1]), view.off, view.space)


def _ordered(a: View, b: View) -> Iterator[Pair] | None:
    """If both read each position of their spaces once, in the same order, compare the spaces."""
    digits = a.flat_digits()
    if digits != b.flat_digits() or digits[:1] == [(a.shape[0], 1)]:
        return None
    upwards = sorted([(abs(stride), extent) for extent, stride in digits], reverse=True)
    if coalesce([(extent, stride) for stride, extent in upwards]) != [(a.shape[0], 1)]:
        return None
    below = sum([(extent - 1) * stride for extent, stride in digits if stride < 0])
    one, other = (View(v.shape, (1,), v.off + below, v.space) for v in (a, b))
    return iter([(one, other)])


def _columns(a: View, b: View) -> Iterator[Pair] | None:
    """If one reads rows of concatenated chunks, compare chunk by chunk, all rows at once."""
    for one, other in ((a, b), (b, a)):
        space, digits = one.space, one.flat_digits()
        if not isinstance(space, Cat) or space.outer == 1 or one.off % space.period:
            continue
        rows, rest = divmod(one.shape[0], space.period)
        if rest or digits != [(one.shape[0], 1)] or rows == 1:
            continue
        dims = regroup(other.flat_digits(), (rows, space.period))
        if dims is None:
            continue
        lines = View((rows, space.period), dims, other.off, other.space)
        return _chunks(one, lines, rows)
    return None


def _chunks(one: View, lines: View, rows: int) -> Iterator[Pair]:
    space = one.space
    assert isinstance(space, Cat)
    first = one.off // space.period
    for k in range(len(space.kids)):
        begin, end = int(space.breaks[k]), int(space.breaks[k + 1])
        kid = space.kids[k].slice(first, first + rows, 0)
        other = lines.slice(begin, end, 1)
        yield (
            flat(kid.flat_digits(), kid.off, kid.space),
            flat(other.flat_digits(), other.off, other.space),
        )


def _opened(a: View, b: View) -> Iterator[Pair]:
    """Cut the view with more levels further, and the other view at the same positions."""
    if levels(a.space) < levels(b.space):
        a, b = b, a
    begin = 0
    for part in opened(a):
        end = begin + part.shape[0]
        yield from _merged([part], cut(b, begin, end))
        begin = end


def _merged(left: list[View], right: list[View]) -> Iterator[Pair]:
    """Cut two lists of views, with equally many elements, into pairs of views of equal sizes."""
    # Each view is stored with the position up to which it is compared, and is not cut there, since
    # that would lose its period.
    lefts, rights = ([(view, 0) for view in reversed(views)] for views in (left, right))
    while lefts:
        (one, i), (other, j) = lefts.pop(), rights.pop()
        size, others = one.shape[0] - i, other.shape[0] - j
        count = min(size, others)
        if i == j and size == others == one.shape[0]:
            yield one, other
            continue
        if size > count:
            lefts.append((one, i + count))
        if others > count:
            rights.append((other, j + count))
        enough = _enough(one, other, count)
        if enough is not None:
            yield from _merged(cut(one, i, i + enough), cut(other, j, j + enough))
        else:
            lefts += [(part, 0) for part in reversed(cut(one, i, i + count))]
            rights += [(part, 0) for part in reversed(cut(other, j, j + count))]


def _periodic(a: View, b: View) -> Iterator[Pair] | None:
    """If both views are periodic, compare only as many elements as decide equality."""
    enough = _enough(a, b, a.shape[0])
    return None if enough is None else _merged(cut(a, 0, enough), cut(b, 0, enough))


def _enough(a: View, b: View, count: int) -> int | None:
    """Return how many of `count` elements decide equality, or None if all are needed.

    Sequences with periods p and q that agree in p + q elements agree everywhere (Fine and Wilf).
    """
    sizes = [_period(view) for view in (a, b)]
    return sum(sizes) if all(sizes) and sum(sizes) < count else None


def _period(view: View) -> int:
    """Return the number of elements after which a view repeats; 0 if it is not periodic."""
    digits = view.flat_digits()
    if not digits or digits[0][1]:
        return 0
    return view.shape[0] // digits[0][0]


def _same_runs(a: View, b: View) -> bool:
    """Compare all runs of addresses, some at a time; equal elements have equal runs."""
    nothing = np.empty(0, np.int64)
    streams = chunks(a), chunks(b)
    left: tuple[Int64, Int64] = nothing, nothing
    right = left
    while True:
        if not len(left[0]):
            left = next(streams[0], left)
        if not len(right[0]):
            right = next(streams[1], right)
        count = min(len(left[0]), len(right[0]))
        if not count:
            return len(left[0]) == len(right[0])
        for one, other in zip(left, right, strict=True):
            if not np.array_equal(one[:count], other[:count]):
                return False
        left = left[0][count:], left[1][count:]
        right = right[0][count:], right[1][count:]
