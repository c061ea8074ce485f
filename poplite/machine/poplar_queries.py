"""Queries of Poplar's Target, answered from the facts of the machine.

Each function becomes a method of `Target` under its C++ name.
Sources: Poplar API reference, "Target", for the names; `poplite.machine.facts`, for the numbers;
poplibs, lib/poplin/ConvUtilInternal.cpp and lib/popops/Cast.cpp, for the types of the matrix unit.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.errors import ElementTypeError, Enumeration, InvalidMachineModel, checked_truth
from poplite.machine.facts import ARCHITECTURES, POPLAR_ARCHITECTURES
from poplite.machine.option_flags import checked_options
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, QUARTER, ElementType, ElementTypeLike, element_type

if TYPE_CHECKING:
    from poplite.machine.target import Target

CPU_MEMORY_BYTES = 2**40
"""Memory of the tile of a CPU target, which Poplar does not limit."""

_POPLAR_NAMES = {ours: theirs for theirs, ours in POPLAR_ARCHITECTURES.items()} | {"c600": "ipu21"}


class TargetType(Enumeration):
    """The kind of machine that runs a program."""

    IPU = "ipu"
    """The type of all targets here: programs find the machine they need, and it is simulated."""
    IPU_MODEL = "ipu model"
    """Poplar's model; here the same as an IPU."""
    CPU = "cpu"
    """One tile per IPU, with one worker."""


class IpuLinkConfiguration(Enumeration):
    """The connections between IPUs."""

    DEFAULT = "default"
    """What every target here reports."""
    SLIDING_WINDOW = "sliding window"
    """Poplar's name only; no target here reports it."""
    BARLEY_TWIST = "barley twist"
    """Poplar's name only; no target here reports it."""

    # C++ spelling

    Default = DEFAULT
    SlidingWindow = SLIDING_WINDOW
    BarleyTwist = BARLEY_TWIST


class IpuLinkTopology(Enumeration):
    """The shape of the links between IPUs."""

    MESH = "mesh"
    """A ladder with open ends, which every target here reports."""
    TORUS = "torus"
    """A ladder with joined ends; no target here reports it."""
    LINE = "line"
    """A chain; no target here reports it."""

    # C++ spelling

    Mesh = MESH
    Torus = TORUS
    Line = LINE


def createCPUTarget(accurate_half: bool = False, num_ipus: int = 1) -> Target:
    """Return a machine with one tile per IPU, one worker per tile, and memory for any program.

    Args:
        accurate_half: as in Poplar; here HALF is always rounded on each store.
        num_ipus: number of IPUs, each with one tile.

    Raises:
        InvalidMachineModel: for an invalid number of IPUs.
        ElementTypeError: for an `accurate_half` that is not True or False.

    >>> createCPUTarget(True, 2).getTargetType()
    <TargetType.CPU: 'cpu'>
    """
    from poplite.machine.target import Target  # it has this function

    checked_truth(accurate_half, "createCPUTarget: accurate_half")
    return Target(num_ipus, 1, CPU_MEMORY_BYTES, ipus=num_ipus)


