"""Many mappings or parameters of one program, measured one by one in several processes.

    build(split=1) -> graph, program       here, so that others find compiled code in the cache
    build(split=1) -> graph, program       worker 1
    build(split=2) -> graph, program       worker 2
    build(split=3) -> graph, program       worker 1

A worker makes the graph itself, as graphs are never sent, and returns a row of numbers.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from functools import partial
from importlib import import_module
from pickle import PicklingError
from types import CellType, FunctionType, MethodType
from typing import Any, Protocol

import numpy as np

from poplite.errors import ControlProgramError, DeviceRuntimeError, ElementTypeError
from poplite.graph.graph import Graph
from poplite.report.diff import report_since
from poplite.report.report import Report
from poplite.report.sweep import ERROR, MEASURES, Scalar, Sweep
from poplite.simulator.engine import Engine
from poplite.simulator.progress import shown
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.vertex.compute.parse.source_text import nested
from poplite.vertex.vertex import Vertex

Point = dict[str, Scalar]
Row = dict[str, Any]
Grid = Mapping[str, Sequence[Scalar]] | Sequence[Mapping[str, Scalar]]

LAUNCHERS = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"
"""Variables in which `mpiexec` tells a process how many ranks there are."""


class Client(Protocol):
    """What runs functions elsewhere: a dask client, or an executor of `concurrent.futures`."""

    def submit(self, function: Callable[..., Row], /, *arguments: Any) -> Any:
        """Run a function with some arguments; return what has its `result()`."""


def sweep(
    build: Callable[..., object],
    grid: Grid,
    *,
    workers: int | Client = 1,
    progress: bool = False,
) -> Sweep:
    """Build, compile and run a program at each point of a grid, and return what each took.

    The first point runs once more before all others, in this process, which fills the cache of
    compiled code and is not measured; with several workers, all points then run in processes of
    one thread. A point that fails has a row with its message.

    Args:
        build: takes the parameters of a point by name, and returns a graph and its programs (what
            follows in the tuple is left alone), or an engine, of which what it has run before is
            not counted. All programs run once, in order. With several workers it is sent to them:
            it may be of a script or a notebook, but vertex classes are of modules.
        grid: the values of each parameter, for all their combinations, of which the last changes
            fastest; or a list of points. Values are numbers and texts.
        workers: how many processes, which takes `pip install 'poplite[sweep]'`; 1 runs all here. A
            dask client, or another object with `submit`, runs points wherever it does.
        progress: show on standard error how many points are done.

    Returns:
        Arrays by name, in the order of the grid; `to_pandas()` makes a data frame of them.

    Raises:
        ElementTypeError: for a grid, a value, a `build` or `workers` of another kind.
        ControlProgramError: for a grid without points, parameters that `build` does not take or
            that are called like a measure, for a vertex class that cannot be sent to workers, and
            on several ranks of an MPI job.
        DeviceRuntimeError: where joblib is missing, `build` holds what cannot be sent, such as a
            lock, or a worker ended without a result.

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
            f"sweep: build {clipped(build)} is no function",
            at=here(),
            found=of_type(build),
            fix="def build(split): ...; return graph, program",
        )
    points = _points(grid)
    _check_parameters(build, points[0])
    measure = _measuring(build, workers)
    with shown("sweep", "points", len(points), wanted=progress) as bar:
        measured(build, points[0])
        rows: list[Row] = []
        for row in measure(points):
            rows.append(row)
            bar.update(lambda: len(rows))
    return Sweep(tuple(points[0]), rows)


def _check_alone() -> None:
    """Refuse to start processes from the ranks of a job."""
    ranks = max(
        (int(n) for name in LAUNCHERS if (n := os.environ.get(name, "")).isdigit()), default=1
    )
    module = sys.modules.get("mpi4py.MPI")
    if module is not None and module.Is_initialized() and not module.Is_finalized():
        ranks = max(ranks, module.COMM_WORLD.Get_size())
    if ranks > 1:
        raise ControlProgramError(
            f"sweep: this is one of {ranks:,} ranks of an MPI job, and each would do all of it",
            at=here(),
            fix="run the script without mpiexec; a sweep starts processes of its own",
        )


