"""Reading the cycle counter of a tile while a program runs.

    cycle_stamp(graph, sequence)     the cycles so far, at this place
    cycle_count(graph, sequence)     the cycles that the sequence takes, whatever is in it

The counter counts the cycles that are modelled, of all runs of the engine; all tiles meet where it
is read.  Reading it takes `cycle_stamp_cycles`, so that two stamps in a row differ by those.
Poplar: CycleCount page of its API reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import checked_member, made_by
from poplite.graph.graph import Graph
from poplite.graph.storage.names import checked_name
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import Program, set_once
from poplite.program.marks import SyncType
from poplite.program.sequence import Sequence, check_appended
from poplite.source import here
from poplite.text import fitted
from poplite.types import UNSIGNED_INT


@made_by("pl.cycle_stamp(graph, sequence, tile)")
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class CycleStamp(Program):
    """Stores the cycle counter; made by `cycle_stamp` and `cycle_count`.

    Attributes:
        tensor: UNSIGNED_INT[2] on one tile, the low word first.
        since: an earlier stamp that is subtracted.
    """

    tensor: Tensor
    sync_type: SyncType
    since: Tensor | None

    def __init__(self, tensor: Tensor, sync_type: SyncType, since: Tensor | None = None) -> None:
        set_once(self, tensor=tensor, sync_type=sync_type, since=since, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The earlier stamp, if there is one."""
        return () if self.since is None else (self.since,)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """What the counter is stored in."""
        return (self.tensor,)

    def __str__(self) -> str:
        return f"CycleStamp '{self.tensor.name}'"

    def __repr__(self) -> str:
        return fitted("<CycleStamp '{}'>", self.tensor.name)


def cycle_stamp(
    graph: Graph,
    sequence: Sequence,
    tile: int = 0,
    sync_type: SyncType | str = SyncType.INTERNAL,
    name: str = "cycle_stamp",
) -> Tensor:
    """Append to a sequence that the cycle counter is stored.

    Args:
        graph: the graph the sequence is for.
        sequence: what is appended to.
        tile: whose counter is read.
        sync_type: which tiles meet before that.
        name: of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the cycles so far, the low 32 bits first.

    Raises:
        ControlProgramError: for a graph or sequence that is none, and when the sequence is
            part of another program.
        ElementTypeError: for a sync type that is none.
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
    """Let a sequence measure how many cycles it takes.

    What is in the sequence is measured, each time it runs, and what is added later is not.

    Args:
        graph: the graph the sequence is for.
        sequence: what is measured.
        tile: whose counter is read.
        sync_type: which tiles meet before that.
        name: of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the cycles of the last time, the low 32 bits first.

    Raises:
        ControlProgramError: for a graph or sequence that is none, and when the sequence is
            part of another program.
        ElementTypeError: for a sync type that is none.
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
    checked_name(name, "tensor", here(), 'pl.cycle_count(graph, sequence, name="cycles")')
    begin = graph.add_variable(UNSIGNED_INT, (2,), f"{name}/begin", mapping=tile)
    taken = graph.add_variable(UNSIGNED_INT, (2,), name, mapping=tile)
    sequence._put_first(CycleStamp(begin, sync_type))
    sequence.add(CycleStamp(taken, sync_type, since=begin))
    return taken


def _checked(call: str, graph: object, sequence: object, sync_type: object) -> SyncType:
    check_appended(f"{call}(graph, sequence)", graph, sequence)
    return checked_member(sync_type, SyncType, call)
