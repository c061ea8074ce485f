"""Graphs as files: what comes back is what was built, and what cannot be is refused."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from helpers.fuzz_files import program as program_with_everything
from helpers.made import tiles_made
from helpers.mutated_files import mutated
from poplite.codec import file_formats
from poplite.testing.strategies import tensors

T = TypeVar("T")
Classes = dict[str, type[pl.Vertex]]
Damage = Callable[[dict[str, Any]], object]

SCRIPT = '''
from typing import Annotated
import poplite as pl

class Scale(pl.Vertex):
    """Scales a vector."""

    a: pl.State[pl.FLOAT]
    x: Annotated[pl.InOut[pl.Vector[pl.FLOAT]], pl.Layout(min_align=8)]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.a * self.x[i]
'''


class Sums(pl.Vertex):
    """Adds rows, one result each."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    weights: pl.State[pl.Vector[pl.INT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add."""
        for row in range(len(self.rows)):
            total = 0.0
            for i in range(len(self.rows[row])):
                total += self.rows[row][i]
            self.out[row] = total * self.weights[row]


class One(pl.Vertex):
    """One element of each."""

    k: pl.Input[pl.INT]
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Multiply."""
        self.y = self.x * self.k


class Quarters(pl.Vertex):
    """Has metadata beside its elements."""

    q: pl.Input[pl.Vector[pl.QUARTER]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Count."""
        self.y = 1.0 * len(self.q)


def built() -> tuple[pl.Graph, dict[str, pl.Program]]:
    """A graph with every kind of edge, of vertices by themselves and of blocks."""
    graph = pl.Graph(pl.Target(tiles=8))
    x = graph.add_variable(pl.FLOAT, (12, 6), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (12,), "y", mapping=3)
    z = graph.add_variable(pl.FLOAT, (12,), "z", mapping=[[], [(5, 12)], [(0, 5)]])
    n = graph.add_variable(pl.INT, (12,), "n", mapping=1, initial_value=np.arange(12))
    q = graph.add_variable(pl.QUARTER, (4,), "q", mapping=2, metadata=pl.QuarterMetadata("F143", 2))
    sums, ones, quarters, blocks = map(graph.add_compute_set, ("sums", "ones", "quarters", "all"))
    graph.add_vertex(sums, Sums, tile=0, rows=x[:3], weights=[1, 2, 3], out=y[:3])
    apart = graph.add_vertex(
        sums, Sums, tile=1, rows=[x[3, :2], x.T[2]], weights=[4, 5], out=y[3:5]
    )
    graph.set_perf_estimate(apart, 120, flops=7)
    lone = graph.add_vertex(sums, Sums, tile=2, weights=[6], out=y[5:6])
    graph.set_field_size(lone["rows"], 3)
    graph.connect(lone["rows"][1], x[5])
    graph.add_vertex(ones, One, k=3, x=x[0, 0], y=y[6])
    graph.add_vertex(quarters, Quarters, tile=2, q=q, y=y[7])
    graph.add_vertex(quarters, Quarters, tile=2, q=q[:0], y=y[8])
    graph.add_vertices(blocks, One, tile=np.arange(12) % 8, k=n, x=x[:, 0], y=z)
    graph.add_vertices(blocks, One, tile=0, k=2, x=[y[1], x[4, 4]], y=y[9:11])
    ragged = [[x[0], x[1, :4]], [x.T[1, :3]], []]
    more = graph.add_variable(pl.FLOAT, (3,), "more", mapping=0)
    outs = more.slices([(0, 2), (2, 3), (3, 3)])
    graph.add_vertices(
        blocks, Sums, tile=[5, 6, 7], rows=ragged, weights=[[1, 1], [2], []], out=outs
    )
    columns = graph.add_variable(pl.FLOAT, (6, 2), "columns", mapping=1)
    halves = x.reshape((6, 2, 6))
    block = graph.add_vertices(
        blocks, Sums, tile=4, rows=halves, weights=np.ones((6, 2), int), out=columns
    )
    graph.set_perf_estimate(block, np.arange(6))
    graph.add_vertices(blocks, One, tile=[], k=n[:0], x=y[:0], y=z[:0])
    main = pl.Sequence(pl.Execute(ones), pl.Copy(x[0].reverse(0), x[1]), name="main")
    return graph, {"main": main, "blocks": pl.Repeat(2, pl.Execute(quarters))}


