"""Find, lower and number the parts of programs.

    programs  ->  parts     compute sets, copies, host operations, decisions based on scalars
    parts     ->  lowered   steps and actions
    lowered   ->  numbers   the numbers that identify steps and actions in ops

Steps are numbered in this order: compute sets, copies, copies before and after host operations.
Actions are numbered in this order: checks that replicas agree, actions that move no data, host
operations.

Each stream, remote buffer and host function has its own block of bytes in the arena.  Tensors are
copied to or from that block, so that the host sees a dense array for any layout::

    Copy(stream, x)       CALLBACK  fill the block        LAUNCH  block -> x
    Copy(x, stream)       LAUNCH    x -> block            CALLBACK  read the block
    Call(f, [x], [y])     LAUNCH    x -> block            CALLBACK  f      LAUNCH  block -> y

Programs that print, take time stamps or stop the run move no data; each is one action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Literal

from poplite.compile.lower_compute_sets import lower_compute_sets
from poplite.compile.lower_copies import dense_moves, lower_copy
from poplite.executable.encoding import Moves, joined_moves
from poplite.executable.parts import (
    Action,
    ArenaBlock,
    ArenaLayout,
    CodeLoad,
    CodeUse,
    ComputeStep,
    CopyStep,
    Equal,
    Fail,
    HostAction,
    HostFunctionCall,
    HostTensor,
    NoCase,
    Print,
    Remote,
    RowTransfer,
    Stamp,
    Stream,
    Transfer,
    Undefine,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable
from poplite.graph.graph import Graph
from poplite.graph.host import DataStreamType, ReplicatedStreamMode
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Call,
    CodeCopy,
    CrossReplicaCopy,
    CycleStamp,
    ErrorProgram,
    Execute,
    HostCall,
    Mark,
    PrintTensor,
    Program,
    RemoteCopy,
    Stop,
    StreamCopy,
    Switch,
    TensorCopy,
    WriteUndef,
    children_first,
    distinct_decisions,
)
from poplite.view import addresses

# -- host operations -------------------------------------------------------------------------------


HOSTED = StreamCopy | RemoteCopy | CodeCopy | Call
"""Programs that may need the host."""

Place = Literal["before", "after"]


@frozen(eq=False)
class HostStep:
    """A lowered program that needs the host: an action, and the copies before and after it."""

    action: HostAction
    copies: Mapping[Place, CopyStep]


class HostLowering:
    """Lowers programs that need the host; their blocks are reserved on construction."""

    def __init__(self, programs: Sequence[Program], graph: Graph, layout: ArenaLayout) -> None:
        self._buffers, self._layout = graph.function_buffers, layout
        self._blocks: dict[object, int] = {}
        # A separate pass, since a remote buffer's block is as large as its largest copy.
        sizes: dict[object, int] = {}
        for program in programs:
            for owner, size in _needed(program):
                sizes[owner] = max(size, sizes.get(owner, 0))
        for owner, size in sizes.items():
            self._blocks[owner] = layout.reserve_block(size)

    def lowered(self, program: Program) -> HostStep | None:
        """Return the lowered form of a program, or None if it does not need the host."""
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
        block = ArenaBlock(stream.element_type, stream.num_elements, at)
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
        block = ArenaBlock(buffer.element_type, tensor.num_elements, at)
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
        blocks = [ArenaBlock(*kind, at) for kind, at in zip(kinds, places, strict=True)]
        tensors = *call.inputs, *call.outputs
        moves = [self._to_block(*pair) for pair in zip(tensors, places, strict=True)]
        split, name = len(call.inputs), str(call)
        filled = joined_moves([own.reversed() for own in moves[split:]])
        both: dict[Place, Moves] = {"before": joined_moves(moves[:split]), "after": filled}
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


def action_of(program: Program, layout: ArenaLayout) -> Action | None:
    """Return the Python action of a leaf or a decision, or None if it needs none."""
    match program:
        case PrintTensor(title=title, tensor=tensor, format=format):
            return Print(title, host_tensor(tensor, layout), format)
        case Stop(message=message):
            shown = program.debug_tensor if isinstance(program, ErrorProgram) else None
            lowered = None if shown is None else host_tensor(shown, layout)
            predicate = None
            if isinstance(program, AbortOnCondition):
                predicate = host_tensor(program.predicate, layout)
            return Fail(str(program), program.location, message, lowered, predicate)
        case CycleStamp(tensor=tensor, since=since):
            earlier = None if since is None else host_tensor(since, layout)
            return Stamp(str(program), program.location, host_tensor(tensor, layout), earlier)
        case WriteUndef(tensor=tensor):
            return Undefine(host_tensor(tensor, layout))
        case AssumeEqualAcrossReplicas(tensor=tensor) if layout.replicas > 1:
            return Equal(str(program), program.location, host_tensor(tensor, layout), "assumption")
        case Switch(control=control, unmatched="error" | "unreachable" as unmatched):
            return NoCase(
                str(program),
                program.location,
                host_tensor(control, layout),
                program.values_text(),
                unmatched == "unreachable",
            )
    return None


def agreement_on(program: Program, layout: ArenaLayout) -> Equal | None:
    """Return the check that replicas agree on control flow, or None for a single replica."""
    if layout.replicas == 1 or program.decided_by is None:
        return None
    scalar = host_tensor(program.decided_by, layout)
    kind: Literal["truth", "value"] = "value" if isinstance(program, Switch) else "truth"
    return Equal(str(program), program.location, scalar, kind)


def host_tensor(tensor: Tensor, layout: ArenaLayout) -> HostTensor:
    """Return a tensor as the host sees it."""
    moves = dense_moves(tensor.view, tensor.element_type.size_bytes, layout)
    metadata = metadata_position(tensor, layout)
    return HostTensor(tensor.name, tensor.element_type, tensor.shape, moves, metadata)


def metadata_position(tensor: Tensor, layout: ArenaLayout) -> int | None:
    """Return the byte position of a tensor's QUARTER metadata; None if it has none."""
    if tensor.metadata is None:
        return None
    return int(layout.byte_positions(addresses(tensor.metadata.view).ravel())[0])


