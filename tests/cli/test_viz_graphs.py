"""`poplite-viz` graph, summary and program: forms, flags, files and faults."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ET
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from helpers.depth import thinned
from helpers.running import go_to
from poplite.tools.viz import main
from poplite.viz.dataflow.graph import HOPS, MAX_NODES
from poplite.viz.dataflow.picture import FIRST_LINE

# -- graph -----------------------------------------------------------------------------------------


GRAPH_SCRIPT = """
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


@pytest.fixture
def graph_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are, on a machine without Graphviz."""
    go_to(tmp_path, monkeypatch, net=GRAPH_SCRIPT)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    find_spec = importlib.util.find_spec

    def without_pygraphviz(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "pygraphviz" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_pygraphviz)
    return tmp_path


@pytest.fixture
def dot(graph_folder: Path) -> Path:
    """A `dot` that says how it was called."""
    path = graph_folder / "bin" / "dot"
    path.parent.mkdir()
    path.write_text(DOT.format(python=sys.executable, first=FIRST_LINE))
    path.chmod(0o755)
    return path


@pytest.fixture
def pygraphviz(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pygraphviz that says how it was called, beside `graph_folder`, which hides any other."""

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
    return graph_folder


@pytest.mark.usefixtures("graph_folder")
def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build"]) == 0
    said = capsys.readouterr()
    out = re.sub(" +", " ", said.out)
    assert "\n 2 Copy 64 B\n 'out/y' 64 B\n 'out/z' 64 B\n" in out
    assert said.err == ""


@pytest.mark.usefixtures("graph_folder")
@pytest.mark.parametrize(
    ("example", "arrows"),
    thinned([("pi", 1), ("first_tiles", 5), ("heat", 4), ("photo", 4)], keep=3),
)
def test_every_example_has_a_graph(
    example: str, arrows: int, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", f"{root / 'examples' / example}.py:build", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["edges"]) == arrows


@pytest.mark.usefixtures("graph_folder")
def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["graph", "--help"])
    assert caught.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"edges away from it (default: {HOPS})" in said
    assert f"until N nodes remain (default: {MAX_NODES})" in said


def test_json_and_dot(graph_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        assert (graph_folder / name).read_text().startswith(f"{FIRST_LINE}\ndigraph {{\n")


@pytest.mark.usefixtures("graph_folder")
def test_flags_choose_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build", "--around", "x", "--hops", "1"]) == 0
    assert "dataflow: 1 variable, 1 copy, around 'x'\n" in capsys.readouterr().out
    assert main(["graph", "net.py:build", "--scope", "out"]) == 0
    assert "in and next to scope 'out'" in capsys.readouterr().out
    assert main(["graph", "net.py:build", "--around", "out/yy"]) == 1
    assert "no variable or compute set 'out/yy' (did you mean 'out/y'?)" in capsys.readouterr().err


@pytest.mark.usefixtures("graph_folder")
def test_what_is_collapsed_is_said_with_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:large"]) == 0
    said = capsys.readouterr()
    assert "'v0 ... v399'  400 variables" in said.out
    assert said.err == (
        "poplite-viz: 400 nodes collapsed to 1, by number; --max-nodes 400 shows all nodes\n"
    )
    assert main(["graph", "net.py:large", "--max-nodes", "400"]) == 0
    said = capsys.readouterr()
    assert "'v399'" in said.out
    assert said.err == ""


def test_without_graphviz_the_built_in_layout_draws(
    graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", "step.svg"]) == 0
    assert (graph_folder / "step.svg").read_text().startswith("<svg")
    assert (graph_folder / "step.gv").read_text().startswith(FIRST_LINE)
    assert capsys.readouterr().err == (
        "wrote step.svg\n"
        "poplite-viz: no Graphviz found; drew 'step.svg' with the built-in layout and wrote "
        "'step.gv'.\n"
        '  for a better layout: pip install "poplite[dot]"   or install Graphviz and run  '
        "dot -Tsvg step.gv -o step.svg\n"
    )
    (graph_folder / "step.gv").write_text(f"{FIRST_LINE}, an older one")
    assert main(["graph", "net.py:build", "-q", "-o", "step.svg"]) == 0
    assert "digraph" in (graph_folder / "step.gv").read_text()
    assert capsys.readouterr().err == ""


def test_a_file_of_the_users_is_not_overwritten(
    graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (graph_folder / "step.gv").write_text("digraph { mine }")
    assert main(["graph", "net.py:build", "-o", "step.svg"]) == 0
    assert (graph_folder / "step.gv").read_text() == "digraph { mine }"
    said = capsys.readouterr().err
    assert "drew 'step.svg' with the built-in layout.\n" in said
    assert said.endswith("or install Graphviz\n")
    (graph_folder / "a.gv").mkdir()
    assert main(["graph", "net.py:build", "-o", "a.svg"]) == 0


def test_svg_on_standard_output_leaves_no_file(
    graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "--format", "svg"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("<svg")
    assert "no Graphviz found; drew it with the built-in layout.\n" in said.err
    assert list(graph_folder.glob("*.gv")) == []


def test_the_built_in_layout_on_request_says_nothing(
    graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "--layout", "builtin", "-o", "a.svg"]) == 0
    assert capsys.readouterr().err == "wrote a.svg\n"
    assert not (graph_folder / "a.gv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layout", "dot", "-o", "a.svg"], "cannot draw svg with dot: Graphviz was not found"),
        (["-o", "a.pdf"], "cannot draw pdf with dot: Graphviz was not found"),
        (["-o", "a.pdf", "--layout", "builtin"], "built-in layout draws svg and png, not pdf"),
    ],
)
def test_what_needs_graphviz_is_refused_before_the_program_runs(
    arguments: list[str], message: str, graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "no_such_file.py:build", *arguments]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "try: " in said
    assert not list(graph_folder.glob("a.*"))


