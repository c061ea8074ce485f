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
    from poplite.ops.elementwise import gelu as gelu, relu as relu
    from poplite.ops.nn.attention import (
        Attention as Attention,
        AttentionGradient as AttentionGradient,
        AttentionSaved as AttentionSaved,
        AttentionWeights as AttentionWeights,
        multi_head_attention as multi_head_attention,
        multi_head_attention_gradient as multi_head_attention_gradient,
    )
    from poplite.ops.nn.normalisation import (
        ChannelNormGradient as ChannelNormGradient,
        ChannelStatistics as ChannelStatistics,
        LayerNormGradient as LayerNormGradient,
        batch_norm as batch_norm,
        batch_norm_gradient as batch_norm_gradient,
        batch_norm_inference as batch_norm_inference,
        batch_statistics as batch_statistics,
        group_norm as group_norm,
        group_norm_gradient as group_norm_gradient,
        instance_norm as instance_norm,
        instance_norm_gradient as instance_norm_gradient,
        layer_norm as layer_norm,
        layer_norm_gradient as layer_norm_gradient,
        running_statistics as running_statistics,
    )
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
    from poplite.ops.nn.recurrent_layers import (
        Gru as Gru,
        GruGradient as GruGradient,
        GruSaved as GruSaved,
        Lstm as Lstm,
        LstmGradient as LstmGradient,
        LstmSaved as LstmSaved,
        LstmState as LstmState,
        gru as gru,
        gru_gradient as gru_gradient,
        lstm as lstm,
        lstm_gradient as lstm_gradient,
    )
    from poplite.ops.nn.training import (
        AdamState as AdamState,
        adam as adam,
        adam_state as adam_state,
        binary_cross_entropy as binary_cross_entropy,
        binary_cross_entropy_gradient as binary_cross_entropy_gradient,
        cross_entropy as cross_entropy,
        cross_entropy_gradient as cross_entropy_gradient,
        gelu_erf_gradient as gelu_erf_gradient,
        gelu_gradient as gelu_gradient,
        hard_sigmoid as hard_sigmoid,
        hard_sigmoid_gradient as hard_sigmoid_gradient,
        log_softmax as log_softmax,
        log_softmax_gradient as log_softmax_gradient,
        relu_gradient as relu_gradient,
        sgd as sgd,
        sigmoid_gradient as sigmoid_gradient,
        softmax as softmax,
        softmax_gradient as softmax_gradient,
        squared_error as squared_error,
        squared_error_gradient as squared_error_gradient,
        swish_gradient as swish_gradient,
        tanh_gradient as tanh_gradient,
    )

__all__, __getattr__, __dir__ = _operations_on_use("ops.nn")
