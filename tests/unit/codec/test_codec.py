"""The codec of saved files: many records read together, files that claim too much refused."""

from __future__ import annotations

import copy
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.arrays.series import Listed, Series, Steps, compact
from poplite.codec.archive import HEADER_BYTES, MANIFEST, ArrayReader
from poplite.codec.codec import Codec, Reader, Writer, coder_of, decoded
from poplite.codec.file_formats import BYTES_A_BYTE, GRAPHS, LEAST_BYTES, SMALL_BYTES, Malformed
from poplite.errors import ControlProgramError
from poplite.executable import graph_vertices
from poplite.executable.graph_vertices import MOST_EDGES
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import Vectors

# -- records ---------------------------------------------------------------------------------------
# Values of many records are written and read together, as each alone is.


@frozen
class Leaf:
    """Has one of each kind of plain values."""

    number: int
    name: str
    on: bool
    weight: float
    kind: Literal["oak", "elm"]
    pair: tuple[int, str]


@frozen
class Twig:
    """Refuses a number, and has defaults."""

    leaves: tuple[Leaf, ...] = ()
    number: int = 7
    names: list[str] = field(default_factory=list)
    by_name: Mapping[str, int] = field(default_factory=dict)
    only: Leaf | None = None

    def __post_init__(self) -> None:
        if self.number == 13:
            raise ControlProgramError("thirteen twigs")


@frozen
class Tree:
    """Lends its number, and has things of several classes."""

    tall: int = field(metadata={"lends": True})
    parts: tuple[Twig | Leaf | None, ...]
    given: int = field(default=3, metadata={"saved": False})


@frozen
class Bird:
    """Borrows the number of its tree."""

    name: str
    tall: int = field(metadata={"saved": False})


@frozen
class Wood:
    """Has a tree, and birds that know how tall it is."""

    tree: Tree
    birds: tuple[Bird, ...]


CODEC = Codec({})
WOOD = CODEC.coder_of(Wood)

whole = st.integers(-(1 << 63), (1 << 63) - 1)
names = st.text("abc", max_size=3)
leaves = st.builds(
    Leaf,
    whole,
    names,
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from(["oak", "elm"]),
    st.tuples(whole, names),
)
twigs = st.builds(
    Twig,
    st.lists(leaves, max_size=3).map(tuple),
    st.sampled_from([7, 8, -1]),
    st.lists(names, max_size=2),
    st.dictionaries(names, whole, max_size=2),
    st.none() | leaves,
)
trees = st.builds(Tree, whole, st.lists(twigs | leaves | st.none(), max_size=6).map(tuple))


@st.composite
def woods(draw: st.DrawFn) -> Wood:
    """A tree with birds."""
    tree = draw(trees)
    called = draw(st.lists(names, max_size=3))
    return Wood(tree, tuple(Bird(name, tree.tall) for name in called))


def reader() -> Reader:
    return Reader(ArrayReader({}), (), (), ())


@examples(200, quick=20)
@given(woods())
def test_all_are_read_as_they_were(wood: Wood) -> None:
    data = WOOD.encode(wood, Writer())
    assert WOOD.decode(data, reader()) == wood
    slow = reader()
    slow.one_by_one = True
    assert WOOD.decode(data, slow) == wood


def test_defaults_are_left_out_record_by_record() -> None:
    tree = Tree(1, (Twig(number=8), Twig(only=None), Twig(number=int("7"))))
    data = CODEC.coder_of(Tree).encode(tree, Writer())
    assert list(data) == ["tall", "parts"]
    assert [set(part) for _, part in data["parts"]] == [
        {"number", "names", "by_name"},
        {"names", "by_name"},
        {"names", "by_name"},
    ]


