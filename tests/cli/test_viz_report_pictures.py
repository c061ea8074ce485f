"""`poplite-viz` steps, exchange, ops, trace, diff, memory, tiles and tensor."""

from __future__ import annotations

import json
import shlex
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import poplite as pl
from helpers.browser import CHROMIUM, QUIET
from helpers.depth import deep
from helpers.running import go_to
from helpers.small_report import not_modelled, small_report
from poplite.tools.viz import main
from poplite.tools.viz.load_report import load
from poplite.viz.page.pack import Arrays
from poplite.viz.page.report_data import report_data

# -- steps, exchange, ops --------------------------------------------------------------------------


RING = """
import poplite as pl

def build(times=3):
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (
        graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1) for name in "ab"
    )
    there, half = pl.Copy(a.reverse(0), b), pl.Copy(b[:4], a[4:])
    main = pl.Sequence(pl.Repeat(times, there), half)
    return graph, {"main": main, "back": pl.Copy(b, a)}

def streams():
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    return graph, pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 8), x)
"""


@pytest.fixture
def ring_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `ring.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, ring=RING)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what a command prints, and check its exit code."""
    assert main(arguments) == code
    return capsys.readouterr().out


def saved(name: str, times: int = 3, ipus: int = 1) -> pl.Report:
    """Save a report, with its trace, and return it."""
    graph = pl.Graph(pl.Target(tiles=4, ipus=ipus))
    a, b = (
        graph.add_variable(pl.INT, (8,), each, mapping="linear", initial_value=1) for each in "ab"
    )
    engine = pl.Engine(graph, pl.Repeat(times, pl.Copy(a.reverse(0), b)))
    with engine.tracing() as trace:
        engine.run()
    engine.report().save(name, trace)
    return engine.report()


@pytest.mark.usefixtures("ring_folder")
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["steps"], "steps"),
        (["steps", "--timeline"], "steps"),
        (["exchange"], "exchange"),
        (["ops"], "ops"),
    ],
)
def test_a_target_and_its_saved_report_look_the_same(
    words: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, *words, "ring.py:build")
    data = printed(capsys, *words, "ring.py:build", "--format", "json")
    assert json.loads(data)["poplite"] == kind
    load("ring.py:build").report.save("run.json")
    assert printed(capsys, *words, "run.json") == text
    assert printed(capsys, *words, "run.json", "--format", "json") == data


@pytest.mark.usefixtures("ring_folder")
def test_flags_choose_what_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*flags: str) -> list[str]:
        data = json.loads(printed(capsys, "steps", "ring.py:build", "--format", "json", *flags))
        return [f"{step['program']} {step['name']}" for step in data["steps"]]

    assert names("--sort", "program") == ["main a to b", "main b to a", "back b to a"]
    assert names("--step", "1", "--match", "a to") == ["main a to b"]
    assert names("--program", "back") == ["back b to a"]
    assert names("--step", "b to a", "--sort", "name") == ["main b to a", "back b to a"]
    data = json.loads(
        printed(capsys, "exchange", "ring.py:build", "--step", "1:1", "--format", "json")
    )
    assert data["steps"] == ["a to b"]
    lines = printed(capsys, "exchange", "ring.py:build", "--top", "1")
    assert "... " in lines
    table = printed(capsys, "ops", "ring.py:build", "--format", "csv", "--sort", "name")
    assert [line.split(",")[1] for line in table.splitlines()] == ["scope", "a to b", "b to a"]


@pytest.mark.usefixtures("ring_folder")
def test_one_ipu_or_rank_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    replace(saved("run.json", ipus=2), cut=(1,)).save("run.json")
    for flags, tiles in (
        ((), "4 tiles"),
        (("--ipu", "1"), "tiles 2-3 of 4 tiles: IPU 1"),
        (("--rank", "1"), "tiles 1-3 of 4 tiles: rank 1"),
    ):
        text = printed(capsys, "steps", "run.json", "--timeline", *flags)
        assert f"one after the other on {tiles}\n" in text
    # Each of them alone asks for the timeline.
    assert printed(capsys, "steps", "run.json", *flags) == text
    assert main(["steps", "run.json", "--rank", "2"]) == 1
    assert "ranks are 0 to 1" in capsys.readouterr().err


def test_pictures_are_written(ring_folder: Path) -> None:
    for words in (["steps"], ["steps", "--timeline"], ["exchange"]):
        assert main([*words, "ring.py:build", "-q", "-o", "a.svg"]) == 0
        assert ET.parse(ring_folder / "a.svg").getroot().attrib["aria-label"].startswith(words[0])
    saved("with.json").save("plain.json")
    for words in (["ops", "ring.py:build"], ["diff", "plain.json", "plain.json"]):
        assert main([*words, "-q", "-o", "a.png"]) == 0
        assert (ring_folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert main(["ops", "ring.py:build", "-q", "-o", "a.csv"]) == 0
    assert (ring_folder / "a.csv").read_text().startswith("level,scope,")


@pytest.mark.usefixtures("ring_folder")
def test_what_needs_data_is_shown_as_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["steps"], ["exchange"], ["ops"]):
        assert main([*words, "ring.py:streams"]) == 0
        said = capsys.readouterr()
        assert "as compiled, of one run" in said.out
        assert "--run passes zeros" in said.err
        assert "as compiled" not in printed(capsys, *words, "ring.py:streams", "--run")
        assert "as compiled" in printed(capsys, *words, "ring.py:build", "--no-run")


@pytest.mark.usefixtures("ring_folder")
def test_what_trace_says_to_type_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "ring.py:streams"]) == 1
    typed = capsys.readouterr().err.partition("try: ")[2]
    assert main(shlex.split(typed)[1:]) == 0
    assert json.loads(capsys.readouterr().out)["traceEvents"]


@pytest.mark.usefixtures("ring_folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps", "ring.py:build", "--step", "7"], "there is no step '7'"),
        (["exchange", "ring.py:build", "--step", "a to c"], "there is no step 'a to c'"),
        (["ops", "absent.json"], "cannot read 'absent.json'"),
        (["trace", "ring.py:streams"], "'ring.py:streams' is not run: 1 stream"),
        (["trace", "ring.py:build", "--tiles", "9"], "trace: no tile 9"),
        (["trace", "plain.json"], "'plain.json' has no recorded order of steps"),
        (["diff", "plain.json", "absent.json"], "cannot read 'absent.json'"),
    ],
)
def test_faults(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved("with.json").save("plain.json")
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.err.split("poplite-viz: ")[-1].startswith(message)
    assert "\n  try: " in said.err
    assert said.out == ""


@pytest.mark.usefixtures("ring_folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ["steps", "ring.py:build", "--sort", "size"],
        ["ops", "ring.py:build", "--depth", "0"],
        ["trace", "ring.py:build", "--limit", "no"],
        ["trace", "ring.py:build", "--tiles", "1,x"],
        ["diff", "a.json", "b.json", "--fail-if", "cycles"],
    ],
)
def test_wrong_command_lines(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        main(arguments)
    assert exit_code.value.code == 2


# -- trace -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ring_folder")
def test_a_trace_is_of_what_ran(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(printed(capsys, "trace", "ring.py:build", "--tiles", "0, 3"))
    steps = [e["name"] for e in data["traceEvents"] if e.get("cat") == "step"]
    assert steps == ["a to b"] * 3 + ["b to a"] * 2
    tracks = [e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"]
    assert tracks == ["steps", "phases", "tile 0", "tile 3"]
    assert data["otherData"]["complete"]
    assert main(["trace", "ring.py:build", "--arg", "times=9", "--limit", "4"]) == 0
    said = capsys.readouterr()
    assert not json.loads(said.out)["otherData"]["complete"]
    assert said.err == (
        "recorded the first 4 steps; for more: poplite-viz trace ring.py:build --arg times=9 "
        "--limit 40\n"
    )
    zeros = json.loads(printed(capsys, "trace", "ring.py:streams", "--run"))
    assert [e["args"]["received"] for e in zeros["traceEvents"] if e.get("cat") == "step"] == [32]


@pytest.mark.usefixtures("ring_folder")
def test_a_trace_of_a_saved_report(capsys: pytest.CaptureFixture[str]) -> None:
    report = saved("with.json", times=5)
    data = json.loads(printed(capsys, "trace", "with.json"))
    assert data["otherData"]["cycles"] == report.cycles
    assert sum(e.get("cat") == "step" for e in data["traceEvents"]) == 5
    few = json.loads(printed(capsys, "trace", "with.json", "--limit", "2"))
    assert sum(e.get("cat") == "step" for e in few["traceEvents"]) == 2
    assert not few["otherData"]["complete"]


# -- diff ------------------------------------------------------------------------------------------


def test_what_changed_is_printed_and_checked(
    ring_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, later = saved("base.json"), saved("later.json", times=6)
    out = printed(capsys, "diff", "base.json", "later.json")
    assert out.splitlines()[0] == "what changed from base.json to later.json"
    assert out.splitlines()[2].split() == ["before", "after", "change"]
    said = " ".join(out.split())
    diff = base.diff(later)
    for each in (*diff.totals, *(change for some in diff.sections().values() for change in some)):
        numbers = f"{each.before:,} {each.after:,} {each.change:+,} {each.percent}"
        assert f" {each.name} {numbers}" in said
    checks = ["--fail-if", "cycles>+5%", "--fail-if", "fullest>600000"]
    out = printed(capsys, "diff", "base.json", "later.json", *checks, code=3)
    numbers = f"{base.cycles:,} -> {later.cycles:,}"
    assert f"\nFAILED  cycles>+5%: {numbers}\npassed  fullest>600000: " in out
    assert "passed" in printed(capsys, "diff", "later.json", "base.json", *checks)
    # A page holds the checks; they are printed too.
    words = ["diff", "base.json", "later.json", *checks, "-q", "-o", "a.html"]
    assert printed(capsys, *words, code=3).startswith(f"FAILED  cycles>+5%: {numbers}\n")
    assert f"cycles&gt;+5%: {numbers.replace('>', '&gt;')}" in (ring_folder / "a.html").read_text()
    table = printed(capsys, "diff", "base.json", "later.json", "--format", "md")
    assert table.startswith("| | base.json | later.json | change | |\n")


@pytest.mark.usefixtures("ring_folder")
def test_targets_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    saved("base.json")
    out = printed(capsys, "diff", "base.json", "ring.py:build", "--format", "json")
    assert json.loads(out)["names"] == ["base.json", "ring.py:build"]


@pytest.mark.usefixtures("ring_folder")
def test_an_unknown_number_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    saved("base.json")
    assert main(["diff", "base.json", "base.json", "--fail-if", "cycels>+5%"]) == 2
    said = capsys.readouterr()
    assert "there is no number 'cycels' to check (did you mean 'cycles'?)" in said.err
    assert said.out == ""


@pytest.mark.usefixtures("ring_folder")
def test_diff_hands_arguments_to_targets(capsys: pytest.CaptureFixture[str]) -> None:
    saved("three.json")
    out = printed(
        capsys, "diff", "ring.py:build", "ring.py:build", "--arg", "times=5", "--program", "main"
    )
    assert "no change" in out
    words = ["ring.py:build", "--arg", "times=5", "--no-run"]
    changed = json.loads(printed(capsys, "diff", "three.json", *words, "-f", "json"))
    once = json.loads(printed(capsys, "steps", *words, "-f", "json"))
    assert changed["totals"][0]["after"] == once["cycles"]
    assert main(["diff", "three.json", "three.json", "--arg", "times=5"]) == 1
    assert "--arg needs a TARGET" in capsys.readouterr().err


@pytest.mark.usefixtures("ring_folder")
@pytest.mark.parametrize(
    "words",
    [
        "report three.json -o three.json",
        "report ring.py:build three.json -o three.json -f html",
        "diff three.json ring.py:build -o three.json -f json",
        "steps ring.py:build -o ./ring.py -f txt",
        "steps three.json -o link.svg",
    ],
)
def test_what_is_read_is_not_written_over(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved("three.json")
    Path("link.svg").symlink_to("three.json")
    before = Path("three.json").read_bytes(), Path("ring.py").read_bytes()
    assert main(words.split()) == 1
    assert "would overwrite the input" in capsys.readouterr().err
    assert (Path("three.json").read_bytes(), Path("ring.py").read_bytes()) == before


def test_steps_of_several_programs_have_one_number_everywhere(
    ring_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def named(command: str, title: str, *more: str) -> list[tuple[int, str]]:
        found = json.loads(printed(capsys, command, "ring.py:build", "-f", "json", *more))
        return sorted((step["number"], step[title]) for step in found["steps"])

    report = load("ring.py:build").report
    names = [(1, "a to b"), (2, "b to a"), (3, "b to a")]
    assert [(step.number, step.name) for step in report.execution.steps] == names
    assert named("steps", "name") == names
    assert named("steps", "name", "--step", "3") == names[2:]
    assert [number for number, _ in named("liveness", "title")] == [1, 2, 3]
    assert [step["n"] for step in report_data(report, Arrays())["steps"]] == [1, 2, 3]
    report.save("saved.json")
    for target in ("ring.py:build", "saved.json"):
        for more in ((), ("--program", "back")):
            lines = printed(capsys, "program", target, *more).splitlines()
            assert [line.split()[0] for line in lines if "'b' -> 'a'" in line][-1] == "3"
        assert "\n   3  Copy" in printed(capsys, "graph", target, "--program", "back")


# -- memory, tile, liveness, tiles --by ------------------------------------------------------------


BUILD = """
import poplite as pl

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (64,), name, mapping=t) for t, name in enumerate("ab"))
    return graph, pl.Copy(a, b)
"""


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a report and a target, which is where we are."""
    monkeypatch.chdir(tmp_path)
    small_report().save("run.json")
    Path("copies.py").write_text(BUILD)
    return tmp_path


COMMANDS = [
    ("memory run.json --stack live --sort size --top 2", "txt svg png json csv"),
    ("tile run.json 1 --step scale", "txt svg png json"),
    ("liveness run.json --tile 0 --top 2", "txt svg png json csv"),
    ("tiles run.json --by waited --step 1:2 --from least --tiles 1:4", "txt svg png json html"),
]


@pytest.mark.parametrize(("command", "forms"), COMMANDS)
def test_every_form_of_a_saved_report(
    command: str, forms: str, run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begins = {"svg": b"<svg", "png": b"\x89PNG", "json": b"{", "html": b"<!doctype html>"}
    for form in forms.split():
        assert main([*command.split(), "-q", "-o", f"a.{form}"]) == 0
        content = (run_folder / f"a.{form}").read_bytes()
        assert content.startswith(begins.get(form, b""))
        assert main([*command.split(), "-q", "-o", f"b.{form}"]) == 0
        assert (run_folder / f"b.{form}").read_bytes() == content
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("run_folder")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("memory copies.py:build", "memory: fits; fullest tile 1:"),
        ("tile copies.py:build 1", "'b' float[64]  (copies.py:6)"),
        ("liveness copies.py:build", "Copy 'a' -> 'b'"),
        ("tiles copies.py:build --by received", "256 B on 4 tiles"),
        ("tiles copies.py:build --by vertices", "0 vertices on 4 tiles"),
        ("tiles copies.py:build", "bytes needed per tile: 2 variables\n"),
        (
            "tiles copies.py:build --tiles 1:2",
            "bytes needed per tile: 2 variables, of tiles 1 to 2",
        ),
        ("tiles run.json", "bytes needed per tile"),
    ],
)
def test_targets_and_reports(command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert said in capsys.readouterr().out


def test_a_page_tells_its_command(run_folder: Path) -> None:
    assert main(["tiles", "run.json", "--by", "sent", "--tiles", "2:3", "-q", "-o", "a.html"]) == 0
    page = (run_folder / "a.html").read_text()
    assert "<code>poplite-viz tiles run.json --by sent --tiles 2:3</code>" in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["values"] == [64, 64]


@pytest.mark.usefixtures("run_folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tile run.json 6", "there is no tile '6'"),
        ("tile run.json 1 --step scele", "did you mean 'scale'?"),
        ("liveness run.json --tile 9", "tiles are 0 to 5"),
        ("memory none.json", "cannot read 'none.json'"),
        ("memory unmodelled.json", "cycles and memory must both be modelled, or neither"),
        ("tiles run.json --by free --variable x", "--variable has no effect with --by"),
        ("tiles copies.py:build --step 1", "--step has no effect with bytes on tiles"),
        ("tiles copies.py:build --no-run", "--no-run has no effect"),
        ("tiles run.json --by free --step 1", "--step is for what runs"),
        ("tiles run.json --by free --tiles 4:6", "there are no tiles 4 to 6"),
        ("tiles copies.py", "does not name a callable"),
    ],
)
def test_faults_are_one_message(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    not_modelled(small_report()).save("unmodelled.json")
    assert main(command.split()) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert "Traceback" not in said.err


@pytest.mark.usefixtures("run_folder")
@pytest.mark.parametrize(
    "command",
    [
        "memory run.json --top 0",
        "memory run.json --stack all",
        "tile run.json",
        "tiles run.json --by bytes",
        "tiles run.json --tiles 3-5",
        "liveness run.json -f html",
    ],
)
def test_wrong_command_lines_exit_with_2(command: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    assert stopped.value.code == 2


# -- tiles and tensor as pages, as JSON ------------------------------------------------------------


NET = """
from poplite import FLOAT, Target
from poplite.graph import Graph

def build():
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    graph.add_variable(FLOAT, (4,), "it's <y>", mapping=1)
    return graph
"""


@pytest.fixture
def net_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, net=NET)


def test_the_suffix_says_the_format(net_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["tiles", "net.py:build"], ["tensor", "net.py:build", "x"]):
        for name, start in (("a.html", "<!doctype html>\n"), ("a.json", "{\n")):
            assert main([*words, "-o", name]) == 0
            assert (net_folder / name).read_text().startswith(start)
            assert capsys.readouterr() == ("", f"wrote {name}\n")


@pytest.mark.usefixtures("net_folder")
def test_json_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build", "--format", "json"]) == 0
    tiles = json.loads(capsys.readouterr().out)
    assert (tiles["poplite"], tiles["version"]) == ("tiles", 1)
    assert tiles["size_bytes"] == [16, 32, 16, 16]
    assert (tiles["limit_bytes"], tiles["unmapped_elements"]) == (638_976, 0)
    assert main(["tensor", "net.py:build", "it's <y>", "--view", ":2", "--format", "json"]) == 0
    tensor = json.loads(capsys.readouterr().out)
    assert (tensor["poplite"], tensor["name"], tensor["shape"]) == ("tensor", "it's <y>", [4])
    assert (tensor["begin"], tensor["length"], tensor["tile"]) == ([0], [4], [1])
    assert tensor["view"] == {"index": ":2", "shape": [2], "begin": [0], "length": [2]}


@pytest.mark.usefixtures("net_folder")
def test_a_page_says_which_command_wrote_it(capsys: pytest.CaptureFixture[str]) -> None:
    name = "it's <y>"
    assert main(["tensor", "net.py:build", name, "--view", ":2", "--format", "html"]) == 0
    said = capsys.readouterr().out
    quoted = "&#x27;it&#x27;&quot;&#x27;&quot;&#x27;s &lt;y&gt;&#x27;"
    assert f"<code>poplite-viz tensor net.py:build {quoted} --view :2</code>" in said
    assert main(["tiles", "net.py:build", "--variable", "x", "--format", "html"]) == 0
    assert "<code>poplite-viz tiles net.py:build --variable x</code>" in capsys.readouterr().out


@pytest.mark.usefixtures("net_folder")
def test_an_unknown_suffix_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build", "-o", "a.pdf"]) == 1
    assert "known suffixes are .txt, .svg, .json, .html" in capsys.readouterr().err


KEYS = """<script>
const press = (key) => figure.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const read = ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"].map((key) => {
  press(key);
  return pane.textContent;
});
const at = parts[0].shape.getBoundingClientRect();
figure.dispatchEvent(new MouseEvent("click", {clientX: at.x + 3, clientY: at.y + 3}));
document.title = JSON.stringify([...read, pane.textContent]);
</script>"""


def title_after(page: Path, script: str, *, is_still: bool = False) -> str:
    """The title of a page after one more script has run in it."""
    page.write_text(page.read_text().replace("</body>", f"{script}</body>"))
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            *QUIET,
            *(["--force-prefers-reduced-motion"] if is_still else []),
            f"--user-data-dir={page.parent / 'browser'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.split("<title>")[1].split("</title>")[0]


@pytest.mark.skipif(CHROMIUM is None, reason="runs the page's script in Chromium")
def test_keys_and_clicks_tell_what_a_part_is(net_folder: Path) -> None:
    assert main(["tiles", "net.py:build", "-q", "-o", "map.html"]) == 0
    title = title_after(net_folder / "map.html", KEYS)
    size = {1: "3,200 B, variables 32 B"}
    rest = "3,184 B, variables 16 B"
    expected = [f"tile {k}: {size.get(k, rest)}" for k in (0, 1, 2, 1, 0, 3, 0)]
    assert json.loads(title) == expected


STEPS = """<script>
const [before, after] = document.querySelectorAll("#frames button");
const seen = [];
const look = () => {
  const [frame, ...others] = document.querySelectorAll("g.frame:not([hidden])");
  const moving = document.getAnimations().filter((each) => frame.contains(each.effect.target));
  const element = frame.querySelectorAll(".element")[1];
  const second = moving.find((each) => each.effect.target === element);
  seen.push([
    frame.querySelector("text").textContent.split(":")[0],
    others.length,
    document.querySelector("#frames output").textContent,
    second ? second.effect.getKeyframes()[0].transform : null,
  ]);
};
look();
after.click(); look();
after.click(); look();
after.click(); before.click(); before.click(); look();
document.title = JSON.stringify(seen);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="runs the page's script in Chromium")
@pytest.mark.parametrize("is_still", [False, pytest.param(True, marks=deep)])
def test_elements_move_from_frame_to_frame(net_folder: Path, is_still: bool) -> None:
    words = ["regions", "net.py:build", "x", "--op", "dimShuffle 1,0", "--op", "reverse 1"]
    assert main([*words, "-q", "-o", "regions.html"]) == 0
    title = title_after(net_folder / "regions.html", STEPS, is_still=is_still)
    # Elements are 28 pixels apart.  The second of 8 x 2 was the first of the second row, and so on.
    moves = [None, "translate(-28px, 28px)", "translate(-28px, 0px)", "translate(-28px, 28px)"]
    assert json.loads(title) == [
        [text, 0, f"{number} of 3", None if is_still else move]
        for (text, number), move in zip(
            [("x", 1), ("dimShuffle(1, 0)", 2), ("reverse(1)", 3), ("x", 1)], moves, strict=True
        )
    ]


RETURNED = """
import poplite as pl
from dataclasses import dataclass

@dataclass
class Layer:
    weights: pl.Tensor

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    return graph, pl.Sequence(), x.T, {"first": x[1:3]}, Layer(x[:, ::2])
"""


def test_regions_of_what_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(RETURNED)
    assert main(["regions", "net.py:build"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("regions of 'x'.T, first, weights\n")
    for line in (
        "1. x: float32[4, 6], 1 interval of 24 elements",
        "2. 'x'.T: float32[6, 4], 6 \u00d7 4 intervals of 1 element",
        "3. first: float32[2, 6], 1 interval of 12 elements",
        "4. weights: float32[4, 3], 4 \u00d7 3 intervals of 1 element",
    ):
        assert f"\n{line}\n" in printed
    assert main(["regions", "net.py:build", "-o", "all.svg"]) == 0
    assert Path("all.svg").read_text().count('class="frame"') == 4
    capsys.readouterr()
    assert main(["regions", "net.py:build", "--op", "0"]) == 1
    assert "neither is given" in capsys.readouterr().err


@pytest.mark.usefixtures("net_folder")
def test_regions_of_a_variable_and_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regions", "net.py:build", "x", "--op", "dimShuffle 1,0", "--op", "0:2"]) == 0
    printed = capsys.readouterr().out
    assert "2. dimShuffle(1, 0): float32[8, 2], 8 \u00d7 2 intervals of 1 element" in printed
    assert "[1, 2)    x[8, 9)   2" in printed
    assert main(["regions", "net.py:build", "x", "--op", "0:1", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert "<code>poplite-viz regions net.py:build x --op 0:1</code>" in page
    assert "<summary>intervals of x</summary>" in page
    for words, message in (
        ([], "neither is given"),
        (["x", "--field", "a.b"], "both are given"),
        (["--field", "a.b", "--op", "0"], "--op needs a variable, not a field"),
        (["x", "--op", "turn 1"], "there is no operation 'turn'"),
        (["--field", "a.b"], "the graph has no compute set 'a'"),
    ):
        assert main(["regions", "net.py:build", *words]) == 1
        assert message in capsys.readouterr().err
