"""Remote buffers, host functions, code that is loaded: at run time, between runs, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms

Float = np.float32


def made(interpret: bool = False, rows: int = 5, offset: int | None = 1) -> tuple[Any, ...]:
    """An engine with programs that get and put rows; offset is how many, None for row 0."""
    graph = pl.Graph(pl.Target(tiles=3))
    shape = (3,) if offset is None else (offset, 3)
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear")
    row = graph.add_variable(pl.INT, (offset or 1,), "row", mapping=0)
    buffer = graph.add_remote_buffer("table", pl.FLOAT, 3, repeats=rows)
    given = () if offset is None else (row,)
    programs = {"get": pl.Copy(buffer, x, *given), "put": pl.Copy(x, buffer, *given)}
    return pl.Engine(graph, programs, interpret=interpret), x, row


def filled(engine: pl.Engine, rows: int = 5) -> Any:
    """Give each row numbers of its own."""
    table = np.arange(rows * 3, dtype=Float).reshape(rows, 3)
    for number in range(rows):
        engine.copy_to_remote_buffer(table[number], "table", number)
    return table


@both_forms
def test_one_row_by_number(interpret: bool) -> None:
    engine, x, row = made(interpret)
    table = filled(engine)
    for number in (4, 0, 2):
        engine.write(row, number)
        engine.run("get")
        assert engine.read(x).tolist() == [table[number].tolist()]
    engine.write(x, [[7, 8, 9]])
    engine.write(row, 3)
    engine.run("put")
    table[3] = [7, 8, 9]
    assert [engine.copy_from_remote_buffer("table", k).tolist() for k in range(5)] == table.tolist()


@both_forms
def test_several_rows_at_once_in_any_order(interpret: bool) -> None:
    engine, x, row = made(interpret, offset=3)
    table = filled(engine)
    engine.write(row, [4, 1, 1])
    engine.run("get")
    assert engine.read(x).tolist() == table[[4, 1, 1]].tolist()
    engine.write(row, [2, 0, 4])
    engine.run("put")
    table[[2, 0, 4]] = table[[4, 1, 1]]
    assert [engine.copy_from_remote_buffer("table", k).tolist() for k in range(5)] == table.tolist()


@both_forms
def test_row_0_without_an_offset_and_contents_between_runs(interpret: bool) -> None:
    engine, x, _ = made(interpret, rows=1, offset=None)
    engine.write(x, [1, 2, 3])
    engine.run("put")
    engine.write(x, [0, 0, 0])
    engine.run("get")
    assert engine.read(x).tolist() == [1, 2, 3]


@both_forms
@pytest.mark.parametrize("numbers", [[5, 0, 0], [0, -1, 0], [0, 0, 2**31 - 1]])
@pytest.mark.parametrize("program", ["get", "put"])
def test_rows_that_are_not_there(interpret: bool, numbers: list[int], program: str) -> None:
    engine, x, row = made(interpret, offset=3)
    table = filled(engine)
    engine.write(x, np.full((3, 3), 9))
    engine.write(row, numbers)
    wrong = next(n for n in numbers if not 0 <= n < 5)
    text = f"row {wrong:,} of 5 rows in remote buffer 'table'"
    with pytest.raises(pl.TensorIndexError, match=text) as caught:
        engine.run(program)
    assert caught.value.where.startswith("step 1 of 1: Copy")
    assert "the offset is 'row'; no data were moved" in caught.value.found
    assert engine.read(x).tolist() == [[9] * 3] * 3
    assert engine.copy_from_remote_buffer("table", 0).tolist() == table[0].tolist()
    engine.write(row, [0, 1, 2])
    engine.run(program)


@both_forms
def test_an_unsigned_offset_that_lies_scattered(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2, 2), "x", mapping="linear")
    numbers = graph.add_variable(pl.UNSIGNED_INT, (2, 2), "n", mapping="linear")
    buffer = graph.add_remote_buffer("table", pl.INT, 2, repeats=4)
    program = pl.Copy(buffer, x, numbers[:, 1].reverse(0))
    engine = pl.Engine(graph, program, interpret=interpret)
    for number in range(4):
        engine.copy_to_remote_buffer([number, -number], "table", number)
    engine.write(numbers, [[0, 1], [0, 3]])
    engine.run()
    assert engine.read(x).tolist() == [[3, -3], [1, -1]]
    engine.write(numbers, [[0, 2**32 - 1], [0, 3]])
    with pytest.raises(pl.TensorIndexError, match="row 4,294,967,295 of 4 rows"):
        engine.run()


def test_what_does_not_fit() -> None:
    graph, other = pl.Graph(pl.Target(tiles=1)), pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (6,), "x", mapping=0)
    row = graph.add_variable(pl.INT, (), "row", mapping=0)
    buffer = graph.add_remote_buffer("table", pl.FLOAT, 3, repeats=4)
    with pytest.raises(pl.ControlProgramError, match="the tensor has 6 elements, a row has 3"):
        pl.Copy(buffer, x, row)
    rows = graph.add_variable(pl.INT, (3,), "rows", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="the tensor has 6 elements, 3 rows have 9"):
        pl.Copy(x, buffer, rows)
    with pytest.raises(
        pl.ElementTypeError, match="offset .*'x'.* is not a tensor of INT or UNSIGNED_INT"
    ):
        pl.Copy(buffer, x[:3], x[0])
    with pytest.raises(pl.ElementTypeError, match="offset 2 is not a tensor"):
        pl.Copy(buffer, x[:3], 2)  # type: ignore[call-overload]
    with pytest.raises(pl.ControlProgramError, match="offset 'rows' has 0 elements|has 0 elements"):
        pl.Copy(buffer, x[:0], rows[:0])
    with pytest.raises(pl.ControlProgramError, match="offset 'row' belong|two graphs"):
        pl.Copy(buffer, x[:3], other.add_variable(pl.INT, (), "row", mapping=0))
    with pytest.raises(
        pl.ElementTypeError, match="the tensor is INT, but the host's side is FLOAT"
    ):
        pl.Copy(rows, buffer)
    with pytest.raises(
        pl.StreamConnectionError, match="remote buffer 'table': the name is already"
    ):
        graph.add_remote_buffer("table", pl.FLOAT, 3)
    with pytest.raises(pl.StreamMemoryAllocationError, match="134,217,732 B, but one transfer"):
        graph.add_remote_buffer("big", pl.FLOAT, (32 << 20) + 1)
    with pytest.raises(pl.TensorCreationError, match="0 rows, but at least 1 is needed"):
        graph.add_remote_buffer("none", pl.FLOAT, 3, repeats=0)
    with pytest.raises(pl.ElementTypeError, match="QUARTER elements need metadata"):
        graph.add_remote_buffer("none", pl.QUARTER, 3)


def test_one_transfer_is_no_larger_than_a_stream_may_be() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (1 << 26,), "x")
    buffer = graph.add_remote_buffer("table", pl.FLOAT, 1 << 24, repeats=8)
    rows = graph.add_variable(pl.INT, (4,), "rows", mapping=0)
    with pytest.raises(
        pl.StreamMemoryAllocationError, match="268,435,456 B, but one transfer moves"
    ):
        pl.Copy(buffer, x, rows)


def test_rows_from_the_host_are_checked() -> None:
    engine, _, _ = made()
    with pytest.raises(pl.TensorIndexError, match="row must be one of 5 rows; found 5"):
        engine.copy_to_remote_buffer([1, 2, 3], "table", 5)
    with pytest.raises(pl.TensorIndexError, match="row must be one of 5 rows; found -1"):
        engine.copy_from_remote_buffer("table", -1)
    with pytest.raises(pl.TensorCreationError, match="a row must have 3 elements; found 2"):
        engine.copy_to_remote_buffer([1, 2], "table", 0)
    with pytest.raises(pl.ElementTypeError, match="cannot be stored as FLOAT"):
        engine.copy_to_remote_buffer(["a", "b", "c"], "table", 0)
    with pytest.raises(pl.StreamConnectionError, match=r"did you mean 'table'"):
        engine.copy_from_remote_buffer("tabel")
    with pytest.raises(pl.GraphReplicationError, match="no replica 1"):
        engine.copy_from_remote_buffer("table", 0, replica=1)


def test_metadata_of_a_buffer() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    buffer = graph.add_remote_buffer("t", pl.HALF, 8, 100, True, True)
    assert (buffer.repeats, buffer.rearrange_on_host, buffer.optimise_memory) == (100, True, True)
    assert repr(buffer) == "<RemoteBuffer 't' 100 rows of float16[8], 1,600 B>"


# -- rows that nothing has written -----------------------------------------------------------------


class Total(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.INT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y += self.x[i]


class Next(pl.Vertex):
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += 1


def strict(interpret: bool, replicas: int = 1) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    """An engine that adds up rows that it gets, and puts two elements of a row."""
    graph = pl.Graph(pl.Target(tiles=2 * replicas, ipus=replicas), replication_factor=replicas)
    x = graph.add_variable(pl.INT, (2,), "x", mapping="linear")
    y, row = (graph.add_variable(pl.INT, (), k, mapping=0, initial_value=0) for k in ("y", "row"))
    half = graph.add_variable(pl.INT, (2,), "half", mapping="linear")
    buffer = graph.add_remote_buffer("table", pl.INT, 2, repeats=4)
    total, go_on = (graph.add_compute_set(name) for name in ("total", "go on"))
    graph.add_vertex(total, Total, tile=1, x=x, y=y)
    graph.add_vertex(go_on, Next, tile=0, n=row)
    add = pl.Sequence(pl.Copy(buffer, x, row), pl.Execute(total))
    programs = {
        "put": pl.Copy(half, buffer, row),
        "add": add,
        "add three": pl.Repeat(3, pl.Sequence(add, pl.Execute(go_on))),
    }
    return pl.Engine(graph, programs, checks="strict", interpret=interpret), y, row


UNWRITTEN = (
    r"reads 'Total.x'\[{0}\], which is 'x'\[{0}\], copied from row \d of remote buffer 'table', "
    "but nothing has written it"
)


@both_forms
def test_a_row_that_nothing_wrote_is_unwritten_where_it_is_used(interpret: bool) -> None:
    engine, y, row = strict(interpret)
    with pytest.raises(pl.UninitializedReadError, match=UNWRITTEN.format(0)):
        engine.run("add")
    engine.copy_to_remote_buffer([3, 4], "table", 0)
    engine.run("add")
    assert engine.read(y) == 7
    engine.write("half", [5, 6])
    engine.write(row, 1)
    engine.run("put")
    engine.run("add")
    assert engine.read(y) == 18
    engine.load()
    with pytest.raises(pl.UninitializedReadError, match=UNWRITTEN.format(0)):
        engine.run("add")


@both_forms
def test_a_row_that_is_unwritten_late_in_a_loop(interpret: bool) -> None:
    engine, y, row = strict(interpret)
    for number in range(2):
        engine.copy_to_remote_buffer([1, 1], "table", number)
    with pytest.raises(pl.UninitializedReadError, match=UNWRITTEN.format(0)):
        engine.run("add three")
    assert engine.read(y) == 4
    assert engine.read(row) == 2


def test_a_row_that_unwritten_elements_were_put_into() -> None:
    engine, _, row = strict(interpret=True)
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 2 of 2 elements"):
        engine.run("put")
    match = (
        r"'x'\[0\], copied from 'half'\[0\] by way of row 0 of remote buffer 'table', but nothing"
    )
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run("add")


def test_a_state_says_which_rows_are_written(tmp_path: Path) -> None:
    engine, _, row = strict(interpret=True)
    engine.copy_to_remote_buffer([3, 4], "table", 2)
    engine.save_state(tmp_path / "state")
    engine.copy_to_remote_buffer([3, 4], "table", 3)
    engine.load_state(tmp_path / "state")
    engine.write(row, 3)
    with pytest.raises(pl.UninitializedReadError, match=UNWRITTEN.format(0)):
        engine.run("add")
    engine.write(row, 2)
    engine.run("add")


def test_each_replica_has_rows_of_its_own() -> None:
    engine, _, _ = strict(interpret=True, replicas=2)
    engine.copy_to_remote_buffer([3, 4], "table", 0, replica=0)
    with pytest.raises(pl.UninitializedReadError, match="replica 1 " + UNWRITTEN.format(0)):
        engine.run("add")


# -- host functions, handles of tensors, and code that is loaded -----------------------------------


def with_two_functions(interpret: bool = False) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    """An engine whose program calls 'mix' with x and all columns of y."""
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=0)
    y = graph.add_variable(pl.FLOAT, (3, 2), "y", mapping="linear", initial_value=0)
    mix = graph.add_host_function("mix", [(pl.INT, 4)], [(pl.FLOAT, 6), (pl.INT, 2)])
    call = pl.Call(mix, [x], [y.T, x[:2]])
    return pl.Engine(graph, pl.Repeat(2, call), interpret=interpret), x, y


@both_forms
def test_inputs_and_outputs(interpret: bool) -> None:
    engine, x, y = with_two_functions(interpret)
    engine.write(x, [1, 2, 3, 4])
    engine.write(y, np.full((3, 2), 9))
    seen: list[list[int]] = []

    def mix(inputs: Any, outputs: Any) -> None:
        assert [a.dtype for a in (*inputs, *outputs)] == [np.int32, np.float32, np.int32]
        assert [a.tolist() for a in outputs] == [[0] * 6, [0, 0]]  # zero each time
        seen.append(inputs[0].tolist())
        outputs[0][:4] = inputs[0] / 2
        outputs[1][1] = inputs[0].sum()

    engine.connect_host_function("mix", mix)
    engine.run()
    assert seen == [[1, 2, 3, 4], [0, 10, 3, 4]]
    assert engine.read(x).tolist() == [0, 17, 3, 4]
    assert engine.read(y).T.ravel().tolist() == [0, 5, 1.5, 2, 0, 0]


@both_forms
def test_inputs_are_read_only_and_outputs_cannot_be_replaced(interpret: bool) -> None:
    engine, x, _ = with_two_functions(interpret)
    engine.write(x, [1, 2, 3, 4])

    def writes(inputs: Any, outputs: Any) -> None:
        inputs[0][0] = 7

    def replaces(inputs: Any, outputs: Any) -> None:
        outputs[0] = inputs[0]

    for callback, error in ((writes, ValueError), (replaces, TypeError)):
        engine.connect_host_function("mix", callback)
        with pytest.raises(error) as caught:
            engine.run()
        assert (
            "at step 1 of 1: Call 'mix', in the callback of host function 'mix'"
            in caught.value.__notes__[0]
        )
        assert engine.read(x).tolist() == [1, 2, 3, 4]


def test_what_is_not_connected() -> None:
    engine, _, _ = with_two_functions()
    with pytest.raises(pl.StreamConnectionError, match="host function 'mix' is not connected") as e:
        engine.run()
    assert e.value.fix == "engine.connect_host_function('mix', function)"
    with pytest.raises(
        pl.StreamConnectionError, match=r"a host function 'mx' \(did you mean 'mix'\?\)"
    ):
        engine.connect_host_function("mx", print)
    with pytest.raises(pl.ElementTypeError, match="3 is not a function"):
        engine.connect_host_function("mix", 3)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="does not take two lists of arrays"):
        engine.connect_host_function("mix", lambda inputs: None)  # type: ignore[arg-type, misc]


def test_calls_that_do_not_fit() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=0)
    sort = graph.add_host_function("sort", [(pl.INT, 4)], [(pl.INT, 4)])
    assert repr(pl.Call(sort, [x], [x])) == "<Call 'sort', 1 input, 1 output>"
    assert isinstance(pl.Call(sort, [x], [x]), pl.Call)
    with pytest.raises(pl.ControlProgramError, match="0 inputs, but the function has 1"):
        pl.Call(sort, [], [x])
    with pytest.raises(pl.ControlProgramError, match="2 outputs, but the function has 1"):
        pl.Call(sort, [x], [x, x])
    with pytest.raises(pl.ControlProgramError, match="input 0 .*has 2 elements, the array has 4"):
        pl.Call(sort, [x[:2]], [x])
    floats = graph.add_variable(pl.FLOAT, (4,), "f", mapping=0, initial_value=0)
    with pytest.raises(pl.ElementTypeError, match="output 0 'f': the tensor is FLOAT"):
        pl.Call(sort, [x], [floats])
    with pytest.raises(pl.ElementTypeError, match="7 is not a tensor"):
        pl.Call(sort, [7], [x])  # type: ignore[list-item]
    with pytest.raises(pl.GraphConnectionError, match="output 0 .* the tensor"):
        pl.Call(sort, [x], [graph.add_constant(pl.INT, (4,), 1, mapping=0)])
    two = graph.add_host_function("two", [], [(pl.INT, 3), (pl.INT, 3)])
    with pytest.raises(pl.GraphConnectionError, match="share elements"):
        pl.Call(two, [], [x[:3], x[1:]])
    with pytest.raises(pl.StreamConnectionError, match="host function 'two': the name is already"):
        graph.add_host_function("two")
    with pytest.raises(
        pl.TensorCreationError, match="is not a valid .element type, number of elements."
    ):
        graph.add_host_function("bad", [pl.INT])  # type: ignore[list-item]
    with pytest.raises(pl.ElementTypeError, match="QUARTER"):
        graph.add_host_function("bad", [(pl.QUARTER, 1)])


# Handles


@both_forms
def test_handles_read_and_write_any_view(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.HALF, (4, 6), "x", mapping="linear", initial_value=0)
    view = pl.concat([x[::2, 1:3].T.flatten(), x[3, :2].reverse(0)])
    graph.create_host_write("in", view)
    graph.create_host_read("out", x)
    graph.create_host_read("in", view)
    engine = pl.Engine(graph, pl.Sequence(), interpret=interpret)
    engine.write("in", [1, 2, 3, 4, 5, 6])
    expected = np.zeros((4, 6), np.float16)
    expected[::2, 1:3] = np.reshape([1, 2, 3, 4], (2, 2)).T
    expected[3, :2] = [6, 5]
    assert engine.read("out").tolist() == expected.tolist() == engine.read(x).tolist()
    assert engine.read("in").tolist() == [1, 2, 3, 4, 5, 6]
    engine.write("in", 7)
    assert engine.read("in").tolist() == [7] * 6


def test_handles_check_like_tensors() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.UNSIGNED_CHAR, (3,), "x", mapping=0, initial_value=0)
    graph.create_host_write("x", x)
    graph.create_host_read("total", x)
    engine = pl.Engine(graph, pl.Sequence())
    with pytest.raises(pl.TensorCreationError, match=r"shape \(3,\); found \(2,\)"):
        engine.write("x", [1, 2])
    with pytest.raises(pl.SizeOverflowError, match="300 does not fit UNSIGNED_CHAR"):
        engine.write("x", 300)
    with pytest.raises(pl.UnknownName, match=r"no host read 'totl' \(did you mean 'total'\?\)"):
        engine.read("totl")
    with pytest.raises(pl.UnknownName, match="no host write 'total'"):
        engine.write("total", 1)
    with pytest.raises(pl.StreamConnectionError, match="host write 'x': the name is already"):
        graph.create_host_write("x", x)
    with pytest.raises(pl.GraphConnectionError, match="host write 'c'"):
        graph.create_host_write("c", graph.add_constant(pl.INT, (2,), 1, mapping=0))
    with pytest.raises(pl.ElementTypeError):
        graph.create_host_read("y", 3)  # type: ignore[arg-type]


@both_forms
def test_handles_of_quarters(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", scale=2)
    x = graph.add_variable(pl.QUARTER, (3,), "x", mapping=0, metadata=metadata)
    graph.create_host_write("x", x)
    graph.create_host_read("x", x)
    engine = pl.Engine(graph, pl.Sequence(), interpret=interpret)
    engine.write("x", [4.0, 8.0, 12.0])
    assert engine.read("x").tolist() == [4.0, 8.0, 12.0] == engine.read(x).tolist()


# Code that is loaded


@both_forms
def test_a_function_with_a_buffer_is_loaded_before_it_is_called(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=0)
    y = graph.add_variable(pl.INT, (2,), "y", mapping=0, initial_value=[1, 2])
    body = graph.add_function(pl.Copy(y, x), "body")
    buffer = graph.add_function_buffer(body)
    programs = {"call": pl.Call(body), "load": pl.Copy(buffer, body)}
    engine = pl.Engine(graph, programs, interpret=interpret)
    with pytest.raises(pl.ApplicationRuntimeError, match="the code of the function is not loaded"):
        engine.run("call")
    assert engine.read(x).tolist() == [0, 0]
    engine.run("load")
    engine.run("call")
    assert engine.read(x).tolist() == [1, 2]
    with pytest.raises(
        pl.StreamConnectionError, match="function buffer of 'body': the name is already in use"
    ):
        graph.add_function_buffer(body)
    other = graph.add_function(pl.Copy(y, x), "other")
    message = "can only be copied from its buffer to the function"
    with pytest.raises(pl.ControlProgramError, match=message):
        pl.Copy(buffer, other)
    with pytest.raises(pl.ControlProgramError, match="not a function of this graph"):
        graph.add_function_buffer(pl.Copy(y, x))  # type: ignore[arg-type]


@both_forms
def test_handles_of_replicas(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=0)
    graph.create_host_write("x", x.reverse(0))
    graph.create_host_read("x", x.reverse(0))
    engine = pl.Engine(graph, pl.Sequence(), interpret=interpret)
    engine.write("x", [[1, 2, 3], [4, 5, 6]])
    assert engine.read(x).tolist() == [[3, 2, 1], [6, 5, 4]]
    engine.write("x", [7, 8, 9], replica=1)
    assert engine.read("x").tolist() == [[1, 2, 3], [7, 8, 9]]
    assert engine.read("x", replica=1).tolist() == [7, 8, 9]


def test_a_function_that_returns_its_results_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[3, 1, 2])
    function = graph.add_host_function("sort", [(pl.INT, 3)], [(pl.INT, 3)])
    engine = pl.Engine(graph, pl.Call(function, [x], [x]))
    engine.connect_host_function("sort", lambda inputs, outputs: np.sort(inputs[0]))
    with pytest.raises(pl.ElementTypeError) as caught:
        engine.run()
    assert caught.value.what == (
        "host function 'sort': the callback returned an array of int32, shape (3,)"
    )
    assert "outputs[0][:] = values" in caught.value.fix
    assert engine.read(x).tolist() == [3, 1, 2]


def test_handles_of_elements_without_a_tile_are_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=[[(0, 3)], [(6, 8)]])
    graph.create_host_read("ends", pl.concat([x[:3], x[6:]]))
    graph.create_host_read("x", x[2:7])
    message = r"(?s)'x': elements \[3, 6\) of 8 have no tile.*create_host_read 'ends', .*buffers.py"
    with pytest.raises(pl.InvalidTileMapping, match=message):
        pl.Engine(graph, pl.Sequence())
    graph.set_tile_mapping(x, "linear")
    pl.Engine(graph, pl.Sequence())
