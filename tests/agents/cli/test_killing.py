"""A command-line agent whose run is killed in the middle: its program restarts, and what was paid stays paid."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.settings import environment
from groundup.store.attempts import Step, read_trajectory
from groundup.store.folder import RunFolder

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).parents[3]
KEY = AttemptKey(task="task-0000")
ASKING = r"""
echo began >> /workspace/behaviour
address=${URL#http://}; address=${address%/v1}
body='{"model": "any", "messages": [{"role": "user", "content": "more"}]}'
while true; do
    exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
    printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\nConnection: close\r\n' >&3
    printf 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >&3
    case $(cat <&3) in 'HTTP/1.1 200'*) sleep 0.3 ;; *) exit 1 ;; esac
done
"""


def preset(folder: Path) -> Path:
    """Write the preset of a shell script that asks its model until it gets no answer."""
    path = folder / "asking.toml"
    path.write_text(
        'name = "asking"\ndescription = "of a test"\nprotocol = "chat"\nrun = ["/bin/bash", "{home}/ask.sh"]\n'
        f'[environment]\nURL = "{{chat_url}}"\n[files]\n"ask.sh" = {json.dumps(ASKING)}\n'
    )
    return path


def steps(run: Path, kind: str) -> list[Step]:
    """Return the attempt's steps of one kind so far."""
    file = RunFolder(run).attempt(KEY).trajectory_file
    return [step for step in read_trajectory(file) if step["kind"] == kind] if file.exists() else []


def started(place: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start groundup with an output and a cache of its own."""
    own = {
        "GROUNDUP_CACHE_DIR": str(place / "cache"),
        "GROUNDUP_OUTPUT": str(place / "runs"),
        "GROUNDUP_BUILDER": "tests.runs.toy_agent:create_builder",
    }
    with (place / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "groundup", *arguments],
            cwd=ROOT,
            env={**environment(), **own},
            stdout=log,
            stderr=log,
        )


@pytest.mark.usefixtures("provider")
@pytest.mark.usefixtures("provider")
def test_a_killed_attempt_restarts_and_what_it_paid_counts(tmp_path: Path) -> None:
    """Both tries together get as many replies as the attempt's money buys, and the workspace is a fresh one."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turn": [{"content": "more", "output_tokens": 1000}], "then": "repeat"}))
    run = tmp_path / "runs" / "killed"
    first = started(
        tmp_path,
        *("run", "tests.runs.toy:create_written", "--tasks", KEY.task, "--run-id", run.name, "--generate-only"),
        *("-a", "cli", "--agent-option", f"preset={preset(tmp_path)}", "-m", f"scripted/{script}"),
        *("--price", "0:100", "--max-attempt-cost", "0.95"),  # ten replies of 10 cents
    )
    try:
        while not steps(run, "reply") and first.poll() is None:
            time.sleep(0.02)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    paid = len(steps(run, "reply"))
    assert 0 < paid < 10, (tmp_path / "log").read_text()

    second = started(tmp_path, "resume", str(run), "--generate-only", "--price", "0:100")
    try:
        assert second.wait(120) == 0, (tmp_path / "log").read_text()
    finally:
        second.kill()
        second.wait()
    made = RunFolder(run).attempt(KEY).record()
    assert made is not None
    assert made.effort is not None
    assert (made.outcome, made.effort.turns) == (Outcome.BUDGET, 10)
    assert made.effort.cost_usd == pytest.approx(1.0)
    assert (len(steps(run, "program")), len(steps(run, "reply"))) == (2, 10)
    assert (RunFolder(run).attempt(KEY).submission / "behaviour").read_text() == "began\n"
