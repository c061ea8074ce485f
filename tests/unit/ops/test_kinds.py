"""The lines of a fused vertex are of the kinds of number that their element types read as."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned
from poplite import ops
from poplite.compat import popops
from poplite.compat.popops.expr import Const, Lt, Shr, _1
from poplite.expr.build import apply
from poplite.expr.operations import OPERATIONS
from poplite.ops.fuse.classes import class_text
from poplite.ops.fuse.recipe import MapRecipe, OperandPart, straight
from poplite.testing.fuzz_integers import TYPES
from poplite.vertex.compute.arithmetic import Kind, element_kind
from poplite.vertex.compute.identity import check
from poplite.vertex.from_source import vertex_from_source

ALL_TYPES = (*TYPES, pl.FLOAT, pl.HALF)


def kind_of_line(expr: Any) -> Kind:
    """Return the kind of `v0` in the class that stores an expression of one operation."""
    lines = straight(expr, {})
    parts = (OperandPart.ELEMENTS,) * len(lines.tensors)
    text = class_text(MapRecipe(lines.body, parts, expr.element_type))
    checked = check(vertex_from_source(text.text, text.name))
    (line,) = [
        node.value
        for node in ast.walk(checked.text.tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "v0"
    ]
    return checked.facts.casts.get(line, checked.facts.kinds[line])


@pytest.mark.parametrize(
    "element", thinned(ALL_TYPES, [pl.LONGLONG, pl.UNSIGNED_LONGLONG, pl.HALF])
)
def test_every_operation_gives_the_kind_of_its_type(element: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    tensors: list[Any] = [graph.add_variable(element, (4,), name, mapping=0) for name in "abc"]
    predicate = graph.add_variable(pl.BOOL, (4,), "p", mapping=0)
    made = {f"cast to {to!r}": ops.cast(tensors[0], to) for to in ALL_TYPES if to is not element}
    for name, operation in OPERATIONS.items():
        if operation.text_for(element):
            operands = [*tensors[:2], predicate] if name == "select" else tensors[: operation.arity]
            made[name] = apply(name, *operands)
    wrong = {
        name: kind_of_line(expr)
        for name, expr in made.items()
        if kind_of_line(expr) is not element_kind(expr.element_type)
    }
    assert not wrong


def test_results_of_64_bits_stay_signed_or_unsigned() -> None:
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()

    def tensor(element: Any, *values: int) -> Any:
        return graph.add_variable(element, (len(values),), mapping=0, initial_value=values)

    a, b, both = tensor(pl.LONGLONG, -1), tensor(pl.LONGLONG, 5), tensor(pl.LONGLONG, -1, 5)
    u, v = tensor(pl.UNSIGNED_LONGLONG, 0), tensor(pl.UNSIGNED_LONGLONG, 7)
    x = tensor(pl.FLOAT, 2)
    rows: list[tuple[Any, Any]] = [
        (ops.minimum(a, ops.popcount(b)) < 0, [True]),
        ((a * ops.popcount(b)) // 2, [-1]),
        (ops.cast(a - ops.popcount(b), pl.FLOAT), [-3]),
        ((a - ops.count_leading_zeros(b)) // 2, [-31]),
        (ops.shift_right_logical(a, 0) // 2, [-1]),
        (ops.min(ops.shift_right_logical(both, 0)), -1),
        (ops.max(both - ops.popcount(both)), 3),
        ((ops.sign(u) - ops.sign(v)) // 2, [2**63 - 1]),
        ((ops.sign_popops(u) - ops.sign_popops(v)) // 2, [2**63 - 1]),
        (ops.exp(ops.sign_popops(x)) - 2.7182817459106445, [0]),
    ]
    found = [ops.map(expr, program=program) for expr, _ in rows]
    shifted = popops.map(graph, Lt(Shr(_1, Const(0)), Const(0)), [both], program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert [engine.read(each).tolist() for each in found] == [right for _, right in rows]
    assert engine.read(shifted).tolist() == [True, False]


def test_floats_beyond_2_63_are_cast_to_unsigned_integers() -> None:
    most, near = 2**64 - 1, int(np.float32(1.8e19))
    values = [2.0**63, near, 2.0**64 - 2.0**40, 2.0**64, 1e30, np.inf, -1.5, -np.inf, np.nan, 2.9]
    right = [2**63, near, 2**64 - 2**40, most, most, most, most, 2**63, 0, 2]
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    x: Any = graph.add_variable(pl.FLOAT, (10,), mapping=0, initial_value=values)
    one = ops.map(ops.cast(x, pl.UNSIGNED_LONGLONG), program=program)
    greatest = ops.map(ops.max(ops.cast(x, pl.UNSIGNED_LONGLONG)), program=program)
    for interpret in (True, False):
        options = {"debug.instrument": False}
        engine = pl.Engine(graph, program, interpret=interpret, options=options)
        engine.run()
        assert engine.read(one).tolist() == right
        assert engine.read(greatest) == most
