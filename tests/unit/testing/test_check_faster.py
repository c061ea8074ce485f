"""`check_faster` and `check_codelet` find forms that differ, each with the smallest fields."""

from __future__ import annotations

import re
from typing import Generic, TypeVar

import pytest

import poplite as pl
from helpers.codelets import compiler
from helpers.depth import deep, thinned
from poplite.testing import check_codelet, check_faster

# -- faster forms ----------------------------------------------------------------------------------


T = TypeVar("T", pl.FLOAT, pl.HALF, pl.INT, pl.UNSIGNED_INT)
E = TypeVar("E", pl.HALF, pl.INT)


class Kept(pl.Vertex, Generic[E]):
    """A form that keeps its promise for both types; the indices may be out of range."""

    x: pl.Input[pl.Vector[E]]
    y: pl.InOut[pl.Vector[E]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.y[i] + self.x[i]

    @pl.faster(bits="equal")
    def backwards(self) -> None:
        for i in range(len(self.y)):
            k = len(self.y) - 1 - i
            self.y[k] = self.x[k] + self.y[k]


def test_a_form_that_keeps_its_promise_passes() -> None:
    check_faster(Kept)


class Added(pl.Vertex, Generic[T]):
    """Differs for HALF, whose largest numbers do not fit when they are doubled."""

    x: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i]

    @pl.faster(bits="equal")
    def and_subtracted(self) -> None:
        for i in range(len(self.x)):
            value = self.x[i]
            self.x[i] = value + value
            self.x[i] = self.x[i] - value


class Negated(pl.Vertex):
    """Loses the sign of zero."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = -self.x[i]

    @pl.faster(bits="equal")
    def subtracted(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 0.0 - self.x[i]


class Larger(pl.Vertex):
    """Differs for zeros and NaN."""

    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = max(self.x, 0.0)

    @pl.faster(bits="equal")
    def reversed(self) -> None:
        self.x = max(0.0, self.x)


class Tiny(pl.Vertex):
    """Differs for numbers below the smallest normal one."""

    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = self.x * 1.0

    @pl.faster(bits="equal")
    def flushed(self) -> None:
        if abs(self.x) < 1.1754943508222875e-38:
            self.x = self.x * 0.0


class Infinite(pl.Vertex):
    """Differs for infinities and the largest numbers."""

    x: pl.InOut[pl.HALF]

    def compute(self) -> None:
        self.x = self.x * 1.0

    @pl.faster(bits="equal")
    def scaled(self) -> None:
        self.x = self.x * 4.0
        self.x = self.x / 4.0


class Ends(pl.Vertex):
    """Differs for the least integer."""

    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        if self.x < 0:
            self.x = -1
        else:
            self.x = 1

    @pl.faster(bits="equal")
    def negated(self) -> None:
        self.x = -self.x
        if self.x > 0:
            self.x = -1
        else:
            self.x = 1


class Blocked(pl.Vertex):
    """Forgets what is left behind blocks of 64."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]

    @pl.faster(bits="equal")
    def by_blocks(self) -> None:
        n = len(self.y)
        if n > 64:
            n = n // 64 * 64
        for i in range(n):
            self.y[i] = self.x[i]


