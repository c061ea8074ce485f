"""Programs on the simulator: an executable bound to its memory.

    Arena            memory, with all variables
    HostTensors      tensors that the host reads and writes
    Host             the actions of Python; its HostLinks are streams, remote buffers and
                     host functions
    StrictChecks     which memory is written, with strict checks only
    EnginePrograms   the programs, one of which runs at a time
    Accounts         counts of executed work, and its cost

None of these parts depends on an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from poplite.arrays.intervals import Int64
from poplite.compile.options import Faster, Interpret, interpret_text
from poplite.executable.executable import Executable
from poplite.executable.steps import Stamp, vertex_classes
from poplite.files import checked_path
from poplite.graph.graph import Graph
from poplite.simulator.accounts import Accounts
from poplite.simulator.codegen.compute_code import modes_of
from poplite.simulator.compiled_program import EnginePrograms
from poplite.simulator.engine_arguments import LoadedPrograms, Setup, check_root
from poplite.simulator.run.arena import Arena, Bytes, Floats, Runs as Bounds, carry_memory, within
from poplite.simulator.run.host_actions import Host
from poplite.simulator.run.host_links import RemoteWatch
from poplite.simulator.run.host_tensors import HostTensors
from poplite.simulator.running import Announcer, Peers
from poplite.simulator.strict.checks import StrictChecks
from poplite.vertex.compute import FasterForms, faster_form

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.report.report import Report
    from poplite.report.trace import Trace
    from poplite.simulator.states import EngineState


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
            self.strict.read(access)
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
