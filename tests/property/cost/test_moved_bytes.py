"""What moves between tiles, compared element by element with plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, Literal
from unittest import mock

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from poplite.cost import exchange_phases as exchange, locations, moved_data
from poplite.cost.exchange_cycles import MovedPieces, load_of, route
from poplite.cost.exchange_phases import phases_of_compute_set, phases_of_copy
from poplite.cost.locations import locations_of
from poplite.cost.moved_data import phases_of_few
from poplite.cost.step_cost import PhaseCost
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.report.execution import TilePairs
from poplite.report.per_tile import PerTile

Element = tuple[int, int]
"""Number of a variable, and of an element."""


class Gather(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    h: pl.Input[pl.HALF]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 0.0


# -- what an exchange asks of the tiles ------------------------------------------------------------


@st.composite
def moving(draw: st.DrawFn) -> MovedPieces:
    """Draw pieces between eight tiles, by the tile that they reach."""
    count = draw(st.integers(1, 12))
    tile = st.integers(0, 7)
    rows = []
    for _ in range(count):
        source, to = draw(st.tuples(tile, tile).filter(lambda ends: ends[0] != ends[1]))
        at, size = draw(st.integers(0, 9)), draw(st.sampled_from([1, 2, 3, 7, 5000]))
        rows.append((to, source, at, size, draw(st.sampled_from([2, 4])), draw(st.booleans())))
    rows.sort(key=lambda row: row[0])
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    receivers, jumps = columns[0], columns[5] | (np.diff(columns[0], prepend=-1) != 0)
    return MovedPieces(columns[1], receivers, columns[2] * 10_000, columns[3], columns[4], jumps)


def loads(target: pl.Target, pieces: MovedPieces) -> dict[int, list[int]]:
    """Return the load of each tile, as the fields of `Load` in their order."""
    fragments: list[list[int]] = []
    for source, to, at, size, width, jumps in zip(*(c.tolist() for c in pieces), strict=True):
        last = fragments[-1] if fragments else [-1] * 6
        if not jumps and [source, to, width] == [*last[:2], last[4]] and at == last[2] + last[3]:
            last[3] += size
        else:
            fragments.append([source, to, at, size, width, jumps])
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 1 << 62, 0, 0, 0])
    words = [-(-size * width // 4) for *_, size, width, _ in fragments]
    for number, (source, to, _, size, width, jumps) in enumerate(fragments):
        turns = jumps or source != fragments[number - 1][0]
        found[to][0] += words[number]
        found[to][3] += 2 * turns + jumps
        found[to][6] += size * width
    order = sorted(range(len(fragments)), key=lambda n: (fragments[n][0], fragments[n][2]))
    for (source, _), group in groupby(order, key=lambda n: (fragments[n][0], fragments[n][2])):
        send = list(group)
        found[source][3] += -(-max(words[n] for n in send) // 4148)
        for one, other in zip(send, send[1:], strict=False):
            a, b = fragments[one], fragments[other]
            if a[3] == b[3] and a[1] != b[1] and a[1] // 2 == b[1] // 2:
                found[a[1]][0] -= words[other] // 2
                found[b[1]][0] -= words[other] // 2
        ends = np.array([fragments[n][:2] for n in send])
        times = [0] * len(send)
        if target.architecture != "gc2":
            times = route(target, ends[:, 0].copy(), ends[:, 1].copy()).tolist()
        start = max(0, -min(times))
        for n, time in zip(send, times, strict=True):
            to = fragments[n][1]
            latency = 100 if target.architecture == "gc2" else 6 + start + time + 52 + 2 * (to // 2)
            for tile in (source, to):
                found[tile][4] = min(found[tile][4], latency)
            found[to][5] = max(found[to][5], latency + words[n])
    for sent, word, leaves_pair in ((7, 1, False), (None, 2, True)):
        known: set[tuple[int, int]] = set()
        for n in order:
            source, to, at, size, width, _ = fragments[n]
            if leaves_pair and source // 2 == to // 2:
                continue
            fresh = {(source, at + k) for k in range(size)} - known
            known |= fresh
            found[source][word] += -(-len(fresh) * width // 4)
            if sent:
                found[source][sent] += len(fresh) * width
    return found


@given(moving(), st.sampled_from(["gc2", "c600"]))
def test_loads(pieces: MovedPieces, architecture: Literal["gc2", "c600"]) -> None:
    target = pl.Target(tiles=8, architecture=architecture)
    load = load_of(target, [pieces])
    table = dict(zip(load.tiles.tolist(), np.stack(load[1:], axis=1).tolist(), strict=True))
    assert table == loads(target, pieces)


# -- compute sets ----------------------------------------------------------------------------------


class Drawn:
    """A graph with its mapping, element by element."""

    def __init__(self, data: st.DataObject, tiles: int) -> None:
        self.graph = pl.Graph(pl.Target(tiles=tiles, architecture="gc2"))
        self.tensors: list[pl.Tensor] = []
        self.home: dict[Element, int] = {}
        tile = st.integers(0, tiles - 1)
        for number, kind in enumerate((pl.FLOAT, pl.FLOAT, pl.HALF)):
            size = data.draw(st.integers(4, 12))
            tensor = self.graph.add_variable(kind, (size,), f"v{number}")
            self.tensors.append(tensor)
            for k, own in enumerate(data.draw(st.lists(tile, min_size=size, max_size=size))):
                self.graph.set_tile_mapping(tensor[k], own)
                self.home[number, k] = own

    def size(self, element: Element) -> int:
        return self.tensors[element[0]].element_type.size_bytes

    def view(self, elements: Sequence[Element]) -> pl.Tensor:
        return pl.concat([self.tensors[n][k : k + 1] for n, k in elements])

    def bytes(self, elements: Iterable[tuple[int, Element]]) -> dict[int, int]:
        """Return the bytes of elements by tile."""
        found: dict[int, int] = defaultdict(int)
        for tile, element in elements:
            found[tile] += self.size(element)
        return dict(found)

    def places(self, elements: Sequence[Element]) -> int:
        """Return in how many stretches of one tile's memory elements lie."""
        memory = sorted(self.home, key=lambda element: (self.home[element], element))
        joins = [
            memory.index(a) + 1 == memory.index(b) and (self.home[a], a[0]) == (self.home[b], b[0])
            for a, b in zip(elements, elements[1:], strict=False)
        ]
        return len(elements) - sum(joins)

    def copied(self, edges: Iterable[tuple[int, tuple[Element, ...]]]) -> dict[int, int]:
        """Return the bytes that are put together, by tile; each edge is the tile and elements."""
        return self.bytes(
            (tile, element)
            for tile, edge in set(edges)
            if self.places(edge) > 1
            for element in edge
            if self.home[element] == tile
        )