def createIPUTarget(
    num_ipus: int | str,
    tiles_per_ipu: int | str | Mapping[str, str] | None = None,
    system: str | Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Target:
    """Return a machine: `createIPUTarget([numIPUs, [tilesPerIPU,]] system, [options])`.

    Args:
        num_ipus: number of IPUs, or the system.
        tiles_per_ipu: number of tiles per IPU, or the system, or the options after it.
        system: "ipu1", "ipu2" (the default), "ipu21" or one of poplite's architectures, or the
            options after it.
        options: as in Poplar; none has an effect.

    Raises:
        InvalidMachineModel: for an unknown system or invalid numbers.
        InvalidOption: for options that are not a dictionary.

    >>> createIPUTarget(2, 4, "ipu2").tiles, createIPUTarget("ipu21").architecture
    (8, 'bow')
    """
    from poplite.machine.target import Target  # it has this function

    followed: Any = tiles_per_ipu
    if isinstance(num_ipus, str):
        options = options if followed is None else followed
        system, tiles_per_ipu = num_ipus, None
        num_ipus = 1
    elif isinstance(tiles_per_ipu, str):
        options = options if system is None else system  # type: ignore[assignment]  # checked below
        system, tiles_per_ipu = tiles_per_ipu, None
    if system is None:
        system = "ipu2"
    checked_options(options, "createIPUTarget")
    ipus = _whole(num_ipus, "createIPUTarget: number of IPUs")
    per_ipu = None if tiles_per_ipu is None else _whole(tiles_per_ipu, "createIPUTarget: tiles")
    tiles = None if per_ipu is None else ipus * per_ipu
    check_system(system, "createIPUTarget: system", 'createIPUTarget(1, "ipu2")')
    return Target(tiles, ipus=ipus, architecture=system)  # type: ignore[arg-type]  # checked above


def check_system(system: object, what: str, fix: str) -> None:
    """Refuse anything but the name of an architecture."""
    known = (*POPLAR_ARCHITECTURES, *ARCHITECTURES)
    if not isinstance(system, str) or system not in known:
        raise InvalidMachineModel(
            f"{what} {clipped(system)} is not known", found=f"known: {', '.join(known)}", fix=fix
        )


def createVirtualTarget(target: Target, num_ipus: int, tiles_per_ipu: int) -> Target:
    """Return a machine that is like another, but has only some of its IPUs and tiles.

    Args:
        target: the machine.
        num_ipus: number of its IPUs to use.
        tiles_per_ipu: number of tiles to use on each.

    Raises:
        InvalidMachineModel: for more than the machine has, or fewer than one.

    >>> createVirtualTarget(createIPUTarget(4, "ipu2"), 2, 16).tiles
    32
    """
    ipus, tiles = integer_or_none(num_ipus), integer_or_none(tiles_per_ipu)
    within = ipus is not None and tiles is not None
    within = within and 0 < num_ipus <= target.ipus and 0 < tiles_per_ipu <= target.tiles_per_ipu
    if not within:
        raise InvalidMachineModel(
            f"createVirtualTarget: {clipped(num_ipus)} IPUs with {clipped(tiles_per_ipu)} tiles, "
            f"but the machine has {target.ipus} with {target.tiles_per_ipu:,}",
            fix=f"target.createVirtualTarget({target.ipus}, {target.tiles_per_ipu})",
        )
    return replace(target, tiles=num_ipus * tiles_per_ipu, ipus=num_ipus)


def getTargetType(target: Target) -> TargetType:
    """Return IPU, or CPU for a machine from `createCPUTarget`."""
    kind = target.workers, target.tiles_per_ipu, target.tile_memory_bytes
    return TargetType.CPU if kind == (1, 1, CPU_MEMORY_BYTES) else TargetType.IPU


def getTargetArchString(target: Target) -> str:
    """Return Poplar's name for the architecture: "ipu1", "ipu2", "ipu21", or "cpu"."""
    if getTargetType(target) is TargetType.CPU:
        return "cpu"
    return _POPLAR_NAMES[target.architecture]


def hash(target: Target) -> int:
    """Return a number that is the same in every process for equal machines."""
    return zlib.crc32(repr([getattr(target, each.name) for each in fields(target)]).encode())


def getNumConvUnits(
    target: Target, input_type: ElementTypeLike | bool, partials_type: ElementTypeLike | bool
) -> int:
    """Return the number of outputs that a tile's matrix unit computes at once; 0 if unsupported.

    Sums have the type of the inputs, or the next wider one.

    Args:
        target: the machine.
        input_type: FLOAT, HALF or QUARTER; as in older versions of Poplar, True means FLOAT and
            False means HALF.
        partials_type: type of the sums, in the same form.

    Raises:
        ElementTypeError: for any other type.

    >>> target = createIPUTarget("ipu2")
    >>> getNumConvUnits(target, HALF, HALF), getNumConvUnits(target, HALF, FLOAT)
    (16, 8)
    """
    inputs = _conv_type(input_type, "getNumConvUnits")
    partials = _conv_type(partials_type, "getNumConvUnits")
    if (inputs, partials) not in _CONVOLUTIONS or not _has_type(target, inputs):
        return 0
    is_mixed = (inputs, partials) == (HALF, FLOAT)
    return int(target.cost("amp_mixed_outputs" if is_mixed else "amp_outputs"))


def getWeightsPerConvUnit(target: Target, input_type: ElementTypeLike | bool) -> int:
    """Return the number of weights that the matrix unit stores for each output.

    Args:
        target: the machine.
        input_type: as in `getNumConvUnits`.

    Raises:
        ElementTypeError: for any other type.

    >>> getWeightsPerConvUnit(createIPUTarget("ipu2"), HALF)
    16
    """
    return _each(target, input_type, "amp_inputs_bytes", "getWeightsPerConvUnit")


def getConvUnitInputLoadElemsPerCycle(target: Target, input_type: ElementTypeLike | bool) -> int:
    """Return the number of inputs that the matrix unit loads in a cycle.

    Args:
        target: the machine.
        input_type: as in `getNumConvUnits`.

    Raises:
        ElementTypeError: for any other type.

    >>> getConvUnitInputLoadElemsPerCycle(createIPUTarget("ipu2"), FLOAT)
    2
    """
    return _each(target, input_type, "data_path_bytes", "getConvUnitInputLoadElemsPerCycle")


def getConvUnitMaxPipelineDepth(target: Target, partials_type: ElementTypeLike | bool) -> int:
    """Return the number of cycles in which the matrix unit loads the inputs of one row.

    Args:
        target: the machine.
        partials_type: as in `getNumConvUnits`.

    Raises:
        ElementTypeError: for any other type.

    >>> getConvUnitMaxPipelineDepth(createIPUTarget("ipu2"), FLOAT)
    4
    """
    loads = _each(target, partials_type, "data_path_bytes", "getConvUnitMaxPipelineDepth")
    inputs = _each(target, partials_type, "amp_inputs_bytes", "getConvUnitMaxPipelineDepth")
    return inputs // loads if loads else 0


def getMaxIPUSyncDelay(target: Target) -> int:
    """Return the number of cycles of a sync between the tiles that are farthest apart."""
    return int(max(target.cost("sync_stagger_cycles"), target.cost("sync_cycles")))


def getIpuLinkConfiguration(target: Target) -> IpuLinkConfiguration:
    """Return DEFAULT: IPUs form one ladder (see `poplite.machine.target`)."""
    return IpuLinkConfiguration.DEFAULT


def getIpuLinkTopology(target: Target) -> IpuLinkTopology:
    """Return MESH: the ends of the ladder are not joined."""
    return IpuLinkTopology.MESH


def getGatewayMode(target: Target) -> bool:
    """Return False: the host is reached without a gateway."""
    return False


def supportsExchangeBusSharing(target: Target) -> bool:
    """Return whether tiles share the buses on which they send."""
    return target.cost("pair_tiles") > 1


def getTypeSize(target: Target, type_: ElementTypeLike) -> int:
    """Return the size of an element of a type in bytes, like its `size_bytes`.

    Args:
        target: any machine.
        type_: element type, or the NumPy dtype of one.

    Raises:
        ElementTypeError: for anything else.

    >>> getTypeSize(createIPUTarget("ipu2"), HALF)
    2
    """
    return element_type(type_).size_bytes


def getTypeLimitsMaxAs(target: Target, type_: ElementTypeLike) -> int | float:
    """Return the largest finite value of a type.

    Args:
        target: any machine.
        type_: element type, or the NumPy dtype of one.

    Raises:
        ElementTypeError: for QUARTER, whose values depend on its metadata, and for anything else.

    >>> getTypeLimitsMaxAs(createIPUTarget("ipu2"), HALF)
    65504.0
    """
    return _limits(type_, "getTypeLimitsMaxAs")[1]


def getTypeLimitsLowestAs(target: Target, type_: ElementTypeLike) -> int | float:
    """Return the smallest finite value of a type.

    Args:
        target: any machine.
        type_: element type, or the NumPy dtype of one.

    Raises:
        ElementTypeError: for QUARTER, whose values depend on its metadata, and for anything else.

    >>> getTypeLimitsLowestAs(createIPUTarget("ipu2"), "int8")
    -128
    """
    return _limits(type_, "getTypeLimitsLowestAs")[0]


def _limits(type_: ElementTypeLike, call: str) -> tuple[int | float, int | float]:
    """Return the smallest and the largest value of a type."""
    if element_type(type_) is QUARTER:
        raise ElementTypeError(
            f"{call}: the values of QUARTER depend on format and scale",
            fix='QuarterMetadata("F143", scale).largest',
        )
    dtype: np.dtype[Any] = element_type(type_).dtype
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _whole(number: object, what: str) -> int:
    """Return a positive whole number, or refuse anything else."""
    found = integer_or_none(number)
    if found is None or found < 1:
        raise InvalidMachineModel(
            f"{what}: {clipped(number)} is not a positive whole number",
            found=of_type(number),
            fix='Target.createIPUTarget(2, "ipu2")',
        )
    return found


_CONVOLUTIONS = ((QUARTER, HALF), (HALF, HALF), (HALF, FLOAT), (FLOAT, FLOAT))
"""Types of the inputs and sums of the matrix unit."""


def _each(target: Target, like: ElementTypeLike | bool, cost: str, call: str) -> int:
    """Return the number of elements in a part of the matrix unit; 0 for an unsupported type."""
    type_ = _conv_type(like, call)
    return int(target.cost(cost)) // type_.size_bytes if _has_type(target, type_) else 0


def _has_type(target: Target, type_: type[ElementType[object]]) -> bool:
    """Return whether the matrix unit supports a type: QUARTER only from ipu21 on."""
    return type_ is not QUARTER or _POPLAR_NAMES[target.architecture] == "ipu21"


def _conv_type(like: ElementTypeLike | bool, call: str) -> type[ElementType[object]]:
    """Return FLOAT, HALF or QUARTER, or refuse any other type."""
    if isinstance(like, bool):
        return FLOAT if like else HALF
    type_ = element_type(like)
    if type_ not in (FLOAT, HALF, QUARTER):
        raise ElementTypeError(
            f"{call}: the matrix unit does not support {type_}",
            found="its types are FLOAT, HALF and QUARTER",
            fix=f"target.{call}({', '.join(['HALF', 'FLOAT'][: 1 + (call == 'getNumConvUnits')])})",
        )
    return type_
