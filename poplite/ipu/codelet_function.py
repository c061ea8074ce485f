"""The parts that the writers of a C++ function share: its terms, facts, variables, lines so far.

Terms are numbers, types, names and operators::

    FLOAT, HALF, INT        float, half, int            elements in memory
    F32, FLOAT, INT, UINT   float, double, pl::Int, pl::Unsigned     numbers inside `compute`
    0.1 with a float32      0.1f                        rounded when the text is written

A name that is reserved in C++ gets an underscore: the field `float` becomes `float_`. So does a
name that a header may define as a macro. Macros are spelled in capitals, so every name that starts
with a capital, followed by a capital, a digit or an underscore, gets an underscore, independently
of a compiler's headers; the few macros in lower case are listed. Ordinary names remain unchanged.

The lines of a block are collected in `lines`; an expression that needs a temporary variable adds a
line before the line of its statement. Some calls to helpers have effects: they store, or may stop
the vertex. C++ does not specify the order in which the operands of `+` are evaluated, while Python
evaluates them from left to right. So the operands of an expression with such a call are stored in
temporary variables, one after the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import STORED, Constants
from poplite.vertex.compute.typed_facts import Checked, ElementsValue, Facts, LanesOf, Mixed, Value

ELEMENTS: dict[type[ElementType[Any]], str] = {
    **{element: element.toString() for element in STORED},
    UNSIGNED_INT: "unsigned",
}
"""The C++ type of each element type except QUARTER, in the order in which the host program numbers
them."""

NUMBERS: dict[Kind, str] = {
    Kind.BOOL: "bool",
    Kind.INT: "pl::Int",
    Kind.UINT: "pl::Unsigned",
    Kind.FLOAT: "double",
    Kind.F32: "float",
}
"""The C++ type of a number inside `compute`."""

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_RESERVED = frozenset(_KEYWORDS.split())
_MACROS = re.compile(
    r"[A-Z][A-Z0-9_]\w*|I|errno|assert\w*|std(in|out|err)|unix|linux|i386|complex|imaginary|noreturn"
    r"|va_\w+|setjmp|sigsetjmp|offsetof|alloca|math_errhandling|strdupa|strndupa|onexit|environ"
    r"|(sa|si|sigev|sched|pthread)_\w+|st_[acm]time\w*|h_(addr|errno)|s6_addr\w*|sigmask|major|minor|makedev"
    r"|[bl]e\d+toh|hto[bl]e\d+|hton[ls]|ntoh[ls]"
    r"|is(nan|inf|finite|normal|subnormal|zero|unordered|less\w*|greater\w*)|signbit|fpclassify"
    r"|(get|put)w?c(har)?|feof|ferror|clearerr|fileno|to(upper|lower)|is(al\w+|digit|\w*space|graph)"
)
"""Names of macros: all names in capitals, the macros of C and POSIX in lower case, and C functions
that may also be macros."""
_OURS = frozenset({"compute", "half", "numWorkers", "pl", "poplar", "std"})
"""Names that codelets use themselves."""


@lru_cache(maxsize=4096)
def identifier(name: str) -> str:
    """Return a valid C++ name for a Python name.

    >>> identifier("x"), identifier("float"), identifier("größe"), identifier("EOF")
    ('x', 'float_', 'gru00f6u00dfe', 'EOF_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"u{ord(found[0]):04x}", name)
    plain = re.sub("__+", "_", plain)
    reserved = plain in _RESERVED or plain in _OURS or _MACROS.fullmatch(plain)
    return f"{plain}_" if reserved or re.match("_[A-Z]", plain) or plain == "_" else plain


def unused(name: str, names: Iterable[str]) -> str:
    """Return the name itself, or with the smallest number appended that makes it unique.

    >>> unused("row", {"row", "row_2"})
    'row_3'
    """
    taken, number, made = set(names), 1, name
    while made in taken:
        number += 1
        made = f"{name.rstrip('_')}_{number}"
    return made


def literal(value: bool | int | float, kind: Kind) -> str:
    """Return a Python number as a literal of a kind, rounded by the rules of the arithmetic.

    >>> literal(0.1, Kind.F32), literal(0.1, Kind.FLOAT), literal(3, Kind.F32)
    ('0.1f', '0.1', '3.0f')
    >>> literal(-(2**63), Kind.INT), literal(1 << 40, Kind.INT), literal(True, Kind.BOOL)
    ('pl::LEAST', '1099511627776LL', 'true')
    """
    with np.errstate(all="ignore"):
        number: Any = arithmetic.cast(value, kind)
    if kind is Kind.BOOL:
        return "true" if number else "false"
    if kind is Kind.UINT:
        return f"{int(number)}ULL"
    if kind is Kind.INT:
        if number == arithmetic.INT_MIN:
            return "pl::LEAST"
        return str(int(number)) if abs(number) < 2**31 else f"{int(number)}LL"
    suffix = "f" if kind is Kind.F32 else ""
    if np.isnan(number):
        return f'__builtin_nan{suffix}("")'
    if np.isinf(number):
        return f"{'-' if number < 0 else ''}__builtin_inf{suffix}()"
    return _decimal(repr(float(number)) if kind is Kind.FLOAT else str(number)) + suffix


def _decimal(text: str) -> str:
    """Return the text of a float with a decimal point."""
    return text if "." in text or "e" in text else f"{text}.0"


# -- expressions with the precedence of their last operator ----------------------------------------
#
# Term("a + b", ADDITION) as an operand of `*`      (a + b)


PRIMARY, UNARY, PRODUCT, ADDITION, SHIFT, RELATION, EQUALITY, BITS, AND, OR, CHOICE = range(11)
"""Precedence levels of operators, the highest first; here, `&`, `|` and `^` share one level."""


class Term(NamedTuple):
    """An expression in C++.

    Attributes:
        level: the precedence level of its last operator.
        is_class: for ints, whether it is a `pl::Int` instead of a native C++ integer.
        number: its value, for a literal.
    """

    code: str
    kind: Kind
    level: int = PRIMARY
    is_class: bool = False
    number: bool | int | float | None = None

    def within(self, level: int) -> str:
        """Return its text as an operand of an operator of the given level."""
        return self.code if self.level <= level else f"({self.code})"

    def to(self, kind: Kind) -> Term:
        """Return the number widened to a kind; unchanged if it has that kind."""
        if self.number is not None:
            return literal_term(self.number, kind)
        if self.kind is kind:
            return self
        return Term(f"{NUMBERS[kind]}({self.code})", kind, is_class=kind is Kind.INT)

    def as_class(self) -> Term:
        """Return an int as a `pl::Int`, whose operators wrap around at 64 bits."""
        if self.is_class or self.kind is not Kind.INT:
            return self.to(Kind.INT) if self.kind is Kind.BOOL else self
        return Term(f"pl::Int({self.code})", Kind.INT, is_class=True)


def literal_term(value: bool | int | float, kind: Kind) -> Term:
    """Return a Python number as a literal of a kind.

    >>> literal_term(-0.5, Kind.F32).within(PRIMARY)
    '(-0.5f)'
    """
    with np.errstate(all="ignore"):
        number: Any = arithmetic.cast(value, kind)
    code = literal(number, kind)
    level = UNARY if code.startswith("-") else PRIMARY
    return Term(code, kind, level, is_class=code == "pl::LEAST", number=number)


# -- operators, comparisons, choices ---------------------------------------------------------------
#
# Ints are `pl::Int`, whose operators wrap around; one operand of that class suffices, since the
# other is converted. If neither operand is a `pl::Int`, the left one is converted explicitly.


_LEVELS = {"+": ADDITION, "-": ADDITION, "*": PRODUCT, "/": PRODUCT}
_FUNCTIONS = {"//": "pl::floor_divide", "%": "pl::modulo"}


def binary_term(symbol: str, left: Term, right: Term) -> Term:
    """Return `left symbol right`, for a Python operator symbol.

    >>> a, n = Term("a", Kind.F32), Term("n", Kind.INT, is_class=True)
    >>> binary_term("*", binary_term("+", a, n), literal_term(0.1, Kind.FLOAT)).code
    '(a + float(n)) * 0.1f'
    >>> binary_term("//", n, literal_term(2, Kind.INT)).code
    'pl::floor_divide(n, 2)'
    """
    wide = max(left.kind, right.kind)
    if symbol in ("<<", ">>"):
        return _shifted(symbol, left, right)
    if symbol in ("&", "|", "^"):
        one, other = _of_kind(wide, left, right)
        code = f"{one.within(UNARY)} {symbol} {other.within(UNARY)}"
        return Term(code, wide, BITS, is_class=wide is Kind.INT)
    if symbol == "**":
        kind = max(left.kind, Kind.INT)
        base = left.as_class() if kind is Kind.INT else left
        code = f"pl::power<{NUMBERS[kind]}>({base.code}, {right.code})"
        return Term(code, kind, is_class=kind is Kind.INT)
    kind = max(wide, Kind.FLOAT if symbol == "/" else Kind.INT)
    one, other = _of_kind(kind, left, right)
    if symbol in _FUNCTIONS:
        code = f"{_FUNCTIONS[symbol]}({one.code}, {other.code})"
        return Term(code, kind, is_class=kind is Kind.INT)
    level = _LEVELS[symbol]
    code = f"{one.within(level)} {symbol} {other.within(level - 1)}"
    return Term(code, kind, level, is_class=kind is Kind.INT)


def _of_kind(kind: Kind, left: Term, right: Term) -> tuple[Term, Term]:
    """Return both operands widened; at least one of two ints becomes a `pl::Int`."""
    one, other = left.to(kind), right.to(kind)
    if kind is Kind.INT and not (one.is_class or other.is_class):
        one = one.as_class()
    return one, other


def _shifted(symbol: str, left: Term, right: Term) -> Term:
    kind = max(left.kind, Kind.INT)
    if kind is Kind.INT:
        count = right.within(UNARY) if right.kind is Kind.INT else f"pl::Int({right.code})"
        code = f"{left.to(kind).as_class().within(UNARY)} {symbol} {count}"
        return Term(code, kind, SHIFT, is_class=True)
    count_code = right.within(UNARY) if right.number is not None else f"unsigned({right.code})"
    return Term(f"{left.within(UNARY)} {symbol} {count_code}", kind, SHIFT)


def unary_term(symbol: str, operand: Term) -> Term:
    """Return `symbol operand`, for `-`, `+` or `~`.

    >>> unary_term("-", Term("-x", Kind.F32, UNARY)).code
    '-(-x)'
    """
    kind = max(operand.kind, Kind.INT)
    value = operand.to(kind).as_class() if kind is Kind.INT else operand
    if symbol == "+":
        return value
    return Term(f"{symbol}{value.within(PRIMARY)}", kind, UNARY, is_class=kind is Kind.INT)


def compared_terms(symbol: str, left: Term, right: Term) -> Term:
    """Return a comparison; signed and unsigned ints are compared by value.

    >>> compared_terms("<", Term("n", Kind.INT), Term("u", Kind.UINT)).code
    'pl::compared(pl::Int(n), u) < 0'
    """
    kind = max(left.kind, right.kind)
    level = EQUALITY if symbol in ("==", "!=") else RELATION
    if kind is Kind.UINT and left.kind is not right.kind:
        numbers = (left.number, right.number)
        if all(number is None or number >= 0 for number in numbers) and numbers != (None, None):
            one, other = left.to(kind), right.to(kind)
        else:
            one, other = (t.to(Kind.INT).as_class() if t.kind < kind else t for t in (left, right))
            return Term(f"pl::compared({one.code}, {other.code}) {symbol} 0", Kind.BOOL, level)
    else:
        one, other = left.to(kind), right.to(kind)
        if kind is Kind.INT and not (one.is_class or other.is_class):
            is_simple = level == EQUALITY and other.number is not None and other.number >= 0
            one = one if is_simple else one.as_class()
    code = f"{one.within(ADDITION)} {symbol} {other.within(ADDITION)}"
    return Term(code, Kind.BOOL, level)


def truth_term(term: Term) -> Term:
    """Return the test for a number that differs from zero, as NaN does.

    >>> truth_term(Term("x", Kind.F32)).code
    'x != 0.0f'
    """
    if term.kind is Kind.BOOL:
        return term
    zero = literal_term(0, term.kind).code
    return Term(f"{term.within(ADDITION)} != {zero}", Kind.BOOL, EQUALITY)


def joined_tests(symbol: str, tests: list[Term]) -> Term:
    """Return conditions joined by `&&` or `||`."""
    if len(tests) == 1:
        return tests[0]
    level = AND if symbol == "&&" else OR
    code = f" {symbol} ".join(test.within(EQUALITY) for test in tests)
    return Term(code, Kind.BOOL, level)


def choice_term(test: Term, one: Term, other: Term, kind: Kind) -> Term:
    """Return `test ? one : other`, with both results widened to a kind.

    >>> one, other = literal_term(1, Kind.INT), Term("x", Kind.F32)
    >>> choice_term(Term("b", Kind.BOOL), one, other, Kind.F32).code
    'b ? 1.0f : x'
    """
    branches = [each.to(kind) for each in (one, other)]
    if kind is Kind.INT:
        branches = [each.as_class() for each in branches]
    code = f"{test.within(OR)} ? {branches[0].within(OR)} : {branches[1].within(OR)}"
    return Term(code, kind, CHOICE, is_class=kind is Kind.INT)


# -- functions -------------------------------------------------------------------------------------


# -- variables, one for each kind in which a local is read -----------------------------------------
# A Python local has a kind at each place. In C++ it becomes one variable for each kind in which it
# is read, and an assignment sets all variables that are at least as wide::
#
#     t = 0.1                   t_double = 0.1;  t_float = 0.1f;
#     if flag: t = self.x[0]    if (flag) t_float = x[0];
#     self.y = t * 3            *y = t_float * 3.0f;
#
# Widening at the assignment gives the same value as widening where paths merge
# (`poplite.vertex.compute.typed_facts`), so no copies are needed where paths merge.
# A variable is declared in the innermost block that contains all its uses; a variable that only
# loops assign, and that is read only in their bodies, is declared in each loop.


ROW: Literal["row"] = "row"
"""The version of a local that is a row of a list: the row number."""

Version = Kind | LanesOf | Literal["row"]

_SUFFIXES = {
    Kind.BOOL: "bool",
    Kind.INT: "int",
    Kind.UINT: "unsigned",
    Kind.FLOAT: "double",
    Kind.F32: "float",
}

Place = tuple[tuple[int, int], ...]
"""The place of a statement: each enclosing block, with the index in it."""


def type_of(version: Version) -> str:
    """Return the C++ type of a variable.

    >>> type_of(Kind.F32), type_of(ROW)
    ('float', 'pl::Int')
    """
    if isinstance(version, LanesOf):
        return f"pl::Lanes<{NUMBERS[version.kind]}>"
    return NUMBERS[version] if isinstance(version, Kind) else "pl::Int"


def version_of(value: Value) -> Version | None:
    """Return the version for a value; None for a field, which needs no variable."""
    if isinstance(value, ElementsValue):
        return ROW if value.depth < value.field.depth else None
    assert not isinstance(value, Mixed)
    return value if isinstance(value, LanesOf) else value.kind


class Variables:
    """The variables of one function.

    Attributes:
        of_loops: locals that are declared by the loops that assign them.
    """

    def __init__(self, checked: Checked, taken: Sequence[str]) -> None:
        self._versions: dict[str, set[Version]] = {}
        self._names: dict[tuple[str, Version], str] = {}
        self._taken = {*taken}
        uses = _Uses(checked)
        parameters = checked.scope.parameters
        self.stored = uses.stored
        self._read = {*uses.versions}
        self.of_loops = frozenset(uses.of_loops) - {*parameters}
        self.declared: dict[tuple[int, int], list[str]] = {}
        for name, version in uses.versions:
            self._versions.setdefault(name, set()).add(version)
        for name, value in zip(parameters, checked.arguments, strict=True):
            passed = version_of(value)
            if passed is not None:
                self._versions.setdefault(name, set()).add(passed)
        for name, places in uses.places.items():
            if name in self._versions and name not in parameters and name not in self.of_loops:
                self.declared.setdefault(_innermost(places), []).append(name)
        for name in sorted(self._versions):
            for version in self.versions(name):
                self._name(name, version)

    @property
    def names(self) -> set[str]:
        """The C++ names of all variables."""
        return {*self._names.values()}

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a local that are read, from narrow to wide."""
        return sorted(self._versions.get(name, ()), key=lambda each: (str(type(each)), str(each)))

    def at_least(self, name: str, kind: Kind) -> list[Kind]:
        """Return the kinds of a local that an assignment of `kind` sets, from narrow to wide."""
        kinds = (each for each in self._versions.get(name, ()) if isinstance(each, Kind))
        return sorted(each for each in kinds if each >= kind)

    def has(self, name: str, version: Version) -> bool:
        """Return whether a version of a local is read anywhere."""
        return version in self._versions.get(name, ())

    def name(self, name: str, version: Version) -> str:
        """Return the C++ name of a version of a local."""
        return self._names[name, version]

    def parameter(self, name: str, version: Version) -> str:
        """Return the C++ name of a parameter, commented out if it is never read."""
        own = self._names[name, version]
        return own if any(each == name for each, _ in self._read) else f"/* {own} */"

    def temporary(self, stem: str) -> str:
        """Return an unused name."""
        made = unused(stem, self._taken)
        self._taken.add(made)
        return made

    def _name(self, name: str, version: Version) -> None:
        own = identifier(name)
        if len(self._versions[name]) > 1:
            kind = _SUFFIXES[version] if isinstance(version, Kind) else "row"
            own += f"_{'lanes' if isinstance(version, LanesOf) else kind}"
        self._names[name, version] = self.temporary(own)


class _Uses:
    """The uses of a function's locals.

    Attributes:
        versions: the names that are read, with their versions.
        places: the places where each name is used.
        stored: names that are assigned by statements other than loops.
    """

    def __init__(self, checked: Checked) -> None:
        self._facts = checked.facts
        self.versions: list[tuple[str, Version]] = []
        self.places: dict[str, list[Place]] = {}
        self.stored: set[str] = set()
        self._loops: set[str] = set()
        self._elsewhere: set[str] = set()
        self._block(checked.text.tree.body, (), frozenset())

    @property
    def of_loops(self) -> set[str]:
        """Names that only loops assign, and that only their bodies read."""
        return self._loops - self._elsewhere - self.stored

    def _block(self, statements: Sequence[ast.stmt], path: Place, loops: frozenset[str]) -> None:
        for number, statement in enumerate(statements):
            here = (*path, (id(statements), number))
            if isinstance(statement, ast.If | ast.While):
                self._names(statement.test, here, loops)
                self._block(statement.body, here, loops)
                self._block(statement.orelse, here, loops)
            elif isinstance(statement, ast.For):
                self._names(statement.iter, here, loops)
                targets = {target.id for target in loop_targets(statement)}
                for name in targets:
                    self.places.setdefault(name, []).append((*here, (id(statement.body), -1)))
                    self._elsewhere |= {name} & loops
                self._loops |= targets
                self._block(statement.body, here, loops | targets)
                self._block(statement.orelse, here, loops)
            elif isinstance(statement, ast.Assert):
                self._names(statement.test, here, loops)
            elif not isinstance(statement, ast.Raise):  # codelets omit its text
                self._names(statement, here, loops)

    def _names(self, node: ast.AST, here: Place, loops: frozenset[str]) -> None:
        for each in ast.walk(node):
            if not isinstance(each, ast.Name):
                continue
            self.places.setdefault(each.id, []).append(here)
            if isinstance(each.ctx, ast.Store):
                self.stored.add(each.id)
            if each.id not in loops:
                self._elsewhere.add(each.id)
            self.versions += [(each.id, version) for version in self._read(each)]

    def _read(self, node: ast.Name) -> Iterator[Version]:
        facts = self._facts
        if node in facts.constants:
            return
        if node in facts.kinds:
            yield facts.kinds[node]
        elif node in facts.containers:
            version = version_of(facts.containers[node])
            if version is not None:
                yield version


def loop_targets(node: ast.For) -> list[ast.Name]:
    """Return the variables of a loop."""
    found = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    return [each for each in found if isinstance(each, ast.Name)]


def _innermost(places: Sequence[Place]) -> tuple[int, int]:
    """Return the innermost block around all places, and its first statement with one of them."""
    depth = 0
    while all(len(place) > depth for place in places):
        if len({place[depth][0] for place in places}) > 1:
            break
        depth += 1
    block = places[0][depth - 1][0]
    return block, min(place[depth - 1][1] for place in places)


# -- lines -----------------------------------------------------------------------------------------


INDENT = "  "


class CodeletFunction:
    """One function being written in C++.

    Args:
        stops_outside: whether an out-of-range index of a field stops the vertex.

    Attributes:
        names: the C++ names of all functions of the class.
        lines: the lines of the current block.
        counters: locals that are native C++ integers at this point.
        mathematics: functions of `math` that the class calls.
    """

    def __init__(
        self,
        checked: Checked,
        names: Mapping[Checked, str],
        mathematics: set[tuple[str, Kind]],
        *,
        stops_outside: bool,
    ) -> None:
        self._stops_outside = stops_outside
        self.checked, self.names, self.mathematics = checked, names, mathematics
        self.facts: Facts = checked.facts
        self.constants = Constants(checked.scope)
        members = {member(name) for name in checked.vertex.fields}
        self.variables = Variables(checked, [*names.values()])
        self._hidden = members & self.variables.names
        self.lines: list[str] = []
        self.counters: set[str] = set()

    def member(self, name: str) -> str:
        """Return the C++ text of a field."""
        own = member(name)
        return f"this->{own}" if own in self._hidden else own

    def element(self, owner: str, index: str) -> str:
        """Return the text of an element of a field, or of one of its rows."""
        return f"pl::at({owner}, {index})" if self._stops_outside else f"{owner}[{index}]"

    def add(self, line: str) -> None:
        """Add a line to the block."""
        self.lines.append(line)

    def block(self, write: Callable[[], None]) -> list[str]:
        """Return the lines of an inner block, indented."""
        outer, self.lines = self.lines, []
        write()
        inner, self.lines = self.lines, outer
        return [INDENT + line if line and line[0] != "#" else line for line in inner]

    def kept(self, type_name: str, code: str, stem: str = "kept") -> str:
        """Store a value in a new variable, and return its name."""
        name = self.variables.temporary(stem)
        self.add(f"const {type_name} {name} = {code};")
        return name

    def has_effect(self, node: ast.AST) -> bool:
        """Return whether an expression calls a helper that stores, or may stop the vertex."""
        return has_effect(self.checked, node)

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        """Treat a local as a counter inside a loop."""
        self.counters.add(name)
        try:
            yield
        finally:
            self.counters.discard(name)


def member(name: str) -> str:
    """Return the C++ name of a field.

    >>> member("x"), member("float")
    ('x', 'float_')
    """
    return identifier(name)


# -- effects ---------------------------------------------------------------------------------------


def changes_something(checked: Checked) -> bool:
    """Return whether a function, or one that it calls, stores in fields or may stop."""
    return any(_stores(each) for each in checked.functions()) or checked.raises


def _stores(checked: Checked) -> bool:
    for node in ast.walk(checked.text.tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if is_call and node.value in checked.facts.lane_accesses:  # type: ignore[attr-defined]
            return True
    return False


def has_effect(checked: Checked, node: ast.AST) -> bool:
    """Return whether an expression of a function calls a helper with effects."""
    helpers = checked.facts.helpers
    return bool(helpers) and any(
        isinstance(each, ast.Call) and each in helpers and changes_something(helpers[each])
        for each in ast.walk(node)
    )