def test_without_graphviz_the_built_in_layout_draws_a_png_too(
    graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", "step.png"]) == 0
    assert (graph_folder / "step.png").read_bytes()[1:4] == b"PNG"
    assert "dot -Tpng step.gv -o step.png\n" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
@pytest.mark.usefixtures("dot", "pygraphviz")
def test_dot_on_the_path_comes_first(
    form: str, graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "net.py:build", "-o", f"a.{form}"]) == 0
    drawn = (graph_folder / f"a.{form}").read_text()
    assert drawn.startswith("drawn by dot")
    assert f"-T{form}" in drawn
    assert capsys.readouterr().err == f"wrote a.{form}\n"


def test_pygraphviz_comes_next(pygraphviz: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "net.py:build", "--layout", "dot", "-o", "a.png"]) == 0
    assert (pygraphviz / "a.png").read_text() == "drawn by pygraphviz as png with dot"
    assert capsys.readouterr().err == "wrote a.png\n"


def test_a_dot_that_fails_is_like_none(
    dot: Path, graph_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dot.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n"
        "sys.exit('Format: \"svg\" not recognized. No formats found.')"
    )
    reason = 'dot failed: Format: "svg" not recognized. No formats found.'
    assert main(["graph", "net.py:build", "-o", "a.svg"]) == 0
    assert (graph_folder / "a.svg").read_text().startswith("<svg")
    assert f"poplite-viz: {reason}; drew 'a.svg'" in capsys.readouterr().err
    assert main(["graph", "net.py:build", "--layout", "dot", "-o", "b.svg"]) == 1
    assert f"cannot draw svg with dot: {reason}" in capsys.readouterr().err
    assert not (graph_folder / "b.svg").exists()


@pytest.mark.usefixtures("graph_folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hops", "-1"], "must be a number of edges, at least 0; found '-1'"),
        (["--max-nodes", "9"], "must be a number of nodes, at least 10; found '9'"),
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


# -- summary, program ------------------------------------------------------------------------------


