"""Members of Engine that only Poplar has, or whose arguments poplite's methods do not have.

    engine.readTensor("x", array)         fills the caller's array
    engine.loadAndRun(device, 1)          loads and runs

Each function becomes a method of `Engine` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Engine".
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from poplite.compile.compiler import Programs, compile_graph
from poplite.compile.options import OPTIONS
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    ProfilingDisabled,
    TensorCreationError,
)
from poplite.files import check_stream
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.option_flags import (
    OptionFlags,
    check_value,
    checked_options,
    checked_runtime_options,
)
from poplite.program.base import check_name
from poplite.simulator.engine_arguments import check_loadable, with_progress
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.types import unmasked

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.executable.executable import Executable
    from poplite.executable.parts import HostTensor
    from poplite.graph.graph import Graph
    from poplite.graph.space import Variable
    from poplite.machine.device import Device
    from poplite.report.report import Report
    from poplite.simulator.engine import Engine

    Array = npt.NDArray[Any]


Progress = Callable[[int, int], object]
"""Called with the completed amount of compilation, and the total."""


def compileGraph(
    graph: Graph,
    programs: Programs,
    options: Mapping[str, object] | bool | None = None,
    *rest: Any,
    progress: Progress | None = None,
    name: str = "",
) -> Executable:
    """C++ spelling of `compile_graph`, with the options as third argument.

    `compileGraph(graph, programs, [checkOptionFlags,] [options], [progress], [name])`; unknown
    options are rejected, or ignored if `checkOptionFlags` is false.

    Args:
        graph: the graph.
        programs: one program, a list of programs, or a dictionary of programs by name.
        options: options by name; or a bool, whether options are checked, followed by the options.
        *rest: the remaining arguments in Poplar's order.
        progress: called at the start and at the end as `progress(done, total)`.
        name: as in Poplar; it has no effect.

    Raises:
        PopliteError: for any fault that can be found before a run.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Sequence
    >>> compileGraph(Graph(), Sequence(), False, {"opt.enableInlining": "true"})
    <Executable 1 program of 0 steps>
    """
    are_checked = options if isinstance(options, bool) else True
    given: list[Any] = list(rest) if isinstance(options, bool) else [options, *rest]
    given += [None, progress, name][len(given) :]
    is_named = (progress is not None, not isinstance(name, str) or bool(name))
    twice = [
        is_given and value is not own
        for is_given, value, own in zip(is_named, given[1:], (progress, name), strict=False)
    ]
    if len(given) > 3 or any(twice):
        raise ControlProgramError(
            "compileGraph: the arguments after the third are not valid",
            found=f"they are {clipped(rest, 80)}, progress={clipped(progress)}, "
            f"name={clipped(name)}",
            fix="pass compileGraph(graph, programs, [checkOptionFlags,] [options], [progress], "
            "[name])",
        )
    chosen: Any = given[0]
    check_name(given[2], "compileGraph")
    checked_options(chosen, "compileGraph")
    if not are_checked:
        chosen = {key: value for key, value in (chosen or {}).items() if key in OPTIONS}
    with with_progress(given[1], "compileGraph"):
        return compile_graph(graph, programs, options=chosen)


def readTensor(
    engine: Engine,
    tensor: Tensor | str,
    array: Array | None = None,
    *end: object,
    replica: int | None = None,
) -> Array:
    """C++ spelling of `read`.

    Args:
        engine: the engine whose memory is read.
        tensor: as in `read`.
        array: an array with the number and dtype of the values, in any shape, which is filled and
            returned; without it a new array is returned.
        *end: rejected; C++ has a pointer past the last element here.
        replica: as in `read`.

    Raises:
        TensorCreationError: if the array has the wrong size or dtype, or is read-only.
        PopliteError: as for `read`.

    >>> import numpy as np
    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=0)
    >>> engine = pl.Engine(graph, pl.WriteUndef(x[:0]))
    >>> engine.readTensor("x", np.empty(3, np.int32))
    array([0, 0, 0], dtype=int32)
    """
    _check_place(tensor, "readTensor")
    _check_no_end(end, "engine.readTensor(handle, array)")
    return _filled(engine.read(tensor, replica=replica), array, "readTensor")


def writeTensor(
    engine: Engine,
    tensor: Tensor | str,
    array: npt.ArrayLike,
    *end: object,
    replica: int | None = None,
) -> None:
    """C++ spelling of `write`.

    Args:
        engine: the engine whose memory is written.
        tensor: as in `write`.
        array: as in `write`; it may be flat, in memory order, one replica after the other.
        *end: rejected; C++ has a pointer past the last element here.
        replica: as in `write`.

    Raises:
        PopliteError: as for `write`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=0)
    >>> engine = pl.Engine(graph, pl.WriteUndef(x[:0]))
    >>> engine.writeTensor("x", [1, 2, 3])
    >>> engine.read(x)
    array([1, 2, 3], dtype=int32)
    """
    _check_place(tensor, "writeTensor")
    _check_no_end(end, "engine.writeTensor(handle, array)")
    values: Any = array
    if isinstance(array, np.ndarray | list | tuple):
        values = _shaped(engine, tensor, array, 1 if replica is not None else None)
    engine.write(tensor, values, replica=replica)


def _shaped(
    engine: Engine, tensor: Tensor | str, array: npt.ArrayLike, replicas: int | None
) -> npt.ArrayLike:
    """Return a flat array of the right size in the tensor's shape, any other value unchanged."""
    place: Tensor | Variable | HostTensor | None = None
    if isinstance(tensor, Tensor):
        place = tensor
    elif (place := engine.executable.host_writes.get(tensor)) is None:
        graph = engine._source.graph
        found = [] if graph is None else graph.space.named(tensor)
        place = found[0] if len(found) == 1 else None
    try:
        values = np.asarray(unmasked(array, "engine.writeTensor"))
    except ValueError:  # rows of different lengths, which are rejected when they are written
        return array
    if place is None or values.ndim != 1:
        return array
    each = engine.executable.layout.replicas if replicas is None else replicas
    if values.size == math.prod(place.shape):
        return values.reshape(place.shape)
    is_each = values.size == each * math.prod(place.shape)
    return values.reshape(each, *place.shape) if is_each else array


