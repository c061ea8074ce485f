"""Convolutions and pooling: what is refused, what plans say, and the bits of results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import forms, interpreted, thinned, values_only
from poplite import ops
from poplite.ops import nn
from poplite.ops.nn.pooling import cheapest_way, pooling_layout
from poplite.ops.products.convolution_request import Spacing, forward, parts, request_of, spacings


def small(graph: pl.Graph, **more: Any) -> pl.ops.ConvolutionPlan:
    how: dict[str, Any] = {"batch": 2, "field": (5, 6), "inputs": 4, "outputs": 3, "kernel": (2, 3)}
    return ops.plan_convolution(graph, **(how | more))


REFUSED: list[tuple[Callable[[Any, Any, Any], Any], str]] = [
    (lambda x, w, g: ops.convolution(x, w, stride=0), "ops.convolution: stride is 0"),
    (
        lambda x, w, g: ops.convolution(x, w, stride=2**80),
        "it must be a distance from 1 to 2,147,483,648",
    ),
    (
        lambda x, w, g: ops.convolution(x, w, stride=(1, 2, 3)),
        "stride is (1, 2, 3) for 2 dimensions",
    ),
    (lambda x, w, g: ops.convolution(x, w, dilation=hidden(1.5)), "dilation is 1.5"),
    (lambda x, w, g: ops.convolution(x, w, input_dilation=0), "input_dilation is 0"),
    (
        lambda x, w, g: ops.convolution(x, w, padding=hidden([(1, 2, 3), 0])),
        "padding is [(1, 2, 3), 0]",
    ),
    (lambda x, w, g: ops.convolution(x, w, padding=hidden("same")), "padding is 'same'"),
    (lambda x, w, g: ops.convolution(x, w, padding=-3), "padding leaves out 6 of 5 elements"),
    (lambda x, w, g: ops.convolution(x, w, flip=hidden(1)), "flip is 1"),
    (
        lambda x, w, g: ops.convolution(x, w, groups=2),
        "groups is 2 for 4 input and 3 output channels",
    ),
    (
        lambda x, w, g: ops.convolution(x, w, memory=2),
        "memory must be greater than 0 and at most 1; found 2",
    ),
    (
        lambda x, w, g: ops.convolution(x, w, dilation=5),
        "the kernel has 6 places, but the input has 5",
    ),
    (
        lambda x, w, g: ops.convolution(x, w[:, :3]),
        "weights are for 3 channels in each of 1 groups",
    ),
    (lambda x, w, g: ops.convolution(x[0, 0], w[0, 0]), "shape (5, 6)"),
    (lambda x, w, g: ops.convolution(x, w[..., 0]), "4 and 3 dimensions"),
    (lambda x, w, g: ops.convolution(x.reinterpret(pl.INT), w), "is INT"),
    (lambda x, w, g: ops.convolution(x, ops.cast(w, pl.HALF)), "differ in type"),
    (lambda x, w, g: ops.convolution(x, w, small(g), stride=2), "for a different convolution"),
    (lambda x, w, g: ops.convolution(x, w, small(pl.Graph())), "made for another graph"),
    (lambda x, w, g: ops.convolution(x, w, hidden(3)), "3 is not a plan"),
    (
        lambda x, w, g: ops.convolution_input_gradient(x, w, (5, 6)),
        "but the output has (2, 3, 4, 4)",
    ),
    (lambda x, w, g: ops.convolution_input_gradient(x, w, (5,)), "field is (5,)"),
    (
        lambda x, w, g: ops.convolution_weights_gradient(x, x, (2, 3)),
        "but the output has (2, 4, 4, 4)",
    ),
    (lambda x, w, g: small(g, inputs=-1), "inputs is -1"),
    (lambda x, w, g: small(g, kernel=(2,)), "the kernel is (2,), but the field is (5, 6)"),
    (lambda x, w, g: small(g, kernel=(0, 1)), "the kernel has no taps"),
    (lambda x, w, g: small(g, type=pl.INT), "plan_convolution: INT is not supported"),
    (lambda x, w, g: small(g, inputs=10**6, memory=0.001), "does not fit"),
    (lambda x, w, g: small(g, expand=3), "expand is 3 for 2 dimensions"),
    (lambda x, w, g: small(g, expand=hidden("all")), "expand is 'all'"),
    (lambda x, w, g: small(g, expand=1, input_dilation=2), "input_dilation is 2: zeros between"),
    (lambda x, w, g: nn.max_pool(x, 0), "window is 0"),
    (lambda x, w, g: nn.max_pool(x, 7), "the kernel has 7 places"),
    (lambda x, w, g: nn.sum_pool(x, (2, 2, 2)), "window is (2, 2, 2)"),
    (lambda x, w, g: nn.max_pool(x.reinterpret(pl.INT), 2), "is INT"),
    (lambda x, w, g: nn.max_pool_gradient(x, x, x, 2), "but the output has (2, 4, 2, 3)"),
    (lambda x, w, g: nn.sum_pool_gradient(x, (9,), 2), "field is (9,)"),
]


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refusals(function: Callable[[Any, Any, Any], Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2, 4, 5, 6), "x", mapping="linear")
    w = graph.add_variable(pl.FLOAT, (3, 4, 2, 3), "w", mapping="linear")
    before = len(graph.variables)
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, w, graph)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_convolution_plans.py")
    assert len(graph.variables) == before


def test_the_text_of_a_large_plan_prices_no_steps() -> None:
    """It took 16 s and 7 GB for 512^3: the steps of all copies were listed."""
    graph = pl.Graph(pl.Target())
    plan = ops.plan_convolution(
        graph, batch=1, field=(512, 512, 512), inputs=1, outputs=1, kernel=(3, 3, 3)
    )
    assert "  cycles   see plan.cycles; by formulas exchange" in str(plan)


def test_a_plan_fits_and_says_what_it_takes() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    plan = ops.plan_convolution(
        graph,
        batch=2,
        field=(14, 14),
        inputs=32,
        outputs=32,
        kernel=(3, 3),
        padding=1,
        type=pl.HALF,
    )
    text = str(plan)
    assert text.startswith("2 of 14 x 14, 32 to 32 channels, kernel 3 x 3, to 14 x 14, HALF\n")
    assert f"cycles   {plan.cycles:,}; by formulas exchange" in text
    assert "sums" in text
    assert text.count("cycles by formulas") == 3
    assert plan.bytes <= 0.6 * graph.target.tile_memory_bytes
    assert plan.cycles == pytest.approx(sum(plan.layout.cycles), rel=0.1)
    assert plan.tiles == 16
    assert repr(plan).endswith("16 tiles>")


def test_a_tile_convolves_its_blocks_in_passes_where_memory_is_short() -> None:
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-3, 4, n).astype(np.float32) for n in ((1, 8, 8, 8), (32, 8, 3, 3)))
    found = []
    for memory in (0.6, 0.01):
        graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=600_000))
        how: dict[str, Any] = {"batch": 1, "field": (8, 8), "inputs": 8, "outputs": 32}
        plan = ops.plan_convolution(graph, **how, kernel=(3, 3), memory=memory)
        assert (plan.layout.passes > 1) == (memory < 0.6)
        assert plan.bytes <= memory * 600_000
        a, b = plan.create_input(), plan.create_weights()
        with graph.steps() as step:
            y = ops.convolution(a, b, plan)
        engine = pl.Engine(graph, step, interpret=True, options=values_only())
        engine.write(a, x)
        engine.write(b, w)
        engine.run()
        found.append(engine.read(y).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("expand", [0, 1])
def test_sums_are_made_in_the_documented_order(expand: int) -> None:
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal(n).astype(np.float32) for n in ((1, 20, 9), (3, 20, 2)))
    graph = pl.Graph(pl.Target(tiles=4))
    how: dict[str, Any] = {"batch": 1, "field": (9,), "inputs": 20, "outputs": 3, "kernel": (2,)}
    plan = ops.plan_convolution(graph, **how, expand=expand)
    found = convolved(graph, plan, x, w, {}, interpret=True)[0]
    every = [(tap, i) for tap in range(2) for i in range(20)]
    if expand:  # a slice is of taps and channels
        slices = [every[n : n + plan.layout.inputs] for n in range(0, 40, plan.layout.inputs)]
    else:
        cuts = range(0, 20, plan.layout.inputs)
        slices = [[(t, i) for t, i in every if n <= i < n + plan.layout.inputs] for n in cuts]
    total = np.zeros((3, 8), np.float32)
    for number, several in enumerate(slices):
        part = np.zeros((3, 8), np.float32)
        for tap, i in several:
            part = pl.fma(w[:, i, tap, None], x[0, i, tap : tap + 8], part)
        total = total + part if number else part
    assert found[0].tobytes() == total.tobytes()


def convolved(
    graph: pl.Graph, plan: ops.ConvolutionPlan, x: Any, w: Any, how: Any, *, interpret: bool
) -> list[Any]:
    """What a plan makes of operands where it wants them, and of others that lie linearly."""
    own = plan.create_input("x"), plan.create_weights("w")
    others = [
        graph.add_variable(x.dtype, each.shape, f"{name}/linear", mapping="linear")
        for each, name in ((x, "x"), (w, "w"))
    ]
    with graph.steps() as step:
        made = [ops.convolution(a, b, plan, **how) for a, b in (own, others)]
    engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
    for a, b in (own, others):
        engine.write(a, x)
        engine.write(b, w)
    engine.run()
    return [engine.read(each) for each in made]


def test_taps_as_channels_change_no_bit() -> None:
    rng = np.random.default_rng(8)
    how: dict[str, Any] = {
        "stride": (1, 2),
        "padding": ((2, 0), (1, -1)),
        "dilation": (2, 1),
        "groups": 2,
        "flip": (True, False),
    }
    x = rng.standard_normal((2, 6, 5, 8)).astype(np.float16)
    w = rng.standard_normal((4, 3, 2, 3)).astype(np.float16)
    padded = np.pad(x, ((0, 0), (0, 0), (2, 0), (1, 0)))[..., :-1].astype(np.float32)
    expected = np.zeros((2, 2, 2, 5, 3), np.float32)
    for (row, column), i in product(product((2, 0), range(3)), range(3)):
        seen = padded[:, i::3, row : row + 5, column : column + 5 : 2, None]
        weights = w[:, i, 1 - row // 2, column].astype(np.float32).reshape((2, 2))
        expected += weights[:, :, None, None] * np.moveaxis(seen, -1, 2)
    for expand, interpret in product((0, 1, 2), forms()):
        graph = pl.Graph(pl.Target(tiles=3))
        plan = small(
            graph, batch=2, field=(5, 8), inputs=6, outputs=4, type=pl.HALF, expand=expand, **how
        )
        assert plan.layout.inputs == (3, 9, 18)[expand]
        for found in convolved(graph, plan, x, w, how, interpret=interpret):
            assert found.tobytes() == expected.astype(np.float16).reshape(found.shape).tobytes()


def test_a_plan_takes_taps_as_channels_where_these_are_few() -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    how: dict[str, Any] = {"batch": 4, "field": (28, 28), "outputs": 32, "kernel": (3, 3)}
    few, many = (ops.plan_convolution(graph, **how, inputs=n, type=pl.HALF) for n in (4, 16))
    assert "\n  expanded kernel 3 x 3 to 3 x 1, channels 4 to 12\n  cuts     expand 1, " in str(few)
    assert few.cycles == pytest.approx(sum(few.layout.cycles), rel=0.2)
    plain = ops.plan_convolution(graph, **how, inputs=4, type=pl.HALF, expand=0)
    assert few.cycles < plain.cycles
    assert "expand" not in str(many) + str(plain)


def test_a_gradient_of_strides_multiplies_elements_alone() -> None:
    plan = small(pl.Graph(pl.Target(tiles=4)), stride=2)
    inverse = plan.request.inverse
    products = sum(each.request.products for each in parts(inverse) if each.request)
    assert inverse.products == 2 * 3 * 4 * 30 * 6
    assert products == inverse.products // 4


def test_phases_of_a_gradient_of_strides_run_at_once_where_memory_holds_them() -> None:
    found = {}
    for memory in (0.6, 0.001):
        graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
        plan = small(graph, stride=2, padding=1, memory=memory)
        by_y = graph.add_variable(pl.FLOAT, (2, 3, 3, 3), "by y", mapping="linear")
        weights = plan.create_weights()
        ops.convolution_input_gradient(
            by_y, weights, (5, 6), stride=2, padding=1, memory=memory, program=program
        )
        found[memory] = [each.name for each in graph.compute_sets]
    assert found == {
        0.6: ["input_gradient/products"],
        0.001: ["input_gradient/products", "input_gradient/products_1"],
    }


@pytest.mark.parametrize(("stride", "most"), thinned([(16, 2_800), (8, 2_600), (4, 2_700)], 1))
def test_a_gradient_of_long_strides_is_one_convolution_and_a_fill(stride: int, most: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
    size = (64 - 3) // stride + 1
    by_y = graph.add_variable(pl.FLOAT, (1, 16, size, size), "by y", mapping="linear")
    weights = graph.add_variable(pl.FLOAT, (16, 16, 3, 3), "weights", mapping="linear")
    ops.convolution_input_gradient(by_y, weights, (64, 64), stride=stride, program=program)
    name = "input_gradient"
    sets = [f"{name}/zeros", f"{name}/products", f"{name}/sums"]
    assert [each.name for each in graph.compute_sets] == sets
    engine = pl.Engine(graph, program, checks="fast", interpret=False)
    engine.run()
    assert 0 < (engine.report().execution.cycles or 0) <= most


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("dtype", [pl.FLOAT, pl.HALF])
def test_a_gradient_of_long_strides_is_what_each_output_reads(
    padding: int, dtype: type[pl.FLOAT] | type[pl.HALF]
) -> None:
    stride, field, rng = (3, 5), (13, 16), np.random.default_rng(5)
    rows, columns = ((n + 2 * padding - 3) // s + 1 for n, s in zip(field, stride, strict=True))
    by_y = rng.integers(-3, 4, (2, 6, rows, columns))
    kernel = rng.integers(-3, 4, (6, 2, 3, 3))  # two groups
    graph, program = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    gradient, weights = (
        graph.add_variable(dtype, x.shape, name, mapping="linear", initial_value=x)
        for name, x in (("by y", by_y), ("weights", kernel))
    )
    how: dict[str, Any] = {"stride": stride, "padding": padding, "groups": 2}
    made = ops.convolution_input_gradient(gradient, weights, field, **how, program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    right = np.zeros((2, 4, field[0] + 2 * padding, field[1] + 2 * padding))
    for group, row, column in product(range(2), range(rows), range(columns)):
        own = slice(3 * group, 3 * group + 3)
        part = np.einsum("bo,oiuv->biuv", by_y[:, own, row, column], kernel[own])
        y, x = row * stride[0], column * stride[1]
        right[:, 2 * group : 2 * group + 2, y : y + 3, x : x + 3] += part
    right = right[:, :, padding : padding + field[0], padding : padding + field[1]]
    assert (engine.read(made) == right).all()


def test_plans_say_which_phases_are_one_convolution() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    how: dict[str, Any] = {"batch": 1, "field": (8, 8), "inputs": 16, "outputs": 4}
    plan = ops.plan_convolution(graph, kernel=(2, 2), input_dilation=2, padding=1, **how)
    lines = str(plan).splitlines()
    assert lines[1].startswith("4 phases at once, cycles ")
    assert lines[2] == "phases 0, 1, 2, 3, kernel 1 x 1"
    assert plan.create_weights().shape == (4, 16, 2, 2)


def cube(tiles: int, size: int, **more: Any) -> tuple[pl.Graph, pl.ops.ConvolutionPlan]:
    """A plan of one channel of three dimensions."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    how: dict[str, Any] = {"batch": 1, "field": (size,) * 3, "inputs": 1, "outputs": 1}
    plan = ops.plan_convolution(graph, kernel=(3, 3, 3), type=pl.HALF, **how, **more)
    return graph, plan


