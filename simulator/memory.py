"""The arena: one aligned block of bytes, and typed views of it.

Pages that nothing touches cost nothing (the block comes zeroed from the system), so a
sparse graph may be larger than the memory it uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.layout import ALIGNMENT, ArenaLayout
from poplite.errors import SizeOverflowError
from poplite.types import ElementType
from poplite.view import Storage, View, addresses

Bytes = npt.NDArray[np.uint8]


class Arena:
    """The memory of one engine, filled with initial values.

    Args:
        layout: where everything lies.

    Raises:
        SizeOverflowError: when the computer has not that much memory.
    """

    def __init__(self, layout: ArenaLayout) -> None:
        self.layout = layout
        try:
            block = np.zeros(layout.size_bytes + ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as error:  # ValueError: beyond what NumPy can index
            raise SizeOverflowError(
                f"the engine's memory of {layout.size_bytes:,} B cannot be allocated",
                found="it holds all variables of the graph",
                fix="make the variables smaller, or run on a computer with more memory",
            ) from error
        skip = -block.ctypes.data % ALIGNMENT
        self.bytes: Bytes = block[skip : skip + layout.size_bytes]
        for variable in layout.variables:
            if variable.initial_value is not None:
                at = layout.variable_offset(variable)
                self._fill(at, np.ascontiguousarray(variable.initial_value))
        for at, values in layout.state:
            self._fill(at, values)

    def _fill(self, at: int, values: npt.NDArray[Any]) -> None:
        self.bytes[at : at + values.nbytes] = values.reshape(-1).view(np.uint8)

    @property
    def address(self) -> int:
        """Address of the first byte in the process."""
        return int(self.bytes.ctypes.data)

    def typed(self, element: type[ElementType[Any]]) -> npt.NDArray[Any]:
        """Return the whole arena as elements of one type."""
        size = element.size_bytes
        return self.bytes[: len(self.bytes) // size * size].view(element.dtype)

    def read(self, view: View, element: type[ElementType[Any]]) -> npt.NDArray[Any]:
        """Return a copy of the elements of a view, in its shape."""
        strided = self._strided(view, element)
        if strided is not None:
            return np.array(strided, order="C")
        return self.typed(element)[self._positions(view, element)]

    def write(self, view: View, element: type[ElementType[Any]], values: npt.NDArray[Any]) -> None:
        """Overwrite the elements of a view that has no aliases."""
        strided = self._strided(view, element)
        if strided is not None:
            strided[...] = values
        elif view.num_elements:
            self.typed(element)[self._positions(view, element)] = values

    def _positions(self, view: View, element: type[ElementType[Any]]) -> npt.NDArray[np.int64]:
        where = addresses(view)
        positions = self.layout.byte_positions(where.ravel()) // element.size_bytes
        return positions.reshape(view.shape)

    def _strided(self, view: View, element: type[ElementType[Any]]) -> npt.NDArray[Any] | None:
        """A NumPy view of the elements, where one stride a dimension describes them."""
        if not isinstance(view.space, Storage) or not view.num_elements:
            return None
        if not all(isinstance(stride, int) for stride in view.dims):
            return None
        first = np.array([view.space.base + view.off], np.int64)
        at = int(self.layout.byte_positions(first)[0]) // element.size_bytes
        strides = [int(s) * element.size_bytes for s in view.dims if isinstance(s, int)]
        return np.lib.stride_tricks.as_strided(self.typed(element)[at:], view.shape, strides)
