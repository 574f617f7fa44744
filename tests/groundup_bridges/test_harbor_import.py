"""Harbor's jobs as runs: rewards with their counts, what was handed in, what was said; nothing is trusted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import groundup
from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.runs.api import regrading
from groundup.runs.plan import RunOptions
from groundup.runs.training import reward_of
from groundup.settings import Settings
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup_bridges.api import import_jobs
from groundup_bridges.harbor_import import harbor_name, read_trials, steps_of
from tests.cli.conftest import Groundup

TASK = "groundup/toy__task-0000"
CALL = {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "ls"}}
STEPS = [
    {"step_id": 1, "source": "user", "message": "Write it."},
    {
        "step_id": 2,
        "source": "agent",
        "message": "I look.",
        "tool_calls": [CALL],
        "observation": {"results": [{"source_call_id": "1", "content": "README"}]},
        "metrics": {"prompt_tokens": 10, "completion_tokens": 3, "cost_usd": 0.5},
    },
]


def a_trial(jobs: Path, name: str, rewards: object = None, **fields: Any) -> Path:
    """Write a trial as Harbor does, and return its folder."""
    trial = jobs / "monday" / name
    (trial / "verifier").mkdir(parents=True)
    document = {
        "task_name": TASK,
        "trial_name": name,
        "agent_info": {"name": "terminus", "version": "2", "model_info": {"name": "small", "provider": "openai"}},
        "verifier_result": None if rewards is None else {"rewards": rewards},
        "started_at": "2026-11-22T10:00:00Z",
        "finished_at": "2026-11-22T10:01:00Z",
        **fields,
    }
    (trial / "result.json").write_text(json.dumps(document))
    return trial


def imported(root: Path) -> RunFolder:
    """Import the only run of the jobs."""
    (path,) = import_jobs(root / "jobs", settings=Settings(output=root / "runs", cache_dir=root / "cache"))
    return RunFolder(path)


def test_a_trial_becomes_an_attempt(tmp_path: Path) -> None:
    """Reward, counts, tree, model, tokens and conversation are there, and a report reads them."""
    trial = a_trial(tmp_path / "jobs", "one", {"reward": 0.5, "passed": 1, "total": 2})
    (trial / "artifacts" / "workspace").mkdir(parents=True)
    (trial / "artifacts" / "workspace" / "code.py").write_text("x = 1\n")
    (trial / "agent").mkdir()
    (trial / "agent" / "trajectory.json").write_text(json.dumps({"steps": STEPS}))
    run = imported(tmp_path)
    (line,) = run.lines()
    assert line.verdict is not None
    assert line.verdict.score == Score(numerator=1, denominator=2)
    assert line.effort is not None
    assert (line.effort.turns, line.effort.usage.input_tokens, line.effort.cost_usd) == (1, 10, 0.5)
    attempt = run.attempt(line.attempt)
    assert (attempt.submission / "code.py").read_text() == "x = 1\n"
    record = attempt.record()
    assert record is not None
    assert (record.provenance.source, record.digest) == ("import", line.submission)
    kinds = [step["kind"] for step in read_trajectory(attempt.trajectory_file)]
    assert kinds == ["began", "message", "reply", "result", "ended"]
    assert run.config().configuration.subject.model == "openai/small"
    assert groundup.report(run.path).headlines()


def test_a_conversation_is_kept_whole() -> None:
    """Every field that ATIF has is where `show` looks for it; what a step lacks is left out."""
    later = {
        "source": "agent",
        "message": [{"type": "text", "text": "Done."}, {"text": "Really."}],
        "reasoning_content": "It is short.",
        "model_name": "openai/large",
        "metrics": {"prompt_tokens": 20, "completion_tokens": 4, "cached_tokens": 8, "cost_usd": -1},
        "observation": {"results": [{"source_call_id": "9", "content": "of no call"}]},
    }
    call = {"id": "1", "name": "bash", "arguments": '{"command": "ls"}'}
    reply = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    thought = {"role": "assistant", "content": "Done.\nReally.", "reasoning": "It is short."}
    assert [dict(step) for step in steps_of({"steps": ["no step", *STEPS, later]})] == [
        {"kind": "message", "role": "user", "content": "Write it."},
        {
            "kind": "reply",
            "turn": 1,
            "message": reply,
            "finish": "tool_calls",
            "usage": {"input_tokens": 10, "output_tokens": 3},
            "cost_usd": 0.5,
        },
        {"kind": "result", "turn": 1, "call": 0, "name": "bash", "content": "README"},
        {
            "kind": "reply",
            "turn": 2,
            "message": thought,
            "finish": "stop",
            "usage": {"input_tokens": 20, "output_tokens": 4, "cached_input_tokens": 8},
            "model": "openai/large",
        },
        {"kind": "result", "turn": 2, "call": None, "name": "", "content": "of no call"},
    ]


@pytest.mark.parametrize("task", ["sqlparse", "inflection@0.5.1", "Suor__funcy@207a7810c2"])
def test_a_task_s_name_in_harbor_leads_back_to_it(tmp_path: Path, task: str) -> None:
    """Harbor 0.26 takes names of this pattern only; tasks of sets have an `@`."""
    name = harbor_name("nl2repobench", task)
    a_trial(tmp_path / "jobs", "one", {"reward": 0.0}, task_name=name)

    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*", name)
    (trial,) = read_trials(tmp_path / "jobs")
    assert (trial.suite, trial.task) == ("nl2repobench", task)


def test_what_a_container_graded_is_graded_again_in_a_sandbox(tmp_path: Path) -> None:
    """Those of this machine's settings: a verifier's own place is not here."""
    a_trial(tmp_path / "jobs", "one", {"reward": 0.5, "passed": 1, "total": 2})
    folder = imported(tmp_path).path
    here = Settings(sandbox="podman")
    assert regrading(folder, RunOptions(), here).configuration.sandbox == "podman"
    assert regrading(folder, RunOptions(), here, {"sandbox": "docker"}).configuration.sandbox == "docker"


def test_what_has_no_reward_has_no_score(tmp_path: Path) -> None:
    """A trial that its infrastructure ended is owed, and not a zero; a number that is none is no reward."""
    a_trial(
        tmp_path / "jobs", "one", exception_info={"exception_type": "DockerError", "exception_message": "gone"}
    )
    a_trial(tmp_path / "jobs", "two", {"reward": "much"})
    a_trial(tmp_path / "jobs", "six", {"reward": 5})
    a_trial(tmp_path / "jobs", "ten", {"reward": 10**400})
    run = imported(tmp_path)
    assert [reward_of(line) for line in run.lines()] == [None] * 4
    assert next(iter(run.lines())).outcome is Outcome.INFRASTRUCTURE


def test_the_verifiers_own_verdict_counts_where_it_agrees(tmp_path: Path) -> None:
    """With it come status, reasons and grader; one that differs from the reward is left."""
    verdict = Verdict(status=Status.TAMPERED, score=None, grader=GraderIdentity(name="strict", version="1"))
    for name, rewards in (("one", {"reward": 0.0}), ("two", {"reward": 1.0})):
        trial = a_trial(tmp_path / "jobs", name, rewards)
        (trial / "verifier" / "verdict.json").write_text(verdict.model_dump_json())
    lines = imported(tmp_path).latest()
    first, second = lines[AttemptKey(task="task-0000")], lines[AttemptKey(task="task-0000", index=1)]
    assert first.verdict == verdict
    assert second.verdict is not None
    assert second.verdict.status is Status.GRADED
    assert reward_of(second) == 1.0


def test_numbers_and_texts_that_nothing_holds_end_no_import(tmp_path: Path) -> None:
    """Infinite costs, halves of surrogate pairs, times before all others; a task of no export is left out."""
    trial = a_trial(
        tmp_path / "jobs",
        "one",
        {"reward": 1.0},
        agent_result={"cost_usd": float("inf")},
        exception_info={"exception_type": "\ud800"},
        started_at="0001-01-01T00:00:00+23:59",
    )
    (trial / "artifacts" / "workspace").mkdir(parents=True)
    (trial / "agent").mkdir()
    steps = [{"source": "agent", "message": "\ud800", "metrics": {"cost_usd": 10**400}}]
    (trial / "agent" / "trajectory.json").write_text(json.dumps({"steps": steps}))
    a_trial(tmp_path / "jobs", "two", {"reward": 1.0}, task_name="groundup/toy__../../x")
    (line,) = imported(tmp_path).lines()
    assert line.effort is not None
    assert (reward_of(line), line.effort.cost_usd, line.effort.detail) == (1.0, None, "?: None")


def test_hostile_files_are_read_as_nothing(tmp_path: Path) -> None:
    """Links lead nowhere, and a document of another shape holds nothing."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    trial = a_trial(tmp_path / "jobs", "one", {"reward": 1.0}, agent_result=[], exception_info="x")
    (trial / "artifacts").mkdir()
    (trial / "artifacts" / "workspace").symlink_to(secret)
    (trial / "agent").mkdir()
    steps = [1, {"source": "agent", "metrics": []}]
    (trial / "agent" / "trajectory.json").write_text(json.dumps({"steps": steps}))
    (trial / "verifier" / "stdout.txt").symlink_to(secret / "key")
    run = imported(tmp_path)
    (line,) = run.lines()
    assert line.submission is None
    assert not any(b"secret" in path.read_bytes() for path in run.path.rglob("*") if path.is_file())


def test_a_folder_without_trials_is_refused(tmp_path: Path) -> None:
    """So are jobs of others' tasks."""
    a_trial(tmp_path / "jobs", "one", {"reward": 1.0}, task_name="harbor/hello-world")
    with pytest.raises(UsageError, match="holds no trial"):
        imported(tmp_path)


@pytest.mark.parametrize("words", [("harbor", "import"), ("import", "harbor")])
def test_the_command_says_where_the_run_is(groundup: Groundup, tmp_path: Path, words: tuple[str, str]) -> None:
    """And what reads it; with `--json` in a document."""
    a_trial(tmp_path / "jobs", "one", {"reward": 1.0})
    place = tmp_path / "runs" / "of-harbor"
    ended = groundup(*words, "jobs", "--run-id", "of-harbor", "--json")
    assert (ended.code, json.loads(ended.out)) == (0, {"runs": [str(place)]}), ended.err
    assert f"groundup report {place}" in " ".join(ended.err.split())
    assert "terminus" in groundup("report", "of-harbor").out
