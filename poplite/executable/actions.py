"""What Python does in the middle of a program, without the graph.

The interpreter returns to Python at a CALLBACK op, which names one of these.  Like everything in
an executable they hold no tensor, only where its elements lie::

    PrintTensor("loss", loss)   ->   Print("loss", HostTensor("loss", FLOAT, (), ...), ...)

`poplite.simulator.host.actions` runs them; those that move data or call the user are in
`poplite.executable.transfers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poplite.executable.host_tensor import HostTensor, host_tensor
from poplite.executable.layout import ArenaLayout
from poplite.executable.transfers import HostAction
from poplite.program import (
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    CycleStamp,
    ErrorProgram,
    PrintTensor,
    PrintTensorFormat,
    Program,
    Stop,
    Switch,
    WriteUndef,
)
from poplite.source import SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class Print:
    """Prints a tensor.

    Attributes:
        title: what stands before the values.
        tensor: what is printed.
        format: how its values are written.
    """

    title: str
    tensor: HostTensor
    format: PrintTensorFormat


@dataclass(frozen=True, slots=True, eq=False)
class Fail:
    """Ends the run with an error.

    Attributes:
        program: what it is called.
        location: the user's line that made it.
        message: what the error says.
        shown: what it shows.
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


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """Stops the run where a tensor is not the same in all replicas.

    Attributes:
        program: what it is called.
        location: the user's line that made it.
        tensor: what is compared.
        kind: "truth" or "value" of what decides how all of them go on, or "assumption".
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    kind: Literal["truth", "value", "assumption"]


@dataclass(frozen=True, slots=True, eq=False)
class Undefine:
    """Tells strict checks that nothing is written in a tensor; memory stays what it is.

    Attributes:
        tensor: the tensor.
    """

    tensor: HostTensor


@dataclass(frozen=True, slots=True, eq=False)
class Stamp:
    """Stores the cycle counter.

    Attributes:
        program: what it is called.
        location: the user's line that made it.
        tensor: what it is stored in.
        since: an earlier stamp that is subtracted, if there is one.
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    since: HostTensor | None


Action = Print | NoCase | Fail | Equal | Undefine | Stamp | HostAction


def action_of(program: Program, layout: ArenaLayout) -> Action | None:
    """Return what Python does for a program; None when it is done without Python.

    Args:
        program: a leaf, or a program in which a scalar decides.
        layout: where variables lie.
    """
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
    """Return what Python does when replicas do not agree how to go on.

    Args:
        program: one in which a scalar decides.
        layout: where variables lie.

    Returns:
        None where there is one replica only.
    """
    if layout.replicas == 1 or program.decided_by is None:
        return None
    scalar = host_tensor(program.decided_by, layout)
    kind: Literal["truth", "value"] = "value" if isinstance(program, Switch) else "truth"
    return Equal(str(program), program.location, scalar, kind)