class Empty(pl.Vertex):
    """Reads an element of an empty vector."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y = self.x[i]

    @pl.faster(bits="equal")
    def last(self) -> None:
        self.y = self.x[len(self.x) - 1]


class Ragged(pl.Vertex):
    """Takes all rows to be as long as the first."""

    x: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.x)):
            for i in range(len(self.x[r])):
                self.x[r][i] = 1.0

    @pl.faster(bits="equal")
    def even(self) -> None:
        for r in range(len(self.x)):
            for i in range(min(len(self.x[0]), len(self.x[r]))):
                self.x[r][i] = 1.0


class Returned(pl.Vertex):
    """Returns something else for an empty vector."""

    x: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):
            if self.x[i] > 0.0:
                return True
        return len(self.x) > 1000

    @pl.faster(bits="equal")
    def not_empty(self) -> bool:
        for i in range(len(self.x)):
            if self.x[i] > 0.0:
                return True
        return len(self.x) == 0


class Raised(pl.Vertex):
    """Raises for fewer numbers than compute."""

    x: pl.Input[pl.FLOAT]

    def compute(self) -> None:
        assert self.x >= 0.0

    @pl.faster(bits="equal")
    def not_negative(self) -> None:
        if self.x < 0.0:
            raise ValueError


class Counted(pl.Vertex):
    """Differs for one number of rounds."""

    rounds: pl.State[pl.INT]
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        for _ in range(self.rounds):
            self.x = self.x ^ 1

    @pl.faster(bits="equal")
    def parity(self) -> None:
        if self.rounds == 7:
            self.x = self.x ^ 3
        elif self.rounds % 2 == 1:
            self.x = self.x ^ 1


BROKEN = [
    (Negated, "'x'[0] is 0.0 in compute, but -0.0|'x'[0] is -0.0 in compute, but 0.0"),
    (Larger, "'x' is -0.0 in compute, but 0.0"),
    (Tiny, "'x' is "),
    (Infinite, "'x' is "),
    (Ends, "'x' is -1 in compute, but 1"),
    (Blocked, "'y'[64] is "),
    (Empty, "only the faster form stops: vertex 0 of 'Empty' on tile 0: 'Empty.x': index -1 of 0"),
    (Ragged, "'x[1]'["),
    (Returned, "'the returned value' is False in compute, but True"),
    (Raised, "only compute stops: vertex 0 of 'Raised' on tile 0"),
    (Counted, "rounds = 7"),
]


@pytest.mark.parametrize(
    ("vertex", "texts"),
    thinned(
        BROKEN, [case for case in BROKEN if case[0] in (Negated, Ends, Blocked, Empty, Counted)]
    ),
    ids=[vertex.__name__ for vertex, _ in BROKEN],
)
def test_a_form_that_breaks_its_promise_is_found(vertex: type[pl.Vertex], texts: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_faster(vertex)
    assert any(text in str(caught.value) for text in texts.split("|")), caught.value


@deep
def test_all_element_types_of_a_template_are_tried() -> None:
    values = {"x": [1, 2**15]}
    for cls in (Added[pl.FLOAT], Added[pl.INT], Added[pl.UNSIGNED_INT]):
        check_faster(cls, values=values)
    with pytest.raises(AssertionError, match=r"Added\[HALF\]\.and_subtracted is not Added\[HALF\]"):
        check_faster(Added, values=values)


def test_the_smallest_fields_are_shown() -> None:
    with pytest.raises(AssertionError) as caught:
        check_faster(Negated)
    with pytest.raises(AssertionError, match=re.escape(str(caught.value))):
        check_faster(Negated)  # the same again
    what, *fields = str(caught.value).splitlines()
    assert "(1 element of 1)" in what
    assert re.fullmatch(r"  x = \[-?0\.\]", "".join(fields))


class Product(pl.Vertex):
    """Fields whose lengths must fit."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    c: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for j in range(7):
            for k in range(3):
                self.c[j] += self.a[k + 100] * self.b[k][j]

    @pl.faster(bits="equal")
    def by_rows(self) -> None:
        for k in range(3):
            for j in range(7):
                self.c[j] += self.a[k + 100] * self.b[k][j]


def test_lengths_may_be_given() -> None:
    check_faster(Product, lambda n: {"a": 103 + n, "b": (3, 7 + n), "c": 7}, examples=20)
    with pytest.raises(
        AssertionError, match="compute indexes out of range for all fields of 20 vert"
    ):
        check_faster(Product, examples=20)


class Table(pl.Vertex):
    """Indices that must be inside of a vector."""

    index: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.index)):
            assert self.index[i] >= 0
            assert self.index[i] < 8
            self.y = float(self.index[i])

    @pl.faster(bits="equal")
    def below_seven(self) -> None:
        for i in range(len(self.index)):
            self.y = min(float(self.index[i]), 6.0)


