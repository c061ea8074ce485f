"""Products, convolutions and network layers: the model's cycles compared with Graphcore's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

import poplite as pl
from fidelity_rows import (
    LibraryRow,
    LibraryRows,
    Row,
    Rows,
    by_parts,
    by_steps,
    cycles,
    steps,
)
from poplite import ops
from poplite.compat.poputil import mapTensorLinearly
from poplite.graph.tensor.tensor import Slices
from poplite.machine.facts import Architecture
from poplite.ops.products.convolution_plan import ConvolutionPlan
from poplite.vertices.convolution import convolution_cycles
from poplite.vertices.estimators import scaled_add

# -- products --------------------------------------------------------------------------------------
# Rates of Graphcore's library with the best of its options (graphcore-research/sparsity-
# benchmarks, read off a figure, about 3 %), for [m, m] times [m, n].  Operands have the plan's
# mapping. The measurements include the product's compute and every exchange of the program, also
# those of casts and of the host's tensors, but no sync: so small products were measured somewhat
# too slow.
#
# Farthest off are 1,024 x 1,024 halves times 64 columns: 3,743 cycles for 5,410, as a rate 45 %
# too much.  With partials of floats they take 6 % longer than measured, but 256 columns 45 %;
# without tiles that take data in pairs they are 17 % off.  So it is PopLibs' plan for that size,
# which nobody published, rather than a number of the model.


Rates = dict[int, dict[int, float]]

HALF: Rates = {
    1024: {4: 6.1, 16: 20.5, 64: 45.9, 256: 89.9, 1024: 120.8, 2048: 153.9, 4096: 180.8,
           8192: 206.9, 16384: 224, 32768: 224},
    2048: {4: 13.0, 16: 44.7, 64: 82.9, 256: 134.5, 1024: 166.8, 2048: 201.4, 4096: 212.5,
           8192: 230.4, 16384: 239.9},
    4096: {4: 18.4, 16: 61.7, 64: 131.0, 256: 176.0, 1024: 209.7, 2048: 224.3},
    8192: {4: 21.6, 16: 72.5, 64: 158.1, 256: 224.3},
}  # fmt: skip
"""TFLOP/s by m and n."""

FLOAT: Rates = {
    1024: {4: 3.7, 8: 6.5, 16: 11.1, 32: 16.2, 64: 21.2, 128: 29.2, 256: 34.3, 512: 36.2,
           1024: 43.6, 2048: 49.9, 4096: 55.5, 8192: 57.0},
    2048: {4: 5.7, 8: 10.3, 16: 18.0, 32: 26.2, 64: 34.3, 128: 39.2, 256: 44.8, 512: 49.9,
           1024: 52.6, 2048: 57.0, 4096: 58.6, 8192: 60.2},
    4096: {4: 7.1, 8: 12.4, 16: 22.3, 32: 31.6, 64: 41.4, 128: 48.6, 256: 52.6, 512: 54.0,
           1024: 55.5, 2048: 57.0, 4096: 58.6},
    8192: {4: 7.7, 8: 13.8, 16: 24.9, 32: 36.2, 64: 48.6, 128: 49.9, 256: 55.5, 1024: 54.0},
}  # fmt: skip
"""The same for floats."""

GATED = range(16, 4_097)
"""Values of n that count; below, rearrangement dominates, above, sequential passes."""


def product_cycles(
    element: type[pl.ElementType[float]],
    m: int,
    n: int,
    architecture: Architecture = "bow",
) -> int:
    """Return the cycles of a product."""
    graph, program = pl.Graph(pl.Target(architecture=architecture)), pl.Sequence()
    plan = ops.plan_matmul(graph, m=m, k=m, n=n, type=element, partials=element)
    ops.map(ops.matmul(plan.create_left(), plan.create_right(), plan), program=program)
    totals = steps(graph, program)
    return sum(total.cycles - sum(phase.sync for phase in total.phases) for total in totals)


def products(element: type[pl.ElementType[float]], rates: Rates) -> Iterator[Row]:
    """B4: one row for each size."""
    clock = pl.Target(architecture="bow").clock_hz
    for m, by_columns in rates.items():
        for n, measured in by_columns.items():
            rate = 2 * m * m * n * clock / product_cycles(element, m, n) / 1e12
            what = f"matmul {element.__name__}, [{m}, {m}] x [{m}, {n}]"
            yield Row(
                "B4", what, 2, "H~ PS", "TFLOP/s", measured, rate, 0.35,
                "dense matmul" if n in GATED else "",
                "exchanges besides the product that were counted too; PopLibs' choice of plans",
            )  # fmt: skip


def halves() -> Iterator[Row]:
    """Products of halves."""
    return products(pl.HALF, HALF)


def floats() -> Iterator[Row]:
    """Products of floats."""
    return products(pl.FLOAT, FLOAT)


def open_toolchain() -> Iterator[Row]:
    """W18: a product of halves on a C600 by an open toolchain, at a third of its peak."""
    what = "matmul HALF, 4096^3, another toolchain"
    yield Row(
        "W18", what, 2, "H IS", "cycles", 2_262_696,
        product_cycles(pl.HALF, 4096, 4096, "c600"), 0.35, "",
        "that toolchain's layouts and plans: its rate is a lower bound",
    )  # fmt: skip


PRODUCTS: Rows = {"B4-half": halves, "B4-float": floats, "W18": open_toolchain}


# -- convolutions ----------------------------------------------------------------------------------
# PopLibs kept what its tool `single_conv_layer` takes in two models, of Mk1 and of Mk2: one
# number for the convolution, its gradients by the input and by the weights, and what adds the
# latter to the weights, of a batch of 4 halves (tests/benchmark_results.csv, parameters in
# tests/CMakeLists.txt, in versions until March 2021).  The host is left out there (`--ignore-
# data`) and here.  Operands are mapped by the plans of the first two passes (`--use-create-
# input`, its default), so copies for the others count on both sides.  The error of a row is the
# sum of those of two planners and of two models, so 15 % either way is what it may be.
#
# Halves are summed up in floats, PopLibs' default, with 8 outputs of the matrix unit on both
# machines (`amp_mixed_outputs`).  C6 agrees, an estimate of PopLibs for one tile: with 16 it
# would be 47 % off.  Both tiles of a pair of a Mk1 send at once in the models
# (`fidelity_blur.py`).
#
# The weights are updated by a vertex with PopLibs' estimate of `popops::ScaledAdd`.


MODELS: dict[Architecture, dict[str, float]] = {
    "gc2": {"send_lanes": 2},
    "gc200": {},
}
"""Differences of IPUModel1 and IPUModel2 from the machine."""


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


def layer_cycles(layer: Layer, target: pl.Target) -> dict[str, int]:
    """Return the cycles of each pass of a layer."""
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
        found = layer_cycles(layer, pl.Target(architecture=architecture, costs=costs))
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


CONVOLUTIONS: Rows = {
    **{f"B5-{key}": partial(of_layer, layer) for key, layer in LAYERS.items()},
    "C6": of_one_tile,
}


# -- calls of the library --------------------------------------------------------------------------
# The numbers are IpuModel2's in `tests/benchmark_results.csv` of graphcore/poplibs, in its last
# version, before commit 3a650a11; parameters are in `tests/CMakeLists.txt` there, programs in
# `tools/`.  Data of the host are left out there (`--ignore-data`) and here.
#
# Which rows: all convolutions of ResNet50, AlexNet and MobileNet, and those of one tap of
# Inception, none in groups; layers of BERT of 128 rows but the two largest, and the square dense
# layers of 16 rows; LSTM and GRU forward; all poolings and all reductions.  Left out are CTC,
# other convolutions, and the GEMM rows, whose tool adds multiples of matrices on other tiles.


RESULTS = "tests/benchmark_results.csv"

POINTWISE = {
    "resnet50_tr_bs4_bm64L0": (56, 64, 64, 1, 22_016),
    "resnet50_tr_bs4_bm64L0_projection": (56, 64, 256, 1, 46_489),
    "resnet50_tr_bs4_bm64L1A0": (56, 256, 64, 1, 46_064),
    "resnet50_tr_bs4_bm128L0_projection": (56, 256, 512, 2, 79_855),
    "resnet50_tr_bs4_bm128L0A0": (56, 256, 128, 2, 36_048),
    "resnet50_tr_bs4_bm128L0A2": (28, 128, 512, 1, 46_395),
    "resnet50_tr_bs4_bm128L1A0": (28, 512, 128, 1, 47_073),
    "resnet50_tr_bs4_bm256L0_projection": (28, 512, 1024, 2, 80_286),
    "resnet50_tr_bs4_bm256L0A0": (28, 512, 256, 2, 33_717),
    "resnet50_tr_bs4_bm256L0A2": (14, 256, 1024, 1, 45_271),
    "resnet50_tr_bs4_bm256L1A0": (14, 1024, 256, 1, 46_333),
    "resnet50_tr_bs4_bm512L0_projection": (14, 1024, 2048, 2, 80_440),
    "resnet50_tr_bs4_bm512L0A0": (14, 1024, 512, 2, 33_665),
    "resnet50_tr_bs4_bm512L0A2": (7, 512, 2048, 1, 49_368),
    "resnet50_tr_bs4_bm512L1A0": (7, 2048, 512, 1, 50_236),
    "mobilenet_conv_pw_1_1": (112, 32, 64, 1, 30_698),
    "mobilenet_conv_pw_2_1": (56, 64, 128, 1, 29_644),
    "mobilenet_conv_pw_3_1": (56, 128, 128, 1, 48_182),
    "mobilenet_conv_pw_4_1": (28, 128, 256, 1, 30_640),
    "mobilenet_conv_pw_5_1": (28, 256, 256, 1, 49_558),
    "mobilenet_conv_pw_6_1": (14, 256, 512, 1, 30_059),
    "mobilenet_conv_pw_7_1": (14, 512, 512, 1, 48_726),
    "mobilenet_conv_pw_12_1": (7, 512, 1024, 1, 30_653),
    "mobilenet_conv_pw_13_1": (7, 1024, 1024, 1, 47_698),
    "inception_tr_bs4_i1_a1x1": (35, 192, 64, 1, 23_683),
    "inception_tr_bs4_i1_b1x1": (35, 192, 48, 1, 20_791),
    "inception_tr_bs4_i1_db1x1": (35, 192, 32, 1, 17_854),
    "inception_tr_bs4_i2_a1x1": (35, 256, 64, 1, 27_558),
    "inception_tr_bs4_i2_b1x1": (35, 256, 48, 1, 23_559),
    "inception_tr_bs4_i3_a1x1": (35, 288, 64, 1, 29_659),
    "inception_tr_bs4_i3_b1x1": (35, 288, 48, 1, 25_408),
    "inception_tr_bs4_i5_a1x1": (17, 768, 192, 1, 41_687),
    "inception_tr_bs4_i5_b1x1": (17, 768, 128, 1, 32_237),
    "inception_tr_bs4_i6_b1x1": (17, 768, 160, 1, 36_749),
    "inception_tr_bs4_i9_a1x1": (8, 1280, 320, 1, 31_908),
    "inception_tr_bs4_i9_c1x1": (8, 1280, 448, 1, 38_286),
    "inception_tr_bs4_i9_d1x1": (8, 1280, 192, 1, 22_517),
    "inception_tr_bs4_i10_a1x1": (8, 2048, 320, 1, 42_696),
    "inception_tr_bs4_i10_b1x1": (8, 2048, 384, 1, 48_853),
    "inception_tr_bs4_i10_c1x1": (8, 2048, 448, 1, 52_604),
    "inception_tr_bs4_i10_d1x1": (8, 2048, 192, 1, 31_678),
}
"""Size of the field, channels in and out, stride, cycles of all three passes."""


def mk2(tiles: int | None = None) -> pl.Target:
    """Return the machine of IpuModel2."""
    return pl.Target(architecture="gc200", tiles=tiles or 1472)


def pointwise(network: str) -> Iterator[LibraryRow]:
    """Convolutions of one tap and their gradients, of 4 fields of halves."""
    for key, (size, inputs, outputs, stride, source) in POINTWISE.items():
        if key.startswith(network):
            layer = Layer(key, size, 1, inputs, outputs, stride, 0, (0, source))
            passes = layer_cycles(layer, mk2()).values()
            by = f" / {stride}" if stride > 1 else ""
            yield LibraryRow(
                "products",
                f"convolution, 3 passes, {BATCH} x {size} x {size}{by}, {inputs} to {outputs}",
                sum(passes),
                source,
                f"{RESULTS}: {key}",
                reason=by_parts(source, *passes),
            )  # fmt: skip


WIDER = {
    "resnet50_tr_bs4_cnv": LAYERS["resnet50-224"],
    "resnet50_tr_bs4_bm64L0A1": Layer("ResNet50 3 x 3, 56", 56, 3, 64, 64, 1, 1, (91_024, 84_246)),
    "resnet50_tr_bs4_bm128L0A1": LAYERS["resnet50-28"],
    "resnet50_tr_bs4_bm256L0A1": Layer(
        "ResNet50 3 x 3, 14", 14, 3, 256, 256, 1, 1, (99_284, 84_346)
    ),
    "resnet50_tr_bs4_bm512L0A1": LAYERS["resnet50-7"],
    "alexnet_tr_bs4_layer1": Layer(
        "AlexNet 11 x 11, 224 / 4", 224, 11, 4, 64, 4, 3, (145_897, 127_341)
    ),
    "alexnet_tr_bs4_layer4": LAYERS["alexnet"],
    "alexnet_tr_bs4_layer7": Layer("AlexNet 3 x 3, 13", 13, 3, 192, 384, 1, 0, (76_296, 71_511)),
    "alexnet_tr_bs4_layer9": Layer("AlexNet 3 x 3, 13", 13, 3, 384, 256, 1, 0, (99_909, 90_039)),
    "alexnet_tr_bs4_layer11": Layer("AlexNet 3 x 3, 13", 13, 3, 256, 256, 1, 0, (74_834, 69_233)),
    "mobilenet_conv1_1": LAYERS["mobilenet"],
}
"""All layers of more taps of these networks, without those in groups."""


def wider() -> Iterator[LibraryRow]:
    """Convolutions of more taps and their gradients."""
    for key, layer in WIDER.items():
        passes, source = layer_cycles(layer, mk2()).values(), layer.cycles[1]
        yield LibraryRow(
            "products",
            f"convolution, 3 passes, {layer.what}, {layer.inputs} to {layer.outputs}",
            sum(passes),
            source,
            f"{RESULTS}: {key}",
            reason=by_parts(source, *passes),
        )


class Dense(NamedTuple):
    """A dense layer: rows, channels in and out, element type, cycles of all passes."""

    rows: int
    inputs: int
    outputs: int
    element: type[pl.ElementType[float]]
    cycles: int
    reason: str = ""


SMALL = (
    "PopLibs' plans for few rows differ a lot: with halves 12,185 for 1 row, 25,657 for 4, "
    "16,968 for 8 and 19,538 for 16"
)

DENSE = {
    "bert_kqv_128x768x2304": Dense(128, 768, 2304, pl.HALF, 50_887),
    "bert_proj_128x768x768": Dense(768, 768, 128, pl.HALF, 27_545),
    "bert_ffn1_128x768x3072": Dense(128, 768, 3072, pl.HALF, 63_478),
    "bert_ffn2_128x3072x768": Dense(128, 3072, 768, pl.HALF, 66_644),
    "bert_kqv_128x1024x3072": Dense(128, 1024, 3072, pl.HALF, 75_225),
    "bert_proj_128x1024x1024": Dense(1024, 1024, 128, pl.HALF, 35_034),
    "fc_layer_16_1000_1000_float": Dense(16, 1000, 1000, pl.FLOAT, 19_388),
    "fc_layer_16_1000_1000_half": Dense(16, 1000, 1000, pl.HALF, 19_538, SMALL),
}


def dense() -> Iterator[LibraryRow]:
    """Products of a layer forward, by its input and by its weights, which are updated."""
    for key, layer in DENSE.items():
        rows, inputs, outputs, element, source, reason = layer
        graph = pl.Graph(mk2())
        forward, by_input, update = pl.Sequence(), pl.Sequence(), pl.Sequence()
        plan = ops.plan_matmul(graph, m=rows, k=inputs, n=outputs, type=element)
        x, weights = plan.create_left("x"), plan.create_right("weights")
        ops.map(ops.matmul(x, weights, plan), program=forward)
        back = ops.plan_matmul(graph, m=rows, k=outputs, n=inputs, type=element)
        gradient = back.create_left("gradient")
        ops.map(ops.matmul(gradient, weights.T), program=by_input)
        made = ops.map(ops.matmul(x.T, gradient), program=update)
        if element is pl.HALF:
            add_scaled(graph, weights, made, update)
        else:
            ops.assign(weights, weights - 0.05 * made, program=update)
        yield LibraryRow(
            "products",
            f"matmul, 3 passes, {element.__name__} [{rows}, {inputs}] x [{inputs}, {outputs}]",
            cycles(graph, forward, by_input, update),
            source,
            f"{RESULTS}: {key}",
            reason=reason,
        )  # fmt: skip


def recurrent() -> Iterator[LibraryRow]:
    """25 steps of 1,024 units, which run, as a loop does."""
    for key, plan_of, layer, batch, element, source in (
        ("lstm_16_25_1024_1024_half", ops.nn.plan_lstm, ops.nn.lstm, 16, pl.HALF, 334_603),
        ("lstm_8_25_1024_1024_float", ops.nn.plan_lstm, ops.nn.lstm, 8, pl.FLOAT, 418_054),
        ("gru_16_25_1024_1024_half", ops.nn.plan_gru, ops.nn.gru, 16, pl.HALF, 432_853),
        ("gru_8_25_1024_1024_float", ops.nn.plan_gru, ops.nn.gru, 8, pl.FLOAT, 476_765),
    ):
        graph, program = pl.Graph(mk2()), pl.Sequence()
        plan = plan_of(graph, batch=batch, inputs=1024, units=1024, type=element)
        x, weights = plan.create_input(25, "x"), plan.create_weights("weights")
        for given in (x, weights.input, weights.output, weights.bias):
            graph.set_initial_value(given, 0)
        layer(x, weights, inference=True, program=program)
        engine = pl.Engine(graph, program)
        engine.run()
        taken = engine.report().cycles
        assert taken is not None
        yield LibraryRow(
            "products",
            f"nn.{layer.__name__}, {element.__name__}, batch of {batch}, 25 steps of 1,024",
            taken,
            source,
            f"{RESULTS}: {key}",
        )


class Pooled(NamedTuple):
    """Windows of 3 x 3: field, channels, stride, padding, channels together, cycles."""

    size: int
    channels: int
    stride: int
    padding: int
    group: int
    cycles: int


POOLINGS = {
    "inception_tr_bs1_pool1": Pooled(147, 64, 2, 0, 8, 15_346),
    "inception_tr_bs1_pool2": Pooled(71, 192, 2, 0, 8, 12_486),
    "inception_tr_bs1_i1_dmaxpool": Pooled(35, 192, 1, 1, 8, 12_241),
    "inception_tr_bs1_i2_dmaxpool": Pooled(35, 256, 1, 1, 8, 14_219),
    "inception_tr_bs1_i3_dmaxpool": Pooled(35, 288, 1, 1, 8, 14_394),
    "inception_tr_bs1_i4_cmaxpool": Pooled(35, 288, 2, 0, 8, 9_400),
    "inception_tr_bs1_i5_dmaxpool": Pooled(17, 768, 1, 1, 8, 12_162),
    "inception_tr_bs1_i6_dmaxpool": Pooled(17, 768, 2, 0, 8, 7_717),
    "inception_tr_bs1_i9_dmax_pool": Pooled(8, 1280, 1, 1, 1, 12_351),
    "inception_tr_bs1_i10_dmax_pool": Pooled(8, 2048, 1, 1, 8, 11_819),
}


def pooling() -> Iterator[LibraryRow]:
    """The greatest of each window and its gradient, of one field of halves."""
    for key, (size, channels, stride, padding, group, source) in POOLINGS.items():
        graph, forward, backward = pl.Graph(mk2()), pl.Sequence(), pl.Sequence()
        x = _grouped(graph, channels, size, group, "x")
        y = ops.nn.max_pool(x, 3, stride=stride, padding=padding, program=forward)
        gradient = _grouped(graph, channels, y.shape[-1], 16, "gradient")
        ops.nn.max_pool_gradient(
            gradient, x, y, 3, stride=stride, padding=padding, program=backward
        )
        by = f" / {stride}" if stride > 1 else ""
        yield LibraryRow(
            "products",
            f"nn.max_pool and gradient, 3 x 3, {size} x {size}{by}, {channels}",
            cycles(graph, forward, backward),
            source,
            f"{RESULTS}: {key}",
            reason=by_steps(graph, forward, backward, near=source),
        )


def _grouped(graph: pl.Graph, channels: int, size: int, group: int, name: str) -> pl.Tensor:
    """Return a field whose channels are grouped in memory, linearly over all tiles."""
    x = graph.add_variable(pl.HALF, (channels // group, 1, size, size, group), name)
    mapTensorLinearly(graph, x)
    return x.transpose((1, 0, 4, 2, 3)).reshape((1, channels, size, size))


class Reduced(NamedTuple):
    """A reduction of halves: operation, shape, dimensions, tiles, cycles."""

    operation: str
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    tiles: int
    cycles: int


REDUCTIONS = {
    "bert_reduce_0": Reduced("max", (16, 4, 16, 32, 8), (1, 3), 1024, 1_466),
    "bert_reduce_1": Reduced("sum", (16, 4, 16, 32, 8), (1, 3), 1024, 1_882),
    "bert_reduce_2": Reduced("sum", (16, 256, 8, 4), (1, 3), 1024, 2_758),
    "bert_reduce_3": Reduced("square", (16, 256, 8, 4), (1, 3), 1024, 2_758),
    "bert_reduce_4": Reduced("sum", (128, 16, 8, 16), (0, 2), 1472, 2_587),
    "resnet50_tr_bs1_cnv_reduce": Reduced("square", (4, 25088, 8), (1,), 1472, 3_040),
    "resnet50_tr_bs1_bm64L0A0_reduce": Reduced("sum", (4, 6272, 8), (1,), 1200, 2_811),
    "resnet50_tr_bs1_bm128L0A0_reduce": Reduced("sum", (4, 3136, 8), (1,), 1472, 2_536),
    "resnet50_tr_bs1_bm128L0_reduce": Reduced("sum", (4, 12544, 8), (1,), 1472, 3_357),
}


def reductions() -> Iterator[LibraryRow]:
    """Sums, greatest elements and sums of squares of halves that are mapped linearly."""
    for key, (operation, shape, dims, tiles, source) in REDUCTIONS.items():
        graph, program = pl.Graph(mk2(tiles)), pl.Sequence()
        x = graph.add_variable(pl.HALF, shape, "x")
        mapTensorLinearly(graph, x)
        if operation == "max":
            found = ops.max(x, dims)
        else:
            found = ops.sum(x**2 if operation == "square" else x, dims)
        ops.map(found, program=program)
        called = "sum(x ** 2)" if operation == "square" else operation
        yield LibraryRow(
            "reductions",
            f"{called}, {list(shape)} over {list(dims)}",
            cycles(graph, program),
            source,
            f"{RESULTS}: {key}",
            reason=by_steps(graph, program, near=source),
        )


class Table(NamedTuple):
    """A table of rows of 200 halves: how many, and how many are looked up, and cycles."""

    entries: int
    lookups: int
    cycles: int


TABLES = {
    "embedding_small": Table(1_000, 21_600, 177_759),
    "embedding_vlarge": Table(100_000, 1_440, 155_289),
    "embedding_vlarge_large_indices": Table(100_000, 11_520, 1_151_828),
}


def tables() -> Iterator[LibraryRow]:
    """Rows looked up, and rows added to; in PopLibs every tile read all indices."""
    for key, (entries, lookups, source) in TABLES.items():
        graph, program = pl.Graph(mk2()), pl.Sequence()
        plan = ops.plan_embedding(graph, entries=entries, width=200, lookups=lookups, type=pl.HALF)
        table = plan.create_table("table")
        rows = graph.add_variable(pl.UNSIGNED_INT, (lookups,), "rows", mapping="linear")
        updates = plan.create_updates("updates")
        ops.embedding(table, rows, plan=plan, program=program)
        ops.multi_update_add(table, updates, rows, plan=plan, program=program)
        yield LibraryRow(
            "movement",
            f"embedding and its update, {lookups:,} rows of {entries:,}",
            cycles(graph, program),
            source,
            f"{RESULTS}: {key}",
            "other",
            "rows that change are sorted by their tiles here; PopLibs' `MultiUpdateAdd` goes "
            "through all numbers on every tile that has rows",
        )


def solvers() -> Iterator[LibraryRow]:
    """A Cholesky factor and a triangular system, each of one block.

    Since 1e4ea3b2 the model has cycles there that were measured on the machine for a whole step, by
    `tools/generate_cycle_estimate.py`, as those of one worker of six.
    """
    reason = "of one vertex; what the machine took for its step counts there for one worker of six"
    origin = f"{RESULTS}: cholesky_batch_1_dim_16_block_16_lower_true_type_float"
    graph, program = pl.Graph(mk2()), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, (16, 16), "a", mapping="linear")
    ops.linalg.cholesky(a, block=16, program=program)
    name = "linalg.cholesky, FLOAT [16, 16], one block"
    taken = cycles(graph, program)
    yield LibraryRow("linear algebra", name, taken, 192_648, origin, "other", reason)
    origin = f"{RESULTS}: triangular_solve_1_64_1_64_float_left"
    graph, program = pl.Graph(mk2()), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, (64, 64), "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, (64, 1), "b", mapping="linear")
    ops.linalg.triangular_solve(a, b, unit_diagonal=True, block=64, program=program)
    name = "linalg.triangular_solve, FLOAT [64, 64], one block"
    taken = cycles(graph, program)
    yield LibraryRow("linear algebra", name, taken, 110_262, origin, "other", reason)


NETWORKS: LibraryRows = {
    "resnet50": lambda: pointwise("resnet50"),
    "mobilenet": lambda: pointwise("mobilenet"),
    "inception": lambda: pointwise("inception"),
    "wider": wider,
    "dense": dense,
    "recurrent": recurrent,
    "pooling": pooling,
    "reductions": reductions,
    "tables": tables,
    "solvers": solvers,
}