def saved(graph: pl.Graph, programs: Any = ()) -> bytes:
    file = io.BytesIO()
    graph.serialize(file, programs)
    return file.getvalue()


def loaded(content: bytes, vertices: Any = ()) -> tuple[pl.Graph, dict[str, pl.Program]]:
    return pl.Graph.deserialize(io.BytesIO(content), vertices)


# -- what comes back -------------------------------------------------------------------------------


def test_a_graph_comes_back_as_it_was_built() -> None:
    graph, programs = built()
    content = saved(graph, programs)
    again, found = loaded(content)
    assert repr(again) == repr(graph)
    assert list(map(str, found.values())) == list(map(str, programs.values()))
    for one, other in zip(graph.variables, again.variables, strict=True):
        assert (one.name, one.shape, one.element_type) == (
            other.name,
            other.shape,
            other.element_type,
        )
        assert one.location.line == other.location.line
        tiles = [
            whole.tile_mapping(whole.tensor(one.name), require_complete=False)
            for whole in (graph, again)
        ]
        assert tiles[0] == tiles[1]
        assert np.array_equal(one.initial_value, other.initial_value)  # type: ignore[arg-type]
    for cs, its in zip(graph.compute_sets, again.compute_sets, strict=True):
        for vertex, other_vertex in zip(cs.vertices, its.vertices, strict=True):
            assert described(vertex) == described(other_vertex)


def described(vertex: pl.VertexInstance) -> tuple[Any, ...]:
    """A vertex in words that do not depend on its graph."""

    def intervals(tensor: Any) -> Any:
        if isinstance(tensor, tuple):
            return tuple(map(intervals, tensor))
        regions = tensor.var_regions()
        names = [variable.name for variable in regions.variables]
        rows = zip(regions.number, regions.begin, regions.end, strict=True)
        return tensor.shape, tensor.element_type, [(names[k], a, b) for k, a, b in rows]

    return (
        *(vertex.vertex_class, vertex.tile, vertex.location.line, vertex.estimate, vertex.numbers),
        {name: intervals(tensor) for name, tensor in vertex.connections.items()},
        {name: {k: intervals(t) for k, t in held.items()} for name, held in vertex.rows.items()},
        {name: np.asarray(value).tolist() for name, value in vertex.state.items()},
        dict(vertex.sizes),
    )


