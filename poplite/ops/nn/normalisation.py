"""Normalisation of layers, batches, groups, instances; with gradients.

Source: J. Ba, J. Kiros, G. Hinton, "Layer Normalization" (2016); PopLibs, `popnn/LayerNorm.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.build import as_expr, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, Weak, formula, labelled, reshaped
from poplite.frozen import frozen
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import shared
from poplite.ops.elements import rsqrt
from poplite.ops.fuse.storing import Root
from poplite.ops.operands import check_closed, check_name, count_of, the_tensor
from poplite.ops.record import lower
from poplite.ops.reductions.expressions import Dims, by_result, float_operand, mean, sum, variance
from poplite.program import Sequence as Steps
from poplite.public import arguments_of
from poplite.source import here
from poplite.text import clipped
from poplite.types import FLOAT


def layer_norm(
    x: Operand, gain: Operand | float = 1.0, bias: Operand | float = 0.0, epsilon: float = 1e-5
) -> Expr:
    """Return each row normalised to mean 0 and variance 1, times a gain, plus a bias.

    `(x - mean) / sqrt(variance + epsilon) * gain + bias`, along the last dimension.

    Args:
        x: FLOAT or HALF.
        gain: a gain for each element of a row, or a number.
        bias: a bias for each element of a row, or a number.
        epsilon: a number added to the variance.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for a gain or a bias of the wrong shape.
        TensorIndexError: for a scalar x.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 2), "x", mapping=0, initial_value=[[3, 5]])
    >>> y = pl.ops.map(layer_norm(x, gain=2, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)
    array([[-2.,  2.]], dtype=float32)
    """
    what = "ops.nn.layer_norm"
    operand = float_operand(x, what)
    by, plus = (_wide(what, role, each, operand) for role, each in (("gain", gain), ("bias", bias)))
    whitened, _ = _whitened(cast(operand, FLOAT), -1, epsilon)
    return labelled(cast(whitened * by + plus, operand.element_type), "layer_norm")


class LayerNormGradient(NamedTuple):
    """The gradients of a layer normalisation.

    Attributes:
        x: gradient with respect to the operand, of its shape.
        gain: gradient with respect to the gain, of the shape of a row.
        bias: gradient with respect to the bias, of the shape of a row.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 16), name) for name in "xg")
    >>> by = pl.ops.nn.layer_norm_gradient(x, g)
    >>> by.x.shape, by.gain.shape, by.bias.shape
    ((8, 16), (16,), (16,))
    """

    x: Expr
    gain: Expr
    bias: Expr


def layer_norm_gradient(
    x: Operand, gradient: Operand, gain: Operand | float = 1.0, epsilon: float = 1e-5
) -> LayerNormGradient:
    """Return the gradients of `layer_norm` with respect to its operands.

    Args:
        x: as in `layer_norm`.
        gradient: gradient with respect to the result, of its shape and type.
        gain: as in `layer_norm`.
        epsilon: as in `layer_norm`.

    Raises:
        TensorCreationError: for a gradient of a different shape or type.
        whatever `layer_norm` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 16), name) for name in "xg")
    >>> layer_norm_gradient(x, g).bias
    <Expr sum(g, 0) float32[16]>
    """
    what = "ops.nn.layer_norm_gradient"
    operand = float_operand(x, what)
    result = cast(by_result(what, gradient, operand), FLOAT)
    whitened, inverse = _whitened(cast(operand, FLOAT), -1, epsilon)
    by_x = _by_x(result * _wide(what, "gain", gain, operand), whitened, inverse, -1)
    rows = [*range(len(operand.shape) - 1)]
    made = (by_x, sum(result * whitened, rows), sum(result, rows))
    return LayerNormGradient(*(cast(each, operand.element_type) for each in made))


def rms_norm(x: Operand, gain: Operand | float = 1.0, epsilon: float = 1e-5) -> Expr:
    """Return each row divided by the root of its mean square, times a gain.

    `x / sqrt(mean(x ** 2) + epsilon) * gain`, along the last dimension; see Zhang, Sennrich, "Root
    Mean Square Layer Normalization" (2019).

    Args:
        x: FLOAT or HALF.
        gain: a gain for each element of a row, or a number.
        epsilon: a number added to the mean square.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for a gain of the wrong shape.
        TensorIndexError: for a scalar x.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 2), "x", mapping=0, initial_value=[[1, 7]])
    >>> y = pl.ops.map(rms_norm(x, gain=10, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)
    array([[ 2., 14.]], dtype=float32)
    """
    what = "ops.nn.rms_norm"
    operand = float_operand(x, what)
    by = _wide(what, "gain", gain, operand)
    scaled, _ = _scaled(cast(operand, FLOAT), epsilon)
    return labelled(cast(scaled * by, operand.element_type), "rms_norm")


class RmsNormGradient(NamedTuple):
    """The gradients of `rms_norm`.

    Attributes:
        x: gradient with respect to the operand, of its shape.
        gain: gradient with respect to the gain, of the shape of a row.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 16), name) for name in "xg")
    >>> [each.shape for each in pl.ops.nn.rms_norm_gradient(x, g)]
    [(8, 16), (16,)]
    """

    x: Expr
    gain: Expr


def rms_norm_gradient(
    x: Operand, gradient: Operand, gain: Operand | float = 1.0, epsilon: float = 1e-5
) -> RmsNormGradient:
    """Return the gradients of `rms_norm` with respect to its operands.

    Args:
        x: as in `rms_norm`.
        gradient: gradient with respect to the result, of its shape and type.
        gain: as in `rms_norm`.
        epsilon: as in `rms_norm`.

    Raises:
        TensorCreationError: for a gradient of a different shape or type.
        whatever `rms_norm` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 16), name) for name in "xg")
    >>> rms_norm_gradient(x, g).x.shape
    (8, 16)
    """
    what = "ops.nn.rms_norm_gradient"
    operand = float_operand(x, what)
    result = cast(by_result(what, gradient, operand), FLOAT)
    scaled, inverse = _scaled(cast(operand, FLOAT), epsilon)
    inner = result * _wide(what, "gain", gain, operand)
    by_x = inverse * (inner - scaled * mean(inner * scaled, -1, keepdims=True))
    by_gain = sum(result * scaled, [*range(operand.rank - 1)])
    return RmsNormGradient(*(cast(each, operand.element_type) for each in (by_x, by_gain)))


def _scaled(x: Expr, epsilon: float) -> tuple[Expr, Expr]:
    """Return rows with a mean square of 1, and the factor that scaled them."""
    inverse = rsqrt(mean(x * x, -1, keepdims=True) + epsilon)
    return x * inverse, inverse


def _whitened(x: Expr, dims: Dims, epsilon: float) -> tuple[Expr, Expr]:
    """Return x with mean 0 and variance 1 over dimensions, and the factor that scaled it."""
    inverse = rsqrt(variance(x, dims, keepdims=True) + epsilon)
    return (x - mean(x, dims, keepdims=True)) * inverse, inverse


def _by_x(inner: Expr, whitened: Expr, inverse: Expr, dims: Dims) -> Expr:
    """Return the gradient with respect to x from `inner`, the result's gradient times the gain."""
    along = whitened * mean(inner * whitened, dims, keepdims=True)
    return inverse * (inner - mean(inner, dims, keepdims=True) - along)


