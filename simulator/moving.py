"""Tensors that the host reads and writes: by view while there is a graph, by handle without.

Both are places in an arena::

    ByView(x)                         engine.write(x, array)
    ByMoves(HostTensor("x", ...))     engine.write("x", array)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poplite.compile.host_tensor import HostTensor
from poplite.graph.tensor.tensor import Tensor
from poplite.quarter import QuarterMetadata, decode
from poplite.simulator.memory import Arena, Bytes
from poplite.simulator.plain import move_between
from poplite.types import QUARTER_METADATA, ElementType


class Place(Protocol):
    """Where a tensor lies."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def element_type(self) -> type[ElementType[Any]]:
        """Its element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    def read(self, arena: Arena, replica: int) -> npt.NDArray[Any]:
        """Return a copy of what is stored in a replica."""

    def write(self, arena: Arena, values: npt.NDArray[Any], replica: int) -> None:
        """Overwrite what is stored in a replica; of its shape, or one value for all elements."""

    def metadata(self, arena: Arena, replica: int) -> QuarterMetadata | None:
        """Return the format and scale that it has now; None where it is not QUARTER."""


@dataclass(frozen=True, slots=True)
class _OfTensor:
    """What a place has from its tensor."""

    tensor: Tensor | HostTensor

    @property
    def name(self) -> str:
        """That of the tensor."""
        return self.tensor.name

    @property
    def element_type(self) -> type[ElementType[Any]]:
        """That of the tensor."""
        return self.tensor.element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the tensor."""
        return self.tensor.shape


@dataclass(frozen=True, slots=True)
class ByView(_OfTensor):
    """A place that a view leads to.

    Attributes:
        tensor: the tensor.
    """

    tensor: Tensor

    def read(self, arena: Arena, replica: int) -> npt.NDArray[Any]:
        """Return a copy of what is stored in a replica."""
        return arena.read(self.tensor.view, self.element_type, replica)

    def write(self, arena: Arena, values: npt.NDArray[Any], replica: int) -> None:
        """Overwrite what is stored in a replica."""
        arena.write(self.tensor.view, self.element_type, values, replica)

    def metadata(self, arena: Arena, replica: int) -> QuarterMetadata | None:
        """Return the format and scale that it has now."""
        at = self.tensor.metadata
        byte = None if at is None else arena.read(at.view, QUARTER_METADATA, replica).item()
        return _metadata_of(self.element_type, byte)


@dataclass(frozen=True, slots=True)
class ByMoves(_OfTensor):
    """A place that an executable knows.

    Attributes:
        tensor: where its elements lie.
    """

    tensor: HostTensor

    def read(self, arena: Arena, replica: int) -> npt.NDArray[Any]:
        """Return a copy of what is stored in a replica."""
        return _stored(self.tensor, arena.parts[replica])

    def write(self, arena: Arena, values: npt.NDArray[Any], replica: int) -> None:
        """Overwrite what is stored in a replica."""
        dense = np.ascontiguousarray(np.broadcast_to(values, self.shape))
        source = dense.reshape(-1).view(np.uint8)
        move_between(self.tensor.moves.reversed(), arena.parts[replica], source)

    def metadata(self, arena: Arena, replica: int) -> QuarterMetadata | None:
        """Return the format and scale that it has now."""
        return _metadata(self.tensor, arena.parts[replica])


def read_host(tensor: HostTensor, memory: Bytes) -> npt.NDArray[Any]:
    """Return a copy of a tensor's values; of QUARTER as float32.

    Args:
        tensor: where its elements lie.
        memory: the bytes they lie in.
    """
    stored, metadata = _stored(tensor, memory), _metadata(tensor, memory)
    return stored if metadata is None else decode(stored, metadata)


def _stored(tensor: HostTensor, memory: Bytes) -> npt.NDArray[Any]:
    stored = np.empty(tensor.shape, tensor.element_type.dtype)
    move_between(tensor.moves, stored.reshape(-1).view(np.uint8), memory)
    return stored


def _metadata(tensor: HostTensor, memory: Bytes) -> QuarterMetadata | None:
    byte = None if tensor.metadata is None else int(memory[tensor.metadata])
    return _metadata_of(tensor.element_type, byte)


def _metadata_of(element: type[ElementType[Any]], byte: int | None) -> QuarterMetadata | None:
    """Return format and scale, stored as a byte; None where the element type has none."""
    if not element.requires_metadata:
        return None
    # A tensor of no elements stores none, so that any will do.
    return QuarterMetadata("F143") if byte is None else QuarterMetadata.from_byte(byte)
