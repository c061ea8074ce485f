"""Functions that `compute` calls: what they give in both forms, and what is refused."""

from __future__ import annotations

import itertools
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import running
from helpers.depth import values_only
from poplite.errors import TensorIndexError, VertexCompileError
from poplite.vertex.compute.meaning import check, meaning_of

HEAD = """
import functools
import math
import poplite as pl

SCALE = 0.5


def half(value):
    return value * SCALE


def ratio(value, low=0.0, high=2):
    return value / high


def near(value, low=0.0, high=1.0):
    if value < low:
        return low
    return min(value, high)


def ping(n):
    return pong(n)


def pong(n):
    return ping(n)


def text(n, unit="m"):
    return n


def rest(*values):
    return 1


def options(n, **values):
    return n


def only(n, *, by):
    return n


def steps(n):
    yield n


async def later(n):
    return n


@functools.wraps(half)
def wrapped(*values):
    return 1


def owner(self):
    return 1


def alone():
    return self.n


def printing(n):
    print(n)


square = lambda value: value * value


class Base(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    n: pl.Input[pl.INT]
    a: pl.Input[pl.FLOAT]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    z: pl.InOut[pl.Vector[pl.INT]]
    s: pl.InOut[pl.INT]
    TAPS = 3

    def compute(self):
        pass

    def weight(self, i):
        return self.TAPS

    def bump(self, by=1):
        self.s += by
        return self.s

    def dot(self, left, right):
        total = 0.1
        for i in range(len(left)):
            total += left[i] * right[i]
        return total

    def put(self, target, i, value):
        target[i] = value

    def set(self, value):
        '''Stores, and returns early.'''
        if value < 0:
            return
        self.s = value

    def find(self, value):
        for i in range(len(self.x)):
            if self.x[i] == value:
                return i
        return -1

    def pick(self, c, one, other):
        return one if c else other

    def count(self, n):
        total = 0
        while total < n:
            total += 1
        return total

    @staticmethod
    def share(n, parts=2):
        return n // parts

    @property
    def area(self):
        return 1

    @classmethod
    def make(cls):
        return 1

    @functools.cache
    def cached(self):
        return 1

    def down(self, n):
        return self.down(n - 1)

    def bare(this):
        return 1

    def __secret(self):
        return 1

    def either(self, n):
        if n > 0:
            return 1
        self.s = n

    def neither(self, n):
        if n > 0:
            return
        return n

    def vector(self):
        return self.x

    def pair(self):
        return 1, 2

    def wrong(self, n):
        k = 1
        return k + missing

    def outer(self, n):
        return self.wrong(n)

    def shown(self, n):
        print(n)
        return n

    def mixed(self, c):
        t = self.n * self.n
        if c:
            t = 0.5
        if self.n:
            return t
        return self.x[0]


class V(Base):
    def weight(self, i):
        return self.TAPS + i

    def compute(self):
"""
FIRST_LINE = HEAD.count("\n") + 1
_numbers = itertools.count()


def load(folder: Path, body: str) -> Any:
    """Import a module whose class V computes the body."""
    path = folder / f"helpers_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), " " * 8))
    return running.load(path)


def run(vertex: type[pl.Vertex], *, interpret: bool, n: int = 7) -> tuple[list[float], list[int]]:
    """Run one vertex; return what is left in y, and in z with s at its end."""
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")

    def variable(element: Any, values: Any) -> pl.Tensor:
        array = np.array(values, element.dtype)
        return graph.add_variable(element, array.shape, mapping=0, initial_value=array)

    rows = variable(pl.FLOAT, [[1, 2, 3], [0.5, 0.25, 0.125]])
    y, z = variable(pl.FLOAT, [0, 0, 0]), variable(pl.INT, [0, 0, 0])
    s = variable(pl.INT, 10)
    graph.add_vertex(
        work,
        vertex,
        tile=0,
        x=variable(pl.FLOAT, [1.5, -2, 0.1]),
        rows=[rows[0], rows[1]],
        n=variable(pl.INT, n),
        a=variable(pl.FLOAT, 0.1),
        y=y,
        z=z,
        s=s,
    )
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
    with warnings.catch_warnings():  # not every body writes all of y and z
        warnings.simplefilter("ignore", pl.UnwrittenOutputWarning)
        engine.run()
    return engine.read(y).tolist(), [*engine.read(z).tolist(), int(engine.read(s))]


