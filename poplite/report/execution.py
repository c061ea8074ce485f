"""The executed part of a report: steps, their phases, their sums.

    step        'blur'  100 times      1,204,000 cycles
    phases        exchange               100,200          after waiting for 21,600
                  compute              1,082,200

Each phase also has a number for each tile.  The cost model creates the parts of a phase (kinds,
causes, pairs of tiles), and reports read them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.display import ReportPart
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.per_tile import PerPair, PerTile
from poplite.report.program_tree import Program, Programs
from poplite.report.validate import Known, Rule, checked, in_compute_sets, in_program
from poplite.source import Line
from poplite.text import amount

PhaseKind = Literal["compute", "copy", "exchange", "global exchange", "host exchange"]
"""Kinds of phases: vertices run; data are rearranged on their tile; data move between the tiles of
an IPU, between IPUs, or from and to the host."""

PHASE_KINDS: tuple[PhaseKind, ...] = get_args(PhaseKind)

TimePart = Literal[
    "work",
    "idle workers",
    "waiting",
    "copy",
    "exchange",
    "global exchange",
    "host exchange",
    "sync",
]
"""Activities of a tile: its workers run vertices, or some have none to run; it waits for slower
tiles; it copies or exchanges data, as in phases; it waits for a phase to begin."""

TIME_PARTS: tuple[TimePart, ...] = get_args(TimePart)

Source = Literal["given", "formula", "estimated", "counted", "guessed"]
"""Sources of the cycles of vertices: `set_perf_estimate`; a formula of the class, or an estimator;
the price of the compiled code; a count during the run; or a guess."""


@frozen
class Cause:
    """One of the moves of data that determine the cycles of a phase.

    Attributes:
        what: the field or tensor, as named in messages.
        why: why it moves, as text.
        at: the user's line; empty without one.
        bytes: bytes moved in one execution.
        pieces: number of contiguous pieces moved in one execution; 0 where unknown.
    """

    what: str
    why: str
    at: Line
    bytes: int
    pieces: int = 0


@frozen
class TilePairs:
    """Bytes that tiles receive from each other.

    A word that one tile sends to several others counts once for each of them, so the sum of a
    column may exceed the bytes that its tile sends; the sum of a row is the bytes that its tile
    receives.

    Attributes:
        block: number of tiles that are counted together; 1 where each pair is known.
        bytes: total that block `r` receives from block `s`, at index `r * blocks + s`.
        largest: for blocks, some of the largest pairs of tiles: source, receiver, total of bytes.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        ("there must be a number for each pair of blocks", lambda pairs, known: pairs._fit(known)),
    )

    block: int
    bytes: PerPair
    largest: tuple[tuple[int, int, int], ...] = field(
        default=(),
        metadata=checked(lambda pairs, known: all(max(pair[:2]) < known.tiles for pair in pairs)),
    )

    def _fit(self, known: Known) -> bool:
        """Return whether there is a number for each pair of blocks of tiles."""
        return self.block > 0 and self.bytes.num_tiles == (-(-known.tiles // self.block)) ** 2

    @property
    def num_blocks(self) -> int:
        """Number of blocks of tiles."""
        return math.isqrt(self.bytes.num_tiles)

    def matrix(self) -> Int64:
        """Return the total of bytes by receiver and source: int64[blocks, blocks]."""
        return self.bytes.array().reshape(self.num_blocks, -1)

    def columns(self) -> tuple[Int64, Int64, Int64]:
        """Return receivers, sources and bytes of the pairs of blocks, each int64[pairs]."""
        to, source = np.divmod(self.bytes.tiles.array(), self.num_blocks)
        return to, source, self.bytes.values.array()


@frozen
class Phase(ReportPart):
    """One phase of a step; all but its causes are totals over all executions of the step.

    Attributes:
        kind: its kind.
        cycles: total of its slowest tile.
        sync: total of cycles from the end of the previous phase on its slowest tile to its
            beginning.
        tile_cycles: total of cycles for which each tile was busy.
        received: total of bytes that each tile received.
        sent: total of bytes that each tile sent.
        copied: total of bytes rearranged on each tile.
        causes: its largest causes in one execution, the most bytes first.
        pairs: totals of bytes from tile to tile; None if no data move between tiles.
        idle: where vertices run, total of cycles for which the workers of each tile were idle; None
            if they never were.  For vertices that are counted while they run, only the sum over
            all tiles is known; it is divided among the tiles in proportion to their cycles.
        code_bytes: maximum bytes of exchange code on a tile, used in one execution.
    """

    kind: PhaseKind
    cycles: int
    sync: int
    tile_cycles: PerTile
    received: PerTile
    sent: PerTile
    copied: PerTile
    causes: tuple[Cause, ...]
    pairs: TilePairs | None = None
    idle: PerTile | None = None
    code_bytes: int = 0

    @property
    def moved(self) -> int:
        """Total of bytes that move: received or rearranged by tiles; both ways for the host."""
        if self.kind == "host exchange":
            return self.received.total + self.sent.total
        return max(self.received.total, self.sent.total, self.copied.total)

    def moved_for_causes(self) -> list[float]:
        """Return the share of each cause in `moved`; fields may share a received element."""
        named = sum(cause.bytes for cause in self.causes) or 1
        return [self.moved * cause.bytes / named for cause in self.causes]

    @property
    def balance(self) -> float:
        """Mean of the tiles' busy cycles, divided by the slowest tile's; 1 if nothing ran."""
        return self.tile_cycles.mean / self.cycles if self.cycles else 1.0


def between_syncs(phases: Iterable[Phase]) -> Iterator[list[Phase]]:
    """Yield groups of phases from one sync to the next, in which tiles proceed independently."""
    group: list[Phase] = []
    for phase in phases:
        if phase.sync and group:
            yield group
            group = []
        group.append(phase)
    if group:
        yield group


@frozen
class TypeCycles:
    """The cycles of the vertices of one class, over all executions.

    Attributes:
        name: the name of the class.
        vertices: total of vertices that ran, each counted as often as it ran.
        source: the source of their cycles.
        cycles: total of all of them: instructions that workers issued; for a `MultiVertex`, cycles
            of its tile.
        flops: total number of floating-point operations, counting a fused multiply-add as two;
            None if unknown.
    """

    name: str
    vertices: int
    source: Source
    cycles: int
    flops: int | None


@frozen
class IpuStep:
    """A step on one IPU, over all its executions.

    Attributes:
        ipu: its number.
        cycles: total of cycles that its tiles took.
        tile_cycles: int64[tiles of the IPU], total of cycles for which each of them was busy.
    """

    ipu: int
    cycles: int
    tile_cycles: Int64


@frozen
class ExecutionStep(ReportPart):
    """The cost of one place of a program, over all its executions.

    Attributes:
        name: the name of the compute set, or source and target of a copy.
        kind: the kind of the step.
        program_name: the name of the program that contains it.
        row: its row in that program's code.
        at: the user's line that added its first vertices, or made the Copy; empty if unknown.
        executions: the number of executions.
        cycles: total from its beginning to its end; phases between two syncs overlap, as each
            tile starts the next phase when it has finished its part of this one.
        phases: its phases, in order, with totals.
        vertex_types: the vertex classes that ran in it, with totals.
        operation: the name of the operation that recorded it; empty if there is none.
        number: its number, counted from 1 over all programs in order, as in commands and pages.
        compute_set: position in `Compilation.compute_sets` of the one it executes; None unless
            it is an Execute.
        target: the machine.
        programs: the mapping that contains its program.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        (
            "its program does not have this row",
            lambda each, known: (each.program_name, each.row) in known.rows,
        ),
    )

    name: str
    kind: Literal["execute", "copy", "host"]
    program_name: str = field(metadata=checked(in_program))
    row: int
    at: Line
    executions: int = field(metadata=checked(lambda number, _: number > 0))
    cycles: int
    phases: tuple[Phase, ...]
    vertex_types: tuple[TypeCycles, ...]
    target: Target = field(repr=False, metadata={"saved": False})
    programs: Programs = field(repr=False, compare=False, metadata={"saved": False})
    operation: str = field(
        default="", metadata=checked(lambda name, known: not name or name in known.operations)
    )
    number: int = 0
    compute_set: int | None = field(default=None, metadata=checked(in_compute_sets))

    @property
    def program(self) -> Program:
        """The program that ran, in its tree."""
        return self.programs.at(self.program_name, self.row)

    @property
    def tile_cycles(self) -> Int64:
        """Total of cycles for which each tile was busy: int64[tiles]."""
        return self._sum("tile_cycles")

    @property
    def bytes_sent(self) -> Int64:
        """Total of bytes that each tile sent: int64[tiles]."""
        return self._sum("sent")

    @property
    def bytes_received(self) -> Int64:
        """Total of bytes that each tile received: int64[tiles]."""
        return self._sum("received")

    @property
    def flops(self) -> int | None:
        """Total of floating-point operations of its vertices; None if some are unknown."""
        known = [each.flops for each in self.vertex_types if each.flops is not None]
        return sum(known) if len(known) == len(self.vertex_types) else None

    @property
    def flops_per_cycle(self) -> float | None:
        """Floating-point operations per cycle of the step, on average of all tiles.

        None if some are unknown.
        """
        flops, cycles = self.flops, self.cycles * self.target.tiles
        return None if flops is None else flops / cycles if cycles else 0.0

    @property
    def exchanged_per_cycle(self) -> float | None:
        """Bytes per cycle that the tile receives or sends that moves the most in an exchange.

        Only cycles of phases count in which data move between tiles of an IPU; None without such
        phases.
        """
        phases = [phase for phase in self.phases if phase.kind == "exchange" and phase.cycles]
        moved = sum(max(phase.received.most, phase.sent.most) for phase in phases)
        return moved / sum(phase.cycles for phase in phases) if phases else None

    @property
    def code_bytes(self) -> int:
        """Maximum bytes of exchange code on a tile, used in one execution of a phase."""
        return max((phase.code_bytes for phase in self.phases), default=0)

    @property
    def tile_balance(self) -> float:
        """Mean of the tiles' busy cycles, divided by the busiest tile's; 1 if nothing ran."""
        busy = self.tile_cycles
        return float(busy.mean() / most) if (most := busy.max(initial=0)) else 1.0

    def time_parts(self) -> Mapping[TimePart, float]:
        """Return the average activities of a tile, in cycles that add up to those of the step."""
        return _time_parts((self,), self.cycles, self.target.tiles)

    @property
    def ipus(self) -> tuple[IpuStep, ...]:
        """The step's totals on each IPU."""
        if self.target.ipus == 1:
            return (IpuStep(0, self.cycles, self.tile_cycles),)
        busy = [(phase.sync, phase.tile_cycles.array()) for phase in self.phases]
        size, total = self.target.tiles_per_ipu, self.tile_cycles
        parts = [slice(ipu * size, (ipu + 1) * size) for ipu in range(self.target.ipus)]
        return tuple(
            IpuStep(ipu, _elapsed([(sync, each[part]) for sync, each in busy]), total[part])
            for ipu, part in enumerate(parts)
        )

    def _sum(self, name: str) -> Int64:
        total = np.zeros(self.target.tiles, np.int64)
        for phase in self.phases:
            each: PerTile = getattr(phase, name)
            if each.num_used:
                total[each.tiles.array()] += each.values.array()
        return total


def _time_parts(
    steps: Sequence[ExecutionStep], cycles: int, num_tiles: int
) -> Mapping[TimePart, float]:
    """Return the average activities of a tile in steps that took a number of cycles."""
    phases = [phase for step in steps for phase in step.phases]
    totals: dict[PhaseKind, int] = dict.fromkeys(PHASE_KINDS, 0)
    for phase in phases:
        totals[phase.kind] += phase.tile_cycles.total
    idle = sum(phase.idle.total for phase in phases if phase.idle is not None)
    sync = sum(phase.sync for phase in phases)
    found: dict[TimePart, float] = {
        "work": (totals["compute"] - idle) / num_tiles,
        "idle workers": idle / num_tiles,
        "waiting": ((cycles - sync) * num_tiles - sum(totals.values())) / num_tiles,
        **{kind: totals[kind] / num_tiles for kind in PHASE_KINDS if kind != "compute"},
        "sync": sync,
    }
    return {part: found[part] for part in TIME_PARTS}


def _elapsed(phases: list[tuple[int, Int64]]) -> int:
    """Return the cycles of phases; between two syncs each tile proceeds independently."""
    elapsed, busy = 0, np.zeros(1, np.int64)
    for sync, cycles in phases:
        if sync:
            elapsed, busy = elapsed + int(busy.max()) + sync, np.zeros(1, np.int64)
        busy = busy + cycles
    return elapsed + int(busy.max())


@frozen
class OperationCycles:
    """The cost of the steps of one operation, over all their executions.

    Attributes:
        name: the name of the operation, with its scopes.
        at: the user's line of its first step.
        steps: the number of its steps that ran.
        cycles: total of their cycles.
        bytes_received: total of bytes that tiles received in these steps.
    """

    name: str
    at: str
    steps: int
    cycles: int
    bytes_received: int


@frozen
class Execution(ReportPart):
    """All runs of an engine since it was created.

    Attributes:
        runs: calls of `Engine.run` that reached the end.
        num_steps: total of Execute and Copy steps run.
        vertices: total of vertices run.
        bytes_copied: total of bytes moved by Copy steps.
        bytes_gathered: total of bytes that the simulator moved to and from temporaries, because
            fields were not contiguous or kept their previous values.
        runs_again: total of times that strict checks repeated the vertices of a compute set.
        steps: the cost of each place of each program, in the order of their numbers, one program
            after the other; empty if costs are not modelled.
        cycles: total of all steps; None if they are not modelled.
        target: the machine.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        ("there are cycles, but no steps", lambda each, _: bool(each.steps) or not each.cycles),
    )

    runs: int
    num_steps: int
    vertices: int
    bytes_copied: int
    bytes_gathered: int
    runs_again: int
    steps: tuple[ExecutionStep, ...]
    cycles: int | None
    target: Target = field(repr=False, metadata={"saved": False})

    @property
    def seconds(self) -> float | None:
        """The total of cycles at the clock of the target; None if they are not modelled."""
        return None if self.cycles is None else self.cycles / self.target.clock_hz

    @property
    def tile_cycles(self) -> Int64:
        """Total of cycles for which each tile was busy: int64[tiles]."""
        return sum((s.tile_cycles for s in self.steps), np.zeros(self.target.tiles, np.int64))

    @property
    def sync_cycles(self) -> int:
        """Total of cycles in which all tiles waited for the start of the next phase."""
        return sum(phase.sync for step in self.steps for phase in step.phases)

    def phase_cycles(self) -> Mapping[PhaseKind, float]:
        """Return for how many cycles a tile was busy with each kind of phase, on average."""
        return {kind: total / self.target.tiles for kind, total in self._totals().items()}

    def time_parts(self) -> Mapping[TimePart, float]:
        """Return the activities of a tile on average, in cycles that add up to the total.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
        >>> shown = pl.Engine(graph, pl.Copy(a, b)).report().shown
        >>> parts = shown.time_parts()
        >>> sum(parts.values()) == shown.cycles, parts["waiting"] == 3 * parts["copy"]
        (True, True)
        """
        return _time_parts(self.steps, self.cycles or 0, self.target.tiles)

    def active_cycles(self) -> float:
        """Return for how many cycles a tile computed, on average.

        In each phase, the average is over the tiles that computed.
        """
        phases = [p for step in self.steps for p in step.phases if p.kind == "compute"]
        busy = [p.tile_cycles for p in phases if p.tile_cycles.num_used]
        return sum(each.total / each.num_used for each in busy)

    def worker_cycles(self) -> float:
        """Return for how many cycles a tile would compute on average if workers were never idle.

        A worker issues one instruction per turn; while a vertex runs on all workers, none
        is idle.
        """
        return sum(each.cycles for each in self.vertex_types()) / self.target.tiles

    def vertex_types(self) -> tuple[TypeCycles, ...]:
        """Return the cost of the vertices of each class, the most cycles first."""
        found: dict[tuple[str, Source], TypeCycles] = {}
        for step in self.steps:
            for each in step.vertex_types:
                key = each.name, each.source
                found[key] = _added(found[key], each) if key in found else each
        return tuple(sorted(found.values(), key=lambda each: (-each.cycles, each.name)))

    def operations(self) -> tuple[OperationCycles, ...]:
        """Return the cost of the operations of `poplite.ops`, the most cycles first."""
        found: dict[str, list[ExecutionStep]] = defaultdict(list)
        for step in self.steps:
            if step.operation:
                found[step.operation].append(step)
        totals = [
            OperationCycles(
                name,
                steps[0].at,
                len(steps),
                sum(step.cycles for step in steps),
                sum(phase.received.total for step in steps for phase in step.phases),
            )
            for name, steps in found.items()
        ]
        return tuple(sorted(totals, key=lambda each: -each.cycles))

    def _totals(self) -> dict[PhaseKind, int]:
        totals: dict[PhaseKind, int] = dict.fromkeys(PHASE_KINDS, 0)
        for step in self.steps:
            for phase in step.phases:
                totals[phase.kind] += phase.tile_cycles.total
        return totals


def _added(one: TypeCycles, other: TypeCycles) -> TypeCycles:
    known = [flops for flops in (one.flops, other.flops) if flops is not None]
    return TypeCycles(
        one.name,
        one.vertices + other.vertices,
        one.source,
        one.cycles + other.cycles,
        sum(known) if known else None,
    )


# -- measurements of devices and ranks -------------------------------------------------------------
# Measurements outside the simulator: on a device, compared with the model, and between ranks.


@frozen
class Measured:
    """Runs of one program on a device.

    Attributes:
        program: the name of the program.
        runs: how many runs reached their end.
        cycles: their total, counted by the device; None on the SDK's IPU Model, which does not
            count cycles.
        seconds: their total time, measured on the host.
        modelled: cycles of this number of runs according to the model; None if branches depend on
            data, or cycles are not modelled.

    >>> print(Measured("main", 2, 81_250, 0.0004, 79_000))
    'main': 2 runs, 81,250 cycles in 0.4 ms; the model says 79,000 cycles
    """

    program: str = field(metadata=checked(in_program))
    runs: int
    cycles: int | None
    seconds: float
    modelled: int | None

    def __str__(self) -> str:
        runs = amount(self.runs, "run")
        cycles = "" if self.cycles is None else f"{amount(self.cycles, 'cycle')} in "
        model = (
            "" if self.modelled is None else f"; the model says {amount(self.modelled, 'cycle')}"
        )
        return f"'{self.program}': {runs}, {cycles}{1e3 * self.seconds:.3g} ms{model}"


@frozen
class BetweenRanks:
    """Messages of one place of a program between ranks of `pl.mpi.Device`, over all executions.

    A message is from one rank to another. Messages about calls and the ends of steps are not
    counted.

    Attributes:
        name: `ExecutionStep.name`, the work of the host, or "a control-flow scalar".
        program_name: the name of the program that contains it.
        row: its row in that program's code; that of the `ExecutionStep`, if there is one.
        number: the number of the step in its program, from 1; for a scalar, that of the step before
            it.
        at: the user's line; empty if unknown.
        executions: how often it ran.
        messages: total of messages, over all ranks.
        bytes: total of bytes in them.
    """

    name: str
    program_name: str
    row: int
    number: int
    at: str
    executions: int
    messages: int
    bytes: int

    def since(self, earlier: BetweenRanks | None) -> BetweenRanks:
        """Return the messages since an earlier report."""
        if earlier is None:
            return self
        counts = ("executions", "messages", "bytes")
        between = {name: getattr(self, name) - getattr(earlier, name) for name in counts}
        return replace(self, **between)
