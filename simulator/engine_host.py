"""The part of an engine that faces the host: streams, remote buffers, host functions.

engine.connect_stream("images", array)
engine.connect_stream_to_callback("loss", losses.append_copy)
engine.copy_to_remote_buffer(row, "table", 17)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.transfers import Stream
from poplite.errors import (
    ElementTypeError,
    StreamConnectionError,
    TensorCreationError,
    TensorIndexError,
    TensorMetadataError,
)
from poplite.graph.host.streams import StreamCallback
from poplite.graph.storage.host_values import elements
from poplite.machine.replicas import replica_number
from poplite.quarter import QuarterMetadata
from poplite.simulator.connections import Connection, Feed, Ring
from poplite.simulator.host import Host
from poplite.simulator.links import unknown
from poplite.simulator.remote import RemoteRows
from poplite.source import here
from poplite.text import clipped, counted
from poplite.types import QUARTER
from poplite.whole import whole_or_none


class EngineHost:
    """An engine as the host sees it; see `poplite.simulator.engine`."""

    _host: Host
    _prefetches: bool

    # -- streams -----------------------------------------------------------------------------

    def list_streams(self) -> list[str]:
        """Return the handles of the streams that the engine's programs use.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
        >>> stream = graph.add_host_to_device_fifo("in", pl.INT, 2)
        >>> pl.Engine(graph, pl.Copy(stream, x)).list_streams()
        ['in']
        """
        return [handle for kind, handle in self._host.links.connections if kind == "stream"]

    def connect_stream(
        self,
        handle: str,
        array: npt.NDArray[Any],
        *,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Let a stream take its blocks from an array, or store them there, round and round.

        The array is used in place, whenever a program runs: change it between runs, or read it
        afterwards. Of replicas, each takes the next block in turn.

        Args:
            handle: of the stream.
            array: C-contiguous, of the stream's dtype, one block or several; writeable when the
                stream goes to the host.
            metadata: format and scale of the codes in the array, for a QUARTER stream.

        Raises:
            StreamConnectionError: when no program uses such a stream, or the array's size is no
                multiple of a block, or it cannot be used in place.
            ElementTypeError: when it is no array of that dtype.
            TensorMetadataError: when metadata are missing, or the stream is not QUARTER.

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
        call = f"connect_stream({clipped(handle)})"
        connection, stream = self._stream(handle, call, metadata)
        rows = _rows(array, stream, call)
        self._host.links.connect(connection, Ring(rows, to_device=stream.to_device), None, metadata)

    def connect_stream_to_callback(
        self,
        handle: str,
        callback: Callable[[npt.NDArray[Any]], object] | StreamCallback,
        *,
        replica: int | None = None,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        """Let a function, or an object with more to say, fill or take the blocks of a stream.

        Args:
            handle: of the stream.
            callback: a function that takes an array of one dimension, which it fills, or reads
                when the stream goes to the host (it is read-only then); or a `StreamCallback`.
                The array is valid during the call.
            replica: whose blocks; by default those of all replicas, in their order.
            metadata: format and scale of the codes, for a QUARTER stream.

        Raises:
            StreamConnectionError: when no program uses such a stream.
            ElementTypeError: when the callback cannot be called.
            GraphReplicationError: when there is no such replica.
            TensorMetadataError: when metadata are missing, or the stream is not QUARTER.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
        >>> engine = pl.Engine(graph, pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 2), x))
        >>> engine.connect_stream_to_callback("in", lambda array: array.fill(7))
        >>> engine.run()
        >>> engine.read(x)
        array([7, 7], dtype=int32)
        """
        call = f"connect_stream_to_callback({clipped(handle)})"
        connection, stream = self._stream(handle, call, metadata)
        number = self._replica(replica, connection, call)
        taker = callback
        if isinstance(callback, StreamCallback):
            taker = Feed(callback, stream, works_ahead=self._prefetches)
        elif not callable(callback) or _is_callback_class(callback):
            raise ElementTypeError(
                f"{call}: {clipped(callback)} is no function",
                at=here(),
                found="it is a class, not an object of it"
                if _is_callback_class(callback)
                else f"its type is {type(callback).__name__}",
                fix="a function that takes an array, or an object of a subclass of "
                "pl.StreamCallback; engine.connect_stream takes arrays",
            )
        assert callable(taker)
        self._host.links.connect(connection, taker, number, metadata)

    def _stream(self, handle: object, call: str, metadata: object) -> tuple[Connection, Stream]:
        connection = self._host.links.find("stream", handle, call)
        stream = connection.spec
        assert isinstance(stream, Stream)
        needs = stream.element_type is QUARTER
        if needs != isinstance(metadata, QuarterMetadata):
            raise TensorMetadataError(
                f"{call}: a stream of {stream.element_type!r} "
                + ("needs" if needs else "has no")
                + f" metadata, and metadata={clipped(metadata)}",
                at=here(),
                found="the array holds codes, uint8, which mean nothing by themselves"
                if needs
                else f"the stream was made at {stream.location}",
                fix="metadata=pl.QuarterMetadata('F143', scale=0)"
                if needs
                else "leave metadata out",
            )
        return connection, stream

    def _replica(self, replica: object, connection: Connection, call: str) -> int | None:
        if replica is None:
            return None
        return replica_number(replica, len(connection.takers), call, here())

    # -- host functions ----------------------------------------------------------------------

    def connect_host_function(
        self,
        handle: str,
        callback: Callable[[tuple[npt.NDArray[Any], ...], tuple[npt.NDArray[Any], ...]], object],
        *,
        replica: int | None = None,
    ) -> None:
        """Say what a host function does.

        Args:
            handle: of the host function.
            callback: takes the inputs and the outputs, tuples of arrays of one dimension. It
                fills the outputs, which are zero at first; the inputs are read-only. The arrays
                are valid during the call.
            replica: whose calls; by default those of all replicas, in their order.

        Raises:
            StreamConnectionError: when no program uses such a function.
            ElementTypeError: when the callback cannot be called.
            GraphReplicationError: when there is no such replica.

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
        call = f"connect_host_function({clipped(handle)})"
        connection = self._host.links.find("host function", handle, call)
        number = self._replica(replica, connection, call)
        if not callable(callback):
            raise ElementTypeError(
                f"{call}: {clipped(callback)} is no function",
                at=here(),
                found=f"its type is {type(callback).__name__}",
                fix="a function that takes (inputs, outputs)",
            )
        self._host.links.connect(connection, callback, number)

    # -- remote buffers ----------------------------------------------------------------------

    def copy_to_remote_buffer(
        self, array: npt.ArrayLike, handle: str, row: int = 0, replica: int | None = None
    ) -> None:
        """Store a row of a remote buffer.

        Args:
            array: as many elements as a row, under NumPy's same_kind casting.
            handle: of the remote buffer.
            row: its number.
            replica: whose row; by default that of all.

        Raises:
            StreamConnectionError: when no program uses such a buffer.
            TensorIndexError: when there is no such row.
            TensorCreationError: for another number of elements.
            ElementTypeError: when the values are of a kind the buffer cannot hold.
            SizeOverflowError: when a value is out of range.
            GraphReplicationError: when there is no such replica.
        """
        call = f"copy_to_remote_buffer to {clipped(handle)}"
        buffer, number = self._row(handle, row, call)
        stored = elements(buffer.spec.element_type, array, what=call, at=here())
        if stored.size != buffer.spec.num_elements:
            raise TensorCreationError(
                f"{call}: {counted(stored.size, 'element')} for a row of "
                f"{buffer.spec.num_elements:,}",
                at=here(),
                found=f"the array is of shape {stored.shape}",
                fix="one row at a time",
            )
        replicas = range(len(buffer.rows))
        if replica is not None:
            replicas = [replica_number(replica, len(buffer.rows), call, here())]  # type: ignore[assignment]
        for one in replicas:
            buffer.rows[one][number] = stored.reshape(-1)

    def copy_from_remote_buffer(
        self, handle: str, row: int = 0, replica: int = 0
    ) -> npt.NDArray[Any]:
        """Return a copy of a row of a remote buffer.

        Args:
            handle: of the remote buffer.
            row: its number.
            replica: whose row.

        Raises:
            StreamConnectionError: when no program uses such a buffer.
            TensorIndexError: when there is no such row.
            GraphReplicationError: when there is no such replica.
        """
        call = f"copy_from_remote_buffer of {clipped(handle)}"
        buffer, number = self._row(handle, row, call)
        rows = buffer.rows[replica_number(replica, len(buffer.rows), call, here())]
        return np.array(rows[number])

    def _row(self, handle: object, row: object, call: str) -> tuple[RemoteRows, int]:
        known = self._host.links.remote
        if not isinstance(handle, str) or handle not in known:
            raise unknown("remote buffer", handle, list(known), call)
        number, repeats = whole_or_none(row), known[handle].spec.repeats
        if number is None or not 0 <= number < repeats:
            raise TensorIndexError(
                f"{call}: row {clipped(row)} of {counted(repeats, 'row')}",
                at=here(),
                found=f"the buffer was made at {known[handle].spec.location}",
                fix=f"a row from 0 to {repeats - 1:,}",
            )
        return known[handle], number

    # -- C++ spelling ------------------------------------------------------------------------

    listStreams = list_streams
    connectStream = connect_stream
    connectStreamToCallback = connect_stream_to_callback
    connectHostFunction = connect_host_function
    copyToRemoteBuffer = copy_to_remote_buffer
    copyFromRemoteBuffer = copy_from_remote_buffer


