"""The arena: one aligned block of bytes for each replica, and typed views of it.

    | replica 0: variables, state, temporaries | replica 1: the same | ...

A byte position of the layout counts from the beginning of a part.  The system provides zeroed
pages, and only when they are touched, so a sparse graph may be larger than the memory it uses, and
one of several ranks uses memory for its own part of the graph alone.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SizeOverflowError
from poplite.executable.layout import ALIGNMENT, ArenaLayout
from poplite.simulator.run.access_log import AccessLog
from poplite.simulator.run.float_modes import Floats
from poplite.types import ElementType
from poplite.view import Storage, View, addresses

Bytes = npt.NDArray[np.uint8]
Runs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Begin and end of runs of bytes, rising and disjoint."""

HUGE_PAGE = 1 << 21
"""Bytes of a huge page: x86-64's, and Arm's beside small pages of 4 KiB."""

MOST_VIEWS = 1000
"""NumPy views that are kept of what was read and written."""


class Arena:
    """The memory of one engine, filled with initial values: `parts` are the bytes of each replica.

    `own` are begin and end of the runs of bytes that are filled; None for all of them.

    Raises `SizeOverflowError` when the computer has too little memory.
    """

    def __init__(
        self, layout: ArenaLayout, floats: Floats | None = None, own: Runs | None = None
    ) -> None:
        self.layout, self.floats, self._own = layout, floats or Floats((0,), seed=0), own
        size, replicas = layout.size_bytes, layout.replicas
        try:
            self._pages = None if own is None else _small_pages(replicas * size + ALIGNMENT)
            block = (
                np.zeros(replicas * size + ALIGNMENT, np.uint8)
                if self._pages is None
                else np.frombuffer(self._pages, np.uint8)
            )
        except (
            MemoryError,
            ValueError,
            OSError,
            OverflowError,
        ) as error:  # ValueError: beyond what NumPy can index
            raise SizeOverflowError(
                f"the engine's memory of {replicas * size:,} B cannot be allocated",
                found="it holds all variables of the graph"
                + (f", for each of {replicas:,} replicas" if replicas > 1 else ""),
                fix="make the variables smaller, or run on a computer with more memory",
            ) from error
        skip = -block.ctypes.data % ALIGNMENT
        begins = range(skip, skip + replicas * size, size) if size else [skip] * replicas
        self.block: Bytes = block[skip : skip + replicas * size]
        self.parts: tuple[Bytes, ...] = tuple(block[at : at + size] for at in begins)
        self._strided_views: dict[tuple[object, ...], npt.NDArray[Any]] = {}
        if self._pages is not None and own is not None:
            for begin in begins:
                _use_huge_pages(self._pages, (begin + own[0], begin + own[1]))
        self._fill()

    def _fill(self) -> None:
        """Write initial values to memory that is zero."""
        for replica, part in enumerate(self.parts):
            for at, values in self.layout.initial_values(replica):
                filled = values.reshape(-1).view(np.uint8)
                for begin, end in self._own_parts(at, at + len(filled)):
                    part[begin:end] = filled[begin - at : end - at]

    def _own_parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the parts of a run of bytes that are filled."""
        if self._own is None:
            yield begin, end
            return
        begins, ends = self._own
        first, last = ends.searchsorted(begin, "right"), begins.searchsorted(end, "left")
        for own, stop in zip(begins[first:last].tolist(), ends[first:last].tolist(), strict=True):
            yield max(own, begin), min(stop, end)

    def load(self) -> None:
        """Restore initial memory and the initial mode of floating-point arithmetic."""
        if self._pages is not None and sys.platform == "linux":
            self._pages.madvise(mmap.MADV_DONTNEED)  # the system gives zeros again
        else:
            for part in self.parts:
                part[:] = 0
        self._fill()
        self.floats.reset()

    @cached_property
    def accesses(self) -> AccessLog:
        """The log of what workers access, for strict checks."""
        return AccessLog(self.block)

    @property
    def bytes(self) -> Bytes:
        """The bytes of replica 0."""
        return self.parts[0]

    @property
    def addresses(self) -> list[int]:
        """Address of the first byte of each replica in the process."""
        return [int(part.ctypes.data) for part in self.parts]

    def read(
        self, view: View, element: type[ElementType[Any]], replica: int = 0
    ) -> npt.NDArray[Any]:
        """Return a copy of the elements of a view, in its shape."""
        strided = self._strided(view, element, replica)
        if strided is not None:
            return np.array(strided, order="C")
        return typed(self.parts[replica], element)[self._positions(view, element)]

    def write(
        self,
        view: View,
        element: type[ElementType[Any]],
        values: npt.NDArray[Any],
        replica: int = 0,
    ) -> None:
        """Overwrite the elements of a view that has no aliases."""
        strided = self._strided(view, element, replica)
        if strided is not None:
            strided[...] = values
        elif view.num_elements:
            typed(self.parts[replica], element)[self._positions(view, element)] = values

    def _positions(self, view: View, element: type[ElementType[Any]]) -> npt.NDArray[np.int64]:
        where = addresses(view)
        positions = self.layout.byte_positions(where.ravel()) // element.size_bytes
        return positions.reshape(view.shape)

    def _strided(
        self, view: View, element: type[ElementType[Any]], replica: int
    ) -> npt.NDArray[Any] | None:
        """Return a NumPy view of the elements, where one stride per dimension describes them."""
        if not isinstance(view.space, Storage) or not view.num_elements:
            return None
        key = view.space.base + view.off, view.shape, view.dims, element, replica
        known = self._strided_views.get(key)  # most programs read and write the same, run by run
        if known is not None:
            return known
        strides = [step * element.size_bytes for step in view.dims if isinstance(step, int)]
        if len(strides) < len(view.dims):
            return None
        at = self.layout.byte_position(view.space.base + view.off)
        found = np.ndarray(view.shape, element.dtype, self.parts[replica], at, strides)
        if len(self._strided_views) < MOST_VIEWS:
            self._strided_views[key] = found
        return found


def _small_pages(size: int) -> mmap.mmap:
    """Return memory of which only small pages that are touched are there."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _use_huge_pages(pages: mmap.mmap, runs: Runs) -> None:
    """Let the system use huge pages where they lie in runs of bytes: sweeps then miss less."""
    if sys.platform != "linux":
        return
    base = np.frombuffer(pages, np.uint8).ctypes.data
    first = -(-(base + runs[0]) // HUGE_PAGE) * HUGE_PAGE - base
    end = (base + runs[1]) // HUGE_PAGE * HUGE_PAGE - base
    for at in np.flatnonzero(first < end):
        pages.madvise(mmap.MADV_HUGEPAGE, int(first[at]), int(end[at] - first[at]))


def typed(memory: Bytes, element: type[ElementType[Any]]) -> npt.NDArray[Any]:
    """Return a replica's memory as elements of one type."""
    size = element.size_bytes
    return memory[: len(memory) // size * size].view(element.dtype)
