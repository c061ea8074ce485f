"""Host values turned into elements."""

import numpy as np
import pytest

from poplite.errors import ElementTypeError, SizeOverflowError
from poplite.expr.tree import Number
from poplite.graph.graph import Graph
from poplite.graph.storage.host_values import elements, scalar
from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT


def test_integers_become_floats_and_bools_become_integers() -> None:
    assert elements(FLOAT, [1, 2], what="'a'").dtype == np.float32
    assert elements(INT, np.array([True, False]), what="'a'").tolist() == [1, 0]
    assert elements(UNSIGNED_INT, [2**32 - 1], what="'a'").tolist() == [2**32 - 1]
    assert elements(INT, [], what="'a'").shape == (0,)


def test_integers_past_64_bits_become_floats() -> None:
    """NumPy keeps them as objects; FLOAT holds them up to 3.4e38."""
    assert elements(FLOAT, 2**70, what="'a'").item() == 2.0**70
    assert elements(FLOAT, [2**70, 0.5, True], what="'a'").tolist() == [2.0**70, 0.5, 1]
    with pytest.raises(ElementTypeError, match="'a': 1180591620717411303424 cannot be stored as B"):
        elements(BOOL, 2**70, what="'a'")


@pytest.mark.parametrize("power", [60, 62, 70, 100])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beyond_doubles_are_rounded_once(power: int, sign: int) -> None:
    """By way of a double all three would be halfway between two numbers of FLOAT."""
    low, high = sign * 2**power, sign * (2**power + 2 ** (power - 23))
    halfway = sign * (2**power + 2 ** (power - 24))
    for number, nearest in ((halfway - sign, low), (halfway, low), (halfway + sign, high)):
        assert elements(FLOAT, number, what="'a'").item() == nearest
        assert elements(FLOAT, [number, 2**70], what="'a'")[0] == nearest
        assert scalar(FLOAT, number, what="'a'") == nearest
        graph = Graph(Target(tiles=1))
        x = graph.add_variable(FLOAT, (), "x", mapping=0)
        leaf = (x + number).operands[1]
        assert isinstance(leaf, Number)
        assert leaf.value == nearest


def test_the_result_is_a_copy() -> None:
    host = np.zeros(2, np.float32)
    stored = elements(FLOAT, host, what="'a'")
    host[:] = 1
    assert stored.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kind", "value"), [(INT, 0.5), (UNSIGNED_INT, [1.0]), (BOOL, 1), (INT, "x"), (FLOAT, None)]
)
def test_values_of_another_kind(kind: type, value: object) -> None:
    with pytest.raises(ElementTypeError, match=f"cannot be stored as {kind.__name__}"):
        elements(kind, value, what="'a'")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (INT, [2**70, 1.5], "1.5 of type float, elements of int32"),
        (BOOL, 2**70, f"{2**70} of type int, elements of bool"),
        (BOOL, [True, 2**70], f"{2**70} of type int, elements of bool"),
        (FLOAT, [None, 1], "None of type NoneType, elements of float32"),
        (FLOAT, ["a", 1], "values of text, elements of float32"),
        (INT, [[1], [2, 3]], "lists of several lengths, elements of int32"),
        (INT, np.array([1, 2], object), "values of object, elements of int32"),
    ],
)
def test_values_that_numpy_keeps_as_objects(kind: type, value: object, found: str) -> None:
    with pytest.raises(ElementTypeError, match="'a': .* cannot be stored as") as caught:
        elements(kind, value, what="'a'")  # type: ignore[arg-type]
    assert caught.value.found == found


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (INT, [0, 2**31], "2147483648 does not fit INT"),
        (UNSIGNED_INT, -1, "-1 does not fit UNSIGNED_INT"),
        (INT, 2**80, f"{2**80} does not fit INT"),
        (INT, [0, -(2**80)], f"-{2**80} does not fit INT"),
        (FLOAT, [1e39], "1e\\+39 does not fit FLOAT"),
        (HALF, [1, 2**70], f"{2**70} does not fit HALF"),
        (FLOAT, -(2**1030), f"-{2**1030} does not fit FLOAT"),
    ],
)
def test_values_out_of_range(kind: type, value: float, message: str) -> None:
    with pytest.raises(SizeOverflowError, match=f"'a': {message}"):
        elements(kind, value, what="'a'")


def test_infinities_and_nans_are_values() -> None:
    assert np.isinf(elements(FLOAT, [np.inf], what="'a'")).all()
    assert np.isnan(scalar(FLOAT, float("nan"), what="'a'"))


def test_scalars_are_rounded_to_what_is_stored() -> None:
    assert scalar(FLOAT, 0.1, what="'a'") == float(np.float32(0.1))
    assert scalar(FLOAT, np.float64(0.1), what="'a'") == float(np.float32(0.1))
    assert scalar(INT, np.int64(7), what="'a'") == 7
    assert scalar(BOOL, True, what="'a'") is True
    with pytest.raises(SizeOverflowError, match="1e\\+39 does not fit FLOAT"):
        scalar(FLOAT, 1e39, what="'a'")
    with pytest.raises(ElementTypeError, match=r"an array of shape \(2,\) where one INT"):
        scalar(INT, [1, 2], what="'a'")  # type: ignore[arg-type]
