"""Layers of networks, in all three passes, against Graphcore's own model of its own library.

    python benchmarks/fidelity_convolution.py [--only KEY] [--json FILE]

PopLibs kept what its tool `single_conv_layer` takes in two models, of Mk1 and of Mk2: one number
for the convolution, its gradients by the input and by the weights, and what adds the latter to the
weights, of a batch of 4 halves (tests/benchmark_results.csv, parameters in tests/CMakeLists.txt,
in versions until March 2021).  The host is left out there (`--ignore-data`) and here.  Operands lie
where the plans of the first two passes put them (`--use-create-input`, its default), so copies
for the others count on both sides.  The error of a row is the sum of those of two
planners and of two models, so 15 % either way is what it may be.

Halves are summed up in floats, PopLibs' default, with 8 outputs of the matrix unit on both machines
(`amp_mixed_outputs`).  C6 agrees, an estimate of PopLibs for one tile: with 16 it would be 47 %
off.  Both tiles of a pair of a Mk1 send at once in the models (`fidelity_programs.py`).

The weights are updated by a vertex with PopLibs' estimate of `popops::ScaledAdd`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import poplite as pl
from fidelity_rows import Row, Rows, run, steps
from poplite import ops
from poplite.graph.tensor.slices import Slices
from poplite.machine.facts import Architecture
from poplite.ops.convolutions.plan import ConvolutionPlan
from poplite.vertices.convolution import convolution_cycles
from poplite.vertices.estimators.poplibs import scaled_add

MODELS: dict[Architecture, dict[str, float]] = {
    "gc2": {"send_lanes": 2},
    "gc200": {},
}
"""What differs from the machine in IPUModel1 and IPUModel2."""


class ScaledAddTo(pl.MultiVertex):
    """`popops::ScaledAdd` of halves."""

    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.InOut[pl.Vector[pl.HALF]]

    def compute(self, worker: int) -> None:
        """Subtract a part of x from y, each worker its share."""
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] -= 0.05 * self.x[i]

    def cycles(self, target: pl.Target) -> int:
        """Return PopLibs' estimate."""
        return scaled_add(pl.HALF, len(self.y), target)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a network, of square fields and kernels.

    Attributes:
        what: which one: taps, and size of its input / stride.
        size: of its input.
        kernel: taps along each dimension.
        inputs: channels.
        outputs: channels.
        stride: distance between outputs.
        padding: zeros on each side.
        cycles: of all passes in IPUModel1 and IPUModel2.
    """

    what: str
    size: int
    kernel: int
    inputs: int
    outputs: int
    stride: int
    padding: int
    cycles: tuple[int, int]


LAYERS = {
    "resnet50-224": Layer("ResNet50 7 x 7, 224 / 2", 224, 7, 4, 64, 2, 3, (152_083, 148_450)),
    "resnet50-28": Layer("ResNet50 3 x 3, 28", 28, 3, 128, 128, 1, 1, (97_881, 82_252)),
    "resnet50-7": Layer("ResNet50 3 x 3, 7", 7, 3, 512, 512, 1, 1, (103_734, 81_121)),
    "alexnet": Layer("AlexNet 5 x 5, 27", 27, 5, 64, 192, 1, 2, (138_888, 127_026)),
    "mobilenet": Layer("MobileNet 3 x 3, 224 / 2", 224, 3, 4, 32, 2, 1, (39_074, 34_936)),
}

BATCH = 4


def cycles(layer: Layer, target: pl.Target) -> dict[str, int]:
    """Return what each pass of a layer takes."""
    graph, stride, padding = pl.Graph(target), layer.stride, layer.padding
    field, kernel = (layer.size,) * 2, (layer.kernel,) * 2
    plan = ops.plan_convolution(
        graph, batch=BATCH, field=field, inputs=layer.inputs, outputs=layer.outputs, kernel=kernel,
        stride=stride, padding=padding, type=pl.HALF,
    )  # fmt: skip
    x, weights = plan.create_input("x"), plan.create_weights("weights")
    forward, backward, update = pl.Sequence(), pl.Sequence(), pl.Sequence()
    ops.convolution(x, weights, plan, stride=stride, padding=padding, program=forward)
    gradient = ConvolutionPlan(graph, plan.request.inverse).create_input("gradient")
    ops.convolution_input_gradient(
        gradient, weights, field, stride=stride, padding=padding, program=backward
    )
    made = ops.convolution_weights_gradient(
        gradient, x, kernel, stride=stride, padding=padding, program=update
    )
    add_scaled(graph, weights, made, update)
    passes = {"forward": forward, "by input": backward, "by weights": update}
    return {
        name: sum(total.cycles for total in steps(graph, program))
        for name, program in passes.items()
    }


def add_scaled(graph: pl.Graph, y: pl.Tensor, x: pl.Tensor, program: pl.Sequence) -> None:
    """Record `scaledAddTo`: elements in the order of y in memory, its parts by a vertex each."""
    flat, other = graph.reorder_to_simplify(y, [x])
    step = graph.add_compute_set("scaled add")
    tiles, parts = [], []
    for tile, intervals in enumerate(graph.tile_mapping(flat)):
        tiles += [tile] * len(intervals)
        parts += [(each.begin, each.end) for each in intervals]
    begin, end = np.array(parts).T
    graph.add_vertices(
        step, ScaledAddTo, tile=np.array(tiles), x=Slices(other, 0, begin, end),
        y=Slices(flat, 0, begin, end),
    )  # fmt: skip
    program.add(pl.Execute(step))


def of_layer(layer: Layer) -> Iterator[Row]:
    """B5: a layer on both models."""
    for number, (architecture, costs) in enumerate(MODELS.items()):
        found = cycles(layer, pl.Target(architecture=architecture, costs=costs))
        what = f"{layer.what}, {layer.inputs} to {layer.outputs}, Mk{number + 1}"
        yield Row(
            "B5", what, 3, "S PL", "cycles", layer.cycles[number], sum(found.values()), 0.15,
            "convolutions of networks",
            " + ".join(f"{name} {each:,}" for name, each in found.items()),
        )  # fmt: skip


def of_one_tile() -> Iterator[Row]:
    """C6: 3 x 3 taps, 16 to 16 channels, 4 of 6 x 6, which took 24,661 in a simulation of Mk2."""
    target = pl.Target(architecture="gc200")
    found = int(convolution_cycles(16, 16, (3, 3), (4 * 6, 6), pl.HALF, target))
    for what, measured, source in (("estimate", 22_181, "S PL"), ("simulated", 24_661, "S PL")):
        name = f"3 x 3, 16 to 16, 4 of 6 x 6, a tile, {what}"
        yield Row("C6", name, 3, source, "cycles", measured, found, 0.15)


ROWS: Rows = {
    **{f"B5-{key}": partial(of_layer, layer) for key, layer in LAYERS.items()},
    "C6": of_one_tile,
}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