PROGRAM_SCRIPT = """
from poplite import FLOAT, Copy, Execute, Graph, Repeat, Sequence, Target

def build():
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    y = graph.add_variable(FLOAT, (16,), "y", mapping=1)
    blur = Execute(graph.add_compute_set("blur"))
    return graph, Sequence(Copy(x, y), Repeat(10, Sequence(blur, blur)), name="main"), x

def several():
    graph, program, x = build()
    return graph, {"step": program, "copy": program.programs[0], "nothing": Sequence()}

def only():
    return build()[0]

def sized(elements, *, scale=1.0, wide=False, name: "str" = "x"):
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (int(elements * scale), 1 + wide), name, mapping="linear")
    return graph

def tight():
    graph = Graph(Target(tiles=2, tile_memory_bytes=30))
    graph.add_variable(FLOAT, (10,), "x", mapping=1)
    return graph

def long():
    graph, program, _ = build()
    return graph, Sequence(*[Sequence(program.programs[0]) for _ in range(200)])
"""


@pytest.fixture
def program_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, net=PROGRAM_SCRIPT)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


@pytest.mark.usefixtures("program_folder")
def test_summary_of_a_graph_with_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "summary", "net.py:build")
    assert text.startswith("summary: fits\n")
    assert "\nprogram       3 steps, run 21 times in all\n" in text
    assert "\nworst tile    tile 1: 3,360 B of 638,976 B, 0.5 %\n" in text
    assert "\nmemory        stack 3,168 B, variable 80 B, internal exchange code 56 B, " in text


@pytest.mark.usefixtures("program_folder")
def test_summary_of_a_graph_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\nprogram       none given\n" in printed(capsys, "summary", "net.py:only")


@pytest.mark.usefixtures("program_folder")
def test_what_does_not_fit_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "summary", "net.py:tight", "--color", "always")
    assert "tile 1 needs 3,208 B, has 30 B (3,178 B over)" in text
    assert text.startswith("\x1b[1;31m! summary: does not fit")


@pytest.mark.usefixtures("program_folder")
def test_program_prints_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "program", "net.py:build").splitlines()
    assert lines[0] == "program: 3 steps"
    assert lines[4].startswith("   1    Copy 'x' -> 'y'  16 elements, 64 B  ")
    assert lines[-1].startswith("   3        Execute 'blur'  0 vertices  ")
    assert all(line.endswith(" net.py:9") for line in lines[3:6])


@pytest.mark.usefixtures("program_folder")
def test_counts(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "program", "net.py:build", "--counts")
    assert text.startswith("program: 3 steps, run 21 times in all\n")
    assert "\n   3    10        Execute 'blur'" in text


@pytest.mark.usefixtures("program_folder")
def test_depth_and_match(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "program", "net.py:build", "--depth", "1")
    assert " 2-3    Repeat 10 times  2 steps on 3 lines folded" in text
    text = printed(capsys, "program", "net.py:build", "--match", "(?i)COPY")
    assert text.startswith("program: 1 of 3 steps matches '(?i)COPY'\n")
    assert "blur" not in text


def test_a_long_program_is_cut_but_in_a_file(
    program_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "program", "net.py:long")
    assert "\n... 101 more lines; --depth N or --match REGEX draws a part," in text
    assert len(text.splitlines()) < 310
    assert main(["program", "net.py:long", "-q", "-o", "all.txt"]) == 0
    assert len((program_folder / "all.txt").read_text().splitlines()) == 401 + 3
    assert (
        len(json.loads(printed(capsys, "program", "net.py:long", "--format", "json"))["rows"])
        == 401
    )


def test_programs_by_name_are_drawn_one_after_the_other(
    program_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "program", "net.py:several", "--counts")
    headings = [line for line in text.splitlines() if line.startswith("program")]
    assert headings == [
        "program 'step': 3 steps, run 21 times in all",
        "program 'copy': 1 step, run 1 time in all",
        "program 'nothing': 0 steps, run 0 times in all",
    ]
    text = printed(capsys, "program", "net.py:several", "--match", "Execute")
    assert [line for line in text.splitlines() if line.startswith("program")] == [
        "program 'step': 2 of 3 steps match 'Execute'"
    ]
    assert printed(capsys, "program", "net.py:several", "--program", "step") == printed(
        capsys, "program", "net.py:build"
    )
    assert main(["program", "net.py:several", "--program", "copy", "-q", "-o", "a.svg"]) == 0
    assert "program: 1 step" in (program_folder / "a.svg").read_text()
    text = printed(capsys, "summary", "net.py:several")
    assert "\nprogram       4 steps, run 22 times in all\n" in text  # each of them once


