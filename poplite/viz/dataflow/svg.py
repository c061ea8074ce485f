"""The dataflow graph as SVG, by the built-in layout: time runs from top to bottom.

A box is data (round) or what works on it (square), with a bar in the colour of its kind.
An arrow is data that flows, with its bytes where there is room; the tooltip always has them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import NamedTuple

from poplite.viz.colours import KINDS
from poplite.viz.dataflow.graph import Dataflow, Edge, dataflow_json
from poplite.viz.dataflow.nodes import LOOKS_AS, Node
from poplite.viz.dataflow.text import draw_dataflow_text
from poplite.viz.draw.columns import cut
from poplite.viz.draw.layered_layout import GAP, LayeredLayout, LayoutLink, layered
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, number, text_width
from poplite.viz.painters import Forms

MARGIN = 20
HEIGHT = 46
"""Height of a box in pixels."""

PITCH = 104
"""Pixels from one row of boxes to the next."""

BAR = 8
ARROW = 7
LONGEST_TITLE, LONGEST_DETAIL = 30, 46
"""Cells of a box's two lines."""

LABEL_SIZE = 10
LEGEND = {
    "variable": "variable",
    "constant": "constant",
    "compute": "compute set",
    "copy": "copy",
    "control": "decision",
    "host": "print",
    "operation": "operation",
    "scope": "scope",
}


def draw_dataflow_svg(flow: Dataflow) -> SvgText:
    """Draw a dataflow graph.

    >>> nodes = Node("variable", "x", type_name="int32", shape=(2,)), Node("compute", "step")
    >>> picture = draw_dataflow_svg(Dataflow("x", nodes, (Edge(0, 1, 8),), 0, "", 2))
    >>> "int32[2]" in picture, "x -&gt; step: 8 B" in picture
    (True, True)
    """
    widths = _widths(flow)
    links = [LayoutLink(e.tail, e.head, int(e.backward_bytes > 0)) for e in flow.edges]
    layout = layered(widths, links, flow.dependences(), [node.step > 0 for node in flow.nodes])
    heading, notes = cut(flow.title, LONGEST_HEADING), [flow.notice] if flow.notice else []
    top = MARGIN + 40 + 18 * len(notes)
    kinds = [kind for kind in LEGEND if any(node.kind == kind for node in flow.nodes)]
    legend = sum(_legend_width(kind) for kind in kinds)
    captions = [text_width(heading, 16), *(text_width(note, 12) for note in notes)]
    width = max(layout.width, legend, *captions)
    bottom = top + max(0, (layout.num_rows - 1) * PITCH + HEIGHT)
    canvas = Canvas(round(width + 2 * MARGIN), round(bottom + 30 + MARGIN), title=flow.title)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    for k, note in enumerate(notes):
        canvas.text(MARGIN, MARGIN + 36 + 18 * k, note, "line soft")
    places = _Places(widths, layout, MARGIN + (width - layout.width) / 2, top)
    ends = _ends(places)
    _draw_edges(canvas, flow, places, ends)
    for k, node in enumerate(flow.nodes):
        _draw_box(canvas, node, places.x(k) - widths[k] / 2, places.y(k), widths[k])
    _draw_labels(canvas, flow, places, ends)
    _draw_legend(canvas, kinds, bottom + 24)
    return canvas.text_of()


class _Places(NamedTuple):
    """Where boxes and trunks are."""

    widths: list[float]
    layout: LayeredLayout
    left: float
    top: float

    def x(self, node: int) -> float:
        """Return the middle of a box or trunk."""
        return self.left + self.layout.center[node]

    def y(self, node: int) -> float:
        """Return the top of a box or trunk."""
        return self.top + self.layout.row[node] * PITCH

    def is_box(self, node: int) -> bool:
        """Return whether a node is a box and not a trunk."""
        return node < len(self.widths)


