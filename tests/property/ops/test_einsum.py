"""Sums of products by labels, against NumPy; whole numbers, so that no order loses a bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned, values_only
from helpers.running import both_forms
from poplite import ops

Array = npt.NDArray[Any]

EXPRESSIONS: dict[str, list[tuple[int, ...]]] = {
    **{"ij,jk->ik": [(4, 5), (5, 6)], "ij,jk->ki": [(4, 5), (5, 6)], "ij,jk": [(2, 0), (0, 3)]},
    **{"ii": [(4, 4)], "iij->ji": [(4, 4, 3)], "ji->ij": [(2, 3)], "ij->": [(3, 4)]},
    **{"ij,ij": [(1, 3), (2, 3)], "i,i": [(0,), (1,)], "i,j": [(3,), (4,)], ",": [(), ()]},
    **{"...ij,...jk": [(3, 2, 3, 4), (2, 4, 5)], "i...->...": [(4, 2, 3)]},
    **{"bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "ijkl,lkab->abij": [(2, 3, 4, 5), (5, 4, 2, 3)]},
    **{"aij,j->i": [(3, 4, 5), (5,)], "ij,jk,kl,l->i": [(3, 4), (4, 5), (5, 6), (6,)]},
    **{"ijk,ilm,njm,nlk->": [(2, 3, 4), (2, 3, 2), (3, 3, 2), (3, 3, 4)]},
    **{
        "ij,kl->jlik": [(2, 3), (2, 2)],
        " b A , A c -> b c ": [(2, 3), (3, 2)],
        "ii,ii->i": [(3, 3)] * 2,
    },
}


def whole(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    found: Array = np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)
    return found


def computed(
    record: Callable[..., pl.Tensor], values: list[Array], *, interpret: bool = True, tiles: int = 5
) -> Array:
    """Return what steps on tensors compute."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    given = [
        graph.add_variable(each.dtype, each.shape, f"x{k}", mapping="linear", initial_value=each)
        for k, each in enumerate(values)
    ]
    with graph.steps() as steps:
        result = record(*given)
    engine = pl.Engine(graph, steps, interpret=interpret, options=values_only())
    engine.run()
    return engine.read(result)


