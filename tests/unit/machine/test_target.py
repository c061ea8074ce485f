"""Targets that can be built, and those that cannot."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poplite import (
    FLOAT,
    HALF,
    LONGLONG,
    Executable,
    Graph,
    InvalidMachineModel,
    InvalidTileMapping,
    Sequence,
    Target,
    UnknownName,
    compile_graph,
)

COUNTS = ("tiles", "workers", "tile_memory_bytes", "exchange_bytes_per_cycle", "ipus")


def test_the_default_is_a_mk2() -> None:
    target = Target()
    assert (target.tiles, target.workers, target.tile_memory_bytes) == (1472, 6, 638_976)
    assert target.memory_bytes == 1472 * 638_976
    assert repr(target) == "<Target 1,472 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>"


def test_numpy_numbers_are_taken_as_plain_ones() -> None:
    target = Target(tiles=np.int32(2**20), clock_hz=np.float32(2.0))  # type: ignore[arg-type]
    assert isinstance(target.tiles, int)
    assert isinstance(target.clock_hz, float)
    assert target.memory_bytes == 2**20 * 638_976  # more than an int32 holds
    assert target == Target(tiles=2**20, clock_hz=2)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("count", [0, -3])
def test_counts_begin_at_one(name: str, count: int) -> None:
    message = f"^Target: {name}={count} but at least 1 is needed  "
    with pytest.raises(InvalidMachineModel, match=message) as caught:
        Target(**{name: count})  # type: ignore[arg-type]
    assert caught.value.fix == f"Target({name}=1)"


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("tiles", 1.5, 2),
        ("tiles", 1.4, 1),
        ("tiles", -7.5, 1),
        ("tiles", 64.0, 64),
        ("tiles", Fraction(7, 2), 4),
        ("tiles", "64", 1472),
        ("ipus", None, 1),
        ("ipus", True, 1),
        ("tiles", float("nan"), 1472),
        ("tiles", float("inf"), 1472),
        ("workers", [6], 6),
        ("tile_memory_bytes", 1e3 + 0.2, 1000),
        ("exchange_bytes_per_cycle", 1j, 4),
    ],
)
def test_counts_are_whole(name: str, value: Any, instead: int) -> None:
    message = f"^Target: {name}={re.escape(repr(value))} is not a whole number  "
    with pytest.raises(InvalidMachineModel, match=message) as caught:
        Target(**{name: value})
    assert caught.value.fix == f"Target({name}={instead})"
    Target(**{name: instead})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "a", "1e9", 1j, 10**400])
def test_a_clock_is_a_finite_number_above_zero(value: Any) -> None:
    shown = "about 10^400" if value == 10**400 else repr(value)
    message = f"^Target: clock_hz={re.escape(shown)} is not a finite number above 0  "
    with pytest.raises(InvalidMachineModel, match=message) as caught:
        Target(clock_hz=value)
    assert caught.value.fix == "Target(clock_hz=1330000000.0)"


def test_errors_name_the_line_that_made_the_target() -> None:
    with pytest.raises(InvalidMachineModel, match="tiles=0") as caught:
        Target(tiles=0)
    assert caught.value.at is not None
    assert Path(caught.value.at.file).name == "test_target.py"
    assert caught.value.at.function == "test_errors_name_the_line_that_made_the_target"


def test_tiles_count_those_of_all_ipus() -> None:
    target = Target(tiles=12, ipus=3)
    assert (target.tiles, target.ipus, target.tiles_per_ipu) == (12, 3, 4)
    assert [target.ipu_of(tile) for tile in (0, 3, 4, np.int64(11))] == [0, 0, 1, 2]
    assert (target.getNumTiles(), target.getNumIPUs(), target.getTilesPerIPU()) == (12, 3, 4)
    assert "<Target 12 tiles on 3 IPUs, 6 workers" in repr(target)
    assert Target(ipus=4) == Target(tiles=4 * 1472, ipus=4)
    assert (Target().ipus, Target(tiles=7).tiles_per_ipu) == (1, 7)


@pytest.mark.parametrize(("tiles", "ipus", "left", "fix"), [(10, 4, 2, 8), (2, 3, 2, 3)])
def test_tiles_divide_among_the_ipus(tiles: int, ipus: int, left: int, fix: int) -> None:
    message = f"^Target: {tiles} tiles cannot be divided among {ipus} IPUs .*{left} are left over"
    with pytest.raises(InvalidMachineModel, match=f"(?s){message}") as caught:
        Target(tiles=tiles, ipus=ipus)
    assert f"Target(tiles={fix}, ipus={ipus})" in caught.value.fix
    assert Target(tiles=fix, ipus=ipus).tiles_per_ipu == fix // ipus


@pytest.mark.parametrize("tile", [-1, 12, 1.5, "0"])
def test_an_ipu_is_of_a_tile_that_exists(tile: Any) -> None:
    with pytest.raises(InvalidTileMapping, match=f"(?s)no tile {tile!r} on .*tiles are 0 to 11"):
        Target(tiles=12, ipus=3).ipu_of(tile)


def test_costs_of_ones_own() -> None:
    given: dict[str, Any] = {"sync_cycles": np.int32(7), "latency_cycles": 0}
    target = Target(costs=given)
    assert target.costs == (("latency_cycles", 0.0), ("sync_cycles", 7.0))
    assert (target.cost("sync_cycles"), target.cost("latency_cycles")) == (7, 0)
    assert target.cost("exchange_cycles") == Target().fact("exchange_cycles").value
    assert str(target.fact("sync_cycles")) == "7 cycles (assumed: given to Target)"
    assert repr(target).endswith("1.330 GHz, 2 own costs>")
    assert target != Target()
    assert {target, Target(costs=target.costs), replace(target)} == {target}
    assert Target(costs={"sync_cycles": 90}).fact("sync_cycles") == Target().fact("sync_cycles")


def test_costs_are_saved_with_an_executable(tmp_path: Path) -> None:
    target = Target(tiles=4, costs={"sync_cycles": 7, "pairing": 0.5})
    compile_graph(Graph(target), Sequence()).save(tmp_path / "it.poplite")
    loaded = Executable.load(tmp_path / "it.poplite").target
    assert loaded == target
    assert type(loaded.cost("sync_cycles")) is float


def test_what_is_an_argument_is_what_counts() -> None:
    target = Target(tiles=8, ipus=2, clock_hz=1e9, architecture="gc2")
    assert (target.cost("tiles"), target.cost("clock_hz")) == (4, 1e9)
    assert target.fact("clock_hz").source == "given to Target"
    assert target.fact("workers").source == Target().fact("workers").source


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "90", None])
def test_costs_are_finite_numbers_from_zero(value: Any) -> None:
    message = re.escape(f"costs['sync_cycles']={value!r} is not a finite number from 0")
    with pytest.raises(InvalidMachineModel, match=message) as caught:
        Target(costs={"sync_cycles": value})
    assert caught.value.fix == "costs={'sync_cycles': 90}"
    assert caught.value.found.startswith("90 cycles (model: before an exchange")


@pytest.mark.parametrize("costs", [90, [90], "sync_cycles"])
def test_costs_are_by_name(costs: Any) -> None:
    message = re.escape(f"costs={costs!r} is not a mapping of names to numbers")
    with pytest.raises(InvalidMachineModel, match=message) as caught:
        Target(costs=costs)
    assert caught.value.fix == "costs={'sync_cycles': 90}"


def test_costs_there_are_not() -> None:
    message = r"^Target: no constant 'sync_cycle' \(did you mean 'sync_cycles'\?\)"
    with pytest.raises(UnknownName, match=message) as caught:
        Target(costs={"sync_cycle": 1})
    assert caught.value.at is not None
    assert Path(caught.value.at.file).name == "test_target.py"
    with pytest.raises(InvalidMachineModel, match="'workers', which is an argument") as refused:
        Target(costs={"workers": 4})
    assert refused.value.fix == "Target(workers=4)"


def test_vectors_and_memory_elements() -> None:
    target = Target()
    widths = [target.vector_width(like) for like in (FLOAT, HALF, np.int8, LONGLONG)]
    assert widths == [2, 4, 8, 1]
    offsets = target.memory_element_offsets
    assert (len(offsets), offsets[1], target.tile_memory_bytes) == (39, 16_384, 39 * 16_384)
    # ipu-stack, memory.rs: interleaved from 0x80000 on, in memory that begins at 0x4c000.
    assert offsets[target.interleaved_memory_element] == 0x80000 - 0x4C000


@pytest.mark.parametrize("sizes", [{"tiles": 10**12}, {"tiles": 2**22 + 1}, {"ipus": 10**9}])
def test_more_tiles_than_mappings_are_made_for_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(InvalidMachineModel, match=r"tiles, but the most is 4,194,304") as caught:
        Target(**sizes)  # type: ignore[arg-type]
    (name,) = sizes
    largest = Target(**{name: int(caught.value.fix.split("=")[1][:-1])})  # type: ignore[arg-type]
    assert largest.tiles <= 2**22
    assert Target(tiles=2**22).tiles == 2**22
