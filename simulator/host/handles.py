"""What an engine's programs need from the host: connected by handle, checked before they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from poplite.errors import (
    ApplicationRuntimeError,
    ElementTypeError,
    StreamConnectionError,
    TensorMetadataError,
    did_you_mean,
    listed,
)
from poplite.executable import opcodes as op
from poplite.executable.actions import (
    Action,
    CodeLoad,
    CodeUse,
    HostFunctionCall,
    RowTransfer,
    Stream,
    Transfer,
)
from poplite.executable.opcodes import Code
from poplite.machine.replicas import replica_number
from poplite.simulator.host.connections import (
    Connection,
    Looking,
    Ring,
    check_takes,
    ring_of,
    taker_of,
    workers,
)
from poplite.simulator.host.remote import RemoteRows, RemoteWatch
from poplite.simulator.run.arena import Bytes
from poplite.simulator.running import Peers
from poplite.text import amount, clipped
from poplite.types import QUARTER, QuarterMetadata

if TYPE_CHECKING:
    import numpy.typing as npt


class Missing(NamedTuple):
    """Something that has to be connected before a program can run."""

    kind: str
    handle: str


class HostLinks:
    """The streams, remote buffers and host functions of an engine.

    `calls` runs each action by its number, and is changed when something is connected.

    Attributes:
        remote: the rows of remote buffers.
        loaded: functions whose code is loaded.
        print_stream: where PrintTensor writes; None is standard error.
    """

    def __init__(
        self,
        actions: Sequence[Action],
        programs: Mapping[str, Code],
        parts: Sequence[Bytes],
        calls: list[Callable[[], object]],
        where: Callable[[], str],
        *,
        works_ahead: bool,
        is_strict: bool,
        follows_rows: bool,
        peers: Peers | None = None,
    ) -> None:
        self._peers = peers
        self.print_stream: TextIO | None = None
        self._parts, self._calls, self._works_ahead = parts, calls, works_ahead
        self._where, self._is_strict = where, is_strict
        self._connections: dict[tuple[str, str], Connection] = {}
        self.remote: dict[str, RemoteRows] = {}
        self.loaded: set[str] = set()
        self._connected: dict[tuple[object, ...], tuple[Callable[..., None], tuple[Any, ...]]] = {}
        needs: dict[int, Missing] = {}
        for number, action in enumerate(actions):
            match action:
                case Transfer() | HostFunctionCall():
                    needs[number] = self._needed(number, action)
                case RowTransfer(buffer=buffer):
                    if buffer.handle not in self.remote:
                        self.remote[buffer.handle] = RemoteRows(
                            buffer, len(parts), is_followed=follows_rows
                        )
                    calls[number] = self.remote[buffer.handle].call(action, parts, where)
                case CodeLoad(function=function):
                    calls[number] = partial(self.loaded.add, function)
                case CodeUse():
                    calls[number] = partial(self._check_loaded, action)
        self._used_by = {
            name: [needs[number] for number in _actions_of(code) if number in needs]
            for name, code in programs.items()
        }
        self._missing = {name: list(dict.fromkeys(used)) for name, used in self._used_by.items()}

    def _needed(self, number: int, action: Transfer | HostFunctionCall) -> Missing:
        if isinstance(action, Transfer):
            kind, handle = "stream", action.stream.handle
        else:
            kind, handle = "host function", action.handle
        if (kind, handle) not in self._connections:
            spec = action.stream if isinstance(action, Transfer) else action
            takers: list[Callable[..., object] | None] = [None] * len(self._parts)
            self._connections[kind, handle] = Connection(kind, spec, takers)
        self._connections[kind, handle].actions.append((number, action))
        return Missing(kind, handle)

    def _check_loaded(self, use: CodeUse) -> None:
        if use.function not in self.loaded:
            raise ApplicationRuntimeError(
                f"{use.program}: the code of the function is not loaded",
                at=use.location,
                found=f"its function buffer was made at {use.made_at}",
                fix="Copy(function_buffer, function) before the first Call",
            )

    def list_streams(self) -> list[str]:
        """Return the handles of streams."""
        return [handle for kind, handle in self._connections if kind == "stream"]

    def connect_stream(
        self, handle: object, array: object, metadata: QuarterMetadata | None
    ) -> None:
        """Connect an array to a stream, as `Engine.connect_stream`."""
        call = f"connect_stream({clipped(handle)})"
        connection, stream = self._stream(handle, call, metadata)
        self._connect(connection, ring_of(array, stream, call), None, metadata)
        self._note(HostLinks.connect_stream, handle, array, metadata)

    def connect_stream_to_callback(
        self,
        handle: object,
        callback: object,
        replica: object,
        metadata: QuarterMetadata | None,
    ) -> None:
        """Connect a callback to a stream, as `Engine.connect_stream_to_callback`."""
        call = f"connect_stream_to_callback({clipped(handle)})"
        connection, stream = self._stream(handle, call, metadata)
        number = self._replica(replica, call)
        looking = Looking(stream, self._where, is_strict=self._is_strict and stream.to_device)
        taker = taker_of(callback, stream, call, looking, works_ahead=self._works_ahead)
        self._connect(connection, taker, number, metadata)
        self._note(HostLinks.connect_stream_to_callback, handle, callback, replica, metadata)

    def connect_host_function(self, handle: object, callback: object, replica: object) -> None:
        """Connect a host function, as `Engine.connect_host_function`."""
        call = f"connect_host_function({clipped(handle)})"
        connection = self._find("host function", handle, call)
        number = self._replica(replica, call)
        if not callable(callback):
            raise ElementTypeError(
                f"{call}: {clipped(callback)} is no function",
                found=f"its type is {type(callback).__name__}",
                fix="a function that takes (inputs, outputs)",
            )
        check_takes(callback, 2, call, "two lists of arrays, inputs and outputs")
        self._connect(connection, callback, number)
        self._note(HostLinks.connect_host_function, handle, callback, replica)

    def _note(self, connect: Callable[..., None], handle: object, *arguments: object) -> None:
        """Remember what the user connected: the last for each handle and replica, in order."""
        replica = arguments[1] if connect is not HostLinks.connect_stream else None
        is_function = connect is HostLinks.connect_host_function
        self._connected.pop((is_function, handle, replica), None)
        self._connected[is_function, handle, replica] = connect, (handle, *arguments)

    def continue_from(self, other: HostLinks) -> None:
        """Take over the rows of remote buffers, and which code is loaded."""
        for handle in self.remote.keys() & other.remote.keys():
            self.remote[handle].continue_from(other.remote[handle])
        self.loaded |= other.loaded

    def watch(self, parts: Sequence[Bytes], lost: Callable[[], object]) -> None:
        """Let strict checks follow rows of remote buffers; `parts` say which bytes are written.

        `lost` is called when written elements become unwritten.
        """
        for rows in self.remote.values():
            rows.watch = RemoteWatch(parts, lost)

    def connect_as(self, other: HostLinks) -> None:
        """Connect what another engine of the same streams has, and print where it does."""
        self.print_stream = other.print_stream
        for connect, arguments in other._connected.values():
            connect(self, *arguments)

    def copy_to_remote_buffer(
        self, array: npt.ArrayLike, handle: object, row: object, replica: object
    ) -> None:
        """Store a row of a remote buffer, as `Engine.copy_to_remote_buffer`."""
        call = f"copy_to_remote_buffer to {clipped(handle)}"
        self._rows(handle, call).store(array, row, replica, call)

    def copy_from_remote_buffer(
        self, handle: object, row: object, replica: object
    ) -> npt.NDArray[Any]:
        """Return a copy of a row of a remote buffer, as `Engine.copy_from_remote_buffer`."""
        call = f"copy_from_remote_buffer of {clipped(handle)}"
        values = self._rows(handle, call).load(row, replica, call)
        return values if self._peers is None else self._peers.from_host(call, values)

    def _rows(self, handle: object, call: str) -> RemoteRows:
        """Return the rows of a remote buffer."""
        if isinstance(handle, str) and handle in self.remote:
            return self.remote[handle]
        raise _unknown("remote buffer", handle, list(self.remote), call)

    def _find(self, kind: str, handle: object, call: str) -> Connection:
        """Return the stream or host function with a handle."""
        known = [name for own, name in self._connections if own == kind]
        if isinstance(handle, str) and handle in known:
            return self._connections[kind, handle]
        raise _unknown(kind, handle, known, call)

    def _stream(self, handle: object, call: str, metadata: object) -> tuple[Connection, Stream]:
        connection = self._find("stream", handle, call)
        stream = connection.spec
        assert isinstance(stream, Stream)
        needs = stream.element_type is QUARTER
        if needs != isinstance(metadata, QuarterMetadata):
            raise TensorMetadataError(
                f"{call}: a stream of {stream.element_type!r} "
                + ("needs" if needs else "has no")
                + f" metadata, and metadata={clipped(metadata)}",
                found="the array holds codes, uint8, which mean nothing by themselves"
                if needs
                else f"the stream was made at {stream.location}",
                fix="metadata=pl.QuarterMetadata('F143', scale=0)"
                if needs
                else "leave metadata out",
            )
        return connection, stream

    def _replica(self, replica: object, call: str) -> int | None:
        if replica is None:
            return None
        return replica_number(replica, len(self._parts), call)

    def _connect(
        self,
        connection: Connection,
        taker: Callable[..., object],
        replica: int | None,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Connect something; what was connected before learns that its work is dropped."""
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
            for missing in self._missing.values():
                if done in missing:
                    missing.remove(done)
        still = workers(connection.takers)
        for worker in before:
            if worker not in still:
                worker.reset()

    def check_connected(self, program: str) -> None:
        """Refuse to run a program before all it needs is connected: `StreamConnectionError`."""
        missing = self._missing[program]
        if not missing or not (self._peers is None or self._peers.is_host):
            return
        lines = []
        for need in missing:
            connection = self._connections[need]
            spec = connection.spec
            made = spec.made_at if isinstance(spec, HostFunctionCall) else spec.location
            users = [name for name, used in self._used_by.items() if need in used]
            several = ", ".join(repr(name) for name in users)
            lines.append(
                f"{need.kind} '{need.handle}', made at {made}, used by "
                f"{amount(len(users), 'program').removeprefix('1 ')} {several}"
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
            f"program '{program}': {what}", found=listed(lines, "more"), fix=fix
        )

    @property
    def positions(self) -> dict[str, list[int | None]]:
        """The next block of each stream, by replica; None where no array is connected."""
        return {
            handle: [each.next if isinstance(each, Ring) else None for each in connection.takers]
            for (kind, handle), connection in self._connections.items()
            if kind == "stream"
        }

    def check_positions(self, positions: Mapping[str, Sequence[int | None]], call: str) -> None:
        """Refuse to go on with streams whose arrays are not connected, naming the user's `call`."""
        for handle, each in positions.items():
            connection = self._connections["stream", handle]
            for taker, position in zip(connection.takers, each, strict=True):
                length = len(taker) if isinstance(taker, Ring) else 0
                if position is not None and position >= max(length, 1):
                    raise StreamConnectionError(
                        f"{call}: stream '{handle}' was at block {position:,} of an array",
                        found=f"the array that is connected has {amount(length, 'block')}"
                        if length
                        else "no array is connected to it",
                        fix=f"engine.connect_stream({handle!r}, array) before",
                    )

    def go_on(self, positions: Mapping[str, Sequence[int | None]]) -> None:
        """Go on with these blocks of streams."""
        for handle, each in positions.items():
            takers = self._connections["stream", handle].takers
            for taker, position in zip(takers, each, strict=True):
                if isinstance(taker, Ring) and position is not None:
                    taker.next = position

    def reset(self) -> None:
        """Begin anew: rows are zero, rings begin, nothing is prefetched, no code is loaded."""
        for connection in self._connections.values():
            for worker in workers(connection.takers):
                worker.reset()
        for rows in self.remote.values():
            rows.reset()
        self.loaded.clear()


