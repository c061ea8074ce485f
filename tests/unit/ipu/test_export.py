"""What is exported is built by CMake with the stand-in's SDK, and run by the client beside it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import compiler
from helpers.depth import deep
from helpers.host_program import host_binary, library_of, stand_in_sdk
from poplite.ipu.building import host_text
from poplite.ipu.tables import tables_of

CLIENT = """\
import numpy as np
from client import Session

session = Session()
session.write("variable:x", np.arange(8))
taken = []
print(session.ask("run double", lambda name, block: taken.append(block.copy())).split(" ")[0])
print(session.read("variable:x").tolist(), taken[0].tolist())
try:
    session.ask("run stop")
except RuntimeError as error:
    print(error)
session.ask("run call", lambda name, arrays: arrays[1].fill(arrays[0].sum()))
print(session.read("variable:x").tolist())
served = []
session.ask("run many", lambda name, given: served.append(name))
print(len(served), sorted(set(served)))
"""


class Double(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2.0


def build() -> tuple[pl.Graph, dict[str, pl.Program]]:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    work = graph.add_compute_set("double")
    graph.add_vertices(work, Double, tile=np.arange(4), x=x.reshape((4, 2)))
    out = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    double = pl.Sequence(pl.Execute(work), pl.Copy(x, out))
    count = graph.add_host_function("count", [(pl.FLOAT, 8)], [(pl.FLOAT, 4)])
    call = pl.Call(count, [x], [x[::2]])
    many = pl.Repeat(1500, pl.Sequence(pl.Copy(x, out), call))
    stop = pl.Abort("it was asked to")
    return graph, {"double": double, "stop": stop, "call": call, "many": many}


def run_client(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EXPECTED = """\
4
[0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]
application_runtime_error: it was asked to
[56.0, 2.0, 56.0, 6.0, 56.0, 10.0, 56.0, 14.0]
3000 ['count', 'out']
"""


def test_the_client_runs_what_was_exported(host_cache: Path, tmp_path: Path) -> None:
    graph, programs = build()
    folder = pl.ipu.export(graph, programs, tmp_path / "made" / "here")
    (folder / "build").mkdir()
    (folder / "build" / "host").symlink_to(host_binary(host_cache))
    library = library_of(tables_of(graph, programs), host_cache)
    (folder / "build" / "codelets.gp").symlink_to(library)
    assert run_client(folder) == EXPECTED
    words = [sys.executable, "client.py", "model", "double"]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[0] == "out [0. 0. 0. 0. 0. 0. 0. 0.]"
    assert printed.splitlines()[1].startswith("double ")
    assert printed.splitlines()[2].startswith("variable:x [0. 0. ")


def test_the_client_has_forty_lines() -> None:
    """Without empty ones, and those that say what it is."""
    lines = [line.strip() for line in host_text("client.py.in").splitlines()]
    assert len([line for line in lines if line and not line.startswith(("#", '"'))]) <= 40


@deep
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_cmake_builds_what_was_exported(host_cache: Path, tmp_path: Path) -> None:
    folder = pl.ipu.export(*build(), tmp_path)
    environment = {
        **os.environ,
        "POPLAR_SDK_ENABLED": str(stand_in_sdk(host_cache)),
        "CXX": shlex.join(compiler()),
        "CXXFLAGS": "-Wno-init-list-lifetime",
    }
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=folder, env=environment, check=True)
    assert run_client(folder) == EXPECTED


def test_an_unchanged_graph_gives_equal_bytes_and_leaves_files_alone(tmp_path: Path) -> None:
    first = pl.ipu.export(*build(), tmp_path / "first")
    other = pl.ipu.export(*build(), tmp_path / "other")
    names = sorted(file.name for file in first.iterdir())
    assert [(first / name).read_bytes() for name in names] == [
        (other / name).read_bytes() for name in names
    ]
    for file in first.iterdir():
        os.utime(file, (1, 1))
    (first / "README.md").write_text("mine")
    pl.ipu.export(*build(), first)
    assert {file.name for file in first.iterdir() if file.stat().st_mtime != 1} == {"README.md"}


def test_the_readme_says_what_is_in_it_and_what_was_never_done(tmp_path: Path) -> None:
    text = (pl.ipu.export(*build(), tmp_path) / "README.md").read_text(encoding="utf-8")
    assert "never run on hardware" in text
    assert "| stream | `out` | float32, 8 |" in text
    assert "| host function | `count` | float32, 8; float32, 4 |" in text
    assert "python client.py hardware 'double'" in text
    assert "@" not in text


def test_what_is_no_graph_and_no_program_is_refused(tmp_path: Path) -> None:
    graph, program = build()
    with pytest.raises(pl.ControlProgramError, match="export: 3 is not a graph"):
        pl.ipu.export(3, program, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownName, match="export needs at least one program") as caught:
        pl.ipu.export(graph, {}, tmp_path)
    assert caught.value.fix.startswith("export(graph, Sequence(), folder)")


def test_indices_are_checked_where_that_is_asked_for(tmp_path: Path) -> None:
    texts = [
        (pl.ipu.export(*build(), tmp_path / checks, checks=checks) / "codelets.cpp").read_text()
        for checks in ("none", "fast")
    ]
    assert ["pl::at(x, i) = pl::at(x, i) * 2.0f;" in text for text in texts] == [False, True]
    with pytest.raises(pl.ControlProgramError, match="checks='strict', but must be 'fast' or"):
        pl.ipu.export(*build(), tmp_path / "strict", checks="strict")  # type: ignore[arg-type]


def test_a_program_with_a_fault_is_not_exported(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    with pytest.raises(pl.InvalidTileMapping, match="elements \\[0, 4\\) of 4 have no tile"):
        pl.ipu.export(graph, pl.PrintTensor(x), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pl.FileLoadError, match="cannot make the folder .*file"):
        pl.ipu.export(*build(), tmp_path / "file")
