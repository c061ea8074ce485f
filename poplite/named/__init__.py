"""Named axes: tensors whose dimensions are objects, and expressions over them, on tiles.

import poplite.named as ng
H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
"""

from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING

from poplite.named.axes.axes import Axes as Axes, make_axes as make_axes
from poplite.named.axes.axis import Axis as Axis, make_axis as make_axis
from poplite.named.axes.flattened import FlattenedAxis as FlattenedAxis
from poplite.named.axes.roles import (
    AxesMap as AxesMap,
    AxisRole as AxisRole,
    Namespace as Namespace,
    make_axis_role as make_axis_role,
)
from poplite.named.axes.standard import ar as ar, ax as ax
from poplite.named.derivative import deriv as deriv
from poplite.named.description.description import TensorDescription as TensorDescription
from poplite.named.description.layout import (
    Layout as Layout,
    column_major as column_major,
    row_major as row_major,
)
from poplite.named.effects.items import (
    assign as assign,
    parallel as parallel,
    repeat as repeat,
    sequential as sequential,
)
from poplite.named.effects.recorded import steps as steps
from poplite.named.ops.elementwise import (
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
from poplite.named.ops.joining import (
    concat as concat,
    one_hot as one_hot,
    pad as pad,
    stack as stack,
)
from poplite.named.ops.keeping import keep as keep, place as place
from poplite.named.ops.lifting import nmap as nmap
from poplite.named.ops.losses import (
    cross_entropy_binary as cross_entropy_binary,
    cross_entropy_multi as cross_entropy_multi,
    log_softmax as log_softmax,
    softmax as softmax,
)
from poplite.named.ops.numbered import take as take
from poplite.named.ops.op import Op as Op, metadata as metadata
from poplite.named.ops.other_names import absent_function as _absent_function
from poplite.named.ops.reducing import (
    L1_norm as L1_norm,
    L2_norm as L2_norm,
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    dot as dot,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    squared_L2 as squared_L2,
    sum as sum,
    variance as variance,
)
from poplite.named.ops.shaping import (
    axes_by_role as axes_by_role,
    axes_with_order as axes_with_order,
    broadcast as broadcast,
    cast_axes as cast_axes,
    cast_role as cast_role,
    expand_dims as expand_dims,
    flatten as flatten,
    map_roles as map_roles,
    unflatten as unflatten,
)
from poplite.named.ops.slicing import (
    slice_along_axis as slice_along_axis,
    tensor_slice as tensor_slice,
)
from poplite.named.ops.tensors import (
    constant as constant,
    persistent_tensor as persistent_tensor,
    placeholder as placeholder,
    variable as variable,
)
from poplite.named.transform.computation import Computation as Computation
from poplite.named.transform.transformer import (
    Transformer as Transformer,
    make_transformer as make_transformer,
)
from poplite.public import checked_call as _checked_call, names_of

__all__ = names_of(globals())
for _name in __all__:
    if isinstance(globals()[_name], _FunctionType):
        globals()[_name] = _checked_call(globals()[_name], f"ng.{_name}")
if not TYPE_CHECKING:  # for which an unknown name is an error

    def __getattr__(name: str) -> object:
        raise _absent_function(__name__, name)


def __dir__() -> list[str]:
    return __all__
