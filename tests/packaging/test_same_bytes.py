"""The build backend writes the same archive whatever times, owners and permissions files have.

`.ci/run` builds the package twice, and compares.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from helpers.running import script
from helpers.source_tree import ROOT


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    pytest.importorskip("setuptools", reason="Python 3.12 and newer have none by themselves")
    return script(ROOT / "distribution" / "same_bytes.py")


FILES = {"p/__init__.py": b"", "p/run": b"#!/bin/sh\n", "p/data.txt": b"1\n"}
FIRST = (0o644, 0o755, 1_700_000_000, "ann")
SECOND = (0o600, 0o700, 1_000_000_000, "bob")
Made = tuple[int, int, int, str]


def tarball(path: Path, made: Made, names: list[str]) -> None:
    plain, executable, when, owner = made
    with tarfile.open(path, "w:gz") as archive:
        for name in ["p", *names]:
            member = tarfile.TarInfo(name)
            member.mtime, member.uname = when, owner
            member.mode = executable if name in ("p", "p/run") else plain
            if name == "p":
                member.type = tarfile.DIRTYPE
            member.size = len(FILES.get(name, b""))
            archive.addfile(member, io.BytesIO(FILES.get(name, b"")))


def wheel(path: Path, made: Made) -> None:
    plain, executable, _, _ = made
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in FILES.items():
            member = zipfile.ZipInfo(
                name, (2001, 2, 3, 4, 5, 6) if made is FIRST else (1999, 1, 1, 1, 1, 1)
            )
            member.external_attr = (executable if name == "p/run" else plain) << 16
            archive.writestr(member, data)


def test_tar_archives_are_equal(backend: ModuleType, tmp_path: Path) -> None:
    one, two = tmp_path / "1.tar.gz", tmp_path / "2.tar.gz"
    tarball(one, FIRST, [*FILES])
    tarball(two, SECOND, [*FILES][::-1])
    assert one.read_bytes() != two.read_bytes()
    for path in (one, two):
        backend.rewrite_tar(path, 10**9)
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as archive:
        members = {each.name: each for each in archive.getmembers()}
        assert [*members] == ["p", "p/__init__.py", "p/data.txt", "p/run"]
        assert {name: oct(each.mode) for name, each in members.items()} == {
            "p": "0o755",
            "p/__init__.py": "0o644",
            "p/data.txt": "0o644",
            "p/run": "0o755",
        }
        assert {each.mtime for each in members.values()} == {10**9}
        held = archive.extractfile("p/run")
        assert held is not None
        assert held.read() == FILES["p/run"]


def test_wheels_are_equal(backend: ModuleType, tmp_path: Path) -> None:
    one, two = tmp_path / "1.whl", tmp_path / "2.whl"
    wheel(one, FIRST)
    wheel(two, SECOND)
    assert one.read_bytes() != two.read_bytes()
    for path in (one, two):
        backend.rewrite_zip(path, 10**9)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
        assert archive.getinfo("p/run").external_attr >> 16 == 0o100755
        assert archive.getinfo("p/data.txt").external_attr >> 16 == 0o100644


def test_the_time_is_the_given_one(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert backend._epoch() == backend.EPOCH
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert backend._epoch() == 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert backend._epoch() == backend.EARLIEST
