"""Sweeps measure many mappings or parameters of one program in several processes.

    build(split=1) -> graph, program       here, so that workers find compiled code in the cache
    build(split=1) -> graph, program       worker 1
    build(split=2) -> graph, program       worker 2
    build(split=3) -> graph, program       worker 1

Each worker makes the graph itself, since graphs are never sent, and returns a row of numbers.

The function that builds a point is sent to the workers. Importable objects are sent by name, and
all others by value with cloudpickle: functions of a script with the current values of the globals
that they use. A function arrives with its file's name, and the file's text is sent along, so that
vertex classes inside it have their source.

A vertex class is sent with its current contents::

    class Scale(pl.Vertex):                name, bases
        x: pl.Input[pl.FLOAT]              fields, as they were made here
        def compute(self) -> None: ...     functions, whose code has its file and line
    Scale.factor = 2                       and changes that the script made to the class

No statement of the script runs again in a worker, nor does `__init_subclass__` or a decorator,
since their effects arrive with the class and with the globals that they changed.

Some parts of functions are handled here because cloudpickle omits or duplicates them::

    def make(k):
        def more(): nonlocal k; k += 1
        def build(): return k       one variable `k`, for all functions that share it
    def build():
        class V(pl.Vertex):
            x: pl.Input[KIND]       names that only a class statement needs: `KIND`

Functions of a script share one dictionary of globals in a worker, which cloudpickle provides. A
function nested in a module's function has that module's globals, shared with its other functions.

Warnings are sent back, and issued once, by the filters of this process::

    warnings.simplefilter("error")     a point that warns fails, as it does here
    script.py:31                       each text is issued once per line

Otherwise each worker would issue them again, and quote a line of the code that runs workers.
"""

from __future__ import annotations

import ast
import copyreg
import dis
import inspect
import io
import itertools
import linecache
import os
import pickle
import sys
import threading
import time
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from inspect import CO_OPTIMIZED
from pickle import PicklingError
from types import CellType, CodeType, FunctionType
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from poplite.errors import ControlProgramError, DeviceRuntimeError, ElementTypeError
from poplite.graph.graph import Graph
from poplite.report.diff import report_since
from poplite.report.report import Report
from poplite.report.sweep import BYTES, CYCLES, ERROR, Scalar, Sweep, check_parameter
from poplite.simulator.engine import Engine
from poplite.simulator.running import shown
from poplite.source import SourceLocation, here
from poplite.text import clipped, of_type
from poplite.vertex.compute.source_text import nested, why_no_text
from poplite.vertex.vertex import Vertex

Grid = Mapping[str, Sequence[Scalar]] | Sequence[Mapping[str, Scalar]]

LAUNCHERS = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"
"""Environment variables in which `mpiexec` passes the number of ranks to a process."""


class Client(Protocol):
    """Runs functions in other processes: a dask client or a `concurrent.futures` executor."""

    def submit(self, function: Callable[..., Row | RowThere], /, *arguments: Any) -> Any:
        """Call a function with the given arguments; return a future with its `result()`."""


