"""Arguments in Poplar's order: what comes before a tensor or a shape, and what is given twice.

cloneN(HALF, metadata, x, 2, "y")       type, metadata, and what follows
addVertex(cs, V, {"x": x})              pairs of names and what is connected
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from poplite.arrays.masked import unmasked
from poplite.errors import ElementTypeError, TensorCreationError, UnknownField
from poplite.graph.clone import TensorCloneMethod
from poplite.graph.tensor.tensor import Tensor
from poplite.source import here
from poplite.text import amount, clipped
from poplite.types import HALF, QuarterMetadata

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.types import ElementTypeLike

    Metadata = Tensor | QuarterMetadata

T = TypeVar("T")


def called_in_order(ours: Callable[..., T], call: str, *arguments: Any, **keywords: Any) -> T:
    """Return what a call of ours returns; arguments that do not fit it are told in Poplar's order.

    `call` is the signature in Poplar's order.
    """
    try:
        return ours(*arguments, **keywords)
    except TypeError:
        try:
            inspect.signature(ours).bind(*arguments, **keywords)
        except TypeError as error:
            given = [clipped(each, 60) for each in arguments]
            given += [name for name, value in keywords.items() if value is not None]
            raise TensorCreationError(
                f"{call.partition('(')[0]}: {error}",
                at=here(),
                found=f"given {', '.join(given) or 'nothing'}",
                fix=f"graph.{call}",
            ) from None
        raise


def is_tensor_or_metadata(what: object) -> bool:
    """Whether what follows an element type means that Poplar's order is used."""
    return isinstance(what, Tensor | QuarterMetadata)


def metadata_first(
    arguments: tuple[Any, ...], keywords: dict[str, Any], call: str
) -> tuple[Metadata | None, tuple[Any, ...]]:
    """Take the metadata from before the shape, where Poplar has them."""
    if not arguments or not is_tensor_or_metadata(arguments[0]):
        return keywords.pop("metadata", None), arguments
    check_once(call, "metadata", arguments[0], keywords)
    keywords.pop("metadata", None)
    return arguments[0], arguments[1:]


def tensor_third(
    arguments: Sequence[Any], keywords: Mapping[str, Any], call: str
) -> tuple[ElementTypeLike | None, Metadata | None, tuple[Any, ...]]:
    """Take the element type and the metadata from before a tensor, where Poplar has them."""
    element_type, metadata = keywords.get("element_type"), keywords.get("metadata")
    is_first = len(arguments) > 1 and is_tensor_or_metadata(arguments[1])
    if is_first and not is_tensor_or_metadata(arguments[0]):
        check_once(call, "element_type", arguments[0], keywords)
        element_type, *arguments = arguments
    if len(arguments) > 1 and isinstance(arguments[1], Tensor):
        check_once(call, "metadata", arguments[0], keywords)
        metadata, *arguments = arguments
    return element_type, metadata, tuple(arguments)


def clone_arguments(
    arguments: tuple[Any, ...], element_type: ElementTypeLike | None, metadata: Metadata | None
) -> tuple[Any, ...]:
    """Return type, metadata, tensor, name and method of a `clone` in Poplar's order."""
    keywords = {"element_type": element_type, "metadata": metadata}
    element_type, metadata, rest = tensor_third(arguments, keywords, "clone")
    if len(rest) > 3:
        raise TensorCreationError(
            f"clone: {amount(len(rest) - 3, 'argument')} too many",
            at=here(),
            found=f"given {', '.join(clipped(each, 60) for each in arguments)}",
            fix="graph.clone([type,] [metadata,] tensor, [name], [method])",
        )
    given = (*rest, *("", TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES)[len(rest) - 1 :])
    return element_type, metadata, *given


def check_once(call: str, name: str, value: object, keywords: Mapping[str, Any]) -> None:
    """Refuse an argument that is given in Poplar's order and by name."""
    if keywords.get(name) is not None:
        raise TensorCreationError(
            f"{call}: {name} in order, {clipped(value, 60)}, and by name",
            at=here(),
            found=f"{name}={clipped(keywords[name], 60)}",
            fix="give it once",
        )


def pairs(connections: Any) -> Iterable[tuple[str, Any]]:
    """Return pairs of a field's name and what it is connected to."""
    pairs = connections.items() if isinstance(connections, Mapping) else connections
    try:
        found = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise ElementTypeError(
            f"addVertex: connections {clipped(connections, 60)} are no dictionary or pairs",
            at=here(),
            fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
        ) from None
    for name, _ in found:
        if not isinstance(name, str):
            raise ElementTypeError(
                f"addVertex: {clipped(name, 60)} is no name of a field",
                at=here(),
                found=f"connections are {clipped(connections, 80)}",
                fix='graph.addVertex(compute_set, Vertex, {"x": x, "y": y})',
            )
        if name == "tile":
            raise UnknownField(
                f"addVertex: connections have {clipped('tile')}, which no vertex has as a field",
                at=here(),
                fix="graph.addVertex(compute_set, Vertex, {...}, tile=3)",
            )
    return found


def halves(bits: npt.ArrayLike, call: str) -> npt.NDArray[np.float16]:
    """Return the values of bits of HALF."""
    try:
        array = np.asarray(unmasked(bits, call))
        found = f"an array of {array.dtype}"
    except ValueError:
        array, found = np.array(""), "rows of several lengths"
    array = array if array.size else array.astype(np.uint16)
    if array.dtype.kind not in "iu" or np.any((array < 0) | (array > 0xFFFF)):
        raise TensorCreationError(
            f"{call}: {clipped(bits, 60)} are not the bits of {HALF}",
            at=here(),
            found=found,
            fix="numbers from 0 to 65535; values go to the call without Half",
        )
    return array.astype(np.uint16).view(np.float16)
