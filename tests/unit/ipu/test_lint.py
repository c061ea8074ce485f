"""What a tile would emulate, copy or get wrong is found, with its line and what to write."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.codelets import NATIVE
from helpers.depth import deep, examples
from helpers.running import load
from helpers.vertices import vertex_classes
from poplite.ipu import Finding
from poplite.ipu.codelet_file import codelet_file
from poplite.ipu.linting import emulated, findings_text, is_placed
from poplite.testing.forms import classes_of
from poplite.vertex.vertex import MultiVertex, Vertex, has_compute

MANY = 7


class Emulated(pl.Vertex):
    n: pl.Input[pl.INT]
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    m: pl.InOut[pl.INT]

    def share(self, part: Any) -> Any:
        return part / 3  # double

    def compute(self) -> None:
        self.y[0] = (self.n + 0.5) * self.x  # double
        self.y[1] = self.x * 0.5 + self.n * (1 / 3 * self.x)
        self.m = self.n // MANY  # division
        self.m %= self.n  # division
        self.m = self.n // 8 + self.n % 2 + 7 // 2
        self.y[2] = math.exp(self.x) + math.sqrt(self.x)
        self.y[3] = math.sin(self.x)  # double
        self.y[4] = math.sqrt(self.n)  # double
        self.y[4] = pl.fma(self.x, 0.5, 1)  # double
        self.y[5] = self.share(self.n) + self.share(2)
        total = 0.1
        total += self.n  # double
        self.y[6] = total


class Converted(pl.Vertex):
    n: pl.Input[pl.INT]
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    m: pl.InOut[pl.INT]

    def rounded(self, part: Any) -> Any:
        return pl.FLOAT(part)

    def compute(self) -> None:
        if float(self.n) < 0.5:  # double
            self.y[0] = 0.0
        self.y[1] = float(self.n)  # double
        if self.n < 0.1:  # double
            self.y[1] = float(MANY)
        if 0.1 < self.x < 1 and self.n < 3 < 3.5:
            self.y[2] = max(self.x, 0.5, self.n)
        half = 0.5
        self.m = int(max(half, self.n))  # double
        self.m = math.floor(self.n / 2)  # double
        self.m = math.floor(half)  # double
        self.m = math.floor(self.x) + int(self.x) + int(2.5)
        self.y[3] = self.rounded(self.n) + self.rounded(half) + float(self.x) + min(self.n, 3)
        for i in range(self.n, self.m, 7):
            self.y[4] = i


class Written(Emulated):
    cpp = "return true;"


class Flags(pl.MultiVertex):
    flags: pl.Output[pl.Vector[pl.UNSIGNED_CHAR]]
    h: pl.InOut[pl.Vector[pl.HALF]]
    sums: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        self.flags[worker] = worker  # sub-word store
        self.h.set_lanes(64 * worker, self.h.lanes(64 * worker))  # sub-word store
        self.sums[worker] = 0.0


class Mapped(pl.MultiVertex):
    k: pl.Input[pl.FLOAT]
    x: Annotated[pl.Input[pl.Vector[pl.FLOAT]], pl.Layout(min_align=8)]
    y: Annotated[pl.Output[pl.Vector[pl.FLOAT]], pl.Layout(min_align=8)]

    @staticmethod
    def element(x: Any, k: Any) -> Any:
        return x * k

    def compute(self, worker: int) -> None:
        self.y.set_lanes(0, pl.lanes.map(self.element, self.x.lanes(0), self.k))
        self.y[worker] = float(worker)  # double


class Copy(pl.Vertex):
    x: Annotated[pl.Input[pl.Vector[pl.FLOAT]], pl.Layout(min_align=8)]
    h: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.h)):
            self.h[i] = self.x[i]


class Other(Copy):
    pass


class Shift(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


def of_class(cls: type[pl.Vertex]) -> list[Finding]:
    """Return the findings of a graph with an unconnected vertex of a class."""
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_vertex(graph.add_compute_set("work"), cls)
    return pl.ipu.lint(graph)


@pytest.mark.parametrize("cls", [Emulated, Converted, Flags, Mapped])
def test_lines_are_found_by_rule(cls: type[pl.Vertex]) -> None:
    lines = Path(__file__).read_text().splitlines()
    found = [(finding.at.line, finding.rule) for finding in of_class(cls)]
    first = cls.location.line
    last = next(n for n, line in enumerate(lines, 1) if n > first and line.startswith("class "))
    marked = [
        (number, line.partition("# ")[2])
        for number, line in enumerate(lines, 1)
        if first < number < last and "# " in line
    ]
    assert sorted(found) == marked


def test_a_compute_that_cpp_stands_for_is_not_looked_at() -> None:
    assert of_class(Written) == []


def test_a_finding_has_four_parts() -> None:
    finding = next(each for each in of_class(Emulated) if each.rule == "double")
    text = str(finding).splitlines()
    assert text[0].startswith("Emulated.compute: 'self.n + 0.5' is computed in 64-bit float")
    assert "test_lint.py" in text[0]
    assert text[1].strip().startswith("self.y[0] = (self.n + 0.5) * self.x")
    assert text[2].strip() == "try: write pl.FLOAT(...) around one of the numbers"


def copies(halves: int) -> list[Finding]:
    """Return the findings of four vertices on two tiles, each with so many halves."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4 * halves,), "x", mapping="linear")
    h = graph.add_variable(pl.HALF, (4 * halves,), "h", mapping="linear")
    work = graph.add_compute_set("work")
    for k in range(4):
        part = slice(k * halves, (k + 1) * halves)
        graph.add_vertex(work, Copy, tile=k // 2, x=x[part], h=h[part])
    return pl.ipu.lint(graph)


def test_words_that_two_vertices_write_are_found() -> None:
    (words, alignment) = copies(3)
    assert words.rule == "sub-word store"
    assert words.what.startswith(
        "vertex 0 of 'Copy' on tile 0 and vertex 1 of 'Copy' on tile 0 write parts of one word"
    )
    assert "(2 pairs of vertices)" in words.what
    assert words.found.startswith("'h'[2:4]")
    assert alignment.rule == "alignment"
    assert "must be aligned to 8 bytes, but begins 12 bytes into its part" in alignment.what
    assert copies(4) == []


def test_many_vertices_are_looked_at_together() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    h = graph.add_variable(pl.HALF, (8,), "h", mapping="linear")
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    work = graph.add_compute_set("work")
    tiles = np.arange(8) // 4
    graph.add_vertices(work, Copy, tile=tiles, x=x.reshape((8, 1)), h=h.reshape((8, 1)))
    assert [each.rule for each in pl.ipu.lint(graph)] == ["sub-word store", "alignment"]
    assert "(4 pairs of vertices)" in pl.ipu.lint(graph)[0].what


def test_inputs_that_share_elements_with_an_output_are_found() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Shift, tile=0, x=x[1:], y=x[:4])
    (finding,) = pl.ipu.lint(graph)
    assert (finding.rule, finding.what) == (
        "copy",
        "field 'x' of Shift is overwritten by an Output of its vertex: 16 B are copied on their "
        "tiles before the vertices run",
    )
    (step,) = pl.Engine(graph, pl.Execute(work)).report().places
    phase = step.phases[0]
    assert (phase.kind, phase.copied.total) == ("copy", 16)
    assert finding.found == (
        f"the compute set copies 16 B on all tiles, in {phase.cycles} cycles on the slowest tile"
    )
    assert "declare an InOut" in finding.fix