def sweep(
    build: Callable[..., object],
    grid: Grid,
    *,
    workers: int | Client = 1,
    progress: bool = False,
) -> Sweep:
    """Build, compile and run a program at each point of a grid, and return measures of each.

    The first point runs one additional time before all others, in this process, to fill the
    cache of compiled code; this run is not measured. With several workers, all points then run in
    single-threaded processes. A point that fails has a row with its message.

    Args:
        build: takes the parameters of a point by name, and returns a graph and its programs
            (further items of the tuple are ignored), or an engine, whose earlier runs are not
            counted. All programs run once, in order. With several workers it is sent to them, with
            the current state of the vertex classes and globals that it uses; it may be defined in a
            script, a notebook or a function. Workers import the modules that it imports again.
        grid: the values of each parameter, for all their combinations, with the last parameter
            changing fastest; or a list of points. Values are numbers and strings.
        workers: the number of processes; more than 1 require `pip install 'poplite[sweep]'`, and 1
            runs all points here. A dask client, or any other object with `submit`, runs points
            elsewhere.
        progress: whether to show on standard error how many points are done.

    Returns:
        Arrays by name, in the order of the grid; `to_pandas()` makes a data frame of them.

    Raises:
        ElementTypeError: if the grid, a value, `build` or `workers` has the wrong type.
        ControlProgramError: for a grid without points; parameters that `build` does not take or
            that have the name of a measure; a vertex class without source, which cannot be sent to
            workers; a first point whose cycles or bytes in a worker differ from those here; on
            several ranks of an MPI job; and if a worker that imports `build` makes the same call.
        DeviceRuntimeError: if joblib or cloudpickle is missing, `build` contains an object that
            cannot be sent, such as a lock, or a worker ended without a result or lacks a module.

    >>> import poplite as pl
    >>> def build(tiles):
    ...     graph = pl.Graph(pl.Target(tiles=tiles))
    ...     x, y = (graph.add_variable(pl.INT, (64,), n, mapping="linear") for n in "xy")
    ...     return graph, pl.Copy(x, y.reverse(0))
    >>> found = sweep(build, {"tiles": [1, 2, 4, -1]})
    >>> found["tiles"].tolist(), found["received"].tolist()
    ([1, 2, 4, -1], [0.0, 256.0, 256.0, nan])
    >>> found["error"][3][:19]
    'InvalidMachineModel'
    """
    _check_alone()
    if not callable(build):
        raise ElementTypeError(
            f"sweep: build {clipped(build)} is not a function",
            found=of_type(build),
            fix="define def build(split): ...; return graph, program",
        )
    points = _points(grid)
    _check_parameters(build, points[0])
    sent = Sent(build)
    measure = _measuring(sent, workers)
    with shown("sweep", "points", len(points), wanted=progress) as bar:
        told: set[WarningThere] = set()
        if _is_here(workers):
            row_of(build, points[0])
        else:
            first, given = gathered(lambda: row_of(build, points[0]), sent.rules, sent.at)
            tell(given, told)
        rows: list[Row] = []
        for row in measure(points):
            if isinstance(row, RowThere):
                tell(row.warnings, told)
                row = row.row
                if not rows:
                    check_same(first, row, sent.at)
            rows.append(row)
            bar.update(lambda: len(rows))
    return Sweep(tuple(points[0]), rows)


def _check_alone() -> None:
    """Raise on the ranks of an MPI job, which must not start processes."""
    ranks = max(
        (int(n) for name in LAUNCHERS if (n := os.environ.get(name, "")).isdigit()), default=1
    )
    module = sys.modules.get("mpi4py.MPI")
    if module is not None and module.Is_initialized() and not module.Is_finalized():
        ranks = max(ranks, module.COMM_WORLD.Get_size())
    if ranks > 1:
        raise ControlProgramError(
            f"sweep: this is one of {ranks:,} ranks of an MPI job, each of which would run all "
            "points",
            fix="run the script without mpiexec; a sweep starts its own processes",
        )


