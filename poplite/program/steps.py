"""Steps other than copies: compute sets, prints, ends of the run, marks, tile registers.

    Execute(compute_set)                     all vertices in parallel

    PrintTensor("loss", loss)                                   loss: 0.1250000
    PrintTensor("w", w, PrintTensorFormat(digits=3))            w: [1.00 0.50]
    PrintTensor(w, PrintTensorFormat.disable_formatting())      w: [1.0 0.5]

    Abort("not reached")                     always ends the run
    AbortOnCondition(too_large, "diverged")  ends it when a scalar is true
    ErrorProgram("bad index", index)         always ends it, and shows a tensor

    Sync(SyncType.GLOBAL)                    all tiles wait for each other
    WriteUndef(x)                            the values of x are not needed any more
    AssumeEqualAcrossReplicas(x)             x is the same in all replicas

    cycle_stamp(graph, sequence)             the number of cycles so far, at this point
    cycle_count(graph, sequence)             the number of cycles that the sequence takes
    SetStochasticRounding(True)              applies to all tiles, and persists when a run ends

When a program ends the run, `engine.run` raises an `ApplicationRuntimeError` with the step and the
user's line; the engine remains usable.  Marks, such as Sync, change no values: they serve the cost
model and checks.  Tensors are printed as by Poplar's PrintTensorFmt.

The counter counts modelled cycles over all runs of the engine; all tiles synchronise before it
is read.  Reading it takes `cycle_stamp_cycles`, so two consecutive stamps differ by that number.
Source: Poplar API reference, "CycleCount".
"""

from __future__ import annotations

from dataclasses import InitVar
from typing import Literal, get_args

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    Enumeration,
    GraphConnectionError,
    checked_member,
    made_by,
)
from poplite.expr.operand import as_read
from poplite.expr.tree import stored_first
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.space import checked_name
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.machine.floating_point import (
    OVERFLOW_MAX,
    STOCHASTIC,
    STORES,
    TRAPS,
    FloatingPointBehaviour,
)
from poplite.program.base import (
    Program,
    check_name,
    checked_tensor,
    deciding_tensor,
    declared,
    derived,
    fill,
    reads,
    set_once,
    title_parts,
    writes,
)
from poplite.program.control import Sequence, check_appended
from poplite.text import amount, clipped, fitted, of_type
from poplite.types import BOOL, UNSIGNED_INT


@declared()
class Execute(Program):
    """Runs all vertices of a compute set in parallel.

    Args:
        compute_set: the compute set.
        result: one element of BOOL that is true afterwards if all vertices whose `compute`
            is declared `-> bool` returned true; other vertices are ignored. It is written after
            all vertices have run. By default the return values are discarded.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when it is not a compute set, or the result is not one element or
            belongs to another graph.
        ElementTypeError: when the result is not a tensor of BOOL.
        GraphConnectionError: when the result is constant.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> compute_set, done = graph.add_compute_set("blur"), graph.add_variable("bool", (), "done")
    >>> Execute(compute_set), Execute(compute_set, done)
    (<Execute 'blur' 0 vertices>, <Execute 'blur' 0 vertices -> 'done'>)
    """

    compute_set: ComputeSet
    result: Tensor | None = writes()

    def __init__(
        self, compute_set: ComputeSet, result: Tensor | str | None = None, name: str = ""
    ) -> None:
        if not isinstance(compute_set, ComputeSet):
            raise ControlProgramError(
                f"Execute: {clipped(compute_set, 80)} is not a compute set",
                found=of_type(compute_set),
                fix="Execute(graph.add_compute_set(name))",
            )
        if result is not None:
            _check_result(f"Execute '{compute_set.name}'", compute_set, result)
        set_once(self, compute_set=compute_set, result=result)

    def _titled(self) -> str:
        title = "Execute '{compute_set.name}'"
        return title if self.result is None else f"{title} -> '{{result.name}}'"

    def __repr__(self) -> str:
        pattern, names = title_parts(self)
        kind, arrow, result = pattern.partition(" ->")
        vertices = amount(len(self.compute_set.vertices), "vertex", "vertices")
        return fitted(f"<{kind} {vertices}{arrow}{result}>", *names)