def test_values_may_be_given() -> None:
    check_faster(Table, values={"index": range(7)})
    with pytest.raises(AssertionError, match=r"'y' is 7\.0 in compute, but 6\.0"):
        check_faster(Table, values={"index": range(8)})


class Close(pl.Vertex):
    """Differs in the last bits."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] / 3.0

    @pl.faster(rtol=1e-6)
    def multiplied(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * 0.3333333


def test_a_form_may_differ_by_its_tolerance_and_no_more() -> None:
    values = {"x": [-1.0, 0.0, 3.0, float("inf"), float("nan"), 1e30]}
    check_faster(Close, values=values)

    class Exact(Close):
        @pl.faster(bits="equal")
        def multiplied(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] * 0.3333333

    with pytest.raises(AssertionError, match="in compute, but"):
        check_faster(Exact, values=values)


class Workers(pl.MultiVertex):
    """Forgets the last worker's share."""

    x: pl.InOut[pl.Vector[pl.QUARTER]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = 1.0

    @pl.faster(bits="equal")
    def first(self, worker: int) -> None:
        if worker < 5:
            for i in range(worker, len(self.x), self.num_workers):
                self.x[i] = 1.0


def test_vertices_of_all_workers_and_quarters_are_checked() -> None:
    with pytest.raises(AssertionError, match=r"'x'\[5\] is \d+ in compute, but "):
        check_faster(Workers)


def test_a_class_without_a_form_is_refused() -> None:
    class Plain(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 1.0

    with pytest.raises(pl.VertexDefinitionError, match="'Plain': it has no faster form"):
        check_faster(Plain)


# -- codelets --------------------------------------------------------------------------------------


@pytest.fixture
def a_compiler() -> None:
    """Skip the tests where no compiler is."""
    compiler()


class Scale(pl.Vertex):
    factor: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    cpp = """
        for (unsigned i = 0; i < y.size(); ++i) y[i] = static_cast<float>(x[i]) * factor;
        return true;
    """

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] * self.factor


@pytest.mark.usefixtures("a_compiler")
def test_equal_forms_pass() -> None:
    check_codelet(Scale, lambda n: {"x": n, "y": n}, examples=40)


@pytest.mark.usefixtures("a_compiler")
def test_a_difference_is_shown_on_the_smallest_fields() -> None:
    class LastIsLeft(Scale):
        cpp = """
            for (unsigned i = 0; i + 1 < y.size() + (y.size() < 3); ++i) {
              y[i] = static_cast<float>(x[i]) * factor;
            }
            return true;
        """

        def compute(self) -> None:
            for i in range(len(self.y)):
                self.y[i] = self.x[i] * self.factor

    with pytest.raises(AssertionError, match=r"'y'\[2\] of LastIsLeft is") as caught:
        check_codelet(LastIsLeft, lambda n: {"x": n, "y": n}, values={"factor": [2]}, examples=40)
    lines = str(caught.value).splitlines()
    assert lines[1] == "  factor = 2.0"
    assert lines[3].count(",") == 2


@pytest.mark.usefixtures("a_compiler")
def test_fields_that_never_fit_are_said() -> None:
    class Behind(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            self.x[len(self.x)] = 0.0

    with pytest.raises(AssertionError, match="so nothing was compared"):
        check_codelet(Behind, examples=5)


@pytest.mark.usefixtures("a_compiler")
def test_a_text_that_does_not_compile_is_refused_with_the_reason() -> None:
    class Wrong(pl.Vertex):
        x: pl.InOut[pl.FLOAT]
        cpp = "return no_such_name;"

        def compute(self) -> None:
            self.x = 1.0

    with pytest.raises(pl.VertexCompileError, match="no_such_name"):
        check_codelet(Wrong)


@pytest.mark.usefixtures("a_compiler")
def test_without_a_compiler_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("poplite.cpp.compilers.find_spec", lambda name: None)
    with pytest.raises(pl.FileLoadError, match="no C\\+\\+ compiler") as caught:
        check_codelet(Scale)
    assert 'poplite[cpp]"' in caught.value.fix
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(pl.FileLoadError, match="'no-such-compiler'"):
        check_codelet(Scale)
