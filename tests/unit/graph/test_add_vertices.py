"""Many vertices in one call: what may be given, every refusal, and what a block is."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import simulated
from poplite.arrays.series import Listed, Steps
from poplite.compile import places
from poplite.compile.compiler import compile_graph
from poplite.executable.parts import ComputeStep, Vertices
from poplite.graph.compute_sets import vertex_block
from poplite.types import ElementType
from poplite.viz.dataflow.links import links_of
from poplite.viz.notebook import compute_set_cell
from poplite.viz.summary import summary_of

T = TypeVar("T", bound=ElementType[Any])


class Add(pl.Vertex):
    x: pl.Input[pl.FLOAT]
    y: pl.Input[pl.FLOAT]
    z: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.z = self.x + self.y


class Scale(pl.Vertex):
    count: pl.State[pl.SHORT]
    factors: pl.State[pl.Vector[pl.FLOAT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] * self.factors[i % len(self.factors)] + self.count


class Sum(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    total: pl.Output[pl.INT]

    def compute(self) -> None:
        total = 0
        for i in range(len(self.rows)):
            for j in range(len(self.rows[i])):
                total += self.rows[i][j]
        self.total = total


class Second(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    total: pl.Output[pl.INT]

    def compute(self) -> None:
        self.total = self.rows[1][0]


class Fill(pl.Vertex):
    rows: pl.Output[pl.Vector[pl.Vector[pl.INT]]]
    more: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.more[0] = 1


class Double(pl.Vertex, Generic[T]):
    x: pl.Input[T]
    y: pl.Output[T]

    def compute(self) -> None:
        self.y = 2 * self.x


class Share(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = self.num_workers


class Quarters(pl.Vertex):
    x: pl.Input[pl.Vector[pl.QUARTER]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x[0]


class QuarterRows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.QUARTER]]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.rows[0][0]


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


@pytest.fixture
def cs(graph: pl.Graph) -> pl.ComputeSet:
    return graph.add_compute_set("step")


def variable(graph: pl.Graph, kind: Any, *shape: int, name: str = "") -> pl.Tensor:
    return graph.add_variable(kind, shape, name, mapping="linear")


class TestGiven:
    def test_tensors_slices_lists_and_numbers(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, z = variable(graph, pl.FLOAT, 6), variable(graph, pl.FLOAT, 4, 6)
        order = np.array([5, 0, 3, 2, 4, 1])
        for row, given in enumerate([x, x.slices(order), list(x)]):
            block = graph.add_vertices(cs, Add, tile=row, x=given, y=0.5, z=z[row])
            assert (len(block), block.first) == (6, 6 * row)
        graph.add_vertices(cs, Add, tile=[0, 1, 2, 3, 0, 1], x=x, y=list(range(6)), z=z[3])
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(x, np.arange(6))
        engine.run()
        plain = np.arange(6) + 0.5
        assert engine.read(z).tolist() == [
            plain.tolist(),
            plain[order].tolist(),
            plain.tolist(),
            (2 * np.arange(6)).tolist(),
        ]

    def test_vectors_and_state(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, y = variable(graph, pl.FLOAT, 3, 4), variable(graph, pl.FLOAT, 3, 4)
        block = graph.add_vertices(
            cs, Scale, tile=2, count=[7, 8, 9], factors=[[1.0], [2.0, 3.0], [4.0]], x=x, y=y
        )
        state = block[1].state
        assert (state["count"], np.asarray(state["factors"]).tolist()) == (8, [2.0, 3.0])
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(x, 1.0)
        engine.run()
        assert engine.read(y).tolist() == [[8.0] * 4, [10.0, 11.0, 10.0, 11.0], [13.0] * 4]

    def test_one_number_for_the_state_of_all(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, y = variable(graph, pl.FLOAT, 3, 4), variable(graph, pl.FLOAT, 3, 4)
        factors = np.array([[1.0, 2.0]] * 3)
        block = graph.add_vertices(cs, Scale, tile=0, count=5, factors=factors, x=x, y=y)
        assert [vertex.state["count"] for vertex in block] == [5, 5, 5]
        assert np.asarray(block[2].state["factors"]).tolist() == [1.0, 2.0]

    def test_lists_of_edges(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, total = variable(graph, pl.INT, 2, 3, 4), variable(graph, pl.INT, 4, 2)
        graph.add_vertices(cs, Sum, tile=0, rows=x, total=total[0])
        graph.add_vertices(cs, Sum, tile=0, rows=[list(x[0]), [x[1, 0]]], total=total[1])
        graph.add_vertices(cs, Sum, tile=0, rows=[x[1], x[0, :2]], total=total[2])
        rows = x.reshape((6, 4)).slices([(4, 6), (0, 1)])
        graph.add_vertices(cs, Sum, tile=0, rows=rows, total=total[3])
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(x, np.arange(24).reshape(2, 3, 4))
        engine.run()
        sums = np.arange(24).reshape(6, 4).sum(1)
        assert engine.read(total).tolist() == [
            [sums[:3].sum(), sums[3:].sum()],
            [sums[:3].sum(), sums[3]],
            [sums[3:].sum(), sums[:2].sum()],
            [sums[4:].sum(), sums[0]],
        ]

    def test_slices_make_no_tensor_for_each(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, z = variable(graph, pl.FLOAT, 5000), variable(graph, pl.FLOAT, 5000)
        order = np.random.default_rng(0).permutation(5000)
        made = 0
        of = pl.Tensor._of

        def counting(tensor: pl.Tensor, view: Any) -> pl.Tensor:
            nonlocal made
            made += 1
            return of(tensor, view)

        with pytest.MonkeyPatch().context() as patch:
            patch.setattr(pl.Tensor, "_of", counting)
            graph.add_vertices(cs, Add, tile=0, x=x.slices(order), y=1.0, z=z.slices(order))
        assert made == 0

    def test_a_template_takes_the_types_of_its_tensors(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        x, y = variable(graph, pl.INT, 3), variable(graph, pl.INT, 3)
        block = graph.add_vertices(cs, Double, tile=0, x=x, y=y)
        assert block.vertex_class is Double[pl.INT]
        numbers = graph.add_vertices(cs, Double, tile=0, x=[1, 2, 3], y=variable(graph, pl.HALF, 3))
        assert numbers.vertex_class is Double[pl.HALF]

    def test_a_multi_vertex_knows_its_workers(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x = variable(graph, pl.INT, 3, 8)
        block = graph.add_vertices(cs, Share, tile=0, x=x)
        assert block[0].state == {"num_workers": 6}
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.run()
        assert (engine.read(x) == 6).all()

    def test_quarters_bring_their_metadata(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        tensors = [
            graph.add_variable(
                pl.QUARTER, (2, 2), mapping=0, metadata=pl.QuarterMetadata("F143", scale)
            )
            for scale in (0, 3)
        ]
        y = variable(graph, pl.FLOAT, 4)
        block = graph.add_vertices(cs, Quarters, tile=0, x=pl.concat(tensors[0], tensors[0]), y=y)
        assert [v.connections["x.metadata"] for v in block] == [tensors[0].metadata] * 4
        mixed = list(tensors[1]) + list(tensors[0])
        block = graph.add_vertices(cs, Quarters, tile=0, x=mixed, y=variable(graph, pl.FLOAT, 4))
        assert [v.connections["x.metadata"] for v in block] == [
            *[tensors[1].metadata] * 2,
            *[tensors[0].metadata] * 2,
        ]
        engine = pl.Engine(graph, pl.Execute(cs))
        for tensor in tensors:
            engine.write(tensor, 8.0)
        engine.run()
        assert engine.read(cs.vertices[4].connections["y"]).item() == 8.0  # type: ignore[arg-type]

    def test_no_vertices(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        nothing = variable(graph, pl.FLOAT, 0)
        block = graph.add_vertices(cs, Add, tile=np.zeros(0, int), x=nothing, y=1.0, z=nothing)
        assert (len(block), list(block), len(cs.vertices)) == (0, [], 0)
        with pytest.warns(pl.EmptyComputeSetWarning, match="'step' is executed without vertices"):
            pl.Engine(graph, pl.Execute(cs)).run()


class TestConstants:
    def test_a_number_is_one_element_a_tile(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, z = variable(graph, pl.FLOAT, 6), variable(graph, pl.FLOAT, 6)
        block = graph.add_vertices(cs, Add, tile=[3, 1, 3, 3, 1, 1], x=x, y=2.5, z=z)
        (constant,) = block.constants
        assert (constant.shape, constant.contains_constant()) == ((2,), True)
        for vertex, tile in zip(block, [3, 1, 3, 3, 1, 1], strict=True):
            number = vertex.connections["y"]
            assert isinstance(number, pl.Tensor)
            assert number.constant_value() == 2.5
            assert _tile(graph, number) == tile

    def test_a_number_for_vertices_that_share_no_tile(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        x, z = variable(graph, pl.FLOAT, 3), variable(graph, pl.FLOAT, 3)
        block = graph.add_vertices(cs, Add, tile=[3, 0, 2], x=x, y=1.5, z=z)
        assert [_tile(graph, vertex.connections["y"]) for vertex in block] == [3, 0, 2]

    def test_numbers_of_each_are_on_their_tiles(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, z = variable(graph, pl.FLOAT, 3), variable(graph, pl.FLOAT, 3)
        block = graph.add_vertices(cs, Add, tile=[2, 0, 2], x=x, y=np.array([1, 2, 3]), z=z)
        assert [_tile(graph, vertex.connections["y"]) for vertex in block] == [2, 0, 2]
        (constant,) = block.constants
        assert constant.shape == (3,)


def _tile(graph: pl.Graph, tensor: Any) -> int:
    (tile,) = (n for n, own in enumerate(graph.tile_mapping(tensor)) if len(own))
    return tile


class TestRefused:
    """Every refusal names numbers, and leaves nothing behind."""

    @pytest.fixture(autouse=True)
    def nothing_is_left(self, graph: pl.Graph, cs: pl.ComputeSet) -> Any:
        yield
        assert len(cs.vertices) == 0
        constants = [variable.name for variable in graph.variables if variable.constant]
        assert set(constants) <= {"zeros", "one/metadata", "other/metadata"}

    def refused(self, graph: pl.Graph, cs: pl.ComputeSet, cls: Any = Add, **given: Any) -> str:
        given = {"tile": 0, **given}
        with pytest.raises(pl.PopliteError) as caught:
            graph.add_vertices(cs, cls, **given)
        error = caught.value
        assert error.at is not None
        assert error.at.file == __file__
        assert error.fix
        return f"{type(error).__name__}: {error}"

    @pytest.fixture
    def x(self, graph: pl.Graph) -> pl.Tensor:
        return variable(graph, pl.FLOAT, 5, name="x")

    @pytest.fixture
    def z(self, graph: pl.Graph) -> pl.Tensor:
        return variable(graph, pl.FLOAT, 5, name="z")

    def test_numbers_that_differ(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor
    ) -> None:
        text = self.refused(graph, cs, x=x, y=x[:4], z=z)
        assert "GraphConnectionError: Add: 'x' is for 5 vertices, but 'y' for 4 " in text
        assert "vertices: x 5, y 4, z 5" in text
        text = self.refused(graph, cs, tile=np.zeros(1, int), x=x, y=x, z=z)
        assert "'tile' is for 1 vertex, but 'x' for 5" in text

    def test_nothing_tells_how_many(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        class Still(pl.Vertex):
            k: pl.State[pl.INT]

            def compute(self) -> None:
                pass

        assert "Still: the number of vertices to add is not known" in self.refused(
            graph, cs, Still, k=3
        )
        with pytest.raises(pl.GraphConnectionError, match=r"tile=np.full\(n, tile\)"):
            graph.add_vertices(cs, Still, tile=0, k=3)

    def test_fields_left_out_unknown_and_not_settable(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor
    ) -> None:
        text = self.refused(graph, cs, x=x, z=z)
        assert "Add: field 'y' is missing, but add_vertices needs all fields" in text
        assert "declared y: Input[FLOAT]; given: x, z" in text
        assert "'Add' has no field 'w'" in self.refused(graph, cs, x=x, y=x, z=z, w=1)
        assert "which is not a valid field name" in self.refused(graph, cs, x=x, y=x, z=z, name="a")
        cells = variable(graph, pl.INT, 2, 2)
        text = self.refused(graph, cs, Share, x=cells, num_workers=3)
        assert "'num_workers'" in text

    def test_shapes(self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor) -> None:
        text = self.refused(graph, cs, x=x.reshape((5, 1)), y=x, z=z)
        assert "for n vertices, field 'x' needs shape (n,), but 'x' has shape (5, 1)" in text
        assert text.endswith("try: pass one element for each vertex, such as t.flatten()")
        state = {"count": 1, "factors": [[1.0]] * 5}
        text = self.refused(graph, cs, Scale, x=x, y=z, **state)
        assert "needs shape (n, length), but 'x' has shape (5,)" in text
        text = self.refused(graph, cs, x=x, y=np.ones((5, 2)), z=z)
        assert "needs shape (n,), but an array of shape (5, 2) is given" in text
        matrix = x.reshape((5, 1))
        text = self.refused(graph, cs, Scale, x=matrix, y=matrix, count=1, factors=[1.0, 2.0])
        assert "for n vertices, field 'factors' needs shape (n, length)" in text
        text = self.refused(graph, cs, Scale, x=matrix, y=matrix, count=[[1]], factors=[[1]] * 5)
        assert (
            "for n vertices, field 'count' needs shape (n,), but an array of shape (1, 1)" in text
        )

    @pytest.mark.parametrize(
        ("shape", "remedy", "reshaped"),
        [
            ((2, 3, 4), "t.reshape((2, 12)), a row for each vertex", (2, 12)),
            ((2, 3, 2, 2), "t.reshape((2, 12)), a row for each vertex", (2, 12)),
            ((24,), "t.reshape((n, length)), or t.slices(intervals)", (2, 12)),
        ],
    )
    def test_a_remedy_for_another_shape_works(
        self,
        graph: pl.Graph,
        cs: pl.ComputeSet,
        shape: tuple[int, ...],
        remedy: str,
        reshaped: tuple[int, ...],
    ) -> None:
        t, state = variable(graph, pl.FLOAT, *shape), {"count": 1, "factors": [[1.0]] * 2}
        y = variable(graph, pl.FLOAT, 2, 12)
        text = self.refused(graph, cs, Scale, x=t, y=y, **state)
        assert text.endswith(f"try: {remedy}")
        other = graph.add_compute_set("other")
        graph.add_vertices(other, Scale, tile=[0, 0], x=t.reshape(reshaped), y=y, **state)

    def test_a_remedy_for_one_element_works(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        one, y = variable(graph, pl.FLOAT), variable(graph, pl.FLOAT, 2, 1)
        state = {"count": 1, "factors": [[1.0]] * 2}
        text = self.refused(graph, cs, Scale, x=one, y=y, **state)
        assert text.endswith(
            "try: pass a row for each vertex; repeat one for all with "
            "t.reshape((1, 1)).broadcast(n, 0)"
        )
        x = one.reshape((1, 1)).broadcast(2, 0)
        graph.add_vertices(graph.add_compute_set("other"), Scale, tile=[0, 0], x=x, y=y, **state)
        text = self.refused(graph, cs, Scale, x=x, y=one, **state)
        assert text.endswith("try: pass a tensor with more elements: a row for each vertex")

    def test_types_and_graphs(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor
    ) -> None:
        whole = variable(graph, pl.INT, 5, name="whole")
        text = self.refused(graph, cs, tile=3, x=whole, y=x, z=z)
        assert "vertex 0 of 'Add' on tile 3: field 'x' needs FLOAT, but 'whole' is INT" in text
        assert "the same problem: vertices 1, 2, 3, 4 of 'Add'\n" in text
        foreign = pl.Graph().add_variable(pl.FLOAT, (5,), "foreign")
        assert "'foreign' belongs to another graph" in self.refused(graph, cs, x=foreign, y=x, z=z)
        mixed = [x[0], x[1], whole[2], x[3], whole[4]]
        text = self.refused(graph, cs, x=mixed, y=x, z=z)
        assert "ElementTypeError: vertex 2 of 'Add' on tile 0: field 'x' needs FLOAT" in text
        assert "the same problem: vertex 4 of 'Add'\n" in text
        assert "'x' is given a str, not" not in self.refused(graph, cs, x="t", y=x, z=z)
        assert "is given an ndarray" not in self.refused(graph, cs, x=x, y=x, z=np.zeros(5))
        text = self.refused(graph, cs, x=x, y=x, z=np.zeros(5))
        assert "field 'z' is given a ndarray, not a tensor" in text

    def test_slices_of_several_elements_for_one(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor
    ) -> None:
        text = self.refused(
            graph, cs, x=x, y=x, z=z.slices([(0, 1), (1, 3), (2, 3), (3, 5), (4, 5)])
        )
        assert (
            "vertex 1 of 'Add' on tile 0: field 'z' needs exactly 1 element, but 'z' has rank 1"
            in text
        )
        assert "the same problem: vertex 3 of 'Add'\n" in text

    def test_numbers_out_of_range_name_their_vertex(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor
    ) -> None:
        text = self.refused(graph, cs, x=x, y=[0, 0, 1e300, 0, 1e301], z=z)
        assert (
            "SizeOverflowError: vertex 2 of 'Add' on tile 0: field 'y': 1e+300 does not fit FLOAT"
            in text
        )
        assert "the same problem: vertex 4 of 'Add'\n" in text
        matrix, given = x.reshape((5, 1)), {"y": z.reshape((5, 1)), "factors": [[1.0]] * 5}
        text = self.refused(graph, cs, Scale, x=matrix, count=[1, 2, 3, 4, 99_999], **given)
        assert "vertex 4 of 'Scale' on tile 0: field 'count': 99999 does not fit SHORT" in text
        text = self.refused(graph, cs, Scale, x=matrix, count=0.5, **given)
        assert "0.5 cannot be stored as SHORT" in text

    def test_tiles(self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor, z: pl.Tensor) -> None:
        given = {"x": x, "y": x, "z": z}
        text = self.refused(graph, cs, tile=[0, 1, 4, 2, -1], **given)
        assert "InvalidTileMapping: vertex 2 of 'Add': tile 4, but the graph has 4 tiles" in text
        assert "the same problem: vertex 4 of 'Add'\n" in text
        assert "vertices 0 to 4 of 'Add': tile 9, but the graph has 4" in self.refused(
            graph, cs, tile=9, **given
        )
        text = self.refused(graph, cs, tile=np.zeros(5), **given)
        assert "tile is an array of shape (5,) of float64" in text
        text = self.refused(graph, cs, tile=[[0], [1, 2]], **given)
        assert "Add: tile is [[0], [1, 2]], lists of different lengths" in text
        for tile in (3, [3, 0, 0, 0, 0]):  # named though not everything is known yet
            text = self.refused(graph, cs, tile=tile, x=x, y=x, z=5)
            assert "vertex 0 of 'Add' on tile 3: field 'z' is given 5, not a tensor" in text
        assert "Add: add_vertices needs tile=" in self.refused(graph, cs, tile=None, **given)

    def test_constants_are_not_written(
        self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor
    ) -> None:
        zeros = graph.add_constant(pl.FLOAT, (2,), 0, "zeros", mapping=0)
        text = self.refused(graph, cs, x=x, y=x, z=zeros.slices([0, 1, 0, 0, 0]))
        assert "vertex 0 of 'Add' on tile 0: field 'z' writes 'zeros', which is constant" in text
        part = pl.concat(variable(graph, pl.FLOAT, 3), zeros)
        text = self.refused(graph, cs, x=x, y=x, z=part)
        assert "vertex 3 of 'Add' on tile 0: field 'z' writes 'zeros'" in text
        assert "the same problem: vertex 4 of 'Add'\n" in text

    def test_elements_are_not_written_twice_by_one_vertex(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        cells = variable(graph, pl.INT, 40, name="cells")
        rows = [list(cells.slices([(10 * k, 10 * k + 4), (10 * k + b, 10 * k + 9)]))
                for k, b in enumerate((4, 3, 4, 0))]  # fmt: skip
        more = cells.slices([(9, 10), (19, 20), (23, 30), (39, 40)])
        text = self.refused(graph, cs, Fill, rows=rows, more=more)
        assert "vertex 1 of 'Fill' on tile 0: fields 'rows[0]' and 'rows[1]' both write" in text
        assert "the same problem: vertices 2, 3 of 'Fill'\n" in text
        wrong = pl.concat(cells[:4], cells[:4]).sub_sample(2, 0).reshape((1, 4))
        text = self.refused(graph, cs, Share, x=wrong)
        assert (
            "vertex 0 of 'Share' on tile 0: field 'x' writes 'cells', which "
            "contains some elements more" in text
        )

    def test_templates(self, graph: pl.Graph, cs: pl.ComputeSet, x: pl.Tensor) -> None:
        whole = variable(graph, pl.INT, 5, name="whole")
        text = self.refused(graph, cs, Double, x=x, y=whole)
        assert "fields 'x' and 'y' both have type T, but 'x' is FLOAT and 'whole' is INT" in text

    def test_metadata_that_is_not_alike(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        one, other = (
            graph.add_variable(
                pl.QUARTER, (4,), name, mapping=0, metadata=pl.QuarterMetadata("F143", scale)
            )
            for name, scale in (("one", 0), ("other", 3))
        )
        rows = [[one[:2], one[3:]], [one[:1], other[1:]], [other[:2]], [other[2:], one[1:2]]]
        with pytest.raises(pl.TensorMetadataError) as caught:
            graph.add_vertices(cs, QuarterRows, tile=0, rows=rows, y=variable(graph, pl.FLOAT, 4))
        text = str(caught.value)
        assert (
            "vertex 1 of 'QuarterRows' on tile 0: field 'rows': 'one' has QuarterMetadata('F143', "
            in text
        )
        assert "the same problem: vertex 3 of 'QuarterRows'\n" in text

    def test_other_compute_sets_and_classes(self, graph: pl.Graph, x: pl.Tensor) -> None:
        other = pl.Graph().add_compute_set("other")
        with pytest.raises(pl.GraphConnectionError, match="is not a compute set of <Graph 4 tiles"):
            graph.add_vertices(other, Add, tile=0, x=x, y=x, z=x)
        with pytest.raises(pl.ElementTypeError, match="3 is not a vertex class"):
            graph.add_vertices(graph.add_compute_set("cs"), 3, tile=0)  # type: ignore[arg-type]


class TestBlock:
    @pytest.fixture
    def block(self, graph: pl.Graph, cs: pl.ComputeSet) -> pl.VertexBlock:
        x, z = variable(graph, pl.FLOAT, 5, name="x"), variable(graph, pl.FLOAT, 5, name="z")
        graph.add_vertex(cs, Add, tile=0, x=x[0], y=x[1], z=variable(graph, pl.FLOAT))
        return graph.add_vertices(cs, Add, tile=[0, 0, 1, 1, 3], x=x, y=x, z=z)

    def test_vertices_are_made_when_asked(self, block: pl.VertexBlock, cs: pl.ComputeSet) -> None:
        vertex = block[-1]
        assert (vertex.index, vertex.tile, vertex.label, vertex.location) == (
            5,
            3,
            "vertex 5 of 'Add'",
            block.location,
        )
        assert repr(vertex) == "<VertexInstance 5 of 'Add' on tile 3 of 'step'>"
        assert repr(block) == "<VertexBlock 5 Add on 3 tiles of 'step'>"
        assert (vertex == cs.vertices[5], vertex == cs.vertices[4]) == (True, False)
        assert len({vertex, cs.vertices[5], block[4]}) == 1
        assert vertex is not cs.vertices[5]

    def test_all_vertices_are_one_list(self, block: pl.VertexBlock, cs: pl.ComputeSet) -> None:
        assert (len(cs.vertices), repr(cs.vertices)) == (6, "<VertexList 6 vertices>")
        assert [vertex.index for vertex in cs.vertices] == list(range(6))
        assert cs.vertices[1:3] == block[:2]
        assert cs.vertices == [cs.vertices[0], *block]
        assert block[2] in cs.vertices
        assert cs.vertices[-6] is cs.vertices[0]
        for key in (6, -7):
            with pytest.raises(
                pl.TensorIndexError, match=rf"vertex {key} does not exist; there are 6"
            ):
                cs.vertices[key]
        with pytest.raises(pl.TensorIndexError, match="vertex 5 does not exist; there are 5"):
            block[5]

    def test_it_counts_in_the_graph(
        self, graph: pl.Graph, block: pl.VertexBlock, cs: pl.ComputeSet
    ) -> None:
        assert graph.num_vertices == 6
        assert repr(cs) == "<ComputeSet 'step' 6 vertices on 3 tiles>"
        assert repr(pl.Execute(cs)) == "<Execute 'step' 6 vertices>"

    def test_its_vertices_stay_as_they_are(
        self, graph: pl.Graph, block: pl.VertexBlock, cs: pl.ComputeSet
    ) -> None:
        x = variable(graph, pl.FLOAT, 5)
        added = (
            rf"(?s)vertex 3 of 'Add' on tile 1 is one of 5 vertices "
            rf".*add_vertices at {block.location}"
        )
        vertex = block[2]
        with pytest.raises(pl.GraphConnectionError, match=added):
            graph.connect(vertex["x"], x[0])
        with pytest.raises(pl.GraphConnectionError, match=added):
            graph.set_tile_mapping(vertex, 0)
        matrices = variable(graph, pl.INT, 2, 3, 4)
        sums = graph.add_vertices(cs, Sum, tile=0, rows=matrices, total=variable(graph, pl.INT, 2))
        with pytest.raises(
            pl.GraphConnectionError, match="vertex 7 of 'Sum' on tile 0 is one of 2"
        ):
            graph.connect(sums[1]["rows"][3], matrices[0, 0])
        data = variable(graph, pl.FLOAT, 2, 2)
        state = graph.add_vertices(cs, Scale, tile=0, count=1, factors=[[1], [1]], x=data, y=data)
        with pytest.raises(
            pl.GraphConnectionError, match="vertex 9 of 'Scale' on tile 0 is one of 2"
        ):
            graph.set_initial_value(state[1]["count"], 3)
        assert (block[2].tile, state[1].state["count"]) == (1, 1)
        with pytest.raises(pl.PopliteError, match=r"(?s)VertexBlock is not a tensor.*tile="):
            graph.set_tile_mapping(block, 0)  # type: ignore[arg-type]

    def test_pictures_count_it(
        self, graph: pl.Graph, block: pl.VertexBlock, cs: pl.ComputeSet
    ) -> None:
        summary = summary_of(graph)
        assert summary.classes == (("Add", 6),)
        assert (summary.edges, summary.vertex_tiles, summary.unplaced_vertices) == (18, 3, 0)
        assert "vertices per tile" in compute_set_cell(cs)
        links = links_of(graph, None)
        names = [item.name for item in links.items]
        fields = [links.fields[k] for k in links.field]
        sizes = {
            (names[a], names[b], field): int(n)
            for a, b, n, field in zip(links.tail, links.head, links.size_bytes, fields, strict=True)
        }
        assert {field for tail, head, field in sizes if (tail, head) == ("x", "step")} == {"x", "y"}
        assert sum(n for key, n in sizes.items() if key[:2] == ("x", "step")) == 4 * (2 + 10)
        assert sum(n for key, n in sizes.items() if key[:2] == ("step", "z")) == 4 * 5


def _groups(graph: pl.Graph, cs: pl.ComputeSet) -> tuple[Vertices, ...]:
    options = {"debug.allowOutOfMemory": True}
    (step,) = compile_graph(graph, pl.Execute(cs), "fast", options=options).steps
    assert isinstance(step, ComputeStep)
    return step.groups


class TestRows:
    """How a block is written down for drivers."""

    def add(self, graph: pl.Graph, cs: pl.ComputeSet, count: int, order: Any) -> pl.VertexBlock:
        x, y, z = (variable(graph, pl.FLOAT, count) for _ in range(3))
        return graph.add_vertices(cs, Add, tile=0, x=x, y=y.slices(order), z=z)

    def test_a_regular_block_is_one_row(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        block = self.add(graph, cs, 100_000, np.arange(100_000))
        assert isinstance(block.edges["y"].start, Steps)
        (group,) = _groups(graph, cs)
        assert (len(group.rows), group.rows[0, 0], dict(group.tables)) == (1, 100_000, {})

    def test_an_irregular_field_is_shared_with_the_graph(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        order = np.random.default_rng(0).permutation(5000)
        block = self.add(graph, cs, 5000, order)
        (group,) = _groups(graph, cs)
        assert [column.kind for column in group.columns] == ["affine", "affine", "flat", "affine"]
        start = block.edges["y"].start
        assert isinstance(start, Listed)
        assert group.tables[2] is start.offset
        assert start.offset.dtype == np.uint32

    @pytest.mark.parametrize(("run", "is_flat"), [(3, True), (4, False)])
    def test_runs_of_four_are_rows(
        self, graph: pl.Graph, cs: pl.ComputeSet, run: int, is_flat: bool
    ) -> None:
        order = np.random.default_rng(0).permutation(3000)[:, None] * run + np.arange(run)
        self.add(graph, cs, 3000 * run, order.ravel())
        (group,) = _groups(graph, cs)
        assert (len(group.tables) > 0) == is_flat
        assert len(group.rows) == (1 if is_flat else 3000) or not is_flat

    def test_few_vertices_share_the_driver_for_runs(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        self.add(graph, cs, 6, [3, 1, 4, 5, 2, 0])
        (group,) = _groups(graph, cs)
        assert dict(group.tables) == {}

    def test_offsets_too_far_apart_stay_runs(
        self, graph: pl.Graph, cs: pl.ComputeSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(places, "FEW_VERTICES", 0)
        monkeypatch.setattr(places, "MOST_NARROW", 4)
        x, y, z = (variable(graph, pl.FLOAT, 7) for _ in range(3))
        order = np.array([3, 1, 6, 5, 2, 0, 4])
        graph.add_vertices(cs, Add, tile=0, x=x, y=y.slices(order), z=z)
        (group,) = _groups(graph, cs)
        assert dict(group.tables) == {}
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(x, 0)
        engine.write(y, np.arange(7))
        engine.run()
        assert engine.read(z).tolist() == order.tolist()

    @pytest.mark.parametrize("interpret", [True, False])
    def test_wide_tables_of_lists(
        self,
        graph: pl.Graph,
        cs: pl.ComputeSet,
        monkeypatch: pytest.MonkeyPatch,
        interpret: bool,
    ) -> None:
        monkeypatch.setattr(vertex_block, "MOST_NARROW", 4)
        monkeypatch.setattr(places, "MOST_NARROW", 4)
        x, total = variable(graph, pl.INT, 40), variable(graph, pl.INT, 2)
        pieces = [x.slices([(30, 33), (2, 9), (12, 12)]), x.slices([(0, 1), (20, 22), (38, 40)])]
        graph.add_vertices(cs, Sum, tile=0, rows=[list(each) for each in pieces], total=total)
        (group,) = _groups(graph, cs)
        assert group.forms == ("wide", None)
        engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret)
        engine.write(x, np.arange(40))
        engine.run()
        assert engine.read(total).tolist() == [30 + 31 + 32 + sum(range(2, 9)), 20 + 21 + 38 + 39]

    def test_only_what_is_not_contiguous_is_gathered(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        line = variable(graph, pl.INT, 8).reverse(0)
        graph.add_vertices(cs, Share, tile=0, x=line.slices([(0, 1), (2, 4), (7, 8)]))
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(line, 0)
        engine.run()
        assert engine.read(line).tolist() == [6, 0, 6, 6, 0, 0, 0, 6]
        assert engine.report().bytes_gathered == 2 * 8  # of the one vertex with two elements

    def test_many_vertices_with_tables_of_unequal_work(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        random = np.random.default_rng(3)
        begin = random.permutation(10_000) * 4
        lengths = random.integers(1, 5, 10_000)
        data = variable(graph, pl.INT, 40_000)
        graph.add_vertices(
            cs, Share, tile=0, x=data.slices(np.stack([begin, begin + lengths], axis=1))
        )
        (group,) = _groups(graph, cs)
        assert group.rows[:, 0].tolist() == [4096, 4096, 1808]
        assert int(group.weights.sum()) == int((lengths + 8).sum())
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(data, 0)
        engine.run()
        touched = np.zeros(40_000, np.int32)
        for first, length in zip(begin.tolist(), lengths.tolist(), strict=True):
            touched[first : first + length] = 6
        assert np.array_equal(engine.read(data), touched)


class TestFaults:
    @pytest.mark.parametrize("count", [3, 5000])
    def test_a_vertex_of_a_block_that_faults_is_named(
        self, graph: pl.Graph, cs: pl.ComputeSet, count: int
    ) -> None:
        x, y = variable(graph, pl.FLOAT, 4 * count), variable(graph, pl.FLOAT, count, 2)
        order = np.random.default_rng(2).permutation(count)
        lengths = np.full(count, 2)
        lengths[[1, count - 1]] = 1
        pieces = np.stack([4 * order, 4 * order + lengths], axis=1)
        block = graph.add_vertices(
            cs, Scale, tile=np.arange(count) % 4, count=1, factors=[[1.0]] * count,
            x=x.slices(pieces), y=y,
        )  # fmt: skip
        engine = pl.Engine(graph, pl.Execute(cs), checks="strict")
        engine.write(y, 5.0)
        at = (
            rf"(?s)vertex 1 of 'Scale' on tile 1: 'Scale.x': index 1 of 1 "
            rf".*added at {block.location}"
        )
        with pytest.raises(pl.TensorIndexError, match=at):
            engine.run()
        assert (engine.read(y) == 5.0).all()

    @pytest.mark.parametrize("faulty", [5, 6])
    def test_a_vertex_whose_number_stands_in_a_table(
        self,
        graph: pl.Graph,
        cs: pl.ComputeSet,
        monkeypatch: pytest.MonkeyPatch,
        faulty: int,
    ) -> None:
        """Lists that are even, and those that are not, are numbered in no order."""
        monkeypatch.setattr(places, "FEW_VERTICES", 0)
        x, total = variable(graph, pl.INT, 80), variable(graph, pl.INT, 8)
        uneven = [0, 1, 3, 6, 7]
        given = [
            list(x.slices([(10 * k, 10 * k + (3 if k in uneven else 2)), (10 * k + 5, 10 * k + 7)]))
            for k in range(8)
        ]
        given[faulty] = [given[faulty][0], x[75:75]]
        graph.add_vertices(cs, Second, tile=0, rows=given, total=total)
        kinds = {column.kind for group in _groups(graph, cs) for column in group.columns[:1]}
        assert "flat" in kinds
        engine = pl.Engine(graph, pl.Execute(cs), checks="strict")
        with pytest.raises(
            pl.TensorIndexError, match=f"vertex {faulty} of 'Second' on tile 0: .*0 of 0"
        ):
            engine.run()

    def test_vertices_of_a_block_that_race_are_named(
        self, graph: pl.Graph, cs: pl.ComputeSet
    ) -> None:
        x, z = variable(graph, pl.FLOAT, 1000, name="x"), variable(graph, pl.FLOAT, 999, name="z")
        targets = np.arange(1000) % 999
        graph.add_vertices(cs, Add, tile=1, x=x, y=x, z=z.slices(targets))
        match = (
            r"(?s)vertex 0 of 'Add' on tile 1 writes what vertex 999 of 'Add' on tile 1 "
            r"also writes.*'z'\[0\]"
        )
        with pytest.raises(pl.GraphCycleError, match=match):
            pl.Engine(graph, pl.Execute(cs))

    def test_blocks_race_with_each_other(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x, z = variable(graph, pl.FLOAT, 300), variable(graph, pl.FLOAT, 600, name="z")
        halves = z.sub_sample(2, 0), z[1:].sub_sample(2, 0)
        blocks = [graph.add_vertices(cs, Add, tile=0, x=x, y=1.0, z=half) for half in halves]
        engine = pl.Engine(graph, pl.Execute(cs))
        engine.write(x, 0)
        engine.run()
        third = graph.add_vertices(cs, Add, tile=0, x=x[:1], y=1.0, z=z[7:8])
        both = (
            rf"(?s)vertex 303 of 'Add' on tile 0 writes what vertex 600 of 'Add' on "
            rf"tile 0 also writes.*"
            rf"{blocks[1].location}.*{third.location}"
        )
        with pytest.raises(pl.GraphCycleError, match=both):
            pl.Engine(graph, pl.Execute(cs))

    def test_lists_over_several_variables(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        """Variables of equal sizes lie at even distances, but are no matrix."""
        rows = [[variable(graph, pl.INT, 5), variable(graph, pl.INT, 5)] for _ in range(3)]
        total = variable(graph, pl.INT, 3)
        block = graph.add_vertices(cs, Sum, tile=0, rows=rows, total=total)
        assert [list(vertex.connections["rows"]) for vertex in block] == rows
        engine = pl.Engine(graph, pl.Execute(cs))
        for k, row in enumerate([tensor for pair in rows for tensor in pair]):
            engine.write(row, 10**k)
        engine.run()
        assert engine.read(total).tolist() == [55, 5500, 550_000]

    def test_many_races_are_counted(self, graph: pl.Graph, cs: pl.ComputeSet) -> None:
        x = variable(graph, pl.FLOAT, 20_001)
        graph.add_vertices(cs, Add, tile=0, x=x[1:], y=1.0, z=x[:-1])
        with pytest.raises(pl.GraphCycleError, match=r"(?s)19,999 races found.*19,994 more races"):
            pl.Engine(graph, pl.Execute(cs))


class TestMemory:
    COUNT = 50_000

    def held(self, irregular: bool) -> float:
        """Bytes a vertex that stay once an engine is made, beyond its memory."""
        random = np.random.default_rng(0)
        pl.Engine(*self.small())  # what is imported stays too
        graph = pl.Graph()
        tensors = [variable(graph, pl.FLOAT, self.COUNT, name=name) for name in "xyz"]
        cs = graph.add_compute_set("add")
        gc.collect()
        tracemalloc.start()
        given: dict[str, Any] = dict(zip("xyz", tensors, strict=True))
        tiles = np.arange(self.COUNT) * 1472 // self.COUNT
        if irregular:
            order = {name: random.permutation(self.COUNT) for name in given}
            given = {name: tensor.slices(order.pop(name)) for name, tensor in given.items()}
            tiles = random.permutation(tiles)
        graph.add_vertices(cs, Add, tile=tiles, **given)
        del given, tiles
        engine = pl.Engine(graph, pl.Execute(cs), checks="fast")
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return (held - simulated(engine).arena.bytes.nbytes) / self.COUNT

    def small(self) -> tuple[pl.Graph, pl.Execute]:
        graph = pl.Graph()
        cs = graph.add_compute_set("add")
        x, order = variable(graph, pl.FLOAT, 9000), np.random.default_rng(1).permutation(9000)
        given = {"x": x[:4500].slices(order[:4500] // 2), "y": 1.0, "z": x[4500:]}
        graph.add_vertices(cs, Add, tile=0, **given)
        return graph, pl.Execute(cs)

    @deep
    def test_regular_vertices(self) -> None:
        assert self.held(irregular=False) <= 16

    def test_irregular_vertices(self) -> None:
        assert self.held(irregular=True) <= 3 * 4 + 16