GOOD: dict[str, Any] = {
    "tree": {
        "tall": 9,
        "parts": [
            None,
            ["Twig", {"leaves": [], "names": [], "by_name": []}],
            [
                "Leaf",
                {
                    "number": 1,
                    "name": "a",
                    "on": True,
                    "weight": "0x1p+0",
                    "kind": "oak",
                    "pair": [1, "b"],
                },
            ],
        ],
    },
    "birds": [{"name": "tit"}, {"name": "owl"}],
}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("tree parts 2 1 number", "1", "tree.parts[2].number: '1' is not of type int"),
        ("tree parts 2 1 number", True, "tree.parts[2].number: True is not of type int"),
        ("tree parts 2 1 number", 1 << 63, "number: 9223372036854775808 does not fit in 64 bits"),
        ("tree parts 2 1 on", 1, "tree.parts[2].on: 1 is not of type bool"),
        ("tree parts 2 1 kind", "ash", "tree.parts[2].kind: 'ash' is not one of"),
        ("tree parts 2 1 kind", ["oak"], "tree.parts[2].kind: ['oak'] is not one of"),
        ("tree parts 2 1 pair", [1], "tree.parts[2].pair: it has 1 values, but 2 are needed"),
        ("tree parts 2 1 pair 1", 5, "tree.parts[2].pair: 5 is not of type str"),
        ("tree parts 2 1 more", 5, "is not a valid Leaf"),
        ("tree parts 2", ["Leaf", {}], "the required field 'kind' is missing"),
        ("tree parts 2", ["Leaf", None], "tree.parts[2]: None is not a valid Leaf"),
        ("tree parts 2", ["Ash", {}], "is not one of Twig | Leaf | None"),
        ("tree parts 2", ["Leaf"], "is not one of Twig | Leaf | None"),
        ("tree parts 1 1 number", 13, "tree.parts[1]: thirteen twigs"),
        ("tree parts 1 1 leaves", {}, "tree.parts[1].leaves: {} is not a valid list"),
        ("tree parts 1 1 by_name", [["a", 1], ["a", 1]], "key 'a' occurs twice"),
        ("tree parts 1 1 by_name", [["a", "b"]], "tree.parts[1].by_name['a']: 'b' is not"),
        ("birds 1 name", 5, "birds[1].name: 5 is not of type str"),
        ("birds 1 tall", 5, "is not a valid Bird"),
        ("birds 1", [], "birds[1]: [] is not a valid Bird"),
    ],
)
def test_the_message_says_what_is_wrong_and_where(path: str, value: Any, told: str) -> None:
    data = copy.deepcopy(GOOD)
    assert decoded(WOOD, data, reader()).birds[1] == Bird("owl", 9)
    place: Any = data
    *above, last = [int(part) if part.isdigit() else part for part in path.split()]
    for part in above:
        place = place[part]
    place[last] = value
    with pytest.raises(Malformed) as caught:
        decoded(WOOD, data, reader())
    assert told in str(caught.value)


