"""Reports as JSON.

    {"poplite": "report", "version": 5, "compilation": {...}, "execution": {...}, ...}

Every dataclass is an object with the names of its fields (`poplite.codec`); keys are sorted, and
fields that have their default are left out.  Numbers of tiles name parts of `tables` where they are
many, one long array of each type in base 64 (`poplite.report.per_tile_coder`).
The user's lines are numbers of those in `lines`.  Programs are a list of nodes in which children
precede their parents, so that a function occurs once.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any, TypeVar

import numpy as np

from poplite.codec.archive import ELEMENT_DTYPES, ArrayReader
from poplite.codec.codec import Codec, lines_of
from poplite.codec.coders import Coder, Json, Reader, ScalarCoder, Writer, as_list, decoded
from poplite.codec.loading import Format, Malformed, add_room, parsed_json
from poplite.jit.build import no_collection
from poplite.report.per_tile import PerPair, PerPiece, PerTile, TilePerPiece
from poplite.report.per_tile_coder import LOOKS_A_CHARACTER, MOST, PACKED, PerTileCoder
from poplite.report.program_tree import Programs, nodes_of, tree_of
from poplite.report.validate import check_report
from poplite.text import clipped

REPORTS = Format("report", (5,), "a report", "report.save(path)", ("poplite", "version"))
"""The version increases when the meaning of a field changes."""

TABLES, LINES = "tables", "lines"

T = TypeVar("T")


@no_collection()  # all that is made stays
def to_json(report: Any) -> str:
    """Return a report, a dataclass, as JSON."""
    to = Writer()
    outer = _REPORTS.coder_of(type(report)).encode(report, to)
    outer[LINES] = list(to.lines)
    outer[TABLES] = {
        name: b64encode(np.concatenate(parts).tobytes()).decode()
        for name, parts in to.arrays.parts().items()
    }
    return REPORTS.text(outer, "report") + "\n"


def from_json(cls: type[T], text: str | bytes, source: str = "this") -> T:
    """Return the report of JSON; raise FileLoadError, which names the source, for all else."""
    with REPORTS.loading(source):
        add_room(len(text))
        return _loaded(cls, parsed_json(text), LOOKS_A_CHARACTER * len(text))


def _loaded(cls: type[T], data: Json, looks: int) -> T:
    parts = REPORTS.parts(data)
    tables, lines = _tables(parts.pop(TABLES, None)), lines_of(parts.pop(LINES, None))
    of = Reader(tables, (), (), lines)
    of.looks = looks
    loaded: T = decoded(_REPORTS.coder_of(cls), parts, of)
    check_report(loaded)
    return loaded


def _tables(data: Json) -> ArrayReader:
    if not isinstance(data, dict):
        raise Malformed(f"{clipped(data)} is not a valid set of tables")
    for name in data:
        if name not in PACKED:
            raise Malformed(f"{clipped(name)} is not a valid type of numbers")
    return ArrayReader(
        {
            name: np.frombuffer(b64decode(text, validate=True), ELEMENT_DTYPES[name])
            for name, text in data.items()
        }
    )


class _SecondsCoder(ScalarCoder):
    """Numbers, finite and none of them below 0, as JSON has them."""

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return float(value)

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        if type(data) not in (int, float):
            raise Malformed(f"{clipped(data)} is not of type float")
        if not 0 <= data < math.inf:
            raise Malformed(f"{clipped(data)} is not a finite number from 0 on")
        return float(data)


class _ProgramsCoder(Coder):
    """Programs by name, each as nodes."""

    name = "programs"

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, Programs)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return {name: nodes_of(tree) for name, tree in value.items()}

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        if type(data) is not dict:
            raise Malformed(f"{clipped(data)} is not a valid object")
        trees = {name: tree_of(as_list(nodes)) for name, nodes in data.items()}
        return Programs(lambda: trees)


_REPORTS = Codec(
    {
        int: ScalarCoder(int, range(MOST), "is not among the numbers of a report"),
        float: _SecondsCoder(float),
        Programs: _ProgramsCoder(),
        PerTile: PerTileCoder(range(MOST), of_tiles=True),
        PerPair: PerTileCoder(range(MOST), of_pairs=True),
        PerPiece: PerTileCoder(range(MOST)),
        TilePerPiece: PerTileCoder(range(-1, MOST)),
    }
)
