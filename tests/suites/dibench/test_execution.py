"""DI-Bench in execution: tiny instances of every language through the command line, with real sandboxes."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.tasks import Task
from groundup.environments.requests import PythonRequest
from groundup.settings import Settings
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.suites.dibench.execution_validity import read_validity
from groundup.suites.pulling import take_folder
from tests.grading.ci import bench
from tests.suites.dibench.conftest import Ended, Groundup
from tests.suites.dibench.executed import JAVASCRIPT, PYTHON, TINY, write_tiny
from tests.suites.dibench.made import write_tree

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux"),
]


EXECUTABLE = [
    "tiny-python",
    "tiny-matrix",
    pytest.param("tiny-javascript", marks=pytest.mark.needs("npm")),
    pytest.param("tiny-rust", marks=pytest.mark.needs("cargo")),
]


@pytest.fixture
def executing(groundup: Groundup, layers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groundup:
    """Run `groundup` with the tiny executable instances pulled, and real sandboxes."""
    monkeypatch.setenv("GROUNDUP_SANDBOX", "bubblewrap")
    monkeypatch.setenv("GROUNDUP_BUILDER", "local")
    (tmp_path / "cache/layers").symlink_to(layers)
    shutil.rmtree(tmp_path / "cache/data/dibench")  # `groundup` pulled other data, which nothing replaces
    take_folder("dibench", write_tiny(tmp_path / "tiny"), Settings(cache_dir=tmp_path / "cache"), unpack=True)
    return groundup


def verdict(ended: Ended, tmp_path: Path) -> Any:
    """Return the only verdict of a run."""
    run = tmp_path / "runs" / ended.document["runs"][0]["run_id"]
    (line,) = (run / "verdicts.jsonl").read_text().splitlines()
    assert len(line) < 2048
    return json.loads(line)["verdict"]


@pytest.mark.parametrize("task", EXECUTABLE)
def test_originals_pass_and_masked_ones_fail(executing: Groundup, tmp_path: Path, task: str) -> None:
    """In every language and layout the job passes with the published patch and fails without, which is kept."""
    ended = executing("curate", "validate", "dibench", "--tasks", task, "-k", "1", "--json")
    assert ended.code == 0
    assert ended.document["counts"] == {"valid": 1}, ended.document
    (found,) = read_validity(tmp_path / "cache" / "data" / "dibench-validity.jsonl").values()
    assert [(one.subject, one.passed) for one in found.tries] == [("oracle", True), ("nop", False)]
    assert found.tries[1].failure == "missing dependency in test"


@pytest.mark.parametrize("first", ["pass", "import time; time.sleep(3)", "sum(range(60_000_000))"])
def test_an_original_that_fails_is_told_so_rather_than_that_the_machine_was_busy(
    executing: Groundup, tmp_path: Path, first: str
) -> None:
    """Whether the test waits or computes: the time in which act waits for a step is nobody's starvation."""
    tests = f"import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        {first}\n"
    files = {**PYTHON.masked, "tests/test_app.py": f"{tests}        self.assertEqual(1, 2)\n"}
    data = write_tiny(tmp_path / "failing", {"tiny-python": PYTHON._replace(masked=files)})
    shutil.rmtree(tmp_path / "cache/data/dibench")
    take_folder("dibench", data, Settings(cache_dir=tmp_path / "cache"), unpack=True)
    ended = executing("curate", "validate", "dibench", "--tasks", "tiny-python", "-k", "1", "--json")
    (found,) = ended.document["tasks"]
    assert (found["standing"], "the original fails" in found["why"]) == ("invalid", True), found
    assert "1 != 2" in found["why"]
    ended = executing("run", "dibench", "-a", "oracle", "--grader", "execution", "--json")
    assert (ended.code, verdict(ended, tmp_path)["score"]["value"]) == (0, 0)


def test_what_is_known_is_not_tried_again(executing: Groundup) -> None:
    """A valid instance is a member of the group `valid`, and found again only when asked for."""
    arguments = ("curate", "validate", "dibench", "--tasks", "tiny-python", "-k", "1", "--json")
    assert executing("run", "dibench", "-a", "oracle", "--grader", "execution", "--tasks", "valid").code == 2
    assert not executing(*arguments).document["tasks"][0]["known"]
    assert executing(*arguments).document["tasks"][0]["known"]
    ended = executing("run", "dibench", "-a", "oracle", "--grader", "execution", "--tasks", "valid", "--json")
    assert [row["task"] for row in ended.document["runs"][0]["attempts"]] == ["tiny-python"]


