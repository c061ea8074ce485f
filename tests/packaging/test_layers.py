"""The house: who may import whom, how large rooms and files are, and that names say something.

Every import counts: at the top of a module, inside functions, and those for type checkers only.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import poplite
from helpers.source_tree import ROOT, Import, imports_of, modules, statements_in, tree_of
from poplite.tools.code_lines import code_lines

LAYERS = (
    "public frozen source errors text walks poplar files display types | jit | arrays | machine"
    " | view | vertex | codec expr | cpp | graph | vertices | program | report | cost | ops"
    " | executable | compile | simulator | named | compat | ipu mpi | viz | testing | tools"
    " | __main__"
)
"""A module imports only from its own layer, and from what stands before it."""

ROOMS = {
    "graph": "variable_mapping tile_mapping | host_values space | tensor | compute_sets host"
    " variables | connect | saving poplar_only | graph | partitioners",
    "simulator": "running | codegen | pricing | compiled_parts | run"
    " | strict | compiled_program | accounts reporting"
    " | states | engine_arguments | poplar_only | engine | decided"
    " | sweeps",
    "viz": "colours | draw | marks | paint_svg paint_text | paint_html painters | names"
    " | one_tile | memory"
    " steps tile_map program_nodes | tensors program exchange lines compare | summary"
    " | dataflow | page | notebook pictures",
}
"""The same within these packages."""

EXCEPTIONS = {
    ("graph.tensor.tensor", "graph.graph"): "types: `tensor.graph` is a Graph for editors",
    ("graph.compute_sets.compute_set", "graph.graph"): "types: `compute_set.graph` likewise",
    ("graph.compute_sets.vertex_block", "graph.graph"): "types: `block.graph` likewise",
    ("graph.host", "graph.graph"): "types: `stream.graph` likewise",
    ("graph.poplar_only", "graph.graph"): "types: its functions are methods of Graph",
    ("graph.saving", "graph.graph"): "types: its functions are methods of Graph",
    ("graph.saving", "program.base"): "types: what is saved with a graph",
    ("simulator.poplar_only", "simulator.engine"): "types: its functions are methods of Engine",
    ("graph.graph", "program.base"): "inside the two methods that make functions",
    ("graph.graph", "program.recording"): "inside the method that makes steps",
    **dict.fromkeys(
        (
            ("cpp.native_vertices", "executable.encoding"),
            ("cpp.native_vertices", "simulator.codegen.accessors"),
            ("cpp.native_vertices", "simulator.codegen.compute_code"),
            ("cpp.native_vertices", "simulator.codegen.numbered_accessors"),
        ),
        "inside the functions through which vertices run, which the simulator has",
    ),
}
"""Imports against the order, each with its reason."""

FOR_TYPES = "poplar.spellings"
"""A file that only type checkers read; it names the classes whose members it has."""

LARGEST_ROOM = 25
MOST_ENTRIES = 36
LONGEST_CODE = 600
"""Code lines of a file, as `poplite.tools.code_lines` counts them."""
SHORT_BODY = 22
SHORT_SHARE = 0.95
"""The share of functions whose bodies have at most so many code lines."""

MODULES = {
    name.removeprefix("poplite."): path for name, path in modules().items() if name != "poplite"
}
"""Files by the names of their modules below `poplite`."""


@cache
def imports_by_module() -> dict[str, list[Import]]:
    """Return what each module imports of poplite, everywhere."""
    return {
        module: [
            each._replace(module=each.module.removeprefix("poplite."))
            for each in imports_of(f"poplite.{module}")
            if each.module.startswith("poplite.") and module != FOR_TYPES
        ]
        for module in MODULES
    }


def position(name: str, order: str) -> int:
    """Return which group of an order a name stands in."""
    for number, group in enumerate(order.split("|")):
        if name in group.split():
            return number
    raise AssertionError(f"{name} has no place: add it where it belongs in {order!r}")


def is_upward(module: str, other: str) -> bool:
    """Return whether a module that imports another breaks the order of layers or rooms."""
    own, others = module.split("."), other.split(".")
    if own[0] != others[0]:
        return position(others[0], LAYERS) > position(own[0], LAYERS)
    if own[0] not in ROOMS or 1 in (len(own), len(others)):
        return False
    order = ROOMS[own[0]]
    return position(others[1], order) > position(own[1], order)


def test_modules_import_only_what_stands_before_them() -> None:
    wrong = [
        f"{MODULES[module]}:{each.line} imports poplite.{each.module}"
        for module, found in imports_by_module().items()
        for each in found
        if is_upward(module, each.module) and (module, each.module) not in EXCEPTIONS
    ]
    assert wrong == []


@pytest.mark.parametrize(("module", "other"), sorted(EXCEPTIONS))
def test_exceptions_are_still_needed(module: str, other: str) -> None:
    assert is_upward(module, other)
    found = [each for each in imports_by_module()[module] if each.module == other]
    assert found
    if EXCEPTIONS[module, other].startswith("types"):
        assert all(each.is_for_types for each in found)
    else:
        assert not any(each.is_at_start for each in found)


LOADED_BY_NAME = {
    "display": "pictures of notebooks",
    "expr.operand": "operations, which methods of operands stand for",
    "graph.saving": "what writes and reads graphs, with their programs",
    "executable.executable_file": "the vertex library, where files name classes of it",
    "cpp.native_vertices": "what compiles one vertex, in any process",
    "ipu.building": "the folder of the host program",
    "ipu.codelet_file": "the folder of texts in C++",
    "jit.build": "what compiles a kernel, in any process",
    "simulator.codegen.driver": "what compiles a driver, in any process",
    "simulator.compiled_parts": "where the engine's own kernels are",
    "simulator.pricing.counting_driver": "what compiles a driver that counts, in any process",
    "simulator.pricing.index_ranges": "what compiles a walk without data",
    "simulator.pricing.native_slots": "what compiles the slots of a class, in any process",
    "simulator.run.binding": "none: it knows classes of the library by their module",
    "testing.forms": "the folder of headers in C++",
    "testing.plugin": "the module of errors, where it is loaded",
    "tools.command": "itself, in the processes of ranks",
    "viz.draw.svg": "the folder of style sheets",
    "tools.viz.commands": "pictures of reports, each by the module and name of its function",
    "tools.viz.flags": "none: the package of functions that run subcommands",
}
"""Modules that load others by a name that is no import statement, and which."""


def test_what_is_loaded_by_name_is_known() -> None:
    naming = set()
    for module, path in MODULES.items():
        if not re.search(r"""["']poplite\.""", path.read_text()):
            continue  # most have none, and need not be parsed
        for node in ast.walk(tree_of(f"poplite.{module}")):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"poplite\.([a-z_]+\.?)+(:\w+)?", text):
                naming.add(module)
    assert naming == set(LOADED_BY_NAME)