def copyFromRemoteBuffer(
    engine: Engine,
    handle: str,
    array: Any = None,  # or the row, as in copy_from_remote_buffer
    row: int = 0,
    replica: int = 0,
) -> Array:
    """C++ spelling of `copy_from_remote_buffer`.

    `copyFromRemoteBuffer(handle, array, row, replica)`; without an array
    `copyFromRemoteBuffer(handle, row)`.

    Args:
        engine: the engine whose remote buffers are read.
        handle: as in `copy_from_remote_buffer`.
        array: an array, which is filled with the row and returned; or the number of the row.
        row: the number of the row.
        replica: the replica whose row is read.

    Raises:
        TensorCreationError: if the array has the wrong size or dtype, or is read-only.
        PopliteError: as for `copy_from_remote_buffer`.

    >>> import numpy as np
    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=0)
    >>> rows = graph.add_remote_buffer("rows", pl.INT, 3, repeats=4)
    >>> engine = pl.Engine(graph, pl.Copy(rows, x))
    >>> engine.copyFromRemoteBuffer("rows", np.empty(3, np.int32), 1)
    array([0, 0, 0], dtype=int32)
    """
    number = None if isinstance(array, np.ndarray) else integer_or_none(array)
    if number is not None:
        array, row, replica = None, number, row
    read = engine.copy_from_remote_buffer(handle, row, replica)
    return _filled(read, array, "copyFromRemoteBuffer")


def _check_no_end(end: tuple[object, ...], call: str) -> None:
    """Reject an argument after an array, where C++ has a pointer past its last element."""
    if end:
        raise ElementTypeError(
            f"{call.partition('(')[0]}: the array must be the last argument; found "
            f"{clipped(end[0], 60)}",
            found="C++ has a pointer to the end; a NumPy array has a size",
            fix=f"pass {call}",
        )


def _check_place(tensor: object, call: str) -> None:
    """Reject anything but a tensor or a name."""
    if not isinstance(tensor, Tensor | str):
        raise ElementTypeError(
            f"{call}: {clipped(tensor, 60)} is neither a tensor nor a handle",
            found=of_type(tensor),
            fix=f'pass engine.{call}("handle", array)',
        )


def _filled(values: Array, array: Array | None, call: str) -> Array:
    """Copy values to the caller's array, and return it."""
    if array is None:
        return values
    if not isinstance(array, np.ndarray):
        raise ElementTypeError(
            f"{call}: {clipped(array, 60)} is not an array",
            found=of_type(array),
            fix=f"pass {call}(handle, np.empty({values.shape}, np.{values.dtype}))",
        )
    if array.size != values.size or array.dtype != values.dtype:
        raise TensorCreationError(
            f"{call}: the array must have {amount(values.size, 'element')} of {values.dtype}; "
            f"found {array.size:,} of {array.dtype}",
            fix=f"pass np.empty({values.shape}, np.{values.dtype})",
        )
    if not array.flags.writeable:
        raise TensorCreationError(
            f"{call}: the array is read-only, so values cannot be stored in it",
            fix=f"pass np.empty({values.shape}, np.{values.dtype})",
        )
    array[...] = values.reshape(array.shape)
    return array


def prepare(
    engine: Engine, device: object = None, runtime_options: Mapping[str, object] | None = None
) -> None:
    """Check the device and options; no further work is needed, since an engine is always ready.

    Args:
        engine: the engine to load.
        device: as in `load`.
        runtime_options: as in `run`.

    Raises:
        InvalidMachineModel: as for `load`.
        InvalidOption: for a run-time option that Poplar does not have.

    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).prepare()
    """
    checked_runtime_options(runtime_options)
    if device is not None:
        runs_on = engine._arguments["device"]
        check_loadable(device, engine.executable, runs_on, "engine.prepare")


