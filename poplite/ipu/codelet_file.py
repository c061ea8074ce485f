"""Codelets of vertex classes as one C++ file that needs only Poplar's headers.

A file has three parts::

    #include <poplar/Vertex.hpp>        Poplar's types
    namespace pl { ... }                the arithmetic; exp and other functions, if they are called
    class Axpy : public poplar::Vertex  a class for each vertex class

Classes of C++ codelets are passed through: their texts follow, as they were given.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from poplite.cpp.codelets import CodeletUnit
from poplite.cpp.saved import codelet_recipe
from poplite.errors import ElementTypeError, VertexCompileError
from poplite.ipu.codelet_function import (
    ELEMENTS,
    CodeletFunction,
    identifier,
    literal,
    member,
    unused,
)
from poplite.ipu.codelet_statements import function_text
from poplite.text import clipped, items_or_none
from poplite.types import QUARTER, QUARTER_METADATA
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.identity import identity_of
from poplite.vertex.compute.mathematics import DOUBLES, KERNELS, PAIRS
from poplite.vertex.compute.meaning import check
from poplite.vertex.compute.typed_facts import Checked, ElementsValue
from poplite.vertex.fields import ROLE_NAMES, Field, VectorLayout
from poplite.vertex.vertex import MultiVertex, Vertex

_HEAD = """\
// Made by poplite: the codelets of vertex classes written in Python.
// Compile without contraction, with -ffp-contract=off.

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
"""


class CodeletFile(NamedTuple):
    """A C++ file, with the name of each vertex class in it."""

    text: str
    names: Mapping[type[Vertex], str]


def codelet_file(classes: Iterable[type[Vertex]], *, stops_outside: bool = False) -> CodeletFile:
    """Return the codelets of vertex classes as a file.

    With `stops_outside`, an out-of-range index of a field stops the vertex; `cpp` texts of classes
    are not changed.

    Raises `VertexCompileError` for constructs that codelets do not support.
    """
    names: dict[type[Vertex], str] = {}
    texts: list[str] = []
    given: dict[str, str] = {}
    mathematics: set[tuple[str, Kind]] = set()
    for cls in classes:
        if cls in names:
            continue
        if (recipe := codelet_recipe(cls)) is not None:
            names[cls] = recipe.name
            given.update(map(_passed_through, recipe.units))
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
    parts += [f"{text}\n" for text in (*texts, *given.values())]
    return CodeletFile("\n".join(parts), names)


def _passed_through(unit: CodeletUnit) -> tuple[str, str]:
    """Return the digest of a C++ text, and the text; refuse one that includes the user's files."""
    if unit.includes:
        raise VertexCompileError(
            f"C++ codelets of {unit.source.shown} cannot be exported: they include files",
            at=unit.source.at(1, "<module>"),
            found=", ".join(each.path for each in unit.includes),
            fix="put the text of these files in their place",
        )
    return unit.digest, unit.source.text


@cache
def shipped(name: str) -> str:
    """Return a text file of the package."""
    return files("poplite.ipu").joinpath("text", name).read_text(encoding="utf-8")


def _apart(texts: list[str]) -> list[str]:
    return [f"{text}\n" for text in texts]


