"""The index of a loop, wherever steps of the loop read a tensor or an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.ops.control import LoopIndex
from poplite.program.steps import ErrorProgram

TABLE = np.arange(24).reshape(4, 6)
T = TypeVar("T", bound=pl.ElementType[Any])


class Twice(pl.Vertex, Generic[T]):
    x: pl.Input[T]
    y: pl.Output[T]

    def compute(self) -> None:
        self.y = 2 * self.x


class Loop:
    """A loop of three turns, whose body writes `rows[i]`, `number` and what the host reads."""

    def __init__(self) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=2))
        self.table = graph.add_variable(
            pl.INT, (4, 6), "table", mapping="linear", initial_value=TABLE
        )
        self.row = graph.add_variable(pl.INT, (6,), "row", mapping=0, initial_value=0)
        self.number = graph.add_variable(pl.UNSIGNED_INT, (), "number", mapping=0, initial_value=0)
        self.buffer = graph.add_remote_buffer("buffer", pl.INT, 6, 4)
        self.stream = graph.add_device_to_host_fifo("stream", pl.UNSIGNED_INT, 1)

    def record(self, body: Callable[[Loop, LoopIndex], object]) -> pl.Sequence:
        with self.graph.steps() as self.body, ops.repeat(3) as i:
            body(self, i)
        return self.body


def vertex(loop: Loop, i: LoopIndex, by_field: bool) -> None:
    step = loop.graph.add_compute_set("step")
    if by_field:
        made = loop.graph.add_vertex(step, Twice[pl.UNSIGNED_INT], tile=0, y=loop.number)
        loop.graph.connect(made["x"], i)
    else:
        loop.graph.add_vertex(step, Twice, tile=0, x=i, y=loop.number)
    loop.body.add(pl.Execute(step))


def function(loop: Loop, i: LoopIndex) -> None:
    @pl.graph_function
    def square(x: pl.Tensor) -> pl.Tensor:
        return ops.map(x * x)

    ops.assign(loop.number, square(i))


def branch(loop: Loop, i: LoopIndex) -> None:
    five = loop.graph.add_constant(pl.UNSIGNED_INT, (), 5, mapping=0)
    loop.body.add(pl.If(i, pl.Sequence(), pl.Copy(five, loop.number)))


def counted(loop: Loop, i: LoopIndex) -> None:
    ran = pl.Sequence()
    ops.assign(loop.number, loop.number + 1, program=ran)
    loop.body.add(pl.counted_loop(loop.graph, 0, i, 1, ran))


READ: dict[str, tuple[Callable[[Loop, LoopIndex], object], int | list[int]]] = {
    "dynamic_slice": (
        lambda at, i: ops.assign(at.row, ops.dynamic_slice(at.table, i, [0], [1])[0]),
        [12, 13, 14, 15, 16, 17],
    ),
    "embedding": (
        lambda at, i: ops.assign(at.row, ops.embedding(at.table, i)),
        [12, 13, 14, 15, 16, 17],
    ),
    "multi_slice": (
        lambda at, i: ops.assign(at.row, ops.multi_slice(at.table, i)),
        [12, 13, 14, 15, 16, 17],
    ),
    "one_hot": (
        lambda at, i: ops.assign(at.row, ops.one_hot(i, 6, dtype=pl.INT)),
        [0, 0, 1, 0, 0, 0],
    ),
    "Copy": (lambda at, i: at.body.add(pl.Copy(i, at.number)), 2),
    "concat": (lambda at, i: ops.assign(at.row[:2], ops.cast(pl.stack([i, i]), pl.INT)), [2, 2]),
    "vertex": (lambda at, i: vertex(at, i, by_field=False), 4),
    "field": (lambda at, i: vertex(at, i, by_field=True), 4),
    "graph_function": (function, 4),
    "If": (branch, 5),
    "counted_loop": (counted, 3),
}


@pytest.mark.parametrize("name", READ)
def test_the_index_of_a_loop_is_read_as_a_tensor(name: str) -> None:
    body, expected = READ[name]
    loop = Loop()
    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.run()
    found = engine.read(loop.number) if isinstance(expected, int) else engine.read(loop.row)
    count = 1 if isinstance(expected, int) else len(expected)
    assert np.ravel(found)[:count].tolist() == np.ravel(expected).tolist()


def test_rows_are_updated_at_the_index_of_a_loop() -> None:
    loop = Loop()

    def body(_: Loop, i: LoopIndex) -> None:
        ops.dynamic_update(loop.table, ops.map(loop.row[None] + 7), i, [0], [1])
        ops.multi_update_add(loop.table, loop.table[3] * 2, i)

    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.run()
    assert engine.read(loop.table).tolist() == [*[(7 + 2 * TABLE[3]).tolist()] * 3, [*TABLE[3]]]


def test_copies_to_and_from_the_host_go_by_the_index_of_a_loop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loop, seen = Loop(), []

    def body(_: Loop, i: LoopIndex) -> None:
        ops.assign(loop.row, ops.cast(i, pl.INT) * 10)
        loop.body.add(pl.Copy(loop.row, loop.buffer, i))
        loop.body.add(pl.Copy(i, loop.stream))
        loop.body.add(pl.PrintTensor("i", i))

    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.connect_stream_to_callback("stream", lambda values: seen.append(int(values[0])))
    engine.run()
    rows = [engine.copy_from_remote_buffer("buffer", k).tolist() for k in range(3)]
    assert rows == [[0] * 6, [10] * 6, [20] * 6]
    assert seen == [0, 1, 2]
    assert capsys.readouterr().err.split("i: ")[1:] == ["0\n", "1\n", "2\n"]
    with loop.graph.steps(), ops.repeat(2) as i:
        assert repr(ErrorProgram("stop", i)) == "<ErrorProgram 'stop', 'repeat/index_1'>"


INDEXED: dict[str, Callable[[pl.Tensor, Any], object]] = {
    "one": lambda x, i: x[i],
    "second": lambda x, i: x[0, i],
    "range": lambda x, i: x[i : i + 1],
    "expression": lambda x, i: x[i + 1],
    "tensor": lambda x, i: x[i.tensor],
    "slice": lambda x, i: x.slice(i, 3),
}


@pytest.mark.parametrize("name", INDEXED)
def test_a_tensor_indexed_by_the_running_program_names_dynamic_slice(name: str) -> None:
    loop = Loop()
    with pytest.raises(pl.TensorIndexError) as caught:
        loop.record(lambda _, i: INDEXED[name](loop.table, i))
    assert "ops.dynamic_slice(t, i, dims=[0], sizes=[1])" in caught.value.fix


@pytest.mark.parametrize(
    "write",
    [
        lambda at, i: ops.assign(i, at.number),
        lambda at, i: ops.map(at.number + 1, out=i),
        lambda at, i: pl.Copy(at.number, i),
        lambda at, i: at.graph.add_vertex(
            at.graph.add_compute_set("step"), Twice, tile=0, x=at.number, y=i
        ),
    ],
)
def test_nothing_writes_the_index_of_a_loop(write: Callable[[Loop, LoopIndex], object]) -> None:
    with pytest.raises(pl.ElementTypeError, match=r"is not a tensor|is no tensor|not a tensor"):
        Loop().record(write)


def test_views_are_those_of_the_tensor_and_the_index_ends_with_its_loop() -> None:
    loop = Loop()
    with loop.graph.steps(), ops.repeat(3) as i:
        with pytest.raises(pl.AbsentMember) as caught:
            i.reshape((1,))
        assert "i.tensor.reshape" in caught.value.fix
        pl.Copy(i, loop.number)
    for use in (
        lambda: pl.Copy(i, loop.number),
        lambda: ops.embedding(loop.table, i),
        lambda: pl.PrintTensor(i),
    ):
        with pytest.raises(pl.ControlProgramError, match="outside of its loop"):
            use()
