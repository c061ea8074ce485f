"""What tiles send each other: how much, why, and from where to where.

A word that one tile sends to several others is sent once and received several times, so that more
bytes may be received than are sent.  Pairs of tiles count what is received.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.execution import BetweenRanks, ExecutionStep, Phase
from poplite.text import amount
from poplite.viz.colours import Role
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import name_text, share_text, size_text
from poplite.viz.marks import (
    BarPart,
    Gap,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Matrix,
    Picture,
    Shades,
    ShadeScale,
    StackedBars,
    Words,
    heading,
)
from poplite.viz.names import chosen_steps, note_of, place_of
from poplite.viz.painters import Forms, forms_of

if TYPE_CHECKING:
    from poplite.report import Report

MOST_BLOCKS = 32
"""Most blocks of tiles of a matrix."""


@frozen
class Reason:
    """Why bytes move.

    Attributes:
        what: the field or tensor, as messages call it.
        why: what happens to it.
        at: the user's line; empty where there is none.
        bytes: total that moves.
    """

    what: str
    why: str
    at: str
    bytes: int

    @property
    def text(self) -> str:
        """What moves, and why."""
        return f"{self.what} {self.why}".strip()


@frozen(eq=False)
class Traffic:
    """What tiles send each other in some steps, with all executions.

    Attributes:
        note: what the numbers are of.
        steps: names of the steps, each once.
        sent: int64[tiles], bytes that each tile sends.
        received: int64[tiles], bytes that each tile receives.
        reasons: why, the most bytes first.
        block: tiles of a row of the matrix.
        matrix: int64[blocks, blocks], bytes by receiver and source; None where that is not known.
        host: bytes that come from and go to the host; `sent` and `received` have them too.
        between_ranks: what the ranks of `pl.mpi.Device` sent each other, the most bytes first.
    """

    note: str
    steps: tuple[str, ...]
    sent: Int64
    received: Int64
    reasons: tuple[Reason, ...]
    block: int
    matrix: Int64 | None
    host: int
    between_ranks: tuple[BetweenRanks, ...] = ()

    @property
    def ranks(self) -> str:
        """How much ranks sent each other; empty where there are none."""
        if not self.between_ranks:
            return ""
        sent = sum(each.bytes for each in self.between_ranks)
        messages = sum(each.messages for each in self.between_ranks)
        return f"between ranks: {sent:,} B in {amount(messages, 'message')}"

    @property
    def reach(self) -> float:
        """How many tiles each byte that is sent reaches."""
        return int(self.received.sum()) / (int(self.sent.sum()) or 1)

    @property
    def heading(self) -> str:
        """How much moves."""
        sent, received = int(self.sent.sum()), int(self.received.sum())
        return f"exchange: {sent:,} B sent, {received:,} B received{self.note}"

    @property
    def facts(self) -> list[str]:
        """What is said below the heading."""
        found = []
        if self.sent.any() and self.received.any() and not self.host:
            found.append(f"each byte sent reaches {self.reach:.1f} tiles")
        for name, numbers in (("receives", self.received), ("sends", self.sent)):
            if numbers.any():
                tile = int(numbers.argmax())
                most = f"{int(numbers[tile]):,} B, {numbers.mean():,.1f} B on average"
                found.append(f"tile {tile:,} {name} most: {most}")
        return found

    @property
    def missing(self) -> str:
        """Why there is no matrix; empty where there is one."""
        if self.matrix is not None or not self.received.any():
            return ""
        if self.host:
            return "from where to where is not drawn: the host takes part"
        return "from where to where is not known: reports keep it from version 2 on"

    def label(self, block: int) -> str:
        """Return the tiles of a row of the matrix."""
        first = block * self.block
        last = min(first + self.block, len(self.sent)) - 1
        return f"{first:,}" if first == last else f"{first:,}-{last:,}"


def traffic_of(report: Report, *, step: str | None = None) -> Traffic:
    """Return what tiles send each other, in all steps or those of a number, a range or a name.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=k) for k, name in enumerate("ab"))
    >>> traffic = traffic_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> traffic.sent.tolist(), traffic.matrix[1].tolist(), traffic.reach
    ([12, 0, 0, 0], [12, 0, 0, 0], 1.0)
    """
    steps = report.places
    shown = steps if step is None else chosen_steps(steps, step)
    moving = [(each, list(_moving(each))) for each in shown]
    phases = [phase for _, found in moving for phase in found]
    tiles = report.tiles
    sent, received = (
        _summed([phase.sent.array() for phase in phases], tiles),
        _summed([phase.received.array() for phase in phases], tiles),
    )
    block = 1 if tiles <= MOST_BLOCKS else 2 * -(-tiles // (2 * MOST_BLOCKS))
    host = sum(
        phase.sent.total + phase.received.total for phase in phases if phase.kind == "host exchange"
    )
    return Traffic(
        note=note_of(report),
        steps=tuple(dict.fromkeys(each.name for each, found in moving if found)),
        sent=sent,
        received=received,
        reasons=_summed_reasons(moving),
        block=block,
        matrix=None if host else _matrix_of(phases, tiles, block, received),
        host=host,
        between_ranks=_between_ranks(report, None if step is None else shown),
    )


def _between_ranks(
    report: Report, shown: Sequence[ExecutionStep] | None
) -> tuple[BetweenRanks, ...]:
    """Return what ranks sent each other, in all places or those of some steps."""
    wanted = None if shown is None else {(each.program_name, each.row) for each in shown}
    found = [e for e in report.between_ranks if wanted is None or (e.program_name, e.row) in wanted]
    return tuple(sorted(found, key=lambda each: -each.bytes))


def _moving(step: ExecutionStep) -> Iterator[Phase]:
    for phase in step.phases:
        if phase.sent.total or phase.received.total:
            yield phase


def _summed(several: list[Int64], tiles: int) -> Int64:
    total: Int64 = np.zeros(tiles, np.int64)
    for each in several:
        total += each
    return total


def _summed_reasons(moving: Sequence[tuple[ExecutionStep, Sequence[Phase]]]) -> tuple[Reason, ...]:
    """Return why bytes move, with totals above 0; a cause of two phases has its part in each."""
    totals: dict[tuple[str, str, str], float] = {}
    for step, phases in moving:
        for phase in phases:
            for cause, moved in zip(phase.causes, phase.moved_for_causes(), strict=True):
                key = cause.what, cause.why, cause.at or step.at
                totals[key] = totals.get(key, 0.0) + moved
    found = (Reason(*key, rounded) for key, size in totals.items() if (rounded := round(size)))
    return tuple(sorted(found, key=lambda each: -each.bytes))


def _matrix_of(phases: Sequence[Phase], tiles: int, block: int, received: Int64) -> Int64 | None:
    """Return bytes by receiver and source; None where its rows are not what tiles receive."""
    blocks = -(-tiles // block)
    total: Int64 = np.zeros((blocks, blocks), np.int64)
    for phase in phases:
        if phase.pairs is None:
            return None
        to, source, size = phase.pairs.columns()
        place = to * phase.pairs.block // block, source * phase.pairs.block // block
        np.add.at(total, place, size)
    rows = np.add.reduceat(received, np.arange(0, tiles, block))
    return total if np.array_equal(total.sum(axis=1), rows) else None


# -- picture ---------------------------------------------------------------------------------------

RECEIVED, SENT = Role("received", "█", "q8", 0, "#"), Role("sent", "█", "q4", 4, "#")

LONGEST_REASON, LONGEST_STEP = 80, 40

LINE = ListColumn("line", "name", spare=2, least=12, most=40)
"""The user's line, which a name is cut for."""


