"""What Python does in the middle of a program, without the graph.

The interpreter returns to Python at a CALLBACK op, which names one of these.  Like everything in
an executable they hold no tensor, only where its elements lie::

    PrintTensor("loss", loss)   ->   Print("loss", HostTensor("loss", FLOAT, (), ...))

`poplite.simulator.host` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poplite.compile.layout import ArenaLayout
from poplite.compile.lower import dense_moves
from poplite.compile.moves import Moves
from poplite.program import PrintTensor, Program, Switch
from poplite.source import SourceLocation
from poplite.tensor import Tensor
from poplite.types import ElementType
from poplite.view import addresses


@dataclass(frozen=True, slots=True, eq=False)
class HostTensor:
    """A tensor as the host sees it.

    Attributes:
        name: for messages.
        element_type: of its elements.
        shape: of the array on the host.
        moves: from its elements in the arena to a block of bytes that begins at 0, in row-major
            order.
        metadata: byte position of its QUARTER metadata, if it has one.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    moves: Moves
    metadata: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Print:
    """Prints a tensor.

    Attributes:
        title: what stands before the values.
        tensor: what is printed.
    """

    title: str
    tensor: HostTensor


@dataclass(frozen=True, slots=True, eq=False)
class NoCase:
    """Stops the run, as no case of a Switch matches.

    Attributes:
        switch: what it is called.
        location: the user's line that made it.
        control: what decides.
        cases: its values, for the message.
        was_unreachable: whether the user said that this cannot happen.
    """

    switch: str
    location: SourceLocation
    control: HostTensor
    cases: str
    was_unreachable: bool


Action = Print | NoCase


def action_of(program: Program, layout: ArenaLayout) -> Action | None:
    """Return what Python does for a program; None when it is done without Python.

    Args:
        program: a leaf, or a program in which a scalar decides.
        layout: where variables lie.
    """
    match program:
        case PrintTensor(title=title, tensor=tensor):
            return Print(title, host_tensor(tensor, layout))
        case Switch(control=control, unmatched="error" | "unreachable" as unmatched):
            return NoCase(
                str(program),
                program.location,
                host_tensor(control, layout),
                program.values_text(),
                unmatched == "unreachable",
            )
    return None


def host_tensor(tensor: Tensor, layout: ArenaLayout) -> HostTensor:
    """Return a tensor as the host sees it.

    Args:
        tensor: any view.
        layout: where its variables lie.
    """
    metadata = None
    if tensor.metadata is not None:
        metadata = int(layout.byte_positions(addresses(tensor.metadata.view).ravel())[0])
    moves = dense_moves(tensor.view, tensor.element_type.size_bytes, layout)
    return HostTensor(tensor.name, tensor.element_type, tensor.shape, moves, metadata)
