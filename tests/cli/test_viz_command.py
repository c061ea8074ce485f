"""`poplite-viz` from the command line: pictures, files, flags, exit codes, and its doctor."""

from __future__ import annotations

import builtins
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import poplite
from helpers.depth import deep, thinned
from helpers.running import full_disk, go_to
from poplite import Engine, Graph, Sequence, Sweep, files
from poplite.tools.viz import doctor
from poplite.tools.viz.main import EPILOG, main

SCRIPT = """
from poplite import FLOAT, Target
from poplite.graph import Graph

def build():
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    graph.add_variable(FLOAT, (4,), "y", mapping=1)
    return graph

def loud():
    print("the user's own words")
    return build()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    return go_to(tmp_path, monkeypatch, net=SCRIPT)


@pytest.mark.usefixtures("folder")
def test_tiles_prints_the_tile_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build"]) == 0
    said = capsys.readouterr()
    assert "80 B on 4 of 4 tiles" in said.out
    assert "  0 │▁█▁▁│" in said.out
    assert said.err == ""


@pytest.mark.usefixtures("folder")
def test_tiles_of_some_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build", "--variable", "y"]) == 0
    assert "16 B on 1 of 4 tiles (1)" in capsys.readouterr().out
    assert main(["tiles", "net.py:build", "--variable", "y", "x"]) == 0
    assert "'y', 'x'\n80 B" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_tensor_prints_who_owns_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tensor", "net.py:build", "x", "--view", "0, 2:6"]) == 0
    said = capsys.readouterr().out
    assert "view [0, 2:6]: shape [4], 4 elements on 2 tiles (0-1)" in said
    assert " 2-3    4 each   16 B        0  [8, 16) end to end\n" in said


@pytest.mark.usefixtures("folder")
def test_a_module_is_a_target_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net:build"]) == 0
    assert "80 B" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("example", "size"),
    [
        ("pi", "256 B on 64 of 64 tiles"),
        ("first_tiles", "64 B on 4 of 4 tiles"),
        ("heat", "51,744 B on 16 of 16 tiles"),
        pytest.param("photo", "8,813,376 B on 1,440 of 1,440 tiles", marks=deep),
        ("streams", "48 B on 3 of 3 tiles"),
    ],
)
def test_every_example_is_a_target(
    root: Path, example: str, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tiles", f"{root / 'examples' / example}.py:build"]) == 0
    assert f"\nof these variables: {size}\n" in capsys.readouterr().out


def test_the_suffix_says_the_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, start in (
        ("a.svg", "<svg"),
        ("a.SVG", "<svg"),
        ("a.txt", "bytes needed per tile: 2 variables, no program"),
    ):
        assert main(["tiles", "net.py:build", "-o", name]) == 0
        assert (folder / name).read_text().startswith(start)
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", f"wrote {name}\n")


def test_quiet_keeps_silent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tensor", "net.py:build", "x", "-q", "-o", "x.svg"]) == 0
    assert (folder / "x.svg").exists()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("folder")
def test_svg_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for extra in ([], ["-o", "-"]):
        assert main(["tiles", "net.py:loud", "--format", "svg", *extra]) == 0
        said = capsys.readouterr()
        assert said.out.startswith("<svg")
        assert said.out.endswith("</svg>\n")
        assert said.err == "the user's own words\n"


def test_a_file_lists_all_tiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intervals = "[[(2 * (k * 53 % 90), 2 * (k * 53 % 90) + 2)] for k in range(90)]"
    text = SCRIPT.replace("tiles=4", "tiles=90").replace('(4,), "y"', '(180,), "z"')
    (folder / "many.py").write_text(text.replace("mapping=1", f"mapping={intervals}"))
    assert main(["tensor", "many.py:build", "z"]) == 0
    assert " more rows; -o FILE.txt writes them all" in capsys.readouterr().out
    assert main(["tensor", "many.py:build", "z", "-o", "z.txt"]) == 0
    assert "more rows" not in (folder / "z.txt").read_text()


def test_width_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = (
        "    graph.add_variable(FLOAT, (2,) * 24, 'r', mapping=0)\n"
        "    graph.add_variable(FLOAT, (10**15, 1, 1000), 'u', mapping='linear')\n"
    )
    text = SCRIPT.replace("    return graph\n", f"{more}    return graph\n", 1)
    (folder / "large.py").write_text(text)
    for target, name in (("net.py:build", "x"), ("large.py:build", "r"), ("large.py:build", "u")):
        assert main(["tensor", target, name, "--width", "60"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if len(line) > 60] == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("columns", "width"), [("100", 100), ("40", 40), ("", 80), ("0", 80), ("wide", 80)]
)
def test_the_columns_of_the_terminal_are_taken(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["tensor", "net.py:build", "x", "--width", str(width)]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["tensor", "net.py:build", "x"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("words", [["tensor", "x"], ["summary"], ["tiles"], ["graph"], ["program"]])
def test_a_picture_in_a_narrow_terminal_says_what_it_takes(
    words: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "both.py").write_text(
        "import poplite\nfrom net import build\n"
        "def both():\n    return build(), poplite.Sequence(poplite.Sequence())\n"
    )
    monkeypatch.setenv("COLUMNS", "37")
    command = [words[0], "both.py:both", *words[1:]]
    assert main(command) == 0
    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 40
    assert said.err == ("poplite-viz: pictures need at least 40 columns, but COLUMNS is 37\n")
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_help_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 50
    assert "".join(EPILOG.split()) in "".join(said.split())


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "environment", "colored"),
    [
        ([], {}, True),
        (["--color", "never"], {}, False),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colour_in_a_terminal(
    flags: list[str],
    environment: dict[str, str],
    colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["tiles", "net.py:build", *flags]) == 0
    assert ("\x1b[" in terminal.getvalue()) == colored


@pytest.mark.usefixtures("folder")
def test_no_colour_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["tiles", "net.py:build", "--color", "always"]) == 0
    assert "\x1b" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_plain_characters_where_blocks_cannot_be_written(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    assert main(["tiles", "net.py:build"]) == 0
    assert b"  0 |.#..|" in raw.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["draw"], "invalid choice: 'draw'"),
        (["tiles"], "required: TARGET"),
        (["summary", "net.py"], "'net.py' does not name a callable; pass file.py:callable"),
        (["summary", "net.py:"], "does not name a callable"),
        (["tensor", "net.py:build"], "required: NAME"),
        (
            ["tiles", "net.py:build", "--width", "20"],
            "must be a number of columns, at least 40; found '20'",
        ),
        (["tiles", "net.py:build", "--format", "pdf"], "invalid choice: 'pdf'"),
    ],
)
def test_a_wrong_command_line_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"poplite-viz {poplite.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["tiles"], ["tensor"], ["diff"], ["doctor"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert "usage: poplite-viz" in shown
    assert "%%" not in shown  # argparse takes %% as it is in an epilog, and as % in a help


def run(*arguments: str, folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "poplite.tools.viz", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def told(errors: str) -> str:
    """Return what a command wrote on standard error without progress, which a busy machine adds."""
    work = "reading|building|compiling|running|drawing"
    return re.sub(rf"^poplite-viz: ({work})\b.*\n", "", errors, flags=re.MULTILINE)


def test_as_a_process(folder: Path, root: Path) -> None:
    done = run("tiles", "net.py:build", "-o", "map.svg", folder=folder, root=root)
    assert (done.returncode, done.stdout, told(done.stderr)) == (0, "", "wrote map.svg\n")
    failed = run("tiles", "net.py:biuld", folder=folder, root=root)
    assert failed.returncode == 1
    said = "poplite-viz: 'net.py' has no 'biuld' (did you mean 'build'?)"
    assert told(failed.stderr).startswith(said)


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path, root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "poplite.tools.viz", "tiles", "net.py:build"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert told(stderr.read().decode()) == ""
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("redirected", "message"),
    [
        (">&-", "cannot write to standard output: it is closed"),
        (">/dev/full", "cannot write to standard output: No space left on device"),
    ],
)
@pytest.mark.parametrize("command", thinned(["tiles net.py:build", "doctor"], keep=1))
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_standard_output_that_refuses_is_told(
    command: str, redirected: str, message: str, folder: Path, root: Path
) -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m poplite.tools.viz {command} {redirected}",
        shell=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert told(done.stderr).startswith(f"poplite-viz: {message}\n  try: pass -o FILE")
    assert told(done.stderr).count("\n") == 2


@pytest.mark.usefixtures("folder")
def test_an_interrupt_is_no_traceback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "slow.py").write_text("def build():\n    raise KeyboardInterrupt\n")
    assert main(["tiles", "slow.py:build"]) == 130
    assert capsys.readouterr().err == ""


def test_a_name_in_a_message_moves_no_cursor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.py").write_text("def build():\n    raise ValueError('\\x1b[2J gone')\n")
    assert main(["tiles", "bad.py:build"]) == 1
    assert "raised ValueError: \\x1b[2J gone" in capsys.readouterr().err


def test_help_shows_commands_that_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heat.py").symlink_to(root / "examples" / "heat.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    shown = [shlex.split(line) for line in re.findall(r"^  poplite-viz (.*?)  ", EPILOG, re.M)]
    commands = {"summary", "tiles", "tensor", "program", "graph", "report", "steps"}
    commands |= {"memory", "tile", "liveness", "diff", "regions", "lint", "sweep"}
    assert {words[0] for words in shown} == commands
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    for name in ("run.json", "base.json"):
        Engine(Graph(), Sequence()).report().save(tmp_path / name)
    Sweep(("n",), [{"n": 1, "fullest": 8, "error": ""}]).save(tmp_path / "sweep.json")
    for words in shown:
        assert main(words) == 0
    assert (tmp_path / "a.svg").is_file()


# -- doctor ----------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Graphviz that draws."""
    links = [("dot", lambda text, form: b"<svg/>")]
    monkeypatch.setattr("poplite.viz.draw.layouts.graphviz_links", lambda: iter(links))