PUBLIC_NUMBA = {"TypingError", "njit", "prange", "types", "vectorize"}
"""What any module may take of Numba; `poplite.jit` alone extends its internals."""


def parts_of_numba(text: str) -> set[str]:
    """Return what a module takes of Numba, in statements and by names in texts."""
    found = set(re.findall(r"\bnumba\.(\w+)", text))
    if "from numba import" in text:  # most have none, and need not be parsed
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "numba":
                found |= {alias.name for alias in node.names}
    return found


def test_parts_of_numba_are_found() -> None:
    assert parts_of_numba("from numba import njit, core\nfrom numba.np import x") == {
        *("njit", "core", "np")
    }
    assert parts_of_numba("if x:\n    from numba import (\n        np,\n        core,\n    )") == {
        *("np", "core")
    }
    assert parts_of_numba('import numba.extending; sys.modules["numba.core"]') == {
        *("extending", "core")
    }


def test_only_one_package_takes_what_is_private_to_numba() -> None:
    private = {
        module
        for module, path in MODULES.items()
        if parts_of_numba(path.read_text()) - PUBLIC_NUMBA
    }
    assert {module for module in private if not module.startswith("jit.")} == set()
    assert len(private) <= 12


# -- circles ---------------------------------------------------------------------------------------


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return sets of modules that reach each other, the largest first (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> Iterator[str]:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in sorted(arrows[module]):
            if other not in index:
                yield other
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], index[other])
        if lowest[module] == index[module]:
            begin = stack.index(module)
            found.append(sorted(stack[begin:]))
            del stack[begin:]

    for module in arrows:
        pending = [] if module in index else [visit(module)]
        while pending:
            other = next(pending[-1], None)
            if other is None:
                pending.pop()
            else:
                pending.append(visit(other))
    return sorted((each for each in found if len(each) > 1), key=len, reverse=True)


