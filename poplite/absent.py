"""What Poplar has and poplite does not: asked for by name, it is refused with the reason.

class Graph:
    addCodelets = Absent("vertex classes are Python")       as a member of a class
NAMES                                                   as a name of the package
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

from poplite.errors import AbsentMember
from poplite.source import here


class Absent:
    """A member of one of Poplar's classes that poplite does not have.

    Args:
        reason: why it makes no sense here, as a sentence without a full stop.
        instead: what to write instead, if anything.

    Raises:
        AbsentMember: when it is looked up, in an object or in the class.

    >>> class Engine:
    ...     reset = Absent("there is no device")
    >>> Engine().reset
    Traceback (most recent call last):
    poplite.errors.AbsentMember: poplite has no Engine.reset  (...)
      there is no device
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        self.reason, self.instead = reason, instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise absent_member(self.name, self.reason, self.instead)


def absent_member(name: str, reason: str, instead: str = "") -> AbsentMember:
    """Return the error that tells why there is no such member."""
    return AbsentMember(f"poplite has no {name}", at=here(), found=reason, fix=instead)


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
