"""Tables, commands and examples of the pages, run as they are written."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import shlex
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import poplite as pl
from helpers import running
from helpers.depth import deep
from helpers.pages import blocks
from helpers.running import python
from poplite.errors import VertexCompileError
from poplite.tools.viz import main
from poplite.types import ELEMENT_TYPES
from poplite.vertex.compute.arithmetic import element_kind

# -- vertices.md -----------------------------------------------------------------------------------


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "vertices.md"
ALLOWED, REFUSED = ["written", "`self.y`"], ["not allowed", "the error says", "what to write"]
MINIMUM_ROWS = 25
FORMS = pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])

VALUES: dict[str, Any] = {
    "a": 1.5,
    "n": 7,
    "flag": True,
    "x": [1, -2, 0.5],
    "z": [5, 6],
    "y": 0,
    "out": [0, 0],
}
"""What the connected fields hold; comments of the class on the page say the same."""


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        line: its line on the page.
        code: the statements in its first cell.
        cells: its other cells.
    """

    line: int
    code: str
    cells: list[str]


def rows(head: list[str]) -> list[Row]:
    """Return the rows of all tables with these column names."""
    found, counted = [], False
    for line, text in enumerate(DOCUMENT.read_text().splitlines(), 1):
        if not text.startswith("|"):
            counted = False
            continue
        first, *others = (cell.strip() for cell in text.strip("|").split("|"))
        if [first, *others] == head:
            counted = True
        elif counted and not first.startswith("---"):
            code = "\n".join(part.strip("`") for part in first.split("<br>"))
            found.append(Row(line, code, others))
    return found


def page_class() -> str:
    """Return the block of the page that defines class Rows."""
    return next(text for _, text in blocks(DOCUMENT, "python") if "class Rows" in text)


def load(text: str, path: Path) -> type[pl.Vertex]:
    path.write_text("import poplite as pl\n" + text)
    vertex: type[pl.Vertex] = running.load(path).Rows
    return vertex


def indented(code: str, depth: int) -> str:
    return "".join(f"{'    ' * depth}{line}\n" for line in code.splitlines())


def build(vertex: type[pl.Vertex]) -> tuple[pl.Graph, pl.ComputeSet, dict[str, pl.Tensor]]:
    """Add one vertex to a graph; fields y and z may be there once for each row."""
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")

    def variable(field: Any, value: Any) -> pl.Tensor:
        array = np.array(value, field.element.dtype)
        return graph.add_variable(
            field.element, array.shape, field.name, mapping=0, initial_value=array
        )

    tensors = {
        name: variable(field, VALUES[name.rstrip("0123456789")])
        for name, field in vertex.fields.items()
        if name not in ("rows", "k", "w")
    }
    lists = [variable(vertex.fields["rows"], row) for row in ([1, 2], [3, 4, 5])]
    graph.add_vertex(work, vertex, tile=0, rows=lists, k=2, w=[10, 20, 30], **tensors)
    return graph, work, tensors


def test_the_tables_are_found() -> None:
    assert len(rows(ALLOWED)) >= MINIMUM_ROWS
    assert len(rows(REFUSED)) >= MINIMUM_ROWS


@FORMS
def test_allowed_rows_give_the_stated_value(interpret: bool, tmp_path: Path) -> None:
    # One class whose compute calls each row as a method, with a y and a z of its own.
    text, calls = page_class(), ""
    for row in rows(ALLOWED):
        number = row.line
        body = re.sub(r"\bself\.([yz])\b", rf"self.\g<1>{number}", row.code)
        text += f"\n    def row{number}(self):\n{indented(body, 2)}"
        text = text.replace("    WEIGHT", f"    y{number}: pl.Output[pl.FLOAT]\n    WEIGHT")
        text = text.replace("    WEIGHT", f"    z{number}: pl.InOut[pl.Vector[pl.INT]]\n    WEIGHT")
        calls += f"        self.row{number}()\n"
    text = text.replace(
        "    def compute(self):\n        pass\n", f"    def compute(self):\n{calls}"
    )
    graph, work, tensors = build(load(text, tmp_path / "allowed.py"))
    # No prices, which would be compiled.
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    with warnings.catch_warnings():  # not every row writes y
        warnings.simplefilter("ignore", pl.UnwrittenOutputWarning)
        engine.run()
    found = {row.line: float(engine.read(tensors[f"y{row.line}"])) for row in rows(ALLOWED)}
    assert found == {row.line: float(row.cells[0]) for row in rows(ALLOWED)}