def _points(grid: Any) -> list[Point]:
    """Return the points of a grid, or raise for any other value."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str | bytes | bytearray) or not np.iterable(values):
                raise ElementTypeError(
                    f"sweep: parameter {clipped(name)} must have a list; found {clipped(values)}",
                    found=of_type(values),
                    fix=f"pass {{{name!r}: [{clipped(values)}]}}",
                )
        combinations = itertools.product(*grid.values())
        points = [dict(zip(grid, values, strict=True)) for values in combinations]
    elif isinstance(grid, Sequence) and all(isinstance(point, Mapping) for point in grid):
        points = [dict(point) for point in grid]
    else:
        raise ElementTypeError(
            f"sweep: grid {clipped(grid)} is not a grid",
            found=of_type(grid),
            fix="pass {'split': range(1, 41)}, or a list of points [{'split': 1}, ...]",
        )
    if not points or not points[0]:
        raise ControlProgramError(
            "sweep: the grid has no points", fix="pass sweep(build, {'split': range(1, 41)})"
        )
    first = list(points[0])
    for name in first:
        if not isinstance(name, str):
            raise ElementTypeError(
                f"sweep: parameter {clipped(name)} is not a name",
                found=of_type(name),
                fix="pass the names of build's parameters: {'split': range(1, 41)}",
            )
    for point in points:
        if list(point) != first:
            raise ControlProgramError(
                f"sweep: point {clipped(point)} must have the parameters of the first point",
                found=f"parameters of the first: {', '.join(map(str, first))}",
                fix="give all points the same parameters in the same order",
            )
    return [{name: _scalar(name, value) for name, value in point.items()} for point in points]


def _scalar(name: str, value: Any) -> Scalar:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | int | float):
        return plain
    raise ElementTypeError(
        f"sweep: values of parameter '{name}' must be numbers or text; found {clipped(value)}",
        found=of_type(value),
        fix="pass names, and let build look up each name in a dictionary",
    )


def _check_parameters(build: Callable[..., object], point: Point) -> None:
    for name in point:
        check_parameter(name, "sweep")
    try:
        inspect.signature(build).bind(**point)
    except TypeError as error:
        raise ControlProgramError(
            f"sweep: build does not take the parameters of the grid: {error}",
            found=f"parameters: {', '.join(point)}",
            fix=f"define def build({', '.join(point)}): ...",
        ) from error
    except ValueError:  # a function without a signature: the call checks its arguments
        pass


def _is_here(workers: Any) -> bool:
    """Return whether points are measured in this process, so that no data are sent."""
    return workers == 1 or isinstance(workers, ThreadPoolExecutor)


def _measuring(sent: Sent, workers: Any) -> Callable[[Sequence[Point]], Iterator[Row | RowThere]]:
    """Return a function that yields the rows of points, in order, as they become known."""
    if not _is_here(workers):
        check_not_imported_by_worker()
    if callable(getattr(workers, "submit", None)):
        if not _is_here(workers):
            sent.contents()

        def by_client(points: Sequence[Point]) -> Iterator[Row | RowThere]:
            waiting = [workers.submit(measured, sent, point) for point in points]
            return _collected(each.result() for each in waiting)

        return by_client
    if type(workers) is not int or workers < 1:
        raise ElementTypeError(
            f"sweep: workers must be a number of processes; found {clipped(workers)}",
            found=of_type(workers),
            fix="pass workers=2, or a dask client",
        )
    if workers == 1:
        return lambda points: (row_of(sent.build, point) for point in points)
    try:
        joblib = import_module("joblib")
    except ImportError as error:
        raise DeviceRuntimeError(
            f"sweep: {workers:,} workers need joblib, which is not installed",
            fix="run pip install 'poplite[sweep]'; or pass workers=1 to use only this process",
        ) from error
    sent.contents()  # objects that cannot be sent are rejected before any run

    def by_processes(points: Sequence[Point]) -> Iterator[Row | RowThere]:
        # Each process has one thread: with one thread per processor in every process, they would
        # compete for processors.
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(n_jobs=workers, return_as="generator")
            found = parallel(joblib.delayed(measured)(sent, point) for point in points)
        try:
            yield from _collected(found)
        finally:
            with warnings.catch_warnings():  # from joblib, if an error leaves points unfinished
                warnings.simplefilter("ignore")
                found.close()

    return by_processes


def _collected(rows: Iterator[Row | RowThere]) -> Iterator[Row | RowThere]:
    try:
        yield from rows
    except PicklingError as error:
        raise DeviceRuntimeError(
            "sweep: build cannot be sent to workers",
            found=str(error.__cause__ or error).strip('" \n').rpartition("\n")[2],
            fix="let build open the files, locks and processes that it needs itself",
        ) from error
    except Exception as error:
        module = type(error).__module__.partition(".")[0]
        if not isinstance(error, BrokenExecutor) and module != "distributed":
            raise
        raise DeviceRuntimeError(
            "sweep: a worker ended without a result",
            found=str(error).partition("\n")[0],
            fix="use fewer workers if memory was short; see the output of the worker",
        ) from error


# -- measuring a point -----------------------------------------------------------------------------


Point = dict[str, Scalar]
Row = dict[str, Any]
COMPARED = ERROR, *CYCLES, *BYTES


@dataclass(frozen=True)
class RowThere:
    """The row of a point that was measured in another process, and its warnings."""

    row: Row
    warnings: list[WarningThere]


def measured(build: Callable[..., object] | Received, point: Point) -> Row | RowThere:
    """Return the row of a point, with the message of its error if it raised one.

    Raises an error if `build` cannot be restored in a worker, since no point could run.
    """
    if isinstance(build, Received):
        made, rules, at = build.opened()
        return RowThere(*gathered(lambda: row_of(made, point), rules, at))
    return row_of(build, point)


def row_of(build: Callable[..., object], point: Point) -> Row:
    """Return the row of a point for a build in this process."""
    try:
        return {**point, **_measures(build, point), ERROR: ""}
    except (Exception, SystemExit) as error:  # the row has the error
        return {**point, ERROR: f"{type(error).__name__}: {error}"}


def check_same(found: Row, away: Row, at: SourceLocation) -> None:
    """Reject a sweep if cycles or bytes of a point differ between another process and this one.

    Otherwise state that workers do not get would change the result: values that a script set in
    modules that they import again, random choices of a build, or effects of an earlier point.
    """
    differing = [
        f"{name} {our} here, {their} there"
        for name, our, their in zip(COMPARED, _compared(found), _compared(away), strict=True)
        if our != their
    ]
    if differing:
        raise ControlProgramError(
            "sweep: the first point takes different cycles or bytes in a worker than here",
            at=at,
            found="\n".join([*differing[:3], *filter(None, [away[ERROR] or found[ERROR]])]),
            fix="seed the random choices of build, and set values of imported modules in build; or "
            "pass workers=1 to run all points here",
        )


def _compared(row: Row) -> list[str]:
    """Return the results that do not depend on the process; for an error, its kind."""
    kind = row[ERROR].partition(":")[0]
    return [kind or "none", *(str(row.get(name, "none")) for name in COMPARED[1:])]


def _measures(build: Callable[..., object], point: Point) -> Row:
    begin = time.perf_counter()
    made: Any = build(**point)
    built = time.perf_counter()
    seconds = {"build_seconds": built - begin}
    before: Report | None = None
    if isinstance(made, Engine):  # which may have run already, and whose compile time is unknown
        before = made.report()
    elif isinstance(made, tuple) and len(made) > 1 and isinstance(made[0], Graph):
        made = Engine(*made[:2])
        seconds["compile_seconds"] = time.perf_counter() - built
    else:
        raise ElementTypeError(
            f"sweep: build must return a graph and a program; found {clipped(made)}",
            at=None,
            found=of_type(made),
            fix="return graph, program, or return an engine",
        )
    compiled = time.perf_counter()
    for program in made.executable.programs:
        made.run(program)
    seconds["run_seconds"] = time.perf_counter() - compiled
    report = made.report()
    return _modelled(report if before is None else report_since(report, before)) | seconds


def _modelled(report: Report) -> Row:
    """Return the cycles and bytes of a report; empty if they are not modelled."""
    memory = report.compilation.memory
    if report.cycles is None or memory is None:
        return {}
    phases = [phase for step in report.execution.steps for phase in step.phases]
    by_kind = {"compute": 0, "copy": 0, "exchange": 0}
    for phase in phases:
        by_kind[phase.kind if phase.kind in by_kind else "exchange"] += phase.cycles
    return {
        "cycles": report.cycles,
        **by_kind,
        "waiting": sum(phase.sync for phase in phases),
        "received": sum(phase.received.total for phase in phases),
        "fullest": memory.including_gaps.most,
        "bytes": memory.including_gaps.total,
    }


# -- functions of a script -------------------------------------------------------------------------


# -- functions -------------------------------------------------------------------------------------


_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})


def reduced_cell(cell: CellType) -> tuple[object, ...]:
    """Return the `pickle` reduction of a variable that functions share."""
    if cell == CellType():
        return CellType, ()
    return CellType, (), (cell.cell_contents,), None, None, _fill_cell


def reduced_function(function: FunctionType, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the `pickle` reduction of a function that cloudpickle would send by value."""
    make, (code, own_globals, *rest, _), (attributes, slots), *others = made
    used = slots["__globals__"] | {
        each: function.__globals__[each]
        for each in _names_of_classes(code)
        if each in function.__globals__
    }
    name = function.__module__
    if is_importable(name) and vars(sys.modules[name]) is function.__globals__:
        own_globals, used = _Globals(name), {}
    arguments = code, own_globals, *rest, function.__closure__
    return make, arguments, (attributes, slots | {"__globals__": used}), *others


