"""What commands print of runs and of their attempts, to the letter.

`python -m tests.cli.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Groundup
from tests.cli.recorded import record, told

GOLDEN = Path(__file__).parent / "golden"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "why": (
        "why twice",
        "why once",
        "why costly",
        "why model-a",
        "why model-b",
        "why model-a sqlparse",
        "why model-a jsonlines --full",
        "why model-a schema -t and",
        "why model-a -t nothing",
        "why twice one",
        "why twice one/1",
        "why twice four/0",
        "why twice three/0",
        "why twice one/7",
        "why twice absent",
        "why costly alpha --json",
        "why costly beta --full",
        "why model-a humanize",
    ),
    "runs": (
        "runs",
        "runs --json",
        "runs check once",
        "runs check twice costly --json",
        "runs check broken",
        "runs check",
        "runs odd",
        "runs rm",
        "review once",
        "review twice",
        "review costly",
        "review twice --json",
        "show twice one",
        "show once one",
        "show once one --json",
        "show once one --logs",
        "show once one --full",
        "show once",
        "show model-a sqlparse --json",
        "show once two",
        "show twice one/7",
    ),
}


@pytest.mark.parametrize("group", COMMANDS)
def test_commands_print_what_they_did(
    group: str, tmp_path: Path, groundup: Groundup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, documents, sentences and exit codes."""
    monkeypatch.setenv("COLUMNS", "160")
    assert told(COMMANDS[group], tmp_path, groundup) == (GOLDEN / f"{group}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    record(COMMANDS, GOLDEN)
