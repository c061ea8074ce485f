"""Sequences whose items are made when somebody asks for them.

>>> squares = LazySequence(1_000_000, lambda number: number * number)
>>> squares[12], len(squares), list(squares[:3])
(144, 1000000, [0, 1, 4])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class LazySequence(Sequence[T_co]):
    """Items by number, each made once.

    Args:
        length: how many there are.
        make: makes the one of a number.
    """

    def __init__(self, length: int, make: Callable[[int], T_co]) -> None:
        self._length, self._make = length, make
        self._made: dict[int, T_co] = {}

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            return [self[number] for number in range(self._length)[index]]
        number = range(self._length)[index]
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
