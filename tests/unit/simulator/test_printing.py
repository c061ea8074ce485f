"""`PrintTensorFormat`: how PrintTensor writes values."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.simulator.host.actions import format_tensor


def text(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32, **style: Any) -> str:
    written = format_tensor("t", np.array(values, dtype), pl.PrintTensorFormat(**style))
    assert written.startswith("t: ")
    return written.removeprefix("t: ")


@both_forms
def test_programs_print_in_their_format(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, -2.5, 1000])
    few, bare = pl.PrintTensorFormat(digits=5), pl.PrintTensorFormat.disable_formatting()
    program = pl.Sequence(
        pl.PrintTensor(x),
        pl.PrintTensor("few", x, few),
        pl.PrintTensor(x, bare),
        pl.PrintTensor("one", x[1], format=few),
    )
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.print_stream.getvalue().splitlines() == [
        "x: [   1.0000   -2.5000 1000.0000]",
        "few: [   1.0   -2.5 1000.0]",
        "x: [1.0 -2.5 1000.0]",
        "one: -2.5000",
    ]


def test_the_form_follows_the_values() -> None:
    assert text([1, 1.5]) == "[1.0000000 1.5000000]"
    assert text([0, 0]) == "[0.0000000 0.0000000]"
    assert text([12345.678, 0.5]) == "[12345.678     0.500]"
    assert text([1e8, 1]) == "[1.0000000e+08 1.0000000e+00]"
    assert text([1e-5, 1]) == "[9.9999997e-06 1.0000000e+00]"
    assert text([1e-4, 1]) == "[9.9999997e-05 1.0000000e+00]"
    assert text([1e-3, 1]) == "[0.0010000 1.0000000]"
    assert text([np.nan, -np.inf, 2]) == "[      nan      -inf 2.0000000]"
    assert text([]) == "[]"
    assert text(2.5) == "2.5000000"
    assert text([[1]]) == "[\n  [1.0000000]\n]"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("fixed", "[0.00001 1.50000]"),
        ("scientific", "[1.00000e-05 1.50000e+00]"),
        ("none", "[1e-05   1.5]"),
        ("auto", "[1.00000e-05 1.50000e+00]"),
    ],
)
def test_forms_of_floats(kind: str, expected: str) -> None:
    assert text([1e-5, 1.5], digits=6, float_format=kind) == expected


def test_integers_have_all_their_digits() -> None:
    assert text([1, -20, 3_000_000_000], np.int64, digits=2) == "[         1        -20 3000000000]"
    assert text([True, False], np.bool_) == "[ True False]"
    assert text([1, -20], np.int32, digits=0) == "[1 -20]"


def test_long_tensors_are_summarised() -> None:
    many = np.arange(1001)
    assert text(many, np.int32) == "[   0    1    2 ...  998  999 1000]"
    assert text(many, np.int32, edge_items=1) == "[   0 ... 1000]"
    assert text(many[:7], np.int32, summarise_threshold=6) == "[0 1 2 ... 4 5 6]"
    assert "..." not in text(many[:1000], np.int32)
    assert "..." not in text(many, np.int32, summarise_threshold=0)
    grid = np.arange(64).reshape(8, 8)
    assert text(grid, np.int32, summarise_threshold=1, edge_items=2).splitlines() == [
        "[",
        "  [ 0  1 ...  6  7]",
        "  [ 8  9 ... 14 15]",
        "  ...",
        "  [48 49 ... 54 55]",
        "  [56 57 ... 62 63]",
        "]",
    ]


def test_long_lines_go_on_below() -> None:
    lines = text(np.arange(60), np.int32).splitlines()
    assert lines[0] == "[" + " ".join(f"{k:2}" for k in range(25))
    assert lines[1].startswith(" 25 26 ")
    assert all(len(line) <= 75 for line in lines)
    assert text(np.arange(60), np.int32, max_line_width=0).count("\n") == 0
    narrow = text(np.arange(8).reshape(2, 4), np.int32, max_line_width=7).splitlines()
    assert narrow == ["[", "  [0 1", "   2 3]", "  [4 5", "   6 7]", "]"]
    assert text([1000, 2000], np.int32, max_line_width=3) == "[1000\n 2000]"


def test_every_element_is_written_once() -> None:
    for shape in ((3,), (2, 3), (2, 1, 4), (0, 3), (3, 0), (40, 3)):
        values = np.arange(np.prod(shape)).reshape(shape)
        words = text(values, np.int64).replace("[", " ").replace("]", " ").split()
        assert words == [str(k) for k in values.ravel()]


def test_tensors_without_elements() -> None:
    assert text(np.zeros((0, 2)), np.int32) == "[]"
    assert text(np.zeros((2, 0)), np.int32) == "[\n  []\n  []\n]"
    assert text(np.zeros((1, 0, 2)), np.int32) == "[\n  []\n]"
    graph = pl.Graph(pl.Target(tiles=1))
    empty = graph.add_variable(pl.FLOAT, (0,), "empty", mapping=0)
    engine = pl.Engine(graph, pl.Sequence(pl.PrintTensor(empty), pl.PrintTensor("none", empty)))
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.print_stream.getvalue() == "empty: []\nnone: []\n"


@both_forms
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize(
    "element",
    [pl.FLOAT, pl.HALF, pl.BOOL, pl.CHAR, pl.SIGNED_CHAR, pl.UNSIGNED_CHAR, pl.SHORT,
     pl.UNSIGNED_SHORT, pl.INT, pl.UNSIGNED_INT, pl.LONGLONG, pl.UNSIGNED_LONGLONG, pl.QUARTER],
)  # fmt: skip
def test_every_type_and_rank(
    element: type[pl.ElementType[Any]], shape: tuple[int, ...], interpret: bool
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    metadata = pl.QuarterMetadata("F143", -1) if element is pl.QUARTER else None
    x = graph.add_variable(element, shape, "x", mapping=0, metadata=metadata)
    given = np.arange(x.num_elements).reshape(shape) % 2
    engine = pl.Engine(graph, pl.PrintTensor(x), interpret=interpret)
    engine.write(x, given.astype(bool) if element is pl.BOOL else given)
    engine.print_stream = io.StringIO()
    engine.run()
    word = "{}.0000000" if element in (pl.FLOAT, pl.HALF, pl.QUARTER) else "{}"
    values = given.astype(bool) if element is pl.BOOL else given
    words = [word.format(value) for value in values.ravel().tolist()]
    written = engine.print_stream.getvalue().removeprefix("x: ")
    assert written.replace("[", " ").replace("]", " ").split() == words
    assert (
        written.count("[")
        == written.count("]")
        == sum(int(np.prod(shape[:rank])) for rank in range(len(shape)))
    )


def test_separators_and_brackets() -> None:
    style = {"separator": ", ", "open_bracket": "{", "close_bracket": "}"}
    assert text([1, 2], np.int32, **style) == "{1, 2}"
    assert text([[1, 2], [3, 4]], np.int32, **style) == "{\n  {1, 2},\n  {3, 4}\n}"
    assert text([1, 2], np.int32, separator="[") == "[1[2]"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("digits", -1, r"(?s)digits=-1, but a whole number from 0 .*type int.*digits=8 is"),
        ("digits", 1 << 31, r"digits=2147483648, but at most 1,000 is needed"),
        ("edge_items", 2.5, "(?s)edge_items=2.5, but a whole number from 0.*type float"),
        ("summarise_threshold", True, "(?s)summarise_threshold=True, but a whole.*type bool"),
        ("max_line_width", "75", "(?s)max_line_width='75'.*type str.*=75 is the default"),
        ("float_format", "Auto", "float_format='Auto', but one of 'auto', 'fixed', 'scientific'"),
        ("separator", None, "(?s)separator=None, but text is needed.*NoneType.*separator=' '"),
    ],
)
def test_bad_formats(name: str, value: object, message: str) -> None:
    with pytest.raises(pl.ControlProgramError, match=message):
        pl.PrintTensorFormat(**{name: value})  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    x = pl.Graph().add_variable(pl.INT, (2,), "x")
    with pytest.raises(
        pl.ElementTypeError, match=r"(?s)PrintTensor 'x': 8 is not a format.*type int"
    ):
        pl.PrintTensor("x", x, 8)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="has no tensor to print"):
        pl.PrintTensor("x", pl.PrintTensorFormat())
    with pytest.raises(pl.ElementTypeError, match="the title comes first"):
        pl.PrintTensor(x, "x")  # type: ignore[arg-type]


def test_poplars_names() -> None:
    assert pl.PrintTensorFmt is pl.PrintTensorFormat
    assert pl.PrintTensorFmt.disableFormatting() == pl.PrintTensorFormat(0, 3, 0, 0, "none")
