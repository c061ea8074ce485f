"""The public class: an IPU, or the SDK's model of one, for `Engine(..., device=)`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from poplite.compile.options import EngineOptions
from poplite.errors import Absent, InvalidOption
from poplite.ipu.building.sdk import Sdk, Toolchain, find_sdk
from poplite.ipu.device.loaded import OnDevice
from poplite.machine.device import Device as PoplarDevice
from poplite.machine.target import Target
from poplite.simulator.device import Setup
from poplite.simulator.engine_arguments import Source
from poplite.text import clipped

Kind = Literal["hardware", "model"]

ARCHITECTURES = {"hardware": "ipu2", "model": "cpu"}
"""What codelets are compiled for: the IPU Model runs them on the host."""


class Device(PoplarDevice):
    """An IPU that engines run on, where Poplar's SDK is installed.

    Each engine has a process of its own, which drives the device; it ends with the engine. What a
    device cannot do is refused when the engine is made. It was never tried on hardware by the
    authors, see docs/ipu.md.

    Args:
        kind: "hardware" for the first free IPU, "model" for the IPU Model of the SDK.
        arch: what codelets are compiled for, as Poplar's compiler names it: "ipu2" (the default),
            "ipu21", or several with commas between.
        sdk: the folder of the SDK; by default that which POPLAR_SDK_ENABLED names, or whose
            `popc` is on PATH.

    Raises:
        DeviceRuntimeError: where there is no SDK.
        InvalidOption: for another `kind`.

    >>> import poplite as pl
    >>> pl.ipu.Device(sdk="/nowhere")
    Traceback (most recent call last):
    ...
    poplite.errors.DeviceRuntimeError: there is no Poplar SDK in '/nowhere'...
    """

    def __init__(
        self,
        kind: Kind = "hardware",
        *,
        arch: str | None = None,
        sdk: str | os.PathLike[str] | Toolchain | None = None,
    ) -> None:
        if not isinstance(kind, str) or kind not in get_args(Kind):
            raise InvalidOption(
                f"Device: kind={clipped(kind)}, but it is 'hardware' or 'model'",
                fix="leave kind out for hardware",
            )
        self.kind, self.arch = kind, arch or ARCHITECTURES[kind]
        is_bow = kind == "hardware" and self.arch == "ipu21"
        super().__init__(Target(architecture="bow" if is_bow else "gc200"))
        if isinstance(sdk, str | os.PathLike):
            self._toolchain: Toolchain = Sdk.at(Path(sdk))
        else:
            self._toolchain = find_sdk() if sdk is None else sdk

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device, or refuse those that it cannot have."""
        refused = {
            "checks='strict'": asked.checks == "strict",
            "interpret": bool(asked.interpret),
            "debug.nanOverflowMode=false": asked.nan_overflow is False,
        }
        for what, is_asked in refused.items():
            if is_asked:
                raise InvalidOption(
                    f"Engine: an IPU has no {what}",
                    found="it runs C++ that was compiled for it, and knows not what was written",
                    fix="leave that out, or run the program on the simulator first",
                )
        return replace(asked, checks=asked.checks or "none")

    def load(self, source: Source, setup: Setup) -> OnDevice:
        """Make programs ready to run."""
        return OnDevice(source, setup, self._toolchain, self.kind, self.arch)

    createVirtualDevice = Absent(
        "the first tiles of a device are those of a graph with fewer", "pl.Target(tiles=16)"
    )

    def __repr__(self) -> str:
        return f"<Device {self.kind}, {self.arch}>"
