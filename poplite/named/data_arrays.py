"""Results of computations as xarray DataArrays, whose dimensions are named after the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poplite.errors import AxisLengthError
from poplite.named.op import Op
from poplite.named.programs import Item, Sequential
from poplite.public import optional_package
from poplite.text import clipped


def data_arrays(call: str, items: Sequence[Item], found: Any) -> list[Any]:
    """Return the values of items as DataArrays, in order; None for items without a value.

    Args:
        call: the text of the call, for errors.
        items: the items of a computation.
        found: the return value of a call of the computation.
    """
    made = _data_array(call)
    values = [*found.values()] if isinstance(found, Mapping) else found
    if not isinstance(values, list | tuple):
        values = [values] if items else []
    ops = [_op_of(item) for item in items]
    shapes = [None if each is None else np.shape(each) for each in values]
    wanted = [None if op is None else op.axes.lengths for op in ops]
    if shapes != wanted:
        raise AxisLengthError(
            f"{call}: {clipped(found)} is not a result of this computation",
            found="\n".join(each.text for each in ops if each is not None)
            or "its items have no values",
            fix="pass what a call of the computation returned",
        )
    pairs = zip(values, ops, strict=True)
    return [
        None if op is None else made(value, dims=op.axes.names, name=op.name or None)
        for value, op in pairs
    ]


def _op_of(item: Item) -> Op | None:
    """Return the operation that gives an item its value."""
    if isinstance(item, Sequential):
        return _op_of(item.items[-1])
    return item if isinstance(item, Op) else None


def _data_array(call: str) -> Any:
    """Return the class of xarray, which is imported here alone, since few need it."""
    return optional_package("xarray", call, "xarray").DataArray
