"""QUARTER tensors in a graph: where metadata comes from, and where it is missing or unlike."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl

T = TypeVar("T", bound=pl.ElementType[Any])
F143 = pl.QuarterMetadata("F143", scale=-2)
F152 = pl.QuarterMetadata("F152", scale=3)


class Double(pl.Vertex):
    """Doubles quarters."""

    x: pl.Input[pl.Vector[pl.QUARTER]]
    y: pl.Output[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = 2 * self.x[i]


class AddRows(pl.Vertex):
    """Adds the rows of a list."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.QUARTER]]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for r in range(len(self.rows)):
            for value in self.rows[r]:
                total += value
        self.total = total


class Rescale(pl.Vertex):
    """Reads a quarter and raises its scale by one."""

    metadata: pl.InOut[pl.QUARTER_METADATA]
    x: pl.Input[pl.QUARTER]
    before: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.metadata += 1
        self.before = self.x


@pytest.fixture
def graph() -> pl.Graph:
    """A graph of two tiles."""
    return pl.Graph(pl.Target(tiles=2))


def quarters(graph: pl.Graph, name: str, metadata: Any = F143, n: int = 8) -> pl.Tensor:
    return graph.add_variable(pl.QUARTER, (n,), name, mapping=0, metadata=metadata)


def test_metadata_is_a_constant_beside_the_variable(graph: pl.Graph) -> None:
    with graph.scope("conv"):
        x = quarters(graph, "x")
    assert x.has_metadata()
    assert x.hasMetadata()
    metadata = x.metadata
    assert metadata is not None
    assert metadata == x.getMetadata()
    assert (metadata.name, metadata.shape) == ("conv/x/metadata", ())
    assert metadata.element_type is pl.QUARTER_METADATA
    assert metadata.constant_value() == F143.to_byte()
    assert graph.tile_mapping(metadata)[0] == [pl.Interval(0, 1)]


def test_every_view_has_the_same_metadata(graph: pl.Graph) -> None:
    x = quarters(graph, "x")
    views = [x[2:5], x.reshape((2, 4)).T, x.reverse(0), x.broadcast(3, 0), pl.concat(x, x)]
    assert [view.metadata for view in views] == [x.metadata] * len(views)


def test_other_types_have_none(graph: pl.Graph) -> None:
    h = graph.add_variable(pl.HALF, (4,))
    assert h.metadata is None
    assert not h.has_metadata()
    assert quarters(graph, "x").reinterpret(pl.UNSIGNED_CHAR).metadata is None
    message = r"^'h': metadata is given for HALF, but only QUARTER has it  \(.*test_metadata\.py"
    with pytest.raises(pl.TensorMetadataError, match=message):
        graph.add_variable(pl.HALF, (4,), "h", metadata=F143)


def test_quarter_without_metadata_is_refused_and_leaves_nothing(graph: pl.Graph) -> None:
    with pytest.raises(pl.TensorMetadataError, match="^'x': a QUARTER variable needs metadata"):
        graph.add_variable(pl.QUARTER, (4,), "x")
    with pytest.raises(pl.TensorMetadataError, match="^'x': a QUARTER variable needs metadata"):
        graph.add_constant(pl.QUARTER, (4,), 1.0, "x")
    with pytest.raises(
        pl.SizeOverflowError, match=r"^'x': 63\.0 does not fit QUARTER with Quarter"
    ):
        graph.add_variable(pl.QUARTER, (4,), "x", metadata=F143, initial_value=63.0)
    assert graph.variables == ()
    assert quarters(graph, "x").name == "x"


@pytest.mark.parametrize(
    "wrong",
    [3, "F143", pl.QuarterFormat.F143, "a vector", "another type"],
)
def test_what_is_no_metadata(graph: pl.Graph, wrong: Any) -> None:
    if wrong == "a vector":
        wrong = graph.add_variable(pl.QUARTER_METADATA, (2,))
    elif wrong == "another type":
        wrong = graph.add_variable(pl.UNSIGNED_CHAR, ())
    with pytest.raises(pl.TensorMetadataError, match=r"^'x': .* is not the metadata of a QUARTER"):
        quarters(graph, "x", wrong)