def pooled() -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return windows whose sums begin at even distances, which their edges say in two numbers."""
    graph = pl.Graph(pl.Target(tiles=8))
    x = graph.add_variable(pl.FLOAT, (1, 1, 10, 10), "x", mapping="linear")
    with graph.steps() as steps:
        pl.ops.nn.average_pool(x, (3, 1), stride=(2, 3))
    return graph, {"main": steps}


@pytest.mark.parametrize("make", [built, program_with_everything, pooled])
def test_equal_graphs_are_equal_bytes(make: Callable[[], tuple[pl.Graph, Any]]) -> None:
    content, again = [saved(*make()) for _ in range(2)]
    assert again == content
    assert saved(*loaded(content)) == content


def test_what_is_compiled_of_a_loaded_graph_is_the_same(tmp_path: Path) -> None:
    graph, programs = program_with_everything()
    again, found = loaded(saved(graph, programs))
    for name, compiled in (("a", (graph, programs)), ("b", (again, found))):
        pl.compile_graph(*compiled).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@examples(30)
@given(tensors())
def test_any_view_comes_back(t: Any) -> None:
    tensor = t.tensor
    program = pl.PrintTensor("t", tensor)
    again, found = loaded(saved(tensor.graph, program))
    shown = found["0"]
    assert isinstance(shown, pl.PrintTensor)
    assert shown.tensor.shape == tensor.shape
    assert shown.tensor.view.flat_digits() == tensor.view.flat_digits()
    one, other = tensor.var_regions(), shown.tensor.var_regions()
    assert np.array_equal(one.begin, other.begin)
    assert np.array_equal(one.end, other.end)
    assert saved(again, found) == saved(tensor.graph, program)


def test_addresses_that_nothing_uses_do_not_matter() -> None:
    """A call that fails makes no variable, but its addresses are not used again."""

    def graph_of(*, fails: bool) -> pl.Graph:
        graph = pl.Graph(pl.Target(tiles=2))
        if fails:
            with pytest.raises(pl.TensorCreationError):
                graph.add_variable(pl.FLOAT, (5,), "x", initial_value=[1, 2])
        x, y = (graph.add_variable(pl.FLOAT, (4,), name, mapping=0) for name in "xy")
        k = graph.add_variable(pl.INT, (4,), "k", mapping=0)
        graph.add_vertices(graph.add_compute_set("ones"), One, tile=0, k=k, x=x, y=y)
        views = [x[3], x[1]]
        graph.add_vertices(graph.add_compute_set("two"), One, tile=0, k=k[:2], x=views, y=y[:2])
        return graph

    whole, gap = graph_of(fails=False), graph_of(fails=True)
    assert gap.variables[0].base > whole.variables[0].base
    first, second = (loaded(saved(each))[0] for each in (whole, gap))
    for one, other in zip(first.compute_sets, second.compute_sets, strict=True):
        connected = [described(vertex)[5] for vertex in one.vertices]
        assert connected == [described(vertex)[5] for vertex in other.vertices]


def zipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_text_and_bytes_hold_the_same(tmp_path: Path) -> None:
    graph, programs = built()
    graph.save(tmp_path / "work.graph", programs)
    text = io.StringIO()
    graph.serialize(text, programs, pl.SerializationFormat.JSON)
    again, found = pl.Graph.deserialize(io.StringIO(text.getvalue()))
    assert saved(again, found) == (tmp_path / "work.graph").read_bytes() == saved(graph, programs)


def test_a_virtual_graph_saves_all_of_it() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    half = graph.create_virtual_graph(0, 2)
    half.add_variable(pl.INT, (4,), "x", mapping=1)
    again = loaded(saved(half))[0]
    assert again.target == graph.target
    assert again.tile_mapping(again.tensor("x"))[1] == [(0, 4)]


def test_operations_on_loaded_tensors_keep_to_the_virtual_graph_of_these() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    for name, tiles in {"x": [9, 5, 6], "y": [2, 3], "z": [9, 5, 6]}.items():
        made = graph.create_virtual_graph(tiles)
        made.add_variable(pl.FLOAT, (32, 32), name, mapping="linear")
    graph.add_variable(pl.FLOAT, (32, 32), "t", mapping="linear")
    content = saved(graph)
    again = loaded(content)[0]
    assert saved(again) == content
    own = {"x": {5, 6, 9}, "y": {2, 3}, "z": {5, 6, 9}, "t": {*range(16)}}
    for name, only in own.items():
        used = []
        for of in (graph, again):
            tensor = of.tensor(name)
            with of.steps():
                used.append(tiles_made(of, lambda x=tensor: pl.ops.map(x @ x * 2)))  # type: ignore[misc]
        assert used[0] == used[1] <= only


def test_variables_of_a_virtual_graph_or_an_operation_that_a_file_lacks_are_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    half = graph.create_virtual_graph(2, 4)
    x = half.add_variable(pl.FLOAT, (4, 4), "x", mapping=1)
    with half.steps() as work:
        pl.ops.map(pl.ops.nn.softmax(x, 1))
    content = saved(graph, work)
    damage: dict[str, Damage] = {
        "the virtual graph of variable 'x' is not listed": lambda m: m["graph"]["variables"][
            0
        ].update(home=1),
        "create_virtual_graph: tiles [] selects no tile": lambda m: m["graph"]["virtual_graphs"][
            0
        ].__setitem__(2, [0]),
        "[1, 100] must be the numbers of variables up to": lambda m: next(
            node for node in m["nodes"] if len(node[2]) == 3
        )[2].__setitem__(2, [1, 100]),
    }
    for told, change in damage.items():
        members = zipped(content)
        manifest = json.loads(members["manifest.json"])
        change(manifest)
        with pytest.raises(pl.FileLoadError) as refusal:
            loaded(of_members(members | {"manifest.json": json.dumps(manifest).encode()}))
        assert told in str(refusal.value)


# -- vertex classes --------------------------------------------------------------------------------


@pytest.fixture
def of_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A graph whose vertex class stands in a module that is not imported."""
    (tmp_path / "scaling.py").write_text(SCRIPT)
    monkeypatch.syspath_prepend(str(tmp_path))
    import scaling  # type: ignore[import-not-found]

    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=1, initial_value=1)
    cs = graph.add_compute_set("scale")
    graph.add_vertex(cs, scaling.Scale, tile=1, a=2.0, x=x)
    content = saved(graph, pl.Execute(cs))
    del scaling
    sys.modules.pop("scaling")
    return content


