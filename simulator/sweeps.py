"""Sweeps measure many mappings or parameters of one program in several processes.

    build(split=1) -> graph, program       here, so that workers find compiled code in the cache
    build(split=1) -> graph, program       worker 1
    build(split=2) -> graph, program       worker 2
    build(split=3) -> graph, program       worker 1

Each worker makes the graph itself, since graphs are never sent, and returns a row of numbers.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pickle import PicklingError
from typing import Any, Protocol

import numpy as np

from poplite.errors import ControlProgramError, DeviceRuntimeError, ElementTypeError
from poplite.graph.graph import Graph
from poplite.report.diff import report_since
from poplite.report.report import Report
from poplite.report.sweep import BYTES, CYCLES, ERROR, MEASURES, Scalar, Sweep
from poplite.simulator.engine import Engine
from poplite.simulator.running import shown
from poplite.simulator.sent_functions import (
    Received,
    Sent,
    WarningThere,
    check_not_imported_by_worker,
    gathered,
    tell,
)
from poplite.source import SourceLocation
from poplite.text import clipped, of_type

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
        if name in (*MEASURES, ERROR):
            raise ControlProgramError(
                f"sweep: parameter '{name}' has the name of a measure",
                found=f"the measures are {', '.join((*MEASURES, ERROR))}",
                fix=f"rename it, for example to {name}_",
            )
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
