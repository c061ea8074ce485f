"""How PrintTensor writes values.

A vector is on one line or several, each row of a matrix on a line indented by two spaces.  Numbers
are in columns, and long tensors are cut in the middle::

    v1: [1.0000000 1.5000000]
    m: [
      [1 2 ... 8 9]
      ...
      [3 4 ... 6 7]
    ]

Floats have eight digits before and behind the point together, unless the format says otherwise.
Source of the form: the output of Graphcore's tutorials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.program.steps import PLAIN, PrintTensorFormat

GAP = "..."
"""Stands for elements that are left out."""


def format_tensor(title: str, values: npt.NDArray[Any], style: PrintTensorFormat = PLAIN) -> str:
    """Return the text that PrintTensor prints of values of any shape.

    >>> print(format_tensor("v1", np.array([1, 1.5], np.float32)))
    v1: [1.0000000 1.5000000]
    >>> print(format_tensor("m", np.array([[1, 2], [3, 10]])))
    m: [
      [ 1  2]
      [ 3 10]
    ]
    """
    limit = style.summarise_threshold
    edge = style.edge_items if 0 < limit < values.size else max(values.shape, default=0)
    shown = values[np.ix_(*(_edges(length, edge) for length in values.shape))]
    texts = _texts(shown, style)
    lines = _lines(texts, values.shape, edge, style, "")
    return (f"{title}: " if title else "") + "\n".join(lines)


def _edges(length: int, edge: int) -> npt.NDArray[np.int64]:
    """Return which positions of a dimension are written."""
    every = np.arange(length)
    return every if length <= 2 * edge else np.concatenate([every[:edge], every[length - edge :]])


def _lines(
    texts: npt.NDArray[Any], shape: tuple[int, ...], edge: int, style: PrintTensorFormat, lead: str
) -> list[str]:
    """Return a tensor as lines, all but the first indented by `lead`.

    `texts` may lack the middle of dimensions of `shape`: it has `edge` elements at either end.
    """
    if not shape:
        return [str(texts.item())]
    middle = edge if shape[0] > len(texts) else None
    if len(shape) == 1:
        words = texts.tolist()
        if middle is not None:
            words[middle:middle] = [GAP]
        return _wrapped(words, style, lead)
    if not len(texts) and middle is None:
        return [style.open_bracket + style.close_bracket]
    inner = f"{lead}  "
    parts = [_lines(part, shape[1:], edge, style, inner) for part in texts]
    if middle is not None:
        parts[middle:middle] = [[GAP]]
    for part in parts[:-1]:
        part[-1] += style.separator.rstrip()
    rows = [f"{inner}{part[0]}" for part in parts]
    below = [line for row, part in zip(rows, parts, strict=True) for line in (row, *part[1:])]
    return [style.open_bracket, *below, f"{lead}{style.close_bracket}"]


def _wrapped(words: list[str], style: PrintTensorFormat, lead: str) -> list[str]:
    """Return a vector as lines, which are not longer than the limit where words allow that."""
    lines, line = [], style.open_bracket
    begin = f"{lead}{' ' * len(style.open_bracket)}"
    limit = style.max_line_width or inf
    room = limit - len(lead)  # the caller puts it before the first line
    for number, word in enumerate(words):
        is_last = number == len(words) - 1
        behind = style.close_bracket if is_last else style.separator.rstrip()
        if number and len(line) + len(word) + len(behind) > room:
            lines.append(line.rstrip())
            line, room = begin, limit
        line += word + (style.close_bracket if is_last else style.separator)
    return [*lines, line if words else style.open_bracket + style.close_bracket]


def _texts(values: npt.NDArray[Any], style: PrintTensorFormat) -> npt.NDArray[Any]:
    """Return the text of each element, in columns unless `digits` is 0."""
    write = _float_writer(values, style) if values.dtype.kind == "f" else str
    texts = [write(value) for value in values.reshape(-1).tolist()]
    if style.digits and values.ndim:
        width = max(map(len, texts), default=0)
        texts = [text.rjust(width) for text in texts]
    made = np.empty(len(texts), object)
    made[:] = texts
    return made.reshape(values.shape)


def _float_writer(values: npt.NDArray[Any], style: PrintTensorFormat) -> Callable[[float], str]:
    """Return what writes a float; the choice depends on all values that are written."""
    kind, digits = style.float_format, style.digits
    if kind == "none" or digits == 0:
        shortest = values.dtype.type
        return lambda value: str(shortest(value))
    sizes = list(_sizes(values))
    before = max((int(log10(size)) + 1 for size in sizes if size >= 1), default=1)
    if kind == "auto":
        # As in NumPy: without an exponent, very small numbers would lose digits that matter.
        is_small = any(size < 10.0 ** -(digits // 2) for size in sizes)
        kind = "scientific" if before > digits or is_small else "fixed"
    if kind == "scientific":
        return lambda value: f"{value:.{digits - 1}e}"
    return lambda value: f"{value:.{max(0, digits - before)}f}"


def _sizes(values: npt.NDArray[Any]) -> Iterator[float]:
    return (abs(v) for v in values.reshape(-1).tolist() if v != 0 and isfinite(v))