def test_what_is_copied_on_its_tile_is_that_of_the_report() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (16, 4), "x", mapping="linear", initial_value=1)
    h = graph.add_variable(pl.HALF, (16, 4), "h", mapping="linear")
    work = graph.add_compute_set("work")
    for tile in range(2):
        part = slice(8 * tile, 8 * tile + 8)
        turned = x[part].reverse(0).flatten()
        graph.add_vertex(work, Copy, tile=tile, x=turned, h=h[part].reverse(1).flatten())
    before, after = [each for each in pl.ipu.lint(graph) if each.rule == "copy"]
    engine = pl.Engine(graph, pl.Repeat(3, pl.Execute(work)))
    engine.run()
    report = engine.report()
    phases = [phase for phase in report.step("work").phases if phase.kind == "copy"]
    for finding, phase, when in zip((before, after), phases, ("before", "after"), strict=True):
        (cause,) = phase.causes
        said = f"{cause.what} {cause.why}: {cause.bytes:,} B are copied on their tiles {when}"
        assert finding.what.startswith(said)
        assert finding.found.endswith(f" in {phase.cycles // 3:,} cycles on the slowest tile")
        assert f"copies {phase.copied.total // 3:,} B on all tiles" in finding.found
    moved = [each for each in report.insights.findings if each.kind == "copied on its tile"]
    assert {each.what for each in moved} == {"field 'x' of Copy", "field 'h' of Copy"}
    loose = pl.Graph(pl.Target(tiles=2))
    loose.add_variable(pl.FLOAT, (3,), "unmapped")
    assert pl.ipu.lint(loose) == []


