"""Drawn roots of `ops.lower`: views of what is stored, copies of them, and writes, as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, values_only
from poplite import ops
from poplite.expr.build import as_expr
from poplite.expr.viewed import viewed

Array = npt.NDArray[Any]
State = dict[str, Array]

SHAPE = (2, 3)


class Drawn(NamedTuple):
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


def seen(how: How, *operands: Drawn) -> Drawn:
    """A view of expressions."""
    shape = how(*[np.zeros(each.shape) for each in operands]).shape
    expr = viewed([as_expr(each.expr, "test") for each in operands], how, shape, pl.FLOAT)
    return Drawn(expr, lambda state: how(*[each.value(state) for each in operands]), shape)


def clipped(made: Drawn) -> Drawn:
    """Numbers that stay small: all are whole, and the same in float32."""
    expr = ops.maximum(ops.minimum(made.expr, 9), -9)
    return Drawn(expr, lambda state: np.clip(made.value(state), -9, 9), made.shape)


def _held(name: str, state: State) -> Array:
    return state[name].copy()


@st.composite
def programs(draw: st.DrawFn) -> tuple[pl.Graph, State, dict[str, pl.Tensor], list[Any]]:
    """A graph, its tensors with their values, and roots: what is stored, where, and the oracle."""
    graph = pl.Graph(pl.Target(tiles=draw(st.sampled_from([1, 3]))))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    state: State = {}
    tensors: dict[str, pl.Tensor] = {}
    made: list[Drawn] = []
    for name in "xyz":
        state[name] = random.integers(-4, 5, SHAPE).astype(np.float32)
        mapping: Any = draw(st.sampled_from(["linear", 0]))
        tensors[name] = graph.add_variable(
            pl.FLOAT, SHAPE, name, mapping=mapping, initial_value=state[name]
        )
        made.append(Drawn(tensors[name], partial(_held, name), SHAPE))
    for _ in range(draw(st.integers(3, 8))):
        made.append(draw(steps(made)))
    kinds = draw(st.sampled_from([["mapped", "new"], ["out", "new", "mapped"]]))
    roots = [draw(results(made, kinds, tensors)) for _ in range(draw(st.integers(2, 5)))]
    return graph, state, tensors, roots


@st.composite
def steps(draw: st.DrawFn, made: list[Drawn]) -> Drawn:
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
            return clipped(Drawn(expr, lambda state: x.value(state).sum(axes), shape))
        case "m":
            right = [
                y for y in made if len(y.shape) == 2 == len(x.shape) and y.shape[0] == x.shape[1]
            ]
            if right:
                y = draw(st.sampled_from(right))
                shape = (x.shape[0], y.shape[1])
                product = Drawn(
                    ops.matmul(x.expr, y.expr), lambda state: x.value(state) @ y.value(state), shape
                )
                return product if draw(st.booleans()) else clipped(product)
        case "a":
            y = draw(st.sampled_from([each for each in made if each.shape == x.shape]))
            return clipped(
                Drawn(x.expr + y.expr, lambda state: x.value(state) + y.value(state), x.shape)
            )
    return Drawn(-1 * x.expr, lambda state: -x.value(state), x.shape)


@st.composite
def results(
    draw: st.DrawFn, made: list[Drawn], kinds: list[str], tensors: dict[str, pl.Tensor]
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
@given(drawn=programs())
def test_interpreted(drawn: Any) -> None:
    check(drawn, [{"interpret": True, "checks": "strict", "options": values_only()}])


@deep
@examples(10)
@given(drawn=programs())
def test_compiled(drawn: Any) -> None:
    check(drawn, [{"checks": "strict"}, {"checks": "fast"}])