def _check_result(title: str, compute_set: ComputeSet, result: object) -> None:
    fix = "all_done = graph.add_variable(BOOL, (), mapping=0); Execute(compute_set, all_done)"
    result = checked_tensor(result, f"{title}: result", fix)
    found = type_and_shape(result)
    if result.element_type is not BOOL:
        raise ElementTypeError(
            f"{title}: result '{result.name}' is {result.element_type!r}, not BOOL",
            found=found,
            fix=fix,
        )
    if result.num_elements != 1:
        raise ControlProgramError(
            f"{title}: result '{result.name}' has {amount(result.num_elements, 'element')}, "
            "but 1 is needed",
            found=found,
            fix=fix,
        )
    if result.graph is not compute_set.graph:
        raise ControlProgramError(
            f"{title}: result '{result.name}' belongs to another graph",
            found=f"{result.graph!r} and {compute_set.graph!r}",
            fix="create the compute set and the result with one graph",
        )
    if result.contains_constant():
        raise GraphConnectionError(
            f"{title}: result '{result.name}' is constant", found=found, fix=fix
        )


# -- printing --------------------------------------------------------------------------------------

FloatForm = Literal["auto", "fixed", "scientific", "none"]

_COUNTS = ("summarise_threshold", "edge_items", "max_line_width", "digits")
_TEXTS = ("separator", "open_bracket", "close_bracket")

MOST_DIGITS = 1000
"""Maximum of `digits`: more than any float has, but quick to write."""


@frozen
class PrintTensorFormat:
    """How PrintTensor writes values.

    Args:
        summarise_threshold: number of elements above which only the edges of a tensor are written;
            0 for no limit.
        edge_items: number of elements at each edge that are written in that case.
        max_line_width: maximum number of characters in a line; 0 for no limit.
        digits: number of digits, at most 1,000; 0 writes every number as short as possible,
            without columns. Integers are always written in full.
        float_format: "fixed" as in 12.500000, "scientific" as in 1.2500000e+01, "none" as short
            as possible, "auto" for whichever fits the values.
        separator: text between elements.
        open_bracket: text before the elements of a dimension.
        close_bracket: text after them.

    Raises:
        ControlProgramError: for a count that is not a non-negative integer, too many digits, an
            unknown `float_format`, and for brackets and separators that are not strings.

    >>> PrintTensorFormat(digits=3).digits
    3
    """

    class FloatFormat(str, Enumeration):
        """The values of `float_format` by Poplar's names."""

        Auto = "auto"
        Fixed = "fixed"
        Scientific = "scientific"
        None_ = "none"
        """Poplar's `None`, which is a keyword in Python."""

        __str__ = str.__str__

    summarise_threshold: int = 1000
    edge_items: int = 3
    max_line_width: int = 75
    digits: int = 8
    float_format: FloatForm | FloatFormat = "auto"
    separator: str = " "
    open_bracket: str = "["
    close_bracket: str = "]"

    def __post_init__(self) -> None:
        for name in _COUNTS:
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                raise _refused(name, count, "a non-negative whole number")
        if self.digits > MOST_DIGITS:
            raise _refused("digits", self.digits, f"at most {MOST_DIGITS:,}")
        form: object = self.float_format
        if isinstance(form, str):
            form = self.FloatFormat.__members__.get(form, form)
        if not isinstance(form, str) or form not in get_args(FloatForm):
            kinds = ", ".join(map(repr, get_args(FloatForm)))
            raise _refused("float_format", form, f"one of {kinds}")
        object.__setattr__(self, "float_format", str(form))
        for name in _TEXTS:
            if not isinstance(text := getattr(self, name), str):
                raise _refused(name, text, "a string")

    @staticmethod
    def disable_formatting() -> PrintTensorFormat:
        """Return the format that writes all elements without columns.

        >>> PrintTensorFormat.disable_formatting().summarise_threshold
        0
        """
        return PrintTensorFormat(
            summarise_threshold=0, max_line_width=0, digits=0, float_format="none"
        )

    disableFormatting = disable_formatting


PLAIN = PrintTensorFormat()
"""The default format."""


def _refused(name: str, value: object, needed: str) -> ControlProgramError:
    default = getattr(PLAIN, name)
    return ControlProgramError(
        f"PrintTensorFormat: {name}={clipped(value)}, but {needed} is needed",
        found=of_type(value),
        fix=f"use the default, {name}={default!r}",
    )


