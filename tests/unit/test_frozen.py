"""`frozen` against `dataclass(frozen=True, slots=True)`: the same classes, made by both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import (
    FrozenInstanceError,
    InitVar,
    asdict,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from inspect import signature
from typing import Any, ClassVar

import pytest

from poplite.frozen import frozen

_BY_DATACLASS = dataclass(frozen=True, slots=True)
_WITHOUT_EQ = (frozen(eq=False), dataclass(frozen=True, slots=True, eq=False))


def _classes(decorate: Callable[[type], type]) -> dict[str, Any]:
    """Return classes with all forms of fields, made by a decorator."""

    class Point:
        """A point."""

        x: int
        y: int = 2
        count: ClassVar[int] = 7

    class Kept:
        """Fields that are made, derived, left out of comparisons, or hashed apart."""

        name: str
        items: list[int] = field(default_factory=list, hash=False)
        note: str = field(default="", compare=False, repr=False)
        twice: str = field(init=False, compare=False)
        made: dict[str, int] = field(init=False, default_factory=dict, hash=False)
        fixed: int = field(init=False, default=5)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", self.name * 2)

    class Scaled:
        """A number that an argument changes, which is not kept."""

        value: int
        by: InitVar[int]
        plus: InitVar[int] = 1  # type: ignore[assignment]

        def __post_init__(self, by: int, plus: int) -> None:
            object.__setattr__(self, "value", self.value * by + plus)

    class Own:
        """Methods of its own."""

        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, int) and self.x == other

        def __repr__(self) -> str:
            return f"<{self.x}>"

    class Hashed:
        """A hash of its own, beside the `__eq__` of fields."""

        x: int

        def __hash__(self) -> int:
            return 7

    class Unhashed:
        """Fields that are compared, of objects that have no hash."""

        x: int
        __hash__ = None  # type: ignore[assignment]

    class Spelt:
        """An argument whose annotation names the module."""

        x: int
        by: dataclasses.InitVar[int]

        def __post_init__(self, by: int) -> None:
            object.__setattr__(self, "x", self.x * by)

    class Empty:
        """No fields."""

    base: Any = decorate(Point)

    class Point3(base):  # type: ignore[misc]
        """With another field."""

        z: int = 0

    others = (Kept, Scaled, Own, Hashed, Unhashed, Spelt, Empty, Point3)
    return {each.__name__: decorate(each) for each in others} | {"Point": base}


OURS, THEIRS = _classes(frozen), _classes(_BY_DATACLASS)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 3), {}),
    ("Point", (), {"y": 5, "x": 6}),
    ("Point3", (1, 2, 3), {}),
    ("Point3", (1,), {"z": 9}),
    ("Kept", ("a",), {}),
    ("Kept", ("a", [1, 2], "note"), {}),
    ("Scaled", (3, 4), {}),
    ("Scaled", (3,), {"by": 2, "plus": 0}),
    ("Own", (3,), {}),
    ("Hashed", (3,), {}),
    ("Unhashed", (3,), {}),
    ("Spelt", (3, 2), {}),
    ("Empty", (), {}),
]


def _pairs() -> Iterator[tuple[Any, Any]]:
    for name, arguments, named in CALLS:
        yield OURS[name](*arguments, **named), THEIRS[name](*arguments, **named)


def _shown(value: object) -> str:
    return repr(value).replace("_classes.<locals>.", "")


@pytest.mark.parametrize(("ours", "theirs"), list(_pairs()), ids=lambda value: _shown(value))
def test_objects_have_the_values_and_texts_of_a_dataclass(ours: Any, theirs: Any) -> None:
    assert _shown(ours) == _shown(theirs)
    assert asdict(ours) == asdict(theirs)
    assert is_dataclass(ours)
    assert _names_to_match(ours) == _names_to_match(theirs)
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert _annotated(type(ours)) == _annotated(type(theirs))


def _annotated(cls: type) -> list[str]:
    """Return the arguments of a class with their annotations, of `InitVar[int]` the inner one."""
    shown = signature(cls).parameters.values()
    return [re.sub(r"(\w+\.)?InitVar\[(.*?)\]", r"\2", str(each)) for each in shown]


def _names_to_match(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = type(value).__match_args__
    return names


def test_equality_and_hashes_are_those_of_a_dataclass() -> None:
    pairs = list(_pairs())
    for ours, theirs in pairs:
        assert _hash_of(ours) == _hash_of(theirs)
        for our_other, their_other in pairs:
            assert (ours == our_other) == (theirs == their_other)
    point, other = OURS["Point"](1, 2), OURS["Point"](1)
    assert point == other
    assert len({point, other}) == 1
    assert point != OURS["Point3"](1, 2)
    assert OURS["Kept"]("a", note="one") == OURS["Kept"]("a", note="other")


def _hash_of(value: object) -> int | str:
    try:
        return hash(value)
    except TypeError as error:
        return str(error)


def test_without_eq_objects_are_equal_to_themselves_alone() -> None:
    for decorate in _WITHOUT_EQ:
        point: Any = _classes(decorate)["Point"]
        assert point(1) != point(1)
        assert hash(point(1)) is not None


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_nothing_is_assigned_or_deleted(classes: dict[str, Any]) -> None:
    point = classes["Point"](1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises((FrozenInstanceError, TypeError)):  # Python 3.11's dataclass: TypeError
        point.other = 2
    assert point.x == 1
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
@pytest.mark.parametrize(
    ("arguments", "named", "text"),
    [
        ((), {}, r"Point.__init__\(\) missing 1 required positional argument: 'x'"),
        ((1, 2, 3), {}, r"Point.__init__\(\) takes from 2 to 3 positional arguments but 4"),
        ((1,), {"z": 3}, r"Point.__init__\(\) got an unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments_are_refused_as_a_dataclass_does(
    classes: dict[str, Any], arguments: tuple[int, ...], named: dict[str, int], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        classes["Point"](*arguments, **named)


def test_objects_are_replaced_copied_and_matched() -> None:
    point = OURS["Point3"](1, 2, 3)
    assert replace(point, y=8) == OURS["Point3"](1, 8, 3)
    assert copy.copy(point) == point
    assert copy.deepcopy(OURS["Kept"]("a", [1])).items == [1]
    match Sent(1, 2):
        case Sent(x, other):
            assert (x, other) == (1, 2)
    assert OURS["Kept"]("a").items is not OURS["Kept"]("a").items


@frozen
class Sent:
    """A class that other processes find by its name."""

    x: int
    next: Any = None


def test_objects_are_sent_to_other_processes() -> None:
    value = Sent(1, Sent(2))
    assert pickle.loads(pickle.dumps(value)) == value


def test_the_text_of_an_object_that_holds_itself_ends() -> None:
    value = Sent(1)
    object.__setattr__(value, "next", value)
    assert repr(value) == "Sent(x=1, next=...)"
