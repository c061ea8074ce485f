"""The dataflow graph as text: what works on data, in program order, then the data.

    step 1  'double'  4 Double
      reads:   'x' 16 B
      writes:  'y' 16 B

A scope that was collapsed is listed like a compute set, with what goes in and comes out.
"""

from __future__ import annotations

from collections import defaultdict

from poplite.viz.dataflow.graph import Dataflow, Edge
from poplite.viz.dataflow.nodes import Node
from poplite.viz.draw.columns import cells, cut, quoted, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text, size_text

LONGEST_NAME = 40
VERBS = {"reads": "from", "writes": "to", "updates": "with"}
"""What a node does to others, and the words for a scope, which may hold nothing but data."""

INDENT, INDENTED = 10, 6
"""Columns before the names of a list, and before facts that stand below a name."""


def draw_dataflow_text(flow: Dataflow, style: Style = DEFAULT_STYLE) -> str:
    """Draw a dataflow graph as text.

    >>> from poplite.viz.dataflow.graph import Edge
    >>> nodes = Node("variable", "x", type_name="int32", shape=(2,)), Node("compute", "step")
    >>> print(draw_dataflow_text(Dataflow("dataflow", nodes, (Edge(0, 1, 8),), 0, "", 2)))
    dataflow
    <BLANKLINE>
    'step'  no vertices
      reads:   'x' 8 B
    <BLANKLINE>
    data
      'x'  int32[2]
    <BLANKLINE>
    """
    width = style.columns
    lines = [style.bold(line) for line in wrapped(flow.title, width)]
    lines += wrapped(flow.notice, width) if flow.notice else []
    touched = _touched(flow)
    for k, node in enumerate(flow.nodes):
        if not node.is_data:
            lines += ["", *_heading(node, flow, style)]
            lines += _listed(node, touched.get(k, {}), flow, width)
    data = [(k, node) for k, node in enumerate(flow.nodes) if node.is_data]
    lines += ["", style.bold("data")] if data else []
    for k, node in data:
        name = f"  {_name(node, width - 4)}  "
        facts = [node.facts()[0], *([] if k in touched else ["not used"]), node.place]
        facts = [fact for fact in facts if fact]
        if cells(facts[0]) > width - cells(name):
            lines.append(name.rstrip())
            name = " " * INDENTED
        lines.append(name + _fitting(facts, width - cells(name)))
    return "\n".join(lines) + "\n"


def _touched(flow: Dataflow) -> dict[int, dict[str, list[tuple[int, str]]]]:
    """Return, for what works on data, the others it reads, writes and updates, with bytes."""
    touched: dict[int, dict[str, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    for edge in flow.edges:
        for node, other, size, back in (
            (edge.head, edge.tail, edge.forward_bytes, edge.backward_bytes),
            (edge.tail, edge.head, edge.backward_bytes, edge.forward_bytes),
        ):
            words = size_text(size or back)
            if size and back and size != back:
                words = f"{size_text(size)} read, {size_text(back)} written"
            words += _fields_text(edge, flow.nodes[other].name)
            verb = "updates" if size and back else "reads" if size else "writes"
            touched[node][verb].append((other, words))
    return touched


def _fields_text(edge: Edge, name: str) -> str:
    """Return fields behind an edge: several with their bytes, one that is named otherwise."""
    if len(edge.fields) > 1:
        return f" ({edge.label_by_field})"
    is_told = edge.fields and edge.fields[0].field != name.rpartition("/")[2]
    return f" as {name_text(edge.fields[0].field)}" if is_told else ""


def _heading(node: Node, flow: Dataflow, style: Style) -> list[str]:
    number, name = f"{node.step_text}  " if node.steps else "", _name(node)
    where = f" {node.place}" if node.place else ""
    idle = flow.num_steps and node.kind == "compute" and not node.steps and not node.members
    rest = f"  {node.detail}{where}{', in no step of the program' if idle else ''}"
    line = f"{style.faint(number)}{style.bold(name)}"
    if cells(number) + cells(name) + cells(rest) <= style.columns:
        return [line + rest]
    return [line, *(" " * INDENTED + part for part in wrapped(rest, style.columns - INDENTED))]


def _listed(
    node: Node, touched: dict[str, list[tuple[int, str]]], flow: Dataflow, width: int
) -> list[str]:
    """Return what a node reads, writes and updates, each list broken between its parts."""
    lines = []
    for verb, of_scope in VERBS.items():
        line = f"  {of_scope if node.kind == 'scope' else verb}:".ljust(INDENT)
        for place, (other, words) in enumerate(touched.get(verb, [])):
            comma = "," if place + 1 < len(touched[verb]) else ""
            room = width - INDENT - 1 - cells(f" {words}{comma}") - len("Print ''")
            part = f"{_name(flow.nodes[other], room)} {words}{comma}"
            if cells(line) + 1 + cells(part) > width and line.strip():
                lines.append(line)
                line = " " * INDENT
            *first, part = wrapped(part, width - INDENT - 1)
            for each in first:
                lines.append(f"{line} {each}")
                line = " " * INDENT
            line = f"{line} {part}"
        lines += [line] if touched.get(verb) else []
    return lines


def _fitting(facts: list[str], room: int) -> str:
    """Return the first facts, as many as there is room for."""
    while len(facts) > 1 and cells(", ".join(facts)) > room:
        facts = facts[:-1]
    return cut(", ".join(facts), room)


def _name(node: Node, room: int = LONGEST_NAME) -> str:
    if node.kind == "copy" and not node.members:
        return node.title
    return f"{node.verb} {quoted(node.name, min(room, LONGEST_NAME))}".lstrip()
