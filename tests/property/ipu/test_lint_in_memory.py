"""What lint says of memory, against elements that are looked up one by one, and against reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.ipu import Finding

SIZE = 24
ALIGN, BYTES, WORD = 8, 2, 4


class Read(pl.Vertex):
    x: Annotated[pl.Input[pl.Vector[pl.HALF]], pl.Layout(min_align=ALIGN)]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x[0]

    def cycles(self, target: pl.Target) -> int:
        return 10


class Write(pl.Vertex):
    h: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.h)):
            self.h[i] = 1.0

    def cycles(self, target: pl.Target) -> int:
        return 10


def in_place(tiles: Sequence[int], elements: Sequence[int], tile: int) -> int | None:
    """Return where an edge begins in its part of the tile; None where it is not one stretch there.

    `tiles` has the tile of each element of the variable.
    """
    part = [k for k in range(SIZE) if tiles[k] == tile]
    if any(tiles[k] != tile for k in elements):
        return None
    places = [part.index(k) for k in elements]
    is_stretch = places == list(range(places[0], places[0] + len(places)))
    return places[0] if is_stretch else None


@st.composite
def views(draw: st.DrawFn) -> slice:
    step = draw(st.sampled_from([1, 1, 1, -1, 2]))
    first = draw(st.integers(0, SIZE - 1))
    last = draw(st.integers(first, SIZE - 1))
    return (
        slice(last, first - 1 if first else None, -1) if step < 0 else slice(first, last + 1, step)
    )


def mappings() -> st.SearchStrategy[list[int]]:
    runs = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 6)), min_size=SIZE)
    return runs.map(lambda found: [tile for tile, size in found for _ in range(size)][:SIZE])


def half(graph: pl.Graph, tiles: Sequence[int]) -> pl.Tensor:
    h = graph.add_variable(pl.HALF, (SIZE,), "h")
    for k, tile in enumerate(tiles):
        graph.set_tile_mapping(h[k], tile)
    return h


@examples(300, quick=8)
@given(mappings(), st.lists(st.tuples(st.integers(0, 1), views()), min_size=1, max_size=3))
def test_edges_that_are_read_in_place_are_aligned(
    tiles: list[int], edges: list[tuple[int, slice]]
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    h, work = half(graph, tiles), graph.add_compute_set("work")
    y = graph.add_variable(pl.FLOAT, (len(edges),), "y", mapping=0)
    for number, (tile, view) in enumerate(edges):
        graph.add_vertex(work, Read, tile=tile, x=h[view], y=y[number])
    begins = [in_place(tiles, range(SIZE)[view], tile) for tile, view in edges]
    wrong = [place for place in begins if place is not None and place * BYTES % ALIGN]
    found = pl.ipu.lint(graph)
    said = [each for each in found if each.rule == "alignment"]
    assert len(said) == bool(wrong)
    if wrong:
        assert f"begins {wrong[0] * BYTES} bytes into its part of the tile" in said[0].what
        assert f"({len(wrong)} edge{'s' * (len(wrong) > 1)} of the field)" in said[0].what
    check_copies(graph, work, found)


@examples(300, quick=8)
@given(mappings(), st.sets(st.integers(1, SIZE - 1), max_size=3), st.data())
def test_words_that_vertices_share_lie_on_one_tile(
    tiles: list[int], cuts: set[int], data: st.DataObject
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    h, work = half(graph, tiles), graph.add_compute_set("work")
    ends = [0, *sorted(cuts), SIZE]
    written: dict[tuple[int, int], set[int]] = {}
    for number, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
        tile = data.draw(st.integers(0, 1))
        graph.add_vertex(work, Write, tile=tile, h=h[begin:end])
        place = in_place(tiles, range(begin, end), tile)
        if place is not None:
            for k in range(place, place + end - begin):
                written.setdefault((tile, k * BYTES // WORD), set()).add(number)
    pairs = sum(len(vertices) - 1 for vertices in written.values())
    found = pl.ipu.lint(graph)
    said = [each for each in found if each.rule == "sub-word store"]
    assert len(said) == bool(pairs)
    if pairs:
        assert f"({pairs} pair{'s' * (pairs > 1)} of vertices)" in said[0].what
    check_copies(graph, work, found)


def check_copies(graph: pl.Graph, work: pl.ComputeSet, found: Sequence[Finding]) -> None:
    """What lint says is copied is what the report says: its causes, bytes and cycles."""
    report = pl.Engine(graph, pl.Execute(work), checks="fast").report()
    (step,) = report.places
    phases = [phase for phase in step.phases if phase.kind == "copy"]
    copied = [each for each in found if each.rule == "copy"]
    causes = [(phase, cause) for phase in phases for cause in phase.causes]
    assert len(copied) == len(causes)
    for each, (phase, cause) in zip(copied, causes, strict=True):
        assert each.what.startswith(f"{cause.what} {cause.why}: {cause.bytes:,} B are copied")
        assert each.found == (
            f"{phase.cycles:,} cycles of the slowest tile, in which the compute set copies "
            f"{phase.copied.total:,} B on all tiles"
        )
