"""What each rank runs and sends, by the plan alone: no MPI."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.step import ComputeStep
from poplite.mpi.messages import EVERYONE, owners_of
from poplite.mpi.rank_plan import RankPlan, equal_cut, rank_plan
from poplite.mpi.ranks import text_of
from poplite.mpi.traffic import between_ranks
from poplite.simulator.run.touched import vertex_numbers

ROWS, COLUMNS, TILES = 16, 10, 8


class Blur(pl.Vertex):
    """Reads a row above and below its own."""

    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[0][i] + self.x[1][i] + self.x[2][i]


def plate(program: str = "") -> Executable:
    """Return steps on rows in bands, two on each tile."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    x, y = (graph.add_variable(pl.FLOAT, (ROWS, COLUMNS), name, mapping="linear") for name in "xy")
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=5)
    constant = graph.add_constant(pl.FLOAT, (COLUMNS,), range(COLUMNS), name="c", mapping=0)
    work = graph.add_compute_set("blur")
    for row in range(1, ROWS - 1):
        graph.add_vertex(work, Blur, tile=row // 2, x=x[row - 1 : row + 2], y=y[row])
    blur, copy = pl.Execute(work), pl.Copy(y, x)
    programs: dict[str, pl.Program] = {
        "": pl.Sequence(blur, copy),
        "shuffled": pl.Copy(x.reverse(0), y),
        "constant": pl.Copy(constant, y[15]),
        "decided": pl.Repeat(3, pl.If(flag, pl.Sequence(blur, copy), copy)),
    }
    options = {"debug.instrument": False}
    return pl.compile_graph(graph, programs[program], "fast", options=options)


def plans(executable: Executable, cut: list[int]) -> list[RankPlan]:
    owners = owners_of(executable.layout, cut)
    return [rank_plan(executable, owners, rank) for rank in range(len(cut) + 1)]


def sent(plan: RankPlan) -> list[tuple[int, int, int]]:
    """Return sender, receiver and bytes of all that is sent, in order."""
    return [
        (int(a), int(b), int(size))
        for exchange in plan.exchanges
        for a, b, size in zip(
            exchange.messages.sender, exchange.messages.receiver, exchange.messages.pieces.size,
            strict=True,
        )
    ]  # fmt: skip


def test_ranks_send_the_rows_at_their_common_edge_and_no_byte_more() -> None:
    row = 4 * COLUMNS
    first, second = plans(plate(), [4])
    assert sent(first) == sent(second) == [(0, 1, row), (1, 0, row)]


def test_reports_tell_what_each_place_sent() -> None:
    executable, row = plate("decided"), 4 * COLUMNS
    code = executable.programs["0"]
    counts = np.arange(100, 100 + len(code.ops))
    first, second = (
        between_ranks(executable, plan.exchanges, plan.places, {"0": counts}, lambda number: True)
        for plan in plans(executable, [4])
    )
    assert first == second
    flag, blur, *copies = first
    assert code.ops[flag.row, 0] == op.JUMP_IF_ZERO
    assert (flag.name, flag.messages) == ("a scalar that decides", counts[flag.row])
    assert flag.bytes == flag.messages  # a BOOL
    assert (blur.name, blur.row) == ("blur", code.step_rows[0])
    assert (blur.executions, blur.messages) == (counts[blur.row], 2 * counts[blur.row])
    assert blur.bytes == 2 * row * blur.executions
    assert copies == []  # x lies as y does


def test_what_the_host_gives_and_takes_is_sent_at_its_own_row() -> None:
    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=0)
    at = graph.add_variable(pl.INT, (1,), "at", mapping=7, initial_value=0)
    both = graph.add_host_function("both", [(pl.INT, 8)] * 2, [(pl.INT, 8)])
    gives = graph.add_host_function("gives", [], [(pl.INT, 8)])
    takes = graph.add_host_function("takes", [(pl.INT, 8)], [])
    rows = graph.add_remote_buffer("rows", pl.INT, 8, repeats=2)
    every, half = x[7:].broadcast(8, 0), 4 * 4
    expected = {  # messages and bytes between rank 0, which is the host, and rank 1
        pl.Call(both, [x.reverse(0), every], [x]): (2, half + 4 * 8 + half),
        pl.Call(gives, [], [x.reverse(0)]): (1, half),
        pl.Call(takes, [x], []): (1, half),
        pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 8), x.reverse(0)): (1, half),
        pl.Copy(x[::2], graph.add_device_to_host_fifo("out", pl.INT, 4)): (1, half // 2),
        pl.Copy(x.reverse(0), rows, at): (2, half + 4),
        pl.PrintTensor("x", x): (1, half),
    }
    executable = pl.compile_graph(graph, pl.Sequence(*expected), "fast")
    counts = np.ones(len(executable.programs["0"].ops), np.int64)
    (plan, _) = plans(executable, [4])
    found = between_ranks(
        executable, plan.exchanges, plan.places, {"0": counts}, lambda number: True
    )
    by_number: dict[int, tuple[int, int]] = {}
    for each in found:
        messages, size = by_number.get(each.number, (0, 0))
        by_number[each.number] = messages + each.messages, size + each.bytes
    assert by_number == dict(enumerate(expected.values(), 1))
    assert [each.name for each in found[:3]] == ["Call 'both'", "Call 'gives'", "Call 'takes'"]


def test_every_vertex_runs_on_the_rank_of_its_tile() -> None:
    executable = plate()
    cut, found = [2, 5], []
    for rank, plan in enumerate(plans(executable, cut)):
        (step,) = (each for each in plan.executable.steps if isinstance(each, ComputeStep))
        numbers = np.concatenate([vertex_numbers(group) for group in step.groups])
        tiles = executable.origins[0].tile_of.array()[numbers]
        assert (np.searchsorted(cut, tiles, side="right") == rank).all()
        assert step.num_vertices == len(numbers)
        found += numbers.tolist()
    assert sorted(found) == list(range(ROWS - 2))


