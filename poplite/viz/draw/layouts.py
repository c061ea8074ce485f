r"""Layouts of graphs: boxes in layers, and Graphviz if installed.

Boxes are in rows from top to bottom, and edges run from row to row.  Each node is below all
that must precede it.  Edges of one kind at one hub share a trunk past the rows in
between, so that a variable read by fifty compute sets is drawn as a tree and not as fifty lines::

      x               row 0       hub
     / |
    a  |              row 1       the trunk passes beside a
      / \
     b   c            row 2

Rows are ordered by two barycentre sweeps; then each node is put as near to the mean of its
neighbours as its row allows.  Source: Sugiyama, Tagawa and Toda, "Methods for visual
understanding of hierarchical system structures" (1981).

>>> layout = layered([80, 80, 80], [LayoutLink(0, 1), LayoutLink(0, 2)], [])
>>> layout.row, layout.center
([0, 1, 1], [92.0, 40.0, 144.0])

Graphviz is `dot` on the path, else the pygraphviz package.  Neither is needed: without them DOT
text can be taken to a machine that has Graphviz.

>>> graphviz_picture("digraph {", "svg")[0] is None
True
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from poplite.frozen import frozen

GAP = 24
"""Pixels between two boxes of a row."""

TRUNK = 10
"""Width of a trunk in a row, in pixels."""

STRAIGHT = 64.0
"""Weight of a trunk, relative to 1 for a node, so that trunks run straight."""

WIDEST = 1080
"""Pixels of a row from which its boxes are put into several rows."""

SWEEPS = 2


class LayoutLink(NamedTuple):
    """An edge between two nodes; edges of one kind may share a trunk."""

    tail: int
    head: int
    kind: int = 0


class Segment(NamedTuple):
    """A piece of an edge, from one row to the next.

    Attributes:
        upper: a node, or a trunk; trunks are numbered after the nodes.
        lower: another one, in the next row.
        links: positions of the edges that share the piece.
    """

    upper: int
    lower: int
    links: tuple[int, ...]


@frozen
class LayeredLayout:
    """The positions of all boxes and edges.

    Attributes:
        row: the row of each node and, after the nodes, of each trunk.
        center: their centers, in pixels from the left.
        segments: the edges, cut at the rows.
        width: in pixels.
    """

    row: list[int]
    center: list[float]
    segments: list[Segment]
    width: float
    num_rows: int


def layered(
    widths: Sequence[float],
    links: Sequence[LayoutLink],
    order: Iterable[tuple[int, int]],
    is_step: Sequence[bool] = (),
) -> LayeredLayout:
    """Place boxes in rows, near the order in which they are passed; widths are in pixels.

    `order` contains further pairs of nodes (earlier, later); the later node is placed lower.  A
    node that `is_step` is never above a node that precedes it.
    """
    count = len(widths)
    pairs = [*((a, b) for a, b, _ in links), *order]
    row = _rows(widths, _ranks(pairs, is_step or [False] * count))
    segments = _segments(row, links)
    room = [*widths, *([TRUNK] * (len(row) - count))]
    rows = _ordered(row, count)
    above, below = _neighbours(segments, count)
    for _ in range(SWEEPS):  # the order in each row first, then where its nodes stand
        _sort(rows, above)
        _sort(rows[::-1], below)
    center = [0.0] * len(row)
    for nodes in rows:
        _spread(nodes, [0.0] * len(nodes), room, center)
    for _ in range(SWEEPS):
        for neighbours, ordered in ((above, rows), (below, rows[::-1])):
            for nodes in ordered:
                wanted = [_mean(center, neighbours[node], center[node]) for node in nodes]
                _spread(nodes, wanted, room, center)
    left = min((c - w / 2 for c, w in zip(center, room, strict=True)), default=0)
    center = [c - left for c in center]
    width = max((c + w / 2 for c, w in zip(center, room, strict=True)), default=0)
    return LayeredLayout(row, center, segments, width, len(rows))


def _ranks(pairs: Iterable[tuple[int, int]], is_step: Sequence[bool]) -> list[int]:
    """Return the length of the longest path to each node; edges against the order are reversed.

    A node without a predecessor that is not a step is placed just above its first successor; a node
    without edges is placed at the end.
    """
    before: dict[int, set[int]] = defaultdict(set)
    after: dict[int, set[int]] = defaultdict(set)
    for pair in pairs:
        earlier, later = sorted(pair)
        before[later].add(earlier)
        after[earlier].add(later)
    rank: list[int] = []
    reached = 0
    for node, steps in enumerate(is_step):
        rank.append(max((rank[other] + 1 for other in before[node]), default=0))
        if steps:
            rank[node] = reached = max(reached, rank[node])
    last = max(rank, default=0) + 1
    for node, steps in enumerate(is_step):
        if not (before[node] or steps):
            rank[node] = min((rank[other] - 1 for other in after[node]), default=last)
    return rank


def _rows(widths: Sequence[float], rank: Sequence[int]) -> list[int]:
    """Return the row of each node: its rank, where a rank is not too wide for one row."""
    by_rank: dict[int, list[int]] = defaultdict(list)
    for node, number in enumerate(rank):
        by_rank[number].append(node)
    row = [0] * len(rank)
    first = 0
    for number in sorted(by_rank):
        nodes = by_rank[number]
        parts = int(sum(widths[node] + GAP for node in nodes) // WIDEST) + 1
        for position, node in enumerate(nodes):
            row[node] = first + position * parts // len(nodes)
        first = row[nodes[-1]] + 1
    return row


def _segments(row: list[int], links: Sequence[LayoutLink]) -> list[Segment]:
    """Cut edges at the rows, and add the trunks to `row`."""
    degree: dict[int, int] = defaultdict(int)
    for tail, head, _ in links:
        degree[tail] += 1
        degree[head] += 1
    trunks: dict[tuple[int, int, int, bool], dict[int, int]] = defaultdict(dict)
    users: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (tail, head, kind) in enumerate(links):
        hub, leaf = (tail, head) if degree[tail] >= degree[head] else (head, tail)
        step = 1 if row[leaf] > row[hub] else -1
        trunk = trunks[hub, step, kind, hub == tail]
        at = hub
        for level in range(row[hub] + step, row[leaf], step):
            if level not in trunk:
                trunk[level] = len(row)
                row.append(level)
            users[_downward(at, trunk[level], step)].append(number)
            at = trunk[level]
        users[_downward(at, leaf, step)].append(number)
    return [Segment(*ends, tuple(numbers)) for ends, numbers in users.items()]


def _neighbours(
    segments: Iterable[Segment], count: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the neighbours of each node and trunk above and below; only trunks if there are."""
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for upper, lower, _ in segments:
        below[upper].append(lower)
        above[lower].append(upper)
    for side in (above, below):
        for node, others in side.items():
            straight = [other for other in others if min(node, other) >= count]
            side[node] = straight or others
    return above, below


