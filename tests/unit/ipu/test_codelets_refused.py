"""What no codelet can have is refused, with the user's line, before any compiler runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

import poplite as pl

T = TypeVar("T", bound=pl.ElementType[Any])


class Shows(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        print(self.x)


class Quarters(pl.Vertex):
    q: pl.InOut[pl.QUARTER]

    def compute(self) -> None:
        self.q = self.q * 2


class Formats(pl.Vertex):
    bits: pl.Input[pl.Vector[pl.QUARTER_METADATA]]
    n: pl.Output[pl.INT]

    def compute(self) -> None:
        self.n = len(self.bits)


class Scale(pl.Vertex, Generic[T]):
    x: pl.InOut[T]

    def compute(self) -> None:
        self.x = self.x * 2


class NoText(pl.Vertex):
    x: pl.InOut[pl.FLOAT]
    cpp = 3

    def compute(self) -> None:
        self.x = self.x * 2


class OutsideDialect(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        values = [self.x]
        self.x = values[0]


class EffectsInLanes(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def bump(self) -> Any:
        self.x[0] += 1
        return self.x[0]

    def compute(self) -> None:
        total = self.x.lanes(0) * self.bump()
        self.x[1] = total.sum()


class IndexOfRow(pl.Vertex):
    rows: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]

    def next(self) -> Any:
        self.rows[0][0] += 1
        return self.rows[0][0]

    def compute(self) -> None:
        self.rows[self.next()][0] += 1


@pytest.mark.parametrize(
    ("cls", "what", "line"),
    [
        (Shows, "runs in the interpreted form only", "print(self.x)"),
        (Quarters, "a codelet cannot compute with QUARTER yet", "class Quarters"),
        (Formats, "a codelet cannot compute with QUARTER yet", "class Formats"),
        (Scale, "'Scale' is a template, and field 'x' has no element type", "class Scale"),
        (NoText, "'NoText.cpp' is 3, not a text", "class NoText"),
        (OutsideDialect, "a list is not part of what compute may use", "values = [self.x]"),
        (EffectsInLanes, "called in the middle of lanes", "self.bump()"),
        (IndexOfRow, "which row is changed comes from a helper", "self.rows[self.next()][0]"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_a_class_is_refused_at_its_line(cls: type[pl.Vertex], what: str, line: str) -> None:
    with pytest.raises(pl.VertexCompileError) as caught:
        pl.ipu.codelet_text(cls)
    error = caught.value
    assert what in error.what
    assert error.fix
    assert error.at is not None
    assert error.at.file == __file__
    text = Path(__file__).read_text().splitlines()[error.at.line - 1]
    assert line in text


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(pl.ElementTypeError, match="3 is no vertex class"):
        pl.ipu.codelet_text([Scale[pl.FLOAT], 3])  # type: ignore[list-item]


def test_own_text_is_not_inherited_by_another_compute() -> None:
    class Doubled(pl.Vertex):
        x: pl.InOut[pl.FLOAT]
        cpp = "*x = *x * 2.0f;\nreturn true;"

        def compute(self) -> None:
            self.x = self.x * 2

    class Tripled(Doubled):
        def compute(self) -> None:
            self.x = self.x * 3

    class Same(Doubled):
        pass

    assert "*x * 3.0f" in pl.ipu.codelet_text(Tripled)
    assert "  *x = *x * 2.0f;\n    return true;" in pl.ipu.codelet_text(Same)