@pytest.mark.usefixtures("program_folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "svg"],
            "svg shows one program, but 'net.py:several' has 3\n"
            "  its programs are 'step', 'copy', 'nothing'\n"
            "  try: poplite-viz program net.py:several --program step\n",
        ),
        (
            ["--program", "cpoy"],
            "there is no program 'cpoy' (did you mean 'copy'?)\n"
            "  the programs are 'step', 'copy', 'nothing'\n",
        ),
        (["--match", "Nothing"], "no step matches 'Nothing': 3 steps looked at"),
    ],
)
def test_a_program_that_is_not_there(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["program", "net.py:several", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"poplite-viz: {message}")


@pytest.mark.parametrize("command", ["summary", "program"])
def test_every_form_goes_to_a_file(
    command: str, program_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("txt", "svg", "json"):
        assert main([command, "net.py:build", "-o", f"a.{suffix}"]) == 0
        assert capsys.readouterr() == ("", f"wrote a.{suffix}\n")
    assert (program_folder / "a.txt").read_text().startswith(f"{command}: ")
    assert ET.parse(program_folder / "a.svg").getroot().tag.endswith("svg")
    data = json.loads((program_folder / "a.json").read_text())
    assert (data["poplite"], data["version"]) == (command, 1)


@pytest.mark.usefixtures("program_folder")
@pytest.mark.parametrize(
    ("given", "variable"),
    [
        (["elements=20"], "'x' float32[20, 1]"),
        (["elements=20", "scale=0.5", "wide=True"], "'x' float32[10, 2]"),
        (["elements=2", "name=a=b"], "'a=b' float32[2, 1]"),
        (["elements=2", "name=5"], "'5' float32[2, 1]"),
        (["elements=2", 'name="x"'], "'x' float32[2, 1]"),
    ],
)
def test_arguments_are_handed_to_the_callable(
    given: list[str], variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [flag for each in given for flag in ("--arg", each)]
    name = variable.split("'")[1]
    assert variable in printed(capsys, "tensor", "net.py:sized", name, *flags)
    summary = printed(capsys, "summary", "net.py:sized", *flags)
    assert summary.startswith("summary: variables fit; no program given\n")


def test_a_page_names_the_command_with_its_arguments(
    program_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = "--arg elements=20 --arg wide=True"
    assert main(["tiles", "net.py:sized", *given.split(), "-o", "tiles.html"]) == 0
    assert f"poplite-viz tiles net.py:sized {given}" in (program_folder / "tiles.html").read_text()
    assert main(["tensor", "net.py:sized", "x", *given.split(), "-o", "x.html"]) == 0
    assert f"poplite-viz tensor net.py:sized x {given}" in (program_folder / "x.html").read_text()


@pytest.mark.usefixtures("program_folder")
def test_one_of_several_programs_is_summarised(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\nprogram       {}, run {} in all\n"
    whole = printed(capsys, "summary", "net.py:several")
    copy = printed(capsys, "summary", "net.py:several", "--program", "copy")
    assert rows.format("4 steps", "22 times") in whole
    assert "\nprogram       1 step, run 1 time in all\n" in copy
    assert "digraph" in printed(
        capsys, "graph", "net.py:several", "--program", "copy", "--format", "dot"
    )


EXAMPLES = [("pi", ""), ("heat", ""), ("matvec", "split=4"), ("first_tiles", ""), ("photo", "")]


@pytest.mark.usefixtures("program_folder")
@pytest.mark.parametrize(("example", "given"), thinned(EXAMPLES, keep=3))
def test_examples(root: Path, example: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{root / 'examples' / example}.py:build"
    flags = ["--arg", given] if given else []
    assert printed(capsys, "summary", target, *flags).startswith("summary: fits\n")
    assert f"{example}.py:" in printed(capsys, "program", target, *flags)


def fault(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.usefixtures("program_folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["summary", "net.py:sized"], "called without arguments but needs 'elements'"),
        (
            ["summary", "net.py:sized", "--arg", "scale=2"],
            "called with these arguments but needs 'elements'\n  try: pass --arg elements=VALUE",
        ),
        (
            ["tiles", "net.py:sized", "--arg", "element=2"],
            "takes no argument 'element' (did you mean 'elements'?)",
        ),
        (["tiles", "net.py:only", "--arg", "a=2"], "it takes no arguments\n  try: leave out --arg"),
        (["summary", "net.py:several", "--program", "coppy"], "did you mean 'copy'"),
        (["summary", "net.py:only", "--program", "a"], "'net.py:only' returned a Graph alone"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in fault(capsys, *arguments)


@pytest.mark.usefixtures("program_folder")
def test_a_target_without_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert fault(capsys, "program", "net.py:only") == (
        "poplite-viz: 'net.py:only' must return a program; found a Graph alone\n"
        "  it returned <Graph 4 tiles, 2 variables, 1 compute set, 0 vertices>\n"
        "  try: define it as def build() -> tuple[Graph, Program]: ... return graph, program\n"
    )


@pytest.mark.usefixtures("program_folder")
def test_no_step_that_matches(capsys: pytest.CaptureFixture[str]) -> None:
    said = fault(capsys, "program", "net.py:build", "--match", "sharpen")
    assert "no step matches 'sharpen': 3 steps looked at  (net.py:9 in build)\n" in said
    assert "\n  Copy 'x' -> 'y'\n  Execute 'blur'\n  try: " in said


@pytest.mark.usefixtures("program_folder")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--match", "("], "'(' is not a regular expression: missing ), unterminated"),
        (["--depth", "-1"], "must be a number of levels, at least 0; found '-1'"),
        (["--depth", "two"], "must be a number of levels, at least 0; found 'two'"),
    ],
)
def test_flags_that_cannot_be(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["program", "net.py:build", *flags])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


# -- computations over named axes ------------------------------------------------------------------


NAMED_SCRIPT = """
import poplite.named as ng

N, F = ng.make_axis(8, "N"), ng.make_axis(3, "F")
x, w = ng.placeholder([N, F], name="x"), ng.variable([F], 1, name="w")
device = ng.make_transformer(tiles=4, map={N: "tiles"})
train = device.computation(ng.assign(w, w + x[N, 0]), x, name="train")

def build():
    return train.graph, train.program
"""


CASES: list[tuple[str, str]] = [
    ("summary model.py:build", "summary: fits"),
    ("tiles model.py:build", "on 4 of 4 tiles"),
    ("tensor model.py:build x", "'x' float32[8, 3]"),
    ("regions model.py:build x", "x: float32[8, 3], 1 interval of 24 elements"),
    ("program model.py:build", "Sequence 'train'"),
    ("graph model.py:build", "'assign w[out]'"),
    ("lint model.py:build", "a tile would not emulate any operation"),
    ("memory run.json", "memory: fits; fullest tile 0"),
    ("tile run.json 1", "'x' float[8, 3]"),
    ("liveness run.json", "Execute 'assign w[out]'"),
    ("report run.json", "Total cycles:"),
    ("steps run.json", "assign w[out]"),
    ("exchange run.json", "exchange: 0 B sent"),
    ("ops run.json", "1     366  100.0%           0         0  assign w  █"),
    ("lines run.json", "366           0       308    12  assign w[out]"),
    ("trace model.py:build --run", '"name":"assign w[out]"'),
    ("diff run.json run.json", "cycles of steps: no change"),
]
"""A command line of each, and what it prints of the computation."""


@pytest.mark.parametrize(("line", "shown"), CASES, ids=[line.split()[0] for line, _ in CASES])
def test_a_command_shows_a_computation(
    line: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "model.py").write_text(NAMED_SCRIPT)
    monkeypatch.chdir(tmp_path)
    if "run.json" in line:
        names: dict[str, object] = {}
        exec(NAMED_SCRIPT + "\ntrain(1.0)\ntrain.report().save('run.json')", names)
    assert main(line.split()) == 0
    assert shown in capsys.readouterr().out


def test_all_commands_that_take_a_program_are_above(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    table = capsys.readouterr().out.partition("COMMAND\n")[2].partition("\n\n")[0]
    commands = re.findall(r"^ {4}([a-z]+) ", table, re.M)
    assert commands == [*(line.split()[0] for line, _ in CASES), "sweep", "doctor"]
