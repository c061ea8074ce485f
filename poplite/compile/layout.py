"""Where everything lies in the arena: one block of bytes that holds all data of an engine.

Variables come first, each contiguous and aligned, so that a field can point straight at its
elements whatever tile they are mapped to; then the values of vertex state; then temporaries,
which every compute set uses anew::

    | variable | variable | ... | state | state | ... | temporaries of the running step |

Element addresses (of views) become byte positions here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SizeOverflowError
from poplite.variable import Variable
from poplite.view import Storage

ALIGNMENT = 64
"""Bytes that variables, state and the block of temporaries are aligned to: a cache line."""

MAX_BYTES = 1 << 62
"""Bytes of an arena whose positions are computed with 64-bit integers."""

Integers = npt.NDArray[np.int64]


class ArenaLayout:
    """Byte positions of variables, state and temporaries.

    Args:
        variables: the graph's variables, by rising element address.

    Raises:
        SizeOverflowError: when they do not fit the address space.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        total = sum(v.num_elements * v.element_type.size_bytes + ALIGNMENT for v in variables)
        if total > MAX_BYTES:
            largest = max(variables, key=lambda v: v.num_elements * v.element_type.size_bytes)
            raise SizeOverflowError(
                f"the graph's variables take {total:,} B; {MAX_BYTES:,} B can be addressed",
                at=largest.location,
                found=f"the largest is '{largest.name}' with {largest.num_elements:,} elements",
                fix="make it smaller",
            )
        self._bases = np.array([v.storage.base for v in variables], np.int64)
        self._element_bytes = np.array([v.element_type.size_bytes for v in variables], np.int64)
        sizes = self._element_bytes * np.array([v.num_elements for v in variables], np.int64)
        offsets = np.zeros(len(variables) + 1, np.int64)
        np.cumsum(_aligned(sizes), out=offsets[1:])
        self._offsets = offsets[:-1]
        self.state: list[tuple[int, npt.NDArray[Any]]] = []
        self._end = int(offsets[-1])
        self._temporary_bytes = 0

    @property
    def temporary_base(self) -> int:
        """First byte of the temporaries; final once all state is placed."""
        return self._end

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole arena."""
        return self._end + self._temporary_bytes

    def byte_positions(self, addresses: Integers) -> Integers:
        """Return the byte position of each element address.

        Args:
            addresses: element addresses of existing elements.
        """
        if not len(addresses):
            return addresses
        variable: Any = self._one_variable(int(addresses.min()), int(addresses.max()))
        if variable is None:
            variable = np.searchsorted(self._bases, addresses, side="right") - 1
        within = (addresses - self._bases[variable]) * self._element_bytes[variable]
        return np.asarray(self._offsets[variable] + within)

    def shift(self, low: int, high: int) -> int | None:
        """Return how far ahead of its address an element lies, in elements of its variable.

        Args:
            low: least address.
            high: greatest address.

        Returns:
            None where they are of several variables.
        """
        variable = self._one_variable(low, high)
        if variable is None:
            return None
        offset = int(self._offsets[variable]) // int(self._element_bytes[variable])
        return offset - int(self._bases[variable])

    def _one_variable(self, low: int, high: int) -> int | None:
        """Return the number of the variable that holds all of a range, or None."""
        first, last = np.searchsorted(self._bases, [low, high], side="right").tolist()
        return first - 1 if first == last else None

    def holds(self, storage: Storage) -> bool:
        """Tell whether a storage is that of one of the variables.

        Args:
            storage: any storage of the graph.
        """
        position = int(np.searchsorted(self._bases, storage.base))
        return position < len(self.variables) and self.variables[position].storage is storage

    def variable_offset(self, variable: Variable) -> int:
        """Return the first byte of a variable.

        Args:
            variable: one of the variables.
        """
        return int(self._offsets[np.searchsorted(self._bases, variable.storage.base)])

    def place_state(self, values: npt.NDArray[Any]) -> int:
        """Reserve room for state values.

        Args:
            values: of any element type.

        Returns:
            Their first byte.
        """
        at = self._end
        self.state.append((at, values))
        self._end += int(_aligned(np.int64(values.nbytes)))
        return at

    def reserve_temporaries(self, size_bytes: int) -> None:
        """Make sure the temporaries have at least this many bytes.

        Args:
            size_bytes: what one compute set needs.
        """
        self._temporary_bytes = max(self._temporary_bytes, int(_aligned(np.int64(size_bytes))))


def _aligned(size: Any) -> Any:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
