"""A description of a tensor on one screen: what it reads, in which order, and what follows.

Many regions are counted but not listed, and slow queries are skipped, so that a tensor of 10^9
elements is explained as fast as one of ten.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from poplite.arrays.digits import digits_of
from poplite.errors import SizeOverflowError
from poplite.graph.tensor.tensor_text import made_from, placement, repeated, size, type_and_shape
from poplite.graph.tensor.variable_regions import var_regions
from poplite.text import amount, shortened
from poplite.types import type_text
from poplite.view import Cat, Storage, View, num_runs, storages

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor

WIDTH = 80
LABEL = 14
SHOWN_DIMENSIONS = 6
SHOWN_VARIABLES = 3
SHOWN_LAYERS = 3
LONGEST_NAME = 32

MOST_READ = 2**24
"""Largest number of elements of a concatenation, read in any order, whose regions are counted."""

MOST_MEASURED = 100_000
"""Largest number of regions that are listed to compare their lengths, in some milliseconds."""

MOST_LOOKED_UP = 2**20
"""Largest number of regions whose tiles are looked up, in some tens of milliseconds."""


class Explanation(str):
    """Text whose repr is the text itself, for the prompt."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(tensor: Tensor) -> Explanation:
    """Return the text of `Tensor.explain`."""
    title = f"{_quoted(tensor.name)} {type_and_shape(tensor)}".strip()
    lines = [title if len(title) <= WIDTH else title[: WIDTH - 3] + "..."]
    for label, text in _facts(tensor):
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=f"  {label:<{LABEL}}",
            subsequent_indent=" " * (LABEL + 2),
            max_lines=1 if label.startswith("dim") else 2,
            placeholder=" ...",
        )
    return Explanation("\n".join(lines))


def _quoted(name: str) -> str:
    return f"'{shortened(name, LONGEST_NAME)}'" if name else ""


def _dimensions(view: View) -> list[tuple[str, str]]:
    found = []
    for d, (extent, dim) in enumerate(zip(view.shape, view.dims, strict=True)):
        if d == SHOWN_DIMENSIONS:
            found.append(("", f"and {amount(len(view.shape) - d, 'more dimension')}"))
            break
        digits = digits_of(extent, dim)
        number = f"{extent:,}"
        if len(digits) > 1:
            number += " = " + " x ".join([f"{count:,}" for count, _ in digits])
        steps = ", ".join([_step(stride) for _, stride in digits]) or "one index"
        if isinstance(view.space, Cat) and any([stride for _, stride in digits]):
            steps += " in the layer below"
        found.append((f"dimension {d}", f"{number}: {steps}"))
    return found


def _step(stride: int) -> str:
    if stride == 0:
        return "repeated"
    return f"steps of {abs(stride):,}" + (" backwards" if stride < 0 else "")


def _facts(tensor: Tensor) -> list[tuple[str, str]]:
    view, count = tensor.view, tensor.num_elements
    if not count:
        return [("reads", "nothing: one of its sizes is 0")]
    regions = _count(view)
    below = _below(view, regions)
    tiles = placement(tensor, count if regions is None else regions, MOST_LOOKED_UP)
    return [
        ("view", made_from(tensor)),
        ("elements", f"{count:,} ({size(tensor, count if regions is None else regions)})"),
        *_dimensions(view),
        ("reads", _variables(tensor, below)),
        ("layers", _layers(view)),
        ("regions", _regions(tensor, regions)),
        ("tiles", tiles or "not looked up: too many regions"),
        ("contiguous", _contiguity(view, regions, len(below))),
        *_writing(tensor, regions, all([storage.constant for storage in below])),
    ]


def _below(view: View, regions: int | None) -> tuple[Storage, ...]:
    """Return the storages read; those of the entire space where the exact answer takes long."""
    if isinstance(view.space, Storage) or (regions is not None and regions <= MOST_MEASURED):
        return storages(view)
    return view.space.storages


