"""What imports load and show: loading on first use, public names, folders of the package."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import poplite.errors  # noqa: F401 (so that at least one module is there)
from helpers.depth import deep
from helpers.pages import blocks
from helpers.running import python
from helpers.source_tree import MODULES, ROOT, imports_of
from poplite.poplar.spelling import names_here

# -- what is loaded --------------------------------------------------------------------------------


WITH_NUMBA = frozenset(
    {
        "poplite.jit.numba_context",
        "poplite.jit.rules",
        "poplite.simulator.codegen.accesses",
        "poplite.simulator.codegen.driver",
        "poplite.simulator.codegen.functions",
        "poplite.simulator.codegen.logged_text",
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
        "poplite.simulator.codegen.numbered_accessors",
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


def test_the_loader_of_pytest_may_load_the_package(tmp_path: Path) -> None:
    # It loads an installed package that has a plugin, and rewrites its assert statements.
    rewritten = 'import pytest\n\npytest.register_assert_rewrite("poplite")\n'
    (tmp_path / "conftest.py").write_text(rewritten)
    (tmp_path / "test_it.py").write_text(
        "import poplite as pl\n\n"
        "def test_it():\n"
        "    assert type(pl.__loader__).__name__ == 'AssertionRewritingHook'\n"
        "    assert pl.Graph(pl.Target(tiles=2)).target.tiles == 2\n"
    )
    done = python(tmp_path, "-m", "pytest", "-q", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "1 passed" in done.stdout


def test_a_graph_with_a_variable_loads_nothing_of_vertices() -> None:
    rooms = ("poplite.vertex", "poplite.graph.connect.", "poplite.graph.compute_sets.")
    program = (
        "import sys; import poplite as pl; graph = pl.Graph(pl.Target(tiles=4))\n"
        "x = graph.add_variable(pl.FLOAT, (4,), 'x', mapping='linear'); graph.tile_mapping(x)\n"
        f"print([m for m in sys.modules if m.startswith({rooms!r})])"
    )
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


# -- public names ----------------------------------------------------------------------------------


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

LIST = Path(__file__).with_name("public_names.txt")

HELD = {
    module: names.split()
    for module, names in re.findall(r"(?m)^(poplite\S*)\n((?:    .*\n)*)", LIST.read_text())
}


def _loads_late(name: str) -> bool:
    return hasattr(importlib.import_module(name), "__getattr__")


@pytest.mark.parametrize("name", HELD)
def test_a_module_shows_the_names_that_are_held_here(name: str) -> None:
    """A name that is added or taken away is added or taken away in public_names.txt as well."""
    module = importlib.import_module(name)
    assert dir(module) == sorted(HELD[name])
    assert sorted(module.__all__) == sorted(HELD[name])
    assert [each for each in HELD[name] if not hasattr(module, each)] == []


@pytest.mark.parametrize("name", [each for each in HELD if _loads_late(each)])
def test_a_name_is_the_same_whichever_module_is_loaded_first(name: str) -> None:
    """Python makes a module an attribute of its package, in place of a function of that name."""
    package = importlib.import_module(name)
    modules = {each.name for each in pkgutil.iter_modules(getattr(package, "__path__", []))}
    for each in modules & set(HELD[name]):
        assert getattr(package, each) is importlib.import_module(f"{name}.{each}")


WITH_EXAMPLES = (
    *("poplite", "poplite.named", "poplite.ops", "poplite.ops.linalg", "poplite.ops.nn"),
    *("poplite.ops.random", "poplite.testing", "poplite.viz"),
)


def _needs_example(value: object) -> bool:
    """Return whether a public object is a class or a function whose use an example shows.

    Enumerations are lists of values, a page has a program for each error, and an element type is an
    argument in the examples of others.
    """
    types = enum.Enum, BaseException, importlib.import_module("poplite").ElementType
    return inspect.isroutine(value) or (inspect.isclass(value) and not issubclass(value, types))


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_a_public_class_or_function_has_an_example(name: str) -> None:
    module = importlib.import_module(name)
    values = {each: getattr(module, each) for each in module.__all__}
    without = {
        each
        for each, value in values.items()
        if _needs_example(value) and ">>> " not in str(value.__doc__)
    }
    assert without == set()


@pytest.mark.parametrize("name", [each for each in HELD if ".compat." not in each])
def test_a_public_function_describes_each_of_its_arguments(name: str) -> None:
    module = importlib.import_module(name)
    functions = [each for each in module.__all__ if inspect.isfunction(getattr(module, each))]
    without = {}
    for each in functions:
        args = (inspect.getdoc(getattr(module, each)) or "").partition("Args:\n")[2]
        described = re.findall(r"^    \**(\w+)(?=[^:\n]*:)", args, re.MULTILINE)
        missing = inspect.signature(getattr(module, each)).parameters.keys() - {*described}
        if missing:
            without[each] = missing
    assert without == {}


@pytest.mark.parametrize("name", [each for each in HELD if each.startswith("poplite.compat.")])
def test_a_name_of_poplibs_has_a_line(name: str) -> None:
    """The site adds the link to the rules."""
    module = importlib.import_module(name)
    values = {each: getattr(module, each) for each in module.__all__}
    first = {
        each: (inspect.getdoc(value) or "").partition("\n\n")[0]
        for each, value in values.items()
        if callable(value)
    }
    assert {each for each, text in first.items() if not text.endswith((".", "::"))} == set()


def _used(text: str) -> set[tuple[str, str]]:
    """Return the modules of poplite that a text imports, each with a name that it takes from it."""
    tree, modules, used = ast.parse(text), {"pl": "poplite"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                modules[each.asname or each.name.partition(".")[0]] = each.name
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("poplite"):
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                used.add((str(node.module), each.name))
                if inner in HELD:
                    modules[each.asname or each.name] = inner
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if module.startswith("poplite"):
                used.add((module, node.attr))
    return used


def _texts(path: Path) -> list[str]:
    return (
        [path.read_text()] if path.suffix == ".py" else [each for _, each in blocks(path, "python")]
    )


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_and_examples_use_what_is_public(path: Path) -> None:
    held = {**HELD, "poplite": [*HELD["poplite"], *names_here()]}
    used = {each for text in _texts(path) for each in _used(text)}
    assert {(module, name) for module, name in used if name not in held.get(module, [])} == set()


FOR_DEVELOPERS = ROOT / "docs" / "development.md"


@pytest.mark.parametrize("path", sorted({*PAGES} - {FOR_DEVELOPERS}), ids=lambda path: path.name)
def test_the_prose_of_pages_names_public_modules_only(path: Path) -> None:
    """A page for developers may name others, and a command may run any module."""
    text = re.sub(r"python -m \S+|\]\([^)]*\)", "", path.read_text())
    dotted = re.findall(r"(?<![\w/.])poplite(?:\.\w+)+", text)
    named = {tuple(each.rpartition(".")[::2]) for each in dotted}
    held = {**HELD, "poplite": [*HELD["poplite"], *names_here()]}
    unknown = {(module, name) for module, name in named if name not in held.get(module, [])}
    of_classes = {each for each in unknown if _is_member(*each)}
    assert {".".join(each) for each in unknown - of_classes} - {*HELD} == set()
    assert re.findall(r"(?:poplite|simulator|tools|vertices)/\w[\w/]*\.py", text) == []


def _is_member(owner: str, name: str) -> bool:
    """Return whether a dotted name is a member of a public class or function."""
    module, _, outer = owner.rpartition(".")
    return outer in HELD.get(module, []) and hasattr(
        getattr(importlib.import_module(module), outer), name
    )


# -- folders, links, packages ----------------------------------------------------------------------


LINKED = ("simulator", "tools", "vertices")


def setuptools_config() -> dict[str, Any]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    table = config["tool"]["setuptools"]
    assert isinstance(table, dict)
    return table


def packages_on_disk() -> set[str]:
    folders = {path.parent.relative_to(ROOT).parts for path in MODULES.values()}
    return {".".join(parts if parts[0] == "poplite" else ("poplite", *parts)) for parts in folders}


def test_every_package_is_listed() -> None:
    assert packages_on_disk() == set(setuptools_config()["packages"])


def test_every_package_has_an_init_file() -> None:
    missing = [p.parent for p in MODULES.values() if not (p.parent / "__init__.py").is_file()]
    assert missing == []


def test_package_dir_maps_the_linked_folders() -> None:
    expected = {f"poplite.{name}": name for name in LINKED} | {"poplite": "poplite"}
    assert setuptools_config()["package-dir"] == expected


@pytest.mark.parametrize("name", LINKED)
def test_link_or_its_text_is_committed(name: str) -> None:
    link = ROOT / "poplite" / name
    # A checkout without symbolic links holds a text file with the link's target.
    target = str(link.readlink()) if link.is_symlink() else link.read_text().strip()
    assert target == f"../{name}"
    assert (ROOT / name / "__init__.py").is_file()


@pytest.mark.parametrize("name", LINKED)
def test_a_folder_of_the_checkout_is_not_a_package_of_its_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    with pytest.raises(ImportError, match=rf"^{name} is a part of poplite: import poplite\.{name}"):
        importlib.import_module(name)
    assert name not in sys.modules


def test_package_says_that_it_is_typed() -> None:
    assert (ROOT / "poplite" / "py.typed").read_bytes() == b""


def test_no_module_was_imported_under_two_names() -> None:
    """By now pytest has imported every module for its doctests."""
    names: dict[Path, set[str]] = {path: set() for path in MODULES.values()}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and (path := Path(file).resolve()) in names:
            names[path].add(name)
    assert {str(path): sorted(found) for path, found in names.items() if len(found) > 1} == {}
    assert names[ROOT / "poplite" / "errors.py"] == {"poplite.errors"}
