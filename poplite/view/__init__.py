"""The view algebra: tensors as strided, mixed-radix windows on storage.

    >>> from poplite.view import Storage, num_runs, all_of
    >>> matrix = all_of(Storage(0, 0, 12), (3, 4))
    >>> num_runs(matrix), num_runs(matrix.dim_shuffle((1, 0)))
    (1, 12)

`view` has the operations, `concat` and `slices` concatenation, `contiguous` the runs of addresses;
`aliases` decides who shares elements by the number theory of `strided_sets`, many at once in
`set_arrays`; `address_sets` and `memory_order` sort elements by address; `equality` decides who
shows the same elements; `parts` cuts views into parts on variables.  The arithmetic of digits is
in `poplite.arrays.digits`.
"""

from poplite.arrays.intervals import Interval, Intervals
from poplite.view.aliases import contains_aliases, contains_constant, intersects
from poplite.view.concat import concat
from poplite.view.contiguous.chunks import chunks
from poplite.view.contiguous.nested import runs
from poplite.view.contiguous.regions import (
    address_at,
    addresses,
    is_contiguous,
    num_runs,
    run_lists,
    runs_of_many,
    storages,
)
from poplite.view.equality import same_elements, sample
from poplite.view.parts import MOST_LEVELS, one_level
from poplite.view.slices import concat_slices
from poplite.view.view import Cat, Storage, View, all_of, empty

__all__ = [
    "Cat",
    "Interval",
    "Intervals",
    "MOST_LEVELS",
    "Storage",
    "View",
    "address_at",
    "addresses",
    "chunks",
    "concat",
    "concat_slices",
    "contains_aliases",
    "contains_constant",
    "empty",
    "one_level",
    "intersects",
    "is_contiguous",
    "num_runs",
    "run_lists",
    "runs",
    "runs_of_many",
    "same_elements",
    "sample",
    "storages",
    "all_of",
]
