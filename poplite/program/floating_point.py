"""Programs that change how floating-point arithmetic behaves, from there on.

    set_stochastic_rounding(graph, sequence, True)      as in Poplar: appended to a Sequence
    Sequence(SetStochasticRounding(True), train)        the same as a program of its own

The behaviour is that of all tiles, and stays when a run ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import ControlProgramError, made_by
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.floating_point import (
    OVERFLOW_MAX,
    STOCHASTIC,
    STORES,
    TRAPS,
    FloatingPointBehaviour,
)
from poplite.program.base import Program, check_name, set_once
from poplite.program.sequence import Sequence, check_appended
from poplite.text import clipped, of_type


@made_by("SetFloatingPointBehaviour(behaviour), or SetStochasticRounding(on)")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetMode(Program):
    """Base of the programs that change how floating-point arithmetic behaves.

    Attributes:
        clear: bits of the mode that are cleared.
        set: bits that are set then.
    """

    clear: int
    set: int

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class SetFloatingPointBehaviour(SetMode):
    """Sets how floating-point arithmetic behaves.

    Args:
        behaviour: all of it.

    Raises:
        ControlProgramError: when it is no `FloatingPointBehaviour`.

    >>> SetFloatingPointBehaviour(FloatingPointBehaviour(oflo=False, esr=False))
    <SetFloatingPointBehaviour inv div0 nanoo>
    """

    behaviour: FloatingPointBehaviour

    def __init__(self, behaviour: FloatingPointBehaviour) -> None:
        _check("SetFloatingPointBehaviour", behaviour=behaviour)
        bits = behaviour.bits if behaviour.nanoo else behaviour.bits | OVERFLOW_MAX
        set_once(self, behaviour=behaviour, clear=TRAPS | STORES, set=bits, num_steps=1)

    def __str__(self) -> str:
        return f"SetFloatingPointBehaviour {_words(self.behaviour)}"


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class ModifyFloatingPointBehaviour(SetMode):
    """Changes some of how floating-point arithmetic behaves.

    Args:
        clear: what is turned off.
        set: what is turned on after that.

    Raises:
        ControlProgramError: when one of them is no `FloatingPointBehaviour`.

    >>> nothing = FloatingPointBehaviour(False, False, False, False, False)
    >>> ModifyFloatingPointBehaviour(nothing, FloatingPointBehaviour(nanoo=False))
    <ModifyFloatingPointBehaviour off none, on inv div0 oflo esr>
    """

    off: FloatingPointBehaviour
    on: FloatingPointBehaviour

    def __init__(self, clear: FloatingPointBehaviour, set: FloatingPointBehaviour) -> None:
        _check("ModifyFloatingPointBehaviour", clear=clear, set=set)
        cleared, bits = clear.bits, set.bits
        if set.nanoo:
            cleared |= OVERFLOW_MAX
        elif clear.nanoo:
            bits |= OVERFLOW_MAX
        set_once(self, off=clear, on=set, clear=cleared, set=bits, num_steps=1)

    def __str__(self) -> str:
        return f"ModifyFloatingPointBehaviour off {_words(self.off)}, on {_words(self.on)}"


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class SetStochasticRounding(SetMode):
    """Turns stochastic rounding on or off.

    Args:
        on: whether it is on from here.

    Raises:
        ControlProgramError: when it is no truth value.

    >>> SetStochasticRounding(True)
    <SetStochasticRounding on>
    """

    def __init__(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise ControlProgramError(
                f"SetStochasticRounding: {clipped(on, 60)} is no truth value",
                found=of_type(on),
                fix="SetStochasticRounding(True)",
            )
        set_once(self, clear=STOCHASTIC, set=STOCHASTIC if on else 0, num_steps=1)

    def __str__(self) -> str:
        return f"SetStochasticRounding {'on' if self.set else 'off'}"


def set_floating_point_behaviour(
    graph: Graph, sequence: Sequence, behaviour: FloatingPointBehaviour, name: str = ""
) -> None:
    """Append to a sequence that arithmetic behaves so from there on.

    Args:
        graph: the graph the sequence is for.
        sequence: what is appended to.
        behaviour: all of it.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for a graph, sequence or behaviour that is none.

    >>> sequence = Sequence()
    >>> set_floating_point_behaviour(Graph(), sequence, FloatingPointBehaviour(esr=False))
    >>> print(sequence.children[0])
    SetFloatingPointBehaviour inv div0 oflo nanoo
    """
    check_appended("set_floating_point_behaviour(graph, sequence, ...)", graph, sequence)
    check_name(name, "set_floating_point_behaviour")
    sequence.add(SetFloatingPointBehaviour(behaviour))


def get_and_modify_floating_point_behaviour(
    graph: Graph,
    sequence: Sequence,
    clear: FloatingPointBehaviour,
    set: FloatingPointBehaviour,
    name: str = "",
) -> None:
    """Append to a sequence that some of the behaviour changes from there on.

    Args:
        graph: the graph the sequence is for.
        sequence: what is appended to.
        clear: what is turned off.
        set: what is turned on after that.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for a graph, sequence or behaviour that is none.
    """
    check_appended("get_and_modify_floating_point_behaviour(graph, sequence, ...)", graph, sequence)
    check_name(name, "get_and_modify_floating_point_behaviour")
    sequence.add(ModifyFloatingPointBehaviour(clear, set))


def set_stochastic_rounding(graph: Graph, sequence: Sequence, on: bool, name: str = "") -> None:
    """Append to a sequence that stochastic rounding is on or off from there on.

    Args:
        graph: the graph the sequence is for.
        sequence: what is appended to.
        on: whether it is on.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for a graph or sequence that is none, or no truth value.
    """
    check_appended("set_stochastic_rounding(graph, sequence, ...)", graph, sequence)
    check_name(name, "set_stochastic_rounding")
    sequence.add(SetStochasticRounding(on))


def _check(what: str, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, Tensor):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is a tensor",
                found="Poplar keeps a behaviour in one, to set it again later; here it is known",
                fix=f"{name}=FloatingPointBehaviour(...), with what it was before",
            )
        if not isinstance(value, FloatingPointBehaviour):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is no behaviour",
                found=of_type(value),
                fix=f"{name}=FloatingPointBehaviour(inv=True, div0=True, oflo=True)",
            )


def _words(behaviour: FloatingPointBehaviour) -> str:
    names = ("inv", "div0", "oflo", "esr", "nanoo")
    return " ".join(name for name in names if getattr(behaviour, name)) or "none"