def _is_callback_class(callback: object) -> bool:
    return isinstance(callback, type) and issubclass(callback, StreamCallback)


def _rows(array: object, stream: Stream, call: str) -> npt.NDArray[Any]:
    """Return an array as blocks, in place."""
    dtype, count = stream.element_type.dtype, stream.num_elements
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        given = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else clipped(array)
        raise ElementTypeError(
            f"{call}: {given}, but the stream moves {dtype} ({stream.element_type!r})",
            at=here(),
            found=f"the stream was made at {stream.location}",
            fix=f"np.asarray(values, np.{dtype.name}); it is used in place, so keep that array"
            if not callable(array)
            else "engine.connect_stream_to_callback takes functions",
        )
    if not array.size or array.size % count:
        raise StreamConnectionError(
            f"{call}: {counted(array.size, 'element')}, which is no multiple of a block of "
            f"{count:,}",
            at=here(),
            found=f"the stream was made at {stream.location}",
            fix="an array of one block, or of several",
        )
    reason = ""
    if not array.flags.c_contiguous:
        reason = "is not C-contiguous"
    elif not stream.to_device and not array.flags.writeable:
        reason = "is read-only"
    if reason:
        raise StreamConnectionError(
            f"{call}: the array {reason}, so that it cannot be used in place",
            at=here(),
            found=f"shape {array.shape}, strides {array.strides}",
            fix="connect a copy: array.copy()",
        )
    return array.reshape(-1, count)
