"""Calls of `poplite` itself that have no row among Poplar's signatures."""

# ruff: noqa: E501  # one line a call reads as the table that it is

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import poplite as pl
from helpers import poplar_world
from helpers.poplar_signatures import ROWS

CALLS = """
engine.load_state(saved_state)
pl.Abort("why", "n")
pl.AbortOnCondition(flag, "why", "n")
pl.AssumeEqualAcrossReplicas(x, "n")
pl.Block(there, "n")
pl.Call(host_function, [x], [y], "n")
pl.Copy(x, y, name="n")
pl.Copy(buffer, x, row, "n")
pl.CrossReplicaCopy(xr, yr, [1, 0], "n")
pl.ErrorProgram("why", x, "n")
pl.Execute(cs, flag, "n")
pl.If(flag, there, pl.Sequence(), "n")
pl.Loop(there, "n")
pl.PrintTensor("title", x, pl.PrintTensorFormat(10, 2, 60, 3, "fixed", " ", "[", "]"), "n")
pl.Repeat(3, there, "n")
pl.RepeatWhileTrue(there, flag, there, "n")
pl.RepeatWhileFalse(there, flag, there, "n")
pl.Sequence(there, there, name="n")
pl.Sequence([there], name="n")
pl.Sequence().add(there)
pl.Switch(row, {1: there}, pl.Sequence(), "n")
pl.Switch(row, [(1, there)]).add(2, there)
pl.Switch.with_bounds_checking(row, {1: there}, "n")
pl.Switch.with_unreachable_default(row, {1: there}, "n")
pl.Sync(pl.SyncType.INTERNAL, "n")
pl.WriteUndef(x, "n")
pl.FloatingPointBehaviour(True, True, True, True, True)
pl.ModifyFloatingPointBehaviour(behaviour, behaviour)
pl.SetFloatingPointBehaviour(behaviour)
pl.SetStochasticRounding(True)
pl.Device(pl.Target(tiles=4), 1)
pl.IPUModel("ipu2")
pl.Graph(pl.Target(tiles=4), 1)
pl.Interval(1, 2)
pl.Layout(pl.VectorLayout.SPAN, 8, True)
pl.OptionFlags({"a": "1"})
pl.RuntimeOptions({"target.hostSyncTimeout": "3"})
pl.RuntimeOptions().setdefault("target.hostSyncTimeout", "3")
pl.RuntimeOptions().update({"target.hostSyncTimeout": "3"})
pl.QuarterMetadata("F143", 2)
pl.QuarterMetadata.from_byte(3)
pl.Target(tiles=8, workers=6, tile_memory_bytes=1000, clock_hz=1e9, exchange_bytes_per_cycle=4, ipus=2, architecture="gc200")
pl.VertexPerfEstimate(20, 3)
pl.Engine(graph, there, None, False, "n", checks="strict", interpret=True)
pl.Engine(graph, {"a": there}, {"debug.instrument": "false"}, device=None)
pl.append(x, x[0], 0)
pl.concat([x, y], 1)
pl.stack([x, y], 1)
x.sum(1, keepdims=True)
x.astype(pl.FLOAT).mean(1, keepdims=True)
x.max(1, keepdims=True)
x.min(1, keepdims=True)
x.astype(pl.HALF)
pl.compile_graph(graph, there, "fast", interpret=True, options={"debug.instrument": "false"})
pl.compileGraph(graph, there, {"debug.instrument": "false"})
pl.convert_from_quarter(octets, metadata)
pl.convert_to_quarter(floats, metadata, True)
pl.copy_device_half_to_float(target, halves, floats, 2)
pl.copy_float_to_device_half(target, floats, halves, 2)
pl.cut(1, 10, 3)
pl.cycle_count(graph, sequence, 0, pl.SyncType.INTERNAL, "n")
pl.cycle_stamp(graph, sequence, 0, pl.SyncType.INTERNAL, "n")
pl.detect_innermost_grouping(graph, x)
pl.dump_program(graph, there, out)
pl.faster(bits="equal", wide={"x": 4})
pl.faster(rtol=1e-3)
pl.get_and_modify_floating_point_behaviour(graph, sequence, behaviour, behaviour, "n")
pl.set_floating_point_behaviour(graph, sequence, behaviour, "n")
pl.set_stochastic_rounding(graph, sequence, True, "n")
pl.grid_blocks((4, 6), (2, 2))
pl.halo_blocks((4, 6), (2, 2), halo=1, workers=2)
pl.map_blocks(graph, x, (2, 2), halo=0)
pl.map_by_weights(graph, x, [1, 2], dim=0)
pl.map_like(graph, x, y)
pl.map_linearly(graph, x, grain=2, min_elements=2)
pl.map_round_robin(graph, x, grain=2, first=1)
pl.near_square_grid(4, 6, 4)
pl.quarter_metadata_for(floats, "F143")
pl.read_json('{"a": 1}', flags)
pl.read_json_from_env("POPLITE_UNSET", flags)
pl.split_among_workers(graph, x, grain=2, min_elements=2)
pl.split_regions([(0, 4)], 2, grain=1, min_elements=1)
pl.spread(10, 4, grain=2, min_elements=2)
pl.vertex_from_source(text, "Made")
graph.add_variable(pl.INT, (4,), "v", mapping="linear", initial_value=3)
graph.add_variable(pl.QUARTER, (4,), "v", metadata=metadata)
graph.add_constant(pl.INT, (2,), [1, 2], "v", mapping=0)
graph.add_replication_index_constant("v", mapping=0)
graph.add_compute_set("v")
graph.add_function(there, "v")
graph.add_host_function("v", [(pl.INT, 6)], [(pl.INT, 6)])
graph.add_host_to_device_fifo("a", pl.INT, 6, pl.ReplicatedStreamMode.REPLICATE, 2)
graph.add_device_to_host_fifo("b", pl.INT, 6)
graph.add_remote_buffer("v", pl.INT, 6, 4, True, True)
graph.add_vertex(cs, Scale, tile=1, x=x[0], k=row, factor=2)
graph.add_vertices(cs, Scale, tile=[0, 1], x=x, k=[row, row], factor=[1, 2])
graph.clone(x, "v", pl.TensorCloneMethod.CREATE_NEW_ORDER, element_type=pl.FLOAT)
graph.clone_n(x, 2, "v", method=pl.TensorCloneMethod.CREATE_NEW_ORDER, element_type=pl.FLOAT)
graph.convert_physical_tile_to_virtual_tile(1, None)
graph.convert_tile_to_top_level_graph_tile(1)
graph.convert_top_level_graph_tile_to_tile(1)
graph.convert_virtual_tile_to_physical_tile(1)
graph.create_host_read("v", x)
graph.create_host_write("v", x)
graph.create_virtual_graph(1, 3)
graph.create_virtual_graph([1, 3])
graph.serialize(octet_stream, there)
pl.Graph.deserialize(saved_graph, [Scale, Join, Weighted])
graph.serialize_tensors(out, [x.T])
graph.deserialize_tensors(saved_tensors)
graph.save(path, there)
pl.Graph.load(saved_path, [Scale, Join, Weighted])
graph.field_size(full["x"])
graph.find_unbroadcast_tensor(x)
graph.max_field_dim(Scale, "x", 0)
graph.max_vertex_field_value(Scale, "factor")
graph.output_vertex_graph(out, [there])
graph.perf_estimate(full)
graph.register_perf_estimator(Scale, lambda v, t: pl.VertexPerfEstimate(1, 0))
graph.reorder_to_simplify(x.T, [y], True)
entered(graph.scope("layer"))
graph.set_field_size(join["parts"], 2)
graph.set_initial_value(x, 3)
graph.set_initial_value(scale["factor"], 3)
graph.set_perf_estimate(full, 20, 3)
graph.set_tile_mapping(x, 3)
graph.set_tile_mapping(scale, 2)
graph.set_tile_mapping(x, [[(0, 2)], [(2, 6)]])
graph.simplifying_rearranger(x.T)
rearranger.rearrange(x.T)
rearranger.undo(x.T)
graph.sorted_contiguous_regions(x.T, [(0, 4)], False, False)
graph.sorted_contiguous_regions_by_tile(x.T, False, False)
entered(graph.steps("n"))
graph.tensor("x")
graph.tile_mapping(x, True)
graph.variable_of(x)
graph.variable_tile_mapping(x)
x.broadcast(2, 0)
x.dim(1)
x.dim_roll(1, 0)
x.dim_shuffle([1, 0])
x.dim_shuffle_partial([0], [1])
x.expand([0])
x.flatten(0, 2)
x.index([1, 2])
x.intersects_with(y)
x.output(out)
x.output_regions(out)
list(x.region_chunks(10))
x.reinterpret(pl.FLOAT)
x.reshape((3, 2))
x.reshape_partial(1, 2, [3, 1])
x.reverse(1)
x.slice(1, 3, 1)
x.slices([(0, 1), (1, 3)], 1)
x[:1].squeeze([0])
x.sub_sample(2, 1)
x.upsample(2, 1, pl.UpsampleMethod.REPEAT)
there.same_as(there)
target.cost("sync_cycles")
target.fact("sync_cycles")
target.ipu_of(3)
target.vector_width(pl.INT)
full.field_info("x")
both.field_info("parts").size_at(1)
pl.TileMapping(4, numbers, numbers)
engine.add_program(there, "more")
engine.connect_host_function("sort", sort, replica=0)
engine.connect_stream("in", data)
engine.connect_stream_to_callback("in", fill, replica=0)
engine.copy_from_remote_buffer("table", 1, 0)
engine.copy_to_remote_buffer(data, "table", 1, 0)
engine.load(device)
engine.save_state(state)
engine.read(x, replica=0)
engine.read("x")
engine.write("x", ones, replica=0)
engine.run(0, "n", {"target.hostSyncTimeout": "3"}, progress=False)
entered(counted.tracing(10))
executable.save(path)
executable.serialize(octet_stream)
pl.Executable.load(saved_executable_path, [Scale])
pl.Executable.deserialize(saved_executable, [Scale])
counted_report.diff(counted_report)
report.save(path)
counted_report.with_order(trace)
pl.Report.load(saved_report)
pl.Report.from_json(report_text)
pl.Sweep.load(saved_sweep)
pl.Sweep(["grain"], [{"grain": 1, "cycles": 2, "error": ""}])
pl.fma(1.0, 2.0, 3.0)
pl.float_bits(1.0)
pl.half_bits(1.0)
pl.float_from_bits(7)
pl.half_from_bits(7)
counted_report.step(copied, program=0, row=None)
report.show(height=600, title="t", source=False)
report.to_html(title="t", source=True)
sweep.best("cycles")
sweep.best_row("cycles")
sweep.measure("cycles")
sweep.save(path)
"""

