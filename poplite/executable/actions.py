"""What Python does in the middle of a program, without the graph.

The interpreter returns to Python at a CALLBACK op, which names an action.  Like everything in an
executable, actions hold no tensors, only where their elements lie::

    PrintTensor("loss", loss)   ->   Print("loss", HostTensor("loss", FLOAT, (), ...), ...)

`poplite.simulator.host.actions` runs them; those that move data or call the user are in
`poplite.executable.transfers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poplite.executable.host_tensor import HostTensor
from poplite.executable.transfers import CodeLoad, HostAction
from poplite.program import PrintTensorFormat
from poplite.source import SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class Print:
    """Prints a tensor, with its title before the values."""

    title: str
    tensor: HostTensor
    format: PrintTensorFormat


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """Stops the run where a tensor is not the same in all replicas.

    Attributes:
        program: what messages call it.
        kind: "truth" or "value" of the scalar by which all of them go on, or "assumption".
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    kind: Literal["truth", "value", "assumption"]


@dataclass(frozen=True, slots=True, eq=False)
class Undefine:
    """Tells strict checks that nothing is written in a tensor; memory stays what it is."""

    tensor: HostTensor


@dataclass(frozen=True, slots=True, eq=False)
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
