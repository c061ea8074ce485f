"""Masked arrays are refused wherever values come in: their masks would be lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng

MASKED: Any = np.ma.masked_array(np.array([1, 2, 3], np.float32), [False, True, False])
DEQUE: Any = deque([1.0, np.ma.masked, 3.0])
WHOLE: Any = np.ma.masked_array(np.array([0, 1, 2], np.uint32), [False, True, False])


class Scaled(pl.Vertex):
    by: pl.State[pl.FLOAT]
    all: pl.State[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.out = self.by * self.all[0]


class Measured:
    """Of another library, and as an array it has a mask."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return MASKED


def add(graph: pl.Graph, x: pl.Tensor, **fields: Any) -> None:
    graph.add_vertex(graph.add_compute_set("cs"), Scaled, tile=0, out=x[0], **fields)


def add_many(graph: pl.Graph, x: pl.Tensor, **fields: Any) -> None:
    given = {"tile": np.zeros(3, int), **fields}
    graph.add_vertices(graph.add_compute_set("cs"), Scaled, out=x, **given)


def engine(graph: pl.Graph, x: pl.Tensor) -> pl.Engine:
    graph.create_host_write("x", x)
    return pl.Engine(graph, pl.Sequence())


def stream(graph: pl.Graph, x: pl.Tensor) -> None:
    made = graph.add_host_to_device_fifo("s", pl.FLOAT, 3)
    pl.Engine(graph, pl.Copy(made, x)).connect_stream("s", MASKED)


def remote(graph: pl.Graph, x: pl.Tensor) -> None:
    buffer = graph.add_remote_buffer("r", pl.FLOAT, 3)
    pl.Engine(graph, pl.Copy(buffer, x)).copy_to_remote_buffer(MASKED, "r")


def feed(axes: bool) -> None:
    axis = ng.make_axis(3, "H")
    x = ng.placeholder([axis], name="x")
    ng.make_transformer().computation(x + 1, x)((MASKED, [axis]) if axes else MASKED)


DOORS: dict[str, Callable[[pl.Graph, Any], object]] = {
    "write": lambda g, x: engine(g, x).write(x, MASKED),
    "write by name": lambda g, x: engine(g, x).write("x", MASKED),
    "writeTensor": lambda g, x: engine(g, x).writeTensor("x", MASKED),
    "rows": lambda g, x: engine(g, x).write(x.reshape((1, 3)), [MASKED]),
    "element": lambda g, x: engine(g, x).write(x[0], np.ma.masked),
    "variable": lambda g, x: g.add_variable(pl.FLOAT, (3,), mapping=0, initial_value=MASKED),
    "initial value": lambda g, x: g.set_initial_value(x, MASKED),
    "constant": lambda g, x: g.add_constant(pl.FLOAT, (3,), MASKED),
    "state": lambda g, x: add(g, x, by=1.0, all=MASKED),
    "states of lists": lambda g, x: add_many(g, x, by=1.0, all=[[MASKED]]),
    "tiles": lambda g, x: add_many(g, x, by=1.0, all=[[1.0]] * 3, tile=WHOLE),
    "tiles in a list": lambda g, x: add_many(g, x, by=1.0, all=[[1.0]] * 3, tile=list(WHOLE)),
    "mapping": lambda g, x: pl.TileMapping(1, WHOLE, np.ones(3, int)),
    "weights": lambda g, x: pl.map_by_weights(g, x, MASKED),
    "virtual graph": lambda g, x: g.create_virtual_graph(WHOLE),
    "listed tiles": lambda g, x: g.create_virtual_graph(list(WHOLE)),
    "slices": lambda g, x: x.slices(WHOLE),
    "lists of lists": lambda g, x: engine(g, x).write(x.reshape((1, 1, 3)), [[MASKED]]),
    "tuples in lists": lambda g, x: g.add_constant(pl.FLOAT, (1, 1, 1, 3), [([MASKED],)]),
    "half bits": lambda g, x: pl.copy_float_to_device_half(
        pl.Target(), [MASKED], np.zeros(3, np.uint16)
    ),
    "number": lambda g, x: add(g, x, by=np.ma.masked, all=[1.0]),
    "states": lambda g, x: add_many(g, x, by=MASKED, all=[[1.0]] * 3),
    "stream": stream,
    "remote buffer": remote,
    "deque": lambda g, x: engine(g, x).write(x, DEQUE),
    "what makes one": lambda g, x: engine(g, x).write(x, Measured()),
    "list of what makes one": lambda g, x: engine(g, x).write(x, [Measured()]),
    "named constant": lambda g, x: ng.constant(MASKED, [ng.make_axis(3, "H")]),
    "named value": lambda g, x: feed(axes=False),
    "named value with axes": lambda g, x: feed(axes=True),
    "conversion": lambda g, x: pl.convert_to_quarter(MASKED, pl.QuarterMetadata("F143")),
    "half": lambda g, x: pl.copy_float_to_device_half(pl.Target(), MASKED, np.zeros(3, np.uint16)),
    "pattern": lambda g, x: pl.ops.SparsePattern((2, 3), [0, 1, 3], WHOLE),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_masked_array_is_refused(door: Callable[[pl.Graph, Any], object]) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="a masked array, but elements have no mask") as e:
        door(graph, x)
    assert e.value.found in ("1 element of 3 masked", "1 element of 1 masked")
    assert e.value.fix == "array.filled(0), with the number that masked elements are to have"


def test_a_filled_one_is_not() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    made = engine(graph, x)
    made.write(x, MASKED.filled(-1))
    assert made.read(x).tolist() == [1, -1, 3]