def _wide(what: str, role: str, value: Operand | float, x: Expr) -> Expr | float:
    """Return a gain or bias, for each element of a row or for all of them, in FLOAT."""
    if not isinstance(value, Operand):
        return value
    own = as_expr(value, what)
    if own.shape not in ((), x.shape[-1:]):
        raise TensorCreationError(
            f"{what}: {role} has shape {own.shape}, but x has {x.shape}",
            found=f"{formula(own)} and {formula(x)}",
            fix=f"pass a number for each element of a row, of shape {x.shape[-1:]}",
        )
    return cast(own, FLOAT)


# -- over channels ---------------------------------------------------------------------------------
# Normalisation of channels: over a batch, over groups of channels, over each channel alone.
#
#     x [batch, channels, field ...]      mean and variance of
#     batch_norm                          a channel, over all samples and places
#     group_norm                          a group of channels of a sample, over all places
#     instance_norm                       a channel of a sample, over all places
#
# Source: PopLibs, `popnn/BatchNorm.hpp`, `popnn/GroupNorm.hpp`, `popnn/InstanceNorm.hpp`; S. Ioffe,
# C. Szegedy, "Batch Normalization" (2015), for running statistics, which popnn does not have; Y.
# Wu, K. He, "Group Normalization" (2018).


Scale = Operand | float
"""A number for each channel, or one for all channels."""


class ChannelNormGradient(NamedTuple):
    """The gradients of a normalisation of channels.

    Attributes:
        x: gradient with respect to the operand, of its shape.
        gain: gradient with respect to the gain, one for each channel.
        bias: gradient with respect to the bias, one for each channel.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 3, 16), name) for name in "xg")
    >>> by = pl.ops.nn.batch_norm_gradient(x, g)
    >>> by.x.shape, by.gain.shape, by.bias.shape
    ((8, 3, 16), (3,), (3,))
    """

    x: Expr
    gain: Expr
    bias: Expr


