"""Painters: every mark in every width, what gives way, and what stands for several."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from poplite.viz.colours import (
    DARK,
    LIGHT,
    MEMORY,
    PHASES,
    TIME,
    WAITING,
    Role,
    category_role,
    color_of,
)
from poplite.viz.draw.words import Style, cells
from poplite.viz.marks import (
    BarPart,
    FactList,
    Gap,
    Histogram,
    Legend,
    LengthStrip,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Matrix,
    Picture,
    Shades,
    ShadeScale,
    Sketch,
    StackedBars,
    StripPart,
    TileCells,
    TimeLanes,
    Words,
    heading,
)
from poplite.viz.paint_html import asset
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text

COMPUTE, COPY = PHASES["compute"], PHASES["copy"]
NAME = "model/block4/attention/scores <b>\n"


def listing(**row: object) -> Listing:
    """Three rows of numbers, a name and a bar."""
    columns = (
        ListColumn("#"),
        ListColumn("cycles"),
        ListColumn("times", spare=1),
        ListColumn("balance", spare=2),
        ListColumn("step", "name", most=40),
        ListColumn("", "bar", least=10),
    )
    first = ListRow(("1", "37,116", "6", "53.6%", "turn", ((COMPUTE, 30), (COPY, 10))))
    second = ListRow(("2", "9,279", "60", "9.6%", "a long name" * 4, ((COPY, 10),)), tip="all")
    third = ListRow(("3", "0", "0", "0.0%", "nothing", ()), tone="soft")
    return Listing(columns, (replace(first, **row), second, third))  # type: ignore[arg-type]


def bars(tiles: int = 6, limit: int | None = 100) -> StackedBars:
    """Tiles that need more the higher their number, with one far above all."""
    sizes = np.arange(tiles)
    sizes[tiles // 2] = max(150, 2 * tiles)
    parts = BarPart(MEMORY["code"], sizes), BarPart(MEMORY["stacks"], sizes * 0 + 5)
    return StackedBars(parts, np.arange(tiles), ("0", "tile", f"{tiles - 1}"), limit)


def lanes() -> TimeLanes:
    """Two lanes of two states, the second one blank."""
    return TimeLanes(
        ("0-3", "4-7"),
        lambda columns: np.array([[0] * columns, [1] * columns], np.uint8),
        (COMPUTE, WAITING),
        90,
        ((1, "turn", 0, "turn: all"), (2, "few", 45, "")),
        {1: "IPU 1"},
    )


SHADES = Shades(90, unit=lambda size: f"{size} B", limit="80 B")
VALUES = np.array([0, 1, 45, 90])
OVER = VALUES > 80

STRIP = LengthStrip(
    (StripPart(0, 300, COMPUTE, "turn", "turn: all"), StripPart(500, 500, COPY)), 1000, 800, 4
)

MARKS: dict[str, Mark] = {
    "strip": STRIP,
    "words": Words("a line of words that is longer than forty columns are, and so is broken"),
    "gap": Gap(),
    "legend": Legend((*PHASES.values(), WAITING)),
    "facts": FactList((("worst tile", "! " + 9 * "tile 2 needs more "), ("edges", "8"))),
    "listing": listing(),
    "bars": bars(),
    "many bars": bars(1472),
    "cells": TileCells(VALUES, OVER, [""] * 4, SHADES),
    "groups": TileCells(np.arange(144), np.arange(144) < 0, [""] * 144, Shades(143), groups=2),
    "scale": ShadeScale(SHADES),
    "scale of a matrix": ShadeScale(SHADES, 4),
    "histogram": Histogram(VALUES, SHADES),
    "lanes": lanes(),
    "matrix": Matrix(
        ("0", "1"),
        ("0", "1"),
        np.array([[0, 3], [90, 0]]),
        SHADES,
        lambda row, column: f"{row} from {column}",
        chosen=(1, 0),
    ),
    "written matrix": Matrix(
        ("fast", "a name that is longer than others are"),
        tuple(f"{k}" for k in range(20)),
        np.arange(-20, 20).reshape(2, 20),
        SHADES,
        lambda row, column: f"{row}, {column}",
        chosen=(1, 0),
        texts=lambda row, column: f"{row + column:,} cycles",
        corner="kind \\ split",
    ),
    "sketch": Sketch(
        40, 20, lambda canvas, x, y: canvas.rect(x, y, 40, 20, "c0"), lambda style: ["a box"]
    ),
}


@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("name", MARKS)
def test_every_mark_fits_every_width(name: str, width: int) -> None:
    picture = Picture(name, (MARKS[name],))
    for ascii_only in (False, True):
        text = paint_text(picture, Style(width=width, ascii_only=ascii_only))
        assert max(map(cells, text.splitlines())) <= width
        assert text.isascii() or not ascii_only
        colored = paint_text(picture, Style(width=width, ascii_only=ascii_only, color=True))
        plain = re.sub(r"\x1b\[[\d;]*m", "", colored)
        assert [line.rstrip() for line in plain.splitlines()] == text.splitlines()


@pytest.mark.parametrize("name", MARKS)
def test_every_mark_is_inside_of_its_picture(name: str) -> None:
    root = ET.fromstring(paint_svg(Picture(name, (MARKS[name],))))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for each in root.iter("{http://www.w3.org/2000/svg}rect"):
        if "x" in each.attrib:
            assert float(each.attrib["x"]) >= 0
            assert float(each.attrib["x"]) + float(each.attrib["width"]) <= width
            assert float(each.attrib["y"]) + float(each.attrib["height"]) <= height


def test_marks_follow_each_other_downwards() -> None:
    picture = Picture("all", (*heading("all", "of them"), *MARKS.values()))
    alone = [paint_svg(Picture("", (mark,))) for mark in picture.marks]
    heights = [float(ET.fromstring(each).attrib["height"]) - 40 for each in alone]
    assert float(ET.fromstring(paint_svg(picture)).attrib["height"]) == pytest.approx(
        40 + sum(heights), abs=len(heights)
    )
    assert paint_svg(picture).png()[1:4] == b"PNG"
    assert paint_svg(picture) == paint_svg(picture)


def test_names_are_escaped_and_pictures_named() -> None:
    picture = Picture(NAME, (Words(NAME, tip=NAME), listing(aside="<b>")))
    root = ET.fromstring(paint_svg(picture))
    assert root.attrib["aria-label"].startswith("model/block4/attention/scores <b>")


# -- rows ------------------------------------------------------------------------------------------


def titles(width: int) -> str:
    return paint_text(Picture("", (listing(),)), Style(width=width)).splitlines()[0]


def test_columns_give_way_in_their_order() -> None:
    assert titles(80).split() == ["#", "cycles", "times", "balance", "step"]
    assert titles(42).split() == ["#", "cycles", "balance", "step"]
    wide = listing(cells=("1", "1,234,567,116", "6", "53.6%", "turn", ()))
    assert "balance" not in paint_text(Picture("", (wide,)), Style(width=40))
    assert "1,234,567,116" in paint_text(Picture("", (wide,)), Style(width=40))


def test_bars_of_a_column_have_one_scale_and_none_is_lost() -> None:
    text = paint_text(Picture("", (listing(),)), Style(width=120))
    first, second, third = text.splitlines()[1:]
    assert first.count("█") == pytest.approx(3 * first.count("▓"), abs=2)
    assert second.count("▓") == pytest.approx((first.count("█") + first.count("▓")) / 4, abs=1)
    assert third.endswith("nothing")
    tiny = listing(cells=("1", "1", "1", "1", "turn", ((COMPUTE, 9_000_000),)))
    assert paint_text(Picture("", (tiny,))).splitlines()[2].endswith("▓")


def test_a_name_gives_way_where_it_is_said_to() -> None:
    columns = (
        ListColumn("n"),
        ListColumn("step", "name", least=20),
        ListColumn("largest", "name", spare=1, least=12),
        ListColumn("", "bar", least=8),
    )
    rows = (ListRow(("1", "Execute 'a long step'", "message", ((COPY, 10),))),)
    picture = Picture("", (Listing(columns, rows),))
    assert "message" in paint_text(picture)
    assert "message" not in paint_text(picture, Style(width=40))
    assert "▓▓▓▓▓▓▓▓" in paint_text(picture, Style(width=40))


def test_bars_of_less_are_on_the_left() -> None:
    columns = (ListColumn("step", "name"), ListColumn("", "bar", most=21, signed=True))
    rows = (
        ListRow(("less", ((COMPUTE, -40),))),
        ListRow(("more", ((COPY, 20),))),
        ListRow(("a title", ())),
    )
    picture = Picture("", (Listing(columns, rows),))
    less, more, title = paint_text(picture).splitlines()[1:]
    assert less == f"less     {'█' * 10}│"
    assert more == f"more     {' ' * 10}│{'▓' * 5}"
    assert title == "a title"
    drawn = ET.fromstring(paint_svg(picture)).iter("{http://www.w3.org/2000/svg}rect")
    left, right = (each for each in drawn if each.get("class") in ("c0", "c1"))
    middle = float(left.attrib["x"]) + float(left.attrib["width"])
    assert float(right.attrib["x"]) == pytest.approx(middle, abs=0.1)
    assert float(left.attrib["width"]) == pytest.approx(2 * float(right.attrib["width"]), abs=0.1)


def test_a_bar_without_room_is_left_out() -> None:
    columns = (ListColumn("step", "name"), ListColumn("", "bar"))
    picture = Picture("", (Listing(columns, (ListRow(("x" * 36, ((COPY, 10),))),)),))
    assert "▓" in paint_text(picture)
    assert "▓" not in paint_text(picture, Style(width=40))


def test_the_longest_names_are_cut_first() -> None:
    lines = paint_text(Picture("", (listing(),)), Style(width=60)).splitlines()
    assert "turn" in lines[1]
    assert "a long n...ong name" in lines[2] or "..." in lines[2]


def test_what_is_said_beside_gives_way_to_the_name() -> None:
    columns = (ListColumn("bytes"), ListColumn("what", "name"))
    row = ListRow(("900", "message of Execute 'scale'"), aside="(net.py:12)")
    picture = Picture("", (Listing(columns, (row,)),))
    assert paint_text(picture).splitlines()[1].endswith("'scale'  (net.py:12)")
    assert paint_text(picture, Style(width=40)).splitlines()[1].endswith("Execute 'scale'")
    assert "(net.py:12)" in paint_svg(picture)


def test_levels_are_indented() -> None:
    rows = tuple(ListRow((f"{k}", "scope"), level=k) for k in range(3))
    columns = (ListColumn("n"), ListColumn("scope", "name"))
    lines = paint_text(Picture("", (Listing(columns, rows),))).splitlines()[1:]
    assert [line.index("scope") for line in lines] == [3, 5, 7]


TREE = (
    ListColumn("n"),
    ListColumn("name", "name", keeps_aside=True),
    ListColumn("where", spare=2, least=30),
    ListColumn("helper", spare=1, least=40),
)


def tree_lines(width: int, name: str, level: int = 0) -> list[str]:
    cells_of_row = ("1", f"Copy '{name}'", "net.py:1", "layers.py:20")
    row = ListRow(cells_of_row, COMPUTE, aside="12 elements", level=level)
    return paint_text(Picture("", (Listing(TREE, (row,)),)), Style(width=width)).splitlines()


def test_numbers_behind_a_name_end_on_the_right_while_it_has_its_least() -> None:
    assert tree_lines(100, "x" * 40)[0].split() == ["n", "name", "where", "helper"]
    assert tree_lines(60, "x" * 40)[0].split() == ["n", "name", "where"]
    assert tree_lines(40, "x" * 40)[0].split() == ["n", "name"]
    for width in (60, 100):
        assert {len(line) for line in tree_lines(width, "x" * 40)} == {width}


def test_names_in_quotes_are_shortened_before_what_follows_is_left_out() -> None:
    assert "'xxxxxxxxx...xxxxxxxxx'  12 elements" in " ".join(tree_lines(54, "x" * 40))
    assert "12 elements" not in " ".join(tree_lines(40, "x" * 40, level=10))


def test_levels_beyond_the_deepest_are_counted() -> None:
    assert "+988 Copy 'x'" in tree_lines(100, "x", level=1000)[1]
    svg = paint_svg(Picture("", (Listing(TREE, (ListRow(("", "a", "", ""), level=30),)),)))
    assert ">+10 a" in svg


def test_rows_of_a_tree_are_joined() -> None:
    rows = [ListRow(("", f"{k}", "", ""), level=level) for k, level in enumerate((0, 1, 1, 2))]
    svg = paint_svg(Picture("", (Listing(TREE, tuple(rows)),)))
    (path,) = re.findall(r'<path d="(M[^"]*)" class="rule flush"', svg)
    assert (path.count("V"), path.count("h")) == (2, 3)


def test_a_legend_of_colours_alone_is_not_in_text() -> None:
    picture = Picture("", (Legend((COMPUTE,), in_text=False),))
    assert paint_text(picture) == ""
    assert COMPUTE.words in paint_svg(picture)


def test_rows_beyond_the_most_are_counted_unless_all_are_asked_for() -> None:
    columns = (ListColumn("n"), ListColumn("step", "name"))
    rows = tuple(ListRow((f"{k}", f"step{k}")) for k in range(50))
    picture = Picture("", (Listing(columns, rows, most=40),))
    assert paint_text(picture).splitlines()[-1] == "... 10 more"
    assert paint_text(picture, Style(full=True)).splitlines()[-1].endswith("step49")
    many = Picture("", (Listing(columns, rows * 10),))
    assert "... 200 more" in paint_svg(many)


def test_the_row_to_look_at_is_framed() -> None:
    assert 'class="mark"' in paint_svg(Picture("", (listing(tone="strong"),)))
    assert 'class="mark"' not in paint_svg(Picture("", (listing(),)))


# -- places ----------------------------------------------------------------------------------------


def test_the_fullest_place_stands_for_its_column() -> None:
    many = bars(1472)
    shown, each = many.fullest(64)
    assert (len(shown), each) == (64, 23)
    assert 736 in shown
    sparse = replace(many, order=np.argsort(-many.totals(), kind="stable"))
    assert int(sparse.totals()[sparse.fullest(64)[0][0]]) == int(sparse.totals().max())
    assert "each column is the fullest of 23 tiles" in paint_text(Picture("", (many,)))


def test_bars_of_one_scale() -> None:
    low = replace(bars(limit=None), most=310)
    assert "310 B" in paint_text(Picture("", (low,)))
    assert "█" not in paint_text(Picture("", (low,))).splitlines()[0]
    assert "310 B" in paint_svg(Picture("", (low,)))
    assert "310 B" not in paint_svg(Picture("", (replace(low, most=None),)))


def test_a_scale_names_the_shades_that_are_drawn() -> None:
    text = paint_text(Picture("", (MARKS["matrix"], MARKS["scale of a matrix"])))
    drawn, scale = text.split("scale: ")
    assert {each for each in drawn if each in "░▒▓█"} == {"░", "█"}
    assert {"░", "█"} <= set(scale)


def test_what_is_over_the_limit_is_drawn_beyond_it() -> None:
    text = paint_text(Picture("", (bars(),)))
    assert "!!!!!!!!" in text
    assert "limit" in text
    assert "tile 3: 55 B over the limit" in paint_svg(Picture("", (bars(),)))
    assert "over flush" in paint_svg(Picture("", (bars(1472, limit=1000),)))
    free = replace(bars(), limit=None)
    assert "!" not in paint_text(Picture("", (free,)))
    assert 'class="over' not in paint_svg(Picture("", (free,)))


def test_a_bar_of_one_place_is_seen_in_a_histogram() -> None:
    values = np.full(1000, 5)
    values[0] = 900
    picture = paint_svg(Picture("", (Histogram(values, Shades(900)),)))
    (alone,) = re.findall(r'<rect[^>]*height="([\d.]+)"[^>]*><title>1 tile near', picture)
    assert float(alone) >= 1.5


def test_a_strip_shows_what_lies_where_and_what_is_too_much() -> None:
    text = paint_text(Picture("", (STRIP,)))
    drawn = "".join(line.split("│")[1] for line in text.splitlines())
    assert len(drawn) == 4 * 64
    counts = {each: drawn.count(each) for each in "█▓.!"}
    for mark, share in {"█": 0.3, ".": 0.2, "▓": 0.3, "!": 0.2}.items():
        assert counts[mark] == pytest.approx(share * len(drawn), abs=1)
    picture = paint_svg(Picture("", (STRIP,)))
    assert "turn: all" in picture
    assert picture.count('class="over"') == 1
    assert picture.count(">turn<") == 1


# -- roles -----------------------------------------------------------------------------------------


def test_roles_look_different_wherever_they_are_shown_together() -> None:
    for roles in (PHASES, MEMORY):
        for look in ("words", "mark", "kind"):
            assert len({getattr(role, look) for role in roles.values()}) == len(roles)
        plain = {role.character(ascii_only=True) for role in roles.values()}
        assert len(plain) == len(roles)
        assert all(each.isascii() for each in plain)


SEEN_BY: dict[str, npt.ArrayLike] = {
    "all colours": np.eye(3),
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""What readers see of linear red, green and blue (Machado, Oliveira and Fernandes 2009)."""

