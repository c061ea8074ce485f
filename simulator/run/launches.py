"""Launches that are ready to run: driver calls with addresses, which threads may share.

A launch first has one chunk for each of its parts, which run in order. If threads pay off, it is
also cut into several chunks per thread, balanced by the weights that lowering assigned to its rows.
The vertices of a part are numbered from 0 over all its rows, and can be cut anywhere::

    rows      |     5     | 1 |             10             |
    chunks    |      6        |     4     |       6        |

Copies are cut between rows; the longest rows are split.

The threads are those of Numba's threading layer, started when first needed. To start them, Numba is
imported, so small programs never start them. The cost of passing a launch to the threads is then
measured; they are used for launches that take at least four times as long.

After a `fork` the threads of the parent do not exist in the child, which GNU OpenMP does not
detect. A child of a process that had started them therefore runs on one thread only.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact
from poplite.compile.places import vertices_of
from poplite.executable import encoding as op
from poplite.executable.encoding import COUNT_WORD, Moves, positions
from poplite.executable.parts import Vertices
from poplite.frozen import frozen
from poplite.jit.build import are_threads_started, loop_threads, start_threads
from poplite.simulator import compiled_parts
from poplite.simulator.run.touched import numbers_of
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import Field

Part = Moves | Vertices

CHUNKS_PER_THREAD = 4

MEASURED_RUNS = 3
"""Number of runs of a launch that are measured; the quickest counts."""

ALL_RUNS = 1 << 62
"""In place of `MEASURED_RUNS` if the time of vertices depends on data, since a quick launch may be
slow later."""

LEAST_MOVED, MOST_MOVED, MOVED_PIECES = 1 << 14, 1 << 22, 64
"""Minimum and maximum work of the records into which a large copy is split, and about how many
records there are; a record takes at most milliseconds."""

STREAMED_BYTES = 32 << 20
"""Minimum size in bytes of a copy that bypasses the caches, which it would only flush (measured: a
copy of twice this size takes 0.65 of the time)."""

_NONE = np.zeros((0, op.CHUNK_WORDS), np.int64)
_NOWHERE: Mapping[int, int] = MappingProxyType({})


@frozen(eq=False)
class BoundPart:
    """A part of a launch with its addresses.

    Attributes:
        call: driver, arena, rows and words of a row.
        rows: the array to which the address of the rows points.
        vertices: int64[rows], number of vertices of each row.
        weights: int64[rows], work of each row, in elements.
    """

    call: tuple[int, int, int, int]
    rows: Int64
    vertices: Int64
    weights: Int64

    def one_chunk(self) -> list[int]:
        """Return the chunk row for all vertices of the part."""
        words = [0] * op.CHUNK_WORDS
        words[op.CHUNK_DRIVER : op.CHUNK_WIDTH + 1] = self.call
        words[op.CHUNK_HIGH], words[op.CHUNK_LAST] = len(self.vertices), int(self.vertices[-1])
        return words

    def cut(self, pieces: int, done: int = 0) -> Int64:
        """Return up to `pieces` chunk rows of about equal weight, for vertices from `done` on."""
        work, ends = (np.append(0, np.cumsum(each)) for each in (self.weights, self.vertices))
        goals = work[-1] * np.arange(1, pieces) / pieces
        inner = np.interp(goals, work, ends).round().astype(np.int64)
        stops = np.unique(np.concatenate([[0], inner, ends[-1:]]))
        begin, end = stops[:-1], stops[1:]

        def place(vertex: Int64) -> tuple[Int64, Int64]:
            row = np.searchsorted(ends, vertex, side="right") - 1
            return row, vertex - ends[row]

        chunks = np.zeros((len(begin), op.CHUNK_WORDS), np.int64)
        chunks[:, op.CHUNK_DRIVER : op.CHUNK_WIDTH + 1] = self.call
        chunks[:, op.CHUNK_LOW], chunks[:, op.CHUNK_FIRST] = place(begin)
        chunks[:, op.CHUNK_HIGH], chunks[:, op.CHUNK_LAST] = place(end - 1)
        chunks[:, [op.CHUNK_HIGH, op.CHUNK_LAST]] += 1
        chunks[:, op.CHUNK_ROW], chunks[:, op.CHUNK_VERTEX] = place(np.clip(done, begin, end - 1))
        finished = end <= done
        chunks[finished, op.CHUNK_ROW] = chunks[finished, op.CHUNK_HIGH]
        return chunks

    def done(self, chunk: Int64) -> int:
        """Return the number of vertices of the part that have run, according to a chunk."""
        return int(self.vertices[: chunk[op.CHUNK_ROW]].sum() + chunk[op.CHUNK_VERTEX])


@dataclass(slots=True, eq=False)
class Launch:
    """The contents of a row of the launch table.

    Attributes:
        parts: its parts, which run in this order unless threads share it.
        chunks: one chunk row for each part.
        shares: the chunk rows that threads share; empty if it runs on one thread.
        work: its work, in elements.
        measured: number of runs that are measured, and can be cut between vertices.
        slots: by arena, the table of the slots of each vertex.
        log: the log of workers' accesses, as in a chunk; 0 if there is none.
    """

    parts: list[BoundPart]
    chunks: Int64
    shares: Int64
    work: int
    measured: int
    slots: Mapping[int, int]
    log: int = 0

    def complete(self, chunks: Int64, floats: int) -> None:
        """Set the words that all chunks of the launch share; `floats` is an address."""
        chunks[:, op.CHUNK_FLOATS], chunks[:, op.CHUNK_LOG] = floats, self.log
        arenas = chunks[:, op.CHUNK_ARENA].tolist()
        chunks[:, op.CHUNK_SLOTS] = [self.slots.get(arena, 0) for arena in arenas]


class LaunchTable:
    """All launches of an engine; `words`, int64[number, LAUNCH_WORDS], is for the interpreter.

    `arenas` are the addresses of the replicas; `driver` and `mover` return addresses of drivers.
    """

    def __init__(
        self,
        number: int,
        arenas: Sequence[int],
        driver: Callable[[Vertices], int],
        mover: Callable[[bool], int],
        floats: int,
    ) -> None:
        self._floats = floats
        self._arenas, self._driver, self._mover = arenas, driver, mover
        self.launches: list[Launch] = []
        self.words = np.zeros((number, op.LAUNCH_WORDS), np.int64)
        self._nothing: int | None = None
        self._varies = cache(lambda cls: meaning_of(cls).flow.varies)

    def add(
        self,
        parts: Sequence[Part],
        *,
        checked: bool,
        replica_map: Sequence[int] | None = None,
        slots: Mapping[int, int] = _NOWHERE,
        log: int = 0,
    ) -> int:
        """Add a launch of the given parts; return its row, the same for all empty launches.

        `checked` vertices may record faults; `replica_map` gives the replica whose memory each
        replica writes. `log` is for vertices that log their workers' accesses.
        """
        some = [part for part in parts if len(_rows(part))]
        if not some:
            if self._nothing is None:
                self._nothing = self._append([], False, False, _NOWHERE)
            return self._nothing
        bound = [each for part in some for each in self._bind_all(part, replica_map)]
        varies = any(self._varies(part.cls) for part in some if isinstance(part, Vertices))
        return self._append(bound, varies, checked, slots, log)

    def add_call(self, driver: int, rows: Int64) -> int:
        """Add a launch of one call, with the arguments of a driver; return its row in the table."""
        one = np.ones(1, np.int64)
        call = driver, self._arenas[0], int(rows.ctypes.data), 0
        return self._append([BoundPart(call, rows, one, one)], False, False, _NOWHERE)

    def _append(
        self,
        bound: list[BoundPart],
        varies: bool,
        checked: bool,
        slots: Mapping[int, int],
        log: int = 0,
    ) -> int:
        chunks = np.array([part.one_chunk() for part in bound], np.int64)
        chunks = chunks.reshape(-1, op.CHUNK_WORDS)
        work = sum(int(part.weights.sum()) for part in bound)
        measured = ALL_RUNS if varies else MEASURED_RUNS
        launch = Launch(bound, chunks, _NONE, work, measured, slots, log)
        launch.complete(chunks, self._floats)
        self.launches.append(launch)
        number = len(self.launches) - 1
        row = self.words[number]
        row[op.LAUNCH_CHUNKS], row[op.LAUNCH_COUNT] = chunks.ctypes.data, len(chunks)
        row[op.LAUNCH_CHECKED], row[op.LAUNCH_UNMEASURED] = checked, measured
        return number

    def is_shareable(self, number: int) -> bool:
        """Return whether a launch could be cut for several threads."""
        return sum(int(part.vertices.sum()) for part in self.launches[number].parts) > 1

    def share(self, number: int, threads: int) -> None:
        """Cut a launch for threads; parts that have already run are not run again."""
        launch, row = self.launches[number], self.words[number]
        limit = launch.work / (CHUNKS_PER_THREAD * threads)
        shares = []
        for part, chunk in zip(launch.parts, launch.chunks, strict=True):
            pieces = max(1, round(float(part.weights.sum()) / limit))
            shares.append(part.cut(pieces, part.done(chunk) if row[op.LAUNCH_SPENT] else 0))
        launch.shares = np.concatenate(shares)
        launch.complete(launch.shares, self._floats)
        row[op.LAUNCH_SHARES] = launch.shares.ctypes.data
        row[op.LAUNCH_SHARE_COUNT] = len(launch.shares)
        row[op.LAUNCH_COST], row[op.LAUNCH_UNMEASURED] = 0, launch.measured

    def replace_drivers(self, number: int, others: Mapping[int, int]) -> None:
        """Replace the drivers that a launch calls; `others` maps addresses from old to new."""
        launch = self.launches[number]
        launch.parts = [
            replace(part, call=(others.get(part.call[0], part.call[0]), *part.call[1:]))
            for part in launch.parts
        ]
        for chunks in (launch.chunks, launch.shares):
            drivers = chunks[:, op.CHUNK_DRIVER].tolist()
            chunks[:, op.CHUNK_DRIVER] = [others.get(each, each) for each in drivers]

    def take_faults(self, number: int) -> list[list[int]]:
        """Return the fault records that a launch left, and clear them.

        Each has the number of its replica in place of the flag.
        """
        launch, faults = self.launches[number], []
        for chunks in (launch.chunks, launch.shares):
            left = chunks[chunks[:, op.FAULT_WORD] != 0]
            arenas = left[:, op.CHUNK_ARENA].tolist()
            left[:, op.FAULT_WORD] = [self._arenas.index(arena) for arena in arenas]
            faults += left[:, op.FAULT_WORD :].tolist()
            chunks[:, op.FAULT_WORD :] = 0
        return faults

    def _bind_all(self, part: Part, replica_map: Sequence[int] | None) -> Iterator[BoundPart]:
        """Yield a part with its addresses, once for each replica."""
        if replica_map is None or isinstance(part, Vertices):
            yield from self._bind(part, self._arenas)
            return
        for arena, to in zip(self._arenas, replica_map, strict=True):
            yield from self._bind(part.moved(self._arenas[to] - arena), [arena])

    def _bind(self, part: Part, arenas: Sequence[int]) -> Iterator[BoundPart]:
        if isinstance(part, Vertices):
            rows, words = part.words(), part.rows.shape[1]
            driver, vertices = self._driver(part), part.rows[:, 0]
        else:
            work = int(part.weights.sum())
            if work > LEAST_MOVED:
                part = part.split(min(max(work / MOVED_PIECES, LEAST_MOVED), MOST_MOVED))
            rows, words = part.words(), 0
            driver = self._mover(part.size_bytes >= STREAMED_BYTES)
            vertices = np.broadcast_to(np.int64(1), len(part.records))
        weights = part.weights
        for arena in arenas:
            call = driver, arena, int(rows.ctypes.data), words
            yield BoundPart(call, rows, vertices, weights)


def _rows(part: Part) -> Int64:
    return part.rows if isinstance(part, Vertices) else part.records


# -- vertices in memory order ----------------------------------------------------------------------
# The numbers of vertices determine the order in which they start on their tiles, such as the
# largest first. Here they run in memory order, since memory is read fastest sequentially: a map of
# ten million elements by rows and columns takes 0.55 of the time::
#
#     number   0    1    2    3            number   1    3    0    2
#     x        900  100  970  160          x        100  160  900  970
#     length   64   60   30   20           length   60   20   64   30


LEAST_WORK = 64
"""Minimum average work of a vertex, in elements, for which vertices are sorted: a second copy of
their tables is small compared to that many elements."""


def in_order_of_memory(group: Vertices) -> Vertices:
    """Return vertices in ascending order of the places of the field with the most bytes.

    They are unchanged if their numbers are not in tables, any field is already in order, or they
    have little work.
    """
    fields = [(n, each) for n, each in enumerate(group.cls.fields.values()) if each.is_edge]
    is_listed = any(column.kind == "flat" for column in group.columns)
    is_small = group.weights.sum() < LEAST_WORK * group.rows[:, COUNT_WORD].sum()
    if not fields or not is_listed or is_small or _is_in_order(group):
        return group
    parts, tables = numbers_of(group)
    one = np.ones(1, np.int64)

    def num_bytes(position: int, field: Field) -> int:
        own = parts[position]
        elements = own.get("length", one) * own.get("rows", one)
        return int(elements.sum()) * field.element.size_bytes

    most, _ = max(fields, key=lambda each: num_bytes(*each))
    order = np.argsort(parts[most]["start" if most not in tables else "first"], kind="stable")
    counts = group.rows[:, COUNT_WORD]
    work = np.repeat(group.weights // counts, counts)
    values = {
        (position, part): compact(numbers[order])
        for position, own in parts.items()
        for part, numbers in own.items()
    }
    return vertices_of(group.cls, group.forms, values, tables, work[order])


def _is_in_order(group: Vertices) -> bool:
    """Return whether the starts of a field's edges ascend, and are not all equal."""
    fields = list(group.cls.fields.values())
    for number, (column, at) in enumerate(positions(group.columns)):
        if column.part not in ("start", "first") or not fields[column.field].is_edge:
            continue
        if column.kind == "affine" and group.rows[0, at + 1] > 0:
            return True
        if column.kind == "flat":
            starts = group.tables[number]
            if starts[0] < starts[-1] and (starts[1:] >= starts[:-1]).all():
                return True
    return False


