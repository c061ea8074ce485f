"""An engine whose runs are repeated by the host program, with all variables compared after each."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy.typing as npt

import poplite as pl
from helpers.codelets import equal_bits
from helpers.host_program import Session, recorded
from helpers.recorded_graph import check_recorded
from poplite.compile.compiler import named_programs
from poplite.ipu.tables import tables_of
from poplite.simulator.engine import Engine


class Mirrors:
    """Makes engines, each with a host program beside it.

    Args:
        cache: where what is compiled is kept.
        folder: for files of the host programs.
        stack: ends the host programs.

    Attributes:
        flags: with which the host program is compiled.
        compares: whether what the stand-in recorded is compared with the graph.
        made: the engines.
    """

    def __init__(self, cache: Path, folder: Path, stack: ExitStack) -> None:
        self._cache, self._folder, self._stack = cache, folder, stack
        self.compares = True
        self.flags: tuple[str, ...] = ()
        self._sessions = 0
        self.made: list[Mirrored] = []

    def __call__(self, *arguments: Any, **options: Any) -> Engine:
        """Make an engine, as `pl.Engine` does; one of an executable has no host program."""
        if isinstance(arguments[0], pl.Executable):
            return Engine(*arguments, **options)
        return self.mirrored(*arguments, **options)

    def mirrored(self, graph: pl.Graph, programs: Any, **options: Any) -> Mirrored:
        """Make an engine with a host program beside it."""
        engine = Mirrored(graph, programs, **options)
        engine.mirrors = self
        self.made.append(engine)
        engine.mirror(graph, programs)
        return engine

    def session(self, graph: pl.Graph, programs: Any) -> Session:
        """Return a host program, of which all that it builds is compared with the graph."""
        tables = tables_of(graph, programs)
        self._sessions += 1
        folder = self._folder / str(self._sessions)
        folder.mkdir()
        session, graph_there = self._stack.enter_context(
            recorded(tables, self._cache, folder, self.flags)
        )
        if self.compares:
            top = graph.top_level_graph
            check_recorded(top, named_programs(programs), tables.codelets, graph_there)
        session.recorded = graph_there
        return session


class Mirrored(Engine):
    """An engine, and a host program that does the same."""

    mirrors: Mirrors

    def mirror(self, graph: pl.Graph, programs: Any) -> None:
        """Let a host program repeat everything from now on."""
        self._graph, self._session = graph, self.mirrors.session(graph, programs)
        self._blocks: defaultdict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        self._calls: defaultdict[str, list[list[npt.NDArray[Any]]]] = defaultdict(list)
        self.runs = 0

    def add_program(self, program: pl.Program, name: str | None = None) -> None:
        graph, programs = self._source.with_program(program, name)
        super().add_program(program, name)
        self.mirror(graph, programs)
        self._write_all()

    def write(self, tensor: Any, array: Any, **options: Any) -> None:
        super().write(tensor, array, **options)
        self._write_all()

    def _write_all(self) -> None:
        for handle, values in self._values():
            self._session.write(handle, values)

    def connect_stream(self, handle: str, array: npt.NDArray[Any], **options: Any) -> None:
        stream = self._graph._parts.handles.streams[handle]
        blocks = array.reshape(-1, stream.num_elements)
        position = 0

        def move(block: npt.NDArray[Any]) -> None:
            nonlocal position
            if stream.type is pl.DataStreamType.HOST_TO_DEVICE_FIFO:
                block[:] = blocks[position]
            else:
                blocks[position] = block
            position = (position + 1) % len(blocks)

        self.connect_stream_to_callback(handle, move)

    def connect_stream_to_callback(self, handle: str, callback: Any, **options: Any) -> None:
        call: Callable[[Any], object] = getattr(callback, "fetch", callback)

        def noted(block: npt.NDArray[Any]) -> object:
            result = call(block)
            self._blocks[handle].append(block.copy())
            return result

        super().connect_stream_to_callback(handle, noted, **options)

    def connect_host_function(self, handle: str, callback: Any, **options: Any) -> None:
        def noted(inputs: Any, outputs: Any) -> None:
            callback(inputs, outputs)
            self._calls[handle].append([array.copy() for array in (*inputs, *outputs)])

        super().connect_host_function(handle, noted, **options)

    def run(self, program: str | int = 0, *arguments: Any, **options: Any) -> None:
        self._blocks.clear()
        self._calls.clear()
        super().run(program, *arguments, **options)
        names = self._session.tables.programs
        name = names[program] if isinstance(program, int) else program
        reply = self._session.ask(f"run {name}", self._answer, self._call)
        assert reply.startswith("ok "), reply
        assert not any(self._blocks.values())
        assert not any(self._calls.values())
        for handle, values in self._values():
            assert equal_bits(self._session.read(handle), values), handle
        self.runs += 1

    def _answer(self, name: str, block: npt.NDArray[Any]) -> bool:
        if name in self._session.tables.prints:
            return True
        moved = self._blocks[name].pop(0)
        if self._session.tables.streams[name].is_input:
            block[...] = moved
        else:
            assert equal_bits(block, moved)
        return True

    def _call(self, name: str, arrays: list[npt.NDArray[Any]]) -> bool:
        noted = self._calls[name].pop(0)
        split = sum(not place.is_input for place in self._session.tables.functions[name])
        assert all(map(equal_bits, arrays[:split], noted[:split]))
        for array, values in zip(arrays[split:], noted[split:], strict=True):
            array[...] = values
        return True

    def _values(self) -> list[tuple[str, npt.NDArray[Any]]]:
        names = [each for each in self._session.tables.writes if each.startswith("variable:")]
        tensors = [self._graph.tensor(name.removeprefix("variable:")) for name in names]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.UninitializedWarning)
            return [(name, self.read(tensor)) for name, tensor in zip(names, tensors, strict=True)]