@pytest.mark.parametrize(("size", "memory"), [(150, 0.6), (150, 0.8), (148, 0.9)])
def test_operands_of_a_plan_fit_beside_its_blocks(size: int, memory: float) -> None:
    graph, plan = cube(64, size, memory=memory)
    x, weights, program = plan.create_input(), plan.create_weights(), pl.Sequence()
    y = ops.convolution(x, weights, plan, program=program)
    held = np.sum([graph.tile_mapping(each).elements_per_tile for each in (x, weights, y)], axis=0)
    assert plan.layout.operands == pytest.approx(2 * held.max(), rel=0.1)
    assert plan.bytes + plan.layout.operands <= graph.target.tile_memory_bytes
    pl.Engine(graph, program, interpret=True)  # it fits


def test_a_plan_says_that_operands_do_not_fit() -> None:
    assert ": more than 638,976\n" in str(cube(16, 112)[1])
    assert "more than" not in str(cube(16, 90)[1])


@pytest.mark.parametrize("part", [1, 2, 3, 5])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (7, 1), (7, 2), (2, 3)])
def test_blocks_own_as_many_elements_of_what_they_read(kernel: int, stride: int, part: int) -> None:
    how = forward(60, kernel, Spacing(stride=stride))
    edges = how.owner(part)
    sizes = np.diff(edges)
    assert (edges[0], edges[-1]) == (0, 60)
    assert max(sizes) <= 1.25 * (part * stride + 1)
    for k, (begin, end) in enumerate(pairwise(edges)):
        first = k * part * stride
        read = range(first, first + how.places(min(part, how.count - k * part)))
        assert begin >= first
        assert end <= read.stop or stride > kernel or end == 60


