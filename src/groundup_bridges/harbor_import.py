"""What Harbor's jobs found, as runs: rewards, what was handed in, and trajectories.

A job's folder holds a folder for each trial, with `result.json`, `verifier/`, `agent/trajectory.json` (ATIF) and
`artifacts/`. All of it is a stranger's: read with limits, and no path in it is followed.
"""

import contextlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from groundup.agents.trajectories import paid_for, reply_fields
from groundup.domain.conversations import ChatReply, Message, ToolCall
from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.limits import Effort
from groundup.domain.names import checked_name
from groundup.domain.subjects import AttemptKey, Outcome, Provenance, Subject, Submission
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict, counted
from groundup.store.attempts import AttemptWriter
from groundup.store.folder import RunWriter
from groundup.store.records import ConfigFile, Planned, RunConfiguration, Served, VerdictLine
from groundup.trees.digest import tree_digest
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree, named_dropped
from groundup_bridges.inplace import InPlaceProvider

_BYTES = 64 * 1024 * 1024
_PREFIX = "groundup/"
_AT = "__at__"
"""Stands for the `@` of tasks of sets, such as `inflection@0.5.1`."""
_LIMITS = ("Timeout", "Limit")
_LOGS = ("verdict.json", "test-stdout.txt", "test-stderr.txt", "stdout.txt", "stderr.txt", "check.txt", "twin.txt")


@dataclass(frozen=True)
class Trial:
    """One trial of a job."""

    folder: Path
    suite: str
    task: str
    subject: Subject
    document: Mapping[str, Any]

    @property
    def began_at(self) -> datetime:
        """When it began; the epoch where it does not say."""
        return _moment(self.document.get("started_at"))

    @property
    def ended_at(self) -> datetime:
        return _moment(self.document.get("finished_at"))

    @property
    def failure(self) -> str:
        """What ended it, by Harbor's record; empty: nothing did."""
        found = _object(self.document.get("exception_info"))
        return f"{found.get('exception_type')}: {found.get('exception_message')}"[:300] if found else ""

    def rewards(self) -> dict[str, float]:
        """Return the finite numbers that the verifier wrote."""
        found = _object(_object(self.document.get("verifier_result")).get("rewards"))
        return {str(name): number for name, value in found.items() if (number := _number(value)) is not None}


def read_trials(jobs: Path) -> list[Trial]:
    """Return the trials of groundup's tasks in a job's folder, or in a folder of jobs. Raises `UsageError`."""
    found = [trial for folder in _folders(jobs) if (trial := _trial(folder)) is not None]
    if not found:
        raise UsageError(f"{jobs} holds no trial of a task that `groundup harbor export` wrote")
    return sorted(found, key=lambda trial: (trial.task, trial.began_at, str(trial.folder)))


def harbor_name(suite: str, task: str) -> str:
    """Return the name of *task* in Harbor, whose names have letters, digits, `.`, `_` and `-`, but no `@`."""
    return f"{_PREFIX}{suite}__{task.replace('@', _AT)}"


def _folders(jobs: Path) -> Iterator[Path]:
    for pattern in ("*/result.json", "*/*/result.json"):
        yield from (path.parent for path in sorted(jobs.glob(pattern)) if not path.parent.is_symlink())


def _trial(folder: Path) -> Trial | None:
    document = _json(folder / "result.json")
    named = str(document.get("task_name", ""))
    suite, separator, task = named.removeprefix(_PREFIX).partition("__")
    if not named.startswith(_PREFIX) or not separator or "trial_name" not in document:
        return None
    try:
        checked_name(task := task.replace(_AT, "@"))
    except UsageError:  # no export has such a task
        return None
    agent = _object(document.get("agent_info"))
    model = _object(agent.get("model_info"))
    provider = f"{model['provider']}/" if model.get("provider") else ""
    subject = Subject(
        agent=str(agent.get("name") or "harbor"), model=f"{provider}{model['name']}" if model.get("name") else None
    )
    return Trial(folder, suite, task, subject, document)


def of_subjects(trials: Iterable[Trial]) -> list[tuple[str, Subject, list[Trial]]]:
    """Return the trials by suite and subject: each makes a run."""
    groups: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[digest_of([trial.suite, trial.subject])].append(trial)
    return [(several[0].suite, several[0].subject, several) for several in groups.values()]


