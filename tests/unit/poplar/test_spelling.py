"""Classes get the C++ spelling of their members when they are defined."""

from __future__ import annotations

import pytest

import poplite as pl
from helpers.poplar_spellings import FILE, written


def test_the_file_for_type_checkers_is_that_of_the_declarations() -> None:
    assert FILE.read_text() == written(), "python tests/helpers/poplar_spellings.py"


def test_a_method_with_poplars_order_is_the_same_function() -> None:
    assert pl.Tensor.dimShuffle is pl.Tensor.dim_shuffle
    assert pl.Tensor.getVarRegions is pl.Tensor.var_regions


def test_what_is_made_has_its_name_and_its_declarations() -> None:
    made = pl.Tensor.getMetadata
    assert (made.__name__, made.__qualname__) == ("getMetadata", "Tensor.getMetadata")
    assert made.__doc__ is not None
    assert "Tensor getMetadata() const" in made.__doc__
    with pytest.raises(TypeError):
        pl.Graph().add_variable(pl.FLOAT, (2,)).getMetadata(3)  # type: ignore[call-arg]
