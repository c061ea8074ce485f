"""Members of Engine that only Poplar has: loading in two halves, times, profiles, where is printed.

Each function becomes a method of `Engine` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Engine".
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TextIO

from poplite.errors import ElementTypeError, ProfilingDisabled
from poplite.files import check_stream
from poplite.machine.option_flags import (
    OptionFlags,
    check_value,
    checked_options,
    checked_runtime_options,
)
from poplite.simulator.engine_arguments import check_loadable
from poplite.source import here
from poplite.text import clipped, of_type

if TYPE_CHECKING:
    from poplite.machine.device import Device
    from poplite.report.report import Report
    from poplite.simulator.engine import Engine


def prepare(
    engine: Engine, device: object = None, runtime_options: Mapping[str, object] | None = None
) -> None:
    """Check the device and options; an engine is ready when it is made, so nothing else is left.

    Args:
        engine: what is to be loaded.
        device: as in `load`.
        runtime_options: as in `run`.

    Raises:
        InvalidMachineModel: as `load`.
        InvalidOption: for an option of a run that Poplar does not have.

    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).prepare()
    """
    checked_runtime_options(runtime_options)
    if device is not None:
        runs_on = engine._arguments["device"]
        check_loadable(device, engine.executable, runs_on, "engine.prepare")


def deploy(engine: Engine) -> None:
    """Load the program: the second half of `load`, and all of it here."""
    engine.load()


def loadAndRun(engine: Engine, device: Device | None = None, program: str | int = 0) -> None:
    """Begin anew, on an attached device of the machine, and run a program.

    Args:
        engine: what is loaded.
        device: as in `load`.
        program: as in `run`.

    Raises:
        PopliteError: as `load` and `run`.

    >>> import poplite as pl
    >>> device = pl.IPUModel().createDevice()
    >>> _ = device.attach()
    >>> engine = pl.Engine(pl.Graph(device), pl.Program())
    >>> engine.loadAndRun(device)
    """
    engine.load(device)
    engine.run(program)


def getEngineOptions(engine: Engine) -> OptionFlags:
    """Return the options that hold, whichever call, executable or environment set them.

    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program(), {"debug.instrument": "false"}).getEngineOptions()
    OptionFlags({'debug.instrument': 'false'})
    """
    return OptionFlags(engine.options)


def getTimeStamp(engine: Engine) -> float:
    """Return a point in time, for `reportTiming`, in seconds."""
    return time.perf_counter()


def reportTiming(engine: Engine, start: Any, end: Any) -> str:
    """Return how long it was from one `getTimeStamp` to another.

    Args:
        engine: any engine.
        start: the earlier one.
        end: the later one.

    Raises:
        ElementTypeError: for anything but numbers.

    >>> reportTiming(None, 1.0, 1.25)
    '0.250000 s'
    """
    for name, value in (("start", start), ("end", end)):
        is_huge = isinstance(value, int) and abs(value) > sys.float_info.max
        if is_huge or not isinstance(value, Real):
            raise ElementTypeError(
                f"reportTiming: {name} {clipped(value)} is no time in seconds",
                at=here(),
                found=of_type(value),
                fix="engine.reportTiming(engine.getTimeStamp(), engine.getTimeStamp())",
            )
    return f"{end - start:.6f} s"


_SUMMARY_OPTIONS = (
    "showVarStorage",
    "showExecutionSteps",
    "showOptimizations",
    "showPerIpuMemoryUsage",
    "colours",
)


def printProfileSummary(
    engine: Engine, stream: TextIO | None = None, options: Mapping[str, object] | None = None
) -> None:
    """Write the report as text.

    Args:
        engine: whose report it is.
        stream: where it is written; by default standard output.
        options: Poplar's, by name; none has an effect.

    Raises:
        InvalidOption: for an option that Poplar does not have, and values but true and false.
        ElementTypeError: for anything but a file of text.

    >>> import io
    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).printProfileSummary(file := io.StringIO())
    >>> file.getvalue().splitlines()[0]
    'Summary:'
    """
    checked_options(options, "printProfileSummary", _SUMMARY_OPTIONS)
    for name, value in (options or {}).items():
        check_value(f"printProfileSummary: option {name!r}", value, ("true", "false"))
    if stream is not None:
        check_stream(stream, "engine.printProfileSummary")
    print(engine.report(), file=sys.stdout if stream is None else stream)


def getReport(engine: Engine, report_execution: bool = True) -> Report:
    """C++ spelling of `report`, which always says what ran as well.

    Args:
        engine: whose report it is.
        report_execution: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: for anything but a truth value.

    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).getReport(False).runs
    0
    """
    if not isinstance(report_execution, bool):
        raise ElementTypeError(
            f"getReport: report_execution is {clipped(report_execution)}, not true or false",
            at=here(),
            found=of_type(report_execution),
            fix="engine.getReport()",
        )
    return engine.report()


def enableExecutionProfiling(engine: Engine) -> None:
    """Count what runs from here on, after `disableExecutionProfiling`; engines begin so.

    Raises:
        ProfilingDisabled: when cycles are not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=1)
    >>> engine = pl.Engine(graph, pl.Copy(x, graph.clone(x)))
    >>> engine.disableExecutionProfiling()
    >>> engine.run()
    >>> engine.enableExecutionProfiling()
    >>> engine.run()
    >>> engine.report().execution.runs
    1
    """
    engine._profiled_runs.enable(_profiled(engine, "enableExecutionProfiling"))


def disableExecutionProfiling(engine: Engine) -> None:
    """Leave out of reports what runs from here on, until `enableExecutionProfiling`.

    Args:
        engine: whose reports are meant.

    Raises:
        ProfilingDisabled: when cycles are not modelled.

    >>> import poplite as pl
    >>> engine = pl.Engine(pl.Graph(), pl.Program())
    >>> engine.disableExecutionProfiling()
    >>> engine.run()
    >>> engine.report().runs
    0
    """
    engine._profiled_runs.disable(_profiled(engine, "disableExecutionProfiling"))


def resetExecutionProfile(engine: Engine) -> None:
    """Count what runs from here on: what ran before is not in later reports.

    Args:
        engine: whose reports are meant.

    Raises:
        ProfilingDisabled: when cycles are not modelled.

    >>> import poplite as pl
    >>> engine = pl.Engine(pl.Graph(), pl.Program())
    >>> engine.run()
    >>> engine.resetExecutionProfile()
    >>> engine.report().runs
    0
    """
    engine._profiled_runs.reset(_profiled(engine, "resetExecutionProfile"))


def _profiled(engine: Engine, call: str) -> Report:
    """Return the report of all runs, or refuse to count what is not modelled."""
    if engine.executable.memory is None:
        raise ProfilingDisabled(
            f"engine.{call}: cycles are not modelled",
            at=here(),
            found="the option debug.instrument is False",
            fix="leave that option out",
        )
    return engine._loaded.report(engine._options)


def setPrintStream(engine: Engine, stream: TextIO | None) -> None:
    """C++ spelling of setting `print_stream`.

    Args:
        engine: whose programs print.
        stream: where PrintTensor writes; None is standard error.

    Raises:
        ElementTypeError: for anything but a file of text.

    >>> import sys
    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).setPrintStream(sys.stdout)
    """
    _print_to(engine, stream, "engine.setPrintStream")


def setPrintTensorStream(engine: Engine, stream: TextIO | None) -> None:
    """C++ spelling of setting `print_stream`, as `setPrintStream`.

    Args:
        engine: whose programs print.
        stream: where PrintTensor writes; None is standard error.

    Raises:
        ElementTypeError: for anything but a file of text.

    >>> import sys
    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).setPrintTensorStream(sys.stdout)
    """
    _print_to(engine, stream, "engine.setPrintTensorStream")


def _print_to(engine: Engine, stream: TextIO | None, call: str) -> None:
    if stream is not None:
        check_stream(stream, call)
    engine.print_stream = stream
