"""`runs.exporting`: what others get of a run; a diff makes of the seeds what was handed in, for any bytes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.runs import api
from groundup.runs.exporting import Exported, ablate, export, unified_diff
from groundup.runs.training import ChosenEpisodes
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Predictions
from groundup.suites.base import Ablation, ForCommands
from groundup.suites.dibench.patches import apply_to_file, parse_patch
from tests.runs.configurations import QUICK, evaluation
from tests.runs.toy import BEHAVIOUR, SeededSuite
from tests.store.edits import FOUND
from tests.store.folders import write_run

PATCHES = "tests.runs.test_exporting:create_patches"
Predict = Callable[[Mapping[str, str]], Predictions]

# A last line that ends in a lone carriage return is read as one with a line end, as other readers of diffs do.
LINES = st.lists(st.binary(max_size=8), max_size=12).map(b"\n".join).filter(lambda data: not data.endswith(b"\r"))


@given(LINES, LINES)
def test_a_diff_makes_the_new_of_the_old(old: bytes, new: bytes) -> None:
    """Whatever the bytes, with or without an end of the last line, the patch makes exactly the new content."""
    diff = unified_diff("folder/file", old, new).encode("latin-1")
    if old == new:
        assert diff == b""
        return
    (patch,) = parse_patch(diff)
    assert (patch.old, patch.new) == ("folder/file", "folder/file")
    assert apply_to_file(patch, old) == new


@given(LINES.filter(bool))
def test_a_new_file_has_no_old_one(new: bytes) -> None:
    """It stands against nothing."""
    (patch,) = parse_patch(unified_diff("file", None, new).encode("latin-1"))
    assert patch.old is None
    assert apply_to_file(patch, None) == new


class Shouting(Ablation):
    """Writes behaviours in capitals, but for some that cannot be."""

    kinds = ("shout", "whisper")

    @override
    async def write(self, kind: str, task: Task, submission: Path, destination: Path) -> None:
        """Write them."""
        text = (submission / BEHAVIOUR).read_text()
        (destination / BEHAVIOUR).write_text(f"{kind} {text.upper()} of {task.id}")
        if text == "fail":
            raise SubmissionError("it fails already")


class PatchSuite(SeededSuite, ForCommands):
    """Tasks that ask for edits, handed in as diffs by language."""

    takes_patches = True
    prediction_groups = ("python",)

    @override
    def ablation(self) -> Ablation:
        return Shouting()


def create_patches(settings: Settings) -> PatchSuite:
    """Return two tasks of a language."""
    return PatchSuite(2, written=True, deliverable="edits", metadata={"language": "python"})


def files_in(folder: Path) -> dict[str, str]:
    """Return the files in *folder* with their texts."""
    return {
        str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_trees_are_what_was_handed_in(settings: Settings, predict: Predict, tmp_path: Path) -> None:
    """By task and index; with one attempt each by task alone. What was changed is told."""
    given = predict({"task-0000/0": "half", "task-0000/1": "pass", "task-0001/1": "fail"})
    run = RunFolder(api.NewRun(evaluation(given), QUICK, settings, run_id="one").work().folder)
    keys = {name: AttemptKey(task=f"task-000{name[0]}", index=int(name[1])) for name in ("00", "01", "10", "11")}
    there = [keys["00"], keys["01"], keys["11"]]
    assert export(run, tmp_path / "all", "tree", settings) == Exported([there[0], there[1], there[2]], 4, ())
    assert files_in(tmp_path / "all") == {
        f"task-0000/0/{BEHAVIOUR}": "half",
        f"task-0000/1/{BEHAVIOUR}": "pass",
        f"task-0001/1/{BEHAVIOUR}": "fail",
    }
    best = export(run, tmp_path / "best", "tree", settings, ChosenEpisodes(best=1, min_score=0.1))
    assert (best, [*files_in(tmp_path / "best")]) == (Exported([keys["01"]], 4, ()), [f"task-0000/1/{BEHAVIOUR}"])
    changed = run.attempt(keys["01"]).submission
    (changed / BEHAVIOUR).write_text("fail")
    found = export(run, tmp_path / "fewer", "tree", settings)
    assert (found.attempts, found.planned) == ([keys["00"], keys["11"]], 4)
    (told,) = found.changed
    assert told.startswith(f"{changed}: it was changed after it was handed in")
    assert export(run, tmp_path / "steps", "atif", settings) == Exported([], 4, ())
    for form in ("tree", "patch", "atif", "messages"):
        with pytest.raises(UsageError, match="all is not empty; name a new folder"):
            export(run, tmp_path / "all", form, settings)
    with pytest.raises(UsageError) as refused:
        export(run, tmp_path / "patches", "patch", settings)
    assert str(refused.value) == "toy takes whole repositories, not patches; leave `--format patch` out"


def test_what_does_not_fit_is_not_exported(tmp_path: Path, settings: Settings) -> None:
    """A verdict that somebody changed says nothing of whose submission it is."""
    run = write_run(tmp_path / "one", "nl2repobench")
    whole = export(RunFolder(run), tmp_path / "whole", "tree", settings)
    assert [key.task for key in whole.attempts] == ["six", "sqlparse", "toml"]
    assert [*files_in(tmp_path / "whole")] == [f"{task}/module.py" for task in ("six", "sqlparse", "toml")]
    edit = next(edit for name, edit, _, lost in FOUND.values() if name == "nl2repobench" and lost == {"six"})
    edit(run)
    fewer = export(RunFolder(run), tmp_path / "fewer", "tree", settings)
    assert [key.task for key in fewer.attempts] == ["sqlparse", "toml"]


def test_patches_are_of_first_attempts_by_language(settings: Settings, tmp_path: Path) -> None:
    """A diff against what the task gives; one that was handed in as such stays as it is."""
    folder = tmp_path / "predictions"
    diff = b"--- a/behaviour\n+++ b/behaviour\n"
    texts = {
        f"task-0000/0/{BEHAVIOUR}": b"pass",
        "task-0000/0/folder/other": b"as it is",
        "task-0000/0/new": b"x\n",
        f"task-0000/1/{BEHAVIOUR}": b"half",
        "task-0001/0/patch.diff": diff,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    configuration = evaluation(Predictions(path=str(folder)), PATCHES)
    run = RunFolder(api.NewRun(configuration, QUICK, settings, run_id="one").work().folder)
    found = export(run, tmp_path / "patches", "patch", settings)
    assert [str(key) for key in found.attempts] == ["task-0000/0", "task-0001/0"]
    assert files_in(tmp_path / "patches") == {
        "python/task-0000/patch.diff": (
            f"--- a/{BEHAVIOUR}\n+++ b/{BEHAVIOUR}\n@@ -1 +1 @@\n-fail\n\\ No newline at end of file\n"
            "+pass\n\\ No newline at end of file\n"
            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
        ),
        "python/task-0001/patch.diff": diff.decode(),
    }


def test_what_is_ablated_says_whose_it_is(settings: Settings, predict: Predict, tmp_path: Path) -> None:
    """Each submission without one kind of mistake; what cannot be changed is told and leaves no folder."""
    given = predict({"task-0000/0": "half", "task-0000/1": "fail", "task-0001/1": "fail"})
    given = given.but(agent_name="me", model_name="m/n")
    run = RunFolder(api.NewRun(evaluation(given, PATCHES), QUICK, settings, run_id="one").work().folder)
    target = tmp_path / "deep" / "ablated"
    made = ablate(run, "shout", target, settings)
    fails = [f"task-000{name}: it fails already" for name in ("0/1", "1/1")]
    assert (made.made, made.refused, made.is_unfit) == (1, fails, False)
    assert {name: text for name, text in files_in(target).items() if name != "ablation.json"} == {
        f"task-0000/0/{BEHAVIOUR}": "shout HALF of task-0000"
    }
    assert not (target / "task-0001").exists()
    record = {"ablation": "shout", "run": "one", "agent": "me", "model": "m/n"}
    assert (target / "ablation.json").read_text() == json.dumps(record, indent=1) + "\n"
    changed = run.attempt(AttemptKey(task="task-0000"))
    (changed.submission / BEHAVIOUR).write_text("pass")
    made = ablate(run, "whisper", tmp_path / "again", settings)
    assert (made.made, made.is_unfit, len(made.refused)) == (0, True, 3)
    assert made.refused[0].startswith("task-0000/0: it was changed after it was handed in")
    with pytest.raises(UsageError, match="again is not empty; name a new folder"):
        ablate(run, "whisper", tmp_path / "again", settings)
    with pytest.raises(UsageError, match="unknown ablation 'shot'; did you mean 'shout'"):
        ablate(run, "shot", tmp_path / "none", settings)
    assert not (tmp_path / "none").exists()
    plain = RunFolder(api.NewRun(evaluation(given), QUICK, settings, run_id="two").work().folder)
    with pytest.raises(UsageError) as refused:
        ablate(plain, "shout", tmp_path / "none", settings)
    assert str(refused.value) == "toy has no ablations, as DI-Bench has"
