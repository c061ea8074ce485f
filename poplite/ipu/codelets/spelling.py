"""How numbers, types and names are written in C++.

    FLOAT, HALF, INT        float, half, int            elements, as they lie in memory
    F32, FLOAT, INT, UINT   float, double, pl::Int, pl::Unsigned     what `compute` works on
    0.1 beside a float32    0.1f                        rounded where the text is written

A name that C++ keeps for itself gets an underscore: the field `float` is `float_` there.  So does
one that a header may define as a macro.  Macros are spelled in capitals, so every name that begins
with a capital and goes on with a capital, a digit or an underscore gets one, whichever headers a
compiler has; for the few macros in small letters there is a list.  Ordinary names stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    ElementType,
)
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.typing.kinds import Kind

ELEMENTS: dict[type[ElementType[Any]], str] = {
    BOOL: "bool",
    CHAR: "char",
    SIGNED_CHAR: "signed char",
    UNSIGNED_CHAR: "unsigned char",
    SHORT: "short",
    UNSIGNED_SHORT: "unsigned short",
    INT: "int",
    UNSIGNED_INT: "unsigned",
    LONGLONG: "long long",
    UNSIGNED_LONGLONG: "unsigned long long",
    HALF: "half",
    FLOAT: "float",
}
"""The C++ type of an element; QUARTER is not among them."""

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
"""Names of macros: all in capitals, those of C and POSIX in small letters, and functions of C that
may be macros as well."""
_OURS = frozenset({"compute", "half", "numWorkers", "pl", "poplar", "std"})
"""Names that codelets use for something else."""


@lru_cache(maxsize=4096)
def identifier(name: str) -> str:
    """Return a name that C++ takes, for a Python name.

    >>> identifier("x"), identifier("float"), identifier("größe"), identifier("EOF")
    ('x', 'float_', 'gru00f6u00dfe', 'EOF_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"u{ord(found[0]):04x}", name)
    plain = re.sub("__+", "_", plain)
    reserved = plain in _RESERVED or plain in _OURS or _MACROS.fullmatch(plain)
    return f"{plain}_" if reserved or re.match("_[A-Z]", plain) or plain == "_" else plain


def unused(name: str, names: Iterable[str]) -> str:
    """Return the name itself, or with the first number behind it that makes it new.

    >>> unused("row", {"row", "row_2"})
    'row_3'
    """
    taken, number, made = set(names), 1, name
    while made in taken:
        number += 1
        made = f"{name.rstrip('_')}_{number}"
    return made


def literal(value: bool | int | float, kind: Kind) -> str:
    """Return a Python number as a literal of a kind, rounded as the arithmetic rounds it.

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
    """Return the digits of a float with a point among them."""
    return text if "." in text or "e" in text else f"{text}.0"
