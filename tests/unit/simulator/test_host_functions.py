"""Host functions, handles of tensors, and code that is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


def made(interpret: bool = False) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    """An engine whose program calls 'mix' with x and all columns of y."""
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=0)
    y = graph.add_variable(pl.FLOAT, (3, 2), "y", mapping="linear", initial_value=0)
    mix = graph.add_host_function("mix", [(pl.INT, 4)], [(pl.FLOAT, 6), (pl.INT, 2)])
    call = pl.Call(mix, [x], [y.T, x[:2]])
    return pl.Engine(graph, pl.Repeat(2, call), interpret=interpret), x, y


@both_forms
def test_inputs_and_outputs(interpret: bool) -> None:
    engine, x, y = made(interpret)
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
    engine, x, _ = made(interpret)
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
    engine, _, _ = made()
    with pytest.raises(pl.StreamConnectionError, match="host function 'mix' is not connected") as e:
        engine.run()
    assert e.value.fix == "engine.connect_host_function('mix', function)"
    with pytest.raises(
        pl.StreamConnectionError, match=r"a host function 'mx' \(did you mean 'mix'\?\)"
    ):
        engine.connect_host_function("mx", print)
    with pytest.raises(pl.ElementTypeError, match="3 is no function"):
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
    with pytest.raises(pl.ElementTypeError, match="output 0 'f': the tensor is of FLOAT"):
        pl.Call(sort, [x], [floats])
    with pytest.raises(pl.ElementTypeError, match="7 is not a tensor"):
        pl.Call(sort, [7], [x])  # type: ignore[list-item]
    with pytest.raises(pl.GraphConnectionError, match="output 0 .* the tensor"):
        pl.Call(sort, [x], [graph.add_constant(pl.INT, (4,), 1, mapping=0)])
    two = graph.add_host_function("two", [], [(pl.INT, 3), (pl.INT, 3)])
    with pytest.raises(pl.GraphConnectionError, match="share elements"):
        pl.Call(two, [], [x[:3], x[1:]])
    with pytest.raises(pl.StreamConnectionError, match="host function 'two': there is one"):
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
    with pytest.raises(pl.TensorCreationError, match=r"\(2,\) for a tensor of shape \(3,\)"):
        engine.write("x", [1, 2])
    with pytest.raises(pl.SizeOverflowError, match="300 does not fit UNSIGNED_CHAR"):
        engine.write("x", 300)
    with pytest.raises(pl.UnknownName, match=r"no host read 'totl' \(did you mean 'total'\?\)"):
        engine.read("totl")
    with pytest.raises(pl.UnknownName, match="no host write 'total'"):
        engine.write("total", 1)
    with pytest.raises(pl.StreamConnectionError, match="host write 'x': there is one"):
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
    with pytest.raises(pl.StreamConnectionError, match="function buffer of 'body': there is one"):
        graph.add_function_buffer(body)
    other = graph.add_function(pl.Copy(y, x), "other")
    with pytest.raises(pl.ControlProgramError, match="from its buffer to itself"):
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
    message = (
        r"(?s)'x': elements \[3, 6\) of 8 have no tile.*create_host_read 'ends', .*functions.py"
    )
    with pytest.raises(pl.InvalidTileMapping, match=message):
        pl.Engine(graph, pl.Sequence())
    graph.set_tile_mapping(x, "linear")
    pl.Engine(graph, pl.Sequence())
