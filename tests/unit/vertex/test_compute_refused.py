"""What `compute` may not contain: each construct is refused with its line and a remedy."""

from __future__ import annotations

import inspect
import itertools
import sys
import textwrap
from pathlib import Path

import pytest

import poplite as pl
from helpers.running import load
from poplite.errors import VertexCompileError
from poplite.vertex.compute.meaning import check

HEAD = """
import math
import numpy as np
import poplite as pl

WEIGHTS = [1, 2, 1]
SCALE = np.float32(0.5)
HUGE = 2**63
STEPS = 4


class V(pl.Vertex):
    a: pl.Input[pl.FLOAT]
    n: pl.Input[pl.INT]
    flag: pl.Input[pl.BOOL]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    s: pl.State[pl.INT]
    out: pl.Output[pl.FLOAT]
    count: pl.Output[pl.INT]
    truth: pl.Output[pl.BOOL]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    z: pl.InOut[pl.Vector[pl.INT]]
    grid: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]
    TAPS = 9
    NAMES = ("a", "b")
    BIG = 2**70
    LARGE = 2**33
    ROOT = np.sqrt(2)

    def helper(self):
        return 1

    def compute(self):
"""
FIRST_LINE = HEAD.count("\n") + 1
_numbers = itertools.count()


def define(body: str, folder: Path) -> type[pl.Vertex]:
    path = folder / f"vertex_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), " " * 8))
    vertex: type[pl.Vertex] = load(path).V
    return vertex