def test_the_gradient_of_an_input_without_elements_has_none() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    by_y = graph.add_variable(pl.FLOAT, (1, 2, 3), "by y", mapping="linear")
    weights = graph.add_variable(pl.FLOAT, (2, 1, 2), "weights", mapping="linear")
    made = ops.convolution_input_gradient(by_y, weights, (0,), padding=2, program=program)
    assert made.shape == (1, 1, 0)


# -- pooling of large windows ----------------------------------------------------------------------
# Its cycles beside those of reductions, its stages, and its values.


Element = type[pl.FLOAT] | type[pl.HALF]
Made = Callable[[pl.Tensor, pl.Sequence], pl.Tensor]


def cycles(shape: tuple[int, ...], element: Element, made: Made, tiles: int = 1472) -> int:
    """Return the modelled cycles of what is made of an input."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    made(graph.add_variable(element, shape, "x", mapping="linear"), program)
    engine = pl.Engine(graph, program, checks="fast", interpret=False)
    engine.run()
    return engine.report().execution.cycles or 0


FIELDS = [
    ((1, 1, 256, 256), pl.FLOAT, 1_900),
    ((2, 64, 64, 64), pl.FLOAT, 1_400),
    ((4, 512, 7, 7), pl.FLOAT, 1_000),
    ((1, 1, 256, 256), pl.HALF, 2_100),
]


@pytest.mark.parametrize(("shape", "element", "most"), thinned(FIELDS, keep=FIELDS[:1]))
def test_a_window_of_the_field_costs_what_a_reduction_does(
    shape: tuple[int, ...], element: Element, most: int
) -> None:
    field = list(shape[2:])
    pooled = cycles(shape, element, lambda x, p: nn.max_pool(x, field, program=p))
    reduced = cycles(shape, element, lambda x, p: ops.map(ops.max(x, [2, 3]), program=p))
    assert 0 < pooled <= min(most, 1.5 * reduced)
    added = cycles(shape, element, lambda x, p: nn.sum_pool(x, field, program=p))
    by_sum = cycles(shape, element, lambda x, p: ops.map(ops.sum(x, [2, 3]), program=p))
    assert 0 < added <= 1.5 * by_sum


WINDOWS: list[tuple[tuple[int, ...], int, dict[str, Any], int]] = [
    ((1, 1, 256, 256), 128, {"stride": 64, "padding": 32}, 5_000),  # 4,258,686 by vertices alone
    ((1, 1, 256, 256), 128, {}, 1_800),  # 4,244,236
    ((1, 1, 256, 256), 128, {"stride": 1}, 80_000),  # 4,539,838
    ((4, 64, 28, 28), 5, {"stride": 1, "padding": 2}, 8_500),  # 18,593
    ((8, 32, 1000), 50, {"stride": 10}, 4_600),  # 16,015
    ((8, 32, 16, 16, 16), 4, {}, 4_600),  # 20,700
]


@pytest.mark.parametrize(("shape", "window", "how", "most"), thinned(WINDOWS, keep=WINDOWS[:2]))
def test_large_windows_are_cut(
    shape: tuple[int, ...], window: int, how: dict[str, Any], most: int
) -> None:
    made = cycles(shape, pl.FLOAT, lambda x, p: nn.max_pool(x, window, **how, program=p))
    assert 0 < made <= most


GRADIENTS = [
    ((4, 512, 7, 7), 7, 750, 2_000),  # 55,370 and 62,524 place by place
    ((4, 64, 56, 56), 2, 1_300, 8_000),  # 7,788 and 16,860
]


@pytest.mark.parametrize(("shape", "window", "added", "most"), thinned(GRADIENTS, GRADIENTS[:1]))
def test_gradients_of_windows_that_do_not_overlap_are_maps(
    shape: tuple[int, ...], window: int, added: int, most: int
) -> None:
    def by_sum(x: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        gradient = windows_of(x, "gradient")
        return nn.sum_pool_gradient(gradient, x.shape[2:], window, program=program)

    def by_most(x: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        gradient, pooled = windows_of(x, "gradient"), windows_of(x, "pooled")
        return nn.max_pool_gradient(gradient, x, pooled, window, program=program)

    def windows_of(x: pl.Tensor, name: str) -> pl.Tensor:
        sizes = [size // window for size in x.shape[2:]]
        return x.graph.add_variable(x.element_type, (*x.shape[:2], *sizes), name, mapping="linear")

    assert 0 < cycles(shape, pl.FLOAT, by_sum) <= added
    assert 0 < cycles(shape, pl.FLOAT, by_most) <= most


def test_windows_are_pooled_whole_where_that_is_cheapest() -> None:
    target = pl.Target()
    for window, stride, stages in ((2, 2, [False]), (8, 8, [True]), (8, 4, [True, False, False])):
        how = spacings("pool", 2, stride, 0, 1)
        request = request_of("pool", 4, (1, 64, 64), (56, 56), (window,) * 2, how, pl.FLOAT, 0.6)
        way = cheapest_way(target, request, "max")
        assert [each.is_reduced for each in way.stages] == stages
        assert way.cycles <= sum(pooling_layout(target, request, "max").cycles)


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize(("stride", "padding"), [(4, 2), (8, 0), (1, 0), (3, 1), (16, 4)])
def test_sums_of_parts_are_rounded_once(element: Element, stride: int, padding: int) -> None:
    rng = np.random.default_rng(stride)
    values = rng.integers(-40, 40, (2, 3, 16)).astype(element.dtype)
    graph, program = pl.Graph(pl.Target(tiles=9)), pl.Sequence()
    x = graph.add_variable(element, values.shape, "x", mapping="linear", initial_value=values)
    how: dict[str, Any] = {"stride": stride, "padding": padding, "program": program}
    made = nn.sum_pool(x, 8, **how), nn.average_pool(x, 8, **how), nn.max_pool(x, 8, **how)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()

    def windows(array: Any, around: float) -> Any:
        sides = [(0, 0), (0, 0), (padding, padding)]
        wide = np.pad(array.astype(np.float32), sides, constant_values=around)
        return np.lib.stride_tricks.sliding_window_view(wide, 8, 2)[:, :, ::stride]

    total, most = windows(values, 0).sum(-1), windows(values, -np.inf).max(-1)
    count = windows(np.ones_like(values), 0).sum(-1)
    for found, right in zip(made, (total, total / count, most), strict=True):
        assert engine.read(found).tolist() == right.astype(element.dtype).tolist()
