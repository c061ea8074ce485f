"""The metadata of QUARTER tensors: a byte for each variable, its format with its scale.

    metadata = QuarterMetadata("F143", scale=-2)
    x = graph.add_variable(QUARTER, (64,), "x", metadata=metadata)   a constant 'x/metadata'
    scale = graph.add_variable(QUARTER_METADATA, (), "scale", mapping=0)
    y = graph.add_variable(QUARTER, (64,), "y", metadata=scale)      one that programs may change

Every view of a variable has the variable's metadata. Operations that join or copy codes need the
same metadata on both sides, since codes with another scale are other values.

Source: Poplar API reference, "Tensor::getMetadata", "Graph::addVariable".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.errors import TensorMetadataError
from poplite.types import QuarterMetadata
from poplite.view import View, address_at, same_elements, storages

if TYPE_CHECKING:
    from poplite.graph.storage.space import Space, Variable

EXAMPLE = "metadata=pl.QuarterMetadata('F143', scale=0)"


def metadata_of(space: Space, view: View) -> View | None:
    """Return the metadata of a view of QUARTER codes; None without elements, or of other types."""
    below = storages(view)
    return space.variable_of(below[0]).metadata if below else None


def initial_metadata(space: Space, metadata: View, replica: int = 0) -> QuarterMetadata:
    """Return format and scale of one QUARTER_METADATA element when a program is loaded."""
    return QuarterMetadata.from_byte(_byte(space, metadata, replica))


def _byte(space: Space, metadata: View, replica: int = 0) -> int:
    variable = variable_below(space, metadata)
    stored = variable.initial_value_of(replica)
    element = address_at(metadata, 0) - variable.storage.base
    return 0 if stored is None else int(stored.reshape(-1)[element])


def variable_below(space: Space, metadata: View) -> Variable:
    """Return the variable below one QUARTER_METADATA element."""
    return space.variable_of(storages(metadata)[0])


def check_alike(what: str, space: Space, *codes: View) -> None:
    """Refuse to combine QUARTER codes with different metadata, or without any.

    >>> import poplite as pl
    >>> pl.Graph().add_variable(pl.UNSIGNED_CHAR, (4,), "codes").reinterpret(pl.QUARTER)
    Traceback (most recent call last):
    poplite.errors.TensorMetadataError: reinterpret as QUARTER: 'codes' has no metadata ...
    """
    first: Variable | None = None
    for view in codes:
        for storage in storages(view):
            variable = space.variable_of(storage)
            if variable.metadata is None:
                raise _bare(what, variable)
            first = first or variable
            if not same_meaning(space, first.metadata, variable.metadata):
                raise _unlike(what, space, first, variable)


def same_meaning(space: Space, one: View | None, other: View | None) -> bool:
    """Return whether two metadata views (or None) are the same, or equal constants."""
    if one is None or other is None:
        return one is other
    if same_elements(one, other):
        return True
    value = _constant(space, one)
    return value is not None and value == _constant(space, other)


def _constant(space: Space, metadata: View) -> int | None:
    """Return the byte if no program may change it, and all replicas share it; else None."""
    variable = variable_below(space, metadata)
    if not variable.constant or variable.replica_values:
        return None
    return _byte(space, metadata)


def _bare(what: str, variable: Variable) -> TensorMetadataError:
    return TensorMetadataError(
        f"{what}: '{variable.name}' has no metadata",
        found=f"{variable!r} was not made of QUARTER  ({variable.location})",
        fix=f"make it of QUARTER, with {EXAMPLE}; reinterpret reads its codes",
    )


def _unlike(what: str, space: Space, first: Variable, other: Variable) -> TensorMetadataError:
    assert first.metadata is not None
    assert other.metadata is not None
    return TensorMetadataError(
        f"{what}: '{first.name}' has {_shown(space, first.metadata)}, "
        f"but '{other.name}' has {_shown(space, other.metadata)}",
        found="their codes may mean other values: the metadata is neither one tensor nor "
        "equal constants",
        fix="give both variables one metadata tensor; reinterpret(pl.UNSIGNED_CHAR) takes the "
        "codes as they are",
    )


def _shown(space: Space, metadata: View) -> str:
    value = _constant(space, metadata)
    if value is None:
        return f"'{variable_below(space, metadata).name}', which programs may change"
    return repr(QuarterMetadata.from_byte(value))
