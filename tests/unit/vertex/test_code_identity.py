"""What a vertex class computes: what is made of it follows it, and nothing else."""

from __future__ import annotations

import ast
import gc
import pickle
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar
from weakref import ref

import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import both_forms, load, words_of
from poplite.vertex.compute.meaning import check, meaning_of
from poplite.vertex.compute.source_text import copied

T = TypeVar("T")

TEXT = """
import math
import poplite as pl

TAPS = 9
root = math.sqrt


def turns(x):
    return TAPS


class Blur(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for k in range(turns(self.x[0])):
            self.x[k % len(self.x)] += root(1.0) + k


class Limited(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        assert self.x[0] < 4, f"{self.x[0]}"
        self.x[0] += 2
"""
HALVINGS = """
def halvings(x):
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return count


def half(x):
    return x / 2
"""


def module_of(folder: Path, text: str = TEXT, name: str = "blur.py") -> Any:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return load(folder / name)


def engine_of(cls: type[pl.Vertex], **options: Any) -> pl.Engine:
    return engine_and_tensor(cls, **options)[0]


def engine_and_tensor(cls: type[pl.Vertex], **options: Any) -> tuple[pl.Engine, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=0, initial_value=3)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, cls, tile=0, x=x)
    return pl.Engine(graph, pl.Execute(work), **options), x


def ran(cls: type[pl.Vertex], **options: Any) -> list[float]:
    """Return the elements after one run of a fresh engine."""
    engine, x = engine_and_tensor(cls, **options)
    engine.run()
    values: list[float] = engine.read(x).tolist()
    return values


def priced(cls: type[pl.Vertex]) -> tuple[int, str]:
    """Return the cycles of one vertex in a fresh engine, and where they are from."""
    engine = engine_of(cls)
    engine.run()
    report = engine.report()
    (kind,) = report.execution.vertex_types()
    assert report.cycles is not None
    return report.cycles, kind.source


# -- prices follow ---------------------------------------------------------------------------------


def test_prices_follow_constants_helpers_and_compute(tmp_path: Path) -> None:
    module = module_of(tmp_path)
    first, source = priced(module.Blur)
    assert source == "estimated"
    module.TAPS = 900
    second, source = priced(module.Blur)
    assert (second, source) == priced(module_of(tmp_path / "a", TEXT.replace("9", "900")).Blur)
    assert second > 50 * first
    module.TAPS = 9
    assert priced(module.Blur) == (first, "estimated")
    module.turns = module_of(tmp_path, HALVINGS, "halvings.py").halvings
    assert priced(module.Blur)[1] == "counted"
    module.Blur.compute = module.Limited.compute
    assert priced(module.Blur) == priced(module.Limited)


def test_what_a_call_names_is_looked_at_again(tmp_path: Path) -> None:
    module = module_of(tmp_path)
    before = meaning_of(module.Blur).identity
    module.root = module_of(tmp_path, HALVINGS, "halvings.py").half
    after = meaning_of(module.Blur).identity
    assert after != before
    for interpret in (False, True):
        assert ran(module.Blur, interpret=interpret)[0] == 3 + 0.5 + 0.5 + 5
    module.root = abs
    assert meaning_of(module.Blur).identity not in (before, after)


def test_what_is_made_is_kept_while_nothing_changes(tmp_path: Path) -> None:
    module, numbers = module_of(tmp_path), count(1)

    def make() -> int:
        return next(numbers)

    assert [meaning_of(module.Blur).remembered("number", make) for _ in range(3)] == [1, 1, 1]
    assert meaning_of(module.Blur).code is meaning_of(module.Blur).code
    module.TAPS = 10
    assert [meaning_of(module.Blur).remembered("number", make) for _ in range(3)] == [2, 2, 2]
    module.TAPS = 10.0
    with pytest.raises(pl.VertexCompileError, match="range takes ints"):
        meaning_of(module.Blur).remembered("number", make)
    module.TAPS = 10
    assert meaning_of(module.Blur).remembered("number", make) in (2, 3)


# -- equal code is compiled once -------------------------------------------------------------------

RUN = """
graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=0, initial_value=3)
work = graph.add_compute_set("work")
graph.add_vertex(work, Blur, tile=0, x=x)
engine = pl.Engine(graph, pl.Execute(work))
engine.run()
engine.report()
import sys
print("numba" in sys.modules)
"""


@deep
def test_a_copy_that_is_imported_is_not_compiled(tmp_path: Path, engine_cache: Path) -> None:
    cache = str(engine_cache)
    shifted = "# a comment\n\n" + TEXT.replace("import math\n", "import math\n\n\n")
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
    (tmp_path / "second" / "blur.py").write_text(shifted)

    def run(place: str, text: str) -> list[str]:
        return words_of(tmp_path / place, text, POPLITE_CACHE_DIR=cache)

    assert run("first", TEXT + RUN) == ["True"]
    assert run("second", "import poplite as pl\nfrom blur import Blur\n" + RUN) == ["False"]