def test_a_verdict_holds_its_evidence(executing: Groundup, tmp_path: Path) -> None:
    """A failed job has 0, its kind with the line that says so, F1 beside it, and its logs."""
    ended = executing("run", "dibench", "-a", "nop", "--grader", "execution", "--tasks", "tiny-matrix", "--json")
    assert ended.code == 0
    found = verdict(ended, tmp_path)
    assert (found["score"]["numerator"], found["score"]["denominator"]) == (0, 1)
    assert found["facts"]["failure"] == "missing dependency in test"
    assert "No module named 'shapes'" in found["reasons"][0]["message"]
    assert found["facts"]["leg"] == "python: 3.11, order: second"
    assert found["scores"]["F1"]["value"] == 0
    logs = tmp_path / "runs" / ended.document["runs"][0]["run_id"] / "attempts/tiny-matrix/0/logs"
    assert {path.name for path in logs.iterdir()} == {"ci.jsonl", "ci.txt", "ci.json"}
    table = ended.document["runs"][0]["summaries"][0]
    assert table["headline"] == "Executability"
    assert table["scores"]["all"]["executability"]["denominator"] == 1


@pytest.mark.parametrize(
    ("agent", "cutoff", "cached"), [("nop", "2025-01-01", 1), ("oracle", "2025-01-01", 1), ("nop", "none", 0)]
)
def test_a_job_that_would_end_so_again_is_not_run_again(
    executing: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, cutoff: str, cached: int
) -> None:
    """Passed or failed: where registries give what they had on a day of the past. Without such a day it runs."""
    monkeypatch.setenv("GROUNDUP_CI_EXCLUDE_NEWER", cutoff)
    shapes = {"ecosystem": "pypi", "name": "shapes", "exists": False, "versions": []}
    with (tmp_path / "names.jsonl").open("a") as file:
        file.write(json.dumps({**shapes, "fetched_at": "2026-01-01T00:00:00Z"}) + "\n")
    arguments = ("run", "dibench", "-a", agent, "--grader", "execution", "--tasks", "tiny-python", "--json")
    first, second = executing(*arguments), executing(*arguments)
    assert [ended.document["runs"][0]["attempts"][0]["cached"] for ended in (first, second)] == [False, cached]
    assert verdict(first, tmp_path)["score"] == verdict(second, tmp_path)["score"]


@pytest.mark.needs("Python 3.11")
async def test_what_a_job_gets_on_this_machine_is_known_before_it_runs(tmp_path: Path) -> None:
    """Another interpreter may make it end otherwise, so that a verdict holds for these versions only."""
    (problem,) = read_dataset(write_tiny(tmp_path / "tiny", {"tiny-python": PYTHON})).problems
    grader = ExecutionGrader({problem.id: problem}, "2025-01-01", timeout_s=60)
    async with bench.context(tmp_path) as tools:
        task = Task(id=problem.id, suite="dibench", instruction=None, data_version="own")
        found = await grader.layers(task, tools)
        asked = await tools.builder.python(PythonRequest(python="3.11", with_pip=True))
    assert found == {"python 3.11": f"{asked.python_version} {asked.layer.digest}"}


