"""Run each program of a target once.

Data that a script would provide with `engine.write` are unwritten here. Vertices may read them if
their costs do not depend on values. If control flow in a program or in a vertex depends on such
data, the run is unknown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.compile.compiler import compile_with_marks
from poplite.errors import (
    ControlProgramError,
    GraphMemoryAllocationError,
    UninitializedReadError,
)
from poplite.simulator.decided import Decided, Unknown
from poplite.simulator.engine import Engine
from poplite.text import amount
from poplite.tools.viz.progress import doing

if TYPE_CHECKING:
    from poplite.executable.executable import Checks, Executable
    from poplite.graph.graph import Graph
    from poplite.program import Program
    from poplite.simulator.engine_arguments import ExecutableDevice

T = TypeVar("T")


class TimeLimit:
    """The time that programs may run, all of their runs together; None for as long as they want.

    Attributes:
        is_over: whether a program was ended.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._end: float | None = None
        self.is_over = False

    def run(self, engine: Engine, name: str) -> None:
        """Run a program; raise ControlProgramError with its current step if its time is over."""
        doing(f"running program {name!r}")
        if self._seconds is None:
            engine.run(name)
            return
        if self._end is None:
            self._end = monotonic() + self._seconds
        has_ended, end = threading.Event(), self._end

        def stop() -> None:
            while not has_ended.wait(max(0.01, end - monotonic())):
                self.is_over = True
                engine.stop()  # again, since it does nothing before the run has begun

        watcher = threading.Thread(target=stop, daemon=True)
        watcher.start()
        try:
            engine.run(name)
        finally:
            has_ended.set()
            watcher.join()
        if self.is_over:
            raise over_time(engine, name, self._seconds)


def over_time(engine: Engine, name: str, seconds: float) -> ControlProgramError:
    """Return the error for a program that ran for so many seconds, with the step it was at most."""
    steps = [step for step in engine.report().execution.steps if step.program_name == name]
    longest = max(steps, key=lambda step: step.executions, default=None)
    where = ""
    if longest is not None:
        ran = amount(sum(step.executions for step in steps), "step")
        at = f" ({longest.at})" if longest.at else ""
        times = amount(longest.executions, "time")
        where = f"it ran {ran}, most often step {longest.number} {longest.name!r}{at}, {times}"
    what = f"program {name!r} did not end within {seconds:g} s"
    return ControlProgramError(what, at=None, found=where, fix="")


class Once:
    """The programs of a graph, each of which is run once.

    Attributes:
        engine: the engine, which has run them unless their control flow is unknown.
        unknown: unwritten data that control flow depends on; None if there are none.
        limit: the time that the programs may run, all together.
        invented: data that control flow depends on, and that are computed from the zeros of
            streams and host functions; None if there are none.

    With `may_overflow`, programs run even if tiles have too little memory for them; with
    `only_looks`, each Loop ends once further iterations cannot find new data.
    """

    def __init__(
        self,
        graph: Graph,
        programs: Mapping[str, Program],
        *,
        may_overflow: bool = True,
        only_looks: bool = False,
        timeout: float | None = None,
    ) -> None:
        self._graph, self._programs = graph, programs
        self._may_overflow, self._only_looks = may_overflow, only_looks
        self._device = Decided(ends_loops=only_looks)
        self.limit = TimeLimit(timeout)
        # Strict checks would reject reads of data that the host would have written.
        self.engine = self._engine("fast", self._device)
        self.unknown: Unknown | None = None
        self.invented: Unknown | None = None

    @property
    def note(self) -> str:
        """The data on which a run with zeros depends, as text; empty if there are none."""
        if self.unknown is not None:
            return f"with zeros: {self.unknown.why}"
        if self.invented is not None:
            return f"with zeros from the host, on which it depends {self.invented.what}"
        return ""

    def _engine(self, checks: Checks, device: ExecutableDevice | None = None) -> Engine:
        """Compile; if a tile has too little memory, compile again for a report that shows this."""
        from poplite.program import Sequence as Nothing

        programs = dict(self._programs) or Nothing()
        make = partial(compile_with_marks, self._graph, programs, checks=checks)
        try:
            executable = make()
        except GraphMemoryAllocationError:
            if not self._may_overflow:
                raise
            executable = make(options={"debug.allowOutOfMemory": True})
        return Engine(executable, device=device)

    def run(self, run: Callable[[Engine], T], *, with_zeros: bool = False) -> T | None:
        """Run the programs by calling `run` with an engine, and return its result.

        Returns None if control flow is unknown, unless the run continues `with_zeros`. `run` is
        called again, with a new engine, if it first ended at data that may still become known.
        """
        try:
            result = run(self.engine)
        except UninitializedReadError:
            if (unknown := self._device.unknown()) is None:
                raise
        else:
            self.invented = self._invented()
            return result
        executable = self.engine.executable
        self.engine = Engine(executable)
        if not self._is_known():
            self.unknown = unknown
            return run(self.engine) if with_zeros else None
        self.invented = self._invented()
        return None if self._only_looks else run(self.engine)

    def _is_known(self) -> bool:
        """Return whether control flow depends only on memory that vertices fill before use."""
        try:
            device = Decided(past_inout=True, ends_loops=True)
            run_each(Engine(self.engine.executable, device=device), self.limit)
            run_each(self._engine("strict", Decided(ends_loops=True)), self.limit)
        except UninitializedReadError:
            return False
        return True

    def _invented(self) -> Unknown | None:
        """Return the data of control flow that depend on zeros in place of host data."""
        executable = self.engine.executable
        if not gives_zeros(executable):
            return None
        device = Decided(past_inout=True, by_host=False, ends_loops=True)
        try:
            run_each(Engine(executable, device=device), self.limit)
        except UninitializedReadError:
            if (unknown := device.unknown()) is None:
                raise
            return unknown
        return None


def run_each(engine: Engine, limit: TimeLimit | None = None) -> None:
    """Run each program once, with zeros in all streams, for no longer than the limit."""
    connect_zeros(engine, *host_needs(engine.executable))
    for name in engine.executable.programs:
        (limit or TimeLimit(None)).run(engine, name)


def gives_zeros(executable: Executable) -> bool:
    """Return whether programs receive data from streams or host functions."""
    from poplite.executable.parts import HostFunctionCall, Transfer

    return any(
        isinstance(action, HostFunctionCall)
        or (isinstance(action, Transfer) and action.stream.to_device)
        for action in executable.actions
    )


def host_needs(executable: Executable) -> tuple[dict[str, Any], list[str]]:
    """Return the streams by handle, and the handles of host functions, that programs need."""
    from poplite.executable.parts import HostFunctionCall, Transfer

    streams, functions = {}, []
    for action in executable.actions:
        match action:
            case Transfer(stream=stream):
                streams[stream.handle] = stream
            case HostFunctionCall(handle=handle):
                functions.append(handle)
    return streams, list(dict.fromkeys(functions))


def connect_zeros(engine: Engine, streams: dict[str, Any], functions: list[str]) -> None:
    """Connect zeros to all streams and host functions that programs need."""
    import numpy as np

    from poplite.types import QUARTER, QuarterMetadata

    for handle, stream in streams.items():
        connect = partial(
            engine.connect_stream, handle, np.zeros(stream.num_elements, stream.element_type.dtype)
        )
        if stream.element_type is QUARTER:
            connect(metadata=QuarterMetadata("F143", scale=0))
        else:
            connect()
    for handle in functions:
        engine.connect_host_function(handle, _fill_nothing)


def _fill_nothing(_: object, __: object) -> None:
    """Leave the outputs of a host function unchanged: zeros."""
