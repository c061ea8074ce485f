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


def shared(value: Any, words: list[str]) -> Any:
    r"""Return data with its texts that occur again as numbers; they are added to `words`.

    What cannot be printed in texts and names becomes an escape.

    >>> print(shared({"a\n": ["b\n", 1]}, [])["a\\n"][0])
    b\n
    """
    count = Counter(text for text in _texts(value) if len(text) >= LEAST)
    numbers: dict[str, int] = {}

    def numbered(text: str) -> Any:
        if count[text] > 1:
            return {"w": numbers.setdefault(text, len(numbers))}
        return printable(text)

    found = _changed(value, numbered)
    words += map(printable, numbers)
    return found


def _changed(value: Any, text: Callable[[str], Any]) -> Any:
    """Return data with its texts changed; tuples become lists."""
    match value:
        case str():
            return text(value)
        case dict():
            return {printable(key): _changed(one, text) for key, one in value.items()}
        case list() | tuple():
            return [_changed(one, text) for one in value]
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
