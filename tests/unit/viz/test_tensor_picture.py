"""The tensor picture: who owns what, in text and SVG."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from helpers.depth import examples
from poplite import FLOAT, INT, Target, TensorIndexError
from poplite.arrays.intervals import Int64
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.viz import tensor_svg, tensor_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.words import DEFAULT_STYLE, Style
from poplite.viz.tensors.flat_page import (
    MIXED,
    MOST_RECTANGLES,
    Page,
    Rectangles,
    coarse,
    fold,
    rectangles,
    tick_step,
)
from poplite.viz.tensors.ownership import (
    Ownership,
    ownership_of,
    tile_rows,
)
from poplite.viz.tensors.views import select

SVG = "{http://www.w3.org/2000/svg}"


def owned(tiles: npt.ArrayLike, view: str | None = None) -> Ownership:
    """A float32 tensor whose elements lie on these tiles."""
    array = np.asarray(tiles, np.int64)
    flat = array.ravel()
    begin = np.flatnonzero(np.diff(flat, prepend=flat[:1] - 1))
    length = np.diff(np.append(begin, len(flat)))
    chosen = None if view is None else select(array.shape, view)
    return Ownership("v", "float32", 4, array.shape, begin, length, flat[begin], chosen)


def text_of(owned: Ownership, style: Style = DEFAULT_STYLE) -> str:
    """The picture as text."""
    return owned.text(style)


def svg_of(owned: Ownership) -> SvgText:
    """The picture as SVG."""
    return owned.svg()


def blocks(rows: int, columns: int, down: int, across: int) -> npt.NDArray[np.int64]:
    """Tiles of a block mapping."""
    row = np.arange(rows)[:, None] * down // rows
    return row * across + np.arange(columns) * across // columns


def weights() -> Tensor:
    """A tensor in 2 x 2 blocks on tiles 0 to 3, its last column on none."""
    graph = Graph(Target(tiles=8))
    tensor = graph.add_variable(FLOAT, (4, 9), "weights")
    for tile in range(4):
        row, column = divmod(tile, 2)
        block = tensor[2 * row : 2 * row + 2, 4 * column : 4 * column + 4]
        graph.set_tile_mapping(block, tile)
    return tensor


def body(text: str) -> list[str]:
    """Lines of the picture, between its bars."""
    return [line.split("│", 1)[1][:-1] for line in text.splitlines() if line.endswith("│")]


def test_ownership_of_a_tensor_and_of_its_variable_agree() -> None:
    tensor = weights()
    by_tensor = ownership_of(tensor)
    by_variable = ownership_of(tensor.graph.tensor("weights"))
    assert by_tensor.begin.tolist() == by_variable.begin.tolist()
    assert by_tensor.tile.tolist() == by_variable.tile.tolist()
    assert by_tensor.tile.tolist()[:3] == [0, 1, -1]
    assert by_tensor.title == "'weights' float32[4, 9]"
    assert by_tensor.placement() == "on 4 tiles (0-3), 144 B, 4 elements unmapped"


def test_ownership_of_a_view_is_in_the_order_of_the_view() -> None:
    found = ownership_of(weights().T[:2])
    assert found.shape == (2, 4)
    assert np.repeat(found.tile, found.length).reshape(2, 4).tolist() == [[0, 0, 2, 2]] * 2


def test_text_draws_equal_rows_once() -> None:
    text = tensor_text(weights())
    assert [line.split() for line in body(text)] == [
        ["0", "│1", "│///////"],
        ["2", "│3", "│///////"],
    ]
    assert [line.split("│")[0].strip() for line in text.splitlines() if line.endswith("│")] == [
        "0",
        "2",
    ]


def test_text_marks_the_view() -> None:
    text = tensor_text(weights(), "1:3, 2:6")
    assert "view [1:3, 2:6]: shape [2, 4], 8 elements on 4 tiles (0-3)" in text
    seen = [line.count("█") for line in body(text)]
    assert seen == [0, 30, 30, 0]  # four elements of 8 columns, less a bar and a number
    assert "█ in the view" in text


def test_text_shortens_runs_of_tiles_without_room() -> None:
    lines = body(text_of(owned(np.arange(1472)[None, :].repeat(2, 0))))
    assert len(lines) == 1
    labels = [label.strip() for label in lines[0].split("│")]
    ends = [tuple(map(int, label.split("-"))) for label in labels]
    assert ends[0][0] == 0
    assert ends[-1][1] == 1471
    assert all(a[1] + 1 == b[0] for a, b in zip(ends[:-1], ends[1:], strict=True))


def test_text_counts_tiles_that_are_no_series() -> None:
    assert "tiles" in body(text_of(owned(np.arange(640)[None, :] * 7 % 64)))[0]


def test_long_pictures_are_cut_with_a_notice_unless_full() -> None:
    rows = owned(np.arange(1000)[:, None] % 3 + np.zeros(64, np.int64))
    assert "... 961 more lines, from 39 on; -o FILE.txt writes them all" in text_of(rows)
    assert len(body(text_of(rows, Style(full=True)))) == 1000


def test_long_pictures_are_cut_around_the_view() -> None:
    rows = owned(np.arange(1000)[:, None] % 3 + np.zeros(64, np.int64), "500:503, 8:16")
    lines = text_of(rows).splitlines()
    first = lines.index("... 497 lines before")
    assert [line.split("│")[0].strip() for line in lines[first + 1 : first + 5]] == [
        "497",
        "498",
        "499",
        "500",
    ]
    assert "█" in lines[first + 4]
    last = text_of(owned(np.arange(100)[:, None] % 3 + np.zeros(64), "99"))
    assert "... 60 lines before" in last


def test_long_tables_keep_the_tiles_in_the_view() -> None:
    tiles = owned(np.tile(np.arange(200), 3) * 7 % 200, "0:3")
    text = text_of(tiles)
    table = text[text.index("intervals") :].splitlines()
    assert [line.split()[0] for line in table[1:5]] == ["0", "7", "14", "1-3"]


def test_tiles_with_moved_intervals_share_a_line() -> None:
    table = text_of(owned(blocks(4, 8, 2, 4))).splitlines()[-2:]
    assert [re.split(r"\s{2,}", line.strip()) for line in table] == [
        ["0-3", "4 each", "16 B", "[0, 2) [8, 10), then +2 a tile"],
        ["4-7", "4 each", "16 B", "[16, 18) [24, 26), then +2 a tile"],
    ]


def test_tiles_one_after_the_other_share_a_line() -> None:
    table = text_of(owned(np.arange(1000) * 30 // 1000, "200:400")).splitlines()[-3:]
    assert [re.split(r"\s{2,}", line.strip()) for line in table] == [
        ["0-5", "33-34 each", "132-136 B", "0", "[0, 200) end to end"],
        ["6-11", "33-34 each", "132-136 B", "33-34", "[200, 400) end to end"],
        ["12-29", "33-34 each", "132-136 B", "0", "[400, 1,000) end to end"],
    ]


def test_long_tables_are_cut_with_a_notice_unless_full() -> None:
    tiles = owned(np.repeat(np.arange(200)[::-1], np.arange(200) % 7 + 1))
    text, full = text_of(tiles), text_of(tiles, Style(full=True))
    assert re.search(r"\.\.\. \d+ more rows; -o FILE\.txt", text)
    assert "more rows" not in full
    assert "\n 199         1    4 B  [0, 1)\n" in full


def test_the_table_gives_intervals_elements_and_bytes() -> None:
    lines = tensor_text(weights(), "0, :5").splitlines()
    table = lines[next(k for k, line in enumerate(lines) if "intervals" in line) :]
    assert [line.split(maxsplit=5) for line in table] == [
        ["tile", "elements", "bytes", "in", "view", "intervals"],
        ["0", "8", "32", "B", "4", "[0, 4) [9, 13)"],
        ["1", "8", "32", "B", "1", "[4, 8) [13, 17)"],
        ["2", "8", "32", "B", "0", "[18, 22) [27, 31)"],
        ["3", "8", "32", "B", "0", "[22, 26) [31, 35)"],
        ["none", "4", "16", "B", "0", "[8, 9) [17, 18) [26, 27) [35, 36)"],
    ]


tilings = st.lists(
    st.tuples(st.integers(1, 40), st.integers(-1, 1500)), min_size=1, max_size=30
).map(lambda pieces: np.concatenate([np.full(n, tile) for n, tile in pieces]))


@given(tilings)
def test_table_rows_hold_every_element_once(tiles: npt.NDArray[np.int64]) -> None:
    found = np.full(len(tiles), -9)
    for row in tile_rows(owned(tiles)):
        for begin, length in zip(row.begin, row.length, strict=True):
            assert (found[begin : begin + length] == -9).all()
            found[begin : begin + length] = row.tile
    assert np.array_equal(found, tiles)


@st.composite
def cases(draw: st.DrawFn) -> Ownership:
    """A tensor of up to three axes on arbitrary tiles, often with a view."""
    tiles = draw(tilings)
    shape = draw(
        st.sampled_from(
            [
                tiles.shape,
                (1, len(tiles)),
                (len(tiles), 1),
                (len(tiles) // 2 or 1, 2),
                (2, len(tiles) // 6 or 1, 3),
                (len(tiles) // 4 or 1, 4),
            ]
        )
    )
    view = draw(st.sampled_from([None, "...", "0", "-1", "::2", "..., ::3", "0:5, ...", "..., 0"]))
    return owned(np.resize(tiles, shape), view)


@examples(150)
@given(cases(), st.integers(60, 120))
def test_text_fits_the_width(case: Ownership, width: int) -> None:
    for full in (False, True):
        text = text_of(case, Style(width=width, full=full))
        assert max(map(len, text.splitlines())) <= width


@given(cases())
def test_colour_is_only_added_and_ascii_is_ascii(case: Ownership) -> None:
    colored = text_of(case, style=Style(color=True))
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text_of(case)
    assert text_of(case, style=Style(ascii_only=True)).isascii()


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_a_tensor_without_elements_is_drawn(shape: tuple[int, ...]) -> None:
    tensor = Graph().add_variable(INT, shape, "empty")
    assert tensor_text(tensor).splitlines()[1] == "on no tile, 0 B"
    assert "no elements" in tensor_svg(tensor)


def test_svg_names_every_block_in_a_tooltip() -> None:
    tips = [tip.text for tip in ET.fromstring(tensor_svg(weights())).iter(f"{SVG}title")]
    assert tips == [
        "tile 0: [0:2, 0:4], 8 elements",
        "tile 1: [0:2, 4:8], 8 elements",
        "no tile: [0:4, 8:9], 4 elements",
        "tile 2: [2:4, 0:4], 8 elements",
        "tile 3: [2:4, 4:8], 8 elements",
    ]


def drawn_rectangles(picture: str) -> list[tuple[str, float, float, float, float]]:
    """Class, x, y, width and height of the rectangles that stand for elements."""
    root = ET.fromstring(picture)
    group = next(g for g in root.iter(f"{SVG}g"))
    found = []
    for rect in group.iter(f"{SVG}rect"):
        x, y, width, height = (float(rect.attrib[s]) for s in ("x", "y", "width", "height"))
        found.append((rect.attrib["class"], x, y, width, height))
    return found


def test_svg_rectangles_tile_the_plot() -> None:
    found = drawn_rectangles(svg_of(owned(blocks(64, 128, 4, 4))))
    assert len(found) == 16
    assert sum(w * h for *_, w, h in found) == pytest.approx(760 * 460, rel=1e-3)


def test_svg_gives_neighbouring_tiles_different_colours() -> None:
    drawn = drawn_rectangles(svg_of(owned(blocks(64, 96, 8, 6))))  # 6 columns of 6 colours
    assert len(drawn) == 48
    color = {(round(x), round(y)): kind for kind, x, y, *_ in drawn}
    left, top = min(color)
    width, height = round(drawn[0][3]), round(drawn[0][4])
    places = {
        (round((x - left) / width), round((y - top) / height)): c for (x, y), c in color.items()
    }
    assert set(places.values()) == {f"c{k}" for k in range(6)}
    for (column, row), kind in places.items():
        assert kind not in (places.get((column + 1, row)), places.get((column, row + 1)))


def test_svg_shows_tiles_in_small_pieces_by_the_ramp() -> None:
    plate = Graph(Target(tiles=1000)).add_variable(FLOAT, (100, 100), "x", mapping="linear")
    drawn = drawn_rectangles(tensor_svg(plate))
    assert {kind for kind, *_ in drawn} == {f"q{k}" for k in range(12)}


def test_svg_gives_up_to_six_tiles_a_colour_each() -> None:
    kinds = {kind for kind, *_ in drawn_rectangles(svg_of(owned(blocks(4, 6, 2, 3) + 40)))}
    assert kinds == {f"c{k}" for k in range(6)}


def test_svg_hatches_what_has_no_tile() -> None:
    assert "unmapped" in {kind for kind, *_ in drawn_rectangles(tensor_svg(weights()))}


def outline(picture: str) -> str:
    """The path that encloses the view."""
    paths = ET.fromstring(picture).iter(f"{SVG}path")
    return next(p.attrib["d"] for p in paths if p.attrib["class"].startswith("mark"))


def test_svg_outlines_each_part_of_the_view() -> None:
    picture = svg_of(owned(blocks(4, 12, 1, 4), "1:3, ::4"))
    assert outline(picture).count("M") == 3
    column = 30
    x, y = re.findall(r"M([\d.]+) ([\d.]+)h30v60", outline(picture))[1]
    first = drawn_rectangles(picture)[0]
    assert (float(x), float(y)) == (first[1] + 4 * column, first[2] + column)


def test_svg_numbers_every_tile_also_where_the_view_covers_all_of_it() -> None:
    picture = svg_of(owned(blocks(66, 98, 4, 4), "0:20, ::2"))
    found = [t for t in ET.fromstring(picture).iter(f"{SVG}text") if t.text in list("0123")]
    classes = [t.attrib["class"] for t in found if t.attrib["class"].endswith(("halo", "ink mid"))]
    assert classes == ["mid halo", "ink mid"] * 4  # the halo is drawn first, as a text of its own
    assert {t.text for t in found} == set("0123")
    assert "halo" not in re.sub(r"(?s)<style>.*</style>", "", svg_of(owned(blocks(66, 98, 4, 4))))


NAME = "two\nlines\t\x1b<&\x00"
SHOWN = r"two\nlines\t\x1b<&\x00"


def test_a_name_that_cannot_be_printed_is_escaped() -> None:
    tensor = Graph(Target(tiles=2)).add_variable(FLOAT, (4,), NAME, mapping=0)
    text = tensor_text(tensor, "0:\n2")
    assert text.splitlines()[:3] == [
        f"'{SHOWN}' float32[4]",
        "on 1 tile (0), 16 B",
        "view [0: 2]: shape [2], 2 elements on 1 tile (0)",
    ]
    root = ET.fromstring(tensor_svg(tensor, "0:\n2"))
    assert root.attrib["aria-label"] == f"'{SHOWN}' float32[4]"
    assert next(root.iter(f"{SVG}text")).text == f"'{SHOWN}' float32[4]"


def test_svg_encloses_a_view_too_fine_to_draw() -> None:
    picture = svg_of(owned(np.zeros((4, 4000)), ":, ::2"))
    assert outline(picture).count("M") == 1
    assert "parts are too fine to draw" in picture


def test_svg_draws_many_parts_in_larger_cells() -> None:
    tiles = blocks(2000, 2000, 4, 4)
    tiles[::2, ::500] = 99  # 4,000 specks
    picture = svg_of(owned(tiles))
    assert len(drawn_rectangles(picture)) <= MOST_RECTANGLES
    assert "separate parts: drawn in cells of about 42 x 25 elements" in picture
    assert "several tiles" in picture


def test_svg_draws_the_first_part_of_what_has_no_large_parts() -> None:
    picture = svg_of(owned(np.arange(10**6) % 1472, "999999"))
    assert "1,000,000 separate parts: only the first" in picture
    assert "the view lies outside what is drawn" in picture
    assert "wrapped every 2,048 elements" in picture
    assert len(picture.encode()) < 400_000


def test_huge_tensors_are_drawn_from_their_runs() -> None:
    tensor = Graph().add_variable(FLOAT, (10**6, 10**3), "huge", mapping="linear")
    picture = tensor_svg(tensor, "1000:900000")
    assert len(picture.encode()) < 400_000
    assert "899,000,000 elements" in picture
    assert "[900,135,869, 1,000,000,000) end to end" in tensor_text(tensor, "1000:900000")


@examples(150)
@given(cases())
def test_svg_labels_lie_in_the_picture_and_apart(case: Ownership) -> None:
    root = ET.fromstring(svg_of(case))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    placed: list[tuple[float, float, float, float]] = []
    for text in root.iter(f"{SVG}text"):
        if "aria-hidden" in text.attrib:  # the halo of the label that follows
            continue
        kinds = text.attrib["class"].split()
        size = 15 if "head" in kinds else 12 if "line" in kinds else 11
        wide = 0.5 * size * len(text.text or "")  # a little less than estimated: ends may touch
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        left = x - (wide / 2 if "mid" in kinds else wide if "end" in kinds else 0)
        assert left >= 0
        assert left + wide <= width
        assert size * 0.8 <= y <= height
        placed.append((left, y - 0.7 * size, left + wide, y))
    for k, (left, top, right, bottom) in enumerate(placed):
        for other in placed[:k]:
            apart = other[2] <= left or right <= other[0] or other[3] <= top or bottom <= other[1]
            assert apart


def test_a_view_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TensorIndexError, match="index 4 in dimension 0 of size 4"):
        tensor_svg(weights(), "4")
    with pytest.raises(TensorIndexError, match="3 indices for a tensor of rank 2"):
        tensor_text(weights(), (0, slice(None), 1))


# -- a tensor folded onto a page -------------------------------------------------------------------


shapes = st.lists(st.integers(1, 7), max_size=4).map(tuple)


def runs(flat: Int64) -> tuple[Int64, Int64, Int64]:
    """Return begin, length and value of the runs of equal neighbours."""
    begin = np.flatnonzero(np.diff(flat, prepend=flat[0] - 1))
    return begin, np.diff(np.append(begin, len(flat))), flat[begin]


def painted(found: Rectangles, rows: int, columns: int) -> Int64:
    """Paint rectangles; fail where two overlap."""
    page = np.full((rows, columns), -9)
    for t, b, lo, hi, value in zip(
        found.top, found.bottom, found.left, found.right, found.value, strict=True
    ):
        assert (page[t:b, lo:hi] == -9).all()
        page[t:b, lo:hi] = value
    return page


@st.composite
def pages(draw: st.DrawFn) -> tuple[Int64, Page]:
    """Tiles of each element, and the page that their tensor folds to."""
    page = fold(draw(shapes))
    count = math.prod(page.shape)
    pieces = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 3)), min_size=1))
    flat = np.concatenate([np.full(n, tile) for n, tile in pieces])
    return np.resize(flat, count), page


@given(pages())
def test_every_element_lies_in_a_rectangle_of_its_tile(case: tuple[Int64, Page]) -> None:
    flat, page = case
    found = painted(rectangles(*runs(flat), page.columns), page.rows, page.columns)
    assert np.array_equal(found.ravel()[: len(flat)], flat)
    assert (found.ravel()[len(flat) :] == -9).all()


@given(pages())
def test_rectangles_are_joined_downwards_and_sorted(case: tuple[Int64, Page]) -> None:
    flat, page = case
    found = rectangles(*runs(flat), page.columns)
    sides = zip(found.top, found.bottom, found.left, found.right, found.value, strict=True)
    described = [tuple(map(int, side)) for side in sides]
    starts = {(t, lo, hi, value) for t, _, lo, hi, value in described}
    assert not any((b, lo, hi, value) in starts for _, b, lo, hi, value in described)
    assert [(t, lo) for t, _, lo, *_ in described] == sorted((t, lo) for t, _, lo, *_ in described)


def test_whole_rows_are_one_rectangle() -> None:
    found = rectangles(np.array([3]), np.array([20]), np.array([7]), columns=8)
    assert list(zip(found.top, found.bottom, found.left, found.right, strict=True)) == [
        (0, 1, 3, 8),
        (1, 2, 0, 8),
        (2, 3, 0, 7),
    ]


@given(pages(), st.integers(1, 5), st.integers(1, 5))
def test_coarse_cells_show_the_tile_of_all_their_elements(
    case: tuple[Int64, Page], down: int, across: int
) -> None:
    flat, page = case
    down, across = min(down, page.rows), min(across, page.columns)
    found = coarse(rectangles(*runs(flat), page.columns), page.rows, page.columns, (down, across))
    expected = np.full((down, across), -9)
    for element, tile in enumerate(flat.tolist()):
        r, c = divmod(element, page.columns)
        cell = r * down // page.rows, c * across // page.columns
        expected[cell] = tile if expected[cell] in (-9, tile) else MIXED
    assert np.array_equal(painted(found, down, across), expected)


@given(pages(), st.integers(1, 5), st.integers(1, 5))
def test_clipping_keeps_the_corner(case: tuple[Int64, Page], rows: int, columns: int) -> None:
    flat, page = case
    rows, columns = min(rows, page.rows), min(columns, page.columns)
    whole = rectangles(*runs(flat), page.columns)
    expected = painted(whole, page.rows, page.columns)[:rows, :columns]
    assert np.array_equal(painted(whole.clipped(rows, columns), rows, columns), expected)


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((), 1, 1),
        ((1,), 1, 1),
        ((32,), 1, 32),
        ((64,), 4, 16),
        ((8192,), 64, 128),
        ((64, 128), 64, 128),
        ((1000, 3), 1000, 3),
        ((2, 3, 40), 6, 40),
        ((427, 640, 4), 427, 2560),
    ],
)
def test_shapes_fold_to_readable_pages(shape: tuple[int, ...], rows: int, columns: int) -> None:
    page = fold(shape)
    assert (page.rows, page.columns) == (rows, columns)


@given(shapes)
def test_rows_are_labelled_by_the_index_they_begin_with(shape: tuple[int, ...]) -> None:
    page = fold(shape)
    for row in range(page.rows):
        if page.leading < 0:
            assert page.row_label(row) == str(row * page.columns)
            continue
        index = np.unravel_index(row * page.columns, shape)[: page.leading]
        assert page.row_label(row) == ", ".join(str(i) for i in index)


@given(shapes.filter(lambda shape: len(shape) > 1), st.data())
def test_places_are_indices_of_the_rectangle(shape: tuple[int, ...], data: st.DataObject) -> None:
    page = fold(shape)
    top = data.draw(st.integers(0, page.rows - 1))
    bottom = data.draw(st.integers(top + 1, page.rows))
    left = data.draw(st.integers(0, page.columns - 1))
    right = data.draw(st.integers(left + 1, page.columns))
    place = page.place(top, bottom, left, right)
    elements = np.arange(math.prod(shape)).reshape(shape)
    expected = elements.reshape(page.rows, page.columns)[top:bottom, left:right]
    if place.startswith("["):
        parts = [part.strip().split(":") for part in place[1:-1].split(",")]
        index = tuple(slice(*(int(end) if end else None for end in part)) for part in parts)
        assert np.array_equal(elements[index].ravel(), expected.ravel())
    else:
        assert place == f"rows {top}-{bottom - 1}, columns {left}-{right - 1}"


@given(st.integers(1, 10**6), st.integers(1, 100))
def test_ticks_have_room(extent: int, at_most: int) -> None:
    step = tick_step(extent, at_most)
    assert -(-extent // step) <= at_most
    assert step <= 2 * max(1, 2.5 * extent / at_most)
