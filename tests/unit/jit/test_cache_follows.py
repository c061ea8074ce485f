"""What a compiled vertex depends on: a change of any of it is compiled again, nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import poplite as pl
from helpers import scripts
from helpers.depth import deep, thinned
from poplite.jit import object_cache
from poplite.vertex.compute import code_identity

TEXT = """
import poplite as pl

FACTOR = 2


def twice(value):
    return value * 2


def indirect(value):
    return twice(value) + 1


def scaled(value, by=2):
    return value * by


class Module(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = self.x * FACTOR


class Helper(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = indirect(self.x)


class Default(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = scaled(self.x)


class Constant(pl.Vertex):
    FACTOR = 2
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = self.x * self.FACTOR


class Base(pl.Vertex):
    x: pl.InOut[pl.INT]

    def work(self, value):
        return value * 2

    def compute(self) -> None:
        self.x = self.work(self.x)


class Inherited(Base):
    pass


class Typed(pl.Vertex):
    x: pl.InOut[pl.INT]
    y: pl.Input[pl.SHORT]

    def compute(self) -> None:
        self.x = self.x * self.y


def make(factor):
    class Closure(pl.Vertex):
        x: pl.InOut[pl.INT]

        def compute(self) -> None:
            self.x = self.x * factor

    return Closure


Closure = make(2)


class Raising(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        assert self.x != 8, "eight"
        self.x = self.x * 2


def result(vertex):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=7)
    work = graph.add_compute_set()
    fields = {"x": x}
    if "y" in vertex.fields:
        element = vertex.fields["y"].element
        fields["y"] = graph.add_variable(element, (), "y", mapping=0, initial_value=2)
    graph.add_vertex(work, vertex, tile=0, **fields)
    engine = pl.Engine(graph, pl.Execute(work))
    try:
        engine.run()
    except AssertionError:
        return -1
    return engine.read(x).item()
"""

CHANGES = {
    "Module": ("\nFACTOR = 2", "\nFACTOR = 3", 14, 21),
    "Helper": ("    return value * 2\n\n\ndef", "    return value * 3\n\n\ndef", 15, 22),
    "Default": ("by=2", "by=3", 14, 21),
    "Constant": ("    FACTOR = 2", "    FACTOR = 3", 14, 21),
    "Inherited": ("        return value * 2", "        return value * 3", 14, 21),
    "Typed": ("y: pl.Input[pl.SHORT]", "y: pl.Input[pl.SIGNED_CHAR]", 14, 14),
    "Closure": ("make(2)", "make(3)", 14, 21),
    "Raising": ("self.x != 8", "self.x != 7", 14, -1),
}
"""By vertex class: text to replace, by what, and the results before and after."""


def load(folder: Path, text: str) -> ModuleType:
    path = folder / "program.py"
    path.write_text(text)
    return scripts.load(path, "cache_program")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_gives_other_code_in_one_process(name: str, tmp_path: Path) -> None:
    old, new, before, after = CHANGES[name]
    assert TEXT.count(old) == 1
    first = load(tmp_path, TEXT)
    identities = {each: repr(code_identity(getattr(first, each))) for each in CHANGES}
    assert first.result(getattr(first, name)) == before
    second = load(tmp_path, TEXT.replace(old, new))
    changed = [
        each for each in CHANGES if repr(code_identity(getattr(second, each))) != identities[each]
    ]
    assert changed == [name]
    assert second.result(getattr(second, name)) == after


def test_names_that_change_their_meaning_in_place(tmp_path: Path) -> None:
    module: Any = load(tmp_path, TEXT)
    assert module.result(module.Default) == 14
    module.FACTOR, module.Constant.FACTOR = 5, 6
    module.twice = module.scaled
    module.scaled.__defaults__ = (4,)
    results = {name: module.result(getattr(module, name)) for name in CHANGES}
    expected = {name: before for name, (_, _, before, _) in CHANGES.items()}
    assert results == expected | {"Module": 35, "Helper": 29, "Default": 28, "Constant": 42}


# -- processes that share a folder -----------------------------------------------------------------


def tell(names: Sequence[str]) -> str:
    """Return the end of a program that prints the results of classes, and whether it compiled."""
    return (
        f"\nimport sys\nprint(*(result(globals()[name]) for name in {[*names]}),"
        " 'numba' in sys.modules)\n"
    )


def start(folder: Path, text: str, **options: str) -> subprocess.Popen[str]:
    """Start a program of that text, with `folder / cache` as its cache."""
    script = folder / "program.py"
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "POPLITE_CACHE_DIR": str(folder / "cache"), **options},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> str:
    """Wait for a program and return what it printed, errors behind; not what it compiles."""
    output, errors = process.communicate(timeout=300)
    lines = [line for line in errors.splitlines() if not line.startswith("poplite: compiling ")]
    return output.strip() + "\n".join(lines)


def results(names: Sequence[str], column: int) -> str:
    return " ".join(str(CHANGES[name][column]) for name in names)


@deep
@pytest.mark.usefixtures("engine_cache")
@pytest.mark.parametrize("number", thinned([2, len(CHANGES)], keep=1))
def test_a_change_gives_other_code_in_another_process(tmp_path: Path, number: int) -> None:
    names = [*CHANGES][-number:]
    changed = TEXT
    for old, new, _, _ in CHANGES.values():
        changed = changed.replace(old, new)
    for text, column, compiles in ((TEXT, 2, True), (changed, 3, True), (TEXT, 2, False)):
        found = told(start(tmp_path, text + tell(names)))
        assert found == f"{results(names, column)} {compiles}"


@deep
def test_processes_that_fill_one_folder_at_once(tmp_path: Path) -> None:
    text, found = TEXT + tell([*CHANGES]), results([*CHANGES], 2)
    several = [start(tmp_path, text) for _ in range(3)]
    assert [told(process) for process in several] == 3 * [f"{found} True"]
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".o"}
    assert told(start(tmp_path, text)) == f"{found} False"


DIE = """
import os

def die(*paths):
    os._exit(9)  # as if killed between writing a file and giving it its name

os.replace = die
"""


@deep
def test_a_killed_process_leaves_nothing_wrong(tmp_path: Path, engine_cache: Path) -> None:
    before = list(engine_cache.iterdir())
    text = TEXT + tell(["Module"])
    killed = start(tmp_path, DIE + text)
    assert told(killed) == ""
    assert killed.returncode == 9
    assert {path.suffix for path in engine_cache.iterdir() if path not in before} == {".part"}
    assert told(start(tmp_path, text)) == "14 True"
    assert told(start(tmp_path, text)) == "14 False"


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A cache folder with one file in it, which nobody may write to."""
    folder = Path(tempfile.mkdtemp())  # outside of pytest's, which only its owner may enter
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPLITE_CACHE_DIR", str(folder))
        object_cache.store("known", object_cache.pack(b"code", "known", []))
    (folder / "known.o").chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)  # root may write anywhere
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_may_only_be_read(read_only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(read_only))
    assert object_cache.find("known") is not None
    assert object_cache.find("new") is None
    with pytest.warns(pl.CacheWarning, match=f"'{read_only}' cannot be written: Permission"):
        object_cache.store("new", b"content")


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"{}\n", b"[]\ncode", b'{"checksum": "0"}\ncode', b"\xff\xfe\ncode", b"\n"],
)
def test_files_that_are_no_cache_files_count_as_none(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    (tmp_path / "name.o").write_bytes(content)
    assert object_cache.find("name") is None
    object_cache.store("name", object_cache.pack(b"code", "name", []))
    assert object_cache.find("name") is not None