def _points(grid: Any) -> list[Point]:
    """Return the points of a grid, or refuse what is none."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not hasattr(values, "__iter__"):
                raise ElementTypeError(
                    f"sweep: parameter {clipped(name)} has {clipped(values)}, which is no list",
                    at=here(),
                    found=of_type(values),
                    fix=f"{{{name!r}: [{clipped(values)}]}}",
                )
        combinations = itertools.product(*grid.values())
        points = [dict(zip(grid, values, strict=True)) for values in combinations]
    elif isinstance(grid, Sequence) and all(isinstance(point, Mapping) for point in grid):
        points = [dict(point) for point in grid]
    else:
        raise ElementTypeError(
            f"sweep: grid {clipped(grid)} is no grid",
            at=here(),
            found=of_type(grid),
            fix="{'split': range(1, 41)}, or a list of points [{'split': 1}, ...]",
        )
    if not points or not points[0]:
        raise ControlProgramError(
            "sweep: the grid has no points", at=here(), fix="sweep(build, {'split': range(1, 41)})"
        )
    first = list(points[0])
    for name in first:
        if not isinstance(name, str):
            raise ElementTypeError(
                f"sweep: parameter {clipped(name)} is no name",
                at=here(),
                found=of_type(name),
                fix="the names of the parameters of build: {'split': range(1, 41)}",
            )
    for point in points:
        if list(point) != first:
            raise ControlProgramError(
                f"sweep: point {clipped(point)} has other parameters than the first one",
                at=here(),
                found=f"those of the first: {', '.join(map(str, first))}",
                fix="the same parameters in the same order for all points",
            )
    return [{name: _scalar(name, value) for name, value in point.items()} for point in points]


def _scalar(name: str, value: Any) -> Scalar:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | int | float):
        return plain
    raise ElementTypeError(
        f"sweep: parameter '{name}' has {clipped(value)}, which is neither number nor text",
        at=here(),
        found=of_type(value),
        fix="name each, and let build look the name up in a dictionary",
    )


def _check_parameters(build: Callable[..., object], point: Point) -> None:
    for name in point:
        if name in (*MEASURES, ERROR):
            raise ControlProgramError(
                f"sweep: parameter '{name}' is called like what is measured",
                at=here(),
                found=f"measured are {', '.join((*MEASURES, ERROR))}",
                fix=f"{name}_ or another name",
            )
    try:
        inspect.signature(build).bind(**point)
    except TypeError as error:
        raise ControlProgramError(
            f"sweep: build does not take the parameters of the grid: {error}",
            at=here(),
            found=f"parameters: {', '.join(point)}",
            fix=f"def build({', '.join(point)}): ...",
        ) from error
    except ValueError:  # a function without a signature: calling it tells
        pass


def _measuring(
    build: Callable[..., object], workers: Any
) -> Callable[[Sequence[Point]], Iterator[Row]]:
    """Return what yields the rows of points, in order, as they become known."""
    if callable(getattr(workers, "submit", None)):

        def by_client(points: Sequence[Point]) -> Iterator[Row]:
            waiting = [workers.submit(measured, build, point) for point in points]
            return _collected(each.result() for each in waiting)

        return by_client
    if type(workers) is not int or workers < 1:
        raise ElementTypeError(
            f"sweep: workers={clipped(workers)} is no number of processes",
            at=here(),
            found=of_type(workers),
            fix="workers=2, or a dask client",
        )
    if workers == 1:
        return lambda points: (measured(build, point) for point in points)
    try:
        joblib = import_module("joblib")
    except ImportError as error:
        raise DeviceRuntimeError(
            f"sweep: {workers:,} workers take joblib, which is not installed",
            at=here(),
            fix="pip install 'poplite[sweep]'; workers=1 runs all points in this process",
        ) from error
    _check_sent(build)

    def by_processes(points: Sequence[Point]) -> Iterator[Row]:
        # One thread for each: as many as processors for all of them would wait for each other.
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(n_jobs=workers, return_as="generator")
            return _collected(parallel(joblib.delayed(measured)(build, point) for point in points))

    return by_processes


def _check_sent(build: object) -> None:
    """Refuse vertex classes that workers cannot import: functions are sent without their text."""
    seen: set[int] = set()
    waiting = [build]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or _is_importable(each):
            continue
        seen.add(id(each))
        if isinstance(each, type) and issubclass(each, Vertex):
            raise ControlProgramError(
                f"sweep: vertex class '{each.__name__}' of the script cannot be sent to workers",
                at=here(),
                found=f"class {each.__name__} of module '{each.__module__}' ({each.location}), "
                "which they do not import",
                fix="put it in a module, and import it from there; workers=1 runs all here",
            )
        waiting += _used_by(each)


def _is_importable(value: object) -> bool:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(name, str) or module in (None, "__main__"):
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value or "[" in name  # of a template, which is looked at where it is named


def _used_by(value: Any) -> list[object]:
    """Return what is sent with a value."""
    if isinstance(value, FunctionType):
        codes = value.__code__, *nested(value.__code__)
        names = {name for code in codes for name in code.co_names}
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        known = [value.__globals__[name] for name in names if name in value.__globals__]
        return [*known, *cells, *(value.__defaults__ or ())]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, type):
        return [*value.__bases__, *vars(value).values()]
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    own = type(value)
    return [] if _is_importable(own) else [own, *getattr(value, "__dict__", {}).values()]


def _collected(rows: Iterator[Row]) -> Iterator[Row]:
    try:
        yield from rows
    except PicklingError as error:
        raise DeviceRuntimeError(
            "sweep: build cannot be sent to workers",
            at=here(),
            found=str(error.__cause__ or error).strip('" \n').rpartition("\n")[2],
            fix="a build that opens by itself what it needs of files, locks and processes",
        ) from error
    except BrokenExecutor as error:
        raise DeviceRuntimeError(
            "sweep: a worker ended without a result",
            at=here(),
            found=str(error).partition("\n")[0],
            fix="fewer workers, where memory was short; a build of the script itself, or of a "
            "module that other processes can import",
        ) from error


def measured(build: Callable[..., object], point: Point) -> Row:
    """Return the row of a point; with the message of what it raised, where it did."""
    try:
        return {**point, **_measures(build, point), ERROR: ""}
    except (Exception, SystemExit) as error:  # the row tells
        return {**point, ERROR: f"{type(error).__name__}: {error}"}


def _measures(build: Callable[..., object], point: Point) -> Row:
    begin = time.perf_counter()
    made: Any = build(**point)
    built = time.perf_counter()
    seconds = {"build_seconds": built - begin}
    before: Report | None = None
    if isinstance(made, Engine):  # which may have run, and of which nobody knows how long it took
        before = made.report()
    elif isinstance(made, tuple) and len(made) > 1 and isinstance(made[0], Graph):
        made = Engine(*made[:2])
        seconds["compile_seconds"] = time.perf_counter() - built
    else:
        raise ElementTypeError(
            f"sweep: build returned {clipped(made)}",
            found=of_type(made),
            fix="return graph, program; or an engine",
        )
    compiled = time.perf_counter()
    for program in made.executable.programs:
        made.run(program)
    seconds["run_seconds"] = time.perf_counter() - compiled
    report = made.report()
    return _modelled(report if before is None else report_since(report, before)) | seconds


def _modelled(report: Report) -> Row:
    """Return the cycles and bytes of a report; nothing where they are not modelled."""
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
