"""Kernels compiled from their text give what the same text gives as Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st

from helpers.depth import examples
from poplite.executable import opcodes
from poplite.jit import object_cache
from poplite.jit.build import Job
from poplite.jit.kernel_code import Primitive
from poplite.jit.kernels import Bytes, Int32s, Int64s

SMALL = st.integers(-40, 40)
LIMIT, STEP = 7, -3


def arithmetic(a: int, b: int, out: Int64s) -> int:
    out[0], out[1], out[2] = a + b, a - b, a * b
    out[3] = a // b if b != 0 else 0
    out[4] = a % b if b != 0 else 0
    out[5], out[6], out[7] = a & b, a | b, a ^ b
    out[8], out[9] = a << (b & 7), a >> (b & 7)
    out[10], out[11] = -a, ~b
    out[12], out[13] = min(a, b), max(a, b)
    out[14] = a // 8
    out[15] = a % -5
    return 16


def conditions(a: int, b: int, values: Int64s) -> int:
    found = 0
    if a < b and values[a & 3] == values[b & 3]:
        found += 1
    elif a == b or (a > LIMIT and not b > LIMIT):
        found += 2
    else:
        found += 4
    between = -5 <= a <= 5
    if between:
        found += 8
    both = between and b >= 0
    found += 16 if both else 32
    found += 64 if a in (1, 2, STEP, opcodes.RAISED) else 0
    found += (a != b) * 128
    return found if a else -found


def loops(a: int, b: int, out: Int64s) -> int:
    count = 0
    for i in range(a):
        if i == b:
            continue
        if i > 30:
            break
        out[0] += i
        i = 1000  # noqa: PLW2901  (the loop goes on where it was)
    for i in range(a, b):
        count += i
    for i in range(b, a, STEP):
        count -= i
        for j in range(i & 3):
            count += j
            if j == 2:
                break
    while True:
        count += 1
        if count % 11 == 0:
            break
        while count % 2 == 0:
            count += 3
    first = second = count
    first, second = second + 1, first
    out[1], out[2] = first, second
    return count


def is_odd(number: int) -> bool:
    return number % 2 == 1


def note(out: Int64s, number: int) -> None:
    if number < 0:
        return
    out[0] += number


def calls(a: int, b: int, out: Int64s) -> int:
    note(out, a)
    note(out, b)
    return 1 + is_odd(a) + (10 if is_odd(b) else 20)


def elements(bytes_: Bytes, halves: Int32s, words: Int64s, count: int) -> int:
    total = 0
    for i in range(count):
        total += bytes_[i] - halves[i] + words[i]
        bytes_[i] += 200
        halves[i] *= 3
        words[i] -= 1
    return total


@cache
def compiled(function: Callable[..., int]) -> Callable[..., int]:
    arguments = (function.__module__, function.__name__)
    content = Job("0" * 32, "poplite.jit.kernel_code:kernel_object", arguments).content()
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    types = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(object_cache.load(content))


@pytest.mark.parametrize("function", [arithmetic, conditions, loops, calls])
@examples(200)
@given(a=SMALL, b=SMALL)
def test_the_same_as_python(function: Callable[..., int], a: int, b: int) -> None:
    expected, found = np.arange(16) % 3, np.arange(16) % 3
    answer = function(a, b, expected)
    assert compiled(function)(a, b, found.ctypes.data) == answer
    assert found.tolist() == expected.tolist()


def test_elements_have_their_width_and_sign() -> None:
    kinds: tuple[type[np.generic], ...] = (np.uint8, np.int32, np.int64)
    tables = [np.array([250, 7, 0], kinds[0]), np.array([-5, 2**30, 1], kinds[1])]
    tables.append(np.array([-(2**62), 9, 2**40], kinds[2]))
    total = sum(int(b) - int(h) + int(w) for b, h, w in zip(*tables, strict=True))
    assert compiled(elements)(*[table.ctypes.data for table in tables], 3) == total
    assert tables[0].tolist() == [194, 207, 200]
    assert tables[1].tolist() == [-15, -(2**30), 3]  # they wrap around
    assert tables[2].tolist() == [-(2**62) - 1, 8, 2**40 - 1]


# -- what kernels do not have ----------------------------------------------------------------------


def with_division(a: int) -> int:
    return int(a / 2)


def with_keywords(a: int) -> int:
    return max(a, 2, key=abs)


def with_an_unknown_step(a: int) -> int:
    total = 0
    for i in range(0, 9, a):
        total += i
    return total


def with_an_unknown_constant(a: int) -> int:
    return a + opcodes.Code  # type: ignore[operator]


def with_two_kinds(a: int, out: Int64s) -> int:
    place = a
    place = out  # type: ignore[assignment]
    return int(place)


def with_an_attribute(a: int) -> int:
    return a.real


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (with_division, "a / 2"),
        (with_keywords, "max(a, 2, key=abs)"),
        (with_an_unknown_step, "a"),
        (with_two_kinds, "place"),
        (with_an_attribute, "a.real"),
        (with_an_unknown_constant, "opcodes.Code"),
    ],
)
def test_other_statements_are_refused_by_line(function: Callable[..., int], text: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        compiled(function)
    first = function.__code__.co_firstlineno
    found, line = str(caught.value).split(": kernels have no ")
    assert line == f"'{text}'"
    assert first < int(found.rpartition(" ")[2]) <= first + 4


def test_a_primitive_is_for_compiled_code() -> None:
    with pytest.raises(NotImplementedError, match="only a compiled kernel calls it"):
        Primitive(lambda builder, args: None)(1)