def by_tile(phases: Iterable[PhaseCost], what: str) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for phase in phases:
        spread: Any = getattr(phase, what)
        tiles, values = spread.tiles.array().tolist(), spread.values.array().tolist()
        for tile, value in zip(tiles, values, strict=True):
            found[tile] += value
    return dict(found)


@given(st.data(), st.booleans(), st.booleans())
def test_compute_sets(data: st.DataObject, block: bool, compiled: bool) -> None:
    tiles = data.draw(st.integers(1, 5))
    drawn = Drawn(data, tiles)
    floats = [element for element in drawn.home if element[0] < 2]
    halves = [element for element in drawn.home if element[0] == 2]
    free = data.draw(st.permutations(floats))
    compute_set = drawn.graph.add_compute_set("cs")
    vertices = []
    for number in range(data.draw(st.integers(1, 3))):
        first = data.draw(st.integers(0, 6))
        reads = floats[first : first + data.draw(st.integers(1, 5))]
        reads += data.draw(st.lists(st.sampled_from(floats), max_size=3))
        writes = sorted(free[3 * number : 3 * number + data.draw(st.integers(1, 3))])
        reads = [element for element in reads if element not in free[:9]] or [free[-1]]
        vertices.append(
            (
                data.draw(st.integers(0, tiles - 1)),
                reads,
                data.draw(st.sampled_from(halves)),
                writes,
            )
        )
    if block:
        drawn.graph.add_vertices(
            compute_set,
            Gather,
            tile=[tile for tile, *_ in vertices],
            x=[drawn.view(reads) for _, reads, _, _ in vertices],
            h=pl.concat([drawn.view([half]) for _, _, half, _ in vertices]),
            y=[drawn.view(writes) for *_, writes in vertices],
        )
    else:
        for tile, reads, half, writes in vertices:
            drawn.graph.add_vertex(
                compute_set,
                Gather,
                tile=tile,
                x=drawn.view(reads),
                h=drawn.view([half])[0],
                y=drawn.view(writes),
            )
    with mock.patch.object(locations, "FEW", 0 if compiled else locations.FEW):
        before, after = phases_of_compute_set(drawn.graph, edge_table(compute_set))
    home = drawn.home
    wanted = {(t, e) for t, reads, half, _ in vertices for e in [*reads, half] if home[e] != t}
    written = {(t, e) for t, _, _, writes in vertices for e in writes if home[e] != t}
    assert by_tile(before, "received") == drawn.bytes(wanted)
    assert by_tile(before, "sent") == drawn.bytes({(home[e], e) for _, e in wanted})
    assert by_tile(after, "received") == drawn.bytes((home[e], e) for _, e in written)
    assert by_tile(after, "sent") == drawn.bytes(written)
    put = drawn.copied((tile, tuple(reads)) for tile, reads, *_ in vertices)
    taken = drawn.copied((tile, tuple(writes)) for tile, _, _, writes in vertices)
    assert by_tile(before, "copied") == put
    assert by_tile(after, "copied") == taken
    assert sum(by_tile(before, "buffers").values()) == sum(put.values()) + sum(
        drawn.bytes(wanted).values()
    )
    assert all((phase.sync > 0) == (phase.kind == "exchange") for phase in (*before, *after))


