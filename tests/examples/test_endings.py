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

HUGE = str(10**30)


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
        (
            "photo.py --output-dir no/such",
            "photo.py: cannot write 'no/such/photo_before.png': there is no folder 'no/such'  "
            "({run} in run, called at {main} in main); the nearest folder that exists is '.'; "
            "try: mkdir -p no/such\n",
        ),
        pytest.param(
            "photo.py --image absent.png",
            "photo.py: absent.png cannot be read: No such file or directory; try: another file\n",
            marks=deep,
        ),
        (f"photo.py --steps {HUGE}", f"photo.py: --steps {HUGE}: at most 1,000,000\n"),
        ("gallery.py file", "gallery.py: 'file': File exists\n"),
        pytest.param("gallery.py file/in", "gallery.py: 'file/in': Not a directory\n", marks=deep),
        (
            "streams.py --load absent",
            "streams.py: cannot read 'absent': No such file or directory  ({at} in main); "
            "try: name a file that executable.save(path) wrote\n",
        ),
        (
            "streams.py --load file",
            "streams.py: 'file' is no executable that can be loaded: it is no whole zip file: "
            "File is not a zip file  ({at} in main); try: save it again: executable.save(path)\n",
        ),
    ],
)
def test_what_is_wrong_is_one_line(
    command: str, message: str, root: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "file").write_text("no folder, and no executable")
    example, *arguments = command.split()
    lines = (root / "examples" / example).read_text().splitlines()
    calls = {
        "at": "Executable.load(",
        "run": "check_folder(options",
        "main": "run(parser.parse_args(",
    }
    at = {
        name: f"{root / 'examples' / example}:{number}"
        for name, call in calls.items()
        for number, text in enumerate(lines, 1)
        if call in text
    }
    expected = message.format(**at)
    assert run(example, *arguments) == (1, expected)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"pi.py --tiles {HUGE}", "argument --tiles: at most 1,000,000"),
        (f"pi.py --slices {HUGE}", "argument --slices: at most 2,147,483,647 on all tiles"),
        pytest.param(
            f"heat.py --double-steps {HUGE}",
            "argument --double-steps: at most 1,000,000",
            marks=deep,
        ),
    ],
)
def test_huge_numbers_are_wrong_command_lines(command: str, message: str, run: Run) -> None:
    example, *arguments = command.split()
    code, said = run(example, *arguments)
    assert code == 2
    assert said.endswith(f"\n{example}: error: {message}\n")


@pytest.mark.parametrize(
    ("example", "option"),
    thinned(
        product(["pi", "streams", "heat", "first_tiles", "sort", "bfs"], ["-s", "-u"]),
        keep=[("pi", "-s"), ("pi", "-u")],
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