SOURCE = """
import poplite as pl

class Made(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 1.0
"""


OTHER_CALLS = [call for row in ROWS for call in (row.camel, row.ours) if call]
"""Calls of the table of signatures, which tests of Poplar's spelling exchange arguments of."""


def calls() -> list[str]:
    """Return the calls."""
    return CALLS.strip().splitlines()


def entered(manager: AbstractContextManager[Any]) -> Any:
    """Enter a block, and leave it."""
    with manager as value:
        return value


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    """Give the names that the calls use, made anew."""
    names = poplar_world.world("Engine")
    graph, engine, there = names["graph"], names["engine"], names["there"]
    with tempfile.TemporaryDirectory() as folder:
        saved_state = Path(folder, "state")
        engine.save_state(saved_state)
        saved_path, executable_path = Path(folder, "graph"), Path(folder, "executable")
        graph.save(saved_path, there)
        engine.executable.save(executable_path)
        counted = pl.Engine(graph, there)
        with counted.tracing() as trace:
            counted.run()
        saved_report, saved_sweep = Path(folder, "report"), Path(folder, "sweep.json")
        engine.report().save(saved_report)
        sweep = pl.Sweep(["grain"], [{"grain": 1, "cycles": 2, "error": ""}])
        sweep.save(saved_sweep)
        more = {
            "octets": np.arange(3, dtype=np.uint8),
            "behaviour": pl.FloatingPointBehaviour(),
            "ones": np.ones((2, 3), np.int32),
            "numbers": np.array([1, 2, 3]),
            "storage": names["x"].var_regions()[0].variable,
            "saved_graph": io.BytesIO(saved_path.read_bytes()),
            "octet_stream": io.BytesIO(),
            "path": Path(folder, "new"),
            "state": Path(folder, "new_state"),
            "saved_path": saved_path,
            "saved_state": saved_state,
            "saved_executable_path": executable_path,
            "executable": engine.executable,
            "report": engine.report(),
            "counted": counted,
            "copied": counted.report().execution.steps[0].name,
            "counted_report": counted.report(),
            "sweep": sweep,
            "trace": trace,
            "saved_report": saved_report,
            "saved_sweep": saved_sweep,
            "report_text": engine.report().to_json(),
            "Weighted": poplar_world.Weighted,
            "text": SOURCE,
            "entered": entered,
        }
        yield {**names, **more}


NOT_OURS = frozenset(
    {
        "np",
        "int",
        "list",
        "sorted",
        "print",
        "type",
        "str",
        "float",
        "len",
        "dict",
        "entered",
        "data",
        "flags",
        "callback",
    }
)
