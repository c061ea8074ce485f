"""The language of `compute`: its syntax, its meaning, its interpreted form.

`dialect` defines the syntax and finds the functions that `compute` calls, `typed_compute` infers
the kind of every number, `identity` identifies the code of a class, detects changes and prepares it
for a compiler, `arithmetic` has the operations, and `interpret` runs the method as Python.

Both forms have bit-identical results; docs/arithmetic.md has the rules.
"""

from poplite.vertex.compute.data_flow import (
    NO_LOOPS as NO_LOOPS,
    DataFlow as DataFlow,
    Loops as Loops,
    flow_of as flow_of,
    loops_of as loops_of,
)
from poplite.vertex.compute.identity import (
    ClassCode as ClassCode,
    FasterForm as FasterForm,
    FasterForms as FasterForms,
    check as check,
    code_identity as code_identity,
    code_of as code_of,
    compiled_form as compiled_form,
    faster_form as faster_form,
    remembered as remembered,
)
from poplite.vertex.compute.interpret import (
    MOST_TURNS as MOST_TURNS,
    TooManyTurns as TooManyTurns,
    bounded as bounded,
    calls_in as calls_in,
    interpreted as interpreted,
)
from poplite.vertex.compute.interpreted_fields import (
    InterpretedSelf as InterpretedSelf,
    OutsideField as OutsideField,
    no_count as no_count,
)
from poplite.vertex.compute.typed_facts import (
    Checked as Checked,
)
