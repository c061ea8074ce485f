"""`poplite ipu selftest`: does the SDK of this machine do what the simulator does?"""

from __future__ import annotations

import argparse
import sys

from poplite.tools.viz.flags import Commands, set_run


def add(commands: Commands) -> None:
    """Add the subcommand and its own subcommands."""
    parser = commands.add_parser("ipu", help="what needs Poplar's SDK: selftest")
    below: Commands = parser.add_subparsers(metavar="WHAT", required=True)
    selftest = below.add_parser(
        "selftest",
        help="compare the SDK's IPU Model and hardware with the simulator",
        description="Compile codelets and host program with the SDK, run drawn data on the IPU "
        "Model and on hardware, and print how the results compare with the simulator's, as a table "
        "to paste into an issue.",
    )
    selftest.add_argument(
        "--kind",
        choices=("model", "hardware"),
        action="append",
        help="only this one; by default both",
    )
    selftest.add_argument("--arch", help="of the hardware: ipu2 (the default) or ipu21")
    set_run(selftest, _selftest)


def _selftest(arguments: argparse.Namespace) -> int:
    import poplite
    from poplite.ipu.building import find_sdk
    from poplite.ipu.device.device import Device
    from poplite.ipu.selftest import selftest, selftest_text

    sdk = find_sdk()

    def device(kind: str) -> Device:
        arch = arguments.arch if kind == "hardware" else None
        return Device("model" if kind == "model" else "hardware", arch=arch, sdk=sdk)

    outcomes = selftest(arguments.kind or ("model", "hardware"), device)
    print(f"poplite {poplite.__version__}, Python {sys.version.split()[0]}, {sdk.version()}\n")
    print(selftest_text(outcomes))
    return 0 if all(each.is_equal for each in outcomes) else 1
