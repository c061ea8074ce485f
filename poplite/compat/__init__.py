"""PopLibs' names, argument orders and meanings, for people who port programs.

    popops::add(graph, a, b, prog, "sum")       from poplite.compat import popops
                                                popops.add(graph, a, b, prog, "sum")

Each function is a few words of `poplite.ops`, which new programs use directly: operators and
functions of it mean what NumPy means, and those here what PopLibs means, for instance `rem` with
the sign of the dividend.
"""

from poplite.public import loaded_on_use

__all__, __getattr__, __dir__ = loaded_on_use(
    __name__, {}, "gcl layout poplin popnn popops poprand popsparse poputil"
)
