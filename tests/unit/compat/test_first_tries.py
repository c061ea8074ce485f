"""Spellings of PopLibs that are nearly right: they work, or say which call was meant."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import arguments, poplin, popops
from poplite.compat.popops import expr as pe


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def variable(graph: pl.Graph, name: str, values: Any = (1, -2, 3)) -> pl.Tensor:
    shape = np.shape(values)
    return graph.add_variable(pl.FLOAT, shape, name, mapping="linear", initial_value=values)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda g, a, s: popops.cast(g, a, a, s), "popops.castWithOutput, "),
        (
            lambda g, a, s: popops.reduce(g, a, a, [0], popops.Operation.ADD, s),
            "popops.reduceWithOutput, ",
        ),
        (
            lambda g, a, s: popops.map(g, pe._1 + 1, [a], a, s),
            "popops.mapWithOutput, ",
        ),
        (lambda g, a, s: popops.add(g, a, a, a, s), "the program right before the name, "),
    ],
)
def test_a_program_behind_an_output_names_the_call_that_takes_one(
    graph: pl.Graph, call: Callable[..., object], meant: str
) -> None:
    with pytest.raises(pl.ElementTypeError, match="debug_context is <Sequence") as caught:
        call(graph, variable(graph, "a"), pl.Sequence())
    assert caught.value.fix.startswith(meant)


def test_every_form_with_an_output_that_is_named_exists() -> None:
    modules = {"popops": popops, "poplin": poplin}
    for name in arguments.HAVE_OUTPUTS:
        library, function = name.split(".")
        assert hasattr(modules[library], function)
        assert hasattr(modules[library], f"{function}WithOutput")


def test_a_map_takes_its_operation_by_name(graph: pl.Graph) -> None:
    a, b = variable(graph, "a"), variable(graph, "b", (4, 5, 6))
    prog = pl.Sequence()
    made = [
        popops.map(graph, "ADD", a, b, prog),
        popops.map(graph, "SQUARE", a, prog),
        popops.map(graph, "CLAMP", a, b, b, prog),
    ]
    popops.mapInPlace(graph, "NEGATE", b, prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    found = [engine.read(each).tolist() for each in (*made, b)]
    assert found == [[5, 3, 9], [1, 4, 9], [4, 5, 6], [-4, -5, -6]]


def test_the_method_of_a_mapping_goes_by_name(graph: pl.Graph) -> None:
    assert len(graph.tile_mapping(graph.addVariable(pl.FLOAT, [4], "LINEAR", "a")).tiles) == 2
    nameless = graph.addVariable(pl.FLOAT, [4], "LINEAR")
    assert nameless.name != "LINEAR"
    assert len(graph.tile_mapping(nameless).tiles) == 2
    assert "on no tile" in repr(graph.addVariable(pl.FLOAT, [4], "NONE", "b"))
    assert graph.addVariable(pl.FLOAT, [4], "c").name == "c"
    assert graph.addVariable(pl.FLOAT, [4], name="LINEAR").name == "LINEAR"
    with pytest.raises(pl.ElementTypeError, match=r"'LINAER' is no VariableMap.*mean 'LINEAR'"):
        graph.addVariable(pl.FLOAT, [4], "LINAER", "d")  # type: ignore[call-overload]


def test_powers_and_absolute_values_of_placeholders(graph: pl.Graph) -> None:
    a, prog = variable(graph, "a"), pl.Sequence()
    made = [popops.map(graph, each, [a], prog) for each in (pe._1**2, 2**pe._1, abs(pe._1))]
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    assert [engine.read(each).tolist() for each in made] == [[1, 4, 9], [2, 0.25, 8], [1, 2, 3]]


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (lambda a: a // 2, "Floor(a / b)"),
        (lambda a: 2 // a, "Floor(a / b)"),
        (lambda a: divmod(a, 2), "a % b"),
        (lambda a: a @ a, "poplin.matMul"),
        (operator.pos, "the operand itself"),
        (round, "NearbyInt(a)"),
        (lambda a: a[0], "use views of the tensors"),
        (list, "use views of the tensors"),
        (float, "engine.read("),
    ],
)
def test_operators_without_a_meaning_say_what_to_write(
    function: Callable[[Any], object], instead: str
) -> None:
    with pytest.raises(pl.ElementTypeError, match="is not defined for expressions") as caught:
        function(pe._1)
    assert instead in caught.value.fix
