"""`poplite-viz graph`: forms, flags, and who lays the picture out."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from helpers.depth import thinned
from helpers.scripts import go_to
from poplite.tools.viz import main
from poplite.viz.dataflow.dot import FIRST_LINE
from poplite.viz.dataflow.fold import HOPS, MAX_NODES

SCRIPT = """
from poplite import FLOAT, Copy, Graph, Sequence, Target

def build():
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    with graph.scope("out"):
        y, z = (graph.add_variable(FLOAT, (16,), name, mapping=1) for name in "yz")
    return graph, Sequence(Copy(x, y), Copy(y, z))

def large():
    graph = Graph(Target(tiles=4))
    for k in range(400):
        graph.add_variable(FLOAT, (4,), f"v{k}", mapping=0)
    return graph
"""

DOT = """#!{python}
import sys
text = sys.stdin.buffer.read()
assert text.startswith(b"{first}")
sys.stdout.write("drawn by dot as " + sys.argv[-1] + " " + " ".join(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are, on a machine without Graphviz."""
    go_to(tmp_path, monkeypatch, net=SCRIPT)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    find_spec = importlib.util.find_spec

    def without_pygraphviz(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "pygraphviz" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_pygraphviz)
    return tmp_path


@pytest.fixture
def dot(folder: Path) -> Path:
    """A `dot` that says how it was called."""
    path = folder / "bin" / "dot"
    path.parent.mkdir()
    path.write_text(DOT.format(python=sys.executable, first=FIRST_LINE))
    path.chmod(0o755)
    return path


@pytest.fixture
def pygraphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pygraphviz that says how it was called."""

    class AGraph:
        def __init__(self, string: str) -> None:
            assert string.startswith(FIRST_LINE)

        def draw(self, *, format: str, prog: str) -> bytes:
            return f"drawn by pygraphviz as {format} with {prog}".encode()

    module = type(sys)("pygraphviz")
    module.AGraph = AGraph  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pygraphviz", module)
    found = ModuleSpec("pygraphviz", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: found)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build"]) == 0
    said = capsys.readouterr()
    assert "step 2  Copy  64 B\n  reads:   'out/y' 64 B\n  writes:  'out/z' 64 B\n" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("example", "arrows"),
    thinned([("pi", 1), ("first_tiles", 5), ("heat", 4), ("photo", 4)], keep=3),
)
def test_every_example_has_a_graph(
    example: str, arrows: int, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", f"{root / 'examples' / example}.py:build", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["edges"]) == arrows


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["graph", "--help"])
    assert caught.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"edges away from it (default {HOPS})" in said
    assert f"until N nodes are left (default {MAX_NODES})" in said


def test_json_and_dot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build", "--format", "json"]) == 0
    assert [node["kind"] for node in json.loads(capsys.readouterr().out)["nodes"]] == [
        "variable",
        "copy",
        "variable",
        "copy",
        "variable",
    ]
    for name in ("net.gv", "net.dot"):
        assert main(["graph", "net.py:build", "-o", name]) == 0
        assert (folder / name).read_text().startswith(f"{FIRST_LINE}\ndigraph {{\n")


def test_flags_choose_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build", "--around", "x", "--hops", "1"]) == 0
    assert "dataflow: 1 variable, 1 copy, around 'x'\n" in capsys.readouterr().out
    assert main(["graph", "net.py:build", "--scope", "out"]) == 0
    assert "in and next to scope 'out'" in capsys.readouterr().out
    assert main(["graph", "net.py:build", "--around", "out/yy"]) == 1
    assert "no variable or compute set 'out/yy' (did you mean 'out/y'?)" in capsys.readouterr().err


def test_what_is_collapsed_is_said_with_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:large"]) == 0
    said = capsys.readouterr()
    assert "'v0 ... v399'  400 variables" in said.out
    assert said.err == (
        "poplite-viz: 400 nodes collapsed to 1, by number; --max-nodes 400 shows them all\n"
    )
    assert main(["graph", "net.py:large", "--max-nodes", "400"]) == 0
    said = capsys.readouterr()
    assert "'v399'" in said.out
    assert said.err == ""


def test_without_graphviz_the_built_in_layout_draws(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", "step.svg"]) == 0
    assert (folder / "step.svg").read_text().startswith("<svg")
    assert (folder / "step.gv").read_text().startswith(FIRST_LINE)
    assert capsys.readouterr().err == (
        "wrote step.svg\n"
        "poplite-viz: no Graphviz found; drew 'step.svg' with the built-in layout and wrote "
        "'step.gv'.\n"
        '  better layout: pip install "poplite[dot]"   or install Graphviz and run  '
        "dot -Tsvg step.gv -o step.svg\n"
    )
    (folder / "step.gv").write_text(f"{FIRST_LINE}, an older one")
    assert main(["graph", "net.py:build", "-q", "-o", "step.svg"]) == 0
    assert "digraph" in (folder / "step.gv").read_text()
    assert capsys.readouterr().err == ""


def test_a_file_of_the_users_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "step.gv").write_text("digraph { mine }")
    assert main(["graph", "net.py:build", "-o", "step.svg"]) == 0
    assert (folder / "step.gv").read_text() == "digraph { mine }"
    said = capsys.readouterr().err
    assert "drew 'step.svg' with the built-in layout.\n" in said
    assert said.endswith("or install Graphviz\n")
    (folder / "a.gv").mkdir()
    assert main(["graph", "net.py:build", "-o", "a.svg"]) == 0


def test_svg_on_standard_output_leaves_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "--format", "svg"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("<svg")
    assert "no Graphviz found; drew it with the built-in layout.\n" in said.err
    assert list(folder.glob("*.gv")) == []


def test_the_built_in_layout_on_request_says_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "--layout", "builtin", "-o", "a.svg"]) == 0
    assert capsys.readouterr().err == "wrote a.svg\n"
    assert not (folder / "a.gv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layout", "dot", "-o", "a.svg"], "cannot draw svg with dot: no Graphviz found"),
        (["-o", "a.pdf"], "cannot draw pdf with dot: no Graphviz found"),
        (["-o", "a.pdf", "--layout", "builtin"], "built-in layout draws svg and png, not pdf"),
    ],
)
def test_what_needs_graphviz_is_refused_before_the_program_runs(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "no_such_file.py:build", *arguments]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "try: " in said
    assert not list(folder.glob("a.*"))


