"""What messages about named tensors say: the axes they are about, and no name that only we use."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import poplite.named as ng
from poplite.errors import PopliteError
from poplite.named.axes import AxisRoot
from poplite.named.description import TensorDescription

NAMED = str(Path(ng.__file__).parent)

INTERNAL = re.compile(
    r"\b(?:Elementwise|Reduce|Extreme|Relabelled|Regrouped|VertexMap|TensorOp|NumberOp|Softmax"
    r"|Assign|Sequential|Parallel|Effect|AxisRoot|Leaf|Weak|Expr|Applied|Contraction|Reduction|ViewExpr|IotaExpr"
    r"|floor_divide|select|remainder|_[a-z]\w*)\b"
)
"""Names of classes and functions that no user writes."""

LINE = re.compile(r"\S+\.py:\d+( in [\w<>]+)?(, called at \S+( in [\w<>]+)?)?")
"""A user's line, whose functions may be called anything."""


def axes_of(value: Any, depth: int = 2) -> Iterator[str]:
    """Yield the names of the axes of something that a function holds."""
    if isinstance(value, ng.Axis):
        yield value.name
    elif isinstance(value, AxisRoot):
        yield value.shown
    elif isinstance(value, ng.Axes | ng.Op | TensorDescription | ng.Layout):
        axes = value if isinstance(value, ng.Axes) else value.axes
        yield from axes.names
    elif isinstance(value, list | tuple | set | frozenset | dict) and depth:
        for each in list(value)[:8]:
            yield from axes_of(each, depth - 1)


def raising_frame() -> FrameType | None:
    """Return the nearest frame of `poplite.named` below this call."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(NAMED):
        frame = frame.f_back
    return frame


def fault_of(error: PopliteError, frame: FrameType) -> str | None:
    """Return what is wrong with a message that a function made; None for nothing."""
    text = LINE.sub("", "\n".join((error.what, error.found, error.fix, error.where)))
    found = INTERNAL.search(text)
    if found is not None:
        return f"it says {found[0]!r}"
    names = set(axes_of(list(frame.f_locals.values())))
    if names and not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names):
        return f"it names none of the axes {sorted(names)}"
    return None
