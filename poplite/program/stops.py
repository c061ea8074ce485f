"""Programs that end the run with an error.

Abort("not reached")                     always
AbortOnCondition(too_large, "diverged")  when a scalar is true
ErrorProgram("bad index", index)         always, and shows a tensor

What comes out of `engine.run` is an `ApplicationRuntimeError` with the step and the user's line;
the engine can be used on.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import ControlProgramError, ElementTypeError, made_by
from poplite.expr.operand import as_read
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import Program, deciding, declared, set_once
from poplite.text import clipped, fitted, of_type


@made_by("Abort(message), or ErrorProgram(message, tensor)")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stop(Program):
    """Base of the programs that end the run with an error.

    Attributes:
        message: what the error says.
    """

    message: str


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Abort(Stop):
    """Ends the run with an error.

    Args:
        message: what the error says.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the message is no text.

    >>> Abort("not reached")
    <Abort 'not reached'>
    """

    def __init__(self, message: str = "", name: str = "") -> None:
        set_once(self, message=_text(message, "Abort"), num_steps=1)

    def __str__(self) -> str:
        return "Abort"

    def __repr__(self) -> str:
        return fitted("<Abort '{}'>", self.message) if self.message else "<Abort>"


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class AbortOnCondition(Stop):
    """Ends the run with an error when a scalar is true.

    Args:
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        message: what the error says.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the predicate is not one element, or the message no text.
        ElementTypeError: when the predicate is no tensor of these types.

    >>> from poplite.graph import Graph
    >>> AbortOnCondition(Graph().add_variable("bool", (), "too_large"), "diverged")
    <AbortOnCondition 'too_large'>
    """

    predicate: Tensor

    def __init__(self, predicate: Tensor, message: str = "", name: str = "") -> None:
        scalar = deciding(predicate, "AbortOnCondition", "predicate")
        text = _text(message, "AbortOnCondition")
        set_once(self, predicate=scalar, message=text, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The predicate."""
        return (self.predicate,)

    def __str__(self) -> str:
        return f"AbortOnCondition '{self.predicate.name}'"

    def __repr__(self) -> str:
        return fitted("<AbortOnCondition '{}'>", self.predicate.name)


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class ErrorProgram(Stop):
    """Ends the run with an error that shows a tensor.

    Args:
        message: what the error says.
        debug_tensor: whose values it shows.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the message is no text.
        ElementTypeError: when `debug_tensor` is no tensor.

    >>> from poplite.graph import Graph
    >>> ErrorProgram("bad index", Graph().add_variable("int32", (), "index"))
    <ErrorProgram 'bad index', 'index'>
    """

    debug_tensor: Tensor

    def __init__(self, message: str, debug_tensor: Tensor, name: str = "") -> None:
        text, debug_tensor = _text(message, "ErrorProgram"), as_read(debug_tensor)
        if not isinstance(debug_tensor, Tensor):
            raise ElementTypeError(
                f"ErrorProgram: debug_tensor {clipped(debug_tensor, 60)} is not a tensor",
                found=of_type(debug_tensor),
                fix="ErrorProgram(message, tensor), or Abort(message) without one",
            )
        set_once(self, message=text, debug_tensor=debug_tensor, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """What is shown."""
        return (self.debug_tensor,)

    def __str__(self) -> str:
        return f"ErrorProgram '{self.debug_tensor.name}'"

    def __repr__(self) -> str:
        return fitted("<ErrorProgram '{}', '{}'>", self.message, self.debug_tensor.name)


def _text(message: object, program: str) -> str:
    if not isinstance(message, str):
        raise ControlProgramError(
            f"{program}: message {clipped(message)} is no text",
            found=of_type(message),
            fix=f"{program}({'predicate, ' if program == 'AbortOnCondition' else ''}'diverged'"
            f"{', tensor' if program == 'ErrorProgram' else ''})",
        )
    return message
