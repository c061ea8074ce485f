"""Codelets: classes that are hard to write in C++, names of macros, and what is refused."""

from __future__ import annotations

import ast
import functools
import itertools
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers import pages, running
from helpers.arithmetic_rows import ROWS, SECTIONS, Row, source
from helpers.codelet_programs import PROGRAMS, Cast, Raised
from helpers.codelets import (
    EXACT,
    NATIVE,
    CompiledCodelets,
    arrays_of,
    compiled,
    compiler,
    difference,
    drawn,
    with_special_floats,
)
from helpers.depth import deep, thinned
from helpers.host_program import library_of, session
from helpers.recipes import RECIPES
from helpers.vertices import Key, vertex_classes
from poplite import ops
from poplite.errors import VertexCompileError
from poplite.ipu.codelet_file import codelet_file
from poplite.ipu.codelet_function import identifier
from poplite.ipu.tables import tables_of
from poplite.testing import forms
from poplite.types import ELEMENT_TYPES, element_type
from poplite.vertex.compute.meaning import check
from poplite.vertex.vertex import Vertex, has_compute

UBSAN = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
SIZES = (12, 70, 200)


def casts() -> Iterator[type[Vertex]]:
    """Yield `Cast` for all pairs of element types that it has a meaning for."""
    template: Any = Cast
    elements = [each for each in ELEMENT_TYPES if not each.__name__.startswith("QUARTER")]
    for pair in itertools.product(elements, repeat=2):
        try:
            check(template[pair])
        except VertexCompileError:  # a float is not stored as an int
            continue
        yield template[pair]


def tables(folder: Path) -> dict[type[Vertex], list[Row]]:
    """Return a class for each section of docs/arithmetic.md, with the rows that it evaluates."""
    found = {}
    for number, section in enumerate(SECTIONS):
        rows = [row for row in ROWS if row.section == section and "QUARTER" not in str(row)]
        path = folder / f"section{number}.py"
        path.write_text(source(rows).replace("class Table", f"class Table{number}"))
        found[getattr(running.load(path), f"Table{number}")] = rows
    return found


def assert_equal_bits(
    native: CompiledCodelets, classes: Iterator[type[Vertex]], turns: int
) -> None:
    """Compare drawn vertices of classes with the simulator."""
    rng = np.random.default_rng(7)
    for cls in classes:
        for turn in range(turns):
            found = difference(cls, native, drawn(cls, rng, SIZES[turn % len(SIZES)]))
            assert found is None, found


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Vertex], list[Row]]:
    return tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def native(
    tmp_path_factory: pytest.TempPathFactory, rows_of: dict[type[Vertex], list[Row]]
) -> CompiledCodelets:
    return compiled([*PROGRAMS, *casts(), *rows_of], tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("cls", PROGRAMS, ids=lambda cls: cls.__name__)
def test_programs_have_equal_bits(native: CompiledCodelets, cls: type[Vertex]) -> None:
    assert_equal_bits(native, iter([cls]), 12)


def test_every_element_type_is_stored_as_every_other(native: CompiledCodelets) -> None:
    assert_equal_bits(native, casts(), 2)


def test_rows_of_the_arithmetic_have_equal_bits(
    native: CompiledCodelets, rows_of: dict[type[Vertex], list[Row]]
) -> None:
    for cls, rows in rows_of.items():
        held = {f"{name}{row.line}": value for row in rows for name, _, value in row.fields}
        zeros = {f"out{row.line}": 0 for row in rows}
        found = difference(cls, native, arrays_of(cls, held | zeros))
        assert found is None, found


@deep
@pytest.mark.parametrize("flags", [(*EXACT, "-O2"), (*EXACT, *UBSAN)], ids=["optimised", "ubsan"])
def test_programs_have_equal_bits_under_other_flags(
    flags: tuple[str, ...], tmp_path: Path, rows_of: dict[type[Vertex], list[Row]]
) -> None:
    native = compiled([*PROGRAMS, *casts(), *rows_of], tmp_path, flags=flags)
    assert_equal_bits(native, iter(PROGRAMS), 24)
    assert_equal_bits(native, iter([*casts(), *rows_of]), 3)


@deep
def test_programs_that_check_indices_have_equal_bits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked = functools.partial(codelet_file, stops_outside=True)
    monkeypatch.setattr(forms, "codelet_file", checked)
    assert_equal_bits(compiled([*PROGRAMS], tmp_path), iter(PROGRAMS), 6)


def test_stopped_vertices_stop_in_both(native: CompiledCodelets) -> None:
    fields = {"x": np.zeros(3, np.float32), "n": np.array([35], np.int32)}
    assert native.run(Raised, fields) == "stopped"


def test_equal_classes_have_equal_texts() -> None:
    assert pl.ipu.codelet_text(PROGRAMS) == pl.ipu.codelet_text(PROGRAMS)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="clang is not installed")
