"""C++ classes in files: what is saved, and what is compiled when a file is loaded and run."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.cpp import HEAD, needs_cpp
from helpers.ranks import ended, needs_mpi, on_ranks
from poplite.cpp.codelets import CodeletSource, ReplacedFile
from poplite.cpp.llvm_text import codelet_unit, from_file, llvm_text, may_compile

pytestmark = needs_cpp

TEXT = HEAD + (
    "struct Twice : Vertex { InOut<Vector<float>> x;\n"
    "  void compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] *= 2; } };\n"
)

LOAD = """
import sys
import poplite as pl
path, how = sys.argv[1:]
codelets = how == "codelets"
if path.endswith("graph"):
    graph, programs = pl.Graph.load(path, codelets=codelets)
    engine = pl.Engine(graph, programs["0"])
    print(graph.hasCodelet("Twice"), end=" ")
else:
    engine = pl.Engine(pl.Executable.load(path, codelets=codelets))
engine.run()
print(engine.read("x").tolist())
"""


def saved(folder: Path, codelets: str | Path = TEXT) -> list[Path]:
    """Write a graph and an executable with a vertex of the class."""
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(codelets)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, 2, 3])
    graph.create_host_read("x", x)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Twice", tile=0, x=x)
    paths = [folder / "twice.graph", folder / "twice.poplite"]
    graph.save(paths[0], [pl.Execute(step)])
    pl.compile_graph(graph, pl.Execute(step)).save(paths[1])
    return paths


def loaded(path: Path, how: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """Load a file in another process, and run it."""
    environment = {**os.environ, "POPLITE_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", LOAD, str(path), how]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [0, 1])
def test_code_is_found_in_the_cache_or_compiled_where_that_is_asked(
    number: int, tmp_path: Path
) -> None:
    path, empty = saved(tmp_path)[number], tmp_path / "cache"
    refused = loaded(path, "only read", empty)
    assert "were never compiled on this machine" in refused.stderr
    assert "pass codelets=True to load" in refused.stderr
    compiled = loaded(path, "codelets", empty)
    assert compiled.stdout.endswith("[2.0, 4.0, 6.0]\n"), compiled.stderr
    again = loaded(path, "only read", empty)
    assert again.stdout == compiled.stdout
    assert again.stdout.startswith("True") == (number == 0)


def test_files_hold_text_and_no_code(tmp_path: Path) -> None:
    for path in saved(tmp_path):
        with zipfile.ZipFile(path) as file:
            content = b"".join(map(file.read, file.namelist()))
        assert b"x[i] *= 2" in content
        assert b"define " not in content
        assert b"ELF" not in content


def test_a_description_that_is_not_that_of_the_text_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)[1]
    wrong = tmp_path / "wrong.poplite"
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(wrong, "w") as other:
        for name in file.namelist():
            content = file.read(name).replace(b"x[i] *= 2", b"x[i] += x[9]")
            other.writestr(name, content)
    done = loaded(wrong, "codelets", tmp_path / "cache")
    assert done.returncode == 1
    assert "Error" in done.stderr
    assert "[2.0" not in done.stdout


@pytest.mark.parametrize("place", ["replaced", "trapped"])
def test_a_file_cannot_change_a_text_that_this_process_was_given(place: str) -> None:
    unit = codelet_unit(CodeletSource(TEXT, None))
    may_compile(unit)
    changes: dict[str, Any] = {
        "replaced": (ReplacedFile("/own.hpp", "#define x y"),),
        "trapped": ((len(TEXT) - 50, len(TEXT) - 6),),
    }
    forged = dataclasses.replace(unit, **{place: changes[place]})
    from_file(forged)
    with pytest.raises(pl.VertexCompileError, match="never compiled|is not that of their text"):
        llvm_text(forged)


def test_texts_are_utf_8_in_every_locale(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    text = TEXT + "// \u00e9 \u4e2d\n"
    script.write_text(
        f"import poplite as pl\nprint(list(pl.Graph().add_codelets({text!a})))\n", "utf-8"
    )
    environment = {
        **os.environ,
        **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "POPLITE_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['Twice']\n", done.stderr


@pytest.mark.parametrize("content", ["constexpr int factor = 3;\n", None])
def test_a_program_is_refused_after_a_change_of_what_its_text_includes(
    content: str | None, tmp_path: Path
) -> None:
    included, text = tmp_path / "own.hpp", tmp_path / "twice.cpp"
    included.write_text("constexpr int factor = 2;\n")
    text.write_text('#include "own.hpp"\n' + TEXT.replace("*= 2", "*= factor"))
    paths = saved(tmp_path, text)
    assert loaded(paths[1], "codelets", tmp_path / "0").stdout == "[2.0, 4.0, 6.0]\n"
    if content is None:
        included.unlink()
    else:
        included.write_text(content)
    for path in paths:
        done = loaded(path, "codelets", tmp_path / "1")
        assert f"'{included}' is not the file that C++ codelets of" in done.stderr


def test_a_file_is_loaded_where_its_class_is_known(tmp_path: Path) -> None:
    for path in saved(tmp_path):
        if path.suffix == ".graph":
            graph, programs = pl.Graph.load(path)
            engine = pl.Engine(graph, programs["0"])
        else:
            engine = pl.Engine(pl.Executable.load(path))
        engine.run()
        np.testing.assert_array_equal(engine.read("x"), [2, 4, 6])


# -- export and pictures ---------------------------------------------------------------------------


def test_export_passes_the_text_through(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(TEXT)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Twice", tile=0, x=x)
    pl.ipu.export(graph, pl.Execute(step), tmp_path)
    assert TEXT in (tmp_path / "codelets.cpp").read_text()
    assert pl.ipu.lint(graph) == []


def test_export_refuses_texts_that_include_files(tmp_path: Path) -> None:
    (tmp_path / "own.hpp").write_text("constexpr int two = 2;\n")
    (tmp_path / "twice.cpp").write_text('#include "own.hpp"\n' + TEXT)
    graph = pl.Graph(pl.Target(tiles=1))
    cls = graph.add_codelets(tmp_path / "twice.cpp")["Twice"]
    with pytest.raises(pl.VertexCompileError, match="they include files"):
        pl.ipu.codelet_text(cls)


def test_pictures_and_reports_name_the_class() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(TEXT)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=1)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Twice", tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(step))
    engine.run()
    assert "Twice" in engine.report().to_html()


# -- ranks -----------------------------------------------------------------------------------------

ON_RANKS = """
import numpy as np
import poplite as pl

def engine(text, **options):
    graph = pl.Graph(pl.Target(tiles=4))
    graph.add_codelets(text)
    x = graph.add_variable(pl.FLOAT, (4, 9), "x", mapping="linear", initial_value=np.arange(36))
    step = graph.add_compute_set("step")
    for tile in range(4):
        graph.add_vertex(step, "Twice", tile=tile, x=x[(tile + 1) % 4])
    return pl.Engine(graph, pl.Repeat(3, pl.Execute(step)), **options), x

for checks in ("strict", "fast"):
    found = []
    for device in (None, pl.mpi.Device()):
        made, x = engine(TEXT, checks=checks, device=device)
        made.run()
        found.append((made.read(x).tobytes(), made.report().cycles))
    print(found[0] == found[1])
"""


@needs_mpi
def test_ranks_compute_the_same_bits_and_cycles(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(f"TEXT = {TEXT!r}\n{ON_RANKS}")
    done = ended(on_ranks(2, script))
    # Texts of two ranks may share a line.
    assert done.stdout.count("True") == 4, done.stdout + done.stderr
