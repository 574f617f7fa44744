"""A run's trajectories tell how the workspace stood after each turn, from the command line to the file."""

import json
from pathlib import Path

from groundup.agents.history import Texts
from groundup.domain.subjects import AttemptKey
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from tests.cli.conftest import Groundup
from tests.runs.toy import BEHAVIOUR


def test_the_turns_of_a_run_are_told(groundup: Groundup, tmp_path: Path) -> None:
    """What the last step comes to is the submission."""
    script = tmp_path / "half.json"
    script.write_text(json.dumps({"turn": [{"content": f"```path={BEHAVIOUR}\nhalf\n```\n"}], "then": "repeat"}))
    ended = groundup(
        "run", "tests.runs.toy:create_written", "-a", "oneshot", "-m", f"scripted/{script}", "--run-id", "one"
    )
    assert ended.code == 0, ended.err
    folder = RunFolder(tmp_path / "runs" / "one")
    for key in folder.config().planned.keys:
        attempt = folder.attempt(AttemptKey(task=key.task, index=key.index))
        texts = Texts(read_trajectory(attempt.trajectory_file))
        assert texts.known == {BEHAVIOUR: (attempt.submission / BEHAVIOUR).read_text()}
    shown = groundup("show", "one", folder.config().planned.tasks[0]).out
    assert f"added {BEHAVIOUR}" in shown
