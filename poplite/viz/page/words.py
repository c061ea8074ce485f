"""Frequent texts of a page, each stored once: every step and variable contains lines of source.

    ["examples/net.py:12", "examples/net.py:12"]    becomes    [{"w": 0}, {"w": 0}]

>>> words: list[str] = []
>>> shared(["examples/net.py:12", {"at": "examples/net.py:12"}, "x"], words), words
([{'w': 0}, {'at': {'w': 0}}, 'x'], ['examples/net.py:12'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from poplite.text import printable

LEAST = 12
"""Characters of the shortest text that is kept so."""


def printable_in(value: Any) -> Any:
    r"""Return data with escapes in its texts and names for what cannot be printed.

    >>> print(printable_in({"a\n": ["b\n", 1]})["a\\n"][0])
    b\n
    """
    return _changed(value, printable, printable)


def shared(value: Any, words: list[str]) -> Any:
    """Return data with its texts that occur again as numbers; they are added to `words`."""
    count = Counter(text for text in _texts(value) if len(text) >= LEAST)
    numbers: dict[str, int] = {}

    def numbered(text: str) -> Any:
        return {"w": numbers.setdefault(text, len(numbers))} if count[text] > 1 else text

    found = _changed(value, numbered, str)
    words += numbers
    return found


def _changed(value: Any, text: Callable[[str], Any], name: Callable[[str], str]) -> Any:
    """Return data with its texts and the names of its objects changed; tuples become lists."""
    match value:
        case str():
            return text(value)
        case dict():
            return {name(key): _changed(one, text, name) for key, one in value.items()}
        case list() | tuple():
            return [_changed(one, text, name) for one in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)
