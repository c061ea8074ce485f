"""The programs of an engine on a device, driven by a process of its own.

tables and codelets, written and compiled      once, when the engine is made
start                                          the device builds and compiles its graph
run, read, write                               commands; streams are served while programs run
"""

from __future__ import annotations

import mmap
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from poplite.errors import ControlProgramError
from poplite.executable.actions import Action
from poplite.executable.executable import Executable
from poplite.executable.transfers import HostFunctionCall, Transfer
from poplite.graph.graph import Graph
from poplite.ipu.building.sdk import Toolchain
from poplite.ipu.device.child import Child
from poplite.ipu.device.child_errors import Halted
from poplite.ipu.device.measuring import Measuring
from poplite.ipu.device.memory import DeviceMemory
from poplite.ipu.tables import tables_of
from poplite.simulator.device import LoadedPrograms, Setup
from poplite.simulator.engine_arguments import Source, check_root
from poplite.simulator.host.handles import HostLinks, describe
from poplite.simulator.host.printing import format_tensor
from poplite.simulator.progress import shown
from poplite.simulator.run.arena import Arena
from poplite.simulator.run_control import program_name
from poplite.simulator.stopping import Running, Stopped, busy

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.report.report import Report
    from poplite.report.traces.trace import Trace

FORMS = {"hardware": "on an IPU", "model": "on the IPU Model"}


class OnDevice:
    """Programs on an IPU, or on the SDK's model of one."""

    def __init__(
        self, source: Source, setup: Setup, toolchain: Toolchain, kind: str, arch: str
    ) -> None:
        executable, graph = source.executable, _graph_of(source)
        self._kind, self._progress = kind, setup.progress
        self.print_stream: TextIO | None = None
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
        self._kept: Arena | None = None  # memory, when the device is another's
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
        """Let what the user connects fill and take blocks of the shared file."""
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
        """Return an action whose block lies where the device has that of its stream.

        Codes of QUARTER are moved as bytes: the metadata of the tensor are on the device.
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
        """How vertices run."""
        return FORMS[self._kind]

    # -- running -----------------------------------------------------------------------------

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position."""
        name = program_name(program, self._tables.programs)
        if not self._in_use.acquire(blocking=False):
            raise ControlProgramError(
                f"engine.run({program!r}): the engine is running already",
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
        """Move a block of a stream or call a function; return whether the program goes on."""
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
        print(text, file=self.print_stream or sys.stderr)

    def stop(self) -> None:
        """Let the run end when the program next moves a block of a stream."""
        self._running.stop()

    def check_idle(self, call: str) -> None:
        """Refuse the user's `call` while a program runs."""
        if self._in_use.locked():
            raise busy(call)

    # -- memory ------------------------------------------------------------------------------

    def load(self) -> None:
        """Restore memory and streams to their state in the beginning."""
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
        """Take over what memory of the same graph holds, here or on the simulator."""
        self._memory.carry(other.memory("Engine: state"))

    def memory(self, call: str) -> Arena:
        """Return what all variables hold now, for the user's `call`."""
        self.check_idle(call)
        return self._kept or self._memory.fetch_all()

    def save_state(self, path: object) -> None:
        """Refuse to save what the device keeps to itself."""
        raise _no_state_file("engine.save_state")

    def load_state(self, path: object) -> None:
        """Refuse to restore what the device keeps to itself."""
        raise _no_state_file("engine.load_state")

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """End the process, so that the device is free; start it again where that was in vain."""
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
            "the process that drives the device has ended, and memory with it",
            fix="engine.load() starts it anew, with memory as in the beginning",
        )

    # -- reports -----------------------------------------------------------------------------

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return what was compiled, what the model says of the runs, and what these took."""
        return self._measuring.report(options)

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Refuse to record steps."""
        raise ControlProgramError(
            "engine.tracing: a device does not tell which step it is at",
            fix="trace the same program on the simulator, or use the profiler of the SDK",
        )


def _called(action: Action) -> tuple[bool, str] | None:
    """Return whether an action calls a function, and the name of that or of its stream."""
    match action:
        case Transfer(stream=stream):
            return False, stream.handle
        case HostFunctionCall(handle=handle):
            return True, handle
    return None


def _graph_of(source: Source) -> Graph:
    if source.graph is None:
        raise ControlProgramError(
            "Engine: a device needs the graph and its programs, and an executable has neither",
            fix="Engine(graph, program, device=device)",
        )
    return source.graph


def _shared_file(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """Return a new file as memory that two processes see."""
    with path.open("w+b") as file:
        file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


def _no_state_file(call: str) -> ControlProgramError:
    return ControlProgramError(
        f"{call}: a device does not tell its random bits, nor how often each step ran",
        fix="engine.read(x) and engine.write(x, values) save and restore tensors; the simulator "
        "and ranks save all",
    )
