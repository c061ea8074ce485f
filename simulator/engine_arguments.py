"""The arguments of an engine: programs, options, device.

An engine runs the programs of a graph, or of an executable compiled earlier. A device is the
interface to the simulator and to other machines::

    device.options(asked)         the options with its own defaults, or an error
    device.load(source, setup)    programs of an executable, ready to run there: `LoadedPrograms`

`Engine` is a facade over one `LoadedPrograms`, its only link to a device. The simulator is one
device (`poplite.simulator.engine`), real IPUs are another (`poplite.ipu.device`). A device that
distributes a program over processes converts the executable to the one for its own rank, which a
`Simulated` runs without a graph.

Connections of the host are the same on all devices: `HostLinks` fills and reads blocks of bytes,
wherever they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from poplite.compile.compiler import Programs, compile_graph, named_programs
from poplite.compile.options import (
    EngineOptions,
    Interpret,
    classes_of_steps,
    engine_options,
    interpret_text,
)
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    InvalidMachineModel,
    InvalidOption,
    checked_kind,
)
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.machine.device import Device as PoplarDevice, attached
from poplite.machine.floating_point import OVERFLOW_NAN, TRAPS
from poplite.program import Program
from poplite.text import amount, clipped, integer_or_none, of_type, why_not_called

if TYPE_CHECKING:
    from poplite.report.report import Report
    from poplite.report.trace import Trace
    from poplite.simulator.run.arena import Arena
    from poplite.simulator.run.host_links import HostLinks
    from poplite.simulator.running import Progress


def options_of(options: Mapping[str, object] | None, **arguments: Any) -> EngineOptions:
    """Return the options of an engine; `arguments` are those of `Engine`, by name.

    Raises `ControlProgramError` if vertices cannot be compiled, and the errors of `engine_options`.
    """
    asked = engine_options(options, **arguments)
    if asked.interpret is not True and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise ControlProgramError(
            f"NUMBA_DISABLE_JIT={os.environ['NUMBA_DISABLE_JIT']} is set, "
            "so vertices cannot be compiled",
            fix="pass Engine(..., interpret=True) to run vertices as plain Python",
        )
    return asked


def is_options(value: object) -> bool:
    """Return whether a dictionary contains options instead of programs by name."""
    return isinstance(value, Mapping) and not any(isinstance(v, Program) for v in value.values())


def check_loadable(
    device: object, executable: Executable, runs_on: object, call: str = "engine.load"
) -> None:
    """Reject a Poplar-style device for a machine other than the executable's.

    A device that runs programs itself, such as an IPU, must be the one on which the engine runs.
    """
    if not isinstance(device, PoplarDevice):
        raise InvalidMachineModel(
            f"{call}: {clipped(device)} is not a device",
            found=of_type(device),
            fix="call engine.load(); to run on a device, pass pl.Engine(graph, program, "
            "device=...)",
        )
    if is_runner(device) and device is not runs_on:
        raise InvalidMachineModel(
            f"{call}: the engine does not run on {device!r}",
            found=f"it runs on {runs_on!r}, and an engine cannot move to another device",
            fix="make an engine for it: pl.Engine(graph, program, device=device)",
        )
    found, replicas = device.getTarget(), executable.layout.replicas
    part = executable.target
    whole = replace(part, tiles=part.tiles * replicas, ipus=part.ipus * replicas)
    if found != whole:
        raise InvalidMachineModel(
            f"{call}: the program was compiled for {whole!r}",
            found=f"the device is {device!r}",
            fix="make the graph with pl.Graph(device.getTarget())",
        )
    attached(device, call)


def compiled_options(executable: Executable) -> dict[str, str]:
    """Return the options with which an executable was compiled, as far as they are known."""
    mode = executable.float_modes[0]
    shown = {
        "debug.floatPointOpException": bool(mode & TRAPS),
        "debug.nanOverflowMode": bool(mode & OVERFLOW_NAN),
    }
    options = {name: "true" for name, is_on in shown.items() if is_on}
    return options | ({"debug.instrument": "false"} if executable.memory is None else {})


def checked_seed(seed: object) -> int:
    """Return the seed of stochastic rounding, an integer from 0 to 2**63 - 1, or raise."""
    is_integer = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not is_integer or not 0 <= int(seed) < 1 << 63:  # type: ignore[call-overload]
        raise ControlProgramError(
            f"Engine: seed must be a whole number from 0 to 2**63 - 1; found {clipped(seed)}",
            found=of_type(seed),
            fix="leave out seed for 0",
        )
    return int(seed)  # type: ignore[call-overload, no-any-return]


@frozen(eq=False)
class Source:
    """The source of an engine.

    Attributes:
        executable: the executable that it runs.
        graph: the graph that it was compiled from; None if unknown.
        programs: the programs that it was compiled from, by name.
    """

    executable: Executable
    graph: Graph | None = None
    programs: Mapping[str, Program] = field(default_factory=dict)

    def with_program(self, program: Program, name: str | None) -> tuple[Graph, dict[str, Program]]:
        """Return the graph and the programs, with one added as by `Engine.add_program`."""
        call, name = "engine.add_program", str(len(self.programs)) if name is None else name
        if self.graph is None:
            raise ControlProgramError(
                f"{call}: an executable has no graph with which to compile more programs",
                found="programs: " + ", ".join(map(repr, self.executable.programs)),
                fix="make the engine from a graph, with pl.Engine(graph, program)",
            )
        checked_kind(name, str, f"{call}: name", f"{call}(program, 'more')")
        if name in self.programs:
            raise ControlProgramError(
                f"{call}: there is already a program {clipped(name)}",
                found="programs: " + ", ".join(map(repr, self.programs)),
                fix=f"pass another name: {call}(program, '{name} {len(self.programs)}')",
            )
        return self.graph, {**self.programs, name: program}


def source_of(
    graph: Graph | Executable,
    program: Programs | None,
    asked: EngineOptions,
    options: Mapping[str, object] | None,
) -> Source:
    """Return the source of an engine.

    Rejects programs together with an executable, a graph without programs, and options that
    conflict with those of the executable.
    """
    if isinstance(graph, Executable):
        _check_executable(graph, program, asked)
        return Source(graph)
    if not isinstance(graph, Graph):
        raise ControlProgramError(
            f"Engine: {clipped(graph, 60)} is not a graph",
            found=of_type(graph),
            fix="pass Engine(graph, program), or Engine(executable)",
        )
    if program is None:
        raise ControlProgramError(
            "Engine: a graph needs a program", fix="pass Engine(graph, program)"
        )
    top = graph.top_level_graph  # programs belong to it, even if other graphs made their tensors
    interpret = asked.interpret or False
    programs = named_programs(program)
    executable = compile_graph(top, programs, asked.checks, interpret=interpret, options=options)
    return Source(executable, top, programs)


def check_root(root: object, ranks: int) -> None:
    """Reject a rank that does not exist as the one that gets the values of a tensor."""
    if root is None:
        return
    if (number := integer_or_none(root)) is None or not 0 <= number < ranks:
        raise ControlProgramError(
            f"engine.read: root must be one of {amount(ranks, 'rank')}; found {clipped(root)}",
            found=of_type(root) if number is None else f"ranks are 0 to {ranks - 1}",
            fix="leave out root for the values on all ranks, or pass root=0",
        )


def is_runner(device: object) -> bool:
    """Return whether an engine can run programs on a device."""
    return all(callable(getattr(device, name, None)) for name in ("load", "options"))


def checked_device(device: Any) -> Any:
    """Return a device, or raise for anything else."""
    if is_runner(device):
        return device
    if isinstance(device, PoplarDevice):
        raise ControlProgramError(
            f"Engine: {device!r} is a simulated machine, and cannot run programs",
            found="the simulator runs them, for the machine of the graph",
            fix="use pl.Graph(device), pl.Engine(graph, program), and engine.load(device)",
        )
    raise ControlProgramError(
        f"Engine: device {clipped(device)} is not a device",
        found=of_type(device),
        fix="pass device=pl.ipu.Device(), or leave out device for the simulator",
    )


def no_engine(state: object) -> ControlProgramError:
    """Return the error for a state that is not an engine."""
    return ControlProgramError(
        f"Engine: state {clipped(state)} is not an engine",
        found=of_type(state),
        fix="pass pl.Engine(graph, program, state=engine); engine.write(x, values) writes values",
    )


@contextmanager
def with_progress(progress: object, call: str) -> Iterator[None]:
    """Call a Poplar-style progress function at the start and at the end."""
    if progress is not None:
        why = why_not_called(progress, 2) if callable(progress) else of_type(progress)
        if why:
            raise ElementTypeError(
                f"{call}: progress {clipped(progress, 60)} is not a function of two numbers",
                found=why,
                fix=f"pass {call}(graph, program, {{}}, lambda done, total: print(done, total))",
            )
        notify: Any = progress
        notify(0, 1)
    yield
    if progress is not None:
        notify(1, 1)


def _check_executable(
    executable: Executable, program: Programs | None, asked: EngineOptions
) -> None:
    if program is not None:
        raise ControlProgramError(
            "Engine: an executable has its own programs, and takes no others",
            found="programs: " + ", ".join(map(repr, executable.programs)),
            fix="pass Engine(executable), or Engine(graph, program)",
        )
    if asked.checks not in (None, executable.checks):
        raise InvalidOption(
            f"checks must be '{executable.checks}', as in the executable; found '{asked.checks}'",
            fix=f"compile with compile_graph(graph, program, checks='{asked.checks}')",
        )
    if asked.float_mode not in (None, executable.float_modes[0]):
        raise InvalidOption(
            "floating-point behaviour was fixed when the executable was compiled",
            fix="compile with compile_graph(graph, program, options={...})",
        )
    classes = classes_of_steps(asked.interpret, executable.steps)
    for step, in_python in zip(executable.steps, classes, strict=True):
        if in_python and isinstance(step, ComputeStep) and not step.may_fault:
            interpret = interpret_text(asked.interpret)
            raise InvalidOption(
                f"{interpret} needs an executable that saves elements before '{step.name}' "
                "overwrites "
                "them, for vertices that fault",
                fix=f"compile with compile_graph(graph, program, {interpret})",
            )


# -- devices ---------------------------------------------------------------------------------------


@frozen(eq=False)
class Setup:
    """Run-time settings that do not affect compilation.

    Attributes:
        options: all options that were given.
        seed: the seed of stochastic rounding.
        interpret: whether vertices run as plain Python, or which vertices do.
        progress: the progress display to which the current work is reported.
    """

    options: EngineOptions
    seed: int
    interpret: Interpret
    progress: Progress


class LoadedPrograms(Protocol):
    """Programs on a device; methods do the same as those of `Engine` with the same names."""

    @property
    def links(self) -> HostLinks:
        """The streams, remote buffers and host functions."""

    @property
    def form(self) -> str:
        """The form in which vertices run, as text, for the `repr` of an engine."""

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position."""

    def stop(self) -> None:
        """End the run that is in progress, if there is one."""

    def load(self) -> None:
        """Restore memory and streams to their initial state."""

    def check_idle(self, call: str) -> None:
        """Reject the user's `call` while a program runs."""

    def write(self, tensor: object, array: object, replica: int | None) -> None:
        """Write host values to a tensor, a handle or a variable by name."""

    def read(self, tensor: object, replica: int | None, root: int | None) -> Any:
        """Return a copy of the values of a tensor, a handle or a variable by name.

        On several ranks all return it, or rank `root` does, and the others return None.
        """

    def continue_from(self, other: LoadedPrograms) -> None:
        """Copy memory and remote buffers from other programs of the same graph."""

    def memory(self, call: str) -> Arena:
        """Return the memory with all variables; errors name the user's `call`."""

    def save_state(self, path: object) -> None:
        """Write the state of the programs to a file."""

    def load_state(self, path: object) -> None:
        """Restore the state from a file."""

    def handed_over(self) -> AbstractContextManager[None]:
        """Release the machine for programs that continue with this memory, unless they fail."""

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return a report of the compilation and all runs, with `options`."""

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement."""


@frozen(eq=False)
class InPlaceOf:
    """A device on which programs replace others, for machines that cannot run both."""

    device: ExecutableDevice
    before: LoadedPrograms

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device."""
        return self.device.options(asked)

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Prepare programs to run in place of the previous ones."""
        with self.before.handed_over():
            return self.device.load(source, setup)


class ExecutableDevice(Protocol):
    """A machine that runs executables."""

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device, or reject unsupported ones."""

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Prepare programs to run."""