class _End(NamedTuple):
    """Where a segment meets a box or trunk.

    Attributes:
        node: the box or trunk.
        sign: 1 where the segment leaves it downwards, -1 where it comes from above.
        x: in pixels.
        room: pixels beside it that are free for a label.
        crowd: how many segments meet that side of the box.
    """

    node: int
    sign: int
    x: float
    room: float
    crowd: int


def _ends(places: _Places) -> list[tuple[_End, _End]]:
    """Return the upper and lower end of every segment, spread over the sides of boxes."""
    meet: dict[tuple[int, int], list[tuple[float, int]]] = defaultdict(list)
    for k, (upper, lower, _) in enumerate(places.layout.segments):
        meet[upper, 1].append((places.x(lower), k))
        meet[lower, -1].append((places.x(upper), k))
    found = {}
    for (node, sign), others in meet.items():
        crowd = len(others)
        width = places.widths[node] if places.is_box(node) else 0
        step = max(0.0, width - 16) / crowd
        room = step if crowd > 1 else width / 2 + GAP
        for place, (_, k) in enumerate(sorted(others)):
            x = places.x(node) + (place - (crowd - 1) / 2) * step
            found[k, sign] = _End(node, sign, x, room, crowd)
    return [(found[k, 1], found[k, -1]) for k in range(len(places.layout.segments))]


def _widths(flow: Dataflow) -> list[float]:
    """Return how wide boxes are: for their text, and for the labels of a few edges."""
    before, after = [0] * len(flow.nodes), [0] * len(flow.nodes)
    for edge in flow.edges:
        after[min(edge.tail, edge.head)] += 1
        before[max(edge.tail, edge.head)] += 1
    return [
        max(
            96.0,
            text_width(_title(node), 12) + BAR + 20 + _step_width(node),
            text_width(_detail(node), 11) + BAR + 20,
            64.0 * min(4, max(before[k], after[k])),
        )
        for k, node in enumerate(flow.nodes)
    ]


def _title(node: Node) -> str:
    return cut(node.title, LONGEST_TITLE)


def _detail(node: Node) -> str:
    return cut(node.detail, LONGEST_DETAIL)


def _step_width(node: Node) -> float:
    """Return the room that a box needs for its steps, beside its title."""
    return text_width(node.step_text, LABEL_SIZE) + 16 if node.steps else 0.0


def _draw_edges(
    canvas: Canvas, flow: Dataflow, places: _Places, ends: list[tuple[_End, _End]]
) -> None:
    passed: set[int] = set()
    for segment, (upper, lower) in zip(places.layout.segments, ends, strict=True):
        edges = [flow.edges[k] for k in segment.links]
        canvas.open("edge", tip=_tips(flow, edges))
        into_upper, into_lower = (_flows_into(edges[0], end.node) for end in (upper, lower))
        y0, y1 = _rim(places, upper), _rim(places, lower)
        for end, y, arrives in ((upper, y0, into_upper), (lower, y1, into_lower)):
            if arrives:
                canvas.path(_arrow(end.x, y, end.sign), "ink")
        y0, y1 = y0 + ARROW * into_upper, y1 - ARROW * into_lower
        a, b, middle = number(upper.x), number(lower.x), number((y0 + y1) / 2)
        curve = f"M{a} {number(y0)}C{a} {middle} {b} {middle} {b} {number(y1)}"
        if not places.is_box(lower.node) and lower.node not in passed:
            curve += f"v{HEIGHT}"
            passed.add(lower.node)
        canvas.path(curve, "mark fine")
        canvas.close()


def _rim(places: _Places, end: _End) -> float:
    """Return the height at which a segment meets a box or trunk."""
    return places.y(end.node) + (HEIGHT if end.sign > 0 else 0)


def _flows_into(edge: Edge, node: int) -> bool:
    return node == edge.head or (node == edge.tail and edge.backward_bytes > 0)