def exchange_forms(traffic: Traffic, top: int) -> Forms:
    """Return the forms of what tiles send each other, with the `top` largest reasons."""
    return forms_of(exchange_picture(traffic, top), partial(traffic_json, traffic))


def exchange_picture(traffic: Traffic, top: int) -> Picture:
    """Return what tiles receive and send, why, and who receives from whom."""
    marks: list[Mark] = [*heading(traffic.heading, *traffic.facts)]
    if traffic.received.any() or traffic.sent.any():
        marks += [Gap(), *_bars(traffic)]
    if traffic.reasons:
        marks += [Gap(), *_reasons(traffic, top)]
    if traffic.missing:
        marks += [Gap(), Words(traffic.missing, "soft")]
    elif traffic.matrix is not None and traffic.matrix.any():
        marks += [Gap(), *_matrix(traffic, traffic.matrix)]
    if traffic.between_ranks:
        marks += [Gap(), Words(traffic.ranks, "strong"), *_ranks(traffic, top)]
    return Picture(traffic.heading, tuple(marks))


def _bars(traffic: Traffic) -> list[Mark]:
    """Return what tiles receive and what they send, to one scale."""
    tiles = len(traffic.sent)
    order, axis = np.arange(tiles), ("0", "tile", f"{tiles - 1:,}" if tiles > 1 else "")
    most = int(max(traffic.received.max(), traffic.sent.max()))
    marks: list[Mark] = []
    for role, sizes in ((RECEIVED, traffic.received), (SENT, traffic.sent)):
        bars = StackedBars((BarPart(role, sizes),), order, axis, most=most, lines=2)
        marks += [Words(role.words, "strong"), bars]
    return marks


