"""Host resources of an engine's programs, connected by handle and checked before runs.

Remote buffers are rows on the host, outside the arena, whose contents persist between runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ApplicationRuntimeError,
    ElementTypeError,
    SizeOverflowError,
    StreamConnectionError,
    TensorCreationError,
    TensorIndexError,
    TensorMetadataError,
    did_you_mean,
    listed,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.parts import (
    Action,
    CodeLoad,
    CodeUse,
    HostFunctionCall,
    HostTensor,
    Remote,
    RowTransfer,
    Stream,
    Transfer,
)
from poplite.frozen import frozen
from poplite.graph.host_values import element_array
from poplite.machine.target import replica_number
from poplite.simulator.run.arena import Bytes
from poplite.simulator.run.host_connections import (
    Connection,
    Looking,
    Ring,
    check_takes,
    in_turn,
    ring_of,
    taker_of,
    view_of,
    workers,
)
from poplite.simulator.run.host_tensors import read_host
from poplite.simulator.running import Peers
from poplite.text import amount, clipped, integer_or_none
from poplite.types import QUARTER, QuarterMetadata

if TYPE_CHECKING:
    import numpy.typing as npt


class Missing(NamedTuple):
    """A stream or host function that must be connected before a program can run."""

    kind: str
    handle: str


class HostLinks:
    """The streams, remote buffers and host functions of an engine.

    `calls` lists the function of each action by number, and changes with connections.

    Attributes:
        remote: the rows of remote buffers.
        loaded: functions whose code is loaded.
        print_stream: the stream that PrintTensor writes to; None means standard error.
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
                fix="run Copy(function_buffer, function) before the first Call",
            )

    def list_streams(self) -> list[str]:
        """Return the handles of streams."""
        return [handle for kind, handle in self._connections if kind == "stream"]

    def connect_stream(
        self, handle: object, array: object, metadata: QuarterMetadata | None
    ) -> None:
        """Connect an array to a stream, like `Engine.connect_stream`."""
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
        """Connect a callback to a stream, like `Engine.connect_stream_to_callback`."""
        call = f"connect_stream_to_callback({clipped(handle)})"
        connection, stream = self._stream(handle, call, metadata)
        number = self._replica(replica, call)
        looking = Looking(stream, self._where, is_strict=self._is_strict and stream.to_device)
        taker = taker_of(callback, stream, call, looking, works_ahead=self._works_ahead)
        self._connect(connection, taker, number, metadata)
        self._note(HostLinks.connect_stream_to_callback, handle, callback, replica, metadata)

    def connect_host_function(self, handle: object, callback: object, replica: object) -> None:
        """Connect a host function, like `Engine.connect_host_function`."""
        call = f"connect_host_function({clipped(handle)})"
        connection = self._find("host function", handle, call)
        number = self._replica(replica, call)
        if not callable(callback):
            raise ElementTypeError(
                f"{call}: {clipped(callback)} is not a function",
                found=f"its type is {type(callback).__name__}",
                fix="pass a function that takes (inputs, outputs)",
            )
        check_takes(callback, 2, call, "two lists of arrays, inputs and outputs")
        self._connect(connection, callback, number)
        self._note(HostLinks.connect_host_function, handle, callback, replica)

    def _note(self, connect: Callable[..., None], handle: object, *arguments: object) -> None:
        """Record the user's connections: the last one for each handle and replica, in order."""
        replica = arguments[1] if connect is not HostLinks.connect_stream else None
        is_function = connect is HostLinks.connect_host_function
        self._connected.pop((is_function, handle, replica), None)
        self._connected[is_function, handle, replica] = connect, (handle, *arguments)

    def continue_from(self, other: HostLinks) -> None:
        """Copy the rows of remote buffers, and the set of loaded functions."""
        for handle in self.remote.keys() & other.remote.keys():
            self.remote[handle].continue_from(other.remote[handle])
        self.loaded |= other.loaded

    def watch(self, watch: RemoteWatch) -> None:
        """Make remote buffers report written rows to strict checks."""
        for rows in self.remote.values():
            rows.watch = watch

    def connect_as(self, other: HostLinks) -> None:
        """Copy connections and print stream from another engine with the same streams."""
        self.print_stream = other.print_stream
        for connect, arguments in other._connected.values():
            connect(self, *arguments)

    def copy_to_remote_buffer(
        self, array: npt.ArrayLike, handle: object, row: object, replica: object
    ) -> None:
        """Store a row of a remote buffer, like `Engine.copy_to_remote_buffer`."""
        call = f"copy_to_remote_buffer to {clipped(handle)}"
        self._rows(handle, call).store(array, row, replica, call)

    def copy_from_remote_buffer(
        self, handle: object, row: object, replica: object
    ) -> npt.NDArray[Any]:
        """Return a copy of a row of a remote buffer, like `Engine.copy_from_remote_buffer`."""
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
                + f" metadata; found metadata={clipped(metadata)}",
                found="the array contains codes, uint8, which have no values without metadata"
                if needs
                else f"the stream was made at {stream.location}",
                fix="pass metadata=pl.QuarterMetadata('F143', scale=0)"
                if needs
                else "leave out metadata",
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
        """Make a connection; the previous one is notified that its blocks are dropped."""
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
        """Raise `StreamConnectionError` if a program needs a connection that is missing."""
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
        """The next block of each stream, by replica; None if no array is connected."""
        return {
            handle: [each.next if isinstance(each, Ring) else None for each in connection.takers]
            for (kind, handle), connection in self._connections.items()
            if kind == "stream"
        }

    def check_positions(self, positions: Mapping[str, Sequence[int | None]], call: str) -> None:
        """Reject positions of streams without connected arrays; errors name the user's `call`."""
        for handle, each in positions.items():
            connection = self._connections["stream", handle]
            for taker, position in zip(connection.takers, each, strict=True):
                length = len(taker) if isinstance(taker, Ring) else 0
                if position is not None and position >= max(length, 1):
                    raise StreamConnectionError(
                        f"{call}: stream '{handle}' was at block {position:,} of an array",
                        found=f"the connected array has {amount(length, 'block')}"
                        if length
                        else "no array is connected to it",
                        fix=f"call engine.connect_stream({handle!r}, array) first",
                    )

    def go_on(self, positions: Mapping[str, Sequence[int | None]]) -> None:
        """Continue with the given blocks of streams."""
        for handle, each in positions.items():
            takers = self._connections["stream", handle].takers
            for taker, position in zip(takers, each, strict=True):
                if isinstance(taker, Ring) and position is not None:
                    taker.next = position

    def reset(self) -> None:
        """Reset: rows are zero, rings restart, no blocks are prefetched, no code is loaded."""
        for connection in self._connections.values():
            for worker in workers(connection.takers):
                worker.reset()
        for rows in self.remote.values():
            rows.reset()
        self.loaded.clear()


