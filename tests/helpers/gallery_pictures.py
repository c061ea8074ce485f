"""Draw the pictures of docs/gallery.md that are in docs/gallery, with the commands on the page.

python tests/helpers/gallery_pictures.py docs/gallery
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from poplite.tools.viz import main as poplite_viz

ROOT = Path(__file__).resolve().parents[2]

PICTURE = re.compile(
    r"\]\((?P<folder>gallery|pictures)/(?P<file>[a-z-]+\.\w+)\).*\n\n`poplite-viz (?P<command>.+)`"
)


def commands(folder: str) -> dict[str, list[str]]:
    """Return the words of each command on the page, by its picture in a folder of docs."""
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    found = PICTURE.finditer(page)
    return {
        each["file"]: shlex.split(each["command"]) for each in found if each["folder"] == folder
    }


def draw(folder: Path) -> None:
    """Draw all pictures of docs/gallery into a folder."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    for name, words in commands("gallery").items():
        if poplite_viz([*words, "-q", "-o", str(folder / name)]) != 0:
            raise SystemExit(f"{name} was not drawn")
        print(f"{folder / name}  {(folder / name).stat().st_size:,} B")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
