"""Which methods are faster forms, and what a class, a subclass and a template have of them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import pytest

import poplite as pl
from poplite.vertex.compute.meaning import faster_form, meaning_of

T = TypeVar("T", pl.FLOAT, pl.INT)


class Twice(pl.Vertex, Generic[T]):
    """Doubles an element."""

    FACTOR = 2

    x: pl.InOut[T]

    def compute(self) -> None:
        self.x = self.FACTOR * self.x

    @pl.faster(bits="equal")
    def added(self) -> None:
        self.x = self.x + self.x


def name_of_form(cls: type[pl.Vertex]) -> str | None:
    """Return the name of the faster form of a class."""
    form = faster_form(cls)
    return None if form is None else str(form)


def test_a_template_has_its_form_for_each_element_type() -> None:
    forms = [faster_form(cls) for cls in (Twice[pl.FLOAT], Twice[pl.INT])]
    assert [str(form) for form in forms] == ["Twice[FLOAT].added", "Twice[INT].added"]
    assert [form.vertex.fields["x"].element for form in forms if form] == [pl.FLOAT, pl.INT]
    assert faster_form(Twice[pl.INT]) is forms[1]


def test_a_form_has_the_fields_of_its_class_and_code_of_its_own() -> None:
    form = faster_form(Twice[pl.FLOAT])
    assert form is not None
    assert form.vertex.fields == Twice[pl.FLOAT].fields
    assert form.location.line == Twice.added.__code__.co_firstlineno
    codes = [meaning_of(cls).code.functions[0].name for cls in (Twice[pl.FLOAT], form.vertex)]
    assert codes == ["compute", "added"]


def test_what_a_class_says_of_equal_bits_is_a_tolerance_of_zero() -> None:
    class Close(Twice[pl.FLOAT]):
        @pl.faster(rtol=1e-6)
        def close(self) -> None:
            self.x = self.x + self.x

    forms = [faster_form(cls) for cls in (Twice[pl.FLOAT], Close)]
    assert [form.rtol for form in forms if form] == [0.0, 1e-6]


def test_a_subclass_with_more_fields_or_other_cycles_inherits_the_form() -> None:
    class More(Twice[pl.FLOAT]):
        y: pl.Input[pl.FLOAT]

        def cycles(self, target: pl.Target) -> int:
            return 3

    assert name_of_form(More) == "More.added"


def test_a_subclass_that_computes_something_else_inherits_no_form() -> None:
    class OtherCompute(Twice[pl.FLOAT]):
        def compute(self) -> None:
            self.x = 3.0 * self.x

    class OtherNumber(Twice[pl.FLOAT]):
        FACTOR = 3

    class OtherMethod(Twice[pl.FLOAT]):
        def added(self) -> None:
            self.x = 2.0 * self.x

    assert [name_of_form(each) for each in (OtherCompute, OtherNumber, OtherMethod)] == [None] * 3


def test_a_subclass_may_have_a_form_of_an_inherited_compute() -> None:
    class Plain(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 2.0 * self.x

    class Quick(Plain):
        @pl.faster(bits="equal")
        def added(self) -> None:
            self.x = self.x + self.x

    assert [name_of_form(each) for each in (Plain, Quick)] == [None, "Quick.added"]


def test_a_method_that_is_replaced_replaces_the_form() -> None:
    class Changed(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 2.0 * self.x

        @pl.faster(bits="equal")
        def added(self) -> None:
            self.x = self.x + self.x

    class Other(Changed):
        @pl.faster(bits="equal")
        def divided(self) -> None:
            self.x = self.x / 0.5

    before = faster_form(Changed)
    setattr(Changed, "added", Other.divided)  # noqa: B010 (mypy knows that it is another method)
    after = faster_form(Changed)
    assert before is not None
    assert after is not None
    assert meaning_of(before.vertex).code != meaning_of(after.vertex).code


ARGUMENTS = [
    ({}, "neither bits nor rtol is passed"),
    ({"bits": "equal", "rtol": 1e-6}, "both bits and rtol are passed"),
    ({"bits": "close"}, "bits='close', but it must be \"equal\""),
    ({"bits": 32}, 'bits=32, but it must be "equal"'),
    ({"rtol": 0.0}, "rtol=0.0 is not a number above 0"),
    ({"rtol": -1.0}, "rtol=-1.0 is not a number above 0"),
    ({"rtol": float("inf")}, "rtol=inf is not a number above 0"),
    ({"rtol": "1e-6"}, "rtol='1e-6' is not a number above 0"),
    ({"rtol": True}, "rtol=True is not a number above 0"),
]


@pytest.mark.parametrize(("arguments", "what"), ARGUMENTS)
def test_a_promise_is_either_equal_bits_or_a_tolerance(
    arguments: dict[str, Any], what: str
) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=re.escape(what)) as caught:
        pl.faster(**arguments)
    assert caught.value.fix == 'pl.faster(bits="equal"), or pl.faster(rtol=1e-6)'


@pytest.mark.parametrize(
    "thing", [3, property(lambda self: None), len], ids=["int", "property", "len"]
)
def test_what_is_no_method_is_no_form(thing: Any) -> None:
    with pytest.raises(pl.VertexDefinitionError, match="is not a method of a vertex class"):
        pl.faster(bits="equal")(thing)


def test_a_function_outside_of_a_class_is_no_form() -> None:
    def blocked(self: Any) -> None:
        pass

    with pytest.raises(pl.VertexDefinitionError, match="is not a method of a vertex class"):
        pl.faster(bits="equal")(blocked)


def test_two_forms_in_a_class_are_refused() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="it has 2 faster forms: one, two"):

        class Both(pl.Vertex):
            x: pl.InOut[pl.FLOAT]

            def compute(self) -> None:
                self.x = 2.0 * self.x

            @pl.faster(bits="equal")
            def one(self) -> None:
                self.x = self.x + self.x

            @pl.faster(rtol=1e-6)
            def two(self) -> None:
                self.x = self.x * 2.0


def test_other_parameters_than_those_of_compute_are_refused() -> None:
    with pytest.raises(pl.VertexDefinitionError) as caught:

        class Parts(pl.MultiVertex):
            x: pl.InOut[pl.FLOAT]

            def compute(self, worker: int) -> None:
                self.x = 2.0 * self.x

            @pl.faster(bits="equal")
            def added(self) -> None:
                self.x = self.x + self.x

    assert "its faster form added(self) -> 'None' has different arguments" in caught.value.what
    assert caught.value.fix == "declare it like compute: def added(self, worker) -> None: ..."


@pytest.mark.parametrize(
    ("wide", "found"), [({"LANE": 32}, "LANE"), ({"LANES": 32.0}, "LANES"), ({"x": 1}, "x")]
)
def test_a_number_for_long_registers_is_one_of_the_class(wide: Any, found: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=f"added has wide={{'{found}'") as caught:

        class Wide(pl.Vertex):
            x: pl.InOut[pl.FLOAT]
            LANES = 16

            def compute(self) -> None:
                self.x = 2.0 * self.x

            @pl.faster(bits="equal", wide=wide)
            def added(self) -> None:
                self.x = self.x + self.x

    assert caught.value.fix == "use an int for an int of the class: LANES"


@pytest.mark.parametrize(
    ("numbers", "what"), [(32, "wide=32 is not a dict"), ({3: 4}, "wide has the key 3")]
)
def test_numbers_for_long_registers_are_a_dict_by_name(numbers: Any, what: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=what) as caught:
        pl.faster(bits="equal", wide=numbers)
    assert caught.value.fix == 'wide={"LANES": 32}'


def test_compute_itself_is_no_form() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="compute is the definition"):

        class Itself(pl.Vertex):
            x: pl.InOut[pl.FLOAT]

            @pl.faster(bits="equal")
            def compute(self) -> None:
                self.x = 2.0 * self.x


def test_a_static_method_is_no_form() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="its faster form added is staticmethod"):

        class Static(pl.Vertex):
            x: pl.InOut[pl.FLOAT]

            def compute(self) -> None:
                self.x = 2.0 * self.x

            @staticmethod
            @pl.faster(bits="equal")
            def added(self: Any) -> None:
                self.x = self.x + self.x


def test_a_form_of_nothing_is_refused() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="it has the faster form added, but no"):

        class Base(pl.Vertex, ABC):
            x: pl.InOut[pl.FLOAT]

            @abstractmethod
            def compute(self) -> None: ...

            @pl.faster(bits="equal")
            def added(self) -> None:
                self.x = self.x + self.x


def test_the_dialect_is_that_of_compute_and_names_the_line_of_the_form() -> None:
    class Listed(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 2.0 * self.x

        @pl.faster(bits="equal")
        def listed(self) -> None:
            with open("x"):
                self.x = 1.0

    with pytest.raises(pl.VertexCompileError, match=re.escape("'Listed.listed': 'with'")) as caught:
        faster_form(Listed)
    assert caught.value.at is not None
    assert caught.value.at.line == Listed.listed.__code__.co_firstlineno + 2


def test_a_form_that_returns_something_else_is_refused() -> None:
    class Ends(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> bool:
            self.x = 2.0 * self.x
            return self.x > 0.0

        @pl.faster(bits="equal")
        def added(self) -> None:
            self.x = self.x + self.x

    with pytest.raises(
        pl.VertexDefinitionError, match="it returns nothing, but compute returns a bool"
    ):
        faster_form(Ends)


def test_a_form_that_raises_where_compute_does_not_is_refused() -> None:
    class Raises(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 2.0 * self.x

        @pl.faster(bits="equal")
        def added(self) -> None:
            assert self.x > 0.0
            self.x = self.x + self.x

    with pytest.raises(pl.VertexDefinitionError, match="it may raise an exception"):
        faster_form(Raises)


def test_compute_may_call_its_faster_form() -> None:
    class Calls(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.added()

        @pl.faster(bits="equal")
        def added(self) -> None:
            self.x = self.x + self.x

    assert name_of_form(Calls) == "Calls.added"
