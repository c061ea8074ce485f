"""Recorded updates of parameters by their gradients.

Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2014), algorithm 1; I.
Loshchilov, F. Hutter, "Decoupled weight decay regularization" (2017), for `decay`.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.build import as_expr, cast
from poplite.expr.operand import Operand
from poplite.graph.graph import home_graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.elementwise import sqrt
from poplite.ops.fuse.storing import Root
from poplite.ops.operands import check_name, invalid_value
from poplite.ops.record import lower
from poplite.program import Sequence
from poplite.types import FLOAT


def sgd(
    parameter: Tensor,
    gradient: Operand,
    rate: Operand | float,
    *,
    velocity: Tensor | None = None,
    momentum: Operand | float = 0.9,
    decay: Operand | float = 0.0,
    name: str = "sgd",
    program: Sequence | None = None,
) -> Tensor:
    """Record a step of gradient descent: `w -= rate * (g + decay * w)`.

    With a velocity, it is `v = momentum * v + g + decay * w`, then `w -= rate * v`.

    Args:
        parameter: w, FLOAT or HALF.
        gradient: g, a tensor of the shape of the parameter.
        rate: a number, or a scalar of FLOAT that the program or the host may change.
        velocity: v, FLOAT of the shape of the parameter, whose initial value should be 0; by
            default, there is no momentum.
        momentum: the factor by which the velocity is multiplied in each step.
        decay: the multiple of the parameter that is added to its gradient.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The parameter.

    Raises:
        ElementTypeError: for a parameter that is not a tensor of floats.
        TensorCreationError: for a gradient or a velocity of a different shape.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> w = graph.add_variable(pl.FLOAT, (2,), "w", mapping="linear", initial_value=[1, -3])
    >>> _ = sgd(w, 2 * w, rate=0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(w)
    array([ 0.5, -1.5], dtype=float32)
    """
    check_name("ops.nn.sgd", name)
    w, g = _operands(parameter, gradient, "ops.nn.sgd")
    if not _is_zero(decay):
        g = g + decay * w
    roots = []
    if velocity is not None:
        _check_state(parameter, velocity, "velocity", "ops.nn.sgd")
        roots.append(Root(momentum * velocity + g, velocity, name=f"{name}/velocity"))
        g = as_expr(velocity, "ops.nn.sgd")
    changed = cast(w - rate * g, parameter.element_type)
    lower(parameter.graph, [*roots, Root(changed, parameter, name=name)], program)
    return parameter


class AdamState(NamedTuple):
    """The state of Adam for a parameter, with the initial values of `adam_state`.

    Attributes:
        first: running mean of gradients, FLOAT of the shape of the parameter.
        second: running mean of the squares of gradients, FLOAT of the shape of the parameter.
        shares: FLOAT[2], the weight of the gradients in each mean, as opposed to its initial 0.

    >>> import poplite as pl
    >>> w = pl.Graph(pl.Target(tiles=2)).add_variable(pl.HALF, (6,), "w", mapping="linear")
    >>> [(each.element_type, each.shape) for each in pl.ops.nn.adam_state(w)]
    [(FLOAT, (6,)), (FLOAT, (6,)), (FLOAT, (2,))]
    """

    first: Tensor
    second: Tensor
    shares: Tensor


def adam_state(parameter: Tensor, name: str = "") -> AdamState:
    """Create the state of Adam for a parameter: variables with the mapping of the parameter.

    Args:
        parameter: a tensor of floats.
        name: name of the variables; by default, that of the parameter.

    Raises:
        ElementTypeError: for a parameter that is not a tensor of floats.
        InvalidTileMapping: if an element of the parameter is not mapped to a tile.

    >>> import poplite as pl
    >>> w = pl.Graph(pl.Target(tiles=2)).add_variable(pl.HALF, (6,), "w", mapping="linear")
    >>> adam_state(w).second
    <Tensor 'w/second' float32[6] on 2 tiles (0-1), 24 B>
    """
    _operands(parameter, parameter, "ops.nn.adam_state")
    check_name("ops.nn.adam_state", name)
    name = name or parameter.name
    mapping = parameter.graph.tile_mapping(parameter)
    tile = int(mapping.tiles[0]) if len(mapping.tiles) else 0
    graph, shape = home_graph(parameter.graph, [parameter]), parameter.shape
    first, second, shares = (
        graph.add_variable(FLOAT, sizes, f"{name}/{each}", initial_value=0)
        for each, sizes in (("first", shape), ("second", shape), ("shares", (2,)))
    )
    for made, where in ((first, mapping), (second, mapping), (shares, tile)):
        parameter.graph.set_tile_mapping(made, where)
    return AdamState(first, second, shares)


def adam(
    parameter: Tensor,
    gradient: Operand,
    state: AdamState,
    rate: Operand | float = 1e-3,
    *,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    decay: Operand | float = 0.0,
    name: str = "adam",
    program: Sequence | None = None,
) -> Tensor:
    """Record a step of Adam: a gradient step whose size depends on how the gradients vary.

    With the running means m and v of gradients and of their squares, corrected for their initial
    zeros, `w -= rate * (m / (sqrt(v) + epsilon) + decay * w)`.

    Args:
        parameter: w, FLOAT or HALF.
        gradient: a tensor of the shape of the parameter.
        state: the result of `adam_state` for the parameter.
        rate: a number, or a scalar of FLOAT that the program or the host may change.
        betas: the factors by which the two running means are multiplied in each step.
        epsilon: a number added to the root.
        decay: the multiple of the parameter that is subtracted from it, times the rate.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The parameter.

    Raises:
        InvalidOption: for a state that is not from `adam_state`, or betas that are not a pair.
        whatever `sgd` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> w = graph.add_variable(pl.FLOAT, (2,), "w", mapping="linear", initial_value=[1, -3])
    >>> _ = adam(w, 2 * w, adam_state(w), rate=0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(w)
    array([ 0.75, -2.75], dtype=float32)
    """
    check_name("ops.nn.adam", name)
    w, g = _operands(parameter, gradient, "ops.nn.adam")
    if not isinstance(state, AdamState):
        raise invalid_value("ops.nn.adam", "state", state, f"ops.nn.adam_state({parameter.name})")
    first, second, shares = state
    for tensor, role in ((first, "state.first"), (second, "state.second")):
        _check_state(parameter, tensor, role, "ops.nn.adam")
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise invalid_value(
            "ops.nn.adam", "betas", betas, "two numbers, such as betas=(0.9, 0.999)"
        )
    one, other = betas
    change = first / shares[0] / (sqrt(second / shares[1]) + epsilon)
    if not _is_zero(decay):
        change = change + decay * w
    roots = [
        Root(one * shares[0] + (1 - one), shares[0], name=f"{name}/share"),
        Root(other * shares[1] + (1 - other), shares[1], name=f"{name}/share"),
        Root(one * first + (1 - one) * g, first, name=f"{name}/first"),
        Root(other * second + (1 - other) * (g * g), second, name=f"{name}/second"),
        Root(cast(w - rate * change, parameter.element_type), parameter, name=name),
    ]
    lower(parameter.graph, roots, program)
    return parameter


def _operands(parameter: Tensor, gradient: Operand, called: str) -> tuple[Operand, Operand]:
    """Return a parameter and its gradient in FLOAT."""
    if not isinstance(parameter, Tensor):
        raise no_tensor(f"{called}, parameter", parameter)
    if not parameter.element_type.is_floating_point:
        raise ElementTypeError(
            f"{called}: parameter '{parameter.name}' is {parameter.element_type!r}",
            fix="pass a parameter of pl.FLOAT or pl.HALF",
        )
    operand = as_expr(gradient, f"{called}, gradient")
    if operand.shape != parameter.shape:
        raise TensorCreationError(
            f"{called}: the gradient has shape {operand.shape}, but '{parameter.name}' has "
            f"{parameter.shape}",
            found=repr(operand),
            fix="use ops.sum along the dimensions that the parameter was broadcast over",
        )
    return cast(parameter, FLOAT), cast(operand, FLOAT)


def _check_state(parameter: Tensor, state: Tensor, role: str, called: str) -> None:
    if not isinstance(state, Tensor):
        raise no_tensor(f"{called}, {role}", state)
    if state.element_type is not FLOAT or state.shape != parameter.shape:
        raise TensorCreationError(
            f"{called}: {role} '{state.name}' is {type_and_shape(state)}",
            fix=f"pass FLOAT of shape {parameter.shape}, mapped like '{parameter.name}'",
        )


def _is_zero(value: Operand | float) -> bool:
    return isinstance(value, int | float) and value == 0
