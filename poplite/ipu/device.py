"""An IPU, or the SDK's model of one, as the `device` of an engine.

An engine uses a device as follows::

    tables and codelets, written and compiled      once, when the engine is made
    start                                          the device builds and compiles its graph
    run, read, write                               commands; streams are served while programs run

A process of its own drives the device. The protocol to it::

    Python, its file 3      the process, its file 4
    start                   ready 0.2 41.7          seconds to build the graph, to compile it
    run main                fetch in                Python fills the block of a stream, says "ok"
                            sink out                Python reads the block, says "ok" or "stop"
                            call sort               Python calls a function, says "ok" or "stop"
                            ok 81250 0.0004         cycles, seconds
    read variable:x         ok                      the values are in the shared file
    run mian                error symbol_error 15   followed by a text of 15 bytes

Lines are sent through separate pipes, since libraries write to standard output. The standard output
and standard error of the process are recorded, and their last part is shown if the process dies.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import signal
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from poplite import errors
from poplite.compile.options import EngineOptions
from poplite.errors import (
    Absent,
    ControlProgramError,
    DeviceRuntimeError,
    GraphConnectionError,
    InvalidOption,
)
from poplite.executable.executable import Executable
from poplite.executable.parts import Action, HostFunctionCall, Transfer
from poplite.executable.program_trees import planned_counts, program_trees
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.ipu.building import Sdk, Toolchain, find_sdk
from poplite.ipu.table_columns import Place as Shared
from poplite.ipu.tables import Tables, tables_of
from poplite.machine.device import Device as PoplarDevice
from poplite.machine.target import Target
from poplite.report.execution import Measured
from poplite.report.report import Report
from poplite.simulator.accounts import Accounts
from poplite.simulator.compiled_program import program_name
from poplite.simulator.engine_arguments import LoadedPrograms, Setup, Source, check_root
from poplite.simulator.reporting import report_of
from poplite.simulator.run.arena import Arena, Bytes, carry_memory
from poplite.simulator.run.host_actions import format_tensor
from poplite.simulator.run.host_links import HostLinks, describe
from poplite.simulator.run.host_tensors import ByMoves, ByView, HostTensors, TensorPlace
from poplite.simulator.running import Running, Stopped, busy, shown
from poplite.text import clipped
from poplite.view import View, storages

if TYPE_CHECKING:
    from poplite.report.trace import Trace


HALTED = "Stopped"
"""The name in the protocol for a run that ended at Python's request."""


class Halted(Exception):
    """Raised if Python ended a run; users never see this exception."""


BY_NAME = errors.BY_POPLAR_NAME | {"poplar_error": DeviceRuntimeError}
"""Classes by the names of Poplar's exceptions; all other names become `DeviceRuntimeError`."""


def error_of(name: str, text: str, command: str) -> Exception:
    """Return the error for an exception that the process reported for a command.

    >>> error = error_of("graph_memory_allocation_error", "tile 3: 9 KiB too much", "start")
    >>> type(error).__name__, error.what, error.where
    ('GraphMemoryAllocationError', 'tile 3: 9 KiB too much', "the device, command 'start'")
    """
    if name == HALTED:
        return Halted()
    what, _, more = text.strip().partition("\n")
    return BY_NAME.get(name, DeviceRuntimeError)(
        what or f"the device failed with {name}",
        where=f"the device, command '{command}'",
        found="\n".join([*([more.strip()] if more.strip() else []), f"Poplar calls it {name}"]),
    )


# -- the process -----------------------------------------------------------------------------------


COMMANDS, REPLIES = 3, 4
"""File descriptors of the pipes in the process."""

LAST_BYTES = 2_048
"""Number of bytes of a dead process's output that are shown."""

_HIGH = 16
"""Lowest file descriptor that cannot conflict with those in the process."""

Serve = Callable[[str, str], bool]
"""Takes "fetch" or "sink" and a stream, or "call" and a function; returns whether to continue."""


def _no_stream(verb: str, name: str) -> bool:
    raise DeviceRuntimeError(f"the device asks to {verb} '{name}', but no program runs")


