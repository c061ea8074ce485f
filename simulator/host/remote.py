"""Remote buffers: rows on the host beside the arena, which keep their contents between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SizeOverflowError, TensorCreationError, TensorIndexError
from poplite.executable.actions import HostTensor, Remote, RowTransfer
from poplite.graph.storage.host_values import elements
from poplite.machine.replicas import replica_number
from poplite.simulator.host.connections import in_turn, view_of
from poplite.simulator.host.tensors import read_host
from poplite.simulator.run.arena import Bytes
from poplite.text import amount, clipped, integer_or_none


@dataclass(frozen=True, slots=True, eq=False)
class RemoteWatch:
    """What strict checks know of the memory of each replica: `parts` say which bytes are written.

    Attributes:
        lost: called when written elements become unwritten.
    """

    parts: Sequence[Bytes]
    lost: Callable[[], object]


class RemoteRows:
    """A remote buffer in memory; `rows` is [rows, elements] of each replica.

    Attributes:
        written: bool[rows, elements] of each replica, what is written, where checks follow it;
            else empty.

    Raises `SizeOverflowError` when the computer has too little memory.
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
                f"the {size:,} B of remote buffer '{spec.handle}' cannot be allocated",
                at=spec.location,
                found=amount(spec.repeats, "row") + (f" for {replicas} replicas" * (replicas > 1)),
                fix="give it fewer rows, or run on a computer with more memory",
            ) from error

    def reset(self) -> None:
        """Set all rows to zero, as if nothing had written them."""
        for rows in (*self.rows, *self.written):
            rows[...] = 0

    def continue_from(self, other: RemoteRows) -> None:
        """Take over the rows of the same buffer in another engine."""
        for mine, theirs in zip(self.rows, other.rows, strict=True):
            mine[...] = theirs
        for k, own in enumerate(self.written):
            own[...] = other.written[k] if other.written else True

    def store(self, array: npt.ArrayLike, row: object, replica: object, call: str) -> None:
        """Store a row of one replica, or of all (None); errors name `call`."""
        number = self._number(row, call)
        stored = elements(self.spec.element_type, array, what=call)
        if stored.size != self.spec.num_elements:
            raise TensorCreationError(
                f"{call}: {amount(stored.size, 'element')} for a row of {self.spec.num_elements:,}",
                found=f"the array is of shape {stored.shape}",
                fix="one row at a time",
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
                f"{call}: row {clipped(row)} of {amount(repeats, 'row')}",
                found=f"the buffer was made at {self.spec.location}",
                fix=f"a row from 0 to {repeats - 1:,}",
            )
        return number

    def _replica(self, replica: object, call: str) -> int:
        return replica_number(replica, len(self.rows), call)

    def call(
        self, action: RowTransfer, parts: Sequence[Bytes], where: Callable[[], str]
    ) -> Callable[[], object]:
        """Return what runs an action on `parts`, the memory of each replica."""
        steps = [list(self._one(action, n, part, where)) for n, part in enumerate(parts)]
        # All replicas are checked before one of them moves anything.
        return in_turn([step for each in zip(*steps, strict=True) for step in each])

    def _one(
        self, action: RowTransfer, replica: int, part: Bytes, where: Callable[[], str]
    ) -> Iterator[Callable[[], object]]:
        """Yield what checks a replica's offset, then what moves its rows and what is written."""
        rows = self.rows[replica]
        block = view_of(action.block, part)
        if action.offset is None:
            yield partial(np.copyto, *((block, rows[0]) if action.to_device else (rows[0], block)))
            if self.written:
                yield self._moves_written(action, replica, lambda: 0)
            return
        numbers = _live(action.offset, part)
        blocks = block.reshape(-1, rows.shape[1])

        def check() -> None:
            chosen = numbers()
            least, most = chosen.min(), chosen.max()
            if least < 0 or most >= len(rows):
                raise self._outside(action, int(least if least < 0 else most), replica, where())

        def move() -> None:
            if action.to_device:
                np.take(rows, numbers(), axis=0, out=blocks, mode="clip")
            else:
                rows[numbers()] = blocks

        # A row by itself takes a quarter of the time so: `remote row` of benchmarks/host.py.
        def check_one() -> None:
            row = numbers().item()
            if not 0 <= row < len(rows):
                raise self._outside(action, row, replica, where())

        def move_one() -> None:
            row = numbers().item()
            if action.to_device:
                block[:] = rows[row]
            else:
                rows[row] = block

        is_one = len(blocks) == 1
        yield from (check_one, move_one) if is_one else (check, move)
        if self.written:
            yield self._moves_written(
                action, replica, (lambda: numbers().item()) if is_one else numbers
            )

    def _moves_written(
        self,
        action: RowTransfer,
        replica: int,
        chosen: Callable[[], int] | Callable[[], npt.NDArray[Any]],
    ) -> Callable[[], None]:
        """Return what notes what is written where one row, or an array of rows, has moved."""
        rows, element = self.written[replica], action.block.element_type
        count = action.block.num_elements
        # Bytes are compared in a tenth of the time that `all` takes.
        whole, bytes_of_whole = b"\1" * count, b"\1" * (count * element.size_bytes)
        shadow: npt.NDArray[np.uint8] | None = None  # of the bytes of the block

        def move() -> None:
            nonlocal shadow
            if self.watch is None:
                return
            if shadow is None:
                of_block = view_of(action.block, self.watch.parts[replica]).view(np.uint8)
                shadow = of_block.reshape(-1, rows.shape[1], element.size_bytes)
            moved = chosen()
            if not action.to_device:
                rows[moved] = shadow.tobytes() == bytes_of_whole or shadow.all(axis=2)
                return
            written = rows[moved]
            if written.tobytes() == whole:
                shadow.fill(1)
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
            found=f"the offset is '{action.offset.name}'; nothing was moved",
            fix=f"an offset from 0 to {self.spec.repeats - 1:,}",
        )


def _live(offset: HostTensor, part: Bytes) -> Callable[[], npt.NDArray[Any]]:
    """Return what reads an offset: a view of its elements where they are contiguous."""
    records = offset.moves.records.tolist()
    if len(records) == 1 and records[0][2] == 1 and records[0][3]:
        _, start, _, size, _, _ = records[0]
        view = part[start : start + size].view(offset.element_type.dtype)
        return lambda: view
    return lambda: read_host(offset, part).reshape(-1)
