"""Many views, of which those are found that share an element with another one.

A view of a variable has a range of addresses, and a range of residues modulo its coarsest step, if
all else that it steps over fits in there. Rows of a matrix have ranges apart, columns residues::

    row 2 of (100, 8)        addresses 16 to 23        no step but 1
    column 2 of (100, 8)     addresses 2 to 794        residue 2 of 8

Both ranges are cut into cells as long as they are, up to a factor of 2, so that a view lies in few
cells; another view is compared with what lies in its own cells alone. Cells that are too many are
not looked up: then all views of their grid are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Generic, NamedTuple, TypeVar

from poplite.arrays.digits import Digit
from poplite.view.aliases import few_on_variables, intersects, storages_below
from poplite.view.strided_sets import span
from poplite.view.view import Storage, View

T = TypeVar("T")


class ViewIndex(Generic[T]):
    """Views, each with an item that it is found by.

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
        """Add a view, which is found from now on."""
        number = len(self._entries)
        self._entries.append((view, item))
        for storage in storages_below(view):
            _insert(self._grids.setdefault(storage, {}), storage, view, number)

    def meeting(self, view: View) -> Iterator[T]:
        """Yield the items of views that share an element with another view, as they were added.

        Raises `SizeOverflowError` for the rare views that are too irregular and too large to
        decide.
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
    """Return the numbers of the views that lie in cells of another one."""
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
    """What the views of one grid have in common.

    Attributes:
        modulus: their coarsest step; 1 where the rest of a view does not fit between its steps.
        of_addresses: a cell of addresses is as long as this power of 2.
        of_residues: so is a cell of residues.
    """

    modulus: int
    of_addresses: int
    of_residues: int


class _Grid(NamedTuple):
    """The numbers of some views: all of them, and by the cells of addresses and of residues."""

    numbers: list[int]
    cells: dict[tuple[int, int], list[int]]


class _Set(NamedTuple):
    """Positions in one storage, among them those that a view reads there."""

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
        """Return the length of a range that has all its residues."""
        return 1 + sum([(extent - 1) * abs(step) for extent, step in self.digits if step % modulus])

    def cells(self, kind: _Kind) -> tuple[range, list[range]]:
        """Return the cells of a grid that it lies in: of addresses, and of residues."""
        modulus, length, width = kind.modulus, kind.of_residues, self._width(kind.modulus)
        addresses = range(self.low >> kind.of_addresses, (self.high >> kind.of_addresses) + 1)
        if width >= modulus:
            return addresses, [range((modulus - 1 >> length) + 1)]
        begin = self.low % modulus
        last = begin + width - 1
        residues = [range(begin >> length, (min(last, modulus - 1) >> length) + 1)]
        if last >= modulus:  # it goes on at 0
            residues.append(range((last - modulus >> length) + 1))
        return addresses, residues


def _sets(view: View, storage: Storage) -> Iterator[_Set]:
    """Yield sets of positions that have all elements of a view in one storage."""
    few = few_on_variables(view)
    for part in few:
        if part.space is storage:
            digits = part.flat_digits()
            yield _Set(*span(part.off, digits), digits)
    if not few:
        size = storage.num_elements
        yield _Set(0, size - 1, [(size, 1)])
