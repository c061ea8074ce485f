"""What scopes of names take: a tree of the parts of the names that `/` separates.

    cycles  of all   scope
    89,402  100.0%   model
    67,456   75.5%     block1
    21,946   24.5%     block2/dense

Steps belong to the operation that recorded them, else to the scopes of their own names; a copy
belongs to the scope that its two tensors share.  A variable belongs to the scope of its name, the
result of an operation, which has its name, to the operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from poplite.frozen import frozen
from poplite.report.execution import ExecutionStep
from poplite.text import amount
from poplite.viz.colours import Role
from poplite.viz.draw.json_text import as_data
from poplite.viz.draw.units import name_text, parts_of_name, share_text
from poplite.viz.marks import ListColumn, Listing, ListRow, Picture, Words, composed
from poplite.viz.names import note_of, noted
from poplite.viz.painters import PictureData

if TYPE_CHECKING:
    from poplite.report import Report


LEVELS = tuple(Role("of all cycles", "█", f"q{step}", 0, "#") for step in (8, 6, 4))
"""What bars look like: from the fourth level on they are as pale as those of the third."""

COLUMNS = (
    ListColumn("steps", spare=1),
    ListColumn("cycles"),
    ListColumn("of all", spare=4),
    ListColumn("received B", spare=3),
    ListColumn("memory B", spare=2),
    ListColumn("scope", "name", least=20, most=70),
    ListColumn("", "bar", most=32, track=True),
)


@frozen
class ScopeCost:
    """What a scope takes, with all that is inside.

    Attributes:
        name: without the scopes that it is in; several parts where nothing else is between them.
        path: its name with all scopes.
        steps: how many steps it has.
        cycles: total of them.
        share: of the cycles of all steps.
        received: total of bytes that tiles receive in them.
        memory: bytes of the variables and constants in it, on all tiles.
        inside: scopes and steps in it.
    """

    name: str
    path: str
    steps: int
    cycles: int
    share: float
    received: int
    memory: int
    inside: tuple[ScopeCost, ...]

    def num_inside(self) -> int:
        """Return how many scopes and steps it holds, however deep."""
        return sum(1 + each.num_inside() for each in self.inside)


@frozen
class ScopeTree(PictureData):
    """What the scopes of a report take.

    Attributes:
        note: what the numbers are of.
        whole: all of it.
        depth: how many levels are listed.
    """

    note: str
    whole: ScopeCost
    depth: int

    KIND: ClassVar = "ops"

    @property
    def heading(self) -> str:
        """How much there is."""
        steps, cycles = amount(self.whole.steps, "step"), amount(self.whole.cycles, "cycle")
        return noted(f"operations: {steps}, {cycles}", self.note)

    def rows(self) -> Iterator[tuple[int, ScopeCost]]:
        """Yield the scopes that are listed, each with its level from 0."""
        pending = [(0, each) for each in reversed(self.whole.inside)]
        while pending:
            level, scope = pending.pop()
            yield level, scope
            if level + 1 < self.depth:
                pending += [(level + 1, each) for each in reversed(scope.inside)]

    def picture(self) -> Picture:
        """Return a row for each scope that is listed, with a bar for its share of all cycles.

        >>> nothing = ScopeCost("", "", 0, 0, 0.0, 0, 0, ())
        >>> ScopeTree("", nothing, 2).picture().title
        'operations: 0 steps, 0 cycles'
        """
        rows = tuple(self._row(level, scope) for level, scope in self.rows())
        columns = (*COLUMNS[:-1], replace(COLUMNS[-1], whole=self.whole.cycles or None))
        more = Words(f"(+N): more inside; --depth {self.depth + 1} shows them", "soft")
        return composed(
            self.heading,
            Listing(columns, rows) if rows else (),
            more if any(row.aside for row in rows) else (),
        )

    def _row(self, level: int, scope: ScopeCost) -> ListRow:
        numbers = (
            f"{scope.steps:,}",
            f"{scope.cycles:,}",
            share_text(scope.share),
            f"{scope.received:,}",
            f"{scope.memory:,}",
        )
        bar = ((LEVELS[min(level, 2)], scope.cycles),)
        more = scope.num_inside() if level + 1 == self.depth else 0
        said = ", ".join(f"{c.title} {text}" for c, text in zip(COLUMNS, numbers, strict=False))
        return ListRow(
            (*numbers, name_text(scope.name), bar),
            aside=f"(+{more:,})" if more else "",
            level=level,
            tip=f"{name_text(scope.path)}: {said}",
        )

    def data(self) -> dict[str, object]:
        """Return what scopes take, with all that is inside."""
        return {"note": self.note, **as_data(self.whole)}

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """Return a line for each scope that is listed."""
        titles = ["level", "scope", "steps", "cycles", "share", "received_bytes", "bytes"]
        return titles, [
            (
                *(level, name_text(each.path), each.steps, each.cycles),
                *(f"{each.share:.6f}", each.received, each.memory),
            )
            for level, each in self.rows()
        ]


SORTS: dict[str, Callable[[ScopeCost], Any]] = {
    "cycles": lambda scope: -scope.cycles,
    "received": lambda scope: -scope.received,
    "memory": lambda scope: -scope.memory,
    "name": lambda scope: scope.name,
    "program": lambda scope: 0,
}
"""How scopes are sorted within theirs; equal ones stay in the order of the program."""


class _Node:
    """A scope that is being summed up."""

    def __init__(self) -> None:
        self.steps = self.cycles = self.received = self.memory = 0
        self.inside: dict[str, _Node] = {}

    def at(self, parts: list[str]) -> list[_Node]:
        """Return the nodes from here to a path, made where they are not there yet."""
        found = [self]
        for part in parts:
            found.append(found[-1].inside.setdefault(part, _Node()))
        return found


def scope_tree(report: Report, *, depth: int = 2, sort: str = "cycles") -> ScopeTree:
    """Return what scopes take, in so many levels; `sort` is one of `SORTS`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> with graph.scope("model"):
    ...     a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> tree = scope_tree(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> [(level, scope.name, scope.memory) for level, scope in tree.rows()]
    [(0, 'model', 24), (1, 'a to b', 0)]
    """
    whole = _Node()
    steps_of = Counter(step.operation for step in report.places)
    for step in report.places:
        received = sum(phase.received.total for phase in step.phases)
        for node in whole.at(_path(step, is_alone=steps_of[step.operation] == 1)):
            node.steps += 1
            node.cycles += step.cycles
            node.received += received
    memory = report.compilation.modelled
    results = {each.name for each in report.compilation.operations if each.result_bytes}
    for held in () if memory is None else memory.held:
        if held.shape is not None:
            parts = _parts(held.name)
            for node in whole.at(parts if held.name in results else parts[:-1]):
                node.memory += held.bytes.total
    return ScopeTree(note_of(report), _scope("", "", whole, whole.cycles, SORTS[sort]), depth)


def _parts(name: str) -> list[str]:
    return [part for part in parts_of_name(name) if part] or [name]


def _path(step: ExecutionStep, *, is_alone: bool) -> list[str]:
    """Return the scopes of a step, and last what it is called in them.

    The one step of an operation may be called after it and what is stored: `net/e[like net/x]`.
    """
    if step.kind == "copy" and step.name.count(" to ") == 1:
        source, to = (_parts(name) for name in step.name.split(" to "))
        scopes = zip(source[:-1], to[:-1], strict=False)
        shared = [one for one, _ in takewhile(lambda both: both[0] == both[1], scopes)]
        rest = "/".join(source[len(shared) :]), "/".join(to[len(shared) :])
        return [*(_parts(step.operation) if step.operation else shared), " to ".join(rest)]
    if not step.operation:
        return _parts(step.name)
    inside = step.name.removeprefix(step.operation)
    if inside != step.name and inside[:1] in ("", "/", "["):
        is_all = not inside or (is_alone and inside.startswith("["))
        return [*_parts(step.operation), *(() if is_all else _parts(inside))]
    return [*_parts(step.operation), step.name]


def _scope(
    name: str, before: str, node: _Node, cycles: int, sort: Callable[[ScopeCost], Any]
) -> ScopeCost:
    """Return a finished scope; one that holds nothing but another one is one with it."""
    while name and len(node.inside) == 1:
        ((inner, only),) = node.inside.items()
        if (only.steps, only.memory) != (node.steps, node.memory):
            break
        name, node = f"{name}/{inner}", only
    path = f"{before}/{name}" if before else name
    inside = (_scope(each, path, node.inside[each], cycles, sort) for each in node.inside)
    return ScopeCost(
        name,
        path,
        node.steps,
        node.cycles,
        node.cycles / cycles if cycles else 0.0,
        node.received,
        node.memory,
        tuple(sorted(inside, key=sort)),
    )
