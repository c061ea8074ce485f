"""Values of `--arg NAME=VALUE`: text of the command line, read as the callable declares them.

>>> [value_of(Written(text)) for text in ("20", "0.5", "true", '"20"', "x=1")]
[20, 0.5, True, '20', 'x=1']
>>> value_of(Written("20"), str), value_of(Written("20"), "str | None")
('20', '20')
"""

from __future__ import annotations

from typing import get_args

NUMBERS = {"int", "float", "bool"}


class Written(str):
    """A value as written on the command line."""

    __slots__ = ()


def value_of(text: Written, annotation: object = None) -> object:
    """Return a number, a truth value or text; text where only that is declared, or in quotes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return str(text[1:-1])
    if _is_text(annotation):
        return str(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return str(text)


def _is_text(annotation: object) -> bool:
    """Return whether an annotation, or the text of one, has str in it and no number."""
    if isinstance(annotation, str):
        names = {part.strip() for part in annotation.split("|")}
    else:
        names = {getattr(each, "__name__", "") for each in get_args(annotation) or [annotation]}
    return "str" in names and not names & NUMBERS