@FORMS
@pytest.mark.parametrize("row", rows(REFUSED), ids=lambda row: f"line {row.line}")
def test_refused_rows_say_what_is_stated(row: Row, interpret: bool, tmp_path: Path) -> None:
    text = page_class().replace("        pass\n", indented(row.code, 2))
    graph, work, _ = build(load(text, tmp_path / "refused.py"))
    says, instead = row.cells
    with pytest.raises(VertexCompileError) as caught:
        pl.Engine(graph, pl.Execute(work), interpret=interpret)
    assert says[1:-1] in caught.value.what
    assert instead in caught.value.fix


def test_the_class_on_the_page_says_what_the_fields_hold() -> None:
    comments = dict(re.findall(r"^    (\w+): pl.*# (.*)$", page_class(), re.MULTILINE))
    shown = {name: str(value).strip("[]") for name, value in VALUES.items()}
    assert {name: comments[name] for name in comments if name not in ("rows", "k", "w")} == {
        name: value for name, value in shown.items() if name not in ("y", "out")
    }
    assert (comments["rows"], comments["k"], comments["w"]) == (
        "1, 2 and 3, 4, 5",
        "2",
        "10, 20, 30",
    )


def test_the_table_of_element_types() -> None:
    head = ["type", "bytes", "on the host", "read as"]
    table = {row.code: (int(row.cells[0]), *row.cells[1:]) for row in rows(head)}
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143")
    tensors = {
        t: graph.add_variable(
            t, (1,), mapping=0, metadata=metadata if t.requires_metadata else None
        )
        for t in ELEMENT_TYPES
    }
    engine = pl.Engine(graph, pl.Sequence(), checks="fast")
    expected = {
        repr(t): (t.size_bytes, str(engine.read(tensor).dtype), str(element_kind(t)))
        for t, tensor in tensors.items()
    }
    assert table == expected


def test_the_table_of_formats() -> None:
    head = ["format", "exponent bits", "mantissa bits", "largest value at scale 0"]
    table = {row.code: tuple(map(float, row.cells)) for row in rows(head)}
    assert table == {
        f.name: (7 - f.mantissa_bits, f.mantissa_bits, f.largest) for f in pl.QuarterFormat
    }


# -- views.md --------------------------------------------------------------------------------------