class Child:
    """A running process that follows the protocol.

    Attributes:
        is_alive: whether it accepts commands.
    """

    def __init__(self, command: Sequence[str]) -> None:
        log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        reads, self._commands = _pipe()
        answers, writes = _pipe()
        said = _high(log.fileno())
        ends = [(reads, COMMANDS), (writes, REPLIES), (said, 1), (said, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in ends]
        self._replies = os.fdopen(answers, "rb")
        try:
            # A separate process group, so that Ctrl-C reaches only Python.
            self.pid = os.posix_spawn(
                command[0], list(command), os.environ, file_actions=actions, setpgroup=0
            )
        except OSError as error:
            os.close(self._commands)
            self._replies.close()
            log.close()
            raise DeviceRuntimeError(f"{command[0]} cannot be started: {error.strerror}") from error
        finally:
            for end in (reads, writes, said):
                os.close(end)
        self.is_alive = True
        self._end = weakref.finalize(self, _end, self.pid, self._commands, self._replies, log)

    def ask(self, line: str, serve: Serve = _no_stream) -> list[str]:
        """Send a command, serve its requests, and return the words of its reply.

        Raises the error that the process reports, and `Halted` if `serve` ended the run. An
        exception of `serve` ends the run first, and is then raised.
        """
        raised: BaseException | None = None
        try:
            self._send(line)
            while True:
                verb, _, rest = self._line().partition(" ")
                if verb in ("fetch", "sink", "call"):
                    goes_on = False
                    if raised is None:
                        try:
                            goes_on = serve(verb, rest)
                        except KeyboardInterrupt:
                            raise
                        except BaseException as error:
                            raised = error  # raised when the run has ended
                    self._send("ok" if goes_on else "stop")
                elif verb == "error":
                    name, _, count = rest.rpartition(" ")
                    text = self._text(int(count))
                    if raised is None:
                        raise error_of(name, text, line)
                    raise raised
                elif verb in ("ok", "ready"):
                    if raised is not None:  # the run ended before it got the request
                        raise raised
                    return rest.split()
                else:
                    raise self._broken(f"replied {verb!r:.80} to {line!r}")
        except KeyboardInterrupt:
            if self.is_alive:
                self.kill()  # its state is unknown
            raise

    def kill(self) -> str:
        """Kill the process, and return the end of its output."""
        self.is_alive = False
        os.kill(self.pid, signal.SIGKILL)
        return self._ended()[1]

    def end(self) -> None:
        """End the process, which is idle."""
        self.is_alive = False
        self._ended()

    def _send(self, line: str) -> None:
        try:
            data = f"{line}\n".encode()
            while data:
                data = data[os.write(self._commands, data) :]
        except BrokenPipeError:
            raise self._died(line) from None

    def _line(self) -> str:
        line = self._replies.readline()
        if not line.endswith(b"\n"):
            raise self._died("")
        return line[:-1].decode()

    def _text(self, count: int) -> str:
        text = self._replies.read(count)
        if len(text) < count:
            raise self._died("")
        return text.decode(errors="replace")

    def _died(self, line: str) -> DeviceRuntimeError:
        """Return the error for a process that has ended, with its status and last output."""
        self.is_alive = False
        status, said = self._ended()
        how = f"ended with status {os.waitstatus_to_exitcode(status)}"
        if os.WIFSIGNALED(status):
            how = f"was killed by signal {signal.Signals(os.WTERMSIG(status)).name}"
        return DeviceRuntimeError(
            f"the process that drives the device {how}",
            where=f"command '{line}'" if line else "",
            found=said,
            fix="call engine.load() to start it again with initial memory",
        )

    def _broken(self, what: str) -> DeviceRuntimeError:
        return DeviceRuntimeError(
            f"the process that drives the device {what}",
            found=self.kill(),
            fix="use the host program of this version of poplite, which follows the protocol",
        )

    def _ended(self) -> tuple[int, str]:
        """Wait for the end of the process, and return its status and last output."""
        ended: tuple[int, str] | None = self._end()
        assert ended is not None, "a process ends only once"
        return ended


def _pipe() -> tuple[int, int]:
    """Return both ends of a new pipe, with descriptors that the process does not use."""
    low = os.pipe()
    high = _high(low[0]), _high(low[1])
    for end in low:
        os.close(end)
    return high


def _high(number: int) -> int:
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH)


def _end(pid: int, commands: int, replies: IO[bytes], log: IO[bytes]) -> tuple[int, str]:
    """Close both pipes, which ends the process; return its status and the end of its output."""
    os.close(commands)
    replies.close()
    status = os.waitpid(pid, 0)[1]
    with log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - LAST_BYTES))
        text = log.read().decode(errors="replace").strip()
    return status, f"its last output:\n{text}" if text else "it wrote nothing"


