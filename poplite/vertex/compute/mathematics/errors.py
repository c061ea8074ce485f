"""The error function and its complement."""

from __future__ import annotations

from poplite.vertex.compute.mathematics.evaluator import Evaluator, Value, polynomial, with_sign
from poplite.vertex.compute.mathematics.exponential import expm1_parts

_ERF = (
    *(1.1283791670577346, -0.37612638431529466, 0.11283781919250917, -0.026865396455195534),
    *(0.005220934336510862, -0.0008482653627225804, 0.00011255582696574368),
    -9.637355397251216e-06,
)
"""erf(x) / x in x^2 for |x| <= 1; error 2^-34.8."""

_TAIL = (
    *(1.2530080580195038, -0.13562110530457427, -0.04756224674306831, 0.12964509549263273),
    *(-0.11927511005077458, 0.06830955400525475, -0.023755094572736786),
    *(0.0025136214923856016, 0.0018211909008608211, -0.0007073750133841592),
)
"""(1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3) for x from 1 to 10.3; error 2^-32.

Source of the form: N. Juffa, "A simple and accurate erfcf", of the factor 1 + 2 x.
"""

_FARTHEST = 10.2
"""From here on the complement is less than half of the least float32."""


def _tail_of(on: Evaluator, size: Value) -> Value:
    """Return the complement of the error function for a double from 1 on."""
    size = on.choose(size > _FARTHEST, _FARTHEST, size)
    t = (size - 3.0) / (size + 3.0)
    _, power = expm1_parts(on, -(size * size))
    return polynomial(t, _TAIL) * power / (size + size + 1.0)


def _parts(on: Evaluator, x: Value) -> tuple[Value, Value, Value]:
    """Return whether |x| < 1, the error function of |x| there, and the complement elsewhere."""
    size = abs(x)
    return size < 1.0, size * polynomial(size * size, _ERF), _tail_of(on, size)


def erf(on: Evaluator, x: Value) -> Value:
    """Return the error function."""
    wide = on.double(x)
    is_small, small, tail = _parts(on, wide)
    return on.single(with_sign(on, on.choose(is_small, small, 1.0 - tail), wide))


def erfc(on: Evaluator, x: Value) -> Value:
    """Return 1 less the error function, of its own accuracy where that is near 1."""
    wide = on.double(x)
    is_small, small, tail = _parts(on, wide)
    near = 1.0 - with_sign(on, small, wide)
    return on.single(on.choose(is_small, near, on.choose(wide < 0.0, 2.0 - tail, tail)))
