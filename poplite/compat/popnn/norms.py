"""Normalisations of popnn: the modules `bn`, `gn`, `ln`, `in_`.

Statistics are computed in FLOAT, the mean first, whatever `stableAlgo` and `partialsType` say; all
results have the type of the activations. Statistics of groups are ordered by sample, then by group.

Source: PopLibs, `popnn/BatchNorm.hpp`, `popnn/GroupNorm.hpp`, `popnn/InstanceNorm.hpp`,
`popnn/LayerNorm.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal

from poplite import ops
from poplite.compat.arguments import (
    Options,
    P,
    R,
    channels_of,
    check_known,
    check_name,
    check_tensors,
    checked,
    number_of,
    with_first,
)
from poplite.compat.poputil import createBroadcastOperand
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError
from poplite.expr.tree import Expr
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program import Sequence as Steps
from poplite.text import clipped, integer_or_none
from poplite.types import FLOAT

_STRIDED = "groupNormStridedChannelGrouping"


@frozen
class Norm:
    """The functions of one normalisation.

    Every function takes the graph first, and the name and the options last. In docstrings, `{name}`
    is the name of the function in popnn.

    Attributes:
        name: the prefix of the names of the functions.
        of: the set of elements that share statistics: a channel of the whole batch, a sample, or a
            channel or a group of channels of a sample.
    """

    name: str
    of: Literal["batch", "sample", "channel", "groups"]

    def named(self, name: str, function: Callable[Concatenate[Norm, P], R]) -> Callable[P, R]:
        """Return a function of this norm under its name in popnn, with its arguments checked."""
        return checked("popnn", name)(with_first(function, self))

    def params(self, graph: Graph, acts: Tensor, debug_context: str = "") -> tuple[Tensor, Tensor]:
        """Create gamma and beta for activations [batch, channels, ...], `{name}`."""
        channels_of(f"popnn.create{self.name[0].upper()}{self.name[1:]}Params", "acts", acts)
        name = debug_context or self.name
        gamma, beta = (
            createBroadcastOperand(graph, acts, acts.element_type, 1, True, f"{name}/{each}")
            for each in ("gamma", "beta")
        )
        return gamma, beta

    def statistics(
        self, graph: Graph, acts: Tensor, eps: float, prog: Steps, unbiased: bool, *rest: Any
    ) -> tuple[Tensor, Tensor]:
        """Record the mean and inverse standard deviation, `{name}`."""
        groups = 1
        if self.of == "channel":
            groups = channels_of(f"popnn.{self.name}Statistics", "acts", acts)
        return self._statistics(acts, eps, prog, unbiased, groups, rest)

    def of_groups(
        self,
        graph: Graph,
        acts: Tensor,
        eps: float,
        prog: Steps,
        num_groups: int,
        unbiased: bool,
        *rest: Any,
    ) -> tuple[Tensor, Tensor]:
        """Record the mean and inverse standard deviation of groups of channels, `{name}`."""
        return self._statistics(acts, eps, prog, unbiased, num_groups, rest)

    def whiten(
        self,
        graph: Graph,
        acts: Tensor,
        mean: Tensor,
        inv_std_dev: Tensor,
        prog: Steps,
        debug_context: str = "",
        options: Options = None,
    ) -> Tensor:
        """Record `(acts - mean) * invStdDev`, `{name}`."""
        what = f"{self.name}Whiten"
        check_norm_options(what, options)
        made = self._parted(what, acts, mean).whitened(mean, inv_std_dev)
        return _stored(made, acts, debug_context or what, prog)

    def normalise(self, graph: Graph, acts: Tensor, *arguments: Any) -> Any:
        """Record a normalisation, `{name}`.

        Args:
            graph: the graph of the tensors.
            acts: the activations, [batch, channels, ...].
            *arguments: `gamma, beta, mean, inv_std_dev, prog, debug_context="", options=None`; or
                `multiplicand, addend, prog, debug_context="", options=None`, where `multiplicand`
                and `addend` have one number for each channel.

        Returns:
            The normalised and the whitened tensor; in the second form, only the normalised tensor.
        """
        what = f"{self.name}alise"
        tensors, prog, rest = _cut(what, arguments, (2, 4))
        name, options = _named(rest, what)
        check_norm_options(what, options)
        if len(tensors) == 2:
            parted = _Parted(acts, None)
            scaled = ops.cast(acts, FLOAT) * parted.channel(tensors[0])
            return _stored(scaled + parted.channel(tensors[1]), acts, name, prog)
        gamma, beta, mean, inv_std_dev = tensors
        parted = self._parted(what, acts, mean)
        white = _stored(parted.whitened(mean, inv_std_dev), acts, f"{name}/whitened", prog)
        wide = ops.cast(white.reshape(parted.x.shape), FLOAT)
        made = wide * parted.channel(gamma) + parted.channel(beta)
        return _stored(made, acts, name, prog), white

    def param_gradients(
        self, graph: Graph, acts: Tensor, grads_in: Tensor, *arguments: Any
    ) -> tuple[Tensor, Tensor]:
        """Record the gradients of gamma and beta, `{name}`.

        Args:
            graph: the graph of the tensors.
            acts: the input of the normalisation, or its whitened form.
            grads_in: the gradient with respect to the result.
            *arguments: `mean, inv_std_dev, prog, ...` for the input; `prog, partials_type,
                debug_context, options` for its whitened form.
        """
        what = f"{self.name}ParamGradients"
        tensors, prog, rest = _cut(what, arguments, (0, 2))
        name, options = _named(rest[1:], what)
        check_norm_options(what, options)
        parted = self._parted(what, acts, tensors[0]) if tensors else _Parted(acts, None)
        white = parted.whitened(*tensors) if tensors else ops.cast(acts, FLOAT)
        g = parted.gradient(what, grads_in)
        across = [d for d in range(parted.x.rank) if d not in parted.channel_dims]
        made = [ops.sum(each, across) for each in (g * white, g)]
        channels = (channels_of(f"popnn.{what}", "acts", acts),)
        by_gamma, by_beta = (
            ops.map(ops.cast(each, acts.element_type), name=f"{name}/{role}", program=prog)
            for role, each in zip(("gamma", "beta"), made, strict=True)
        )
        return by_gamma.reshape(channels), by_beta.reshape(channels)

    def gradients(self, graph: Graph, acts: Tensor, grads_in: Tensor, *arguments: Any) -> Tensor:
        """Record the gradient with respect to the activations, `{name}`.

        It includes the gradient through the statistics: `istd * (g - mean(g) - w * mean(g * w))`,
        where g is the incoming gradient times gamma and w the whitened activations.

        Args:
            graph: the graph of the tensors.
            acts: the input of the normalisation, or its whitened form.
            grads_in: the gradient with respect to the result.
            *arguments: `mean, inv_std_dev, gamma, prog, ...` for the input; `inv_std_dev, gamma,
                prog, partials_type, debug_context, options` for its whitened form.
        """
        what = f"{self.name}Gradients"
        tensors, prog, rest = _cut(what, arguments, (2, 3))
        name, options = _named(rest[1:], what)
        check_norm_options(what, options)
        *mean, inv_std_dev, gamma = tensors
        parted = self._parted(what, acts, inv_std_dev)
        white = parted.whitened(mean[0], inv_std_dev) if mean else ops.cast(parted.x, FLOAT)
        g = parted.gradient(what, grads_in) * parted.channel(gamma)
        along = white * ops.mean(g * white, parted.dims, keepdims=True)
        centred = g - ops.mean(g, parted.dims, keepdims=True) - along
        return _stored(parted.statistic(inv_std_dev) * centred, acts, name, prog)

    def param_update(
        self,
        graph: Graph,
        gamma_delta: Tensor,
        beta_delta: Tensor,
        scale: float | Tensor,
        gamma: Tensor,
        beta: Tensor,
        prog: Steps,
        debug_context: str = "",
        options: Options = None,
    ) -> None:
        """Record the addition of `scale` times their deltas to gamma and beta, `{name}`."""
        what = f"{self.name}ParamUpdate"
        check_norm_options(what, options)
        by: Any = (
            scale.reshape(())
            if isinstance(scale, Tensor)
            else number_of(f"popnn.{what}", "scale", scale)
        )
        roots = [
            ops.Root(x + by * delta, out=x, name=debug_context or what)
            for x, delta in ((gamma, gamma_delta), (beta, beta_delta))
        ]
        ops.lower(graph, roots, prog)

    def _statistics(
        self,
        acts: Tensor,
        eps: float,
        prog: Steps,
        unbiased: bool,
        groups: int,
        rest: Sequence[Any],
    ) -> tuple[Tensor, Tensor]:
        """Record the mean and `1 / sqrt((variance + eps) * factor)`.

        The factor is n / (n - 1) for unbiased statistics of n elements, and otherwise 1.
        """
        what = f"{self.name}Statistics"
        eps = number_of(f"popnn.{what}", "eps", eps)
        name, options = _named(rest[2:], what)  # after stableAlgo and partialsType
        check_norm_options(what, options)
        channels = channels_of(f"popnn.{what}", "acts", acts)
        number = integer_or_none(groups)
        if self.of != "batch" and (number is None or number < 1 or channels % number):
            raise InvalidOption(
                f"popnn.{what}: {channels:,} channels cannot be divided into "
                f"{clipped(groups)} groups",
                found=f"acts '{acts.name}' has shape {acts.shape}",
                fix=f"pass a divisor of {channels:,}",
            )
        parted = _Parted(acts, None if self.of == "batch" else groups)
        x = ops.cast(parted.x, FLOAT)
        number = math.prod(parted.x.shape[d] for d in parted.dims)
        factor = number / (number - 1) if unbiased and number > 1 else 1.0
        inverse = ops.rsqrt((ops.variance(x, parted.dims) + eps) * factor)
        mean, inv_std_dev = (
            ops.map(ops.cast(each, acts.element_type), name=f"{name}/{role}", program=prog)
            for role, each in (("mean", ops.mean(x, parted.dims)), ("inv_std_dev", inverse))
        )
        return mean.flatten(), inv_std_dev.flatten()

    def _parted(self, what: str, acts: Tensor, statistic: Tensor) -> _Parted:
        """Return activations split into the groups that a statistic describes."""
        channels = channels_of(f"popnn.{what}", "acts", acts)
        if self.of == "batch":
            groups, needed = None, channels
        else:
            groups = max(1, statistic.num_elements // max(1, acts.shape[0]))
            needed = acts.shape[0] * groups
        if statistic.shape != (needed,) or (groups is not None and channels % groups):
            raise TensorCreationError(
                f"popnn.{what}: statistics '{statistic.name}' have shape {statistic.shape}, "
                f"but acts '{acts.name}' has shape {acts.shape}",
                fix=f"pass the results of {self.name}Statistics for these acts",
            )
        return _Parted(acts, groups)


class _Parted:
    """Activations and the dimensions over which their statistics are computed.

    With a number of groups, `x` has the groups of channels as a separate dimension. Without it,
    statistics are of channels in the whole batch, and `x` has the shape of the activations.
    """

    def __init__(self, acts: Tensor, groups: int | None) -> None:
        batch, channels, *field = acts.shape
        self.x = self.acts = acts
        self.channel_dims = [1]
        self.dims = [0, *range(2, acts.rank)]
        if groups is not None:
            self.x = acts.reshape((batch, groups, channels // groups, *field))
            self.channel_dims = [1, 2]
            self.dims = [*range(2, self.x.rank)]

    def statistic(self, each: Tensor) -> Expr:
        """Return a statistic of each group in FLOAT, in a shape that broadcasts to `x`."""
        shape = [1 if d in self.dims else size for d, size in enumerate(self.x.shape)]
        return ops.cast(each.reshape(shape), FLOAT)

    def channel(self, each: Tensor) -> Expr:
        """Return a parameter of each channel in FLOAT, in a shape that broadcasts to `x`."""
        shape = [size if d in self.channel_dims else 1 for d, size in enumerate(self.x.shape)]
        return ops.cast(each.reshape(shape), FLOAT)

    def gradient(self, what: str, each: Tensor) -> Expr:
        """Return the gradient with respect to the result in FLOAT, in the shape of `x`.

        Reject a tensor whose shape or type differs from that of the activations.
        """
        if each.shape != self.acts.shape or each.element_type is not self.acts.element_type:
            raise TensorCreationError(
                f"popnn.{what}: gradsIn '{each.name}' is {type_and_shape(each)}, but acts "
                f"'{self.acts.name}' are {type_and_shape(self.acts)}",
                fix="pass the gradient of the result, which has the shape and the type of acts",
            )
        return ops.cast(each.reshape(self.x.shape), FLOAT)

    def whitened(self, mean: Tensor, inv_std_dev: Tensor) -> Expr:
        """Return `(x - mean) * invStdDev`, in FLOAT."""
        return (ops.cast(self.x, FLOAT) - self.statistic(mean)) * self.statistic(inv_std_dev)


def check_norm_options(what: str, options: Options) -> None:
    """Reject options unknown to popnn, and the option for groups of channels at a stride."""
    check_known(f"popnn.{what}", options, (_STRIDED,))
    for value in (options or {}).values():
        if str(value).lower() != "false":
            raise InvalidOption(
                f"popnn.{what}: {_STRIDED} is {clipped(value)}",
                found="the channels of a group must be adjacent",
                fix='pass "false", PopLibs\' default, and a view of acts with adjacent channels',
            )


def _cut(
    what: str, arguments: tuple[Any, ...], counts: tuple[int, int]
) -> tuple[tuple[Tensor, ...], Steps, tuple[Any, ...]]:
    """Return the tensors before the program, the program, and the arguments after it."""
    number = next((n for n, each in enumerate(arguments) if isinstance(each, Steps)), -1)
    if number not in counts:
        raise ElementTypeError(
            f"popnn.{what}: expected {counts[0]} or {counts[1]} further tensors and a program; "
            f"found {max(number, 0)} tensors and {'no' if number < 0 else 'a'} program",
            fix=f"pass {counts[0]} or {counts[1]} tensors after the others, and then the program",
        )
    for place, each in enumerate(arguments[:number], 1):
        check_tensors(f"popnn.{what}", **{f"tensor {place} before the program": each})
    return arguments[:number], arguments[number], arguments[number + 1 :]


def _named(rest: Sequence[Any], what: str) -> tuple[str, Options]:
    name = check_name(f"popnn.{what}", rest[0]) if rest else ""
    return name or what, rest[1] if len(rest) > 1 else None


def _stored(made: Expr, like: Tensor, name: str, prog: Steps) -> Tensor:
    """Record a result in the shape and the type of `like`, the activations."""
    stored = ops.map(ops.cast(made, like.element_type), name=name, program=prog)
    return stored.reshape(like.shape)
