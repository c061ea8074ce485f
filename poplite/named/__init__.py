"""Named axes: tensors whose dimensions are objects, and expressions over them, on tiles.

For example:

    import poplite.named as ng
    H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
"""

from functools import partial as _partial
from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING

from poplite.named.along_axes import (
    L1_norm as L1_norm,
    L2_norm as L2_norm,
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    cross_entropy_binary as cross_entropy_binary,
    cross_entropy_multi as cross_entropy_multi,
    dot as dot,
    log_softmax as log_softmax,
    max as max,
    mean as mean,
    min as min,
    nmap as nmap,
    prod as prod,
    softmax as softmax,
    squared_L2 as squared_L2,
    sum as sum,
    take as take,
    variance as variance,
)
from poplite.named.axes import (
    Axes as Axes,
    Axis as Axis,
    AxisRole as AxisRole,
    FlattenedAxis as FlattenedAxis,
    make_axes as make_axes,
    make_axis as make_axis,
)
from poplite.named.changed_axes import (
    AxesMap as AxesMap,
    Namespace as Namespace,
    ar as ar,
    ax as ax,
    make_axis_role as make_axis_role,
)
from poplite.named.derivative import deriv as deriv
from poplite.named.description import TensorDescription as TensorDescription
from poplite.named.elementwise import (
    absolute as absolute,
    add as add,
    cast as cast,
    cos as cos,
    divide as divide,
    equal as equal,
    exp as exp,
    floordivide as floordivide,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    log as log,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    negative as negative,
    not_equal as not_equal,
    power as power,
    reciprocal as reciprocal,
    relu as relu,
    safelog as safelog,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sqrt as sqrt,
    square as square,
    stop_gradient as stop_gradient,
    strict as strict,
    subtract as subtract,
    tanh as tanh,
    where as where,
)
from poplite.named.layout import (
    Layout as Layout,
    column_major as column_major,
    row_major as row_major,
)
from poplite.named.op import (
    Op as Op,
    absent_name as _absent_function,
    metadata as metadata,
    unfit_call as _unfit_call,
)
from poplite.named.programs import (
    assign as assign,
    parallel as parallel,
    repeat as repeat,
    sequential as sequential,
    steps as steps,
)
from poplite.named.shaping import (
    axes_by_role as axes_by_role,
    axes_with_order as axes_with_order,
    broadcast as broadcast,
    cast_axes as cast_axes,
    cast_role as cast_role,
    concat as concat,
    expand_dims as expand_dims,
    flatten as flatten,
    map_roles as map_roles,
    one_hot as one_hot,
    pad as pad,
    slice_along_axis as slice_along_axis,
    stack as stack,
    tensor_slice as tensor_slice,
    unflatten as unflatten,
)
from poplite.named.tensors import (
    constant as constant,
    keep as keep,
    persistent_tensor as persistent_tensor,
    place as place,
    placeholder as placeholder,
    variable as variable,
)
from poplite.named.transformer import (
    Computation as Computation,
    Transformer as Transformer,
    make_transformer as make_transformer,
)
from poplite.public import checked_call as _checked_call, names_of

__all__ = names_of(globals())
for _name in __all__:
    if isinstance(globals()[_name], _FunctionType):
        globals()[_name] = _checked_call(
            globals()[_name], f"ng.{_name}", _partial(_unfit_call, f"ng.{_name}")
        )
if not TYPE_CHECKING:  # a type checker reports unknown names

    def __getattr__(name: str) -> object:
        raise _absent_function(__name__, name)


def __dir__() -> list[str]:
    return __all__