def _variables(tensor: Tensor, below: tuple[Storage, ...]) -> str:
    named = [tensor.graph.variable_of(storage) for storage in below[:SHOWN_VARIABLES]]
    texts = [f"{_quoted(v.name)} {type_text(v.element_type)}{list(v.shape)}" for v in named]
    more = [f"{len(below) - SHOWN_VARIABLES:,} more"] if len(below) > SHOWN_VARIABLES else []
    return ", ".join([*texts, *more])


def _layers(view: View) -> str:
    if isinstance(view.space, Storage):
        return "none: straight from the variable"
    texts: list[str] = []
    space: Storage | Cat = view.space
    while isinstance(space, Cat) and len(texts) < SHOWN_LAYERS:
        pieces = f"{len(space.kids):,} pieces" if len(space.kids) > 1 else "one view reshaped"
        texts.append(f"{pieces} in turn, {space.outer:,} times" if space.outer > 1 else pieces)
        space = space.kids[0].space
    return ", over ".join(texts)


def _count(view: View) -> int | None:
    """Return the number of regions, or None where counting would take long."""
    space = view.space
    jumps = isinstance(space, Cat) and view.flat_digits() != [(space.num_elements, 1)]
    return None if jumps and view.num_elements > MOST_READ else num_runs(view)


def _regions(tensor: Tensor, regions: int | None) -> str:
    view = tensor.view
    if regions is None:
        return f"not counted: {view.num_elements:,} elements across pieces"
    each, rest = divmod(view.num_elements, regions)
    if regions == 1:
        return "1, all elements"
    if regions > MOST_MEASURED:
        if each == 1 and not rest:
            return f"{regions:,} of 1 element each"
        return f"{regions:,} of {view.num_elements / regions:,.1f} elements on average"
    ranges = var_regions(tensor.graph.space, view)
    length = ranges.end - ranges.begin
    least, most = int(length.min()), int(length.max())
    sizes = (
        f"{least:,} to {most:,} elements" if least != most else amount(least, "element") + " each"
    )
    return f"{regions:,} of {sizes}: {ranges.text()}"


def _contiguity(view: View, regions: int | None, variables: int) -> str:
    if regions == 1:
        return "yes: one range of one variable"
    if variables > 1:
        return f"no: it reads {variables:,} variables"
    if isinstance(view.space, Cat):
        return "no: its pieces do not follow each other in memory"
    covered = 1
    for d in range(len(view.shape) - 1, -1, -1):
        for extent, stride in reversed(digits_of(view.shape[d], view.dims[d])):
            if stride != covered:
                return f"no: {_gap(d, stride, covered)}"
            covered *= extent
    return "no"


def _gap(dim: int, stride: int, covered: int) -> str:
    if stride == 0:
        return f"dimension {dim} repeats elements"
    if stride < 0:
        return f"dimension {dim} runs backwards"
    if covered == 1:
        return f"neighbours along dimension {dim} are {stride:,} elements apart"
    return f"dimension {dim} steps by {stride:,}, after {covered:,} elements"


def _is_deep(view: View) -> bool:
    """Tell whether a view reads pieces of pieces, which may be slow to compare."""
    space = view.space
    return isinstance(space, Cat) and isinstance(space.kids[0].space, Cat)


def _writing(tensor: Tensor, regions: int | None, only_constants: bool) -> list[tuple[str, str]]:
    try:
        constant = tensor.contains_constant()
    except SizeOverflowError as error:
        return [("constants", f"not known: {error.what}")]
    held = ("all elements" if only_constants else "some elements") if constant else "none"
    if regions is None and _is_deep(tensor.view):
        return [("aliases", "not looked up: too many regions"), ("constants", held)]
    try:
        aliased = tensor.contains_aliases()
    except SizeOverflowError as error:
        return [
            ("aliases", f"not known: {error.what}"),
            ("constants", held),
        ]
    aliases = "none"
    if aliased:
        few = regions is not None and regions <= MOST_MEASURED
        aliases = f"{repeated(tensor) if few else 'some elements'} occur more than once"
    reasons = ["it holds a constant"] * constant + ["elements occur more than once"] * aliased
    return [
        ("aliases", aliases),
        ("constants", held),
        (
            "writeable",
            f"not in parallel: {' and '.join(reasons)}" if reasons else "yes, in parallel",
        ),
    ]
