"""Examples are read as a whole: 80 lines at most, the photograph 150, and nothing around `main`."""

from __future__ import annotations

from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_short(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= (150 if file.stem == "photo" else 80)
    assert "\ndef build(" in text or "\nbuild = " in text
    assert 'if __name__ == "__main__":\n' in text
