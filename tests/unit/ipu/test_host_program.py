"""The host program answers every command, also wrong ones, and goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.host_program import Session, host_binary, session
from helpers.mirrored import Mirrors
from helpers.recorded_graph import Recorded
from helpers.table_columns import read_columns
from poplite.ipu.tables import Tables, tables_of
from poplite.ipu.tables.tables import CyclesSince
from poplite.testing import check_codelet


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