class ChannelStatistics(NamedTuple):
    """Statistics of the channels of a batch.

    Attributes:
        mean: mean of each channel, FLOAT.
        variance: variance of each channel, FLOAT: the mean squared distance from the mean.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.HALF, (8, 3, 16), "x")
    >>> statistics = pl.ops.nn.batch_statistics(x)
    >>> statistics.mean.shape, statistics.variance.element_type
    ((3,), FLOAT)
    """

    mean: Expr
    variance: Expr


def batch_norm(x: Operand, gain: Scale = 1.0, bias: Scale = 0.0, epsilon: float = 1e-5) -> Expr:
    """Return each channel normalised over the batch, times a gain, plus a bias.

    Args:
        x: [batch, channels, field ...] of FLOAT or HALF, with a field of any rank.
        gain: a gain for each channel, or a number.
        bias: a bias for each channel, or a number.
        epsilon: a number added to the variance.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for an x without channels, or a gain or bias that is not one for each
            channel.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (2, 1), "x", mapping=0, initial_value=[[3], [5]])
    >>> y = pl.ops.map(batch_norm(x, gain=2, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[-2.0], [2.0]]
    """
    return _of_batch("ops.nn.batch_norm", x).normalised(gain, bias, epsilon)


def batch_norm_gradient(
    x: Operand, gradient: Operand, gain: Scale = 1.0, epsilon: float = 1e-5
) -> ChannelNormGradient:
    """Return the gradients of `batch_norm` with respect to its operands.

    Args:
        x: as in `batch_norm`.
        gradient: gradient with respect to the result, of its shape and type.
        gain: as in `batch_norm`.
        epsilon: as in `batch_norm`.

    Raises:
        TensorCreationError: for a gradient of a different shape or type.
        whatever `batch_norm` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 3, 16), name) for name in "xg")
    >>> pl.ops.nn.batch_norm_gradient(x, g).bias
    <Expr sum(g, 0, 2) float32[3]>
    """
    return _of_batch("ops.nn.batch_norm_gradient", x).gradients(gradient, gain, epsilon)


def batch_norm_inference(
    x: Operand,
    mean: Operand,
    variance: Operand,
    gain: Scale = 1.0,
    bias: Scale = 0.0,
    epsilon: float = 1e-5,
) -> Expr:
    """Return channels normalised with given statistics, such as those of `running_statistics`.

    `(x - mean) / sqrt(variance + epsilon) * gain + bias`.

    Args:
        x: as in `batch_norm`.
        mean: the mean of each channel.
        variance: the variance of each channel.
        gain: as in `batch_norm`.
        bias: as in `batch_norm`.
        epsilon: as in `batch_norm`.

    Raises:
        whatever `batch_norm` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 2), "x", mapping=0, initial_value=[[3, 8]])
    >>> m, v = (graph.add_constant(pl.FLOAT, (2,), row, mapping=0) for row in ([1, 2], [4, 9]))
    >>> y = pl.ops.map(pl.ops.nn.batch_norm_inference(x, m, v, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[1.0, 2.0]]
    """
    norm = _of_batch("ops.nn.batch_norm_inference", x)
    inverse = rsqrt(as_expr(norm.wide("variance", variance), norm.what) + epsilon)
    scaled = (norm.x - norm.wide("mean", mean)) * inverse * norm.wide("gain", gain) + norm.wide(
        "bias", bias
    )
    return cast(scaled, norm.given.element_type)


@arguments_of(batch_norm)
def batch_statistics(x: Operand) -> ChannelStatistics:
    """Return the mean and the variance of the channels of a batch, in FLOAT.

    Raises:
        whatever `batch_norm` raises.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.HALF, (8, 3, 5, 5), "x")
    >>> batch_statistics(x).mean.shape
    (3,)
    """
    norm = _of_batch("ops.nn.batch_statistics", x)
    return ChannelStatistics(_mean_of(norm), _variance_of(norm))