def test_what_the_machine_decided_is_graded_again(
    executing: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is not here may be installed tomorrow."""
    monkeypatch.setenv("GROUNDUP_CI_EXCLUDE_NEWER", "2025-01-01")
    lacking = PYTHON._replace(workflow=PYTHON.workflow.replace("run: python install.py", "run: svn --version"))
    shutil.rmtree(tmp_path / "cache/data/dibench")
    data = write_tiny(tmp_path / "lacking", {"tiny-python": lacking})
    take_folder("dibench", data, Settings(cache_dir=tmp_path / "cache"), unpack=True)
    for _ in range(2):
        ended = executing("run", "dibench", "-a", "oracle", "--grader", "execution", "--json")
        assert verdict(ended, tmp_path)["facts"]["failure"] == "program that the machine has not"
        assert not ended.document["runs"][0]["attempts"][0]["cached"]


@pytest.mark.needs("npm")
def test_a_build_file_is_no_place_for_tests(executing: Groundup, tmp_path: Path) -> None:
    """A prediction that declares nothing and turns the test script into nothing gets nothing for it."""
    cheat = JAVASCRIPT.masked["package.json"].replace("node test.js", "true")
    write_tree(tmp_path / "p/tiny-javascript", {"package.json": cheat})
    ended = executing(
        "evaluate",
        "dibench",
        "-p",
        tmp_path / "p",
        "--tasks",
        "tiny-javascript",
        "--grader",
        "execution",
        "--json",
    )
    found = verdict(ended, tmp_path)
    assert found["score"]["value"] == 0
    assert found["facts"]["taken back"] == "package.json"


def test_a_name_that_no_one_has_is_reported(executing: Groundup, tmp_path: Path) -> None:
    """An invented dependency fails the build, and the kind says that it was not found."""
    wrong = PYTHON.masked["pyproject.toml"].replace("[]", '["made-up-name"]')
    write_tree(tmp_path / "p/tiny-python", {"pyproject.toml": wrong})
    ended = executing(
        "evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "tiny-python", "--grader", "execution", "--json"
    )
    found = verdict(ended, tmp_path)
    assert found["facts"]["failure"] == "dependency not found in build"
    beside = {name: found["scores"][name]["value"] for name in ("precision", "recall", "F1", "fake rate")}
    assert beside == {"precision": 0, "recall": 0, "F1": 0, "fake rate": 1}, (
        "one attempt has the paper's whole row"
    )
    assert [one["stage"] for one in found["reasons"]] == ["install"] * 3
    assert (
        "1 that no registry has: made-up-name in pyproject.toml:4 (dependencies)" in found["reasons"][1]["message"]
    )
    assert found["reasons"][2]["message"] == "1 missing: shapes in pyproject.toml:4 (dependencies)"
    why = executing("why", ended.document["runs"][0]["run_id"], "tiny-python", "--full")
    assert 'missing: the original declares `"shapes"`' in why.out, "what was missed is told of jobs, too"
    assert "2 of 2 dependencies are missing, too many or elsewhere; 1 that no registry has" in why.err
    shown = executing("why", ended.document["runs"][0]["run_id"], "tiny-python").out
    assert "; 2 of 2 names missing, too many or elsewhere\n" in shown


@pytest.mark.needs("groundup_infer")
def test_ablations_and_inference_are_executed_alike(executing: Groundup, tmp_path: Path) -> None:
    """The static subject is graded by the same job, and so are its submissions without wrong versions."""
    ended = executing(
        "run", "dibench", "-a", "static", "--grader", "execution", "--tasks", "tiny-python", "--json"
    )
    assert ended.code == 0
    run = ended.document["runs"][0]["run_id"]
    assert executing("ablate", run, "oracle-metadata", "-o", tmp_path / "changed").code == 0
    again = executing(
        "evaluate",
        "dibench",
        "-p",
        tmp_path / "changed",
        "--tasks",
        "tiny-python",
        "--grader",
        "execution",
        "--json",
    )
    assert again.document["runs"][0]["counts"]["graded"] == 1


@pytest.mark.skipif(shutil.which("dotnet") is not None, reason="a .NET SDK is on PATH")
def test_without_a_toolchain_nothing_is_failed(executing: Groundup, tmp_path: Path) -> None:
    """Where there is no .NET SDK, C# is reported as not executed: graded with no value, in no mean."""
    ended = executing(
        "run", "dibench", "-a", "oracle", "--grader", "execution", "--tasks", "tiny-csharp", "--json"
    )
    assert ended.code == 0
    found = verdict(ended, tmp_path)
    assert found["score"]["denominator"] == 0
    assert found["reasons"][0]["message"].startswith("not executed: ")
    table = ended.document["runs"][0]["summaries"][0]["scores"]["csharp"]
    assert (table["executability"]["denominator"], table["not executed"]["numerator"]) == (0, 1)


def test_every_language_has_a_tiny_instance() -> None:
    """Instances of our own cover all languages of the benchmark."""
    assert {tiny.language for tiny in TINY.values()} == {"python", "rust", "javascript", "csharp"}
