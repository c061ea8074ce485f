"""A process that speaks the protocol of the host program, and computes nothing.

It keeps what is written to a handle and gives it back when that is read. Programs do what their
names say: "in:S" takes a block of stream S, "out:S" gives stream S the block taken last, "call:F"
calls function F, and any other ends at once. Its first argument says where streams lie, as JSON:
{"S": [begin, end]}.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys

VERBS = {"in": "fetch", "out": "sink", "call": "call"}


def main() -> None:
    with open(sys.argv[3], "r+b") as file:
        shared = mmap.mmap(file.fileno(), 0)
    places = {name: slice(*ends) for name, ends in json.loads(sys.argv[1]).items()}
    block = b""
    kept: dict[str, bytes] = {}
    commands, replies = os.fdopen(3), os.fdopen(4, "w")

    def say(line: str, text: str = "") -> None:
        replies.write(f"{line}\n{text}")
        replies.flush()

    print("a library says hello on standard output", flush=True)
    for line in commands:
        verb, _, name = line.rstrip("\n").partition(" ")
        if verb == "start":
            say("ready 0.25 1.5")
        elif verb == "reset":
            say("ok")
        elif verb == "write":
            kept[name] = shared[:]
            say("ok")
        elif verb == "read":
            shared[:] = kept.get(name, bytes(len(shared)))
            say("ok")
        elif name == "die":
            print("the last words", file=sys.stderr, flush=True)
            os._exit(7)
        elif name == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "babble":
            say("what?")
        elif name.startswith("raise:"):
            text = "first line\nok 1 2\nlast"
            say(f"error {name.removeprefix('raise:')} {len(text)}", text)
        else:
            steps = name.split() if ":" in name else []
            for step in steps:
                kind, _, stream = step.partition(":")
                if kind == "out" and block:
                    shared[places[stream]] = block
                say(f"{VERBS[kind]} {stream}")
                if commands.readline() == "stop\n":
                    say("error Stopped 0")
                    break
                if kind == "in" and stream in places:
                    block = shared[places[stream]]
            else:
                say("ok 81250 0.5")


if __name__ == "__main__":
    main()
