"""The build backend: setuptools, with archives of the same bytes in each build.

setuptools keeps times, permissions and owners of files in its archives. They are set to fixed
values here; the variable SOURCE_DATE_EPOCH gives another time, in seconds since 1970.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable as build_editable,
    get_requires_for_build_editable as get_requires_for_build_editable,
    get_requires_for_build_sdist as get_requires_for_build_sdist,
    get_requires_for_build_wheel as get_requires_for_build_wheel,
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel,
)

Settings = dict[str, str | list[str] | None] | None

EPOCH = 1_577_836_800
"""The time of files by default, 2020-01-01."""

EARLIEST = 315_532_800
"""1980-01-01: zip archives know no time before it."""


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build the source distribution, and return the name of its file."""
    name: str = build_meta.build_sdist(sdist_directory, config_settings)
    rewrite_tar(Path(sdist_directory, name), _epoch())
    return name


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel, and return the name of its file."""
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    rewrite_zip(Path(wheel_directory, name), _epoch())
    return name


def _epoch() -> int:
    return max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH)))


def _permissions(mode: int) -> int:
    return 0o755 if mode & 0o100 else 0o644


def rewrite_tar(path: Path, epoch: int) -> None:
    """Give all members of a compressed tar archive one time and owner, in order of their names."""
    content = io.BytesIO()
    with (
        tarfile.open(path) as old,
        tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = _permissions(member.mode)
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(content.getvalue(), mtime=epoch))


def rewrite_zip(path: Path, epoch: int) -> None:
    """Give all members of a zip archive one time and permissions that no umask changed."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            data = old.read(member)
            member.date_time = time.gmtime(epoch)[:6]
            member.external_attr = (0o100000 | _permissions(member.external_attr >> 16)) << 16
            new.writestr(member, data)
    path.write_bytes(content.getvalue())
