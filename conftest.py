"""What pytest loads before anything else, for the examples of poplite as for the tests.

For its examples pytest would load each module by itself, and set it as an attribute of its package:
`ops.convolution` would be the package of that name instead of the operation, and functions that are
sent to other processes by name would not be those of the module.  So Python loads modules first.
"""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent

collect_ignore = ["poplite/poplar/spellings.py"]  # for type checkers only: it is never loaded


@pytest.hookimpl(tryfirst=True)
def pytest_collect_file(file_path: Path) -> None:
    """Import a module of poplite before pytest looks for examples in it."""
    if file_path.suffix == ".py" and ROOT / "poplite" in file_path.parents:
        *folders, name = file_path.relative_to(ROOT).with_suffix("").parts
        if name != "__main__":  # it runs
            import_module(".".join(folders if name == "__init__" else [*folders, name]))
