"""What all tests share: their depth, a cache of their own, examples and vertices as modules."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from helpers import both_ends, depth, values
from helpers.browser import browser as browser, opened as opened  # fixtures
from helpers.running import script
from helpers.vertices import Key, all_classes
from poplite.jit import object_cache, side_by_side
from poplite.jit.build import Builds, processors
from poplite.simulator import compiled_parts
from poplite.tools.viz import progress
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from helpers.mirrored import Mirrors

ROOT = Path(__file__).resolve().parents[1]

if "POPLITE_CACHE_DIR" not in os.environ:
    # Tests compile what they run, and leave the user's cache alone; workers of xdist share it.
    os.environ["POPLITE_CACHE_DIR"] = tempfile.mkdtemp(prefix="poplite-tests-")
    atexit.register(shutil.rmtree, os.environ["POPLITE_CACHE_DIR"], ignore_errors=True)

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Where no byte code is kept, each process that tests start would parse all of poplite again.
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(os.environ["POPLITE_CACHE_DIR"], "byte-code")

if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    # The workers keep processors busy: helpers that compile get those which are left.
    _left = processors() // int(os.environ["PYTEST_XDIST_WORKER_COUNT"]) - 1
    side_by_side.MOST_HELPERS = max(0, min(_left, side_by_side.MOST_HELPERS))

progress.PATIENCE = 1000.0  # how long a command takes depends on how busy the computer is

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it for its workers

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so; tests that press Ctrl-C would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--depth",
        choices=depth.USUAL,
        default="quick",
        help="quick: each behaviour in a few minutes; full: all cases and drawn examples",
    )
    parser.addoption(
        "--examples",
        type=int,
        help="draw so many examples in each test of Hypothesis; --hypothesis-seed repeats a run",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "deep: runs with --depth=full only")
    config.addinivalue_line("markers", "priced: looks at cycles or memory, in a folder of values")
    config.addinivalue_line("markers", "browser: opens pages in Chromium, where it is installed")
    depth.choose(config.getoption("depth"), config.getoption("examples"))
    for plugin in (values, both_ends):  # hooks of this file are for tests/ alone
        config.pluginmanager.register(plugin)


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("depth") == "full":
        return "depth: full"
    return "depth: quick (all cases run with --depth=full)"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    # Tests hold no examples, which pytest would look for in each object of each file.
    return [each for each in (yield) if type(each) is pytest.Module]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("depth") == "full":
        return
    left_out = [item for item in items if item.get_closest_marker("deep")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("deep")]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    # A million objects that stay to the end: no collection of garbage looks at them, now or later.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # tests leave little: looking often takes a tenth longer
        gc.enable()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def engine_code() -> list[Path]:
    """Cache files of what every compiled engine needs besides its vertices."""
    with Builds() as builds:
        compiled_parts.add_own(builds, moves=True, counts=True)
        builds.finish()
    names = [job.name for job in compiled_parts.own_jobs(moves=True, counts=True)]
    files = [object_cache.cache_folder() / f"{name}.o" for name in names]
    return [file for file in files if file.exists()]


@pytest.fixture
def engine_cache(engine_code: list[Path], tmp_path: Path) -> Path:
    """The cache folder `tmp_path / "cache"`, where only vertices are still to be compiled."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for file in engine_code:
        shutil.copy(file, folder)
    return folder


def of_script(file: str) -> Callable[[], ModuleType]:
    """Return the fixture that is a script as a module."""

    @pytest.fixture(scope="session")
    def module() -> ModuleType:
        return script(ROOT / file)

    return module


pi = of_script("examples/pi.py")
first_tiles = of_script("examples/first_tiles.py")
heat = of_script("examples/heat.py")
sort = of_script("examples/sort.py")
bfs = of_script("examples/bfs.py")
matvec = of_script("examples/matvec.py")
streams = of_script("examples/streams.py")
photo = of_script("examples/photo.py")
digits = of_script("examples/digits.py")
convnet = of_script("examples/convnet.py")
multigrid = of_script("examples/multigrid.py")
attention = of_script("examples/attention.py")
rows = of_script("benchmarks/rows.py")
fidelity_rows = of_script("benchmarks/fidelity_rows.py")


@pytest.fixture(scope="session")
def classes(root: Path) -> dict[Key, type[Vertex]]:
    """All vertex classes of the repository by file and name."""
    return all_classes(root)


# -- host programs for real IPUs, beside engines ---------------------------------------------------


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
