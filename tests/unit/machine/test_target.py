"""Targets that can be built, the constants of the model, and the links between IPUs."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
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
from poplite.machine.facts import ARCHITECTURES, FACTS, Architecture, Evidence, PoplarArchitecture
from poplite.machine.target import (
    Link,
    bytes_per_cycle,
    global_sync_cycles,
    hops,
    link_bytes_per_cycle,
    route,
)

# -- targets ---------------------------------------------------------------------------------------


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
    message = f"^Target: {name}={count}, but at least 1 is needed  "
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
    message = f"^Target: clock_hz={re.escape(shown)} is not a finite number greater than 0  "
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
    message = (
        f"^Target: {tiles} tiles cannot be divided among {ipus} IPUs .*the remainder is {left}"
    )
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
    message = re.escape(f"costs['sync_cycles']={value!r} is not a finite non-negative number")
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
    message = r"^Target: there is no constant 'sync_cycle' \(did you mean 'sync_cycles'\?\)"
    with pytest.raises(UnknownName, match=message) as caught:
        Target(costs={"sync_cycle": 1})
    assert caught.value.at is not None
    assert Path(caught.value.at.file).name == "test_target.py"
    with pytest.raises(
        InvalidMachineModel, match="'workers', which is a separate argument"
    ) as refused:
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
    with pytest.raises(InvalidMachineModel, match=r"tiles, but the maximum is 4,194,304") as caught:
        Target(**sizes)  # type: ignore[arg-type]
    (name,) = sizes
    largest = Target(**{name: int(caught.value.fix.split("=")[1][:-1])})  # type: ignore[arg-type]
    assert largest.tiles <= 2**22
    assert Target(tiles=2**22).tiles == 2**22


@pytest.mark.parametrize("tiles", [1, 3, 2**22])
def test_more_workers_than_vertices_are_shared_among_are_refused(tiles: int) -> None:
    with pytest.raises(
        InvalidMachineModel, match=r"the maximum is 268,435,456 workers on all"
    ) as caught:
        Target(tiles=tiles, workers=2**28 // tiles + 1)
    assert caught.value.fix == f"Target(workers={2**28 // tiles})"
    assert Target(tiles=tiles, workers=2**28 // tiles).tiles == tiles


# -- constants -------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_constant_says_where_it_comes_from(architecture: Architecture) -> None:
    for name, fact in FACTS[architecture].items():
        assert 0 < fact.value < math.inf, name
        assert fact.evidence in get_args(Evidence), name
        assert len(fact.source) > 10, name
        assert fact.unit or 0 < fact.value < 1, name  # what has no unit is a share


def name_of(function: ast.expr) -> str:
    """Return the last name of what is called, or nothing."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def names_in(text: str) -> Iterator[str]:
    """Yield a pattern for each string of a program, and each f-string that asks for a cost."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.Call) and name_of(node.func).endswith("cost"):
            for name in node.args:
                if isinstance(name, ast.JoinedStr):
                    yield "".join(
                        re.escape(str(part.value)) if isinstance(part, ast.Constant) else "[a-z_]+"
                        for part in name.values
                    )


@deep
def test_every_constant_is_used(root: Path) -> None:
    tables = {root / "poplite" / "machine" / name for name in ("facts.py", "library_cycles.py")}
    folders = (root / name for name in ("poplite", "simulator", "vertices", "benchmarks"))
    files = {path for folder in folders for path in folder.rglob("*.py")} - tables
    assert all(table.is_file() for table in tables)
    used = {pattern for path in files for pattern in names_in(path.read_text())}
    told = [pattern for pattern in used if "[a-z_]+" in pattern]
    unused = [
        name
        for name in FACTS["c600"]
        if re.escape(name) not in used and not any(re.fullmatch(each, name) for each in told)
    ]
    assert unused == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_target_is_filled_in_from_its_architecture(architecture: Architecture) -> None:
    target = pl.Target(architecture=architecture, ipus=2)
    assert target.tiles == 2 * target.fact("tiles").value
    assert target.tile_memory_bytes == target.fact("tile_memory_bytes").value
    assert target.clock_hz == target.fact("clock_hz").value
    assert target == pl.Target(tiles=target.tiles, architecture=architecture, ipus=2)


def test_what_is_given_counts() -> None:
    target = pl.Target(tiles=8, clock_hz=1e9, architecture="gc2")
    assert repr(target) == "<Target 8 tiles, 6 workers, 262,144 B a tile, 1.000 GHz>"
    assert pl.Target() == pl.Target(architecture="gc200") != pl.Target(architecture="bow")


@pytest.mark.parametrize(
    ("architecture", "element", "published"),
    [
        ("gc2", pl.HALF, 124.5e12),  # Jia et al. 2019
        ("gc2", pl.FLOAT, 31.1e12),
        ("gc200", pl.HALF, 250e12),  # data sheets
        ("gc200", pl.FLOAT, 62.5e12),
        ("bow", pl.HALF, 350e12),
        ("bow", pl.FLOAT, 87.5e12),
    ],
)
def test_peaks_of_the_amp_unit_are_the_published_ones(
    architecture: Architecture, element: type[pl.ElementType[float]], published: float
) -> None:
    target = pl.Target(architecture=architecture)
    inputs = target.cost("amp_inputs_bytes") / element.size_bytes
    row = target.cost(f"amp_{element.__name__.lower()}_row_cycles")
    macs = target.tiles * target.cost("amp_outputs") * inputs / row * target.clock_hz
    assert 2 * macs == pytest.approx(published, rel=0.005)


def test_memory_and_times_are_those_of_profiles() -> None:
    assert pl.Target().memory_bytes / 2**20 == pytest.approx(897.0, abs=0.05)
    assert pl.Target(architecture="gc2").memory_bytes / 2**20 == 304
    assert 6_681_766 / pl.Target().clock_hz == pytest.approx(5_023.9e-6, rel=1e-5)


def test_names_that_there_are_not() -> None:
    with pytest.raises(
        pl.UnknownName, match=r"no constant 'clock_hertz' \(did you mean 'clock_hz'"
    ):
        pl.Target().fact("clock_hertz")
    with pytest.raises(pl.InvalidMachineModel, match="architecture='mk3' is not known") as caught:
        pl.Target(architecture="mk3")  # type: ignore[arg-type]
    assert caught.value.fix == "Target(architecture='gc200')"


@pytest.mark.parametrize(("poplar", "own"), [("ipu1", "gc2"), ("ipu2", "gc200"), ("ipu21", "bow")])
def test_poplars_names_of_architectures_are_taken(
    poplar: PoplarArchitecture, own: Architecture
) -> None:
    assert pl.Target(architecture=poplar) == pl.Target(architecture=own)
    assert pl.Target(architecture=poplar).architecture == own
    with pytest.raises(pl.InvalidMachineModel, match="architecture='ipu3' is not known"):
        pl.Target(architecture="ipu3")  # type: ignore[arg-type]


# -- links -----------------------------------------------------------------------------------------


ALL = 16
PAIRS = list(itertools.permutations(range(ALL), 2))


def beyond(link: Link) -> int:
    """The IPU that a link leads to."""
    return {"card": link.ipu ^ 1, "cross": link.ipu ^ 1, "up": link.ipu + 2, "down": link.ipu - 2}[
        link.kind
    ]


def distances(start: int) -> dict[int, int]:
    """Fewest hops to each IPU of a ladder, by searching it."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        ipu = waiting.popleft()
        for other in (ipu ^ 1, ipu - 2, ipu + 2):
            if 0 <= other < ALL and other not in found:
                found[other] = found[ipu] + 1
                waiting.append(other)
    return found


