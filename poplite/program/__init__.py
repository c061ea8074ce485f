"""Programs: small frozen trees that say what runs after what.

Leaves do something (`Execute`, `Copy`, `PrintTensor`), the others arrange
(`Sequence`, `Repeat`)::

    Sequence 'main'
      Copy 'image' -> 'a'              step 1
      Repeat 100 times
        Execute 'a to b'               step 2
        Execute 'b to a'               step 3
      PrintTensor 'a'                  step 4

A program is never changed once it is made, so one sub-tree may stand in many places.
"""

from poplite.program.base import Program
from poplite.program.control import Repeat, Sequence
from poplite.program.leaves import Copy, Execute, PrintTensor
from poplite.program.walk import Step, distinct_steps, walk

__all__ = [
    "Copy",
    "Execute",
    "PrintTensor",
    "Program",
    "Repeat",
    "Sequence",
    "Step",
    "distinct_steps",
    "walk",
]
