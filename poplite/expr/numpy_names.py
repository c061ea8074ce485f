"""NumPy's names: supported names, and replacements for the others.

For example:

    ops.sum(x, axis=0)      `axis` is accepted as well as `dims` or `dim`
    x.sum(), x.astype(...)  methods of `Operand`, equivalent to functions of `poplite.ops`
    x.std(), ops.arange     refused with a replacement, as np.sum(x) is
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial, wraps
from importlib import import_module
from inspect import getmro, unwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from poplite.errors import Absent, AbsentMember, ElementTypeError, TensorIndexError
from poplite.public import Face, checked_call, loaded_on_use
from poplite.text import clipped
from poplite.types import AS_CODES, NUMPY_TYPES

if TYPE_CHECKING:
    from poplite.expr.operand import Operand

T = TypeVar("T", bound=type)

_NOT_GIVEN = object()


def operations_on_use(package: str) -> Face:
    """Return `__all__`, `__getattr__` and `__dir__` for a package of operations, imported on use.

    Functions with a `dims` or `dim` argument also accept `axis`, and errors about arguments use the
    names in the package.
    """

    def shown(name: str, value: object) -> object:
        if not isinstance(value, FunctionType):
            return value
        checked, dims = checked_call(value, f"{package}.{name}"), _dims_of(value)
        return _taking_axis(checked, dims) if dims else checked

    absent = partial(absent_function, package)
    return loaded_on_use(f"poplite.{package}", shown, absent)


def _dims_of(function: Callable[..., Any]) -> str | None:
    code = unwrap(function).__code__
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "axis" in taken:
        return None
    return next((name for name in ("dims", "dim") if name in taken), None)


def _taking_axis(function: Callable[..., Any], dims: str) -> Callable[..., Any]:
    code = unwrap(function).__code__
    place = code.co_varnames.index(dims)

    @wraps(function)
    def called(*args: Any, axis: Any = _NOT_GIVEN, **options: Any) -> Any:
        if axis is not _NOT_GIVEN:
            if dims in options or len(args) > place:
                given = options[dims] if dims in options else args[place]
                raise repeated_argument(code.co_name, dims, given, axis)
            options[dims] = axis
        return function(*args, **options)

    return called


def repeated_argument(function: str, dims: str, given: object, axis: object) -> TensorIndexError:
    """Return the error for dimensions that are passed under both names."""
    return TensorIndexError(
        f"{function}: dimensions are given twice",
        found=f"{dims}={clipped(given, 40)} and axis={clipped(axis, 40)} are the same argument",
        fix=f"{function}(..., {dims}={clipped(axis, 40)})",
    )


def refused_of_numpy(operand: Operand, function: str, name: str = "") -> ElementTypeError:
    """Return the error for a NumPy function called with an operand, which names a replacement.

    `function` is its name in NumPy, and `name` the name in `ops`, if it differs.
    """
    ours = name or function.rpartition(".")[2]
    fix = _OF_METHODS.get(ours) or ((place := _place_of(ours)) and f"{place}(x, ...)")
    return ElementTypeError(
        f"np.{function}: NumPy computes values, but an operand has none while a graph is built",
        found=repr(operand),
        fix=fix or f"use np.{function} of engine.read(x), after a run",
    )


_FUNCTIONS = {
    "abs fabs": "ops.absolute(x), or abs(x)",
    "allclose array_equal isclose": "np.testing.assert_allclose(engine.read(x), ...) after a run",
    "amax": "ops.max(x, dims)",
    "amin": "ops.min(x, dims)",
    "arange": "ops.iota((n,))",
    "arccos": "ops.acos(x)",
    "arcsin": "ops.asin(x)",
    "arctan": "ops.atan(x)",
    "arctan2": "ops.atan2(y, x)",
    "array asarray tensor": "graph.add_constant(element_type, shape, values)",
    "around rint": "ops.round(x)",
    "astype": "ops.cast(x, element_type)",
    "average": "ops.mean(x, dims)",
    "bmm dot inner matmul vdot mm mv": "a @ b, or ops.matmul(a, b)",
    "broadcast_to": "x.broadcast(n, dim) to repeat a dimension; operands are broadcast implicitly",
    "concat concatenate cat hstack vstack": "pl.concat(tensors, dim)",
    "conv2d conv1d conv": "ops.convolution(x, weights)",
    "cumprod": "ops.cumulative_product(x, dim)",
    "cumsum": "ops.cumulative_sum(x, dim)",
    "empty zeros ones full": "graph.add_variable(element_type, shape), and ops.fill(x, number)",
    "empty_like zeros_like ones_like full_like": "graph.clone(x), and ops.fill(y, number)",
    "expand_dims unsqueeze": "x[None], or x.expand([dim])",
    "einsum": 'ops.einsum("ij,jk->ik", x, y)',
    "eye identity": "ops.eye(n)",
    "fix": "ops.trunc(x)",
    "flipud fliplr": "ops.flip(x, dim), or x[::-1]",
    "gather index_select": "ops.embedding(table, rows), or ops.take_along_axis(x, positions, dim)",
    "invert": "ops.bitwise_not(x), or ~x",
    "isfinite": "ops.is_finite(x)",
    "isinf": "ops.is_inf(x)",
    "isnan": "ops.is_nan(x)",
    "left_shift": "ops.shift_left(x, n), or x << n",
    "linspace": "graph.add_constant(element_type, (n,), np.linspace(...))",
    "logsumexp": "ops.log_sum_exp(x, dims)",
    "median quantile percentile": "ops.sort(x), and take the middle element",
    "mod": "ops.remainder(x, y), or x % y",
    "mul": "ops.multiply(x, y), or x * y",
    "ne": "ops.not_equal(x, y)",
    "eq": "ops.equal(x, y)",
    "neg": "ops.negative(x), or -x",
    "pow float_power": "ops.power(x, y), or x ** y",
    "product": "ops.prod(x, dims)",
    "rand random_sample": "ops.random.uniform(key, shape)",
    "randn": "ops.random.normal(key, shape)",
    "ravel": "x.flatten()",
    "repeat_interleave": "ops.repeat_elements(x, n, dim)",
    "reshape": "x.reshape(shape)",
    "right_shift": "ops.shift_right(x, n), or x >> n",
    "split array_split": "x.slice(begin, end, dim), or x[begin:end]",
    "squeeze": "x.squeeze([dim])",
    "sub": "ops.subtract(x, y), or x - y",
    "swapaxes moveaxis permute": "x.dim_shuffle([...])",
    "transpose permute_dims": "x.T, x.transpose(1, 0)",
    "take": "ops.embedding(table, rows), or ops.multi_slice",
    "topk": "ops.top_k(x, k)",
    "true_divide div": "ops.divide(x, y), or x / y",
    "unique": "ops.unique_sorted(ops.sort(x))",
    "var": "ops.variance(x, dims)",
    "norm": "ops.sqrt(ops.sum(x * x, dims))",
    "atleast_1d atleast_2d": "x[None], or x.expand([dim])",
    "ascontiguousarray": "ops.copy(x, y) records a copy to y; every view can be read directly",
    "column_stack dstack": "pl.stack(tensors, dim), or pl.concat(tensors, dim)",
    "count_nonzero": "ops.sum(ops.where(ops.equal(x, 0), 0, 1))",
    "diagonal": "ops.diag(x)",
    "diff": "x[1:] - x[:-1]",
    "inv": "ops.linalg.inverse(x)",
    "nan_to_num": "ops.where(ops.is_nan(x), 0, x)",
    "nansum": "ops.sum(ops.where(ops.is_nan(x), 0, x), dims)",
    "ptp": "ops.max(x, dims) - ops.min(x, dims)",
    "rot90": "x.T[::-1]",
    "rollaxis": "x.dim_roll(dim, new)",
    "solve": "ops.linalg.inverse(a) @ b; for triangular a, ops.linalg.triangular_solve(a, b)",
    "trace": "ops.sum(ops.diag(x))",
    "nonzero argwhere flatnonzero": "ops.where(p, a, b), since shapes are fixed in a graph",
}

_METHODS = {
    "at": "ops.assign(x[i], value), which stores to the view x[i]",
    "copy clone": "ops.copy(x, y) to copy to y; graph.clone(x) for a variable like x",
    "fill": "ops.fill(x, number)",
    "flat": "x.flatten()",
    "item tolist numpy cpu": "engine.read(x) after a run",
    "itemsize": "x.element_type.size_bytes",
    "nbytes": "x.num_elements * x.element_type.size_bytes",
    "put": "ops.multi_update(x, values, rows)",
    "repeat": "ops.repeat_elements(x, n, dim)",
    "resize": "x.reshape(shape)",
    "view": "x.reinterpret(element_type)",
}


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: instead for names, instead in table.items() for name in names.split()}


_ELEMENT_TYPES = {str(each.dtype): f"pl.{each}" for each in NUMPY_TYPES} | _by_name(
    {
        "float single": "pl.FLOAT, with 32 bits",
        "half bfloat16": "pl.HALF, the 16-bit float of IEEE",
        "double float64": "pl.FLOAT, since tiles cannot store 64-bit floats",
        "int": "pl.INT, with 32 bits, or pl.LONGLONG, with 64",
        "uint": "pl.UNSIGNED_INT, with 32 bits, or pl.UNSIGNED_LONGLONG, with 64",
        "long longlong": "pl.LONGLONG",
        "bool_": "pl.BOOL",
        "short": "pl.SHORT",
        "char": "pl.CHAR",
    }
)
"""Names of element types in other libraries."""

_BITS = {
    "bits": "pl.float_bits(x), or pl.half_bits(x)",
    "from_bits": "pl.float_from_bits(n), or pl.half_from_bits(n)",
    "quarter_bits": AS_CODES,
    "quarter_from_bits": AS_CODES,
}
"""Names that a function between numbers and bits might have."""

_POPLIBS = ("gcl", "poplin", "popnn", "popops", "poprand", "popsparse", "poputil")

_OF_FUNCTIONS = _by_name(_FUNCTIONS)
_OF_METHODS = _OF_FUNCTIONS | _by_name(_METHODS)

_PACKAGES = ("ops", "ops.nn", "ops.random", "ops.linalg")


_NAMES = """
    absolute acos adam adam_state add all any argmax argmin argsort asin assign atan atan2
    average_pool average_pool_gradient batch_norm batch_norm_gradient batch_norm_inference
    batch_statistics bernoulli binary_cross_entropy binary_cross_entropy_gradient bincount
    bitwise_and bitwise_not bitwise_or bitwise_xnor bitwise_xor cast categorical cbrt ceil cholesky
    clamp clip clip_by_global_norm convolution convolution_input_gradient
    convolution_weights_gradient cos cosh count_leading_zeros cross_entropy cross_entropy_gradient
    cumulative_max cumulative_product cumulative_sum diag divide divide_trunc dropout
    dropout_gradient dynamic_slice dynamic_update embedding equal erf erfc exp exp2 expm1 flip floor
    floor_divide gelu gelu_erf gelu_erf_gradient gelu_gradient greater greater_equal group_norm
    group_norm_gradient gru gru_gradient hard_sigmoid hard_sigmoid_gradient has_nan has_nan_or_inf
    histogram hypot instance_norm instance_norm_gradient integers inv_std_dev_to_variance inverse
    is_finite is_inf is_nan layer_norm layer_norm_gradient less less_equal log log10 log1p log2
    log_softmax log_softmax_gradient log_sum_exp logaddexp logical_and logical_not logical_or
    logical_xor lstm lstm_gradient lu map max_pool max_pool_gradient maximum meshgrid minimum
    multi_head_attention multi_head_attention_gradient multi_slice multi_update multi_update_add
    multi_update_max multi_update_mul multiply negative normal not_equal one_hot outer pad
    permutation popcount power prod qr reciprocal reduce reduce_many reduce_window relu
    relu_gradient remainder remainder_trunc repeat_elements rms_norm rms_norm_gradient roll round
    round_half_away rsqrt running_statistics searchsorted select select_from_rows sgd shift_left
    shift_right shift_right_logical sigmoid sigmoid_gradient sign sign_popops sin sinh softmax
    softmax_gradient softplus sort sort_key_value sqrt sqrt_trunc square squared_error
    squared_error_gradient std subtract sum_pool sum_pool_gradient swish swish_gradient switch
    take_along_axis tan tanh tanh_gradient tensordot tile top_k triangular_mask triangular_solve
    tril triu trunc truncated_normal uniform unique_sorted update_from_rows variance
    variance_to_inv_std_dev where zero
