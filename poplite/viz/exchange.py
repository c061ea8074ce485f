"""What tiles send each other: how much, why, and from where to where.

A word that one tile sends to several others is sent once and received several times, so that more
bytes may be received than are sent.  Pairs of tiles count what is received.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.execution import BetweenRanks, ExecutionStep, Phase
from poplite.text import amount
from poplite.viz.colours import Role
from poplite.viz.draw.words import name_text, share_text, size_text
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
    composed,
    left_out,
)
from poplite.viz.names import chosen_steps, note_of, noted, place_of
from poplite.viz.painters import PictureData, by_field

MOST_BLOCKS = 32
"""Most blocks of tiles of a matrix."""


RECEIVED, SENT = Role("received", "█", "q8", 0, "#"), Role("sent", "█", "q4", 4, "#")

LONGEST_REASON, LONGEST_STEP = 80, 40

LINE = ListColumn("line", "name", spare=2, least=12, most=40)
"""The user's line, which a name is cut for."""


@frozen
class Reason:
    """Why bytes move.

    Attributes:
        what: the field or tensor, as named in messages.
        why: the reason.
        at: the user's line; empty if there is none.
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
class Traffic(PictureData):
    """Data that tiles send each other in some steps, over all executions.

    Attributes:
        note: the origin of the numbers, such as the number of runs.
        steps: names of the steps, each once.
        sent: int64[tiles], bytes that each tile sends.
        received: int64[tiles], bytes that each tile receives.
        reasons: the reasons, by descending bytes.
        block: tiles of a row of the matrix.
        matrix: int64[blocks, blocks], bytes by receiver and source, without those of the host;
            None if unknown.
        host_bytes: bytes that come from and go to the host, also in `sent` and `received`.
        between_ranks: data that the ranks of `pl.mpi.Device` sent each other, most bytes first.
        top: how many reasons are listed.
    """

    note: str
    steps: tuple[str, ...]
    sent: Int64
    received: Int64
    reasons: tuple[Reason, ...]
    block: int
    matrix: Int64 | None
    host_bytes: int
    between_ranks: tuple[BetweenRanks, ...] = ()
    top: int = 10

    KIND: ClassVar[str] = "exchange"

    @property
    def reach(self) -> float:
        """How many tiles each byte that is sent reaches."""
        return int(self.received.sum()) / (int(self.sent.sum()) or 1)

    @property
    def heading(self) -> str:
        """How much moves."""
        sent, received = int(self.sent.sum()), int(self.received.sum())
        return noted(f"exchange: {sent:,} B sent, {received:,} B received", self.note)

    @property
    def facts(self) -> list[str]:
        """The text below the heading."""
        found = []
        if self.sent.any() and self.received.any() and not self.host_bytes:
            found.append(f"each byte sent reaches {self.reach:.1f} tiles")
        for name, numbers in (("receives", self.received), ("sends", self.sent)):
            if numbers.any():
                tile = int(numbers.argmax())
                most = f"{int(numbers[tile]):,} B, {numbers.mean():,.1f} B on average"
                found.append(f"tile {tile:,} {name} most: {most}")
        return found

    @property
    def missing(self) -> str:
        """Why there is no matrix; empty if there is one."""
        if self.matrix is not None or not self.received.any():
            return ""
        if self.host_bytes:
            return "from where to where is not drawn: the host takes part"
        return "from where to where is not known: reports keep it from version 2 on"

    def label(self, block: int) -> str:
        """Return the tiles of a row of the matrix."""
        first = block * self.block
        last = min(first + self.block, len(self.sent)) - 1
        return f"{first:,}" if first == last else f"{first:,}-{last:,}"

    def picture(self) -> Picture:
        """Return the bytes received and sent by tiles, the reasons, and the matrix."""
        drawn: list[Mark] = [Words(self.missing, "soft")] if self.missing else []
        if self.matrix is not None and self.matrix.any():
            drawn = self._matrix(self.matrix)
        return composed(
            self.heading,
            self._bars() if self.received.any() or self.sent.any() else (),
            self._reasons() if self.reasons else (),
            drawn,
            self._ranks() if self.between_ranks else (),
            notes=self.facts,
        )

    def _bars(self) -> list[Mark]:
        """Return the bytes that tiles receive and send, to one scale."""
        tiles = len(self.sent)
        order, axis = np.arange(tiles), ("0", "tile", f"{tiles - 1:,}" if tiles > 1 else "")
        most = int(max(self.received.max(), self.sent.max()))
        marks: list[Mark] = []
        for role, sizes in ((RECEIVED, self.received), (SENT, self.sent)):
            bars = StackedBars((BarPart(role, sizes),), order, axis, most=most, lines=2)
            marks += [Words(role.words, "strong"), bars]
        return marks

    def _reasons(self) -> list[Mark]:
        columns = (
            ListColumn("bytes"),
            ListColumn("of all", spare=1),
            ListColumn("what moves, and why", "name", least=24, most=LONGEST_REASON),
        )
        total = sum(reason.bytes for reason in self.reasons)
        rows = [(f"{e.bytes:,}", share_text(e.bytes / total), e.text, e.at) for e in self.reasons]
        return self._first(columns, rows)

    def _ranks(self) -> list[Mark]:
        """Return the exchange between ranks, step by step."""
        sent = sum(each.bytes for each in self.between_ranks)
        messages = sum(each.messages for each in self.between_ranks)
        said = f"between ranks: {sent:,} B in {amount(messages, 'message')}"
        columns = (
            ListColumn("bytes"),
            ListColumn("messages"),
            ListColumn("times", spare=1),
            ListColumn("step", "name", most=LONGEST_STEP),
        )
        rows = [
            (f"{e.bytes:,}", f"{e.messages:,}", f"{e.executions:,}", e.name, e.at)
            for e in self.between_ranks
        ]
        return [Words(said, "strong"), *self._first(columns, rows)]

    def _first(self, columns: Sequence[ListColumn], rows: Sequence[tuple[str, ...]]) -> list[Mark]:
        """Return the first rows, which end with a name and its line, and how many are left out."""
        shown = []
        for *numbers, name, at in rows[: self.top]:
            tip = name_text(f"{name} ({at})" if at else name)
            shown.append(ListRow((*numbers, name_text(name), place_of(at)), tip=tip))
        return [Listing((*columns, LINE), shown), *left_out(len(rows) - self.top)]

    def _matrix(self, matrix: Int64) -> list[Mark]:
        """Return who receives from whom: receivers down, sources across."""
        labels = [self.label(block) for block in range(len(matrix))]
        names = tuple(label.partition("-")[0] for label in labels)
        shades = Shades(int(matrix.max()))

        def tip(to: int, source: int) -> str:
            size = size_text(int(matrix[to, source]))
            return f"{_tiles(labels[to])} from {_tiles(labels[source])}: {size}"

        title = "who receives (down) from whom (across), by bytes"
        if self.block > 1:
            title += f"; {self.block} tiles a row"
        if self.host_bytes:
            title += f"; without {self.host_bytes:,} B from or to the host"
        drawn = Matrix(names, names, matrix, shades, tip, corner="tile")
        return [Words(title, "strong"), drawn, Gap(), ShadeScale(shades, 4)]

    def data(self) -> dict[str, object]:
        """Return all fields; the matrix by receiver, then by source."""
        return by_field(self, "top") | {"reach": self.reach}


def _tiles(label: str) -> str:
    return f"tiles {label}" if "-" in label else f"tile {label}"


def traffic_of(report: Report, *, step: str | None = None, top: int = 10) -> Traffic:
    """Return the exchange between tiles, in all steps or in those chosen by number or name.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=k) for k, name in enumerate("ab"))
    >>> traffic = traffic_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> traffic.sent.tolist(), traffic.matrix[1].tolist(), traffic.reach
    ([12, 0, 0, 0], [12, 0, 0, 0], 1.0)
    """
    shown = report.places if step is None else chosen_steps(report.places, step)
    moving = [
        (each, [p for p in each.phases if p.sent.total or p.received.total]) for each in shown
    ]
    phases = [phase for _, found in moving for phase in found]
    tiles = report.tiles
    nothing: Int64 = np.zeros(tiles, np.int64)
    sent = sum((phase.sent.array() for phase in phases), nothing)
    received = sum((phase.received.array() for phase in phases), nothing)
    block = 1 if tiles <= MOST_BLOCKS else 2 * -(-tiles // (2 * MOST_BLOCKS))
    by_host = [phase for phase in phases if phase.kind == "host exchange"]
    host = sum(phase.sent.total + phase.received.total for phase in by_host)
    own = [phase for phase in phases if phase.kind != "host exchange"]
    return Traffic(
        note=note_of(report),
        steps=tuple(dict.fromkeys(each.name for each, found in moving if found)),
        sent=sent,
        received=received,
        reasons=_summed_reasons(moving),
        block=block,
        matrix=_matrix_of(own, tiles, block) if own or not host else None,
        host_bytes=host,
        between_ranks=_between_ranks(report, None if step is None else shown),
        top=top,
    )


def _between_ranks(
    report: Report, shown: Sequence[ExecutionStep] | None
) -> tuple[BetweenRanks, ...]:
    """Return the exchange between ranks, in all steps or in some."""
    wanted = None if shown is None else {(each.program_name, each.row) for each in shown}
    found = [e for e in report.between_ranks if wanted is None or (e.program_name, e.row) in wanted]
    return tuple(sorted(found, key=lambda each: -each.bytes))


def _summed_reasons(moving: Sequence[tuple[ExecutionStep, Sequence[Phase]]]) -> tuple[Reason, ...]:
    """Return the reasons with totals above 0; a cause in two phases counts its part in each."""
    totals: dict[tuple[str, str, str], float] = {}
    for step, phases in moving:
        for phase in phases:
            for cause, moved in zip(phase.causes, phase.moved_for_causes(), strict=True):
                key = cause.what, cause.why, cause.at or step.at
                totals[key] = totals.get(key, 0.0) + moved
    found = (Reason(*key, rounded) for key, size in totals.items() if (rounded := round(size)))
    return tuple(sorted(found, key=lambda each: -each.bytes))


def _matrix_of(phases: Sequence[Phase], tiles: int, block: int) -> Int64 | None:
    """Return bytes by receiver and source; None if its rows do not add up to received bytes."""
    blocks = -(-tiles // block)
    total: Int64 = np.zeros((blocks, blocks), np.int64)
    for phase in phases:
        if phase.pairs is None:
            return None
        to, source, size = phase.pairs.columns()
        place = to * phase.pairs.block // block, source * phase.pairs.block // block
        np.add.at(total, place, size)
    received: Int64 = sum((p.received.array() for p in phases), np.zeros(tiles, np.int64))
    rows = np.add.reduceat(received, np.arange(0, tiles, block))
    return total if np.array_equal(total.sum(axis=1), rows) else None