def is_importable(module: str | None) -> bool:
    """Return whether other processes can import a module; one run by `runpy` has no spec."""
    found = sys.modules.get(module or "__main__")
    return module != "__main__" and getattr(found, "__spec__", None) is not None


class _Globals:
    """The globals of a module, which a function gets on arrival."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> tuple[object, ...]:
        return _globals_of, (self._module,)


def _globals_of(module: str) -> dict[str, Any]:
    return vars(import_module(module))


def _names_of_classes(code: CodeType) -> Iterator[str]:
    """Yield the globals that class statements in a function name, also in strings."""
    for each in nested(code):
        if each.co_flags & CO_OPTIMIZED:  # code of a function, whose globals cloudpickle finds
            continue
        for step in dis.get_instructions(each):
            if step.opname in _LOADS:
                yield step.argval
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, str):
                yield from _names_of_text(step.argval)


def _names_of_text(text: str) -> Iterator[str]:
    """Yield the names in a string that may be an annotation."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value != text:
            yield from _names_of_text(each.value)


def _fill_cell(cell: CellType, contents: tuple[object]) -> None:
    (cell.cell_contents,) = contents


# -- warnings --------------------------------------------------------------------------------------


WarningThere = tuple[str, type[Warning], str, int]
"""Text, kind, file and line of a warning."""