@both_forms
@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_errors_of_shared_code_name_the_class_at_hand(
    tmp_path: Path, interpret: bool, checks: str
) -> None:
    """The compiled code of both is one; names and lines are those of each."""
    renamed = "\n\n\n" + TEXT.replace("class Limited", "class Renamed")
    first, second = module_of(tmp_path / "a"), module_of(tmp_path / "b", renamed)
    assert meaning_of(first.Limited).identity == meaning_of(second.Renamed).identity
    for folder, cls, line in (("a", first.Limited, 25), ("b", second.Renamed, 28)):
        engine = engine_of(cls, interpret=interpret, checks=checks)
        engine.run()
        with pytest.raises(AssertionError) as caught:
            engine.run()
        told = str(caught.value)
        assert f"vertex 0 of '{cls.__name__}' on tile 0" in told
        assert f"{tmp_path / folder / 'blur.py'}:{line}" in told


def test_helpers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    helper = "def f(x):\n    return x {} 2.0\n"
    text = """
import poplite as pl

def first(x):
    return a(x)

class V(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.x[0] = first(b(c(first(self.x[0]))))
"""
    module = module_of(tmp_path, text)
    add = module_of(tmp_path, helper.format("+"), "add.py").f
    times = module_of(tmp_path, helper.format("*"), "times.py").f
    identities = set()
    for a, b, c in ((add, add, times), (add, times, add), (times, add, add), (add, add, add)):
        module.a, module.b, module.c = a, b, c
        identities.add(repr(meaning_of(module.V).identity))
    assert len(identities) == 4


# -- classes are let go ----------------------------------------------------------------------------


def plain(number: int) -> type[pl.Vertex]:
    class Plain(pl.Vertex):
        NUMBER = number
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def scaled(self, value: Any) -> Any:
            return value * 0.5

        def compute(self) -> None:
            assert self.x[0] < 100
            for i in range(len(self.x)):
                self.x[i] = self.scaled(self.x[i]) + self.NUMBER

    return Plain


def counted(number: int) -> type[pl.Vertex]:
    class Counted(pl.Vertex):
        NUMBER = number
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            while self.x[0] > 1:
                self.x[0] = self.x[0] / 2 - 1 / self.NUMBER

    return Counted


def formula(number: int) -> type[pl.Vertex]:
    class Formula(pl.Vertex):
        NUMBER = number
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            self.x[0] = self.NUMBER

        def cycles(self, target: pl.Target) -> int:
            return 10 + len(self.x)

    return Formula


def templated(number: int) -> type[pl.Vertex]:
    class Template(pl.Vertex, Generic[T]):
        NUMBER = number
        x: pl.InOut[pl.Vector[T]]

        def compute(self) -> None:
            self.x[1] = self.x[0] * self.NUMBER

    return Template[pl.FLOAT]


def failing(number: int) -> type[pl.Vertex]:
    class Wrong(ArithmeticError):
        pass

    class Failing(pl.Vertex):
        NUMBER = number
        WRONG = Wrong
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            self.x[0] = self.NUMBER
            raise Wrong("none")

    return Failing


CLASSES = (plain, counted, formula, templated, failing)
Make = Callable[[int], type[pl.Vertex]]


@pytest.mark.parametrize("make", thinned(CLASSES, keep=1))
@pytest.mark.parametrize(
    "options",
    thinned([{"checks": "strict"}, {"checks": "fast"}, {"interpret": True}], keep=1),
    ids=["strict", "fast", "interpreted"],
)
def test_a_class_is_let_go_when_nobody_uses_it(
    make: Make, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what compiles it keeps it, nor what finds its code, nor its price."""
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    number = 1000 * CLASSES.index(make) + len(str(options))  # of no other test

    def use() -> ref[type[pl.Vertex]]:
        cls = make(number)
        engine = engine_of(cls, **options)
        if make is failing:
            with pytest.raises(ArithmeticError):
                engine.run()
        else:
            engine.run()
            engine.report()
        return ref(cls)

    for _ in ("compiled", "found"):
        held = use()
        gc.collect()
        assert held() is None


@deep
def test_a_module_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))

    def use() -> list[ref[Any]]:
        module: ModuleType = module_of(tmp_path, TEXT.replace("9", "17"))
        engine = engine_of(module.Blur)
        engine.run()
        engine.report()
        return [ref(module.Blur), ref(module.turns), ref(module)]

    held = use()
    gc.collect()
    assert [each() for each in held] == [None, None, None]


def test_addresses_of_code_do_not_travel(tmp_path: Path) -> None:
    """Some pickle classes by their contents; in another process no code is at that place."""
    module = module_of(tmp_path)
    priced(module.Blur)
    assert check(module.Blur) is check(module.Blur)
    (kept,) = [value for name, value in vars(module.Blur).items() if name.startswith("@")]
    assert pickle.loads(pickle.dumps(kept)) is None
    setattr(module.Blur, "@now", None)
    assert check(module.Blur).function is module.Blur.compute


def test_what_others_add_to_the_nodes_of_a_tree_is_not_copied() -> None:
    # IPython's tracebacks give every node its parent, also the context that all trees share.
    whole = ast.parse("def compute(self):\n    self.y = self.x[0]")
    shared = {id(node): node for node in ast.walk(whole) if isinstance(node, ast.expr_context)}
    for node in ast.walk(whole):
        for below in ast.iter_child_nodes(node):
            below.parent = node  # type: ignore[attr-defined]
    try:
        part = copied(whole.body[0])
        assert ast.unparse(part) == "def compute(self):\n    self.y = self.x[0]"
        assert not any(hasattr(node, "parent") for node in ast.walk(part))
    finally:
        for context in shared.values():
            del context.parent  # type: ignore[attr-defined]
