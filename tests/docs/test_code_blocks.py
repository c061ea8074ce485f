"""Every code block of the README and of docs/ runs, or is run elsewhere by name.

A block is fenced by three backticks and a language.  `python` blocks of one file run in
order, in one namespace.  `sh` blocks are not run here: each must be listed below with the
place that does run it, so that a changed command cannot go unnoticed.  `text` blocks are output
or drawings; `toml` blocks must parse.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.cpp import skip_without_cpp
from helpers.depth import interpreted_everywhere, thinned
from helpers.pages import BLOCK, blocks, run

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

OF_OTHERS = {"py", "cpp"}
"""Languages of blocks in other systems: Python and C++."""

DIRECTIVES = {"{names}", "{toctree}", "{include}"}
"""What the site makes something else of."""

OF_VALUES = ("operations.md", "named.md", "poplar-names.md", "vertex-library.md")
"""Pages of which no block asks for cycles, and none has large loops."""

PHOTO = (
    "python3 -m venv .venv && .venv/bin/pip install '.[examples]' && "
    ".venv/bin/python examples/photo.py"
)
TESTS = (
    "python3 -m venv .venv && .venv/bin/pip install --no-compile -e '.[test]' && "
    ".venv/bin/python -m pytest -n auto"
)

SHELL_COMMANDS = {
    PHOTO: ".ci/run",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]'": ".ci/run",
    **dict.fromkeys(
        (
            ".venv/bin/python -m pytest -q test_smooth.py",
            ".venv/bin/python smooth.py",
            ".venv/bin/poplite-viz report smooth.py:build -o smooth.html",
            ".venv/bin/poplite-viz report smooth.py:build -o before.json",
            ".venv/bin/poplite-viz diff before.json smooth.py:build",
        ),
        "tests/docs/test_pages_run.py",
    ),
    TESTS: ".ci/run",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'": ".ci/run",
    ".venv/bin/poplite-viz doctor": ".ci/run",
    ".venv/bin/poplite-viz tiles examples/pi.py:build": "tests/docs/test_pages_run.py",
    ".venv/bin/poplite-viz tensor examples/heat.py:build a --view '0:20, ::2' -o plate.svg": (
        "tests/docs/test_pages_run.py"
    ),
    ".venv/bin/poplite-viz summary examples/heat.py:build": "tests/docs/test_pages_run.py",
    ".venv/bin/poplite-viz program examples/heat.py:build --counts": (
        "tests/docs/test_pages_run.py"
    ),
    ".venv/bin/poplite-viz graph examples/heat.py:build --layout builtin -o heat.svg": (
        "tests/docs/test_pages_run.py"
    ),
    "poplite-viz regions examples/heat.py:build a --op '0:4, 0:3' --op 'dimShuffle 1,0'": (
        "tests/docs/test_pages_run.py"
    ),
    "poplite-viz regions examples/heat.py:build --field 'b to a#40.old'": (
        "tests/docs/test_pages_run.py"
    ),
    ".venv/bin/poplite-viz report examples/photo.py:build -o report.html": (
        "tests/docs/test_pages_run.py"
    ),
    "poplite export examples/heat.py:build exported": "tests/cli/test_poplite_command.py",
    "mpiexec -n 2 python examples/heat.py --mpi": "tests/unit/mpi/test_ranks.py",
    "poplite run -n 4 examples/heat.py:build": "tests/unit/mpi/test_ranks.py",
    ".venv/bin/pip install -e '.[dev]'": ".ci/run",
    ".venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy": ".ci/run",
    ".venv/bin/python benchmarks/engine.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/compilation.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/executable.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/host.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/ipu.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/named.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/startup.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/pictures.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/ops.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/ops_shelf.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/cpp.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/scale.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/scale_ranks.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python benchmarks/compare.py HEAD~1 --only views startup": (
        "tests/examples/test_benchmarks.py"
    ),
    ".venv/bin/python -m poplite.testing.mathematics --function sin tanh --step 1009": (
        "tests/unit/vertex/test_mathematics.py"
    ),
    ".venv/bin/python -m poplite.testing.mathematics --double": (
        "tests/unit/vertex/test_mathematics.py"
    ),
    ".venv/bin/python benchmarks/fidelity.py": "tests/examples/test_fidelity.py",
    ".venv/bin/python benchmarks/fidelity_library.py": "tests/examples/test_fidelity.py",
    ".venv/bin/python benchmarks/views.py": "tests/examples/test_benchmarks.py",
    ".venv/bin/python -m poplite.testing.fuzz --states 1000 --seed 1": (
        "tests/unit/testing/test_fuzz.py"
    ),
    ".venv/bin/python -m poplite.testing.fuzz_integers --operations 1000 --seed 1": (
        "tests/unit/testing/test_fuzz.py"
    ),
    "PYTHONPATH=tests .venv/bin/python -m helpers.fuzz_files --files 1000 --seed 1": (
        "tests/unit/testing/test_fuzz.py"
    ),
    ".venv/bin/python -m sphinx -W docs site": "tests/docs/test_site.py",
    ".venv/bin/python -m pytest tests/unit/view": ".ci/run",
    ".venv/bin/python -m pytest -n auto --depth=full": ".ci/run",
    ".ci/run": "itself",
}
"""Each command of a `sh` block, and where it is run."""


def name(path: Path) -> str:
    return path.name


def commands(path: Path) -> list[str]:
    """Return the commands of a file's `sh` blocks, continued lines joined."""
    joined = "".join(block for _, block in blocks(path, "sh")).replace("\\\n", " ")
    lines = (" ".join(line.split()) for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    "path",
    thinned(FILES, [f for f in FILES if f.name not in ("library.md", "layouts.md")]),
    ids=name,
)
def test_python_blocks_run(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if path.name in OF_VALUES:
        for variable, value in interpreted_everywhere().items():
            monkeypatch.setenv(variable, value)
    if path.name == "cpp.md":
        skip_without_cpp()
    run(path, f"blocks_of_{path.stem}")
    if path == ROOT / "README.md":
        assert capsys.readouterr().out.startswith("3.1415")


@pytest.mark.parametrize(
    ("page", "package", "results"),
    [("numpy-jax", "jax", ("by_jax", "by_pallas")), ("ngraph", "xarray", ("by_xarray",))],
)
def test_blocks_of_other_systems_give_the_same(
    page: str, package: str, results: tuple[str, ...]
) -> None:
    pytest.importorskip(package, reason="other systems need the extra comparison")
    path = ROOT / "docs/coming-from" / f"{page}.md"
    theirs: dict[str, Any] = {}
    for _, text in blocks(path, "py"):
        exec(compile(text, path.name, "exec"), theirs)
    expected = {
        "by_jax": np.arange(1, 13).reshape(3, 4) / np.array([[10], [26], [42]]),
        "by_pallas": np.arange(1, 65),
        "by_xarray": np.full(3, 1.25),
    }
    for name in results:
        np.testing.assert_allclose(theirs[name], expected[name], rtol=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_only_blocks_that_cannot_run_are_said_not_to(path: Path) -> None:
    text = path.read_text()
    for language, block in ((m[1], m) for m in BLOCK.finditer(text)):
        if language == "cpp" or (language == "py" and "triton" in block[2]):
            assert (
                "not run here" in text[: block.start()].rpartition("\n\n")[0].rpartition("\n\n")[2]
            )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_blocks_are_of_known_languages(path: Path) -> None:
    languages = {match[1] for match in BLOCK.finditer(path.read_text())}
    assert languages <= {"python", "sh", "text", "toml"} | OF_OTHERS | DIRECTIVES
    assert path.read_text().count("```") == 2 * len(BLOCK.findall(path.read_text()))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_shell_commands_are_known(path: Path) -> None:
    assert [c for c in commands(path) if c not in SHELL_COMMANDS] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_toml_blocks_parse(path: Path) -> None:
    for _, text in blocks(path, "toml"):
        tomllib.loads(text)


def test_readme_shows_every_listed_command() -> None:
    shown = {command for path in FILES for command in commands(path)}
    assert set(SHELL_COMMANDS) - shown == set()


def test_readme_opens_with_the_two_commands_that_ci_runs() -> None:
    assert commands(ROOT / "README.md")[:2] == [PHOTO, TESTS]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    assert [t for t in targets if not (path.parent / t).exists()] == []
