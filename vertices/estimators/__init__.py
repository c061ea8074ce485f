"""Cycles of vertices by PopLibs' estimators."""

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.vertices.estimators.poplibs import (
        binary as binary,
        broadcast as broadcast,
        fill as fill,
        of_tile as of_tile,
        reduce_columns as reduce_columns,
        reduce_one as reduce_one,
        reduce_rows as reduce_rows,
        share as share,
        unary as unary,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
