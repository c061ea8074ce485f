"""The dataflow graph as a picture: time runs from top to bottom, by the built-in layout.

A box is data (round) or what works on it (square), with a bar in the colour of its kind.  An arrow
is data that flows, with its bytes where there is room; the tooltip always has them.  Text lists
what works on data, in program order, then the data::

    step  what works on data  reads  writes
       1  'double'  4 Double
            'x'                16 B
            'y'                        16 B
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, NamedTuple

from poplite.errors import ControlProgramError
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.program import Program, Sequence as Steps
from poplite.program.base import checked
from poplite.report import Report
from poplite.text import clipped, items_or_none, of_type
from poplite.viz.colours import LIGHT, THINGS, Role, color_of, ink_on
from poplite.viz.dataflow.graph import Dataflow, Edge, Node, dataflow_of, dataflow_of_report
from poplite.viz.dataflow.links import NOUNS, NodeKind
from poplite.viz.draw.layouts import GAP, LayeredLayout, LayoutLink, layered
from poplite.viz.draw.svg import Canvas, number, text_width
from poplite.viz.draw.words import DEFAULT_STYLE, Style, cut, name_text, size_text
from poplite.viz.marks import (
    Legend,
    ListColumn,
    Listing,
    ListRow,
    Picture,
    Sketch,
    composed,
    heading,
)
from poplite.viz.paint_text import paint_text
from poplite.viz.painters import PictureData

ABOVE, BELOW = 14, 12
"""Pixels above and below the boxes."""

HEIGHT = 46
"""Height of a box in pixels."""

PITCH = 104
"""Pixels from one row of boxes to the next."""

BAR = 8
ARROW = 7
LONGEST_TITLE, LONGEST_DETAIL = 30, 46
"""Cells of a box's two lines."""

LABEL_SIZE = 10


@frozen
class DataflowPicture(PictureData):
    """A dataflow graph: listed as text, otherwise drawn by the built-in layout.

    The layout takes seconds for thousands of nodes, so that text does without.

    Attributes:
        flow: the graph that is drawn.
    """

    flow: Dataflow

    KIND: ClassVar = "graph"

    def picture(self) -> Picture:
        """Return boxes and arrows.

        >>> nodes = Node("variable", "x"), Node("compute", "step")
        >>> DataflowPicture(Dataflow("dataflow", nodes, (Edge(0, 1, 8),), 0, "", 2)).picture().title
        'dataflow'
        """
        flow = self.flow
        widths = _widths(flow)
        links = [LayoutLink(e.tail, e.head, int(e.backward_bytes > 0)) for e in flow.edges]
        layout = layered(widths, links, flow.dependences(), [node.step > 0 for node in flow.nodes])
        high = ABOVE + max(0, (layout.num_rows - 1) * PITCH + HEIGHT) + BELOW

        def shapes(canvas: Canvas, x: float, y: float) -> None:
            _draw(canvas, flow, _Places(widths, layout, x, y + ABOVE))

        present = {node.kind for node in flow.nodes}
        legend = Legend(tuple(_role(kind) for kind in NOUNS if kind in present), in_text=False)
        notes = [flow.notice] if flow.notice else []
        sketch = Sketch(layout.width, high, shapes, lambda _: [])
        return Picture(flow.title, (*heading(flow.title, *notes), sketch, legend))

    def text(self, style: Style = DEFAULT_STYLE) -> str:
        """Return compute sets and programs, and the data."""
        return paint_text(_listed(self.flow), style)

    def data(self) -> dict[str, object]:
        """Return nodes and edges."""
        return self.flow.data()


def _role(kind: NodeKind) -> Role:
    return replace(THINGS["compute" if kind == "operation" else kind], words=NOUNS[kind][0])


def report_svg(report: Report) -> str:
    """Return the dataflow graph of a report as SVG, laid out in the same way everywhere.

    Empty if an older file does not contain it.
    """
    if not len(report.compilation.variables):
        return ""
    return DataflowPicture(dataflow_of_report(report)).svg()


# -- boxes and arrows ------------------------------------------------------------------------------


