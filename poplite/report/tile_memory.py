"""The memory of one tile: how much, of what kind, and what it is.

>>> x = MemoryVariable("x", 640, "variable", True, "")
>>> tile = TileMemory(MemoryTotal(644, 640), 640, 0, lambda: (x,))
>>> tile.total.including_gaps, tile.category.variable.total, tile.always_live_bytes
(644, 640, 640)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from poplite.errors import UnknownName, did_you_mean
from poplite.source import here


@dataclass(frozen=True, slots=True)
class MemoryVariable:
    """Something that lies on a tile.

    Attributes:
        name: of the variable, or what it is.
        bytes: of it on the tile.
        category: what kind of thing it is.
        is_always_live: whether nothing else ever takes its room.
        at: the user's line; empty where there is none.
    """

    name: str
    bytes: int
    category: str
    is_always_live: bool
    at: str


@dataclass(frozen=True, slots=True)
class MemoryTotal:
    """Bytes of a tile.

    Attributes:
        including_gaps: with what is left free between things.
        excluding_gaps: without.
    """

    including_gaps: int
    excluding_gaps: int


@dataclass(frozen=True, slots=True)
class MemoryCategory:
    """What one kind of thing takes.

    Attributes:
        total: bytes, as if nothing shared its room.
        always_live: of these, what is always live.
    """

    total: int
    always_live: int


@dataclass(frozen=True, slots=True)
class MemoryCategories(Mapping[str, MemoryCategory]):
    """What each kind of thing takes, as attributes and by name.

    Attributes:
        found: by name.
    """

    found: Mapping[str, MemoryCategory]

    def __getitem__(self, name: str) -> MemoryCategory:
        return self.found[name]

    def __getattr__(self, name: str) -> MemoryCategory:
        if name.startswith("__"):  # what copying and the like look for
            raise AttributeError(name)
        if name not in self.found:
            raise UnknownName(
                f"memory has no category {name!r}{did_you_mean(name, self.found)}",
                at=here(),
                found=f"categories of this report: {', '.join(self.found) or 'none'}",
                fix=f"category.{next(iter(self.found), 'variable')}.total",
            )
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, slots=True)
class VertexCode:
    """The code of a vertex class on a tile.

    Attributes:
        type: name of the class.
        code_bytes: of it, however many vertices run it.
    """

    type: str
    code_bytes: int


@dataclass(frozen=True, slots=True)
class TileMemory:
    """The memory of one tile.

    Attributes:
        total: bytes that it needs.
        always_live_bytes: of what keeps its room.
        not_always_live_bytes: in the step that needs most of it.
    """

    total: MemoryTotal
    always_live_bytes: int
    not_always_live_bytes: int
    _variables: Callable[[], tuple[MemoryVariable, ...]] = field(repr=False, compare=False)

    @property
    def variables(self) -> tuple[MemoryVariable, ...]:
        """What lies there."""
        return self._variables()

    @property
    def vertices(self) -> tuple[VertexCode, ...]:
        """The vertex classes that the tile has the code of."""
        code = (each for each in self.variables if each.category == "vertex_code")
        return tuple(VertexCode(each.name, each.bytes) for each in code)

    @property
    def category(self) -> MemoryCategories:
        """Bytes of each kind of thing."""
        found: dict[str, list[int]] = {}
        for each in self.variables:
            total = found.setdefault(each.category, [0, 0])
            total[0] += each.bytes
            total[1] += each.bytes if each.is_always_live else 0
        return MemoryCategories({name: MemoryCategory(*total) for name, total in found.items()})
