"""Programs: small frozen trees that define the order of execution.

Leaves do the work (`Execute`, `Copy`, `PrintTensor`, `Abort`, ...); the others control programs,
which run in order (`Sequence`, `Block`), repeatedly (`Repeat`, `RepeatWhileTrue`,
`RepeatWhileFalse`, `Loop`), as one of several (`If`, `Switch`), or from many places (`Call`)::

    Sequence 'main'
      Copy 'image' -> 'a'              step 1
      Repeat 100 times
        Execute 'a to b'               step 2
        Execute 'b to a'               step 3
      PrintTensor 'a'                  step 4

A program never changes once it is part of another, so one sub-tree may occur in many places.
"""

from poplite.program.base import (
    Call as Call,
    Function as Function,
    Program as Program,
    Step as Step,
    children_first as children_first,
    distinct_decisions as distinct_decisions,
    distinct_steps as distinct_steps,
    walk as walk,
)
from poplite.program.control import (
    Block as Block,
    Growing as Growing,
    If as If,
    Loop as Loop,
    Repeat as Repeat,
    RepeatWhile as RepeatWhile,
    RepeatWhileFalse as RepeatWhileFalse,
    RepeatWhileTrue as RepeatWhileTrue,
    Sequence as Sequence,
    Switch as Switch,
)
from poplite.program.copy import (
    CodeCopy as CodeCopy,
    Copy as Copy,
    CrossReplicaCopy as CrossReplicaCopy,
    HostCall as HostCall,
    RemoteCopy as RemoteCopy,
    StreamCopy as StreamCopy,
    TensorCopy as TensorCopy,
)
from poplite.program.steps import (
    Abort as Abort,
    AbortOnCondition as AbortOnCondition,
    AssumeEqualAcrossReplicas as AssumeEqualAcrossReplicas,
    CycleStamp as CycleStamp,
    ErrorProgram as ErrorProgram,
    Execute as Execute,
    Mark as Mark,
    ModifyFloatingPointBehaviour as ModifyFloatingPointBehaviour,
    PrintTensor as PrintTensor,
    PrintTensorFormat as PrintTensorFormat,
    SetFloatingPointBehaviour as SetFloatingPointBehaviour,
    SetMode as SetMode,
    SetStochasticRounding as SetStochasticRounding,
    Stop as Stop,
    Sync as Sync,
    SyncType as SyncType,
    WriteUndef as WriteUndef,
    cycle_count as cycle_count,
    cycle_stamp as cycle_stamp,
    get_and_modify_floating_point_behaviour as get_and_modify_floating_point_behaviour,
    set_floating_point_behaviour as set_floating_point_behaviour,
    set_stochastic_rounding as set_stochastic_rounding,
)
from poplite.public import names_of

__all__ = names_of(globals())


def __dir__() -> list[str]:
    return __all__
