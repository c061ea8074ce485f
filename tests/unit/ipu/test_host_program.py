"""The host program answers every command; selftest and the stand-in's SDK beside it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import NATIVE, STAND_IN
from helpers.depth import deep, values_only
from helpers.host_program import Session, building, host_binary, read_columns, session
from helpers.mirrored import Mirrors
from helpers.recorded_graph import Recorded
from helpers.vertices import vertex_classes
from poplite.ipu.building import host_text
from poplite.ipu.selftest import (
    EXTRA,
    LIBRARY,
    ROWS,
    library_rows,
    own_program,
    selftest,
    selftest_text,
)
from poplite.ipu.tables import CyclesSince, Tables, tables_of
from poplite.testing import check_codelet
from poplite.tools.command import main
from poplite.vertex.vertex import has_compute
from poplite.vertices import elementwise

# -- commands --------------------------------------------------------------------------------------


class Halve(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            assert self.x[i] >= 0.0
            self.x[i] *= 0.5


def tables(num_tiles: int = 4) -> Tables:
    graph = pl.Graph(pl.Target(tiles=num_tiles))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=num_tiles - 1, initial_value=8)
    work = graph.add_compute_set("halve")
    graph.add_vertex(work, Halve, tile=num_tiles - 1, x=x)
    return tables_of(graph, {"halve": pl.Execute(work), "stop": pl.Abort("at last")})


def start(made: Session) -> None:
    word, *seconds = made.ask("start").split(" ")
    assert word == "ready"
    assert all(float(each) >= 0 for each in seconds)


def test_commands_are_answered_and_wrong_ones_too(host_cache: Path, tmp_path: Path) -> None:
    with session(tables(), host_cache, tmp_path) as made:
        assert made.ask("run halve") == "error std::logic_error 18: 'run' before start"
        start(made)
        assert made.ask("start") == "error std::logic_error 15: started already"
        for command, text in {
            "run nothing": "no 'nothing'",
            "read variable:y": "no 'variable:y'",
            "write cycles:halve": "no 'cycles:halve'",
            "dance": "no command 'dance'",
            "": "no command ''",
        }.items():
            assert made.ask(command) == f"error std::logic_error {len(text)}: {text}"
        assert made.ask("run stop") == "error application_runtime_error 7: at last"
        made.write("variable:x", [1, 2, -3, 4])
        assert made.ask("run halve") == "error application_runtime_error 13: Halve stopped"
        made.write("variable:x", [1, 2, 3, 4])
        word, cycles, seconds = made.ask("run halve").split(" ")
        assert (word, int(cycles) > 0, float(seconds) >= 0) == ("ok", True, True)
        assert made.read("variable:x").tolist() == [0.5, 1, 1.5, 2]


def test_the_model_has_the_tiles_of_the_graph_and_no_counter(
    host_cache: Path, tmp_path: Path
) -> None:
    environment = {"STAND_IN_TILES": "0"}  # no hardware
    with session(tables(), host_cache, tmp_path, device="model", environment=environment) as made:
        start(made)
        assert made.ask("run halve").startswith("ok 0 ")
        assert made.read("variable:x").tolist() == [4] * 4


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ("0", "no IPU is free: none is there, or all are in use"),
        ("3", "the graph has 4 tiles, the device 3"),
    ],
)
def test_a_device_that_does_not_fit_is_an_error(
    there: str, text: str, host_cache: Path, tmp_path: Path
) -> None:
    environment = {"STAND_IN_TILES": there}
    with session(tables(), host_cache, tmp_path, environment=environment) as made:
        assert made.ask("start") == f"error std::runtime_error {len(text)}: {text}"
        assert made.ask("quit") == ""


def test_a_graph_of_all_tiles_is_no_virtual_graph(host_cache: Path, tmp_path: Path) -> None:
    environment = {"STAND_IN_TILES": "4"}
    with session(tables(), host_cache, tmp_path, environment=environment) as made:
        start(made)


def test_files_that_are_wrong_end_the_program(host_cache: Path, tmp_path: Path) -> None:
    good, bad, mapping = (tmp_path / name for name in ("good", "bad", "mapping"))
    tables().write(good)
    bad.write_bytes(b"x" * 100)
    mapping.write_bytes(b"x")
    host = str(host_binary(host_cache))
    for words, status, text in (
        ([good], 2, "usage: host TABLES CODELETS MAPPING"),
        ([good, bad, mapping, "--device", "toaster"], 2, "usage"),
        ([good, bad, mapping, "--executable"], 2, "usage"),
        ([bad, bad, mapping], 1, f"host: {bad} holds no tables"),
        ([tmp_path / "none", bad, mapping], 1, "host: cannot read"),
        ([good, bad, mapping], 1, f"host: {mapping} is smaller than the tables say"),
    ):
        done = subprocess.run([host, *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert text in done.stderr


# -- host calls and counters -----------------------------------------------------------------------
#
# Functions of the host, cycle counters and modes of arithmetic, on the host program.


def test_functions_of_the_host_get_and_fill_arrays(mirrors: Mirrors) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, (2, 4), "x", mapping="linear", initial_value=[[5, 1, 7, 3]] * 2)
    scale = graph.add_variable(pl.HALF, (), "scale", mapping=1, initial_value=0.5)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping="linear", initial_value=0)
    nothing = graph.add_host_function("x", [], [])
    sort = graph.add_host_function(
        "sort", [(pl.INT, 4), (pl.HALF, 1)], [(pl.INT, 4), (pl.FLOAT, 8)]
    )
    stream = graph.add_device_to_host_fifo("x", pl.FLOAT, 8)  # of the name of a function
    sort_column = pl.Call(sort, [x.T.flatten()[::-1][:4], scale], [x[1], y[::-1]])
    program = pl.Sequence(pl.Call(nothing), sort_column, pl.Copy(y, stream))
    engine = mirrors.mirrored(
        graph, pl.Repeat(3, program), checks="fast", interpret=True, options=values_only()
    )
    calls: list[list[int]] = []

    def sorts(inputs: Any, outputs: Any) -> None:
        calls.append(inputs[0].tolist())
        outputs[0][:] = np.sort(inputs[0])
        outputs[1][:] = inputs[1] * np.arange(8)

    engine.connect_host_function("sort", sorts)
    engine.connect_host_function("x", lambda inputs, outputs: None)
    engine.connect_stream_to_callback("x", lambda block: None)
    engine.run()
    assert calls == [[3, 3, 7, 7], [7, 3, 7, 7], [7, 3, 7, 7]]
    assert engine.read(y).tolist() == [3.5, 3, 2.5, 2, 1.5, 1, 0.5, 0]
    assert engine._session.ask("run 0") == "error Stopped 0: "
    assert engine._session.ask("run 0", lambda name, block: True, lambda name, arrays: True)


def test_code_of_functions_is_loaded_before_they_are_called(mirrors: Mirrors) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (
        graph.add_variable(pl.INT, (3,), name, mapping=0, initial_value=k)
        for k, name in enumerate("xy")
    )
    inner = graph.add_function(pl.Copy(y, x), "inner")
    outer = graph.add_function(pl.Sequence(pl.Call(inner), pl.Sync(pl.SyncType.GLOBAL)), "outer")
    buffer = graph.add_function_buffer(outer)
    programs = {"load": pl.Copy(buffer, outer), "call": pl.Repeat(2, pl.Call(outer))}
    engine = mirrors.mirrored(graph, programs, checks="fast", options=values_only())
    text = "the code of the function is not loaded"
    assert engine._session.ask("run call") == f"error application_runtime_error 38: {text}"
    engine.run("load")
    engine.run("call")
    assert engine.read(x).tolist() == [1] * 3


def test_modes_of_arithmetic_are_set_where_programs_set_them(mirrors: Mirrors) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.HALF, (4,), "x", mapping=1, initial_value=1)
    y = graph.add_variable(pl.HALF, (4,), "y", mapping=1)
    strict = pl.FloatingPointBehaviour(esr=False)
    none = pl.FloatingPointBehaviour(False, False, False, False, False)
    program = pl.Sequence(
        pl.SetFloatingPointBehaviour(strict),
        pl.Copy(x, y),
        pl.ModifyFloatingPointBehaviour(clear=strict, set=none),
        pl.SetStochasticRounding(False),
    )
    engine = mirrors.mirrored(graph, {"main": program, "other": pl.SetStochasticRounding(True)})
    engine.run("main")
    engine.run("other")
    assert engine._session.ask("reset") == "ok"


def test_traps_are_on_from_the_beginning_where_they_are_asked_for() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    executable = pl.compile_graph(
        graph, pl.Sequence(), options={"debug.floatPointOpException": True}
    )
    for mode, bits in ((0, 0b10000), (executable.float_modes[0], 0b10111)):
        found = read_columns(tables_of(graph, pl.Sequence(), float_mode=mode).data)
        assert found["machine"][2] == bits


def test_programs_read_cycle_counters(mirrors: Mirrors) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0, initial_value=1) for name in "ab")
    measured = pl.Sequence(pl.Repeat(50, pl.Copy(a, b)))
    taken = pl.cycle_count(graph, measured, tile=2, sync_type=pl.SyncType.EXTERNAL)
    program = pl.Sequence(measured)
    stamp = pl.cycle_stamp(graph, program, tile=3)
    mirrors.compares = False
    made = mirrors.session(graph, program)
    recorded = made.recorded
    (subtraction,) = recorded["compute_sets"]
    (vertex,) = subtraction["vertices"]
    assert (subtraction["name"], vertex["class"], vertex["tile"]) == (
        "cycles since",
        "CyclesSince",
        2,
    )
    steps = Recorded(recorded).tree(0)[1:]
    assert [step[:2] for step in (steps[0], steps[3], steps[5])] == [
        ["cycle stamp", 1],
        ["cycle stamp", 1],
        ["cycle stamp", 0],
    ]
    assert [step[0] for step in (steps[1], steps[2], steps[6])] == ["copy", "repeat", "copy"]
    assert steps[4] == ["execute", "cycles since"]
    assert made.ask("run 0").startswith("ok ")
    low, high = made.read(f"variable:{taken.name}").tolist()
    assert 50 <= low <= 60
    assert high == 0
    assert made.read(f"variable:{stamp.name}")[0] > low


@pytest.mark.parametrize(
    ("before", "now"), [(5, 17), (2**32 - 3, 2**32 + 4), (2**33 + 7, 2**40), (9, 9)]
)
def test_counters_are_subtracted_with_their_borrow(before: int, now: int) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    tensors = {
        name: graph.add_variable(pl.UNSIGNED_INT, (2,), name, mapping=0, initial_value=words)
        for name, words in (
            ("before", divmod(before, 2**32)[::-1]),
            ("now", divmod(now, 2**32)[::-1]),
        )
    }
    taken = graph.add_variable(pl.UNSIGNED_INT, (2,), "taken", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, CyclesSince, tile=0, taken=taken, **tensors)
    engine = pl.Engine(graph, pl.Execute(work), interpret=True)
    engine.run()
    low, high = engine.read(taken).tolist()
    assert low + (high << 32) == now - before


def test_the_subtraction_is_translated() -> None:
    check_codelet(CyclesSince)


def test_the_model_has_no_cycle_counters(host_cache: Path, tmp_path: Path) -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    pl.cycle_stamp(graph, program)
    with session(tables_of(graph, program), host_cache, tmp_path, device="model") as made:
        text = "the IPU Model has no cycle counters, which a program reads"
        assert made.ask("start") == f"error std::runtime_error {len(text)}: {text}"


# -- selftest --------------------------------------------------------------------------------------


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def sdk(host_cache: Path) -> Iterator[Path]:
    with building(host_cache) as made:
        yield made.root


def test_no_vertex_class_of_the_library_is_left_out() -> None:
    graph, _, outputs = library_rows()
    assert list(outputs) == list(LIBRARY)
    assert all(tensor.num_elements for row in outputs.values() for tensor in row)
    used = {each.vertex_class for one in graph.compute_sets for each in one.vertices}
    names = {(cls.__module__, cls.__name__.partition("[")[0]) for cls in used}
    for path in sorted((ROOT / "vertices").rglob("*.py")):
        for _, cls in vertex_classes(path, ROOT):
            is_base = cls in (elementwise.Unary, elementwise.Binary)
            assert is_base or not has_compute(cls) or (cls.__module__, cls.__name__) in names


def test_own_rows_differ_nowhere(sdk: Path) -> None:
    made = selftest(["hardware"], lambda kind: pl.ipu.Device(kind, sdk=sdk), [own_program])  # type: ignore[arg-type]
    assert made[0].is_equal
    assert selftest_text(made).count("| equal |") == len(ROWS) + len(EXTRA)
    assert selftest_text(made).count("| not run |") == len(LIBRARY)


@deep
def test_the_command_finds_no_difference_in_the_library(
    sdk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPLAR_SDK_ENABLED", str(sdk))
    assert main(["ipu", "selftest", "--kind", "hardware"]) == 0
    said = capsys.readouterr().out
    assert "POPLAR version 0.0.0 (stand-in)" in said
    assert said.count("| equal |") == len(ROWS) + len(EXTRA) + len(LIBRARY)


# -- signatures of the stand-in --------------------------------------------------------------------
# Parameters at the end that have a value of their own in Poplar, and that the host program leaves
# out, are left out here too.


LIST = STAND_IN / "signatures.tsv"
OWN = "// of the stand-in"

SEEN = (
    "https://github.com/graphcore/popart/blob/c0652ffdc6c8eedf1bb83537220243e39439c321/"
    "willow/src/popx/devicex.cpp"
)
"""Where what no page tells about is used."""

HEADERS = sorted(file for own in (STAND_IN, NATIVE) for file in (own / "poplar").glob("*.hpp"))


def listed() -> list[tuple[str, str]]:
    """Return page and signature of each row."""
    rows = LIST.read_text(encoding="utf-8").splitlines()
    return [(page, signature) for page, signature in (row.split("\t") for row in rows)]


def declared(header: Path) -> Iterator[str]:
    """Yield what a header declares for its users, each with its class before it."""
    scopes: list[tuple[str, int]] = []
    depth, is_public = 0, True
    for line in header.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"\s*//.*", "", line).strip()
        if text.endswith("public:"):
            is_public = True
        elif text.endswith(("private:", "protected:")):
            is_public = False
        elif found := re.search(r"POPLAR_ERROR\((\w+), (\w+)\)", text):
            if found[1] != "name":
                yield f"{found[1]} : {found[2]}"
        elif text and not text.startswith("#") and OWN not in line and is_public:
            yield from _declaration(text, [name for name, _ in scopes])
        opened = re.match(r"(?:template <.*> )?(?:class|struct) (\w+)[^;]*\{$", text)
        if opened:
            scopes.append((opened[1], depth))
            is_public = text.startswith("struct")
        depth += text.count("{") - text.count("}")
        while scopes and depth <= scopes[-1][1]:
            scopes.pop()
            is_public = True


def _declaration(text: str, scopes: list[str]) -> Iterator[str]:
    if text.startswith(("namespace", "using", "}", "return", "throw", "if ")):
        return
    if text.startswith("extern const Type "):
        yield from (f"const Type {name}" for name in re.findall(r"[A-Z_]+", text[18:]))
        return
    is_function = "(" in text and not text.endswith((",", "{"))
    is_enum = text.startswith("enum class")
    if is_function or is_enum or (scopes and re.fullmatch(r"unsigned \w+ = \d+;", text)):
        signature = re.split(r"\) : | \{ (?=return|\})| = default;| = delete;", f"{text}")[0]
        if ") : " in text:
            signature += ")"
        yield ": ".join([*scopes[-1:], signature.removesuffix(";").removesuffix(" {}")])


def signatures() -> list[str]:
    """Return what all headers declare."""
    return [each for header in HEADERS for each in declared(header)]


def test_every_signature_is_listed_once_and_every_row_is_one() -> None:
    found, rows = signatures(), [signature for _, signature in listed()]
    assert sorted(set(found) - set(rows)) == []
    assert sorted(set(rows) - set(found)) == []
    assert len(rows) == len(set(rows))


def test_every_row_names_its_page() -> None:
    pages = re.compile(r"https://docs\.graphcore\.ai/projects/[\w-]+/en/[\w./-]+\.html")
    assert {page for page, _ in listed() if not pages.fullmatch(page)} == {SEEN}


@pytest.mark.parametrize("name", ["Graph", "Tensor", "Engine", "Copy", "half"])
def test_signatures_are_found(name: str) -> None:
    assert any(each.startswith(f"{name}: ") for each in signatures())


def test_the_host_program_includes_documented_headers_only() -> None:
    included = re.findall(r"#include <(poplar/\w+\.hpp)>", host_text("host.cpp"))
    assert included
    assert set(included) <= {f"poplar/{header.name}" for header in HEADERS}
    assert "stand_in" not in host_text("host.cpp")
