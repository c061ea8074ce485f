"""The regions picture: operations as text, captions, fields with their copies, and drawings."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.errors import PopliteError, SizeOverflowError, TensorIndexError, UnknownName
from poplite.viz import regions_svg, regions_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.words import DEFAULT_STYLE, Style
from poplite.viz.tensors import frames
from poplite.viz.tensors.frame_picture import RegionsPicture, captions
from poplite.viz.tensors.frames import FieldCopies, RegionFrames, frames_of, frames_of_field
from poplite.viz.tensors.views import Index, applied, parse_view, read_operation, select

SVG = "{http://www.w3.org/2000/svg}"


def plate(rows: int = 4, columns: int = 6, name: str = "x") -> pl.Tensor:
    return pl.Graph(pl.Target(tiles=4)).add_variable(
        pl.FLOAT, (rows, columns), name, mapping="linear"
    )


def shown(tensor: pl.Tensor, *operations: str) -> RegionFrames:
    return frames_of(tensor, [read_operation(text) for text in operations])


def text_of(found: RegionFrames, style: Style = DEFAULT_STYLE) -> str:
    """The picture as text."""
    return RegionsPicture(found).text(style)


def svg_of(found: RegionFrames) -> SvgText:
    """The picture as SVG."""
    return RegionsPicture(found).svg()


@pytest.mark.parametrize(
    ("text", "as_shown"),
    [
        ("2:5, ::2", "[2:5, ::2]"),
        ("[..., -1]", "[..., -1]"),
        (" dim_shuffle 1,0", "dimShuffle(1, 0)"),
        ("DIMSHUFFLE(1, 0)", "dimShuffle(1, 0)"),
        ("reshape [4, 6]", "reshape(4, 6)"),
        ("flatten()", "flatten()"),
        ("concat my bias 1", "concat('my bias', 1)"),
        ("concat('bias', 1)", "concat('bias', 1)"),
        ("concat bias", "concat('bias', 0)"),
        ("reinterpret int32", "reinterpret(INT)"),
    ],
)
def test_operations_are_read(text: str, as_shown: str) -> None:
    assert read_operation(text).text == as_shown


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("reverze 0", r"no operation 'reverze' \(did you mean 'reverse'\?\)"),
        ("slice 1", "'slice 1' is not written as slice is"),
        ("broadcast 2 a", "'broadcast 2 a' is not written as broadcast is"),
        ("reverse __import__('os')", "is not written as reverse is"),
        ("reinterpret FLAOT", r"no element type 'FLAOT' \(did you mean 'FLOAT'\?\)"),
        ("concat", "'concat' names no variable"),
        ("__import__('os')", "no operation '__import__'"),
        ("2:x", "'2:x' is not an index"),
        ("(print())", "is not an index"),
    ],
)
def test_what_is_no_operation_is_refused(text: str, match: str) -> None:
    with pytest.raises(PopliteError, match=match) as caught:
        read_operation(text)
    assert caught.value.fix


def test_operations_refuse_what_tensors_refuse() -> None:
    with pytest.raises(PopliteError, match="dimension 2"):
        applied(plate(), read_operation("reverse 2"))
    with pytest.raises(UnknownName, match="no variable 'y'"):
        applied(plate(), read_operation("concat y"))


def test_captions_count_intervals_and_say_what_they_were() -> None:
    found = shown(plate(49, 20), "dimShuffle 1,0", "0", "broadcast 2 0")
    assert [captions(found, k, times="x") for k in range(4)] == [
        ["x: float32[49, 20], 1 interval of 980 elements", "on 4 tiles (0-3); contiguous"],
        [
            "dimShuffle(1, 0): float32[20, 49], 20 x 49 intervals of 1 element (were 1 of 980)",
            "on 4 tiles (0-3); not contiguous: a vertex field is gathered from 980 places",
        ],
        [
            "[0]: float32[49], 49 intervals of 1 element (were 980 of 1)",
            "on 4 tiles (0-3); not contiguous: a vertex field is gathered from 49 places",
        ],
        [
            "broadcast(2, 0): float32[98], 98 intervals of 1 element (were 49 of 1)",
            "on 4 tiles (0-3); not contiguous: a vertex field is gathered from 98 places",
        ],
    ]


def test_intervals_of_several_lengths_and_none() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (5,), "x", mapping=0)
    graph.add_variable(pl.INT, (2,), "y")
    found = shown(x, "concat y 0", "0:0")
    assert captions(found, 1)[0].endswith("2 intervals of 2 to 5 elements (were 1 of 5)")
    assert "on 1 tile (0), 2 elements unmapped" in captions(found, 1)[1]
    assert "int32[0], no elements (were 2)" in captions(found, 2)[0]
    assert svg_of(found).count('class="frame"') == 3
    assert "[5, 7)    y[0, 2)   none" in text_of(found)


def test_too_many_intervals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_INTERVALS", 10)
    with pytest.raises(SizeOverflowError, match="has 24 intervals, but at most 10 can be drawn"):
        shown(plate(), "dimShuffle 1,0")


def test_text_fits_its_width() -> None:
    found = shown(plate(name="model/block4/convolution/branch2/weights"), "dimShuffle 1,0")
    for width in (60, 80, 160):
        for ascii_only in (False, True):
            text = text_of(found, Style(width=width, ascii_only=ascii_only))
            assert max(map(len, text.splitlines())) <= width
            assert text.isascii() or not ascii_only
    assert "more; -o FILE.txt" in text_of(found)
    assert "more; -o FILE.txt" not in text_of(found, Style(full=True))


def test_svg_draws_an_element_each_and_a_ribbon_for_each_interval() -> None:
    found = shown(plate(), "dimShuffle 1,0")
    root = ET.fromstring(svg_of(found))
    _, turned = (g for g in root.iter(f"{SVG}g") if g.attrib["class"] == "frame")
    tips = [title.text for title in turned.iter(f"{SVG}title")]
    assert tips[:3] == [
        "element 0 of x, tile 0",
        "element 6 of x, tile 1",
        "element 12 of x, tile 2",
    ]
    assert len(tips) == 24
    ribbons = [p for p in turned.iter(f"{SVG}path") if p.attrib["class"].startswith("ribbon")]
    assert len(ribbons) == 24
    assert "data-key" not in svg_of(found)


def frames_in(picture: str) -> list[ET.Element]:
    """The frames of an SVG."""
    return [g for g in ET.fromstring(picture).iter(f"{SVG}g") if g.get("class") == "frame"]


def kinds_in(frame: ET.Element, group: int) -> list[str]:
    """Classes of the rectangles of a group: of the result, of it in its order, or of the strip."""
    groups = [g for g in frame.iter(f"{SVG}g") if g.get("class") in ("seam", "flush")]
    return [rect.get("class", "") for rect in groups[group].iter(f"{SVG}rect")]


def test_large_frames_are_drawn_by_tile_and_many_ribbons_together() -> None:
    picture = svg_of(shown(plate(90, 100), "0:10", "dimShuffle 1,0"))
    assert picture.count("ribbons are drawn as 64 parts") == 1  # 1,000 intervals
    whole, *_ = frames_in(picture)
    tips = [tip.text or "" for tip in whole.iter(f"{SVG}title")]
    parts = [2, 2, 2, 2]  # rows, and a row that two tiles share
    assert [tip.partition(":")[0] for tip in tips] == [
        f"tile {tile}" for tile, count in enumerate(parts) for _ in range(count)
    ]
    written = [text.text for text in whole.iter(f"{SVG}text")]
    assert {"0", "1", "2", "3"} <= set(written)
    assert len(picture) < 300_000


def test_tiles_have_one_colour_in_all_frames_and_neighbours_differ() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    x = graph.add_variable(pl.FLOAT, (128, 128), "a")
    for tile in range(16):
        row, column = 32 * (tile // 4), 32 * (tile % 4)
        graph.set_tile_mapping(x[row : row + 32, column : column + 32], tile)
    first, same = frames_in(svg_of(shown(x, "...")))
    blocks = kinds_in(first, 0)
    assert len(blocks) == 16
    assert all(blocks[k] != blocks[k + 1] for k in range(15) if k % 4 < 3)
    assert all(blocks[k] != blocks[k + 4] for k in range(12))
    assert kinds_in(same, 0) == blocks
    assert kinds_in(first, 1) == kinds_in(first, 2)  # the result in its order, and the variable
    assert kinds_in(first, 2)[:4] == blocks[:4]


def test_tiles_in_small_pieces_are_shown_in_order_by_the_ramp() -> None:
    x = pl.Graph(pl.Target(tiles=1000)).add_variable(pl.FLOAT, (100, 100), "x", mapping="linear")
    picture = svg_of(shown(x, "reverse 0", "reverse 1"))
    before, _, after = frames_in(picture)
    steps = [[int(kind[1:]) for kind in kinds_in(frame, 0)] for frame in (before, after)]
    assert steps[0] == sorted(steps[0])
    assert steps[1] == sorted(steps[1], reverse=True)
    assert set(steps[0]) == set(steps[1]) == set(range(12))
    assert "tiles 0 to 999" in [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]


def test_any_tensor_is_drawn_after_its_variables() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (2, 6), "y", mapping=3)
    joined = pl.concat([x[::2], y], 0)
    found = frames.frames_of_tensors([joined, x.T])
    made = ["x", "y", "concat(['x'[::2], 'y'])", "'x'.T"]
    assert [frame.operation for frame in found.frames] == made
    assert [frame.num_intervals for frame in found.frames] == [1, 1, 3, 24]
    text = regions_text([joined, x.T], width=60)
    assert "[12, 24)  y[0, 12)   3" in text
    assert "(were" not in text
    assert max(map(len, text.splitlines())) <= 60
    assert regions_svg(joined).count('class="frame"') == 3
    assert len(frames.frames_of_tensors([x]).frames) == 1  # it is its variable


def test_tensors_of_one_graph_are_drawn_together() -> None:
    with pytest.raises(PopliteError, match="tensors of one graph"):
        regions_text([plate(), plate()])
    with pytest.raises(PopliteError, match="tensors of one graph"):
        regions_svg([])
    with pytest.raises(PopliteError, match="pass .*a list of tensors"):
        regions_svg(["x"])  # type: ignore[list-item]


class Sum(pl.Vertex):
    """Reads a vector and a list, and writes one."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Leave everything as it is."""