@pytest.mark.parametrize("start", range(ALL))
def test_routes_are_the_shortest(start: int) -> None:
    assert {end: hops(start, end) for end in range(ALL)} == distances(start)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_routes_lead_from_one_to_the_other(a: int, b: int) -> None:
    here = a
    for link in route(a, b):
        assert link.ipu == here
        here = beyond(link)
    assert here == b
    assert any(link.kind == "card" for link in route(a, b)) == (a // 2 == b // 2)


def test_rates_are_those_of_the_links() -> None:
    target = pl.Target(
        ipus=4, clock_hz=1e9, costs={"link_bits_per_second": 8e9, "link_efficiency": 0.5}
    )
    rates = {kind: link_bytes_per_cycle(target, Link(kind, 0)) for kind in ("card", "cross", "up")}
    assert rates == {"card": 2, "cross": 1, "up": 1}  # 4, 2 and 2 links of half a byte
    assert bytes_per_cycle(target, 0, 1) == 2
    assert bytes_per_cycle(target, 0, 3) == bytes_per_cycle(target, 2, 0) == 1
    assert bytes_per_cycle(target, 2, 2) == float("inf")


@pytest.mark.parametrize(
    ("ipus", "architecture", "cycles"),
    [
        (1, "gc200", 0),
        (2, "gc200", 600),
        (16, "gc2", 600),  # 501 to 642 on hardware, lbm-graphcore
        (64, "gc200", 679),  # 17 hops of 15 ns, there and back, at 1.33 GHz: 678.3
    ],
)
def test_a_sync_takes_longer_on_a_long_ladder(
    ipus: int, architecture: Architecture, cycles: int
) -> None:
    assert global_sync_cycles(pl.Target(ipus=ipus, architecture=architecture)) == cycles
