"""Programs for tile registers: cycle counters and floating-point modes.

    cycle_stamp(graph, sequence)     the number of cycles so far, at this point
    cycle_count(graph, sequence)     the number of cycles that the sequence takes

The counter counts modelled cycles over all runs of the engine; all tiles synchronise before it
is read.  Reading it takes `cycle_stamp_cycles`, so two consecutive stamps differ by that number.
Source: Poplar API reference, "CycleCount".

    set_stochastic_rounding(graph, sequence, True)      as in Poplar: appended to a Sequence
    Sequence(SetStochasticRounding(True), train)        the same as a separate program

The behaviour applies to all tiles, and persists when a run ends.
"""

from __future__ import annotations

from poplite.errors import ControlProgramError, checked_member, made_by
from poplite.graph.graph import Graph
from poplite.graph.space import checked_name
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.floating_point import (
    OVERFLOW_MAX,
    STOCHASTIC,
    STORES,
    TRAPS,
    FloatingPointBehaviour,
)
from poplite.program.base import (
    Program,
    check_name,
    declared,
    derived,
    fill,
    reads,
    set_once,
    writes,
)
from poplite.program.control import Sequence, check_appended
from poplite.program.steps import SyncType
from poplite.text import clipped, of_type
from poplite.types import UNSIGNED_INT


@made_by("pl.cycle_stamp(graph, sequence, tile)")
@declared()
class CycleStamp(Program):
    """Stores the cycle counter; created by `cycle_stamp` and `cycle_count`.

    Attributes:
        tensor: UNSIGNED_INT[2] on one tile, the low word first.
        since: an earlier stamp that is subtracted.
    """

    _title = "CycleStamp '{tensor.name}'"
    tensor: Tensor = writes()
    sync_type: SyncType
    since: Tensor | None = reads(default=None)


def cycle_stamp(
    graph: Graph,
    sequence: Sequence,
    tile: int = 0,
    sync_type: SyncType | str = SyncType.INTERNAL,
    name: str = "cycle_stamp",
) -> Tensor:
    """Append a program that stores the cycle counter to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        tile: the tile whose counter is read.
        sync_type: which tiles synchronise before that.
        name: name of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the number of cycles so far, the low 32 bits first.

    Raises:
        ControlProgramError: for an invalid graph or sequence, and when the sequence is part of
            another program.
        ElementTypeError: for an invalid sync type.
        InvalidTileMapping: when there is no such tile.

    >>> graph, sequence = Graph(), Sequence()
    >>> cycle_stamp(graph, sequence)
    <Tensor 'cycle_stamp' uint32[2] on tile 0, 8 B>
    """
    sync_type = _checked("cycle_stamp", graph, sequence, sync_type)
    tensor = graph.add_variable(UNSIGNED_INT, (2,), name, mapping=tile)
    sequence.add(CycleStamp(tensor, sync_type))
    return tensor


def cycle_count(
    graph: Graph,
    sequence: Sequence,
    tile: int = 0,
    sync_type: SyncType | str = SyncType.INTERNAL,
    name: str = "cycle_count",
) -> Tensor:
    """Make a sequence measure how many cycles it takes.

    Its present contents are measured each time it runs; programs added later are not.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to measure.
        tile: the tile whose counter is read.
        sync_type: which tiles synchronise before that.
        name: name of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the number of cycles of the last run, the low 32 bits first.

    Raises:
        ControlProgramError: for an invalid graph or sequence, and when the sequence is part of
            another program.
        ElementTypeError: for an invalid sync type.
        InvalidTileMapping: when there is no such tile.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), n, mapping=0, initial_value=1) for n in "ab")
    >>> sequence = pl.Sequence(pl.Copy(a, b))
    >>> cycles = pl.cycle_count(graph, sequence)
    >>> engine = pl.Engine(graph, sequence)
    >>> engine.run()
    >>> low, high = engine.read(cycles).tolist()
    >>> 0 < low < engine.report().cycles, high
    (True, 0)
    """
    sync_type = _checked("cycle_count", graph, sequence, sync_type)
    checked_name(name, "tensor", 'pl.cycle_count(graph, sequence, name="cycles")')
    begin = graph.add_variable(UNSIGNED_INT, (2,), f"{name}/begin", mapping=tile)
    taken = graph.add_variable(UNSIGNED_INT, (2,), name, mapping=tile)
    sequence._put_first(CycleStamp(begin, sync_type))
    sequence.add(CycleStamp(taken, sync_type, since=begin))
    return taken