def test_clang_has_no_warning_of_parentheses(tmp_path: Path) -> None:
    """Trap 9: it warns of `if ((a == b))`, and popc is a clang."""
    text = codelet_file([*PROGRAMS]).text
    doubled = re.sub(r"if \(([^()]* == [^()]*)\) ", r"if ((\1)) ", text)
    warned = []
    for number, each in enumerate([text, doubled]):
        source = tmp_path / f"{number}.cpp"
        source.write_text(f"#define PL_STOP() __builtin_trap()\n{each}")
        words: list[Any] = [
            "clang++",
            "-std=c++17",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-I",
            NATIVE,
        ]
        words += ["-Wno-unknown-attributes", source]  # of Poplar's own
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        warned.append(done.stderr)
    assert warned[0] == ""
    assert "[-Wparentheses-equality]" in warned[1]


# -- codelets refused ------------------------------------------------------------------------------
#
# What no codelet can have is refused, with the user's line, before any compiler runs.


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
        (Scale, "'Scale' is a template: field 'x' has no element type", "class Scale"),
        (NoText, "'NoText.cpp' must be a string; found 3", "class NoText"),
        (OutsideDialect, "a list cannot be used in compute", "values = [self.x]"),
        (EffectsInLanes, "an expression on lanes calls a helper", "self.bump()"),
        (
            IndexOfRow,
            "the number of the changed row comes from a helper",
            "self.rows[self.next()][0]",
        ),
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
    with pytest.raises(pl.ElementTypeError, match="must be vertex classes; found 3"):
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


# -- names of macros -------------------------------------------------------------------------------
#
# Names that headers define as macros are others in codelets.


