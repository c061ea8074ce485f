"""The binder for arguments in the order of a C++ declaration.

    Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape,
        VariableMappingMethod mappingMethod, const DebugContext &debugContext = {})
            -> add_variable(type, shape, debugContext, mapping=mappingMethod)

    graph.addVariable(FLOAT, [4], VariableMappingMethod.LINEAR, "x")
    graph.add_variable(FLOAT, [4], "x", mapping="linear")

Among several declarations, the first one whose parameters match the arguments in number and type
applies. Keyword arguments have the names of our method. A type is checked only if it decides
between declarations, or if our method has no such parameter; our method checks everything else and
reports its own errors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, NamedTuple

import poplite.types
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    TensorCreationError,
    checked_member,
    checked_truth,
    is_truth_value,
)
from poplite.poplar.declarations import Row
from poplite.public import signature_text, why_unfit
from poplite.text import amount, clipped, integer_or_none, of_type


class VariableMappingMethod(Enumeration):
    """How `graph.addVariable` maps a new variable."""

    NONE = "none"
    """No element has a tile."""
    LINEAR = "linear"
    """Elements are spread evenly and in order over all tiles."""


class FunctionBufferMappingType(Enumeration):
    """Where the code of a function buffer is."""

    REMOTE = "remote"
    """In memory of the host."""


class CodeletFileType(Enumeration):
    """The language of a file for `graph.addCodelets`, which reads C++ only."""

    Auto = "by the extension of the file"
    """The default."""
    CppSource = "C++"
    """C++ text."""
    PreprocessedCppSource = "C++ after the preprocessor"
    """C++ text without macros."""


class DeclaredParameter(NamedTuple):
    """A parameter of a declaration.

    Attributes:
        type: its type, without `const` and `&`.
        default: the text of its default; empty for a required parameter.
    """

    type: str
    name: str
    default: str


def parameters_of(declaration: str) -> tuple[DeclaredParameter, ...]:
    """Return the parameters of a declaration.

    >>> parameters_of("void setTileMapping(const Tensor &t, unsigned tileNum = 0)")[1]
    DeclaredParameter(type='unsigned', name='tileNum', default='0')
    """
    _, _, rest = declaration.replace("operator()", "").partition("(")
    depth, part, parts = 1, "", []
    for letter in rest:
        depth += (letter in "(<{") - (letter in ")>}")
        if depth == 0 or (letter == "," and depth == 1):
            parts.append(part)
            part = ""
        else:
            part += letter
        if depth == 0:
            break
    return tuple(_parameter(part) for part in parts if part.strip())


def _parameter(text: str) -> DeclaredParameter:
    before, _, default = text.partition(" = ")
    words = re.sub(r"\bconst\b|&", " ", before)
    found = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", words)
    assert found is not None, text
    return DeclaredParameter(" ".join(found[1].split()), found[2], default.strip())


_DECIDING = frozenset(
    ("Operand", "QuarterMetadata", "Program", "PrintTensorFormat", "ComputeSet", "EmbeddingPlan")
)
_KINDS: dict[type, str] = {}
"""Kinds of the types seen so far: a cache, since every argument is looked up."""


def _kind(value: object) -> str:
    """Return the name of the class of another layer that a value belongs to, else ""."""
    cls = type(value)
    if cls not in _KINDS:
        _KINDS[cls] = min(_DECIDING & {each.__name__ for each in cls.__mro__}, default="")
    return _KINDS[cls]


def _is_method(value: object) -> bool:
    is_name = isinstance(value, str) and value in VariableMappingMethod.__members__
    return is_name or isinstance(value, VariableMappingMethod)


def _is_list(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


_FITS: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "Tensor": lambda value: _kind(value) == "Operand",
        "Program": lambda value: value is None or _kind(value) == "Program",
        "PrintTensorFmt": lambda value: _kind(value) == "PrintTensorFormat",
        "std::vector<std::pair<std::int32_t, Program>>": lambda value: (
            not _kind(value) and not isinstance(value, str)
        ),
        "Type": lambda value: not _kind(value) and not isinstance(value, int),
        "ComputeSet": lambda value: _kind(value) == "ComputeSet",
        "LossType": lambda value: not _kind(value),
        "SlicePlan": lambda value: _kind(value) == "EmbeddingPlan",
        "program::Sequence": lambda value: value is None or _kind(value) == "Program",
        "std::vector<size_t>": _is_list,
        "std::vector<std::size_t>": _is_list,
        "std::vector<ComputeSet>": _is_list,
        "std::vector<Interval>": _is_list,
        "std::vector<std::vector<Interval>>": lambda value: not hasattr(value, "__index__"),
        "ArrayRef<std::size_t>": lambda value: not _kind(value) and not isinstance(value, str),
        "VariableMappingMethod": _is_method,
        "DebugContext": lambda value: isinstance(value, str),
        "HostCallbackHandle": lambda value: callable(value) or hasattr(value, "fetch"),
        "StreamCallbackHandle": lambda value: callable(value) or hasattr(value, "fetch"),
        "StringRef": lambda value: isinstance(value, str),
        "bool": lambda value: isinstance(value, int) or is_truth_value(value),
        "std::size_t": lambda value: hasattr(value, "__index__"),
        "unsigned": lambda value: hasattr(value, "__index__"),
    }
)
"""Tests of whether a value can stand for a C++ type; types without a test accept any value."""


def _mapping(value: object, what: str) -> str | None:
    method = checked_member(value, VariableMappingMethod, what)
    return "linear" if method is VariableMappingMethod.LINEAR else None


_CHECKED: Mapping[str, Callable[[Any, str], Any]] = MappingProxyType(
    {
        "bool": checked_truth,
        "VariableMappingMethod": _mapping,
        "FunctionBufferMappingType": lambda value, what: checked_member(
            value, FunctionBufferMappingType, what
        ),
    }
)
"""Functions that convert a value of a C++ type to our value, or reject it."""

WHOLE = frozenset(("unsigned", "std::size_t", "std::uint64_t"))
"""C++ result types that are whole numbers."""


class Declaration:
    """A declaration, and the corresponding call of our method.

    Attributes:
        parameters: parameters of the declaration.
        refused: positions of pointers that our call does not take.
    """

    def __init__(self, row: Row) -> None:
        self.row, self.parameters = row, parameters_of(row.declaration)
        needed = [each for each in self.parameters if each.type != "DebugContext"]
        self.least = sum(not each.default for each in needed)  # names are always optional here
        self.fits = [_fits(each) for each in self.parameters]
        self.returns_whole = row.declaration.split()[0] in WHOLE
        # Our call: positions of the parameters, or constants in a list.
        names = (each.name + "_" * iskeyword(each.name) for each in self.parameters)
        places = {name: place for place, name in enumerate(names)}
        tree: Any = ast.parse(row.ours if "(" in row.ours else "_()", mode="eval").body
        self.method = tree.func.id
        self.order: list[int | list[Any]] = [_place(each, places) for each in tree.args]
        if not row.ours:
            self.order = list(range(len(self.parameters)))
        self.named = {each.arg: places[each.value.id] for each in tree.keywords}
        passed = {*self.named.values(), *(each for each in self.order if type(each) is int)}
        pointers = [place for place, each in enumerate(self.parameters) if each.type[-1] == "*"]
        self.refused = set(pointers) - passed
        self._indices = [p for p, each in enumerate(self.parameters) if each.name == "index"]
        self._checks = [
            (place, _CHECKED[each.type], f"{row.called}: {each.name}")
            for place, each in enumerate(self.parameters)
            if each.type in _CHECKED
        ]

    def has_our_order(self, count: int) -> bool:
        """Return whether the first `count` parameters are also the first ones of our call."""
        return self.order[:count] == list(range(count))

    def matching(self, arguments: Sequence[Any]) -> int:
        """Return how many arguments fit before the first that does not."""
        for count, (fits, value) in enumerate(zip(self.fits, arguments, strict=False)):
            if not fits(value):
                return count
        return min(len(arguments), len(self.parameters))

    def closeness(self, arguments: Sequence[Any]) -> tuple[int, int]:
        """Return how many arguments fit before the first that does not, and their total number."""
        all_that_fit = sum(fits(each) for fits, each in zip(self.fits, arguments, strict=False))
        return self.matching(arguments), all_that_fit

    def nearness(self, arguments: Sequence[Any]) -> tuple[int, bool, int]:
        """Return a sort key for how well arguments fit; among equals, the shorter is better."""
        return self.matching(arguments), not self.row.note.startswith("refused"), -self.least

    def checked(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the arguments as our method takes them."""
        values = list(arguments)
        for place, checked, what in self._checks:
            if place < len(values):
                values[place] = checked(values[place], what)
        for place in self.refused:
            if place < len(values):
                raise self._pointer(self.parameters[place].name, values[place])
        for place in self._indices:
            if place < len(values) and integer_or_none(values[place]) is None:
                raise self._no_index(self.parameters[place].name, values[place])
        return values

    def _no_index(self, name: str, value: object) -> ElementTypeError:
        return ElementTypeError(
            f"{self.row.called}: {name} is {clipped(value, 60)}, not a whole number",
            found=of_type(value),
            fix=self.row.declaration,
        )

    def _pointer(self, name: str, value: object) -> ElementTypeError:
        reason, _, instead = self.row.note.partition(" | ")
        return ElementTypeError(
            f"{self.row.called}: {name} is {clipped(value, 60)}, but is a pointer in C++",
            found=reason,
            fix=instead or f"omit {name}",
        )