def test_circles_are_found() -> None:
    arrows = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(arrows) == [["a", "b", "c"], ["d", "e"]]


def test_circles_are_small_at_run_time() -> None:
    arrows = {
        module: {each.module for each in found if not each.is_for_types}
        for module, found in imports_by_module().items()
    }
    assert [each for each in circles(arrows) if len(each) > 4] == []


def test_circles_are_small_with_types_too() -> None:
    arrows = {
        module: {each.module for each in found if (module, each.module) not in EXCEPTIONS}
        for module, found in imports_by_module().items()
    }
    assert [each for each in circles(arrows) if len(each) > 6] == []


def test_exceptions_join_only_graphs_and_programs() -> None:
    found = imports_by_module()
    arrows = {module: {each.module for each in found[module]} for module in MODULES}
    largest = circles(arrows)[0]
    assert len(largest) <= 43
    assert {module.split(".")[0] for module in largest} == {"graph", "program"}


def test_a_module_that_runs_as_a_script_defines_everything_before() -> None:
    running = [
        module
        for module, path in MODULES.items()
        if '\nif __name__ == "__main__"' in path.read_text()
    ]
    assert "testing.fuzz_integers" in running
    for module in running:
        last = tree_of(f"poplite.{module}").body[-1]
        assert isinstance(last, ast.If), module
        assert ast.unparse(last.test) == "__name__ == '__main__'", module


# -- sizes and names -------------------------------------------------------------------------------


def test_no_room_is_crowded() -> None:
    rooms: dict[Path, int] = {}
    for path in MODULES.values():
        if path.name not in ("__init__.py", "__main__.py"):
            rooms[path.parent] = rooms.get(path.parent, 0) + 1
    assert {str(room): count for room, count in rooms.items() if count > LARGEST_ROOM} == {}


def test_the_package_has_few_entries_none_named_like_a_function() -> None:
    besides = ("__pycache__", "__main__.py")  # which `python -m poplite` runs
    entries = [path for path in (ROOT / "poplite").iterdir() if path.name not in besides]
    assert len(entries) <= MOST_ENTRIES
    functions = {name for name in poplite.__all__ if inspect.isfunction(getattr(poplite, name))}
    assert functions & {path.stem for path in entries} == set()


class Measured(NamedTuple):
    """Sizes and names of a module.

    Attributes:
        length: its code lines.
        functions: how many it has, methods and inner ones included.
        long_functions: the code lines of bodies above the limit, by line and name.
        classes: its public classes.
    """

    length: int
    functions: int
    long_functions: dict[str, int]
    classes: set[str]


@cache
def measured() -> dict[str, Measured]:
    """Return the sizes and names of every module."""
    return {module: measure(path) for module, path in MODULES.items()}


def lines_of_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    """Return the lines of a body, without those of its docstring, which are not code."""
    match function.body:
        case [ast.Expr(ast.Constant(str())), *others]:
            first = others[0].lineno if others else (function.end_lineno or 0) + 1
        case [statement, *_]:
            first = statement.lineno
    return range(first, (function.end_lineno or 0) + 1)