@declared()
class PrintTensor(Program):
    """Prints a tensor on the host: `title: values`.

    Args:
        title: text before the values; by default the tensor's name. As in Poplar, it is the
            first argument if given.
        tensor: the tensor to print.
        format: how values are written; it follows the tensor, also without a title.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when there is no tensor, the title is not a string, or the format is not
            a `PrintTensorFormat`.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (3,), "x")
    >>> PrintTensor(x), PrintTensor("result", x), PrintTensor(x, PrintTensorFormat(digits=3))
    (<PrintTensor 'x' int32[3]>, <PrintTensor 'result' int32[3]>, <PrintTensor 'x' int32[3]>)
    """

    _title = "PrintTensor '{title}'"
    title: str
    tensor: Tensor = reads()
    format: PrintTensorFormat

    def __init__(
        self,
        title: str | Tensor,
        tensor: Tensor | PrintTensorFormat | None = None,
        format: PrintTensorFormat | str | None = None,
        name: str = "",
    ) -> None:
        title, tensor = as_read(title), as_read(tensor)
        text, shown = title, tensor
        if isinstance(title, Tensor) and tensor is None:
            text, shown = str(title.name), title
        if not isinstance(text, str) or not isinstance(shown, Tensor):
            swapped = isinstance(title, Tensor) and isinstance(tensor, str)
            raise ElementTypeError(
                "PrintTensor: the title must precede the tensor"
                if swapped
                else f"PrintTensor({clipped(title)}, {clipped(tensor)}) has no tensor to print",
                found=f"title {clipped(title, 60)}, tensor {clipped(tensor, 60)}",
                fix=f"PrintTensor({clipped(tensor)}, t)"
                if swapped
                else stored_first(
                    title if tensor is None else tensor,
                    "PrintTensor(t), or PrintTensor('title', t)",
                ),
            )
        if format is not None and not isinstance(format, PrintTensorFormat):
            raise ElementTypeError(
                f"PrintTensor '{text}': {clipped(format)} is not a format",
                found=of_type(format),
                fix="PrintTensor(title, tensor, PrintTensorFormat(digits=4))",
            )
        set_once(self, title=text, tensor=shown, format=format or PLAIN)

    def _detail(self) -> str:
        return f" {type_and_shape(self.tensor)}"


# -- the end of a run ------------------------------------------------------------------------------


@made_by("Abort(message), or ErrorProgram(message, tensor)")
class Stop(Program):
    """Base of the programs that end the run with an error.

    Attributes:
        message: the text of the error.
    """

    __slots__ = ()
    message: str

    def _check(self) -> None:
        message: object = self.message
        if not isinstance(message, str):
            kind = type(self).__name__
            before = "predicate, " if kind == "AbortOnCondition" else ""
            after = ", tensor" if kind == "ErrorProgram" else ""
            raise ControlProgramError(
                f"{kind}: message {clipped(message)} is not a string",
                found=of_type(message),
                fix=f"{kind}({before}'diverged'{after})",
            )


@declared()
class Abort(Stop):
    """Ends the run with an error.

    Args:
        message: the text of the error.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the message is not a string.

    >>> Abort("not reached")
    <Abort 'not reached'>
    """

    _title = "Abort"
    message: str = ""
    name: InitVar[str] = ""

    def __repr__(self) -> str:
        return fitted("<Abort '{}'>", self.message) if self.message else "<Abort>"


@declared()
class AbortOnCondition(Stop):
    """Ends the run with an error when a scalar is true.

    Args:
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        message: the text of the error.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the predicate is not one element, or the message is not a string.
        ElementTypeError: when the predicate is not a tensor of these types.

    >>> from poplite.graph import Graph
    >>> AbortOnCondition(Graph().add_variable("bool", (), "too_large"), "diverged")
    <AbortOnCondition 'too_large'>
    """

    _title = "AbortOnCondition '{predicate.name}'"
    predicate: Tensor = reads()
    message: str = ""
    name: InitVar[str] = ""

    def _check(self) -> None:
        scalar = deciding_tensor(self.predicate, "AbortOnCondition", "predicate")
        fill(self, predicate=scalar)
        Stop._check(self)


@declared()
class ErrorProgram(Stop):
    """Ends the run with an error that shows a tensor.

    Args:
        message: the text of the error.
        debug_tensor: the tensor whose values it shows.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when the message is not a string.
        ElementTypeError: when `debug_tensor` is not a tensor.

    >>> from poplite.graph import Graph
    >>> ErrorProgram("bad index", Graph().add_variable("int32", (), "index"))
    <ErrorProgram 'bad index', 'index'>
    """

    _title = "ErrorProgram '{debug_tensor.name}'"
    message: str
    debug_tensor: Tensor = reads()
    name: InitVar[str] = ""

    def _check(self) -> None:
        Stop._check(self)
        fix = "ErrorProgram(message, tensor), or Abort(message) without a tensor"
        tensor = checked_tensor(as_read(self.debug_tensor), "ErrorProgram: debug_tensor", fix)
        fill(self, debug_tensor=tensor)

    def __repr__(self) -> str:
        return fitted("<ErrorProgram '{}', '{}'>", self.message, self.debug_tensor.name)


