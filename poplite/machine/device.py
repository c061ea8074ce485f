"""Devices onto which programs are loaded, as in Poplar. Here each is a machine to simulate.

    device = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 2)[0]
    device = IPUModel("ipu2").createDevice()
    graph = Graph(device.getTarget())
    engine = Engine(graph, program)
    engine.load(device)

New programs need no device: `Graph(Target(tiles=64))` defines the machine.
Source of names and arguments: Poplar API reference, "Device", "DeviceManager" and "IPUModel".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

from poplite.errors import (
    Absent,
    Enumeration,
    InvalidMachineModel,
    ListsPresent,
    UnknownName,
    checked_member,
    checked_truth,
)
from poplite.machine.option_flags import checked_options
from poplite.machine.poplar_queries import TargetType, check_system
from poplite.machine.target import Target
from poplite.poplar.spelling import cpp_spelling
from poplite.text import amount, clipped, integer_or_none, of_type

DEVICE_IPUS = (1, 2, 4, 8, 16, 32, 64)
"""Number of IPUs of each device of a `DeviceManager`, by device number."""


@cpp_spelling()
class Device(metaclass=ListsPresent):
    """A machine onto which programs are loaded.

    Args:
        target: the machine.
        id: its number.

    Raises:
        InvalidMachineModel: for anything but a target and a non-negative whole number.

    >>> Device(Target(tiles=64), 3)
    <Device 3, 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
    """

    def __init__(self, target: Target | None = None, id: int = 0) -> None:
        if not isinstance(target, Target):
            raise InvalidMachineModel(
                f"Device: {clipped(target)} is not a target",
                found=of_type(target),
                fix="pl.Device(pl.Target(tiles=64))",
            )
        number = integer_or_none(id)
        if number is None or number < 0:
            raise InvalidMachineModel(
                f"Device: {clipped(id)} is not a device number",
                found=of_type(id),
                fix="pl.Device(target, 0)",
            )
        self._target, self._id, self._attached = target, number, False

    def getId(self) -> int:
        """Return the number of the device."""
        return self._id

    def getTarget(self) -> Target:
        """Return the machine."""
        return self._target

    def attach(self) -> bool:
        """Attach to the device, which is always free; return True."""
        self._attached = True
        return True

    def isAttached(self) -> bool:
        """Return whether the device is attached."""
        return self._attached

    def detach(self) -> None:
        """Release the device."""
        self._attached = False

    def supportsRemoteBuffers(self) -> bool:
        """Return True."""
        return True

    def hasGateway(self) -> bool:
        """Return False."""
        return False

    def getAttributes(self) -> dict[str, str]:
        """Return an empty dictionary in place of the driver's attributes of the device."""
        return {}

    def getDriverIDs(self) -> list[int]:
        """Return the numbers of its IPUs."""
        return list(range(self._target.ipus))

    def createVirtualDevice(self, tiles_per_ipu: int) -> Device:
        """Return a device with fewer tiles on each IPU.

        Args:
            tiles_per_ipu: number of tiles on each IPU.

        Raises:
            InvalidMachineModel: for more tiles than the IPU has, or fewer than one.

        >>> Device(Target(tiles=64)).createVirtualDevice(16).getTarget().tiles
        16
        """
        tiles = integer_or_none(tiles_per_ipu)
        if tiles is None or not 0 < tiles <= self._target.tiles_per_ipu:
            raise InvalidMachineModel(
                f"createVirtualDevice: {clipped(tiles_per_ipu)} tiles on each IPU, but the machine "
                f"has {self._target.tiles_per_ipu:,}",
                fix=f"device.createVirtualDevice({self._target.tiles_per_ipu})",
            )
        return Device(self._target.createVirtualTarget(self._target.ipus, tiles), self._id)

    @staticmethod
    def createCPUDevice(num_ipus: int = 1) -> Device:
        """Return a device with one tile per IPU, one worker per tile, and memory for any program.

        Args:
            num_ipus: number of IPUs, each with one tile.

        Raises:
            InvalidMachineModel: for an invalid number of IPUs.

        >>> Device.createCPUDevice(2).getTarget().tiles
        2
        """
        return _own_device(Target.createCPUTarget(num_ipus=num_ipus))

    @staticmethod
    def createSimulatorDevice(target: Target, options: Mapping[str, str] | None = None) -> Device:
        """Return a device that simulates a machine.

        Args:
            target: the machine.
            options: as in Poplar; none has an effect.

        Raises:
            InvalidMachineModel: for anything but a target.
            InvalidOption: for options that are not a dictionary.

        >>> Device.createSimulatorDevice(Target(tiles=8)).getTarget().tiles
        8
        """
        checked_options(options, "createSimulatorDevice")
        return _own_device(target)

    def __repr__(self) -> str:
        return f"<Device {self._id}, {repr(self._target)[len('<Target ') : -1]}>"


