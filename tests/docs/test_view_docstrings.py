"""Examples of view operations show what they make: element numbers as arrays, and what prints."""

from __future__ import annotations

import ast
import doctest
import inspect
from typing import Any

import numpy as np
import pytest

import poplite as pl

METHODS = """__getitem__ slice index sub_sample T reverse dim_shuffle dim_shuffle_partial dim_roll
transpose reshape reshape_partial flatten expand squeeze broadcast upsample reinterpret"""

OPERATIONS: dict[str, Any] = {
    **{name: inspect.getattr_static(pl.Tensor, name) for name in METHODS.split()},
    **{function.__name__: function for function in (pl.concat, pl.append, pl.stack)},
}


def _numbers(tensor: pl.Tensor) -> Any:
    """Return the numbers of the elements of its variable that a tensor shows."""
    regions = [each.interval for each in tensor.var_regions()]
    numbers = [n for each in regions for n in range(each.begin, each.end)]
    return np.array(numbers).reshape(tensor.shape).tolist()


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_show_input_and_output(name: str) -> None:
    names: dict[str, Any] = {}
    results = 0
    for example in doctest.DocTestParser().get_examples(OPERATIONS[name].__doc__ or ""):
        code, _, shown = example.source.partition("  # ")
        if example.want:
            made = eval(code, names)
            assert repr(made) == example.want.strip()
            results += 1
        else:
            exec(code, names)
            made = names.get("x")
        if shown:
            assert _numbers(made) == ast.literal_eval(shown.strip())
        else:
            assert not example.want
    assert results
