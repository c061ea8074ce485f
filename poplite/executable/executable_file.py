"""Saved executables: the manifest, loaded without trust.

    manifest.json    {"format": 7, "classes": [...], "locations": [...], "lines": [...],
                      "executable": {...}}

Compiled code trusts an executable, so every number is checked first
(`poplite.executable.validate`).  The format number rises when the meaning of a field changes;
new fields with defaults need no new one.

Modelled whole numbers are at least zero; those of tiles are written as in reports
(`poplite.report.json_form`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from poplite.codec.archive import read_archive, write_archive
from poplite.codec.codec import (
    Codec,
    Reader,
    ScalarCoder,
    Writer,
    decoded,
    decoded_locations,
    lines_of,
    written_locations,
)
from poplite.codec.loading import Format, Malformed, add_room, at
from poplite.cost.step_cost import PhaseCost
from poplite.executable.executable import Executable
from poplite.executable.named_classes import (
    NamedClass,
    VertexSource,
    found_classes,
    named_class,
)
from poplite.executable.validate import validate
from poplite.files import checked_path, replacing
from poplite.graph.compute_sets.perf_estimates import MOST
from poplite.jit.build import no_collection
from poplite.report.json_form import LOOKS_A_CHARACTER, PerTileCoder
from poplite.report.memory import Memory, Operation
from poplite.report.per_tile import PerPair, PerTile
from poplite.report.validate import MOST_TOTAL

_MODELLED = Codec(
    {
        int: ScalarCoder(int, range(MOST + 1), "is not among the numbers of costs"),
        PerTile: PerTileCoder(range(MOST + 1), of_tiles=True),
        PerPair: PerTileCoder(range(MOST + 1), of_pairs=True),
    }
)

_COUNTED = Codec({int: ScalarCoder(int, range(MOST_TOTAL), "is not among the numbers of a report")})

EXECUTABLE_CODEC = Codec(
    {
        Operation: _COUNTED.coder_of(Operation),
        **{kind: _MODELLED.coder_of(kind) for kind in (PhaseCost, Memory)},
    }
)


FORMAT, UNCHECKED_FORMAT = 7, 8
"""Numbers of the formats. Programs with `checks="none"` have one of their own, so that a poplite
that does not know them refuses them."""

EXECUTABLES = Format(
    "poplite executable", (FORMAT, UNCHECKED_FORMAT), "an executable", "executable.save(path)"
)


@no_collection()  # all that is made stays
def save(executable: Executable, path: str | os.PathLike[str]) -> None:
    """Write an executable to a file; see `Executable.save`."""
    place = checked_path(path, "save", "model.poplite")
    to = Writer()
    data = EXECUTABLE_CODEC.coder_of(Executable).encode(executable, to)
    classes = list(map(named_class, to.classes))
    manifest = {
        "classes": EXECUTABLE_CODEC.coder_of(list[NamedClass]).encode(classes, to),
        "locations": written_locations(to.locations),
        "lines": list(to.lines),
        "executable": data,
    }
    number = UNCHECKED_FORMAT if executable.checks == "none" else FORMAT
    text = EXECUTABLES.text(manifest, str(place), number)
    with replacing(place, "program.poplite") as file:
        write_archive(file, text, to.arrays)


def load(path: str | os.PathLike[str], vertices: Iterable[VertexSource]) -> Executable:
    """Read an executable from a file; see `Executable.load`."""
    name = str(checked_path(path, "load", "model.poplite"))
    with EXECUTABLES.loading(repr(name)):
        return _loaded(name, vertices)


def _loaded(name: str, vertices: Iterable[VertexSource]) -> Executable:
    manifest, arrays = read_archive(name, EXECUTABLES)
    of = Reader(arrays, (), (), ())
    with at("classes"):
        coder = EXECUTABLE_CODEC.coder_of(list[NamedClass])
        named = decoded(coder, manifest.get("classes"), of)
    locations = decoded_locations(manifest.get("locations"))
    classes = found_classes(named, vertices, name)
    of = Reader(arrays, classes, locations, lines_of(manifest.get("lines")))
    of.looks = LOOKS_A_CHARACTER * os.path.getsize(name)
    coder = EXECUTABLE_CODEC.coder_of(Executable)
    executable: Executable = decoded(coder, manifest.get("executable"), of)
    if (executable.checks == "none") != (manifest["format"] == UNCHECKED_FORMAT):
        raise Malformed(f"it has format {manifest['format']} and checks {executable.checks!r}")
    add_room(tiles=executable.target.tiles)
    validate(executable)
    return executable
