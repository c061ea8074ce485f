"""The engine: a compiled graph, ready to run.

    engine = Engine(graph, program)     check, lower and compile the program, fill memory
    engine.write(x, array)              copy from host to device
    engine.run()                        run any number of times; variables keep their values
    engine.read(y)                      copy from device to host
    print(engine.report())

The engine is a facade: it checks arguments, compiles, and delegates the rest to the programs that
its device has loaded (`poplite.simulator.engine_arguments`), by default the simulator, where they
consist of parts that do not depend on an engine::

    Arena            memory, with all variables
    HostTensors      tensors that the host reads and writes
    Host             the actions of Python; its HostLinks are streams, remote buffers and
                     host functions
    StrictChecks     which memory is written, with strict checks only
    EnginePrograms   the programs, one of which runs at a time
    Accounts         counts of executed work, and its cost

Its reports count all runs, unless Poplar's calls exclude some::

    runs            1   2   3   4   5
    disabled            |-------|
    reports count   1               5

An engine counts all runs. Excluded runs are subtracted as the difference of two reports, so that
counting costs the same whether or not a report is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO, overload

from poplite.arrays.intervals import Int64
from poplite.compile.compiler import Programs
from poplite.compile.options import EngineOptions, Faster, Interpret, interpret_text
from poplite.errors import ListsPresent, refuse_copies
from poplite.executable.executable import Checks, Executable
from poplite.executable.parts import Stamp, vertex_classes
from poplite.files import checked_path
from poplite.graph.graph import Graph
from poplite.graph.host import StreamCallback
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.build import no_collection
from poplite.machine.device import Device as PoplarDevice
from poplite.machine.option_flags import checked_runtime_options
from poplite.machine.target import tiles_text
from poplite.poplar.spelling import cpp_spelling
from poplite.program import Program
from poplite.program.base import check_name
from poplite.public import checked_methods
from poplite.simulator import poplar_only
from poplite.simulator.accounts import Accounts
from poplite.simulator.codegen.compute_code import modes_of
from poplite.simulator.compiled_program import EnginePrograms
from poplite.simulator.engine_arguments import (
    ExecutableDevice,
    InPlaceOf,
    LoadedPrograms,
    Setup,
    Source,
    check_loadable,
    check_root,
    checked_device,
    checked_seed,
    compiled_options,
    is_options,
    no_engine,
    options_of,
    source_of,
    with_progress,
)
from poplite.simulator.run.arena import Arena, Bytes, Floats, Runs as Bounds, carry_memory, within
from poplite.simulator.run.host_actions import Host
from poplite.simulator.run.host_links import RemoteWatch
from poplite.simulator.run.host_tensors import HostTensors
from poplite.simulator.running import Announcer, Peers, shown
from poplite.simulator.strict.checks import StrictChecks
from poplite.text import amount
from poplite.types import QuarterMetadata
from poplite.vertex.compute.meaning import FasterForms, faster_form
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.report.report import Report
    from poplite.report.trace import Trace
    from poplite.simulator.states import EngineState


# -- programs on the simulator ---------------------------------------------------------------------


class Simulated:
    """The programs of an executable on the simulator; tensors are known only with its graph.

    Attributes:
        arena: the memory.
        tensors: the tensors that the host reads and writes.
        runs: the programs.
        accounts: their costs.
        strict: the strict checks, which track written memory; None without them.
        links: the streams, remote buffers and host functions.

    `looking` makes the object whose checks replace strict checks.
    """

    def __init__(
        self,
        executable: Executable,
        graph: Graph | None,
        setup: Setup,
        peers: Peers | None = None,
        *,
        looking: Callable[..., StrictChecks] | None = None,
    ) -> None:
        self._executable, self._interpret = executable, setup.interpret
        floats = Floats(executable.float_modes, setup.seed)
        self.arena = Arena(executable.layout, floats, None if peers is None else peers.own)
        self.tensors = HostTensors(executable, graph, self.arena)
        is_strict = executable.checks == "strict"
        forms = _faster_forms(executable, setup.options.faster, setup.interpret)
        self._host = Host(
            executable.actions,
            self.arena,
            executable.programs,
            works_ahead=setup.options.prefetch is not False,
            is_strict=is_strict,
            follows_rows=is_strict or looking is not None,
            peers=peers,
        )
        self.links = self._host.links
        self.strict: StrictChecks | None = None
        if (checks := looking or (StrictChecks if is_strict else None)) is not None:
            self.strict = checks(
                executable, self.arena, interpret=setup.interpret, forms=forms, peers=peers
            )
            strict = self.strict
            watch = RemoteWatch(strict.shadow.parts, strict.arm, strict.copies.note_rows)
            self.links.watch(watch)
        with Announcer(setup.progress):
            self.runs = EnginePrograms(
                executable,
                self.arena,
                self._host,
                self.strict,
                interpret=setup.interpret,
                forms=forms,
                progress=setup.progress,
                peers=peers,
            )
            self.accounts = Accounts(executable, self.runs.counts, self.runs.slot_totals)
            self._host.cycles = self.accounts.cycles
            if any(isinstance(action, Stamp) for action in executable.actions):
                self.accounts.cycles()  # vertices are priced now, not in the middle of a run
        self.run = self.runs.run
        self.stop = self.runs.stop
        self.check_idle = self.runs.check_idle

    @property
    def form(self) -> str:
        """The form in which vertices run."""
        form = "interpreted" if self._interpret is True else "compiled"
        if isinstance(self._interpret, tuple):
            form = f"{interpret_text(self._interpret)} and the others compiled"
        if self.runs.forms:
            form += f" with faster forms {', '.join(map(str, self.runs.forms.values()))}"
        return form

    def load(self) -> None:
        """Restore memory and streams to their initial state."""
        self.check_idle("engine.load()")
        self.arena.load()
        self.runs.load()
        self.links.reset()
        if self.strict is not None:
            self.strict.load()

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write host values to a tensor."""
        access = self.tensors.to_write(tensor, replica)
        self.tensors.write(access, array)
        if self.strict is not None:
            self.strict.write(access)

    def read(
        self, tensor: object, replica: int | None, root: int | None = None
    ) -> npt.NDArray[Any]:
        """Return a copy of a tensor's values."""
        check_root(root, 1)
        access = self.tensors.to_read(tensor, replica)
        if self.strict is not None:
            self.strict.read(access, has_run=any(each.any() for each in self.runs.counts.values()))
        return self.tensors.read(access)

    def continue_from(self, other: LoadedPrograms) -> None:
        """Copy memory and remote buffers from other programs of the same graph."""
        looked = other.strict if isinstance(other, Simulated) else None
        self.carry(other.memory("Engine: state"), looked)
        self.links.continue_from(other.links)

    def carry(self, arena: Arena, strict: StrictChecks | None, runs: Bounds | None = None) -> int:
        """Copy variables, or only the given ranges of bytes; return the number of bytes."""
        size = carry_memory(arena, self.arena, runs)
        if self.strict is not None:
            _carry_written(strict, self.strict, size, runs)
        return size

    def memory(self, call: str) -> Arena:
        """Return the memory with all variables, for the user's `call`."""
        self.check_idle(call)
        self.runs.check_sound(call)
        return self.arena

    @cached_property
    def _state(self) -> EngineState:
        # Engines start sooner without modules that only state files need.
        from poplite.simulator.states import EngineState

        return EngineState(self._executable, self.arena, self.runs, self.links, self.strict)

    def save_state(self, path: object) -> None:
        """Write the state of the programs to a file."""
        from poplite.simulator.states import write_state

        name = str(checked_path(path, call := "engine.save_state", "run.state"))
        self.check_idle(call)
        self.runs.check_sound(call)

        def memory(replica: int, begin: int, end: int) -> Bytes:
            return self.arena.parts[replica][begin:end]

        def shadow(replica: int, begin: int, end: int) -> Bytes:
            assert self.strict is not None, "only strict checks have a shadow"
            return self.strict.shadow.parts[replica][begin:end]

        write_state(name, self._state.saved(), self._state.members(memory, shadow))

    def load_state(self, path: object) -> None:
        """Restore the state from a file."""
        from poplite.simulator.states import reading

        name = str(checked_path(path, call := "engine.load_state", "run.state"))
        self.check_idle(call)
        with reading(name) as file:
            taken = self._state.checked(file, name, call)
            self.load()
            try:
                self._state.take_host(file, taken)
                self._state.take_memory(file)
                self._state.take(taken)
            except BaseException:  # a disk error or Ctrl-C: memory must not be left half restored
                self.load()
                raise

    def handed_over(self) -> AbstractContextManager[None]:
        """Do nothing, since there may be any number of simulators."""
        return nullcontext()

    def report(
        self, options: tuple[tuple[str, str], ...], accounts: Accounts | None = None
    ) -> Report:
        """Return a report of the compilation and of all runs, counted here or by `accounts`."""
        # Engines start sooner without modules that only reports need.
        from poplite.simulator.reporting import report_of

        return report_of(
            accounts or self.accounts,
            runs=self.runs.ended,
            runs_again=0 if self.strict is None else self.strict.runs_again,
            interpret=self._interpret is True,
            faster=tuple(map(str, self.runs.forms.values())),
            options=options,
        )

    def tracing(
        self,
        limit: int,
        accounts: Accounts | None = None,
        rows: Mapping[str, Int64] | None = None,
    ) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement; `accounts` and `rows` are a rank's."""
        # Few programs are traced.
        from poplite.simulator.reporting import traced

        return traced(accounts or self.accounts, self.runs, limit, rows)