def write_run(path: Path, suite: str, subject: Subject, trials: Sequence[Trial]) -> Path:
    """Write *trials* of one subject as the run at *path*, a new folder. Raises `UsageError`."""
    keys, counts = [], defaultdict[str, int](int)
    for trial in trials:
        keys.append(AttemptKey(task=trial.task, index=counts[trial.task]))
        counts[trial.task] += 1
    verdicts = [_verdict(trial) for trial in trials]
    configuration = RunConfiguration(
        suite=suite,
        submissions=Served(agent=subject.agent, model=subject.model),
        tasks=tuple(counts),
        sandbox=InPlaceProvider.name,
    )
    planned = Planned(tasks=tuple(counts), attempts=max(counts.values()))
    graders = {f"{verdict.grader.name} {verdict.grader.version}" for verdict in verdicts if verdict.settles}
    pinned = {"harness": "harbor", "graders": ", ".join(sorted(graders))}
    config = ConfigFile(
        run_id=path.name,
        created_at=datetime.now(UTC),
        suite_name=suite,
        grader=next((verdict.grader.name for verdict in verdicts if verdict.settles), "harbor"),
        configuration=configuration,
        planned=planned,
        pinned=pinned,
        digest=ConfigFile.digest_for(configuration, planned, pinned),
    )
    with RunWriter.create(path, config) as writer:
        for key, trial, verdict in zip(keys, trials, verdicts, strict=True):
            _record(writer, key, trial, verdict)
    return path


def _record(writer: RunWriter, key: AttemptKey, trial: Trial, verdict: Verdict) -> None:
    attempt = writer.attempt(key)
    steps = list(steps_of(_json(trial.folder / "agent" / "trajectory.json")))
    submission = _submission(trial, attempt, steps)
    with attempt.trajectory() as trajectory:
        subject = trial.subject
        trajectory.append("began", agent=subject.agent, version="", model=subject.model)
        for step in steps:
            trajectory.append(str(step["kind"]), **{name: value for name, value in step.items() if name != "kind"})
        trajectory.append("ended", outcome=_outcome(trial, submission).value, detail=trial.failure)
    line = VerdictLine(
        attempt=key,
        outcome=_outcome(trial, submission),
        submission=None if submission is None else submission.digest,
        verdict=verdict,
        effort=None if submission is None else submission.effort,
        started_at=trial.began_at,
        finished_at=trial.ended_at,
    )
    writer.record(line, _tests(trial), dict(_logs(trial)))


def _submission(
    trial: Trial, attempt: AttemptWriter, steps: Sequence[Mapping[str, JsonValue]]
) -> Submission | None:
    """Take in what the trial's agent left in its workspace; None where no artifact of it is there."""
    tree = trial.folder / "artifacts" / "workspace"
    if tree.is_symlink() or not tree.is_dir():
        return None
    with attempt.incoming() as arriving:
        taken = copy_tree(tree, arriving)
        digest = tree_digest(arriving)
    paid = paid_for(steps)
    told = _object(trial.document.get("agent_result"))
    cost = _number(told.get("cost_usd"))
    submission = Submission(
        digest=digest.digest,
        files=digest.files,
        bytes=digest.bytes,
        dropped=named_dropped(taken),
        outcome=_outcome(trial, None),
        provenance=Provenance(
            source="import",
            agent_name=trial.subject.agent,
            model_name=trial.subject.model,
            path=str(trial.folder),
        ),
        effort=Effort(
            detail=trial.failure,
            turns=paid.turns,
            usage=paid.usage,
            cost_usd=cost if cost is not None and cost >= 0 else paid.cost_usd,
            seconds=max(0.0, (trial.ended_at - trial.began_at).total_seconds()),
        ),
    )
    attempt.write_record(submission)
    return submission


def _outcome(trial: Trial, submission: Submission | None) -> Outcome:
    if trial.failure and any(word in trial.failure.partition(":")[0] for word in _LIMITS):
        return Outcome.LIMIT
    if trial.failure and submission is None and not trial.rewards():
        return Outcome.INFRASTRUCTURE
    return Outcome.SUBMITTED


