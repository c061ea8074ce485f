"""Calls of `poplite.ops` and its rooms, and of operators."""

# ruff: noqa: E501  # one line a call reads as the table that it is

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import numpy as np

import poplite as pl
from poplite import ops
from poplite.ops import nn

CALLS = """
ops.absolute(x)
ops.acos(x)
ops.add(x, y)
ops.all(flags, [0], keepdims=True)
ops.any(flags, [0], keepdims=True)
ops.arg(0)
ops.argmax(x, 1, keepdims=True)
ops.argmin(x, 1, keepdims=True)
ops.argsort(x, 1, descending=True, name="n", program=prog)
ops.asin(x)
ops.assign(y, x * 2, name="n", program=prog)
ops.atan(x)
ops.atan2(x, y)
ops.bitwise_and(k, 3)
ops.bitwise_not(k)
ops.bitwise_or(k, k)
ops.bitwise_xnor(k, k)
ops.bitwise_xor(k, k)
ops.cast(x, pl.HALF)
ops.cbrt(x)
ops.ceil(x)
ops.clamp(x, 0.0, 1.0)
ops.clip(x, 0.0, 1.0)
ops.concatenate([x, y], 1)
ops.stack([x, y], 1)
x.sum(1, keepdims=True)
x.mean(1, keepdims=True)
x.max(1, keepdims=True)
x.min(1, keepdims=True)
x.astype(pl.HALF)
ops.convolution(acts, kernels, plan, stride=[1], padding=[(0, 0)], dilation=[1], input_dilation=[1], groups=1, flip=[False], memory=0.5, name="n", program=prog)
ops.convolution_input_gradient(conv, kernels, (5,), stride=1, padding=0, dilation=1, input_dilation=1, groups=1, flip=False, memory=0.5, name="n", program=prog)
ops.convolution_weights_gradient(conv, acts, (2,), stride=1, padding=0, dilation=1, input_dilation=1, groups=1, flip=False, memory=0.5, name="n", program=prog)
ops.copy(x, y, name="n", program=prog)
ops.cos(x)
ops.cosh(x)
ops.count_leading_zeros(k)
ops.create_sliceable(graph, pl.FLOAT, (10, 6), [0], [1], "n")
ops.bincount(k, 5, x, out_of_range="error", name="n", program=prog)
ops.has_nan(x)
ops.has_nan_or_inf(x)
ops.histogram(x, 3, (0, 1), name="n", program=prog)
ops.histogram(x, [0, 1, 2], name="n", program=prog)
ops.searchsorted(v, x, "left", name="n", program=prog)
ops.reduce_window(x, [2, 2], "add", stride=[1, 1], padding=[(0, 1), 0], name="n", program=prog)
ops.cumulative_max(x, 1, name="n", program=prog)
ops.cumulative_product(x, 1, exclusive=True, name="n", program=prog)
ops.cumulative_sum(x, 1, exclusive=True, name="n", program=prog)
ops.divide(x, y)
ops.divide_trunc(k, 2)
ops.dynamic_slice(table, rows[:1], [0], [1], out_of_range="error", name="n", program=prog)
ops.dynamic_update(table, table[:1] * 2, rows[:1], [0], [1], out_of_range="error", name="n", program=prog)
ops.einsum("ij,kj->ik", x, y, name="n", program=prog)
ops.einsum_gradient("ij,j->i", w, x, v, of=1, name="n", program=prog)
ops.tensordot(x, y, ([1], [1]), name="n", program=prog)
ops.embedding(table, rows, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.equal(x, y)
ops.erf(x)
ops.erfc(x)
ops.exp(x)
ops.exp2(x)
ops.explain(made)
ops.expm1(x)
ops.fill(y, 1.5, name="n", program=prog)
ops.flip(x, [0])
ops.diag(square, 1)
ops.diag(v, 1)
ops.eye(4, 6, 1, pl.FLOAT)
ops.hypot(x, y)
ops.logaddexp(x, y)
ops.meshgrid(v, w, indexing="xy")
ops.std(x, [0], ddof=1, keepdims=True)
ops.floor(x)
ops.floor_divide(k, 2)
ops.gelu(x)
ops.gelu_erf(x)
ops.greater(x, y)
ops.greater_equal(x, y)
entered(ops.if_(flag))
ops.inv_std_dev_to_variance(x, 0.1)
ops.iota((2, 3), pl.INT, start=1)
ops.is_finite(x)
ops.is_inf(x)
ops.is_nan(x)
ops.less(x, y)
ops.less_equal(x, y)
ops.log(x)
ops.log10(x)
ops.log1p(x)
ops.log2(x)
ops.log_sum_exp(x, [0], keepdims=True)
ops.logical_and(flags, flags)
ops.logical_not(flags)
ops.logical_or(flags, flags)
ops.logical_xor(flags, flags)
ops.lower(graph, [x + y], prog)
ops.lower(graph, [ops.Root(x + y, y, None, "n")], prog)
ops.Root(x + y, y, None, "n")
ops.map(x + y, [], out=y, name="n", program=prog)
ops.map(ops.arg(0) + ops.arg(1), [x, y], mapping="linear", program=prog)
ops.matmul(x, x.T, product)
ops.matmul(x, x.T, partials=pl.FLOAT, result=pl.FLOAT, memory=0.5, constraints={"pm": 2})
ops.max(x, [0], keepdims=True)
ops.maximum(x, y)
ops.mean(x, [0], keepdims=True)
ops.min(x, [0], keepdims=True)
ops.minimum(x, y)
ops.multi_slice(table, rows, 0, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.multi_update(table, table[:4] * 2, rows, 0, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.multi_update_add(table, table[:4] * 2, rows, 0, scale=2.0, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.multi_update_max(table, table[:4] * 2, rows, 0, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.multi_update_mul(table, table[:4] * 2, rows, 0, plan=table_plan, out_of_range="error", name="n", program=prog)
ops.multiply(x, y)
ops.negative(x)
ops.norm(x, [0], ord=2, keepdims=True)
ops.not_equal(x, y)
ops.one_hot(rows, 8, on=2, off=1, dtype=pl.FLOAT, out_of_range="error", name="n", program=prog)
ops.outer(v, v)
ops.pad(x, [(0, 1), (1, 0)], "constant", value=1.0)
ops.plan_convolution(graph, batch=2, field=(5,), inputs=4, outputs=3, kernel=(2,), stride=1, padding=0, dilation=1, input_dilation=1, groups=1, flip=False, type=pl.FLOAT, memory=0.5, expand=None)
ops.plan_embedding(graph, entries=10, width=6, lookups=4, type=pl.FLOAT, used_for="both", memory=0.5, columns=1)
ops.plan_matmul(graph, m=4, k=6, n=4, groups=1, type=pl.FLOAT, partials=pl.FLOAT, result=pl.FLOAT, memory=0.5, constraints={})
ops.plan_sparse_matmul(graph, pattern, 4, pl.FLOAT)
ops.popcount(k)
ops.power(x, 2)
ops.prod(x, [0], keepdims=True)
ops.reciprocal(x)
ops.reduce(x, [0], "add", keepdims=True, scale=2.0, update=v)
ops.reduce_many([("add", x, [0]), ops.max(x, 1)], [v, w], name="n", program=prog)
ops.reduce_many([("add", x, [0])], mapping="linear", name="n", program=prog)
ops.relu(x)
ops.remainder(k, 3)
ops.remainder_trunc(k, 3)
entered(ops.repeat(3))
ops.repeat_elements(x, 2, 0)
ops.roll(x, [1], [0])
ops.round(x)
ops.round_half_away(x)
ops.rsqrt(x)
ops.scan(lambda h, x: (h, x), v, None, length=2, reverse=True, name="n", program=prog)
ops.select(x, y, flags)
ops.select_from_rows(x, rows, out_of_range="error", name="n", program=prog)
ops.shift_left(k, 1)
ops.shift_right(k, 1)
ops.shift_right_logical(k, 1)
ops.sigmoid(x)
ops.sign(x)
ops.sign_popops(x)
ops.sin(x)
ops.sinh(x)
ops.softplus(x)
ops.sort(x, 1, descending=True, name="n", program=prog)
ops.sort_key_value(x, y, 1, descending=True, name="n", program=prog)
ops.sparse_matmul(pattern, values, w, transpose=False, name="n", program=prog)
ops.sparse_matmul_gradient(pattern, w, w, name="n", program=prog)
ops.sqrt(x)
ops.sqrt_trunc(k)
ops.square(x)
ops.subtract(x, y)
ops.sum(x, [0], keepdims=True)
ops.swish(x)
entered(ops.switch(n))
ops.take_along_axis(x, k, 1, name="n", program=prog)
ops.tan(x)
ops.tanh(x)
ops.tile(x, [2, 1])
entered(ops.together())
ops.top_k(x, 2, 1, largest=True, sorted=True, name="n", program=prog)
ops.transpose(x * 2, [1, 0], name="n", program=prog)
ops.tril(x, 1)
ops.triu(x, 1)
ops.trunc(x)
ops.unique_sorted(v, name="n", program=prog)
ops.update_from_rows(x, rows, by=2, out_of_range="error", name="n", program=prog)
ops.variance(x, [0], ddof=1, keepdims=True)
ops.variance_to_inv_std_dev(x, 0.1)
ops.where(flags, x, 0.0)
entered(ops.while_(flag))
ops.zero(y, name="n", program=prog)
ops.SparsePattern((4, 6), [0, 1, 1, 2, 2], [3, 4])
ops.SparsePattern.of(matrix)
ops.ConvolutionPlan(graph, plan.request)
plan.create_input("n")
plan.create_weights("n")
ops.EmbeddingPlan(graph, table_plan.table, 4, 1, None, None, ())
table_plan.create_table("n", initial_value=0)
table_plan.create_updates("n", initial_value=0)
ops.MatMulPlan(graph, product.layout)
product.create_left("n")
product.create_right("n")
product.create_output("n")
ops.SparsePlan(graph, sparse_plan.layout)
sparse_plan.create_values("n", initial_value=0)
ops.random.bernoulli(key, (4,), 0.5, element_type=pl.BOOL, name="n", program=prog)
ops.random.dropout(key, x, 0.5, out=y, name="n", program=prog)
ops.random.dropout_gradient(key, x, 0.5, out=y, name="n", program=prog)
ops.random.integers(key, (4,), 0, 5, element_type=pl.INT, mapping="linear", name="n", program=prog)
ops.random.key(graph, 3, "n", tile=1)
ops.random.normal(key, (4,), 0.0, 1.0, element_type=pl.FLOAT, mapping="linear", name="n", program=prog)
ops.random.truncated_normal(key, (4,), 0.0, 1.0, 2.0, element_type=pl.FLOAT, mapping=1, name="n", program=prog)
ops.random.uniform(key, None, 0.0, 1.0, out=y, name="n", program=prog)
ops.random.uniform(key, (4,), 0.0, 1.0, element_type=pl.FLOAT, mapping="linear", name="n", program=prog)
ops.linalg.cholesky(square, lower=True, block=2, name="n", program=prog)
ops.linalg.inverse(square, block=2, name="n", program=prog)
ops.linalg.lu(square, block=2, name="n", program=prog)
ops.linalg.qr(square, complete=True, block=2, name="n", program=prog)
ops.linalg.triangular_mask(square, lower=True, unit_diagonal=True)
ops.linalg.triangular_solve(square, square, left=True, lower=True, unit_diagonal=True, block=2, name="n", program=prog)
nn.adam(x, y, adam, 0.1, betas=(0.9, 0.99), epsilon=1e-8, decay=0.1, name="n", program=prog)
nn.adam_state(x, "n")
nn.average_pool(acts, [2], stride=[1], padding=[0], name="n", program=prog)
nn.average_pool_gradient(pooled, (5,), [2], stride=[1], padding=[0], name="n", program=prog)
nn.batch_norm(acts, c, c, 1e-5)
nn.batch_norm_gradient(acts, acts, c, 1e-5)
nn.batch_norm_inference(acts, c, c, c, c, 1e-5)
nn.batch_statistics(acts)
nn.binary_cross_entropy(x, y)
nn.binary_cross_entropy_gradient(x, y)
nn.cross_entropy(x, rows, ignored=3)
nn.cross_entropy_gradient(x, rows, ignored=3)
nn.gelu(x)
nn.gelu_erf_gradient(x, y)
nn.gelu_gradient(x, y)
nn.group_norm(acts, 2, c, c, 1e-5)
nn.group_norm_gradient(acts, acts, 2, c, 1e-5)
nn.gru(sequence, gru_weights, output, reset_after=False, lengths=lengths, inference=False, name="n", program=prog)
nn.gru_gradient(sequence, gru_weights, gru, outputs, by_output=output, reset_after=False, name="n", program=prog)
nn.hard_sigmoid(x)
nn.hard_sigmoid_gradient(x, y)
nn.instance_norm(acts, c, c, 1e-5)
nn.instance_norm_gradient(acts, acts, c, 1e-5)
nn.layer_norm(x, v, v, 1e-5)
nn.layer_norm_gradient(x, y, v, 1e-5)
nn.log_softmax(x, 1)
nn.log_softmax_gradient(x, y, 1)
nn.lstm(sequence, lstm_weights, lstm_state, lengths=lengths, inference=False, name="n", program=prog)
nn.lstm_gradient(sequence, lstm_weights, lstm, outputs, by_state=lstm_state, name="n", program=prog)
nn.max_pool(acts, [2], stride=[1], padding=[(0, 0)], name="n", program=prog)
nn.max_pool_gradient(pooled, acts, pooled, [2], stride=[1], padding=[(0, 0)], name="n", program=prog)
nn.multi_head_attention(sequence, sequence, sequence, attention_weights, 2, mask=mask, name="n", program=prog)
nn.multi_head_attention_gradient(sequence, sequence, sequence, attention_weights, 2, attention, sequence, name="n", program=prog)
nn.plan_gru(graph, batch=2, inputs=4, units=3, reset_after=True, type=pl.FLOAT)
nn.plan_lstm(graph, batch=2, inputs=4, units=3, type=pl.FLOAT)
lstm_plan.create_input(3, "n")
lstm_plan.create_weights("n")
nn.relu(x)
nn.relu_gradient(x, y)
nn.running_statistics(acts, c, c2, momentum=0.1, name="n", program=prog)
nn.sgd(x, y, 0.1, velocity=z, momentum=0.9, decay=0.1, name="n", program=prog)
nn.sigmoid_gradient(x, y)
nn.softmax(x, 1)
nn.softmax_gradient(x, y, 1)
nn.squared_error(x, y)
nn.squared_error_gradient(x, y)
nn.sum_pool(acts, [2], stride=[1], padding=[0], name="n", program=prog)
nn.sum_pool_gradient(pooled, (5,), [2], stride=[1], padding=[0], name="n", program=prog)
nn.swish_gradient(x, y)
nn.tanh_gradient(x, y)
pl.graph_function(ops.map, inout=())(x)
pl.counted_loop(graph, 0, 3, 1, prog, name="n")
pl.counted_loop(graph, end, end, 1, lambda i: prog)
"""

