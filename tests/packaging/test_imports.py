"""Who may import whom, and what `import poplite` loads."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

from helpers.running import python

ROOT = Path(__file__).resolve().parents[2]

LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "arrays.intervals compile.options errors files graph.storage.host_values "
        "machine.facts machine.floating_point machine.library_facts machine.links "
        "machine.target source text types",
        "jit",
        "arrays.digits arrays.intervals arrays.progressions jit.kernels jit.native view",
        "arrays graph.compute_sets.edges graph.compute_sets.vertex_tiles graph.mapping",
        "machine vertex",
        "vertex.compute",
        "graph graph.storage",
        "program",
        "report",
        "compile cost executable vertices.estimators",
        "simulator vertex.compute.identity_part",
        "vertices",
        "ops",
        "viz",
        "testing",
        "tools",
    )
)
"""From the left to the right: a package imports its own layer and those before it."""

NUMBA_MODULES = frozenset(
    {
        "poplite.jit.numba_context",
        "poplite.jit.object_codegen",
        "poplite.jit.inlined",
        "poplite.jit.llvm_modules",
        "poplite.simulator.codegen.accesses",
        "poplite.simulator.codegen.codecs",
        "poplite.simulator.codegen.mover",
        "poplite.simulator.counting.driver",
        "poplite.simulator.codegen.driver",
        "poplite.simulator.codegen.interpreter",
        "poplite.simulator.codegen.field_types",
        "poplite.simulator.codegen.functions",
        "poplite.simulator.codegen.launcher",
        "poplite.simulator.pricing.native_slots",
        "poplite.simulator.pricing.module",
        "poplite.simulator.pricing.measured_slots",
        "poplite.simulator.codegen.rounding",
        "poplite.simulator.counting.slot_sums",
        "poplite.simulator.codegen.traps",
        "poplite.simulator.counting.vertex_copies",
    }
)
"""Modules that may import numba or llvmlite at top level; others load them to compile."""

OPTIONAL = (
    *("numba", "llvmlite", "matplotlib", "pygraphviz", "graphviz", "rich", "sklearn", "PIL"),
    "hypothesis",
)


def modules() -> dict[str, Path]:
    """Every module of the package by its import name."""
    named = {}
    for folder, prefix in (
        ("poplite", "poplite"),
        ("simulator", "poplite.simulator"),
        ("tools", "poplite.tools"),
        ("vertices", "poplite.vertices"),
    ):
        for path in (ROOT / folder).rglob("*.py"):
            if path == path.resolve():
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                named[".".join((prefix, *parts)).removesuffix(".__init__")] = path
    return named


MODULES = modules()


def layer(module: str) -> int | None:
    """Position of a module's layer, that of the longest name listed; None for the package."""
    parts = module.split(".")
    if len(parts) == 1:
        return None
    for length in range(len(parts), 1, -1):
        name = ".".join(parts[1:length])
        for position, names in enumerate(LAYERS):
            if name in names:
                return position
    raise AssertionError(f"{module} has no layer: add it to LAYERS where it belongs")


def imported(path: Path, *, top_level: bool) -> list[tuple[int, str]]:
    """Return (line, module) of the import statements of a file.

    Args:
        path: a source file.
        top_level: only those that run when the file is imported.
    """
    found = []
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from poplite import view` names a module, `from poplite.view import x` a member.
            inside = node.module or ""
            whole = [f"{inside}.{alias.name}" for alias in node.names]
            found += [(node.lineno, name if name in MODULES else inside) for name in whole]
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        type_only = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        if not (top_level and (deferred or type_only)):
            waiting += ast.iter_child_nodes(node)
    return sorted(found)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_only_what_stands_to_its_left(module: str) -> None:
    own = layer(module)
    wrong = []
    for line, name in imported(MODULES[module], top_level=True):
        other = layer(name) if name.startswith("poplite.") else None
        if own is not None and other is not None and other > own:
            wrong.append(f"line {line} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_below_imports_the_whole_package(module: str) -> None:
    lines = [n for n, name in imported(MODULES[module], top_level=True) if name == "poplite"]
    assert lines == [] or module.startswith("poplite.tools")


def test_only_listed_modules_import_numba_at_top_level() -> None:
    users = {
        module
        for module, path in MODULES.items()
        for _, name in imported(path, top_level=True)
        if name.split(".")[0] in ("numba", "llvmlite")
    }
    assert users == NUMBA_MODULES


def test_other_modules_import_the_listed_ones_inside_functions() -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, path in MODULES.items()
        if module not in NUMBA_MODULES
        for line, name in imported(path, top_level=True)
        if name in NUMBA_MODULES
    ]
    assert wrong == []


def below_viz() -> list[str]:
    """Modules that stand before the pictures."""
    return [m for m in sorted(MODULES) if not re.match(r"poplite\.(viz|testing|tools)\b", m)]


@pytest.mark.parametrize("module", below_viz())
def test_nothing_below_viz_imports_it(module: str) -> None:
    names = [name for _, name in imported(MODULES[module], top_level=False)]
    assert not any(name.startswith("poplite.viz") for name in names)


def test_only_display_names_a_module_of_viz() -> None:
    naming = [
        module
        for module in below_viz()
        for node in ast.walk(ast.parse(MODULES[module].read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"(poplite)?\.viz\b[\w.]*$", node.value)
    ]
    assert naming == ["poplite.display"]


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


def test_type_checkers_see_the_names_where_they_are_made() -> None:
    tree = ast.parse(MODULES["poplite"].read_text())
    stated = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module or "").startswith("poplite.")
    }
    poplite = importlib.import_module("poplite")
    made = {name: f"poplite.{home}" for name, home in poplite._HOME.items()}
    errors = {name: "poplite.errors" for name in stated if stated[name] == "poplite.errors"}
    assert stated == made | errors
    assert sorted(stated) == sorted(poplite.__all__)
    assert set(poplite.__all__) <= set(dir(poplite))


def test_an_unknown_name_is_refused_as_python_does() -> None:
    poplite = importlib.import_module("poplite")
    with pytest.raises(AttributeError, match="module 'poplite' has no attribute 'Grpah'"):
        poplite.Grpah  # noqa: B018  (the lookup is the test)


def test_version_is_that_of_the_distribution() -> None:
    poplite = importlib.import_module("poplite")
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert poplite.__version__ == config["project"]["version"]
