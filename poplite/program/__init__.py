"""Programs: small frozen trees that say what runs after what.

Leaves do something (`Execute`, `Copy`, `PrintTensor`), the others arrange: in order
(`Sequence`), again and again (`Repeat`, `RepeatWhileTrue`, `RepeatWhileFalse`), one of several
(`If`, `Switch`), from many places (`Call`)::

    Sequence 'main'
      Copy 'image' -> 'a'              step 1
      Repeat 100 times
        Execute 'a to b'               step 2
        Execute 'b to a'               step 3
      PrintTensor 'a'                  step 4

A program is never changed once it is part of another, so one sub-tree may stand in many places.
"""

from poplite.program.base import Program
from poplite.program.conditional import If, Switch
from poplite.program.function import Call, Function
from poplite.program.leaves import Copy, Execute, PrintTensor
from poplite.program.loops import Repeat, RepeatWhile, RepeatWhileFalse, RepeatWhileTrue
from poplite.program.sequence import Sequence
from poplite.program.walk import (
    Step,
    children_first,
    distinct_decisions,
    distinct_steps,
    walk,
)

__all__ = [
    "Call",
    "Copy",
    "Execute",
    "Function",
    "If",
    "PrintTensor",
    "Program",
    "Repeat",
    "RepeatWhile",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Sequence",
    "Step",
    "Switch",
    "children_first",
    "distinct_decisions",
    "distinct_steps",
    "walk",
]
