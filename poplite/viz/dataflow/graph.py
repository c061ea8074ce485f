"""The dataflow graph: variables, the steps that access them, and the bytes that flow.

    x --16 B--> double --16 B--> y          nodes 0, 1, 2     edges (0, 1), (1, 2)

Vertices are summed up in their compute set, and a graph with too many nodes is collapsed,
so the picture of any graph is small.  Data that flows both ways is one edge: a compute set that
updates a variable in place, or scopes that exchange data.

To be small enough, a graph is reduced to the surroundings of a name, or a scope with its
neighbours (`chosen`).  Then items are put together until they fit (`folded`), in this order:

1. scopes, the deepest first, down to the scope that all items share;
2. names that differ only in their numbers, the most frequent first;
3. everything of one kind.

    model/conv1/w   model/conv1/apply   model/x0 to model/x999      1,002 items
    model/conv1/                        model/x0 ... model/x999     2 nodes

What an operation of `poplite.ops` made is one node in any case, unless its scope is looked into,
and so are copies between the same variables with nothing but copies in between.  A node is a tuple
of items; the items that were asked for by name stay by themselves.

>>> from poplite.graph import Graph
>>> from poplite.program import Copy
>>> graph = Graph()
>>> x, y = graph.add_variable("int32", (4,), "x"), graph.add_variable("int32", (4,), "y")
>>> flow = dataflow_of(graph, Copy(x, y))
>>> [node.title for node in flow.nodes], [(e.tail, e.head, e.forward_bytes) for e in flow.edges]
(['x', 'Copy', 'y'], [(0, 1, 16), (1, 2, 16)])
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tile_mapping import ranges
from poplite.program import Program
from poplite.report import Report
from poplite.text import amount
from poplite.viz.dataflow.links import (
    NOUNS,
    Item,
    ItemFacts,
    Kind,
    Links,
    NodeKind,
    Scope,
    links_of,
    links_of_report,
    scope_of,
    shared,
)
from poplite.viz.draw.words import name_text, shape_text, size_text
from poplite.viz.painters import by_field

MAX_NODES = 300
"""Nodes that are drawn unless more are asked for."""

HOPS = 2
"""Number of edges from a name to the last node drawn around it."""

EDGES_A_NODE = 4
"""Edges allowed for each node allowed; with more of them a picture is a grey area."""

DIGITS = re.compile(r"\d+")

K = TypeVar("K")
Label: TypeAlias = tuple[NodeKind, str]
Labels: TypeAlias = dict[int, Label]
Mask: TypeAlias = npt.NDArray[np.bool_]


@frozen
class Excerpt:
    """Which part of a dataflow graph is drawn, and in how many nodes.

    Attributes:
        around: name of a variable or compute set to stay near; None for no such limit.
        hops: how many edges away from it.
        scope: draw its contents and their neighbours; None for everything.
        max_nodes: if there are more nodes, they are collapsed: scopes, numbered names, then kinds.
    """

    around: str | None = None
    hops: int = HOPS
    scope: str | None = None
    max_nodes: int = MAX_NODES


@frozen
class Fold:
    """Which items are drawn as one node.

    Attributes:
        members: items of each node, rising; nodes in the order of their first items.
        labels: kind and name of each node that represents several items, else None.
        how: the property that merged items share; "" if none were merged.
    """

    members: tuple[tuple[int, ...], ...]
    labels: tuple[Label | None, ...]
    how: str


def chosen(links: Links, excerpt: Excerpt) -> tuple[Int64, frozenset[int]]:
    """Return the items to draw, and those of the name that was asked for.

    Raises UnknownName when there is nothing of that name, or no such scope.
    """
    kept = np.ones(len(links.items), np.bool_)
    if excerpt.scope is not None:
        kept &= _neighbours(links, _in_scope(links.items, excerpt.scope), 1)
    if excerpt.around is None:
        return np.flatnonzero(kept), frozenset()
    named = _named(links.items, excerpt.around)
    kept &= _neighbours(links, named, excerpt.hops)
    return np.flatnonzero(kept | named), frozenset(np.flatnonzero(named).tolist())


def _neighbours(links: Links, start: Mask, hops: int) -> Mask:
    reached = start.copy()
    for _ in range(hops):
        before = reached.copy()
        reached[links.head[before[links.tail]]] = True
        reached[links.tail[before[links.head]]] = True
        if (reached == before).all():
            break
    return reached


def _named(items: Sequence[Item], name: str) -> Mask:
    names = [None if item.kind in ("copy", "control", "host") else item.name for item in items]
    if name in names:
        return np.array([each == name for each in names], np.bool_)
    known = [each for each in names if each is not None]
    fix = "use one of these names, with its scopes" if known else "graph.add_variable(...)"
    raise _unknown("variable or compute set", name, known, "names", fix, "it is empty")


def _in_scope(items: Sequence[Item], scope: str) -> Mask:
    path = tuple(scope.strip("/").split("/"))
    inside = np.array([item.scope[: len(path)] == path for item in items], np.bool_)
    if inside.any():
        return inside
    known = ["/".join(item.scope[:k]) for item in items for k in range(1, len(item.scope) + 1)]
    known = list(dict.fromkeys(known))
    fix = "use one of these scopes" if known else "with graph.scope('layer1'): ..."
    raise _unknown("scope", scope, known, "scopes", fix, "no name in it has a scope")


def _unknown(
    what: str, name: str, known: list[str], nouns: str, fix: str, none: str
) -> UnknownName:
    found = f"it has:\n{listed([name_text(each) for each in known], nouns)}" if known else none
    what = f"the graph has no {what} {name!r}{did_you_mean(name, known)}"
    return UnknownName(what, at=None, found=found, fix=fix)


def folded(links: Links, kept: Int64, alone: frozenset[int], excerpt: Excerpt) -> Fold:
    """Merge items until at most `max_nodes` nodes, and four edges per node, are left.

    `kept` (int64[n], ascending) are the items to draw; those in `alone` stay by themselves.
    """
    chosen_items = kept.tolist()
    items = [None if k in alone else links.items[k] for k in chosen_items]
    operation, of_operations = _by_operation(items, excerpt.scope)
    room = _room(links, kept, excerpt.max_nodes)

    def fits(group: Int64) -> bool:
        return room(group[operation])

    group, labels, how = np.arange(len(items)), of_operations, dict[str, None]()
    # Each step joins groups that the step before left separate, so the first that fits can be
    # found by bisection.
    scopes = [item.scope for item in items if item]
    depths = range(max(map(len, scopes), default=0), len(shared(scopes)), -1)
    if depths and not fits(group):
        first = bisect_left(depths, True, key=lambda depth: fits(_by_scope(items, depth)[0]))
        group, of_scopes = _by_scope(items, depths[min(first, len(depths) - 1)])
        labels = of_operations | of_scopes
        how |= {"scope": None} if of_scopes else {}
    if not fits(group):
        merges = _merges(items, group, labels)
        enough = bisect_left(
            range(len(merges)), True, key=lambda count: fits(_merged(group, merges[:count]))
        )
        group = _merged(group, merges[:enough])
        labels |= {merge.groups[0]: merge.label for merge in merges[:enough]}
        how |= {merge.how: None for merge in merges[:enough]}
    members: dict[int, list[int]] = {}
    for item, number in zip(chosen_items, group[operation].tolist(), strict=True):
        members.setdefault(number, []).append(item)
    return Fold(
        tuple(tuple(node) for node in members.values()),
        tuple(labels.get(number) for number in members),
        ", ".join(how),
    )


def _room(links: Links, kept: Int64, max_nodes: int) -> Callable[[Int64], bool]:
    """Return a function that says whether a picture has room for the nodes and edges of groups."""
    place = np.full(len(links.items), -1)
    place[kept] = np.arange(len(kept))
    ends = np.stack([place[links.tail], place[links.head]])
    ends = ends[:, (ends >= 0).all(axis=0)]

    def fits(group: Int64) -> bool:
        low, high = np.sort(group[ends], axis=0)
        edges = np.unique((low * len(group) + high)[low != high])
        return len(np.unique(group)) <= max_nodes and len(edges) <= EDGES_A_NODE * max_nodes

    return fits


def _by_operation(items: list[Item | None], scope: str | None) -> tuple[Int64, Labels]:
    """Merge the items made by each operation; one of each is kept, in the operation's scope.

    An operation that contains `scope` is not merged.
    """
    group, labels = np.arange(len(items)), Labels()
    parts: dict[str, list[int]] = defaultdict(list)
    for k, item in enumerate(items):
        if item and item.operation and not _is_within(scope, item.operation):
            parts[item.operation].append(k)
    for name, members in parts.items():
        if len(members) > 1:
            first, *others = members
            item = items[first]
            assert item is not None
            items[first] = item._replace(name=name, scope=scope_of(name))
            labels[first] = "operation", name
            group[others] = first
            for other in others:
                items[other] = None
    _join_copies(items, group, labels)
    return group, labels


def _join_copies(items: list[Item | None], group: Int64, labels: Labels) -> None:
    """Merge copies between the same variables if nothing else happens between them."""
    before: dict[tuple[str, str], int] = {}
    for k, item in enumerate(items):
        if item is None or item.kind in ("variable", "constant"):
            continue
        if item.kind != "copy" or labels.get(k):
            before = {}
            continue
        first = before.setdefault((item.verb, item.name), k)
        if first != k:
            labels[first] = "copy", item.name
            group[k] = first
            items[k] = None


def _is_within(scope: str | None, operation: str) -> bool:
    """Return whether a scope is that of an operation, or within it."""
    return scope is not None and f"{scope.strip('/')}/".startswith(f"{operation}/")


def _by_scope(items: Sequence[Item | None], depth: int) -> tuple[Int64, Labels]:
    """Merge items within the same scope of a given depth."""
    first: dict[Scope, int] = {}
    group, labels = np.arange(len(items)), Labels()
    for k, item in enumerate(items):
        if item and len(item.scope) >= depth:
            scope = item.scope[:depth]
            group[k] = first.setdefault(scope, k)
            if group[k] != k:
                labels[first[scope]] = "scope", "/".join(scope) + "/"
    return group, labels


class _Merge(NamedTuple):
    """Groups that become one, its kind and name, and the property that the groups share."""

    groups: list[int]
    label: Label
    how: str


def _merges(items: Sequence[Item | None], group: Int64, labels: Labels) -> list[_Merge]:
    """Return the groups that may be merged, in order."""
    alike: dict[Label, list[int]] = defaultdict(list)
    kinds: dict[NodeKind, list[int]] = defaultdict(list)
    names: dict[int, str] = {}
    for number in dict.fromkeys(group.tolist()):
        item = items[number]
        if item:
            kind, names[number] = labels.get(number, (item.kind, item.name))
            alike[kind, DIGITS.sub("0", names[number])].append(number)
            kinds[kind].append(number)
    merges = [
        _Merge(groups, (kind, _range([names[number] for number in groups])), "number")
        for (kind, _), groups in _largest_first(alike)
    ]
    return merges + [
        _Merge(groups, (kind, NOUNS[kind][1]), "kind") for kind, groups in _largest_first(kinds)
    ]


def _largest_first(groups: Mapping[K, list[int]]) -> list[tuple[K, list[int]]]:
    several = [(key, numbers) for key, numbers in groups.items() if len(numbers) > 1]
    return sorted(several, key=lambda pair: len(pair[1]), reverse=True)


def _range(names: list[str]) -> str:
    """Return the least and the largest of names that differ only in their numbers."""
    by_number = sorted(names, key=lambda name: [(len(d), d) for d in DIGITS.findall(name)])
    return f"{by_number[0]} ... {by_number[-1]}"


def _merged(group: Int64, merges: Sequence[_Merge]) -> Int64:
    to = np.arange(len(group))
    for merge in merges:
        to[merge.groups] = merge.groups[0]
    return to[group]


# -- nodes -----------------------------------------------------------------------------------------


DATA = ("variable", "constant")
"""Kinds that only hold data."""


def members_of(items: Iterable[Item]) -> Counter[Kind]:
    """Count things of each kind; vertices are counted one by one."""
    counts: Counter[Kind] = Counter()
    for item in items:
        counts[item.kind] += len(item.numbers) or 1
    return counts


def members_text(counts: Mapping[Kind, int]) -> str:
    """Return how many there are of each kind, in words.

    >>> members_text({"compute": 1, "variable": 2000})
    '2,000 variables, 1 compute set'
    """
    order = [*NOUNS]
    kinds = sorted(filter(counts.get, counts), key=order.index)
    return ", ".join(amount(counts[kind], *NOUNS[kind]) for kind in kinds)


NO_FACTS = ItemFacts()

MOST_STEPS = 3
"""Steps of a node that are listed; of more, the first two and the last."""


@frozen
class Node:
    """A node through which data flows, or several such nodes merged.

    Attributes:
        kind: what it is; "host" is a print or a call, "control" a program in which data decide,
            "operation" what an operation of `poplite.ops` made, "scope" what is in a scope.
        name: with its scopes, verbatim; for several things, their common name.
        members: number of things of each kind that it represents; empty for one thing.
        size_bytes: bytes of data, or of what is copied.
        steps: its step numbers in the program, from 1.
        verb: what it does with what its name says; empty if that needs no word.
        focus: whether it was asked for by name.
        facts: further facts about it.
    """

    kind: NodeKind
    name: str
    members: tuple[tuple[Kind, int], ...] = ()
    size_bytes: int = 0
    steps: tuple[int, ...] = ()
    verb: str = ""
    focus: bool = False
    facts: ItemFacts = NO_FACTS

    @property
    def is_data(self) -> bool:
        """Whether it holds data and does nothing."""
        return self.kind in DATA

    @property
    def step(self) -> int:
        """The number of the first step, 0 for none."""
        return self.steps[0] if self.steps else 0

    @property
    def numbers(self) -> str:
        """The numbers of its steps; of many, the first two and the last."""
        shown = [f"{step:,}" for step in self.steps]
        if len(shown) <= MOST_STEPS:
            return ", ".join(shown)
        return f"{shown[0]}, {shown[1]} ... {shown[-1]}"

    @property
    def step_text(self) -> str:
        """Its steps in words; empty for none.

        >>> Node("copy", "x -> y", steps=(2,)).step_text
        'step 2'
        >>> Node("copy", "x -> y", steps=(2, 4, 6, 8)).step_text
        'steps 2, 4 ... 8'
        """
        return f"step{'s' * (len(self.steps) > 1)} {self.numbers}" if self.steps else ""

    @property
    def title(self) -> str:
        """Its name on one line, or its action."""
        if self.kind == "copy" and not self.members:
            return self.verb or "Copy"
        return f"{self.verb} {name_text(self.name)}".lstrip()

    @property
    def detail(self) -> str:
        """The most important fact about it."""
        size, facts = size_text(self.size_bytes), self.facts
        if self.members:
            text = members_text(dict(self.members))
            return f"{text}, {size}" if self.kind == "copy" else text
        if self.kind == "compute":
            return _vertices_text(facts.vertices)
        if self.kind == "copy" or facts.shape is None:
            return f"{facts.parts}, {size}" if facts.parts else size
        what = "constant " if self.kind == "constant" else ""
        return f"{what}{facts.type_name}{shape_text(facts.shape)}"

    @property
    def tiles(self) -> str:
        """Where it lies or runs, as ranges."""
        return ranges(self.facts.tiles) if len(self.facts.tiles) else ""

    @property
    def place(self) -> str:
        """Its tiles, empty when it has none."""
        return f"on {amount(len(self.facts.tiles), 'tile')} ({self.tiles})" if self.tiles else ""

    def lines(self) -> list[str]:
        """Return all that is known about the node but its name, as lines."""
        lines = [self.detail]
        if self.kind == "compute" and len(self.facts.vertices) > 2:
            lines += [f"{count:,} {name_text(name)}" for name, count in self.facts.vertices]
        if self.kind == "copy" and not self.members:
            lines.append(name_text(self.name))
        elif self.size_bytes and self.kind != "copy":
            lines[0] += f", {size_text(self.size_bytes)}"
        others = self.place, self.step_text, name_text(self.facts.location)
        return lines + [line for line in others if line]


def _vertices_text(vertices: Sequence[tuple[str, int]]) -> str:
    if not vertices:
        return "no vertices"
    shown = [f"{count:,} {name_text(name)}" for name, count in vertices[:2]]
    more = f" and {len(vertices) - 2:,} more classes" if len(vertices) > 2 else ""
    return ", ".join(shown) + more


def node_of(items: Sequence[Item], label: Label | None, *, focus: bool) -> Node:
    """Describe a node of one item, or of several with the kind and name in `label`."""
    first, members = items[0], tuple(members_of(items).items())
    if label is None:
        members = members if first.numbers else ()
        own = first.kind, first.name, members, first.size_bytes, first.steps, first.verb
        return Node(*own, focus, first.facts())
    kind, name = label
    size = sum(item.size_bytes for item in items if kind == "copy" or item.kind in DATA)
    steps = sorted(step for item in items for step in item.steps)
    facts = NO_FACTS
    if kind == "operation":  # where its compute sets run, and the first step of them
        found = [item.facts() for item in items if item.kind == "compute"]
        tiles = sorted({int(tile) for each in found for tile in each.tiles})
        facts = ItemFacts(tiles=tiles, location=found[0].location if found else "")
        steps = steps[:1]
    shown = tuple(steps) if kind in ("copy", "operation") else ()
    return Node(kind, name, members, size, shown, focus=focus, facts=facts)


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
    """The data of a picture of the dataflow.

    Attributes:
        title: the title of the picture.
        nodes: in program order.
        edges: by tail, then head; at most one between two nodes.
        num_steps: steps of the program, 0 without one.
        notice: text about collapsed nodes; "" if there are none.
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

    def data(self) -> dict[str, object]:
        """Return all of it as data, in which edges name nodes by position.

        >>> Dataflow("", (Node("variable", "x"),), (), 0, "", 1).data()["nodes"][0]["kind"]
        'variable'
        """
        nodes = [
            by_field(node, "facts", "focus", "verb", "size_bytes")
            | {"members": dict(node.members), "vertices": dict(node.facts.vertices)}
            | {"bytes": node.size_bytes, "step": node.step or None, "tiles": node.tiles}
            | {"at": node.facts.location or None, "parts": node.facts.parts or None}
            | {"element_type": node.facts.type_name or None, "shape": node.facts.shape}
            | {"num_tiles": len(node.facts.tiles)}
            for node in self.nodes
        ]
        keys = "field", "bytes", "bytes_back"
        edges = [
            dict(zip(("from", "to", "bytes", "bytes_back"), each[:4], strict=True))
            | {"fields": [dict(zip(keys, field, strict=True)) for field in each[4]]}
            for each in (tuple(by_field(edge).values()) for edge in self.edges)
        ]
        about = {"title": self.title, "notice": self.notice or None, "num_steps": self.num_steps}
        return {**about, "nodes": nodes, "edges": edges}


