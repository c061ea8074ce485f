"""The threads that share a launch: Numba's threading layer, started when first needed.

Starting it imports Numba, so small programs never do.  The cost of passing a launch to the
threads is measured then; they are used for launches that take at least four times as long.

After a `fork` the threads of the parent do not exist in the child, which GNU OpenMP does not
notice.  A child of a process that had started them therefore runs everything on one thread.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.jit import thread_layer
from poplite.simulator import compiled_parts

Integers = npt.NDArray[np.int64]

PAYS = 4
"""A launch is shared if one thread takes at least this many times the cost of sharing."""

LEAST_NS = 4_000
"""Launches that take less are never shared, whatever the threading layer."""

DOUBTFUL_NS = 5_000
"""A cost above is measured again.

For a second or so after they start, threads may share one processor until the system moves one
of them; a launch then costs thirty times as much.
"""

MOST_SAMPLES, SAMPLE_S = 50, 0.03
"""Most times that it is measured again, and seconds between them."""


class _Threads:
    """The threads of this process."""

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
        # scheduler slices when another process wants the core.  This is some 50 us: threads are
        # still awake when Python starts the next run.  It is read when the library loads.
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
        layer = thread_layer.start()
        if not layer.is_reentrant:
            self.lock_of_layer = threading.RLock()
        self.entries[op.ENTRY_KERNEL] = compiled_parts.thread_kernel()
        self.entries[op.ENTRY_THREADS] = layer.thread_count
        self.entries[op.ENTRY_PARALLEL_FOR] = layer.parallel_for
        self.launch_ns = min(_launch_ns() for _ in range(3))

    def after_fork(self) -> None:
        """Forget threads that only the parent has."""
        self.forget(lost=self.lost or thread_layer.is_started())


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.after_fork)


def count() -> int:
    """Return how many threads may share a launch.

    One where there is one processor, and in a child whose parent has the threads.

    >>> count() > 0
    True
    """
    return 1 if _threads.lost else thread_layer.thread_count()


def started() -> bool:
    """Return whether there are threads now."""
    return bool(_threads.entries[op.ENTRY_PARALLEL_FOR])


def pays_ns() -> int:
    """Return what a launch must take on one thread to be worth sharing; starts the threads."""
    with _threads.starting:
        if not started():
            _threads.start()
        elif is_doubtful():
            _threads.samples, _threads.sampled_at = _threads.samples + 1, time.monotonic()
            _threads.launch_ns = min(_threads.launch_ns, _launch_ns())
        return max(LEAST_NS, PAYS * _threads.launch_ns)


def is_doubtful() -> bool:
    """Return whether the cost of a launch should be measured again."""
    is_high = _threads.launch_ns > DOUBTFUL_NS and _threads.samples < MOST_SAMPLES
    return is_high and time.monotonic() - _threads.sampled_at > SAMPLE_S


def lock_of_layer() -> threading.RLock | None:
    """Return the lock for calls of a threading layer that admits one Python thread, else None."""
    return _threads.lock_of_layer


def entries() -> Integers:
    """Return the addresses that the interpreter calls: int64[ENTRIES], always the same array.

    Those of the threading layer are 0 until threads are started.
    """
    return _threads.entries


def _launch_ns() -> int:
    """Measure what it costs to pass an empty launch to the threads."""
    times, threads = 16, count()
    ops = np.array(
        [[op.REPEAT, 0, times, 3], [op.LAUNCH, 0, 0, 0], [op.AGAIN, 0, 1, 0], [op.END, 0, 0, 0]]
    )
    chunks = np.zeros((threads, op.CHUNK_WORDS), np.int64)
    chunks[:, op.CHUNK_DRIVER] = compiled_parts.mover(False)
    launch, state = np.zeros(op.LAUNCH_WORDS, np.int64), np.zeros(op.STATE_WORDS, np.int64)
    launch[op.LAUNCH_SHARES], launch[op.LAUNCH_SHARE_COUNT] = chunks.ctypes.data, threads
    state[op.STATE_ENTRIES] = entries().ctypes.data
    arena, loops, returns, counts = np.zeros((4, len(ops)), np.int64)
    arrays = (ops, launch, arena, state, loops, returns, counts)
    with lock_of_layer() or nullcontext():
        begin = time.perf_counter_ns()
        compiled_parts.interpreter()(*(array.ctypes.data for array in arrays))
        return (time.perf_counter_ns() - begin) // times
