"""The cache of compiled vertices: found, renewed, refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import full_disk, load, python
from poplite import files
from poplite.jit import build, object_cache
from poplite.vertex.compute.meaning import meaning_of

PROGRAM = """
from __future__ import annotations

import sys

import poplite as pl


class Times(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = self.x * 6


graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=7)
compute_set = graph.add_compute_set()
graph.add_vertex(compute_set, Times, tile=0, x=x)
engine = pl.Engine(graph, pl.Execute(compute_set))
engine.run()
print(engine.read(x), "numba" in sys.modules)
"""


def run(folder: Path) -> str:
    """Run the program in a new process, with `folder / cache` as the cache."""
    script = folder / "times.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "POPLITE_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr


@deep
def test_what_is_damaged_is_compiled_again_and_what_is_kept_is_found(
    tmp_path: Path, engine_cache: Path
) -> None:
    of_engine = set(engine_cache.iterdir())
    assert run(tmp_path) == "42 True"
    for path in set(engine_cache.iterdir()) - of_engine:
        path.write_bytes(path.read_bytes()[:-100])
    assert run(tmp_path) == "42 True"
    assert run(tmp_path) == "42 False"  # a process that finds all needs no compiler


FOUND = "programs still run, but each process compiles its vertices again"


def warnings_of(store: Callable[[], object]) -> list[str]:
    """Return what storing warns of, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store()
    assert all(isinstance(each.message, pl.CacheWarning) for each in caught)
    return [str(each.message) for each in caught]


@deep
def test_engines_run_where_a_file_is_in_the_place_of_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_text("a file in its place")
    script = tmp_path / "times.py"
    script.write_text(PROGRAM)
    done = python(tmp_path, script, POPLITE_CACHE_DIR=str(place))
    assert done.stdout == "42 True\n"
    assert done.stderr.count("CacheWarning") == 1
    assert (
        f"times.py:20: CacheWarning: the cache folder '{place}' cannot be written: '{place}' is"
        f" not a folder\n  {FOUND}\n  try: set POPLITE_CACHE_DIR to a folder that you own\n"
    ) in done.stderr


def test_engines_run_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "open", full_disk, raising=False)
    monkeypatch.setattr(build, "_known", {})  # as in a new process
    with pytest.warns(pl.CacheWarning) as caught:
        engine = engine_of(Clear)
    assert [str(each.message) for each in caught] == [
        f"the cache folder '{tmp_path / 'cache'}' cannot be written: No space left on device\n"
        f"  {FOUND}\n"
        "  try: free space there, or set POPLITE_CACHE_DIR to a folder on another disk"
    ]
    assert caught[0].filename == __file__
    engine.run()
    assert list((tmp_path / "cache").iterdir()) == []  # nothing half-written


def test_what_cannot_be_read_is_none_and_what_cannot_be_replaced_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    (tmp_path / "name.o").mkdir()
    assert object_cache.find("name") is None
    (told,) = warnings_of(lambda: object_cache.store("name", b"content"))
    assert "cannot be written: 'name.o' in it cannot be replaced: Is a directory" in told
    assert [path.name for path in tmp_path.iterdir()] == ["name.o"]  # nothing half-written


def test_a_file_that_only_another_user_may_read_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    content = object_cache.pack(b"code", "name", [])
    object_cache.store("name", content)
    (tmp_path / "name.o").chmod(0o600)

    def closed(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:  # root may read anything
        patch.setattr(Path, "read_bytes", closed)
        assert object_cache.find("name") is None
    object_cache.store("name", content)
    assert object_cache.find("name") == content
    (tmp_path / "new").touch()
    assert (tmp_path / "name.o").stat().st_mode == (tmp_path / "new").stat().st_mode


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_who_may_read_is_as_the_umask_says_which_stays(
    mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(folder))
    set_umask = os.umask
    before = set_umask(mask)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")  # other threads make files meanwhile
            object_cache.store("name", b"content")
    finally:
        set_umask(before)
    assert folder.stat().st_mode & 0o777 == 0o777 & ~mask
    assert (folder / "name.o").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("POPLITE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(object_cache, "_warned", set())  # as in a new process
    assert not object_cache.has("name")
    assert object_cache.find("name") is None
    (told,) = warnings_of(lambda: object_cache.store("name", b"content"))
    assert "there is no cache folder: Could not determine home directory.\n" in told
    assert warnings_of(lambda: object_cache.store("name", b"content")) == []


def test_a_file_counts_only_whole_and_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    content = object_cache.pack(b"code", "name", ["expf"])
    object_cache.store("one", content)
    whole = (tmp_path / "one.o").read_bytes()
    assert object_cache.find("one") == content
    (tmp_path / "other.o").write_bytes(whole)
    assert object_cache.find("other") is None
    for damaged in (whole[:-1], whole.replace(b"expf", b"exp2"), b""):
        (tmp_path / "one.o").write_bytes(damaged)
        assert object_cache.find("one") is None
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.o", "other.o"]


ELSEWHERE = "set POPLITE_CACHE_DIR to a folder that you own"


def unsafe(folder: Path, reason: str, fix: str) -> str:
    return (
        f"the cache folder '{folder}' is not safe: {reason}, and so run code as you\n  try: {fix}"
    )


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o2770, 0o755])
@pytest.mark.parametrize("name", ["one", "none"])
def test_a_folder_where_anybody_may_write_is_told_once(
    mode: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shared"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(folder))
    folder.mkdir()
    (folder / "one.o").write_bytes(b"content")
    folder.chmod(mode)
    fix = f"chmod o-w {folder}, and delete its contents"
    told = warnings_of(lambda: object_cache.find(name))
    open_to_all = mode & 0o002
    assert told == ([unsafe(folder, "anybody can write to it", fix)] if open_to_all else [])
    assert warnings_of(lambda: object_cache.find(name)) == []


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775])
def test_a_folder_in_one_where_anybody_may_write_is_told_when_it_is_made(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(mode)
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(above / "own" / "cache"))
    assert warnings_of(lambda: object_cache.find("one")) == []  # there is none yet
    found = unsafe(
        above / "own" / "cache",
        f"anybody can write to '{above}'",
        f"chmod o-w {above}, or {ELSEWHERE}",
    )
    told = warnings_of(lambda: object_cache.store("one", b"content"))
    assert told == ([found] if mode == 0o777 else [])


