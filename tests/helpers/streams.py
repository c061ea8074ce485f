"""An engine with a stream in and a stream out."""

from __future__ import annotations

import poplite as pl


def made(
    times: int = 1, size: int = 4, depth: int = 1, interpret: bool = False
) -> tuple[pl.Engine, pl.Tensor]:
    """Return an engine that copies 'in' to x and x to 'out', some times; and x."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (size,), "x", mapping="linear", initial_value=0)
    source = graph.add_host_to_device_fifo("in", pl.INT, size, buffering_depth=depth)
    sink = graph.add_device_to_host_fifo("out", pl.INT, size)
    body = pl.Sequence(pl.Copy(source, x), pl.Copy(x, sink))
    return pl.Engine(graph, pl.Repeat(times, body), interpret=interpret), x
