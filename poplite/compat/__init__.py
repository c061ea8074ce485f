"""PopLibs' names, argument orders and meanings, for people who port programs.

    popops::add(graph, a, b, prog, "sum")       from poplite.compat import popops
                                                popops.add(graph, a, b, prog, "sum")

Each function is a thin wrapper around `poplite.ops`, which new programs use directly. Operators and
functions there follow NumPy; those here follow PopLibs: `rem`, for instance, has the sign of the
dividend.
"""

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.compat import (
        gcl as gcl,
        layout as layout,
        poplin as poplin,
        popnn as popnn,
        popops as popops,
        poprand as poprand,
        popsparse as popsparse,
        poputil as poputil,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