def test_a_graph_without_its_classes_is_drawn_and_not_compiled(of_script: bytes) -> None:
    import gc

    gc.collect()
    # The class of the fixture may live on; a name of the file is never imported.
    content = renamed(of_script, "Scale", "Gone")
    graph, programs = loaded(content)
    assert "scaling" not in sys.modules
    (vertex,) = graph.compute_sets[0].vertices
    assert str(vertex) == "vertex 0 of 'Gone' on tile 1"
    assert [str(field) for field in vertex.vertex_class.fields.values()] == [
        "a: State[FLOAT]",
        "x: InOut[Vector[FLOAT]] with SPAN, min_align 8",
    ]
    graph.output_vertex_graph(text := io.StringIO(), programs.values())
    assert "scale" in text.getvalue()
    with pytest.raises(
        pl.VertexCompileError, match="no class with that name was passed"
    ) as refusal:
        pl.compile_graph(graph, programs)
    assert "vertices=[Gone]" in refusal.value.fix
    assert "module 'scaling'" in refusal.value.found
    with pytest.raises(pl.UnknownVertexType, match="0 vertex classes called 'Gone'"):
        graph.add_vertex(graph.compute_sets[0], "Gone")
    assert saved(graph, programs) == content


def renamed(content: bytes, old: str, new: str) -> bytes:
    members = zipped(content)
    members["manifest.json"] = members["manifest.json"].replace(old.encode(), new.encode())
    return of_members(members)


def of_members(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data)
    return made.getvalue()


def test_classes_are_found_by_the_module_that_is_given(of_script: bytes) -> None:
    import scaling

    graph, programs = loaded(of_script, [scaling])
    assert graph.compute_sets[0].vertices[0].vertex_class is scaling.Scale
    engine = pl.Engine(graph, programs, interpret=True)
    engine.run()
    assert engine.read(graph.tensor("x")).tolist() == [2] * 8
    with pytest.raises(
        pl.ElementTypeError,
        match=r"vertices must be vertex classes and modules; "
        r"found 'Scale'",
    ):
        loaded(of_script, ["Scale"])


def test_a_class_with_other_fields_is_another_one(of_script: bytes) -> None:
    class Gone(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.HALF]]

        def compute(self) -> None:
            """Do nothing."""

    graph, programs = loaded(renamed(of_script, "Scale", "Gone"), [Gone])
    with pytest.raises(pl.VertexCompileError, match="declares different fields"):
        pl.compile_graph(graph, programs)


def factory(factor: int, cost: int = 5, rounding: int = 1) -> type[pl.Vertex]:
    """A class that is called Scale, as every other one of this function."""
    base = rounding * 2

    class Scale(pl.Vertex):
        x: pl.InOut[pl.INT]

        def compute(self) -> None:
            self.x = self.x * factor

        def cycles(self, target: pl.Target) -> int:
            return cost + base

    return Scale


def pairs(second: type[pl.Vertex], first: type[pl.Vertex]) -> bytes:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=1)
    cs = graph.add_compute_set("scale")
    for tile in range(4):
        graph.add_vertex(cs, first if tile < 2 else second, tile=tile, x=x[tile])
    return saved(graph, pl.Execute(cs))


def values_of(content: bytes, vertices: Any = ()) -> list[int]:
    engine = pl.Engine(*loaded(content, vertices), interpret=True)
    engine.run()
    found: list[int] = engine.read("x").tolist()
    return found


