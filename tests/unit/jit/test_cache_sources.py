"""The name of cached code follows the sources that it is made by, and the choices of Numba."""

from __future__ import annotations

import ast
import compileall
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.depth import deep, thinned
from helpers.running import python, words_of
from helpers.source_tree import MODULES, statements_in, tree_of
from poplite.jit import digest
from poplite.jit.object_cache import _CHOICES, _in_text, modules_behind
from poplite.simulator import compiled_parts

ROOT = Path(__file__).resolve().parents[3]
MAKERS = ("poplite.simulator.compiled_parts", "poplite.simulator.pricing.class_slots")
"""Modules that name the code of vertices and of the engine."""

# -- what compiles is in the name ------------------------------------------------------------------

WATCH = """
import importlib, sys
import poplite.jit
import poplite.jit.object_cache as objects
build = importlib.import_module("poplite.jit.build")

from poplite.jit import side_by_side
from poplite.jit.build import Job

behind, named, watched, kept = {}, objects.digest, Job.content, build.kept_text

def digest(makers, *parts):
    name = named(makers, *parts)
    behind[name] = tuple(makers)
    return name

def watch(name, make):
    ran, loaded = set(), set(sys.modules)
    sys.setprofile(lambda frame, event, arg: ran.add(frame.f_globals.get("__name__")))
    try:
        return make()
    finally:
        sys.setprofile(None)
        from poplite.jit.object_cache import modules_behind
        hashed = set(modules_behind(*behind[name]))
        packages = {m for m in sys.modules if hasattr(sys.modules[m], "__path__")}
        used = ran | set(sys.modules) - loaded - packages
        missing = {m for m in used if str(m).startswith("poplite")} - hashed
        print(*sorted(missing), end=" ")
        made.add(behind[name])

made = set()
poplite.jit.digest = objects.digest = build.digest = digest
side_by_side.processors = lambda: 1
Job.content = lambda job: watch(job.name, lambda: watched(job))
build.kept_text = lambda name, make: kept(name, lambda: watch(name, make))
"""

COMPILE = """
import numpy as np
import poplite as pl
from typing import Generic, TypeVar

T = TypeVar("T")

class Bins(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.y[i][0] += self.x[i]

class Search(pl.Vertex, Generic[T]):
    x: pl.InOut[T]
    y: pl.InOut[pl.UNSIGNED_INT]

    def halved(self, value):
        return value // 2

    def compute(self) -> bool:
        while self.y > 1:
            self.y = self.halved(self.y)
            self.x = self.x * 0.5
        assert self.y < 7
        return self.x > 1

for checks in ("strict", "fast"):
    target = pl.Target(tiles=4)
    graph = pl.Graph(target)
    x = graph.add_variable(pl.HALF, (6000,), "x", mapping="linear")
    z = graph.add_variable(pl.HALF, (100, 60), "z", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (6000, 2), "y", mapping="linear")
    scale = pl.QuarterMetadata(pl.QuarterFormat.F143, 0)
    q = graph.add_variable(pl.QUARTER, (4,), "q", mapping=0, metadata=scale)
    u = graph.add_variable(pl.UNSIGNED_INT, (4,), "u", mapping=0, initial_value=[9, 5, 3, 3])
    work, search = graph.add_compute_set("work"), graph.add_compute_set("search")
    graph.add_vertex(work, Bins, tile=0, x=x[:60], y=y[:60])
    graph.add_vertices(search, Search[pl.FLOAT], tile=[0, 1], x=y[:2, 0], y=u[:2])
    graph.add_vertices(search, Search[pl.QUARTER], tile=0, x=q[2:], y=u[2:])
    floats = pl.FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=True)
    steps = pl.Sequence(
        pl.SetFloatingPointBehaviour(floats), pl.Execute(work), pl.Execute(search),
        pl.Copy(x.reshape((60, 100)).T, z),
    )
    engine = pl.Engine(graph, steps, checks=checks)
    engine.write(x, np.ones(6000))
    engine.write(y, np.ones((6000, 2)))
    engine.write(q, np.ones(4))
    engine.run()
    engine.report()
"""


@deep
def test_all_that_compiles_is_hashed(tmp_path: Path) -> None:
    """What runs or is loaded while code is made cold, for each piece of code on its own."""
    script = WATCH + COMPILE + "print('all', *{maker for makers in made for maker in makers})"
    words = words_of(tmp_path, script, POPLITE_CACHE_DIR=str(tmp_path / "cache"))
    missing, makers = words[: words.index("all")], words[words.index("all") + 1 :]
    assert missing == []
    assert set(makers) >= {*MAKERS, "poplite.jit.build"}


def test_constants_that_are_compiled_in_are_hashed() -> None:
    behind = modules_behind("poplite.simulator.compiled_parts", *compiled_parts._OWN.values())
    assert {
        "poplite.executable.rows",
        "poplite.executable.opcodes",
        "poplite.machine.floating_point",
        "poplite.types",
    } <= set(behind)


def test_what_has_no_say_in_code_is_not() -> None:
    behind = modules_behind(*MAKERS)
    assert "poplite" not in behind
    parts = {name.split(".")[1] for name in behind}
    assert not parts & {"viz", "report", "tools", "testing", "program", "ops"}
    assert not parts & {"graph"}


# -- reading import statements ---------------------------------------------------------------------


