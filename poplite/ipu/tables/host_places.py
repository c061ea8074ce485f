"""Places of the host's data in the shared mapping."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from typing import Any

from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.host import DataStream, DataStreamType, HostFunction
from poplite.graph.space import Variable
from poplite.ipu.tables.columns import Texts, aligned_size
from poplite.ipu.tables.elements import EdgesTable, type_number
from poplite.program import PrintTensor
from poplite.types import ElementType


@frozen
class Place:
    """Elements in the shared mapping.

    Attributes:
        offset: first byte.
        is_input: of a stream or a function, whether they go from the host to the device.

    >>> from poplite.types import FLOAT
    >>> Place(0, FLOAT, (4, 6)).size_bytes
    96
    """

    offset: int
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    is_input: bool = False

    @property
    def num_elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return self.num_elements * self.element_type.size_bytes


# -- streams, functions and handles ----------------------------------------------------------------
#
#     handle.name, .of, .type, .reads, .writes         tensors that the user gave a handle
#     stream.name, .type, .count, .offset, .input      streams that programs use
#     called.name, .end                                functions of the host, and their
#     argument.type, .count, .offset, .input           inputs, which go to the host, and outputs
#
# All handles begin at byte 0, as one of them is moved at a time; the others follow the largest.


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
        "handle.of": [edges.tensor(tensor.view, tensor.element_type) for _, tensor, _ in rows],
        "handle.type": [type_number(tensor.element_type) for _, tensor, _ in rows],
        "handle.writes": [side for _, _, side in rows],
    }


class HostPlaces:
    """The streams and functions of the host that programs use, and streams of printed tensors.

    Attributes:
        streams: by name.
        functions: the arrays of each function by its name, inputs first.
        prints: by the name of its stream, the program that prints.
        end: one past the last byte of all.
    """

    def __init__(self, taken: Collection[str], begin: int) -> None:
        self.streams: Places = {}
        self.functions: dict[str, tuple[Place, ...]] = {}
        self.prints: dict[str, PrintTensor] = {}
        self.end = aligned_size(begin)
        self._taken = taken
        self._numbers: dict[DataStream | PrintTensor, int] = {}

    def stream(self, stream: DataStream | PrintTensor) -> int:
        """Return the number of a stream, or of the one that carries what a program prints."""
        if stream not in self._numbers:
            self._numbers[stream] = len(self._numbers)
            name = self._name(stream)
            if isinstance(stream, DataStream):
                is_input = stream.type is DataStreamType.HOST_TO_DEVICE_FIFO
                place = self._placed(stream.element_type, (stream.num_elements,), is_input)
            else:
                self.prints[name] = stream
                place = self._placed(stream.tensor.element_type, stream.tensor.shape, False)
            self.streams[name] = place
        return self._numbers[stream]

    def function(self, function: HostFunction) -> int:
        """Return the number of a function of the host."""
        if function.handle not in self.functions:
            self.functions[function.handle] = tuple(
                self._placed(element, (count,), is_input)
                for side, is_input in ((function.inputs, False), (function.outputs, True))
                for element, count in side
            )
        return list(self.functions).index(function.handle)

    def _placed(
        self, element: type[ElementType[Any]], shape: tuple[int, ...], is_input: bool
    ) -> Place:
        place = Place(self.end, element, shape, is_input)
        self.end += aligned_size(place.size_bytes)
        return place

    def columns(self, texts: Texts) -> Mapping[str, list[int]]:
        """Return the columns of all streams and functions."""
        arguments = [place for each in self.functions.values() for place in each]
        ends = list(accumulate(map(len, self.functions.values())))
        return {
            "stream.name": [texts.number(name) for name in self.streams],
            **_columns("stream", self.streams.values()),
            "called.name": [texts.number(name) for name in self.functions],
            "called.end": ends,
            **_columns("argument", arguments),
        }

    def _name(self, stream: DataStream | PrintTensor) -> str:
        if isinstance(stream, DataStream):
            return stream.handle
        number = len(self.prints)
        while f"print:{number}" in {*self._taken, *self.streams}:
            number += 1
        return f"print:{number}"


def _columns(table: str, places: Collection[Place]) -> dict[str, list[int]]:
    return {
        f"{table}.type": [type_number(each.element_type) for each in places],
        f"{table}.count": [each.num_elements for each in places],
        f"{table}.offset": [each.offset for each in places],
        f"{table}.input": [int(each.is_input) for each in places],
    }
