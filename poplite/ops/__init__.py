"""Operations over tensors: expressions, and the steps that store them.

For example:

    with graph.steps() as step:
        ops.assign(w, w - rate * gradient)           one vertex class, in place
        loss = ops.map(ops.sum((x - y) ** 2))        nothing of the size of x is stored

Operators on tensors and most functions here return an expression: a formula, which takes no time
or memory on a device. `map`, `assign`, `lower`, `fill`, `zero`, `copy`, `sort`, `top_k`,
`convolution` and others that take `program=` record steps; `roll`, `pad`, `tile` and
`repeat_elements` return views. Tensors may have any shape and any mapping.
"""

from typing import TYPE_CHECKING

from poplite.expr.numpy_names import operations_on_use as _operations_on_use

if TYPE_CHECKING:
    from poplite.ops import linalg as linalg, nn as nn, random as random
    from poplite.ops.bins import (
        bincount as bincount,
        histogram as histogram,
        searchsorted as searchsorted,
    )
    from poplite.ops.control import (
        if_ as if_,
        repeat as repeat,
        switch as switch,
        together as together,
        while_ as while_,
    )
    from poplite.ops.elements import *  # noqa: F403
    from poplite.ops.elements import concatenate as concatenate, stack as stack
    from poplite.ops.fuse.recipe import Note as Note
    from poplite.ops.fuse.storing import Root as Root
    from poplite.ops.loop_over_rows import scan as scan
    from poplite.ops.products.convolution import *  # noqa: F403
    from poplite.ops.products.convolution_plan import (
        ConvolutionPlan as ConvolutionPlan,
        plan_convolution as plan_convolution,
    )
    from poplite.ops.products.einsum import (
        einsum as einsum,
        einsum_gradient as einsum_gradient,
        tensordot as tensordot,
    )
    from poplite.ops.products.matmul import (
        MatMulPlan as MatMulPlan,
        matmul as matmul,
        outer as outer,
        plan_matmul as plan_matmul,
    )
    from poplite.ops.record import (
        assign as assign,
        copy as copy,
        explain as explain,
        fill as fill,
        lower as lower,
        map as map,
        zero as zero,
    )
    from poplite.ops.reductions.expressions import (
        all as all,
        any as any,
        argmax as argmax,
        argmin as argmin,
        has_nan as has_nan,
        has_nan_or_inf as has_nan_or_inf,
        log_sum_exp as log_sum_exp,
        max as max,
        mean as mean,
        min as min,
        norm as norm,
        prod as prod,
        reduce as reduce,
        reduce_many as reduce_many,
        std as std,
        sum as sum,
        variance as variance,
    )
    from poplite.ops.reductions.windows import reduce_window as reduce_window
    from poplite.ops.rows import (
        cumulative_max as cumulative_max,
        cumulative_product as cumulative_product,
        cumulative_sum as cumulative_sum,
        top_k as top_k,
        unique_sorted as unique_sorted,
    )
    from poplite.ops.slices.choice import (
        EmbeddingPlan as EmbeddingPlan,
        plan_embedding as plan_embedding,
    )
    from poplite.ops.slices.dynamic import (
        create_sliceable as create_sliceable,
        dynamic_slice as dynamic_slice,
        dynamic_update as dynamic_update,
        multi_update as multi_update,
        multi_update_add as multi_update_add,
        multi_update_max as multi_update_max,
        multi_update_mul as multi_update_mul,
    )
    from poplite.ops.slices.gather import (
        embedding as embedding,
        multi_slice as multi_slice,
        one_hot as one_hot,
        select_from_rows as select_from_rows,
        update_from_rows as update_from_rows,
    )
    from poplite.ops.sorting import (
        argsort as argsort,
        sort as sort,
        sort_key_value as sort_key_value,
        take_along_axis as take_along_axis,
    )
    from poplite.ops.sparse import (
        SparsePattern as SparsePattern,
        SparsePlan as SparsePlan,
        plan_sparse_matmul as plan_sparse_matmul,
        sparse_matmul as sparse_matmul,
        sparse_matmul_gradient as sparse_matmul_gradient,
    )

__all__, __getattr__, __dir__ = _operations_on_use("ops")