def _verdict(trial: Trial) -> Verdict:
    """Return what groundup's verifier said in full where it agrees with the reward, else what the reward says."""
    rewards = trial.rewards()
    reward = rewards.get("reward")
    reward = reward if reward is not None and 0 <= reward <= 1 else None
    try:
        whole = Verdict.model_validate(_json(trial.folder / "verifier" / "verdict.json"))
    except ValidationError:
        whole = None
    if whole is not None and _says(whole, reward):
        return whole
    identity = GraderIdentity(name="harbor", version="1", environment="image")
    if reward is None:
        why = trial.failure or "the trial has no reward from 0 to 1"
        reasons = (Reason(stage=Stage.ENVIRONMENT, message=why),)
        return Verdict(status=Status.INFRASTRUCTURE, score=None, reasons=reasons, grader=identity, cacheable=False)
    total = rewards.get("total", 0.0)
    score = Score(numerator=reward, denominator=1)
    if total > 0 and "passed" in rewards and math.isclose(rewards["passed"] / total, reward, abs_tol=1e-9):
        score = Score(numerator=rewards["passed"], denominator=total)
    return Verdict(status=Status.GRADED, score=score, grader=identity, cacheable=False)


def _says(verdict: Verdict, reward: float | None) -> bool:
    value = counted(verdict)
    if value is None or reward is None:
        return reward is None and not verdict.settles
    return math.isclose(value, reward)


def _tests(trial: Trial) -> list[TestResult]:
    try:
        lines = _read(trial.folder / "verifier" / "tests.jsonl").splitlines()
        return [TestResult.model_validate_json(line) for line in lines]
    except (OSError, ValidationError):
        return []


def _logs(trial: Trial) -> Iterator[tuple[str, bytes]]:
    for name in _LOGS:
        try:
            yield name, _read(trial.folder / "verifier" / name)
        except OSError:
            continue


# --- trajectories


def steps_of(document: Mapping[str, Any]) -> Iterator[dict[str, JsonValue]]:
    """Yield the steps of an ATIF document as groundup records them; what is none of the format is left out."""
    turn = 0
    for step in _list(document.get("steps")):
        if not isinstance(step, dict):
            continue
        if step.get("source") != "agent":
            yield {
                "kind": "message",
                "role": str(step.get("source") or "user"),
                "content": _text(step.get("message")),
            }
            continue
        turn += 1
        calls = [call for call in _list(step.get("tool_calls")) if isinstance(call, dict)]
        yield {"kind": "reply", **reply_fields(_reply(step, calls), turn)}
        yield from _results(step, calls, turn)


def _reply(step: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> ChatReply:
    metrics = _object(step.get("metrics"))
    cost = _number(metrics.get("cost_usd"))
    made = tuple(
        ToolCall(
            id=str(call.get("tool_call_id")),
            name=str(call.get("function_name")),
            arguments=json.dumps(call.get("arguments") or {}, ensure_ascii=False),
        )
        for call in calls
    )
    return ChatReply(
        message=Message(
            role="assistant",
            content=_text(step.get("message")),
            tool_calls=made,
            reasoning=_text(step.get("reasoning_content")) or None,
        ),
        finish="tool_calls" if made else "stop",
        usage=TokenUsage(
            input_tokens=_count(metrics.get("prompt_tokens")),
            output_tokens=_count(metrics.get("completion_tokens")),
            cached_input_tokens=_count(metrics.get("cached_tokens")),
        ),
        cost_usd=cost if cost is not None and cost >= 0 else None,
        model=str(step.get("model_name") or ""),
    )


def _results(
    step: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], turn: int
) -> Iterator[dict[str, JsonValue]]:
    numbers = {str(call.get("tool_call_id")): number for number, call in enumerate(calls)}
    names = {str(call.get("tool_call_id")): str(call.get("function_name")) for call in calls}
    for result in _list(_object(step.get("observation")).get("results")):
        if isinstance(result, dict):
            source = str(result.get("source_call_id"))
            yield {
                "kind": "result",
                "turn": turn,
                "call": numbers.get(source),
                "name": names.get(source, ""),
                "content": _text(result.get("content")),
            }


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a text, or the texts of its parts."""
    if isinstance(value, list):
        return "\n".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _number(value: object) -> float | None:
    """Return a finite number; None for anything else, such as an integer that no fraction holds."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    with contextlib.suppress(OverflowError):
        return float(value) if math.isfinite(value) else None
    return None


def _moment(value: object) -> datetime:
    try:
        found = datetime.fromisoformat(str(value))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def _read(path: Path) -> bytes:
    """Return the content of a file of a trial. Raises `OSError`, also for a link, which an agent may have made."""
    if path.is_symlink() or path.parent.is_symlink():
        raise OSError(f"{path} is a link")
    return read_regular(path, _BYTES)


def _json(path: Path) -> Mapping[str, Any]:
    """Return the object in a file; nothing where there is none. Halves of surrogate pairs become `?`."""
    try:
        found = json.loads(_read(path))
        found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return _object(found)
