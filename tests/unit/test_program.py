"""Program trees: what may be built, how it prints, how steps are numbered."""

import itertools

import pytest

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.graph import Graph
from poplite.joining import concat
from poplite.program import (
    Copy,
    Execute,
    PrintTensor,
    Program,
    Repeat,
    Sequence,
    distinct_steps,
    walk,
)
from poplite.tensor import Tensor
from poplite.types import FLOAT, INT


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
            match=r"(?s)Sequence, program 1: <ComputeSet 'a' .* is no program.*Execute\(cs\)",
        ) as caught:
            Sequence(Program(), cs)  # type: ignore[arg-type]
        assert caught.value.at is not None
        assert caught.value.at.function == "test_children_are_programs"
        with pytest.raises(ControlProgramError, match="Sequence, program 0: 3 is no program"):
            Sequence(3)  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="Repeat, body: .* is no program"):
            Repeat(3, cs)  # type: ignore[arg-type]
        with pytest.raises(ControlProgramError, match="Execute: .* is no compute set"):
            Execute(x)  # type: ignore[arg-type]

    @pytest.mark.parametrize("count", [-1, 2.5, "3", 2**63])
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
        with pytest.raises(ElementTypeError, match="Copy 'x' -> 'n': FLOAT to INT"):
            Copy(x, graph.add_variable(INT, (8,), "n"))

    def test_the_destination_is_writeable(self, graph: Graph, x: Tensor) -> None:
        constant = graph.add_constant(FLOAT, (8,), 0, "zeros")
        Copy(constant, x)
        with pytest.raises(GraphConnectionError, match="'zeros': the destination is constant"):
            Copy(x, constant)
        one = graph.add_variable(FLOAT, (1,), "one")
        Copy(one.broadcast(8, 0), x)
        with pytest.raises(
            GraphConnectionError, match="the destination holds some elements more than once"
        ):
            Copy(x, one.broadcast(8, 0))

    def test_source_and_destination_are_apart(self, x: Tensor, y: Tensor) -> None:
        Copy(x[:4], x[4:])
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)source and destination share elements.*'x' elements \[3, 4\)\n.*third",
        ):
            Copy(x[:4], x[3:7])
        with pytest.raises(ControlProgramError, match=r"'x' elements \[1, 2\) and 2 more ranges"):
            Copy(x[:6], concat([x[1:6:2], x[6:], y[0, :1]]))
        with pytest.raises(ControlProgramError, match="source and destination share elements"):
            Copy(concat([x[:4], y[1]]), concat([y[0], x[:4]]))

    def test_tensors_of_one_graph(self, x: Tensor) -> None:
        foreign = Graph().add_variable(FLOAT, (8,), "foreign")
        with pytest.raises(ControlProgramError, match="the tensors belong to two graphs"):
            Copy(x, foreign)
        with pytest.raises(ElementTypeError, match="(?s)destination 3 is not a tensor.*engine.wr"):
            Copy(x, 3)  # type: ignore[arg-type]

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
            ElementTypeError, match=r"(?s)the title comes first, .*PrintTensor\('hello', t\)"
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
