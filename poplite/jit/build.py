"""From the description of code to the address of its native form.

    >>> import numpy as np
    >>> from poplite.jit.kernels.intervals import repeat_pattern
    >>> pattern, base, out = np.array([0, 1]), np.array([10, 20]), np.empty(4, np.int64)
    >>> native(repeat_pattern)(address(pattern), 2, address(base), 2, address(out), 4)
    4
    >>> out.tolist()
    [10, 11, 20, 21]

A call through ctypes costs about a microsecond and releases the interpreter lock.  `run_kernel`
interprets a kernel where there is little to do, and then loads and compiles none.
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


# -- code as data, which any process can make ------------------------------------------------------

Made = tuple[bytes, list[str], Mapping[str, Any]]
"""An object file, the symbols that it takes from the process, and facts to keep with it, in values
that JSON has."""


@frozen(eq=False)
class Job:
    """One piece of native code, to be made.

    Job("7f3a...", "poplite.jit.native_code:optimized_object", (text, processor))

    Attributes:
        name: `digest` of everything on which the code depends.
        maker: module and name of a function of poplite that makes it; it takes the name of the C
            function to export, and the arguments.
        arguments: values that JSON has.
    """

    name: str
    maker: str
    arguments: tuple[Any, ...]

    def content(self) -> bytes:
        """Make the code, and return the content of its cache file."""
        module, _, function = self.maker.partition(":")
        assert module.startswith("poplite."), "nobody else makes code"
        shown = exported(self.name)
        made: Made = getattr(import_module(module), function)(shown, *self.arguments)
        code, needed, about = made
        return object_cache.pack(code, shown, needed, about)


def exported(name: str) -> str:
    """Return the name of the C function of a job."""
    return f"poplite_{name}"


# -- code that is found or made --------------------------------------------------------------------


@contextmanager
def no_collection() -> Iterator[None]:
    """Let no cycles be collected for a while, where they would have been.

    Each time that a quarter more objects are there, the collector visits all of them: of a million
    variables, that is two fifths of the time that an engine takes to be made, and of what Numba
    makes a tenth of the time of typing and lowering.

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
    """Native code that is in the cache, loaded when its address is needed.

    Attributes:
        about: facts that were kept with it, in values that JSON has.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self.about = content, object_cache.about(content)

    @cached_property
    def address(self) -> int:
        """Address of the C function; valid while the process lives."""
        with _lock:
            place = object_cache.load(self._content)
            self._content = b""  # LLVM has its own
        return place


_known: dict[str, Native] = {}


def built(name: str, job: Callable[[], Job]) -> Native:
    """Return native code by the name of its job; `job` is called only if the code must be made."""
    with _lock:
        if not _is_found(name):
            with no_collection():
                _keep(name, job().content())
        return _known[name]


class Builds:
    """Native code of many jobs, made side by side.

    with Builds() as builds:
        builds.add(name, job)   made while more are added
        builds.finish()         all are there: `built` finds them
    """

    def __init__(self) -> None:
        self._pool: SideBySide | None = None
        self._contents: dict[str, Callable[[], bytes]] = {}

    def add(self, name: str, job: Callable[[], Job]) -> None:
        """Have code made unless it is there already; `job` is called only to make it."""
        if name in self._contents or _is_found(name):
            return
        if self._pool is None:
            from poplite.jit.side_by_side import SideBySide  # engines start sooner without it

            self._pool = SideBySide()
        with no_collection():
            self._contents[name] = self._pool.add(job())

    def finish(self) -> None:
        """Wait until all code that was added is there."""
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
    """Return whether there is a file of code or text of this name, or the code is loaded."""
    return name in _known or object_cache.has(name)


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return code as text; `make` is called only when no file of this name keeps it.

    `name` is the `digest` of everything on which the code depends.
    """
    with _lock:
        content = object_cache.find(name)
        if content is None:
            content = object_cache.pack(make().encode(), "", [])
            object_cache.store(name, content)
        return object_cache.code(content).decode()


def _is_found(name: str) -> bool:
    """Return whether code is known; if a file has it, it is loaded from now on."""
    if name not in _known:
        content = object_cache.find(name)
        if content is None:
            return False
        _known[name] = Native(content)
    return True


