"""Actions that move data between device and host, or call the user.

The device keeps these data in blocks of bytes in the arena, dense and in row-major order; copies
before and after an action bring tensors there and back (`poplite.compile.host_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poplite.executable.host_tensor import HostTensor
from poplite.source import SourceLocation
from poplite.types import ElementType


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A stream without its graph.

    Attributes:
        num_elements: those of one block.
        is_broadcast: whether all replicas get the same block.
        buffering_depth: blocks that may be filled ahead.
    """

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    to_device: bool
    is_broadcast: bool
    buffering_depth: int
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class ArenaBlock:
    """A dense array in the arena, from byte `at` on."""

    element_type: type[ElementType[Any]]
    num_elements: int
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """Fills or takes a block of a stream.

    Attributes:
        program: what messages call the Copy.
        metadata: byte position of the tensor's QUARTER metadata, if it has one.
    """

    program: str
    location: SourceLocation
    stream: Stream
    block: ArenaBlock
    metadata: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Remote:
    """A remote buffer without its graph: `repeats` rows of `num_elements`."""

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    repeats: int
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class RowTransfer:
    """Moves rows of a remote buffer from or to a block, in which they lie one after the other.

    Attributes:
        program: what messages call the Copy.
        offset: the numbers of the rows; None for row 0.
    """

    program: str
    location: SourceLocation
    buffer: Remote
    to_device: bool
    block: ArenaBlock
    offset: HostTensor | None


@dataclass(frozen=True, slots=True, eq=False)
class HostFunctionCall:
    """Calls a function of the host.

    Attributes:
        program: what messages call the Call.
        made_at: the user's line that made the function.
    """

    program: str
    location: SourceLocation
    handle: str
    made_at: SourceLocation
    inputs: tuple[ArenaBlock, ...]
    outputs: tuple[ArenaBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CodeLoad:
    """Loads the code of a function, by its name."""

    function: str


@dataclass(frozen=True, slots=True, eq=False)
class CodeUse:
    """Makes sure that the code of a function was loaded.

    Attributes:
        program: what messages call the Call.
        made_at: the user's line that made its function buffer.
    """

    program: str
    location: SourceLocation
    function: str
    made_at: SourceLocation


HostAction = Transfer | RowTransfer | HostFunctionCall | CodeLoad | CodeUse
