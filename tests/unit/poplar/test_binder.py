"""Arguments in the order of a declaration: which declaration is meant, and what our method gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.poplar.binder import Binder, DeclaredParameter, parameters_of
from poplite.poplar.declarations import Row, all_rows


class Ours:
    """A class with a method, which returns what it was given."""

    def add(self, shape: Any, name: str = "", *, mapping: Any = None) -> tuple[Any, ...]:
        """Return the arguments."""
        return shape, name, mapping

    def count(self) -> float:
        """Return a number that C++ declares whole."""
        return 3.0


def bound(*lines: tuple[str, str]) -> Binder:
    """Return a binder of declarations with what each is here."""
    return Binder(
        [Row("Ours", declaration, ours, "it is returned", "") for declaration, ours in lines]
    )


ADD = (
    (
        "T f(S shape, VariableMappingMethod m, const DebugContext &name = {})",
        "add(shape, name, mapping=m)",
    ),
    ("T f(S shape, const DebugContext &name = {})", "add(shape, name)"),
)


@pytest.mark.parametrize(
    ("arguments", "keywords", "passed"),
    [
        ((4,), {}, (4, "", None)),
        ((4, "x"), {}, (4, "x", None)),
        ((4, "LINEAR"), {}, (4, "", "linear")),
        ((4, pl.VariableMappingMethod.NONE, "x"), {}, (4, "x", None)),
        ((4,), {"name": "x", "mapping": 2}, (4, "x", 2)),
        ((), {"shape": 4}, (4, "", None)),
    ],
)
def test_the_first_declaration_that_fits_is_meant(
    arguments: tuple[Any, ...], keywords: dict[str, Any], passed: tuple[Any, ...]
) -> None:
    assert bound(*ADD).call(Ours(), arguments, keywords) == passed


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((4, "LINEAR"), {"mapping": 2}, "f: mapping in order, 'linear', and by name"),
        ((4, "x", 1, 2), {}, "f: 2 arguments too many"),
        ((), {}, "f: missing a required argument: 'shape'"),
        ((4,), {"nonsense": 1}, "f: got an unexpected keyword argument 'nonsense'"),
        ((4, "x", 3), {}, "f: m: 'x' is not in VariableMappingMethod"),
    ],
)
def test_what_fits_no_declaration_is_refused(
    arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(pl.PopliteError, match=message):
        bound(*ADD).call(Ours(), arguments, keywords)


def test_a_pointer_that_ours_does_not_take_is_refused_with_the_note() -> None:
    binder = bound(("bool count(T *result)", "count()"))
    assert binder.call(Ours(), (), {}) == 3
    with pytest.raises(
        pl.ElementTypeError, match=r"count: \[1\] where C\+\+ has a pointer, result"
    ) as caught:
        binder.call(Ours(), ([1],), {})
    assert (caught.value.found, caught.value.fix) == ("it is returned", "leave result out")


def test_results_are_whole_where_the_declaration_says_so() -> None:
    found = bound(("unsigned count() const", "count()")).call(Ours(), (), {})
    assert (found, type(found)) == (3, int)


def test_errors_of_our_method_are_its_own() -> None:
    class Failing:
        def add(self, shape: Any) -> None:
            raise TypeError("inside")

    with pytest.raises(TypeError, match="^inside$"):
        bound(("T f(S shape)", "add(shape)")).call(Failing(), (1,), {})


def test_parameters_are_read_with_types_names_and_defaults() -> None:
    text = 'V f(const std::map<unsigned, T> &m, T *p, const D &c = {"<const>"}, R r = R(1)) const'
    assert parameters_of(text) == (
        DeclaredParameter("std::map<unsigned, T>", "m", ""),
        DeclaredParameter("T *", "p", ""),
        DeclaredParameter("D", "c", '{"<const>"}'),
        DeclaredParameter("R", "r", "R(1)"),
    )


def test_every_declaration_can_be_read() -> None:
    for row in all_rows():
        assert row.member.isidentifier() or row.member.startswith("operator")
        for parameter in parameters_of(row.declaration):
            assert parameter.type
            assert parameter.name.isidentifier()
        if "(" in row.ours:
            Binder([row])


@pytest.mark.parametrize("truth", [False, np.bool_(False)])
def test_truth_values_of_python_and_numpy_choose_the_same_declaration(truth: Any) -> None:
    graph: Any = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    assert graph.getTileMapping(x, truth) == graph.tile_mapping(x)