def field(words: str) -> FieldCopies:
    """What is said of a field of a graph in which tile k has the rows 4k to 4k + 4 of x."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (16, 8), "x", mapping="linear")
    columns = graph.add_variable(pl.FLOAT, (4, 4), "columns")
    for tile in range(4):
        graph.set_tile_mapping(columns[:, tile], tile)
    work = graph.add_compute_set("my.work")
    graph.add_vertex(work, Sum, tile=1, x=x[4], rows=x[2:6, 1:3], out=columns[:, 1])
    graph.add_vertex(work, Sum, tile=1, x=x[4:6, 3], rows=[x[0], x[1]], out=columns[1])
    graph.add_vertex(work, Sum, tile=2, x=x[0], rows=x[8:9], out=columns[:2, :2].flatten())
    found = frames_of_field(graph, words).field
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("words", "places", "away", "copied"),
    [
        ("my.work#0.x", (1,), 0, 0),
        ("my.work.x", (1,), 0, 0),
        ("my.work#1.x", (2,), 0, 8),  # two elements of its tile that lie apart
        ("my.work#2.x", (1,), 32, 0),  # all from another tile: it lands in its order
        ("my.work#0.rows", (1, 1, 1, 1), 16, 0),  # two rows of its tile, two of another
        ("my.work#0.out", (1,), 0, 0),  # a column, and all that its tile has: consecutive there
        ("my.work#1.out", (4,), 12, 4),
        ("my.work#2.out", (4,), 16, 0),
    ],
)
def test_fields_tell_the_copies_they_force(
    words: str, places: tuple[int, ...], away: int, copied: int
) -> None:
    found = field(words)
    assert found.places == places
    assert (found.bytes_on_other_tiles, found.bytes_copied_on_tile) == (away, copied)


def test_fields_are_told_in_sentences() -> None:
    assert field("my.work#0.x").lines() == [
        "Sum on tile 1 reads 32 B as 1 edge",
        "nothing is copied: it is used where it lies",
    ]
    assert field("my.work#1.out").lines() == [
        "Sum on tile 1 writes 16 B as 1 edge",
        "it is gathered from 4 places",
        "12 B go to other tiles (0, 2-3)",
        "4 B are copied on tile 1, as they lie apart",
    ]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("my.wrok#0.x", r"no compute set 'my.wrok' \(did you mean 'my.work'\?\)"),
        ("my.work#3.x", "compute set 'my.work' has no vertex 3"),
        ("my.work#0.rose", r"Sum has no edge field 'rose' \(did you mean 'rows'\?\)"),
        ("x", "no compute set ''"),
    ],
)
def test_unknown_fields_are_refused(words: str, match: str) -> None:
    with pytest.raises(UnknownName, match=match):
        field(words)


def test_a_field_of_a_large_variable_is_drawn_near_its_elements() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (1000, 8), "x", mapping="linear")
    graph.add_vertex(graph.add_compute_set("work"), Sum, tile=1, x=x[500:502, 3])
    picture = svg_of(frames_of_field(graph, "work.x"))
    assert "x: elements 4,000 to 4,014 of 8,000" in picture


def test_a_page_has_keys_and_no_markup_of_names() -> None:
    page = RegionsPicture(shown(plate(name="</script><b>"), "1:3")).page("poplite-viz regions ...")
    assert "<b>" not in page
    assert page.count("</script>") == 3  # the JSON, and two scripts
    keys = re.findall(r'class="element" data-key="(\d+)"', page)
    assert keys == [str(k) for k in [*range(24), *range(6, 18)]]
    assert "prefers-reduced-motion" in page


# -- a view as text --------------------------------------------------------------------------------


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@st.composite
def views(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Index, ...]]:
    """A shape, and an index for some of its axes."""
    shape = draw(shapes)
    ends = st.none() | st.integers(-8, 8)
    entries: list[Index] = [
        draw(
            st.integers(-extent, extent - 1)
            | st.builds(slice, ends, ends, st.none() | st.sampled_from([1, 2, 3, -1, -2]))
        )
        for extent in shape[: draw(st.integers(0, len(shape)))]
    ]
    if draw(st.booleans()) and entries:
        entries[draw(st.integers(0, len(entries) - 1))] = ...
    return shape, tuple(entries) or (...,)


def spelled(entry: Index) -> str:
    """Write an index entry as a user would."""
    if isinstance(entry, slice):
        parts = ["" if n is None else str(n) for n in (entry.start, entry.stop, entry.step)]
        return ":".join(parts if parts[2] else parts[:2])
    return "..." if entry is ... else str(entry)


@given(views())
def test_selects_what_numpy_selects(case: tuple[tuple[int, ...], tuple[Index, ...]]) -> None:
    shape, index = case
    expected = np.arange(np.prod(shape)).reshape(shape)[index]
    text = ", ".join(spelled(entry) for entry in index)
    if not expected.size:
        with pytest.raises(TensorIndexError, match="selects no element"):
            select(shape, text)
        return
    for view in (index, text):
        chosen = select(shape, view)
        assert chosen.shape == expected.shape
        pieces = [np.arange(b, b + n) for b, n in zip(chosen.begin, chosen.length, strict=True)]
        assert np.array_equal(np.concatenate(pieces), np.sort(expected, axis=None))
        assert (chosen.begin[1:] > chosen.begin[:-1] + chosen.length[:-1]).all()  # maximal


def test_whole_rows_are_one_run() -> None:
    assert select((10**6, 100), "1000:900000").length.tolist() == [899_000 * 100]


def test_reads_spaces_and_signs() -> None:
    assert parse_view(" -3 , : , 1 : -1 : 2 ") == (-3, slice(None), slice(1, -1, 2))


@pytest.mark.parametrize(
    ("view", "match"),
    [
        ("", "'' is not an index"),
        ("x:y", "'x' is neither an integer nor a slice"),
        ("1.5", r"'1\.5' is neither"),
        ("True", "'True' is neither"),
        ("[1, 2]", r"'\[1, 2\]' is neither"),
        ("None", "'None' is neither"),
        ("1][0", "is not an index"),
        ("__import__('os')", "is neither an integer nor a slice"),
        ("2:5 ::2", "is not an index"),
        ("\x00", "is not an index"),
        ("::0", "has a step of 0"),
        ("9, 0", r"index 9 in dimension 0 of size 4(.|\n)*shape is \[4, 6\](.|\n)*from -4 to 3"),
        ("0, -7", "index -7 in dimension 1 of size 6"),
        ("0, 1, 2", "3 indices for a tensor of rank 2"),
        ("..., ...", "occurs 2 times"),
        ("3:3", "selects no element"),
        ("100:200", "selects no element"),
    ],
)
def test_bad_views_say_what_is_wrong(view: str, match: str) -> None:
    with pytest.raises(TensorIndexError, match=match):
        select((4, 6), view)


def test_views_of_large_tensors() -> None:
    shape = (10**6, 10**6)
    for view, begin, length in (
        (":", 0, 10**12),
        ("::-1, :", 0, 10**12),
        ("5:, :", 5 * 10**6, 10**12 - 5 * 10**6),
        ("7, 3:999_999", 7 * 10**6 + 3, 10**6 - 4),
    ):
        chosen = select(shape, view)
        assert (chosen.begin.tolist(), chosen.length.tolist()) == ([begin], [length])
    chosen = select((10**12,), f"9:{10**11}")
    assert (chosen.begin.tolist(), chosen.length.tolist()) == ([9], [10**11 - 9])
    with pytest.raises(TensorIndexError, match=r"is 500,000,000,000 pieces, but at most 16,777,21"):
        select(shape, ":, ::2")
    with pytest.raises(TensorIndexError, match="is 500,000,000,000 pieces"):
        select((10**12,), "::2")


def test_a_scalar_is_selected_by_an_ellipsis() -> None:
    chosen = select((), "...")
    assert (chosen.begin.tolist(), chosen.length.tolist(), chosen.shape) == ([0], [1], ())
