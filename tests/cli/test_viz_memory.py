"""`poplite-viz memory`, `tile`, `liveness` and `tiles --by`, of saved reports and of targets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.small_report import not_modelled, small_report
from poplite.tools.viz import main

BUILD = """
import poplite as pl

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (64,), name, mapping=t) for t, name in enumerate("ab"))
    return graph, pl.Copy(a, b)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    command: str, forms: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begins = {"svg": b"<svg", "png": b"\x89PNG", "json": b"{", "html": b"<!doctype html>"}
    for form in forms.split():
        assert main([*command.split(), "-q", "-o", f"a.{form}"]) == 0
        content = (folder / f"a.{form}").read_bytes()
        assert content.startswith(begins.get(form, b""))
        assert main([*command.split(), "-q", "-o", f"b.{form}"]) == 0
        assert (folder / f"b.{form}").read_bytes() == content
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("memory copies.py:build", "memory: fits; fullest tile 1:"),
        ("tile copies.py:build 1", "'b' float[64] (copies.py:6)"),
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


def test_a_page_tells_its_command(folder: Path) -> None:
    assert main(["tiles", "run.json", "--by", "sent", "--tiles", "2:3", "-q", "-o", "a.html"]) == 0
    page = (folder / "a.html").read_text()
    assert "<code>poplite-viz tiles run.json --by sent --tiles 2:3</code>" in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["values"] == [64, 64]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tile run.json 6", "there is no tile '6'"),
        ("tile run.json 1 --step scele", "did you mean 'scale'?"),
        ("liveness run.json --tile 9", "tiles are 0 to 5"),
        ("memory none.json", "cannot read 'none.json'"),
        ("memory unmodelled.json", "not modelled"),
        ("tiles run.json --by free --variable x", "--variable has no effect with --by"),
        ("tiles copies.py:build --step 1", "--step has no effect with bytes on tiles"),
        ("tiles copies.py:build --no-run", "--no-run has no effect"),
        ("tiles run.json --by free --step 1", "--step is for what runs"),
        ("tiles run.json --by free --tiles 4:6", "there are no tiles 4 to 6"),
        ("tiles copies.py", "names no callable"),
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