def _needed(program: Program) -> list[tuple[object, int]]:
    """Return the owners of the blocks that a program uses, with the bytes it needs in each."""
    match program:
        case StreamCopy(stream=stream):
            return [(stream, stream.size_bytes)]
        case RemoteCopy(buffer=buffer):
            # One block per direction: incoming data is always defined, outgoing data may not be.
            return [((buffer, program.source is buffer), program.size_bytes)]
        case HostCall(function=function):
            kinds = *function.inputs, *function.outputs
            return [
                ((function, number), count * element.size_bytes)
                for number, (element, count) in enumerate(kinds)
            ]
    return []


# -- parts -----------------------------------------------------------------------------------------


AnyCopy = TensorCopy | CrossReplicaCopy


@frozen(eq=False)
class ProgramParts:
    """The parts of programs, each listed once.

    Attributes:
        leaves: programs without children.
        compute_sets: the compute sets that the leaves run.
        copies: the leaves that copy between tensors.
        decisions: programs in which the value of a scalar determines what runs.
        hosted: programs that may need the host.
    """

    leaves: Sequence[Program]
    compute_sets: Sequence[ComputeSet]
    copies: Sequence[AnyCopy]
    decisions: Sequence[Program]
    hosted: Sequence[Program]


@frozen(eq=False)
class LoweredParts:
    """Steps and actions by the part that they were lowered from, in ascending order of number.

    Attributes:
        agreements: checks that replicas agree on the scalar of a decision.
        actions: Python actions for leaves and decisions that move no data.
        host_steps: Python actions between copies.
    """

    compute_sets: Mapping[ComputeSet, ComputeStep]
    copies: Mapping[AnyCopy, CopyStep]
    agreements: Mapping[Program, Equal]
    actions: Mapping[Program, Action]
    host_steps: Mapping[Program, HostStep]

    def all_steps(self) -> tuple[ComputeStep | CopyStep, ...]:
        """Return the steps of the executable."""
        around = (copy for host in self.host_steps.values() for copy in host.copies.values())
        return (*self.compute_sets.values(), *self.copies.values(), *around)

    def all_actions(self) -> tuple[Action, ...]:
        """Return the actions of the executable."""
        hosted = (host.action for host in self.host_steps.values())
        return (*self.agreements.values(), *self.actions.values(), *hosted)

    def priced_programs(self) -> list[Program | None]:
        """Return the program of each action that takes cycles; None for the others."""
        stamps = [each if isinstance(each, CycleStamp) else None for each in self.actions]
        # A Call that only ensures that the code of its function is loaded takes no cycles.
        moves = [None if isinstance(each, Call) else each for each in self.host_steps]
        return [*[None] * len(self.agreements), *stamps, *moves]