Kind = Literal["hardware", "model"]

ARCHITECTURES = {"hardware": "ipu2", "model": "cpu"}
"""The target of codelets by kind of device; the IPU Model runs them on the host."""


class Device(PoplarDevice):
    """An IPU to run engines on, where Poplar's SDK is installed.

    Each engine has its own process, which drives the device and ends with the engine. Features that
    a device does not support are rejected when the engine is made. The authors have never tried
    this on hardware; see docs/ipu.md.

    Args:
        kind: "hardware" for the first free IPU, or "model" for the IPU Model of the SDK.
        arch: the architecture of codelets, as named by Poplar's compiler: "ipu2" (the default),
            "ipu21", or several separated by commas.
        sdk: the folder of the SDK; by default the folder in POPLAR_SDK_ENABLED, or the SDK whose
            `popc` is on PATH.

    Raises:
        DeviceRuntimeError: if there is no SDK.
        InvalidOption: for an unknown `kind`.

    >>> import poplite as pl
    >>> pl.ipu.Device(sdk="/nowhere")
    Traceback (most recent call last):
    ...
    poplite.errors.DeviceRuntimeError: there is no Poplar SDK in '/nowhere'...
    """

    def __init__(
        self,
        kind: Kind = "hardware",
        *,
        arch: str | None = None,
        sdk: str | os.PathLike[str] | Toolchain | None = None,
    ) -> None:
        if not isinstance(kind, str) or kind not in get_args(Kind):
            raise InvalidOption(
                f"Device: kind must be 'hardware' or 'model'; found {clipped(kind)}",
                fix="leave out kind for hardware",
            )
        self.kind, self.arch = kind, arch or ARCHITECTURES[kind]
        is_bow = kind == "hardware" and self.arch == "ipu21"
        super().__init__(Target(architecture="bow" if is_bow else "gc200"))
        if isinstance(sdk, str | os.PathLike):
            self._toolchain: Toolchain = Sdk.at(Path(sdk))
        else:
            self._toolchain = find_sdk() if sdk is None else sdk

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device; reject unsupported ones."""
        refused = {
            "checks='strict'": asked.checks == "strict",
            "interpret": bool(asked.interpret),
            "debug.nanOverflowMode=false": asked.nan_overflow is False,
        }
        for what, is_asked in refused.items():
            if is_asked:
                raise InvalidOption(
                    f"Engine: an IPU does not support {what}",
                    found="it runs compiled C++, which does not track which elements are written",
                    fix="leave out this option, or run the program on the simulator first",
                )
        return replace(asked, checks=asked.checks or "none")

    def load(self, source: Source, setup: Setup) -> OnDevice:
        """Load programs, so that they are ready to run."""
        return OnDevice(source, setup, self._toolchain, self.kind, self.arch)

    createVirtualDevice = Absent(
        "the first tiles of a device are those of a graph with fewer", "pl.Target(tiles=16)"
    )

    def __repr__(self) -> str:
        return f"<Device {self.kind}, {self.arch}>"


# -- the programs of an engine, run by a separate process ------------------------------------------


FORMS = {"hardware": "on an IPU", "model": "on the IPU Model"}


class OnDevice:
    """Programs on an IPU, or on the SDK's model of one."""

    def __init__(
        self, source: Source, setup: Setup, toolchain: Toolchain, kind: str, arch: str
    ) -> None:
        executable, graph = source.executable, _graph_of(source)
        self._kind, self._progress = kind, setup.progress
        self._in_use, self._running = Lock(), Running()
        self._tables = tables_of(
            graph,
            source.programs,
            float_mode=executable.float_modes[0],
            stops_outside=executable.checks == "fast",
        )
        folder = Path(tempfile.mkdtemp(prefix="poplite-ipu-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        setup.progress.note("compiling codelets")
        path = folder / "shared"
        self._command = toolchain.command(self._tables, folder, path, kind, arch)
        shared = _shared_file(path, self._tables.mapping_bytes)
        self._child = self._start()
        self._kept: Arena | None = None  # the memory, while another engine uses the device
        self._shared = shared
        self._memory = DeviceMemory(executable, graph, self._tables, shared, self._ask)
        self._connect_host(executable, works_ahead=setup.options.prefetch is not False)
        self._measuring = Measuring(executable, are_cycles_counted=kind == "hardware")

    def _start(self) -> Child:
        child = Child(self._command)
        self._progress.note("building the graph for the device")
        child.ask("start")
        return child

    def _connect_host(self, executable: Executable, *, works_ahead: bool) -> None:
        """Connect the user's arrays and callbacks to blocks of the shared file."""
        self._actions = [self._moved(action) for action in executable.actions]
        self._calls: list[Callable[[], object]] = [lambda: None] * len(self._actions)
        self._action_of = {
            key: number
            for number, action in enumerate(self._actions)
            if (key := _called(action)) is not None
        }
        self.links = HostLinks(
            self._actions,
            executable.programs,
            [self._shared],
            self._calls,
            lambda: self._where,
            works_ahead=works_ahead,
            is_strict=False,
            follows_rows=False,
        )
        self._where = ""

    def _moved(self, action: Action) -> Action:
        """Return an action whose block is at the place of its stream in the shared file.

        QUARTER elements are moved as bytes, since the metadata of the tensor are on the device.
        """
        if isinstance(action, HostFunctionCall):
            places = iter(self._tables.functions[action.handle])
            inputs, outputs = (
                tuple(replace(block, at=next(places).offset) for block in side)
                for side in (action.inputs, action.outputs)
            )
            return replace(action, inputs=inputs, outputs=outputs)
        if isinstance(action, Transfer):
            place = self._tables.streams[action.stream.handle]
            return replace(action, block=replace(action.block, at=place.offset), metadata=None)
        return action

    @property
    def form(self) -> str:
        """The form in which vertices run."""
        return FORMS[self._kind]

    # -- running -----------------------------------------------------------------------------------

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position."""
        name = program_name(program, self._tables.programs)
        if not self._in_use.acquire(blocking=False):
            raise ControlProgramError(
                f"engine.run({program!r}): the engine is already running",
                fix="wait for the first run, or make a second engine",
            )
        try:
            self.links.check_connected(name)
            self._running, self._where = Running(), f"program '{name}'"
            with shown(f"run {name!r}", "steps", None, wanted=progress) as bar:
                bar.note(self.form)
                cycles, seconds = self._child_alive().ask(f"run {name}", self._serve)
            self._measuring.add(name, int(cycles), float(seconds))
        except Halted:
            pass
        finally:
            self._in_use.release()

    def _serve(self, verb: str, name: str) -> bool:
        """Move a block of a stream or call a function; return whether the program continues."""
        try:
            self._running.watch()
            if verb != "call" and name in self._tables.prints:
                self._print(name)
            else:
                self._call(self._action_of[verb == "call", name])
            self._running.watch()
        except Stopped:
            return False
        return True

    def _call(self, number: int) -> None:
        try:
            self._calls[number]()
        except Exception as error:
            error.add_note(f"  at {self._where}, in {describe(self._actions[number])}")
            raise

    def _print(self, stream: str) -> None:
        program, place = self._tables.prints[stream], self._tables.streams[stream]
        block = self._shared[place.offset : place.offset + place.size_bytes]
        values = block.view(place.element_type.dtype).reshape(place.shape)
        text = format_tensor(program.title, values, program.format)
        print(text, file=self.links.print_stream or sys.stderr)

    def stop(self) -> None:
        """End the run when the program next moves a block of a stream."""
        self._running.stop()

    def check_idle(self, call: str) -> None:
        """Reject the user's `call` while a program runs."""
        if self._in_use.locked():
            raise busy(call)

    # -- memory ------------------------------------------------------------------------------------

    def load(self) -> None:
        """Restore memory and streams to their initial state."""
        self.check_idle("engine.load()")
        if self._child.is_alive:
            self._ask("reset")
            self._memory.load()
        else:
            self._child = self._start()
        self.links.reset()

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write host values to a tensor, a handle or a variable by name."""
        self.check_idle("engine.write")
        self._memory.write(tensor, array, replica)

    def read(
        self, tensor: object, replica: int | None, root: int | None = None
    ) -> npt.NDArray[Any]:
        """Return a copy of the values of a tensor, a handle or a variable by name."""
        self.check_idle("engine.read")
        check_root(root, 1)
        return self._memory.read(tensor, replica)

    def continue_from(self, other: LoadedPrograms) -> None:
        """Copy the memory of an engine of the same graph, on a device or on the simulator."""
        self._memory.carry(other.memory("Engine: state"))

    def memory(self, call: str) -> Arena:
        """Return the values of all variables, for the user's `call`."""
        self.check_idle(call)
        return self._kept or self._memory.fetch_all()

    def save_state(self, path: object) -> None:
        """Raise: only the device has the state, which cannot be saved."""
        raise _no_state_file("engine.save_state")

    def load_state(self, path: object) -> None:
        """Raise: only the device has the state, which cannot be restored."""
        raise _no_state_file("engine.load_state")

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """End the process, so that the device is free; restart it if the other engine fails."""
        self._kept = self._memory.fetch_all()
        self._child.end()
        try:
            yield
        except BaseException:
            self._child = self._start()
            self._memory.carry(self._kept)
            self._kept = None
            raise

    def _ask(self, command: str) -> object:
        return self._child_alive().ask(command)

    def _child_alive(self) -> Child:
        if self._child.is_alive:
            return self._child
        raise ControlProgramError(
            "the process that drives the device has ended, and its memory is lost",
            fix="call engine.load() to start it again with initial memory",
        )

    # -- reports -----------------------------------------------------------------------------------

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return the compilation, the model's estimate for the runs, and their measured times."""
        return self._measuring.report(options)

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Raise: the steps of a device cannot be recorded."""
        raise ControlProgramError(
            "engine.tracing: a device does not report its current step",
            fix="trace the same program on the simulator, or use the profiler of the SDK",
        )


def _called(action: Action) -> tuple[bool, str] | None:
    """Return whether an action calls a function, with the name of the function or stream."""
    match action:
        case Transfer(stream=stream):
            return False, stream.handle
        case HostFunctionCall(handle=handle):
            return True, handle
    return None


def _graph_of(source: Source) -> Graph:
    if source.graph is None:
        raise ControlProgramError(
            "Engine: a device needs a graph and programs; found an executable, which has neither",
            fix="pass Engine(graph, program, device=device)",
        )
    return source.graph


def _shared_file(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """Return a new file as memory that two processes share."""
    with path.open("w+b") as file:
        file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


def _no_state_file(call: str) -> ControlProgramError:
    return ControlProgramError(
        f"{call}: a device reports neither its random bits nor how often each step ran",
        fix="save and restore tensors by engine.read(x) and engine.write(x, values), or run on the "
        "simulator or ranks, which save the whole state",
    )


# -- the times of runs, with those of the simulator's model ----------------------------------------


class Measuring:
    """Counts runs of an executable's programs, and their cycles and times on a device."""

    def __init__(self, executable: Executable, *, are_cycles_counted: bool) -> None:
        self._executable, self._are_cycles_counted = executable, are_cycles_counted
        self._took: dict[str, list[tuple[int, float]]] = {}

    def add(self, program: str, cycles: int, seconds: float) -> None:
        """Add a run that reached its end."""
        self._took.setdefault(program, []).append((cycles, seconds))

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return a report with the model's costs of steps, multiplied by the runs of programs.

        Steps whose number of executions depends on data count as executed once per run.
        """
        trees, counts = program_trees(self._executable), {}
        decided: dict[str, bool] = {}
        for name, code in self._executable.programs.items():
            runs = len(self._took.get(name, ()))
            counts[name] = runs * planned_counts(code, trees[name]).astype(np.int64)
            decided[name] = any(node.count is None for node in trees[name].walk())
        accounts = Accounts(self._executable, counts)
        report = report_of(
            accounts,
            runs=sum(map(len, self._took.values())),
            runs_again=0,
            interpret=False,
            faster=(),
            options=options,
        )
        modelled = dict.fromkeys(counts, 0)
        for step in report.execution.steps:
            modelled[step.program_name] += step.cycles
        return replace(
            report,
            measured=tuple(
                Measured(
                    name,
                    len(took),
                    sum(cycles for cycles, _ in took) if self._are_cycles_counted else None,
                    sum(seconds for _, seconds in took),
                    None if decided[name] or not accounts.are_kept else modelled[name],
                )
                for name, took in self._took.items()
            ),
        )


# -- the host's reads and writes of a device's variables -------------------------------------------
# Python has no access to a device's memory. The bytes of each variable are moved as a whole through
# a file that both processes share, to and from an arena with the simulator's layout, in which views
# and handles are resolved::
#
#     engine.read(x[3:5])     read variable:x     shared file -> arena -> x[3:5]
#     engine.write(x[3], 7)   read variable:x     arena[x[3]] = 7     write variable:x


class DeviceMemory:
    """The variables of a device; `ask` sends a command, and `shared` is the shared file."""

    def __init__(
        self,
        executable: Executable,
        graph: Graph,
        tables: Tables,
        shared: Bytes,
        ask: Callable[[str], object],
    ) -> None:
        self._graph, self._tables, self._shared, self._ask = graph, tables, shared, ask
        self.arena = Arena(executable.layout)
        self._tensors = HostTensors(executable, graph, self.arena)

    def read(self, tensor: object, replica: int | None) -> npt.NDArray[Any]:
        """Return a copy of the values of a tensor, a handle or a variable by name."""
        access = self._tensors.to_read(tensor, replica)
        self._fetch(access.place, tensor)
        return self._tensors.read(access)

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write host values to a tensor, a handle or a variable by name."""
        access = self._tensors.to_write(tensor, replica)
        place = access.place
        if isinstance(place, ByMoves):
            self._tensors.write(access, array)
            self._put(f"handle:{tensor}", place.read(self.arena, 0))
            return
        variables = self._of_view(place.tensor.view)
        if place.tensor.num_elements < sum(each.num_elements for each in variables):
            self._fetch(place, tensor)  # other elements of the variables must not change
        else:
            self._fetch_metadata(place)
        self._tensors.write(access, array)
        for variable in variables:
            self._put_variable(variable)

    def load(self) -> None:
        """Reset all variables to their initial values."""
        self.arena.load()
        self._put_all()

    def carry(self, other: Arena) -> None:
        """Copy the variables of another arena of the same graph."""
        carry_memory(other, self.arena)
        self._put_all()

    def fetch_all(self) -> Arena:
        """Return the arena, with all variables updated from the device."""
        for variable in self._hosted():
            self._fetch_variable(variable)
        return self.arena

    # ----------------------------------------------------------------------------------------

    def _hosted(self) -> list[Variable]:
        return [each for each in self._graph.variables if _handle(each) in self._tables.writes]

    def _put_all(self) -> None:
        for variable in self._hosted():
            self._put_variable(variable)

    def _of_view(self, view: View) -> list[Variable]:
        """Return the variables whose elements a tensor contains."""
        return [self._graph.variable_of(storage) for storage in storages(view)]

    def _fetch(self, place: TensorPlace, tensor: object) -> None:
        """Update the variables of a tensor that the user named."""
        if isinstance(place, ByMoves):
            place.write(self.arena, self._get(f"handle:{tensor}", self._tables.reads), 0)
            return
        self._fetch_metadata(place)
        self._fetch_view(place.tensor.view)

    def _fetch_metadata(self, place: ByView) -> None:
        """Update the metadata of QUARTER."""
        if place.tensor.metadata is not None:
            self._fetch_view(place.tensor.metadata.view)

    def _fetch_view(self, view: View) -> None:
        for variable in self._of_view(view):
            if not variable.constant:
                self._fetch_variable(variable)

    def _fetch_variable(self, variable: Variable) -> None:
        values = self._get(_handle(variable), self._tables.reads, variable)
        self._bytes_of(variable)[:] = values.reshape(-1).view(np.uint8)

    def _put_variable(self, variable: Variable) -> None:
        self._put(_handle(variable), self._bytes_of(variable), variable)

    def _bytes_of(self, variable: Variable) -> Bytes:
        """Return the bytes of a variable in the arena."""
        begin = self.arena.layout.byte_position(variable.storage.base)
        size = variable.num_elements * variable.element_type.size_bytes
        return self.arena.bytes[begin : begin + size]

    def _get(
        self, handle: str, places: Mapping[str, Shared], variable: Variable | None = None
    ) -> npt.NDArray[Any]:
        place = self._place(handle, places, variable)
        self._ask(f"read {handle}")
        return self._at(place).view(place.element_type.dtype).reshape(place.shape)

    def _put(self, handle: str, values: npt.NDArray[Any], variable: Variable | None = None) -> None:
        place = self._place(handle, self._tables.writes, variable)
        self._at(place)[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self._ask(f"write {handle}")

    def _place(
        self, handle: str, places: Mapping[str, Shared], variable: Variable | None
    ) -> Shared:
        if variable is not None and handle not in places:
            raise GraphConnectionError(
                f"'{variable.name}' is a temporary of an operation, which a device does not expose",
                found=f"it was made at {variable.location}",
                fix="copy it to your own variable, and read that",
            )
        return places[handle]

    def _at(self, place: Shared) -> Bytes:
        return self._shared[place.offset : place.offset + place.size_bytes]


def _handle(variable: Variable) -> str:
    return f"variable:{variable.name}"
