"""`python -m poplite.tools.code_lines`: what counts as code, and the sums by package."""

from __future__ import annotations

from pathlib import Path

import pytest

from poplite.tools.code_lines import code_lines, main

MODULE = '''"""A module

of two paragraphs.
"""

# a comment

LIMIT = 3  # lines
"""What is said below an attribute."""

TEXT = """one

# three
"""


def called(
    x: int,
) -> int:
    """Return it."""

    # why
    return x
'''


def test_lines_with_tokens_count_without_docstrings_comments_and_blank_lines() -> None:
    lines = MODULE.splitlines()
    expected = ["LIMIT = 3  # lines", 'TEXT = """one', "", "# three", '"""']
    expected += ["def called(", "    x: int,", ") -> int:", "    return x"]
    assert [lines[number - 1] for number in sorted(code_lines(MODULE))] == expected


def test_a_module_without_code_has_no_code_lines() -> None:
    assert code_lines("") == set()
    assert code_lines('"""Only a docstring."""\n# and a comment\n') == set()


def small_checkout(root: Path) -> Path:
    """Make a checkout of a few files, with a link to the simulator as the real one has."""
    for name in ("poplite", "poplite/viz", "poplite/viz/draw", "simulator", "tools", "vertices"):
        (root / name).mkdir()
        (root / name / "module.py").write_text(f'"""In {name}."""\n\nx = 1\n')
    (root / "simulator" / "other.py").write_text("x = 1\ny = (\n    2\n)\n")
    (root / "poplite" / "simulator").symlink_to(root / "simulator")
    return root


def test_the_command_sums_by_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(small_checkout(tmp_path))]) == 0
    rows = [line.rsplit(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [
        ["poplite", "1", "1"],
        ["poplite/viz", "2", "2"],
        ["simulator", "2", "5"],
        ["tools", "1", "1"],
        ["vertices", "1", "1"],
        ["all", "7", "10"],
        ["all but poplite/viz", "5", "8"],
    ]


def test_a_folder_that_is_not_a_checkout_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path)])
    assert "is not a checkout of poplite: it has no folder 'poplite'" in capsys.readouterr().err