@pytest.mark.parametrize("second", [Other, Copy])
def test_what_is_copied_has_the_line_of_its_file(second: type[Copy], tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0, initial_value=1)
    h = graph.add_variable(pl.HALF, (4, 8), "h", mapping=0)
    work = graph.add_compute_set("work")
    files = [tmp_path / name / "model.py" for name in ("first", "second")]
    for file, cls, row in zip(files, (Copy, second), (0, 1), strict=True):
        file.parent.mkdir()
        file.write_text("def build(graph, *which, **what):\n    graph.add_vertex(*which, **what)\n")
        load(file).build(graph, work, cls, tile=0, x=x.reverse(0), h=h[row])
    found = [each for each in pl.ipu.lint(graph) if each.rule == "copy"]
    if second is Copy:  # both lines are spelled alike, and so are their fields
        assert [each.at for each in found] == [work.location]
    else:
        assert [each.at.file for each in found] == [str(file) for file in files]


def test_what_is_copied_or_received_is_aligned() -> None:
    """Buffers are; only what is read in place may begin elsewhere."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (12,), "x", mapping=0)
    h = graph.add_variable(pl.HALF, (12,), "h", mapping="linear")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Copy, tile=1, x=x[1:4], h=h[6:9])
    graph.add_vertex(work, Copy, tile=0, x=x[4:7].reverse(0), h=h[:3])
    assert [each.rule for each in pl.ipu.lint(graph)] == ["copy"]
    for begin in (7, 9):
        graph.add_vertex(work, Copy, tile=0, x=x[begin : begin + 2], h=h[begin - 4 : begin - 2])
    (alignment,) = [each for each in pl.ipu.lint(graph) if each.rule == "alignment"]
    assert "begins 28 bytes into its part on the tile" in alignment.what
    assert alignment.what.endswith("(2 edges of the field)")


def test_a_variable_that_no_vertex_has_needs_no_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=0)
    graph.add_variable(pl.FLOAT, (3,), "unmapped")
    y = graph.add_variable(pl.FLOAT, (5,), "y")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Shift, tile=0, x=x.reverse(0), y=y)
    assert (pl.ipu.lint(graph), is_placed(graph, work)) == ([], False)
    graph.set_tile_mapping(y, 0)
    assert ([each.rule for each in pl.ipu.lint(graph)], is_placed(graph, work)) == (["copy"], True)
    assert findings_text([], 2).splitlines()[-1] == (
        "2 compute sets have vertices, fields or elements without a tile: their copies are not "
        "known"
    )


def test_what_is_no_graph_and_no_class_is_refused() -> None:
    with pytest.raises(pl.ControlProgramError, match="lint: 3 is not a graph"):
        pl.ipu.lint(3)  # type: ignore[arg-type]
    with pytest.raises(
        pl.ElementTypeError, match="codelet_text: classes must be vertex classes; found 3"
    ):
        pl.ipu.codelet_text(3)  # type: ignore[arg-type]


class HalvesInDouble(pl.Vertex):
    """A class of the user, with one finding."""

    n: pl.State[pl.INT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """In double."""
        self.y = (self.n + 0.5) * 0.1


def test_classes_of_the_user_come_first() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    k = graph.add_variable(pl.INT, (64,), "k", mapping="linear")
    pl.ops.map(k // 3, program=prog)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    graph.add_vertex(graph.add_compute_set("late"), HalvesInDouble, tile=0, n=1, y=y)
    names = [finding.name for finding in pl.ipu.lint(graph)]
    assert len(names) > 1
    assert [name == "HalvesInDouble.compute" for name in names] == [True] + [False] * (
        len(names) - 1
    )


def test_a_class_of_poplite_has_one_finding_of_a_kind_at_the_line_of_the_user() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (8, 12), "x", mapping="linear")
    pl.ops.map(x @ x.T, program=prog)
    pl.ops.map(pl.ops.mean(x, dims=0), program=prog)
    found = pl.ipu.lint(graph)
    assert found
    assert {Path(each.at.file).name for each in found} == {"test_lint.py"}
    assert all("poplite/" not in str(each) for each in found)
    emulated_ones = [each for each in found if each.rule in ("double", "division")]
    assert len({(each.rule, each.what.partition(",")[0]) for each in emulated_ones}) == len(
        emulated_ones
    )
    assert any("AmpMatMul[FLOAT], a vertex class of poplite: " in each.what for each in found)
    assert not any("connect elements" in each.fix for each in found)


# -- objects of a compiler for 32 bits -------------------------------------------------------------
# clang, of the package `ziglang` where that is installed, compiles codelets for a processor with
# 32-bit words, and calls a function of software for each operation on doubles, and each division
# of 64-bit integers.


ROOT = Path(__file__).resolve().parents[3]

TARGET = ("-target", "thumb-linux-musleabihf", "-mcpu=cortex_m4")
CALL = re.compile(r"\bbl?\s+(__aeabi_(?:d\w+|\w+2d|u?ldivmod))\b")
STOP = "#define PL_STOP() __builtin_trap()\n"


def calls_of(classes: Iterable[type[Vertex]], folder: Path) -> set[str]:
    """Return the functions of software that codelets call for doubles and divisions."""
    pytest.importorskip("ziglang")
    made = codelet_file(classes)
    runs = (
        f'extern "C" bool run_{name}({name} &v) '
        f"{{ return v.compute({'0' if issubclass(cls, MultiVertex) else ''}); }}"
        for cls, name in made.names.items()
    )
    source, output = folder / "codelets.cpp", folder / "codelets.s"
    source.write_text("\n".join([STOP, made.text, *runs]))
    compiler = [sys.executable, "-m", "ziglang", "c++", *TARGET, "-std=c++17", "-O2", "-S"]
    command = [*compiler, "-ffp-contract=off", "-I", str(NATIVE), str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return set(CALL.findall(output.read_text(errors="replace")))


def is_linted(cls: type[Vertex]) -> bool:
    return any(each.rule in ("double", "division") for each in emulated(cls))


def has_codelet(cls: type[Vertex]) -> bool:
    try:
        codelet_file([cls])
    except pl.VertexCompileError:
        return False
    return True


def library() -> list[type[Vertex]]:
    """Return the vertex library, templates with some element types."""
    found: list[type[Vertex]] = []
    for path in sorted((ROOT / "vertices").rglob("*.py")):
        for _, cls in vertex_classes(path, ROOT):
            if has_compute(cls):
                found += filter(has_codelet, classes_of(cls)[:3])
    return list(dict.fromkeys(found))


class Doubles(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = (i + 0.5) * self.x[i]


class Divides(pl.Vertex):
    by: pl.State[pl.INT]
    n: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.n)):
            self.n[i] = self.n[i] // self.by


class Floats(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * 0.5 + self.x[i] / 3


class Compares(pl.Vertex):
    n: pl.Input[pl.LONGLONG]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        if self.n < 1e17:  # a small literal would be compared as an int
            self.y = 1.0


class Larger(pl.Vertex):
    n: pl.Input[pl.INT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = max(self.n, 0.5)


class Strides(pl.Vertex):
    first: pl.Input[pl.LONGLONG]
    n: pl.Input[pl.LONGLONG]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(self.first, self.n, 7):
            self.y[i % 8] = i


CLASSES = (Doubles, Divides, Floats, Compares, Larger, Strides)


def test_what_the_lint_finds_is_called(tmp_path: Path) -> None:
    assert "__aeabi_dadd" in calls_of([Doubles], tmp_path)
    assert calls_of([Divides], tmp_path) == {"__aeabi_ldivmod"}
    assert calls_of([Compares], tmp_path) == {"__aeabi_l2d", "__aeabi_dcmplt"}
    assert "__aeabi_d2f" in calls_of([Larger], tmp_path)
    assert calls_of([Floats, Strides], tmp_path) == set()
    linted = {cls for cls in CLASSES if is_linted(cls)}
    assert linted == {Doubles, Divides, Compares, Larger}


@deep
def test_codelets_without_a_finding_call_nothing(tmp_path: Path) -> None:
    classes = [cls for cls in library() if not is_linted(cls)]
    assert len(classes) > 30
    assert calls_of(classes, tmp_path) == set()


# -- memory ----------------------------------------------------------------------------------------


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
        assert f"begins {wrong[0] * BYTES} bytes into its part on the tile" in said[0].what
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
            f"the compute set copies {phase.copied.total:,} B on all tiles, in "
            f"{phase.cycles:,} cycles on the slowest tile"
        )