def test_metadata_of_another_graph(graph: pl.Graph) -> None:
    foreign = pl.Graph().add_variable(pl.QUARTER_METADATA, (), "m", mapping=0)
    with pytest.raises(pl.TensorMetadataError, match="'x': its metadata 'm' belongs to another gr"):
        quarters(graph, "x", foreign)


def test_unlike_metadata_is_not_joined_or_copied(graph: pl.Graph) -> None:
    x, same, other = quarters(graph, "x"), quarters(graph, "same"), quarters(graph, "other", F152)
    own = graph.add_variable(pl.QUARTER_METADATA, (), "own", mapping=0)
    changing = quarters(graph, "changing", own)
    assert pl.concat(x, same).shape == (16,)
    pl.Copy(x, same)
    for unlike, has in ((other, repr(F152)), (changing, "'own', which programs may change")):
        message = re.escape(f"'x' has {F143}, but '{unlike.name}' has {has}")
        with pytest.raises(pl.TensorMetadataError, match=f"^concat of tensors 0 and 1: {message}"):
            pl.concat(x, unlike)
        with pytest.raises(pl.TensorMetadataError, match=f"^Copy 'x' -> '.*': {message}"):
            pl.Copy(x, unlike)
    codes = pl.concat([t.reinterpret(pl.UNSIGNED_CHAR) for t in (x, other)])
    assert codes.shape == (16,)
    with pytest.raises(pl.TensorMetadataError, match="^reinterpret as QUARTER: 'x' has Quarter"):
        codes.reinterpret(pl.QUARTER)
    assert codes[:8].reinterpret(pl.QUARTER) == x


def test_codes_of_another_type_have_no_metadata(graph: pl.Graph) -> None:
    codes = graph.add_variable(pl.UNSIGNED_CHAR, (4,), "codes")
    message = "^reinterpret as QUARTER: 'codes' has no metadata"
    with pytest.raises(pl.TensorMetadataError, match=message) as caught:
        codes.reinterpret(pl.QUARTER)
    assert caught.value.found.startswith("<Variable 'codes' uint8[4]> was not created as QUARTER")


def test_a_constant_holds_values(graph: pl.Graph) -> None:
    taps = graph.add_constant(pl.QUARTER, (3,), [0.25, -1, 60], "taps", mapping=0, metadata=F143)
    assert taps[2].constant_value() == 60
    assert graph.variables[0].initial_value is not None
    assert graph.variables[0].initial_value.dtype == np.uint8


def test_the_host_writes_and_reads_values(graph: pl.Graph) -> None:
    own = graph.add_variable(
        pl.QUARTER_METADATA, (), "own", mapping=1, initial_value=F143.to_byte()
    )
    x = quarters(graph, "x", own)
    engine = pl.Engine(graph, pl.Sequence())
    values = np.array([0, 0.25, -0.5, 60, 1, 2, 3, 4], np.float32)
    engine.write(x, values)
    assert engine.read(x).dtype == np.float32
    assert engine.read(x).tolist() == values.tolist()
    codes = engine.read(x.reinterpret(pl.UNSIGNED_CHAR))
    engine.write(own, pl.QuarterMetadata("F143", scale=0))
    assert engine.read(own) == pl.QuarterMetadata("F143").to_byte()
    assert engine.read(x).tolist() == (4 * values).tolist()
    assert engine.read(x.reinterpret(pl.UNSIGNED_CHAR)).tolist() == codes.tolist()
    message = (
        r"^engine.write to 'x': 248\.0 does not fit QUARTER with QuarterMetadata\('F143', scal"
    )
    with pytest.raises(pl.SizeOverflowError, match=message) as caught:
        engine.write(x, np.full(8, 248.0))
    assert caught.value.found == "it ranges from -240 to 240, and NaN"
    with pytest.raises(pl.SizeOverflowError, match="engine.write to 'x': inf does not fit QUARTER"):
        engine.write(x, np.inf)
    with pytest.raises(pl.ElementTypeError, match="cannot be stored as QUARTER"):
        engine.write(x, F143)


