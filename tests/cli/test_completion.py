"""`poplite completion`: scripts that complete commands in shells."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from poplite.tools.command import main
from poplite.tools.completion import SHELLS


def completed(script: str, folder: Path, line: str) -> set[str]:
    """Return what bash offers for the last word of a line, in a folder."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    function = f"_shtab_{words[0].replace('-', '_')}"
    asked = (
        f"{script}\nCOMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}\n"
        f'{function} {words[0]} {shlex.quote(words[-1])}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", asked], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def needs_bash() -> None:
    pytest.importorskip("shtab", reason="completion needs the extra completion")
    if not shutil.which("bash"):
        pytest.skip("there is no bash")


@pytest.mark.usefixtures("needs_bash")
def test_bash_completes_commands_options_choices_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "heat.py").touch()
    (tmp_path / "plates").mkdir()
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, tmp_path, "poplite ca") == {"cache"}
    assert completed(script, tmp_path, "poplite cache ") == {"info", "clear"}
    assert completed(script, tmp_path, "poplite export --che") == {"--checks"}
    assert completed(script, tmp_path, "poplite export --checks ") == {"fast", "none"}
    assert completed(script, tmp_path, "poplite run he") == {"heat.py"}
    assert completed(script, tmp_path, "poplite export heat.py:build p") == {"plates"}
    assert completed(script, tmp_path, "poplite viz tile") == {"tile", "tiles"}
    assert "--on-ranks" not in script


@pytest.mark.usefixtures("needs_bash")
def test_bash_completes_the_command_of_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "heat.py").touch()
    assert main(["completion", "bash", "poplite-viz"]) == 0
    script = capsys.readouterr().out
    assert completed(script, tmp_path, "poplite-viz swe") == {"sweep"}
    assert completed(script, tmp_path, "poplite-viz tiles he") == {"heat.py"}
    assert "memory" in completed(script, tmp_path, "poplite-viz tiles heat.py:build --by ")


@pytest.mark.parametrize("of", ["poplite", "poplite-viz"])
@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, of: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="completion needs the extra completion")
    assert main(["completion", shell, of]) == 0
    script = capsys.readouterr().out
    assert of in script
    assert "tiles" in script


def test_without_shtab_the_message_has_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "poplite: completion: shtab is not installed\n  try: pip install 'poplite[completion]'\n"
    )


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "dash"])
    assert "invalid choice: 'dash'" in capsys.readouterr().err
