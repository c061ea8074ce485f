"""What a program has of the host, found by handle in an executable that was saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms

if TYPE_CHECKING:
    from pathlib import Path


@both_forms
def test_handles_lead_to_everything(tmp_path: Path, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping="linear")
    row = graph.add_variable(pl.UNSIGNED_INT, (), "row", mapping=0)
    source = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    sink = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    table = graph.add_remote_buffer("table", pl.FLOAT, 8, repeats=10)
    negate = graph.add_host_function("negate", [(pl.FLOAT, 8)], [(pl.FLOAT, 8)])
    body = graph.add_function(pl.Copy(source, x.T), "body")
    buffer = graph.add_function_buffer(body)
    graph.create_host_write("row", row)
    graph.create_host_write("x", x.T)
    graph.create_host_read("x", x)
    programs = {
        "call": pl.Call(body),
        "load": pl.Copy(buffer, body),
        "main": pl.Sequence(pl.Call(negate, [x], [x]), pl.Copy(x, table, row), pl.Copy(x, sink)),
    }
    file = tmp_path / "host.poplite"
    pl.Engine(graph, programs).executable.save(file)

    engine = pl.Engine(pl.Executable.load(file), interpret=interpret)
    assert engine.list_streams() == ["in", "out"]
    with pytest.raises(pl.StreamConnectionError, match="2 streams and host functions"):
        engine.run("main")
    engine.connect_stream("in", np.arange(8, dtype=np.float32))
    taken = np.zeros(8, np.float32)
    engine.connect_stream("out", taken)
    engine.connect_host_function("negate", lambda ins, outs: np.negative(ins[0], out=outs[0]))
    with pytest.raises(pl.ApplicationRuntimeError, match="the code of the function is not loaded"):
        engine.run("call")
    engine.run("load")
    engine.run("call")
    assert engine.read("x").tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    report = engine.report()
    assert [(step.name, step.program_name) for step in report.execution.steps] == [
        ("Copy 'in' -> 'x'", "call"),
        ("load 'body'", "load"),
    ]
    assert pl.Report.from_json(report.to_json()) == report
    engine.write("row", 7)
    engine.run("main")
    assert taken.tolist() == [-0, -2, -4, -6, -1, -3, -5, -7]
    assert engine.copy_from_remote_buffer("table", 7).tolist() == taken.tolist()
    engine.write("x", np.zeros((4, 2)))
    assert not engine.read("x").any()