def codelet_text(classes: type[Vertex] | Iterable[type[Vertex]]) -> str:
    """Return vertex classes as C++ codelets, for the compiler of Poplar's SDK.

    The file includes only Poplar's headers. Equal classes give equal text. `@pl.faster` forms are
    ignored. A class may provide the body of `compute` in C++, as the string `cpp`; it is used
    unchanged, with the usual declarations of fields.

    Args:
        classes: a vertex class, or several classes; templates must have their element types.

    Raises:
        ElementTypeError: for anything that is not a vertex class.
        VertexCompileError: if a `compute` is outside the dialect, has no source text, prints, or
            uses QUARTER; the error gives the line.

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
                f"codelet_text: classes must be vertex classes; found {clipped(each)}",
                fix="pass codelet_text(Axpy), or codelet_text([Axpy, Scale[pl.FLOAT]])",
            )
    return codelet_file(listed).text


# -- one vertex class ------------------------------------------------------------------------------
#
# class Axpy : public poplar::Vertex {
# public:
#   float factor;
#   poplar::Input<poplar::Vector<float>> x;
#   poplar::InOut<poplar::Vector<float>> y;
#
#   bool compute() {
#     for (unsigned i = 0; i < y.size(); ++i) {
#       y[i] = y[i] + factor * x[i];
#     }
#     return true;
#   }
# };


def class_text(
    vertex: type[Vertex],
    name: str,
    mathematics: set[tuple[str, Kind]],
    *,
    stops_outside: bool,
) -> str:
    """Return the codelet of a vertex class under a name; record the `math` functions it calls.

    With `stops_outside`, an out-of-range index of a field stops the vertex.

    Raises `VertexCompileError` for constructs that codelets do not support.
    """
    _check_fields(vertex)
    checked = check(vertex)
    own = own_text(vertex)
    is_multi = issubclass(vertex, MultiVertex)
    identity_of(checked)  # rejects a class that prints
    completely = set() if own is not None else written_completely(checked)
    if own is None:
        functions = _functions(checked, mathematics, is_multi=is_multi, stops_outside=stops_outside)
    else:
        worker = f"unsigned {identifier(checked.scope.parameters[0])}" if is_multi else ""
        body = textwrap.indent(textwrap.dedent(own).strip("\n"), "  ")
        functions = [[f"bool compute({worker}) {{", *body.split("\n"), "}"]]
    lines = [f"// {line}" for line in _summary(vertex)]
    limits = "".join(f'[[poplar::constraint("{text}")]] ' for text in vertex.constraints)
    lines += [f"class {limits}{name} : public poplar::{'Multi' * is_multi}Vertex {{"]
    lines += ["public:"]
    for field in declared_fields(vertex):
        lines.append(f"  {field_type(field, field.name in completely)} {member(field.name)};")
    for number, function in enumerate(functions):
        lines += [""] if number or declared_fields(vertex) else []
        lines += [f"  {line}" if line else "" for line in function]
    return "\n".join([*lines, "};"])


def own_text(vertex: type[Vertex]) -> str | None:
    """Return the `cpp` of a class, its C++ for `compute`, or None.

    A class that overrides `compute` does not inherit the `cpp` of the overridden one.
    """
    for cls in vertex.__mro__:
        if "cpp" in vars(cls):
            text = vars(cls)["cpp"]
            if isinstance(text, str):
                return text
            raise VertexCompileError(
                f"'{vertex.__name__}.cpp' must be a string; found {clipped(text)}",
                at=vertex.location,
                fix='set cpp = """...""", the body of compute in C++',
            )
        if "compute" in vars(cls):
            return None
    return None


def declared_fields(vertex: type[Vertex]) -> list[Field]:
    """Return the fields of a class that are in its codelet."""
    is_multi = issubclass(vertex, MultiVertex)
    return [
        field
        for name, field in vertex.fields.items()
        if not field.is_implicit and not (is_multi and name == "num_workers")
    ]


def field_type(field: Field, is_complete: bool) -> str:
    """Return the C++ type of a field; an output that may be partly unwritten becomes an InOut.

    >>> from poplite.types import FLOAT
    >>> field_type(Field("x", "input", FLOAT, 2), False)
    'poplar::Vector<poplar::Input<poplar::Vector<float>>>'
    """
    element = ELEMENTS[field.element]
    if not field.is_edge:
        return f"poplar::Vector<{element}>" if field.depth else element
    role = "InOut" if field.role == "output" and not is_complete else ROLE_NAMES[field.role]
    if field.depth == 0:
        return f"poplar::{role}<{element}>"
    edge = f"poplar::{role}<poplar::Vector<{element}{_layout(field)}>>"
    return edge if field.depth == 1 else f"poplar::Vector<{edge}>"


def _layout(field: Field) -> str:
    """Return the template arguments of a vector type for a layout; all layouts have a length."""
    layout = field.layout
    is_short = layout.vector is VectorLayout.SHORT_SPAN
    name = "SHORT_SPAN" if is_short else "SPAN"
    if layout.interleaved or layout.min_align > 1:
        align = max(layout.min_align, field.element.size_bytes)
        interleaved = ", true" if layout.interleaved else ""
        return f", poplar::VectorLayout::{name}, {align}{interleaved}"
    return f", poplar::VectorLayout::{name}" if is_short else ""


def _check_fields(vertex: type[Vertex]) -> None:
    for field in vertex.fields.values():
        if field.variable is not None:
            raise VertexCompileError(
                f"'{vertex.__name__}' is a template: field '{field.name}' has no element type",
                at=vertex.location,
                found=f"declared: {field}",
                fix=f"give the element types: {vertex.__name__}[pl.FLOAT]",
            )
        if field.element in (QUARTER, QUARTER_METADATA):
            raise VertexCompileError(
                f"'{vertex.__name__}.{field.name}': a codelet cannot compute with QUARTER yet",
                at=vertex.location,
                found=f"declared: {field}",
                fix="declare a field of HALF",
            )


def _functions(
    checked: Checked, mathematics: set[tuple[str, Kind]], *, is_multi: bool, stops_outside: bool
) -> list[list[str]]:
    """Return the text of `compute` and of all functions that it calls, callees first."""
    names = dict(_names(checked))
    return [
        function_text(
            CodeletFunction(each, names, mathematics, stops_outside=stops_outside),
            is_multi=is_multi,
        )
        for each in reversed(list(checked.functions()))
    ]


def _names(checked: Checked) -> Iterator[tuple[Checked, str]]:
    taken = {"compute", *map(member, checked.vertex.fields)}
    for each in checked.functions():
        own = "compute"
        if each is not checked:
            own = unused(identifier(each.function.__name__), taken)
        taken.add(own)
        yield each, own


def _summary(vertex: type[Vertex]) -> list[str]:
    """Return the first paragraph of the docstring of a class."""
    doc = vars(vertex).get("__doc__") or vars(vertex.__bases__[0]).get("__doc__")
    if vertex.__bases__[0] in (Vertex, MultiVertex):
        doc = vars(vertex).get("__doc__")
    text = (doc or "").strip().split("\n\n")[0]
    return [line.strip().rstrip("\\") for line in text.splitlines()]


# -- outputs that a `compute` writes completely, for all contents of its fields --------------------
# On a real machine, unwritten elements of an `Output` are undefined, so outputs that may have such
# elements are exported as `InOut`. Only the source text is considered::
#
#     self.y = ...                                        outside of branches and loops
#     for i in range(len(self.out)): self.out[i] = ...    unconditionally, in every iteration


def written_completely(checked: Checked) -> set[str]:
    """Return the names of outputs whose elements are all written."""
    if issubclass(checked.vertex, MultiVertex) or checked.raises:
        return set()
    return {
        name
        for name, field in checked.vertex.fields.items()
        if field.role == "output" and _covers(checked, checked.text.tree.body, name, field.depth)
    }


def _covers(checked: Checked, body: Sequence[ast.stmt], name: str, depth: int) -> bool:
    for statement in body:
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return False
        if depth == 0 and _stores(statement, name):
            return True
        if depth and isinstance(statement, ast.For):
            owner = _length_of(checked, statement)
            if owner is not None and _is_of(checked, owner, name, depth):
                return _each_turn(checked, statement, name, depth)
    return False


def _stores(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == name for target in statement.targets
    )


def _length_of(checked: Checked, loop: ast.For) -> ast.expr | None:
    """Return the vector whose indices a loop covers completely."""
    call = loop.iter
    if not isinstance(call, ast.Call) or checked.facts.calls.get(call) != "indices":
        return None
    stop = call.args[0]
    if len(call.args) == 1 and isinstance(stop, ast.Call) and stop not in checked.facts.calls:
        return stop.args[0] if stop not in checked.facts.helpers else None
    return None


def _is_of(checked: Checked, node: ast.expr, name: str, depth: int) -> bool:
    value = checked.facts.containers.get(node)
    return isinstance(value, ElementsValue) and (value.field.name, value.depth) == (name, depth)


def _each_turn(checked: Checked, loop: ast.For, name: str, depth: int) -> bool:
    """Return whether each iteration writes the element with its index, or all of that row."""
    target = loop.target
    if not isinstance(target, ast.Name) or any(_leaves(loop.body)) or _assigns(loop, target.id):
        return False
    for statement in loop.body:
        if depth == 1 and isinstance(statement, ast.Assign):
            places = (each for each in statement.targets if isinstance(each, ast.Subscript))
            if any(_is_element(checked, each, name, target.id) for each in places):
                return True
        if depth == 2 and isinstance(statement, ast.For):
            row = _length_of(checked, statement)
            if row is not None and _is_row(checked, row, name, target.id):
                return _each_turn(checked, statement, name, 1)
    return False


def _is_element(checked: Checked, place: ast.Subscript, name: str, index: str) -> bool:
    is_index = isinstance(place.slice, ast.Name) and place.slice.id == index
    return is_index and _is_of(checked, place.value, name, 1)


def _is_row(checked: Checked, row: ast.expr, name: str, index: str) -> bool:
    """Return whether a vector is the row of this iteration, or a local variable with this row."""
    if not _is_of(checked, row, name, 1):
        return False
    if isinstance(row, ast.Name):
        found = [
            each.value
            for each in ast.walk(checked.text.tree)
            if isinstance(each, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == row.id for t in each.targets)
        ]
        if len(found) != 1:
            return False
        row = found[0]
    is_index = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name)
    return is_index and row.slice.id == index  # type: ignore[attr-defined]


def _leaves(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements that may end an iteration early."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.While):
                yield statement


def _assigns(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in loop.body
        for node in ast.walk(statement)
    )


# -- kernels of `poplite.vertex.compute.mathematics` as C++ functions ------------------------------
# A kernel is called once, with values whose operations each write a line::
#
#     x * 0.5 + 1.0       const float v1 = x * 0.5f;
#                         const float v2 = v1 + 1.0f;
# So `exp` and other functions are bit-identical to those of the compiled and interpreted `compute`.

_INTEGERS = {"float": "int", "double": "long long"}
_FLOATS = {integer: real for real, integer in _INTEGERS.items()}
_KINDS = {"float": Kind.F32, "double": Kind.FLOAT}

HELPERS = """\
// Parts of the functions below: integers that wrap around, and the bits of floats.

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
  static_assert(sizeof(To) == sizeof(From), "sizes must be equal");
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
    """Return the lines whose variables are used by later lines, and the last line."""
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
    """A variable of the function that is being written, with the operators of numbers."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, writer: _Writer, code: str, type_name: str) -> None:
        self.writer, self.code, self.type_name = writer, code, type_name

    def beside(self, other: Any) -> str:
        """Return another operand as text; a plain number gets the type of this value."""
        if isinstance(other, _Value):
            return other.code
        kind = _KINDS.get(self.type_name)
        if kind is not None:
            return literal(float(other), kind)
        text = literal(int(other), Kind.INT).replace("pl::LEAST", "LEAST.value")
        return text if self.type_name == "int" or text.endswith(("LL", "e")) else f"{text}LL"

    def made(self, symbol: str, left: str, right: str) -> _Value:
        """Return the variable for an operation on this value and another operand."""
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
    """Writes the operations of a kernel; see `poplite.vertex.compute.mathematics_singles`."""

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
