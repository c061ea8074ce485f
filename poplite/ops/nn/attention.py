"""Multi-head attention, with its gradients.

    q, k, v                     query @ Wq, key @ Wk, value @ Wv, each cut into heads
    shares                      softmax(q @ k.T / sqrt(depth)), for each head
    result                      (shares @ v, heads concatenated) @ Wo

Source: A. Vaswani et al., "Attention Is All You Need" (2017), 3.2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import poplite.ops.operands as checks
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError
from poplite.expr.build import as_expr, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor, check_own
from poplite.ops.elements import where
from poplite.ops.nn.training import softmax, softmax_gradient
from poplite.ops.operands import FLOATS, Given
from poplite.ops.products.matmul import matmul
from poplite.ops.record import map as stored, one_operation
from poplite.ops.slices.gather import as_tensor
from poplite.program import Sequence
from poplite.types import BOOL, FLOAT


class AttentionWeights(NamedTuple):
    """The weights of an attention, or gradients with respect to them.

    Attributes:
        query: [elements of a query, heads * depth].
        key: [elements of a key, heads * depth].
        value: [elements of a value, heads * width].
        output: [heads * width, elements of a result].

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> shapes = {"query": (6, 8), "key": (6, 8), "value": (6, 4), "output": (4, 6)}
    >>> w = {name: graph.add_variable(pl.FLOAT, shape, name) for name, shape in shapes.items()}
    >>> weights = pl.ops.nn.AttentionWeights(**w)  # for 2 heads, of depth 4 and width 2
    >>> weights.output.shape
    (4, 6)
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


class AttentionSaved(NamedTuple):
    """Values of an attention from which its gradients are computed.

    Attributes:
        query: [batch, queries, heads * depth].
        key: [batch, keys, heads * depth].
        value: [batch, keys, heads * width].
        shares: [batch, heads, queries, keys], the softmax, which sums to 1 along the keys.
        mixed: [batch, queries, heads * width].

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 5, 6), "x", mapping=0)
    >>> w = [graph.add_variable(pl.FLOAT, (6, 6), f"w{n}", mapping=0) for n in range(4)]
    >>> weights = pl.ops.nn.AttentionWeights(*w)
    >>> saved = pl.ops.nn.multi_head_attention(x, x, x, weights, 2, program=program).saved
    >>> saved.shares.shape, saved.mixed.shape
    ((1, 2, 5, 5), (1, 5, 6))
    """

    query: Tensor
    key: Tensor
    value: Tensor
    shares: Tensor
    mixed: Tensor


class Attention(NamedTuple):
    """The results of an attention.

    Attributes:
        result: [batch, queries, elements of a result].
        saved: values for `multi_head_attention_gradient`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 5, 6), "x", mapping=0)
    >>> w = [graph.add_variable(pl.FLOAT, (6, 6), f"w{n}", mapping=0) for n in range(4)]
    >>> weights = pl.ops.nn.AttentionWeights(*w)
    >>> pl.ops.nn.multi_head_attention(x, x, x, weights, 2, program=program).result.shape
    (1, 5, 6)
    """

    result: Tensor
    saved: AttentionSaved


class AttentionGradient(NamedTuple):
    """The gradients of an attention; for self-attention, the first three must be added.

    Attributes:
        query: gradient with respect to the queries.
        key: gradient with respect to the keys.
        value: gradient with respect to the values.
        weights: gradient with respect to the weights.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 5, 6), "x", mapping=0)
    >>> w = [graph.add_variable(pl.FLOAT, (6, 6), f"w{n}", mapping=0) for n in range(4)]
    >>> how = x, x, x, pl.ops.nn.AttentionWeights(*w), 2
    >>> made = pl.ops.nn.multi_head_attention(*how, program=program)
    >>> by = pl.ops.nn.multi_head_attention_gradient(*how, made, made.result, program=program)
    >>> (by.query + by.key + by.value).shape
    (1, 5, 6)
    """

    query: Tensor
    key: Tensor
    value: Tensor
    weights: AttentionWeights