def _carry_written(
    old: StrictChecks | None, new: StrictChecks, size: int, runs: Bounds | None = None
) -> None:
    """Copy the shadow of the first bytes; without strict checks, all count as written."""
    for replica, part in enumerate(new.shadow.parts):
        for own in within(runs, size):
            part[own] = 1 if old is None else old.shadow.parts[replica][own]


def _faster_forms(
    executable: Executable, faster: Faster | None, interpret: Interpret
) -> FasterForms:
    """Return the forms that an engine with these arguments may run.

    Classes whose results depend on non-default floating-point behaviour have none, since a faster
    form may round, and trap, in a different order. Raises the errors of `faster_form`.
    """
    if faster is False or interpret is True:
        return {}
    classes = vertex_classes(executable.steps)
    found = {cls: faster_form(cls) for cls in classes if not modes_of(cls, executable.float_modes)}
    is_tolerant = faster == "tolerant"
    return {cls: form for cls, form in found.items() if form and (is_tolerant or not form.rtol)}


# -- the default device ----------------------------------------------------------------------------


class Simulator:
    """The default device of engines."""

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options unchanged, since the simulator supports all of them."""
        return asked

    def load(self, source: Source, setup: Setup) -> Simulated:
        """Prepare programs to run."""
        return Simulated(source.executable, source.graph, setup)

    def __repr__(self) -> str:
        return "the simulator"


# -- runs that reports count -----------------------------------------------------------------------


class ProfiledRuns:
    """Computes reports of an engine's counted runs from reports of all its runs."""

    def __init__(self) -> None:
        self._left_out: Report | None = None
        self._until_then: Report | None = None

    @property
    def are_left_out(self) -> bool:
        """Whether runs are currently excluded."""
        return self._until_then is not None

    def of(self, now: Report) -> Report:
        """Return the report of the counted runs.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            return self._until_then
        return now if self._left_out is None else _since(now, self._left_out)

    def disable(self, now: Report) -> None:
        """Exclude runs from now on.

        Args:
            now: the report of all runs until now.
        """
        self._until_then = self.of(now)

    def enable(self, now: Report) -> None:
        """Count runs from now on.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            self._left_out, self._until_then = _since(now, self._until_then), None

    def reset(self, now: Report) -> None:
        """Exclude all runs until now.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            self._until_then = _since(now, now)
        else:
            self._left_out = now


def _since(now: Report, earlier: Report) -> Report:
    from poplite.report.diff import report_since  # engines start sooner without it

    return report_since(now, earlier)


# -- the engine ------------------------------------------------------------------------------------


if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.poplar.spellings import EngineSpelling
    from poplite.report.report import Report
    from poplite.report.trace import Trace
else:
    EngineSpelling = object


@cpp_spelling(poplar_only, but="run")
@checked_methods("pl.Engine engine", but="run")
@refuse_copies("engine.executable.save(path), and pl.Engine(pl.Executable.load(path)) elsewhere")
class Engine(EngineSpelling, metaclass=ListsPresent):
    """Runs programs on the simulator.

    An engine is a snapshot: later changes to the graph have no effect.

    Args:
        graph: the graph, or an executable: from `compile_graph`, from another engine, or loaded
            from a file. An engine made from an executable knows no tensors: hosts reach its data
            by handles and streams.
        program: for a graph, one program, a list of programs, or a dictionary of programs by name.
        options: further options by name, see docs/options.md; the environment variable
            POPLITE_ENGINE_OPTIONS, a JSON object, overrides all.
        progress: show the current work on standard error. By default only compilation is shown, if
            it takes longer than a second. A function is called with 0 and 1 at the start, and with
            1 and 1 at the end; Poplar calls it with more steps.
        name: as in Poplar; it has no effect.
        checks: "strict" detects indices out of range, reads of unwritten elements, outputs left
            unwritten and races of workers during runs, and restores memory to its state before a
            vertex that stopped; "fast" detects indices out of range, after which memory is
            undefined; "none" detects nothing. By default strict up to a million connected elements,
            fast beyond.
        interpret: run all vertices as plain Python, for debugging; or a list of vertex classes and
            names of classes and compute sets, whose vertices run as plain Python, while all others
            are compiled. Cycles that depend on data are counted by compiled code, unless the option
            debug.instrument is False.
        faster: run the faster forms of vertex classes with bit-identical results, see
            `pl.faster`; with "tolerant" also forms whose bits may differ, with False none.
        seed: seed of stochastic rounding, from 0 to 2**63 - 1; by default that of `state`, or 0.
        state: an engine of the same graph, from which this one copies variables, rows of remote
            buffers and, unless `seed` is given, random bits; new variables, and constants, have
            their initial values. Stream connections are not copied.
        device: the device that runs the programs; by default the simulator. See `pl.ipu.Device` and
            `pl.mpi.Device`.

    Raises:
        PopliteError: for any fault that can be found before a run.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Copy
    >>> graph = Graph()
    >>> a = graph.add_variable("int32", (3,), "a", mapping=0, initial_value=[1, 2, 3])
    >>> b = graph.add_variable("int32", (3,), "b", mapping=0)
    >>> engine = Engine(graph, Copy(a, b))
    >>> engine.run()
    >>> engine.read(b)
    array([1, 2, 3], dtype=int32)
    """

    def __init__(
        self,
        graph: Graph | Executable,
        program: Programs | Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        progress: bool | Callable[[int, int], object] = False,
        name: str = "",
        *,
        checks: Checks | None = None,
        interpret: bool | Collection[str | type[Vertex]] = False,
        faster: Faster = True,
        seed: int | None = None,
        state: Engine | None = None,
        device: ExecutableDevice | None = None,
    ) -> None:
        check_name(name, "Engine")
        if state is not None and not isinstance(state, Engine):
            raise no_engine(state)
        programs: Any = program  # checked by source_of
        if isinstance(graph, Executable) and is_options(programs):
            programs, options = None, programs  # in Poplar, options follow an executable
        arguments: dict[str, Any] = {"checks": checks, "interpret": interpret, "faster": faster}
        arguments |= {"progress": progress is True, "seed": seed}
        device = Simulator() if device is None else checked_device(device)
        asked = device.options(options_of(options, **arguments))
        bar_of = shown("engine", "vertex classes", wanted=bool(asked.progress))
        callback = None if isinstance(progress, bool | None) else progress
        with with_progress(callback, "Engine"), no_collection(), bar_of as bar:
            bar.note("checking and lowering")
            inherited = 0 if state is None else state._arguments["seed"]
            seed = checked_seed(inherited if asked.seed is None else asked.seed)
            self._source = source_of(graph, programs, asked, options)
            self._executable = self._source.executable
            self._options = asked.engine_only()
            self.checks: Checks = self._executable.checks
            self.interpret: Interpret = asked.interpret or False
            self._loaded = device.load(self._source, Setup(asked, seed, self.interpret, bar))
        self._profiled_runs = ProfiledRuns()
        # The arguments for an engine with one more program.
        self._arguments: dict[str, Any] = {
            **arguments,
            "checks": self.checks,
            "seed": seed,
            "options": options,
            "device": device,
        }
        if state is not None:
            self._loaded.continue_from(state._loaded)

    def add_program(self, program: Program, name: str | None = None) -> None:
        """Add a program, which may use later additions to the graph.

        Memory, remote buffers and connections are unchanged, but streams restart with the first
        block of their arrays. All programs are compiled again, but only new vertex classes; the
        report is reset.

        Args:
            program: a program of the engine's graph.
            name: its name for `run`; by default its position.

        Raises:
            ControlProgramError: if the engine was made from an executable, has a program with that
                name, or is running.
            PopliteError: for any fault in the program that is found before a run; the engine is
                then unchanged.

        >>> from poplite.graph import Graph
        >>> from poplite.program import Copy
        >>> graph = Graph()
        >>> a = graph.add_variable("int32", (2,), "a", mapping=0, initial_value=[1, 2])
        >>> b = graph.add_variable("int32", (2,), "b", mapping=0)
        >>> engine = Engine(graph, Copy(a, b))
        >>> engine.run()
        >>> c = graph.add_variable("int32", (2,), "c", mapping=0)
        >>> engine.add_program(Copy(b, c), "on")
        >>> engine.run("on")
        >>> engine.read(c)
        array([1, 2], dtype=int32)
        """
        self._loaded.check_idle("engine.add_program")
        graph, programs = self._source.with_program(program, name)
        device = self._arguments["device"]
        own = self._arguments | {"device": InPlaceOf(device, self._loaded)}
        grown = Engine(graph, programs, state=self, **own)
        grown._arguments["device"] = device
        grown._loaded.links.connect_as(self._loaded.links)
        if self._profiled_runs.are_left_out:
            grown.disableExecutionProfiling()
        vars(self).update(vars(grown))

    @property
    def executable(self) -> Executable:
        """The compiled programs without memory, for a file or for other engines."""
        return self._executable

    @property
    def options(self) -> dict[str, str]:
        """The effective options by name, from calls, the executable and the environment."""
        return compiled_options(self._executable) | dict(self._options)

    def load(self, device: PoplarDevice | None = None) -> None:
        """Reset: restore memory to its state when the engine was made.

        Variables have their initial values again, rows of remote buffers are zero, streams restart
        with the first block of their arrays, and blocks that callbacks prefetched are dropped.
        Connections are unchanged, and the report continues to count.

        Args:
            device: as in Poplar, an attached device for the graph's machine; it has no effect. A
                device that runs programs itself must be the engine's device.

        Raises:
            ControlProgramError: while a program runs.
            InvalidMachineModel: for a device of a different machine, a device that is not attached,
                or a device on which the engine does not run.

        >>> from poplite.graph import Graph
        >>> from poplite.program import Sequence
        >>> graph = Graph()
        >>> x = graph.add_variable("int32", (2,), "x", mapping=0, initial_value=[1, 2])
        >>> engine = Engine(graph, Sequence())
        >>> engine.write(x, 5)
        >>> engine.load()
        >>> engine.read(x)
        array([1, 2], dtype=int32)
        """
        if device is not None:
            check_loadable(device, self._executable, self._arguments["device"])
        self._loaded.load()

    def __repr__(self) -> str:
        programs = amount(len(self._executable.programs), "program")
        tiles = tiles_text(self._executable.target.tiles, self._executable.layout.replicas)
        checks = "no" if self.checks == "none" else self.checks
        return f"<Engine {programs} on {tiles}, {self._loaded.form}, {checks} checks>"

    # -- running -----------------------------------------------------------------------------------

    def run(
        self,
        program: str | int = 0,
        debug_name: str = "",
        runtime_options: Mapping[str, object] | None = None,
        *,
        progress: bool = False,
    ) -> None:
        """Run a program to its end, or until `stop`.

        Ctrl-C ends it early, and the engine remains usable. An interrupted compute set is undone if
        its memory was saved (with strict checks, or vertices that raise exceptions); otherwise each
        of its vertices has run completely or not at all. An interrupted Copy may have copied a
        part.

        Args:
            program: its name or position.
            debug_name: as in Poplar; it has no effect.
            runtime_options: as in Poplar, see `RuntimeOptions`; they have no effect.
            progress: whether to show on standard error how many steps have run.

        Raises:
            UnknownName: if there is no such program.
            TensorIndexError: if a vertex indexes outside a field (strict checks).
            UninitializedReadError: if a result depends on unwritten elements (strict checks).
            WorkerRaceError: if the order of workers changes a result (strict checks).
            ApplicationRuntimeError: if a vertex raises an exception, or the program stops itself
                with an error.
            ControlProgramError: if the engine is already running.
            InvalidOption: for a run-time option that Poplar does not have.
        """
        checked_runtime_options(runtime_options, debug_name)
        self._loaded.run(program, progress=progress)

    def stop(self) -> None:
        """End the run that is in progress, from another thread or from a callback of the run.

        `run` soon returns as if the program had ended: after the current step, or in the middle of
        a long step. Memory is then as after Ctrl-C, see `run`, and the engine remains usable. The
        call has no effect if no program runs, it is about to end, or it was stopped before.

        >>> from poplite.graph import Graph
        >>> from poplite.program import Loop, PrintTensor
        >>> graph = Graph()
        >>> x = graph.add_variable("int32", (), "x", mapping=0, initial_value=0)
        >>> engine = Engine(graph, Loop(PrintTensor(x)))
        >>> class FirstLine:
        ...     def write(self, text):
        ...         engine.stop()
        >>> engine.print_stream = FirstLine()
        >>> engine.run()
        """
        self._loaded.stop()

    @property
    def print_stream(self) -> TextIO | None:
        """The stream that PrintTensor writes to; None means standard error."""
        return self._loaded.links.print_stream

    @print_stream.setter
    def print_stream(self, stream: TextIO | None) -> None:
        self._loaded.links.print_stream = stream

    # -- states ------------------------------------------------------------------------------------

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Write the state of the engine to a file, from which another engine can continue.

        The state is all variables, the rows of remote buffers, the next block of arrays that are
        connected to streams, random bits, and execution counts. On several ranks the call is
        collective, and rank 0 writes the file, which does not depend on the number of ranks.

        Args:
            path: the file; an existing file is replaced once the new file is completely on disk.

        Raises:
            ControlProgramError: while a program runs, while memory is undefined, and on a real
                device.
            FileLoadError: if the file cannot be written.

        >>> import tempfile
        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x, y = (graph.add_variable(pl.INT, (2,), name, mapping=0) for name in "xy")
        >>> first, second = (pl.Engine(graph, pl.Copy(x, y)) for _ in range(2))
        >>> first.write(x, [3, 4])
        >>> first.run()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first.save_state(f"{folder}/run.state")
        ...     second.load_state(f"{folder}/run.state")
        >>> second.read(y)
        array([3, 4], dtype=int32)
        """
        self._loaded.save_state(path)

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from the state that an engine wrote to a file with `save_state`.

        The whole state is restored, for any number of ranks and threads: variables, remote buffers,
        streams, random bits and reports. Callbacks are the engine's own, and start again. Vertices
        are not compared: the engine runs its own code.

        Args:
            path: the file. On several ranks the call is collective, and rank 0 reads it.

        Raises:
            FileLoadError: for a file that is damaged or not a state, and for the state of an engine
                with a different graph or different programs, constants or checks; also if only one
                of the two engines interprets vertices that read rows in place, such as those of
                `ops.reduce`. The engine is then unchanged.
            StreamConnectionError: if an array was connected to a stream, and none, or a shorter
                one, is connected here. The engine is then unchanged.
            ControlProgramError: while a program runs, and on a real device.
        """
        self._loaded.load_state(path)
        self._profiled_runs = ProfiledRuns()

    # -- tensors -----------------------------------------------------------------------------------

    def write(
        self,
        tensor: Tensor | str,
        array: npt.ArrayLike | QuarterMetadata,
        *,
        replica: int | None = None,
    ) -> None:
        """Write host values to a tensor.

        Args:
            tensor: any view without aliases and constants, a handle of
                `graph.create_host_write`, or the name of a variable, as for `graph.tensor`; a
                handle takes precedence over a variable of the same name.
            array: values of its shape, or one number for all elements, under NumPy's
                same_kind casting; integers must be in the range of the element type. For
                QUARTER_METADATA a `QuarterMetadata`. All replicas get the same values, unless an
                additional first dimension has values for each of them.
            replica: the replica to write; by default all.

        Raises:
            TensorCreationError: if the shapes differ.
            GraphReplicationError: if there is no such replica.
            ElementTypeError: if the tensor cannot store values of this kind.
            SizeOverflowError: if a value is out of range.
            GraphConnectionError: if the tensor may not be written.
            UnknownName: if there is no such handle or variable; the error gives the nearest name.
        """
        self._loaded.write(tensor, array, replica)

    @overload
    def read(
        self, tensor: Tensor | str, *, replica: int | None = None, root: None = None
    ) -> npt.NDArray[Any]: ...

    @overload
    def read(
        self, tensor: Tensor | str, *, replica: int | None = None, root: int
    ) -> npt.NDArray[Any] | None: ...

    def read(
        self, tensor: Tensor | str, *, replica: int | None = None, root: int | None = None
    ) -> npt.NDArray[Any] | None:
        """Return a copy of a tensor's values.

        Args:
            tensor: any view, a handle of `graph.create_host_read`, or the name of a variable, as
                for `graph.tensor`.
            replica: the replica to read; by default all.
            root: on several ranks, the rank that gets the values; the others get None. By default
                all ranks get the values.

        Returns:
            An array with the tensor's shape and its element type's dtype; for QUARTER the values as
            float32 (read `tensor.reinterpret(UNSIGNED_CHAR)` for the codes). For a replicated
            graph, all replicas along a new first dimension.

        Raises:
            GraphReplicationError: if there is no such replica.
            UnknownName: if there is no such handle or variable; the error gives the nearest name.
            ControlProgramError: if there is no such rank.
        """
        found: npt.NDArray[Any] | None = self._loaded.read(tensor, replica, root)
        return found

    # -- streams -----------------------------------------------------------------------------------

    def list_streams(self) -> list[str]:
        """Return the handles of the streams that the engine's programs use.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
        >>> stream = graph.add_host_to_device_fifo("in", pl.INT, 2)
        >>> pl.Engine(graph, pl.Copy(stream, x)).list_streams()
        ['in']
        """
        return self._loaded.links.list_streams()

    def connect_stream(
        self,
        handle: str,
        array: npt.NDArray[Any],
        *,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Connect an array to a stream, which reads or stores its blocks in it cyclically.

        Programs use the array in place: change it between runs, or read it afterwards. The replicas
        take the next block one after the other.

        Args:
            handle: the handle of the stream.
            array: a C-contiguous array of the stream's dtype, with one block or several; it must be
                writeable if the stream goes to the host.
            metadata: format and scale of the codes in the array, for a QUARTER stream.

        Raises:
            StreamConnectionError: if no program uses such a stream, the array's size is not a
                multiple of a block, or it cannot be used in place.
            ElementTypeError: if it is not an array of that dtype.
            TensorMetadataError: if metadata are missing, or the stream is not QUARTER.

        >>> import numpy as np
        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
        >>> engine = pl.Engine(graph, pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 2), x))
        >>> engine.connect_stream("in", np.arange(6, dtype=np.int32))
        >>> for _ in range(4):
        ...     engine.run()
        >>> engine.read(x)
        array([0, 1], dtype=int32)
        """
        self._loaded.links.connect_stream(handle, array, metadata)

    def connect_stream_to_callback(
        self,
        handle: str,
        callback: Callable[[npt.NDArray[Any]], object] | StreamCallback,
        *,
        replica: int | None = None,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Connect a function or a `StreamCallback` that fills or reads the blocks of a stream.

        Args:
            handle: the handle of the stream.
            callback: a function that takes an array of one dimension, which it fills, or reads
                if the stream goes to the host (the array is then read-only); or a `StreamCallback`.
                The array is valid during the call. A function that fills it must return nothing,
                and strict checks report elements that it leaves unfilled.
            replica: the replica whose blocks it gets; by default all replicas, in order.
            metadata: format and scale of the codes, for a QUARTER stream.

        Raises:
            StreamConnectionError: if no program uses such a stream.
            ElementTypeError: if the callback cannot be called.
            GraphReplicationError: if there is no such replica.
            TensorMetadataError: if metadata are missing, or the stream is not QUARTER.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
        >>> engine = pl.Engine(graph, pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 2), x))
        >>> engine.connect_stream_to_callback("in", lambda array: array.fill(7))
        >>> engine.run()
        >>> engine.read(x)
        array([7, 7], dtype=int32)
        """
        self._loaded.links.connect_stream_to_callback(handle, callback, replica, metadata)

    # -- host functions and remote buffers ---------------------------------------------------------

    def connect_host_function(
        self,
        handle: str,
        callback: Callable[[tuple[npt.NDArray[Any], ...], tuple[npt.NDArray[Any], ...]], object],
        *,
        replica: int | None = None,
    ) -> None:
        """Connect a Python function to a host function.

        Args:
            handle: the handle of the host function.
            callback: a function that takes inputs and outputs, tuples of arrays of one dimension.
                It fills the outputs, which are zero at first, and returns nothing; the inputs are
                read-only. The arrays are valid during the call.
            replica: the replica whose calls it serves; by default all replicas, in order.

        Raises:
            StreamConnectionError: if no program uses such a function.
            ElementTypeError: if the callback cannot be called.
            GraphReplicationError: if there is no such replica.

        >>> import numpy as np
        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[3, 1, 2])
        >>> sort = graph.add_host_function("sort", [(pl.INT, 3)], [(pl.INT, 3)])
        >>> engine = pl.Engine(graph, pl.Call(sort, [x], [x]))
        >>> def sorted_copy(inputs, outputs):
        ...     outputs[0][:] = np.sort(inputs[0])
        >>> engine.connect_host_function("sort", sorted_copy)
        >>> engine.run()
        >>> engine.read(x)
        array([1, 2, 3], dtype=int32)
        """
        self._loaded.links.connect_host_function(handle, callback, replica)

    def copy_to_remote_buffer(
        self, array: npt.ArrayLike, handle: str, row: int = 0, replica: int | None = None
    ) -> None:
        """Store a row of a remote buffer.

        Args:
            array: the elements of a row, under NumPy's same_kind casting.
            handle: the handle of the remote buffer.
            row: the number of the row.
            replica: the replica whose row is stored; by default all replicas.

        Raises:
            StreamConnectionError: if no program uses such a buffer.
            TensorIndexError: if there is no such row.
            TensorCreationError: if the number of elements differs.
            ElementTypeError: if the buffer cannot store values of this kind.
            SizeOverflowError: if a value is out of range.
            GraphReplicationError: if there is no such replica.
        """
        self._loaded.links.copy_to_remote_buffer(array, handle, row, replica)

    def copy_from_remote_buffer(
        self, handle: str, row: int = 0, replica: int = 0
    ) -> npt.NDArray[Any]:
        """Return a copy of a row of a remote buffer.

        Args:
            handle: the handle of the remote buffer.
            row: the number of the row.
            replica: the replica whose row is read.

        Raises:
            StreamConnectionError: if no program uses such a buffer.
            TensorIndexError: if there is no such row.
            GraphReplicationError: if there is no such replica.
        """
        return self._loaded.links.copy_from_remote_buffer(handle, row, replica)

    # -- reports -----------------------------------------------------------------------------------

    def report(self) -> Report:
        """Return a report of the compilation and of all runs so far, with their cycles.

        Later runs do not change it. Runs before the last `resetExecutionProfile` do not count, nor
        do runs between `disableExecutionProfiling` and `enableExecutionProfiling`.
        """
        return self._profiled_runs.of(self._loaded.report(self._options))

    def tracing(self, limit: int = 10_000) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement, in order.

        Args:
            limit: maximum number of recorded steps; later steps run without a record.

        Returns:
            A context manager for the trace, which is complete when the statement has ended:
            `trace.save(path)` writes it for Perfetto and Chrome.

        Raises:
            ControlProgramError: if cycles are not modelled, or the limit is less than 1.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=1)
        >>> b = graph.add_variable(pl.INT, (3,), "b", mapping=1)
        >>> engine = pl.Engine(graph, pl.Repeat(5, pl.Copy(a, b)))
        >>> with engine.tracing() as trace:
        ...     engine.run()
        >>> len(trace.steps)
        5
        """
        return self._loaded.tracing(limit)
