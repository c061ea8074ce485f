"""How examples end: one line where something is wrong, and no error when the reader has gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from helpers.depth import deep, thinned
from helpers.scripts import script
from poplite.tools.script import one_line_errors

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """What runs an example in a folder, and returns its exit code and what it says of errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(root / "examples"))  # gallery.py imports others

    def call(example: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [example, *arguments])
        main = script(root / "examples" / example).main
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    return call


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("gallery.py file", "gallery.py: 'file': File exists\n"),
        pytest.param("gallery.py file/in", "gallery.py: 'file/in': Not a directory\n", marks=deep),
    ],
)
def test_what_is_wrong_is_one_line(command: str, message: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").write_text("no folder, and no executable")
    example, *arguments = command.split()
    assert run(example, *arguments) == (1, message)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("example", "option"),
    thinned(
        product(["bfs", "matvec"], ["-s", "-u"]),
        keep=[("bfs", "-s"), ("bfs", "-u")],
    ),
)
def test_a_reader_that_has_gone_is_no_error(
    example: str, option: str, root: Path, tmp_path: Path
) -> None:
    """It is seen at the end, and without a buffer (`-u`) at the first line."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, option, root / "examples" / f"{example}.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, "Error" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied", "/data/x"), "'/data/x': Permission denied"),
        (OSError("nothing is known of it"), "OSError: nothing is known of it"),
        (OverflowError("int too large"), "OverflowError: int too large"),
        (MemoryError(), "not enough memory"),
        (
            ModuleNotFoundError("No module named 'sklearn'", name="sklearn"),
            "sklearn is not installed; try: pip install '.[examples]'",
        ),
    ],
)
def test_errors_of_the_system(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @one_line_errors
    def main() -> int:
        raise error

    assert main() == 1
    assert capsys.readouterr().err == f"test_endings.py: {line}\n"


def test_a_mistake_in_the_script_keeps_its_traceback() -> None:
    @one_line_errors
    def main() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main()
