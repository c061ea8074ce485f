"""Lists whose items are made when somebody asks for one: there may be millions.

vertices[7]      makes one item          vertices[2:4]     makes a list of two
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class OnAccess(Sequence[T], Generic[T]):
    """A list that makes its items by `_item`."""

    __slots__ = ()

    @abstractmethod
    def _item(self, key: int) -> T:
        """Return an item, or raise; negative keys count from the end."""

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...

    def __getitem__(self, key: int | slice) -> T | list[T]:
        if isinstance(key, slice):
            return [self._item(k) for k in range(len(self))[key]]
        return self._item(key)

    def __iter__(self) -> Iterator[T]:
        return map(self._item, range(len(self)))


class LikeList(OnAccess[T]):
    """One that is equal to a list of equal items, and therefore not hashable."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self) | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
