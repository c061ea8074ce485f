"""docs/vertex-library.md has every class of `poplite.vertices`, as the class declares it."""

from __future__ import annotations

from helpers import vertex_library
from poplite import vertices


def test_the_page_is_that_of_the_classes() -> None:
    page = vertex_library.PAGE.read_text()
    assert vertex_library.made(page) == page, "python tests/helpers/vertex_library.py writes it"


def test_every_class_has_an_example() -> None:
    assert sorted(vertex_library.EXAMPLES) == vertices.__all__


def test_a_formula_is_made_of_what_the_class_declares() -> None:
    assert vertex_library.cost("Add").endswith(
        "BinaryOp1D`. For n elements: `29 + 3 n / 2` for FLOAT; `26 + 3 n / 4` for HALF; "
        "`26 + 7 n` for INT, UNSIGNED_INT"
    )
    assert vertex_library.cost("Copy") == "priced by its compiled code"