def test_classes_of_one_name_are_told_apart_by_their_code() -> None:
    twice, thrice = factory(2), factory(3)
    content = pairs(thrice, twice)
    assert values_of(content) == [2, 2, 3, 3]
    assert values_of(content, [thrice, twice]) == [2, 2, 3, 3]
    assert values_of(content, [twice]) == [2, 2, 3, 3]  # the other is found in its module


def test_classes_of_one_name_are_told_apart_by_their_cycles() -> None:
    cheap, dear, base = factory(2, cost=5), factory(2, cost=500), factory(2, rounding=4)
    for second in (dear, base):
        graph, _ = loaded(pairs(second, cheap), [dear, cheap, base])
        classes = [vertex.vertex_class for vertex in graph.compute_sets[0].vertices]
        assert classes == [cheap, cheap, second, second]


def test_templates_of_one_name_are_told_apart() -> None:
    def template(factor: int) -> Any:
        class Scaled(pl.Vertex, Generic[T]):
            x: pl.InOut[T]

            def compute(self) -> None:
                self.x = self.x * factor

        return Scaled

    twice, thrice = template(2), template(3)
    content = pairs(thrice[pl.INT], twice[pl.INT])
    assert values_of(content, [thrice, twice]) == [2, 2, 3, 3]


def test_a_class_that_changed_is_drawn_and_not_compiled() -> None:
    import gc

    content = renamed(pairs(factory(7), factory(7)), "Scale", "Changed")
    gc.collect()
    changed = factory(8)
    changed.__qualname__ = "factory.<locals>.Changed"
    graph, programs = loaded(content, [changed])
    with pytest.raises(pl.VertexCompileError, match="has changed since") as e:
        pl.compile_graph(graph, programs)
    assert "'factor' in compute: 8; saved with 7" in str(e.value)
    assert saved(graph, programs) == content


class Many(pl.MultiVertex):
    x: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        if worker == 0:
            self.x += self.num_workers


class Seven(pl.Vertex, Generic[T]):
    x: pl.InOut[T]

    def compute(self) -> None:
        self.x = self.x * 7


@pytest.mark.parametrize("cls", [Many, Seven[pl.INT]])
def test_a_graph_keeps_its_classes_where_they_are_missing(cls: type[pl.Vertex]) -> None:
    name = cls.__name__.partition("[")[0]
    content = renamed(pairs(cls, cls), name, "Gone")
    kept = saved(*loaded(content))
    assert kept == content
    assert values_of(renamed(kept, "Gone", name)) == [7] * 4


def test_a_missing_multi_vertex_with_another_number_of_workers_is_kept() -> None:
    content = renamed(pairs(Many, Many), '"num_workers"', '"y"')
    assert saved(*loaded(content)) == content