def multi_head_attention(
    query: Operand,
    key: Operand,
    value: Operand,
    weights: AttentionWeights,
    heads: int,
    *,
    mask: Operand | None = None,
    name: str = "attention",
    program: Sequence | None = None,
) -> Attention:
    """Record a multi-head attention: each query takes a weighted mean of all values.

    With q, k and v the products of query, key and value with their weights, cut into heads, a head
    computes `softmax(q @ k.T / sqrt(depth)) @ v`, and the concatenated heads are multiplied by the
    weights of the output. Products and softmax of HALF are computed in FLOAT and rounded once.

    Args:
        query: [batch, queries, elements], FLOAT or HALF.
        key: [batch, keys, elements] of the type of the query, with at least one key.
        value: [batch, keys, elements] of the type of the query.
        weights: tensors of the type of the query; there are no biases.
        heads: number of heads; the columns of the weights are divided equally among them.
        mask: BOOL, of a shape that broadcasts to [batch, heads, queries, keys]: true for keys that
            a query sees. The result for a query that sees no keys is NaN.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        ElementTypeError: for elements that are not floats, or a mask that is not BOOL.
        TensorCreationError: for operands whose shapes or types do not match.
        InvalidOption: for a number of heads that does not divide the columns of the weights.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 2, 1), "x", mapping=0, initial_value=[[[2], [4]]])
    >>> w = [
    ...     graph.add_variable(pl.FLOAT, (1, 1), name, mapping=0, initial_value=number)
    ...     for name, number in (("wq", 0), ("wk", 1), ("wv", 1), ("wo", 10))
    ... ]
    >>> sees = pl.ops.iota((2, 1)) >= pl.ops.iota((2,))
    >>> made = multi_head_attention(
    ...     x, x, x, AttentionWeights(*w), 1, mask=sees, program=program
    ... )
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(made.result).tolist()
    [[[20.0], [30.0]]]
    """
    what = "ops.nn.multi_head_attention"
    call = _call(what, query, key, value, weights, heads, name, program)
    seen = None if mask is None else _mask(call, mask)
    with one_operation(call.graph, name, call.place):
        parts = [
            stored(matmul(as_tensor(x, role, None), w), name=f"{role}_heads")
            for role, x, w in zip(("query", "key", "value"), call.operands, weights, strict=False)
        ]
        q, k, v = (call.by_head(each) for each in parts)
        scores: Expr = matmul(q, _turned(k), result=FLOAT) * call.scale(q)
        if seen is not None:
            scores = where(seen, scores, -math.inf)
        shares = stored(cast(softmax(scores), query.element_type), name="shares")
        mixed = _heads_joined(stored(matmul(shares, v), name="mixed"))
        saved = AttentionSaved(parts[0], parts[1], parts[2], shares, mixed)
        result = stored(matmul(mixed, weights.output), name="result")
    return Attention(result, saved)