F = np.float32

GIVES: dict[str, tuple[str, list[Any]]] = {
    "function": ("self.y[0] = half(self.a)", [F(0.1) * F(0.5)]),
    "function of an int": ("self.y[0] = half(3)", [1.5]),
    "defaults": ("self.y[0] = near(self.x[1])\nself.y[1] = near(self.x[0])", [0.0, 1.0]),
    "keyword": ("self.y[0] = near(self.x[0], high=1.25)", [1.25]),
    "keywords in another order": ("self.y[0] = near(high=9, low=2, value=1)", [2.0]),
    "typed for each kinds": ("self.y[0] = near(3, 1, 2) / 4\nself.y[1] = near(0.7)", [0.5, 0.7]),
    "a default kept a double": ("self.y[0] = half(near(0.3)) == 0.15", [1.0]),
    "vectors": ("self.y[0] = self.dot(self.x, self.rows[1])", [0.3625]),
    "the widest of the paths": ("self.y[0] = self.pick(self.n, 1, 0.5) / 4", [0.25]),
    "int where a float32 may be": (
        "self.y[0] = self.pick(self.n > 0, 16777217, self.a) == 16777216",
        [1.0],
    ),
    "overridden": ("self.y[0] = self.weight(2)", [5.0]),
    "static": ("self.y[0] = self.share(self.n) + self.share(n=9, parts=4)", [5.0]),
    "in order": ("self.y[0] = self.s + self.bump() * 100 + self.s", [10 + 1100 + 11]),
    "early return": ("self.set(-1)\nself.set(4)\nself.y[0] = self.s", [4.0]),
    "stores to a vector": ("self.put(self.y, 1, self.a)\nself.put(self.z, 1, 5)", [0, F(0.1)]),
    "return in a loop": ("self.y[0] = self.find(-2)\nself.y[1] = self.find(8)", [1.0, -1.0]),
    "in a condition": ("if near(self.x[0]) == 1 and self.bump() > 10:\n    self.y[0] = 1", [1.0]),
    "not evaluated": ("k = self.n > 99 and self.bump() > 0\nself.y[0] = self.s", [10.0]),
    "in a range": ("k = 0\nfor i in range(self.count(4)):\n    k += i\nself.y[0] = k", [6.0]),
    "in a loop that widens": (
        "t = 1\nfor i in range(3):\n    t = half(t)\n    t = t + self.x[0]\nself.y[0] = t",
        [2.75],
    ),
    "index of +=": ("self.z[self.bump() - 11] += 2\nself.y[0] = self.s + self.z[0]", [13.0]),
    "result not used": ("self.bump(5)\nself.y[0] = self.s", [15.0]),
    "nested": ("self.y[0] = half(half(self.share(self.weight(13), 2)))", [2.0]),
    "argument that branches": (
        "self.y[0] = half(self.n if self.a > 1 else 3)\nself.y[1] = half(self.n and self.x[0])",
        [1.5, 0.75],
    ),
    "argument assigned in the helper": ("k = 2\nself.count(k)\nself.y[0] = k", [2.0]),
}


@pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])
def test_gives(interpret: bool, tmp_path: Path) -> None:
    found = {}
    for name, (body, _) in GIVES.items():
        found[name] = run(load(tmp_path, body).V, interpret=interpret)[0]
    expected = {
        name: np.array([*values, 0, 0, 0][:3], F).tolist() for name, (_, values) in GIVES.items()
    }
    assert found == expected


