"""Tests that look at values only, of vertices that other tests compile: a plugin of pytest.

By default, see `helpers.depth`, their engines interpret everything.  Engines that they do not make
themselves are told so by the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.depth import interpreted_everywhere

ROOT = Path(__file__).resolve().parents[2]
NAMED = ROOT / "tests" / "unit" / "named"
OPERATIONS = (ROOT / "poplite" / "ops", ROOT / "poplite" / "compat")


_ENVIRONMENT = pytest.StashKey[pytest.MonkeyPatch]()


def pytest_runtest_call(item: pytest.Item) -> None:
    if _is_of_values(item):
        environment = item.stash[_ENVIRONMENT] = pytest.MonkeyPatch()
        for name, value in interpreted_everywhere().items():
            environment.setenv(name, value)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    finally:  # behind the test's own `monkeypatch`, which restores what it found
        if (environment := item.stash.get(_ENVIRONMENT, None)) is not None:
            environment.undo()


def _is_of_values(item: pytest.Item) -> bool:
    """Return whether it is an example of an operation, or a test of named axes."""
    if isinstance(item, pytest.DoctestItem):
        return any(item.path.is_relative_to(folder) for folder in OPERATIONS)
    return item.path.is_relative_to(NAMED) and not item.get_closest_marker("priced")
