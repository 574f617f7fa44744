"""Reports and comparisons of runs in each format, to the letter.

`python -m tests.reports.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Groundup
from tests.cli.recorded import record, told

GOLDEN = Path(__file__).parent / "golden"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "report": (
        "report twice",
        "report once",
        "report costly",
        "report model-a",
        "report broken",
        "report absent",
        "report twice once",
        "report once same costly",
        "report once official",
        "report twice once --format markdown",
        "report costly --format markdown",
        "report costly --layout paper",
        "report once twice --layout paper --format markdown",
        "report once --fail-under 0.9",
        "report once --fail-under 0.5",
        "report once --format odd",
        "report once twice --format repogenesis",
        "report once --save x.odd",
    ),
    "forms": (
        "report costly --json",
        "report twice --format csv",
        "report once costly --format csv",
        "report twice --format junit",
        "report costly once --format junit",
        "report twice once --format latex",
        "report costly --format latex",
        "report model-a model-b --format latex --layout paper",
    ),
    "compare": (
        "compare twice once",
        "compare once twice --power 0.05",
        "compare once same costly",
        "compare once official",
        "compare model-a model-b",
        "compare twice once --format markdown",
        "compare costly once --json",
        "compare model-a model-b sqlparse",
        "compare model-a model-b jsonlines --json",
        "compare model-a model-b absent",
        "compare model-a model-b sqlparse --power 0.1",
        "compare once",
    ),
}


@pytest.mark.parametrize("group", COMMANDS)
def test_reports_read_as_before(
    group: str, tmp_path: Path, groundup: Groundup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, documents, sentences and exit codes."""
    monkeypatch.setenv("COLUMNS", "160")
    assert told(COMMANDS[group], tmp_path, groundup) == (GOLDEN / f"{group}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    record(COMMANDS, GOLDEN)