def _reasons(traffic: Traffic, top: int) -> list[Mark]:
    columns = (
        ListColumn("bytes"),
        ListColumn("of all", spare=1),
        ListColumn("what moves, and why", "name", least=24, most=LONGEST_REASON),
        LINE,
    )
    total = sum(reason.bytes for reason in traffic.reasons)
    rows = [
        _said((f"{each.bytes:,}", share_text(each.bytes / total)), each.text, each.at)
        for each in traffic.reasons
    ]
    return _first(columns, rows, top)


def _ranks(traffic: Traffic, top: int) -> list[Mark]:
    """Return what ranks sent each other, step by step."""
    columns = (
        ListColumn("bytes"),
        ListColumn("messages"),
        ListColumn("times", spare=1),
        ListColumn("step", "name", most=LONGEST_STEP),
        LINE,
    )
    rows = [
        _said((f"{each.bytes:,}", f"{each.messages:,}", f"{each.executions:,}"), each.name, each.at)
        for each in traffic.between_ranks
    ]
    return _first(columns, rows, top)


def _said(numbers: tuple[str, ...], name: str, at: str) -> ListRow:
    tip = name_text(f"{name} ({at})" if at else name)
    return ListRow((*numbers, name_text(name), place_of(at)), tip=tip)


def _first(columns: tuple[ListColumn, ...], rows: list[ListRow], top: int) -> list[Mark]:
    """Return the first rows, and how many there are more."""
    more = [Words(f"... {len(rows) - top:,} more", "soft")] if len(rows) > top else []
    return [Listing(columns, tuple(rows[:top])), *more]


def _matrix(traffic: Traffic, matrix: Int64) -> list[Mark]:
    """Return who receives from whom: receivers down, sources across."""
    labels = [traffic.label(block) for block in range(len(matrix))]
    names = tuple(label.partition("-")[0] for label in labels)
    shades = Shades(int(matrix.max()))

    def tip(to: int, source: int) -> str:
        size = size_text(int(matrix[to, source]))
        return f"{_tiles(labels[to])} from {_tiles(labels[source])}: {size}"

    title = "who receives (down) from whom (across), by bytes"
    if traffic.block > 1:
        title += f"; {traffic.block} tiles a row"
    drawn = Matrix(names, names, matrix, shades, tip, corner="tile")
    return [Words(title, "strong"), drawn, Gap(), ShadeScale(shades, 4)]


def _tiles(label: str) -> str:
    return f"tiles {label}" if "-" in label else f"tile {label}"


# -- data ------------------------------------------------------------------------------------------


def traffic_json(traffic: Traffic) -> str:
    """Return what tiles send each other as JSON; the matrix by receiver, then by source."""
    data = {
        "note": traffic.note.removeprefix("; "),
        "steps": list(traffic.steps),
        "sent": traffic.sent.tolist(),
        "received": traffic.received.tolist(),
        "reach": traffic.reach,
        "host_bytes": traffic.host,
        "reasons": [asdict(each) for each in traffic.reasons],
        "between_ranks": [asdict(each) for each in traffic.between_ranks],
        "block": traffic.block,
        "matrix": None if traffic.matrix is None else traffic.matrix.tolist(),
    }
    return json_text("exchange", data)
