"""Native code of jobs: found in the cache or compiled.

    >>> import numpy as np
    >>> from poplite.jit.kernels_intervals import repeat_pattern
    >>> pattern, base, out = np.array([0, 1]), np.array([10, 20]), np.empty(4, np.int64)
    >>> native(repeat_pattern)(address(pattern), 2, address(base), 2, address(out), 4)
    4
    >>> out.tolist()
    [10, 11, 20, 21]

A call through ctypes costs about a microsecond and releases the interpreter lock. `run_kernel`
interprets a kernel for little work, without loading or compiling it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from poplite.frozen import frozen
from poplite.jit import digest, object_cache

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from poplite.jit.side_by_side import SideBySide

    Argument: TypeAlias = int | npt.NDArray[Any]


# -- jobs, which any process can run ---------------------------------------------------------------

Made = tuple[bytes, list[str], Mapping[str, Any]]
"""An object file, the symbols that it needs from the process, and facts to store with it, as JSON
values."""


@frozen(eq=False)
class Job:
    """A piece of native code to compile.

    Job("7f3a...", "poplite.jit.native_code:optimized_object", (text, processor))

    Attributes:
        name: the `digest` of everything on which the code depends.
        maker: module and name of the poplite function that compiles it; it takes the name of the C
            function to export, and the arguments.
        arguments: JSON values.
    """

    name: str
    maker: str
    arguments: tuple[Any, ...]

    def content(self) -> bytes:
        """Compile the code, and return the content of its cache file."""
        module, _, function = self.maker.partition(":")
        assert module.startswith("poplite."), "all jobs call functions of poplite"
        shown = exported(self.name)
        made: Made = getattr(import_module(module), function)(shown, *self.arguments)
        code, needed, about = made
        return object_cache.pack(code, shown, needed, about)


def exported(name: str) -> str:
    """Return the name of the C function of a job."""
    return f"poplite_{name}"


# -- code that is found or compiled ----------------------------------------------------------------


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector, if it is enabled.

    Whenever the number of objects has grown by a quarter, the collector visits all of them. That
    takes two fifths of the time to make an engine with a million variables, and, with Numba's
    objects, a tenth of the time for typing and lowering.

    >>> with no_collection():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_lock = threading.RLock()


class Native:
    """Native code from the cache, loaded when its address is first needed.

    Attributes:
        about: facts that were stored with it, as JSON values.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self.about = content, object_cache.about(content)

    @cached_property
    def address(self) -> int:
        """Address of the C function; valid while the process lives."""
        with _lock:
            place = object_cache.load(self._content)
            self._content = b""  # LLVM has its own copy
        return place


_known: dict[str, Native] = {}


def built(name: str, job: Callable[[], Job]) -> Native:
    """Return native code by job name; `job` is called only if the code must be compiled."""
    with _lock:
        if not _is_found(name):
            with no_collection():
                _keep(name, job().content())
        return _known[name]


class Builds:
    """Native code of many jobs, compiled in parallel.

    with Builds() as builds:
        builds.add(name, job)   compiled while more jobs are added
        builds.finish()         all code exists: `built` finds it
    """

    def __init__(self) -> None:
        self._pool: SideBySide | None = None
        self._contents: dict[str, Callable[[], bytes]] = {}

    def add(self, name: str, job: Callable[[], Job]) -> None:
        """Compile code unless it exists; `job` is called only if it must be compiled."""
        if name in self._contents or _is_found(name):
            return
        if self._pool is None:
            from poplite.jit.side_by_side import SideBySide  # engines start sooner without it

            self._pool = SideBySide()
        with no_collection():
            self._contents[name] = self._pool.add(job())

    def finish(self) -> None:
        """Wait until all code that was added exists."""
        for name, content in self._contents.items():
            _keep(name, content())
        self._contents.clear()

    def __enter__(self) -> Self:
        _lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.end()
        _lock.release()


def is_kept(name: str) -> bool:
    """Return whether a cache file of this name exists, or the code is loaded."""
    return name in _known or object_cache.has(name)


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return code as text; `make` is called only if no cache file with this name exists.

    `name` is the `digest` of everything on which the code depends.
    """
    with _lock:
        content = object_cache.find(name)
        if content is None:
            content = object_cache.pack(make().encode(), "", [])
            object_cache.store(name, content)
        return object_cache.code(content).decode()


def _is_found(name: str) -> bool:
    """Return whether code exists; code found in a cache file is remembered."""
    if name not in _known:
        content = object_cache.find(name)
        if content is None:
            return False
        _known[name] = Native(content)
    return True


def _keep(name: str, content: bytes) -> None:
    _known[name] = Native(content)
    object_cache.store(name, content)  # raises if the user has turned warnings into errors


# -- kernels, compiled when they are first called --------------------------------------------------


@cache
def native(function: Callable[..., int]) -> Callable[..., int]:
    """Return the compiled form of a kernel from `poplite.jit.kernels`.

    It takes the address of an array for each argument annotated as a pointer, and an int for each
    `int`.
    """
    return ctypes.CFUNCTYPE(ctypes.c_int64, *_kinds(function))(address_of(function))


def _kinds(function: Callable[..., int]) -> list[type[ctypes.c_int64 | ctypes.c_void_p]]:
    """Return the C types of the arguments of a kernel."""
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    return [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]


FEW = 512
"""Maximum size that `run_kernel` interprets: about a millisecond, less than loading code takes.