def test_a_folder_of_another_user_or_in_one_or_behind_a_link_of_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, link = tmp_path / "of another" / "cache", tmp_path / "link"
    folder.mkdir(parents=True)
    link.symlink_to(folder)
    others: set[Path] = set()
    real = os.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real(path)
        return os.stat_result((*found[:4], 12345, *found[5:])) if path in others else found

    monkeypatch.setattr(os, "lstat", lstat)
    for other, at, name in (
        (folder, folder, "it"),
        (folder, link, "it"),
        (link, link, "it"),
        (folder.parent, folder, f"'{folder.parent}'"),
        (folder.parent, link, f"'{folder.parent}'"),
    ):
        others = {other}
        reason = f"{name} belongs to another user (number 12345), who could run code as you"
        assert object_cache.danger(at) == (reason, ELSEWHERE)
    others = set()
    assert object_cache.danger(folder) is None
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    others = {folder}
    found = object_cache.danger(folder)
    assert found is None or "belongs to another user (number 12345)" not in found[0]


@pytest.mark.parametrize("rank", ["0", "1"])
@pytest.mark.parametrize("variable", ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"])
def test_of_the_ranks_on_a_machine_the_first_tells(
    rank: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, rank)
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o777)
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(place))
    assert len(warnings_of(lambda: object_cache.find("one"))) == (rank == "0")
    place = tmp_path / "file"
    place.write_text("in its place")
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(place))
    assert len(warnings_of(lambda: object_cache.store("one", b"content"))) == (rank == "0")


def test_missing_symbol_is_refused_before_loading() -> None:
    content = object_cache.pack(b"code", "name", ["no_such_symbol"])
    with pytest.raises(pl.FileLoadError, match="needs no_such_symbol"):
        object_cache.load(content)


class Constant(pl.Vertex):
    x: pl.InOut[pl.FLOAT]
    WEIGHT = 0.5

    def compute(self) -> None:
        self.x = self.x * self.WEIGHT


class Opens(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        pass


class Clear(pl.Vertex):
    x: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 0


def engine_of(cls: type[pl.Vertex]) -> pl.Engine:
    """Return an engine with one vertex of a class that has one vector, without checks."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (9,), "x", mapping=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, cls, tile=0, x=x)
    return pl.Engine(graph, pl.Execute(compute_set), checks="fast")


def test_what_the_compiler_refuses_is_a_compile_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from poplite.simulator.codegen import lowered

    def opens(self: Opens) -> None:
        open("file")  # noqa: SIM115

    monkeypatch.setattr(lowered, "compiled_form", lambda checked: opens)  # skips the dialect
    with pytest.raises(pl.VertexCompileError, match="(?s)Opens.compute cannot be compiled: .*open"):
        engine_of(Opens)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no ELF files")
def test_needed_symbols_are_those_of_the_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what only code generation asks for, here the C library's fill."""
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    engine_of(Clear)
    heads = [path.read_bytes().split(b"\n")[1] for path in tmp_path.iterdir()]
    assert ["memset"] in [json.loads(head)["needed"] for head in heads]


def test_numbers_outside_are_read_again_for_each_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=8)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Constant, tile=0, x=x)
    for weight in (0.5, 0.25):
        monkeypatch.setattr(Constant, "WEIGHT", weight)
        for interpret in (True, False):
            engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
            engine.run()
            assert engine.read(x) == 8 * weight


def test_identity_follows_numbers_of_modules_within_modules(tmp_path: Path) -> None:
    path = tmp_path / "nested.py"
    path.write_text(
        "import types\nimport poplite as pl\n"
        "outer = types.ModuleType('outer')\nouter.inner = types.ModuleType('inner')\n"
        "outer.inner.F = 3\n"
        "class V(pl.Vertex):\n    x: pl.InOut[pl.INT]\n"
        "    def compute(self):\n        self.x = self.x * outer.inner.F\n"
    )
    module = load(path)
    before = repr(meaning_of(module.V).identity)
    module.outer.inner.F = 5
    assert repr(meaning_of(module.V).identity) != before


def test_identity_follows_class_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    before = repr(meaning_of(Constant).identity)
    assert repr(meaning_of(Constant).identity) == before
    monkeypatch.setattr(Constant, "WEIGHT", 0.25)
    assert repr(meaning_of(Constant).identity) != before
