"""Texts for messages: numbers, names, values.

Examples::

    amount(1, "tile")                      '1 tile'
    fitted("<ComputeSet '{}' ...>", name)  one line, however long the name is
    clipped(value)                         a value on one line, cut off if it is long
    element_range("x", (4, 6), 6, 9)       elements by their indices: 'x'[1, 0:3]
    items_or_none(value)                   the items of a list; None for anything else
    integer_or_none(value)                 a user's integer; None for anything else
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import log10
from operator import index
from typing import Any

LINE = 100
"""Maximum number of characters of a repr."""

MOST_DIGITS = 10**30
"""The smallest whole number that is not written in full."""

LEAST_NAME = 12
"""Minimum number of characters of a shortened name, however little room there is."""


def amount(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: the number.
        noun: the noun, in the singular.
        plural: its plural; by default the noun followed by s.

    >>> amount(1, "step"), amount(2000, "step"), amount(0, "vertex", "vertices")
    ('1 step', '2,000 steps', '0 vertices')
    """
    return f"{number_text(number, ',')} {noun if number == 1 else plural or noun + 's'}"


def number_text(number: int, form: str = "") -> str:
    """Return a whole number as text; a very large one as a power of ten.

    Args:
        number: any whole number.
        form: format of any other number, as in an f-string.

    >>> number_text(2000, ","), number_text(-(10**5000)), number_text(10**400 + 1)
    ('2,000', '-about 10^5000', 'about 10^400')
    """
    if abs(number) < MOST_DIGITS:
        return f"{number:{form}}"
    # Python refuses to format more than 4,300 digits.
    return f"{'-' if number < 0 else ''}about 10^{round(log10(abs(number)))}"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as text, even for huge extents.

    >>> shape_text((2, 3)), shape_text((10**400,)), shape_text(())
    ('(2, 3)', '(about 10^400,)', '()')
    """
    return f"({', '.join(map(number_text, shape))}{',' if len(shape) == 1 else ''})"


def printable(text: str) -> str:
    r"""Return text on one line; unprintable and direction-changing characters are escaped.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return text if text.isprintable() else repr(text)[1:-1]


def shortened(name: str, length: int) -> str:
    """Return a name, with its middle replaced by dots if it is too long.

    Args:
        name: any text; unprintable characters are escaped.
        length: maximum number of characters.

    >>> shortened("model/block4/conv/branch2/weights", 24)
    'model/block...h2/weights'
    """
    name = printable(name)
    if len(name) <= length:
        return name
    left = length - len("...")
    return f"{name[: left - left // 2]}...{name[len(name) - left // 2 :]}"


def fitted(pattern: str, *names: str) -> str:
    """Fill names into a pattern, shortened so that the text fits on one line.

    Args:
        pattern: text with `{}` for each name.
        *names: full names.

    >>> len(fitted("<Copy '{}' -> '{}'>", "a", "model/" * 40))
    100
    """
    room = LINE - len(pattern) + 2 * len(names)
    shown: dict[int, str] = {}
    for k in sorted(range(len(names)), key=lambda k: len(names[k])):
        share = room // (len(names) - len(shown))
        shown[k] = shortened(names[k], max(share, LEAST_NAME))
        room -= len(shown[k])
    return pattern.format(*(shown[k] for k in range(len(names))))


_MOST_READ = 100
"""Characters of a repr that are processed for each one that is shown, to save time."""


def clipped(value: object, length: int = 40) -> str:
    """Return the repr of a value on one line, cut off if it is long.

    >>> clipped([1, 2]), clipped("x" * 99, 10)
    ('[1, 2]', "'xxxxxx...")
    """
    if isinstance(value, int) and abs(value) >= MOST_DIGITS:
        return number_text(value)
    try:
        whole = repr(value)
        text = " ".join(whole[: _MOST_READ * length].split())
        if len(whole) > _MOST_READ * length:
            text += "..."
    except ValueError:  # a whole number in it has more digits than Python formats
        text = of_type(value).removeprefix("it is ") + " with very large numbers"
    except RecursionError:  # it is nested too deeply
        text = f"a very deep {type(value).__name__}"
    return clipped_text(text, length)