REFUSED: dict[str, tuple[str, str, str]] = {
    "unknown": ("self.y[0] = self.dat(1, 2)", r"has no method 'dat' \(did you mean 'dot'", "def"),
    "field": ("k = self.x(0)", "'x' is a field, not a method", "staticmethod"),
    "number": ("k = self.TAPS(0)", "'TAPS' is int, not a method", "staticmethod"),
    "property": ("k = self.area()", "'area' is property, not a method", "staticmethod"),
    "class method": ("k = self.make()", "'make' is classmethod, not", "staticmethod"),
    "cached": ("k = self.cached()", "'cached' is _lru_cache_wrapper, not", "staticmethod"),
    "dunder": (
        "k = self.__repr__()",
        "'__repr__' starts with two underscores",
        "rename it to repr",
    ),
    "private": ("k = self.__secret()", "'__secret' starts with two", "rename it to secret"),
    "missing": (
        "k = near()",
        r"near\(...\): missing a required argument: 'value'",
        "pass one value",
    ),
    "too many": ("k = near(1, 2, 3, 4)", "near.*: too many positional arguments", "pass one value"),
    "unknown keyword": ("k = near(1, hi=2)", "unexpected keyword argument 'hi'", "pass one value"),
    "twice": ("k = near(1, value=2)", "multiple values for argument 'value'", "pass one value"),
    "double star": ("k = near(1, **SCALE)", r"'\*\*' cannot be used", "write out each value"),
    "nothing": ("k = self.set(1)", r"self.set\(...\) returns nothing", "as a statement"),
    "lambda": ("k = square(2)", "square is a lambda", "def statement"),
    "async": ("k = later(2)", "'later' is an async function", "plain def"),
    "local": ("k = 1\nj = k(2)", r"k\(...\) cannot be called", "one of: len"),
    "self passed": ("k = owner(self)", "self is used as a value", "self.name"),
    "compute": ("self.compute()", "calls itself: compute -> compute", "write a loop"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_are_refused(name: str, tmp_path: Path) -> None:
    body, what, fix = REFUSED[name]
    with pytest.raises(VertexCompileError, match=what) as caught:
        check(load(tmp_path, body).V)
    assert caught.value.what.startswith("'V.compute': ")
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.line == FIRST_LINE + body.count("\n")
    assert caught.value.at.function == "compute"


INSIDE: dict[str, tuple[str, str, str]] = {
    "vector as number": ("k = half(self.x)", "a vector of 'x' is used as a number", "value * SC"),
    "text default": (
        "k = text(1)",
        "'text': the default of 'unit' is str",
        'def text(n, unit="m")',
    ),
    "rest": ("k = rest(1)", "'rest': parameter 'values' is variadic pos", "def rest(*values)"),
    "wrapped": ("k = wrapped(1)", "'wrapped': decorators are not supported", "@functools.wraps"),
    "options": ("k = options(1)", "parameter 'values' is variadic keyword", "def options"),
    "only": ("k = only(1, by=2)", "parameter 'by' is keyword-only", "def only(n, *, by)"),
    "generator": ("k = steps(2)", "'steps': 'yield' cannot be used", "yield n"),
    "self": ("k = owner(2)", "'owner': self is a parameter of a function", "def owner(self)"),
    "no self": ("k = alone()", "'alone': self is not defined here", "return self.n"),
    "bare": (
        "k = self.bare()",
        "'V.bare': the first parameter of a method must be self, not 'this'",
        "def",
    ),
    "recursion": ("k = self.down(3)", "calls itself: down -> down", "return self.down(n - 1)"),
    "mutual": ("k = ping(3)", r"'pong': ping\(...\) calls itself: ping -> pong -> ping", "ping(n)"),
    "end of a path": (
        "k = self.either(1)",
        "'V.either': nothing is returned on this",
        "def either",
    ),
    "bare return": ("k = self.neither(1)", "'V.neither': nothing is returned on this", "return"),
    "vector": (
        "k = self.vector()",
        "'V.vector': a vector of 'x' cannot be returned",
        "return self.x",
    ),
    "pair": ("k = self.pair()", "'V.pair': 2 values are returned", "return 1, 2"),
    "rounded twice": (
        "self.y[0] = self.mixed(self.n > 3)",
        "a Python float computed from an int is returned, but a float32 on another path",
        "return t",
    ),
    "read output": ("self.y[0] = self.dot(self.x, self.y)", "output 'y' is read", "left[i]"),
    "read only": ("self.put(self.x, 0, 1.0)", "'V.put': field 'x' is read-only", "target[i]"),
    "index": (
        "self.put(self.y, self.a, 1.0)",
        "an index must be an int, but this is a float32",
        "target",
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_a_helper_contains_is_refused_at_its_own_line(name: str, tmp_path: Path) -> None:
    body, what, line = INSIDE[name]
    module = load(tmp_path, body)
    with pytest.raises(VertexCompileError, match=what) as caught:
        check(module.V)
    error = caught.value
    assert error.at is not None
    text = Path(module.__file__).read_text().splitlines()
    assert line in text[error.at.line - 1]
    assert error.at.line < FIRST_LINE
    assert f"{Path(module.__file__).name}:{FIRST_LINE} in compute" in error.found


def test_the_way_to_a_refused_line_is_told(tmp_path: Path) -> None:
    module = load(tmp_path, "self.y[0] = self.outer(1)")
    with pytest.raises(VertexCompileError, match="name 'missing' is not defined") as caught:
        check(module.V)
    assert caught.value.at is not None
    assert caught.value.at.function == "wrong"
    shown, first, second = caught.value.found.splitlines()
    assert shown == "return k + missing"
    assert first.startswith("called from")
    assert first.endswith(" in outer")
    assert second.endswith(f":{FIRST_LINE} in compute")


def test_a_function_without_text_is_refused(tmp_path: Path) -> None:
    module = load(tmp_path, "self.y[0] = half(1)")
    exec("def half(value):\n    return value", vars(module))
    with pytest.raises(VertexCompileError, match="'half': there is no source text") as caught:
        check(module.V)
    assert "into a file" in caught.value.fix


def test_functions_of_an_enclosing_function() -> None:
    third = 1 / 3

    def part(value: float, of: float = 1.0) -> float:
        return value * third * of

    class Part(pl.Vertex):
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.y = part(6.0) + part(3, of=2.0)

    for interpret in (True, False):
        graph = pl.Graph(pl.Target(tiles=1))
        work = graph.add_compute_set()
        y = graph.add_variable(pl.FLOAT, (), mapping=0)
        graph.add_vertex(work, Part, tile=0, y=y)
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
        engine.run()
        assert engine.read(y) == 4.0


@pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])
def test_an_index_outside_names_the_line_of_the_helper(interpret: bool, tmp_path: Path) -> None:
    body = "self.put(self.z, 0, 1)\nself.put(self.z, self.n, 2)\nself.z[2] = 9"
    module = load(tmp_path, body)
    with pytest.raises(TensorIndexError, match=r"'V.z': index 7 of 3 elements") as caught:
        run(module.V, interpret=interpret)
    error = caught.value
    lines = HEAD.splitlines()
    assert error.at is not None
    assert error.at.function == "put"
    assert error.at.line == lines.index("        target[i] = value") + 1
    assert f"{Path(error.at.file).name}:{FIRST_LINE + 1} in compute" in error.found.splitlines()[0]


@pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])
def test_nothing_runs_after_a_fault_in_a_helper(interpret: bool, tmp_path: Path) -> None:
    # Going on would never end.
    body = "while self.put_and_go() < 1:\n    pass"
    text = "    def put_and_go(self):\n        self.z[self.n] = 1\n        return 0\n\n"
    path = tmp_path / f"endless_{interpret}.py"
    head = HEAD.replace("class V(Base):\n", "class V(Base):\n" + text)
    path.write_text(head + textwrap.indent(body, " " * 8))
    with pytest.raises(TensorIndexError, match="index 7 of 3"):
        run(running.load(path).V, interpret=interpret)


