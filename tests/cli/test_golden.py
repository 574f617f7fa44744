"""What commands print of runs and of their attempts, and what they refuse, to the letter.

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
    "slips": (
        "nothing",
        "eval",
        "reprot",
        "run",
        "run dibench",
        "run dibench -a oracle --n-concurrent 4",
        "run dibench -a oracle -n 4",
        "run dibench -a oracle --api-key x",
        "run dibench -a oracle --lf",
        "run dibench -a oracle --max_turns 4",
        "run dibench -a oracle --max-turn 4",
        "run --dataset dibench",
        "run -d dibench -a oracle",
        "run dibench -a oracle -j 0",
        "run dibench -a oracle -j many",
        "run dibench -a oracle -k",
        "run dibench -a oracle -k 0",
        "run dibench -a oracle --no-cache=yes",
        "run dibench -a oracle -a nop",
        "run dibench -a oracle --max-attempt-cost nan",
        "run dibench -a oracle --max-seconds 0",
        "run dibench -a oracle --tasks one two three",
        "run dibench -a oracle extra",
        "run dibench \u2013-jobs 4",
        "run dibench -a oracle --fail-under 2",
        "run dibench -a oracle --fail-under half",
        "run dibenc -a oracle",
        "run toy:create -a oracle",
        "run no.such.module:create -a oracle",
        "resume once --grader official",
        "resume once -k 3",
        "resume once --seed 3",
        "resume absent",
        "resume",
        "regrade absent",
        "regrade once --grader odd",
        "evaluate dibench",
        "evaluate dibench predictions",
        "evaluate dibench -p a b c",
        "evaluate dibench -p . --agent oracle",
        "evaluate dibench -p . --output x --outpt y",
        "evaluate",
        "compare once twice --power 0",
        "compare once twice --power 2",
        "compare once twice --format html",
        "report once --save",
        "report once --layout odd",
        "why once one -t",
        "view --port 99999",
        "view --host 0.0.0.0",
        "clean --older-than 3",
        "clean --older-than 3x",
        "tasks",
        "tasks nothing",
        "data pull nothing",
        "data nothing",
        "export once",
        "models --nothing",
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
