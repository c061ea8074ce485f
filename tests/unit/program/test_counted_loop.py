"""`counted_loop`: a loop whose index lies on the device."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.vertices.filling import count_reference


class Append(pl.Vertex):
    """Writes a number behind those already in `log`."""

    number: pl.Input[pl.UNSIGNED_INT]
    size: pl.InOut[pl.INT]
    log: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self) -> None:
        self.log[self.size] = self.number
        self.size += 1


class Bench:
    """A graph with a log that vertices write an index to."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.size = self.graph.add_variable(pl.INT, (), "size", mapping=0, initial_value=0)
        self.log = self.graph.add_variable(
            pl.UNSIGNED_INT, (40,), "log", mapping=0, initial_value=0
        )

    def append(self, index: pl.Tensor) -> pl.Program:
        cs = self.graph.add_compute_set("append")
        self.graph.add_vertex(cs, Append, tile=0, number=index, size=self.size, log=self.log)
        return pl.Execute(cs)

    def bound(self, name: str = "end", tile: int = 3) -> pl.Tensor:
        return self.graph.add_variable(pl.UNSIGNED_INT, (), name, mapping=tile, initial_value=0)

    def logged(self, engine: pl.Engine) -> list[int]:
        numbers: list[int] = engine.read(self.log)[: engine.read(self.size)].tolist()
        engine.write(self.size, 0)
        return numbers


@pytest.fixture
def bench() -> Bench:
    return Bench()


@both_forms
@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [
        (0, 5, 1),
        (0, 0, 1),
        (5, 3, 1),
        (2, 9, 3),
        (2, 8, 3),
        (7, 8, 100),
        (2**32 - 4, 2**32 - 1, 1),
        (2**32 - 6, 2**32 - 1, 4),
        (0, 2**32 - 1, 2**31),
        (1, 2**32 - 1, 2**32 - 1),
    ],
)
def test_the_body_sees_every_index(
    bench: Bench, interpret: bool, begin: int, end: int, step: int
) -> None:
    loop = pl.counted_loop(bench.graph, begin, end, step, bench.append)
    engine = pl.Engine(bench.graph, loop, interpret=interpret)
    for _ in range(2):
        engine.run()
        assert bench.logged(engine) == count_reference(begin, end, step)


@both_forms
def test_bounds_known_when_it_runs(bench: Bench, interpret: bool) -> None:
    begin, end = bench.bound("begin"), bench.bound("end")
    loop = pl.counted_loop(bench.graph, begin, end, 2, bench.append)
    engine = pl.Engine(bench.graph, loop, interpret=interpret)
    for first, last in ((0, 7), (3, 4), (4, 3), (0, 0), (2**32 - 3, 2**32 - 1)):
        engine.write(begin, np.uint32(first))
        engine.write(end, np.uint32(last))
        engine.run()
        assert bench.logged(engine) == list(range(first, last, 2))


@both_forms
def test_the_end_is_read_before_each_iteration(bench: Bench, interpret: bool) -> None:
    """The first iteration moves the end from 9 to 2."""
    two = bench.graph.add_constant(pl.UNSIGNED_INT, (), 2, mapping=0)
    end = bench.bound()

    def body(index: pl.Tensor) -> pl.Program:
        return pl.Sequence(bench.append(index), pl.Copy(two, end))

    engine = pl.Engine(
        bench.graph, pl.counted_loop(bench.graph, 0, end, 1, body), interpret=interpret
    )
    engine.write(end, np.uint32(9))
    engine.run()
    assert bench.logged(engine) == [0, 1]


