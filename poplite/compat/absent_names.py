"""Names of Poplar's namespace that poplite does not have: each is refused with the reason.

    pl.compileModule        poplite has no pl.compileModule: an executable is whole ...

What classes do not have stands in the classes, as `poplite.errors.Absent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "compileModule": (
            "an executable is whole: modules that are linked later are not compiled alone",
            "pl.compile_graph(graph, program)",
        ),
        "Preallocations": ("addresses are chosen when a program is compiled", ""),
        "DebugContext": (
            "names are strings, and the lines of the program that made each object are kept",
            'with graph.scope("layer"): ...',
        ),
        "DebugNameAndId": ("names are strings", 'with graph.scope("layer"): ...'),
        "DebugInfo": (
            "the lines of the program that made each object are kept by themselves",
            'with graph.scope("layer"): ...',
        ),
        "ProfileValue": ("a profile is made of Python's own values", "engine.report().to_json()"),
        "LegacyStreamCallback": (
            "any function can be connected",
            "engine.connect_stream_to_callback(handle, function)",
        ),
        "ResumableStreamCallback": (
            "callbacks run in the thread that calls engine.run, and end before it goes on",
            "pl.StreamCallback",
        ),
        "StreamCallbackWithMetadata": (
            "the metadata of a QUARTER stream is given when it is connected",
            "engine.connect_stream(handle, codes, metadata=...)",
        ),
        "SupervisorVertex": (
            "what runs on a tile's supervisor is not modelled",
            "class MyVertex(pl.MultiVertex)",
        ),
        "SupervisorVertexIf": (
            "what runs on a tile's supervisor is not modelled",
            "class MyVertex(pl.MultiVertex)",
        ),
        "ExternalExchangeVertex": (
            "tiles have no exchange code of their own",
            "pl.Copy(source, destination)",
        ),
        "CodeletFileType": (
            "vertex classes are Python; C++, assembly and .gp files are not read",
            "class MyVertex(pl.Vertex)",
        ),
        "LONG": ("Poplar names it, and tiles cannot hold it", "pl.LONGLONG"),
        "UNSIGNED_LONG": (
            "Poplar names it, and tiles cannot hold it",
            "pl.UNSIGNED_LONGLONG",
        ),
        "DOUBLE": ("Poplar names it, and tiles cannot hold it", "pl.FLOAT"),
        "packageHash": ("the version tells which poplite it is", "pl.version_string()"),
    }
)
"""Names of Poplar's namespace that poplite does not have: why, and what to write instead."""