@given(st.data(), st.booleans())
def test_copies(data: st.DataObject, compiled: bool) -> None:
    tiles = data.draw(st.integers(1, 5))
    drawn = Drawn(data, tiles)
    count = data.draw(st.integers(1, 4))
    source = [
        (0, k) for k in data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    ]
    to = [(1, k) for k in data.draw(st.permutations(range(4)))[:count]]
    copy = pl.Copy(drawn.view(source), drawn.view(to))
    with mock.patch.object(locations, "FEW", 0 if compiled else locations.FEW):
        phases = phases_of_copy(drawn.graph, copy)
    home = drawn.home
    moved = [(a, b) for a, b in zip(source, to, strict=True) if home[a] != home[b]]
    stays = [(a, b) for a, b in zip(source, to, strict=True) if home[a] == home[b]]
    assert by_tile(phases, "received") == drawn.bytes((home[b], b) for _, b in moved)
    assert by_tile(phases, "sent") == drawn.bytes({(home[a], a) for a, _ in moved})
    assert by_tile(phases, "copied") == drawn.bytes((home[b], b) for _, b in stays)
    assert [phase.kind for phase in phases] == ["copy"] * bool(stays) + ["exchange"] * bool(moved)


@given(st.data(), st.sampled_from(["columns", "rows", "blocks", "backwards"]), st.booleans())
def test_regular_blocks(data: st.DataObject, way: str, compiled: bool) -> None:
    tiles, count = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    drawn = Drawn(data, tiles)
    tile = st.integers(0, tiles - 1)
    matrix = drawn.graph.add_variable(pl.FLOAT, (count, 4), "m")
    drawn.tensors.append(matrix)
    numbers = np.arange(4 * count).reshape(count, 4)
    for k in range(4 * count):
        drawn.home[3, k] = data.draw(tile)
        drawn.graph.set_tile_mapping(matrix.flatten()[k], drawn.home[3, k])
    x = {
        "columns": matrix.reshape((4, count)).dim_shuffle((1, 0)),
        "rows": matrix[:, 1:],
        "blocks": matrix.reshape((count, 2, 2)).dim_shuffle((0, 2, 1)).reshape((count, 4)),
        "backwards": matrix.reverse(0).reverse(1),
    }[way]
    reads = {
        "columns": numbers.reshape(4, count).T,
        "rows": numbers[:, 1:],
        "blocks": numbers.reshape(count, 2, 2).transpose(0, 2, 1).reshape(count, 4),
        "backwards": numbers[::-1, ::-1],
    }[way]
    h, y = (drawn.graph.add_variable(kind, (count,), mapping=0) for kind in (pl.HALF, pl.FLOAT))
    own = data.draw(st.lists(tile, min_size=count, max_size=count))
    compute_set = drawn.graph.add_compute_set("cs")
    y = y.reshape((count, 1))
    drawn.graph.add_vertices(compute_set, Gather, tile=own, x=x, h=h, y=y)
    table = edge_table(compute_set)
    with mock.patch.object(locations, "FEW", 0 if compiled else locations.FEW):
        before, _ = phases_of_compute_set(drawn.graph, table)
        with (
            mock.patch.object(exchange, "MOST_PIECES", 1),
            mock.patch.object(moved_data, "MOST_RUNS", 1),
        ):
            again, _ = phases_of_compute_set(drawn.graph, edge_table(compute_set))
    edges = [(t, tuple((3, int(k)) for k in row)) for t, row in zip(own, reads, strict=True)]
    wanted = {(t, e) for t, edge in edges for e in edge if drawn.home[e] != t}
    found = drawn.bytes(wanted)
    for t in {t for t in own if t}:
        found[t] = found.get(t, 0) + 2 * own.count(t)
    sent = drawn.bytes({(drawn.home[e], e) for _, e in wanted})
    halves = sum(2 for t in own if t)
    assert by_tile(before, "received") == found
    assert sum(by_tile(before, "sent").values()) == sum(sent.values()) + halves
    assert by_tile(before, "copied") == drawn.copied(edges)
    for what in ("cycles", "received", "sent", "copied", "buffers", "controls"):
        assert by_tile(again, what) == by_tile(before, what)