def _downward(near: int, far: int, step: int) -> tuple[int, int]:
    return (near, far) if step > 0 else (far, near)


def _ordered(row: Sequence[int], count: int) -> list[list[int]]:
    """Return the nodes of each row in their order, with its trunks in the middle."""
    rows: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for node in range(count):
        rows[row[node]].append(node)
    middle = [len(nodes) // 2 for nodes in rows]
    for trunk in range(count, len(row)):
        rows[row[trunk]].insert(middle[row[trunk]], trunk)
    return rows


def _sort(rows: Iterable[list[int]], neighbours: dict[int, list[int]]) -> None:
    """Order each row by the mean place of its neighbours in the row before."""
    place: dict[int, float] = {}
    for nodes in rows:
        wanted = {node: _mean(place, neighbours[node], float(k)) for k, node in enumerate(nodes)}
        nodes.sort(key=wanted.__getitem__)
        place.update((node, float(k)) for k, node in enumerate(nodes))


def _mean(
    values: Sequence[float] | dict[int, float], keys: Sequence[int], otherwise: float
) -> float:
    return sum(values[key] for key in keys) / len(keys) if keys else otherwise


def _spread(
    nodes: Sequence[int], wanted: Sequence[float], room: Sequence[float], center: list[float]
) -> None:
    """Place a row as near to the positions in `wanted` as its order and widths allow.

    This is least squares: nodes that would overlap are pushed together into a block, which is
    placed at the weighted mean of the positions of its members.
    """
    offset, reach = [], 0.0
    for k, node in enumerate(nodes):
        reach += (room[nodes[k - 1]] + room[node]) / 2 + GAP if k else 0.0
        offset.append(reach)
    blocks: list[tuple[float, float, int]] = []
    for node, want, shift in zip(nodes, wanted, offset, strict=True):
        mean, weight, size = want - shift, STRAIGHT if room[node] == TRUNK else 1.0, 1
        while blocks and blocks[-1][0] > mean:
            other, others, more = blocks.pop()
            mean = (mean * weight + other * others) / (weight + others)
            weight, size = weight + others, size + more
        blocks.append((mean, weight, size))
    starts = [mean for mean, _, size in blocks for _ in range(size)]
    for node, start, shift in zip(nodes, starts, offset, strict=True):
        center[node] = start + shift


FORMATS = ("svg", "png", "pdf")


def graphviz_picture(dot: str, form: str) -> tuple[bytes | None, str]:
    """Draw DOT text with the first Graphviz that can; `form` is one of `FORMATS`.

    Returns the bytes of a file, or None and why there are none.

    A Graphviz that fails is treated like one that is missing.
    """
    assert form in FORMATS
    reasons = []
    for name, draw in graphviz_links():
        try:
            return draw(dot, form), ""
        except Exception as error:  # whatever a broken installation raises is reported
            reasons.append(f"{name} failed: {_first_line(error)}")
    return None, "; ".join(reasons) or "no Graphviz found"


def graphviz_links() -> Iterator[tuple[str, Callable[[str, str], bytes]]]:
    """Yield the programs that can draw DOT text: name, and a function of text and format."""
    if shutil.which("dot"):
        yield "dot", _by_dot
    if importlib.util.find_spec("pygraphviz"):
        yield "pygraphviz", _by_pygraphviz


def _by_dot(dot: str, form: str) -> bytes:
    import graphviz

    content: bytes = graphviz.Source(dot).pipe(format=form, quiet=True)
    return content


def _by_pygraphviz(dot: str, form: str) -> bytes:
    pygraphviz: Any = importlib.import_module("pygraphviz")
    content: bytes = pygraphviz.AGraph(string=dot).draw(format=form, prog="dot")
    return content


def _first_line(error: Exception) -> str:
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else b""
    text = (said or b"").decode(errors="replace").strip() or str(error)
    return (text.splitlines() or [type(error).__name__])[0]
