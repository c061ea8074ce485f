"""What the name of cached code follows: vertices, the sources that make it, Numba's choices."""

from __future__ import annotations

import ast
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import poplite as pl
from helpers import running
from helpers.depth import deep, thinned
from helpers.running import python, words_of
from helpers.source_tree import MODULES, statements_in, tree_of
from poplite.jit import digest, object_cache
from poplite.jit.cache_key import _CHOICES, _in_text, modules_behind
from poplite.simulator import compiled_parts
from poplite.vertex.compute.meaning import meaning_of

# -- changes of vertices ---------------------------------------------------------------------------


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
    return running.load(path, "cache_program")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_gives_other_code_in_one_process(name: str, tmp_path: Path) -> None:
    old, new, before, after = CHANGES[name]
    assert TEXT.count(old) == 1
    first = load(tmp_path, TEXT)
    identities = {each: repr(meaning_of(getattr(first, each)).identity) for each in CHANGES}
    assert first.result(getattr(first, name)) == before
    second = load(tmp_path, TEXT.replace(old, new))
    changed = [
        each
        for each in CHANGES
        if repr(meaning_of(getattr(second, each)).identity) != identities[each]
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


# -- sources and Numba -----------------------------------------------------------------------------


ROOT = Path(__file__).resolve().parents[3]
MAKERS = ("poplite.simulator.compiled_parts", "poplite.simulator.pricing.class_slots")
"""Modules that name the code of vertices and of the engine."""

# -- what compiles is in the name ------------------------------------------------------------------

WATCH = """
import importlib, sys
import poplite.jit
import poplite.jit.cache_key as key
build = importlib.import_module("poplite.jit.build")

from poplite.jit import side_by_side
from poplite.jit.build import Job

behind, named, watched, kept = {}, key.digest, Job.content, build.kept_text

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
        from poplite.jit.cache_key import modules_behind
        hashed = set(modules_behind(*behind[name]))
        packages = {m for m in sys.modules if hasattr(sys.modules[m], "__path__")}
        used = ran | set(sys.modules) - loaded - packages
        missing = {m for m in used if str(m).startswith("poplite")} - hashed
        print(*sorted(missing), end=" ")
        made.add(behind[name])

made = set()
poplite.jit.digest = key.digest = build.digest = digest
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
        "poplite.executable.encoding",
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
    with pytest.raises(ModuleNotFoundError, match=f"text of '{name}.maker', which is .* byte code"):
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
        "from poplite.jit.kernels_intervals import repeat_pattern\n"
        "native(repeat_pattern)\nprint('poplite.jit.kernel_code' in sys.modules)"
    )
    cache = str(tmp_path / "cache")
    runs = [
        words_of(tmp_path, script, POPLITE_CACHE_DIR=cache, **options)
        for options in ({}, {"NUMBA_OPT": "0"}, {}, {"NUMBA_OPT": "0"})
    ]
    assert runs == [["True"], ["True"], ["False"], ["False"]]
