"""popnn: pooling.

    popnn::pooling::pool(graph, params, in, prog, "pool", options)
    popnn.pool(graph, params, in_, prog, "pool", options)

Source: PopLibs, `popnn/Pooling.hpp`.
"""

from poplite.compat.popnn.pooling import (
    PoolingType as PoolingType,
    PoolParams as PoolParams,
    pool as pool,
)
