"""A tensor as the host sees it: where its elements lie, without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poplite.compile.lower import dense_moves
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves
from poplite.graph.tensor.tensor import Tensor
from poplite.types import ElementType
from poplite.view import addresses


@dataclass(frozen=True, slots=True, eq=False)
class HostTensor:
    """A tensor as the host sees it.

    Attributes:
        name: for messages.
        element_type: of its elements.
        shape: of the array on the host.
        moves: from its elements in the arena to a block of bytes that begins at 0, in row-major
            order.
        metadata: byte position of its QUARTER metadata, if it has one.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    moves: Moves
    metadata: int | None


def host_tensor(tensor: Tensor, layout: ArenaLayout) -> HostTensor:
    """Return a tensor as the host sees it.

    Args:
        tensor: any view.
        layout: where its variables lie.
    """
    moves = dense_moves(tensor.view, tensor.element_type.size_bytes, layout)
    metadata = metadata_position(tensor, layout)
    return HostTensor(tensor.name, tensor.element_type, tensor.shape, moves, metadata)


def metadata_position(tensor: Tensor, layout: ArenaLayout) -> int | None:
    """Return the byte position of a tensor's QUARTER metadata; None where it has none.

    Args:
        tensor: any view.
        layout: where its variables lie.
    """
    if tensor.metadata is None:
        return None
    return int(layout.byte_positions(addresses(tensor.metadata.view).ravel())[0])
