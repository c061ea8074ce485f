"""The view algebra: tensors as strided, mixed-radix windows on storage.

    >>> from poplite.view import Storage, num_runs, whole
    >>> matrix = whole(Storage(0, 0, 12), (3, 4))
    >>> num_runs(matrix), num_runs(matrix.dim_shuffle((1, 0)))
    (1, 12)

`digits` is the arithmetic, `view` the operations, `cat` concatenation, `regions` the runs
of addresses, `aliases` who shares elements, `strided` the number theory behind that.
"""

from poplite.view.aliases import contains_aliases, contains_constant, intersects
from poplite.view.cat import concat
from poplite.view.regions import address_at, addresses, is_contiguous, num_runs, runs, storages
from poplite.view.space import Interval, Storage
from poplite.view.view import Cat, View, empty, whole

__all__ = [
    "Cat",
    "Interval",
    "Storage",
    "View",
    "address_at",
    "addresses",
    "concat",
    "contains_aliases",
    "contains_constant",
    "empty",
    "intersects",
    "is_contiguous",
    "num_runs",
    "runs",
    "storages",
    "whole",
]