class DeviceManager:
    """A list of devices: machines with 1, 2, 4, ... 64 Mk2 IPUs, and others once requested.

    A number always refers to the same device, which remembers whether it is attached.

    >>> manager = DeviceManager.createDeviceManager()
    >>> manager.getDevices(TargetType.IPU, 2)
    [<Device 1, 2,944 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>]
    """

    def __init__(self) -> None:
        self._devices = [Device(Target(ipus=n), id) for id, n in enumerate(DEVICE_IPUS)]

    @staticmethod
    def createDeviceManager() -> DeviceManager:
        """Return a manager."""
        return DeviceManager()

    def getNumDevices(self) -> int:
        """Return the number of devices."""
        return len(self._devices)

    def getDevices(
        self,
        type: TargetType | str | None = None,
        num_ipus: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> list[Device]:
        """Return all devices, or those with a type or a number of IPUs.

        A machine with any number of IPUs can be simulated, so a requested device always exists;
        TargetType.CPU is a device with one tile per IPU, and IPU_MODEL is the same as IPU.

        Args:
            type: the type; by default any.
            num_ipus: the number of IPUs; by default any.
            options: as in Poplar; none has an effect.

        Raises:
            InvalidMachineModel: for an invalid type or number of IPUs.
            InvalidOption: for options that are not a dictionary.

        >>> [device.getId() for device in DeviceManager().getDevices(TargetType.IPU, 3)]
        [7]
        """
        checked_options(options, "getDevices")
        if type is not None:
            type = checked_member(type, TargetType, "getDevices", error=InvalidMachineModel)
        asked = TargetType.CPU if type is TargetType.CPU else TargetType.IPU
        if type is None and num_ipus is None:
            return list(self._devices)
        if num_ipus is not None or type is TargetType.CPU:
            number = 1 if num_ipus is None else num_ipus
            is_cpu = asked is TargetType.CPU
            target = Target.createCPUTarget(num_ipus=number) if is_cpu else Target(ipus=number)
            if target not in [each.getTarget() for each in self._devices]:
                self._devices.append(Device(target, len(self._devices)))
        return [
            each
            for each in self._devices
            if each.getTarget().getTargetType() is asked
            and num_ipus in (None, each.getTarget().ipus)
        ]

    def getDevice(self, id: int, options: Mapping[str, str] | None = None) -> Device:
        """Return a device by its number.

        Args:
            id: its number.
            options: as in Poplar; none has an effect.

        Raises:
            UnknownName: when there is no such device.
            InvalidOption: for options that are not a dictionary.

        >>> DeviceManager().getDevice(1).getTarget().ipus
        2
        """
        number = integer_or_none(id)
        checked_options(options, "getDevice")
        if number is None or not 0 <= number < len(self._devices):
            raise UnknownName(
                f"there is no device {clipped(id)}",
                found=f"devices are 0 to {len(self._devices) - 1}, with "
                f"{', '.join(str(each.getTarget().ipus) for each in self._devices)} IPUs",
                fix="DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 2)",
            )
        return self._devices[number]

    def getChildDeviceIds(self, parent_id: int, num_child_ipus: int = 1) -> list[int]:
        """Return the numbers of the devices with `num_child_ipus` IPUs that are part of a device.

        Args:
            parent_id: the number of that device.
            num_child_ipus: the number of IPUs of its parts.

        Raises:
            UnknownName: when there is no such device.
            InvalidMachineModel: for an invalid number of IPUs.

        >>> DeviceManager().getChildDeviceIds(2, 1)
        [0]
        """
        parent, number = self.getDevice(parent_id), integer_or_none(num_child_ipus)
        if number is None or number < 1:
            raise InvalidMachineModel(
                f"getChildDeviceIds: {clipped(num_child_ipus)} is not a valid number of IPUs",
                found=of_type(num_child_ipus),
                fix=f"getChildDeviceIds({parent_id}, 1)",
            )
        return [
            each.getId()
            for each in self._devices
            if each.getTarget().ipus == number <= parent.getTarget().ipus
        ]


class RelativeSyncDelayType(Enumeration):
    """The delay between tiles when they leave a sync."""

    AUTO = "auto"
    """The delay is chosen for the program."""
    NO_DELAY = "no delay"
    """All tiles leave at the same time."""


_COSTS = {
    "memcpyBytesPerCycle": "memcpy_bytes_per_cycle",
    "minIPUSyncDelay": "sync_cycles",
    "globalSyncCycles": "global_sync_cycles",
    "numStrideBits": "stride_bits",
    "rptCountMax": "repeat_limit",
    "atomicStoreGranularity": "atomic_store_bytes",
    "instructionBytes": "instruction_bytes",
    "convUnitCoeffLoadBytesPerCycle": "weight_load_bytes_per_cycle",
    "tilesPerSuperTile": "pair_tiles",
}
"""Numbers of a model that set costs of a target."""


@cpp_spelling()
@dataclass(init=False)
class IPUModel(metaclass=ListsPresent):
    """The numbers of a machine, which can be changed before a device is created from them.

    They are initialised from the version. Constants of the cost model without a name here are
    set by `Target(costs=...)`.

    Args:
        version: "ipu1", "ipu2" or "ipu21".

    >>> model = IPUModel("ipu2")
    >>> model.tilesPerIPU, model.minIPUSyncDelay = 16, 0
    >>> model.createDevice().getTarget()
    <Target 16 tiles, 6 workers, 638,976 B a tile, 1.330 GHz, 1 own cost>
    """

    IPUVersion: str
    numIPUs: int
    tilesPerIPU: int
    numWorkerContexts: int
    memoryBytesPerTile: int
    tileClockFrequency: float
    exchangeBytesPerCycle: int
    dataPathWidth: int
    memcpyBytesPerCycle: float
    minIPUSyncDelay: float
    globalSyncCycles: float
    numStrideBits: float
    rptCountMax: float
    atomicStoreGranularity: float
    instructionBytes: float
    convUnitCoeffLoadBytesPerCycle: float
    tilesPerSuperTile: float
    relativeSyncDelay: RelativeSyncDelayType = RelativeSyncDelayType.AUTO
    compileIPUCode: bool = False
    """Whether machine code is compiled, too; it has no effect, since code sizes are estimated."""
    _version: str = field(repr=False, default="")
    RelativeSyncDelayType = RelativeSyncDelayType

    def __init__(self, version: str = "ipu2") -> None:
        if not isinstance(version, str):
            raise InvalidMachineModel(
                f"IPUModel: version {clipped(version)} is not a string",
                found=of_type(version),
                fix='IPUModel("ipu2")',
            )
        check_system(version, "IPUModel: version", 'IPUModel("ipu2")')
        machine = Target.createIPUTarget(1, version)
        self.IPUVersion = self._version = version
        self.numIPUs, self.tilesPerIPU = 1, machine.tiles
        self.numWorkerContexts = machine.workers
        self.memoryBytesPerTile = machine.tile_memory_bytes
        self.tileClockFrequency = machine.clock_hz
        self.exchangeBytesPerCycle = machine.exchange_bytes_per_cycle
        self.dataPathWidth = machine.data_path_bits
        for name, cost in _COSTS.items():
            setattr(self, name, machine.cost(cost))

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(vars(IPUModel).get(name), Absent):
            getattr(self, name)  # raises AbsentMember
        known = {each.name for each in fields(self)}
        if name not in known:
            raise InvalidMachineModel(
                f"IPUModel: there is no number {clipped(name)}",
                found=f"there are {', '.join(sorted(known - {'_version'}))}",
                fix="set other constants with Target(costs={'sync_cycles': 90})",
            )
        if name == "relativeSyncDelay":
            value = checked_member(
                value, RelativeSyncDelayType, f"IPUModel: {name}", error=InvalidMachineModel
            )
        wanted = _wanted(name, value)
        if wanted:
            raise InvalidMachineModel(
                f"IPUModel: {name} is {clipped(value)}, not {wanted}",
                found=of_type(value),
                fix=f"pass a value like the default, {clipped(getattr(self, name, None))}",
            )
        object.__setattr__(self, name, value)

    def createDevice(
        self,
        options: Mapping[str, str] | None = None,
        accurate_half: bool = False,
        device_manager_id: int = 0,
    ) -> Device:
        """Return a device of this machine.

        Args:
            options: as in Poplar; none has an effect.
            accurate_half: as in Poplar; HALF is always rounded on each store.
            device_manager_id: the number of the device.

        Raises:
            InvalidMachineModel: for numbers that no machine or device can have, and if the version
                was changed.
            InvalidOption: for options that are not a dictionary.
            ElementTypeError: for an `accurate_half` that is not True or False.

        >>> IPUModel("ipu1").createDevice({}, True, 3).getId()
        3
        """
        checked_options(options, "createDevice")
        checked_truth(accurate_half, "createDevice: accurate_half")
        if self.IPUVersion != self._version:
            raise InvalidMachineModel(
                f"IPUModel: version {clipped(self.IPUVersion)}, but it was created with "
                f"{clipped(self._version)}",
                fix=f"IPUModel({self.IPUVersion!r})",
            )
        return _own_device(self._target(), device_manager_id)

    def _target(self) -> Target:
        plain = Target.createIPUTarget(1, self._version)
        costs = {cost: getattr(self, name) for name, cost in _COSTS.items()}
        costs["data_path_bytes"] = self.dataPathWidth / 8
        if self.relativeSyncDelay is RelativeSyncDelayType.NO_DELAY:
            costs["sync_stagger_cycles"] = 0
        return Target(
            self.numIPUs * self.tilesPerIPU,
            self.numWorkerContexts,
            self.memoryBytesPerTile,
            self.tileClockFrequency,
            self.exchangeBytesPerCycle,
            self.numIPUs,
            plain.architecture,
            {name: value for name, value in costs.items() if value != plain.cost(name)},
        )


_COUNTS = (
    *("numIPUs", "tilesPerIPU", "numWorkerContexts", "memoryBytesPerTile"),
    *("exchangeBytesPerCycle", "dataPathWidth"),
)
"""Numbers of a model that are integers from 1."""


def _wanted(name: str, value: object) -> str:
    """Describe the valid values for a number of a model; "" if the value is valid."""
    if name in _COUNTS:
        step, number = 8 if name == "dataPathWidth" else 1, integer_or_none(value)
        if number is None or number < 1 or number % step:
            return "a positive whole number" if step == 1 else f"a multiple of {step} from {step}"
    if name in _COSTS or name == "tileClockFrequency":
        low = 0.0 if name in _COSTS else 1.0
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not low <= float(value) < math.inf:  # type: ignore[arg-type]
            return f"a finite number of at least {low:g}"
    if name == "compileIPUCode" and not isinstance(value, bool):
        return "True or False"
    return ""


def _own_device(target: Target, id: int = 0) -> Device:
    """Return a device that belongs to its creator, and is attached already."""
    device = Device(target, id)
    device.attach()
    return device


def attached(device: Device, call: str) -> Device:
    """Return a device if it is attached; otherwise raise InvalidMachineModel."""
    if not device.isAttached():
        raise InvalidMachineModel(
            f"{call}: {device!r} is not attached",
            found=f"it has {amount(device.getTarget().ipus, 'IPU')}",
            fix="call device.attach() first",
        )
    return device
