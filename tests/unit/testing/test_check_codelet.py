"""`check_codelet` finds C++ that is not what `compute` says, with the smallest fields."""

from __future__ import annotations

import pytest

import poplite as pl
from helpers.codelets import compiler
from poplite.testing import check_codelet


@pytest.fixture(autouse=True)
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


def test_equal_forms_pass() -> None:
    check_codelet(Scale, lambda n: {"x": n, "y": n}, examples=40)


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


def test_fields_that_never_fit_are_said() -> None:
    class Behind(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            self.x[len(self.x)] = 0.0

    with pytest.raises(AssertionError, match="so nothing was compared"):
        check_codelet(Behind, examples=5)


def test_a_text_that_does_not_compile_is_refused_with_the_reason() -> None:
    class Wrong(pl.Vertex):
        x: pl.InOut[pl.FLOAT]
        cpp = "return no_such_name;"

        def compute(self) -> None:
            self.x = 1.0

    with pytest.raises(pl.VertexCompileError, match="no_such_name"):
        check_codelet(Wrong)


def test_without_a_compiler_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("poplite.ipu.building.find_spec", lambda name: None)
    with pytest.raises(pl.FileLoadError, match="no C\\+\\+ compiler") as caught:
        check_codelet(Scale)
    assert 'poplite[cpp]"' in caught.value.fix
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(pl.FileLoadError, match="'no-such-compiler'"):
        check_codelet(Scale)
