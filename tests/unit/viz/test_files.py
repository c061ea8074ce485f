"""Pictures as files: whole or not at all, PNG, and text in columns."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import poplite as pl
from poplite import FileLoadError
from poplite.errors import InvalidOption
from poplite.files import check_folder, replacing, unfinished, write_bytes, write_text
from poplite.tools.viz import main
from poplite.viz import SvgText
from poplite.viz.colours import LIGHT, RAMP
from poplite.viz.draw import svg
from poplite.viz.draw.svg import Canvas, box
from poplite.viz.draw.words import cells, cut, filled, quoted, wrapped

# -- whole or not at all ---------------------------------------------------------------------------


def test_writes_utf8_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "map.txt"
    assert write_text(path, "▁█\n") == path
    assert path.read_bytes() == "▁█\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_writes_bytes_as_they_are(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "map.png", b"\x89PNG\r\n\x00")
    assert path.read_bytes() == b"\x89PNG\r\n\x00"
    assert list(tmp_path.iterdir()) == [path]


def test_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    path.write_text("old")
    assert SvgText("<svg/>").write(str(path)) == path
    assert path.read_text() == "<svg/>"


def test_others_may_read_what_the_umask_lets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_umask = os.umask
    old = set_umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")  # other threads make files meanwhile
            assert write_text(tmp_path / "map.txt", "x").stat().st_mode & 0o777 == 0o640
    finally:
        set_umask(old)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_who_may_read_it(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "map.txt"
    path.write_text("old")
    path.chmod(mode)
    assert write_text(path, "new").stat().st_mode & 0o777 == mode
    assert path.read_text() == "new"


GRAPH = pl.Graph(pl.Target(tiles=1))
ENGINE = pl.Engine(GRAPH, pl.Sequence())
CALLS: dict[str, Callable[[Any], object]] = {
    "Graph.save": lambda path: GRAPH.save(path, pl.Sequence()),
    "Graph.load": lambda path: pl.Graph.load(path),
    "Report.save": lambda path: ENGINE.report().save(path),
    "Report.load": lambda path: pl.Report.load(path),
    "Executable.save": lambda path: pl.compile_graph(GRAPH, pl.Sequence()).save(path),
    "Executable.load": lambda path: pl.Executable.load(path),
    "save_state": lambda path: ENGINE.save_state(path),
    "load_state": lambda path: ENGINE.load_state(path),
    "Sweep.load": lambda path: pl.Sweep.load(path),
    "SvgText.write": lambda path: SvgText("<svg/>").write(path),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_paths_are_text_that_a_file_can_have_as_its_name(
    call: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, found in (("a\0b", "it contains a null character"), ("", "it is empty")):
        with pytest.raises(FileLoadError, match="no file can have the name") as caught:
            call(name)
        assert caught.value.found == found
    for other in (b"octets", 3, None):
        with pytest.raises(pl.ElementTypeError, match=f"{other!r} is not a path"):
            call(other)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "reason"), [("a" * 300, "File name too long"), ("\ud800", "surrogates not allowed")]
)
def test_a_name_that_the_system_refuses_is_told_before_anything_is_written(
    name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(FileLoadError, match=f"cannot write .*{reason}"):
        GRAPH.save(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_an_export_has_no_nul_in_its_name() -> None:
    with pytest.raises(FileLoadError, match="it contains a null character"):
        pl.ipu.export(GRAPH, pl.Sequence(), "a\0b")


KILLED = """
import os, signal, sys
from poplite.files import replacing

with replacing("map.svg") as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_writer_removes_what_killed_ones_leave(tmp_path: Path, root: Path) -> None:
    for _ in range(2):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == [".map.svg.poplite-0.part"]
    write_text(tmp_path / "map.svg", "whole")
    assert os.listdir(tmp_path) == ["map.svg"]


def test_what_killed_ones_leave_is_removed_behind_numbers_that_are_free(tmp_path: Path) -> None:
    left = tmp_path / ".map.svg.poplite-2.part"  # of a third writer, when two others had ended
    left.write_bytes(b"half")
    with replacing(tmp_path / "map.svg") as file:
        assert sorted(os.listdir(tmp_path)) == [".map.svg.poplite-0.part"]
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["map.svg"]


def test_writers_of_one_place_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    with replacing(path) as one:
        one.write(b"one")
        with replacing(path) as other:
            other.write(b"other")
        assert path.read_bytes() == b"other"
        write_text(path, "third")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["map.svg"]


def test_a_pipe_in_the_place_of_a_part_is_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".map.svg.poplite-0.part")
    write_text(tmp_path / "map.svg", "whole")
    assert (tmp_path / "map.svg").read_text() == "whole"


def test_a_part_whose_name_is_taken_again_is_not_removed(tmp_path: Path) -> None:
    with unfinished(str(tmp_path), ".map") as (part, file):
        file.write(b"first")
        os.rename(part, tmp_path / "map")
        Path(part).write_bytes(b"of another process")
    assert Path(part).read_bytes() == b"of another process"


def test_a_missing_folder_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "no" / "such" / "map.svg"
    with pytest.raises(FileLoadError) as caught:
        SvgText("<svg/>").write(path)
    assert f"there is no folder '{path.parent}'" in str(caught.value)
    assert f"the nearest folder that exists is '{tmp_path}'" in str(caught.value)
    assert f"try: mkdir -p {path.parent}" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileLoadError, match=r"it is a folder(.|\n)*map\.svg"):
        write_text(tmp_path, "x")


