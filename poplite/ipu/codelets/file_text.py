"""Codelets of vertex classes as one C++ file that needs nothing but Poplar's headers.

#include <poplar/Vertex.hpp>        Poplar's types
namespace pl { ... }                the arithmetic; exp and the others, where they are called
class Axpy : public poplar::Vertex  a class for each vertex class

The kernels of `poplite.vertex.compute.mathematics` as C++ functions.

A kernel is called once, with values that write a line for each of their operations::

    x * 0.5 + 1.0       const float v1 = x * 0.5f;
                        const float v2 = v1 + 1.0f;

So `exp` and the others have the bits that they have in both forms of `compute`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from poplite.errors import ElementTypeError
from poplite.ipu.codelets.class_text import class_text
from poplite.ipu.codelets.terms import identifier, literal, unused
from poplite.text import clipped, items_or_none
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.mathematics import DOUBLES, KERNELS, PAIRS
from poplite.vertex.vertex import Vertex

_HEAD = """\
// Made by poplite: the codelets of vertex classes written in Python.
// Compile without contraction, with -ffp-contract=off.

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
"""


class CodeletFile(NamedTuple):
    """A C++ file, and the name of each vertex class in it."""

    text: str
    names: Mapping[type[Vertex], str]


def codelet_file(classes: Iterable[type[Vertex]], *, stops_outside: bool = False) -> CodeletFile:
    """Return the codelets of vertex classes as a file.

    With `stops_outside`, an index outside of a field stops the vertex; bodies that classes give in
    C++ are taken as they are.

    Raises `VertexCompileError` for what a codelet cannot have.
    """
    names: dict[type[Vertex], str] = {}
    texts: list[str] = []
    mathematics: set[tuple[str, Kind]] = set()
    for cls in classes:
        if cls in names:
            continue
        plain = re.sub(r"\[|, ", "_", cls.__qualname__.rpartition(".")[2]).replace("]", "")
        names[cls] = unused(identifier(plain), names.values())
        texts.append(class_text(cls, names[cls], mathematics, stops_outside=stops_outside))
    parts = [_HEAD, shipped("arithmetic.hpp")]
    if any("pl::Lanes<" in text or "pl::load<" in text for text in texts):
        parts.append(shipped("lanes.hpp"))
    if mathematics:
        functions = [math_function(name, kind) for name, kind in sorted(mathematics)]
        parts += [
            HELPERS,
            "\n".join(["namespace pl {", "", *_apart(functions), "} // namespace pl\n"]),
        ]
    return CodeletFile("\n".join([*parts, *(f"{text}\n" for text in texts)]), names)


@cache
def shipped(name: str) -> str:
    """Return a text that comes with the package."""
    return files("poplite.ipu").joinpath("text", name).read_text(encoding="utf-8")


def _apart(texts: list[str]) -> list[str]:
    return [f"{text}\n" for text in texts]


# -- mathematics -----------------------------------------------------------------------------------


_INTEGERS = {"float": "int", "double": "long long"}
_FLOATS = {integer: real for real, integer in _INTEGERS.items()}
_KINDS = {"float": Kind.F32, "double": Kind.FLOAT}

HELPERS = """\
// What the functions below are made of: integers that wrap around, and the bits of floats.

