"""Run each program of a target once.

Data that a script would provide with `engine.write` are unwritten here. Vertices may read them if
their costs do not depend on values. If control flow in a program or in a vertex depends on such
data, the run is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.compile.compiler import compile_with_marks
from poplite.errors import GraphMemoryAllocationError, UninitializedReadError
from poplite.simulator.decided import Decided, Unknown
from poplite.simulator.engine import Engine

if TYPE_CHECKING:
    from poplite.executable.executable import Checks, Executable
    from poplite.graph.graph import Graph
    from poplite.program import Program
    from poplite.simulator.engine_arguments import ExecutableDevice

T = TypeVar("T")


class Once:
    """The programs of a graph, each of which is run once.

    Attributes:
        engine: the engine, which has run them unless their control flow is unknown.
        unknown: unwritten data that control flow depends on; None if there are none.
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
    ) -> None:
        self._graph, self._programs = graph, programs
        self._may_overflow, self._only_looks = may_overflow, only_looks
        self._device = Decided(ends_loops=only_looks)
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
            run_each(Engine(self.engine.executable, device=device))
            run_each(self._engine("strict", Decided(ends_loops=True)))
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
            run_each(Engine(executable, device=device))
        except UninitializedReadError:
            if (unknown := device.unknown()) is None:
                raise
            return unknown
        return None


def run_each(engine: Engine) -> None:
    """Run each program once, with zeros in all streams."""
    connect_zeros(engine, *host_needs(engine.executable))
    for name in engine.executable.programs:
        engine.run(name)


def gives_zeros(executable: Executable) -> bool:
    """Return whether programs receive data from streams or host functions."""
    from poplite.executable.steps import HostFunctionCall, Transfer

    return any(
        isinstance(action, HostFunctionCall)
        or (isinstance(action, Transfer) and action.stream.to_device)
        for action in executable.actions
    )


def host_needs(executable: Executable) -> tuple[dict[str, Any], list[str]]:
    """Return the streams by handle, and the handles of host functions, that programs need."""
    from poplite.executable.steps import HostFunctionCall, Transfer

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