def running_statistics(
    x: Operand,
    mean: Tensor,
    variance: Tensor,
    *,
    momentum: float = 0.1,
    name: str = "running_statistics",
    program: Steps | None = None,
) -> None:
    """Record an update of running statistics by a batch: `mean += momentum * (mean(x) - mean)`.

    The variance is updated in the same way, with the sample variance of x: squared distances are
    divided by one less than the number of values, which must be at least 2.

    Args:
        x: as in `batch_norm`.
        mean: FLOAT, one for each channel; its initial value should be 0.
        variance: FLOAT, one for each channel; its initial value should be 1.
        momentum: the weight of the batch.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        whatever `batch_norm` raises.
        TensorCreationError: for channels of fewer than two values, and if any two of x, mean and
            variance share elements.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (2, 1), "x", mapping=0, initial_value=[[3], [5]])
    >>> m = graph.add_variable(pl.FLOAT, (1,), "mean", mapping=0, initial_value=0)
    >>> v = graph.add_variable(pl.FLOAT, (1,), "variance", mapping=0, initial_value=1)
    >>> running_statistics(x, m, v, momentum=0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(m).tolist(), engine.read(v).tolist()
    ([2.0], [1.5])
    """
    what = "ops.nn.running_statistics"
    check_name(what, name)
    norm = _of_batch(what, x)
    for role, tensor in (("mean", mean), ("variance", variance)):
        _check_channels(norm, as_expr(the_tensor(what, role, tensor), what))
    values = math.prod(norm.x.shape[d] for d in norm.dims)
    if values < 2:
        raise TensorCreationError(
            f"{what}: a sample variance needs at least 2 values in a channel; found {values}",
            found=f"x has shape {norm.given.shape}",
            fix="use a batch with more samples",
        )
    _check_apart(what, norm.given, mean, variance)
    found = _mean_of(norm), _variance_of(norm, ddof=1)
    roots = [
        Root(old + momentum * (new - old), out=old, name=f"{name}/{role}", at=here())
        for old, new, role in zip((mean, variance), found, ("mean", "variance"), strict=True)
    ]
    lower(mean.graph, roots, program)


def _check_apart(what: str, x: Expr, mean: Tensor, variance: Tensor) -> None:
    """Reject statistics that share elements with each other or with x: they change one by one."""
    others = [("x", each) for each in x.leaves if isinstance(each, Tensor)]
    for role, changed in (("mean", mean), ("variance", variance)):
        for other, tensor in others:
            if tensor.intersects_with(changed):
                raise TensorCreationError(
                    f"{what}: {other} '{tensor.name}' and {role} '{changed.name}' share elements",
                    found=f"both hold {shared(tensor, changed)}",
                    fix="use a separate variable for each",
                )
        others.append((role, changed))


