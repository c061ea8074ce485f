"""States of engines as files: who loads one goes on as if nothing had happened, or refuses it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.rank_cases import connected, stateful
from poplite.executable.executable import meaning_of

GRAPH, PROGRAM, TENSORS = stateful()


def engine_of(**options: Any) -> pl.Engine:
    options = {"interpret": True} | options  # compiling takes longer than all of these tests
    return connected(pl.Engine(GRAPH, PROGRAM, checks="fast", **options))


def held(engine: pl.Engine) -> list[Any]:
    values = [*map(engine.read, TENSORS), engine.copy_from_remote_buffer("table", 2)]
    return [*(each.tobytes() for each in values), engine.report().to_json()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = engine_of(seed=5)
    engine.run()
    engine.save_state(path := tmp_path / "run.state")
    return path


@pytest.mark.parametrize("interpret", thinned([True, False], keep=[True]))
def test_who_loads_a_state_goes_on_as_who_saved_it(tmp_path: Path, interpret: bool) -> None:
    first, second = engine_of(seed=5, interpret=interpret), engine_of(interpret=interpret)
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.run()
    second.run()
    second.load_state(path)
    for _ in range(2):  # also the random bits and the positions of streams
        assert held(second) == held(first)
        first.run()
        second.run()
    assert held(second) == held(first)
    second.load()
    third = engine_of(interpret=interpret)
    second.run()
    third.run()
    assert held(second)[:3] == held(third)[:3]  # its own seed again


@pytest.mark.parametrize(
    ("seed", "is_same"), [({}, True), ({"seed": 5}, True), ({"seed": 6}, False)]
)
def test_an_engine_that_goes_on_has_the_seed_of_the_other(seed: Any, is_same: bool) -> None:
    first = engine_of(seed=5)
    first.run()
    second = engine_of(state=first, **seed)
    first.connect_stream("in", np.arange(24, dtype=np.int32))  # from its first block again
    first.run()
    second.run()
    assert all(np.array_equal(first.read(x), second.read(x)) for x in TENSORS) == is_same


def test_strict_checks_know_what_was_written(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping=0) for name in "xy")
    first, second = (pl.Engine(graph, pl.Copy(x, y), checks="strict") for _ in range(2))
    first.write(x[:1], [1])
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.load_state(path)
    assert second.read(y[:1]).tolist() == [1]
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 1 of 2 elements"):
        second.read(y)


def changed(path: Path, change: Callable[[dict[str, Any]], object], **members: bytes) -> None:
    """Write a state anew, with another manifest and other members."""
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(content["manifest.json"])
    change(manifest)
    content |= {name.replace("_", "/"): data for name, data in members.items()}
    content["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in content.items():
            new.writestr(name, data)


def keep(manifest: dict[str, Any]) -> None:
    """Leave a manifest as it is."""


WRONG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("it does not say that it is a poplite state", lambda m: m.update(kind="x")),
    ("it has format 1, and this poplite reads 2", lambda m: m.update(format=1)),
    ("is not a valid SavedState", lambda m: m.pop("remote")),
    (r"graph\[0\]: 3 is not a valid list", lambda m: m.update(graph=[3])),
    ("program '0' is another", lambda m: m["graph"][-3].__setitem__(1, "00")),
    ("its replicas are not those of its graph", lambda m: m.update(replicas=2)),
    ("other vertices were counted", lambda m: m.update(counted=[])),
    ("ended: -1 is not a count", lambda m: m.update(ended=-1)),
    ("never in mode 77", lambda m: m["words"].__setitem__(0, 77)),
    ("how floating-point arithmetic behaves", lambda m: m.update(words=[])),
    ("its streams are not those of its graph", lambda m: m.update(streams=[])),
    ("its streams are not those of its graph", lambda m: m.update(streams=[["in", []]])),
    ("0.5 is not of type int", lambda m: m.update(streams=[["in", [0.5]]])),
    ("loaded: 7 is not a valid list", lambda m: m.update(loaded=7)),
    ("the code of 'q' is loaded, which never is", lambda m: m.update(loaded=["q"])),
    ("its ended is 4,611,686,018,427,387,904, which no", lambda m: m.update(ended=1 << 62)),
    ("its runs_again is 2,305,843,009,213,693,952", lambda m: m.update(runs_again=1 << 61)),
]


@pytest.mark.parametrize(("message", "change"), WRONG)
def test_what_cannot_be_is_refused(
    path: Path, message: str, change: Callable[[dict[str, Any]], object]
) -> None:
    engine = engine_of()
    before = held(engine)
    changed(path, change)
    with pytest.raises(pl.FileLoadError, match=message):
        engine.load_state(path)
    assert held(engine)[:4] == before[:4]


def test_members_that_cannot_be_are_refused(path: Path) -> None:
    engine, whole = engine_of(), path.read_bytes()
    rest = b"\0" * (accounts_of(path) - 8)
    for message, members in (
        ("its member 'memory/1' is there", {"memory_1": b""}),
        ("its member 'memory/0' is of 1 B in place of", {"memory_0": b"x"}),
        ("its accounts hold a number below 0", {"accounts": b"\xff" * accounts_of(path)}),
        ("its accounts hold more than 4,5", {"accounts": b"\0" * 7 + b"\x3f" + rest}),
        ("its accounts hold more than 4,5", {"accounts": b"\xff" * 6 + b"\0\0" + rest}),
        ("its accounts hold more than 4,5", {"accounts": rest + b"\0" * 7 + b"\x3f"}),
        ("its member 'other' is not one of a poplite state", {"other": b""}),
        ("'flags' holds numbers other than 0 and 1", {"memory_0": b"\x02" * memory_of(path)}),
    ):
        changed(path, keep, **members)
        with pytest.raises(pl.FileLoadError, match=message):
            engine.load_state(path)
        path.write_bytes(whole)


def memory_of(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return file.getinfo("memory/0").file_size


def accounts_of(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return file.getinfo("accounts").file_size


def test_damaged_files_are_refused_or_hold_the_same(path: Path) -> None:
    engine, whole = engine_of(), path.read_bytes()
    before = held(engine)
    engine.load_state(path)
    right = held(engine)
    engine.load()
    damaged = [whole[: len(whole) // 2], b"", *_flipped(whole)]
    for content in damaged:
        path.write_bytes(content)
        try:
            engine.load_state(path)
        except pl.FileLoadError:
            assert held(engine)[:4] == before[:4]
        else:  # dates and the like
            assert held(engine) == right
            engine.load()


def _flipped(whole: bytes) -> list[bytes]:
    """Return files of which one bit is another."""
    at = np.linspace(0, len(whole) - 1, 60).astype(int)
    return [whole[:k] + bytes([whole[k] ^ 16]) + whole[k + 1 :] for k in at]


def test_a_state_of_another_graph_or_constant_is_refused(path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    with pytest.raises(pl.FileLoadError, match="'more' is in place of step 0") as caught:
        pl.Engine(graph, pl.Copy(x[:4], x[4:]), checks="fast").load_state(path)
    assert "try: an engine of the same graph" in str(caught.value)

    engines = []
    for value in (1, 2):
        graph = pl.Graph(pl.Target(tiles=1))
        y = graph.add_variable(pl.INT, (), "y", mapping=0)
        constant = graph.add_constant(pl.INT, (), value, name="k", mapping=0)
        engines.append(pl.Engine(graph, pl.Copy(constant, y)))
    engines[0].save_state(path)
    with pytest.raises(pl.FileLoadError, match="values of constant 'k' is another"):
        engines[1].load_state(path)


def test_programs_mean_the_same_in_all_forms() -> None:
    forms = [pl.compile_graph(GRAPH, PROGRAM, "fast", interpret=each) for each in (False, True)]
    compiled, interpreted = (dict(meaning_of(each)) for each in forms)
    assert compiled == interpreted
    rows = [len(each.programs["0"].ops) for each in forms]
    assert rows[0] < rows[1]

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (9, 8), "x", mapping=0, initial_value=1)
    program = pl.Sequence()
    pl.ops.map(pl.ops.reduce(x[:, :3], 0, "add"), program=program)
    forms = [pl.compile_graph(graph, program, "fast", interpret=each) for each in (False, True)]
    compiled, interpreted = (dict(meaning_of(each)) for each in forms)
    (other,) = (name for name, found in compiled.items() if found != interpreted[name])
    assert other.endswith("of which compiled code reads rows where they lie,")


@deep
def test_an_engine_goes_on_in_another_form(tmp_path: Path) -> None:
    first, second, third = (engine_of(seed=5, interpret=each) for each in (False, True, False))
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.load_state(path)
    for engine in (first, second):
        engine.run()
    second.save_state(path)
    third.load_state(path)
    for engine in (first, third):
        engine.run()
    assert held(third) == held(first)


def test_arrays_must_be_connected_before(path: Path) -> None:
    engine = pl.Engine(GRAPH, PROGRAM, checks="fast", interpret=True)
    with pytest.raises(pl.StreamConnectionError, match="'in' was at block 1 of an array") as caught:
        engine.load_state(path)
    assert "no array is connected to it" in str(caught.value)
    engine.connect_stream("in", np.zeros(8, np.int32))
    with pytest.raises(pl.StreamConnectionError, match="has 1 block"):
        engine.load_state(path)


def test_other_files_and_paths_are_refused(path: Path) -> None:
    engine = engine_of()
    with pytest.raises(pl.FileLoadError, match="cannot read"):
        engine.load_state(path.with_name("nowhere"))
    with pytest.raises(pl.FileLoadError, match="no file can have the name"):
        engine.load_state("a\0b")
    with pytest.raises(pl.ElementTypeError, match="7 is not a path"):
        engine.save_state(7)  # type: ignore[arg-type]
    with pytest.raises(pl.FileLoadError, match="there is no folder"):
        engine.save_state(path / "no" / "run.state")
    pl.Engine(pl.Graph(), pl.Sequence()).executable.save(path)
    with pytest.raises(pl.FileLoadError, match="cannot be loaded as a state of an engine"):
        engine.load_state(path)
