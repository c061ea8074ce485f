"""The dataflow graph: variables, what works on them, and how many bytes flow.

    x --16 B--> double --16 B--> y          nodes 0, 1, 2     edges (0, 1), (1, 2)

Vertices are summed up in their compute set, and a graph with too many nodes is collapsed,
so the picture of any graph is small.  What goes both ways is one edge: a compute set that
updates a variable in place, or scopes that exchange data.

>>> from poplite.graph import Graph
>>> from poplite.program import Copy
>>> graph = Graph()
>>> x, y = graph.add_variable("int32", (4,), "x"), graph.add_variable("int32", (4,), "y")
>>> flow = dataflow_of(graph, Copy(x, y))
>>> [node.title for node in flow.nodes], [(e.tail, e.head, e.forward_bytes) for e in flow.edges]
(['x', 'Copy', 'y'], [(0, 1, 16), (1, 2, 16)])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.frozen import frozen
from poplite.viz.dataflow.fold import EDGES_A_NODE, Excerpt, Fold, chosen, folded
from poplite.viz.dataflow.links import Item, Links, links_of
from poplite.viz.dataflow.nodes import Node, members_of, members_text, node_of
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import name_text, size_text

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program


class Through(NamedTuple):
    """Bytes that flow through one field of the vertices of a compute set, as in `Edge`."""

    field: str
    forward_bytes: int
    backward_bytes: int

    @property
    def label(self) -> str:
        """The field with its bytes."""
        return f"{name_text(self.field)} {_flow_text(self.forward_bytes, self.backward_bytes)}"


@frozen
class Edge:
    """Bytes that flow between two nodes.

    Attributes:
        tail: the node they come from, by position.
        head: the node they go to.
        forward_bytes: from tail to head, above 0; what several vertices read counts for each.
        backward_bytes: from head to tail, 0 when nothing does.
        fields: the same by field, where one end is a single compute set.
    """

    tail: int
    head: int
    forward_bytes: int
    backward_bytes: int = 0
    fields: tuple[Through, ...] = ()

    @property
    def label(self) -> str:
        """The bytes, once when they are the same both ways."""
        return _flow_text(self.forward_bytes, self.backward_bytes)

    @property
    def label_by_field(self) -> str:
        """The bytes of each field; without fields the bytes alone."""
        return ", ".join(each.label for each in self.fields) or self.label


def _flow_text(forward: int, backward: int) -> str:
    if 0 in (forward, backward) or forward == backward:
        return size_text(forward or backward)
    return f"{size_text(forward)}, back {size_text(backward)}"


@frozen
class Dataflow:
    """What a picture of the dataflow shows.

    Attributes:
        title: what is shown.
        nodes: in program order.
        edges: by tail, then head; at most one between two nodes.
        num_steps: steps of the program, 0 without one.
        notice: what was collapsed, "" when nothing was.
        full_size: the `max_nodes` that collapses nothing.
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    num_steps: int
    notice: str
    full_size: int

    def tip(self, edge: Edge) -> str:
        """Return an edge in words, on one line."""
        arrow, words = "<->" if edge.backward_bytes else "->", edge.label_by_field
        return f"{self.nodes[edge.tail].title} {arrow} {self.nodes[edge.head].title}: {words}"

    def dependences(self) -> list[tuple[int, int]]:
        """Return pairs of nodes in program order: both touch the same data, one at least writes it.

        >>> edges = (Edge(0, 1, 4, 4), Edge(0, 2, 4, 4), Edge(0, 3, 4))
        >>> nodes = (Node("variable", "x"), *(Node("compute", name) for name in "abc"))
        >>> Dataflow("", nodes, edges, 3, "", 0).dependences()
        [(1, 2), (2, 3)]
        """
        users: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for edge in self.edges:
            for data, user, writes in (
                (edge.tail, edge.head, edge.backward_bytes > 0),
                (edge.head, edge.tail, True),
            ):
                if self.nodes[data].is_data and not self.nodes[user].is_data:
                    users[data].append((user, writes))
        pairs: dict[tuple[int, int], None] = {}
        for of_one in users.values():
            writer, readers = -1, list[int]()
            for user, writes in sorted(of_one):
                before = [writer] if writer >= 0 else []
                before += readers if writes else []
                pairs |= {(earlier, user): None for earlier in before}
                writer, readers = (user, []) if writes else (writer, [*readers, user])
        return list(pairs)


