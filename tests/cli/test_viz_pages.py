"""`poplite-viz tiles` and `tensor` as pages and as JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from helpers.browser import CHROMIUM, QUIET
from helpers.depth import deep
from helpers.scripts import go_to
from poplite.tools.viz import main

SCRIPT = """
from poplite import FLOAT, Target
from poplite.graph import Graph

def build():
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    graph.add_variable(FLOAT, (4,), "it's <y>", mapping=1)
    return graph
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, net=SCRIPT)


def test_the_suffix_says_the_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["tiles", "net.py:build"], ["tensor", "net.py:build", "x"]):
        for name, start in (("a.html", "<!doctype html>\n"), ("a.json", "{\n")):
            assert main([*words, "-o", name]) == 0
            assert (folder / name).read_text().startswith(start)
            assert capsys.readouterr() == ("", f"wrote {name}\n")


@pytest.mark.usefixtures("folder")
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


@pytest.mark.usefixtures("folder")
def test_a_page_says_which_command_wrote_it(capsys: pytest.CaptureFixture[str]) -> None:
    name = "it's <y>"
    assert main(["tensor", "net.py:build", name, "--view", ":2", "--format", "html"]) == 0
    said = capsys.readouterr().out
    quoted = "&#x27;it&#x27;&quot;&#x27;&quot;&#x27;s &lt;y&gt;&#x27;"
    assert f"<code>poplite-viz tensor net.py:build {quoted} --view :2</code>" in said
    assert main(["tiles", "net.py:build", "--variable", "x", "--format", "html"]) == 0
    assert "<code>poplite-viz tiles net.py:build --variable x</code>" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_an_unknown_suffix_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:build", "-o", "a.pdf"]) == 1
    assert "known here are .txt, .svg, .json, .html" in capsys.readouterr().err


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
def test_keys_and_clicks_tell_what_a_part_is(folder: Path) -> None:
    assert main(["tiles", "net.py:build", "-q", "-o", "map.html"]) == 0
    title = title_after(folder / "map.html", KEYS)
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
def test_elements_move_from_frame_to_frame(folder: Path, is_still: bool) -> None:
    words = ["regions", "net.py:build", "x", "--op", "dimShuffle 1,0", "--op", "reverse 1"]
    assert main([*words, "-q", "-o", "regions.html"]) == 0
    title = title_after(folder / "regions.html", STEPS, is_still=is_still)
    # Elements are 28 pixels apart.  The second of 8 x 2 was the first of the second row, and so on.
    moves = [None, "translate(-28px, 28px)", "translate(-28px, 0px)", "translate(-28px, 28px)"]
    assert json.loads(title) == [
        [text, 0, f"{number} of 3", None if is_still else move]
        for (text, number), move in zip(
            [("x", 1), ("dimShuffle(1, 0)", 2), ("reverse(1)", 3), ("x", 1)], moves, strict=True
        )
    ]


@pytest.mark.usefixtures("folder")
def test_regions_of_a_variable_and_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regions", "net.py:build", "x", "--op", "dimShuffle 1,0", "--op", "0:2"]) == 0
    printed = capsys.readouterr().out
    assert "2  dimShuffle(1, 0): float32[8, 2], 8 \u00d7 2 intervals of 1 element" in printed
    assert "[1, 2)    x[8, 9)       2" in printed
    assert main(["regions", "net.py:build", "x", "--op", "0:1", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert "<code>poplite-viz regions net.py:build x --op 0:1</code>" in page
    assert "<summary>Numbers of 1 interval of x</summary>" in page
    for words, message in (
        ([], "neither is given"),
        (["x", "--field", "a.b"], "both are given"),
        (["--field", "a.b", "--op", "0"], "operations are those of a variable"),
        (["x", "--op", "turn 1"], "there is no operation 'turn'"),
        (["--field", "a.b"], "the graph has no compute set 'a'"),
    ):
        assert main(["regions", "net.py:build", *words]) == 1
        assert message in capsys.readouterr().err
