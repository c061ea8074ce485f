"""Making a graph small enough to look at: a part of it, and what is collapsed.

`chosen` keeps the surroundings of a name, or a scope with its neighbours.  `folded` then
puts items together until they fit, in this order:

1. scopes, the deepest first, down to the scope that all items share;
2. names that differ only in their numbers, the most frequent first;
3. everything of one kind.

    model/conv1/w   model/conv1/apply   model/x0 to model/x999      1,002 items
    model/conv1/                        model/x0 ... model/x999     2 nodes

What an operation of `poplite.ops` made is one node in any case, unless its scope is looked into,
and so are copies between the same variables with nothing but copies in between.  A node is a tuple
of items; the items that were asked for by name stay by themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.viz.dataflow.links import NOUNS, Item, Links, NodeKind, Scope, scope_of, shared
from poplite.viz.draw.units import name_text

MAX_NODES = 300
"""Nodes that are drawn unless more are asked for."""

HOPS = 2
"""Edges between a name that is looked around and the last node drawn."""

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
        scope: draw what is in it, and its neighbours; None for everything.
        max_nodes: beyond so many, nodes are collapsed: scopes, numbered names, then kinds.
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
        labels: kind and name of each node that stands for several items, else None.
        how: what joined items share, "" when none were joined.
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
    """Put items together until at most `max_nodes` nodes, and four times as many edges, are left.

    `kept` (int64[n], rising) are the items to draw; those in `alone` stay by themselves.
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
    """Put together what operations made; `items` keep one of each, in the scope of the operation.

    An operation that `scope` is in is looked into.
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
    """Put copies between the same variables together, where nothing else is done in between."""
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
    """Put together what is in the same scope of a depth, or deeper in it."""
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
    """Groups that become one, its kind and name, and what the groups share."""

    groups: list[int]
    label: Label
    how: str


def _merges(items: Sequence[Item | None], group: Int64, labels: Labels) -> list[_Merge]:
    """Return what may be put together, in the order in which to do so."""
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
