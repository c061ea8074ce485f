"""Programs of a target, each run once, and what is not known when that is done.

Nothing has written what a script gives with `engine.write`.  Vertices may read that: costs do not
depend on values.  Where it decides what runs, nothing is known of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.errors import GraphMemoryAllocationError, PopliteError, UninitializedReadError
from poplite.simulator.decided import Decided, Unknown
from poplite.simulator.engine import Engine

if TYPE_CHECKING:
    from poplite.executable.executable import Executable
    from poplite.graph.graph import Graph
    from poplite.program import Program

T = TypeVar("T")


class Once:
    """The programs of a graph, each of which is to run once.

    Attributes:
        engine: what has run them; what is yet to run them, where they are not known.
        unknown: what nothing has written and decides what runs; None where there is nothing.

    With `may_overflow`, programs run on tiles that have too little memory for them.
    """

    def __init__(
        self, graph: Graph, programs: Mapping[str, Program], *, may_overflow: bool = True
    ) -> None:
        self._graph, self._programs, self._may_overflow = graph, programs, may_overflow
        self._device = Decided()
        # Strict checks refuse to read what the host would have written.
        self.engine = self._compiled(checks="fast", device=self._device)
        self.unknown: Unknown | None = None

    def _compiled(self, **options: Any) -> Engine:
        """Compile; where a tile has too little memory again, as the report says how much."""
        from poplite.program import Sequence as Nothing

        make = partial(Engine, self._graph, dict(self._programs) or Nothing(), **options)
        try:
            return make()
        except GraphMemoryAllocationError:
            if not self._may_overflow:
                raise
            return make(options={"debug.allowOutOfMemory": True})

    def run(self, run: Callable[[Engine], T], *, with_zeros: bool = False) -> T | None:
        """Run the programs by `run` of an engine, and return its result.

        None is returned where nothing knows what runs, unless that goes on `with_zeros`.
        """
        executable = self.engine.executable
        try:
            return run(self.engine)
        except UninitializedReadError:
            if (unknown := self._device.unknown()) is None:
                raise
        # It may depend only on working memory of vertices, which they fill first: strict checks
        # know.
        self.engine = Engine(executable, device=Decided(past_inout=True))
        try:
            result = run(self.engine)
            run(self._compiled(checks="strict"))
        except PopliteError:
            self.unknown, self.engine = unknown, Engine(executable)
            return run(self.engine) if with_zeros else None
        return result


def run_each(engine: Engine) -> None:
    """Run each program once, with zeros in all streams."""
    connect_zeros(engine, *host_needs(engine.executable))
    for name in engine.executable.programs:
        engine.run(name)


def host_needs(executable: Executable) -> tuple[dict[str, Any], list[str]]:
    """Return the streams by handle, and the handles of host functions, that programs need."""
    from poplite.executable.transfers import HostFunctionCall, Transfer

    streams, functions = {}, []
    for action in executable.actions:
        match action:
            case Transfer(stream=stream):
                streams[stream.handle] = stream
            case HostFunctionCall(handle=handle):
                functions.append(handle)
    return streams, list(dict.fromkeys(functions))


def connect_zeros(engine: Engine, streams: dict[str, Any], functions: list[str]) -> None:
    """Connect zeros to all that programs need."""
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
    """Leave the outputs of a host function as they are: zeros."""
