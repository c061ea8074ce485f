"""The steps of a draw of random numbers.

key         0: seed, 1: seed, 2 and 3: number of the next draw

counter     AdvanceKey, on the tile of the key       counter = key, then the key goes on
draw        one vertex for each range of elements     each takes the counter, 16 bytes
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from poplite.errors import ElementTypeError, GraphConnectionError, TensorCreationError
from poplite.expr.tree import ElementClass
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import expression, type_and_shape, why_not_writeable
from poplite.ops.fuse.cuts import cuts
from poplite.ops.fuse.placement import Mappings, complete, held, place
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder, target
from poplite.source import here
from poplite.types import UNSIGNED_INT
from poplite.vertices.random import AdvanceKey, Draw

WORDS = 4
"""Words of a key, and those that one block of Philox makes."""


class Drawing:
    """One draw that is recorded: what takes its numbers, and its steps.

    Args:
        what: the call, for messages.
        key: what is drawn from, advanced by `advance`; or the counter of an earlier draw.
        name: of the steps and of a new variable.
        program: where the steps go; None for the open block.
    """

    def __init__(self, what: str, key: Tensor, name: str, program: Steps | None) -> None:
        if not isinstance(key, Tensor) or key.element_type is not UNSIGNED_INT or key.rank != 1:
            raise self._no_key(what, key)
        if key.num_elements != WORDS:
            raise self._no_key(what, key)
        self._what, self._key, self._name = what, key, name
        self.graph: Graph = key.graph
        self._target = target(self.graph, program, what)
        self._recorder: Recorder = recorder(self.graph, self._target)
        self._mappings = Mappings(self.graph)
        self._counter = key
        self._reads: list[Tensor] = [key]

    @staticmethod
    def _no_key(what: str, key: object) -> ElementTypeError:
        found = type_and_shape(key) if isinstance(key, Tensor) else f"given {key!r}"
        return ElementTypeError(
            f"{what}: numbers are drawn from a key, 4 words of UNSIGNED_INT",
            at=here(),
            found=found,
            fix="key = ops.random.key(graph, seed=1)",
        )

    def new(
        self,
        vertex: type[Draw[Any]],
        numbers: Mapping[str, object],
        shape: Any,
        element_type: ElementClass,
        out: Tensor | None,
        mapping: Any,
    ) -> Tensor:
        """Record a draw by a key, which goes on: numbers that all vertices have are checked."""
        result = self.out(shape, element_type, out, mapping)
        self.advance()
        return self.draw(vertex, result, numbers)

    def out(
        self,
        shape: Any,
        element_type: ElementClass,
        out: Tensor | None,
        mapping: Any,
        like: tuple[Tensor, ...] = (),
    ) -> Tensor:
        """Return the tensor that takes the numbers: `out`, or a new variable."""
        if out is None:
            made = self.graph.add_variable(element_type, shape, self._name, mapping=mapping)
            if mapping is None:
                place(self._mappings, made, made.shape, like)
            return made
        check_own(self.graph, out, f"{self._what}, out", here())
        if mapping is not None:
            raise TensorCreationError(
                f"{self._what}: a mapping beside out '{out.name}', which has its own",
                at=here(),
                fix="graph.set_tile_mapping(out, mapping), or no out",
            )
        if not out.is_parallel_writeable():
            reason, fact = why_not_writeable(out)
            raise GraphConnectionError(
                f"{self._what}: out '{out.name}' {reason}",
                at=here(),
                found=fact,
                fix="a variable of graph.add_variable, each element once",
            )
        if out.intersects_with(self._key):
            raise GraphConnectionError(
                f"{self._what}: out '{out.name}' shares elements with the key",
                at=here(),
                found=f"out is {expression(out)}, the key {expression(self._key)}",
                fix="a tensor of its own",
            )
        complete(self._mappings, out, like)
        return out

    def advance(self) -> Tensor:
        """Record that the key is copied and goes on; numbers are drawn from the copy."""
        (tile, *_) = self._mappings.of(self._key).tiles
        self._counter = self.graph.add_variable(
            UNSIGNED_INT, (WORDS,), f"{self._name}/counter", mapping=int(tile)
        )
        self.graph.add_vertex(
            self._recorder.compute_set(f"{self._name}/counter"),
            AdvanceKey,
            tile=int(tile),
            key=self._key,
            counter=self._counter,
        )
        return self._counter

    def draw(
        self,
        vertex: type[Draw[Any]],
        out: Tensor,
        numbers: Mapping[str, object],
        operands: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Record the numbers of all elements, and append the steps to the program.

        Args:
            vertex: what makes numbers of words.
            out: what takes them.
            numbers: fields that all vertices have alike.
            operands: fields that are cut as the result.
        """
        found = cuts(*held(self._mappings.of(out)), self.graph.target.workers, WORDS)
        count = len(found.tile)
        parts = {"out": out, **(operands or {})}
        if count:
            self.graph.add_vertices(
                self._recorder.compute_set(self._name),
                vertex,
                tile=found.tile,
                counter=self._counter.reshape((1, WORDS)).broadcast(count, 0),
                first=found.begin.astype(np.uint64),
                **{
                    name: Slices(tensor.flatten(), 0, found.begin, found.end)
                    for name, tensor in parts.items()
                },
                **numbers,
            )
        written = [out] if self._counter is self._key else [out, self._key, self._counter]
        reads = [self._key, *(operands or {}).values()]
        self._recorder.uses(self._name, reads, written)
        self._recorder.finish(self._target, self._name)
        return out