def _unknown(kind: str, handle: object, known: Sequence[str], call: str) -> StreamConnectionError:
    """Return the error for a handle that no program uses."""
    hint = did_you_mean(handle, known) if isinstance(handle, str) else ""
    names = ", ".join(map(repr, known)) or "none"
    return StreamConnectionError(
        f"{call}: no program of the engine uses a {kind} {clipped(handle)}{hint}",
        found=f"{kind}s that they use: {names}",
        fix=f"one of these handles, or a program that uses {clipped(handle)}",
    )


def _replicas_without(connection: Connection) -> str:
    without = [number for number, taker in enumerate(connection.takers) if taker is None]
    if len(without) == len(connection.takers):
        return ""
    return f"; not in replica {', '.join(map(str, without))}"


def _actions_of(code: Code) -> list[int]:
    rows = code.ops[:, 0] == op.CALLBACK
    return sorted(set(code.ops[rows, 1].tolist()))


def describe(action: Action) -> str:
    """Return which of the user's callbacks an action runs; empty when it runs none."""
    match action:
        case Transfer(stream=stream):
            return f"the callback of stream '{stream.handle}', made at {stream.location}"
        case HostFunctionCall(handle=handle, made_at=made_at):
            return f"the callback of host function '{handle}', made at {made_at}"
    return ""
