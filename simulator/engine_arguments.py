"""The arguments of an engine: programs, options, device.

An engine runs the programs of a graph, or of an executable that was compiled before.  A device is
the interface to the simulator and to other machines::

    device.options(asked)         the options with its own defaults, or an error
    device.load(source, setup)    programs of an executable, ready to run there: `LoadedPrograms`

`Engine` is a facade over one `LoadedPrograms`, its only link to a device.  The simulator is one
device (`poplite.simulator.engine`), real IPUs are another (`poplite.ipu.device`). A device that
distributes a program over processes converts the executable to that of its own rank, and has a
`Simulated` run it, which takes an executable and needs no graph.

Connections of the host are the same everywhere: `HostLinks` fills and takes blocks of bytes,
wherever a device places them.
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
from poplite.executable.steps import ComputeStep
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.machine.device import Device as PoplarDevice, attached
from poplite.machine.floating_point import OVERFLOW_NAN, TRAPS
from poplite.program import Program
from poplite.text import amount, clipped, integer_or_none, of_type, why_not_called

if TYPE_CHECKING:
    from poplite.report.report import Report
    from poplite.report.trace import Trace
    from poplite.simulator.host.handles import HostLinks
    from poplite.simulator.run.arena import Arena
    from poplite.simulator.running import Progress


def options_of(options: Mapping[str, object] | None, **arguments: Any) -> EngineOptions:
    """Return the options of an engine; `arguments` are those of `Engine`, by name.

    Raises `ControlProgramError` if vertices cannot be compiled, and as `engine_options`.
    """
    asked = engine_options(options, **arguments)
    if asked.interpret is not True and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise ControlProgramError(
            f"NUMBA_DISABLE_JIT={os.environ['NUMBA_DISABLE_JIT']} is set, "
            "so vertices cannot be compiled",
            fix="Engine(..., interpret=True) runs vertices as plain Python",
        )
    return asked


def is_options(value: object) -> bool:
    """Return whether a dictionary holds options, rather than programs by name."""
    return isinstance(value, Mapping) and not any(isinstance(v, Program) for v in value.values())


def check_loadable(
    device: object, executable: Executable, runs_on: object, call: str = "engine.load"
) -> None:
    """Reject a Poplar-style device that is not of the executable's machine.

    A device that runs programs itself, such as an IPU, must be the one that the engine runs on.
    """
    if not isinstance(device, PoplarDevice):
        raise InvalidMachineModel(
            f"{call}: {clipped(device)} is not a device",
            found=of_type(device),
            fix="engine.load(); what runs programs is pl.Engine(graph, program, device=...)",
        )
    if is_runner(device) and device is not runs_on:
        raise InvalidMachineModel(
            f"{call}: the engine does not run on {device!r}",
            found=f"it runs on {runs_on!r}, and an engine stays where it was made",
            fix="pl.Engine(graph, program, device=device)",
        )
    found, replicas = device.getTarget(), executable.layout.replicas
    part = executable.target
    whole = replace(part, tiles=part.tiles * replicas, ipus=part.ipus * replicas)
    if found != whole:
        raise InvalidMachineModel(
            f"{call}: the program was compiled for {whole!r}",
            found=f"the device is {device!r}",
            fix="pl.Graph(device.getTarget())",
        )
    attached(device, call)


def compiled_options(executable: Executable) -> dict[str, str]:
    """Return the options with which an executable was compiled, as far as it shows them."""
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
            f"Engine: seed={clipped(seed)} is not a whole number from 0 to 2**63 - 1",
            found=of_type(seed),
            fix="leave seed out for 0",
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
        """Return the graph, and the programs with one more, as `Engine.add_program` takes it."""
        call, name = "engine.add_program", str(len(self.programs)) if name is None else name
        if self.graph is None:
            raise ControlProgramError(
                f"{call}: an executable has its programs, and no graph to compile others",
                found="programs: " + ", ".join(map(repr, self.executable.programs)),
                fix="pl.Engine(graph, program), whose engine grows",
            )
        checked_kind(name, str, f"{call}: name", f"{call}(program, 'more')")
        if name in self.programs:
            raise ControlProgramError(
                f"{call}: there is a program {clipped(name)} already",
                found="programs: " + ", ".join(map(repr, self.programs)),
                fix=f"{call}(program, '{name} {len(self.programs)}')",
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
            fix="Engine(graph, program), or Engine(executable)",
        )
    if program is None:
        raise ControlProgramError("Engine: a graph, but no program", fix="Engine(graph, program)")
    top = graph.top_level_graph  # programs belong to it, whichever graph made their tensors
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
            f"engine.read: root={clipped(root)} of {amount(ranks, 'rank')}",
            found=of_type(root) if number is None else f"ranks are 0 to {ranks - 1}",
            fix="leave root out for the values on all ranks, or root=0",
        )


def is_runner(device: object) -> bool:
    """Whether an engine can run programs on a device."""
    return all(callable(getattr(device, name, None)) for name in ("load", "options"))


def checked_device(device: Any) -> Any:
    """Return a device, or raise for anything else."""
    if is_runner(device):
        return device
    if isinstance(device, PoplarDevice):
        raise ControlProgramError(
            f"Engine: {device!r} is a machine to simulate, and runs no programs",
            found="the simulator runs them, for the machine that the graph was made for",
            fix="pl.Graph(device), pl.Engine(graph, program), and engine.load(device)",
        )
    raise ControlProgramError(
        f"Engine: device {clipped(device)} is not a device",
        found=of_type(device),
        fix="device=pl.ipu.Device(), or leave device out for the simulator",
    )


def no_engine(state: object) -> ControlProgramError:
    """Return the error for a state that is not an engine."""
    return ControlProgramError(
        f"Engine: state {clipped(state)} is not an engine",
        found=of_type(state),
        fix="pl.Engine(graph, program, state=engine); engine.write(x, values) writes values",
    )


@contextmanager
def with_progress(progress: object, call: str) -> Iterator[None]:
    """Call a Poplar-style progress function at the beginning and at the end."""
    if progress is not None:
        why = why_not_called(progress, 2) if callable(progress) else of_type(progress)
        if why:
            raise ElementTypeError(
                f"{call}: progress {clipped(progress, 60)} is not a function of two numbers",
                found=why,
                fix=f"{call}(graph, program, {{}}, lambda done, total: print(done, total))",
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
            "Engine: an executable has its programs, but more are given",
            found="programs: " + ", ".join(map(repr, executable.programs)),
            fix="Engine(executable), or Engine(graph, program)",
        )
    if asked.checks not in (None, executable.checks):
        raise InvalidOption(
            f"checks is '{asked.checks}', but the executable has '{executable.checks}' checks",
            fix=f"compile_graph(graph, program, checks='{asked.checks}')",
        )
    if asked.float_mode not in (None, executable.float_modes[0]):
        raise InvalidOption(
            "floating-point behaviour was decided when the executable was compiled",
            fix="compile_graph(graph, program, options={...})",
        )
    classes = classes_of_steps(asked.interpret, executable.steps)
    for step, in_python in zip(executable.steps, classes, strict=True):
        if in_python and isinstance(step, ComputeStep) and not step.may_fault:
            interpret = interpret_text(asked.interpret)
            raise InvalidOption(
                f"{interpret}, but the executable does not save what '{step.name}' overwrites, "
                "which a vertex that faults needs",
                fix=f"compile_graph(graph, program, {interpret})",
            )


# -- devices ---------------------------------------------------------------------------------------


@frozen(eq=False)
class Setup:
    """Run-time settings that do not affect compilation.

    Attributes:
        options: all options that were given.
        seed: the seed of stochastic rounding.
        interpret: whether vertices run as plain Python, or which of them.
        progress: where to report the current work.
    """

    options: EngineOptions
    seed: int
    interpret: Interpret
    progress: Progress


class LoadedPrograms(Protocol):
    """Programs on a device; the methods are those of `Engine` with the same names."""

    @property
    def links(self) -> HostLinks:
        """The streams, remote buffers and host functions."""

    @property
    def form(self) -> str:
        """How vertices run, in words, for the `repr` of an engine."""

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
        """Return the memory with all variables, for the user's `call`."""

    def save_state(self, path: object) -> None:
        """Write the state of the programs to a file."""

    def load_state(self, path: object) -> None:
        """Restore the state from a file."""

    def handed_over(self) -> AbstractContextManager[None]:
        """Release the machine to programs that continue with this memory, unless they fail."""

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return a report of the compilation and all runs, which lists `options`."""

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement."""


@frozen(eq=False)
class InPlaceOf:
    """A device on which programs replace others, for machines that cannot hold both."""

    device: ExecutableDevice
    before: LoadedPrograms

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device."""
        return self.device.options(asked)

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Make programs ready to run, in place of the previous ones."""
        with self.before.handed_over():
            return self.device.load(source, setup)


class ExecutableDevice(Protocol):
    """A machine that runs executables."""

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device, or reject unsupported ones."""

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Make programs ready to run."""
