"""Ranks as one of Poplar's devices."""

from __future__ import annotations

from helpers.ranks import ended, needs_mpi, on_ranks

AS_IN_POPLAR = """
import sys

import poplite as pl

device = pl.mpi.Device(target=pl.Target(tiles=4))
assert isinstance(device, pl.Device) and device.getTarget() == pl.Target(tiles=4)
graph = pl.Graph(device)
x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=range(4))
y = graph.clone(x, "y")
program = pl.Copy(x.reverse(0), y)
engine = pl.Engine(graph, program, device=device)
try:
    engine.load(device)
    raise SystemExit("a device that is not attached was taken")
except pl.InvalidMachineModel as error:
    assert "is not attached" in error.what, error
assert device.attach()
engine.prepare(device, pl.RuntimeOptions())
engine.deploy()
engine.loadAndRun(device, 0)
report = engine.report()
(sent,) = report.between_ranks
assert (sent.name, sent.executions, sent.messages, sent.bytes) == ("x to y", 1, 2, 16), sent
assert "16 B in 2 messages" in str(report) and pl.Report.from_json(report.to_json()) == report
engine.resetExecutionProfile()
assert engine.report().between_ranks == ()
sys.stdout.write(str(engine.read(y).tolist()).replace(" ", "") + "\\n")  # one piece a rank
sys.stdout.flush()
try:
    pl.Engine(graph, program).load(device)
    raise SystemExit("an engine on the simulator was loaded on ranks")
except pl.InvalidMachineModel as error:
    assert "it runs on the simulator" in error.found, error
"""
"""What every rank runs."""


@needs_mpi
def test_ranks_are_a_device_where_poplar_has_one() -> None:
    done = ended(on_ranks(2, "-c", AS_IN_POPLAR))
    assert (done.returncode, done.stdout.split()) == (0, ["[3,2,1,0]"] * 2), done.stderr