# -- copies of few runs ----------------------------------------------------------------------------


SIZES = 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 40
"""Around the numbers of pieces up to which plain Python does it."""


def machine(architecture: Literal["gc2", "c600"], ipus: int) -> pl.Target:
    return pl.Target(tiles=8, ipus=ipus, architecture=architecture)


def mapped(data: st.DataObject, graph: pl.Graph, tensor: pl.Tensor, pool: list[int]) -> None:
    """Put elements on one tile of a few, on some in a row, or on some round and round."""
    tiles, size = data.draw(st.lists(st.sampled_from(pool), min_size=1)), tensor.num_elements
    if data.draw(st.booleans()):
        owners = np.sort(np.arange(size) % len(tiles))
    else:
        owners = np.arange(size) // data.draw(st.integers(1, 3)) % len(tiles)
    intervals: list[list[tuple[int, int]]] = [[] for _ in range(graph.target.tiles)]
    for k, owner in enumerate(owners.tolist()):
        intervals[tiles[owner]].append((k, k + 1))
    graph.set_tile_mapping(tensor, intervals)


def seen(data: st.DataObject, tensor: pl.Tensor, other: pl.Tensor, *, often: bool) -> pl.Tensor:
    """Return elements of a vector in some order; `often` where one may come several times."""
    half = tensor.num_elements // 2
    ways = ["whole", "backwards", "turned", "every other", "of two", *["transposed"] * (half > 0)]
    way = data.draw(st.sampled_from(ways + ["again and again", "one of them"] * often))
    if way == "transposed":
        return tensor[: 2 * half].reshape((2, half)).dim_shuffle((1, 0)).flatten()
    ordered: dict[str, Any] = {
        "whole": lambda: tensor,
        "backwards": lambda: tensor[::-1],
        "turned": lambda: pl.concat([tensor[half:], tensor[:half]]),
        "every other": lambda: tensor[::2],
        "of two": lambda: pl.concat([tensor[:1], other, tensor[1:]]),
        "again and again": lambda: tensor.broadcast(3, 0),
        "one of them": lambda: tensor[-1:].broadcast(40, 0),
    }
    view: pl.Tensor = ordered[way]()
    return view