@frozen(eq=False)
class Numbers:
    """The numbers by which ops refer to steps and actions.

    Attributes:
        steps: step numbers of compute sets and copies.
        host_copies: step numbers of the copies before or after a host operation.
        agreements: action numbers, by decision.
        actions: action numbers of all other programs.
    """

    steps: Mapping[ComputeSet | AnyCopy, int]
    host_copies: Mapping[tuple[Program, Place], int]
    agreements: Mapping[Program, int]
    actions: Mapping[Program, int]


def parts_of(programs: Iterable[Program]) -> ProgramParts:
    """Return the parts of programs, in order of first occurrence."""
    listed = list(programs)
    nodes = dict.fromkeys([node for each in listed for node in children_first(each)])
    leaves = [node for node in nodes if node.num_steps and not node.children]
    return ProgramParts(
        leaves=leaves,
        compute_sets=list(
            dict.fromkeys(leaf.compute_set for leaf in leaves if isinstance(leaf, Execute))
        ),
        copies=[leaf for leaf in leaves if isinstance(leaf, AnyCopy)],
        decisions=list(
            dict.fromkeys(step.program for each in listed for step in distinct_decisions(each))
        ),
        hosted=[node for node in nodes if isinstance(node, HOSTED)],
    )


def lower_parts(
    parts: ProgramParts,
    graph: Graph,
    edges_of: Callable[[ComputeSet], EdgeTable],
    layout: ArenaLayout,
    *,
    saved: Sequence[bool],
    keep_marks: bool,
) -> LoweredParts:
    """Lower all parts, and reserve the memory they need in the layout.

    `saved` says for each compute set whether its outputs are saved first, since its vertices may
    fail midway. Marks for strict checks are left out unless `keep_marks` is set.
    """
    host = HostLowering(parts.hosted, graph, layout)  # first, since blocks precede state
    with_edges = [(compute_set, edges_of(compute_set)) for compute_set in parts.compute_sets]
    compute_steps = lower_compute_sets(with_edges, layout, saved)
    acting = [
        each
        for each in (*parts.leaves, *parts.decisions)
        if keep_marks or not isinstance(each, Mark)
    ]
    agreements = {each: agreement_on(each, layout) for each in parts.decisions}
    actions = {each: action_of(each, layout) for each in acting}
    host_steps = {each: host.lowered(each) for each in parts.hosted}
    return LoweredParts(
        compute_sets=dict(zip(parts.compute_sets, compute_steps, strict=True)),
        copies={copy: lower_copy(copy, layout) for copy in parts.copies},
        agreements={each: it for each, it in agreements.items() if it is not None},
        actions={each: it for each, it in actions.items() if it is not None},
        host_steps={each: it for each, it in host_steps.items() if it is not None},
    )


def numbers_of(lowered: LoweredParts) -> Numbers:
    """Number steps and actions in the order of `all_steps` and `all_actions`."""
    step, action = count(), count()
    return Numbers(
        steps={each: next(step) for each in (*lowered.compute_sets, *lowered.copies)},
        host_copies={
            (program, place): next(step)
            for program, host in lowered.host_steps.items()
            for place in host.copies
        },
        agreements={each: next(action) for each in lowered.agreements},
        actions={each: next(action) for each in (*lowered.actions, *lowered.host_steps)},
    )
