"""The variables of a device, as the host reads and writes them.

A device has no bytes that Python could look at. Those of each variable are moved as a whole through
a file that both processes share, to and from an arena laid out as the simulator's; views and
handles are then found there::

    engine.read(x[3:5])     read variable:x     shared file -> arena -> x[3:5]
    engine.write(x[3], 7)   read variable:x     arena[x[3]] = 7     write variable:x
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import GraphConnectionError
from poplite.executable.executable import Executable
from poplite.graph.graph import Graph
from poplite.graph.storage.variable import Variable
from poplite.ipu.tables import Place as Shared, Tables
from poplite.simulator.carrying import carry_memory
from poplite.simulator.host.tensors import ByMoves, ByView, HostTensors, TensorPlace
from poplite.simulator.run.arena import Arena, Bytes
from poplite.view import View, storages


class DeviceMemory:
    """The variables of a device; `ask` sends a command, and `shared` is the file that both see."""

    def __init__(
        self,
        executable: Executable,
        graph: Graph,
        tables: Tables,
        shared: Bytes,
        ask: Callable[[str], object],
    ) -> None:
        self._graph, self._tables, self._shared, self._ask = graph, tables, shared, ask
        self.arena = Arena(executable.layout)
        self._tensors = HostTensors(executable, graph, self.arena)

    def read(self, tensor: object, replica: int | None) -> npt.NDArray[Any]:
        """Return a copy of the values of a tensor, a handle or a variable by name."""
        access = self._tensors.to_read(tensor, replica)
        self._fetch(access.place, tensor)
        return self._tensors.read(access)

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write host values to a tensor, a handle or a variable by name."""
        access = self._tensors.to_write(tensor, replica)
        place = access.place
        if isinstance(place, ByMoves):
            self._tensors.write(access, array)
            self._put(f"handle:{tensor}", place.read(self.arena, 0))
            return
        assert isinstance(place, ByView), "there are no other places"
        variables = self._variables(place)
        if place.tensor.num_elements < sum(each.num_elements for each in variables):
            self._fetch(place, tensor)  # the other elements keep their values
        else:
            self._fetch_metadata(place)
        self._tensors.write(access, array)
        for variable in variables:
            self._put_variable(variable)

    def load(self) -> None:
        """Give all variables their values of the beginning."""
        self.arena.load()
        self._put_all()

    def carry(self, other: Arena) -> None:
        """Take over the variables of another arena of the same graph."""
        carry_memory(other, self.arena)
        self._put_all()

    def fetch_all(self) -> Arena:
        """Return the arena, in which all variables are as on the device."""
        for variable in self._hosted():
            self._fetch_variable(variable)
        return self.arena

    # ----------------------------------------------------------------------------------------

    def _hosted(self) -> list[Variable]:
        return [each for each in self._graph.variables if _handle(each) in self._tables.writes]

    def _put_all(self) -> None:
        for variable in self._hosted():
            self._put_variable(variable)

    def _variables(self, place: ByView) -> list[Variable]:
        """Return the variables of which a tensor has elements."""
        return self._of_view(place.tensor.view)

    def _of_view(self, view: View) -> list[Variable]:
        return [self._graph.variable_of(storage) for storage in storages(view)]

    def _fetch(self, place: TensorPlace, tensor: object) -> None:
        """Bring what the user named up to date."""
        if isinstance(place, ByMoves):
            place.write(self.arena, self._get(f"handle:{tensor}", self._tables.reads), 0)
            return
        assert isinstance(place, ByView), "there are no other places"
        self._fetch_metadata(place)
        for variable in self._variables(place):
            if not variable.constant:
                self._fetch_variable(variable)

    def _fetch_metadata(self, place: ByView) -> None:
        """Bring what says the format of QUARTER up to date."""
        if place.tensor.metadata is not None:
            for variable in self._of_view(place.tensor.metadata.view):
                if not variable.constant:
                    self._fetch_variable(variable)

    def _fetch_variable(self, variable: Variable) -> None:
        values = self._get(_handle(variable), self._tables.reads, variable)
        self._bytes_of(variable)[:] = values.reshape(-1).view(np.uint8)

    def _put_variable(self, variable: Variable) -> None:
        self._put(_handle(variable), self._bytes_of(variable), variable)

    def _bytes_of(self, variable: Variable) -> Bytes:
        """Return the bytes of a variable in the arena."""
        begin = self.arena.layout.byte_position(variable.storage.base)
        size = variable.num_elements * variable.element_type.size_bytes
        return self.arena.bytes[begin : begin + size]

    def _get(
        self, handle: str, places: Mapping[str, Shared], variable: Variable | None = None
    ) -> npt.NDArray[Any]:
        place = self._place(handle, places, variable)
        self._ask(f"read {handle}")
        return self._at(place).view(place.element_type.dtype).reshape(place.shape)

    def _put(self, handle: str, values: npt.NDArray[Any], variable: Variable | None = None) -> None:
        place = self._place(handle, self._tables.writes, variable)
        self._at(place)[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self._ask(f"write {handle}")

    def _place(
        self, handle: str, places: Mapping[str, Shared], variable: Variable | None
    ) -> Shared:
        if variable is not None and handle not in places:
            raise GraphConnectionError(
                f"'{variable.name}' is a temporary of an operation, which a device keeps to itself",
                found=f"made at {variable.location}",
                fix="copy it to a variable of your own, and read that",
            )
        return places[handle]

    def _at(self, place: Shared) -> Bytes:
        return self._shared[place.offset : place.offset + place.size_bytes]


def _handle(variable: Variable) -> str:
    return f"variable:{variable.name}"
