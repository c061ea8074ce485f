"""Programs that print tensors, and how their values are written.

PrintTensor("loss", loss)                                   loss: 0.1250000
PrintTensor("w", w, PrintTensorFormat(digits=3))            w: [1.00 0.50]
PrintTensor(w, PrintTensorFormat.disable_formatting())      w: [1.0 0.5]

Defaults and meanings are those of Poplar's PrintTensorFmt.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from poplite.errors import ControlProgramError, ElementTypeError
from poplite.expr.operand import as_read
from poplite.expr.tree import stored_first
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program.base import Program, declared, set_once
from poplite.text import clipped, fitted, of_type

FloatForm = Literal["auto", "fixed", "scientific", "none"]

_COUNTS = ("summarise_threshold", "edge_items", "max_line_width", "digits")
_TEXTS = ("separator", "open_bracket", "close_bracket")

MOST_DIGITS = 1000
"""More than any float has; so many are quick to write."""


@dataclass(frozen=True, slots=True)
class PrintTensorFormat:
    """How PrintTensor writes values.

    Args:
        summarise_threshold: elements beyond which only the edges of a tensor are written; 0 for
            no such limit.
        edge_items: elements at each edge that are written then.
        max_line_width: characters of a line, after which it is continued on the next; 0 for no
            such limit.
        digits: digits of a number, at most 1,000; 0 writes every number as short as it may be,
            without columns. Integers always have all of theirs.
        float_format: "fixed" as 12.500000, "scientific" as 1.2500000e+01, "none" as short as it
            may be, "auto" whatever fits the values.
        separator: what stands between elements.
        open_bracket: what stands before the elements of a dimension.
        close_bracket: what stands behind them.

    Raises:
        ControlProgramError: for a number that is no whole number from 0, too many digits, a
            `float_format` that does not exist, and for brackets and separators that are no text.

    >>> PrintTensorFormat(digits=3).digits
    3
    """

    class FloatFormat(StrEnum):
        """The values of `float_format` by Poplar's names."""

        Auto = "auto"
        Fixed = "fixed"
        Scientific = "scientific"
        None_ = "none"
        """Poplar's `None`, which is a keyword of Python."""

    summarise_threshold: int = 1000
    edge_items: int = 3
    max_line_width: int = 75
    digits: int = 8
    float_format: FloatForm | FloatFormat = "auto"
    separator: str = " "
    open_bracket: str = "["
    close_bracket: str = "]"

    def __post_init__(self) -> None:
        for name in _COUNTS:
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                raise _refused(name, count, "a whole number from 0")
        if self.digits > MOST_DIGITS:
            raise _refused("digits", self.digits, f"at most {MOST_DIGITS:,}")
        if not isinstance(self.float_format, str) or self.float_format not in get_args(FloatForm):
            kinds = ", ".join(map(repr, get_args(FloatForm)))
            raise _refused("float_format", self.float_format, f"one of {kinds}")
        object.__setattr__(self, "float_format", str(self.float_format))
        for name in _TEXTS:
            if not isinstance(text := getattr(self, name), str):
                raise _refused(name, text, "text")

    @staticmethod
    def disable_formatting() -> PrintTensorFormat:
        """Return the format that writes all elements as they are: no columns, nothing left out.

        >>> PrintTensorFormat.disable_formatting().summarise_threshold
        0
        """
        return PrintTensorFormat(
            summarise_threshold=0, max_line_width=0, digits=0, float_format="none"
        )

    disableFormatting = disable_formatting


PLAIN = PrintTensorFormat()
"""The default format."""


def _refused(name: str, value: object, needed: str) -> ControlProgramError:
    default = getattr(PLAIN, name)
    return ControlProgramError(
        f"PrintTensorFormat: {name}={clipped(value)}, but {needed} is needed",
        found=of_type(value),
        fix=f"{name}={default!r} is the default",
    )


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class PrintTensor(Program):
    """Prints a tensor on the host: `title: values`.

    Args:
        title: what stands before the values; left out, the tensor's name. As in Poplar it
            comes first when it is given.
        tensor: what is printed.
        format: how values are written; it follows the tensor, also without a title.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when there is no tensor, the title is no text, or the format no
            `PrintTensorFormat`.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (3,), "x")
    >>> PrintTensor(x), PrintTensor("result", x), PrintTensor(x, PrintTensorFormat(digits=3))
    (<PrintTensor 'x' int32[3]>, <PrintTensor 'result' int32[3]>, <PrintTensor 'x' int32[3]>)
    """

    title: str
    tensor: Tensor
    format: PrintTensorFormat

    def __init__(
        self,
        title: str | Tensor,
        tensor: Tensor | PrintTensorFormat | None = None,
        format: PrintTensorFormat | str | None = None,
        name: str = "",
    ) -> None:
        title, tensor = as_read(title), as_read(tensor)
        text, shown = title, tensor
        if isinstance(title, Tensor) and tensor is None:
            text, shown = str(title.name), title
        if not isinstance(text, str) or not isinstance(shown, Tensor):
            swapped = isinstance(title, Tensor) and isinstance(tensor, str)
            raise ElementTypeError(
                "PrintTensor: the title comes first, then the tensor"
                if swapped
                else f"PrintTensor({clipped(title)}, {clipped(tensor)}) has no tensor to print",
                found=f"title {clipped(title, 60)}, tensor {clipped(tensor, 60)}",
                fix=f"PrintTensor({clipped(tensor)}, t)"
                if swapped
                else stored_first(
                    title if tensor is None else tensor,
                    "PrintTensor(t), or PrintTensor('title', t)",
                ),
            )
        if format is not None and not isinstance(format, PrintTensorFormat):
            raise ElementTypeError(
                f"PrintTensor '{text}': {clipped(format)} is no format",
                found=of_type(format),
                fix="PrintTensor(title, tensor, PrintTensorFormat(digits=4))",
            )
        set_once(self, title=text, tensor=shown, format=format or PLAIN, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """What is printed."""
        return (self.tensor,)

    def __str__(self) -> str:
        return f"PrintTensor '{self.title}'"

    def __repr__(self) -> str:
        return fitted(f"<PrintTensor '{{}}' {type_and_shape(self.tensor)}>", self.title)
