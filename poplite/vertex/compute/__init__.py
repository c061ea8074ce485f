"""The language of `compute`: what may be written, what it means, and its interpreted form.

`parse` says what a `compute` may contain and which functions it calls, `typing` finds the kind of
every number, `identity` decides what a class computes and whether it still does, `arithmetic` has
the operations, `interpreted` runs the method as Python, `compiled` prepares it for a compiler.
Both forms compute the same bits; docs/arithmetic.md is the table.
"""

from poplite.vertex.compute.compiled import compiled_form
from poplite.vertex.compute.identity import ClassCode, check, code_identity, code_of, remembered
from poplite.vertex.compute.interpreted.fields import InterpretedSelf, OutsideField
from poplite.vertex.compute.interpreted.interpret import calls_in, interpreted
from poplite.vertex.compute.typing.facts import Checked

__all__ = [
    "Checked",
    "ClassCode",
    "InterpretedSelf",
    "OutsideField",
    "calls_in",
    "check",
    "code_identity",
    "code_of",
    "compiled_form",
    "interpreted",
    "remembered",
]
