"""Translators that are wrong on purpose are caught by the same comparison."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import EXACT, compiled, compiler, difference, drawn
from helpers.depth import thinned


class Smooth(pl.Vertex):
    """Arithmetic in which each rule shows."""

    n: pl.Input[pl.Vector[pl.INT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    h: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    k: pl.Output[pl.Vector[pl.LONGLONG]]

    def compute(self) -> None:
        total = 0.1
        for i in range(len(self.x)):
            total += self.x[i] * self.x[i]
            self.y[i] = (self.h[i] + self.x[i]) * (total * 0.3 + 0.7 * i) - self.h[i] * self.h[i]
            self.k[i] = (self.n[i] - 9) // 4 + self.n[i] * 1000003 * (i + 1000)


def weak_as_double(text: str) -> str:
    """Leave Python's numbers double beside a float32."""
    head, body = text.split("class Smooth")
    return (
        head
        + "class Smooth"
        + re.sub(r"(\d\.\d+)f\b", r"\1", body).replace("float(i)", "double(i)")
    )


def division_of_c(text: str) -> str:
    """Let `//` drop the fraction."""
    return text.replace("return is_above ? quotient - 1 : quotient;", "return quotient;").replace(
        "  const bool is_above = a.value % b.value != 0 && (a.value < 0) != (b.value < 0);\n", ""
    )


def half_arithmetic(text: str) -> str:
    """Round each sum and product of halves to half."""
    head, body = text.split("class Smooth")
    made = re.sub(
        r"float\(h\[i\]\) \* float\(h\[i\]\)", "float(half(float(h[i]) * float(h[i])))", body
    )
    return head + "class Smooth" + made


def contracted(text: str) -> str:
    """Allow fused multiply-adds, by the flags below."""
    return text.replace("#pragma STDC FP_CONTRACT OFF", "")


def narrow_integers(text: str) -> str:
    """Compute ints in 32 bits."""
    operator = r"(operator[+*-]\(Int a, Int b\) \{ return) (.*?);"
    return re.sub(operator, r"\1 static_cast<int>(\2);", text)


FUSED = ("-ffp-contract=fast", "-O2", "-march=native")


def fuses() -> bool:
    """Return whether this processor has fused multiply-adds."""
    if platform.machine() in ("aarch64", "arm64"):
        return True
    command = [*compiler(), "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "__FMA__" in found


def caught(edit: Callable[[str], str], flags: tuple[str, ...], folder: Path) -> bool:
    """Return whether bits differ for some drawn fields."""
    native = compiled([Smooth], folder, edit=edit, flags=flags)
    rng = np.random.default_rng(3)
    return any(difference(Smooth, native, drawn(Smooth, rng, 40)) for _ in range(20))


@pytest.mark.parametrize(
    "edit",
    thinned([weak_as_double, division_of_c, half_arithmetic, narrow_integers], keep=2),
    ids=lambda e: e.__name__,
)
def test_a_wrong_translator_is_caught(edit: Callable[[str], str], tmp_path: Path) -> None:
    assert caught(edit, EXACT, tmp_path)


def test_contraction_is_caught(tmp_path: Path) -> None:
    if not fuses():
        pytest.skip("this processor has no fused multiply-add")
    assert caught(contracted, FUSED, tmp_path)


def test_the_right_translator_is_not(tmp_path: Path) -> None:
    assert not caught(str, EXACT, tmp_path)
