"""The vertex library: one file per family, each class with its NumPy reference.

`Add.reference(a, b)` computes in NumPy what `Add` writes: it takes the Input, InOut and State
fields by name, and `size`, the number of elements of the Output, where the fields do not determine
it.  Most classes are templates, `Add[pl.HALF]`; docs/vertex-library.md lists all of them.
"""

from __future__ import annotations

if __name__ == "vertices":  # from a checkout: a second copy of its classes
    raise ImportError("vertices is a part of poplite: import poplite.vertices")

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.vertices.amp import AmpMatMul as AmpMatMul, AmpMatMulInHalf as AmpMatMulInHalf
    from poplite.vertices.elementwise import (
        Absolute as Absolute,
        Add as Add,
        Clamp as Clamp,
        Divide as Divide,
        Exp as Exp,
        Log as Log,
        Maximum as Maximum,
        Minimum as Minimum,
        Multiply as Multiply,
        Negative as Negative,
        Relu as Relu,
        Scale as Scale,
        ScaledAdd as ScaledAdd,
        Select as Select,
        Sigmoid as Sigmoid,
        Sqrt as Sqrt,
        Square as Square,
        Subtract as Subtract,
        Tanh as Tanh,
    )
    from poplite.vertices.filling import (
        Cast as Cast,
        CastToInteger as CastToInteger,
        Copy as Copy,
        CountFrom as CountFrom,
        CountOn as CountOn,
        Fill as Fill,
        Iota as Iota,
    )
    from poplite.vertices.order import ArgSort as ArgSort, Sort as Sort
    from poplite.vertices.random import (
        AdvanceKey as AdvanceKey,
        Bernoulli as Bernoulli,
        Dropout as Dropout,
        Integers as Integers,
        Normal as Normal,
        TruncatedNormal as TruncatedNormal,
        Uniform as Uniform,
    )
    from poplite.vertices.reduce import (
        AddPartials as AddPartials,
        AllColumns as AllColumns,
        AllRows as AllRows,
        AnyColumns as AnyColumns,
        AnyRows as AnyRows,
        Dot as Dot,
        MaxColumns as MaxColumns,
        MaxRows as MaxRows,
        MinColumns as MinColumns,
        MinRows as MinRows,
        ProductColumns as ProductColumns,
        ProductRows as ProductRows,
        SumColumns as SumColumns,
        SumRows as SumRows,
    )
    from poplite.vertices.scans import (
        CumulativeProduct as CumulativeProduct,
        CumulativeSum as CumulativeSum,
    )
    from poplite.vertices.slices import (
        MultiSlice as MultiSlice,
        MultiUpdate as MultiUpdate,
        MultiUpdateAdd as MultiUpdateAdd,
        MultiUpdateMax as MultiUpdateMax,
        MultiUpdateMul as MultiUpdateMul,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