# -- threads that share a launch -------------------------------------------------------------------


PAYS = 4
"""A launch is shared if one thread takes at least this many times the cost of sharing."""

LEAST_NS = 4_000
"""Time below which launches are never shared, with any threading layer."""

DOUBTFUL_NS = 5_000
"""Cost of sharing above which it is measured again.

For about a second after they start, threads may share one processor until the system moves one
of them; a launch then costs thirty times as much.
"""

MOST_SAMPLES, SAMPLE_S = 50, 0.03
"""Maximum number of further measurements, and seconds between them."""


class _Threads:
    """The threads of this process, which share launches."""

    def __init__(self) -> None:
        self.entries = np.zeros(op.ENTRIES, np.int64)
        clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p)
        self.entries[op.ENTRY_CLOCK] = clock.value or 0
        self.entries[op.ENTRY_CLOCK_KIND] = time.CLOCK_MONOTONIC
        self.forget(lost=False)

    def forget(self, *, lost: bool) -> None:
        self.lost = lost
        self.starting = threading.Lock()
        self.entries[op.ENTRY_PARALLEL_FOR] = 0
        self.launch_ns = 0
        self.samples, self.sampled_at = 0, 0.0
        self.lock_of_layer: threading.RLock | None = None

    def start(self) -> None:
        # By default GNU OpenMP spins for milliseconds between launches, which costs entire
        # scheduler slices if another process needs the core. This is about 50 us: threads are
        # still awake when Python starts the next run. It is read when the library loads.
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
        layer = start_threads()
        if not layer.is_reentrant:
            self.lock_of_layer = threading.RLock()
        self.entries[op.ENTRY_KERNEL] = compiled_parts.own("run_shares")
        self.entries[op.ENTRY_THREADS] = layer.thread_count
        self.entries[op.ENTRY_PARALLEL_FOR] = layer.parallel_for
        self.launch_ns = min(_launch_ns() for _ in range(3))

    def after_fork(self) -> None:
        """Forget the threads, which only the parent has."""
        self.forget(lost=self.lost or are_threads_started())


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.after_fork)


