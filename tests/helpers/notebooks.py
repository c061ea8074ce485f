"""The tutorials, whose outputs are those of their cells.

python tests/helpers/notebooks.py [NAME ...]        executes them and stores their outputs
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of its cells, which run in a folder, and no other trace.

    What compiles is left out: a machine that has compiled the classes before prints nothing.
    """
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    paths = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{ROOT}{os.pathsep}{paths}"  # also where poplite is not installed
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    try:
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    finally:
        os.environ["PYTHONPATH"] = paths
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
            for output in cell.outputs:
                if "traceback" in output:  # which has the paths of this machine
                    message = f"{output.ename}: {output.evalue}"
                    output.traceback = message.splitlines()
                if "image/svg+xml" in output.get("data", {}):
                    output.data["text/plain"] = "a picture"  # not its text once more
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Return outputs without progress; what is printed comes in one piece, not by time."""
    joined: list[Any] = []
    for output in outputs:
        if _is_progress(output):
            continue
        if joined and "text" in output and "text" in joined[-1]:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _is_progress(output: Any) -> bool:
    shown: str = output.get("data", {}).get("text/plain", "")
    return output.get("name") == "stderr" or shown.startswith("poplite: compiling")


def text(notebook: Any) -> str:
    """Return a notebook as it is stored."""
    stored: str = nbformat.writes(notebook, version=4)  # type: ignore[no-untyped-call]
    return stored + "\n"


if __name__ == "__main__":
    for tutorial in TUTORIALS:
        if len(sys.argv) == 1 or tutorial.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as scratch:
                tutorial.write_text(text(executed(tutorial, Path(scratch))))