OPERATORS = """
add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge
"""
"""Binary operators, which take a tensor, an expression or the index of a loop on either side."""


def calls() -> list[str]:
    """Return the calls, one a function or more."""
    lines = CALLS.strip().splitlines()
    for name in OPERATORS.split():
        for operand in ("x", "k", "(x * 2)", "flags", "index"):
            lines.append(f"operator.{name}({operand}, {operand})")
    return lines


class Rows:
    """A matrix in compressed rows, as SciPy has them."""

    shape, indptr, indices, format = (2, 3), np.array([0, 1, 2]), np.array([2, 0]), "csr"


def entered(manager: AbstractContextManager[Any]) -> Any:
    """Enter a block, and leave it without steps."""
    with manager as value:
        return value


class _Left(Exception):
    """Ends the loop of a world without its steps."""


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    """Give the names that the calls use, made anew, within a loop of an open block."""
    graph = pl.Graph(pl.Target(tiles=4))
    prog = pl.Sequence()

    def variable(kind: Any, *shape: int, name: str = "t") -> pl.Tensor:
        return graph.add_variable(
            kind, shape, name, mapping="linear", initial_value=kind is pl.BOOL or 1
        )

    x, y, z = (variable(pl.FLOAT, 4, 6, name=name) for name in "xyz")
    v, w, table = (variable(pl.FLOAT, *shape) for shape in ((6,), (4,), (10, 6)))
    k, flags = variable(pl.INT, 4, 6, name="k"), variable(pl.BOOL, 4, 6, name="flags")
    rows, n, flag = variable(pl.INT, 4, name="rows"), variable(pl.INT), variable(pl.BOOL)
    square, end, matrix = variable(pl.FLOAT, 4, 4), variable(pl.UNSIGNED_INT), Rows()
    acts, kernels, conv = (variable(pl.FLOAT, *s) for s in ((2, 4, 5), (3, 4, 2), (2, 3, 4)))
    pooled, c, c2 = (variable(pl.FLOAT, *shape) for shape in ((2, 4, 4), (4,), (4,)))
    key = ops.random.key(graph, 7)
    pattern = ops.SparsePattern((4, 4), [0, 1, 1, 2, 2], [3, 1])
    values = variable(pl.FLOAT, 2)
    plan = ops.plan_convolution(graph, batch=2, field=(5,), inputs=4, outputs=3, kernel=(2,))
    table_plan = ops.plan_embedding(graph, entries=10, width=6, lookups=4)
    product = ops.plan_matmul(graph, m=4, k=6, n=4)
    sparse_plan = ops.plan_sparse_matmul(graph, pattern, 1)
    adam = nn.adam_state(x)
    sequence, lengths, outputs = (
        variable(pl.FLOAT, 3, 2, 4),
        variable(pl.UNSIGNED_INT, 2),
        variable(pl.FLOAT, 3, 2, 3),
    )
    output, mask = variable(pl.FLOAT, 2, 3), variable(pl.BOOL, 2, 2)
    lstm_plan = nn.plan_lstm(graph, batch=2, inputs=4, units=3)
    gru_weights = nn.plan_gru(graph, batch=2, inputs=4, units=3).create_weights()
    lstm_weights, lstm_state = (
        lstm_plan.create_weights(),
        nn.LstmState(output, variable(pl.FLOAT, 2, 3)),
    )
    lstm = nn.lstm(sequence, lstm_weights, program=prog)
    gru = nn.gru(sequence, gru_weights, program=prog)
    attention_weights = nn.AttentionWeights(*[variable(pl.FLOAT, 4, 4) for _ in range(4)])
    attention = nn.multi_head_attention(
        sequence, sequence, sequence, attention_weights, 2, program=prog
    )
    made = ops.map(x * 2, program=prog)
    names = {**locals(), "pl": pl, "ops": ops, "nn": nn, "operator": operator, "entered": entered}
    with suppress(_Left), graph.steps(), ops.repeat(3) as index:
        yield {**names, "index": index}
        raise _Left  # calls make programs of their own, which a loop that ends would refuse


NOT_OURS = frozenset({"entered"})
