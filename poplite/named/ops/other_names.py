"""Names of other libraries: what does the same here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from poplite.errors import AbsentMember

VALUES = "ng.make_transformer().computation({x})() returns its values"
"""Where the values of a tensor come from."""

_ORDER = "axes pair in any order; ng.axes_with_order({x}, [{back}]) changes it"
_RESHAPED = "ng.flatten({x}, [{axes}]) and ng.unflatten, or ng.cast_axes({x}, axes)"

_BOTH = {
    "T dim_shuffle permute swapaxes t transpose": _ORDER,
    "amax": "ng.max({x}, reduction_axes=[{axis}])",
    "amin": "ng.min({x}, reduction_axes=[{axis}])",
    "astype": "ng.cast({x}, pl.INT)",
    "backward grad gradient": "ng.deriv(y, {x}), where y is computed of {x}",
    "clamp clip": "ng.minimum(ng.maximum({x}, low), high)",
    "gather index_select": "ng.take({x}, numbers, {axis})",
    "matmul mm": "ng.dot({x}, y), over the axes that both have, or axes=[{axis}]",
    "ravel": "ng.flatten({x}, [{axes}])",
    "rename": "ng.cast_axes({x}, axes)",
    "reshape view": _RESHAPED,
    "squeeze": "{x}[{axis}, 0]",
    "std": "ng.sqrt(ng.variance({x}, reduction_axes=[{axis}]))",
    "unsqueeze": "ng.expand_dims({x}, axis)",
    "var": "ng.variance({x}, reduction_axes=[{axis}])",
}
"""What both functions and attributes are called elsewhere."""

_FUNCTIONS = {
    "AssignableTensorOp": "ng.constant, ng.placeholder, ng.persistent_tensor or ng.variable makes "
    "such a tensor; it has the flags constant, persistent, trainable and input",
    "BasicTensorDescription": "ng.TensorDescription(axes)",
    "abs": "ng.absolute(x), or abs(x)",
    "cat concatenate hstack vstack": "ng.concat(tensors, axis)",
    "conv conv1d conv2d convolution": "the sum of ng.dot(w[K, k], x[H, k:k + n]) over the taps k",
    "cross_entropy": "ng.cross_entropy_multi(ng.softmax(x, axes), t, axes)",
    "einsum tensordot": "ng.dot(x, y), over the axes that both have, or axes=[...]",
    "embedding": "ng.take(table, numbers, axis)",
    "empty full ones zeros": "ng.constant(0, axes), or ng.variable(axes, 0)",
    "full_like ones_like zeros_like": "ng.constant(0, x.axes)",
    "arange": "ng.constant(np.arange(n), [axis])",
    "gelu": "0.5 * x * (1 + ng.tanh(0.7978846 * (x + 0.044715 * x ** 3)))",
    "batch_norm layer_norm": "(x - ng.mean(x, axes)) / ng.sqrt(ng.variance(x, axes) + 1e-5)",
    "logsumexp": "m + ng.log(ng.sum(ng.exp(x - m), axes)), where m = ng.max(x, axes)",
    "mean_squared_error mse_loss": "ng.mean((x - y) ** 2, axes)",
    "norm": "ng.L2_norm(x, axes)",
    "rearrange": "ng.flatten(x, axes) and ng.unflatten; ng.axes_with_order(x, axes)",
    "reduce_max reduce_mean reduce_min reduce_prod reduce_sum": "ng.max, ng.mean, ng.min, ng.prod, "
    "ng.sum, each with reduction_axes",
    "silu swish": "x * ng.sigmoid(x)",
    "split": "x[axis, begin:end], for each part",
    "fori_loop scan while_loop": "ng.repeat(n, item)",
}

_ATTRIBUTES = {
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("sum", "prod", "mean")},
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("max", "min", "any", "all")},
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("argmax", "argmin")},
    "dims sizes": "{x}.axes",
    "dot": "ng.dot({x}, y)",
    "fill": "ng.assign({x}, value)",
    "flatten": "ng.flatten({x}, [{axes}])",
    "isel": "{x}[{axis}, 0]",
    "item numpy tolist values": VALUES,
    "ndim": "{x}.rank",
    "numel num_elements size": "{x}.axes.size",
    "softmax": "ng.softmax({x}, [{axis}])",
    "take": "ng.take({x}, numbers, {axis})",
}


def _by_name(*tables: Mapping[str, str]) -> dict[str, str]:
    return {name: text for each in tables for names, text in each.items() for name in names.split()}


_OF_FUNCTIONS = _by_name(_BOTH, _FUNCTIONS)
_OF_ATTRIBUTES = _by_name(_BOTH, _ATTRIBUTES)


def instead_of_attribute(name: str, x: str, axes: Sequence[str]) -> str:
    """Return what does what an attribute of other arrays does for a tensor; empty for nothing."""
    return _filled(_OF_ATTRIBUTES.get(name, ""), x, axes)


def absent_function(package: str, name: str) -> AttributeError:
    """Return the error for a name that `poplite.named`, the package, does not have."""
    instead = _OF_FUNCTIONS.get(name, "")
    if instead:
        fix = _filled(instead, "x", ["H", "W"])
        return AbsentMember(f"poplite has no named.{name}", fix=fix)
    text = f"module '{package}' has no attribute '{name}'"
    return AttributeError(text, name=name, obj=sys.modules[package])


def _filled(text: str, x: str, axes: Sequence[str]) -> str:
    axis = axes[-1] if axes else "axis"
    back = ", ".join(reversed(axes))
    return text.format(x=x, axis=axis, axes=", ".join(axes), back=back)
