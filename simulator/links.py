"""What an engine's programs need of the host: connected by handle, checked before they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from poplite.compile.actions import Action
from poplite.compile.code import Code
from poplite.compile.opcodes import CALLBACK
from poplite.compile.transfers import (
    CodeLoad,
    CodeUse,
    HostFunctionCall,
    RowTransfer,
    Transfer,
)
from poplite.errors import (
    ApplicationRuntimeError,
    StreamConnectionError,
    did_you_mean,
    listed,
)
from poplite.quarter import QuarterMetadata
from poplite.simulator.connections import Connection, workers
from poplite.simulator.memory import Bytes
from poplite.simulator.remote import RemoteRows
from poplite.source import here
from poplite.text import clipped, counted


class Missing(NamedTuple):
    """Something that has to be connected before a program can run."""

    kind: str
    handle: str


class Links:
    """The streams, remote buffers and host functions of an engine.

    Args:
        actions: what its programs ask of Python.
        programs: the programs by name.
        parts: the memory of each replica.
        calls: what runs each action; what is connected is entered here.
        where: tells the step that is running, for messages.

    Attributes:
        connections: streams and host functions, by kind and handle.
        remote: remote buffers, by handle.
        missing: for each program, what it needs and nobody has connected.
    """

    def __init__(
        self,
        actions: Sequence[Action],
        programs: Mapping[str, Code],
        parts: Sequence[Bytes],
        calls: list[Callable[[], object]],
        where: Callable[[], str],
    ) -> None:
        self._parts, self._calls = parts, calls
        self.connections: dict[tuple[str, str], Connection] = {}
        self.remote: dict[str, RemoteRows] = {}
        self._loaded: set[str] = set()
        needs: dict[int, Missing] = {}
        for number, action in enumerate(actions):
            match action:
                case Transfer() | HostFunctionCall():
                    needs[number] = self._needed(number, action)
                case RowTransfer(buffer=buffer):
                    if buffer.handle not in self.remote:
                        self.remote[buffer.handle] = RemoteRows(buffer, len(parts))
                    calls[number] = self.remote[buffer.handle].call(action, parts, where)
                case CodeLoad(function=function):
                    calls[number] = partial(self._loaded.add, function)
                case CodeUse():
                    calls[number] = partial(self._check_loaded, action)
        self._used_by = {
            name: [needs[number] for number in _actions_of(code) if number in needs]
            for name, code in programs.items()
        }
        self.missing = {name: list(dict.fromkeys(used)) for name, used in self._used_by.items()}

    def _needed(self, number: int, action: Transfer | HostFunctionCall) -> Missing:
        if isinstance(action, Transfer):
            kind, handle = "stream", action.stream.handle
        else:
            kind, handle = "host function", action.handle
        if (kind, handle) not in self.connections:
            spec = action.stream if isinstance(action, Transfer) else action
            takers: list[Callable[..., object] | None] = [None] * len(self._parts)
            self.connections[kind, handle] = Connection(kind, spec, takers)
        self.connections[kind, handle].actions.append((number, action))
        return Missing(kind, handle)

    def _check_loaded(self, use: CodeUse) -> None:
        if use.function not in self._loaded:
            raise ApplicationRuntimeError(
                f"{use.program}: the code of the function is not loaded",
                at=use.location,
                found=f"its function buffer was made at {use.made_at}",
                fix="Copy(function_buffer, function) before the first Call",
            )

    def find(self, kind: str, handle: object, call: str) -> Connection:
        """Return the stream or host function of a handle.

        Args:
            kind: "stream" or "host function".
            handle: what the user gave.
            call: what the user called, for the message.

        Raises:
            StreamConnectionError: when no program uses one of that handle.
        """
        known = [name for own, name in self.connections if own == kind]
        if isinstance(handle, str) and handle in known:
            return self.connections[kind, handle]
        raise unknown(kind, handle, known, call)

    def connect(
        self,
        connection: Connection,
        taker: Callable[..., object],
        replica: int | None = None,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Connect something; what was connected before is told that its work is dropped.

        Args:
            connection: the stream or host function.
            taker: what is called.
            replica: whose calls it gets; None for those of all.
            metadata: format and scale of QUARTER codes.
        """
        before = workers(connection.takers)
        spread = replica is None or (
            not isinstance(connection.spec, HostFunctionCall) and connection.spec.is_broadcast
        )
        for number in range(len(connection.takers)) if spread else [replica]:
            connection.takers[number or 0] = taker
        connection.metadata = metadata
        if connection.is_connected:
            for number, call in connection.calls(self._parts).items():
                self._calls[number] = call
            done = Missing(connection.kind, connection.spec.handle)
            for missing in self.missing.values():
                if done in missing:
                    missing.remove(done)
        still = workers(connection.takers)
        for worker in before:
            if worker not in still:
                worker.reset()

    def check_connected(self, program: str) -> None:
        """Refuse to run a program before all it needs is connected.

        Args:
            program: its name.

        Raises:
            StreamConnectionError: when something is missing, with the line that made it.
        """
        missing = self.missing[program]
        if not missing:
            return
        lines = []
        for need in missing:
            connection = self.connections[need]
            spec = connection.spec
            made = spec.made_at if isinstance(spec, HostFunctionCall) else spec.location
            users = [name for name, used in self._used_by.items() if need in used]
            several = ", ".join(repr(name) for name in users)
            lines.append(
                f"{need.kind} '{need.handle}', made at {made}, used by "
                f"{counted(len(users), 'program').removeprefix('1 ')} {several}"
                + _replicas_without(connection)
            )
        first = missing[0]
        what = f"{first.kind} '{first.handle}' is not connected"
        if len(missing) > 1:
            what = f"{len(missing):,} streams and host functions are not connected"
        fix = f"engine.connect_stream({first.handle!r}, array)"
        if first.kind == "host function":
            fix = f"engine.connect_host_function({first.handle!r}, function)"
        raise StreamConnectionError(
            f"program '{program}': {what}", at=here(), found=listed(lines, "more"), fix=fix
        )

    def reset(self) -> None:
        """Begin anew: rows are zero, rings begin, nothing is done ahead, no code is loaded."""
        for connection in self.connections.values():
            for worker in workers(connection.takers):
                worker.reset()
        for rows in self.remote.values():
            rows.reset()
        self._loaded.clear()