T = TypeVar("T")


def filters() -> list[Any]:
    """Return the current warning filters of this process."""
    return list(warnings.filters)


def gathered(
    run: Callable[[], T], rules: Sequence[Any], at: SourceLocation
) -> tuple[T, list[WarningThere]]:
    """Return the result of `run` and its warnings; warnings without a user's line get line `at`.

    A thread other than the main one must not change the filters of its process, which issues its
    warnings itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return run(), []
    outside = here()
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        cast("list[Any]", warnings.filters).extend(rules)
        result = run()
    given = []
    for each in caught:
        file, line = each.filename, each.lineno
        if (file, line) == (outside.file, outside.line):
            file, line = at.file, at.line
        given.append((str(each.message), _known(each.category), file, line))
    return result, given


def _known(kind: type[Warning]) -> type[Warning]:
    """Return the nearest base class of a warning that has a name in all processes."""
    return next(each for each in kind.__mro__ if is_importable(each.__module__))


def tell(given: Sequence[WarningThere], told: set[WarningThere]) -> None:
    """Issue warnings in this process, except those already `told`."""
    for each in given:
        if each not in told:
            told.add(each)
            text, kind, file, line = each
            warnings.warn_explicit(text, kind, file, line)


# -- classes ---------------------------------------------------------------------------------------


_OF_PYTHON = frozenset({"__dict__", "__weakref__", "__annotate_func__", "__annotations_cache__"})
"""Attributes that Python makes for each class, which cannot be transferred."""


def reduced(cls: type[Vertex]) -> tuple[object, ...]:
    """Return the `pickle` reduction of a class that cannot be imported.

    Raises `ControlProgramError` if the file of a function has changed in the meantime.
    """
    for function in _functions(vars(cls)):
        if not _has_text(function.__code__):
            found, fix = why_no_text(function)
            raise _refusal(cls.__name__, f"class {cls.__name__} ({cls.location}): {found}", fix)
    state = {name: value for name, value in vars(cls).items() if name not in _OF_PYTHON}
    state["__qualname__"] = cls.__qualname__
    return _made, (type(cls), cls.__name__, cls.__bases__, cls.__base__), state, None, None, _fill


def _refusal(name: str, found: str, fix: str) -> ControlProgramError:
    return ControlProgramError(
        f"sweep: vertex class '{name}' of the script cannot be sent to workers",
        at=None,
        found=found,
        fix=f"{fix}; or pass workers=1 to run all points in this process",
    )


def _functions(attributes: Mapping[str, object]) -> Iterator[FunctionType]:
    for value in attributes.values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType):
            yield inner


def _has_text(code: CodeType) -> bool:
    """Return whether a file still has the source of a function; True if it had none."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    if not lines or "@pytest_ar" in code.co_names:  # pytest runs code that differs from the source
        return True
    try:
        module = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return code in nested(module)


def _made(kind: type[type], name: str, bases: tuple[type, ...], base: type) -> type:
    """Return a class without attributes, made without calling `__init_subclass__`.

    A stand-in is made first and then gets its bases, which Python allows if the stand-in has the
    memory layout of `base`, the base that determines the layout.
    """
    while base.__base__ and _places(base) == _places(base.__base__):  # the base that added a slot
        base = base.__base__
    offsets = {"__dict__": base.__dictoffset__, "__weakref__": base.__weakrefoffset__}
    slots = tuple(each for each, offset in offsets.items() if offset)
    stand_in = type("Base", (base.__base__ or object,), {"__slots__": slots})
    made = type.__new__(kind, name, (stand_in,), {})
    try:
        made.__bases__ = bases
    except TypeError as error:
        raise _refusal(name, str(error), "bases without __slots__") from error
    return made


def _places(cls: type) -> tuple[int, int, int]:
    return cls.__basicsize__, cls.__dictoffset__, cls.__weakrefoffset__


def _fill(cls: type, state: dict[str, object]) -> None:
    for name, value in state.items():
        type.__setattr__(cls, name, value)


# -- the build -------------------------------------------------------------------------------------