def _arrow(x: float, y: float, sign: int) -> str:
    return f"M{number(x)} {number(y)}l-3.5 {sign * ARROW}h7z"


def _tips(flow: Dataflow, edges: list[Edge]) -> str:
    lines = [flow.tip(edge) for edge in edges[:5]]
    return "\n".join([*lines, f"and {len(edges) - 5:,} more"] if len(edges) > 5 else lines)


def _draw_labels(
    canvas: Canvas, flow: Dataflow, places: _Places, ends: list[tuple[_End, _End]]
) -> None:
    """Write the bytes of each edge once, at the end where fewer edges meet."""
    best: dict[int, tuple[_End, _End]] = {}
    for (_, _, links), (upper, lower) in zip(places.layout.segments, ends, strict=True):
        for end, other in ((lower, upper), (upper, lower)):
            if places.is_box(end.node) and len(links) == 1:
                known, _ = best.get(links[0], (end, other))
                if end is known or end.crowd < known.crowd:
                    best[links[0]] = end, other
    for link, (end, other) in sorted(best.items()):
        edge = flow.edges[link]
        labels = [edge.label_by_field, edge.label]
        fitting = [each for each in labels if text_width(each, LABEL_SIZE) + 8 <= end.room]
        if fitting:
            # Beside the curve, not upon it; between others, where there is only one place.
            left = end.crowd == 1 and other.x > end.x
            y = _rim(places, end) + (18 if end.sign > 0 else -11)
            kind = "small soft halo end" if left else "small soft halo"
            canvas.text(end.x + (-6 if left else 6), y, fitting[0], kind)


def _draw_box(canvas: Canvas, node: Node, x: float, y: float, width: float) -> None:
    radius = BAR if node.is_data else 2
    canvas.open("node", tip="\n".join([node.title, *node.facts()]))
    outline = _rounded(x, y, width, radius, radius)
    canvas.path(outline, "none")
    canvas.path(_rounded(x, y, BAR, radius, 0), _color(node.kind))
    canvas.path(outline, "mark" if node.focus else "rule")
    canvas.text(x + BAR + 8, y + 19, _title(node), "line ink")
    if node.steps:
        canvas.text(x + width - 8, y + 19, node.step_text, "small soft end")
    canvas.text(x + BAR + 8, y + 36, _detail(node), "soft")
    canvas.close()


def _rounded(x: float, y: float, width: float, left: float, right: float) -> str:
    """Return path commands of a box whose corners are rounded by these radii on each side."""
    corners = [f"{number(radius)} {number(radius)} 0 0 1" for radius in (right, left)]
    across, high, low = (number(width - left - right), number(HEIGHT - 2 * right), number(left))
    return (
        f"M{number(x + left)} {number(y)}h{across}"
        f"a{corners[0]} {number(right)} {number(right)}v{high}"
        f"a{corners[0]} {number(-right)} {number(right)}h-{across}"
        f"a{corners[1]} -{low} -{low}v-{number(HEIGHT - 2 * left)}"
        f"a{corners[1]} {low} -{low}z"
    )


def _color(kind: str) -> str:
    number = KINDS.get(LOOKS_AS.get(kind, kind))
    return "dots" if number is None else f"c{number}"


def _legend_width(kind: str) -> float:
    return 16 + text_width(LEGEND[kind], 11) + 14


def _draw_legend(canvas: Canvas, kinds: list[str], y: float) -> None:
    x = float(MARGIN)
    for kind in kinds:
        canvas.rect(x, y, 10, 10, _color(kind))
        canvas.text(x + 15, y + 9, LEGEND[kind], "soft")
        x += _legend_width(kind)


def dataflow_forms(flow: Dataflow) -> Forms:
    """Return the forms of a dataflow graph, with its SVG by the built-in layout."""
    return Forms(
        partial(draw_dataflow_text, flow),
        partial(draw_dataflow_svg, flow),
        partial(dataflow_json, flow),
    )
