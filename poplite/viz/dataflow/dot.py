r"""The dataflow graph in Graphviz's language.

Nodes are called n0, n1, ...; what users called them stands in labels and tooltips only,
escaped so that neither `<b>` nor `\N` nor `&amp;` means anything to Graphviz.

>>> from poplite.viz.dataflow.graph import Edge
>>> nodes = Node("variable", r"<x\N>", type_name="int32", shape=(2,)), Node("compute", "step")
>>> text = dataflow_dot(Dataflow("two nodes", nodes, (Edge(0, 1, 8),), 0, "", 2))
>>> print(text.splitlines()[-2].strip())
n0 -> n1 [label="8 B" tooltip="<x\\\\N> -> step: 8 B"]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from poplite.errors import ControlProgramError
from poplite.program import Program, Sequence
from poplite.program.base import checked
from poplite.text import clipped, items_or_none, of_type
from poplite.viz.colours import CATEGORIES, CATEGORY_INK, KINDS, LIGHT
from poplite.viz.dataflow.graph import LOOKS_AS, Dataflow, Node, dataflow_of

if TYPE_CHECKING:
    from poplite.graph.graph import Graph

FIRST_LINE = "// dataflow graph written by poplite-viz"
"""First line of our files, which distinguishes them from a user's own."""


def dataflow_dot(flow: Dataflow) -> str:
    """Write a dataflow graph in the DOT language.

    >>> dataflow_dot(Dataflow("", (), (), 0, "", 0)).splitlines()[0] == FIRST_LINE
    True
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
        dot.node(
            f"n{k}",
            _label(node.title, node.detail, node.step_text),
            tooltip=_tooltip(node.title, *node.facts()),
            **_look(node),
        )
    for edge in flow.edges:
        dot.edge(
            f"n{edge.tail}",
            f"n{edge.head}",
            _label(edge.label_by_field),
            tooltip=_tooltip(flow.tip(edge)),
            **({"dir": "both"} if edge.backward_bytes else {}),
        )
    return str(dot.source)


def programs_dot(graph: Graph, programs: Iterable[Program]) -> str:
    """Write the dataflow of programs that run one after the other, as `poplite-viz graph` does.

    Raises ControlProgramError when a program is of another graph, or is none.

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
    program = Sequence(*several) if len(several) > 1 else next(iter(several), None)
    return dataflow_dot(dataflow_of(graph, program))


def _look(node: Node) -> dict[str, str]:
    look = {"shape": "box", "style": "rounded,filled" if node.is_data else "filled"}
    look |= {"penwidth": "3"} if node.focus else {}
    if node.kind == "scope":
        return look | {"shape": "folder", "fillcolor": LIGHT["empty"]}
    category = KINDS[LOOKS_AS.get(node.kind, node.kind)]
    return look | {"fillcolor": CATEGORIES[category], "fontcolor": CATEGORY_INK[category]}


def _label(*lines: str) -> str:
    """Return lines as a label without any markup."""
    return _verbatim(lines, r"\\")


def _tooltip(*lines: str) -> str:
    """Return lines as a tooltip, in which Graphviz resolves escapes twice."""
    return _verbatim(lines, r"\\\\")


def _verbatim(lines: Iterable[str], backslash: str) -> str:
    import graphviz

    escaped = [line.replace("&", "&amp;").replace("\\", backslash) for line in lines if line]
    text: str = graphviz.nohtml(r"\n".join(escaped))
    return text