def test_an_edited_helper_is_another_code(tmp_path: Path) -> None:
    module = load(tmp_path, "self.y[0] = self.weight(half(4) > 1)")
    identity = repr(meaning_of(module.V).identity)
    assert repr(meaning_of(module.V).identity) == identity

    def edited(name: str, old: str, new: str) -> str:
        """Return the identity of the class in a copy of the module that was edited."""
        path = tmp_path / f"{name}.py"
        path.write_text(Path(module.__file__).read_text().replace(old, new))
        again = running.load(path)
        again.V.__module__ = module.V.__module__
        return repr(meaning_of(again.V).identity)

    assert edited("same", "nothing of this", "is there") == identity
    assert edited("operator", "value * SCALE", "value + SCALE") != identity
    assert edited("constant", "SCALE = 0.5", "SCALE = 0.25") != identity
    assert edited("method", "self.TAPS + i", "self.TAPS - i") != identity
    assert edited("number", "TAPS = 3", "TAPS = 4") != identity
    assert edited("unused", "total += 1", "total += 2") == identity


@pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])
def test_a_helper_defined_again_is_used(interpret: bool, tmp_path: Path) -> None:
    module = load(tmp_path, "self.y[0] = half(4)")
    other = load(tmp_path, "self.y[0] = half(4)")
    assert run(module.V, interpret=interpret)[0][0] == 2.0
    module.SCALE = 3
    assert run(module.V, interpret=interpret)[0][0] == 12.0
    module.half = other.near
    assert run(module.V, interpret=interpret)[0][0] == 1.0
    module.Base.share = None  # not called
    assert run(module.V, interpret=interpret)[0][0] == 1.0


@pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])
def test_a_function_edited_in_place_is_read_again(interpret: bool, tmp_path: Path) -> None:
    # As IPython's autoreload does with the functions of an edited module.
    module = load(tmp_path, "self.y[0] = near(7)")
    other = load(tmp_path, "self.y[1] = near(7)")
    assert run(module.V, interpret=interpret)[0] == [1.0, 0.0, 0.0]
    module.near.__defaults__ = (0.0, 4)
    assert run(module.V, interpret=interpret)[0] == [4.0, 0.0, 0.0]
    module.near.__code__ = module.ratio.__code__
    assert run(module.V, interpret=interpret)[0] == [1.75, 0.0, 0.0]
    module.V.compute.__code__ = other.V.compute.__code__
    assert run(module.V, interpret=interpret)[0] == [0.0, 1.75, 0.0]


def test_each_kinds_are_typed_once(tmp_path: Path) -> None:
    checked = check(load(tmp_path, "self.y[0] = half(1) + half(2) + half(self.a)").V)
    named = [(c.text.tree.name, [str(a) for a in c.arguments]) for c in checked.functions()]
    assert named == [("compute", []), ("half", ["an int"]), ("half", ["a float32"])]


@pytest.mark.parametrize(("call", "name"), [("print(self.n)", "print"), ("breakpoint()",) * 2])
def test_debugging_is_for_the_interpreted_form(call: str, name: str, tmp_path: Path) -> None:
    module = load(tmp_path, f"self.bump()\n{call}")
    check(module.V)
    with pytest.raises(VertexCompileError, match=f"{name[:5]}.*interpreted form only") as caught:
        run(module.V, interpret=False)
    assert caught.value.at is not None
    assert caught.value.at.line == FIRST_LINE + 1
    assert caught.value.fix == (
        "run it with Engine(..., interpret=True), or store the value in an Output field"
    )


def test_print_in_a_helper_is_refused_there(tmp_path: Path) -> None:
    with pytest.raises(VertexCompileError, match=r"'V.shown': print\(...\)") as caught:
        run(load(tmp_path, "self.y[0] = self.shown(3)").V, interpret=False)
    assert "in compute" in caught.value.found


PRINTS = {
    "print(self.n, self.a, self.n > 3, 0.5)": "7 0.1 True 0.5\n",
    'print("x[0] =", self.x[0], sep="", end=";")': "x[0] =1.5;",
    'print(f"{self.n}: {self.x[1]:.3f} {self.a * 2!r} {self.n=}")': "7: -2.000 0.2 self.n=7\n",
    "print(f'{self.n:>{self.TAPS}}|')": "  7|\n",
    "print(f'{half(self.a)}', end='', flush=True)": "0.05",
    "print(self.x)": "<V.x FLOAT: [ 1.5 -2.   0.1]>\n",
    "print()": "\n",
    "printing(self.n)": "7\n",
    "for v in self.x:\n    print(v)": "1.5\n-2.0\n0.1\n",
}


@pytest.mark.parametrize("body", PRINTS)
def test_prints(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(load(tmp_path, body).V, interpret=True)
    assert capsys.readouterr().out == PRINTS[body]


def test_breakpoint_stops_in_the_users_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_lineno, frame.f_code.co_name, frame.f_locals["k"]))

    monkeypatch.setattr("sys.breakpointhook", hook)
    run(load(tmp_path, "k = self.n + 1\nbreakpoint()").V, interpret=True)
    assert seen == [(FIRST_LINE + 1, "compute", 8)]
