"""`poplite-viz trace`: what ran in which order, for Perfetto."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import (
    Commands,
    add_picture,
    add_program,
    build_flags,
    command,
    count,
    set_run,
)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "trace",
        help="what ran in which order, for Perfetto",
        description="Run a program and write what its steps, phases and some tiles did in time, "
        "for https://ui.perfetto.dev.",
    )
    add_picture(parser, formats=("json",))
    add_program(parser)
    parser.add_argument(
        "--tiles",
        metavar="N,...",
        type=_tiles,
        help="tiles with tracks of their own (default: the busiest, the least busy, one between)",
    )
    parser.add_argument(
        "--limit", metavar="N", type=count, default=10_000, help="steps that are recorded"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.errors import FileLoadError
    from poplite.simulator.engine import Engine
    from poplite.tools.viz.load_target import load_target
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    graph, program = load_target(arguments.target, arguments.given, arguments.program)
    if program is None:
        raise FileLoadError(
            f"{arguments.target!r} returned a Graph without a program",
            found=f"it returned {graph!r}",
            fix="def build() -> tuple[Graph, Program]: ... return graph, program",
        )
    engine = Engine(graph, program)
    with engine.tracing(arguments.limit) as trace:
        engine.run()
    out.write(trace.to_json(arguments.tiles))
    if not trace.is_complete and not out.quiet:
        import sys

        more = command("trace", arguments.target, *build_flags(arguments), "--limit", "N")
        print(f"the first {arguments.limit:,} steps; for more: {more}", file=sys.stderr)
    return 0


def _tiles(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} are not numbers of tiles, as in 0,7")
    return [int(part) for part in parts]
