"""Program trees: what may be built, how it prints, how steps are numbered."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.vertices import Count
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    GraphRecursionError,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    Call,
    Copy,
    Execute,
    If,
    PrintTensor,
    Program,
    Repeat,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
    distinct_decisions,
    distinct_steps,
    walk,
)
from poplite.types import BOOL, FLOAT, INT, UNSIGNED_INT


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return graph.add_variable(FLOAT, (8,), "x")


@pytest.fixture
def y(graph: Graph) -> Tensor:
    return graph.add_variable(FLOAT, (2, 4), "y")


class TestTree:
    def test_a_sequence_takes_programs_or_one_list(self, graph: Graph) -> None:
        a, b = Execute(graph.add_compute_set("a")), Execute(graph.add_compute_set("b"))
        assert Sequence(a, b).programs == Sequence([a, b]).children == (a, b)
        assert Sequence(p for p in (a, b)).programs == (a, b)
        assert Sequence(a).programs == (a,)
        assert Sequence().programs == Sequence([]).programs == ()

    def test_children_are_programs(self, graph: Graph, x: Tensor) -> None:
        cs = graph.add_compute_set("a")
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)Sequence, program 1: <ComputeSet 'a' .* is not a "
            r"program.*Execute\(compute_set\)",
        ) as caught:
            Sequence(Program(), cs)  # type: ignore[arg-type]
        assert caught.value.at is not None
        assert caught.value.at.function == "test_children_are_programs"
        with pytest.raises(ControlProgramError, match="Sequence, program 0: 3 is not a program"):
            Sequence(3)  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="Repeat, body: .* is not a program"):
            Repeat(3, cs)  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="Execute: .* is not a compute set"):
            Execute(x)  # type: ignore[arg-type]

    @pytest.mark.parametrize("count", [-1, 2.5, "3", 2**32, 2**63])
    def test_repeat_counts_are_whole_numbers_from_0(self, count: object) -> None:
        with pytest.raises(ControlProgramError, match=f"Repeat: {count!r} times, but a whole"):
            Repeat(count, Program())  # type: ignore[arg-type]

    def test_empty(self, graph: Graph) -> None:
        step = Execute(graph.add_compute_set("a"))
        assert Program().is_empty
        assert Sequence(Program(), Sequence()).isEmpty()
        assert Repeat(0, step).is_empty
        assert not Repeat(1, step).is_empty
        assert not step.is_empty

    def test_programs_are_frozen(self, graph: Graph) -> None:
        repeat = Repeat(2, Program())
        with pytest.raises(AttributeError):
            repeat.count = 3  # type: ignore[misc]

    def test_locations(self) -> None:
        sequence = Sequence()
        assert sequence.location.file == __file__
        assert sequence.location.function == "test_locations"

    def test_reprs_are_one_line(self, graph: Graph, x: Tensor, y: Tensor) -> None:
        step = Execute(graph.add_compute_set("blur"))
        assert repr(step) == "<Execute 'blur' 0 vertices>"
        assert repr(Copy(x, y)) == "<Copy 'x' -> 'y' 8 elements, 32 B>"
        assert repr(Sequence(step, Repeat(9, Sequence(step, step)), name="main")) == (
            "<Sequence 'main' 3 steps>"
        )
        assert repr(Sequence(step)) == "<Sequence 1 step>"
        assert repr(Repeat(1000, step)) == "<Repeat 1,000 times, 1 step>"
        assert repr(PrintTensor("result", x)) == "<PrintTensor 'result' float32[8]>"
        assert repr(Program()) == "<Program empty>"


class TestPredicates:
    def test_they_are_one_element_of_three_types(self, graph: Graph, x: Tensor) -> None:
        for element in (BOOL, INT, UNSIGNED_INT):
            flags = Graph().add_variable(element, (2, 3), "flags")
            assert If(flags[1, 2], Program(), Program()).predicate == flags[1, 2]
            RepeatWhileTrue(Program(), flags[:1, 1:2], Program())
            with pytest.raises(
                ControlProgramError,
                match=r"(?s)RepeatWhileFalse: predicate 'flags' has 6 elements, not one.*t\[0\]",
            ):
                RepeatWhileFalse(Program(), flags, Program())
            with pytest.raises(ControlProgramError, match="If: predicate 'flags' has 0 elements"):
                If(flags[:0], Program(), Program())
        with pytest.raises(
            ElementTypeError, match="If: predicate 'x' is FLOAT, not BOOL, INT or UNSIGNED_INT"
        ):
            If(x[0], Program(), Program())
        with pytest.raises(ElementTypeError, match="RepeatWhileTrue: predicate True is not a ten"):
            RepeatWhileTrue(Program(), True, Program())  # type: ignore[arg-type]

    def test_a_switch_needs_a_number(self, graph: Graph) -> None:
        with pytest.raises(ElementTypeError, match="control 'b' is BOOL, not INT or UNSIGNED"):
            Switch(graph.add_variable(BOOL, (), "b"))
        with pytest.raises(ControlProgramError, match="Switch: control 'n' has 2 elements"):
            Switch(graph.add_variable(INT, (2,), "n"))

    def test_bodies_are_programs(self, graph: Graph) -> None:
        flag, cs = graph.add_variable(BOOL, (), "flag"), graph.add_compute_set("a")
        nothing = Program()
        for make, part in (
            (lambda: If(flag, cs, nothing), "If, true body"),  # type: ignore[arg-type]
            (lambda: If(flag, nothing, None), "If, false body"),  # type: ignore[arg-type]
            (lambda: RepeatWhileTrue(cs, flag, nothing), "True, condition"),  # type: ignore[arg-type]
            (lambda: RepeatWhileFalse(nothing, flag, 3), "False, body"),  # type: ignore[arg-type]
            (lambda: graph.add_function(cs), "add_function"),  # type: ignore[arg-type]
        ):
            with pytest.raises(ControlProgramError, match=f"{part}: .* is not a program"):
                make()

    def test_steps_and_reprs(self, graph: Graph) -> None:
        flag, step = graph.add_variable(BOOL, (), "flag"), Execute(graph.add_compute_set("a"))
        two = Sequence(step, step)
        assert repr(If(flag, two, step)) == "<If 'flag', 3 steps>"
        assert repr(RepeatWhileTrue(step, flag, two)) == "<RepeatWhileTrue 'flag', 3 steps>"
        assert repr(RepeatWhileFalse(two, flag, two)) == "<RepeatWhileFalse 'flag', 4 steps>"

    def test_what_decides_nothing_is_empty_but_a_loop_may_not_end(self, graph: Graph) -> None:
        flag = graph.add_variable(BOOL, (), "flag")
        number = graph.add_variable(INT, (), "number")
        nothing = Program()
        assert If(flag, nothing, nothing).is_empty
        assert Switch(number, {0: nothing}).is_empty
        assert not Switch.with_bounds_checking(number).is_empty
        loop = RepeatWhileTrue(nothing, flag, nothing)
        assert not loop.is_empty
        assert not Sequence(Repeat(2, loop)).is_empty
        assert Sequence(loop).num_steps == 0


class TestSwitch:
    @pytest.fixture
    def mode(self, graph: Graph) -> Tensor:
        return graph.add_variable(INT, (), "mode")

    def test_cases_come_at_once_or_one_by_one(self, graph: Graph, mode: Tensor) -> None:
        a, b = Execute(graph.add_compute_set("a")), Execute(graph.add_compute_set("b"))
        switch = Switch(mode, [(3, a)], default=a).add(-1, Sequence(a, b))
        assert switch.add(7, b) is switch
        assert list(switch.cases) == [3, -1, 7]
        assert switch.children == (*switch.cases.values(), a)
        assert Switch(mode, {3: a}).cases == {3: a}
        assert repr(switch) == "<Switch 'mode', 3 cases, 5 steps>"
        checked = Switch.with_bounds_checking(mode, {3: a}).add(4, b)
        assert checked.children == (a, b)

    def test_values_are_whole_and_come_once(self, graph: Graph, mode: Tensor) -> None:
        switch = Switch(mode, {1: Program()})
        with pytest.raises(
            ControlProgramError, match="(?s)Switch 'mode': the value 1 has two programs .*cases: 1"
        ):
            switch.add(1, Program())
        with pytest.raises(
            ControlProgramError, match="a case for 1.5, which is not a whole number"
        ):
            switch.add(1.5, Program())  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="Switch, case 2: .* is not a program"):
            switch.add(2, 3)  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="(?s)is not valid as cases.*default=program"):
            Switch(mode, 3)  # type: ignore[arg-type]
        assert switch.cases.keys() == {1}

    def test_a_refused_one_leaves_its_parts_as_they_were(self, mode: Tensor) -> None:
        first, default = Sequence(), Sequence()
        wrong: dict[int, Any] = {1: first, 2: 3}
        with pytest.raises(ControlProgramError, match="the value 1 has two programs"):
            Switch(mode, [(1, first), (1, Program())], default)
        with pytest.raises(ControlProgramError, match="Switch, case 2: 3 is not a program"):
            Switch(mode, wrong, default)
        for each in (first, default):
            each.add(Program())  # not part of anything yet

    @pytest.mark.parametrize(
        ("element", "low", "high"), [(INT, -(2**31), 2**31 - 1), (UNSIGNED_INT, 0, 2**32 - 1)]
    )
    def test_values_are_those_that_the_control_can_have(
        self, graph: Graph, element: type[INT], low: int, high: int
    ) -> None:
        switch = Switch(graph.add_variable(element, (), "n"), {low: Program(), high: Program()})
        for value in (low - 1, high + 1):
            with pytest.raises(SizeOverflowError, match=f"{value:,}, but .* {low:,} to {high:,}"):
                switch.add(value, Program())

    def test_it_does_not_change_once_it_is_part_of_a_program(
        self, graph: Graph, mode: Tensor
    ) -> None:
        switch = Switch(mode)
        Sequence(switch)
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)Switch 'mode': case 1 cannot be added to a program that "
            r"is already in use.*engine at .*test_it",
        ):
            switch.add(1, Program())
        assert switch.num_steps == 0

    def test_recursion_is_refused_by_name(self, graph: Graph, mode: Tensor) -> None:
        switch = Switch(mode)
        inner = graph.add_function(Sequence(switch), "inner")
        outer = graph.add_function(Repeat(2, Call(inner)), "outer")
        with pytest.raises(
            GraphRecursionError,
            match="(?s)Switch 'mode': case 1 would run the Switch itself.* 'outer', 'inner'",
        ):
            switch.add(1, Call(outer))


class TestFunctions:
    def test_names_are_unique_within_scopes(self, graph: Graph) -> None:
        with graph.scope("net"):
            names = [graph.add_function(Program(), "blur").name for _ in range(2)]
        assert names == ["net/blur", "net/blur_1"]
        assert graph.addFunction(Program()).name == "function"
        with pytest.raises(TensorCreationError, match="name of a function must be a string"):
            graph.add_function(Program(), 3)  # type: ignore[arg-type]

    def test_reprs_and_steps(self, graph: Graph) -> None:
        step = Execute(graph.add_compute_set("a"))
        function = graph.add_function(Repeat(3, Sequence(step, step)), "f")
        assert repr(function) == "<Function 'f' 2 steps>"
        assert function.location.function == "test_reprs_and_steps"
        assert repr(Call(function)) == "<Call 'f', 2 steps>"
        assert [str(s) for s in walk(Sequence(step, Call(function), Call(function)))] == [
            f"step {number} of 5: Execute 'a'" for number in range(1, 6)
        ]

    def test_only_functions_are_called(self) -> None:
        with pytest.raises(
            ControlProgramError, match="(?s)Call: .*is not a function.*add_function"
        ):
            Call(Program())  # type: ignore[call-overload]


class TestCopy:
    def test_shapes_may_differ(self, x: Tensor, y: Tensor) -> None:
        copy = Copy(x, y)
        assert (copy.source, copy.destination) == (x, y)

    def test_counts_may_not(self, x: Tensor, y: Tensor) -> None:
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)Copy 'x' -> 'y.*': 8 elements to 4 .*float32\[8\] to float32\[4\]",
        ):
            Copy(x, y[0])

    def test_types_may_not(self, graph: Graph, x: Tensor) -> None:
        remedy = (
            r"(?s)Copy 'x' -> 'n': a copy does not convert FLOAT to INT.*"
            r"convert the source first: ops.map\(ops.cast\(x, INT\)\)"
        )
        with pytest.raises(ElementTypeError, match=remedy):
            Copy(x, graph.add_variable(INT, (8,), "n"))

    def test_the_destination_is_writeable(self, graph: Graph, x: Tensor) -> None:
        constant = graph.add_constant(FLOAT, (8,), 0, "zeros")
        Copy(constant, x)
        with pytest.raises(GraphConnectionError, match="'zeros': the destination is constant"):
            Copy(x, constant)
        one = graph.add_variable(FLOAT, (1,), "one")
        Copy(one.broadcast(8, 0), x)
        with pytest.raises(
            GraphConnectionError, match="the destination contains some elements more than once"
        ):
            Copy(x, one.broadcast(8, 0))

    def test_source_and_destination_are_apart(self, x: Tensor, y: Tensor) -> None:
        Copy(x[:4], x[4:])
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)source and destination share elements.*'x'\[3\]\n.*third",
        ):
            Copy(x[:4], x[3:7])
        with pytest.raises(ControlProgramError, match=r"'x'\[1\] and 2 more ranges"):
            Copy(x[:6], concat([x[1:6:2], x[6:], y[0, :1]]))
        with pytest.raises(ControlProgramError, match="source and destination share elements"):
            Copy(concat([x[:4], y[1]]), concat([y[0], x[:4]]))

    def test_tensors_of_one_graph(self, x: Tensor) -> None:
        foreign = Graph().add_variable(FLOAT, (8,), "foreign")
        with pytest.raises(ControlProgramError, match="the tensors belong to two graphs"):
            Copy(x, foreign)
        with pytest.raises(ElementTypeError, match="(?s)destination 3 is not a tensor.*engine.wr"):
            Copy(x, 3)  # type: ignore[call-overload]

    def test_no_elements(self, x: Tensor) -> None:
        Copy(x[:0], x[8:])


class TestPrintTensor:
    def test_the_title_comes_first_or_is_the_name(self, x: Tensor) -> None:
        assert PrintTensor(x).title == "x"
        assert PrintTensor("result", x).title == "result"
        assert PrintTensor("result", x).tensor == x

    def test_there_is_a_tensor(self, x: Tensor) -> None:
        for arguments in [("result",), (x, x), (3, x), ("result", 3)]:
            with pytest.raises(ElementTypeError, match="has no tensor to print"):
                PrintTensor(*arguments)  # type: ignore[arg-type]

    def test_the_order_is_title_and_tensor(self, x: Tensor) -> None:
        with pytest.raises(
            ElementTypeError, match=r"(?s)the title must precede .*PrintTensor\('hello', t\)"
        ):
            PrintTensor(x, "hello")  # type: ignore[arg-type]


class TestSteps:
    def test_steps_are_numbered_as_written(self, graph: Graph, x: Tensor, y: Tensor) -> None:
        a, b = Execute(graph.add_compute_set("a")), Execute(graph.add_compute_set("b"))
        program = Sequence(Copy(x, y), Repeat(100, Sequence(a, b)), PrintTensor(y))
        assert [str(step) for step in walk(program)] == [
            "step 1 of 4: Copy 'x' -> 'y'",
            "step 2 of 4: Execute 'a'",
            "step 3 of 4: Execute 'b'",
            "step 4 of 4: PrintTensor 'y'",
        ]

    def test_decisions_are_named_by_their_steps(self, graph: Graph) -> None:
        a, flag = Execute(graph.add_compute_set("a")), graph.add_variable(BOOL, (), "flag")
        either = If(flag, a, Sequence(a, a))
        loop = RepeatWhileTrue(Program(), flag, Program())
        program = Sequence(a, either, RepeatWhileFalse(a, flag, Program()), loop, either)
        assert [str(step) for step in distinct_decisions(program)] == [
            "steps 2-4 of 8, which If 'flag' decides on",
            "step 5 of 8, which RepeatWhileFalse 'flag' decides on",
            "RepeatWhileTrue 'flag'",
        ]

    def test_a_shared_program_is_walked_in_each_place(self, graph: Graph) -> None:
        a, b = Execute(graph.add_compute_set("a")), Execute(graph.add_compute_set("b"))
        both = Sequence(a, b)
        program = Sequence(both, both, a)
        assert [step.program for step in walk(program)] == [a, b, a, b, a]
        assert [(s.number, s.program) for s in distinct_steps(program)] == [(1, a), (2, b)]
        program = Sequence(both, both, Execute(a.compute_set))
        assert [step.number for step in distinct_steps(program)] == [1, 2, 5]

    def test_programs_doubled_many_times_are_cheap(self, graph: Graph) -> None:
        program: Program = Execute(graph.add_compute_set("a"))
        for _ in range(60):
            program = Sequence(program, program)
        assert program.num_steps == 2**60
        assert len(list(distinct_steps(program))) == 1
        assert [step.number for step in itertools.islice(walk(program), 3)] == [1, 2, 3]

    def test_programs_grown_in_a_loop_are_no_recursion(self, graph: Graph) -> None:
        step = Execute(graph.add_compute_set("a"))
        program: Program = Sequence()
        for _ in range(5000):
            program = Sequence(program, step)
        assert sum(1 for _ in walk(program)) == 5000


# -- `add` -----------------------------------------------------------------------------------------


@pytest.fixture
def n() -> pl.Tensor:
    return pl.Graph(pl.Target(tiles=1)).add_variable(pl.INT, (), "n", mapping=0, initial_value=0)


@pytest.fixture
def count(n: pl.Tensor) -> pl.Execute:
    cs = n.graph.add_compute_set("count")
    n.graph.add_vertex(cs, Count, tile=0, n=n)
    return pl.Execute(cs)


def test_a_sequence_grows(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence(name="main")
    assert sequence.is_empty
    assert sequence.add(count).add(pl.Repeat(3, count)).add(pl.Sequence()) is sequence
    assert (sequence.num_steps, sequence.is_empty) == (2, False)
    assert sequence.children == sequence.programs
    assert sequence.programs[0] is count
    assert repr(sequence) == "<Sequence 'main' 2 steps>"
    engine = pl.Engine(n.graph, sequence)
    engine.run()
    assert engine.read(n) == 4


def test_many_parts(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence()
    for _ in range(20_000):
        sequence.add(count)
    assert sequence.num_steps == 20_000


USES: dict[str, Callable[[pl.Graph, pl.Program], object]] = {
    "Sequence": lambda graph, p: pl.Sequence(p),
    "add": lambda graph, p: pl.Sequence().add(p),
    "Repeat": lambda graph, p: pl.Repeat(2, p),
    "Loop": lambda graph, p: pl.Loop(p),
    "Block": lambda graph, p: pl.Block(p, "block"),
    "function": lambda graph, p: graph.add_function(p, "f"),
    "engine": lambda graph, p: pl.Engine(graph, p),
    "engine of several": lambda graph, p: pl.Engine(graph, {"a": pl.Sequence(), "b": p}),
    "switch": lambda graph, p: pl.Switch(graph.add_variable(pl.INT, (), "m"), {1: p}),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["Sequence", "Switch"])
def test_what_is_in_use_does_not_grow(n: pl.Tensor, count: pl.Execute, use: str, kind: str) -> None:
    program = pl.Sequence(count, name="main") if kind == "Sequence" else pl.Switch(n, {0: count})
    USES[use](n.graph, program)
    name, part = ("'main'", "program 1") if kind == "Sequence" else ("'n'", "case 1")
    with pytest.raises(
        pl.ControlProgramError,
        match=f"(?s){kind} {name}: {part} cannot be added to a program that is already in use"
        f".*engine at .*{Path(__file__).name}:.*try: add all parts before it is used",
    ):
        program.add(count) if isinstance(program, pl.Sequence) else program.add(1, count)
    assert program.num_steps == 1


def test_an_engine_that_could_not_be_made_uses_nothing(n: pl.Tensor, count: pl.Execute) -> None:
    unmapped = n.graph.add_variable(pl.INT, (), "unmapped")
    sequence = pl.Sequence(pl.PrintTensor(unmapped))
    with pytest.raises(pl.InvalidTileMapping):
        pl.Engine(n.graph, sequence)
    n.graph.set_tile_mapping(unmapped, 0)
    assert pl.Engine(n.graph, sequence.add(count)).report().steps == 0


def test_a_part_that_is_refused_may_still_grow(count: pl.Execute) -> None:
    used, part = pl.Sequence(), pl.Sequence()
    pl.Sequence(used)
    with pytest.raises(pl.ControlProgramError):
        used.add(part)
    assert part.add(count).num_steps == 1


def test_parts_of_a_program_that_could_not_be_made_may_still_grow(
    n: pl.Tensor, count: pl.Execute
) -> None:
    body, other = pl.Sequence(), pl.Sequence()
    flag = n.graph.add_variable(pl.FLOAT, (), "flag", mapping=0)
    refused: list[Callable[[], pl.Program]] = [
        lambda: pl.Sequence(body, 3),  # type: ignore[arg-type]
        lambda: pl.If(n, body, 3),  # type: ignore[arg-type]
        lambda: pl.If(flag, body, other),
        lambda: pl.Switch(flag, {}, body),
        lambda: pl.RepeatWhileTrue(body, flag, other),
        lambda: pl.RepeatWhileFalse(body, n, 3),  # type: ignore[arg-type]
        lambda: pl.Block(body, ""),
    ]
    for make in refused:
        with pytest.raises(pl.PopliteError):
            make()
        body.add(count)
        other.add(count)
    assert body.num_steps == other.num_steps == len(refused)


def test_parts_are_programs(count: pl.Execute) -> None:
    sequence = pl.Sequence(count)
    with pytest.raises(
        pl.ControlProgramError,
        match=r"(?s)Sequence, program 1: <ComputeSet 'count'.* is not a program"
        r".*type ComputeSet.*Ex",
    ):
        sequence.add(count.compute_set)  # type: ignore[arg-type]
    assert sequence.num_steps == 1


def test_a_sequence_that_would_contain_itself(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence(count, name="main")
    with pytest.raises(
        pl.GraphRecursionError, match="(?s)Sequence 'main': program 1 would run the Sequence itself"
    ):
        sequence.add(sequence)
    assert sequence.add(count).num_steps == 2
    inside = pl.Repeat(2, pl.Block(sequence, "block"))
    with pytest.raises(
        pl.GraphRecursionError, match="(?s)would run the Sequence itself.*program 2 is <Repeat 2"
    ):
        sequence.add(inside)
    with pytest.raises(pl.GraphRecursionError, match="program 2 would run the Sequence itself"):
        sequence.add(pl.Loop(inside))


@pytest.mark.parametrize("kind", ["Sequence", "Switch"])
def test_recursion_through_functions(n: pl.Tensor, kind: str) -> None:
    program = pl.Sequence() if kind == "Sequence" else pl.Switch(n)
    inner = n.graph.add_function(pl.Loop(program), "inner")
    outer = n.graph.add_function(pl.Repeat(2, pl.Call(inner)), "outer")
    call = pl.Call(outer)
    with pytest.raises(
        pl.GraphRecursionError,
        match=f"(?s)would run the {kind} itself.*the functions 'outer', 'inner'.*RepeatWhileTrue",
    ):
        program.add(call) if isinstance(program, pl.Sequence) else program.add(1, call)


# -- values that are not programs ------------------------------------------------------------------


GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 2), "x", mapping="linear", initial_value=np.ones((4, 2)))
TRUE = GRAPH.add_variable(pl.BOOL, (), "true", mapping=0, initial_value=True)
NUMBER = GRAPH.add_variable(pl.INT, (), "number", mapping=0, initial_value=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.Engine(GRAPH, X),  # type: ignore[arg-type]
        lambda: pl.Engine(GRAPH, [X]),  # type: ignore[list-item]
        lambda: pl.Engine(GRAPH, {"main": X}),
        lambda: pl.Sequence(X),  # type: ignore[arg-type]
        lambda: pl.Sequence(pl.Sequence(), X),  # type: ignore[arg-type]
        lambda: pl.Repeat(2, X),  # type: ignore[arg-type]
    ],
)
def test_a_tensor_is_refused_whole_and_not_by_its_rows(make: Callable[[], object]) -> None:
    with pytest.raises(pl.ControlProgramError, match=r"<Tensor 'x' .*not a program") as caught:
        make()
    assert "with graph.steps() as program: " in caught.value.fix


def test_a_tensor_in_place_of_cases_is_refused_whole() -> None:
    with pytest.raises(
        pl.ControlProgramError, match="Switch: <Tensor 'x' .* is not valid as cases"
    ):
        pl.Switch(NUMBER, X)  # type: ignore[arg-type]


def test_a_compute_set_in_place_of_the_programs_of_a_sequence() -> None:
    empty = pl.Graph(pl.Target(tiles=1)).add_compute_set("empty")
    message = r"(?s)'empty'.*not a program.*Execute\(compute_set\)"
    with pytest.raises(pl.ControlProgramError, match=message):
        pl.Sequence(empty)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "instead"),
    [
        (pl.Program(), "use `with graph.steps() as program:`"),
        (pl.Repeat(2, pl.Sequence()), "use `with ops.repeat(count):`"),
        (pl.If(TRUE, pl.Sequence(), pl.Sequence()), "use `with ops.if_(predicate):`"),
        (
            pl.RepeatWhileTrue(pl.Sequence(), TRUE, pl.Sequence()),
            "use `with ops.while_(condition):`",
        ),
        (pl.Switch(NUMBER, {}), "use `with graph.steps() as program:`"),
        (pl.Copy(X[0], X[1]), "use `with graph.steps() as program:`"),
    ],
)
def test_a_program_without_a_block_says_which_has_one(program: pl.Program, instead: str) -> None:
    refused = pytest.raises(pl.ControlProgramError, match="cannot be used in a `with` statement")
    with refused as caught, program:
        raise AssertionError  # the block does not begin
    assert caught.value.fix.startswith(instead)


def others() -> pl.Tensor:
    other = pl.Graph(pl.Target(tiles=4))
    return other.add_variable(pl.FLOAT, (4,), "other", mapping="linear", initial_value=np.ones(4))


def steps() -> pl.Sequence:
    with GRAPH.steps() as step:
        pl.ops.assign(X, X + 1)
    return step


@pytest.mark.parametrize(
    "sequence",
    [
        lambda: pl.Sequence(steps()),
        lambda: pl.Sequence(pl.Repeat(2, pl.Copy(X[0], X[1]))),
        lambda: pl.Sequence(pl.Execute(GRAPH.add_compute_set("empty"))),
        lambda: pl.Sequence(pl.Call(GRAPH.add_function(steps()))),
    ],
)
def test_a_block_of_a_sequence_takes_steps_of_its_graph_alone(
    sequence: Callable[[], pl.Sequence],
) -> None:
    tensor, program = others(), sequence()
    with (
        pytest.raises(pl.ControlProgramError, match="(?s)it uses .*but the open block uses"),
        program,
    ):
        pl.ops.assign(tensor, tensor + 1)
    with program:
        pl.ops.assign(X, X + 1)