class Sent:
    """A build that is pickled as its contents, once for all points."""

    def __init__(self, build: Callable[..., object]) -> None:
        self.build, self.at, self.rules = build, here(), filters()
        self._contents = b""

    def __call__(self, **point: Any) -> object:
        """Build in this process, as threads do."""
        return self.build(**point)

    def contents(self) -> bytes:
        """Return the build and the texts of its files.

        Raises `DeviceRuntimeError` for objects that cannot be sent, such as a lock, and if
        cloudpickle is missing; `ControlProgramError` for a vertex class without source.
        """
        if not self._contents:
            try:
                self._contents = _pickled((self.build, self.rules, self.at))
            except ControlProgramError as error:
                error.at = self.at
                raise
            except ImportError as error:
                raise DeviceRuntimeError(
                    "sweep: other processes need cloudpickle, which is not installed",
                    at=self.at,
                    fix="run pip install 'poplite[sweep]'; or pass workers=1 to use only this "
                    "process",
                ) from error
            except Exception as error:
                raise DeviceRuntimeError(
                    "sweep: build cannot be sent to workers",
                    at=self.at,
                    found=str(error),
                    fix="let build open the files, locks and processes that it needs itself",
                ) from error
        return self._contents

    def __reduce__(self) -> tuple[object, ...]:
        return Received, (self.contents(),)


class Received:
    """A build as received in a worker."""

    def __init__(self, contents: bytes) -> None:
        self._contents = contents

    def opened(self) -> tuple[Callable[..., object], list[Any], SourceLocation]:
        """Return the build, the same for all points of a sweep, its filters of warnings, its line.

        Raises `DeviceRuntimeError` if a module is missing here.
        """
        token = _is_opening.set(True)
        try:
            return _opened(self._contents)
        except ImportError as error:
            raise DeviceRuntimeError(
                "sweep: a worker cannot import a module that build needs",
                at=None,
                found=str(error),
                fix="install it for the workers; a dask client has upload_file('parts.py')",
            ) from error
        finally:
            _is_opening.reset(token)


_is_opening: ContextVar[bool] = ContextVar("_is_opening", default=False)
"""Whether a worker is currently importing a received build."""


def check_not_imported_by_worker() -> None:
    """Reject a sweep that a worker makes while it imports `build`: it would start more workers."""
    if _is_opening.get():
        raise ControlProgramError(
            "sweep: a worker of this sweep made the same call again",
            found="workers import the module of build, and importing it makes this call",
            fix="put if __name__ == '__main__': above the call, or make it in a function",
        )


def _pickled(sent: tuple[object, ...]) -> bytes:
    cloudpickle: Any = import_module("cloudpickle")
    table: Any = cloudpickle.Pickler.dispatch_table
    files: dict[str, list[str]] = {}

    def with_file(code: CodeType) -> tuple[object, ...]:
        """Reduce code with its file, if the file's text is known."""
        make, arguments = table[CodeType](code)[:2]
        if code.co_filename not in files:
            linecache.checkcache(code.co_filename)
            files[code.co_filename] = linecache.getlines(code.co_filename)
        if not files[code.co_filename]:
            return make, arguments
        return _of_file, (make, arguments, code.co_filename)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table = ChainMap({CodeType: with_file, CellType: reduced_cell}, table)

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, type(Vertex)):
                name = copyreg.dispatch_table[type(Vertex)](value)
                if not isinstance(name, str) and _is_importable(name[1][0]):
                    return name  # of a template, by which it is made
                return value.__qualname__ if _is_importable(value) else reduced(value)
            made = super().reducer_override(value)
            if isinstance(value, FunctionType) and isinstance(made, tuple):
                return reduced_function(value, made)
            return made

    Pickler(file := io.BytesIO(), pickle.HIGHEST_PROTOCOL).dump(sent)
    texts = {name: lines for name, lines in files.items() if lines}
    return pickle.dumps((texts, file.getvalue()))


def _is_importable(cls: type[Vertex]) -> bool:
    if not is_importable(cls.__module__):
        return False
    found: Any = sys.modules[cls.__module__]
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _of_file(make: Callable[..., CodeType], arguments: tuple[Any, ...], file: str) -> CodeType:
    return make(*arguments).replace(co_filename=file)


@lru_cache(maxsize=1)
def _opened(contents: bytes) -> tuple[Callable[..., object], list[Any], SourceLocation]:
    texts, sent = pickle.loads(contents)  # noqa: S301
    for file, lines in texts.items():
        if linecache.getlines(file) != lines:  # the file may be elsewhere, or not be there
            linecache.cache[file] = sum(map(len, lines)), None, lines, file
    build, rules, at = pickle.loads(sent)  # noqa: S301
    return build, rules, at
