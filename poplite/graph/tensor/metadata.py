"""The metadata of QUARTER tensors: one byte of format and scale beside each variable.

    metadata = QuarterMetadata("F143", scale=-2)
    x = graph.add_variable(QUARTER, (64,), "x", metadata=metadata)   a constant 'x/metadata'
    scale = graph.add_variable(QUARTER_METADATA, (), "scale", mapping=0)
    y = graph.add_variable(QUARTER, (64,), "y", metadata=scale)      one that programs may change

Every view of a variable has the variable's metadata.  What joins or copies codes needs
metadata that is alike on both sides: codes under another scale are other values.

Source: Poplar API reference, "Tensor::getMetadata", "Graph::addVariable".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.errors import TensorMetadataError
from poplite.source import SourceLocation, here
from poplite.text import clipped
from poplite.types import QUARTER, QUARTER_METADATA, QuarterMetadata
from poplite.view import storages

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.storage.variable import Variable
    from poplite.graph.tensor.tensor import Tensor

_EXAMPLE = "metadata=pl.QuarterMetadata('F143', scale=0)"


def attach(graph: Graph, variable: Variable, metadata: object, at: SourceLocation) -> None:
    """Give a new variable its metadata, or check that it needs none.

    Args:
        graph: the variable's graph.
        variable: of any element type.
        metadata: a `QuarterMetadata`, which becomes a constant on tile 0; a tensor of one
            QUARTER_METADATA element; or None.
        at: the user's line.

    Raises:
        TensorMetadataError: when a QUARTER variable is given none, another one some, or
            something that is no metadata.
    """
    name = f"'{variable.name}'"
    if variable.element_type is not QUARTER:
        if metadata is not None:
            raise TensorMetadataError(
                f"{name} is of {variable.element_type!r} and given metadata",
                at=at,
                found=f"metadata={clipped(metadata, 60)}",
                fix="leave it out: only QUARTER has format and scale",
            )
        return
    if isinstance(metadata, QuarterMetadata):
        variable.metadata = graph._add_metadata(f"{variable.name}/metadata", metadata, at)
        return
    if metadata is None:
        raise TensorMetadataError(
            f"{name} is of QUARTER and has no metadata",
            at=at,
            found="the bits of a QUARTER element mean nothing without format and scale",
            fix=_EXAMPLE,
        )
    tensor = _one_element(name, metadata, at)
    if tensor.graph is not graph.top_level_graph:
        raise TensorMetadataError(
            f"{name}: its metadata '{tensor.name}' belongs to another graph",
            at=at,
            fix="make it with this graph's add_variable(pl.QUARTER_METADATA, (), mapping=tile)",
        )
    variable.metadata = tensor


def _one_element(name: str, metadata: object, at: SourceLocation) -> Tensor:
    from poplite.graph.tensor.tensor import Tensor

    if isinstance(metadata, Tensor):
        one_element = metadata.num_elements == 1
        if one_element and metadata.element_type is QUARTER_METADATA:
            return metadata
    raise TensorMetadataError(
        f"{name}: {clipped(metadata, 80)} is not the metadata of a QUARTER tensor",
        at=at,
        found="metadata is one element of QUARTER_METADATA",
        fix=f"{_EXAMPLE}, or a tensor of add_variable(pl.QUARTER_METADATA, (), mapping=tile)",
    )


def initial_metadata(tensor: Tensor, replica: int = 0) -> QuarterMetadata | None:
    """Return format and scale of a QUARTER tensor when a program is loaded; None of others.

    Args:
        tensor: whole or a view.
        replica: the one it is in.

    >>> import poplite as pl
    >>> metadata = pl.QuarterMetadata("F152", scale=3)
    >>> initial_metadata(pl.Graph().add_variable(pl.QUARTER, (4,), metadata=metadata))
    QuarterMetadata('F152', scale=3)
    """
    if tensor.metadata is None:
        return None
    ((variable, begin, _),) = tensor.metadata.var_regions()
    stored = variable.initial_value_of(replica)
    return QuarterMetadata.from_byte(0 if stored is None else int(stored.reshape(-1)[begin]))


def check_alike(what: str, *tensors: Tensor) -> None:
    """Refuse to bring codes together that mean other values, or that have no meaning.

    Args:
        what: the operation.
        tensors: of one element type; only those of QUARTER matter.

    Raises:
        TensorMetadataError: when a variable below has no metadata, or when the metadata of two
            is neither one tensor nor equal constants.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.UNSIGNED_CHAR, (4,), "codes").reinterpret(pl.QUARTER)
    Traceback (most recent call last):
    poplite.errors.TensorMetadataError: reinterpret as QUARTER: 'codes' has no metadata ...
    """
    first: Variable | None = None
    for tensor in tensors:
        for storage in storages(tensor.view) if tensor.element_type is QUARTER else ():
            variable = tensor.graph.variable_of(storage)
            if variable.metadata is None:
                raise _bare(what, variable)
            first = first or variable
            if not same_meaning(first.metadata, variable.metadata):
                raise _unlike(what, first, variable)


def same_meaning(one: Tensor | None, other: Tensor | None) -> bool:
    """Tell whether two metadata tensors are one, or equal constants.

    Args:
        one: of a variable; None where it has none.
        other: of another.
    """
    if one == other or one is None or other is None:
        return one == other
    value = one.constant_value()
    return value is not None and value == other.constant_value()


def _bare(what: str, variable: Variable) -> TensorMetadataError:
    return TensorMetadataError(
        f"{what}: '{variable.name}' has no metadata",
        at=here(),
        found=f"{variable!r} was not made of QUARTER  ({variable.location})",
        fix=f"make it of QUARTER, with {_EXAMPLE}; reinterpret reads its codes",
    )


def _unlike(what: str, first: Variable, other: Variable) -> TensorMetadataError:
    assert first.metadata is not None
    assert other.metadata is not None
    return TensorMetadataError(
        f"{what}: '{first.name}' has {_shown(first.metadata)}, "
        f"but '{other.name}' has {_shown(other.metadata)}",
        at=here(),
        found="their codes may mean other values: the metadata is neither one tensor nor "
        "equal constants",
        fix="give both variables one metadata tensor; reinterpret(pl.UNSIGNED_CHAR) takes the "
        "codes as they are",
    )


def _shown(metadata: Tensor) -> str:
    value = metadata.constant_value()
    if value is None:
        return f"'{metadata.name}', which programs may change"
    return repr(QuarterMetadata.from_byte(int(value)))
