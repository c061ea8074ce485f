"""The arena: one aligned block of bytes for each replica, with typed views of it.

    | replica 0: variables, state, temporaries | replica 1: the same | ...

A byte position of the layout is relative to the start of a replica's part. The system provides
zeroed pages on first access, so a sparse graph may be larger than the memory it uses, and each of
several ranks uses memory only for its own part of the graph.

Strict checks log the reads and writes of the workers of vertices, with a word for each element, see
`encoding.LOG_BITS`::

    worker 0    total = total + x[0]    total: worker 0 read it, worker 0 wrote it
    worker 1    total = total + x[1]           worker 1 read what worker 0 wrote

Workers run one after the other here, and concurrently on a machine. If no worker reads or changes
an element that another one writes, they give the same results in any order. Stored values are
compared with the current ones, so that several workers may store equal values. Only accesses to
fields that vertices write are logged: fields do not overlap, so other fields are never written.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.errors import ControlProgramError, SizeOverflowError
from poplite.executable import encoding as op
from poplite.executable.parts import ALIGNMENT, ArenaLayout, StoredVariable
from poplite.machine.floating_point import TRAPS
from poplite.text import amount
from poplite.types import ElementType
from poplite.vertex.compute.arithmetic import Stores, vertex_key
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import Vertex
from poplite.view import Storage, View, addresses

# -- accesses of workers ---------------------------------------------------------------------------


Words = npt.NDArray[np.uint32]
_WORKER = (1 << op.LOG_BITS) - 1


class Conflict(NamedTuple):
    """A worker's access to an element that conflicts with an earlier access by another worker."""

    worker: int
    other: int
    kind: int


