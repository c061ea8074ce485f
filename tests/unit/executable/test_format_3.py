"""A file of format 3 that was saved before poplite had its rooms: it is loaded, and runs as then.

`tests/golden/executables` holds the file and the text of its vertex classes.  Both are never made
anew: when the format rises, files of this one must still be read.
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

engine = pl.Engine(pl.Executable.load("format_3.poplite"), interpret="interpret" in sys.argv)
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
n 26f6ef5fd9851179
h 83a1dc4100117529
y 0d2bbb2c8f72c6ca
total 73315abaf0879eb7
cycles 11606
"""
"""Values, by their digests, and cycles."""


@pytest.mark.parametrize("form", thinned(["compiled", "interpret"], keep=1))
def test_it_runs_as_it_did(tmp_path: Path, form: str) -> None:
    shutil.copy(GOLDEN / "format_3.poplite", tmp_path)
    shutil.copy(GOLDEN / "format_3_vertices.txt", tmp_path / "model.py")
    (tmp_path / "run.py").write_text(RUN)
    assert python(tmp_path, "run.py", form).stdout == THEN


def test_it_is_still_the_file_of_then() -> None:
    file = GOLDEN / "format_3.poplite"
    digest = "0893c6286b8c1381d4e45985b900949dd019e5288d64ffbea951d841311aa4ad"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == 3