def _fits(parameter: DeclaredParameter) -> Callable[[Any], bool]:
    fits = _FITS.get(parameter.type, lambda value: True)
    if parameter.name == "metadata":
        return lambda value: bool(_kind(value))
    return fits


def _place(node: ast.expr, places: Mapping[str, int]) -> int | list[Any]:
    """Return the position of a parameter, or a constant or an element type in a list."""
    if not isinstance(node, ast.Name):
        return [ast.literal_eval(node)]
    return places[node.id] if node.id in places else [getattr(poplite.types, node.id)]


class Binder:
    """All declarations of a member, prepared for calls.

    >>> rows = [Row("Host", "int f(StringRef handle, bool all = true)", "of(handle)", "", "")]
    >>> class Host:
    ...     def of(self, handle):
    ...         return f"of {handle}"
    >>> Binder(rows).call(Host(), ("x", False), {})
    'of x'
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._declarations = [Declaration(row) for row in rows]
        self._member = rows[0].called
        self._possible = cache(self._of_count)

    def call(self, owner: object, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the result of our method for arguments in Poplar's order."""
        declared = self._meant(arguments) or self._nearest(arguments)
        positional, named = self._in_our_order(declared, arguments, dict(keywords))
        method = getattr(owner, declared.method)
        try:
            result = method(*positional, **named)
        except TypeError:
            why = why_unfit(method, positional, named)
            if why is None:
                raise
            raise self._unfit(*why, method, arguments, keywords) from None
        return int(result) if declared.returns_whole else result

    def refusal(
        self,
        function: Any,
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
        owners: int = 0,
        given: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None,
    ) -> ElementTypeError | None:
        """Return the error for arguments that do not fit a function; None if they fit.

        Args:
            function: the corresponding function here.
            arguments: positional arguments in the function's order.
            keywords: keyword arguments.
            owners: 1 for a method whose first argument is the object.
            given: the user's arguments, if these were in Poplar's order.
        """
        why = why_unfit(function, arguments, keywords)
        shown, named = given or (arguments[owners:], keywords)
        return why and self._unfit(*why, function, shown, named, owners)

    def _unfit(
        self,
        error: str,
        names: Sequence[str],
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        owners: int = 0,
    ) -> ElementTypeError:
        """Return the error for arguments that do not fit our function, with its reason."""
        fix = max(self._declarations, key=lambda each: each.nearness(arguments)).row.declaration
        if set(keywords) - set(names):
            name = function.__name__.replace("__init__", self._member)
            fix += f", in order; by name as {name}{signature_text(function, owners)}"
        found = [clipped(each, 60) for each in arguments] + list(keywords)
        return ElementTypeError(
            f"{self._member}: {error}", found=f"arguments: {', '.join(found) or 'none'}", fix=fix
        )

    @cached_property
    def counts_in_our_order(self) -> list[int]:
        """Numbers of arguments that all declarations have in our order, so no binder is needed."""
        maximum = max(len(each.parameters) for each in self._declarations)
        return [
            count
            for count in range(1 + maximum)
            for possible in [self._possible(count)]
            if possible and all(each.has_our_order(count) for each in possible)
        ]

    def in_our_order(
        self, arguments: tuple[Any, ...], keywords: Mapping[str, Any], as_ours: bool = False
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return arguments and keywords for our method.

        Args:
            arguments: positional arguments.
            keywords: keyword arguments.
            as_ours: whether arguments that match no declaration, but are valid in number, are
                assumed to be in our order already.
        """
        declared = self._meant(arguments)
        if declared is None and as_ours and self._possible(len(arguments)):
            return list(arguments), dict(keywords)
        declared = declared or self._nearest(arguments)
        return self._in_our_order(declared, arguments, dict(keywords))

    def _meant(self, arguments: tuple[Any, ...]) -> Declaration | None:
        """Return the declaration that matches the arguments, or begins with them, or None."""
        count = len(arguments)
        possible = self._possible(count)
        if len(possible) == 1 == len(self._declarations):
            return possible[0]
        for declared in possible:
            if declared.matching(arguments) == count:
                return declared
        begun = [each for each in self._declarations if each.matching(arguments) == count]
        return min(begun, key=lambda declared: declared.least, default=None)

    def _of_count(self, count: int) -> list[Declaration]:
        """Return the declarations that take this number of arguments."""
        return [
            declared
            for declared in self._declarations
            if declared.least <= count <= len(declared.parameters)
        ]

    def _nearest(self, arguments: tuple[Any, ...]) -> Declaration:
        """Return the best match for arguments that match no declaration, or reject them.

        Declarations that take this number of arguments are preferred; if there are none, those that
        need more arguments are considered.
        """
        count = len(arguments)
        possible = self._possible(count)
        longest = max(
            self._declarations, key=lambda each: (each.matching(arguments), len(each.parameters))
        )
        long_enough = possible or [each for each in self._declarations if count <= each.least]
        if long_enough:
            best = max(long_enough, key=lambda declared: declared.closeness(arguments))
            if longest.matching(arguments) <= best.matching(arguments) + 1:
                return best  # our method reports the mistake
        if count <= len(longest.parameters):
            return longest
        raise ElementTypeError(
            f"{self._member}: {amount(count - len(longest.parameters), 'argument')} too many",
            found=f"arguments: {', '.join(clipped(each, 60) for each in arguments)}",
            fix=longest.row.declaration,
        )

    def _in_our_order(
        self, declared: Declaration, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        values, positional = declared.checked(arguments), []
        for each in declared.order:
            if isinstance(each, list):
                positional += each
            elif each < len(values):
                positional.append(values[each])
            else:
                break
        for name, place in declared.named.items():
            if place < len(values):
                if keywords.get(name) is not None:
                    raise self._twice(name, values[place], keywords[name])
                keywords[name] = values[place]
        return positional, keywords

    def _twice(self, name: str, value: object, other: object) -> TensorCreationError:
        return TensorCreationError(
            f"{self._member}: {name} is passed by position, {clipped(value, 60)}, and by name",
            found=f"{name}={clipped(other, 60)}",
            fix="pass it once",
        )