def clipped_text(text: str, length: int) -> str:
    """Return a text, cut off if it is long."""
    return text if len(text) <= length else text[: length - len("...")] + "..."


def element_range(name: str, shape: Sequence[int], begin: int, end: int) -> str:
    """Return the text for a range of elements of a variable, by their indices.

    Args:
        name: the variable.
        shape: its extents.
        begin: position of the first element in row-major order.
        end: one past the position of the last one.

    >>> element_range("x", (4, 6), 6, 9), element_range("x", (4, 6), 6, 18)
    ("'x'[1, 0:3]", "'x'[1:3, 0:6]")
    >>> element_range("x", (4, 6), 3, 9), element_range("x", (), 0, 1)
    ("'x'[0, 3] to 'x'[1, 2]", "'x'")
    """
    first, last = _indices(shape, begin), _indices(shape, end - 1)
    split = next(
        (d for d, (a, b) in enumerate(zip(first, last, strict=True)) if a != b), len(shape)
    )
    inner = range(split + 1, len(shape))
    if any(first[d] or last[d] + 1 < shape[d] for d in inner):
        return f"{indexed(name, first)} to {indexed(name, last)}"
    pairs = zip(first, last, strict=True)
    return indexed(name, [a if d < split else f"{a}:{b + 1}" for d, (a, b) in enumerate(pairs)])


def indexed(name: str, indices: Sequence[object]) -> str:
    """Return the text for an indexed variable, in the user's notation.

    >>> indexed("x", [3, "0:6"]), indexed("x", [])
    ("'x'[3, 0:6]", "'x'")
    """
    return f"'{name}'" + (f"[{', '.join(map(str, indices))}]" if indices else "")


def _indices(shape: Sequence[int], position: int) -> list[int]:
    found = []
    for extent in reversed(shape):
        position, index = divmod(position, extent)
        found.append(index)
    return found[::-1]


def of_type(value: object) -> str:
    """Return the type of a value in words, for a message about a wrong type.

    >>> of_type(3), of_type(int)
    ('it is of type int', 'it is the class int')
    """
    if isinstance(value, type):
        return f"it is the class {value.__name__}"
    # Classes that users never see define the name to show.
    return f"it is of type {getattr(type(value), 'shown_type', type(value).__name__)}"


def why_not_called(function: Callable[..., object], count: int) -> str:
    """Return why a function cannot be called with `count` arguments; "" if it can.

    >>> why_not_called(lambda done, total: None, 2), why_not_called(lambda: None, 2)
    ('', 'too many positional arguments')
    """
    try:
        inspect.signature(function).bind(*[None] * count)
    except ValueError:  # some C functions have no signature
        return ""
    except TypeError as error:
        return str(error)
    return ""


def items_or_none(value: object) -> list[Any] | None:
    """Return the items of a list, or of any iterable except a string; None for anything else.

    >>> items_or_none((1, 2)), items_or_none("ab"), items_or_none(3)
    ([1, 2], None, None)
    """
    if isinstance(value, str | bytes):
        return None
    try:
        iterator = iter(value)  # type: ignore[call-overload]
    except TypeError:  # also for arrays of rank 0 and for expressions, which do have `__iter__`
        return None
    return list(iterator)


def same_problem(count: int, noun: str, of: str = "") -> str:
    """Return the words for further items with a problem, which a message does not list.

    >>> same_problem(1, "more field"), same_problem(2, "more field")
    ('1 more field has the same problem', '2 more fields have the same problem')
    """
    return f"{amount(count, noun)}{of} {'has' if count == 1 else 'have'} the same problem"


def integer_or_none(value: object) -> int | None:
    """Return an integer, of Python or of NumPy, that is not a bool; None for anything else.

    >>> integer_or_none(2), integer_or_none(True), integer_or_none(2.0)
    (2, None, None)
    """
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
