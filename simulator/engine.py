"""The engine: a program bound to memory and compiled code, ready to run.

engine = Engine(graph, program)     checked, lowered, compiled, memory filled
engine.write(x, array)              host to device
engine.run()                        as often as you like; variables keep their values
engine.read(y)                      device to host
print(engine.report())
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from poplite.compile.actions import Stamp
from poplite.compile.compiler import Programs
from poplite.compile.executable import Checks, Executable
from poplite.compile.host_tensor import HostTensor
from poplite.compile.step import ComputeStep
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    TensorCreationError,
    UnknownName,
    did_you_mean,
)
from poplite.graph.graph import Graph
from poplite.graph.storage.host_values import elements
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import why_not_writeable
from poplite.machine.replicas import replica_number, tiles_text
from poplite.options import engine_options
from poplite.quarter import QuarterMetadata, decode
from poplite.simulator import native
from poplite.simulator.accounts import Accounts
from poplite.simulator.bound import CompiledSteps
from poplite.simulator.compiled import CompiledProgram
from poplite.simulator.counter import VertexCounter
from poplite.simulator.engine_host import EngineHost
from poplite.simulator.engine_reports import EngineReports
from poplite.simulator.floats import Floats
from poplite.simulator.host import Host
from poplite.simulator.interpreted import InterpretedProgram
from poplite.simulator.memory import Arena
from poplite.simulator.moving import ByMoves, ByView, Place
from poplite.simulator.progress import Announcer, Progress, shown
from poplite.simulator.recording import Recording
from poplite.simulator.shadow import shadow_of_written
from poplite.simulator.sources import source_of
from poplite.simulator.stopping import Running, Stopped
from poplite.simulator.strict import StrictChecks
from poplite.source import here
from poplite.text import clipped, counted, of_type
from poplite.vertex.compute import check as check_vertex
from poplite.view import storages


class Engine(EngineHost, EngineReports):
    """Runs programs on the simulator.

    An engine is a snapshot: what is added to the graph or changed in it later is not part
    of it.

    Args:
        graph: the graph, or an executable: of `compile_graph`, of another engine, or loaded from
            a file. An engine made of an executable knows no tensors: hosts reach its data by
            handles and streams.
        program: of a graph one program, several in a list, or named ones in a dictionary.
        checks: "strict" finds indices out of range, reads of what nothing has written, outputs
            left unwritten and races of workers while running, "fast" does not; by default
            strict up to a million connected elements.
        interpret: run every vertex as plain Python, for debugging. What data decide of cycles is
            counted by compiled code, unless the option debug.instrument is False.
        progress: tell on standard error what is being done. Without it only compiling is
            told, when it takes longer than a second.
        seed: what stochastic rounding hangs on, from 0 to 2**63 - 1.
        options: more of them by name, see docs/options.md; the environment variable
            POPLITE_ENGINE_OPTIONS, a JSON object, comes before all.

    Raises:
        PopliteError: for every fault that can be found before running.

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
        program: Programs | None = None,
        *,
        checks: Checks | None = None,
        interpret: bool = False,
        progress: bool = False,
        seed: int = 0,
        options: Mapping[str, object] | None = None,
    ) -> None:
        arguments = {"checks": checks, "interpret": interpret, "progress": progress, "seed": seed}
        asked = engine_options(options, **arguments)
        interpret = bool(asked.interpret)
        if not interpret and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            raise ControlProgramError(
                f"NUMBA_DISABLE_JIT={os.environ['NUMBA_DISABLE_JIT']} is set, "
                "so vertices cannot be compiled",
                at=here(),
                fix="Engine(..., interpret=True) runs vertices as plain Python",
            )
        with shown("engine", "vertex classes", wanted=bool(asked.progress)) as bar:
            bar.note("checking and lowering")
            self._seed = _checked_seed(asked.seed)
            self._executable, self._graph = source_of(graph, program, asked, options)
            self._prefetches = asked.prefetch is not False
            self._make(interpret, bar)

    def _make(self, interpret: bool, progress: Progress) -> None:
        """Make ready what the executable needs."""
        self.checks: Checks = self._executable.checks
        self.interpret = interpret
        classes = _vertex_classes(self._executable)
        # Made now, so that later changes of the numbers they name do not reach this engine.
        floats = Floats(self._executable.float_modes, self._seed)
        replays = interpret or floats.may_trap or self.checks == "strict"
        self._computes = {
            cls: floats.form(cls) for cls in classes if replays or check_vertex(cls).raises
        }
        self._arena = Arena(self._executable.layout, floats)
        programs = self._executable.programs
        self._host = Host(self._executable.actions, self._arena, programs)
        self._strict = None
        if self.checks == "strict":
            shown = [cls for cls in classes if interpret and check_vertex(cls).shows]
            self._strict = StrictChecks(self._executable, self._arena, frozenset(shown))
        self._counts = {
            name: np.zeros(len(code.ops), np.int64)
            for name, code in self._executable.programs.items()
        }
        self._accounts = Accounts(self._executable, self._counts)
        self._host.cycles = self._accounts.cycles
        self._recording: Recording | None = None
        self._runs = 0
        self._runs_now: dict[str, Running] = {}
        with Announcer(progress) as announcer, native.announcing(announcer):
            self._programs = self._bound(progress)
            if any(isinstance(action, Stamp) for action in self._executable.actions):
                self._accounts.cycles()  # vertices are priced now, not in the middle of a run

    def _bound(
        self, progress: Progress
    ) -> dict[str, CompiledProgram] | dict[str, InterpretedProgram]:
        """Return the programs, ready to run."""
        executable, arena, computes = self._executable, self._arena, self._computes
        codes, counts, strict = executable.programs.items(), self._counts, self._strict
        if self.interpret:
            counter = VertexCounter(executable, arena)
            self._accounts.counted = counter.tallies.counted
            return {
                name: InterpretedProgram(
                    executable, code, counts[name], arena, computes, counter, strict
                )
                for name, code in codes
            }
        steps = CompiledSteps(executable, arena, computes, progress)
        self._accounts.counted = steps.tallies.counted
        return {name: CompiledProgram(steps, code, counts[name], strict) for name, code in codes}

    @property
    def executable(self) -> Executable:
        """What the engine runs, without its memory: it can be saved, and make other engines."""
        return self._executable

    def load(self) -> None:
        """Begin anew: memory holds what it held when the engine was made.

        Variables have their initial values again, rows of remote buffers are zero, streams begin
        with the first block of their arrays, and what callbacks have prefetched is dropped. What
        is connected stays so, and the report goes on counting.

        Raises:
            ControlProgramError: while a program runs.

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
        if self._runs_now:
            raise ControlProgramError(
                "engine.load(): a program is running", at=here(), fix="wait for the end of the run"
            )
        self._arena.load()
        self._arena.floats.reset()
        self._host.links.reset()
        if self._strict is not None:
            self._strict.load()

    # -- running -----------------------------------------------------------------------------

    def run(self, program: str | int = 0, *, progress: bool = False) -> None:
        """Run a program to its end, or until `stop`.

        Ctrl-C ends it early, and the engine can be used on: a compute set that was cut in the
        middle is undone where anything of it was saved (strict checks, or vertices that raise
        exceptions); of another one each vertex has run or has not. A Copy that was cut may have
        copied a part.

        Args:
            program: its name, or its position.
            progress: tell on standard error how many steps have run.

        Raises:
            UnknownName: when there is no such program.
            TensorIndexError: when a vertex indexes outside a field (strict checks).
            UninitializedReadError: when a result depends on what nothing has written (strict
                checks).
            WorkerRaceError: when the order of workers changes a result (strict checks).
            ApplicationRuntimeError: when a vertex raises an exception, or the program stops itself
                with an error.
            ControlProgramError: when the engine is running already.
        """
        name = self._name(program)
        mine = Running()
        try:
            # In one step, so that Ctrl-C finds the mark either made or not.
            if self._runs_now.setdefault("run", mine) is not mine:
                raise ControlProgramError(
                    f"engine.run({program!r}): the engine is running already",
                    at=here(),
                    found=f"called while {self._host.doing()} is running"
                    if self._host.doing()
                    else "called from its own print stream, or from a second thread",
                    fix="wait for the first run, or make a second engine",
                )
            self._host.links.check_connected(name)
            if self._recording is not None:
                self._recording.begin(name)
            bound = self._programs[name]
            self._host.where, self._host.acting = bound.where, bound.acting
            if progress:
                self._run_shown(name, mine)
            else:
                bound.run(self._host.calls, mine.watch)
        except Stopped:
            pass
        except Exception as error:
            if self._runs_now.get("run") is mine:
                self._host.note(error)
            raise
        finally:
            if self._runs_now.get("run") is mine:
                del self._runs_now["run"]
        self._runs += 1

    def stop(self) -> None:
        """End the run that is going on, from another thread or from a callback of the run.

        `run` then returns as if the program had ended, soon: after the step that is running, or
        in the middle of one that takes long. What memory holds then is what it holds after
        Ctrl-C, see `run`; the engine can be used on. Nothing happens when no program runs, when
        it is about to end anyway, or when it was stopped before.

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
        running = self._runs_now.get("run")
        if running is not None:
            running.stop()

    def _run_shown(self, name: str, running: Running) -> None:
        code, counts = self._executable.programs[name], self._counts[name]
        before = int(counts[code.step_rows].sum())
        with shown(f"run {name!r}", "steps", code.num_runs, wanted=True) as bar:

            def done() -> int:
                return int(counts[code.step_rows].sum()) - before

            def watch() -> None:
                bar.update(done)
                running.watch()

            try:
                self._programs[name].run(self._host.calls, watch)
            finally:
                bar.update(done)

    def _name(self, program: str | int) -> str:
        programs = self._executable.programs
        if isinstance(program, str) and program in programs:
            return program
        names = list(programs)
        if isinstance(program, int | np.integer) and 0 <= program < len(names):
            return names[program]
        if isinstance(program, str):
            listed = [repr(name) for name in names]
            hint, fix = did_you_mean(program, names), f"engine.run({names[0]!r})"
        else:
            listed = [f"{position} is {name!r}" for position, name in enumerate(names)]
            hint, fix = "", "engine.run(0), or a name"
        raise UnknownName(
            f"the engine has no program {clipped(program)}{hint}",
            at=here(),
            found="programs: " + ", ".join(listed),
            fix=fix,
        )

    @property
    def print_stream(self) -> TextIO | None:
        """Where PrintTensor writes; None is standard error."""
        return self._host.print_stream

    @print_stream.setter
    def print_stream(self, stream: TextIO | None) -> None:
        self._host.print_stream = stream

    # -- host access -------------------------------------------------------------------------

    def write(
        self,
        tensor: Tensor | str,
        array: npt.ArrayLike | QuarterMetadata,
        *,
        replica: int | None = None,
    ) -> None:
        """Write host values to a tensor.

        Args:
            tensor: any view without aliases and constants, or a handle of
                `graph.create_host_write`.
            array: values of its shape, or one number for all elements, under NumPy's
                same_kind casting; integers must lie in the range of the element type. For
                QUARTER_METADATA a `QuarterMetadata`. All replicas get the same, unless there is
                a first dimension more, with values for each of them.
            replica: the one that is written; by default all.

        Raises:
            TensorCreationError: when the shapes differ.
            GraphReplicationError: when there is no such replica.
            ElementTypeError: when the values are of a kind the tensor cannot hold.
            SizeOverflowError: when a value is out of range.
            GraphConnectionError: when the tensor may not be written.
            UnknownName: when there is no such handle.
        """
        place = self._place(tensor, "write", self._executable.host_writes)
        what = f"engine.write to '{place.name}'"
        if isinstance(tensor, Tensor) and not tensor.is_parallel_writeable():
            reason, fact = why_not_writeable(tensor)
            fix = "write to the variable itself"
            if tensor.contains_constant():
                kind = repr(tensor.element_type)
                fix = f"make it a variable: graph.add_variable({kind}, {tensor.shape}, mapping=...)"
            raise GraphConnectionError(
                f"{what}: the tensor {reason}", at=here(), found=fact, fix=fix
            )
        replicas = self._replicas(replica, what)
        metadata = {number: place.metadata(self._arena, number) for number in replicas}
        element = place.element_type
        stored = {
            each: elements(element, array, what=what, at=here(), metadata=each)
            for each in dict.fromkeys(metadata.values())
        }
        shape = next(iter(stored.values())).shape
        is_each = len(replicas) > 1 and shape == (len(replicas), *place.shape)
        if shape not in ((), place.shape) and not is_each:
            raise TensorCreationError(
                f"{what}: an array of shape {shape} for a tensor of shape {place.shape}",
                at=here(),
                found=f"or of shape {(len(replicas), *place.shape)}, one for each replica"
                if len(replicas) > 1
                else "",
                fix=f"array.reshape({place.shape})"
                if math.prod(shape) == math.prod(place.shape)
                else "slice the tensor or the array",
            )
        for number in replicas:
            values = stored[metadata[number]]
            own = values[number] if is_each else values
            place.write(self._arena, own, number)
            if self._strict is not None:
                place.write(self._strict.shadow, shadow_of_written(element), number)

    def read(self, tensor: Tensor | str, *, replica: int | None = None) -> npt.NDArray[Any]:
        """Return a copy of a tensor's values.

        Args:
            tensor: any view, or a handle of `graph.create_host_read`.
            replica: the one that is read; by default all.

        Returns:
            Array of the tensor's shape and its element type's dtype; of QUARTER the values, as
            float32. The codes are those of `tensor.reinterpret(UNSIGNED_CHAR)`. Of a graph that
            is replicated, all replicas along a new first dimension.

        Raises:
            GraphReplicationError: when there is no such replica.
            UnknownName: when there is no such handle.
        """
        place = self._place(tensor, "read", self._executable.host_reads)
        what = f"engine.read of '{place.name}'"
        replicas = self._replicas(replica, what)
        if self._strict is not None:
            self._strict.read(what, [place.read(self._strict.shadow, n) for n in replicas])
        found = [self._read(place, number) for number in replicas]
        return found[0] if len(found) == 1 else np.stack(found)

    def _read(self, place: Place, replica: int) -> npt.NDArray[Any]:
        stored = place.read(self._arena, replica)
        metadata = place.metadata(self._arena, replica)
        return stored if metadata is None else decode(stored, metadata)

    def _replicas(self, replica: int | None, what: str) -> Sequence[int]:
        """Return the replicas that are meant."""
        count = self._executable.layout.replicas
        return range(count) if replica is None else [replica_number(replica, count, what, here())]

    def _place(self, tensor: object, verb: str, known: Mapping[str, HostTensor]) -> Place:
        """Return where a tensor lies that the user gave, or named by a handle."""
        if not isinstance(tensor, str):
            self._check_owner(tensor, f"engine.{verb}")
            assert isinstance(tensor, Tensor)
            return ByView(tensor)
        if tensor in known:
            return ByMoves(known[tensor])
        raise UnknownName(
            f"engine.{verb}: there is no host {verb} {tensor!r}{did_you_mean(tensor, known)}",
            at=here(),
            found=f"handles: {', '.join(map(repr, known)) or 'none'}",
            fix=f"graph.create_host_{verb}({tensor!r}, tensor) before the engine is made",
        )

    def _check_owner(self, tensor: object, call: str) -> None:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"{call}: {tensor!r:.60} is not a tensor", at=here(), fix=f"{call}(t) of a tensor"
            )
        if self._graph is None:
            raise GraphConnectionError(
                f"{call}: this engine was made of an executable, which knows no tensors",
                at=here(),
                found=f"asked for '{tensor.name}'",
                fix=f"{call}('x'), after graph.{call.replace('engine.', 'create_host_')}"
                "('x', tensor) before compiling",
            )
        if tensor.graph is not self._graph:
            raise GraphConnectionError(
                f"{call}: tensor '{tensor.name}' belongs to another graph than this engine's",
                at=here(),
                fix="use tensors of the graph the engine was made from",
            )
        late = [s for s in storages(tensor.view) if not self._executable.layout.holds(s)]
        if late:
            variable = self._graph.variable_of(late[0])
            raise GraphConnectionError(
                f"{call}: '{variable.name}' was added to the graph after this engine was made",
                at=here(),
                found=f"added at {variable.location}",
                fix="make the engine after all variables are added",
            )

    def __repr__(self) -> str:
        programs = counted(len(self._executable.programs), "program")
        form = "interpreted" if self.interpret else "compiled"
        tiles = tiles_text(self._executable.target.tiles, self._executable.layout.replicas)
        return f"<Engine {programs} on {tiles}, {form}, {self.checks} checks>"

    readTensor = read
    writeTensor = write


def _checked_seed(seed: object) -> int:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < 1 << 63:  # type: ignore[call-overload]
        raise ControlProgramError(
            f"Engine: seed={clipped(seed)} is no whole number from 0 to 2**63 - 1",
            at=here(),
            found=of_type(seed),
            fix="leave seed out for 0",
        )
    return int(seed)  # type: ignore[call-overload, no-any-return]


def _vertex_classes(executable: Executable) -> list[type[Any]]:
    groups = (g for step in executable.steps if isinstance(step, ComputeStep) for g in step.groups)
    return list(dict.fromkeys(group.cls for group in groups))
