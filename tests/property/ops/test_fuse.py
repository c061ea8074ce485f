"""Drawn expressions, fused or one by one: what is stored is what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, thinned, values_only
from poplite import ops
from poplite.expr.build import as_expr
from poplite.expr.tree import viewed
from poplite.ops.fuse.contractions import ProductPrices
from poplite.ops.reductions.build import FusedReduction

# -- `ops.map` -------------------------------------------------------------------------------------


Array = npt.NDArray[Any]


class Drawn(NamedTuple):
    """An expression, and its value in NumPy."""

    expr: Any
    value: Array


FLOATS, INTEGERS = (pl.FLOAT, pl.HALF), (pl.INT, pl.UNSIGNED_INT, pl.SHORT, pl.UNSIGNED_CHAR)

EXACT = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
OF_FLOATS: dict[str, Callable[..., Any]] = {
    **EXACT,
    "divide": np.divide,
    "floor_divide": lambda a, b: np.floor_divide(a, b),
}
OF_INTEGERS: dict[str, Callable[..., Any]] = {
    **EXACT,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
UNARY_FLOATS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "absolute": np.absolute,
    "square": np.square,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "sign": np.sign,
}
UNARY_INTEGERS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "absolute": np.absolute,
    "square": np.square,
    "bitwise_not": np.bitwise_not,
    "sign": np.sign,
}
COMPARISONS = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "equal": np.equal,
    "not_equal": np.not_equal,
}


def rounded(function: Callable[..., Any], element: Any, *values: Array) -> Array:
    """Compute as a vertex does: HALF in float32, and rounded once."""
    with np.errstate(all="ignore"):
        if element is pl.HALF:
            wide = function(*(value.astype(np.float32) for value in values))
            result: Array = np.asarray(wide).astype(np.float16)
            return result
        found: Array = np.asarray(function(*values)).astype(element.dtype)
        return found


@st.composite
def shapes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is broadcast to another."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(draw(st.sampled_from([size, size, size, 1])) for size in kept)


@st.composite
def programs(draw: st.DrawFn) -> tuple[pl.Graph, Drawn, list[Drawn]]:
    """A graph, an expression over its tensors, and all parts of the expression."""
    graph = pl.Graph(pl.Target(tiles=draw(st.sampled_from([1, 3]))))
    element: Any = draw(st.sampled_from([*FLOATS, *INTEGERS]))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=0, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    made: list[Drawn] = []
    for number in range(draw(st.integers(1, 3))):
        own = draw(shapes(shape)) if number else shape
        low = 0 if element.dtype.kind == "u" else -9
        values = rng.integers(low, 9, own).astype(element.dtype)
        if element in FLOATS:
            values = (values / 4).astype(element.dtype)
        if element in INTEGERS and draw(st.booleans()):
            values = rng.integers(0, 256, (*own, element.size_bytes), np.uint8)
            values = values.view(element.dtype).reshape(own)
        tensor = graph.add_variable(
            element,
            own[::-1] if draw(st.booleans()) else own,
            f"x{number}",
            mapping=draw(st.sampled_from(["linear", 0])),
        )
        if tensor.shape != own or (own == own[::-1] and draw(st.booleans())):
            tensor = tensor.T
        graph.set_initial_value(tensor, values)
        made.append(Drawn(tensor, values))
    binary = OF_FLOATS if element in FLOATS else OF_INTEGERS
    unary = UNARY_FLOATS if element in FLOATS else UNARY_INTEGERS
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["binary", "binary", "unary", "number", "select"]))
        a, b = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        if kind == "unary":
            name = draw(st.sampled_from(sorted(unary)))
            expr = getattr(ops, name)(a.expr)
            made.append(Drawn(expr, rounded(unary[name], element, a.value)))
        elif kind == "select":
            name = draw(st.sampled_from(sorted(COMPARISONS)))
            predicate = getattr(ops, name)(a.expr, b.expr)
            value = np.where(COMPARISONS[name](a.value, b.value), a.value, b.value)
            made.append(Drawn(ops.select(a.expr, b.expr, predicate), value.astype(element.dtype)))
        else:
            name = draw(st.sampled_from(sorted(binary)))
            if kind == "number":
                number = draw(st.integers(0, 100))
                with_number = Drawn(number, np.asarray(number, element.dtype))
                a, b = (a, with_number) if draw(st.booleans()) else (with_number, a)
            expr = getattr(ops, name)(a.expr, b.expr)
            made.append(Drawn(expr, rounded(binary[name], element, a.value, b.value)))
    last = made[-1]
    return graph, last, [each for each in made if not isinstance(each.expr, pl.Tensor)]


@examples(60, quick=3)
@given(programs())
def test_fused_is_unfused_is_numpy(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[pl.Graph, Drawn, list[Drawn]]
) -> None:
    graph, last, parts = drawn
    program = pl.Sequence()
    result = ops.map(last.expr, program=program)
    each = [ops.map(part.expr, program=program) for part in parts]
    graph.create_host_read("result", result)
    path = tmp_path_factory.mktemp("saved") / "drawn.pop"
    pl.compile_graph(graph, program).save(path)
    saved = pl.Engine(pl.Executable.load(path))
    saved.run()
    np.testing.assert_array_equal(saved.read("result"), last.value)
    for interpret in (False, True):
        engine = pl.Engine(graph, program, interpret=interpret)
        engine.run()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(engine.read(result), last.value)
            for part, tensor in zip(parts, each, strict=True):
                np.testing.assert_array_equal(engine.read(tensor), part.value)


# -- `ops.lower` -----------------------------------------------------------------------------------


State = dict[str, Array]

SHAPE = (2, 3)


class DrawnRoot(NamedTuple):
    """An expression over tensors, and its value in NumPy, of what the tensors hold then."""

    expr: Any
    value: Callable[[State], Array]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class How:
    """A view: of a tensor, or of several behind each other."""

    kind: str
    shape: tuple[int, ...] = ()

    def __call__(self, *operands: Any) -> Any:
        """Return the view of tensors, or of arrays."""
        first = operands[0]
        match self.kind:
            case "reshape":
                return first.reshape(self.shape)
            case "turn":
                return first.T
            case "cut":
                return first[1:]
            case "reverse":
                return first[::-1]
        is_tensor = isinstance(first, pl.Tensor)
        return pl.concat(list(operands)) if is_tensor else np.concatenate(operands)


def seen(how: How, *operands: DrawnRoot) -> DrawnRoot:
    """A view of expressions."""
    shape = how(*[np.zeros(each.shape) for each in operands]).shape
    expr = viewed([as_expr(each.expr, "test") for each in operands], how, shape, pl.FLOAT)
    return DrawnRoot(expr, lambda state: how(*[each.value(state) for each in operands]), shape)


def clipped(made: DrawnRoot) -> DrawnRoot:
    """Numbers that stay small: all are whole, and the same in float32."""
    expr = ops.maximum(ops.minimum(made.expr, 9), -9)
    return DrawnRoot(expr, lambda state: np.clip(made.value(state), -9, 9), made.shape)


def _held(name: str, state: State) -> Array:
    return state[name].copy()


@st.composite
def lowered_programs(draw: st.DrawFn) -> tuple[pl.Graph, State, dict[str, pl.Tensor], list[Any]]:
    """A graph, its tensors with their values, and roots: what is stored, where, and the oracle."""
    graph = pl.Graph(pl.Target(tiles=draw(st.sampled_from([1, 3]))))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    state: State = {}
    tensors: dict[str, pl.Tensor] = {}
    made: list[DrawnRoot] = []
    for name in "xyz":
        state[name] = random.integers(-4, 5, SHAPE).astype(np.float32)
        mapping: Any = draw(st.sampled_from(["linear", 0]))
        tensors[name] = graph.add_variable(
            pl.FLOAT, SHAPE, name, mapping=mapping, initial_value=state[name]
        )
        made.append(DrawnRoot(tensors[name], partial(_held, name), SHAPE))
    for _ in range(draw(st.integers(3, 8))):
        made.append(draw(steps(made)))
    kinds = draw(st.sampled_from([["mapped", "new"], ["out", "new", "mapped"]]))
    roots = [draw(results(made, kinds, tensors)) for _ in range(draw(st.integers(2, 5)))]
    return graph, state, tensors, roots


@st.composite
def steps(draw: st.DrawFn, made: list[DrawnRoot]) -> DrawnRoot:
    """An operation on drawn operands, most often the last ones."""
    ranked = [each for each in made if each.shape]
    x = draw(st.sampled_from([*ranked[::-1][:3], *ranked]))
    match draw(st.sampled_from("vvvjjsmna")):
        case "v":
            kinds = ["reshape", "turn", "cut", "reverse"] if len(x.shape) == 2 else ["reverse"]
            return seen(How(draw(st.sampled_from(kinds)), (int(np.prod(x.shape)),)), x)
        case "j":
            tails = [each for each in made if each.shape[1:] == x.shape[1:] and each.shape]
            plain = [each for each in tails if isinstance(each.expr, pl.Tensor)]
            if x.shape[0] < 9:
                other = draw(st.sampled_from(plain or tails))
                return seen(How("join"), *draw(st.permutations([x, other])))
        case "s":
            dims = draw(st.lists(st.sampled_from(range(len(x.shape))), min_size=1, unique=True))
            expr, axes = ops.sum(x.expr, sorted(dims)), tuple(sorted(dims))
            shape = np.zeros(x.shape).sum(axes).shape
            return clipped(DrawnRoot(expr, lambda state: x.value(state).sum(axes), shape))
        case "m":
            right = [
                y for y in made if len(y.shape) == 2 == len(x.shape) and y.shape[0] == x.shape[1]
            ]
            if right:
                y = draw(st.sampled_from(right))
                shape = (x.shape[0], y.shape[1])
                product = DrawnRoot(
                    ops.matmul(x.expr, y.expr), lambda state: x.value(state) @ y.value(state), shape
                )
                return product if draw(st.booleans()) else clipped(product)
        case "a":
            y = draw(st.sampled_from([each for each in made if each.shape == x.shape]))
            return clipped(
                DrawnRoot(x.expr + y.expr, lambda state: x.value(state) + y.value(state), x.shape)
            )
    return DrawnRoot(-1 * x.expr, lambda state: -x.value(state), x.shape)


@st.composite
def results(
    draw: st.DrawFn, made: list[DrawnRoot], kinds: list[str], tensors: dict[str, pl.Tensor]
) -> tuple[ops.Root, Callable[[State], Array | None]]:
    """A root, and what storing it comes to: a value, or None for a tensor that is changed."""
    x = draw(st.sampled_from([*made[::-1][:4], *made]))
    name = draw(st.sampled_from(sorted(tensors)))
    places: list[tuple[pl.Tensor, Callable[[Array], Array]]] = [
        (tensors[name], lambda array: array),
        (tensors[name].T, lambda array: array.T),
        (tensors[name][1:], lambda array: array[1:]),
        (tensors[name].flatten(), lambda array: array.reshape(-1)),
    ]
    fit = [each for each in places if each[0].shape == x.shape]
    kind = draw(st.sampled_from(kinds))
    if kind == "out" and fit:
        out, view = draw(st.sampled_from(fit))

        def write(state: State) -> None:
            value = x.value(state)
            view(state[name])[...] = value

        return ops.Root(as_expr(x.expr, "test"), out, name="out"), write
    mapping = draw(st.sampled_from(["linear", 0])) if kind == "mapped" else None
    return ops.Root(as_expr(x.expr, "test"), mapping=mapping, name="made"), x.value


def check(
    drawn: tuple[pl.Graph, State, dict[str, pl.Tensor], list[Any]], forms: list[dict[str, Any]]
) -> None:
    """Run what was recorded twice, and compare results and tensors."""
    graph, start, tensors, roots = drawn
    program = pl.Sequence()
    made = ops.lower(graph, [root for root, _ in roots], program)
    for form in forms:
        state = {name: value.copy() for name, value in start.items()}
        engine = pl.Engine(graph, program, **form)
        for _ in range(2):
            values = [value(state) for _, value in roots]
            engine.run()
            for tensor, right in zip(made, values, strict=True):
                if right is not None:
                    np.testing.assert_array_equal(engine.read(tensor), right)
            for name, tensor in tensors.items():
                np.testing.assert_array_equal(engine.read(tensor), state[name])


@examples(200, quick=12)
@given(drawn=lowered_programs())
def test_interpreted(drawn: Any) -> None:
    check(drawn, [{"interpret": True, "checks": "strict", "options": values_only()}])


@deep
@examples(10)
@given(drawn=lowered_programs())
def test_compiled(drawn: Any) -> None:
    check(drawn, [{"checks": "strict"}, {"checks": "fast"}])


# -- sums of products ------------------------------------------------------------------------------


Place = Literal["linear", "backwards", "few", "blocks", "first", "last"]

PLACES: list[Place] = ["linear", "linear", "backwards", "few", "blocks", "first", "last"]

AT_ONCE = 60
"""Programs that a test draws."""


def laid(tensor: pl.Tensor, place: Place, rng: np.random.Generator) -> None:
    """Put the elements of a tensor on tiles."""
    tiles, flat = tensor.graph.target.tiles, tensor.flatten()
    if place == "linear":
        pl.map_linearly(tensor.graph, tensor)
        return
    if place in ("first", "last"):
        tensor.graph.set_tile_mapping(tensor, 0 if place == "first" else tiles - 1)
        return
    count = min(tiles, int(rng.integers(2, 6))) if place == "few" else tiles
    size = 8 if place == "blocks" else -(-len(flat) // count)
    first = int(rng.integers(tiles)) if place == "few" else 0
    for number, begin in enumerate(range(0, len(flat), size)):
        tile = tiles - 1 - number if place == "backwards" else (first + number) % tiles
        tensor.graph.set_tile_mapping(flat[begin : begin + size], tile)


def operand(
    graph: pl.Graph,
    element: type[pl.ElementType[Any]],
    length: int,
    place: Place,
    rng: np.random.Generator,
) -> pl.Tensor:
    """Return a vector: a variable or a constant, a part of one or one of its columns."""
    form = rng.choice(["variable", "variable", "constant", "part", "column"])
    if form == "constant":
        made = graph.add_constant(element, (length,), 1)
    else:
        shape = {"part": (2 * length,), "column": (length, 2)}.get(str(form), (length,))
        made = graph.add_variable(element, shape, "x")
    laid(made, place, rng)
    return {"part": lambda: made[length:], "column": lambda: made[:, 0]}.get(
        str(form), lambda: made
    )()


def cycles(seed: int) -> int:
    """Return the cycles of a program that is drawn: its sums are as `FusedReduction` has them."""
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=int(rng.choice([1, 4, 16, 64, 256]))))
    element = pl.FLOAT if rng.random() < 0.5 else pl.HALF
    length = int(2 ** rng.uniform(2, 11))
    places = [PLACES[int(rng.integers(len(PLACES)))] for _ in range(2)]
    a, b = (operand(graph, element, length, place, rng) for place in places)
    forms = (lambda: a @ b, lambda: ops.sum(a * b), lambda: ops.norm(a - b))
    with graph.steps() as steps:
        ops.map(forms[int(rng.integers(3))]())
    engine = pl.Engine(graph, steps, checks="none")
    engine.run()
    found = engine.report().cycles
    assert found is not None
    return found


@pytest.mark.priced
@pytest.mark.parametrize("first", thinned([0, 60, 120, 180, 240], keep=[0]))
def test_sums_take_what_the_cheaper_way_takes(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(first, first + AT_ONCE)
    chosen = [cycles(seed) for seed in seeds]
    forced = []
    for is_in_one in (True, False):
        monkeypatch.setattr(FusedReduction, "is_in_one", is_in_one)
        forced.append([cycles(seed) for seed in seeds])
    over = np.array(chosen) / np.min(forced, axis=0)
    assert forced[0] != forced[1]
    assert over.max() < 1.2, (seeds[int(over.argmax())], over.max())
    assert over.mean() < 1.003


def product_cycles(seed: int) -> int:
    """Return the cycles of a drawn product by one row or column, with what is computed of it."""
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=int(rng.choice([4, 16, 64, 256]))))
    element = pl.FLOAT if rng.random() < 0.5 else pl.HALF
    m, k, groups = (int(2 ** rng.uniform(1, most)) for most in (7, 7, 5))
    forms = [((m, k), (k,)), ((k,), (k, m)), ((groups, 1, k), (groups, k, 1)), ((k,), (k,))]
    left, right = forms[int(rng.integers(4))]
    a, b = graph.add_variable(element, left, "a"), graph.add_variable(element, right, "b")
    c = graph.add_variable(element, (a @ b).shape, "c")
    for each in (a, b, c):
        laid(each, PLACES[int(rng.integers(len(PLACES)))], rng)
    product = a @ b
    made = [product, ops.relu(product + c), ops.tanh(product) * 2][int(rng.integers(3))]
    with graph.steps() as steps:
        if rng.random() < 0.3:
            ops.assign(c, made)
        else:
            ops.map(made)
    engine = pl.Engine(graph, steps, checks="none")
    engine.run()
    found = engine.report().cycles
    assert found is not None
    return found


@pytest.mark.priced
@pytest.mark.parametrize("first", thinned([0, 60, 120, 180, 240], keep=[0]))
def test_products_take_what_the_cheaper_way_takes(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = range(first, first + AT_ONCE // 2)
    chosen = [product_cycles(seed) for seed in seeds]
    forced = []
    for is_sum in (True, False):
        monkeypatch.setattr(ProductPrices, "is_sum", is_sum)
        forced.append([product_cycles(seed) for seed in seeds])
    over = np.array(chosen) / np.min(forced, axis=0)
    assert forced[0] != forced[1]
    assert over.max() < 1.3, (seeds[int(over.argmax())], over.max())
    assert over.mean() < 1.02
