"""Operations over tensors: expressions, and the steps that store them.

    with graph.steps() as step:
        ops.assign(w, w - rate * gradient)           one vertex class, in place
        loss = ops.map(ops.sum((x - y) ** 2))        nothing of the size of x is stored

Operators of tensors and most functions here return an expression: a formula, which takes no time
and no memory on a device. `map`, `assign`, `lower`, `fill`, `zero`, `copy`, and `matmul` record
steps. Tensors may have any shape and lie on any tiles.
"""

from poplite.ops.arithmetic import (
    absolute as absolute,
)
from poplite.ops.arithmetic import (
    add as add,
)
from poplite.ops.arithmetic import (
    clamp as clamp,
)
from poplite.ops.arithmetic import (
    divide as divide,
)
from poplite.ops.arithmetic import (
    divide_trunc as divide_trunc,
)
from poplite.ops.arithmetic import (
    floor_divide as floor_divide,
)
from poplite.ops.arithmetic import (
    inv_std_dev_to_variance as inv_std_dev_to_variance,
)
from poplite.ops.arithmetic import (
    maximum as maximum,
)
from poplite.ops.arithmetic import (
    minimum as minimum,
)
from poplite.ops.arithmetic import (
    multiply as multiply,
)
from poplite.ops.arithmetic import (
    negative as negative,
)
from poplite.ops.arithmetic import (
    power as power,
)
from poplite.ops.arithmetic import (
    reciprocal as reciprocal,
)
from poplite.ops.arithmetic import (
    remainder as remainder,
)
from poplite.ops.arithmetic import (
    remainder_trunc as remainder_trunc,
)
from poplite.ops.arithmetic import (
    sign as sign,
)
from poplite.ops.arithmetic import (
    sign_popops as sign_popops,
)
from poplite.ops.arithmetic import (
    square as square,
)
from poplite.ops.arithmetic import (
    subtract as subtract,
)
from poplite.ops.arithmetic import (
    variance_to_inv_std_dev as variance_to_inv_std_dev,
)
from poplite.ops.bits import (
    bitwise_and as bitwise_and,
)
from poplite.ops.bits import (
    bitwise_not as bitwise_not,
)
from poplite.ops.bits import (
    bitwise_or as bitwise_or,
)
from poplite.ops.bits import (
    bitwise_xnor as bitwise_xnor,
)
from poplite.ops.bits import (
    bitwise_xor as bitwise_xor,
)
from poplite.ops.bits import (
    count_leading_zeros as count_leading_zeros,
)
from poplite.ops.bits import (
    popcount as popcount,
)
from poplite.ops.bits import (
    shift_left as shift_left,
)
from poplite.ops.bits import (
    shift_right as shift_right,
)
from poplite.ops.bits import (
    shift_right_logical as shift_right_logical,
)
from poplite.ops.choices import (
    arg as arg,
)
from poplite.ops.choices import (
    cast as cast,
)
from poplite.ops.choices import (
    iota as iota,
)
from poplite.ops.choices import (
    select as select,
)
from poplite.ops.choices import (
    where as where,
)
from poplite.ops.comparisons import (
    equal as equal,
)
from poplite.ops.comparisons import (
    greater as greater,
)
from poplite.ops.comparisons import (
    greater_equal as greater_equal,
)
from poplite.ops.comparisons import (
    is_finite as is_finite,
)
from poplite.ops.comparisons import (
    is_inf as is_inf,
)
from poplite.ops.comparisons import (
    is_nan as is_nan,
)
from poplite.ops.comparisons import (
    less as less,
)
from poplite.ops.comparisons import (
    less_equal as less_equal,
)
from poplite.ops.comparisons import (
    logical_and as logical_and,
)
from poplite.ops.comparisons import (
    logical_not as logical_not,
)
from poplite.ops.comparisons import (
    logical_or as logical_or,
)
from poplite.ops.comparisons import (
    logical_xor as logical_xor,
)
from poplite.ops.comparisons import (
    not_equal as not_equal,
)
from poplite.ops.control import (
    if_ as if_,
)
from poplite.ops.control import (
    repeat as repeat,
)
from poplite.ops.control import (
    switch as switch,
)
from poplite.ops.control import (
    together as together,
)
from poplite.ops.control import (
    while_ as while_,
)
from poplite.ops.fuse.lowering import Note as Note
from poplite.ops.fuse.lowering import Root as Root
from poplite.ops.mathematics import (
    acos as acos,
)
from poplite.ops.mathematics import (
    asin as asin,
)
from poplite.ops.mathematics import (
    atan as atan,
)
from poplite.ops.mathematics import (
    atan2 as atan2,
)
from poplite.ops.mathematics import (
    cbrt as cbrt,
)
from poplite.ops.mathematics import (
    ceil as ceil,
)
from poplite.ops.mathematics import (
    cos as cos,
)
from poplite.ops.mathematics import (
    cosh as cosh,
)
from poplite.ops.mathematics import (
    erf as erf,
)
from poplite.ops.mathematics import (
    erfc as erfc,
)
from poplite.ops.mathematics import (
    exp as exp,
)
from poplite.ops.mathematics import (
    exp2 as exp2,
)
from poplite.ops.mathematics import (
    expm1 as expm1,
)
from poplite.ops.mathematics import (
    floor as floor,
)
from poplite.ops.mathematics import (
    gelu as gelu,
)
from poplite.ops.mathematics import (
    gelu_erf as gelu_erf,
)
from poplite.ops.mathematics import (
    log as log,
)
from poplite.ops.mathematics import (
    log1p as log1p,
)
from poplite.ops.mathematics import (
    log2 as log2,
)
from poplite.ops.mathematics import (
    log10 as log10,
)
from poplite.ops.mathematics import (
    relu as relu,
)
from poplite.ops.mathematics import (
    round as round,
)
from poplite.ops.mathematics import (
    round_half_away as round_half_away,
)
from poplite.ops.mathematics import (
    rsqrt as rsqrt,
)
from poplite.ops.mathematics import (
    sigmoid as sigmoid,
)
from poplite.ops.mathematics import (
    sin as sin,
)
from poplite.ops.mathematics import (
    sinh as sinh,
)
from poplite.ops.mathematics import (
    sqrt as sqrt,
)
from poplite.ops.mathematics import (
    swish as swish,
)
from poplite.ops.mathematics import (
    tan as tan,
)
from poplite.ops.mathematics import (
    tanh as tanh,
)
from poplite.ops.mathematics import (
    trunc as trunc,
)
from poplite.ops.matmul.grid import MatMulPlan as MatMulPlan
from poplite.ops.matmul.matmul import create_matmul_input_lhs as create_matmul_input_lhs
from poplite.ops.matmul.matmul import create_matmul_input_rhs as create_matmul_input_rhs
from poplite.ops.matmul.matmul import matmul as matmul
from poplite.ops.matmul.plan import plan_matmul as plan_matmul
from poplite.ops.record import (
    assign as assign,
)
from poplite.ops.record import (
    explain as explain,
)
from poplite.ops.record import (
    lower as lower,
)
from poplite.ops.record import (
    map as map,
)
from poplite.ops.reduce.reduce import reduce as reduce
from poplite.ops.reductions import (
    all as all,
)
from poplite.ops.reductions import (
    any as any,
)
from poplite.ops.reductions import (
    max as max,
)
from poplite.ops.reductions import (
    mean as mean,
)
from poplite.ops.reductions import (
    min as min,
)
from poplite.ops.reductions import (
    prod as prod,
)
from poplite.ops.reductions import (
    sum as sum,
)
from poplite.ops.steps import (
    copy as copy,
)
from poplite.ops.steps import (
    fill as fill,
)
from poplite.ops.steps import (
    zero as zero,
)
