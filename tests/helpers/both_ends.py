"""Workers read the same modules, and share the byte code that they make: a plugin of pytest.

    gw0     compiles every other file of poplite, then reads test modules from the first on
    gw1     compiles the others, then reads test modules from the last on

What one has read, the other finds as byte code.  Tests run in one order in all workers.
"""

from __future__ import annotations

import compileall
import os
from collections.abc import Generator
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def number_of_worker() -> int | None:
    """Return which worker of pytest-xdist this is, from 0; None where it is none."""
    name = os.environ.get("PYTEST_XDIST_WORKER")
    return None if name is None else int(name.removeprefix("gw"))


def starts_at_the_end(config: pytest.Config) -> bool:
    """Return whether this worker reads from the last module on: every other one, of folders."""
    number = number_of_worker()
    return number is not None and number % 2 == 1 and all(map(os.path.isdir, config.args))


def source_files() -> list[str]:
    """Return the files of poplite by the paths which they are imported from."""
    walked = os.walk(ROOT / "poplite", followlinks=True)
    return sorted(f"{folder}/{name}" for folder, _, names in walked for name in names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    number = number_of_worker()
    if number is not None:
        workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in source_files()[number::workers]:
            compileall.compile_file(path, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    has_modules = isinstance(collector, pytest.Session | pytest.Directory)
    if has_modules and report.passed and starts_at_the_end(collector.config):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if starts_at_the_end(config):
        modules = [list(each) for _, each in groupby(items, key=lambda item: item.path)]
        items[:] = [item for module in reversed(modules) for item in module]
