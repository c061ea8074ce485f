"""The host program answers every command, also wrong ones, and goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import poplite as pl
from helpers.host_program import Session, host_binary, session
from poplite.ipu.tables import Tables, tables_of


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
