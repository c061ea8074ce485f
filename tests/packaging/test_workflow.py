"""The public workflow is valid, and runs `.ci/run` with every Python that poplite supports."""

from __future__ import annotations

import os
import re
import tomllib
from importlib.metadata import metadata
from typing import Any

import pytest

from helpers.source_tree import ROOT

yaml: Any = pytest.importorskip("yaml", reason="myst-nb of the extra docs brings it")


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    path = ROOT / ".github" / "workflows" / "checks.yml"
    if not path.exists():
        pytest.skip("an sdist has no workflow")
    found: dict[Any, Any] = yaml.safe_load(path.read_text())
    return found


def test_all_checks_run_with_each_python_that_numba_supports(workflow: dict[Any, Any]) -> None:
    job = workflow["jobs"]["all"]
    assert {"run": ".ci/run"} in job["steps"]
    versions = job["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f">={versions[0]}" == project["requires-python"]
    minors = [int(each.removeprefix("3.")) for each in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))
    classifiers = metadata("numba").get_all("Classifier") or []
    known = re.findall(r"Python :: 3\.(\d+)$", "\n".join(classifiers), re.MULTILINE)
    assert {int(each) for each in known if int(each) >= minors[0]} <= set(minors)


def test_the_site_is_kept(workflow: dict[Any, Any]) -> None:
    steps = workflow["jobs"]["site"]["steps"]
    assert {"run": "python -m sphinx -W docs site"} in steps
    kept = steps[-1]
    assert kept["uses"].startswith("actions/upload-artifact@")
    assert kept["with"]["path"] == "site"


def test_each_job_has_a_limit_of_time_and_named_actions(workflow: dict[Any, Any]) -> None:
    assert True in workflow or "on" in workflow  # YAML 1.1 reads `on` as true
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_what_runs_exists() -> None:
    run = ROOT / ".ci" / "run"
    if run.exists():
        assert os.access(run, os.X_OK)