def same(found: Array, expected: Any) -> None:
    assert found.shape == np.shape(expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("expression", thinned([*EXPRESSIONS], keep=6))
def test_expressions_are_those_of_numpy(expression: str, dtype: str) -> None:
    values = [whole(k, shape, dtype) for k, shape in enumerate(EXPRESSIONS[expression])]
    wide = [each.astype(np.float64) if dtype == "float16" else each for each in values]
    expected = np.einsum(expression, *wide)
    same(computed(lambda *x: ops.einsum(expression, *x), values), expected.astype(dtype))


@both_forms
def test_both_forms_have_equal_bits(interpret: bool) -> None:
    rng = np.random.default_rng(1)
    values = [rng.normal(size=s).astype(np.float32) for s in ((6, 7), (7, 5), (5,))]
    found = computed(lambda *x: ops.einsum("ij,jk,k->i", *x), values, interpret=interpret)
    again = computed(lambda *x: ops.einsum("ij,jk,k->i", *x), values, interpret=True)
    assert found.tobytes() == again.tobytes()
    np.testing.assert_allclose(found, np.einsum("ij,jk,k->i", *values), rtol=1e-4, atol=1e-4)


def test_expressions_are_operands_too() -> None:
    values = [whole(0, (3, 4), "float32"), whole(1, (4, 2), "float32")]
    found = computed(lambda a, b: ops.einsum("ij,jk->ki", a * 2, b + 1), values)
    same(found, np.einsum("ij,jk->ki", values[0] * 2, values[1] + 1))


@st.composite
def drawn(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Draw an expression of up to three operands, and their shapes."""
    sizes = {label: draw(st.integers(0, 4)) for label in "abcde"}
    labels = [draw(st.text("abcde", max_size=3)) for _ in range(draw(st.integers(1, 3)))]
    shapes = []
    for own in labels:
        ones = draw(st.sets(st.sampled_from("abcde"), max_size=1))
        shapes.append(tuple(1 if label in ones else sizes[label] for label in own))
    if draw(st.booleans()):
        return ",".join(labels), shapes
    shown = sorted({*"".join(labels)})
    output = draw(st.permutations(shown).map("".join)) if shown else ""
    return f"{','.join(labels)}->{output[: draw(st.integers(0, 5))]}", shapes


@examples(100)
@given(drawn(), st.integers(0, 100))
def test_drawn_expressions(case: tuple[str, list[tuple[int, ...]]], seed: int) -> None:
    expression, shapes = case
    values = [whole(seed + k, shape, "int32") for k, shape in enumerate(shapes)]
    expected = np.einsum(expression, *values)
    same(computed(lambda *x: ops.einsum(expression, *x), values), expected)
    values = [each.astype(np.float32) for each in values]
    same(computed(lambda *x: ops.einsum(expression, *x), values), expected.astype(np.float32))


@examples(60)
@given(drawn(), st.integers(0, 100))
def test_drawn_gradients(case: tuple[str, list[tuple[int, ...]]], seed: int) -> None:
    """The sum of products is linear in each operand, so differences are exact."""
    expression, shapes = case
    values = [whole(seed + k, shape, "float32") for k, shape in enumerate(shapes)]
    of = seed % len(values)
    gradient = whole(seed, np.shape(np.einsum(expression, *values)), "float32")
    expected = np.zeros(shapes[of], np.float32)
    for index in np.ndindex(*shapes[of]):
        unit = np.zeros(shapes[of], np.float32)
        unit[index] = 1
        moved = [unit if k == of else each for k, each in enumerate(values)]
        expected[index] = (np.einsum(expression, *moved) * gradient).sum()
    found = computed(
        lambda g, *x: ops.einsum_gradient(expression, g, *x, of=of), [gradient, *values]
    )
    same(found, expected)


@pytest.mark.parametrize(
    "axes", [0, 1, 2, ([1, 2], [1, 0]), ([-1], [0]), (2, 0), ([], []), ([0, 1], [2, 1])]
)
def test_tensordot_is_that_of_numpy(axes: Any) -> None:
    a, b = whole(0, (3, 4, 4), "float32"), whole(1, (4, 4, 3), "float32")
    same(computed(lambda x, y: ops.tensordot(x, y, axes), [a, b]), np.tensordot(a, b, axes))


def test_the_order_is_chosen_by_size_and_explained() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b, v = (
        graph.add_variable(pl.FLOAT, shape, name, mapping="linear")
        for name, shape in (("a", (20, 30)), ("b", (30, 40)), ("v", (40,)))
    )
    with graph.steps():
        result = ops.einsum("ij,jk,k->i", a, b, v)
        view = ops.einsum("ij->ji", a)
    lines = ops.explain(result).splitlines()
    assert lines[0] == "multiplied: jk,k->j of 'b' and 'v' (product 1 of 2, 1,200 multiplications)"
    assert any(line.startswith("multiplied: ij,j->i of 'a'") for line in lines)
    assert view == a.T
    assert [each.name for each in graph.operations] == ["einsum"]


GRAPH = pl.Graph(pl.Target(tiles=2))
A, B = (GRAPH.add_variable(pl.FLOAT, (2, 3), name, mapping=0) for name in "ab")
WHOLE = GRAPH.add_variable(pl.INT, (2, 3), "whole", mapping=0)
TRUE = GRAPH.add_variable(pl.BOOL, (2, 3), "true", mapping=0)

REFUSED: dict[str, tuple[Callable[[Any], object], type[pl.PopliteError], str]] = {
    "text": (lambda p: ops.einsum(3, A, program=p), pl.InvalidOption, "3 is not text"),  # type: ignore[arg-type]
    "none": (lambda p: ops.einsum("", program=p), pl.InvalidOption, "there are no operands"),
    "count": (lambda p: ops.einsum("ij", A, B, program=p), pl.InvalidOption, "1 operand; found 2"),
    "digit": (lambda p: ops.einsum("i1", A, program=p), pl.InvalidOption, "'i1', which is not"),
    "rank": (lambda p: ops.einsum("i", A, program=p), pl.InvalidOption, "'i' for an operand of"),
    "dots": (lambda p: ops.einsum("...i->i", A, program=p), pl.InvalidOption, "no '...' in the"),
    "twice": (lambda p: ops.einsum("ij->ii", A, program=p), pl.InvalidOption, "'i' .*, twice"),
    "unknown": (lambda p: ops.einsum("ij->k", A, program=p), pl.InvalidOption, "no operand has"),
    "sizes": (
        lambda p: ops.einsum("ij,jk", A, B, program=p),
        pl.TensorCreationError,
        "label 'j' pairs a dimension of size 3 with one of size 2",
    ),
    "diagonal": (
        lambda p: ops.einsum("ii", A[:1], program=p),
        pl.TensorCreationError,
        "label 'i' pairs a dimension of size 1 with one of size 3",
    ),
    "types": (lambda p: ops.einsum("ij,ij", A, WHOLE, program=p), pl.ElementTypeError, "is INT"),
    "bool": (lambda p: ops.einsum("ij", TRUE, program=p), pl.ElementTypeError, "'true' is BOOL"),
    "dot sizes": (
        lambda p: ops.tensordot(A, B, 1, program=p),
        pl.TensorCreationError,
        "axes=1 pairs a dimension of size 3 with one of size 2",
    ),
    "dot count": (lambda p: ops.tensordot(A, B, 3, program=p), pl.SizeOverflowError, "axes is 3"),
    "dot lists": (
        lambda p: ops.tensordot(A, B, ([0, 1], [0]), program=p),
        pl.InvalidOption,
        "axes is",
    ),
    "dot twice": (
        lambda p: ops.tensordot(A, B, ([0, 0], [0, 1]), program=p),
        pl.InvalidOption,
        "axes is",
    ),
    "dot dimension": (
        lambda p: ops.tensordot(A, B, ([2], [0]), program=p),
        pl.TensorIndexError,
        "dimension 2",
    ),
    "gradient": (
        lambda p: ops.einsum_gradient("ij->i", A, B, program=p),
        pl.TensorCreationError,
        "gradient 'a' is",
    ),
    "of": (
        lambda p: ops.einsum_gradient("ij->ij", A, B, of=1, program=p),
        pl.SizeOverflowError,
        "of",
    ),
    "whole": (
        lambda p: ops.einsum_gradient("ij->ij", WHOLE, WHOLE, program=p),
        pl.ElementTypeError,
        "INT",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_do_not_fit_are_refused(case: str) -> None:
    call, error, text = REFUSED[case]
    program = pl.Sequence()
    variables, operations = len(GRAPH.variables), len(GRAPH.operations)
    with pytest.raises(error, match=text):
        call(program)
    assert (len(GRAPH.variables), len(GRAPH.operations)) == (variables, operations)
    assert program.is_empty
