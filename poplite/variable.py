"""A variable: storage with a type, a shape, a name, a tile mapping and first values.

Users hold tensors, which are views; the variable is what those views look at.  The graph
makes one with every `add_variable` and `add_constant`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poplite.mapping import VariableMapping
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.view.space import Storage

if TYPE_CHECKING:
    import numpy.typing as npt


class Variable:
    """Storage of a graph.

    Attributes:
        name: name with its scopes, unique among the graph's variables.
        element_type: what one element is.
        shape: extents of the view that the graph returned when it made the variable.
        storage: its elements' addresses.
        location: the user's line that made it.
        mapping: the tiles of its elements.
        initial_value: what it holds when a program is loaded, in its shape; None is zeros.
    """

    __slots__ = (
        "element_type",
        "initial_value",
        "location",
        "mapping",
        "name",
        "shape",
        "storage",
    )

    def __init__(
        self,
        name: str,
        element_type: type[ElementType[Any]],
        shape: tuple[int, ...],
        storage: Storage,
        location: SourceLocation,
    ) -> None:
        self.name, self.element_type, self.shape = name, element_type, shape
        self.storage, self.location = storage, location
        self.mapping = VariableMapping(storage.num_elements)
        self.initial_value: npt.NDArray[Any] | None = None

    @property
    def constant(self) -> bool:
        """Whether its value is fixed."""
        return self.storage.constant

    @property
    def num_elements(self) -> int:
        """How many elements it holds."""
        return self.storage.num_elements

    def __repr__(self) -> str:
        kind = "Constant" if self.constant else "Variable"
        return f"<{kind} '{self.name}' {self.element_type.dtype}{list(self.shape)}>"