@both_forms
def test_loops_nest(bench: Bench, interpret: bool) -> None:
    """Triangle: the end of the inner loop is the index of the outer one."""
    loop = pl.counted_loop(
        bench.graph, 1, 4, 1, lambda i: pl.counted_loop(bench.graph, 0, i, 1, bench.append)
    )
    engine = pl.Engine(bench.graph, loop, interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [0, 0, 1, 0, 1, 2]


@both_forms
def test_a_body_without_index(bench: Bench, interpret: bool) -> None:
    one = bench.graph.add_constant(pl.UNSIGNED_INT, (), 1, mapping=0)
    loop = pl.counted_loop(bench.graph, 0, 3, 1, bench.append(one))
    engine = pl.Engine(bench.graph, loop, interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1, 1, 1]


def test_the_index_lies_beside_its_bounds(bench: Bench) -> None:
    found: dict[str, tuple[type[object], tuple[int, ...], list[int], str]] = {}
    begin, end = bench.bound("begin", 2), bench.bound("end", 3).reshape((1,))
    several: dict[str, tuple[pl.Tensor | int, pl.Tensor | int]] = {
        "end": (begin, end),
        "begin": (begin, 5),
        "none": (0, 5),
    }
    for key, bounds in several.items():

        def body(index: pl.Tensor, key: str = key) -> pl.Program:
            tiles = bench.graph.tile_mapping(index).tiles.tolist()
            found[key] = index.element_type, index.shape, tiles, index.name
            return pl.Sequence()

        pl.counted_loop(bench.graph, *bounds, 1, body, name="rows")
    uint = pl.UNSIGNED_INT
    assert found == {
        "end": (uint, (), [3], "rows/index"),
        "begin": (uint, (), [2], "rows/index_1"),
        "none": (uint, (), [0], "rows/index_2"),
    }


@pytest.mark.parametrize("step", [0, -1, 2.5, "1", 2**32])
def test_steps_are_whole_numbers_from_1(bench: Bench, step: object) -> None:
    with pytest.raises(
        pl.ControlProgramError,
        match=f"(?s)step {step!r}, but a whole number from 1 to 4,294,967,29",
    ):
        pl.counted_loop(bench.graph, 0, 3, step, pl.Sequence())  # type: ignore[arg-type]


def test_bad_bounds(bench: Bench) -> None:
    graph, body = bench.graph, pl.Sequence()
    with pytest.raises(pl.SizeOverflowError, match="begin -1, but an index is from 0 to 4,294,967"):
        pl.counted_loop(graph, -1, 3, 1, body)
    with pytest.raises(pl.SizeOverflowError, match="end 4,294,967,296, but an index is from 0"):
        pl.counted_loop(graph, 0, 2**32, 1, body)
    with pytest.raises(
        pl.ElementTypeError, match="(?s)end 2.5 is neither a number nor a tensor.*type float"
    ):
        pl.counted_loop(graph, 0, 2.5, 1, body)  # type: ignore[arg-type]
    with pytest.raises(
        pl.ElementTypeError, match=r"(?s)end 'size' is of INT, not UNSIGNED_INT.*int"
    ):
        pl.counted_loop(graph, 0, bench.size, 1, body)
    with pytest.raises(pl.ControlProgramError, match="begin 'log' has 40 elements, not 1"):
        pl.counted_loop(graph, bench.log, 3, 1, body)
    foreign = pl.Graph().add_variable(pl.UNSIGNED_INT, (), "foreign", mapping=0)
    with pytest.raises(pl.GraphConnectionError, match="end 'foreign' belongs to another graph"):
        pl.counted_loop(graph, 0, foreign, 1, body)
    unmapped = graph.add_variable(pl.UNSIGNED_INT, (), "unmapped")
    with pytest.raises(pl.InvalidTileMapping, match="'unmapped'"):
        pl.counted_loop(graph, 0, unmapped, 1, body)


def test_the_body_is_or_makes_a_program(bench: Bench) -> None:
    with pytest.raises(
        pl.ControlProgramError, match=r"(?s)body\(index\) is None, which is not a program.*NoneType"
    ):
        pl.counted_loop(bench.graph, 0, 3, 1, lambda index: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(pl.ControlProgramError, match="body is 3, which is not a program"):
        pl.counted_loop(bench.graph, 0, 3, 1, 3)  # type: ignore[arg-type]
