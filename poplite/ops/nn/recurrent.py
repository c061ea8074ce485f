"""Common parts of recurrent layers: the loop over a sequence, weights, plans.

    x [steps, ...]       each step is spread over all tiles, as by `create_sliceable`, so
                         that a step is read and written in place

The steps run in a loop, so the size of a program does not depend on their number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import poplite.ops.operands as checks
from poplite.errors import TensorCreationError, checked_truth, made_by
from poplite.expr.build import as_expr, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.frozen import frozen
from poplite.graph.graph import Graph, home_graph
from poplite.graph.partitioners import map_like
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.elements import where
from poplite.ops.loop_over_rows import sequence
from poplite.ops.operands import FLOATS, Given
from poplite.ops.products.convolution_request import float_type
from poplite.ops.products.matmul import MatMulPlan, plan_matmul
from poplite.ops.record import copy, map as stored
from poplite.ops.slices.grid import of_blocks
from poplite.program import Sequence
from poplite.program.control import check_graph
from poplite.text import clipped, of_type
from poplite.types import FLOAT, UNSIGNED_INT, ElementTypeLike, element_type


def running(lengths: Tensor | None, step: Tensor) -> Tensor | None:
    """Record a mask of the sequences that have a step, [batch, 1]; None if all have all steps."""
    if lengths is None:
        return None
    return stored(lengths.reshape((*lengths.shape, 1)) > step, name="running")


def if_running(run: Tensor | None, new: Operand, other: Operand | float) -> Expr:
    """Return `new` for sequences that run, and `other` for those that have ended."""
    return as_expr(new, "among") if run is None else where(run, new, other)


def masked_output(run: Tensor | None, h: Tensor) -> Tensor:
    """Record the outputs of a step, with zeros for sequences that have ended."""
    return h if run is None else stored(where(run, h, 0.0), name="shown")


def mapped_like(like: Tensor, name: str) -> Tensor:
    """Create a variable with the mapping of another tensor."""
    made = home_graph(like.graph, [like]).add_variable(like.element_type, like.shape, name)
    map_like(like.graph, made, like)
    return made


def wide(x: Operand) -> Expr:
    """Return an operand in FLOAT."""
    return cast(x, FLOAT)


# -- weights and plans -----------------------------------------------------------------------------
# Weights, plans, and the checks of a layer's operands.
#
# Weights have the gates along dimension 0. The product of a step is a matrix product::
#
#     x [batch, inputs] | h [batch, units]    times    input weights  [inputs, gates * units]
#                                                      output weights [units, gates * units]


class RecurrentWeights(NamedTuple):
    """The weights of a recurrent layer, or gradients with respect to them.

    Attributes:
        input: [gates, inputs, units], the factors of the inputs.
        output: [gates, units, units], the factors of the outputs of the previous step.
        bias: [gates, units]; for a GRU that resets after the product, [gates, 2, units].

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan = pl.ops.nn.plan_gru(graph, batch=8, inputs=3, units=16, reset_after=True)
    >>> [each.shape for each in plan.create_weights("w")]
    [(3, 3, 16), (3, 16, 16), (3, 2, 16)]
    """

    input: Tensor
    output: Tensor
    bias: Tensor


@made_by("ops.nn.plan_lstm(graph, ...), or ops.nn.plan_gru(graph, ...)")
class RecurrentPlan:
    """The best mapping of a recurrent layer's operands, from `plan_lstm` or `plan_gru`.

    Attributes:
        graph: the graph for which it was made.
        gates: 4 for an LSTM, 3 for a GRU.
        product: the plan of the product of a step; for a GRU, of the product for two gates.
        candidate: for a GRU, the plans of the products for its candidate: one plan for x and h
            together, or one for each with the reset after the product.

    >>> import poplite as pl
    >>> plan = pl.ops.nn.plan_gru(pl.Graph(pl.Target(tiles=4)), batch=8, inputs=3, units=16)
    >>> plan.gates, plan.product, len(plan.candidate)
    (3, <MatMulPlan 8 x 19 times 19 x 32, FLOAT with partials of FLOAT, 3 tiles>, 1)
    """

    graph: Graph
    gates: int
    product: MatMulPlan
    candidate: tuple[MatMulPlan, ...]

    def __init__(
        self,
        graph: Graph,
        sizes: tuple[int, int, int],
        gates: int,
        biases: int,
        product: MatMulPlan,
        candidate: tuple[MatMulPlan, ...] = (),
    ) -> None:
        self.graph, self.gates, self.product, self.candidate = graph, gates, product, candidate
        self._sizes, self._biases = sizes, biases

    def create_input(self, steps: int, name: str = "input") -> Tensor:
        """Create a variable for the inputs of a sequence: [steps, batch, inputs].

        Args:
            steps: number of steps of the sequence.
            name: name of the variable.

        Raises:
            SizeOverflowError: for a number of steps that is not a non-negative integer.
            TensorCreationError: for an invalid name.
        """
        count = checks.count_of("create_input", "steps", steps)
        element = self.product.layout.request.element_type
        return sequence(self.graph, element, (count, *self._sizes[:2]), name)

    def create_weights(self, name: str = "weights") -> RecurrentWeights:
        """Create the weights with the mapping that the products of a step use.

        Args:
            name: the prefix of the names of the variables.

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> weights = plan_lstm(graph, batch=8, inputs=3, units=16).create_weights("w")
        >>> weights.input.shape, weights.output.shape, weights.bias.shape
        ((4, 3, 16), (4, 16, 16), (4, 16))
        """
        _, inputs, units = self._sizes
        matrix = self.product.create_right(name)
        if self.candidate:
            columns = [plan.create_right(f"{name}/candidate") for plan in self.candidate]
            matrix = concat([matrix, concat(columns)], 1)
        made = parted(matrix, inputs, self.gates)
        shape = (self.gates, units) if self._biases == 1 else (self.gates, self._biases, units)
        element = self.product.layout.request.element_type
        bias = self.graph.add_variable(element, shape, f"{name}/bias", mapping="linear")
        return RecurrentWeights(*made, bias)


def plan_lstm(
    graph: Graph,
    *,
    batch: int,
    inputs: int,
    units: int,
    type: ElementTypeLike = FLOAT,  # noqa: A002
) -> RecurrentPlan:
    """Return the best mapping of the operands of an LSTM, for the product of one step.

    Args:
        graph: the graph in which the layer will run.
        batch: number of sequences that run at once.
        inputs: elements of a step of a sequence.
        units: elements of an output.
        type: element type of all operands, HALF or FLOAT.

    Raises:
        ControlProgramError: for an invalid graph.
        ElementTypeError: for types that the AMP unit does not multiply.
        InvalidOption: for a size that is not an integer; SizeOverflowError for a negative size.
        whatever `ops.plan_matmul` raises if no plan fits.

    >>> import poplite as pl
    >>> plan = plan_lstm(pl.Graph(pl.Target(tiles=4)), batch=8, inputs=3, units=16)
    >>> plan.create_input(20, "x").shape
    (20, 8, 3)
    """
    sizes = batch, inputs, units = _sizes("plan_lstm", graph, batch, inputs, units)
    element = float_type("plan_lstm", element_type(type))
    product = plan_matmul(graph, m=batch, k=inputs + units, n=4 * units, type=element)
    return RecurrentPlan(graph, sizes, 4, 1, product)


def plan_gru(
    graph: Graph,
    *,
    batch: int,
    inputs: int,
    units: int,
    reset_after: bool = False,
    type: ElementTypeLike = FLOAT,  # noqa: A002
) -> RecurrentPlan:
    """Return the best mapping of the operands of a GRU, for the products of one step.

    Args:
        graph: the graph in which the layer will run.
        batch: number of sequences that run at once.
        inputs: elements of a step of a sequence.
        units: elements of an output.
        reset_after: as in `ops.nn.gru`.
        type: element type of all operands, HALF or FLOAT.

    Raises:
        ControlProgramError: for an invalid graph.
        ElementTypeError: for types that the AMP unit does not multiply.
        InvalidOption: for a size that is not an integer; SizeOverflowError for a negative size.
        whatever `ops.plan_matmul` raises if no plan fits.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan_gru(graph, batch=8, inputs=3, units=16).create_weights().input.shape
    (3, 3, 16)
    """
    reset_after = checked_truth(reset_after, "plan_gru: reset_after")
    sizes = batch, inputs, units = _sizes("plan_gru", graph, batch, inputs, units)
    element, both = float_type("plan_gru", element_type(type)), inputs + units
    product = plan_matmul(graph, m=batch, k=both, n=2 * units, type=element)
    candidate = tuple(
        plan_matmul(graph, m=batch, k=rows, n=units, type=element)
        for rows in ((inputs, units) if reset_after else (both,))
    )
    return RecurrentPlan(graph, sizes, 3, 1 + reset_after, product, candidate)


def _sizes(what: str, graph: Graph, batch: int, inputs: int, units: int) -> tuple[int, int, int]:
    """Return the sizes of a layer, or raise."""
    check_graph(f"{what}(graph, batch=8, inputs=3, units=16)", graph)
    return (
        checks.count_of(what, "batch", batch),
        checks.count_of(what, "inputs", inputs),
        checks.count_of(what, "units", units),
    )


def parted(matrix: Tensor, inputs: int, gates: int) -> tuple[Tensor, Tensor]:
    """Return the input and output weights in one matrix, with the gates along dimension 0."""
    rows, columns = matrix.shape
    each = matrix.reshape((rows, gates, columns // gates)).dim_shuffle((1, 0, 2))
    return each[:, :inputs], each[:, inputs:]


@frozen
class Layer:
    """A call to a recurrent layer, with checked arguments.

    Attributes:
        what: the call, for messages.
        graph: the graph of all tensors.
        x: [steps, batch, inputs].
        weights: the argument of that name.
        name: name of the operation.
        program: the argument of that name.
        place: where the steps go.
    """

    what: str
    graph: Graph
    x: Given
    weights: RecurrentWeights
    name: str
    program: Sequence | None
    place: Sequence

    @property
    def element(self) -> ElementClass:
        """The type of all operands."""
        return self.x.element_type

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Steps, batch, inputs, units."""
        steps, batch, inputs = self.x.shape
        return steps, batch, inputs, self.weights.input.shape[2]

    @property
    def is_empty(self) -> bool:
        """Whether the outputs have no elements."""
        steps, batch, _, units = self.sizes
        return not steps * batch * units

    @property
    def matrix(self) -> Tensor:
        """All weights except for biases: [inputs + units, gates * units]."""
        return concat([of_blocks(self.weights.input), of_blocks(self.weights.output)])

    def lengths(self, lengths: Operand) -> Given:
        """Return the numbers of steps of the sequences, or raise."""
        made = checks.own_operand(self.what, self.graph, lengths, self.program, "lengths")
        if made.shape != self.x.shape[1:2] or made.element_type is not UNSIGNED_INT:
            fix = f"lengths of UNSIGNED_INT [{self.x.shape[1]}]: the steps of each sequence"
            found = f"x {checks.called(self.x)} is {checks.described(self.x)}"
            raise checks.unfit(self.what, "lengths", made, fix, found)
        checks.check_placed(made)
        return made

    def tensor(self, role: str, x: object, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor of the layer, or raise."""
        made = checks.the_tensor(self.what, role, x)
        self.operand_of_type(role, made, shape)
        return made

    def operand_of_type(self, role: str, x: object, shape: tuple[int, ...]) -> Given:
        """Return an operand of the layer, or raise."""
        like = "x", self.x
        return checks.operand_beside(self.what, self.graph, self.program, role, x, shape, like)


def outputs_before(h: Tensor, like: Tensor, outputs: Tensor) -> Tensor:
    """Record a copy of the initial output; return the outputs before each step."""
    first = mapped_like(like, "first")
    copy(h, first)
    return concat([first.reshape((1, *first.shape)), outputs])[: outputs.shape[0]]


def saved_of(call: Layer, forward: object, kind: type[Any], widths: dict[str, int]) -> Any:
    """Return the values of a forward pass, [steps, batch, width] for each role, or raise."""
    if not isinstance(forward, kind) or forward.saved is None:
        function = call.what.removesuffix("_gradient")
        raise TensorCreationError(
            f"{call.what}: {clipped(forward)} is not a result of {function} with saved values",
            found="inference=True" if isinstance(forward, kind) else of_type(forward),
            fix=f"forward = {function}(x, weights)",
        )
    for role, width in widths.items():
        shape = *call.sizes[:2], width
        call.tensor(f"forward.saved.{role}", getattr(forward.saved, role), shape)
    if forward.saved.lengths is not None:
        call.lengths(forward.saved.lengths)
    return forward.saved


def layer_of(
    what: str,
    x: Operand,
    weights: object,
    gates: int,
    biases: int,
    name: str,
    program: Sequence | None,
) -> Layer:
    """Return a call with its operands checked, except for state and gradients."""
    own = checks.operand(what, x, program)
    checks.check_type(what, own, FLOATS)
    if own.rank != 3:
        raise checks.unfit(what, "x", own, "x of shape [steps, batch, inputs]")
    if not isinstance(weights, RecurrentWeights):
        fix = "ops.nn.RecurrentWeights(input, output, bias)"
        raise checks.wrong_kind(what, weights, "are not weights", fix)
    first = checks.the_tensor(what, "weights.input", weights.input)
    if first.rank != 3:
        raise checks.unfit(what, "weights.input", first, f"[{gates}, {own.shape[2]}, units]")
    units = first.shape[2]
    graph = checks.graph_of(what, first, program, x, *weights)
    made = Layer(
        what, graph, own, weights, name, program, checks.steps_for(what, graph, name, program)
    )
    made.operand_of_type("x", own, own.shape)
    made.tensor("weights.input", first, (gates, own.shape[2], units))
    made.tensor("weights.output", weights.output, (gates, units, units))
    shape = (gates, units) if biases == 1 else (gates, biases, units)
    made.tensor("weights.bias", weights.bias, shape)
    return made
