"""Calls of what is around graphs and engines: tests, pictures, programs' forms, ranks and IPUs."""

# ruff: noqa: E501  # one line a call reads as the table that it is

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import poplite as pl
from helpers.small_report import small_report
from poplite import testing, viz

CALLS = """
testing.appended(whole, row, 0)
check_names(Double, {"x": ones}, {"x": twos}, rtol=0.1, atol=0.1, metadata=metadata, seed=1)
testing.check_intersection(tensor, addresses, tensor, addresses)
testing.check_sorted_regions(tensor, addresses, tiles)
testing.check_tensor(tensor, addresses)
testing.check_tile_mapping(tensor, addresses, tiles)
testing.concatenated([whole, whole], 0)
testing.graphs_with_variables(4)
testing.random_mapping(random, 8, 2)
testing.random_shape(random, 24)
testing.random_step(random, whole, [whole])
testing.random_tensor(random, [whole])
testing.random_variables(random, 4)
testing.tensors([whole], 2)
testing.tile_mappings(6, 3)
testing.tiles_of(graph)
testing.variables({"x": (4,)}, num_tiles=4, constants=["x"], mappings={})
whole.call("slice", 0, 1, 0)
whole.joined_slices([(0, 1)], 0)
viz.SvgText("<svg/>")
viz.SvgText("<svg/>").write(path)
viz.graph_dot(graph, program, around="x", hops=2, scope=None, max_nodes=300)
viz.graph_svg(graph, program, around="x", hops=2, scope=None, max_nodes=300)
viz.graph_text(graph, program, around="x", hops=2, scope=None, max_nodes=300, width=80, color=False)
viz.liveness_svg(report, 0, top=3)
viz.liveness_text(report, "worst", top=3, width=80, color=False, ascii_only=False)
viz.memory_svg(report, stack="kind", sort="tile", top=10)
viz.memory_text(report, stack="kind", sort="tile", top=10, width=80, color=False, ascii_only=False)
viz.program_svg(program, depth=2, match="x", counts=False)
viz.program_text(program, depth=2, match="x", counts=False, width=80, color=False, full=False)
viz.quantity_svg(report, "memory", step=None, scale=None, tiles=range(4))
viz.quantity_text(report, "memory", step=None, scale=None, tiles=range(4), width=80, color=False, ascii_only=False)
viz.regions_svg(tensor)
viz.regions_text([tensor, tensor.flatten()], width=80, color=False, ascii_only=False, full=False)
viz.summary_svg(graph, program)
viz.summary_text(graph, program, width=80, color=False)
viz.tensor_html(tensor, None)
viz.tensor_svg(tensor, None)
viz.tensor_text(tensor, None, width=80, color=False, ascii_only=False, full=False)
viz.tile_svg(report, 0, step=None)
viz.tile_text(report, 0, step=None, width=80, color=False, ascii_only=False)
viz.tiles_html(graph, ["x"], program=program)
viz.tiles_svg(graph, ["x"], program=program)
viz.tiles_text(graph, ["x"], program=program, width=80, color=False, ascii_only=False)
pl.mpi.Device.createCPUDevice(1)
pl.mpi.Device.createSimulatorDevice(pl.Target(tiles=4), {})
pl.ipu.codelet_text(Double)
pl.ipu.codelet_text([Double])
pl.ipu.export(graph, program, folder, checks="none")
pl.ipu.lint(graph)
pl.program.children_first(program)
pl.program.distinct_decisions(program)
pl.program.distinct_steps(program)
pl.program.walk(program)
"""


class Double(pl.Vertex):
    """Twice a vector."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2.0


OTHER_CALLS = ["testing.assert_vertex(Double, {'x': ones}, {'x': twos})"]


def check_names(*arguments: Any, **named: Any) -> None:
    """Call `assert_vertex`, but run no vertex: only arguments are looked at."""
    testing.assert_vertex(*arguments, layouts=0, **named)


def calls() -> list[str]:
    """Return the calls."""
    return CALLS.strip().splitlines()


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    """Give the names that the calls use, made anew."""
    (whole,) = testing.variables({"x": (2, 3)}, mappings={"x": [[(0, 6)]]})
    tensor = whole.tensor
    graph = tensor.graph
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0)
    with tempfile.TemporaryDirectory() as folder:
        yield {
            "pl": pl,
            "np": np,
            "testing": testing,
            "viz": viz,
            "Double": Double,
            "check_names": check_names,
            "ones": np.ones(3, np.float32),
            "twos": np.full(3, 2, np.float32),
            "metadata": pl.QuarterMetadata("F143"),
            "random": Random(0),
            "whole": whole,
            "row": whole.call("index", [0]),
            "tensor": tensor,
            "addresses": whole.addresses,
            "tiles": testing.tiles_of(graph),
            "graph": graph,
            "flag": flag,
            "program": pl.Sequence(pl.WriteUndef(tensor)),
            "report": small_report(),
            "path": Path(folder, "picture.svg"),
            "folder": Path(folder, "exported"),
        }


NOT_OURS = frozenset({"np", "range"})
