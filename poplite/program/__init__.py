"""Programs: small frozen trees that say what runs after what.

Leaves do something (`Execute`, `Copy`, `PrintTensor`, `Abort`, ...), the others arrange: in order
(`Sequence`, `Block`), again and again (`Repeat`, `RepeatWhileTrue`, `RepeatWhileFalse`, `Loop`),
one of several (`If`, `Switch`), from many places (`Call`)::

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
from poplite.program.copy import Copy, TensorCopy
from poplite.program.cycles import CycleStamp, cycle_count, cycle_stamp
from poplite.program.execute import Execute
from poplite.program.floating_point import (
    ModifyFloatingPointBehaviour,
    SetFloatingPointBehaviour,
    SetMode,
    SetStochasticRounding,
    get_and_modify_floating_point_behaviour,
    set_floating_point_behaviour,
    set_stochastic_rounding,
)
from poplite.program.function import Call, Function
from poplite.program.host import CodeCopy, HostCall, RemoteCopy, StreamCopy
from poplite.program.loops import Loop, Repeat, RepeatWhile, RepeatWhileFalse, RepeatWhileTrue
from poplite.program.marks import Mark, Sync, SyncType, WriteUndef
from poplite.program.printing import PrintTensor, PrintTensorFmt, PrintTensorFormat
from poplite.program.replicated import AssumeEqualAcrossReplicas, CrossReplicaCopy
from poplite.program.sequence import Block, Growing, Sequence
from poplite.program.stops import Abort, AbortOnCondition, ErrorProgram, Stop
from poplite.program.walk import (
    Step,
    children_first,
    distinct_decisions,
    distinct_steps,
    walk,
)

__all__ = [
    "Abort",
    "AbortOnCondition",
    "AssumeEqualAcrossReplicas",
    "Block",
    "Call",
    "CodeCopy",
    "Copy",
    "CrossReplicaCopy",
    "CycleStamp",
    "ErrorProgram",
    "Execute",
    "Function",
    "Growing",
    "HostCall",
    "If",
    "Loop",
    "Mark",
    "ModifyFloatingPointBehaviour",
    "PrintTensor",
    "PrintTensorFmt",
    "PrintTensorFormat",
    "Program",
    "RemoteCopy",
    "Repeat",
    "RepeatWhile",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Sequence",
    "SetFloatingPointBehaviour",
    "SetMode",
    "SetStochasticRounding",
    "Step",
    "Stop",
    "StreamCopy",
    "Switch",
    "Sync",
    "SyncType",
    "TensorCopy",
    "WriteUndef",
    "children_first",
    "cycle_count",
    "cycle_stamp",
    "distinct_decisions",
    "distinct_steps",
    "get_and_modify_floating_point_behaviour",
    "set_floating_point_behaviour",
    "set_stochastic_rounding",
    "walk",
]