def test_values_of_other_types_are_not_written() -> None:
    wrong: Any = Leaf(1, 2, True, 1.0, "oak", (1, "a"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Leaf\.name is 2, not str"):
        CODEC.coder_of(Leaf).encode(wrong, Writer())


# -- files that claim much -------------------------------------------------------------------------
# Files that claim much in few bytes: each is refused before it takes the memory.

MOST_BYTES = 16 << 20
"""What refusing a small file may take: much less than any file may."""


class Scale(pl.Vertex):
    """`x = a * x`."""

    a: pl.State[pl.FLOAT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Scale."""
        for i in range(len(self.x)):
            self.x[i] *= self.a


class Sum(pl.Vertex):
    """The sum of all rows."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add."""
        total = 0.0
        for row in range(len(self.rows)):
            for i in range(len(self.rows[row])):
                total += self.rows[row][i]
        self.total = total


def built() -> tuple[pl.Graph, pl.Program]:
    """A graph with vertices at regular distances, at irregular ones, and one of several rows."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (8, 3), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (24,), "y", mapping="linear", initial_value=2)
    graph.create_host_read("x", x)
    scale = graph.add_compute_set("scale")
    graph.add_vertices(scale, Scale, tile=np.arange(8) // 2, x=x, a=0.5)
    ends = np.array([[5, 7], [0, 1], [9, 13], [2, 4]])
    graph.add_vertices(scale, Scale, tile=np.arange(4), x=y.slices(ends, 0), a=2.0)
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0)
    added = graph.add_compute_set("added")
    graph.add_vertex(added, Sum, tile=0, rows=x, total=total)
    return graph, pl.Sequence(pl.Execute(scale), pl.Execute(added))


def changed(path: Path, change: Callable[[Any], object]) -> None:
    """Change what a file says beside arrays."""
    if not zipfile.is_zipfile(path):
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))
        return
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(members[MANIFEST])
    change(manifest)
    members[MANIFEST] = json.dumps(manifest).encode()
    if "many" in manifest:
        first = block(manifest, 0)["stops"][1] + manifest.pop("many")
        numbers = np.frombuffer(members["arrays/int64.npy"], np.int64).copy()
        numbers[HEADER_BYTES // 8 + first] = 50_000_000
        members |= {"arrays/int64.npy": numbers.tobytes(), MANIFEST: json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)


def saved_executable(path: Path) -> Callable[[], object]:
    pl.compile_graph(*built(), interpret=True).save(path)
    return lambda: pl.Executable.load(path, [Scale, Sum])


def saved_graph(path: Path) -> Callable[[], object]:
    graph, program = built()
    graph.save(path, program)
    return lambda: pl.Graph.load(path, [Scale, Sum])


def saved_state(path: Path) -> Callable[[], object]:
    engine = pl.Engine(*built(), interpret=True)
    engine.save_state(path)
    return lambda: engine.load_state(path)


def saved_report(path: Path) -> Callable[[], object]:
    engine = pl.Engine(*built(), interpret=True)
    engine.run()
    engine.report().save(path)
    return lambda: pl.Report.load(path)


def saved_sweep(path: Path) -> Callable[[], object]:
    pl.Sweep(["n"], [{"n": 1, "cycles": 7, "error": ""}]).save(path)
    return lambda: pl.Sweep.load(path)


KINDS = {
    "executable": saved_executable,
    "graph": saved_graph,
    "state": saved_state,
    "report": saved_report,
    "sweep": saved_sweep,
}


def block(manifest: Any, number: int) -> Any:
    """A block of vertices of the graph."""
    return manifest["graph"]["compute_sets"][0]["parts"][number][1]


def doubled(manifest: Any) -> None:
    """List views of views of views, each of the one before and again of it."""
    manifest["spaces"] += [
        [1, [[1 if not k else -k - len(manifest["spaces"]), 0, 1, 24 << k]] * 2] for k in range(30)
    ]


def many_edges(manifest: Any) -> None:
    """Say that there are many vertices, the edges of which leave their variable."""
    most = 50_000_000
    manifest["many"] = 3
    edges = {"rows": [1, most, 0], "length": [3, most, 0], "start": [0, most, 100]}
    block(manifest, 0)["edges"] = [["x", edges]]


def many_rows(manifest: Any) -> None:
    """Say that a vertex has the same row many times."""
    (_, [vertex]) = manifest["graph"]["compute_sets"][1]["parts"][0]
    rows = dict(vertex["edges"])["rows"]
    rows[1][2:] = [50_000_000, 3, [0, 1]]


def repeated(count: int, *shape: int) -> list[Any]:
    """Refer to one number that is repeated."""
    return ["int64", 0, [], [count, *shape]]


def pairs_of_executable(manifest: Any) -> None:
    """Say that each of many tiles sends to each."""
    executable, tiles = manifest["executable"], 1 << 15
    executable["target"]["tiles"] = tiles
    phases = [phase for each in executable["costs"] for phase in each["before"]]
    pairs = next(phase["pairs"] for phase in phases if "pairs" in phase)
    pairs["bytes"] = {"of": tiles**2, "tiles": [[0, tiles**2 - 1]], "values": 1}


def pairs_of_report(report: Any) -> None:
    """Say that each of many tiles sends to each."""
    tiles = report["compilation"]["target"]["tiles"] = 1 << 15
    phases = [phase for each in report["execution"]["steps"] for phase in each["phases"]]
    pairs = next(phase["pairs"] for phase in phases if "pairs" in phase)
    pairs["bytes"] = {"of": tiles**2, "tiles": [[0, tiles**2 - 1]], "values": 1}


CLAIMS: list[tuple[str, str, Callable[[Any], object]]] = [
    *((kind, "400,[0-9]+ objects", lambda m: m.update(more=[{}] * 400_000)) for kind in KINDS),
    (
        "executable",
        "one number that is repeated would take",
        lambda m: m["executable"]["programs"][0][1].update(ops=repeated(1 << 40, 1)),
    ),
    (
        "graph",
        "one number that is repeated would take",
        lambda m: m["graph"]["virtual_graphs"].append(repeated(1 << 40)),
    ),
    ("graph", "rows of 'x': 50,000,000 numbers are needed; found 8", lambda m: m.update(many=3)),
    ("graph", r"a concatenation of [\d,]+ pieces would take", doubled),
    (
        "graph",
        "lengths of 'x': 1,099,511,627,776 numbers are needed; found 4",
        lambda m: block(m, 1)["edges"][0][1].update(rows=[1 << 38, 4, 0]),
    ),
    ("graph", "50,000,000 edges of 'x' would take 2,800,000,000 B", many_edges),
    ("graph", "50,000,000 rows of 'rows' of vertex 0 of 'Sum' on tile 0 would take", many_rows),
    ("executable", "1,073,741,824 pairs of tiles would take 25,769,803,776 B", pairs_of_executable),
    ("report", "1,073,741,824 pairs of tiles would take 25,769,803,776 B", pairs_of_report),
]
"""Kind, what is told, and the change."""


@pytest.mark.parametrize(("kind", "told", "change"), CLAIMS)
def test_who_claims_more_than_there_may_be_is_refused_first(
    tmp_path: Path, kind: str, told: str, change: Callable[[Any], object]
) -> None:
    load = KINDS[kind](path := tmp_path / "file")
    load()
    changed(path, change)
    tracemalloc.start()
    try:
        with pytest.raises(pl.FileLoadError, match=told):
            load()
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES + 20 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_vectors_of_many_vertices_take_room() -> None:
    count, ones = 10_000_000, np.broadcast_to(np.float32(1), 15_000_000)
    held = Vectors(ones, Steps(1, ((count // 2, 0), (2, 1))))
    with (
        pytest.raises(pl.FileLoadError, match="10,000,000 vectors of a field would take"),
        GRAPHS.loading("'x'"),
    ):
        graph_vertices._vectors(held, count)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_takes_no_more_than_its_file_may(tmp_path: Path, kind: str) -> None:
    load = KINDS[kind](path := tmp_path / "file")
    tracemalloc.start()
    try:
        load()
        assert tracemalloc.get_traced_memory()[1] < SMALL_BYTES + BYTES_A_BYTE * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_many_vertices_in_few_bytes_are_no_fault(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (24_000_000, 1), "x", mapping="linear")
    scale = graph.add_compute_set("scale")
    graph.add_vertices(scale, Scale, tile=np.arange(24_000_000) // 6_000_000, x=x, a=0.5)
    graph.save(path := tmp_path / "file", pl.Execute(scale))
    assert path.stat().st_size < 1 << 14
    assert pl.Graph.load(path, [Scale, Sum])[0].num_vertices == 24_000_000


def test_as_many_vertices_as_a_block_may_have_fit_any_budget() -> None:
    assert 12 * MOST_EDGES < LEAST_BYTES


def test_rows_of_many_variables_in_any_order_are_no_fault(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    parts = [graph.add_variable(pl.INT, (1 << 11, 1), mapping="linear") for _ in range(1 << 10)]
    order = np.random.default_rng(0).permutation(1 << 11)
    rows = pl.concat(parts, 1).slices(np.stack([order, order + 1], 1), 0)
    graph.create_host_read("rows", pl.concat(rows, 0))
    graph.save(path := tmp_path / "file")
    assert (1 << 28) + BYTES_A_BYTE * path.stat().st_size < 192 << 21
    assert len(pl.Graph.load(path)[0].variables) == 1 << 10


def test_memory_that_stays_is_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poplite.codec.file_formats.LEAST_BYTES", 1 << 20)
    graph = pl.Graph(pl.Target(tiles=4))
    for number in range(8):
        x = graph.add_variable(pl.INT, (8,), f"x{number}", mapping="linear")
        graph.set_initial_value(x[:4], 1)
    graph.save(path := tmp_path / "file")
    count = 500_000

    def claim(manifest: Any) -> None:
        for variable in manifest["graph"]["variables"]:
            for name in ("breaks", "tiles"):
                variable.pop(name, None)
            bits = ["uint8", 0, [], [count // 8]]
            variable |= {"shape": [count], "values": ["int32", 0, [], [count]]}
            variable["with_value"] = [[-1, bits]]

    changed(path, claim)
    with pytest.raises(pl.FileLoadError, match="'x2' have a value would take 500,000 B"):
        pl.Graph.load(path)


def test_brackets_in_texts_are_none_of_lists_and_objects(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (1,), "x", mapping=0)
    program = pl.PrintTensor('\\"{[' * 10_000, x)
    graph.save(path := tmp_path / "graph", program)
    assert str(pl.Graph.load(path)[1]["0"]) == str(program)
    pl.compile_graph(graph, program).save(path)
    pl.Executable.load(path)


# -- series ----------------------------------------------------------------------------------------


OF = Reader(ArrayReader({"uint32": np.array([4, 0, 9], np.uint32)}), (), (), ())


@pytest.mark.parametrize(
    ("series", "data"),
    [
        (Steps(-5, ((3, 1),)), [-5, 3, 1]),
        (Steps(np.int64(7), ((2, 8), (np.int64(4), 0))), [7, 2, 8, 4, 0]),  # type: ignore[arg-type]
        (Steps(1, ()), [1]),
    ],
)
def test_steps(series: Steps, data: list[int]) -> None:
    encoded = coder_of(Series).encode(series, Writer())
    assert encoded == data
    assert {type(each) for each in encoded} == {int}
    assert coder_of(Series).decode(data, OF) == series


def test_listed_numbers() -> None:
    made = coder_of(Series | None).encode(compact(np.array([14, 10, 19])), Writer())
    assert made == [10, ["uint32", 0, [3]]]
    found = coder_of(Series | None).decode(made, OF)
    assert isinstance(found, Listed)
    assert found.array().tolist() == [14, 10, 19]
    assert coder_of(Series | None).decode(None, OF) is None


@pytest.mark.parametrize(
    "data",
    [
        *([], [1, 2], [1, 2, 3, 4], [True], [1, 2.0, 3], [1 << 63], [1, "2", 3], None, 5, {}),
        *([1 << 63, ["uint32", 0, [3]]], [True, ["uint32", 0, [3]]], [1, [1]], [1, [2, 3]]),
    ],
)
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(Malformed):
        coder_of(Series).decode(data, OF)