def told(phases: tuple[PhaseCost, ...], tiles: int) -> list[list[object]]:
    """Return all that phases say, whatever form their numbers have."""

    def numbers(value: object) -> object:
        match value:
            case PerTile():
                return value.array().tolist()
            case TilePairs():
                return value.block, value.matrix().tolist(), value.largest
        return value

    return [[numbers(getattr(phase, each.name)) for each in fields(phase)] for phase in phases]


@given(st.data(), st.sampled_from(["gc2", "c600"]), st.sampled_from([1, 1, 2]))
def test_a_copy_costs_the_same_either_way(
    data: st.DataObject, architecture: Literal["gc2", "c600"], ipus: int
) -> None:
    graph = pl.Graph(machine(architecture, ipus))
    kind = data.draw(st.sampled_from([pl.FLOAT, pl.HALF, pl.CHAR]))
    size = st.sampled_from(SIZES)
    drawn = [graph.add_variable(kind, (data.draw(size),), name) for name in "abcd"]
    pool = data.draw(st.lists(st.integers(0, graph.target.tiles - 1), min_size=1, max_size=3))
    for tensor in drawn:
        mapped(data, graph, tensor, pool)
    a, b, c, d = drawn
    tiles = graph.target.tiles
    for _ in range(3):  # the others may find what is kept of the first one
        source, to = seen(data, a, b, often=True), seen(data, c, d, often=False)
        most = min(source.num_elements, to.num_elements)
        count = data.draw(st.one_of(st.just(most), st.integers(1, most)))
        copy = pl.Copy(source[:count], to[:count])
        found = phases_of_copy(graph, copy)
        with mock.patch.object(exchange, "phases_of_few", return_value=None):
            compiled = phases_of_copy(graph, copy)
        assert told(found, tiles) == told(compiled, tiles)


def test_plain_copies_take_no_arrays() -> None:
    graph = pl.Graph(machine("c600", 2))
    a, b, d = (graph.add_variable(pl.FLOAT, (9,), mapping=tile) for tile in (1, 2, 2))
    c = graph.add_variable(pl.FLOAT, (16,), mapping="linear")

    def is_plain(source: pl.Tensor, to: pl.Tensor) -> bool:
        copy = pl.Copy(source, to)
        ends = source.view, to.view
        return phases_of_few(graph.target, locations_of(graph), copy, ends) is not None

    assert is_plain(a, b)
    assert is_plain(a[::-1], b)
    assert is_plain(d[::-1], b)
    assert is_plain(a[:6], c[:6])
    assert not is_plain(pl.concat([b[4:], c[:4]]), a)  # its runs are found by a kernel
    assert not is_plain(a, c[:9])  # to another IPU


def test_what_is_kept_tells_one_element_for_two_tiles_from_two() -> None:
    graph = pl.Graph(machine("c600", 1))
    a = graph.add_variable(pl.FLOAT, (2,), mapping=0)
    b = graph.add_variable(pl.FLOAT, (2,))
    graph.set_tile_mapping(b, [[], [], [(0, 1)], [], [(1, 2)]])
    sent = []
    for source in (a, a[:1].broadcast(2, 0), a[1:].broadcast(2, 0), a[::-1]):
        (phase,) = phases_of_copy(graph, pl.Copy(source, b))
        sent.append((phase.sent.total, phase.received.total))
    assert sent == [(8, 8), (4, 8), (4, 8), (8, 8)]