def _checked(call: str, graph: object, sequence: object, sync_type: object) -> SyncType:
    check_appended(f"{call}(graph, sequence)", graph, sequence)
    return checked_member(sync_type, SyncType, call)


# -- floating point --------------------------------------------------------------------------------


@made_by("SetFloatingPointBehaviour(behaviour), or SetStochasticRounding(on)")
@declared()
class SetMode(Program):
    """Base of the programs that change how floating-point arithmetic behaves.

    Attributes:
        clear: the bits of the mode that are cleared.
        set: the bits that are then set.
    """

    clear: int = derived()
    set: int = derived()


@declared()
class SetFloatingPointBehaviour(SetMode):
    """Sets the behaviour of floating-point arithmetic.

    Args:
        behaviour: the complete behaviour.

    Raises:
        ControlProgramError: when it is not a `FloatingPointBehaviour`.

    >>> SetFloatingPointBehaviour(FloatingPointBehaviour(oflo=False, esr=False))
    <SetFloatingPointBehaviour inv div0 nanoo>
    """

    behaviour: FloatingPointBehaviour

    def _check(self) -> None:
        behaviour = self.behaviour
        _check("SetFloatingPointBehaviour", behaviour=behaviour)
        bits = behaviour.bits if behaviour.nanoo else behaviour.bits | OVERFLOW_MAX
        fill(self, clear=TRAPS | STORES, set=bits)

    def _titled(self) -> str:
        return f"SetFloatingPointBehaviour {_words(self.behaviour)}"


@declared()
class ModifyFloatingPointBehaviour(SetMode):
    """Changes parts of the behaviour of floating-point arithmetic.

    Args:
        clear: the behaviour to turn off.
        set: the behaviour to turn on afterwards.

    Raises:
        ControlProgramError: when one of them is not a `FloatingPointBehaviour`.

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
        set_once(self, off=clear, on=set, clear=cleared, set=bits)

    def _titled(self) -> str:
        return f"ModifyFloatingPointBehaviour off {_words(self.off)}, on {_words(self.on)}"


@declared()
class SetStochasticRounding(SetMode):
    """Turns stochastic rounding on or off.

    Args:
        on: whether it is turned on.

    Raises:
        ControlProgramError: when it is not a truth value.

    >>> SetStochasticRounding(True)
    <SetStochasticRounding on>
    """

    on: bool

    def _check(self) -> None:
        if not isinstance(self.on, bool):
            raise ControlProgramError(
                f"SetStochasticRounding: {clipped(self.on, 60)} is not True or False",
                found=of_type(self.on),
                fix="SetStochasticRounding(True)",
            )
        fill(self, clear=STOCHASTIC, set=STOCHASTIC if self.on else 0)

    def _titled(self) -> str:
        return f"SetStochasticRounding {'on' if self.on else 'off'}"


def set_floating_point_behaviour(
    graph: Graph, sequence: Sequence, behaviour: FloatingPointBehaviour, name: str = ""
) -> None:
    """Append a program that sets the floating-point behaviour to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        behaviour: the complete behaviour.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or behaviour.

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
    """Append a program that changes parts of the floating-point behaviour to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        clear: the behaviour to turn off.
        set: the behaviour to turn on afterwards.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or behaviour.
    """
    check_appended("get_and_modify_floating_point_behaviour(graph, sequence, ...)", graph, sequence)
    check_name(name, "get_and_modify_floating_point_behaviour")
    sequence.add(ModifyFloatingPointBehaviour(clear, set))


def set_stochastic_rounding(graph: Graph, sequence: Sequence, on: bool, name: str = "") -> None:
    """Append a program that turns stochastic rounding on or off to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        on: whether it is turned on.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or truth value.
    """
    check_appended("set_stochastic_rounding(graph, sequence, ...)", graph, sequence)
    check_name(name, "set_stochastic_rounding")
    sequence.add(SetStochasticRounding(on))


def _check(what: str, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, Tensor):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is a tensor",
                found="Poplar stores a behaviour in a tensor, to restore it; here it is known",
                fix=f"pass the earlier behaviour: {name}=FloatingPointBehaviour(...)",
            )
        if not isinstance(value, FloatingPointBehaviour):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is not a behaviour",
                found=of_type(value),
                fix=f"{name}=FloatingPointBehaviour(inv=True, div0=True, oflo=True)",
            )


def _words(behaviour: FloatingPointBehaviour) -> str:
    names = ("inv", "div0", "oflo", "esr", "nanoo")
    return " ".join(name for name in names if getattr(behaviour, name)) or "none"