def test_ranks_without_vertices_still_know_their_classes() -> None:
    plan = plans(plate(), [TILES])[1]
    (step,) = (each for each in plan.executable.steps if isinstance(each, ComputeStep))
    assert [group.cls for group in step.groups] == [Blur]
    assert [len(group.rows) for group in step.groups] == [0]


def test_a_copy_goes_straight_from_owner_to_owner() -> None:
    plan = plans(plate("shuffled"), [4])[0]
    half = 4 * COLUMNS * ROWS // 2
    by_pair = {(0, 1): 0, (1, 0): 0}
    for a, b, size in sent(plan):
        by_pair[a, b] += size
    assert by_pair == {(0, 1): half, (1, 0): half}
    assert [step.moves.size_bytes for step in plan.executable.steps] == [0]  # type: ignore[union-attr]


def test_constants_are_everywhere_and_never_sent() -> None:
    plan = plans(plate("constant"), [4])[1]
    assert sent(plan) == []
    assert (plan.executable.programs["0"].ops[:, 0] != op.EXCHANGE).all()


def test_every_byte_of_a_variable_has_one_owner() -> None:
    executable = plate()
    owners = owners_of(executable.layout, [2, 5])
    assert owners.begin[0] == 0
    assert (np.diff(owners.begin) > 0).all()
    for variable in executable.layout.variables:
        at = executable.layout.byte_position(variable.base)
        last = at + variable.size_bytes - 1
        ranks = {owners.of_byte(position) for position in (at, last)}
        expected = {"x": {0, 2}, "y": {0, 2}, "flag": {2}, "c": {EVERYONE}}
        assert ranks == expected[variable.name]


@pytest.mark.parametrize("ranks", [9, 16])
def test_many_ranks_hand_on_what_decides(ranks: int) -> None:
    executable = plate("decided")
    plan = plans(executable, [min(rank, 5) for rank in range(1, ranks)])[0]
    code = executable.programs["0"]
    (decides,) = np.flatnonzero(code.ops[:, 0] == op.JUMP_IF_ZERO)
    known = {ranks - 1}  # the last of those at tile 5
    rounds = [number for row, number in plan.places["0"] if row == decides]
    assert len(rounds) == 4
    for number in rounds:
        found = plan.exchanges[number].messages
        assert set(found.sender.tolist()) <= known  # from ranks that have it by then
        assert known.isdisjoint(found.receiver.tolist())
        assert len(set(found.sender.tolist())) == len(found)  # each to one
        known |= set(found.receiver.tolist())
    assert known == set(range(ranks))


@pytest.mark.parametrize("cut", [[4], [2, 5], [0, 8]])
def test_jumps_land_on_the_first_row_that_was_put_in_front(cut: list[int]) -> None:
    executable = plate("decided")
    before, (plan, *others) = executable.programs["0"].ops, plans(executable, cut)
    after, place = plan.executable.programs["0"].ops, plan.rows["0"]
    assert (after[place, 0] == before[:, 0]).all()
    for other in others:  # all ranks have the same rows
        assert (other.executable.programs["0"].ops == after).all()
    for row, kind in enumerate(before[:, 0].tolist()):
        word = {op.JUMP: 1, op.JUMP_IF_ZERO: 1, op.REPEAT: 3, op.AGAIN: 2}.get(kind)
        if word is None:
            continue
        target, meant = int(after[place[row], word]), int(place[before[row, word]])
        assert (after[target:meant, 0] == op.EXCHANGE).all()
        assert target == 0 or after[target - 1, 0] != op.EXCHANGE or target - 1 in place
    decides = int(place[np.flatnonzero(before[:, 0] == op.JUMP_IF_ZERO)[0]])
    assert after[decides - 1, 0] == op.EXCHANGE


def test_the_work_is_cut_in_equal_parts() -> None:
    assert equal_cut(plate(), 2) == [4]
    assert equal_cut(plate(), 4) == [2, 4, 6]


class Costs(pl.Vertex):
    """Says what it takes, whatever its elements."""

    cost: pl.State[pl.INT]
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x += self.cost

    def cycles(self, target: pl.Target) -> int:
        return int(self.cost)


def test_the_work_is_modelled_cycles_as_often_as_steps_run() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    steps = {}
    for name, costs in {"once": [9000] + [1] * 7, "often": [100] * 5 + [400, 100, 100]}.items():
        work = graph.add_compute_set(name)
        for tile, cost in enumerate(costs):
            graph.add_vertex(work, Costs, tile=tile, x=x[tile], cost=cost)
        steps[name] = pl.Execute(work)
    function = graph.add_function(pl.Repeat(4, steps["often"]))
    often = pl.Repeat(5, pl.Sequence(pl.Call(function), pl.Call(function)))

    def cut(*programs: pl.Program, instrument: bool = True) -> list[int]:
        options = {"debug.instrument": instrument}
        return equal_cut(pl.compile_graph(graph, [*programs], "fast", options=options), 2)

    assert cut(steps["once"]) == [1]
    assert cut(steps["often"]) == [5]
    assert cut(steps["once"], steps["often"]) == [1]
    assert cut(steps["once"], often) == [4]  # 40 times: 9,000 + 4 x 4,000 on the left
    assert cut(often, instrument=False) == [4]  # elements


def test_an_error_whose_text_fails_is_named_all_the_same() -> None:
    class Unsaid(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    assert text_of(Unsaid()) == "Unsaid: its text cannot be made: ValueError"