# -- marks -----------------------------------------------------------------------------------------


class SyncType(Enumeration):
    """The tiles that wait for each other."""

    INTERNAL = "internal"
    """The tiles of each IPU."""
    EXTERNAL = "external"
    """The tiles of all IPUs of the device."""
    GLOBAL = "global"
    """The tiles of all devices."""


@made_by("Sync(sync_type), WriteUndef(tensor), or AssumeEqualAcrossReplicas(tensor)")
@declared()
class Mark(Program):
    """Base of the steps that change no values; only strict checks act on them."""


@declared()
class Sync(Mark):
    """Makes tiles wait for each other; no value changes, since steps run in order anyway.

    Args:
        sync_type: which tiles wait.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is not a `SyncType`.

    >>> Sync(SyncType.INTERNAL)
    <Sync INTERNAL>
    """

    sync_type: SyncType

    def __init__(self, sync_type: SyncType | str, name: str = "") -> None:
        set_once(self, sync_type=checked_member(sync_type, SyncType, "Sync"))

    def _titled(self) -> str:
        return f"Sync {self.sync_type.name}"


@declared()
class WriteUndef(Mark):
    """Declares that a tensor's values are not needed any more, and become undefined.

    On a machine, its memory may be reused until it is written again.  Here it keeps its values,
    but with strict checks no result may depend on them.

    Args:
        tensor: any view without constants.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is not a tensor.
        GraphConnectionError: when it contains a constant, which is always defined.

    >>> from poplite.graph import Graph
    >>> WriteUndef(Graph().add_variable("int32", (3,), "x"))
    <WriteUndef 'x' int32[3]>
    """

    _title = "WriteUndef '{tensor.name}'"
    tensor: Tensor = writes()
    name: InitVar[str] = ""

    def _check(self) -> None:
        tensor = checked_tensor(self.tensor, "WriteUndef:", "WriteUndef(tensor)")
        if tensor.contains_constant():
            raise GraphConnectionError(
                f"{self}: a constant is always defined",
                found=type_and_shape(tensor),
                fix="leave the constant out, or use a variable: graph.add_variable(...)",
            )

    def _detail(self) -> str:
        return f" {type_and_shape(self.tensor)}"


@declared()
class AssumeEqualAcrossReplicas(Mark):
    """Declares that a tensor has the same values in every replica.

    With strict checks the engine compares them, and stops the run if they differ; with fast
    checks it has no effect.

    Args:
        tensor: any view.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is not a tensor.

    >>> from poplite.graph import Graph
    >>> AssumeEqualAcrossReplicas(Graph().add_variable("int32", (3,), "x"))
    <AssumeEqualAcrossReplicas 'x' int32[3]>
    """

    _title = "AssumeEqualAcrossReplicas '{tensor.name}'"
    tensor: Tensor = reads()
    name: InitVar[str] = ""

    def _check(self) -> None:
        kind = "AssumeEqualAcrossReplicas"
        checked_tensor(self.tensor, f"{kind}:", f"{kind}(tensor)")

    def _detail(self) -> str:
        return f" {type_and_shape(self.tensor)}"


# -- registers -------------------------------------------------------------------------------------


@made_by("pl.cycle_stamp(graph, sequence, tile)")
@declared()
class CycleStamp(Program):
    """Stores the cycle counter; created by `cycle_stamp` and `cycle_count`.

    Attributes:
        tensor: UNSIGNED_INT[2] on one tile, the low word first.
        since: an earlier stamp that is subtracted.
    """

    _title = "CycleStamp '{tensor.name}'"
    tensor: Tensor = writes()
    sync_type: SyncType
    since: Tensor | None = reads(default=None)