def statements_of(module: str) -> dict[str, set[str]]:
    """Return from where a module imports what, as Python reads it, without what is for types."""
    found: dict[str, set[str]] = {}
    waiting: list[ast.AST] = [tree_of(module)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.name, set())
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports are not read"
            found.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += statements_in(node)
    return found


@pytest.mark.parametrize("part", thinned(range(5), keep=1))
def test_statements_are_read_as_python_reads_them(part: int) -> None:
    for module, path in [*MODULES.items()][part::5]:
        found: dict[str, set[str]] = {}
        for source, names in _in_text(path.read_bytes()):
            found.setdefault(source, set()).update(names)
        expected = statements_of(module)
        assert {source: found.get(source) for source in expected} == expected, path


FILES = {
    "__init__.py": "",
    "maker.py": (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n\n"
        "from NAME.inner import (\n    number,  # of (something)\n    beside as another,\n)\n\n"
        "if TYPE_CHECKING:\n    from NAME.types_only import Thing\n\n\n"
        "def make() -> int:\n    from NAME.late import LATE\n\n    return LATE\n"
    ),
    "inner/__init__.py": "from NAME.again import AGAIN as other\n",
    "inner/beside.py": "BESIDE = 1\n",
    "inner/number.py": "NUMBER = 1\n",
    "late.py": "LATE = 1\n",
    "again.py": "AGAIN = 1\n",
    "types_only.py": "class Thing: ...\n",
    "apart.py": "APART = 1\n",
}
BEHIND = ["again", "inner", "inner.beside", "inner.number", "late", "maker"]

Package = Callable[..., str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Makes a package of `FILES` under another name each time; `form` is how it is stored."""
    made: list[str] = []

    def make(form: str = "text", **texts: str) -> str:
        name = f"hashed_{tmp_path.name}_{len(made)}"
        made.append(name)
        folder = tmp_path / str(len(made)) / name
        changed = {f"{module}.py": text for module, text in texts.items()}
        for file, text in {**FILES, **changed}.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text.replace("NAME", name))
        if form == "byte code":
            compileall.compile_dir(folder, quiet=1, legacy=True)
            for path in folder.rglob("*.py"):
                path.unlink()
        place = folder.parent
        if form == "zip":
            place = folder.parent / "all.zip"
            with zipfile.ZipFile(place, "w") as archive:
                for path in folder.rglob("*.py"):
                    archive.write(path, path.relative_to(folder.parent))
            shutil.rmtree(folder)
        monkeypatch.syspath_prepend(str(place))
        return name

    return make


@pytest.mark.parametrize("form", ["text", "zip"])
def test_imports_are_followed(package: Package, form: str) -> None:
    """Of packages and modules, over several lines, inside functions; not for types."""
    name = package(form)
    assert modules_behind(f"{name}.maker") == [f"{name}.{module}" for module in BEHIND]


def test_without_text_nothing_is_compiled(package: Package) -> None:
    name = package("byte code")
    with pytest.raises(ModuleNotFoundError, match=f"text of '{name}.maker', of which .* byte code"):
        modules_behind(f"{name}.maker")


def test_a_changed_constant_behind_a_function_changes_the_name(tmp_path: Path) -> None:
    script = "import sys; from poplite.jit import digest; print(digest(['made.maker'], 1))"
    for file, text in FILES.items():
        (tmp_path / "made" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / file).write_text(text.replace("NAME", "made"))

    def name() -> str:
        return python(tmp_path, "-c", script).stdout

    first = name()
    for file in ("types_only.py", "apart.py"):
        (tmp_path / "made" / file).write_text("OTHER = 2\n")
    assert name() == first
    names = {first}
    for file in ("late.py", "inner/number.py", "again.py"):
        (tmp_path / "made" / file).write_text(FILES[file].replace("= 1", "= 2"))
        names.add(name())
    assert len(names) == 4


def test_a_module_that_moved_away_is_missed(package: Package) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"depends on a module 'poplite.moved'"):
        digest(["poplite.moved"], "code")
    name = package(late="from NAME.gone import NUMBER\n")
    with pytest.raises(ModuleNotFoundError, match=f"depends on a module '{name}.gone'"):
        digest([f"{name}.maker"], "code")


# -- choices of Numba ------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [*_CHOICES])
def test_choices_that_change_code_change_the_name(
    choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"OPT", "CPU_NAME", "LOOP_VECTORIZE"} <= set(_CHOICES)
    monkeypatch.delenv(f"NUMBA_{choice}", raising=False)
    first = digest(["poplite.types"], "code")
    monkeypatch.setenv(f"NUMBA_{choice}", "1")
    assert digest(["poplite.types"], "code") != first


def test_choices_in_a_file_change_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = digest(["poplite.types"], "code")
    (tmp_path / ".numba_config.yaml").write_text("opt: 0\n")
    assert digest(["poplite.types"], "code") != first


def test_code_for_another_level_is_made_anew(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom poplite.jit.build import native\n"
        "from poplite.jit.kernels.intervals import repeat_pattern\n"
        "native(repeat_pattern)\nprint('poplite.jit.kernel_code' in sys.modules)"
    )
    cache = str(tmp_path / "cache")
    runs = [
        words_of(tmp_path, script, POPLITE_CACHE_DIR=cache, **options)
        for options in ({}, {"NUMBA_OPT": "0"}, {}, {"NUMBA_OPT": "0"})
    ]
    assert runs == [["True"], ["True"], ["False"], ["False"]]