"""

_OPERATIONS = frozenset(_NAMES.split())
"""Functions without a method, listed here so that tensors do not load their modules."""


def absent_function(package: str, name: str) -> AttributeError:
    """Return the error for a name that a package does not have, which names an equivalent."""
    instead = None if name.startswith("_") else _place_of(name) or _OF_FUNCTIONS.get(name)
    instead = instead or _ELEMENT_TYPES.get(name.lower()) or _BITS.get(name)
    if name in _POPLIBS:
        instead = f"from poplite.compat import {name}"
    if instead is None:
        whole = import_module(f"poplite.{package}" if package != "pl" else "poplite")
        text = f"module '{whole.__name__}' has no attribute '{name}'"
        close = "" if name.startswith("_") else _close_name(name, whole.__all__)
        return AttributeError(text + close, name=name, obj=whole)
    return AbsentMember(f"poplite has no {package}.{name}", fix=instead)


def _close_name(name: str, own: Sequence[str]) -> str:
    """Return a question that suggests the function of another package for a misspelt name.

    Python itself suggests the package's own names. One letter in five may be wrong.
    """
    known = [*own, *(each for _, names in _shown() for each in names)]
    close = get_close_matches(name, known, 1, cutoff=0.8)
    return f" (did you mean '{_place_of(close[0])}'?)" if close and close[0] not in own else ""


def absent_method(operand: Operand, name: str, otherwise: str = "") -> AttributeError:
    """Return the error for a name that a tensor or an expression does not have.

    `otherwise` is the remedy for names that only tensors have.
    """
    tensors: list[type] = getmro(type(operand))[-2].__subclasses__() if otherwise else []
    instead = _OF_METHODS.get(name)
    if any(hasattr(each, name) for each in tensors):
        instead = otherwise
    elif instead is None and name in _OPERATIONS and (place := _place_of(name)):
        instead = f"{place}(x, ...)"
    if instead is None:
        text = f"'{type(operand).__name__}' object has no attribute '{name}'"
        return AttributeError(text, name=name, obj=operand)
    return AbsentMember(f"{operand._kind} has no {name!r}", found=repr(operand), fix=instead)


class AbsentName(Absent):
    """A name from NumPy or `poplite.ops` that a class does not have; the error names a replacement.

    It is an attribute, since a `__getattr__` would slow down every other attribute look-up.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, operand: Any, owner: type | None = None) -> NoReturn:
        if operand is None:
            text = f"type object '{owner.__name__}' has no attribute '{self._name}'"  # type: ignore[union-attr]
            raise AttributeError(text, name=self._name, obj=owner)
        raise absent_method(operand, self._name)


def refuse_absent_names(cls: T) -> T:
    """Add the names that a class and its bases lack; `dir` omits them."""
    for name in {*_OF_METHODS, *_OPERATIONS} - set(dir(cls)):
        setattr(cls, name, AbsentName(name))
    return cls


def _place_of(name: str) -> str | None:
    """Return a name with the package that exports it, or None."""
    return next((f"{package}.{name}" for package, names in _shown() if name in names), None)


def _shown() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the packages of operations and their exported names; none during an import."""
    is_importing = any(
        getattr(module.__spec__, "_initializing", False)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] == "poplite"
    )
    for package in () if is_importing else _PACKAGES:
        yield package, import_module(f"poplite.{package}").__all__
