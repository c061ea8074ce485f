"""Streams and handles: where their data lie in the mapping, and their columns.

    handle.name, .of, .type, .reads, .writes         tensors that the user gave a handle
    stream.name, .type, .count, .offset, .input      streams that programs use

All handles begin at byte 0, as one of them is moved at a time; streams lie behind the largest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from poplite.graph.graph import Graph
from poplite.graph.host.streams import DataStream, DataStreamType
from poplite.graph.storage.variable import Variable
from poplite.ipu.tables.columns import ALIGNMENT
from poplite.ipu.tables.edges import EdgesTable
from poplite.ipu.tables.places import Place
from poplite.ipu.tables.series import Texts
from poplite.ipu.tables.variables import type_number
from poplite.program import PrintTensor

Places = dict[str, Place]


def host_variables(graph: Graph) -> dict[Variable, None]:
    """Return the variables that the host reads and writes: no constants, and no temporaries."""
    temporaries = {each for operation in graph.operations for each in operation.temporaries}
    kept = (each for each in graph.variables if not each.constant and each not in temporaries)
    return dict.fromkeys(kept)


def handle_places(graph: Graph, variables: Iterable[Variable]) -> tuple[Places, Places]:
    """Return the places of what the host reads, and of what it writes."""
    reads = {f"variable:{v.name}": Place(0, v.element_type, v.shape) for v in variables}
    writes = dict(reads)
    for places, handles in ((reads, graph.host_reads), (writes, graph.host_writes)):
        for name, handle in handles.items():
            tensor = handle.tensor
            places[f"handle:{name}"] = Place(0, tensor.element_type, tensor.shape)
    return reads, writes


def handle_columns(graph: Graph, texts: Texts, edges: EdgesTable) -> dict[str, list[int]]:
    """Return the columns of the tensors that the user gave a handle."""
    rows = [
        (f"handle:{name}", handle.tensor, side)
        for side, handles in enumerate((graph.host_reads, graph.host_writes))
        for name, handle in handles.items()
    ]
    return {
        "handle.name": [texts.number(name) for name, _, _ in rows],
        "handle.of": [edges.tensor(tensor.view) for _, tensor, _ in rows],
        "handle.type": [type_number(tensor.element_type) for _, tensor, _ in rows],
        "handle.writes": [side for _, _, side in rows],
    }


class StreamPlaces:
    """The streams that programs use, and those that carry what is printed.

    Attributes:
        places: by name.
        prints: by the name of its stream, the program that prints.
        end: one past the last byte of all.
    """

    def __init__(self, taken: Collection[str], begin: int) -> None:
        self.places: Places = {}
        self.prints: dict[str, PrintTensor] = {}
        self.end = _aligned(begin)
        self._taken = taken
        self._numbers: dict[DataStream | PrintTensor, int] = {}

    def number(self, stream: DataStream | PrintTensor) -> int:
        """Return the number of a stream, or of the one that carries what a program prints."""
        if stream not in self._numbers:
            self._numbers[stream] = len(self._numbers)
            name = self._name(stream)
            if isinstance(stream, DataStream):
                is_input = stream.type is DataStreamType.HOST_TO_DEVICE_FIFO
                kind, shape = stream.element_type, (stream.num_elements,)
            else:
                self.prints[name], is_input = stream, False
                kind, shape = stream.tensor.element_type, stream.tensor.shape
            self.places[name] = Place(self.end, kind, shape, is_input)
            self.end += _aligned(self.places[name].size_bytes)
        return self._numbers[stream]

    def columns(self, texts: Texts) -> Mapping[str, list[int]]:
        """Return the columns of all streams."""
        places = self.places.values()
        return {
            "stream.name": [texts.number(name) for name in self.places],
            "stream.type": [type_number(each.element_type) for each in places],
            "stream.count": [each.num_elements for each in places],
            "stream.offset": [each.offset for each in places],
            "stream.input": [int(each.is_input) for each in places],
        }

    def _name(self, stream: DataStream | PrintTensor) -> str:
        if isinstance(stream, DataStream):
            return stream.handle
        number = len(self.prints)
        while f"print:{number}" in {*self._taken, *self.places}:
            number += 1
        return f"print:{number}"


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