def test_no_elements_are_read_as_values_and_written(graph: pl.Graph) -> None:
    x = quarters(graph, "x")
    none = graph.add_variable(pl.QUARTER, (0,), "none", mapping=0, metadata=F152)
    engine = pl.Engine(graph, pl.Sequence())
    for empty in (x[3:3], none):
        engine.write(empty, [])
        assert engine.read(empty).dtype == np.float32
        assert engine.read(empty).shape == (0,)


def test_views_without_elements_keep_their_metadata(graph: pl.Graph) -> None:
    x = quarters(graph, "x", F152)
    none = graph.add_variable(pl.QUARTER, (0, 2), "none", mapping=0, metadata=F143)
    for empty in (x[3:3], x[3:3].reshape((0, 4)), x.broadcast(0, 0), pl.concat([x[:0], x[1:1]])):
        assert empty.metadata == x.metadata
        assert graph.clone(empty).has_metadata()
    assert none.T[0:1].metadata == none.metadata != x.metadata
    codes = x.reinterpret(pl.UNSIGNED_CHAR)
    assert not codes[:0].has_metadata()
    assert codes[:0].reinterpret(pl.QUARTER).metadata == x.metadata
    assert x[:0].reinterpret(pl.UNSIGNED_CHAR).reinterpret(pl.QUARTER).metadata == x.metadata
    assert x[:0] == none[:, 0]


def test_values_of_no_elements_are_stored_with_metadata(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.QUARTER, (0,), "x", metadata=F152, initial_value=[])
    k = graph.add_constant(pl.QUARTER, (0,), [], "k", metadata=F152)
    graph.set_initial_value(x, [])
    graph.set_initial_value(quarters(graph, "y")[2:2], [])
    assert x.shape == k.shape == (0,)
    assert x.metadata != k.metadata
    with pytest.raises(pl.TensorCreationError, match="1 value"):
        graph.set_initial_value(x, [1.0])


@pytest.mark.parametrize("interpret", [False, True])
def test_rows_without_elements_do_not_say_what_others_mean(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    none = graph.add_variable(pl.QUARTER, (0,), "none", mapping=0, metadata=F152)
    x = graph.add_variable(pl.QUARTER, (4,), "x", mapping=0, metadata=F143, initial_value=0.25)
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, AddRows, tile=0, rows=[none, x], total=total)
    engine = pl.Engine(graph, pl.Execute(add), interpret=interpret)
    engine.run()
    assert engine.read(total) == 1.0


@pytest.mark.parametrize("interpret", [False, True])
def test_vertices_decode_and_encode(graph: pl.Graph, interpret: bool) -> None:
    x, y = quarters(graph, "x"), quarters(graph, "y", F152)
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0, initial_value=0)
    double, add = graph.add_compute_set("double"), graph.add_compute_set("add")
    graph.add_vertex(double, Double, tile=0, x=x, y=y)
    graph.add_vertex(add, AddRows, tile=0, rows=[y[:3], y[5:], y[0:0]], total=total)
    program = pl.Sequence(pl.Execute(double), pl.Execute(add))
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.write(x, [0.25, 0.5, 1, 2, 4, 8, 16, 44])
    engine.run()
    # Of F152 with scale 3, the least step is 2**-14 and two mantissa bits are left.
    assert engine.read(y).tolist() == [0.5, 1, 2, 4, 8, 16, 32, 96]
    assert engine.read(total) == 0.5 + 1 + 2 + 16 + 32 + 96


@pytest.mark.parametrize("interpret", [False, True])
def test_a_vertex_reads_metadata_from_before_it_ran(graph: pl.Graph, interpret: bool) -> None:
    own = graph.add_variable(pl.QUARTER_METADATA, (), "own", mapping=0)
    x = quarters(graph, "x", own, 1)
    before = graph.add_variable(pl.FLOAT, (), "before", mapping=0, initial_value=0)
    rescale = graph.add_compute_set()
    graph.add_vertex(rescale, Rescale, tile=0, metadata=own, x=x[0], before=before)
    engine = pl.Engine(graph, pl.Execute(rescale), interpret=interpret)
    engine.write(own, pl.QuarterMetadata("F143"))
    engine.write(x, [3.0])
    engine.run()
    assert engine.read(before) == 3.0
    assert engine.read(x).tolist() == [6.0]