def multi_head_attention_gradient(
    query: Operand,
    key: Operand,
    value: Operand,
    weights: AttentionWeights,
    heads: int,
    forward: Attention,
    gradient: Operand,
    *,
    name: str = "attention_gradient",
    program: Sequence | None = None,
) -> AttentionGradient:
    """Record the gradients of an attention with respect to its operands and its weights.

    Args:
        query: as in `multi_head_attention`.
        key: as in `multi_head_attention`.
        value: as in `multi_head_attention`.
        weights: as in `multi_head_attention`.
        heads: as in `multi_head_attention`.
        forward: the result of `multi_head_attention` for these operands, with or without a mask.
        gradient: gradient with respect to the result, of its shape and type.
        name: name of the steps, and the prefix of the names of the results.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        TensorCreationError: for values that are not from `multi_head_attention`.
        whatever `multi_head_attention` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 5, 6), "x", mapping=0)
    >>> w = [graph.add_variable(pl.FLOAT, (6, 6), f"w{n}", mapping=0) for n in range(4)]
    >>> how = x, x, x, pl.ops.nn.AttentionWeights(*w), 2
    >>> made = pl.ops.nn.multi_head_attention(*how, program=program)
    >>> by = pl.ops.nn.multi_head_attention_gradient(*how, made, made.result, program=program)
    >>> by.query.shape, by.weights.output.shape
    ((1, 5, 6), (6, 6))
    """
    what = "ops.nn.multi_head_attention_gradient"
    call = _call(what, query, key, value, weights, heads, name, program)
    saved = _saved(call, weights, forward)
    asked = call.operand_of_type("gradient", gradient, forward.result.shape)
    with one_operation(call.graph, name, call.place):
        operands = [
            as_tensor(x, role, None)
            for role, x in zip(("query", "key", "value"), call.operands, strict=True)
        ]
        by_result = as_tensor(asked, "gradient", None)
        q, k, v = (call.by_head(each) for each in saved[:3])
        by_mixed = stored(matmul(by_result, weights.output.transpose()), name="by_mixed")
        by_head = call.by_head(by_mixed)
        by_shares = matmul(by_head, _turned(v), result=FLOAT)
        by_scores = softmax_gradient(cast(saved.shares, FLOAT), by_shares) * call.scale(q)
        scores = stored(cast(by_scores, query.element_type), name="by_scores")
        by_parts = [
            _heads_joined(stored(made, name=f"by_{role}_heads"))
            for role, made in (
                ("query", matmul(scores, k)),
                ("key", matmul(_turned(scores), q)),
                ("value", matmul(_turned(saved.shares), by_head)),
            )
        ]
        by_operands = [
            stored(matmul(part, w.transpose()), name=f"by_{role}")
            for role, part, w in zip(("query", "key", "value"), by_parts, weights, strict=False)
        ]
        pairs = zip((*operands, saved.mixed), (*by_parts, by_result), strict=True)
        by_weights = [
            stored(matmul(_rows(x).transpose(), _rows(by)), name=f"by_{role}_weights")
            for role, (x, by) in zip(weights._fields, pairs, strict=True)
        ]
    by_query, by_key, by_value = by_operands
    return AttentionGradient(by_query, by_key, by_value, AttentionWeights(*by_weights))