def unknown(kind: str, handle: object, known: Sequence[str], call: str) -> StreamConnectionError:
    """Return the error for a handle that no program uses.

    Args:
        kind: what it would be of.
        handle: what the user gave.
        known: the handles there are.
        call: what the user called.
    """
    hint = did_you_mean(handle, known) if isinstance(handle, str) else ""
    names = ", ".join(map(repr, known)) or "none"
    return StreamConnectionError(
        f"{call}: no program of the engine uses a {kind} {clipped(handle)}{hint}",
        at=here(),
        found=f"{kind}s that they use: {names}",
        fix=f"one of these handles, or a program that uses {clipped(handle)}",
    )


def _replicas_without(connection: Connection) -> str:
    without = [number for number, taker in enumerate(connection.takers) if taker is None]
    if len(without) == len(connection.takers):
        return ""
    return f"; not in replica {', '.join(map(str, without))}"


def _actions_of(code: Code) -> list[int]:
    rows = code.ops[:, 0] == CALLBACK
    return [int(number) for number in np.unique(code.ops[rows, 1])]


def describe(action: Action) -> str:
    """Return which callback of the user's an action runs; empty when it runs none.

    Args:
        action: the action.
    """
    match action:
        case Transfer(stream=stream):
            return f"the callback of stream '{stream.handle}', made at {stream.location}"
        case HostFunctionCall(handle=handle, made_at=made_at):
            return f"the callback of host function '{handle}', made at {made_at}"
    return ""
