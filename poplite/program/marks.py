"""Steps that move no data: they are there for the cost model and for checks.

Sync(SyncType.GLOBAL)        all tiles wait for each other
WriteUndef(x)                what is in x is not needed any more
AssumeEqualAcrossReplicas(x) x is the same in all replicas
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import ElementTypeError, Enumeration, GraphConnectionError, checked_member
from poplite.expr.tree import stored_first
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program.base import Program, declared, set_once
from poplite.text import clipped, fitted, of_type


class SyncType(Enumeration):
    """Which tiles wait for each other."""

    INTERNAL = "internal"
    """Those of each IPU."""
    EXTERNAL = "external"
    """Those of all IPUs of the device."""
    GLOBAL = "global"
    """Those of all devices."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mark(Program):
    """Base of steps that change no values; only strict checks do something for them."""


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Sync(Mark):
    """Lets tiles wait for each other; no value changes, since steps run in order anyway.

    Args:
        sync_type: which tiles.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is no `SyncType`.

    >>> Sync(SyncType.INTERNAL)
    <Sync INTERNAL>
    """

    sync_type: SyncType

    def __init__(self, sync_type: SyncType | str, name: str = "") -> None:
        set_once(self, sync_type=checked_member(sync_type, SyncType, "Sync"), num_steps=1)

    def __str__(self) -> str:
        return f"Sync {self.sync_type.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class WriteUndef(Mark):
    """Says that what a tensor holds is not needed any more: it is undefined from here on.

    On a machine its memory may be used for something else until it is written again.  Here it
    keeps its values, but with strict checks nothing may depend on them.

    Args:
        tensor: any view without constants.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is no tensor.
        GraphConnectionError: when it holds a constant, which is always defined.

    >>> from poplite.graph import Graph
    >>> WriteUndef(Graph().add_variable("int32", (3,), "x"))
    <WriteUndef 'x' int32[3]>
    """

    tensor: Tensor

    def __init__(self, tensor: Tensor, name: str = "") -> None:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"WriteUndef: {clipped(tensor, 60)} is not a tensor",
                found=of_type(tensor),
                fix=stored_first(tensor, "WriteUndef(tensor)"),
            )
        if tensor.contains_constant():
            raise GraphConnectionError(
                f"WriteUndef '{tensor.name}': a constant is always defined",
                found=type_and_shape(tensor),
                fix="leave the constant alone, or make it a variable: graph.add_variable(...)",
            )
        set_once(self, tensor=tensor, num_steps=1)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """What becomes undefined."""
        return (self.tensor,)

    def __str__(self) -> str:
        return f"WriteUndef '{self.tensor.name}'"

    def __repr__(self) -> str:
        return fitted(f"<WriteUndef '{{}}' {type_and_shape(self.tensor)}>", self.tensor.name)
