"""Predictions in C#: the row that each must get by its text, and a few of them executed with the real SDK."""

import json
import re
from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError
from groundup.domain.tasks import Task
from groundup.registries.names import Snapshot
from groundup.suites.dibench.answers import original, submitted
from groundup.suites.dibench.dataset import InstanceProblem, Read, read_dataset
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.suites.dibench.execution_files import executed_files
from groundup.suites.dibench.metrics import DependencyCounts
from groundup.suites.dibench.missed import text_score
from groundup.suites.dibench.published import Reader, official_comparison
from groundup.suites.dibench.registry_check import Existence
from tests.grading.ci import bench
from tests.shared import once
from tests.suites.dibench.csharp_cases import (
    ABSENT,
    JSON,
    KNOWN,
    REPOSITORIES,
    ROWS,
    SHOP,
    project,
    write_submission,
)
from tests.suites.dibench.executed import write_tiny
from tests.suites.dibench.made import write_tree


@pytest.fixture
def problems(tmp_path: Path) -> dict[str, InstanceProblem]:
    """The repositories as instances."""
    data = read_dataset(write_tiny(tmp_path / "data", REPOSITORIES))
    return {problem.id: problem for problem in data.problems}


@pytest.fixture
def names(tmp_path: Path) -> Snapshot:
    """What a registry says of the names in question."""
    rows = [{"name": name, "exists": True, "versions": versions} for name, versions in KNOWN.items()]
    rows += [{"name": name, "exists": False, "versions": []} for name in ABSENT]
    when = {"ecosystem": "nuget", "fetched_at": "2026-01-01T00:00:00Z"}
    (tmp_path / "names.jsonl").write_text("".join(json.dumps(row | when) + "\n" for row in rows))
    return Snapshot(tmp_path / "names.jsonl")


def _reading(read: Read) -> Reader:
    return lambda path: read(path) or b""


def _told(counts: DependencyCounts) -> str:
    found = (counts.name_only, counts.exact)
    return " ".join(f"{one.true_positives} {one.false_positives} {one.false_negatives}" for one in found)


@pytest.mark.parametrize("name", ROWS)
async def test_each_prediction_gets_its_row(
    problems: dict[str, InstanceProblem], names: Snapshot, tmp_path: Path, name: str
) -> None:
    """Right, too many and missing, by name and exactly, by both rulers, and what does not exist."""
    row = ROWS[name]
    problem = problems[row.repository]
    edited = submitted(problem, write_submission(tmp_path / "submission", row))
    score = await text_score(problem, edited, names)
    assert _told(score.counts.total) == f"{row.names} {row.exact}"
    assert score.existence is not None
    absent = {kind.value: count for kind, count in score.existence.items() if kind is not Existence.FOUND}
    assert absent == ({row.absent: 1} if row.absent else {})
    files = problem.instance.build_files
    published = official_comparison("csharp", files, _reading(original(problem)), _reading(edited.read))
    assert published is not None
    assert _told(published) == (row.official or f"{row.names} {row.exact}")


BESIDE = (
    '  <Target Name="Own" BeforeTargets="Build"><Exec Command="exit 9" /></Target>\n',
    '  <Import Project="../../own.targets" />\n',
    '  <Sdk Name="Own.Sdk" Version="1.0.0" />\n',
    '  <UsingTask TaskName="Own" AssemblyFile="own.dll" />\n',
    "  <PropertyGroup><RestoreSources>https://feed.example</RestoreSources></PropertyGroup>\n",
    '  <ItemGroup><Analyzer Include="own.dll" /></ItemGroup>\n',
)


@pytest.mark.parametrize("text", [project(JSON, more=more) for more in BESIDE])
def test_of_a_project_only_declarations_are_executed(
    problems: dict[str, InstanceProblem], tmp_path: Path, text: str
) -> None:
    """Targets, imports, SDKs, tasks, properties and analyzers of a prediction never reach the build."""
    folder = write_tree(tmp_path / "submission", {SHOP: text})
    found = executed_files(problems["plain"], submitted(problems["plain"], folder))
    assert found.contents[SHOP] == project(JSON).encode()
    assert found.taken_back == (SHOP,)


@pytest.mark.parametrize(
    "text",
    [
        project(("Newtonsoft.Json", "$([System.IO.File]::ReadAllText('x'))")),
        project(JSON).replace("<ItemGroup>", "<ItemGroup Condition=\"$([System.IO.File]::Exists('x'))\">"),
        project(JSON).replace("/>", 'GeneratePathProperty="@(Compile)" />'),
    ],
)
def test_functions_of_msbuild_are_refused(problems: dict[str, InstanceProblem], tmp_path: Path, text: str) -> None:
    """A value, condition or detail that MSBuild would compute is never executed."""
    folder = write_tree(tmp_path / "submission", {SHOP: text})
    with pytest.raises(SubmissionError, match="only literal values are executed"):
        executed_files(problems["plain"], submitted(problems["plain"], folder))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that keeps what registries gave for all tests."""
    return once(tmp_path_factory, "nuget", Path.mkdir)


@pytest.mark.end_to_end
@pytest.mark.needs("dotnet", "NuGet")
@pytest.mark.parametrize("name", ["other-case", "one-missing", "managed-inline", "no-adapter"])
async def test_the_real_sdk_says_the_same(
    problems: dict[str, InstanceProblem], names: Snapshot, tmp_path: Path, cache: Path, name: str
) -> None:
    """A job passes where all is declared, and fails with the true cause. The other rows: a benchmark."""
    row = ROWS[name]
    task = Task(id=row.repository, suite="dibench", instruction=None)
    grader = ExecutionGrader(problems, "none", 600.0, names)
    async with bench.context(tmp_path, cache=cache) as context:
        found = (await grader.grade(task, write_submission(tmp_path / "submission", row), context)).verdict
    assert found.score is not None
    assert found.score.value == float(row.passes), found.reasons
    assert row.passes or re.search(row.said, found.reasons[0].message), found.reasons
