"""What is executed of dishonest build files: nothing but what they declare."""

from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError
from groundup.suites.dibench.answers import submitted
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.execution_files import executed_files
from tests.cheats.ci import CI, INSTANCES, MARK
from tests.cheats.ci_trials import problems, write_submission


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> dict[str, InstanceProblem]:
    """The tiny instances, written once."""
    return problems(tmp_path_factory.mktemp("cheats") / "data")


@pytest.mark.parametrize("name", [one.name for one in CI])
def test_no_code_of_a_build_file_is_executed(
    tmp_path: Path, instances: dict[str, InstanceProblem], name: str
) -> None:
    """No code of a file is among the bytes that a job gets, and what cannot be read is refused as the submission's."""
    cheat = next(one for one in CI if one.name == name)
    problem = instances[cheat.base]
    edited = submitted(problem, write_submission(tmp_path / "submission", cheat.files))
    try:
        executed = executed_files(problem, edited)
    except SubmissionError:
        return  # refused, which costs the submission its point and nobody else's

    carried = [path for path, content in executed.contents.items() if content and MARK.encode() in content]
    assert not carried, executed
    assert set(executed.contents) <= set(INSTANCES[cheat.base].original)
