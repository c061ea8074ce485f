"""Pictures are written whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from poplite import FileLoadError
from poplite.files import check_folder, replacing, unfinished, write_bytes, write_text
from poplite.viz import SvgText


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
    for name, found in (("a\0b", "a null character in it"), ("", "it is empty")):
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
    with pytest.raises(FileLoadError, match="a null character in it"):
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