namespace pl {

constexpr unsigned bits(int a) { return static_cast<unsigned>(a); }
inline int sum(int a, int b) { return static_cast<int>(bits(a) + bits(b)); }
inline int difference(int a, int b) { return static_cast<int>(bits(a) - bits(b)); }
inline int shifted_left(int a, int b) { return static_cast<int>(bits(a) << b); }
inline long long sum(long long a, long long b) { return (Int(a) + Int(b)).value; }
inline long long difference(long long a, long long b) { return (Int(a) - Int(b)).value; }
inline long long product(long long a, long long b) { return (Int(a) * Int(b)).value; }
inline long long shifted_left(long long a, long long b) { return (Int(a) << Int(b)).value; }

template <class To, class From> inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of another size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

} // namespace pl
"""

_INTEGER_FUNCTIONS = {"+": "sum", "-": "difference", "*": "product", "<<": "shifted_left"}


def math_function(name: str, kind: Kind) -> str:
    """Return a function of `math` in C++, for float32 or doubles.

    >>> text = math_function("exp", Kind.F32)
    >>> text.splitlines()[0], text.splitlines()[-2]
    ('inline float exp(float x) {', '  return v35;')
    """
    kernel = (KERNELS if kind is Kind.F32 else DOUBLES)[name]
    real = "float" if kind is Kind.F32 else "double"
    writer = _Writer()
    names = ("x", "y") if name in PAIRS else ("x",)
    result = kernel(writer, *(_Value(writer, each, real) for each in names))
    head = f"inline {real} {name}({', '.join(f'{real} {each}' for each in names)}) {{"
    lines = _needed([*writer.lines, f"  return {result.code};"])
    return "\n".join([head, *lines, "}"])


def _needed(lines: list[str]) -> list[str]:
    """Return the lines whose variables are used by later ones, and the last line."""
    kept: list[str] = []
    used: set[str] = set()
    for line in reversed(lines):
        defined = re.match(r"  (?:static )?const (?:long )?\w+ (\w+)", line)
        if defined is None or defined[1] in used:
            kept.insert(0, line)
            used |= set(re.findall(r"\w+", line.partition("=")[2] or line))
    return kept


_Operator = Callable[["_Value", Any], "_Value"]


def _operators(symbol: str) -> tuple[_Operator, _Operator]:
    """Return the methods of an operator, the second for a plain number on the left."""

    def operator(self: _Value, other: Any) -> _Value:
        return self.made(symbol, self.code, self.beside(other))

    def reflected(self: _Value, other: Any) -> _Value:
        return self.made(symbol, self.beside(other), self.code)

    return operator, reflected


def _compared(symbol: str) -> _Operator:
    """Return the method of a comparison."""

    def operator(self: _Value, other: Any) -> _Value:
        return self.writer.made("bool", f"{self.code} {symbol} {self.beside(other)}")

    return operator


class _Value:
    """A variable of the function that is written, with the operators of numbers."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, writer: _Writer, code: str, type_name: str) -> None:
        self.writer, self.code, self.type_name = writer, code, type_name

    def beside(self, other: Any) -> str:
        """Return the other operand as text: a plain number is of this value's type."""
        if isinstance(other, _Value):
            return other.code
        kind = _KINDS.get(self.type_name)
        if kind is not None:
            return literal(float(other), kind)
        text = literal(int(other), Kind.INT).replace("pl::LEAST", "LEAST.value")
        return text if self.type_name == "int" or text.endswith(("LL", "e")) else f"{text}LL"

    def made(self, symbol: str, left: str, right: str) -> _Value:
        """Return the variable of an operation on this value and another operand."""
        is_float = self.type_name in _KINDS
        if is_float or symbol not in _INTEGER_FUNCTIONS:
            return self.writer.made(self.type_name, f"{left} {symbol} {right}")
        return self.writer.made(self.type_name, f"{_INTEGER_FUNCTIONS[symbol]}({left}, {right})")

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __lshift__, __rshift__ = _operators("<<")[0], _operators(">>")[0]
    __and__, __or__, __xor__ = (_operators(symbol)[0] for symbol in "&|^")
    __lt__, __gt__ = _compared("<"), _compared(">")
    __eq__, __ne__ = _compared("=="), _compared("!=")  # type: ignore[assignment]

    def __neg__(self) -> _Value:
        return self.writer.made(self.type_name, f"-{self.code}")

    def __abs__(self) -> _Value:
        return self.writer.made(self.type_name, f"absolute({self.code})")