def measure(path: Path) -> Measured:
    """Return the sizes and names of one module; where all lines are few, they need no count."""
    text = path.read_text()
    nodes: list[ast.AST] = [ast.parse(text)]
    for node in nodes:  # which grow
        nodes += statements_in(node)
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    bodies: dict[str, Collection[int]] = {
        f"{each.lineno} {each.name}": lines_of_body(each) for each in functions
    }
    length = text.count("\n")
    longest = max(map(len, bodies.values()), default=0)
    if length > LONGEST_CODE or longest > SHORT_BODY:
        code = code_lines(text)
        length = len(code)
        bodies = {name: code & set(body) for name, body in bodies.items()}
    return Measured(
        length,
        len(functions),
        {name: len(body) for name, body in bodies.items() if len(body) > SHORT_BODY},
        {
            each.name
            for each in nodes
            if isinstance(each, ast.ClassDef) and each.col_offset == 0 and each.name[0] != "_"
        },
    )


LONG_FILES = {"poplar.declarations": "a table: one line a declaration of Poplar's reference"}
"""Modules above the limit, each with its reason."""


def test_files_are_no_longer_than_a_chapter() -> None:
    long = {module for module, each in measured().items() if each.length > LONGEST_CODE}
    assert long == set(LONG_FILES)


def test_functions_are_short() -> None:
    long = [
        (count, f"{module}:{name}")
        for module, each in measured().items()
        for name, count in each.long_functions.items()
    ]
    share = 1 - len(long) / sum(each.functions for each in measured().values())
    assert share >= SHORT_SHARE, f"{share:.2%} are short; just above it: {sorted(long)[:20]}"


SHARED_CLASSES = {
    "Cast": "a vertex of the library; Poplar's popops::expr has one",
    "ComputeSet": "pl.ComputeSet; what a report says of one",
    "Copy": "a program, as in Poplar; a vertex of the library",
    "Device": "pl.Device; pl.ipu.Device; pl.mpi.Device",
    "Finding": "of a report; of the lint for codelets: public in both packages",
    "Layout": "pl.Layout of a vector field; ng.Layout of named axes",
    "LstmState": "ops.nn.LstmState; PopLibs' popnn has one in another form",
    "Operation": "PopLibs' popops has one; what a report says of an operation",
    "Program": "pl.Program; what a report says of one",
    "Variable": "pl.Variable; what a report says of one",
}
"""Names of public classes that several modules have, each with its reason."""


def test_names_of_classes_are_unique() -> None:
    homes: dict[str, list[str]] = {}
    for module, each in measured().items():
        for name in each.classes:
            homes.setdefault(name, []).append(module)
    shared = {name: where for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED_CLASSES} == {}
    assert set(SHARED_CLASSES) - set(shared) == set(), "no longer shared: take them off the list"


def test_what_is_for_type_checkers_is_never_loaded() -> None:
    users = [each for found in imports_by_module().values() for each in found]
    assert all(each.is_for_types for each in users if each.module == FOR_TYPES)
    assert {each.module for each in users} >= {FOR_TYPES}


EMPTY_WORDS = {
    *("again", "apart", "countable", "counted", "counter", "given", "mine", "plain", "sorts"),
    *("tallies", "tally", "tallying", "told", "wanted", "whole"),
}
"""Words that tell a stranger nothing about a file, a class or a function."""

KNOWN_NAMES = {"counted_loop", "runs_again"}
"""Named so by PopLibs, and in reports that are saved."""


def words_of_name(name: str) -> set[str]:
    """Return the words of a name, in snake_case or CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_names_say_something() -> None:
    empty = []
    for module, path in MODULES.items():
        names = [path.stem, *re.findall(r"^ *(?:class|def) ([^\W_]\w*)", path.read_text(), re.M)]
        empty += [
            f"{module}: {name}"
            for name in names
            if words_of_name(name) & EMPTY_WORDS and name not in KNOWN_NAMES
        ]
    assert empty == []