HEADERS = (
    *("algorithm", "array", "atomic", "cassert", "cctype", "cerrno", "cfenv", "cfloat", "chrono"),
    *("cinttypes", "climits", "clocale", "cmath", "complex", "complex.h", "csetjmp", "csignal"),
    *("cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "cwchar"),
    *("cwctype", "limits", "memory", "string", "thread", "type_traits", "vector"),
)


class Macros(pl.Vertex):
    """Has the names of macros."""

    NULL: pl.Input[pl.Vector[pl.INT]]
    errno: pl.State[pl.INT]
    assert_perror: pl.State[pl.INT]
    unix: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        EOF = self.errno + self.assert_perror
        for INT_MAX in range(len(self.NULL)):
            UINT32_MAX = self.NULL[INT_MAX] + EOF
            self.unix[INT_MAX] = UINT32_MAX


def test_every_macro_of_the_standard_headers_is_another_name(tmp_path: Path) -> None:
    source = tmp_path / "headers.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
    command = [*compiler(), "-std=gnu++17", "-dM", "-E", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {line.split()[1].split("(")[0] for line in done.stdout.splitlines()}
    assert len(names) > 500
    assert [name for name in sorted(names) if identifier(name) == name] == []


@pytest.mark.parametrize("name", ["x", "row", "X", "Add", "MatMul", "h_prev", "total_2", "stderr2"])
def test_ordinary_names_stay(name: str) -> None:
    assert identifier(name) == name


def test_names_of_macros_compile(host_cache: Path, tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=1, initial_value=[1, 2, 3])
    y = graph.add_variable(pl.INT, (3,), "y", mapping=1)
    cs = graph.add_compute_set("add")
    graph.add_vertex(cs, Macros, tile=1, NULL=x, errno=30, assert_perror=4, unix=y)
    tables = tables_of(graph, {"add": pl.Execute(cs)})
    flags = [flag for name in ("cerrno", "cassert", "cstdio") for flag in ("-include", name)]
    library_of(tables, host_cache, ("-std=gnu++17", *EXACT, *flags))
    with session(tables, host_cache, tmp_path) as made:
        assert made.ask("start").startswith("ready")
        assert made.ask("run add").startswith("ok")
        assert made.read("variable:y").tolist() == [35, 36, 37]


# -- generated codelets ----------------------------------------------------------------------------
#
# Codelets of the classes that operations on tensors make have the bits of the simulator.


def generated_classes() -> list[type[Vertex]]:
    """Return the classes of a graph with maps of several shapes and types."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (6, 8), "x", mapping="linear")
    h = graph.add_variable(pl.HALF, (6, 8), "h", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (8,), "row", mapping=0)
    n = graph.add_variable(pl.INT, (6, 8), "n", mapping="linear")
    with graph.steps():
        ops.map(ops.tanh(x * 0.3 + row) / (x - 1.5))
        ops.map(ops.exp(-h) * h + 2)
        ops.map(ops.sigmoid(x) - ops.cast(h, pl.FLOAT))
        ops.map(n * 3 - n % 5)
    items = (item for cs in graph.compute_sets for item in cs.vertices.items())
    return list(dict.fromkeys(item.vertex_class for item in items))


def test_generated_classes_have_equal_bits(tmp_path: Path) -> None:
    classes = generated_classes()
    assert len(classes) >= 4
    native, rng = compiled(classes, tmp_path), np.random.default_rng(2)
    for cls in classes:
        for _ in range(6):
            found = difference(cls, native, drawn(cls, rng, 9))
            assert found is None, found


# -- codelets of the library, the examples and the pages -------------------------------------------
# Fields are drawn by the recipes of `tests/helpers/recipes`, then once more with special floats.
# The classes of pages are made without running the pages.


ROOT = Path(__file__).resolve().parents[3]

REFUSED = {
    ("docs/vertices.md", "Running"): "runs in the interpreted form only",
    ("docs/vertices.md", "Quantise"): "cannot compute with QUARTER yet",
}
"""Classes that no codelet can have, and why."""

Case = tuple[type[Vertex], dict[str, Any]]


def classes_of_pages() -> Iterator[tuple[Key, type[Vertex]]]:
    """Yield the vertex classes that pages define, by page and name."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        names: dict[str, Any] = {"__name__": f"definitions_of_{path.stem}"}
        for node in ast.parse(pages.python_of(path)).body:
            kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
            if isinstance(node, kinds) or _is_plain(node):
                code = compile(ast.Module([node], []), str(path), "exec", dont_inherit=True)
                exec(code, names)
        file = path.relative_to(ROOT).as_posix()
        for value in names.values():
            is_own = getattr(value, "__module__", "") == names["__name__"]
            is_vertex = isinstance(value, type) and issubclass(value, Vertex)
            if is_own and is_vertex and has_compute(value):
                yield (file, value.__name__), value


def _is_plain(node: ast.AST) -> bool:
    """Return whether a statement assigns numbers, a type variable or a layout."""
    if not isinstance(node, ast.Assign):
        return False
    if isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) in ("TypeVar", "pl.Layout")
    calls = ast.Name | ast.Call | ast.Subscript
    return not any(isinstance(each, calls) for each in ast.walk(node.value))


def classes_of_repository() -> dict[Key, type[Vertex]]:
    """Return the vertex classes of the library, of examples and of pages."""
    found = dict(classes_of_pages())
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        for folder in ("vertices", "examples"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                found |= {k: c for k, c in vertex_classes(path, ROOT) if has_compute(c)}
    return found


def with_element_types(cls: type[Vertex], values: dict[str, Any]) -> type[Vertex]:
    """Return a class, a template with the element types of drawn values."""
    if not cls.type_variables:
        return cls
    chosen: dict[Any, Any] = {}
    for field in cls.fields.values():
        if field.variable is not None and field.is_edge:
            chosen.setdefault(field.variable, element_type(np.asarray(values[field.name]).dtype))
    template: Any = cls
    made: type[Vertex] = template[tuple(chosen[each] for each in cls.type_variables)]
    return made


def drawn_cases(classes: dict[Key, type[Vertex]], seeds: int) -> list[Case]:
    """Return drawn fields for all classes that have codelets."""
    cases = []
    for key in sorted(classes.keys() - REFUSED.keys()):
        for seed in range(seeds):
            values, _ = RECIPES[key](np.random.default_rng(seed))
            cls = with_element_types(classes[key], dict(values))
            cases.append((cls, arrays_of(cls, values)))
    return cases


@pytest.fixture(scope="module")
def classes() -> dict[Key, type[Vertex]]:
    return classes_of_repository()


def assert_equal_bits_of_cases(native: CompiledCodelets, cases: list[Case]) -> None:
    rng = np.random.default_rng(5)
    for cls, fields in cases:
        for share in (0.0, 0.3):
            found = difference(cls, native, with_special_floats(fields, rng, share))
            assert found is None, found


def test_all_classes_are_compared(classes: dict[Key, type[Vertex]]) -> None:
    expected = {key for key in RECIPES if not key[0].startswith("benchmarks/")}
    assert set(classes) == expected


@deep
def test_codelets_have_equal_bits(classes: dict[Key, type[Vertex]], tmp_path: Path) -> None:
    cases = drawn_cases(classes, 2)
    assert_equal_bits_of_cases(compiled(dict.fromkeys(cls for cls, _ in cases), tmp_path), cases)


@deep
@pytest.mark.parametrize(
    "flags",
    [(*EXACT, "-O2"), (*EXACT, "-fsanitize=undefined", "-fno-sanitize-recover=all")],
    ids=["optimised", "ubsan"],
)
def test_codelets_have_equal_bits_under_other_flags(
    classes: dict[Key, type[Vertex]], flags: tuple[str, ...], tmp_path: Path
) -> None:
    cases = drawn_cases(classes, 6)
    native = compiled(dict.fromkeys(cls for cls, _ in cases), tmp_path, flags=flags)
    assert_equal_bits_of_cases(native, cases)


@pytest.mark.parametrize("key", sorted(REFUSED), ids=lambda key: key[1])
def test_other_classes_are_refused(classes: dict[Key, type[Vertex]], key: Key) -> None:
    with pytest.raises(pl.VertexCompileError, match=REFUSED[key]):
        pl.ipu.codelet_text(classes[key])


# -- translators that are wrong on purpose ---------------------------------------------------------


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
