"""What every subcommand writes, as files: text in three widths and in ASCII, SVG and JSON.

All are drawn of one saved report of `tiny.py`, but for `diff`, which compares it with another one.

`POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them anew; look at them, in
light and dark, before they are committed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite import FLOAT, HALF, INT, Engine, Graph, Target, Tensor
from poplite.report.sweep import Sweep
from poplite.tools.viz import main
from poplite.tools.viz.load_target import load_target

HERE = Path(__file__).parent
FILES = HERE / "commands"

COMMANDS: dict[str, tuple[str, str]] = {
    "summary": ("summary run.json", "txt svg json"),
    "tiles": ("tiles run.json --by received", "txt svg json"),
    "tensor": ("tensor run.json ring/x --view 1:3", "txt svg json"),
    "regions": ("regions run.json ring/y --op reverse,0", "txt svg json"),
    "program": ("program run.json --counts", "txt svg json"),
    "graph": ("graph run.json", "txt svg json"),
    "memory": ("memory run.json --top 3", "txt svg json"),
    "tile": ("tile run.json 1", "txt svg json"),
    "liveness": ("liveness run.json", "txt svg json"),
    "report": ("report run.json", "txt svg json"),
    "steps": ("steps run.json", "txt svg json"),
    "timeline": ("steps run.json --timeline --step 1", "txt svg json"),
    "exchange": ("exchange run.json", "txt svg json"),
    "ops": ("ops run.json", "txt svg json"),
    "lines": ("lines run.json", "txt svg json"),
    "trace": ("trace run.json --tiles 0", "json"),
    "sweep": ("sweep sweep.json --over split tiles", "txt svg json"),
    "diff": ("diff run.json later.json --fail-if cycles>+500%", "txt svg json"),
}
"""Words of a command, a comma for a blank within a word, and its forms."""

CASES = [(name, form) for name, (_, forms) in COMMANDS.items() for form in forms.split()]

WIDTHS = {"40": 40, "80": 80, "160": 160, "80, in ASCII": 80}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports."""
    folder = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(HERE.parents[1])
        patch.setattr(sys, "path", list(sys.path))
        for name, times in (("run", 3), ("later", 5)):
            patch.delitem(sys.modules, "tiny", raising=False)
            graph, program = load_target(f"{HERE / 'tiny.py'}:build", [("times", times)])
            assert program is not None
            engine = Engine(graph, program, interpret=True)
            with engine.tracing() as trace:
                engine.run()
            engine.report().save(folder / f"{name}.json", trace)
    points: list[dict[str, Any]] = [
        {"split": split, "tiles": tiles, "cycles": 90_000 // split + 40 * tiles, "error": ""}
        for split in (1, 2, 4)
        for tiles in (8, 16)
    ]
    points[-1] |= {"cycles": None, "error": "OutOfTileMemory: tile 3 needs too much"}
    Sweep(("split", "tiles"), points).save(folder / "sweep.json")
    return folder


def printed(command: str, form: str, columns: int, *, ascii_only: bool = False) -> str:
    """Return what a command writes to standard output."""
    words = [word.replace(",", " ") for word in command.split()]
    raw = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        out = io.TextIOWrapper(raw, "ascii" if ascii_only else "utf-8", newline="\n")
        patch.setattr(sys, "stdout", out)
        layout = ["--layout", "builtin"] if words[0] == "graph" else []
        assert main([*words, "-f", form, "-q", *layout]) == 0
    return raw.getvalue().decode()


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_command_writes_what_it_did(
    name: str, form: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved)
    command, _ = COMMANDS[name]
    if form == "txt":
        parts = []
        for title, columns in WIDTHS.items():
            text = printed(command, form, columns, ascii_only="ASCII" in title)
            assert max(map(len, text.splitlines())) <= columns
            assert text.isascii() or "ASCII" not in title
            parts.append(f"---- {title}\n{text}")
        found = "".join(parts)
    else:
        found = printed(command, form, 80)
    path = FILES / f"{name}.{form}"
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        path.write_text(found)
    assert path.is_file(), "POPLITE_UPDATE_GOLDEN=1 writes it"
    assert found == path.read_text()


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}.{form}" for name, form in CASES}


def test_every_picture_of_the_command_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = capsys.readouterr().out.partition("COMMAND\n")[2].partition("\n\n")[0]
    known = {line.split()[0] for line in listed.splitlines() if line[4:5].strip()}
    assert known - {"doctor", "lint"} == {command.split()[0] for command, _ in COMMANDS.values()}


# -- what tensors say of themselves ----------------------------------------------------------------
# `POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes it anew.


GOLDEN = Path(__file__).parent / "explain" / "tensors.txt"


def explained() -> Iterator[tuple[str, Tensor]]:
    """Tensors of all kinds, with what was done."""
    graph = Graph(Target(tiles=16))
    t = graph.add_variable(FLOAT, (4, 6), "t", mapping="linear")
    u = graph.add_variable(FLOAT, (4, 6), "u")
    ones = graph.add_constant(FLOAT, (4, 1), 1, "ones", mapping=3)
    graph.set_tile_mapping(u[0], 5)
    yield "t", t
    yield "t[:, 1:3]", t[:, 1:3]
    yield "t[::-1]", t[::-1]
    yield "t.T.flatten()", t.T.flatten()
    yield "t.T.flatten()[3:9]", t.T.flatten()[3:9]
    yield "t.broadcast(3, 1)", t.broadcast(3, 1)
    yield "t.upsample(2, 1)", t.upsample(2, 1)
    yield "t[1, 2]", t[1, 2]
    yield "t[0:0]", t[0:0]
    yield "ones[1:]", ones[1:]
    yield "concat([t, u, ones], 1)", pl.concat([t, u, ones], 1)
    yield "concat([t, u, ones], 1).T[5:7]", pl.concat([t, u, ones], 1).T[5:7]
    yield "an 8 x 12 transpose", graph.add_variable(FLOAT, (8, 12), "x", mapping="linear").T
    many = [graph.add_variable(INT, (3, 2), f"v{i}", mapping=i % 16) for i in range(100)]
    yield "concat of 100 variables", pl.concat(many, 1)
    yield "twenty dimensions", graph.add_variable(INT, (1, 2) * 10, "deep/" * 9 + "down")


def huge() -> Iterator[tuple[str, Tensor]]:
    """The same of 2**30 elements and more."""
    graph = Graph(Target(tiles=16))
    w = graph.add_variable(HALF, (2**15, 2**15), "weights", mapping="linear")
    b = graph.add_variable(HALF, (2**15, 2**15), "bias", mapping="linear")
    yield "weights.T", w.T
    yield "weights.T[1:].reshape", w.T[1:].reshape((2**15, 2**15 - 1))
    yield "concat([weights, bias], 1)", pl.concat([w, b], 1)
    yield "concat([weights, bias], 1).T", pl.concat([w, b], 1).T
    yield "concat([weights, weights.T])", pl.concat([w, w.T])
    begin = np.random.default_rng(1).permutation(2**14) * 2**15
    slices = w.flatten().slices(np.stack([begin, begin + 2**15], 1))
    yield "2**14 shuffled slices", pl.concat(slices)


def test_explanations_keep_their_words() -> None:
    texts = [f"{name}\n\n{t.explain()}\n" for name, t in (*explained(), *huge())]
    found = "\n".join(texts)
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_an_explanation_fits_a_screen_and_shows_itself() -> None:
    for _, tensor in (*explained(), *huge()):
        text = tensor.explain()
        lines = text.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert repr(text) == text == str(text)
