"""What `import poplite` loads, who imports Numba, and where the public names are made."""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib

import pytest

from helpers.depth import deep
from helpers.running import python
from helpers.source_tree import MODULES, ROOT, imports_of
from poplite.poplar.spelling import names_here

WITH_NUMBA = frozenset(
    {
        "poplite.jit.numba_context",
        "poplite.jit.rules",
        "poplite.simulator.codegen.accesses",
        "poplite.simulator.codegen.driver",
        "poplite.simulator.codegen.functions",
        "poplite.simulator.codegen.lane_operations",
        "poplite.simulator.codegen.lowered",
        "poplite.simulator.pricing.counting_driver",
    }
)
"""Modules that may import numba at top level; others load them to lower a vertex class."""

WITH_LLVM = frozenset(
    {
        "poplite.jit.kernel_code",
        "poplite.jit.native_code",
        "poplite.simulator.codegen.accessors",
        "poplite.simulator.codegen.codecs",
        "poplite.simulator.codegen.interpreter",
        "poplite.simulator.codegen.lane_accessors",
        "poplite.simulator.codegen.launcher",
        "poplite.simulator.codegen.mathematics",
        "poplite.simulator.pricing.native_slots",
    }
)
"""Modules that may import llvmlite, and no numba; others load them to compile."""

OPTIONAL = (
    *("numba", "llvmlite", "matplotlib", "pygraphviz", "graphviz", "rich", "sklearn", "PIL"),
    *("hypothesis", "poplite.ipu"),
)


@deep
def test_nothing_below_imports_the_whole_package() -> None:
    below = [module for module in MODULES if not module.startswith("poplite.tools")]
    lines = [
        (module, each.line)
        for module in below
        for each in imports_of(module)
        if each.is_at_start and each.module == "poplite"
    ]
    assert lines == []


def at_start(module: str) -> set[str]:
    """What importing a module imports, in its own text."""
    found = {each.module for each in imports_of(module) if each.is_at_start}
    return found | {name.partition(".")[0] for name in found} - {"poplite"}


def test_only_listed_modules_import_numba_or_llvmlite_at_top_level() -> None:
    numba = {module for module in MODULES if at_start(module) & {"numba", *WITH_NUMBA}}
    llvm = {module for module in MODULES if at_start(module) & {"llvmlite", *WITH_LLVM}}
    assert numba == set(WITH_NUMBA)
    assert llvm - numba == set(WITH_LLVM)


def test_import_poplite_loads_nothing_heavy_or_optional() -> None:
    program = f"import sys, poplite; print([m for m in {OPTIONAL!r} if m in sys.modules])"
    assert python(ROOT, "-c", program).stdout.strip() == "[]"


def test_the_help_of_the_command_line_loads_nothing_heavy() -> None:
    program = (
        "import sys, contextlib; from poplite.tools.viz import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        f"print([m for m in {('numpy', 'poplite.graph', *OPTIONAL)!r} if m in sys.modules])"
    )
    said = python(ROOT, "-c", program).stdout
    assert "poplite-viz tiles heat.py:build" in said
    assert said.splitlines()[-1] == "[]"


def test_public_names_exist() -> None:
    poplite = importlib.import_module("poplite")
    assert [name for name in poplite.__all__ if not hasattr(poplite, name)] == []
    assert len(set(poplite.__all__)) == len(poplite.__all__)


def test_a_name_is_imported_when_it_is_used() -> None:
    program = (
        "import sys, poplite; early = 'numpy' in sys.modules; poplite.Graph; "
        "print(early, 'numpy' in sys.modules, 'Graph' in vars(poplite))"
    )
    assert python(ROOT, "-c", program).stdout.strip() == "False True True"


@pytest.mark.parametrize("name", ["poplite", "poplite.ops", "poplite.ops.nn", "poplite.vertices"])
def test_names_are_imported_from_where_type_checkers_see_them(name: str) -> None:
    package = importlib.import_module(name)
    stated = {
        alias.asname: node.module
        for node in ast.walk(ast.parse(MODULES[name].read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname and not alias.asname.startswith("_")
    }
    assert set(stated) - set(package.__all__) == set()
    for each, module in stated.items():
        made = inspect.unwrap(getattr(importlib.import_module(str(module)), each))
        assert inspect.unwrap(getattr(package, each)) is made


def test_type_checkers_see_the_names_of_poplar() -> None:
    poplite = importlib.import_module("poplite")
    tree = ast.parse(MODULES["poplite"].read_text())
    stated = {
        ast.unparse(each.targets[0]): ast.unparse(each.value)
        for node in tree.body
        if isinstance(node, ast.If)
        for each in node.body
        if isinstance(each, ast.Assign)
    }
    spellings = {name: ours for name, ours in names_here().items() if name not in poplite._HOME}
    errors = {name: cls.__name__ for name, cls in poplite.errors.BY_POPLAR_NAME.items()}
    assert stated == spellings | errors
    for name, ours in stated.items():
        assert inspect.unwrap(getattr(poplite, name)) is getattr(poplite, ours)


def test_the_package_graph_hands_out_what_it_lists() -> None:
    module = importlib.import_module("poplite.graph")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(module.__all__) <= set(dir(module))


def test_an_unknown_name_is_refused_as_python_does() -> None:
    poplite = importlib.import_module("poplite")
    with pytest.raises(AttributeError, match="module 'poplite' has no attribute 'Grpah'"):
        poplite.Grpah  # noqa: B018  (the lookup is the test)


def test_version_is_that_of_the_distribution() -> None:
    poplite = importlib.import_module("poplite")
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert poplite.__version__ == config["project"]["version"]