def _draw(canvas: Canvas, flow: Dataflow, places: _Places) -> None:
    ends = _ends(places)
    _draw_edges(canvas, flow, places, ends)
    for k, node in enumerate(flow.nodes):
        _draw_box(canvas, node, places.x(k) - places.widths[k] / 2, places.y(k), places.widths[k])
    _draw_labels(canvas, flow, places, ends)


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
        room: pixels next to it that are free for a label.
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
    """Return the widths of boxes, for their text and the labels of a few edges."""
    before, after = [0] * len(flow.nodes), [0] * len(flow.nodes)
    for edge in flow.edges:
        after[min(edge.tail, edge.head)] += 1
        before[max(edge.tail, edge.head)] += 1
    widths = []
    for k, node in enumerate(flow.nodes):
        title = text_width(_title(node), 12) + BAR + 20 + _step_width(node)
        detail, edges = text_width(_detail(node), 11) + BAR + 20, max(before[k], after[k])
        widths.append(max(96.0, title, detail, 64.0 * min(4, edges)))
    return widths


def _title(node: Node) -> str:
    return cut(node.title, LONGEST_TITLE)


def _detail(node: Node) -> str:
    return cut(node.detail, LONGEST_DETAIL)


def _step_width(node: Node) -> float:
    """Return the room that a box needs for its steps, next to its title."""
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
    canvas.open("node", tip="\n".join([node.title, *node.lines()]))
    outline = _rounded(x, y, width, radius, radius)
    canvas.path(outline, "none")
    canvas.path(_rounded(x, y, BAR, radius, 0), _role(node.kind).kind)
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


# -- text ------------------------------------------------------------------------------------------

WORKS = (
    ListColumn("step"),
    ListColumn("what works on data", "name", least=20, keeps_aside=True),
    ListColumn("reads"),
    ListColumn("writes"),
)

DATA_COLUMNS = (
    ListColumn("data", "name", least=20, keeps_aside=True),
    ListColumn("bytes"),
    ListColumn("tiles", spare=1),
)


def _listed(flow: Dataflow) -> Picture:
    """Return compute sets and programs, with the data that they read and write, then the data."""
    touched = _touched(flow)
    works: list[ListRow] = []
    for k, node in enumerate(flow.nodes):
        if not node.is_data:
            idle = flow.num_steps and node.kind == "compute" and not (node.steps or node.members)
            facts = [node.detail, node.place, "in no step of the program" if idle else ""]
            cells = (node.numbers, _name(node), "", "")
            works += [_row(node, cells, facts), *touched.get(k, ())]
    data = []
    for k, node in enumerate(flow.nodes):
        if node.is_data:
            facts = [node.detail, "" if k in touched else "not used"]
            tiles = f"{len(node.facts.tiles):,} ({node.tiles})" if node.tiles else ""
            data.append(_row(node, (_name(node), size_text(node.size_bytes), tiles), facts))
    parts = ((WORKS, works), (DATA_COLUMNS, data))
    listings = (Listing(columns, tuple(rows)) for columns, rows in parts if rows)
    return composed(flow.title, *listings, notes=[flow.notice] if flow.notice else [])


def _row(node: Node, cells: tuple[str, ...], facts: Sequence[str]) -> ListRow:
    return ListRow(cells, _role(node.kind), aside=", ".join(filter(None, facts)))


def _touched(flow: Dataflow) -> dict[int, list[ListRow]]:
    """Return for each node rows for the data that it reads or writes, with bytes and fields."""
    found: dict[int, list[ListRow]] = defaultdict(list)
    for edge in flow.edges:
        for node, other, read, written in (
            (edge.head, edge.tail, edge.forward_bytes, edge.backward_bytes),
            (edge.tail, edge.head, edge.backward_bytes, edge.forward_bytes),
        ):
            sizes = (size_text(size) if size else "" for size in (read, written))
            name = _name(flow.nodes[other])
            fields = _fields_text(edge, flow.nodes[other].name)
            found[node].append(ListRow(("", name, *sizes), aside=fields, level=1))
    return found