REFUSED = {
    # what other libraries, and other parts of this one, call alike
    "ops": (
        "self.out = pl.ops.exp(self.a)",
        r"pl.ops.exp\(...\) cannot be called",
        "math.exp(...): ops",
    ),
    "ops larger": ("self.out = pl.ops.maximum(self.a, 1)", "cannot be called", "max(...): ops"),
    "ops alone": ("self.out = pl.ops.relu(self.a)", "cannot be called", "write its formula: ops"),
    "inf": ("self.out = float('inf')", r"float\('inf'\) has a string argument", "write math.inf"),
    "-inf": ("self.out = float('-Infinity')", "has a string argument", "write -math.inf"),
    "nan": ("self.out = float('nan')", "has a string argument", "write math.nan"),
    "number in text": ("self.n = int('3')", r"int\('3'\) has a string argument", "write 3"),
    "text": ("self.out = 'a'", "'a' is not a number", "exceptions take text"),
    "fill": ("self.y.fill(0)", "a vector of 'y' has no method 'fill'", "self.y[i] = value"),
    "append": ("self.y.append(0)", "'y' has no method 'append'", "length of a vector is fixed"),
    "sum method": ("self.out = self.x.sum()", "no method 'sum'", "total += self.x[i]"),
    "any method": ("self.out = self.x.foo()", "no method 'foo'", "self.x[i], len(self.x)"),
    "bits": (
        "self.n = pl.bits(self.a)",
        "'poplite' has no 'bits'  ",
        "pl.float_bits(...) or pl.half",
    ),
    "bits of QUARTER": (
        "self.n = pl.quarter_bits(self.a)",
        "'poplite' has no 'quarter_bits'  ",
        "connect x.reinterpret(pl.UNSIGNED_CHAR) to a field of UNSIGNED_CHAR",
    ),
    "typing error": ("self.n = pl.float_bts(1)", "did you mean 'float_bits'", "use fields"),
    # statements
    "with": ('with open("f") as f:\n    pass', "'with' cannot be used", "engine.write"),
    "try": ("try:\n    pass\nexcept ValueError:\n    pass", "'try' cannot be used", "with if"),
    "raise": ("raise", "a raise without an exception cannot be used", "raise ValueError"),
    "raise from": (
        "raise ValueError from ValueError()",
        "'from' cannot be used",
        "raise ValueError",
    ),
    "raise name": ("raise nothing", "name 'nothing' is not defined", "assign it first"),
    "raise local": ("k = 1\nraise k", "'k' is not a class derived from Exception", "Exception"),
    "raise field": ("raise self.n", "'self.n' is not a class derived from Exception", "Exception"),
    "raise text": ("raise 'text'", "''text'' is not a class derived from Exception", "Exception"),
    "raise call": ("raise abs(1)", "'abs' is not a class derived from Exception", "Exception"),
    "raise exit": ("raise SystemExit", "'SystemExit' is not a class derived from", "Exception"),
    "raise by name": (
        "raise OSError(errno=1)",
        "errno=1: an exception takes values by position only",
        "OSError(value, ...)",
    ),
    "raise vector": ("raise ValueError(self.x)", "a vector of 'x' is used as a number", "index it"),
    "raise stars": ("raise ValueError(*self.x)", "'\\*' cannot be used", "write out each value"),
    "raise output": ("raise ValueError(f'{self.out}')", "output 'out' is read", "InOut"),
    "assert vector": ("assert self.x", "a vector of 'x' is used as a number", "index it"),
    "assert literal": ("assert False", "the condition False never changes", "raise AssertionError"),
    "assert text": ("assert self.n, self.rows", "is used as a number", "index it"),
    "import": ("import os", "'import' cannot be used", "top of the module"),
    "from": ("from os import path", "'import' cannot be used", "top of the module"),
    "global": ("global WEIGHTS", "'global' cannot be used", "State field"),
    "del": ("k = 1\ndel k", "'del' cannot be used", "do not delete"),
    "def": ("def f():\n    pass", "a nested function cannot be used", "outside of the class"),
    "class": ("class C:\n    pass", "a nested class cannot be used", "fields"),
    "match": ("match self.n:\n    case 1:\n        pass", "'match' cannot be used", "if and elif"),
    "no effect": ("self.x[0]", "an expression used as a statement", "assign it"),
    "call alone": ("math.sqrt(2.0)", "a call used as a statement", "assign its value"),
    "return": ("return 1", "compute cannot return a value", "self.field = value"),
    "annotated": ("k: int", "an annotation without a value", "assign a value"),
    # values
    "dict": ("d = {}", "a dict cannot be used", "State"),
    "list": ("d = [1]", "a list cannot be used", "InOut"),
    "set": ("d = {1}", "a set cannot be used", "State"),
    "comprehension": ("d = [i for i in self.x]", "a list comprehension cannot be used", "for loop"),
    "generator": ("d = sum(i for i in self.x)", "a generator expression", "for loop"),
    "lambda": ("f = lambda: 1", "a lambda cannot be used", "where it is used"),
    "string": ('d = "text"', "'text' is not a number", "use a number"),
    "f-string": ('d = f"{self.n}"', "a string is not a number", "print"),
    "none": ("d = None", "None is not a number", "use 0"),
    "complex": ("d = 1j", "1j is not a number", "use 0"),
    "walrus": ("if (k := self.n) > 1:\n    pass", "':=' cannot be used", "in a separate statement"),
    "starred": ("a, *b = 1, 2", "'\\*' cannot be used", "write out each value"),
    "slice": ("d = self.x[1:]", "a slice cannot be used", "for loop"),
    "tuple": ("d = (1, 2)", "2 values cannot be assigned to 1 name", "as many values as names"),
    "tuple of indices": (
        "self.out = self.rows[0, self.n + 1]",
        "a list of vectors of 'rows' takes one index, not 2",
        "self.rows[0][self.n + 1]",
    ),
    "tuple of indices stored": (
        "self.y[1, 2] = 1.0",
        "a vector of 'y' takes one index, not 2",
        "self.y[row * columns + column], with a State of columns",
    ),
    "tuple of one index": (
        "self.out = self.x[0,]",
        "a vector of 'x' takes one index, not a tuple of one",
        "self.x[0]",
    ),
    "tuple of three indices": (
        "self.out = self.rows[0, 1, 2]",
        "a list of vectors of 'rows' takes one index, not 3",
        "self.rows[row][column]",
    ),
    "tuple in sum": ("d = 1 + (1, 2)", "a tuple is not a value", "one local for each"),
    "too few": (
        "a, b, c = 1, 2",
        "2 values cannot be assigned to 3 names",
        "as many values as names",
    ),
    "unpacked": (
        "a, b = self.x",
        "1 value cannot be assigned to 2 names",
        "as many values as names",
    ),
    # names
    "field without self": (
        "self.out = a",
        "name 'a' is not defined, but there is a field with that name",
        "self.a",
    ),
    "undefined": ("self.out = lenght", r"name 'lenght' is not defined", "self.lenght"),
    "close name": ("self.out = STEP", r"did you mean 'STEPS'\?", "declare a field"),
    "unset": ("self.out = k\nk = 1", "local 'k' is unset here", "assign k before"),
    "unset by if": ("if self.flag:\n    k = 1\nself.out = k", "'k' may be unset", "before the if"),
    "unset by for": ("for i in range(3):\n    pass\nself.out = i", "'i' may be unset", "before"),
    "self": ("me = self", "self is used as a value", "self.name"),
    "self assigned": ("self = 1", "self cannot be assigned", "another name"),
    "list global": ("self.out = WEIGHTS", "'WEIGHTS' is list, not an int", "State[Vector[FLOAT]]"),
    "numpy global": ("self.out = SCALE", "'SCALE' is float32, not an int", "convert it"),
    "huge global": ("self.out = HUGE", "9223372036854775808 does not fit in 64 bits", "float"),
    "huge class number": ("self.out = self.BIG", f"{2**70} does not fit in 64 bits", "float"),
    "huge literal": ("self.out = 9223372036854775808", "9223372036854775808 does not", "float"),
    "too large for its field": (
        "self.z[0] = 2**40",
        f"{2**40} does not fit 'z', a field of INT",
        f"use pl.INT({2**40}) for its low 32 bits, or a wider element type",
    ),
    "too small for its field": (
        "self.count = -(2**31) - 1",
        "-2147483649 does not fit 'count'",
        "",
    ),
    "too large, folded": ("self.z[0], k = 2**40 + 1, 0", f"{2**40 + 1} does not fit 'z'", "low 32"),
    "too large, chosen": (
        "self.count = 0 if self.flag else 2**32",
        "4294967296 does not fit",
        "low",
    ),
    "too large, of the class": ("self.count = self.LARGE", f"{2**33} does not fit 'count'", "low"),
    "folded": ("self.out = (1 << 62) * 4 // 3", f"{2**64} does not fit in 64 bits", "float"),
    "module": ("self.out = math.tau2", "'math' has no 'tau2' .did you mean 'tau'", "math.pi"),
    # fields
    "unknown field": ("self.out = self.b", "'V' has no field 'b'", "declare 'b'"),
    "reserved field": (
        "self.out = self.tile",
        "no field 'tile'",
        "no field can have the name 'tile'",
    ),
    "close field": (
        "self.outt = 1.0",
        r"no field 'outt' \(did you mean 'out'\?\)",
        "declared field",
    ),
    "class value": ("self.out = self.NAMES", "'NAMES' is tuple, neither a field nor", "float("),
    "numpy class value": (
        "k = self.ROOT",
        "'ROOT' is float64, neither a field nor",
        "ROOT = float(",
    ),
    "method value": ("self.out = self.helper", "'helper' is function, neither", "declared field"),
    "read only": ("self.a = 1.0", "field 'a' is read-only", "InOut"),
    "state": ("self.s = 1", "field 's' is read-only", "InOut"),
    "read-only element": ("self.x[0] = 1.0", "field 'x' is read-only", "InOut"),
    "row element": ("r = self.rows[0]\nr[0] = 1.0", "field 'rows' is read-only", "InOut"),
    "output": ("k = self.out", "output 'out' is read", "declare out: InOut"),
    "output element": ("k = self.y[0]", "output 'y' is read", "declare y: InOut"),
    "output +=": ("self.y[0] += 1.0", "output 'y' is read", "declare y: InOut"),
    "output walk": ("for v in self.y:\n    pass", "output 'y' is read", "declare y: InOut"),
    "vector stored": ("self.y = 1.0", "'y' is a vector of FLOAT;", "self.y[i] = "),
    "rows stored": (
        "self.grid = 1.0",
        "'grid' is a list of vectors of FLOAT;",
        "self.grid[row][i]",
    ),
    "row stored": ("self.grid[0] = 1.0", "'grid' is a list of vectors", r"self.grid[row][i]"),
    "float in int": (
        "self.count = 0.5",
        "a Python float cannot be stored in 'count', a field of INT",
        "write int",
    ),
    "float32 in int": (
        "self.z[0] = self.a",
        "a float32 cannot be stored in 'z', a field of INT",
        "write int",
    ),
    "float in bool": (
        "self.truth = self.a",
        "a float32 cannot be stored in 'truth', a field of BOOL",
        "write bool",
    ),
    "vector in scalar": (
        "self.out = self.x",
        "a vector of 'x' cannot be stored as one",
        "index it",
    ),
    "vector as number": ("self.out = self.x + 1", "a vector of 'x' is used as a number", "[i]"),
    "vector as truth": ("if self.x:\n    pass", "a vector of 'x' is used as a number", "[i]"),
    "list as number": ("self.out = -self.rows", "a list of vectors of 'rows' is used", "[i]"),
    "scalar indexed": (
        "self.out = self.a[0]",
        "a float32 cannot be indexed",
        "scalars without an index",
    ),
    "float index": (
        "self.out = self.x[1.0]",
        "an index must be an int, but this is a Python float",
        "int(",
    ),
    "bool index": ("self.out = self.x[self.flag]", "this is a truth value", "int("),
    "negative": ("self.out = self.x[-1]", "index -1 is negative", r"self.x[len(self.x) - 1]"),
    "negative number": ("self.out = self.x[1 - self.TAPS]", "index -8 is negative", "- 8]"),
    "attribute": ("self.out = self.x.shape", "has no attribute 'shape'", "len"),
    "attribute store": ("k = self.x\nk.y = 1", "'k.y' is not a field", "self.name"),
    # operations
    "matmul": ("self.out = self.a @ self.a", "'@' cannot multiply numbers", "loops"),
    "is": ("self.truth = self.n is self.s", "'is' cannot compare numbers", "=="),
    "in": ("self.truth = self.n in self.z", "'in' cannot compare numbers", "a loop"),
    "float and": (
        "self.out = self.a & 1",
        "'&' takes ints, but here are a float32 and an int",
        "int(",
    ),
    "not bits": ("self.count = ~self.flag", "'~' takes an int, but this is a truth value", "not"),
    "shift": (
        "self.count = self.n << self.s",
        "right side of '<<' must be an int constant from 0 to 63",
        r"x << (n & 63)",
    ),
    "long shift": ("self.count = self.n >> 64", "int constant from 0 to 63", r"x >> (n & 63)"),
    "power": (
        "self.out = self.a ** 0.5",
        r"right side of '\*\*' must be an int literal",
        "math.sqrt",
    ),
    "cube": ("self.out = self.a ** 3", "a float32 to the power of 3", r"x * x * x"),
    "**=": ("k = 2\nk **= 2", r"'\*\*=' is not available", r"x * x * x"),
    # calls
    "print value": ("k = print(self.n)", r"print\(...\) cannot be called", "as a statement"),
    "print file": ("print(self.n, file=STEPS)", "print takes sep, end, flush as lit", "vectors"),
    "print sep": ("print(self.n, sep=self.n)", "not sep=self.n", "vectors"),
    "print name": ("print(lenght)", "name 'lenght' is not defined", "declare"),
    "print list": ("print(WEIGHTS)", "'WEIGHTS' is list, not an int", "State[Vector[FLOAT]]"),
    "printed formula": ('print("a" + self.n)', "'a' is not a number", "use a number"),
    "breakpoint": ("breakpoint(self.n)", "breakpoint takes no arguments", "write breakpoint()"),
    "breakpoint value": (
        "k = breakpoint()",
        r"breakpoint\(...\) cannot be called",
        "as a statement",
    ),
    "a file's method": ('open("f").write("x")', r"write\(...\) cannot be called", "engine.write"),
    "open": ('f = open("f")', r"open\(...\) cannot be called", "engine.write"),
    "numpy": ("self.out = np.sqrt(self.a)", r"np.sqrt\(...\) cannot be called", "math.sqrt("),
    "type": ("k = pl.QUARTER(self.a)", r"pl.QUARTER\(...\) cannot be called", "which rounds it"),
    "float as a whole number": (
        "k = pl.INT(self.a)",
        "pl.INT does not take a float",
        "pl.INT(int(self.a))",
    ),
    "one of two": ("k = math.pow(self.a)", "math.pow takes 2 numbers, not 1", "pass two numbers"),
    "round": ("k = round(self.a)", r"round\(...\) cannot be called", "math.floor(x + 0.5)"),
    "sum": ("self.out = sum(self.x)", r"sum\(...\) cannot be called", "total += "),
    "keyword": ("self.out = max(1, 2, key=abs)", "max takes no keyword arguments", "by position"),
    "max of vector": ("self.out = max(self.x)", "max", "best = max"),
    "two arguments": ("self.out = math.sqrt(1, 2)", "takes 1 number, not 2", "pass one number"),
    "sqrt of bool": ("self.out = math.sqrt(self.flag)", "math.sqrt of a truth value", "int("),
    "len of number": ("self.count = len(self.n)", "len does not take an int", "a vector or a list"),
    # loops
    "range value": ("k = range(3)", r"range\(...\) cannot be called", "for statement"),
    "float range": (
        "for i in range(self.a):\n    pass",
        "range takes ints, but this is a float32",
        "int",
    ),
    "range step": (
        "for i in range(0, 9, self.s):\n    pass",
        "step of a range must be a constant",
        "while loop",
    ),
    "zero step": (
        "for i in range(0, 9, 0):\n    pass",
        "step of a range must be a constant other than 0",
        "while loop",
    ),
    "rows walk": ("for r in self.rows:\n    pass", "a loop must iterate over", "range"),
    "number walk": (
        "for r in self.n:\n    pass",
        "a loop must iterate over .*; this is an int",
        "range",
    ),
    "pairs": ("for i, v in self.x:\n    pass", "has 1 value for each iteration", "for i in"),
    "enumerate one": (
        "for i in enumerate(self.x):\n    pass",
        "has 2 values for each iteration",
        "for a, b",
    ),
    "element target": (
        "for self.z[0] in range(3):\n    pass",
        "a loop variable must be a local",
        "for i",
    ),
    # kinds that depend on the path
    "vector or number": (
        "r = self.rows[0]\nif self.flag:\n    r = 1\nk = r",
        "a vector of 'rows' on another|a vector of 'rows' on one path",
        "two names",
    ),
    "long int": (
        "t = self.n * self.n\nif self.flag:\n    t = 0.5\nfor v in self.x:\n    t = t + v",
        "'t' is an int, a Python float or a float32",
        r"write float(...) where t is assigned an int",
    ),
    "literal condition": (
        "t = 0.1\nif False:\n    t = self.a\nself.out = t * 3",
        "the condition False never changes",
        "remove the branch",
    ),
    "literal while": ("while 0:\n    pass", "the condition 0 never changes", "remove the branch"),
    "literal choice": ("k = self.a if not 1 else 2", "the condition 1 never changes", "remove"),
    "literal part": ("if self.a and True:\n    pass", "the condition True never", "remove"),
    "literal or": ("k = 0.0 or self.a", "the condition 0.0 never changes", "remove"),
    "literal in a choice": (
        "k = (self.n and 0.0) or self.n",
        "the condition 0.0 never changes",
        "remove",
    ),
    "nested or": (
        "self.out = (self.n or self.a) and self.n",
        "'self.n or self.a', an operand of and/or, has numbers",
        "a local first",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    body, what, fix = REFUSED[name]
    vertex = define(body, tmp_path)
    with pytest.raises(VertexCompileError, match=what) as caught:
        check(vertex)
    error = caught.value
    assert error.what.startswith("'V.compute': ")
    assert fix in error.fix
    assert error.found
    assert error.at is not None
    assert Path(error.at.file).parent == tmp_path
    assert FIRST_LINE <= error.at.line < FIRST_LINE + body.count("\n") + 1
    assert error.at.function == "compute"


def test_the_offending_line_is_named_and_shown(tmp_path: Path) -> None:
    vertex = define("k = 1\n\nif k:\n    # why\n    self.out = undefined_name", tmp_path)
    with pytest.raises(VertexCompileError) as caught:
        check(vertex)
    assert caught.value.at is not None
    assert caught.value.at.line == FIRST_LINE + 4
    assert caught.value.found == "self.out = undefined_name"


@pytest.mark.parametrize(
    "body",
    [
        "self.out = " + " + ".join(["self.a"] * 250),
        "if self.n == 0:\n    pass\n"
        + "\n".join(f"elif self.n == {k}:\n    self.count = {k}" for k in range(1, 250)),
    ],
)
def test_what_is_nested_too_deeply_is_refused(body: str, tmp_path: Path) -> None:
    vertex = define(body, tmp_path)
    with pytest.raises(VertexCompileError, match="more than 200 levels deep") as caught:
        check(vertex)
    assert caught.value.at is not None
    assert caught.value.found.endswith("characters")


def branches(folder: Path) -> pl.Engine:
    """Return an engine that interprets 185 branches, of which n = 180 takes a late one."""
    path = folder / "branches.py"
    rest = "".join(
        f"        elif self.n == {k}:\n            self.n = -{k}\n" for k in range(1, 185)
    )
    path.write_text(
        "import poplite as pl\n\n\nclass Many(pl.Vertex):\n    n: pl.InOut[pl.INT]\n\n"
        f"    def compute(self) -> None:\n        if self.n == 0:\n            pass\n{rest}"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0)
    graph.set_initial_value(n, 180)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, load(path).Many, tile=0, n=n)
    graph.create_host_read("n", n)
    options = {"debug.instrument": False}
    return pl.Engine(graph, pl.Execute(work), interpret=True, options=options)


def test_many_branches_are_interpreted(tmp_path: Path) -> None:
    engine = branches(tmp_path)
    engine.run()
    assert engine.read("n") == -180


def test_branches_that_are_too_deep_for_the_calls_that_led_there_are_refused(
    tmp_path: Path,
) -> None:
    engine = branches(tmp_path)

    def run_below(calls: int) -> None:
        if calls:
            run_below(calls - 1)
        else:
            engine.run()

    free = sys.getrecursionlimit() - len(inspect.stack())
    with pytest.raises(
        VertexCompileError, match="'Many.compute': its text is nested too"
    ) as caught:
        run_below(free - 300)
    assert f"limit of {sys.getrecursionlimit():,} nested calls" in caught.value.found
    assert caught.value.at is not None
    assert caught.value.at.function == "compute"
    engine.run()  # from here there is room
    assert engine.read("n") == -180


def test_text_too_deep_for_pythons_own_parser_is_refused_with_the_limit(tmp_path: Path) -> None:
    rest = "\n".join(f"elif self.n == {k}:\n    self.count = {k}" for k in range(1, 2_000))
    vertex = define(f"if self.n == 0:\n    pass\n{rest}", tmp_path)
    with pytest.raises(
        VertexCompileError, match="'V.compute': text nested more than 200"
    ) as caught:
        check(vertex)
    assert caught.value.at is not None
    assert caught.value.at.line == FIRST_LINE - 1  # of the def
    assert caught.value.found == "4,001 lines"


def test_declared_fields_are_listed(tmp_path: Path) -> None:
    with pytest.raises(VertexCompileError) as caught:
        check(define("self.out = self.q", tmp_path))
    assert "x: Input[Vector[FLOAT]]" in caught.value.found


def test_a_decorated_compute_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decorated.py"
    path.write_text(
        "import poplite as pl\n"
        "def plain(function):\n    return function\n"
        "class V(pl.Vertex):\n    @plain\n    def compute(self):\n        pass\n"
    )
    with pytest.raises(VertexCompileError, match="decorators are not supported"):
        check(load(path).V)


ACCEPTED = {
    "docstring": '"""Text."""\nself.out = 1.0',
    "return": "if self.flag:\n    return\nself.out = 1.0",
    "return none": "return None",
    "dead code": "return\nself.out = undefined",
    "while true": "k = 0\nwhile True:\n    k += 1\n    if k > 3:\n        break\nself.count = k",
    "for else": "for i in range(3):\n    pass\nelse:\n    k = 1\nself.count = k",
    "swap": "a, b = 1, 0.5\na, b = b, a\nself.out = a + b",
    "rows": "r, s = self.rows[0], self.rows[1]\nr, s = s, r\nself.out = r[0] + s[len(s) - 1]",
    "grid": "g = self.grid[0]\ng[0] += 1\nself.grid[1][0] = g[0]",
    "enumerate": "for i, v in enumerate(self.x):\n    self.y[i] = v",
    "zip": "for v, k in zip(self.x, self.z):\n    self.out = v * k",
    "constants": "self.out = STEPS * math.pi * self.TAPS",
    "annotated": "k: float = 0.0\nself.out = k",
    "chain": "self.truth = 0 <= self.n < STEPS",
    "length of output": "for i in range(len(self.y)):\n    self.y[i] = 1",
    "bits": "self.count = 0xFFFFFFFF\nself.z[0] = -(2**31)\nself.truth = 2**40",
    "low bits": "self.count = pl.INT(2**40)\nk = 2**40\nself.z[0] = k >> 9",
    "several targets": "a = b = self.z[0] = 3\nself.count = a + b",
    "short int": "t = 0\nif self.flag:\n    t = 0.5\nfor v in self.x:\n    t = t + v\nself.out = t",
    "named switch": "t = 0.1\nif STEPS == 3:\n    t = self.a\nself.out = t",
    "debug switch": "if STEPS == 3:\n    self.out = 1.0\nelse:\n    self.out = self.a",
    "constant loop": "k = -1\nfor i in range(3):\n    if i:\n        self.y[k] = 1.0\n    k = i",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str, tmp_path: Path) -> None:
    checked = check(define(ACCEPTED[name], tmp_path))
    assert checked.text is not None


def test_the_range_of_constants_is_the_one_that_is_taken(tmp_path: Path) -> None:
    with pytest.raises(VertexCompileError) as refused:
        check(define("self.z[0] = 2**32", tmp_path))
    assert refused.value.found == ("INT takes constants from -2147483648 to 4294967295")
    for taken in ("-(2**31)", "2**32 - 1"):
        check(define(f"self.z[0] = {taken}", tmp_path))