TO_XYZ = np.array([[0.434, 0.376, 0.190], [0.213, 0.715, 0.072], [0.018, 0.109, 0.873]])


def lab(color: str, seen: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a colour as a reader sees it, in CIELAB."""
    parts = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(seen) @ linear, 0, 1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("reader", SEEN_BY)
def test_colours_of_roles_are_told_apart_by_every_reader(reader: str, dark: bool) -> None:
    for roles in ([*TIME.values()], [*MEMORY.values()]):
        seen = {role.words: lab(color_of(role.kind, dark=dark), SEEN_BY[reader]) for role in roles}
        for one, other in combinations(seen, 2):
            assert np.linalg.norm(seen[one] - seen[other]) > 12, (one, other)


@pytest.mark.parametrize("dark", [False, True])
def test_waiting_is_hatched_and_seen_on_the_track(dark: bool) -> None:
    """Three to one is what WCAG asks of parts of a picture (1.4.11)."""
    variables = asset("view/view.css").split("}")[dark]
    in_page = re.search(r"--empty: (#\w+)", variables)
    assert in_page is not None
    waiting = lightness(color_of(WAITING.kind, dark=dark))
    for track in (in_page[1], (DARK if dark else LIGHT)["empty"]):
        low, high = sorted([waiting, lightness(track)])
        assert (high + 0.05) / (low + 0.05) >= 3
    picture = paint_svg(Picture("", (lanes(),)))
    assert re.search(r"> ?\.waiting,.* g>\.waiting\{fill:url\(#poplite-\w+-waiting\)\}", picture)


def lightness(color: str) -> float:
    """Return the relative luminance of a colour (WCAG)."""
    parts = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_a_legend_names_the_characters_that_are_drawn() -> None:
    text = paint_text(Picture("", (Legend((COMPUTE, WAITING)),)))
    assert text == "█ compute  : waiting for other tiles\n"
    assert category_role("'x'", 7).kind == category_role("'y'", 1).kind
    assert Role("x", "▓", "c0").character(ascii_only=False) == "▓"
