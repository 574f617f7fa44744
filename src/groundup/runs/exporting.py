"""A run as files for others: submissions, also without one kind of mistake, trajectories, and its report."""

import asyncio
import contextlib
import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue

from groundup.agents.trajectories import as_atif
from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.names import unknown
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.runs.predictions import ABLATION_FILE, AblationRecord
from groundup.runs.training import ChosenEpisodes, scored, write_rows
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder, read_trajectory
from groundup.store.checking import why_tree_differs
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.ownership import refuse_full
from groundup.suites.base import PATCH_FILE, ForAgents, ForCommands, Suite
from groundup.suites.opening import open_suite
from groundup.trees.digest import entry_digests
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree

Form = Literal["tree", "patch", "atif", "messages"]
_NO_END = "\\ No newline at end of file\n"


class Exported(NamedTuple):
    """What was written."""

    attempts: list[AttemptKey]
    planned: int
    """How many attempts the run has."""
    changed: tuple[str, ...]
    """Which trees were left out, and why."""


def export(
    run: RunFolder, destination: Path, form: Form, settings: Settings, chosen: ChosenEpisodes | None = None
) -> Exported:
    """Write what each *chosen* attempt of *run* has into the absent or empty folder.

    Those whose records do not fit are left out, and so are trees that are not what was handed in.

    `tree`: `<task>/`, or `<task>/<index>/` where there are several attempts. `patch`: `<group>/<task>/patch.diff`
    of the first attempts, for suites that ask for edits. `atif`: `<task>/<index>/trajectory.json`. `messages`:
    one file with a row for each attempt in which a model replied (`training`).
    """
    refuse_full(destination)
    planned, records = run.config().planned, run.records()
    lines = records.lines
    fitting = [key for key in planned.keys if key not in records.bad]
    keys = (chosen or ChosenEpisodes()).of(fitting, lines)
    if form == "messages":
        return Exported(write_rows(run, keys, destination), len(planned), ())
    tasks = _tasks(run, settings) if form == "patch" else {}
    written, changed = [], []
    for key in keys:
        attempt = run.attempt(key)
        if form != "atif" and (why := why_tree_differs(attempt)) is not None:
            changed.append(f"{attempt.submission}: {why}")
            done = False
        elif form == "atif":
            done = _write_atif(key, attempt, run.config().run_id, destination, scored(lines.get(key)))
        elif attempt.record() is None or (form == "patch" and key.index > 0):
            done = False
        elif form == "patch":
            done = _write_patch(tasks[key.task], attempt, destination)
        else:
            place = destination / key.task / str(key.index) if planned.attempts > 1 else destination / key.task
            copy_tree(attempt.submission, place)
            done = True
        if done:
            written.append(key)
    return Exported(written, len(planned), tuple(changed))


class AblatedPredictions(NamedTuple):
    """What was changed, and what was left out."""

    made: int
    refused: list[str]
    """Why submissions could not be changed, or are not what was handed in."""
    is_unfit: bool
    """Whether what the run's folder holds does not fit."""


def ablate(run: RunFolder, ablation: str, target: Path, settings: Settings) -> AblatedPredictions:
    """Write the submissions of *run* with one kind of mistake taken out, as predictions, into the folder *target*.

    A file beside them tells `evaluate` whose they are. Those whose records do not fit are left out. Raises
    `UsageError`. Not for a running event loop.
    """
    config = run.config()
    suite = open_suite(config.configuration.suite, settings)
    offered = ForCommands.of(suite).ablation()
    if offered is None:
        raise UsageError(f"{suite.name} has no ablations, as DI-Bench has")
    if ablation not in offered.kinds:
        raise UsageError(unknown("ablation", ablation, offered.kinds))
    refuse_full(target)
    tasks, subject = suite.by_name(), config.configuration.subject
    record = AblationRecord(ablation=ablation, run=config.run_id, agent=subject.agent, model=subject.model)
    target.mkdir(parents=True, exist_ok=True)
    write_atomically(target / ABLATION_FILE, record.model_dump_json(indent=1).encode() + b"\n")
    made, refused, bad = 0, [], run.records().bad
    is_unfit = bool(bad)
    for key in config.planned.keys:
        attempt = run.attempt(key)
        if not attempt.submission.is_dir() or key.task not in tasks or key in bad:
            continue
        if (why := why_tree_differs(attempt)) is not None:
            refused.append(f"{key}: {why}")
            is_unfit = True
            continue
        destination = target / key.task / str(key.index)
        destination.mkdir(parents=True)
        try:
            asyncio.run(offered.write(ablation, tasks[key.task], attempt.submission, destination))
            made += 1
        except SubmissionError as error:
            remove_tree(destination)
            with contextlib.suppress(OSError):  # other attempts lie there; an empty folder would be a prediction
                destination.parent.rmdir()
            refused.append(f"{key}: {error}")
    return AblatedPredictions(made, refused, is_unfit)


def unified_diff(path: str, old: bytes | None, new: bytes) -> str:
    """Return what makes *new* of *old* (None: a new file), with every byte as the character of its number."""
    before, after = _lines(old or b""), _lines(new)
    name = "/dev/null" if old is None else f"a/{path}"
    lines = difflib.unified_diff(before, after, name, f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)


def _lines(data: bytes) -> list[str]:
    """Split at line feeds only, as diffs do."""
    parts = data.decode("latin-1").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _tasks(run: RunFolder, settings: Settings) -> dict[str, tuple[Suite, Task]]:
    suite = open_suite(run.config().configuration.suite, settings)
    if not suite.takes_patches:
        raise UsageError(f"{suite.name} takes whole repositories, not patches; leave `--format patch` out")
    return {task.id: (suite, task) for task in suite.tasks()}


def _write_patch(asked: tuple[Suite, Task], attempt: AttemptFolder, destination: Path) -> bool:
    suite, task = asked
    group = str(task.metadata.get("language", ""))
    place = destination / (group if group in suite.prediction_groups else "") / task.id
    place.mkdir(parents=True)
    (place / PATCH_FILE).write_bytes(b"".join(_diffs(suite, task, attempt)))
    return True


def _diffs(suite: Suite, task: Task, attempt: AttemptFolder) -> Iterator[bytes]:
    handed_in = entry_digests(attempt.submission)
    if set(handed_in) == {PATCH_FILE}:
        yield (attempt.submission / PATCH_FILE).read_bytes()
        return
    with scratch_folder("seeds") as folder:
        seeds = folder / "seeds"
        ForAgents.of(suite).write_seeds(task, seeds)
        for path in handed_in:
            new, old = attempt.submission / path, seeds / path
            if not new.is_symlink():
                before = old.read_bytes() if old.is_file() and not old.is_symlink() else None
                yield unified_diff(path, before, new.read_bytes()).encode("latin-1")


def _write_atif(
    key: AttemptKey, attempt: AttemptFolder, run_id: str, destination: Path, found: Mapping[str, JsonValue]
) -> bool:
    steps = tuple(read_trajectory(attempt.trajectory_file))
    if not steps:
        return False
    place = destination / key.task / str(key.index)
    place.mkdir(parents=True)
    document = as_atif(steps, f"{run_id}/{key}", found)
    (place / "trajectory.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return True
