"""Named axes: tensors whose dimensions are objects, and expressions over them, on tiles.

import poplite.named as ng
H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
"""

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
