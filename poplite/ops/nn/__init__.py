"""Building blocks of networks, as functions of tensors: `poplite.ops.nn`.

    logits = ops.map(hidden @ weights + bias)
    loss = ops.map(ops.mean(ops.nn.cross_entropy(logits, labels)))
    gradient = ops.map(ops.nn.cross_entropy_gradient(logits, labels) / len(labels))
    ops.nn.sgd(weights, hidden.T @ gradient, rate=0.1)

Functions return expressions, which fuse with those around them; `sgd`, `adam`, pooling, recurrent
layers, attention and `running_statistics` record steps. HALF is computed in FLOAT and rounded once.
A gradient function returns the gradient of the sum of the results, weighted by `gradient`.
"""

from typing import TYPE_CHECKING

from poplite.expr.numpy_names import operations_on_use as _operations_on_use

if TYPE_CHECKING:
    from poplite.ops.elements import gelu as gelu, relu as relu
    from poplite.ops.nn.attention import *  # noqa: F403
    from poplite.ops.nn.normalisation import *  # noqa: F403
    from poplite.ops.nn.pooling import (
        average_pool as average_pool,
        average_pool_gradient as average_pool_gradient,
        max_pool as max_pool,
        max_pool_gradient as max_pool_gradient,
        sum_pool as sum_pool,
        sum_pool_gradient as sum_pool_gradient,
    )
    from poplite.ops.nn.recurrent import (
        RecurrentPlan as RecurrentPlan,
        RecurrentWeights as RecurrentWeights,
        plan_gru as plan_gru,
        plan_lstm as plan_lstm,
    )
    from poplite.ops.nn.recurrent_layers import *  # noqa: F403
    from poplite.ops.nn.training import *  # noqa: F403

__all__, __getattr__, __dir__ = _operations_on_use("ops.nn")