Justified by benchmarks/startup.py: otherwise the first programs on a machine would compile two more
kernels.
"""


def run_kernel(kernel: Callable[..., int], size: int, *arguments: Argument) -> int:
    """Call a kernel with numbers and contiguous arrays; `size` is the number of items it visits.

    >>> import numpy as np
    >>> from poplite.jit.kernels_intervals import sort_by_digit
    >>> out = np.empty(3, np.int64)
    >>> run_kernel(sort_by_digit, 3, np.array([9, 2, 5]), 3, 0, np.empty(2048, np.int64), out)
    3
    >>> out.tolist()
    [2, 5, 9]
    """
    if size > FEW:
        return native(kernel)(*_places(arguments))
    # memoryview elements are Python numbers, which are faster than NumPy's.
    return kernel(*[each if isinstance(each, int) else each.data for each in arguments])


@cache
def address_of(function: Callable[..., int]) -> int:
    """Return the address of the compiled form of a kernel."""
    job = kernel_job(function.__module__, function.__name__)
    return built(job.name, lambda: job).address


class BoundKernel:
    """A kernel with its first arguments bound; it is compiled when it is first called.

    Attributes:
        kernel: a function from `poplite.jit.kernels`.
        arguments: numbers and contiguous arrays; the arrays are kept alive.
    """

    __slots__ = ("_bound", "arguments", "kernel")

    def __init__(self, kernel: Callable[..., int], *arguments: Argument) -> None:
        self.kernel, self.arguments = kernel, arguments
        self._bound: Callable[..., int] | None = None

    def places(self) -> tuple[int, ...]:
        """Return the bound arguments in the form that compiled code takes."""
        return _places(self.arguments)

    def __call__(self, *others: Argument) -> int:
        """Call the kernel with its remaining arguments."""
        if self._bound is None:
            # With the bound arguments converted in advance, a call takes 0.9 us instead of 1.3.
            bound = zip(_kinds(self.kernel), self.places(), strict=False)
            self._bound = partial(native(self.kernel), *[kind(place) for kind, place in bound])
        return self._bound(*_places(others)) if others else self._bound()


def _places(arguments: tuple[Argument, ...]) -> tuple[int, ...]:
    """Return numbers unchanged, and arrays as their addresses."""
    return tuple([each if isinstance(each, int) else address(each) for each in arguments])


def kernel_job(module: str, name: str) -> Job:
    """Return the job that compiles a kernel."""
    maker = "poplite.jit.kernel_code:kernel_object"
    return Job(digest([__name__, module], "kernel", name), maker, (module, name))


def address(array: npt.NDArray[np.generic]) -> int:
    """Return the address of a contiguous array; the caller must keep the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place


# -- threads ---------------------------------------------------------------------------------------
# Numba's threading layer: threads of this process that share a loop in native code. Numba is
# imported only to start the threads.


class ThreadLayer(NamedTuple):
    """The layer of this process, with started threads.

    Attributes:
        parallel_for: address of the C function that shares a loop.
        thread_count: address of the C function that returns the number of threads that share a
            loop.
        is_reentrant: whether two Python threads may call it at once.
    """

    parallel_for: int
    thread_count: int
    is_reentrant: bool


def start_threads() -> ThreadLayer:
    """Start the threads if they are not running, and return their layer."""
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
    """Import a module in a thread, since Ctrl-C could leave it partly imported for good.

    Ctrl-C ends only the wait. Errors are raised when the module is imported again.
    """

    def work() -> None:
        with suppress(Exception):
            import_module(module)

    if module not in sys.modules:
        thread = Thread(target=work, daemon=True)
        thread.start()
        thread.join()


def are_threads_started() -> bool:
    """Return whether this process, or the one that it was forked from, started the threads."""
    layer = sys.modules.get("numba.np.ufunc.parallel")
    return bool(getattr(layer, "_is_initialized", False))


def loop_threads() -> int:
    """Return the number of threads, started or not."""
    chosen = os.environ.get("NUMBA_NUM_THREADS", "")
    # While another thread imports the module, the name may still be missing.
    known = getattr(sys.modules.get("numba.core.config"), "NUMBA_NUM_THREADS", None)
    if known or chosen.isdigit():
        return int(known or chosen)
    return processors()


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