def thread_count() -> int:
    """Return the number of threads that may share a launch.

    It is 1 with one processor, and in a child whose parent has the threads.

    >>> thread_count() > 0
    True
    """
    return 1 if _threads.lost else loop_threads()


def has_threads() -> bool:
    """Return whether threads have been started."""
    return bool(_threads.entries[op.ENTRY_PARALLEL_FOR])


def pays_ns() -> int:
    """Return the time on one thread above which sharing a launch pays; starts the threads."""
    with _threads.starting:
        if not has_threads():
            _threads.start()
        elif is_cost_doubtful():
            _threads.samples, _threads.sampled_at = _threads.samples + 1, time.monotonic()
            _threads.launch_ns = min(_threads.launch_ns, _launch_ns())
        return max(LEAST_NS, PAYS * _threads.launch_ns)


def is_cost_doubtful() -> bool:
    """Return whether the cost of a launch should be measured again."""
    is_high = _threads.launch_ns > DOUBTFUL_NS and _threads.samples < MOST_SAMPLES
    return is_high and time.monotonic() - _threads.sampled_at > SAMPLE_S


def lock_of_layer() -> threading.RLock | None:
    """Return the lock of a threading layer that allows only one Python thread, else None."""
    return _threads.lock_of_layer


def thread_entries() -> Int64:
    """Return the addresses that the interpreter calls: int64[ENTRIES], always the same array.

    Addresses in the threading layer are 0 until threads are started.
    """
    return _threads.entries


def _launch_ns() -> int:
    """Measure the cost of passing an empty launch to the threads."""
    times, threads = 16, thread_count()
    ops = np.array(
        [[op.REPEAT, 0, times, 3], [op.LAUNCH, 0, 0, 0], [op.AGAIN, 0, 1, 0], [op.END, 0, 0, 0]]
    )
    chunks = np.zeros((threads, op.CHUNK_WORDS), np.int64)
    chunks[:, op.CHUNK_DRIVER] = compiled_parts.mover(False)
    launch, state = np.zeros(op.LAUNCH_WORDS, np.int64), np.zeros(op.STATE_WORDS, np.int64)
    launch[op.LAUNCH_SHARES], launch[op.LAUNCH_SHARE_COUNT] = chunks.ctypes.data, threads
    state[op.STATE_ENTRIES] = thread_entries().ctypes.data
    arena, loops, returns, counts = np.zeros((4, len(ops)), np.int64)
    arrays = (ops, launch, arena, state, loops, returns, counts)
    with lock_of_layer() or nullcontext():
        begin = time.perf_counter_ns()
        compiled_parts.interpreter()(*(array.ctypes.data for array in arrays))
        return (time.perf_counter_ns() - begin) // times