def test_without_graphviz_the_built_in_layout_draws_a_png_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", "step.png"]) == 0
    assert (folder / "step.png").read_bytes()[1:4] == b"PNG"
    assert "dot -Tpng step.gv -o step.png\n" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
@pytest.mark.usefixtures("dot", "pygraphviz")
def test_dot_on_the_path_comes_first(
    form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", f"a.{form}"]) == 0
    drawn = (folder / f"a.{form}").read_text()
    assert drawn.startswith("drawn by dot")
    assert f"-T{form}" in drawn
    assert capsys.readouterr().err == f"wrote a.{form}\n"


@pytest.mark.usefixtures("pygraphviz")
def test_pygraphviz_comes_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build", "--layout", "dot", "-o", "a.png"]) == 0
    assert (folder / "a.png").read_text() == "drawn by pygraphviz as png with dot"
    assert capsys.readouterr().err == "wrote a.png\n"


def test_a_dot_that_fails_is_like_none(
    dot: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dot.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n"
        "sys.exit('Format: \"svg\" not recognized. No formats found.')"
    )
    reason = 'dot failed: Format: "svg" not recognized. No formats found.'
    assert main(["graph", "net.py:build", "-o", "a.svg"]) == 0
    assert (folder / "a.svg").read_text().startswith("<svg")
    assert f"poplite-viz: {reason}; drew 'a.svg'" in capsys.readouterr().err
    assert main(["graph", "net.py:build", "--layout", "dot", "-o", "b.svg"]) == 1
    assert f"cannot draw svg with dot: {reason}" in capsys.readouterr().err
    assert not (folder / "b.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hops", "-1"], "'-1' is not a number of edges from 0 up"),
        (["--max-nodes", "9"], "'9' is not a number of nodes from 10 up"),
        (["--layout", "neato"], "invalid choice: 'neato'"),
    ],
)
def test_a_wrong_command_line_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["graph", "net.py:build", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
