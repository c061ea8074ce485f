"""Remote buffers: rows on the host beside the arena, which keep their contents between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SizeOverflowError, TensorCreationError, TensorIndexError
from poplite.executable.host_tensor import HostTensor
from poplite.executable.transfers import Remote, RowTransfer
from poplite.graph.storage.host_values import elements
from poplite.machine.replicas import replica_number
from poplite.simulator.host.connections import in_turn, view_of
from poplite.simulator.host.tensors import read_host
from poplite.simulator.run.arena import Bytes
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none


class RemoteRows:
    """A remote buffer in memory; `rows` is [rows, elements] of each replica.

    Raises `SizeOverflowError` when the computer has too little memory.
    """

    def __init__(self, spec: Remote, replicas: int) -> None:
        self.spec = spec
        shape = spec.repeats, spec.num_elements
        try:
            self.rows = [np.zeros(shape, spec.element_type.dtype) for _ in range(replicas)]
        except (MemoryError, ValueError) as error:  # ValueError: beyond what NumPy can index
            size = spec.repeats * spec.num_elements * spec.element_type.size_bytes
            raise SizeOverflowError(
                f"the {size:,} B of remote buffer '{spec.handle}' cannot be allocated",
                at=spec.location,
                found=amount(spec.repeats, "row") + (f" for {replicas} replicas" * (replicas > 1)),
                fix="give it fewer rows, or run on a computer with more memory",
            ) from error

    def reset(self) -> None:
        """Set all rows to zero."""
        for rows in self.rows:
            rows[...] = 0

    def continue_from(self, other: RemoteRows) -> None:
        """Take over the rows of the same buffer in another engine."""
        for mine, theirs in zip(self.rows, other.rows, strict=True):
            mine[...] = theirs

    def store(self, array: npt.ArrayLike, row: object, replica: object, call: str) -> None:
        """Store a row of one replica, or of all (None); errors name `call`."""
        number = self._number(row, call)
        stored = elements(self.spec.element_type, array, what=call, at=here())
        if stored.size != self.spec.num_elements:
            raise TensorCreationError(
                f"{call}: {amount(stored.size, 'element')} for a row of {self.spec.num_elements:,}",
                at=here(),
                found=f"the array is of shape {stored.shape}",
                fix="one row at a time",
            )
        for rows in self.rows if replica is None else [self._of(replica, call)]:
            rows[number] = stored.reshape(-1)

    def load(self, row: object, replica: object, call: str) -> npt.NDArray[Any]:
        """Return a copy of a row; errors name `call`."""
        number = self._number(row, call)
        return np.array(self._of(replica, call)[number])

    def _number(self, row: object, call: str) -> int:
        number, repeats = integer_or_none(row), self.spec.repeats
        if number is None or not 0 <= number < repeats:
            raise TensorIndexError(
                f"{call}: row {clipped(row)} of {amount(repeats, 'row')}",
                at=here(),
                found=f"the buffer was made at {self.spec.location}",
                fix=f"a row from 0 to {repeats - 1:,}",
            )
        return number

    def _of(self, replica: object, call: str) -> npt.NDArray[Any]:
        """Return the rows of a replica."""
        return self.rows[replica_number(replica, len(self.rows), call, here())]

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
        """Yield what checks a replica's offset, then what moves its rows."""
        rows = self.rows[replica]
        block = view_of(action.block, part)
        if action.offset is None:
            yield partial(np.copyto, *((block, rows[0]) if action.to_device else (rows[0], block)))
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

        def check_one() -> None:
            row = int(numbers()[0])
            if not 0 <= row < len(rows):
                raise self._outside(action, row, replica, where())

        def move_one() -> None:
            row = int(numbers()[0])
            if action.to_device:
                block[:] = rows[row]
            else:
                rows[row] = block

        yield from (check_one, move_one) if len(blocks) == 1 else (check, move)

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
