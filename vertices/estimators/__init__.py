"""Cycles of vertices by PopLibs' estimators."""

from poplite.public import loaded_on_use

__all__, __getattr__, __dir__ = loaded_on_use(
    __name__,
    {
        "poplibs": "binary broadcast fill of_tile reduce_columns reduce_one reduce_rows share "
        "unary",
    },
)
