"""Functions of `math` for Python floats, which are doubles: some 1 unit in the last place off.

They are written as the kernels for float32 are, but are not there to be vectorised. Where a double
is not enough, a number is the sum of two::

    pairs.py                    sums, products and quotients that keep what rounding takes away
    exponential.py              exp, exp2, expm1, sinh, cosh, tanh
    logarithms.py               log, log2, log10, log1p, pow, cbrt
    trigonometric.py            sin, cos, tan
    inverse_trigonometric.py    asin, acos, atan, atan2
    errors.py                   erf, erfc

Polynomials are of least greatest error on their interval, found with the exchange algorithm of
Remez in 78 digits; beside each stands that error, relative to the function.
`python -m poplite.testing.mathematics --double` measures every function.
"""
