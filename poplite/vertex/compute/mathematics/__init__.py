"""Functions of `math` in poplite's own arithmetic: equal bits on every processor.

A C library rounds in its own way, and calls other code on other processors. These kernels are
straight lines of operations that IEEE 754 rounds once, without branches, so that LLVM turns loops
of them into vector instructions::

    singles.py         those of float32, and what a kernel is written in: by NumPy here, as LLVM
                       instructions elsewhere
    doubles.py         those of doubles
    functions.py       all of them by name, and `fma`

All of float32 but `exp` compute in double and round once, so that their error is that of the
rounding, half a unit in the last place, and a little more. Polynomials are of least greatest error
on their interval, found with the exchange algorithm of Remez in 40 digits; each is followed by that
error. `python -m poplite.testing.mathematics` measures every function on all 2^32 numbers.
"""
