"""What the calls of `helpers.poplar_signatures` work on: a small graph, and an engine of it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

import poplite as pl


class Scale(pl.Vertex):
    """A field of each common kind; it never runs."""

    x: pl.InOut[pl.Vector[pl.INT]]
    k: pl.Input[pl.INT]
    factor: pl.State[pl.UNSIGNED_SHORT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.factor * self.x[i]


class Double(Scale):
    """A class to look for by name."""


class Join(pl.Vertex):
    """A list of edges; it never runs."""

    parts: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.y[0] = len(self.parts)


class Weighted(pl.Vertex):
    """State of several kinds; it never runs."""

    y: pl.Output[pl.FLOAT]
    weights: pl.State[pl.Vector[pl.INT]]
    bias: pl.State[pl.HALF]
    biases: pl.State[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        self.y = self.weights[0] * self.bias + self.biases[0]


CODELETS = """#include <poplar/Vertex.hpp>
struct Negate : poplar::Vertex {
  poplar::InOut<poplar::Vector<int>> x;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] = -x[i]; }
};
"""


def world(owner: str) -> dict[str, Any]:
    """Return the names that the calls of a class use, made anew."""
    device = pl.Device(pl.Target(tiles=4))
    device.attach()
    graph = pl.Graph(device)
    two_ipus = pl.Target(tiles=8, ipus=2)
    names: dict[str, Any] = {name: getattr(pl, name) for name in [*pl.__all__, "PrintTensorFmt"]}
    names |= {"codelets": CODELETS, "io": io}
    metadata = pl.QuarterMetadata("F143", 2)
    x = graph.add_variable(pl.INT, (2, 3), "x", mapping="linear", initial_value=[[1, 2, 3]] * 2)
    y = graph.add_variable(pl.INT, (2, 3), "y", mapping="linear")
    u = graph.add_variable(pl.INT, (6,), "u")
    h = graph.add_variable(pl.HALF, (2,), "h", mapping=0)
    q = graph.add_variable(pl.QUARTER, (2,), "q", mapping=0, metadata=metadata)
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0)
    row = graph.add_variable(pl.INT, (), "row", mapping=0)
    c = graph.add_constant(pl.INT, (2,), [5, 6], "c", mapping=0)
    cs = graph.add_compute_set("cs")
    scale, join, weighted = (graph.add_vertex(cs, each) for each in (Scale, Join, Weighted))
    full = graph.add_vertex(cs, Scale, tile=1, x=x[0], k=row, factor=2)
    both = graph.add_vertex(cs, Join, tile=1, parts=[y[0], y[1]], y=u)
    replicated = pl.Graph(two_ipus, replication_factor=2)
    xr, yr = (replicated.add_variable(pl.INT, (2,), name, mapping=0) for name in ("xr", "yr"))
    saved = io.StringIO()
    graph.serialize_tensors(saved, [x.T, y[1:]])
    saved_tensors = io.StringIO(saved.getvalue())
    floats, doubles = np.array([1.5, -2], np.float32), np.array([1 / 3, -2])
    halves, data = np.zeros(2, np.float16), np.arange(6, dtype=np.int32)
    to_device = graph.add_host_to_device_fifo("in", pl.INT, 6)
    to_host = graph.add_device_to_host_fifo("out", pl.INT, 6)
    buffer = graph.add_remote_buffer("table", pl.INT, 6, repeats=4)
    host_function = graph.add_host_function("call", [(pl.INT, 6)], [(pl.INT, 6)])
    sorting = graph.add_host_function("sort", [(pl.INT, 6)], [(pl.INT, 6)])
    function = graph.add_function(pl.Copy(x, y), "f")
    part, there = graph.create_virtual_graph([0, 3]), pl.Copy(x, y)
    out, target = io.StringIO(), two_ipus
    callback = Counter()
    flags = pl.OptionFlags({"a": "1"})
    no_cycles, sequence = {"debug.instrument": "false"}, pl.Sequence()
    rearranger = graph.simplifying_rearranger(x.T)
    if owner in ("Engine", "Executable"):
        graph.create_host_write("hx", x)
        programs = [
            pl.Copy(x, y),
            pl.Sequence(pl.Copy(to_device, x), pl.Copy(x, buffer), pl.Copy(buffer, y)),
            pl.Call(sorting, [x], [y]),
        ]
        engine = pl.Engine(graph, programs, no_cycles)
        engine.connect_stream("in", data)
        saved_executable = io.BytesIO()
        engine.executable.serialize(saved_executable)
        saved_executable.seek(0)

    def fill(array: Any) -> None:
        array.fill(7)

    def sort(inputs: Any, outputs: Any) -> None:
        outputs[0][:] = np.sort(inputs[0])

    return {
        **names,
        "layout": pl.layout,
        "np": np,
        "pl": pl,
        "Scale": Scale,
        "Double": Double,
        "Join": Join,
        **locals(),
    }


class Counter(pl.StreamCallback):
    """Fills blocks with ones."""

    def fetch(self, array: Any) -> None:
        array[...] = 1
