"""What Python does in the middle of a program, without the graph.

The interpreter returns to Python at a CALLBACK op, which names an action.  Like everything in an
executable, actions hold no tensors, only the places of their elements::

    PrintTensor("loss", loss)   ->   Print("loss", HostTensor("loss", FLOAT, (), ...), ...)

Their data are blocks of bytes in the arena, dense and in row-major order; copies
before and after an action bring tensors there and back (`poplite.compile.program_parts`).
`poplite.simulator.host.actions` runs them.
"""

from __future__ import annotations

from typing import Any, Literal

from poplite.executable.rows import Moves
from poplite.frozen import frozen
from poplite.program import PrintTensorFormat
from poplite.source import SourceLocation
from poplite.types import ElementType


@frozen(eq=False)
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


@frozen(eq=False)
class ArenaBlock:
    """A dense array in the arena, from byte `at` on."""

    element_type: type[ElementType[Any]]
    num_elements: int
    at: int


@frozen(eq=False)
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


@frozen(eq=False)
class Remote:
    """A remote buffer without its graph: `repeats` rows of `num_elements`."""

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    repeats: int
    location: SourceLocation


@frozen(eq=False)
class RowTransfer:
    """Moves rows of a remote buffer from or to a block, in which they follow one another.

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


@frozen(eq=False)
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


@frozen(eq=False)
class CodeLoad:
    """Loads the code of a function, by its name."""

    function: str


@frozen(eq=False)
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


@frozen(eq=False)
class HostTensor:
    """A tensor as the host sees it.

    Attributes:
        moves: from its elements in the arena to a block of bytes that begins at 0, in row-major
            order.
        metadata: byte position of its QUARTER metadata, if it has one.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    moves: Moves
    metadata: int | None


@frozen(eq=False)
class Print:
    """Prints a tensor, with its title before the values."""

    title: str
    tensor: HostTensor
    format: PrintTensorFormat


@frozen(eq=False)
class Fail:
    """Ends the run with an error.

    Attributes:
        program: what messages call it.
        message: what the error says.
        shown: the tensor that the error shows.
        predicate: what decided that it runs, if something did.
    """

    program: str
    location: SourceLocation
    message: str
    shown: HostTensor | None
    predicate: HostTensor | None


@frozen(eq=False)
class NoCase:
    """Stops the run, as no case of a Switch matches.

    Attributes:
        switch: what messages call it.
        cases: the values of its cases, for the message.
        was_unreachable: whether the user said that this cannot happen.
    """

    switch: str
    location: SourceLocation
    control: HostTensor
    cases: str
    was_unreachable: bool


@frozen(eq=False)
class Equal:
    """Stops the run where a tensor is not the same in all replicas.

    Attributes:
        program: what messages call it.
        kind: "truth" or "value" of the scalar that decides how all of them continue, or
            "assumption".
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    kind: Literal["truth", "value", "assumption"]


@frozen(eq=False)
class Undefine:
    """Tells strict checks that nothing is written in a tensor; memory stays what it is."""

    tensor: HostTensor


@frozen(eq=False)
class Stamp:
    """Stores the cycle counter in a tensor.

    Attributes:
        program: what messages call it.
        since: an earlier stamp that is subtracted, if there is one.
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    since: HostTensor | None


Action = Print | NoCase | Fail | Equal | Undefine | Stamp | HostAction


def action_text(action: Action) -> str:
    """Return what messages call the step that an action is for."""
    match action:
        case Print(title=title):
            return f"PrintTensor '{title}'"
        case NoCase(switch=switch):
            return switch
        case Undefine(tensor=tensor):
            return f"WriteUndef '{tensor.name}'"
        case CodeLoad(function=function):
            return f"loading '{function}'"
    return action.program