@frozen
class _Call:
    """A call with checked operands.

    Attributes:
        what: the call, for messages.
        graph: the graph of all tensors.
        operands: query, key and value.
        heads: number of heads.
        program: the argument of that name.
        place: where the steps go.
    """

    what: str
    graph: Graph
    operands: tuple[Given, Given, Given]
    heads: int
    program: Sequence | None
    place: Sequence

    def operand_of_type(self, role: str, x: object, shape: tuple[int, ...]) -> Given:
        """Return an operand of a shape and the type of the query, or raise."""
        like = "query", self.operands[0]
        return checks.operand_beside(self.what, self.graph, self.program, role, x, shape, like)

    def by_head(self, x: Tensor) -> Tensor:
        """Return a view [batch, heads, length, depth] of [batch, length, heads * depth]."""
        batch, length, columns = x.shape
        parted = x.reshape((batch, length, self.heads, columns // self.heads))
        return parted.dim_shuffle((0, 2, 1, 3))

    def scale(self, q: Tensor) -> float:
        """Return the scale of the scores; with a depth of 0, all scores are 0."""
        return 1 / math.sqrt(max(1, q.shape[3]))


def _heads_joined(x: Tensor) -> Tensor:
    """Return a view [batch, length, heads * depth] of [batch, heads, length, depth]."""
    batch, heads, length, depth = x.shape
    return x.dim_shuffle((0, 2, 1, 3)).reshape((batch, length, heads * depth))


def _turned(x: Tensor) -> Tensor:
    """Return transposed matrices."""
    return x.dim_shuffle((0, 1, 3, 2))


def _rows(x: Tensor) -> Tensor:
    return x.reshape((x.shape[0] * x.shape[1], x.shape[2]))


def _call(
    what: str,
    query: Operand,
    key: Operand,
    value: Operand,
    weights: object,
    heads: int,
    name: str,
    program: Sequence | None,
) -> _Call:
    """Return a call with its operands checked, except for masks and gradients."""
    given = tuple(checks.operand(what, each, program) for each in (query, key, value))
    for role, each in zip(("query", "key", "value"), given, strict=True):
        checks.check_type(what, each, FLOATS, role)
        if each.rank != 3:
            raise checks.unfit(what, role, each, f"{role} of shape [batch, length, elements]")
    if not isinstance(weights, AttentionWeights):
        fix = "ops.nn.AttentionWeights(query, key, value, output)"
        raise checks.wrong_kind(what, weights, "are not weights", fix)
    tensors = [
        checks.the_tensor(what, f"weights.{role}", each)
        for role, each in zip(weights._fields, weights, strict=True)
    ]
    for role, each in zip(weights._fields, tensors, strict=True):
        if each.rank != 2:
            raise checks.unfit(what, f"weights.{role}", each, "a matrix")
    count = checks.count_of(what, "heads", heads, 1)
    graph = checks.graph_of(what, tensors[0], program, *tensors, query, key, value)
    q, k, v = given
    call = _Call(
        what, graph, (q, k, v), count, program, checks.steps_for(what, graph, name, program)
    )
    batch, keys = q.shape[0], k.shape[1]
    call.operand_of_type("query", q, q.shape)
    call.operand_of_type("key", k, (batch, keys, k.shape[2]))
    call.operand_of_type("value", v, (batch, keys, v.shape[2]))
    if not keys:
        raise TensorCreationError(
            f"{what}: there are no keys",
            found=f"key {checks.called(k)} is {checks.described(k)}",
            fix="pass at least one key",
        )
    depth, width = tensors[0].shape[1], tensors[2].shape[1]
    shapes = (q.shape[2], depth), (k.shape[2], depth), (v.shape[2], width), (width, None)
    for role, each, (rows, columns) in zip(weights._fields, tensors, shapes, strict=True):
        call.operand_of_type(
            f"weights.{role}", each, (rows, each.shape[1] if columns is None else columns)
        )
        if role != "output" and each.shape[1] % count:
            raise InvalidOption(
                f"{what}: {each.shape[1]:,} columns of weights.{role} cannot be divided among "
                f"{count:,} heads",
                found=f"{checks.called(each)} is {checks.described(each)}",
                fix="pass a divisor of the number of columns",
            )
    return call


def _mask(call: _Call, mask: Operand) -> Operand:
    """Return a mask that fits the scores, or raise."""
    seen = as_expr(mask, f"{call.what}, mask")
    checks.check_closed(call.what, seen)
    for tensor in seen.leaves:
        check_own(call.graph, tensor, f"{call.what}, mask")
    if seen.element_type is not BOOL:
        raise ElementTypeError(
            f"{call.what}: the mask is {seen.element_type!r}",
            found=repr(seen),
            fix="pass BOOL, such as a comparison",
        )
    query, key, _ = call.operands
    shape = query.shape[0], call.heads, query.shape[1], key.shape[1]
    pairs = zip(seen.shape[::-1], shape[::-1], strict=False)
    if seen.rank > 4 or any(size not in (1, needed) for size, needed in pairs):
        raise TensorCreationError(
            f"{call.what}: the mask has shape {seen.shape}",
            found=repr(seen),
            fix=f"pass one that can be broadcast to {shape}: [batch, heads, queries, keys]",
        )
    return seen


def _saved(call: _Call, weights: AttentionWeights, forward: object) -> AttentionSaved:
    """Return the values that a forward pass saved, or raise."""
    if not isinstance(forward, Attention) or not isinstance(forward.saved, AttentionSaved):
        fault = "is not a result of ops.nn.multi_head_attention"
        fix = "forward = ops.nn.multi_head_attention(...)"
        raise checks.wrong_kind(call.what, forward, fault, fix)
    query, key, _ = call.operands
    batch, queries, keys = *query.shape[:2], key.shape[1]
    depth, width = weights.query.shape[1], weights.value.shape[1]
    saved = forward.saved
    shares = batch, call.heads, queries, keys
    for role, each, shape in (
        ("result", forward.result, (batch, queries, weights.output.shape[1])),
        ("saved.query", saved.query, (batch, queries, depth)),
        ("saved.key", saved.key, (batch, keys, depth)),
        ("saved.value", saved.value, (batch, keys, width)),
        ("saved.shares", saved.shares, shares),
        ("saved.mixed", saved.mixed, (batch, queries, width)),
    ):
        whose = f"forward.{role}"
        call.operand_of_type(whose, checks.the_tensor(call.what, whose, each), shape)
    return saved
