"""Numba's threading layer: threads of this process that share a loop in native code.

Numba is imported only to start them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import NamedTuple


class ThreadLayer(NamedTuple):
    """The layer of this process, with started threads.

    Attributes:
        parallel_for: address of the C function that shares a loop.
        thread_count: address of the C function that returns how many threads share it.
        is_reentrant: whether two Python threads may call it at once.
    """

    parallel_for: int
    thread_count: int
    is_reentrant: bool


def start() -> ThreadLayer:
    """Start the threads, unless they run, and return their layer."""
    _import_whole("numba.np.ufunc.parallel")
    import llvmlite.binding as llvm
    from numba.np.ufunc import parallel

    parallel._launch_threads()
    return ThreadLayer(
        parallel_for=llvm.address_of_symbol("numba_parallel_for"),
        thread_count=llvm.address_of_symbol("get_num_threads"),
        is_reentrant=parallel.threading_layer() != "workqueue",
    )


def _import_whole(module: str) -> None:
    """Import a module that Ctrl-C would leave half imported, of which nobody could import the rest.

    Ctrl-C ends only what waits here.  Errors are raised where the module is imported again.
    """

    def work() -> None:
        with suppress(Exception):
            import_module(module)

    if module not in sys.modules:
        thread = Thread(target=work, daemon=True)
        thread.start()
        thread.join()


def is_started() -> bool:
    """Return whether this process, or the one that it was forked from, started the threads."""
    layer = sys.modules.get("numba.np.ufunc.parallel")
    return bool(getattr(layer, "_is_initialized", False))


def thread_count() -> int:
    """Return how many threads there are, or will be."""
    chosen = os.environ.get("NUMBA_NUM_THREADS", "")
    # While another thread imports the module, the name may still be missing.
    known = getattr(sys.modules.get("numba.core.config"), "NUMBA_NUM_THREADS", None)
    if known or chosen.isdigit():
        return int(known or chosen)
    return processors()


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