class AccessLog:
    """The log for a block of bytes: the word of an element is that of its first byte.

    The system provides memory for it only if accesses are logged.

    Attributes:
        words: uint32[bytes].
        shift: address of the word for address 0, for compiled code.
    """

    def __init__(self, block: npt.NDArray[np.uint8]) -> None:
        self.words: Words = np.zeros(len(block), np.uint32)
        self._begin = int(block.ctypes.data)
        self.shift = int(self.words.ctypes.data) - self.words.itemsize * self._begin

    def clear(self, places: npt.NDArray[np.int64]) -> None:
        """Clear the log of the elements at the given byte positions of the block."""
        self.words[places] = 0

    def conflicts(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which elements have a conflict between workers, in the shape of `places`."""
        return np.asarray(self.words[places] >> 2 * op.LOG_BITS != 0)

    def conflict(self, place: int) -> Conflict:
        """Return the first conflict at an element."""
        word = int(self.words[place])
        writer, reader, worker = (word >> n * op.LOG_BITS & _WORKER for n in range(3))
        kind = word >> 3 * op.LOG_BITS
        return Conflict(worker - 1, (reader if kind == op.WROTE_READ else writer) - 1, kind)

    def of_worker(
        self, cls: type[Vertex], values: Mapping[str, Any], worker: int
    ) -> dict[str, WorkerAccesses | list[WorkerAccesses]]:
        """Return the recorders of a worker's accesses to the fields of an interpreted vertex."""
        found: dict[str, WorkerAccesses | list[WorkerAccesses]] = {}
        noted = min(worker + 1, _WORKER)
        for name, field in cls.fields.items():
            if field.writes:
                memory = values[name]
                found[name] = (
                    [WorkerAccesses(self._of(row), noted) for row in memory]
                    if field.depth == 2
                    else WorkerAccesses(self._of(memory), noted)
                )
        return found

    def _of(self, memory: npt.NDArray[Any]) -> Words:
        begin = int(memory.ctypes.data) - self._begin
        return self.words[begin : begin + memory.nbytes : memory.itemsize]


class WorkerAccesses:
    """Records the accesses of a worker, numbered from 1, to the elements of a vector.

    Compiled code records accesses in the same way (`poplite.simulator.codegen.accessors`).
    """

    __slots__ = ("_worker", "_words")

    def __init__(self, words: Words, worker: int) -> None:
        self._words, self._worker = words, worker

    def loaded(self, index: int) -> None:
        """Record that the worker read an element."""
        word = int(self._words[index])
        if not word >> op.LOG_BITS & _WORKER:
            word |= self._worker << op.LOG_BITS
        self._note(index, word, op.READ_WRITTEN if self._is_other(word) else 0)

    def stored(self, index: int, *, differs: bool) -> None:
        """Record that the worker stored an element; `differs` from the old value."""
        word, kind = int(self._words[index]), 0
        if self._is_other(word >> op.LOG_BITS):
            kind = op.WROTE_READ
        if self._is_other(word) and differs:
            kind = op.CHANGED_WRITTEN
        self._note(index, word if word & _WORKER else word | self._worker, kind)

    def _is_other(self, word: int) -> bool:
        return word & _WORKER not in (0, self._worker)

    def _note(self, index: int, word: int, kind: int) -> None:
        if kind and not word >> 2 * op.LOG_BITS:
            word |= (kind << op.LOG_BITS | self._worker) << 2 * op.LOG_BITS
        self._words[index] = word


# -- floating-point state --------------------------------------------------------------------------


class Floats:
    """The floating-point state of one engine; its programs start in the first of the modes.

    >>> floats = Floats((8, 0), seed=1)
    >>> floats.mode, floats.may_trap
    (8, False)
    """

    def __init__(self, modes: Sequence[int], seed: int) -> None:
        self._modes, self._seed = tuple(modes), seed
        self.words = np.zeros(op.FLOAT_WORDS, np.int64)
        self.reset()

    def reset(self) -> None:
        """Restore the initial mode and seed of programs."""
        self.words[op.FLOAT_MODE], self.words[op.FLOAT_EXECUTIONS] = self._modes[0], 0
        self.words[op.FLOAT_SEED] = self._seed

    def continue_from(self, other: Floats) -> None:
        """Continue from the state of another engine, in its mode if programs here use that mode.

        Its seed is used as well, unless this engine was made with a different seed.
        """
        if self._seed == other._seed:
            self.words[op.FLOAT_SEED] = other.words[op.FLOAT_SEED]
        if self.knows(other.mode):
            self.words[op.FLOAT_MODE] = other.mode
        self.words[op.FLOAT_EXECUTIONS] = other.words[op.FLOAT_EXECUTIONS]

    def knows(self, mode: int) -> bool:
        """Return whether the programs here use a mode."""
        return mode in self._modes

    @property
    def address(self) -> int:
        """Address of the words in the process."""
        return int(self.words.ctypes.data)

    @property
    def mode(self) -> int:
        """The current mode (`poplite.machine.floating_point`)."""
        return int(self.words[op.FLOAT_MODE])

    @property
    def may_trap(self) -> bool:
        """Whether arithmetic may ever stop a program."""
        return any(mode & TRAPS for mode in self._modes)

    def stores(self, vertex: int, worker: int) -> Stores | None:
        """Return the stores of floats for a worker; None for the default."""
        if not self.mode:
            return None
        seed, executions = (int(self.words[word]) for word in (op.FLOAT_SEED, op.FLOAT_EXECUTIONS))
        return Stores(self.mode, vertex_key(seed, executions, vertex, worker))

    def form(self, cls: type[Vertex]) -> Callable[..., bool | None]:
        """Return the interpreted form of a vertex class, with the traps of the current mode."""
        traps = {mode & TRAPS for mode in self._modes}
        if traps == {0}:
            return meaning_of(cls).interpreted()
        forms = {each: meaning_of(cls).interpreted(each) for each in sorted(traps)}

        def compute(*args: Any) -> bool | None:
            return forms[self.mode & TRAPS](*args)

        return compute


# -- memory ----------------------------------------------------------------------------------------


Bytes = npt.NDArray[np.uint8]
Runs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Starts and ends of runs of bytes, ascending and disjoint."""

HUGE_PAGE = 1 << 21
"""Size of a huge page in bytes, on x86-64, and on Arm with small pages of 4 KiB."""

MOST_VIEWS = 1000
"""Number of cached NumPy views of tensors that were read or written."""


class Arena:
    """The memory of one engine, filled with initial values: `parts` are the bytes of each replica.

    `own` contains the starts and ends of the runs of bytes to fill; None fills all.

    Raises `SizeOverflowError` if the computer has too little memory.
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
                f"cannot allocate {replicas * size:,} B for the engine's memory",
                found="it contains all variables of the graph"
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
        """Write initial values to memory that is still zero."""
        for replica, part in enumerate(self.parts):
            for at, values in self.layout.initial_values(replica):
                filled = values.reshape(-1).view(np.uint8)
                for begin, end in self._own_parts(at, at + len(filled)):
                    part[begin:end] = filled[begin - at : end - at]

    def _own_parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each part of a run of bytes that is to be filled."""
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
            self._pages.madvise(mmap.MADV_DONTNEED)  # the system provides zeros again
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
        """Return a NumPy view of the elements, if they have one stride per dimension."""
        if not isinstance(view.space, Storage) or not view.num_elements:
            return None
        key = view.space.base + view.off, view.shape, view.dims, element, replica
        known = self._strided_views.get(key)  # most programs access the same tensors in every run
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
    """Return memory in small pages, which are allocated on first access."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _use_huge_pages(pages: mmap.mmap, runs: Runs) -> None:
    """Request huge pages for runs of bytes, so that sequential accesses cause fewer TLB misses."""
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


# -- copying from another arena --------------------------------------------------------------------
# An engine may start with the variables of another engine. Variables are first in every arena, in
# the order in which the graph made them, so two engines of one graph have the same layout for the
# variables that both have, and the bytes of these are copied at once.


def carry_memory(old: Arena, new: Arena, runs: Runs | None = None) -> int:
    """Copy the variables that both have, except constants; return their size in bytes.

    `runs` contains the starts and ends of the bytes in `old`; None means all. Random bits continue
    as well. Raises `ControlProgramError` for variables of a different graph.
    """
    size = _common_bytes(old.layout, new.layout)
    for replica, (source, target) in enumerate(zip(old.parts, new.parts, strict=True)):
        for own in within(runs, size):
            target[own] = source[own]
        for at, values in new.layout.constants(replica):
            target[at : at + values.nbytes] = values.reshape(-1).view(np.uint8)
    new.floats.continue_from(old.floats)
    return size


def within(runs: Runs | None, size: int) -> Iterable[slice]:
    """Return the parts of runs that are within the first `size` bytes."""
    if runs is None:
        return (slice(0, size),)
    pairs = zip(*(each.tolist() for each in runs), strict=True)
    return [slice(begin, min(end, size)) for begin, end in pairs if begin < size]


def _common_bytes(old: ArenaLayout, new: ArenaLayout) -> int:
    if old.replicas != new.replicas:
        raise _refused(f"it has {amount(old.replicas, 'replica')}, and this engine {new.replicas}")
    pairs = list(zip(old.variables, new.variables, strict=False))
    for one, other in pairs:
        if _identity(one) != _identity(other):
            raise _refused(
                f"its variable '{one.name}' was made at {one.location}; this engine has "
                f"'{other.name}' instead, made at {other.location}"
            )
    return new.end_of_variables(len(pairs))


def _identity(variable: StoredVariable) -> tuple[object, ...]:
    return variable.base, variable.name, variable.element_type, variable.shape


def _refused(found: str) -> ControlProgramError:
    return ControlProgramError(
        "Engine: state must be an engine of the same graph",
        found=found,
        fix="pass an engine of this graph; engine.write(x, other.read(x)) copies single tensors",
    )