def _unknown(kind: str, handle: object, known: Sequence[str], call: str) -> StreamConnectionError:
    """Return the error for a handle that no program uses."""
    hint = did_you_mean(handle, known) if isinstance(handle, str) else ""
    name = getattr(handle, "name", None)
    names = ", ".join(map(repr, known)) or "none"
    return StreamConnectionError(
        f"{call}: no program of the engine uses a {kind} {clipped(handle)}{hint}",
        found=f"{kind}s that programs use: {names}",
        fix=f"pass its handle, {name!r}"
        if name in known
        else f"pass one of these handles, or add a program that uses {clipped(handle)}",
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
    """Return text for the user's callback that an action runs; empty if it runs none."""
    match action:
        case Transfer(stream=stream):
            return f"the callback of stream '{stream.handle}', made at {stream.location}"
        case HostFunctionCall(handle=handle, made_at=made_at):
            return f"the callback of host function '{handle}', made at {made_at}"
    return ""


# -- remote buffers --------------------------------------------------------------------------------


@frozen(eq=False)
class RemoteWatch:
    """The memory of each replica for strict checks; `parts` flag the written bytes.

    Attributes:
        lost: called when written elements become unwritten.
        moved: called with an action, its replica and the rows that it moved, if some of their
            elements are unwritten.
    """

    parts: Sequence[Bytes]
    lost: Callable[[], object]
    moved: Callable[[RowTransfer, int, npt.NDArray[np.int64]], object]


class RemoteRows:
    """A remote buffer in memory; `rows` is [rows, elements] for each replica.

    Attributes:
        written: bool[rows, elements] for each replica: which elements are written; empty unless
            checks track this.

    Raises `SizeOverflowError` if the computer has too little memory.
    """

    def __init__(self, spec: Remote, replicas: int, *, is_followed: bool = False) -> None:
        self.spec = spec
        self.watch: RemoteWatch | None = None
        shape, watched = (spec.repeats, spec.num_elements), range(replicas if is_followed else 0)
        try:
            self.rows = [np.zeros(shape, spec.element_type.dtype) for _ in range(replicas)]
            self.written = [np.zeros(shape, np.bool_) for _ in watched]
        except (MemoryError, ValueError) as error:  # ValueError: beyond what NumPy can index
            size = spec.repeats * spec.num_elements * spec.element_type.size_bytes
            raise SizeOverflowError(
                f"cannot allocate the {size:,} B of remote buffer '{spec.handle}'",
                at=spec.location,
                found=amount(spec.repeats, "row") + (f" for {replicas} replicas" * (replicas > 1)),
                fix="give it fewer rows, or run on a computer with more memory",
            ) from error

    def reset(self) -> None:
        """Set all rows to zero and mark them unwritten."""
        for rows in (*self.rows, *self.written):
            rows[...] = 0

    def continue_from(self, other: RemoteRows) -> None:
        """Copy the rows of the same buffer in another engine."""
        for mine, theirs in zip(self.rows, other.rows, strict=True):
            mine[...] = theirs
        for k, own in enumerate(self.written):
            own[...] = other.written[k] if other.written else True

    def store(self, array: npt.ArrayLike, row: object, replica: object, call: str) -> None:
        """Store a row in one replica, or in all if `replica` is None; errors name `call`."""
        number = self._number(row, call)
        stored = element_array(self.spec.element_type, array, what=call)
        if stored.size != self.spec.num_elements:
            raise TensorCreationError(
                f"{call}: a row must have {amount(self.spec.num_elements, 'element')}; "
                ""
                f"found {stored.size:,}",
                found=f"the array has shape {stored.shape}",
                fix="store one row at a time",
            )
        chosen = range(len(self.rows)) if replica is None else [self._replica(replica, call)]
        for k in chosen:
            self.rows[k][number] = stored.reshape(-1)
            if self.written:
                self.written[k][number] = True

    def load(self, row: object, replica: object, call: str) -> npt.NDArray[Any]:
        """Return a copy of a row; errors name `call`."""
        number = self._number(row, call)
        return np.array(self.rows[self._replica(replica, call)][number])

    def _number(self, row: object, call: str) -> int:
        number, repeats = integer_or_none(row), self.spec.repeats
        if number is None or not 0 <= number < repeats:
            raise TensorIndexError(
                f"{call}: row must be one of {amount(repeats, 'row')}; found {clipped(row)}",
                found=f"the buffer was made at {self.spec.location}",
                fix=f"pass a row from 0 to {repeats - 1:,}",
            )
        return number

    def _replica(self, replica: object, call: str) -> int:
        return replica_number(replica, len(self.rows), call)

    def call(
        self, action: RowTransfer, parts: Sequence[Bytes], where: Callable[[], str]
    ) -> Callable[[], object]:
        """Return a function that runs an action on `parts`, the memory of each replica."""
        steps = [list(self._one(action, n, part, where)) for n, part in enumerate(parts)]
        # All replicas are checked before any of them moves data.
        return in_turn([step for each in zip(*steps, strict=True) for step in each])

    def _one(
        self, action: RowTransfer, replica: int, part: Bytes, where: Callable[[], str]
    ) -> Iterator[Callable[[], object]]:
        """Yield the check of a replica's offset, then the moves of its rows and their states."""
        rows, to_device = self.rows[replica], action.to_device
        block = view_of(action.block, part)
        noted = self._moves_written(action, replica) if self.written else None
        if action.offset is None:
            yield partial(np.copyto, *((block, rows[0]) if to_device else (rows[0], block)))
            if noted is not None:
                yield partial(noted, 0)
            return
        numbers = _live(action.offset, part)
        blocks = block.reshape(-1, rows.shape[1])

        def check() -> None:
            chosen = numbers()
            least, most = chosen.min(), chosen.max()
            if least < 0 or most >= len(rows):
                raise self._outside(action, int(least if least < 0 else most), replica, where())

        def move() -> None:
            if to_device:
                np.take(rows, numbers(), axis=0, out=blocks, mode="clip")
            else:
                rows[numbers()] = blocks
            if noted is not None:
                noted(numbers())

        # For a single row, this takes a quarter of the time: `remote row` in benchmarks/host.py.
        row = 0

        def check_one() -> None:
            nonlocal row
            row = numbers().item()
            if not 0 <= row < len(rows):
                raise self._outside(action, row, replica, where())

        def move_one() -> None:
            if to_device:
                block[:] = rows[row]
            else:
                rows[row] = block
            if noted is not None:
                noted(row)

        yield from (check_one, move_one) if len(blocks) == 1 else (check, move)

    def _moves_written(
        self, action: RowTransfer, replica: int
    ) -> Callable[[int | npt.NDArray[Any]], None]:
        """Return the function that records written elements after rows have moved."""
        rows, element = self.written[replica], action.block.element_type
        to_device = action.to_device
        count = action.block.num_elements
        # Comparing bytes takes a tenth of the time of `all`; storing them, a third of `fill`'s.
        whole, bytes_of_whole = b"\1" * count, b"\1" * (count * element.size_bytes)
        shadow: npt.NDArray[np.uint8] | None = None  # of the bytes of the block
        stored: memoryview  # the same bytes

        def move(moved: int | npt.NDArray[Any]) -> None:
            nonlocal shadow, stored
            if self.watch is None:
                return
            if shadow is None:
                of_block = view_of(action.block, self.watch.parts[replica]).view(np.uint8)
                shadow = of_block.reshape(-1, rows.shape[1], element.size_bytes)
                stored = of_block.data
            if to_device:
                written = rows[moved]
                is_whole = written.tobytes() == whole
            else:
                is_whole = shadow.tobytes() == bytes_of_whole
                rows[moved] = is_whole or shadow.all(axis=2)
            if not is_whole:
                self.watch.moved(action, replica, np.atleast_1d(moved).astype(np.int64))
            if not to_device:
                return
            if is_whole:
                stored[:] = bytes_of_whole
                return
            written = written.reshape(*shadow.shape[:2], 1)
            is_lossy = bool((shadow > written).any())
            shadow[...] = written
            if is_lossy:
                self.watch.lost()

        return move

    def _outside(self, action: RowTransfer, row: int, replica: int, where: str) -> TensorIndexError:
        assert action.offset is not None
        of = f", replica {replica}" if len(self.rows) > 1 else ""
        return TensorIndexError(
            f"{action.program}{of}: row {row:,} of {amount(self.spec.repeats, 'row')} in remote "
            f"buffer '{self.spec.handle}'",
            at=action.location,
            where=where,
            found=f"the offset is '{action.offset.name}'; no data were moved",
            fix=f"write an offset from 0 to {self.spec.repeats - 1:,}",
        )


def _live(offset: HostTensor, part: Bytes) -> Callable[[], npt.NDArray[Any]]:
    """Return a function that reads an offset, through a view if its elements are contiguous."""
    records = offset.moves.records.tolist()
    if len(records) == 1 and records[0][2] == 1 and records[0][3]:
        _, start, _, size, _, _ = records[0]
        view = part[start : start + size].view(offset.element_type.dtype)
        return lambda: view
    return lambda: read_host(offset, part).reshape(-1)
