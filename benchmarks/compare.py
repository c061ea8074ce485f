"""Compare the benchmark rows of two commits of poplite, run alternately, and list regressions.

    python benchmarks/compare.py OLD [NEW] [--only engine views] [--rounds 2] [--worse 1.1]

Each script runs in checkouts of both commits, each with its own cache of compiled code: the old
one, then the new one, for the given number of rounds.  The best value of each row counts; rows that
only one of the two has are listed.  The exit code is 1 if a row is worse by more than a factor of
`--worse`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

WHOLE = (
    *["compilation", "engine", "executable", "host", "ipu", "named"],
    *["ops", "pictures", "scale", "startup", "views"],
)
"""Scripts with times that need only the dependencies of poplite and of its tests."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best value of a row over all rounds."""

    value: float
    unit: str
    sense: str
    target: float

    def or_better(self, other: Best) -> Best:
        """Return the better one of two."""
        return min(self, other, key=lambda each: each.value * (1 if self.sense == "<=" else -1))

    def times_worse(self, old: Best) -> float:
        """Return by what factor it is worse than an older one; 1 if either is 0."""
        if not old.value or not self.value:
            return 1.0
        ratio = self.value / old.value
        return ratio if self.sense == "<=" else 1 / ratio


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Create a folder with the files of a commit, and remove it afterwards."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def rows_of(tree: Path, script: str, small: bool) -> dict[str, Best]:
    """Run a script in a checkout; return the rows that it wrote, none if there is no such script.

    Rows of packages that are not installed have no samples, and are left out.
    """
    path, written = tree / "benchmarks" / f"{script}.py", tree.with_suffix(".json")
    if not path.exists():
        return {}
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "POPLITE_CACHE_DIR": str(tree.with_suffix(".cache")),
    }
    done = subprocess.run(
        [sys.executable, str(path), "--json", str(written), *(["--small"] if small else [])],
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if not written.exists():  # exit code 1 with a file means that a target was missed
        sys.exit(f"{script} of {tree.name} failed:\n{done.stderr}")
    found = json.loads(written.read_text())["rows"]
    written.unlink()
    return {
        row["name"]: Best(row["value"], row["unit"], row["sense"], row["target"])
        for row in found
        if row["ours"]
    }


def compared(script: str, old: dict[str, Best], new: dict[str, Best], worse: float) -> int:
    """Print the rows of a script, and return how many are worse."""
    count = 0
    for name in [*new, *(name for name in old if name not in new)]:
        if name not in old or name not in new:
            print(f"{script}: {name}: only of the {'new' if name in new else 'old'} commit")
            continue
        ratio = new[name].times_worse(old[name])
        verdict = "WORSE" if ratio > worse else "better" if ratio * worse < 1 else "as good"
        count += ratio > worse
        values = f"{old[name].value:.4g}, now {new[name].value:.4g} {new[name].unit}"
        print(f"{script}: {name}: {values}, target {new[name].target:g}: {verdict} ({ratio:.2f})")
    return count


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the two commits of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", help="the commit of before")
    parser.add_argument("new", nargs="?", default="HEAD", help="the commit of now (default HEAD)")
    parser.add_argument("--only", nargs="+", default=WHOLE, metavar="SCRIPT", help="without .py")
    parser.add_argument("--rounds", type=int, default=2, help="of each script (default 2)")
    parser.add_argument("--worse", type=float, default=1.1, help="times that count (default 1.1)")
    parser.add_argument("--small", action="store_true", help="tiny sizes: try it, judge nothing")
    options = parser.parse_args(argv)
    count = 0
    with (
        tempfile.TemporaryDirectory() as scratch,
        checkout(options.old, Path(scratch) / "old") as old,
        checkout(options.new, Path(scratch) / "new") as new,
    ):
        for script in options.only:
            best: dict[Path, dict[str, Best]] = {old: {}, new: {}}
            for _ in range(options.rounds):
                for tree, rows in best.items():
                    for name, row in rows_of(tree, script, options.small).items():
                        rows[name] = rows[name].or_better(row) if name in rows else row
            count += compared(script, best[old], best[new], options.worse)
    print(f"rows that are worse by more than {options.worse:g} times: {count}")
    return 1 if count and not options.small else 0


if __name__ == "__main__":
    sys.exit(main())
