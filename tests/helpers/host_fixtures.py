"""Fixtures of host programs for real IPUs, beside engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from helpers.mirrored import Mirrors


@pytest.fixture(scope="session")
def host_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where compiled host programs and codelets are kept, between runs if pytest does so."""
    cache = getattr(request.config, "cache", None)  # there is none with -p no:cacheprovider
    if cache is None:
        return tmp_path_factory.mktemp("poplite_host")
    return Path(cache.mkdir("poplite_host"))


@pytest.fixture
def mirrors(host_cache: Path, tmp_path: Path) -> Iterator[Mirrors]:
    """Return what makes engines with a host program beside each."""
    from helpers.mirrored import Mirrors  # few tests need it

    with ExitStack() as stack:
        yield Mirrors(host_cache, tmp_path, stack)