class _Writer:
    """Writes what kernels call; see `poplite.vertex.compute.mathematics.singles`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def made(self, type_name: str, code: str) -> _Value:
        """Write a line, and return the variable that it defines."""
        self._count += 1
        name = f"v{self._count}"
        self.lines.append(f"  const {type_name} {name} = {code};")
        return _Value(self, name, type_name)

    def choose(self, condition: _Value, one: Any, other: Any) -> _Value:
        """See `Evaluator`."""
        strong = one if isinstance(one, _Value) else other
        code = f"{condition.code} ? {strong.beside(one)} : {strong.beside(other)}"
        return self.made(strong.type_name, code)

    def bits(self, value: _Value) -> _Value:
        """See `Evaluator`."""
        kind = _INTEGERS[value.type_name]
        return self.made(kind, f"same_bits<{kind}>({value.code})")

    def floats(self, bits: _Value) -> _Value:
        """See `Evaluator`."""
        kind = _FLOATS[bits.type_name]
        return self.made(kind, f"same_bits<{kind}>({bits.code})")

    def double(self, value: _Value) -> _Value:
        """See `Evaluator`."""
        return self.made("double", f"static_cast<double>({value.code})")

    def single(self, value: _Value) -> _Value:
        """See `Evaluator`."""
        return self.made("float", f"static_cast<float>({value.code})")

    def sqrt(self, value: _Value) -> _Value:
        """See `Evaluator`."""
        return self.made(value.type_name, f"sqrt({value.code})")

    def rint(self, value: _Value) -> _Value:
        """See `Evaluator`."""
        return self.made(value.type_name, f"rint({value.code})")

    def lookup(self, table: Sequence[int], index: _Value) -> _Value:
        """See `Evaluator`."""
        self._count += 1
        name = f"table{self._count}"
        words = [f"{word}LL" for word in table]
        rows = ["    " + ", ".join(words[at : at + 4]) for at in range(0, len(words), 4)]
        least = str(-(2**63))
        text = ",\n".join(rows).replace(f"{least}LL", "LEAST.value")
        self.lines.append(f"  static const long long {name}[] = {{\n{text}}};")
        return self.made("long long", f"{name}[{index.code}]")


# -- for users -------------------------------------------------------------------------------------


def codelet_text(classes: type[Vertex] | Iterable[type[Vertex]]) -> str:
    """Return vertex classes as C++ codelets, for the compiler of Poplar's SDK.

    The file includes Poplar's headers and nothing else of poplite. Equal classes give an equal
    text. `@pl.faster` forms are left out. A class may have the body of `compute` in C++ of its own,
    as the text `cpp`; it is taken unchanged, with fields that are declared as always.

    Args:
        classes: a vertex class, or several; of a template, classes with element types.

    Raises:
        ElementTypeError: if it is not a vertex class.
        VertexCompileError: when a `compute` is outside the dialect, has no text, prints, or works
            on QUARTER; with the line.

    >>> import poplite as pl
    >>> class Axpy(pl.Vertex):
    ...     factor: pl.State[pl.FLOAT]
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     y: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.y)):
    ...             self.y[i] += self.factor * self.x[i]
    >>> text = pl.ipu.codelet_text(Axpy)
    >>> print(text[text.index("class Axpy") :])
    class Axpy : public poplar::Vertex {
    public:
      float factor;
      poplar::Input<poplar::Vector<float>> x;
      poplar::InOut<poplar::Vector<float>> y;
    <BLANKLINE>
      bool compute() {
        for (unsigned i = 0; i < y.size(); ++i) {
          y[i] = y[i] + factor * x[i];
        }
        return true;
      }
    };
    <BLANKLINE>
    """
    items = items_or_none(classes)
    listed: list[Any] = [classes] if items is None else items
    for each in listed:
        if not (isinstance(each, type) and issubclass(each, Vertex)):
            raise ElementTypeError(
                f"codelet_text: {clipped(each)} is not a vertex class",
                fix="codelet_text(Axpy), or codelet_text([Axpy, Scale[pl.FLOAT]])",
            )
    return codelet_file(listed).text
