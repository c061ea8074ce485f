"""Trees made of ops are the programs that were written down, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, reject, strategies as st

import poplite as pl
from poplite.compile.compiler import compile_graph
from poplite.executable.file.validate import validate
from poplite.report.program_tree import Program, ProgramType, num_steps
from poplite.report.report import Report
from poplite.simulator.accounts.reporting import compilation_of
from poplite.testing import fuzz_files

Tree = tuple[object, ...]

GRAPH = pl.Graph(pl.Target(tiles=2))
X, N = (GRAPH.add_variable(pl.INT, (), name, mapping=0, initial_value=0) for name in "xn")
COPIES = [pl.Copy(GRAPH.add_variable(pl.INT, (), f"v{k}", mapping=1), X) for k in range(4)]
leaves = st.sampled_from([*COPIES, pl.Sequence()])


def arranged(
    graph: pl.Graph, n: pl.Tensor
) -> Callable[[st.SearchStrategy[pl.Program]], st.SearchStrategy[pl.Program]]:
    """Return what makes programs of others; `n` decides."""

    def checked(cases: dict[int, pl.Program]) -> pl.Program:
        return pl.Switch.with_bounds_checking(n, cases)

    def extended(parts: st.SearchStrategy[pl.Program]) -> st.SearchStrategy[pl.Program]:
        cases = st.dictionaries(st.integers(-3, 3), parts, max_size=3)
        return st.one_of(
            st.lists(parts, max_size=4).map(pl.Sequence),
            st.builds(pl.Repeat, st.integers(0, 3), parts),
            st.builds(pl.RepeatWhileTrue, parts, st.just(n), parts),
            st.builds(pl.RepeatWhileFalse, parts, st.just(n), parts),
            st.builds(pl.If, st.just(n), parts, parts),
            st.builds(lambda given, default: pl.Switch(n, given, default=default), cases, parts),
            cases.map(checked),
            st.builds(pl.Loop, parts),
            st.builds(lambda part: pl.Call(graph.add_function(part)), parts),
        )

    return extended


def is_written(program: pl.Program) -> bool:
    """Return whether a program has a place in the tree: steps have one even if they never run."""
    endless = pl.Loop, pl.RepeatWhileTrue, pl.RepeatWhileFalse
    if isinstance(program, endless):
        return True
    if isinstance(program, pl.Switch) and program.unmatched != "default":
        return True
    return program.num_steps > 0 or any(map(is_written, below(program)))


def below(program: pl.Program) -> Sequence[pl.Program]:
    """Return the programs that a program runs."""
    is_idle = isinstance(program, pl.Repeat) and program.count == 0
    return () if is_idle else program.children


def expected(program: pl.Program) -> list[Tree]:
    """Return what the tree of a program is to be, Sequences joined with what is around them."""
    if not is_written(program):
        return []
    match program:
        case pl.Repeat():
            return [("Repeat", *expected(program.body))]
        case pl.Loop():
            return [("Loop", *expected(program.body))]
        case pl.RepeatWhileTrue() | pl.RepeatWhileFalse():
            return [("RepeatWhile", *expected(program.condition), *expected(program.body))]
        case pl.If() if not is_written(program.false_body):
            return [("If", *expected(program.true_body))]
        case pl.If():
            both = program.true_body, program.false_body
            return [("If", *(("Sequence", *expected(part)) for part in both))]
        case pl.Switch() if not program.cases:
            return [("Switch",), *expected(program.default)]
        case pl.Switch():
            parts = [("Sequence", *expected(part)) for part in program.cases.values()]
            default = expected(program.default)
            stops = program.unmatched != "default"
            return [("Switch", *parts, *([("Sequence", *default)] if default or stops else []))]
        case pl.Call(function=pl.Function() as function):
            return [("Call", ("Sequence", *expected(function.program)))]
        case leaf if not leaf.children:
            return [("Copy", int(str(leaf)[len("Copy 'v")]))]
    return [tree for part in program.children for tree in expected(part)]


def found(program: Program) -> Tree:
    """Return a tree of ops in the same form."""
    if program.type is ProgramType.COPY:
        return ("Copy", int(program.name[1]))
    return (program.type.value, *map(found, program.children))


@given(st.recursive(leaves, arranged(GRAPH, N), max_leaves=12))
def test_trees_are_what_was_written(program: pl.Program) -> None:
    executable = compile_graph(GRAPH, pl.Sequence(program), "fast")
    tree = compilation_of(executable).programs["0"]
    assert found(tree) == ("Sequence", *expected(program))
    assert num_steps(tree) == program.num_steps


@given(st.recursive(leaves, arranged(GRAPH, N), max_leaves=12))
def test_reports_of_any_program_are_loaded(program: pl.Program) -> None:
    report = pl.Engine(GRAPH, pl.Sequence(program)).report()
    assert Report.from_json(report.to_json()) == report


EVERYTHING, PROGRAMS = fuzz_files.program()
DECIDING = EVERYTHING.add_variable(pl.INT, (), "deciding", mapping=0, initial_value=0)
steps = st.sampled_from(
    [
        *PROGRAMS["main"].children,
        pl.Sync(pl.SyncType.INTERNAL),
        pl.WriteUndef(DECIDING),
        pl.AbortOnCondition(DECIDING, "stop"),
    ]
)


@given(st.recursive(steps, arranged(EVERYTHING, DECIDING), max_leaves=6))
def test_executables_of_any_steps_are_valid(program: pl.Program) -> None:
    programs = {"any": pl.Sequence(program), "back": PROGRAMS["back"]}
    try:
        executable = compile_graph(EVERYTHING, programs, "fast", interpret=True)
    except pl.PopliteError:  # as cases of values that cannot be
        reject()
    validate(executable)
    report = pl.Engine(executable, interpret=True).report()
    assert Report.from_json(report.to_json()) == report