def _keep(name: str, content: bytes) -> None:
    _known[name] = Native(content)
    object_cache.store(name, content)  # where a user turned warnings into errors, this raises


# -- kernels, made when they are first called ------------------------------------------------------


@cache
def native(function: Callable[..., int]) -> Callable[..., int]:
    """Return the compiled form of a kernel from `poplite.jit.kernels`.

    It takes the address of an array for each pointer, and an int for each `int`, as the kernel's
    annotations say.
    """
    return ctypes.CFUNCTYPE(ctypes.c_int64, *_kinds(function))(address_of(function))


def _kinds(function: Callable[..., int]) -> list[type[ctypes.c_int64 | ctypes.c_void_p]]:
    """Return the C types of the arguments of a kernel."""
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    return [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]


FEW = 512
"""Numbers up to which `run_kernel` interprets: about a millisecond, less than loading code takes.

Kept for benchmarks/startup.py: the first programs of a machine would compile two kernels more.
"""


def run_kernel(kernel: Callable[..., int], size: int, *arguments: Argument) -> int:
    """Call a kernel with numbers and contiguous arrays; `size` says how many numbers it visits.

    >>> import numpy as np
    >>> from poplite.jit.kernels.intervals import sort_by_digit
    >>> out = np.empty(3, np.int64)
    >>> run_kernel(sort_by_digit, 3, np.array([9, 2, 5]), 3, 0, np.empty(2048, np.int64), out)
    3
    >>> out.tolist()
    [2, 5, 9]
    """
    if size > FEW:
        return native(kernel)(*_places(arguments))
    # Views of memory give and take Python's own numbers, which are quicker than NumPy's.
    return kernel(*[each if isinstance(each, int) else each.data for each in arguments])


@cache
def address_of(function: Callable[..., int]) -> int:
    """Return the address of the compiled form of a kernel."""
    job = kernel_job(function.__module__, function.__name__)
    return built(job.name, lambda: job).address


class BoundKernel:
    """A kernel with its first arguments; it is compiled when it is first called.

    Attributes:
        kernel: from `poplite.jit.kernels`.
        arguments: numbers and contiguous arrays, which it keeps alive.
    """

    __slots__ = ("_bound", "arguments", "kernel")

    def __init__(self, kernel: Callable[..., int], *arguments: Argument) -> None:
        self.kernel, self.arguments = kernel, arguments
        self._bound: Callable[..., int] | None = None

    def places(self) -> tuple[int, ...]:
        """Return its arguments as compiled code takes them."""
        return _places(self.arguments)

    def __call__(self, *others: Argument) -> int:
        """Call it with its last arguments."""
        if self._bound is None:
            # A call with numbers that are converted once takes 0.9 us in place of 1.3.
            bound = zip(_kinds(self.kernel), self.places(), strict=False)
            self._bound = partial(native(self.kernel), *[kind(place) for kind, place in bound])
        return self._bound(*_places(others)) if others else self._bound()


def _places(arguments: tuple[Argument, ...]) -> tuple[int, ...]:
    """Return numbers as they are, arrays as their addresses."""
    return tuple([each if isinstance(each, int) else address(each) for each in arguments])


def kernel_job(module: str, name: str) -> Job:
    """Return the job that compiles a kernel."""
    maker = "poplite.jit.kernel_code:kernel_object"
    return Job(digest([__name__, module], "kernel", name), maker, (module, name))


def address(array: npt.NDArray[np.generic]) -> int:
    """Return the address of a contiguous array's elements; the caller keeps the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place


# -- threads ---------------------------------------------------------------------------------------
# Numba's threading layer: threads of this process that share a loop in native code.  Numba is
# imported only to start them.


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


def start_threads() -> ThreadLayer:
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


def are_threads_started() -> bool:
    """Return whether this process, or the one that it was forked from, started the threads."""
    layer = sys.modules.get("numba.np.ufunc.parallel")
    return bool(getattr(layer, "_is_initialized", False))


def loop_threads() -> int:
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