def dataflow_of(
    graph: Graph, program: Program | None = None, *, excerpt: Excerpt | None = None, first: int = 1
) -> Dataflow:
    """Build the dataflow graph; nodes are in program order.

    `first` is the number of the program's first step, where other programs come before it.

    Raises UnknownName when there is nothing of a name or scope in the excerpt, and
    ControlProgramError when the program belongs to another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> for k in range(1000):
    ...     _ = graph.add_variable("int32", (4,), f"x{k}")
    >>> flow = dataflow_of(graph)
    >>> flow.nodes[0].title, flow.notice
    ('x0 ... x999', '1,000 nodes collapsed to 1, by number')
    """
    return _dataflow(links_of(graph, program, first), excerpt or Excerpt())


def dataflow_of_report(
    report: Report, program: str | None = None, *, excerpt: Excerpt | None = None
) -> Dataflow:
    """Build the dataflow graph of all programs of a report, or of one, in program order.

    Raises UnknownName when the report does not know it, there is nothing of a name or scope in the
    excerpt, or no such program.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.INT, (4,), name, mapping=1) for name in "xy")
    >>> flow = dataflow_of_report(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> [node.title for node in flow.nodes], [(e.tail, e.head, e.forward_bytes) for e in flow.edges]
    (['x', 'Copy', 'y'], [(0, 1, 16), (1, 2, 16)])
    """
    return _dataflow(links_of_report(report, program), excerpt or Excerpt())


def _dataflow(links: Links, excerpt: Excerpt) -> Dataflow:
    """Return the picture of the dataflow; raises as `dataflow_of` does."""
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