@pytest.mark.usefixtures("graphviz")
def test_says_what_is_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    names = [line[2:14].strip() for line in said.splitlines()]
    assert names == ["poplite", "python", "numpy", "numba", "graphviz", "png", "cache folder"]
    assert "graphviz      dot\n" in said
    assert f"numpy         {np.__version__}" in said
    assert f"{cache}  writable, 0 compiled" in said


@pytest.mark.usefixtures("graphviz")
def test_is_as_wide_as_the_terminal(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 40
    assert "try: chmod o-w" in said
    assert str(cache) in said.replace("\n", "").replace(" ", "")


def pretend(monkeypatch: pytest.MonkeyPatch, name: str, fault: Exception) -> None:
    """Let importing a module fail."""
    real = importlib.import_module

    def fake(module: str, package: str | None = None) -> ModuleType:
        if module == name:
            raise fault
        return real(module, package)

    monkeypatch.setattr(importlib, "import_module", fake)


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_missing_numba_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numba", ModuleNotFoundError("No module named 'numba'", name="numba"))
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert "! numba         missing, needed: compiles vertices" in said.out
    assert "try: pip install numba" in said.out
    assert "not working: numba" in said.err


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_numba_that_cannot_be_imported_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numba", ImportError("Numba needs NumPy 2.3 or less"))
    assert main(["doctor"]) == 1
    assert "(ImportError: Numba needs NumPy 2.3 or less)" in capsys.readouterr().out


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_numpy_without_one_of_its_own_parts_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numpy", ModuleNotFoundError("No module named 'blas'", name="blas"))
    assert main(["doctor"]) == 1
    assert "missing, needed: arrays (No module named 'blas')" in capsys.readouterr().out


@pytest.mark.usefixtures("graphviz")
def test_a_file_in_the_place_of_the_cache_is_named(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("a file where the folder should be")
    assert main(["doctor"]) == 0  # engines run without it
    said = capsys.readouterr()
    assert (
        f"  cache folder  the cache folder '{cache}' cannot be written: '{cache}' is not a folder"
        " (0 compiled; each process compiles the remaining vertices)\n"
    ) in said.out
    assert "try: set POPLITE_CACHE_DIR to a folder that you own" in said.out
    assert said.err == ""


@pytest.mark.usefixtures("graphviz")
def test_a_full_disk_is_found_though_an_empty_file_has_room(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (cache / "one.o").write_bytes(b"")
    monkeypatch.setattr(files, "open", full_disk, raising=False)
    found = doctor.cache()
    assert not found.fault
    assert f"the cache folder '{cache}' cannot be written: No space left on device" in found.state
    assert "(1 compiled; each process compiles the remaining vertices)" in found.state
    assert found.remedy == "free space there, or set POPLITE_CACHE_DIR to a folder on another disk"
    assert os.listdir(cache) == ["one.o"]


@pytest.mark.usefixtures("graphviz")
def test_files_that_only_other_users_may_read_are_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    for name in ("one.o", "two.o"):
        (cache / name).write_bytes(b"")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "one.o")
    found = doctor.cache()
    assert found.state == f"{cache}  writable, 2 compiled, 1 of them for other users only"
    assert found.remedy == "ask their owner to let you read them (chmod a+r), or delete them"


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("POPLITE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    found = doctor.cache()
    assert not found.fault
    assert "there is no cache folder: Could not determine home directory." in found.state


@pytest.mark.usefixtures("graphviz")
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755, 0o2770])
def test_a_cache_that_anybody_may_write_to_is_told(mode: int, cache: Path) -> None:
    cache.mkdir()
    cache.chmod(mode)
    found = doctor.cache()
    if mode & 0o002:
        danger = "anybody can write to it, and so run code as you"
        assert found.state == f"{cache}  writable, 0 compiled; {danger}"
        assert found.remedy == f"chmod o-w {cache}, and delete its contents"
    else:
        assert (found.state, found.remedy) == (f"{cache}  writable, 0 compiled", "")


@pytest.mark.usefixtures("graphviz")
def test_the_cache_is_left_as_it_was(cache: Path) -> None:
    assert doctor.cache().state == f"{cache}  writable, 0 compiled"
    assert not cache.exists()
    cache.mkdir()
    (cache / "one.o").write_bytes(b"")
    assert doctor.cache().state == f"{cache}  writable, 1 compiled"
    assert os.listdir(cache) == ["one.o"]


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_compiler_that_is_missing_leaves_the_cache_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def fake(name: str, *arguments: object) -> ModuleType:
        if name == "poplite.jit":
            raise ImportError("No module named 'llvmlite'")
        return real(name, *arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(builtins, "__import__", fake)
    found = doctor.cache()
    assert found.fault
    assert "llvmlite" in found.state


@pytest.mark.usefixtures("cache", "graphviz")
def test_no_graphviz_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poplite.viz.draw.layouts.graphviz_links", lambda: iter([]))
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "  graphviz      no Graphviz found: graphs use the built-in layout" in said
    assert 'try: pip install "poplite[dot]"' in said


@pytest.mark.usefixtures("cache", "graphviz")
def test_a_graphviz_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(text: str, form: str) -> bytes:
        raise OSError("libgvc.so.6: cannot open shared object file")

    monkeypatch.setattr("poplite.viz.draw.layouts.graphviz_links", lambda: iter([("dot", fail)]))
    assert main(["doctor"]) == 0
    assert "dot failed: libgvc.so.6: cannot open shared object file" in capsys.readouterr().out
