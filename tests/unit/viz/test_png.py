"""PNG: pixels of the shapes, the colours of the light page, and what there is without Pillow."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from poplite.errors import FileLoadError, InvalidOption
from poplite.tools.viz import main
from poplite.viz.draw import png
from poplite.viz.draw.colors import LIGHT, RAMP
from poplite.viz.draw.path_lines import path_lines
from poplite.viz.draw.svg import Canvas, SvgText, box

BUILD = """
import poplite as pl

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    return graph
"""


def pixels(canvas: Canvas) -> npt.NDArray[np.uint8]:
    """The picture as colours: uint8[rows, columns, 3]."""
    return np.asarray(Image.open(io.BytesIO(canvas.text_of().png())).convert("RGB"))


def color(text: str) -> list[int]:
    """A colour as numbers."""
    return [int(text[k : k + 2], 16) for k in (1, 3, 5)]


def test_rectangles_fill_whole_pixels_of_twice_the_size() -> None:
    canvas = Canvas(20, 10, title="")
    canvas.rect(2, 3, 4, 5, "q3")
    drawn = pixels(canvas)
    assert drawn.shape == (20, 40, 3)
    filled = (drawn == color(RAMP[3])).all(axis=2)
    assert filled.sum() == 8 * 10
    assert filled[6:16, 4:12].all()
    assert (drawn[~filled] == 255).all()


def test_what_a_veil_leaves_out_keeps_its_color() -> None:
    canvas = Canvas(30, 10, title="")
    canvas.rect(0, 0, 30, 10, "c0")
    canvas.path(box(0, 0, 30, 10) + box(10, 2, 10, 6), "veil")
    drawn = pixels(canvas)
    assert drawn[10, 30].tolist() == color("#0072b2")
    veiled = [255 - (255 - part) * 0.28 for part in (0, 114, 178)]
    assert np.abs(drawn[10, 5] - np.array(veiled)).max() <= 1


def test_lines_have_their_width_and_classes_of_the_group() -> None:
    canvas = Canvas(20, 20, title="")
    canvas.open("seam")
    canvas.rect(5, 5, 10, 10, "c2")
    canvas.close()
    canvas.path("M2 0v20", "mark")
    drawn = pixels(canvas)
    dark = (drawn[20] < 100).all(axis=1)
    assert 2 <= dark[:8].sum() <= 4
    green = (drawn == color("#009e73")).all(axis=2)
    assert 17 * 17 <= green.sum() <= 19 * 19  # the seam, in the page's colour, lies on its edge


def test_text_starts_ends_and_is_centered() -> None:
    columns = {}
    for kind in ("line ink", "line ink mid", "line ink end"):
        canvas = Canvas(200, 20, title="")
        canvas.text(100, 14, "blur", kind)
        (found,) = np.nonzero((pixels(canvas) < 200).all(axis=2).any(axis=0))
        columns[kind] = found.min() / 2, found.max() / 2
    starts, middle, ends = columns.values()
    assert 99 <= starts[0] <= 102
    assert abs(sum(middle) / 2 - 100) < 1.5
    assert 98 <= ends[1] <= 101


def test_hatched_parts_have_two_colors() -> None:
    canvas = Canvas(40, 40, title="")
    canvas.rect(0, 0, 40, 40, "unmapped")
    drawn = pixels(canvas)
    for name in ("soft", "empty"):
        assert (drawn == color(LIGHT[name])).all(axis=2).any()


def test_text_that_the_font_lacks_is_written_in_other_letters() -> None:
    assert png.letters("Übung – 3 × 4") == "Ubung - 3 x 4"
    assert png.letters("\u5e83\u200e!") == r"\u5e83!"
    assert png.letters("\u65e5") != png.letters("\u672c")


def test_arcs_are_round() -> None:
    (points, closed), *more = path_lines("M4 0a4 4 0 0 1 0 8")
    assert not closed
    assert not more
    assert all(abs(np.hypot(x - 4, y - 4) - 4) < 1e-9 for x, y in points)
    assert max(x for x, _ in points) > 7.9


def test_equal_pictures_are_equal_bytes() -> None:
    canvas = Canvas(60, 20, title="")
    canvas.text(4, 14, "tile 0", "head ink", aside="4 B")
    assert canvas.text_of().png() == canvas.text_of().png()


def test_colors_of_areas_are_kept_however_many_there_are() -> None:
    canvas = Canvas(200, 100, title="")
    for k in range(len(RAMP)):
        canvas.rect(16 * k, 0, 16, 50, f"q{k}")
    for k in range(12):  # letters, with all shades between ink and page
        canvas.text(
            4 + 7 * k, 60 + 3 * k, "tile 1,471 of <1,472>", f"i{k} head" if k < 6 else "over"
        )
    drawn = pixels(canvas)
    for k, each in enumerate(RAMP):
        assert (drawn[10:80, 32 * k + 2 : 32 * k + 30] == color(each)).all()


def test_too_large_a_picture_says_so() -> None:
    with pytest.raises(FileLoadError, match=r"a PNG of 20,000 x 20,000 pixels"):
        Canvas(10_000, 10_000, title="").text_of().png()


def test_text_from_elsewhere_is_no_png() -> None:
    with pytest.raises(InvalidOption, match="only what poplite drew"):
        SvgText("<svg/>").png()


def test_the_suffix_decides(tmp_path: Path) -> None:
    picture = Canvas(8, 8, title="").text_of()
    assert picture.write(tmp_path / "a.PNG").read_bytes() == picture.png()
    assert picture.write(tmp_path / "a.svg").read_text() == picture


def test_without_pillow_there_is_an_svg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(png, "is_possible", lambda: False)
    Path("few.py").write_text(BUILD)
    assert main(["tiles", "few.py:build", "-o", "map.png"]) == 1
    said = capsys.readouterr().err
    assert "Pillow is not installed" in said
    assert "wrote 'map.svg' instead" in said
    assert 'pip install "poplite[png]"' in said
    assert Path("map.svg").read_text().startswith("<svg")
    with pytest.raises(FileLoadError, match="Pillow"):
        Canvas(8, 8, title="").text_of().png()


def test_the_command_writes_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("less.py").write_text(BUILD)
    assert main(["tiles", "less.py:build", "-q", "-o", "map.png"]) == 0
    assert Path("map.png").read_bytes()[1:4] == b"PNG"