def test_commands_draw_regions(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    lines = [
        line for _, text in blocks(root / "docs" / "views.md", "sh") for line in text.splitlines()
    ]
    assert len(lines) == 2
    for line in lines:
        command, *words = shlex.split(line)
        assert command == "poplite-viz"
        assert main(words) == 0
    printed = capsys.readouterr().out
    assert (
        "3. dimShuffle(1, 0): float32[3, 4], 3 \u00d7 4 intervals of 1 element (were 4 of 3)"
        in printed
    )
    assert "480 B are copied on tile 6, as they lie apart" in printed


# -- commands of viewing.md ------------------------------------------------------------------------


@deep
def test_commands_of_the_page_on_viewing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    page = root / "docs" / "viewing.md"
    lines = re.findall(r"^\.venv/bin/poplite-viz (.*)$", page.read_text(), re.M)
    commands = ["report", "summary", "tiles", "tensor", "program", "graph", "doctor"]
    assert [line.split()[0] for line in lines] == commands
    for line in lines:
        assert main(shlex.split(line)) == 0, capsys.readouterr().err
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    printed = capsys.readouterr().out
    assert "192 on 16 tiles: Diffuse 192" in printed
    assert "256 B on 64 of 64 tiles" in printed  # 64 partial sums of 4 bytes
    assert "program: 2 steps, run 200 times in all" in printed
    for name, title in (
        ("plate.svg", "'a' float32[66, 98]"),
        ("heat.svg", "dataflow: 2 variables"),
    ):
        picture = ET.parse(tmp_path / name).getroot()
        assert picture.tag.endswith("svg")
        assert picture.attrib["aria-label"].startswith(title)


# -- start.md --------------------------------------------------------------------------------------


def test_the_first_vertex_is_tested_run_and_mistaken_as_the_page_says(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = root / "docs" / "start.md"
    vertex, test, graph, faster = (text for _, text in blocks(page, "python"))
    (tmp_path / "smooth.py").write_text(f"{vertex}\n\n{graph}")
    (tmp_path / "test_smooth.py").write_text(test.replace("# from", "from"))
    assert "1 passed" in python(tmp_path, "-m", "pytest", "-q", "test_smooth.py").stdout
    assert "idle workers" in python(tmp_path, "smooth.py").stdout
    mistaken: dict[str, Any] = {"__name__": "mistaken"}
    wrong = graph.replace("y=y[first:last])", "y=y[first:last + 1])")
    assert wrong != graph
    (tmp_path / "mistaken.py").write_text(f"{vertex}\n\n{wrong}")
    exec(
        compile((tmp_path / "mistaken.py").read_text(), tmp_path / "mistaken.py", "exec"), mistaken
    )
    with pytest.raises(pl.GraphCycleError, match="vertex 0 of 'Smooth' .* vertex 1 of 'Smooth'"):
        mistaken["main"]()
    smooth = str(tmp_path / "smooth.py:build")
    assert main(["report", smooth, "-o", str(tmp_path / "smooth.html")]) == 0
    assert main(["report", smooth, "-o", str(tmp_path / "before.json")]) == 0
    main_text = graph[graph.index("def main") :]
    (tmp_path / "smooth.py").write_text(
        f"{vertex}\n\nTILES, LENGTH = 8, 512\n{faster}\n{main_text}"
    )
    python(tmp_path, "smooth.py")
    capsys.readouterr()
    assert main(["diff", str(tmp_path / "before.json"), smooth]) == 0
    cycles = re.search(r"^cycles +([\d,]+) +([\d,]+)", capsys.readouterr().out, re.MULTILINE)
    assert cycles is not None
    assert f"takes {cycles[2]} cycles instead of {cycles[1]}" in page.read_text()
    assert len(page.read_text().split()) <= 1500
    assert sum(len(text.splitlines()) for _, text in blocks(page, "sh")) <= 10


# -- examples of view operations -------------------------------------------------------------------


METHODS = """__getitem__ slice index sub_sample T reverse dim_shuffle dim_shuffle_partial dim_roll
transpose reshape reshape_partial flatten expand squeeze broadcast upsample reinterpret"""

OPERATIONS: dict[str, Any] = {
    **{name: inspect.getattr_static(pl.Tensor, name) for name in METHODS.split()},
    **{function.__name__: function for function in (pl.concat, pl.append, pl.stack)},
}


def _numbers(tensor: pl.Tensor) -> Any:
    """Return the numbers of the elements of its variable that a tensor shows."""
    regions = [each.interval for each in tensor.var_regions()]
    numbers = [n for each in regions for n in range(each.begin, each.end)]
    return np.array(numbers).reshape(tensor.shape).tolist()


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_show_input_and_output(name: str) -> None:
    names: dict[str, Any] = {}
    results = 0
    for example in doctest.DocTestParser().get_examples(OPERATIONS[name].__doc__ or ""):
        code, _, shown = example.source.partition("  # ")
        if example.want:
            made = eval(code, names)
            assert repr(made) == example.want.strip()
            results += 1
        else:
            exec(code, names)
            made = names.get("x")
        if shown:
            assert _numbers(made) == ast.literal_eval(shown.strip())
        else:
            assert not example.want
    assert results