def group_norm(
    x: Operand, groups: int, gain: Scale = 1.0, bias: Scale = 0.0, epsilon: float = 1e-5
) -> Expr:
    """Return groups of channels normalised in each sample, times a gain, plus a bias.

    Args:
        x: as in `batch_norm`.
        groups: number of groups of consecutive channels. One group gives layer normalisation.
        gain: as in `batch_norm`.
        bias: as in `batch_norm`.
        epsilon: as in `batch_norm`.

    Raises:
        whatever `batch_norm` raises, and InvalidOption for a number of groups that does not divide
            the number of channels.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 4), "x", mapping=0, initial_value=[[3, 5, 1, 9]])
    >>> y = pl.ops.map(group_norm(x, 2, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    what = "ops.nn.group_norm"
    return _of_groups(what, x, count_of(what, "groups", groups)).normalised(gain, bias, epsilon)


@arguments_of(group_norm, batch_norm_gradient)
def group_norm_gradient(
    x: Operand, gradient: Operand, groups: int, gain: Scale = 1.0, epsilon: float = 1e-5
) -> ChannelNormGradient:
    """Return the gradients of `group_norm` with respect to its operands; see `batch_norm_gradient`.

    Raises:
        whatever `group_norm` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 6, 16), name) for name in "xg")
    >>> by = pl.ops.nn.group_norm_gradient(x, g, groups=2)
    >>> by.x.shape, by.gain.shape
    ((8, 6, 16), (6,))
    """
    what = "ops.nn.group_norm_gradient"
    norm = _of_groups(what, x, count_of(what, "groups", groups))
    return norm.gradients(gradient, gain, epsilon)


@arguments_of(batch_norm)
def instance_norm(x: Operand, gain: Scale = 1.0, bias: Scale = 0.0, epsilon: float = 1e-5) -> Expr:
    """Return each channel normalised in each sample, times a gain, plus a bias; see `batch_norm`.

    Raises:
        whatever `batch_norm` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> numbers = [[[3, 5], [1, 9]]]
    >>> x = graph.add_variable(pl.FLOAT, (1, 2, 2), "x", mapping=0, initial_value=numbers)
    >>> y = pl.ops.map(pl.ops.nn.instance_norm(x, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    return _of_groups("ops.nn.instance_norm", x, None).normalised(gain, bias, epsilon)


@arguments_of(batch_norm_gradient)
def instance_norm_gradient(
    x: Operand, gradient: Operand, gain: Scale = 1.0, epsilon: float = 1e-5
) -> ChannelNormGradient:
    """Return the gradients of `instance_norm`; see `batch_norm_gradient`.

    Raises:
        whatever `batch_norm` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 6, 16), name) for name in "xg")
    >>> by = pl.ops.nn.instance_norm_gradient(x, g)
    >>> by.x.shape, by.gain.shape
    ((8, 6, 16), (6,))
    """
    norm = _of_groups("ops.nn.instance_norm_gradient", x, None)
    return norm.gradients(gradient, gain, epsilon)


@frozen
class _Norm:
    """A normalisation of an operand.

    Attributes:
        what: the call, for messages.
        given: the operand.
        x: the same in FLOAT, with groups of channels as a separate dimension.
        dims: dimensions over which the mean and the variance are taken.
        across: dimensions over which gradients with respect to gain and bias are summed.
    """

    what: str
    given: Expr
    x: Expr
    dims: Sequence[int]
    across: Sequence[int]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.given.shape[1]

    def wide(self, role: str, value: Scale) -> Expr | float:
        """Return a gain or bias for each channel, which broadcasts to `x`, in FLOAT."""
        what = f"{self.what}, {role}"
        own = as_expr(value, what)
        if isinstance(own, Weak):
            return own.value
        check_closed(what, own)
        _check_channels(self, own)
        kept = [d for d in range(self.x.rank) if d not in self.across]
        shape = [1] * self.x.rank
        for d in kept:
            shape[d] = self.x.shape[d]
        return cast(reshaped(own, tuple(shape)), FLOAT)

    def normalised(self, gain: Scale, bias: Scale, epsilon: float) -> Expr:
        """Return the result."""
        whitened, _ = _whitened(self.x, self.dims, epsilon)
        made = cast(
            whitened * self.wide("gain", gain) + self.wide("bias", bias), self.given.element_type
        )
        return reshaped(made, self.given.shape)

    def gradients(self, gradient: Operand, gain: Scale, epsilon: float) -> ChannelNormGradient:
        """Return the gradients."""
        result = by_result(self.what, gradient, self.given)
        wide = cast(reshaped(result, self.x.shape), FLOAT)
        whitened, inverse = _whitened(self.x, self.dims, epsilon)
        by_x = _by_x(wide * self.wide("gain", gain), whitened, inverse, self.dims)
        element = self.given.element_type
        by_scale = (
            reshaped(cast(sum(each, self.across), element), (self.channels,))
            for each in (wide * whitened, wide)
        )
        return ChannelNormGradient(reshaped(cast(by_x, element), self.given.shape), *by_scale)


def _mean_of(norm: _Norm) -> Expr:
    """Return the mean of the elements that are normalised together."""
    return mean(norm.x, norm.dims)


def _variance_of(norm: _Norm, ddof: int = 0) -> Expr:
    """Return the variance of the elements that are normalised together."""
    return variance(norm.x, norm.dims, ddof=ddof)


def _operand(what: str, x: Operand) -> Expr:
    operand = float_operand(x, what)
    if operand.rank < 2:
        raise TensorCreationError(
            f"{what}: x has shape {operand.shape}",
            found=formula(operand),
            fix="pass [batch, channels, ...]",
        )
    return operand


def _of_batch(what: str, x: Operand) -> _Norm:
    given = _operand(what, x)
    others = [0, *range(2, given.rank)]
    return _Norm(what, given, cast(given, FLOAT), others, others)


def _of_groups(what: str, x: Operand, groups: int | None) -> _Norm:
    """Return the normalisation of groups of channels, or of each channel if groups is None."""
    given = _operand(what, x)
    batch, channels, *field = given.shape
    number = channels if groups is None else groups
    if number < (groups is not None) or (number and channels % number):
        raise InvalidOption(
            f"{what}: groups is {clipped(groups)} for {channels:,} channels",
            found=f"x has shape {given.shape}",
            fix=f"pass a divisor of {channels:,}",
        )
    each = channels // number if number else 1
    parted = reshaped(given, (batch, number, each, *field))
    dims = [*range(2, parted.rank)]
    return _Norm(what, given, cast(parted, FLOAT), dims, [0, *dims[1:]])


def _check_channels(norm: _Norm, own: Expr) -> None:
    if own.shape != (norm.channels,):
        raise TensorCreationError(
            f"{norm.what}: {formula(own)} has shape {own.shape}, but x has {norm.given.shape}",
            found=f"{math.prod(own.shape):,} numbers for {norm.channels:,} channels",
            fix=f"pass a number for each channel, of shape ({norm.channels},)",
        )