def deploy(engine: Engine) -> None:
    """Load the program: in Poplar the second half of `load`, here the whole of it."""
    engine.load()


def loadAndRun(engine: Engine, device: Device | None = None, program: str | int = 0) -> None:
    """Load an engine, on an attached device for the machine, and run a program.

    Args:
        engine: the loaded engine.
        device: as in `load`.
        program: as in `run`.

    Raises:
        PopliteError: as for `load` and `run`.

    >>> import poplite as pl
    >>> device = pl.IPUModel().createDevice()
    >>> _ = device.attach()
    >>> engine = pl.Engine(pl.Graph(device), pl.Program())
    >>> engine.loadAndRun(device)
    """
    engine.load(device)
    engine.run(program)


def getEngineOptions(engine: Engine) -> OptionFlags:
    """Return the effective options, set by calls, the executable or the environment.

    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program(), {"debug.instrument": "false"}).getEngineOptions()
    OptionFlags({'debug.instrument': 'false'})
    """
    return OptionFlags(engine.options)


def getTimeStamp(engine: Engine) -> float:
    """Return a point in time, for `reportTiming`, in seconds."""
    return time.perf_counter()


def reportTiming(engine: Engine, start: Any, end: Any) -> str:
    """Return the time from one `getTimeStamp` to another.

    Args:
        engine: any engine.
        start: the earlier time stamp.
        end: the later time stamp.

    Raises:
        ElementTypeError: for anything but numbers.

    >>> reportTiming(None, 1.0, 1.25)
    '0.250000 s'
    """
    for name, value in (("start", start), ("end", end)):
        is_huge = isinstance(value, int) and abs(value) > sys.float_info.max
        if is_huge or not isinstance(value, Real):
            raise ElementTypeError(
                f"reportTiming: {name} must be a time in seconds; found {clipped(value)}",
                found=of_type(value),
                fix="pass engine.reportTiming(engine.getTimeStamp(), engine.getTimeStamp())",
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
        engine: the engine whose report is written.
        stream: the stream to write to; by default standard output.
        options: Poplar's options, by name; they have no effect.

    Raises:
        InvalidOption: for an option that Poplar does not have, or a value other than true and
            false.
        ElementTypeError: if `stream` is not a text file.

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


def enableExecutionProfiling(engine: Engine) -> None:
    """Count runs from now on, after `disableExecutionProfiling`; this is the initial state.

    Raises:
        ProfilingDisabled: if cycles are not modelled.

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
    """Exclude runs from reports from now on, until `enableExecutionProfiling`.

    Args:
        engine: the engine whose reports change.

    Raises:
        ProfilingDisabled: if cycles are not modelled.

    >>> import poplite as pl
    >>> engine = pl.Engine(pl.Graph(), pl.Program())
    >>> engine.disableExecutionProfiling()
    >>> engine.run()
    >>> engine.report().runs
    0
    """
    engine._profiled_runs.disable(_profiled(engine, "disableExecutionProfiling"))


def resetExecutionProfile(engine: Engine) -> None:
    """Count runs from now on: earlier runs are not in later reports.

    Args:
        engine: the engine whose reports change.

    Raises:
        ProfilingDisabled: if cycles are not modelled.

    >>> import poplite as pl
    >>> engine = pl.Engine(pl.Graph(), pl.Program())
    >>> engine.run()
    >>> engine.resetExecutionProfile()
    >>> engine.report().runs
    0
    """
    engine._profiled_runs.reset(_profiled(engine, "resetExecutionProfile"))


def _profiled(engine: Engine, call: str) -> Report:
    """Return the report of all runs, or raise if cycles are not modelled."""
    if engine.executable.memory is None:
        raise ProfilingDisabled(
            f"engine.{call}: cycles are not modelled",
            found="the option debug.instrument is False",
            fix="leave out that option",
        )
    return engine._loaded.report(engine._options)


def setPrintStream(engine: Engine, stream: TextIO | None) -> None:
    """C++ spelling of setting `print_stream`.

    Args:
        engine: the engine whose programs print.
        stream: the stream that PrintTensor writes to; None for standard error.

    Raises:
        ElementTypeError: if `stream` is not a text file.

    >>> import sys
    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).setPrintStream(sys.stdout)
    """
    _print_to(engine, stream, "engine.setPrintStream")


def setPrintTensorStream(engine: Engine, stream: TextIO | None) -> None:
    """C++ spelling of setting `print_stream`, like `setPrintStream`.

    Args:
        engine: the engine whose programs print.
        stream: the stream that PrintTensor writes to; None for standard error.

    Raises:
        ElementTypeError: if `stream` is not a text file.

    >>> import sys
    >>> import poplite as pl
    >>> pl.Engine(pl.Graph(), pl.Program()).setPrintTensorStream(sys.stdout)
    """
    _print_to(engine, stream, "engine.setPrintTensorStream")


def _print_to(engine: Engine, stream: TextIO | None, call: str) -> None:
    if stream is not None:
        check_stream(stream, call)
    engine.print_stream = stream
