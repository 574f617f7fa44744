"""What is executed of dishonest build files: nothing but what they declare."""

from pathlib import Path

import pytest

from groundup.suites.dibench.answers import submitted
from groundup.suites.dibench.execution_files import executed_files
from tests.cheats.ci import CI, INSTANCES, MARK
from tests.cheats.ci_trials import problems, write_submission
from tests.cheats.exceptions import EXCEPTIONS


@pytest.mark.parametrize("name", [one.name for one in CI])
def test_no_code_of_a_build_file_is_executed(tmp_path: Path, name: str) -> None:
    """Reading never fails for what a file holds, and no code of it is among the bytes that a job gets."""
    cheat = next(one for one in CI if one.name == name)
    problem = problems(tmp_path / "data")[cheat.base]
    edited = submitted(problem, write_submission(tmp_path / "submission", cheat.files))
    executed = executed_files(problem, edited)

    carried = [path for path, content in executed.contents.items() if content and MARK.encode() in content]
    assert not carried or name in EXCEPTIONS
    assert set(executed.contents) <= set(INSTANCES[cheat.base].original)