def dataflow_of(
    graph: Graph,
    program: Program | None = None,
    *,
    excerpt: Excerpt | None = None,
    first: int = 1,
) -> Dataflow:
    """Find what reads and writes what; nodes are in program order.

    `first` is the number of the program's first step, where other programs come before it.

    Raises UnknownName when there is nothing of a name or scope in the excerpt, and
    ControlProgramError when the program is of another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> for k in range(1000):
    ...     _ = graph.add_variable("int32", (4,), f"x{k}")
    >>> flow = dataflow_of(graph)
    >>> flow.nodes[0].title, flow.notice
    ('x0 ... x999', '1,000 nodes collapsed to 1, by number')
    """
    return dataflow_of_links(links_of(graph, program, first), excerpt or Excerpt())


def dataflow_of_links(links: Links, excerpt: Excerpt) -> Dataflow:
    """Return the picture of what reads and writes what; raises as `dataflow_of` does."""
    items = links.items
    kept, named = chosen(links, excerpt)
    fold = folded(links, kept, named, excerpt)
    nodes = tuple(
        node_of([items[k] for k in members], label, focus=bool(named & set(members)))
        for members, label in zip(fold.members, fold.labels, strict=True)
    )
    title = _title([items[k] for k in kept.tolist()], excerpt)
    edges, num_pairs = _edges(links, fold)
    notice = f"{len(kept):,} nodes collapsed to {len(nodes):,}, by {fold.how}" if fold.how else ""
    full_size = max(len(kept), -(-num_pairs // EDGES_A_NODE))
    return Dataflow(title, nodes, edges, links.num_steps, notice, full_size)


def _title(items: Iterable[Item], excerpt: Excerpt) -> str:
    parts = [members_text(members_of(items)) or "nothing"]
    if excerpt.around is not None:
        parts.append(f"around '{name_text(excerpt.around)}'")
    if excerpt.scope is not None:
        parts.append(f"in and next to scope '{name_text(excerpt.scope)}'")
    return f"dataflow: {', '.join(parts)}"


def dataflow_json(flow: Dataflow) -> str:
    """Return a dataflow graph as JSON, in which edges name nodes by position.

    >>> '"kind": "variable"' in dataflow_json(Dataflow("", (Node("variable", "x"),), (), 0, "", 1))
    True
    """
    nodes = [
        {
            "kind": node.kind,
            "name": node.name,
            "members": dict(node.members),
            "element_type": node.type_name or None,
            "shape": node.shape,
            "bytes": node.size_bytes,
            "vertices": dict(node.vertices),
            "tiles": node.tiles,
            "num_tiles": node.num_tiles,
            "step": node.step or None,
            "steps": node.steps,
            "parts": node.parts or None,
            "at": node.location or None,
        }
        for node in flow.nodes
    ]
    edges = [
        {
            "from": edge.tail,
            "to": edge.head,
            "bytes": edge.forward_bytes,
            "bytes_back": edge.backward_bytes,
            "fields": [
                {"field": name, "bytes": forward, "bytes_back": backward}
                for name, forward, backward in edge.fields
            ],
        }
        for edge in flow.edges
    ]
    about = {"title": flow.title, "notice": flow.notice or None, "num_steps": flow.num_steps}
    return json_text("graph", {**about, "nodes": nodes, "edges": edges})


def _edges(links: Links, fold: Fold) -> tuple[tuple[Edge, ...], int]:
    """Return the edges between nodes, and how many there would be between all their items."""
    node_of_item = np.full(len(links.items), -1)
    for node, members in enumerate(fold.members):
        node_of_item[list(members)] = node
    inside = (node_of_item[links.tail] >= 0) & (node_of_item[links.head] >= 0)
    ends = np.sort([links.tail[inside], links.head[inside]], axis=0)
    num_pairs = len(np.unique(ends[0] * len(links.items) + ends[1]))
    flow: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    columns = node_of_item[links.tail], node_of_item[links.head], links.field, links.size_bytes
    for a, b, field, size in zip(*(each[inside].tolist() for each in columns), strict=True):
        if a != b:
            flow[a, b][field] += size
    alone = [label is None for label in fold.labels]
    edges = [
        _edge(a, b, there, flow.get((b, a), {}), links.fields if alone[a] and alone[b] else ())
        for (a, b), there in flow.items()
        if a < b or (b, a) not in flow
    ]
    return tuple(sorted(edges, key=lambda edge: (edge.tail, edge.head))), num_pairs


def _edge(
    tail: int, head: int, there: Mapping[int, int], back: Mapping[int, int], fields: Sequence[str]
) -> Edge:
    """Return an edge from bytes by the number of a field, -1 for none, in both ways."""
    both = dict.fromkeys((*there, *back))
    through = [
        Through(fields[field], there.get(field, 0), back.get(field, 0))
        for field in both
        if fields and field >= 0
    ]
    return Edge(tail, head, sum(there.values()), sum(back.values()), tuple(through))