def test_a_file_without_code_takes_no_class_of_several() -> None:
    twice, thrice = factory(2), factory(3)
    members = zipped(pairs(twice, twice))
    manifest = json.loads(members["manifest.json"])
    for each in manifest["classes"]:
        del each["code"]
    old = of_members(members | {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(pl.VertexCompileError, match="the file does not say which"):
        values_of(old, [twice, thrice])


def test_a_template_without_types_is_not_saved() -> None:
    class Open(pl.Vertex, Generic[T]):
        x: pl.Input[T]
        y: pl.Output[T]

        def compute(self) -> None:
            """Copy."""
            self.y = self.x

    graph = pl.Graph(pl.Target(tiles=2))
    cs = graph.add_compute_set("open")
    vertex = graph.add_vertex(cs, Open, tile=0)
    with pytest.raises(pl.FileLoadError, match="with a vertex of template 'Open' yet"):
        saved(graph)
    graph.connect(vertex["x"], graph.add_variable(pl.HALF, (), "x", mapping=0))
    again, _ = loaded(saved(graph), [Open])
    assert again.compute_sets[0].vertices[0].vertex_class is Open[pl.HALF]


# -- what is refused -------------------------------------------------------------------------------


CONTENT: dict[str, bytes] = {}


@examples(200)
@given(st.integers(0, 1 << 32))
def test_changed_files_are_refused_or_graphs(seed: int) -> None:
    if not CONTENT:
        CONTENT["everything"], CONTENT["built"] = saved(*program_with_everything()), saved(*built())
    random = Random(seed)
    content = mutated(CONTENT[random.choice(sorted(CONTENT))], random)
    try:
        graph, programs = loaded(content)
    except pl.FileLoadError:
        return
    assert saved(*loaded(saved(graph, programs))) == saved(graph, programs)


DAMAGE: dict[str, Damage] = {
    "it has format 1, but this version of poplite reads 2": lambda m: m.update(format=1),
    "its header is not that of a poplite graph": lambda m: m.update(kind="x"),
    "its graph has missing or unknown parts": lambda m: m["graph"].pop("streams"),
    "classes: None is not a valid list": lambda m: m.pop("classes"),
    "two variables have the name 'x'": lambda m: m["graph"]["variables"][1].update(name="x"),
    "is on tile 8 of 8": lambda m: m["graph"]["variables"][1].update(tile=8),
    "has values of the wrong type or shape": lambda m: m["graph"]["variables"][0].update(
        shape=[72]
    ),
    "two compute sets have the name 'ones'": lambda m: m["graph"]["compute_sets"][0].update(
        name="ones"
    ),
    "exceeds its space of 72 elements": lambda m: _view(m).__setitem__(1, 60),
    "is not the number of a variable": lambda m: _view(m).__setitem__(0, 99),
    "has no elements, or too many": lambda m: _view(m).__setitem__(2, 0),
    "elements of the wrong size": lambda m: _quarters(m).__setitem__(0, 0),
    "is not a valid list of edges": lambda m: _blocks(m)[0]["edges"][0][1].update(
        rows=[2, 12, 0], length=[1, 24, 0]
    ),
    "is not the number of an earlier object": lambda m: m["nodes"][2][2][1].append(7),
    "only a tensor without elements may have its own name": lambda m: m["nodes"][1][2][0].extend(
        ["x", None]
    ),
    "is not valid metadata": lambda m: m["nodes"][1][2].__setitem__(
        0, ["FLOAT", [None, 0, 5, 0], "x", [0, 0]]
    ),
    "is not a valid program": lambda m: m["nodes"][0].__setitem__(0, "Copied"),
    "a field has 3 nested vectors": lambda m: m["classes"][0]["fields"][0].update(
        depth=3, name="other"
    ),
}


def _view(manifest: dict[str, Any]) -> Any:
    """The rows of the first vertex."""
    edges = dict(manifest["graph"]["compute_sets"][0]["parts"][0][1][0]["edges"])
    return edges["rows"][1]


def _quarters(manifest: dict[str, Any]) -> Any:
    """The elements of a vertex that takes QUARTER."""
    edges = dict(manifest["graph"]["compute_sets"][2]["parts"][0][1][0]["edges"])
    return edges["q"][1]


def _blocks(manifest: dict[str, Any]) -> Any:
    return [block for _, block in manifest["graph"]["compute_sets"][3]["parts"]]


@pytest.mark.parametrize("told", DAMAGE)
def test_what_cannot_be(told: str) -> None:
    members = zipped(saved(*built()))
    manifest = json.loads(members["manifest.json"])
    DAMAGE[told](manifest)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            text = json.dumps(manifest).encode() if name == "manifest.json" else data
            archive.writestr(zipfile.ZipInfo(name), text)
    with pytest.raises(pl.FileLoadError) as refusal:
        loaded(made.getvalue())
    assert told in str(refusal.value)
    assert "save it again" in refusal.value.fix


def test_blocks_of_a_compute_set_share_the_memory_of_their_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_formats, "LEAST_BYTES", 0)
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (1 << 12,), "x", mapping=0)
    cs = graph.add_compute_set("cs")
    graph.add_vertices(cs, Many, tile=0, x=x)
    members = zipped(saved(graph))
    manifest = json.loads(members["manifest.json"])
    parts = manifest["graph"]["compute_sets"][0]["parts"]
    for times, is_refused in ((1, False), (30, True)):
        manifest["graph"]["compute_sets"][0]["parts"] = parts * times
        content = of_members(members | {"manifest.json": json.dumps(manifest).encode()})
        if not is_refused:
            assert loaded(content)[0].num_vertices == times << 12
            continue
        with pytest.raises(pl.FileLoadError, match="245,760 vertices and edges of several"):
            loaded(content)