def test_metadata_of_a_field_is_no_field_to_connect(graph: pl.Graph) -> None:
    x = quarters(graph, "x")
    assert x.metadata is not None
    vertex = graph.add_vertex(graph.add_compute_set(), Double, tile=0, x=x)
    assert [str(field) for field in Double.fields.values()][:2] == [
        "x: Input[Vector[QUARTER]]",
        "x.metadata: Input[QUARTER_METADATA]",
    ]
    message = r"'x\.metadata' is connected with 'x', and cannot be connected alone"
    with pytest.raises(pl.GraphConnectionError, match=message):
        graph.connect(vertex["x.metadata"], x.metadata)
    with pytest.raises(pl.GraphConnectionError, match="field 'y' is not connected") as caught:
        pl.Engine(graph, pl.Execute(graph.compute_sets[0]))
    assert "x.metadata" not in caught.value.what + caught.value.found


def test_rows_of_one_list_have_one_metadata(graph: pl.Graph) -> None:
    x, other = quarters(graph, "x"), quarters(graph, "other", F152)
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set("add")
    message = re.escape(f"field 'rows': 'x' has {F143}, but 'other' has {F152}")
    with pytest.raises(pl.TensorMetadataError, match=message):
        graph.add_vertex(compute_set, AddRows, tile=0, rows=[x, other], total=total)
    vertex = graph.add_vertex(compute_set, AddRows, tile=0, total=total)
    graph.connect(vertex["rows"][0], x)
    with pytest.raises(pl.TensorMetadataError, match=message):
        graph.connect(vertex["rows"][1], other)


def test_a_number_has_no_metadata(graph: pl.Graph) -> None:
    class Fill(pl.Vertex):
        value: pl.Input[pl.QUARTER]
        x: pl.Output[pl.QUARTER]

        def compute(self) -> None:
            self.x = self.value

    x = quarters(graph, "x", n=1)
    with pytest.raises(pl.TensorMetadataError, match="a value for QUARTER needs metadata"):
        graph.add_vertex(graph.add_compute_set(), Fill, tile=0, value=0.5, x=x[0])


def test_state_of_quarter_is_refused() -> None:
    message = r"^vertex class 'Held': field 'k' is State of QUARTER, but state has no metadata"
    with pytest.raises(pl.VertexDefinitionError, match=message):

        class Held(pl.Vertex):
            k: pl.State[pl.QUARTER]

            def compute(self) -> None:
                pass


def test_a_template_of_quarter_is_refused_at_the_users_line(graph: pl.Graph) -> None:
    class Held(pl.Vertex, Generic[T]):
        k: pl.State[T]
        x: pl.InOut[T]

        def compute(self) -> None:
            pass

    vertex = graph.add_vertex(graph.add_compute_set(), Held, tile=0)
    with pytest.raises(pl.VertexDefinitionError, match="field 'k' is State of QUARTER") as caught:
        graph.connect(vertex["x"], quarters(graph, "x", n=1)[0])
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert vertex.vertex_class is Held


def test_writing_metadata_races_with_reading_quarters(graph: pl.Graph) -> None:
    class Set(pl.Vertex):
        metadata: pl.Output[pl.QUARTER_METADATA]

        def compute(self) -> None:
            self.metadata = 3

    own = graph.add_variable(pl.QUARTER_METADATA, (), "own", mapping=0)
    x, y = quarters(graph, "x", own), quarters(graph, "y", own)
    both = graph.add_compute_set("both")
    graph.add_vertex(both, Double, tile=0, x=x, y=y)
    graph.add_vertex(both, Set, tile=1, metadata=own)
    with pytest.raises(pl.GraphCycleError, match="own"):
        pl.Engine(graph, pl.Execute(both))
