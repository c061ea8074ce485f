"""What goes between device and host: lowered to an action and to moves from and to a block.

Each stream, remote buffer and host function has a block of bytes of its own in the arena, which
its tensors are moved to or from, so that the host has one dense array however they lie::

    Copy(stream, x)       CALLBACK  fill the block        LAUNCH  block -> x
    Copy(x, stream)       LAUNCH    x -> block            CALLBACK  take the block
    Call(f, [x], [y])     LAUNCH    x -> block            CALLBACK  f      LAUNCH  block -> y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from poplite.compile.lower import dense_moves
from poplite.executable.host_tensor import HostTensor, host_tensor, metadata_position
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves, joined
from poplite.executable.step import CopyStep
from poplite.graph.graph import Graph
from poplite.graph.host.streams import DataStreamType, ReplicatedStreamMode
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Call, CodeCopy, HostCall, Program, RemoteCopy, StreamCopy
from poplite.source import SourceLocation
from poplite.types import ElementType


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream without its graph.

    Attributes:
        handle: its name.
        element_type: of its elements.
        num_elements: of one block.
        to_device: which way it goes.
        is_broadcast: whether all replicas get the same block.
        buffering_depth: blocks that may be filled ahead.
        location: the user's line that made it.
    """

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    to_device: bool
    is_broadcast: bool
    buffering_depth: int
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class Block:
    """A dense array in the arena.

    Attributes:
        element_type: of its elements.
        num_elements: how many there are.
        at: its first byte.
    """

    element_type: type[ElementType[Any]]
    num_elements: int
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """Fills or takes a block of a stream.

    Attributes:
        program: what the Copy is called.
        location: the user's line that made it.
        stream: the stream.
        block: where its data lie in the arena.
        metadata: byte position of the tensor's QUARTER metadata, if it has one.
    """

    program: str
    location: SourceLocation
    stream: Stream
    block: Block
    metadata: int | None


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote buffer without its graph.

    Attributes:
        handle: its name.
        element_type: of its elements.
        num_elements: of one row.
        repeats: how many rows.
        location: the user's line that made it.
    """

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    repeats: int
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class RowTransfer:
    """Moves rows of a remote buffer from or to a block.

    Attributes:
        program: what the Copy is called.
        location: the user's line that made it.
        buffer: the remote buffer.
        to_device: which way.
        block: where the rows lie in the arena, one after the other.
        offset: the numbers of the rows; None for row 0.
    """

    program: str
    location: SourceLocation
    buffer: Remote
    to_device: bool
    block: Block
    offset: HostTensor | None


@dataclass(frozen=True, slots=True, eq=False)
class HostFunctionCall:
    """Calls a function of the host.

    Attributes:
        program: what the Call is called.
        location: the user's line that made it.
        handle: the name of the function.
        made_at: the user's line that made the function.
        inputs: arrays it reads.
        outputs: arrays it fills.
    """

    program: str
    location: SourceLocation
    handle: str
    made_at: SourceLocation
    inputs: tuple[Block, ...]
    outputs: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CodeLoad:
    """Loads the code of a function.

    Attributes:
        function: its name.
    """

    function: str


@dataclass(frozen=True, slots=True, eq=False)
class CodeUse:
    """Makes sure that the code of a function was loaded.

    Attributes:
        program: what the Call is called.
        location: the user's line that made it.
        function: the name of the function.
        made_at: the user's line that made its function buffer.
    """

    program: str
    location: SourceLocation
    function: str
    made_at: SourceLocation


HOSTED = StreamCopy | RemoteCopy | CodeCopy | Call
"""Programs that may need the host."""

Place = Literal["before", "after"]

HostAction = Transfer | RowTransfer | HostFunctionCall | CodeLoad | CodeUse


@dataclass(frozen=True, slots=True)
class HostStep:
    """A program that needs the host, lowered.

    Attributes:
        action: what Python does.
        copies: what is copied before and after that, if anything is.
    """

    action: HostAction
    copies: Mapping[Place, CopyStep]


class HostLowering:
    """Lowers what needs the host; blocks are reserved at once.

    Args:
        programs: all that needs it, each once.
        graph: the graph they run on.
        layout: where variables lie.
    """

    def __init__(self, programs: Sequence[Program], graph: Graph, layout: ArenaLayout) -> None:
        self._buffers, self._layout = graph.function_buffers, layout
        self._blocks: dict[object, int] = {}
        # In one pass before: a remote buffer's block is as large as its largest copy.
        sizes: dict[object, int] = {}
        for program in programs:
            for owner, size in _needed(program):
                sizes[owner] = max(size, sizes.get(owner, 0))
        for owner, size in sizes.items():
            self._blocks[owner] = layout.reserve_block(size)

    def lowered(self, program: Program) -> HostStep | None:
        """Return a program lowered; None when it does not need the host.

        Args:
            program: one of those that blocks were reserved for.
        """
        match program:
            case StreamCopy():
                return self._stream_copy(program)
            case RemoteCopy():
                return self._remote_copy(program)
            case HostCall():
                return self._host_call(program)
            case CodeCopy(source=source):
                return HostStep(CodeLoad(source.function.name), {})
            case Call(function=function) if function.name in self._buffers:
                made_at = self._buffers[function.name].location
                use = CodeUse(str(program), program.location, function.name, made_at)
                return HostStep(use, {})
        return None

    def _stream_copy(self, copy: StreamCopy) -> HostStep:
        stream, tensor = copy.stream, copy.tensor
        assert tensor is not None
        at = self._blocks[stream]
        block = Block(stream.element_type, stream.num_elements, at)
        to_device = stream.type is DataStreamType.HOST_TO_DEVICE_FIFO
        plain = Stream(
            stream.handle,
            stream.element_type,
            stream.num_elements,
            to_device,
            stream.replicated_mode is ReplicatedStreamMode.BROADCAST,
            stream.buffering_depth,
            stream.location,
        )
        metadata = metadata_position(tensor, self._layout)
        action = Transfer(str(copy), copy.location, plain, block, metadata)
        return self._moved(action, tensor, at, to_device)

    def _remote_copy(self, copy: RemoteCopy) -> HostStep:
        buffer, tensor = copy.buffer, copy.tensor
        assert tensor is not None
        to_device = copy.source is buffer
        at = self._blocks[buffer, to_device]
        plain = Remote(
            buffer.handle, buffer.element_type, buffer.num_elements, buffer.repeats, buffer.location
        )
        block = Block(buffer.element_type, tensor.num_elements, at)
        offset = None if copy.offset is None else host_tensor(copy.offset, self._layout)
        action = RowTransfer(str(copy), copy.location, plain, to_device, block, offset)
        return self._moved(action, tensor, at, to_device)

    def _moved(self, action: HostAction, tensor: Tensor, at: int, to_device: bool) -> HostStep:
        moves = self._to_block(tensor, at)
        assert isinstance(action, Transfer | RowTransfer)
        if to_device:
            return HostStep(action, {"after": CopyStep(action.program, moves.reversed())})
        return HostStep(action, {"before": CopyStep(action.program, moves)})

    def _to_block(self, tensor: Tensor, at: int) -> Moves:
        return dense_moves(tensor.view, tensor.element_type.size_bytes, self._layout).moved(at)

    def _host_call(self, call: HostCall) -> HostStep:
        function = call.function
        kinds = *function.inputs, *function.outputs
        places = [self._blocks[function, number] for number in range(len(kinds))]
        blocks = [Block(*kind, at) for kind, at in zip(kinds, places, strict=True)]
        tensors = *call.inputs, *call.outputs
        moves = [self._to_block(*pair) for pair in zip(tensors, places, strict=True)]
        split, name = len(call.inputs), str(call)
        filled = joined([own.reversed() for own in moves[split:]])
        both: dict[Place, Moves] = {"before": joined(moves[:split]), "after": filled}
        action = HostFunctionCall(
            name,
            call.location,
            function.handle,
            function.location,
            tuple(blocks[:split]),
            tuple(blocks[split:]),
        )
        copies = {place: CopyStep(name, m) for place, m in both.items() if len(m.records)}
        return HostStep(action, copies)


def _needed(program: Program) -> list[tuple[object, int]]:
    """Return what has a block, and the bytes that a program needs of it."""
    match program:
        case StreamCopy(stream=stream):
            return [(stream, stream.size_bytes)]
        case RemoteCopy(buffer=buffer):
            # One for each way: what comes in is always written, what goes out may not be.
            return [((buffer, program.source is buffer), program.size_bytes)]
        case HostCall(function=function):
            kinds = *function.inputs, *function.outputs
            return [
                ((function, number), count * element.size_bytes)
                for number, (element, count) in enumerate(kinds)
            ]
    return []