def test_what_is_no_program_of_the_graph_is_refused(tmp_path: Path) -> None:
    graph, other = pl.Graph(), pl.Graph()
    with pytest.raises(pl.ControlProgramError, match="is not a program"):
        graph.save(tmp_path / "x", "main")  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="ComputeSet 'a' must belong to <Graph"):
        graph.save(tmp_path / "x", pl.Execute(other.add_compute_set("a")))
    with pytest.raises(pl.ControlProgramError, match="Tensor 'x' must belong to <Graph"):
        graph.save(tmp_path / "x", pl.PrintTensor(other.add_variable(pl.INT, (), "x")))
    assert not (tmp_path / "x").exists()


def test_files_that_hold_no_graph(tmp_path: Path) -> None:
    with pytest.raises(pl.FileLoadError, match="No such file"):
        pl.Graph.load(tmp_path / "nothing")
    with pytest.raises(pl.ElementTypeError, match="3 is not a path"):
        pl.Graph.load(3)  # type: ignore[arg-type]
    with pytest.raises(pl.FileLoadError, match="the stream contains no graph"):
        pl.Graph.deserialize(io.StringIO("{}"))
    with pytest.raises(pl.FileLoadError, match=r"(?s)contains no graph.*the text is not JSON"):
        pl.Graph.deserialize(io.StringIO("[" * 10_000))
    graph = pl.Graph()
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    pl.compile_graph(graph, pl.WriteUndef(x)).save(tmp_path / "executable")
    with pytest.raises(pl.FileLoadError, match="header is not that of a poplite graph"):
        pl.Graph.load(tmp_path / "executable")
    graph.save(tmp_path / "graph")
    with pytest.raises(pl.FileLoadError, match="header is not that of a poplite executable"):
        pl.Executable.load(tmp_path / "graph")


def test_tensors_without_elements_keep_name_and_metadata(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    q = graph.add_variable(
        pl.QUARTER, (3,), "q", mapping=0, metadata=pl.QuarterMetadata("F143", scale=-2)
    )
    nothing = graph.add_variable(pl.INT, (0, 2), "nothing")
    for name, tensor in {"x": x[1:1], "q": q[:0], "nothing": nothing}.items():
        graph.create_host_read(name, tensor)
    program = pl.Sequence(pl.PrintTensor(x[2:2]), pl.PrintTensor(q[1:1]))
    graph.save(path := tmp_path / "graph", program)
    again, programs = pl.Graph.load(path)
    assert str(programs["0"]) == str(program)
    found = {name: each.tensor for name, each in again.host_reads.items()}
    assert [each.name for each in found.values()] == ["x", "q", "nothing"]
    assert found["q"].metadata is not None
    assert found["q"].metadata.name == "q/metadata"
    again.save(other := tmp_path / "again", programs["0"])
    assert other.read_bytes() == path.read_bytes()


def test_a_switch_keeps_its_lines_and_runs_no_default_it_has_not() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0)
    x, y = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "xy")
    cases = {1: pl.Copy(x, y)}
    some = {
        "bounds": pl.Switch.with_bounds_checking(n, cases),
        "unreachable": pl.Switch.with_unreachable_default(n, cases),
        "default": pl.Switch(n, cases, pl.Copy(y, x)),
    }
    _, again = loaded(saved(graph, some))
    for name, switch in some.items():
        found = again[name]
        assert isinstance(found, pl.Switch)
        assert (found.unmatched, str(found.default)) == (switch.unmatched, str(switch.default))
        assert found.default.location.line == switch.default.location.line
        assert found.location.line == switch.location.line
    members = zipped(saved(graph, some))
    manifest = json.loads(members["manifest.json"])
    bounded = next(node for node in manifest["nodes"] if "error" in node[2])
    bounded[2][2] = bounded[2][3][0][1]  # what its only case runs
    changed = of_members(members | {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(
        pl.FileLoadError, match="a Switch without a default must have an empty default program"
    ):
        loaded(changed)