def cycle_stamp(
    graph: Graph,
    sequence: Sequence,
    tile: int = 0,
    sync_type: SyncType | str = SyncType.INTERNAL,
    name: str = "cycle_stamp",
) -> Tensor:
    """Append a program that stores the cycle counter to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        tile: the tile whose counter is read.
        sync_type: which tiles synchronise before that.
        name: name of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the number of cycles so far, the low 32 bits first.

    Raises:
        ControlProgramError: for an invalid graph or sequence, and when the sequence is part of
            another program.
        ElementTypeError: for an invalid sync type.
        InvalidTileMapping: when there is no such tile.

    >>> graph, sequence = Graph(), Sequence()
    >>> cycle_stamp(graph, sequence)
    <Tensor 'cycle_stamp' uint32[2] on tile 0, 8 B>
    """
    sync_type = _checked("cycle_stamp", graph, sequence, sync_type)
    tensor = graph.add_variable(UNSIGNED_INT, (2,), name, mapping=tile)
    sequence.add(CycleStamp(tensor, sync_type))
    return tensor


def cycle_count(
    graph: Graph,
    sequence: Sequence,
    tile: int = 0,
    sync_type: SyncType | str = SyncType.INTERNAL,
    name: str = "cycle_count",
) -> Tensor:
    """Make a sequence measure how many cycles it takes.

    Its present contents are measured each time it runs; programs added later are not.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to measure.
        tile: the tile whose counter is read.
        sync_type: which tiles synchronise before that.
        name: name of the tensor.

    Returns:
        UNSIGNED_INT[2] on that tile: the number of cycles of the last run, the low 32 bits first.

    Raises:
        ControlProgramError: for an invalid graph or sequence, and when the sequence is part of
            another program.
        ElementTypeError: for an invalid sync type.
        InvalidTileMapping: when there is no such tile.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), n, mapping=0, initial_value=1) for n in "ab")
    >>> sequence = pl.Sequence(pl.Copy(a, b))
    >>> cycles = pl.cycle_count(graph, sequence)
    >>> engine = pl.Engine(graph, sequence)
    >>> engine.run()
    >>> low, high = engine.read(cycles).tolist()
    >>> 0 < low < engine.report().cycles, high
    (True, 0)
    """
    sync_type = _checked("cycle_count", graph, sequence, sync_type)
    checked_name(name, "tensor", 'pl.cycle_count(graph, sequence, name="cycles")')
    begin = graph.add_variable(UNSIGNED_INT, (2,), f"{name}/begin", mapping=tile)
    taken = graph.add_variable(UNSIGNED_INT, (2,), name, mapping=tile)
    sequence._put_first(CycleStamp(begin, sync_type))
    sequence.add(CycleStamp(taken, sync_type, since=begin))
    return taken


def _checked(call: str, graph: object, sequence: object, sync_type: object) -> SyncType:
    check_appended(f"{call}(graph, sequence)", graph, sequence)
    return checked_member(sync_type, SyncType, call)


# -- floating point --------------------------------------------------------------------------------


@made_by("SetFloatingPointBehaviour(behaviour), or SetStochasticRounding(on)")
@declared()
class SetMode(Program):
    """Base of the programs that change how floating-point arithmetic behaves.

    Attributes:
        clear: the bits of the mode that are cleared.
        set: the bits that are then set.
    """

    clear: int = derived()
    set: int = derived()


@declared()
class SetFloatingPointBehaviour(SetMode):
    """Sets the behaviour of floating-point arithmetic.

    Args:
        behaviour: the complete behaviour.

    Raises:
        ControlProgramError: when it is not a `FloatingPointBehaviour`.

    >>> SetFloatingPointBehaviour(FloatingPointBehaviour(oflo=False, esr=False))
    <SetFloatingPointBehaviour inv div0 nanoo>
    """

    behaviour: FloatingPointBehaviour

    def _check(self) -> None:
        behaviour = self.behaviour
        _check("SetFloatingPointBehaviour", behaviour=behaviour)
        bits = behaviour.bits if behaviour.nanoo else behaviour.bits | OVERFLOW_MAX
        fill(self, clear=TRAPS | STORES, set=bits)

    def _titled(self) -> str:
        return f"SetFloatingPointBehaviour {_words(self.behaviour)}"


@declared()
class ModifyFloatingPointBehaviour(SetMode):
    """Changes parts of the behaviour of floating-point arithmetic.

    Args:
        clear: the behaviour to turn off.
        set: the behaviour to turn on afterwards.

    Raises:
        ControlProgramError: when one of them is not a `FloatingPointBehaviour`.

    >>> nothing = FloatingPointBehaviour(False, False, False, False, False)
    >>> ModifyFloatingPointBehaviour(nothing, FloatingPointBehaviour(nanoo=False))
    <ModifyFloatingPointBehaviour off none, on inv div0 oflo esr>
    """

    off: FloatingPointBehaviour
    on: FloatingPointBehaviour

    def __init__(self, clear: FloatingPointBehaviour, set: FloatingPointBehaviour) -> None:
        _check("ModifyFloatingPointBehaviour", clear=clear, set=set)
        cleared, bits = clear.bits, set.bits
        if set.nanoo:
            cleared |= OVERFLOW_MAX
        elif clear.nanoo:
            bits |= OVERFLOW_MAX
        set_once(self, off=clear, on=set, clear=cleared, set=bits)

    def _titled(self) -> str:
        return f"ModifyFloatingPointBehaviour off {_words(self.off)}, on {_words(self.on)}"


