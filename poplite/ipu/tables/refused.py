"""What a real IPU is not given yet, found before anything is written.

Replicas, several IPUs and remote buffers. All faults are reported together, those of programs and
names with their line; the size of a machine has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from poplite.errors import ExportError, listed
from poplite.graph.graph import Graph
from poplite.program import (
    CrossReplicaCopy,
    Program,
    RemoteCopy,
    distinct_steps,
)
from poplite.source import SourceLocation
from poplite.text import amount, clipped

_PROGRAMS: Mapping[type[Program], str] = {
    RemoteCopy: "remote buffers",
    CrossReplicaCopy: "replicas",
}

Fault = tuple[str, SourceLocation | None]


def check_exported(graph: Graph, programs: Mapping[str, Program]) -> None:
    """Refuse a graph and programs of which a real IPU is not given everything.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    >>> check_exported(graph, {})
    Traceback (most recent call last):
    ...
    poplite.errors.ExportError: a real IPU is not given 1 part of this graph yet
      the graph has 2 replicas
      try: leave these out, or run the program on the simulator: Engine(graph, program)
    """
    faults = [*_of_machine(graph), *_of_names(graph, programs), *_of_programs(programs.values())]
    if not faults:
        return
    raise ExportError(
        f"a real IPU is not given {amount(len(faults), 'part')} of this graph yet",
        at=next((at for _, at in faults if at is not None), None),
        found=listed([f"{what} ({at})" if at else what for what, at in faults], "parts"),
        fix="leave these out, or run the program on the simulator: Engine(graph, program)",
    )


def _of_machine(graph: Graph) -> Iterable[Fault]:
    if graph.replication_factor > 1:
        yield f"the graph has {graph.replication_factor} replicas", None
    if graph.target.ipus > 1:
        yield f"the graph has {graph.target.ipus} IPUs", None


def _of_names(graph: Graph, programs: Mapping[str, Program]) -> Iterable[Fault]:
    handles = graph._parts.handles
    located: list[tuple[str, str, Any]] = [
        *(("variable", each.name, each) for each in graph.variables),
        *(("program", name, each) for name, each in programs.items()),
        *(("stream", name, each) for name, each in handles.streams.items()),
        *(("host function", name, each) for name, each in handles.host_functions.items()),
        *(("host read", name, each) for name, each in handles.reads.items()),
        *(("host write", name, each) for name, each in handles.writes.items()),
    ]
    for kind, name, each in located:
        if not name.isprintable():
            yield f"the name of {kind} {clipped(name)} is more than one line", each.location


def _of_programs(programs: Iterable[Program]) -> Iterable[Fault]:
    found = {step.program: None for program in programs for step in distinct_steps(program)}
    for leaf in found:
        for kind, what in _PROGRAMS.items():
            if isinstance(leaf, kind):
                yield f"{leaf}: {what}", leaf.location
