"""What pytest loads before anything else, for the examples of poplite as for the tests.

For its examples pytest loads a module by itself, and sets it as an attribute of its package: where
`poplite.ops` is not imported before, `ops.convolution` would be the package of that name instead of
the operation. Python itself never does so: importing `poplite.ops` sets both, in that order.
Likewise functions of `poplite.simulator.sweeps` are sent to other processes by their names, and
would not be those of the module that pytest loads.
"""

import poplite.ops
import poplite.simulator.sweeps  # noqa: F401

collect_ignore = ["poplite/poplar/spellings.py"]  # for type checkers only: it is never loaded
