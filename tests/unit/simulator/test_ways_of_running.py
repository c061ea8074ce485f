"""Vertex classes from wherever Python takes a program: they run, or an error says why not."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from helpers.depth import deep, thinned

CLASS = """
import poplite as pl

class Work(pl.Vertex):
    x: pl.InOut[pl.INT]

    @staticmethod
    def two() -> int:
        return 2

    def compute(self) -> None:
        assert self.x > 0, f"x is {self.x}"
        self.x += self.two()
"""
USE = """
for interpret in (False, True):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=5)
    work = graph.add_compute_set("work")
    vertex = graph.add_vertex(work, Work, tile=0, x=x)
    options = {"debug.instrument": False}  # no prices, which would be compiled
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    print(engine.read(x))
    engine.write(x, -1)
    try:
        engine.run()
    except AssertionError as error:
        print(error.what, error.at)
"""
TOLD = 2 * "7\nWork 0 on tile 0: AssertionError: x is -1 {place}:12 in compute\n"


def run(folder: Path, *arguments: str, text: str = "") -> str:
    """Run Python in a folder, and return what it printed, errors behind.

    Without what is told while compiling, which depends on how busy the computer is.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines(keepends=True)
    return done.stdout + "".join(line for line in lines if "poplite: compiling" not in line)


@pytest.mark.parametrize(
    "options",
    thinned([["-X", "utf8", "-W", "error", "-uc"], ["-c"], ["-Bc"], ["-Xutf8", "-c"]], keep=1),
)
def test_a_command_with_any_options(options: list[str], tmp_path: Path) -> None:
    assert run(tmp_path, *options, CLASS + USE) == TOLD.format(place="<string>")


@deep
def test_a_command_in_the_word_of_its_option(tmp_path: Path) -> None:
    assert run(tmp_path, f"-c{CLASS}{USE}", "-c", "other") == TOLD.format(place="<string>")


def test_a_module_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "vertices.py").write_text(CLASS)
    (tmp_path / "package" / "program.py").write_text(
        "import poplite as pl\nfrom package.vertices import Work\n" + USE
    )
    place = os.path.join("package", "vertices.py")
    assert run(tmp_path, "-m", "package.program") == TOLD.format(place=place)


def test_a_program_in_a_zip_file(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text("from vertices import *\n" + USE)
    (tmp_path / "program" / "vertices.py").write_text(CLASS)
    zipapp.create_archive(tmp_path / "program", tmp_path / "program.pyz")
    place = os.path.join("program.pyz", "vertices.py")
    assert run(tmp_path, "program.pyz") == TOLD.format(place=place)


SOURCES = """
from poplite.jit.object_cache import digest_of_sources
print(digest_of_sources("poplite.simulator.compiled_parts"))
"""


@deep
def test_the_package_itself_in_a_zip_file(tmp_path: Path, root: Path) -> None:
    """Cached code is named by the text of the package, which is read from the zip file."""
    shutil.copytree(root / "poplite", tmp_path / "all" / "poplite", symlinks=False)
    (tmp_path / "all" / "__main__.py").write_text(CLASS + USE + "print(pl.__file__)\n" + SOURCES)
    zipapp.create_archive(tmp_path / "all", tmp_path / "all.pyz")
    lines = run(tmp_path, "all.pyz").splitlines(keepends=True)
    assert "".join(lines[:4]) == TOLD.format(place=os.path.join("all.pyz", "__main__.py"))
    assert os.path.join("all.pyz", "poplite", "__init__.py") in lines[4]
    assert lines[5] == run(tmp_path, "-c", SOURCES)


PROMPT = """
import os, pty, sys
process, terminal = pty.fork()
if not process:
    os.execv(sys.executable, [sys.executable, "-q", "-i"])
os.write(terminal, open("typed.py", "rb").read())
shown = b""
try:
    while part := os.read(terminal, 65536):
        shown += part
except OSError:  # Linux says so at the end
    pass
print(shown.decode())
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="this prompt keeps its text by itself")
def test_the_prompt_of_a_terminal(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    pytest.importorskip("readline")
    typed = "import poplite as pl\n" + CLASS.split("as pl\n\n")[1].replace("\n\n", "\n") + "\n"
    typed += "class Other(pl.Vertex):\n    def compute(self):\n        pass\n\n"
    typed += (
        "graph = pl.Graph(pl.Target(tiles=1)); work = graph.add_compute_set()\n"
        "x = graph.add_variable(pl.INT, (), 'x', mapping=0, initial_value=5)\n"
        "vertex = graph.add_vertex(work, Work, tile=0, x=x)\n"
        "engine = pl.Engine(graph, pl.Execute(work)); engine.run()\n"
        "print('fou' + 'nd', engine.read(x))\n"
        "import os; os._exit(0)  # and leave the user's history alone\n"
    )
    (tmp_path / "typed.py").write_text(typed)
    assert "found 7" in run(tmp_path, "-c", PROMPT)


def refused(place: str, found: str, fix: str) -> str:
    return (
        f"poplite.errors.VertexCompileError: 'Work.compute': there is no source text to check  "
        f"({place}:4)\n  {found}\n  try: {fix}\n"
    )


@deep
def test_a_program_that_is_piped_into_python(tmp_path: Path) -> None:
    piped = refused(
        "<stdin>",
        "Python keeps no text of what is typed at this prompt, or piped into it",
        "put it into a file, a notebook cell, or python -c",
    )
    for arguments in ([], ["-"]):
        assert run(tmp_path, *arguments, text=CLASS + USE).endswith(piped)


def test_a_prompt_inside_of_a_program(tmp_path: Path) -> None:
    typed = "import poplite as pl\nclass Work(pl.Vertex):\n  def compute(self): pass\n\n"
    typed += "from poplite.vertex.compute import check\ncheck(Work)\n"
    told = run(tmp_path, "-c", "import code; code.interact()", text=typed)
    assert "'Work.compute': there is no source text to check  (<console>:1)" in told
    assert "typed at this prompt" in told


def test_a_program_made_from_a_string(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"exec({CLASS + USE!r})")
    told = refused("<string>", "it was made from a string", "put it into a file or a notebook cell")
    assert run(tmp_path, "program.py").endswith(told)


@deep
def test_a_string_made_by_a_command_is_not_taken_for_the_command(tmp_path: Path) -> None:
    told = refused("<string>", "it was made from a string", "put it into a file or a notebook cell")
    assert run(tmp_path, "-c", f"exec({CLASS + USE!r})").endswith(told)


def test_a_module_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "vertices.py").write_text(CLASS)
    py_compile.compile(str(tmp_path / "vertices.py"), cfile=str(tmp_path / "vertices.pyc"))
    (tmp_path / "vertices.py").unlink()
    (tmp_path / "program.py").write_text("from vertices import *\n" + USE)
    found = f"'{tmp_path / 'vertices.py'}' is not there, only its byte code"
    told = refused("vertices.py", found, "keep the .py file beside the program")
    assert run(tmp_path, "program.py").endswith(told)
