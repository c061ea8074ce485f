"""A file of format 7, that was saved when that was new: it is loaded, and runs as then.

`tests/golden/executables` holds the file, the text of its vertex classes, and of the program that
wrote it.  They are not made anew: files of this format are read for as long as there are such.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from helpers.depth import thinned
from helpers.running import python

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "executables"

RUN = """
import hashlib
import sys
import numpy as np
import poplite as pl
import model

engine = pl.Engine(pl.Executable.load("format_7.poplite"), interpret="interpret" in sys.argv)
engine.write("x", np.arange(320).reshape(8, 40) / 7)
engine.run("main")
engine.write("at", 3)
engine.run("pick")
engine.run("switch")
for name in ("n", "h", "y", "total"):
    print(name, hashlib.sha256(engine.read(name).tobytes()).hexdigest()[:16])
print("cycles", engine.report().cycles)
"""

THEN = """\
n a16b6e3eff2b38fa
h e95e43b577acd46e
y 6c9d1377194a4a8b
total b2d420b89498fe48
cycles 13961
"""
"""Values, by their digests, and cycles."""


@pytest.mark.parametrize("form", thinned(["compiled", "interpret"], keep=1))
def test_it_runs_as_it_did(tmp_path: Path, form: str) -> None:
    shutil.copy(GOLDEN / "format_7.poplite", tmp_path)
    shutil.copy(GOLDEN / "format_7_vertices.txt", tmp_path / "model.py")
    (tmp_path / "run.py").write_text(RUN)
    assert python(tmp_path, "run.py", form).stdout == THEN


def test_it_is_still_the_file_of_then() -> None:
    file = GOLDEN / "format_7.poplite"
    digest = "f4b3d13526b593fecffd9dd79cb113bce9555a98d29c93e3539ca662eb30ec11"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == 7
