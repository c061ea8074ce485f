"""The compute sets of pooling, shared among tiles as a layout says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.dimension import alone
from poplite.ops.convolution.layout import ConvolutionLayout, EqualBlocks
from poplite.ops.convolution.reading import arranged, blocks_of, signal_of, windows_of
from poplite.ops.convolution.views import output_of_blocks
from poplite.program.recording import Recorder
from poplite.types import ElementType
from poplite.vertex.vertex import Vertex


@dataclass(eq=False)
class Pooling:
    """The steps that pool windows of tensors.

    Attributes:
        graph: whose tiles share them.
        recorder: what takes the steps.
        layout: how tiles share them.
        vertex: class of the vertices.
        element: type of the result.
        name: of the steps and of the result.
    """

    graph: Graph
    recorder: Recorder
    layout: ConvolutionLayout
    vertex: type[Vertex]
    element: type[ElementType[Any]]
    name: str

    def record(
        self, read: dict[str, Tensor], around: float, own: dict[str, Tensor] | None = None
    ) -> Tensor:
        """Record the steps; return the output, [batch, channels, field ...].

        Args:
            read: the tensors whose windows vertices read, by field; all of one shape.
            around: the number that stands outside of them.
            own: those of the shape of the output, of which vertices have their own elements.
        """
        layout = self.layout
        whole = {
            field: signal_of(self.graph, layout, self._arranged(x, field), around, self._of(field))
            for field, x in read.items()
        }
        identity = tuple(alone(size) for size in layout.request.field)
        same = replace(layout, request=replace(layout.request, dimensions=identity))
        mine = {
            field: signal_of(self.graph, same, x, around, self._of(field))
            for field, x in (own or {}).items()
        }
        found = [(kind, layout.number(kind.blocks())) for kind in layout.kinds()]
        out = self._variable(found)
        for at in range(layout.passes):
            step, begin = self.recorder.compute_set(self.name), 0
            for kind, number in found:
                size = math.prod(kind.sizes[:-1])
                (chosen,) = np.nonzero(number % layout.turns // layout.at_once == at)
                place = begin + chosen * size
                begin += len(number) * size
                if not len(chosen):
                    continue
                fields: dict[str, object] = {
                    name: blocks_of(x, kind, chosen) for name, x in whole.items()
                }
                for name, x in mine.items():
                    fields[name] = blocks_of(x, EqualBlocks(same, kind.parts), chosen)
                self.graph.add_vertices(
                    step,
                    self.vertex,
                    tile=number[chosen] // layout.turns,
                    out=Slices(out, 0, place, place + size),
                    channels=kind.sizes[-1],
                    **fields,
                    **windows_of(kind, len(chosen)),
                )
        return output_of_blocks(out, layout)

    def _of(self, field: str) -> str:
        return f"{self.name}/around {field}"

    def _arranged(self, x: Tensor, field: str) -> Tensor:
        return arranged(self.graph, self.recorder, self.layout, x, f"{self.name}/{field}")

    def _variable(self, found: list[tuple[EqualBlocks, Any]]) -> Tensor:
        """The output in its blocks, each on the tile of its vertex."""
        layout = self.layout
        tile = np.concatenate([number // layout.turns for _, number in found])
        length = np.concatenate(
            [np.full(len(number), math.prod(kind.sizes[:-1])) for kind, number in found]
        )
        mapping = TileMapping(self.graph.target.tiles, tile, length)
        return self.graph.add_variable(
            self.element, (int(length.sum()),), self.name, mapping=mapping
        )