@declared()
class SetStochasticRounding(SetMode):
    """Turns stochastic rounding on or off.

    Args:
        on: whether it is turned on.

    Raises:
        ControlProgramError: when it is not a truth value.

    >>> SetStochasticRounding(True)
    <SetStochasticRounding on>
    """

    on: bool

    def _check(self) -> None:
        if not isinstance(self.on, bool):
            raise ControlProgramError(
                f"SetStochasticRounding: {clipped(self.on, 60)} is not True or False",
                found=of_type(self.on),
                fix="SetStochasticRounding(True)",
            )
        fill(self, clear=STOCHASTIC, set=STOCHASTIC if self.on else 0)

    def _titled(self) -> str:
        return f"SetStochasticRounding {'on' if self.on else 'off'}"


def set_floating_point_behaviour(
    graph: Graph, sequence: Sequence, behaviour: FloatingPointBehaviour, name: str = ""
) -> None:
    """Append a program that sets the floating-point behaviour to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        behaviour: the complete behaviour.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or behaviour.

    >>> sequence = Sequence()
    >>> set_floating_point_behaviour(Graph(), sequence, FloatingPointBehaviour(esr=False))
    >>> print(sequence.children[0])
    SetFloatingPointBehaviour inv div0 oflo nanoo
    """
    check_appended("set_floating_point_behaviour(graph, sequence, ...)", graph, sequence)
    check_name(name, "set_floating_point_behaviour")
    sequence.add(SetFloatingPointBehaviour(behaviour))


def get_and_modify_floating_point_behaviour(
    graph: Graph,
    sequence: Sequence,
    clear: FloatingPointBehaviour,
    set: FloatingPointBehaviour,
    name: str = "",
) -> None:
    """Append a program that changes parts of the floating-point behaviour to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        clear: the behaviour to turn off.
        set: the behaviour to turn on afterwards.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or behaviour.

    >>> sequence, off = Sequence(), FloatingPointBehaviour(False, False, False, False, False)
    >>> exceptions = FloatingPointBehaviour(esr=False, nanoo=False)
    >>> get_and_modify_floating_point_behaviour(Graph(), sequence, clear=exceptions, set=off)
    >>> print(sequence.children[0])
    ModifyFloatingPointBehaviour off inv div0 oflo, on none
    """
    check_appended("get_and_modify_floating_point_behaviour(graph, sequence, ...)", graph, sequence)
    check_name(name, "get_and_modify_floating_point_behaviour")
    sequence.add(ModifyFloatingPointBehaviour(clear, set))


def set_stochastic_rounding(graph: Graph, sequence: Sequence, on: bool, name: str = "") -> None:
    """Append a program that turns stochastic rounding on or off to a sequence.

    Args:
        graph: the graph of the sequence.
        sequence: the sequence to append to.
        on: whether it is turned on.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: for an invalid graph, sequence or truth value.

    >>> sequence = Sequence()
    >>> set_stochastic_rounding(Graph(), sequence, False)
    >>> print(sequence.children[0])
    SetStochasticRounding off
    """
    check_appended("set_stochastic_rounding(graph, sequence, ...)", graph, sequence)
    check_name(name, "set_stochastic_rounding")
    sequence.add(SetStochasticRounding(on))


def _check(what: str, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, Tensor):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is a tensor",
                found="Poplar stores a behaviour in a tensor, to restore it; here it is known",
                fix=f"pass the earlier behaviour: {name}=FloatingPointBehaviour(...)",
            )
        if not isinstance(value, FloatingPointBehaviour):
            raise ControlProgramError(
                f"{what}: {name} {clipped(value, 60)} is not a behaviour",
                found=of_type(value),
                fix=f"{name}=FloatingPointBehaviour(inv=True, div0=True, oflo=True)",
            )


def _words(behaviour: FloatingPointBehaviour) -> str:
    names = ("inv", "div0", "oflo", "esr", "nanoo")
    return " ".join(name for name in names if getattr(behaviour, name)) or "none"