def test_a_folder_that_may_not_be_written_to_is_found_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    said = rf"cannot write '{tmp_path}/map.svg': you may not write to the folder '{tmp_path}'"
    with pytest.raises(FileLoadError, match=said):
        check_folder(tmp_path / "map.svg")
    assert check_folder("/dev/null") == Path("/dev/null")  # nothing is put beside a device


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "map.txt"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileLoadError, match=r"map\.txt': No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_shows_itself_in_a_notebook() -> None:
    picture = SvgText("<svg/>")
    assert isinstance(picture, str)
    assert picture._repr_svg_() == "<svg/>"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.svg", tmp_path / "link.svg"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.svg"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "picture")
        assert os.read(reader, 100) == b"picture"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_text_with_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    with pytest.raises(
        FileLoadError, match=r"map.svg': the text has a lone .*: \.\.\.'caf\\ud83d'"
    ):
        write_text(path, "caf\ud83d\n")
    assert not path.exists()


# -- PNG -------------------------------------------------------------------------------------------


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


def test_letters_with_accents_and_signs_differ_from_those_without() -> None:
    drawn = []
    for text in ("Übung – 3 × 4", "Ubung – 3 × 4", "Ubung - 3 × 4", "Ubung - 3 x 4", "\u5e83"):
        canvas = Canvas(120, 20, title="")
        canvas.text(4, 14, text, "line ink")
        drawn.append(pixels(canvas))
        assert (drawn[-1] < 200).any()
    assert all((one != other).any() for one, other in pairwise(drawn))


def test_arcs_are_round() -> None:
    canvas = Canvas(20, 20, title="")
    canvas.path("M4 2a8 8 0 0 1 0 16", "ink")
    dark = (pixels(canvas) < 128).all(axis=2)
    y, x = np.mgrid[0:40, 0:40] / 2 + 0.25
    apart = np.hypot(x - 4, y - 10)
    assert dark.shape == apart.shape
    inside, outside = (apart < 7.5) & (x > 4.5), (apart > 8.5) | (x < 3.5)
    assert not (inside & ~dark).any()
    assert not (outside & dark).any()


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


def test_an_svg_from_elsewhere_is_drawn_and_other_text_is_refused() -> None:
    square = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
    assert Image.open(io.BytesIO(SvgText(square).png())).size == (16, 16)
    for text in ("<svg", "nothing"):
        with pytest.raises(InvalidOption, match="only an SVG can become a PNG"):
            SvgText(text).png()


def test_the_suffix_decides(tmp_path: Path) -> None:
    picture = Canvas(8, 8, title="").text_of()
    assert picture.write(tmp_path / "a.PNG").read_bytes() == picture.png()
    assert picture.write(tmp_path / "a.svg").read_text() == picture


def test_without_resvg_there_is_an_svg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(svg, "is_possible", lambda: False)
    Path("few.py").write_text(BUILD)
    assert main(["tiles", "few.py:build", "-o", "map.png"]) == 1
    said = capsys.readouterr().err
    assert "resvg_py is not installed" in said
    assert "wrote 'map.svg' instead" in said
    assert 'pip install "poplite[png]"' in said
    assert Path("map.svg").read_text().startswith("<svg")
    with pytest.raises(FileLoadError, match="resvg_py"):
        Canvas(8, 8, title="").text_of().png()


def test_the_command_writes_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("less.py").write_text(BUILD)
    assert main(["tiles", "less.py:build", "-q", "-o", "map.png"]) == 0
    assert Path("map.png").read_bytes()[1:4] == b"PNG"


# -- columns of text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("広い", 4),
        ("😀", 2),
        ("e\u0301", 1),
        ("\u200e", 0),
        ("\uff41\uff42", 4),
    ],
)
def test_cells(text: str, expected: int) -> None:
    assert cells(text) == expected


@pytest.mark.parametrize("text", ["model/block4/weights", "広い名前の変数" * 3, "a広" * 9, "short"])
@pytest.mark.parametrize("room", range(3, 24))
def test_a_cut_text_fits_and_keeps_both_ends(text: str, room: int) -> None:
    short = cut(text, room)
    assert cells(short) <= room
    if cells(text) <= room:
        assert short == text
    else:
        head, _, tail = short.partition("...")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert cells(short) >= room - 2  # a wide letter may not fit the last cell of either end


def test_names_share_the_room_there_is() -> None:
    long = "x" * 50
    assert filled("Copy {} -> {}", ("a", "b"), 80) == "Copy 'a' -> 'b'"
    assert cells(filled("Copy {} -> {}", (long, "b"), 40)) == 40
    assert cells(filled("Copy {} -> {}", (long, long), 40)) in (39, 40)
    assert filled("Copy {} -> {}", (long, "b"), 5) == "Copy 'xxx...xx' -> 'b'"


def test_a_mark_closes_names_from_right_to_left() -> None:
    assert quoted("שלום", 20) == "'שלום\u200e'"
    assert quoted("abc", 20) == "'abc'"


def test_lines_break_between_words() -> None:
    assert wrapped("", 10) == [""]
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("広い 広い 広い", 9) == ["広い 広い", "広い"]
    assert wrapped("a " + "x" * 20, 10) == ["a", "xxxx...xxx"]