def _fields_text(edge: Edge, name: str) -> str:
    """Return the fields of an edge: several with their bytes, or one with a different name."""
    if len(edge.fields) > 1:
        return f"({edge.label_by_field})"
    is_told = edge.fields and edge.fields[0].field != name.rpartition("/")[2]
    return f"as {name_text(edge.fields[0].field)}" if is_told else ""


def _name(node: Node) -> str:
    if node.kind == "copy" and not node.members:
        return node.title
    return f"{node.verb} '{name_text(node.name)}'".lstrip()


# -- the language of Graphviz ----------------------------------------------------------------------

FIRST_LINE = "// dataflow graph written by poplite-viz"
"""First line of our files, which distinguishes them from a user's own."""


def dataflow_dot(flow: Dataflow) -> str:
    r"""Write a dataflow graph in the DOT language.

    Nodes are called n0, n1, ...; users' names are in labels and tooltips only,
    escaped so that neither `<b>` nor `\N` nor `&amp;` means anything to Graphviz.

    >>> nodes = Node("variable", r"<x\N>"), Node("compute", "step")
    >>> text = dataflow_dot(Dataflow("two nodes", nodes, (Edge(0, 1, 8),), 0, "", 2))
    >>> print(text.splitlines()[-2].strip())
    n0 -> n1 [label="8 B" tooltip="<x\\\\N> -> step: 8 B"]
    """
    import graphviz

    font = {"fontname": "Helvetica,Arial,sans-serif"}
    dot = graphviz.Digraph(
        comment=FIRST_LINE.removeprefix("// "),
        graph_attr={**font, "label": _label(flow.title, flow.notice), "labelloc": "t"},
        node_attr={**font, "fontsize": "11", "margin": "0.15,0.06"},
        edge_attr={**font, "fontsize": "9", "color": LIGHT["soft"], "arrowsize": "0.7"},
    )
    for k, node in enumerate(flow.nodes):
        label = _label(node.title, node.detail, node.step_text)
        dot.node(f"n{k}", label, tooltip=_tooltip(node.title, *node.lines()), **_look(node))
    for edge in flow.edges:
        label, tip = _label(edge.label_by_field), _tooltip(flow.tip(edge))
        both = {"dir": "both"} if edge.backward_bytes else {}
        dot.edge(f"n{edge.tail}", f"n{edge.head}", label, tooltip=tip, **both)
    return str(dot.source)


def programs_dot(graph: Graph, programs: Iterable[Program]) -> str:
    """Write the dataflow of programs that run one after the other, as `poplite-viz graph` does.

    Raises ControlProgramError if a program belongs to another graph, or is not a program.

    >>> from poplite.graph import Graph
    >>> "nothing" in programs_dot(Graph(), [])
    True
    """
    given = None if isinstance(programs, Program) else items_or_none(programs)
    if given is None:
        raise ControlProgramError(
            f"programs {clipped(programs, 60)} are no list",
            found=of_type(programs),
            fix="graph.output_vertex_graph(file, [program])",
        )
    several = [checked(each, f"programs, {i}") for i, each in enumerate(given)]
    program = Steps(*several) if len(several) > 1 else next(iter(several), None)
    return dataflow_dot(dataflow_of(graph, program))


def _look(node: Node) -> dict[str, str]:
    look = {"shape": "box", "style": "rounded,filled" if node.is_data else "filled"}
    look |= {"penwidth": "3"} if node.focus else {}
    if node.kind == "scope":
        return look | {"shape": "folder", "fillcolor": LIGHT["empty"]}
    kind = _role(node.kind).kind
    return look | {"fillcolor": color_of(kind), "fontcolor": ink_on(kind)}


def _verbatim(backslash: str, *lines: str) -> str:
    """Return lines without any markup."""
    import graphviz

    escaped = [line.replace("&", "&amp;").replace("\\", backslash) for line in lines if line]
    text: str = graphviz.nohtml(r"\n".join(escaped))
    return text


_label = partial(_verbatim, r"\\")
_tooltip = partial(_verbatim, r"\\\\")
"""In a tooltip Graphviz resolves escapes twice."""
