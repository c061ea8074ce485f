"""Pages of names agree with the sources, both ways: Poplar's, errors, operations, reports."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import error_index, names_page, vertex_library
from helpers.poplar_signatures import ROWS
from poplite import compat, errors, ops, vertices
from poplite.compat import poplin, popnn, popops, poprand, poputil
from poplite.compat.popops.expr import BinaryOpType, TernaryOpType, UnaryOpType
from poplite.expr.operations import OPERATIONS
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance
from poplite.poplar.absent import MEMBERS, NAMES, absent_members, absent_names
from poplite.poplar.spelling import names_here
from poplite.report import (
    compilation,
    diff,
    execution,
    findings,
    memory,
    per_tile,
    program_tree,
    report,
    trace,
)
from poplite.report.execution import Cause

# -- poplar-names.md -------------------------------------------------------------------------------


ROOT = Path(__file__).resolve().parents[2]
POPLAR_NAMES = (ROOT / "docs/poplar-names.md").read_text()
ABSENT = POPLAR_NAMES[POPLAR_NAMES.index("## What Poplar has and poplite does not") :]
CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        pl.Tensor, pl.Graph, FieldRef, pl.Program, pl.Engine, pl.Target, ComputeSet,
        VertexInstance, pl.QuarterMetadata, pl.TileMapping, pl.Variable, pl.Sequence, pl.Repeat,
        pl.RepeatWhileTrue, pl.RepeatWhileFalse, pl.Loop, pl.If, pl.Switch, pl.Call, pl.Function,
        pl.Execute, pl.Copy, pl.PrintTensor, pl.PrintTensorFormat, pl.Block, pl.Sync, pl.WriteUndef,
        pl.Abort, pl.AbortOnCondition, pl.ErrorProgram, pl.CrossReplicaCopy,
        pl.AssumeEqualAcrossReplicas,
        pl.Report, pl.TensorRearranger, pl.DataStream, pl.RemoteBuffer,
        pl.HostFunction, pl.FunctionBuffer, pl.StreamCallback, pl.FieldData, pl.Device,
        pl.DeviceManager, pl.IPUModel, pl.OptionFlags, pl.RuntimeOptions, pl.Executable,
        pl.VariableInterval, pl.PopliteError, pl.SourceLocation,
    )
}  # fmt: skip


def test_tables_are_those_of_the_signatures() -> None:
    assert names_page.made(POPLAR_NAMES) == POPLAR_NAMES, (
        "python tests/helpers/names_page.py writes them"
    )


def test_the_page_names_every_exception_of_one_word() -> None:
    words = {"begin", "end", "size", "handle", "type", "shape", "rank", "name", "what"}
    assert not {
        word
        for word in words
        if f"`{word}`" not in POPLAR_NAMES[: POPLAR_NAMES.index("<!-- signatures")]
    }


SHARED = {
    "FieldRef": FieldRef, "VertexIntrospector": VertexInstance, "Type": pl.FLOAT,
    "PrintTensorFmt": pl.PrintTensorFormat,
}  # fmt: skip
"""Classes that Poplar calls otherwise."""


def test_every_member_in_cpp_spelling_has_a_row() -> None:
    listed = {row.member.rpartition(".")[2] for row in ROWS}
    listed |= {name for owner in MEMBERS for name in absent_members(owner)}
    listed.add("attachSourceLocation")  # of errors, which are made before the table
    found = {
        (name, member)
        for name, cls in (CLASSES | SHARED).items()
        for base in cls.__mro__
        for member in vars(base)
        if re.match(r"[a-z]+[A-Z]", member)
    }
    assert len(found) > 150
    assert not {(name, member) for name, member in found if member not in listed}


def test_every_name_of_the_package_in_cpp_spelling_has_a_row() -> None:
    listed = {row.member for row in ROWS if not row.owner}
    camel = {name for name in (*names_here(), *pl.__all__) if re.match(r"[a-z]+[A-Z]", name)}
    assert camel
    assert not camel - listed


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in MEMBERS for name in absent_members(owner)]
)
def test_absent_member_says_why(owner: str, name: str) -> None:
    assert not hasattr(CLASSES[owner], name)
    with pytest.raises(pl.AbsentMember, match=f"poplite has no {owner}.{name}") as caught:
        getattr(CLASSES[owner], name)
    assert (caught.value.found, caught.value.fix) == absent_members(owner)[name]


@pytest.mark.parametrize("name", sorted(absent_names("pl")))
def test_absent_name_of_the_package_says_why(name: str) -> None:
    assert not hasattr(pl, name)
    with pytest.raises(pl.AbsentMember) as caught:
        getattr(pl, name)
    assert (caught.value.found, caught.value.fix) == absent_names("pl")[name]


LIBRARIES = [
    (namespace, name)
    for namespace in NAMES
    if namespace != "pl"
    for name in absent_names(namespace)
]


@pytest.mark.parametrize(("namespace", "name"), LIBRARIES)
def test_absent_name_of_a_library_says_what_to_use(namespace: str, name: str) -> None:
    module = import_module(f"poplite.compat.{namespace}")
    assert name not in dir(module)
    with pytest.raises(pl.AbsentMember, match=f"no {namespace}.{name}") as caught:
        getattr(module, name)
    assert (caught.value.found, caught.value.fix) == absent_names(namespace)[name]


def test_names_to_use_instead_exist() -> None:
    texts = [why[1] for namespace in NAMES for why in absent_names(namespace).values()]
    paths = {path for text in texts for path in re.findall(r"\b(?:pl|pop\w+)(?:\.\w+)+", text)}
    assert len(paths) > 60
    for path in paths:
        reduce(getattr, path.split(".")[1:], pl if path.startswith("pl.") else
               import_module(f"poplite.compat.{path.split('.')[0]}"))  # fmt: skip


def test_unknown_names_of_libraries_suggest_the_nearest() -> None:
    popops: Any = import_module("poplite.compat.popops")
    with pytest.raises(AttributeError, match="did you mean 'reduceMany'"):
        _ = popops.reduceMani


def test_no_operation_of_the_libraries_is_said_to_be_absent_that_is_there() -> None:
    said = {name for _, name in LIBRARIES}
    assert {"sequenceSlice", "groupedMultiSlice", "multiconv", "logUniform", "auGruFwd"} <= said
    assert not said & set(dir(pl.ops))


@pytest.mark.parametrize("name", ["SupervisorVertex", "poprand", "popnn", "popsparse"])
def test_both_lists_name_what_is_looked_for_most(name: str) -> None:
    assert name in ABSENT
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().removesuffix(" vertex")
    assert words in FEATURES.lower()


# -- what is named as absent -----------------------------------------------------------------------


FEATURES = (ROOT / "docs" / "features.md").read_text()

NOT_YET = {
    "stalls of supervisors, memory banks": (),
    "supervisor vertices, assembly": ("SupervisorVertex",),
    "several IPUs, replicas and remote buffers there": (),
    "random numbers in vertices": ("urand", "grand"),
}
"""What the last column of the table of docs/features.md says, and names that contradict it."""

PACKAGES = {
    "popops": popops,
    "poplin": poplin,
    "popnn": popnn,
    "poprand": poprand,
    "poputil": poputil,
}


def has(owner: object, path: str) -> bool:
    """Return whether an object has an attribute of an attribute of it."""
    for name in path.split("."):
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True


def test_what_is_not_yet_modelled_is_not_there() -> None:
    table = FEATURES[FEATURES.index("| modelled | not yet |") :].partition("\n\n")[0]
    said = {row.split("|")[2].strip() for row in table.splitlines()[2:]}
    assert said - {""} == set(NOT_YET)
    assert not [name for names in NOT_YET.values() for name in names if has(pl, name)]


@pytest.mark.parametrize("name", re.findall(r"`(\w+::\w+)`", FEATURES))
def test_what_the_page_calls_absent_is_absent(name: str) -> None:
    owner, _, member = name.partition("::")
    if owner in PACKAGES:
        assert not has(PACKAGES[owner], member)
        assert member in POPLAR_NAMES
    elif hasattr(pl, owner):
        assert not has(pl, f"{owner}.{member}")
    else:
        assert not has(compat, owner) or not has(compat, f"{owner}.{member}")


def absent_of_libraries() -> list[tuple[str, str]]:
    """Each library of the last table of docs/poplar-names.md, and names that it says are absent."""
    table = POPLAR_NAMES[POPLAR_NAMES.index("| library | not in poplite |") :]
    return [
        (library, name)
        for row in table.splitlines()[2:]
        for library in PACKAGES
        if row.startswith(f"| {library}")
        for name in re.findall(r"`([a-z]\w*[A-Z]\w*)`", row)
    ]


def test_what_the_libraries_lack_is_absent() -> None:
    found = absent_of_libraries()
    assert len(found) > 25
    assert not [(library, name) for library, name in found if has(PACKAGES[library], name)]


# -- errors.md -------------------------------------------------------------------------------------


ROW = re.compile(r"^\| (\w+) \| (\w+) \| (\w+) \| (.+) \|$", re.MULTILINE)
TEXT = (ROOT / "docs/errors.md").read_text()
TABLE = ROW.findall(TEXT)
ERROR_CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if isinstance(cls, type) and issubclass(cls, errors.PopliteError)
}
WARNINGS = [
    cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, errors.PopliteWarning)
]
SOURCES = [
    path.read_text()
    for folder in ("poplite", "simulator", "tools", "vertices")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "errors.py"
]
RAISED = re.findall(r"\braise (\w+)\(", (ROOT / "poplite/errors.py").read_text())
CALLED = {*RAISED, *(name for text in SOURCES for name in re.findall(r"\b(\w+)\(", text))}


def test_every_class_has_one_row_and_every_row_a_class() -> None:
    assert [row[0] for row in TABLE] == list(ERROR_CLASSES)


@pytest.mark.parametrize(("name", "poplar", "builtin", "meaning"), TABLE)
def test_a_row_tells_what_the_class_is(name: str, poplar: str, builtin: str, meaning: str) -> None:
    cls = ERROR_CLASSES[name]
    parent = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    assert (cls.poplar, parent.__name__) == (poplar, builtin)
    assert cls.__doc__ is not None
    assert cls.__doc__.splitlines()[0] == f"{meaning}."


@pytest.mark.parametrize("name", ERROR_CLASSES)
def test_every_class_is_public(name: str) -> None:
    assert getattr(pl, name) is ERROR_CLASSES[name]
    assert name in pl.__all__


def test_every_warning_has_a_row_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\w+Warning) \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows == [(cls.__name__, (cls.__doc__ or "").splitlines()[0][:-1]) for cls in WARNINGS]
    assert all(getattr(pl, name) and name in pl.__all__ for name, _ in rows)


ERROR_NAMES = [*ERROR_CLASSES, *(cls.__name__ for cls in WARNINGS)]


@pytest.mark.parametrize(
    "name", [n for n in ERROR_NAMES if n not in ("PopliteError", "PopliteWarning")]
)
def test_every_class_is_raised_somewhere(name: str) -> None:
    assert name in CALLED


def test_only_classes_that_need_it_share_a_name_of_poplar() -> None:
    names = [cls.poplar for cls in ERROR_CLASSES.values()]
    shared = {name for name in names if names.count(name) > 1}
    assert shared == {
        "application_runtime_error",  # what a program does, and what its arithmetic does
        "graph_program_compilation_error",  # the class, and the text of compute
        "poplar_error",  # what Poplar does not find
    }


# -- library.md ------------------------------------------------------------------------------------


PAGES = Path(__file__).resolve().parents[2] / "docs"
LIBRARY = (PAGES / "library.md").read_text()
LIBRARY_ROWS = [line for line in LIBRARY.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("module", [ops, ops.nn, ops.random], ids=["ops", "nn", "random"])
def test_every_operation_is_on_the_page(module: ModuleType) -> None:
    functions = [
        name
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert len(functions) > 5
    # How steps are recorded is on a page of its own.
    texts = LIBRARY + (PAGES / "operations.md").read_text()
    assert [name for name in functions if not re.search(rf"\b{name}\b", texts)] == []


def test_every_elementwise_operation_has_a_row_with_its_types() -> None:
    for name, operation in OPERATIONS.items():
        rows = [row for row in LIBRARY_ROWS if f"`ops.{name}(" in row]
        assert rows, name
        kinds = {"floats": pl.FLOAT, "integers": pl.INT, "BOOL": pl.BOOL}
        taken = [word for word, kind in kinds.items() if operation.text_for(kind) is not None]
        assert rows[0].rstrip("| ").rsplit(" | ", 1)[1] == ", ".join(taken), name


@pytest.mark.parametrize("kind", [UnaryOpType, BinaryOpType, TernaryOpType])
def test_the_names_of_poplibs_stand_in_the_rows_of_what_they_mean(
    kind: type[UnaryOpType | BinaryOpType | TernaryOpType],
) -> None:
    for theirs in kind:
        rows = [row for row in LIBRARY_ROWS if f"`{theirs.name}`" in row]
        assert rows, theirs
        ours = getattr(theirs.meaning, "__name__", "")
        if ours in OPERATIONS and getattr(ops, ours) is theirs.meaning:
            assert any(f"`ops.{ours}(" in row for row in rows), theirs


# -- vertex-library.md -----------------------------------------------------------------------------


def test_the_page_is_that_of_the_classes() -> None:
    page = vertex_library.PAGE.read_text()
    assert vertex_library.made(page) == page, "python tests/helpers/vertex_library.py writes it"


def test_every_class_has_an_example() -> None:
    assert sorted(vertex_library.EXAMPLES) == vertices.__all__


def test_a_formula_is_made_of_what_the_class_declares() -> None:
    assert vertex_library.cost("Add").endswith(
        "BinaryOp1D`. For n elements: `29 + 3 n / 2` for FLOAT; `26 + 3 n / 4` for HALF; "
        "`26 + 7 n` for INT, UNSIGNED_INT"
    )
    assert vertex_library.cost("Copy") == "priced by its compiled code"


# -- report.md -------------------------------------------------------------------------------------


REPORT_PAGE = (Path(__file__).resolve().parents[2] / "docs/report.md").read_text()
REPORT_ROWS = dict(re.findall(r"^\| `(\w+\.\w+)(?:\([^`]*\))?` \| (.*) \|$", REPORT_PAGE, re.M))
MODULES = (report, execution, compilation, memory, findings, diff, trace, program_tree, per_tile)
OBJECTS = [
    cls
    for module in MODULES
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and cls.__module__ == module.__name__ and not name.startswith("_")
    and name not in ("ProgramType", "ProgramVisitor", "LazySequence", "LateSequence", "Peaks")
]  # fmt: skip

ONE = {
    "Execution.runs",
    "ExecutionStep.row",
    "ExecutionStep.number",
    "ExecutionStep.compute_set",
    "ExecutionStep.executions",
    "IpuStep.ipu",
}
"""Numbers of executions, places and IPUs."""


def names(cls: type) -> set[str]:
    """Return the fields, properties and methods that users see."""
    fields = set(getattr(cls, "_fields", ()))
    fields |= {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    members = {n for n, v in vars(cls).items() if callable(v) or isinstance(v, property)}
    members |= {n for n, v in vars(cls).items() if isinstance(v, staticmethod | classmethod)}
    return {name for name in fields | members if not name.startswith("_")}


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_every_field_has_a_row(cls: type) -> None:
    rows = {row.split(".")[1] for row in REPORT_ROWS if row.startswith(f"{cls.__name__}.")}
    rows -= {"variable"} if cls is memory.MemoryCategories else set()
    assert rows == names(cls)
    assert f"| **{cls.__name__}** |" in REPORT_PAGE


@pytest.mark.parametrize(
    "cls",
    [execution.Execution, execution.ExecutionStep, execution.Phase, execution.TypeCycles,
     execution.IpuStep, Cause],
)  # fmt: skip
def test_numbers_say_whether_they_are_totals(cls: type) -> None:
    numbers = [f.name for f in dataclasses.fields(cls) if re.match(r"int|PerTile|Int64", f.type)]  # type: ignore[arg-type]
    assert numbers
    for name in numbers:
        row = f"{cls.__name__}.{name}"
        assert row in ONE or re.search(r"\btotal\b|in one execution", REPORT_ROWS[row]), row
        documented = re.search(rf"^ +{name}: (.*)$", inspect.getdoc(cls) or "", re.M)
        assert documented is not None
        assert row in ONE or re.search(r"\btotal\b|in one execution", documented[1]), row


# -- names of steps --------------------------------------------------------------------------------


REPORT_FILE = Path(__file__).parents[2] / "docs/report.md"


def variable(
    graph: pl.Graph, shape: tuple[int, ...], name: str = "x", element: Any = pl.FLOAT
) -> pl.Tensor:
    zeros = np.zeros(shape, np.float32 if element is pl.FLOAT else np.int32)
    if element is pl.UNSIGNED_INT:
        zeros = zeros.astype(np.uint32)
    return graph.add_variable(element, shape, name, mapping="linear", initial_value=zeros)


def loops(g: pl.Graph) -> None:
    x = variable(g, (64,))
    with ops.repeat(3) as i:
        ops.dynamic_update(x, ops.dynamic_slice(x, i, [0], [1]), i, [0], [1])
    with ops.while_(ops.sum(x) > 1e9):
        ops.assign(x, x - 1)
    with ops.if_(ops.any(x > 3)):
        ops.assign(x, x * 2)


RECORDED: dict[str, Callable[[pl.Graph], object]] = {
    "loops": loops,
    "sort": lambda g: ops.sort(variable(g, (64,))),
    "argsort": lambda g: ops.argsort(variable(g, (64,))),
    "top_k": lambda g: ops.top_k(variable(g, (4, 64)), 3),
    "top_k of all": lambda g: ops.top_k(variable(g, (64,)), 3),
    "cumulative_sum": lambda g: ops.cumulative_sum(variable(g, (64,))),
    "unique": lambda g: ops.unique_sorted(variable(g, (64,), "n", pl.INT)),
    "embedding": lambda g: ops.embedding(
        variable(g, (64, 8)), variable(g, (5,), "i", pl.UNSIGNED_INT)
    ),
    "update": lambda g: ops.multi_update_add(
        variable(g, (64, 8)), variable(g, (5, 8), "s"), variable(g, (5,), "i", pl.UNSIGNED_INT)
    ),
    "matmul": lambda g: ops.map(variable(g, (64, 64)) @ variable(g, (64, 64), "w")),
    "softmax": lambda g: ops.map(ops.nn.softmax(variable(g, (8, 64)), 1)),
    "sums": lambda g: ops.map(ops.sum(variable(g, (64, 64))) * 2 + 1),
    "cholesky": lambda g: ops.linalg.cholesky(variable(g, (16, 16))),
}


def suffixes(graph: pl.Graph) -> Iterator[str]:
    """Yield the last part of the names of steps that have several, without numbers."""
    for each in graph.compute_sets:
        parts = re.sub(r"\[.*\]", "", each.name).split("/")
        if len(parts) > 1:
            yield re.sub(r"[_ ]?\d+$", "", parts[-1])


@pytest.mark.parametrize("name", RECORDED)
def test_the_page_has_what_follows_the_names_of_steps(name: str) -> None:
    page = REPORT_FILE.read_text()
    section = page[page.index("The suffix of a step") : page.index("A generated vertex class")]
    table = re.findall(r"^\| (`.*?`) \|", section, re.M)
    known = {
        re.sub(r" \d+$", "", each.split("/")[-1])
        for row in table
        for each in re.findall(r"`(.*?)`", row)
    }
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.steps():
        RECORDED[name](graph)
    assert set(suffixes(graph)) <= known


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda x: ops.argmax(x, 1), "argmax"),
        (lambda x: ops.argmin(x), "argmin"),
        (lambda x: ops.mean(x, 1), "mean"),
        (lambda x: ops.variance(x), "variance"),
        (lambda x: ops.norm(x, 1, ord=1), "norm"),
        (lambda x: ops.nn.layer_norm(x), "layer_norm"),
        (lambda x: ops.nn.hard_sigmoid(x), "hard_sigmoid"),
        (lambda x: ops.nn.gelu_gradient(x, x), "gelu_gradient"),
        (lambda x: ops.nn.squared_error(x, x + 1), "squared_error"),
        (lambda x: ops.nn.softmax(x, 1), "softmax"),
        (lambda x: ops.nn.log_softmax(x, 1), "log_softmax"),
        (lambda x: ops.nn.softmax_gradient(x, x), "softmax_gradient"),
        (lambda x: ops.nn.log_softmax_gradient(x, x), "log_softmax_gradient"),
    ],
)
def test_an_operation_made_of_several_has_the_name_of_its_call(
    made: Callable[[pl.Tensor], Expr], name: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.steps():
        result = ops.map(made(variable(graph, (8, 8))))
    assert result.name == name
    assert [each.name for each in graph.operations] == [name]
    assert all(each.name.startswith(name) for each in graph.compute_sets)


def test_remedies_leave_scopes_out_of_names() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.scope("layer"):
        w = variable(graph, (8,), "w", pl.INT)
    x = variable(graph, (8,))
    with graph.steps(), ops.repeat(3) as i:
        for other, remedy in ((i, "index"), (i + 1, "index + 1"), (w, "w"), (w * w, "w * w")):
            with pytest.raises(pl.ElementTypeError) as caught:
                x * other
            assert caught.value.fix == f"ops.cast({remedy}, FLOAT)"


# -- the tree of development.md --------------------------------------------------------------------


PAGE = (ROOT / "docs" / "development.md").read_text()


def drawn_entries() -> set[str]:
    """Return the files and folders of the drawn tree, by their paths."""
    tree = PAGE.split("```text\n", 1)[1].split("```", 1)[0]
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for line in tree.splitlines():
        entry = re.match(r"( *)([\w.]+/?)(?: {2,}\S|$)", line)
        if entry is None:
            continue
        indent, name = len(entry[1]), entry[2]
        above = [each for each in above if each[0] < indent]
        found.add("".join(folder for _, folder in above) + name)
        if name.endswith("/"):
            above.append((indent, name))
    return found


def test_every_room_is_drawn_and_every_drawn_room_is_there() -> None:
    drawn = drawn_entries()
    assert {path for path in drawn if not (ROOT / path).exists()} == set()
    rooms = {
        f"{path.parent.relative_to(ROOT)}/"
        for folder in ("poplite", "simulator", "tools", "vertices")
        for path in (ROOT / folder).rglob("__init__.py")
        if path == path.resolve()
    }
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "poplite").glob("*.py")}
    assert rooms | modules <= drawn


@pytest.mark.parametrize(
    ("page", "fewest"),
    [(ROOT / "docs" / "development.md", 30), (ROOT / "CONTRIBUTING.md", 10)]
    + [(page, 0) for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_paths_lead_to_files(page: Path, fewest: int) -> None:
    folders = r"poplite|simulator|tools|vertices|tests|docs|benchmarks"
    text = page.read_text()
    named = re.findall(rf"`((?:{folders})/[\w/.-]*)`", text)
    linked = [page.parent / link for link in re.findall(r"\]\(([\w/.-]+)\)", text)]
    assert len(named) >= fewest
    assert [path for path in (*linked, *(ROOT / path for path in named)) if not path.exists()] == []


# -- platforms -------------------------------------------------------------------------------------


PLATFORM_ROW = re.compile(r"^\| (`.+?`) \| (.*?`.+?\.py`.*?) \| .+ \|$", re.MULTILINE)
UNIX_ONLY = re.compile(
    r"\b(register_at_fork|pass_fds|preexec_fn|setitimer|setrlimit|fork\(|fcntl)|CDLL\(None\)\.(\w+)"
)


def names_of_tree(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def stated() -> dict[str, set[str]]:
    """What the page says is used, by file."""
    found: dict[str, set[str]] = {}
    for used, by in PLATFORM_ROW.findall(PAGE):
        for file in names_of_tree(by):
            if file.endswith(".py"):
                found.setdefault(file, set()).update(names_of_tree(used))
    return found


def test_every_file_uses_what_the_page_says() -> None:
    assert stated()
    for file, used in stated().items():
        text = (ROOT / file).read_text()
        assert [name for name in used if name not in text] == []


def test_what_only_unix_has_is_on_the_page() -> None:
    listed = {(file, name.rpartition(".")[2]) for file, used in stated().items() for name in used}
    found = set()
    for folder in ("poplite", "simulator", "tools", "vertices"):
        for path in (ROOT / folder).rglob("*.py"):
            if path == path.resolve():
                uses = UNIX_ONLY.finditer(path.read_text())
                found |= {(str(path.relative_to(ROOT)), use[1] or use[2]) for use in uses}
    assert found <= listed


def test_the_readme_and_the_package_name_the_systems() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "Linux and macOS" in readme
    assert "does not run on Windows" in readme
    assert "](docs/development.md#platforms)" in readme
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    systems = [each for each in project["classifiers"] if each.startswith("Operating System")]
    assert systems == ["Operating System :: MacOS", "Operating System :: POSIX :: Linux"]


# -- errors-by-name.md -----------------------------------------------------------------------------


def test_the_messages_of_the_page_of_errors_are_those_of_its_programs(tmp_path: Path) -> None:
    page = error_index.PAGE.read_text()
    assert error_index.made(page, tmp_path) == page, (
        "python tests/helpers/error_index.py writes them"
    )
    for name, (program, message) in error_index.entries(page).items():
        assert message.startswith((f"{name}: ", f"{name}[")), name
        assert sum(bool(line) for line in program.splitlines()) <= 10, name


def test_every_error_and_warning_is_explained() -> None:
    named = set(re.findall(r"^## (\w+)$", error_index.PAGE.read_text(), re.MULTILINE))
    kinds = (errors.PopliteError, errors.PopliteWarning)
    public = {
        n for n in pl.__all__ if isinstance(c := getattr(pl, n), type) and issubclass(c, kinds)
    }
    assert named == public
