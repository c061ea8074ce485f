"""A draw of random numbers: its key, its arguments and its steps.

key         0: seed, 1: seed, 2 and 3: number of the next draw

counter     AdvanceKey, on the tile of the key       counter = key, then the key advances
draw        one vertex for each range of elements     each takes the counter, 16 bytes
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
)
from poplite.expr.tree import ElementClass
from poplite.graph.connect.rules import check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.virtual import mapping_graph
from poplite.ops.fuse.placement import Mappings, complete, cuts, held, variable
from poplite.ops.operands import beside, check_writeable, count_of, steps_for, tensors_of
from poplite.program import Sequence as Steps
from poplite.program.control import check_graph
from poplite.program.recording import Recorder, graph_for, recorder
from poplite.text import clipped
from poplite.types import UNSIGNED_INT, ElementTypeLike, element_type as type_of
from poplite.vertices.random import AdvanceKey, Draw

# -- checks ----------------------------------------------------------------------------------------
# What the arguments of draws have to be.


TWO_32 = 1 << 32
"""Words there are."""

WORDS = 4
"""Words of a key, and those that one block of Philox makes."""

LARGEST = float(np.finfo(np.float32).max)


def drawn_type(
    what: str,
    shape: Any,
    element_type: ElementTypeLike,
    types: tuple[ElementClass, ...],
    out: Tensor | None,
) -> ElementClass:
    """Return the element type of the numbers: of `out`, or as asked."""
    if (shape is None) == (out is None):
        raise InvalidOption(
            f"{what}: {'no shape, and no out' if out is None else 'a shape and out'}",
            fix=f"{what}(key, shape), or {what}(key, out=tensor)",
        )
    if out is not None and not isinstance(out, Tensor):
        raise no_tensor(f"{what}, out", out)
    found = type_of(element_type) if out is None else out.element_type
    if found not in types:
        raise ElementTypeError(
            f"{what}: numbers of {found!r} are not drawn",
            fix="one of " + ", ".join(repr(each) for each in types),
        )
    return found


def number_of(what: str, name: str, value: object) -> float:
    """Return a number as a Python float."""
    if isinstance(value, (int, float, np.floating, np.integer)):
        with suppress(OverflowError):  # of an integer beyond floats
            return float(value)
    raise beside(what, name, value, f"a number, such as {name}=0.5")


def rounded(what: str, name: str, value: object, dtype: np.dtype[Any]) -> Any:
    """Return a finite number of a dtype."""
    number = number_of(what, name, value)
    with np.errstate(over="ignore"):
        rounded = dtype.type(number)
    if not np.isfinite(rounded):
        raise beside(what, name, value, f"a number that {dtype} has")
    return rounded


def threshold(what: str, name: str, value: object) -> int:
    """Return 2^32 times a probability."""
    number = number_of(what, name, value)
    if not 0 <= number <= 1:
        raise beside(what, name, value, "from 0 to 1")
    return round(number * TWO_32)


# -- keys ------------------------------------------------------------------------------------------
# Keys: what random numbers are drawn from.


def key(graph: Graph, seed: int, name: str = "key", *, tile: int = 0) -> Tensor:
    """Make a key: a variable that random numbers are drawn from.

    Args:
        graph: where it goes.
        seed: from 0 to before 2^64. Keys of other seeds give other numbers.
        name: of the variable.
        tile: where it lies; every draw sends it to all tiles of the result.

    Returns:
        UNSIGNED_INT[4]: the words of the seed, lower one first, and of the number of the next
        draw, which is 0. Replicas draw the same numbers, unless `engine.write` gives each its seed.

    Raises:
        InvalidOption: for an invalid seed.
        InvalidTileMapping: for a tile that the graph does not have.

    >>> import poplite as pl
    >>> key(pl.Graph(pl.Target(tiles=1)), seed=7)
    <Tensor 'key' uint32[4] on tile 0, 16 B>
    """
    check_graph("ops.random.key(graph, seed)", graph)
    number = count_of("key", "seed", seed, 0, 1 << 64)
    words = np.array([number % TWO_32, number // TWO_32, 0, 0], np.uint32)
    return graph.add_variable(UNSIGNED_INT, (WORDS,), name, mapping=tile, initial_value=words)


# -- drawing ---------------------------------------------------------------------------------------


class RandomDraw:
    """One draw that is recorded: what takes its numbers, and its steps.

    Args:
        what: the call, for messages.
        key: the key, which advances; or the counter of an earlier draw.
        name: of the steps and of a new variable.
        program: where the steps go; None for the open block.
        operands: what else it reads.
        is_placed: whether the user placed the result.
        again: whether the numbers of an earlier draw are drawn again, by its counter.

    Attributes:
        counter: what the numbers are drawn from.
    """

    def __init__(
        self,
        what: str,
        key: Tensor,
        name: str,
        program: Steps | None,
        *operands: object,
        is_placed: bool = False,
        again: bool = False,
    ) -> None:
        if (
            not isinstance(key, Tensor)
            or key.element_type is not UNSIGNED_INT
            or key.shape != (WORDS,)
        ):
            found = type_and_shape(key) if isinstance(key, Tensor) else f"given {clipped(key)}"
            raise ElementTypeError(
                f"{what}: numbers are drawn from a key, 4 words of UNSIGNED_INT",
                found=found,
                fix="key = ops.random.key(graph, seed=1)",
            )
        self._what, self._key, self._name = what, key, name
        self.graph = graph_for(key.graph, tensors_of(key, *operands), program, is_placed=is_placed)
        self._target = steps_for(what, self.graph, name, program)
        self._recorder: Recorder = recorder(self.graph, self._target)
        self._mappings = Mappings(self.graph)
        self._tile = None if again else int(self._mappings.of(key).tiles[0])
        self.counter = key

    def new(
        self,
        vertex: type[Draw[Any]],
        numbers: Mapping[str, object],
        shape: Any,
        element_type: ElementClass,
        out: Tensor | None,
        mapping: Any,
        operands: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Record a draw, and return what takes its numbers: `out`, or a new variable.

        Args:
            vertex: what makes numbers of words.
            numbers: fields with the same value in all vertices, which are checked.
            shape: of a new variable.
            element_type: likewise.
            out: what takes the numbers, if it is there.
            mapping: of a new variable.
            operands: fields that are cut as the result.
        """
        self.check_out(out, mapping)
        operands = operands or {}
        like = [*operands.values()]
        if out is not None:
            complete(self._mappings, out, like)
        elif mapping is not None:
            graph = mapping_graph(self.graph)
            out = graph.add_variable(element_type, shape, self._name, mapping=mapping)
        else:
            out = variable(self._mappings, element_type, shape, self._name, like)
        if self._tile is not None:
            self._advance(self._tile)
        self._draw(vertex, out, numbers, operands)
        return out

    def check_out(self, out: Tensor | None, mapping: Any) -> None:
        """Refuse what cannot take the numbers."""
        if out is None:
            return
        check_own(self.graph, out, f"{self._what}, out")
        if mapping is not None:
            raise TensorCreationError(
                f"{self._what}: a mapping and out '{out.name}', which has its own",
                fix="graph.set_tile_mapping(out, mapping), or no out",
            )
        check_writeable(self._what, "out", out)
        if out.intersects_with(self._key):
            raise GraphConnectionError(
                f"{self._what}: out '{out.name}' shares elements with the key",
                found=f"out is {out!r}, the key {self._key!r}",
                fix="a tensor of its own",
            )

    def _advance(self, tile: int) -> None:
        """Record that the key is copied and advances; numbers are drawn from the copy."""
        self.counter = self.graph.add_variable(
            UNSIGNED_INT, (WORDS,), f"{self._name}/counter", mapping=tile
        )
        self.graph.add_vertex(
            self._recorder.compute_set(f"{self._name}/counter"),
            AdvanceKey,
            tile=tile,
            key=self._key,
            counter=self.counter,
        )

    def _draw(
        self,
        vertex: type[Draw[Any]],
        out: Tensor,
        numbers: Mapping[str, object],
        operands: Mapping[str, Tensor],
    ) -> None:
        """Record the numbers of all elements, and append the steps to the program."""
        found = cuts(*held(self._mappings.of(out)), self.graph.target.workers, WORDS)
        count = len(found.tile)
        parts = {"out": out, **operands}
        if count:
            self.graph.add_vertices(
                self._recorder.compute_set(self._name),
                vertex,
                tile=found.tile,
                counter=self.counter.reshape((1, WORDS)).broadcast(count, 0),
                first=found.begin.astype(np.uint64),
                **{
                    name: Slices(tensor.flatten(), 0, found.begin, found.end)
                    for name, tensor in parts.items()
                },
                **numbers,
            )
        written = [out] if self.counter is self._key else [out, self._key, self.counter]
        reads = [self._key, *operands.values()]
        self._recorder.uses(self._name, reads, written)
        self._recorder.finish(self._target, self._name)
