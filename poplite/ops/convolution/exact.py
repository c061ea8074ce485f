"""What a layout costs by the cost model: it is built on a graph of its own, and priced.

Nothing is run or compiled. Operands count as lying where the plan wants them.
"""

from __future__ import annotations

from functools import lru_cache

from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.ops.convolution.convolution_steps import Convolution, record_convolutions, weights_of
from poplite.ops.convolution.layout import ConvolutionLayout
from poplite.ops.convolution.reading import input_of
from poplite.ops.matmul.exact import cycles_of
from poplite.program.copy import TensorCopy
from poplite.program.recording import Recorder


@lru_cache(maxsize=256)
def exact_cycles(target: Target, layouts: tuple[ConvolutionLayout, ...]) -> int:
    """Return the cycles of layouts of one input, whose vertices run at once."""
    graph = Graph(target)
    x = input_of(graph, layouts[0].unexpanded, "input")
    several = [
        Convolution(graph, each, x, weights_of(graph, each, "weights"), "convolution")
        for each in layouts
    ]
    recorder = Recorder(graph)
    record_convolutions(recorder, several)
    return cycles_of(graph, [each for each in recorder.steps if isinstance(each, TensorCopy)])
