"""How PrintTensor writes values.

The form follows Poplar's: the title, a colon, floats with seven decimals, rows of a matrix
one a line with two spaces before them, long tensors cut in the middle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def format_tensor(title: str, values: npt.NDArray[Any]) -> str:
    """Return the text that PrintTensor prints.

    Args:
        title: what stands before the values.
        values: of any shape.

    >>> print(format_tensor("v1", np.array([1, 1.5], np.float32)))
    v1: [1.0000000 1.5000000]
    """
    with np.printoptions(threshold=1000, edgeitems=3, linewidth=75):
        text = np.array2string(values, formatter={"float_kind": lambda value: f"{value:.7f}"})
    return f"{title}: " + text.replace("\n", "\n  ")
