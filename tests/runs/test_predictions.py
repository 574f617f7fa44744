"""Finding the submissions that somebody has, and refusing what is none."""

import asyncio
import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.runs.predictions import GivenSource, PredictionLayout, model_named_in, open_predictions
from groundup.store.records import Predictions
from groundup.trees.archives import zstd
from groundup.trees.writer import TreeLimits

TASKS = ["alpha", "beta", "gamma"]


def fill(root: Path, *names: str) -> Path:
    """Make files whose content is their own name."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def packed(compress: Callable[[bytes], bytes] = bytes, **files: str) -> bytes:
    """Return a tar of *files*."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return compress(buffer.getvalue())


def opened(path: Path, task: str | None = None, limits: TreeLimits | None = None) -> GivenSource:
    """Open predictions made by a model called m."""
    return open_predictions(Predictions(path=str(path), task=task, agent_name="a"), TASKS, limits)


def digests(source: GivenSource) -> Mapping[str, str]:
    """Return the identity of all that *source* holds."""
    every = [AttemptKey(task=task, index=index) for task in TASKS for index in range(1000)]
    return source.identity([key for key in every if source.holds(key)])


def keys(source: GivenSource) -> list[str]:
    """Return the attempts that *source* holds."""
    return list(digests(source))


def unusable(source: GivenSource, key: str) -> str:
    """Return why nothing runs with this prediction."""
    task, _, index = key.partition("/")
    with pytest.raises(UsageError) as caught:
        source.identity([AttemptKey(task=task, index=int(index))])
    return str(caught.value)


def take(source: GivenSource, key: str, destination: Path) -> Submission:
    """Take one attempt in; its tree is below *destination*."""
    task, _, index = key.partition("/")
    destination.mkdir()
    nothing = cast("GradingContext", None)  # predictions need no tools
    return asyncio.run(
        source.take_in(
            Task(id=task, suite="s", instruction=None),
            AttemptKey(task=task, index=int(index)),
            destination,
            nothing,
        )
    )


def refusal(source: GivenSource, key: str, place: Path) -> str:
    """Return why an attempt cannot be taken in."""
    with pytest.raises(SubmissionError) as caught:
        take(source, key, place)
    return str(caught.value)


def test_a_folder_for_each_task(tmp_path: Path) -> None:
    """The plainest layout: `<task>/` is the repository."""
    source = opened(fill(tmp_path / "p", "alpha/setup.py", "beta/pkg/x.py"))
    assert keys(source) == ["alpha/0", "beta/0"]
    assert source.attempts() == 1
    submission = take(source, "beta/0", tmp_path / "out")
    assert (tmp_path / "out" / "pkg" / "x.py").read_text() == "beta/pkg/x.py"
    assert (submission.files, submission.provenance.path, submission.provenance.agent_name) == (1, "beta", "a")


def test_folders_of_groups_hold_folders_of_tasks(tmp_path: Path) -> None:
    """A suite's groups, such as languages, may stand above its tasks; a file of such a name is none."""
    fill(tmp_path, "python/alpha/a.py", "rust/beta/b.rs", "gamma/c.py", "go")
    layout = PredictionLayout(groups=("python", "rust", "go"))
    found = open_predictions(Predictions(path=str(tmp_path), agent_name="a"), TASKS, layout=layout)
    assert keys(found) == ["alpha/0", "beta/0", "gamma/0"]
    take(found, "beta/0", tmp_path / "taken")
    assert (tmp_path / "taken" / "b.rs").read_text() == "rust/beta/b.rs"


def test_numbered_folders_are_attempts(tmp_path: Path) -> None:
    """`<task>/<index>/` counts from 0; a task may have fewer, and what is missing is not held."""
    source = opened(fill(tmp_path / "p", "alpha/0/x", "alpha/2/x", "beta/y"))
    assert keys(source) == ["alpha/0", "alpha/2", "beta/0"]
    assert source.attempts() == 3
    assert not source.holds(AttemptKey(task="alpha", index=1))
    take(source, "alpha/2", tmp_path / "out")
    assert (tmp_path / "out" / "x").read_text() == "alpha/2/x"


def test_a_repository_with_a_numbered_folder_is_one_attempt(tmp_path: Path) -> None:
    """Numbers mean attempts only when there is nothing else."""
    assert keys(opened(fill(tmp_path / "p", "alpha/0/x", "alpha/setup.py"))) == ["alpha/0"]


@pytest.mark.parametrize("ending", ["tar.gz", "tar.zst", "tar"])
def test_a_packed_submission(tmp_path: Path, ending: str) -> None:
    """`<task>/submission.tar.gz` is unpacked, at both levels; files beside it are somebody's notes."""
    compress: dict[str, Callable[[bytes], bytes]]
    compress = {"tar.gz": gzip.compress, "tar.zst": zstd.compress, "tar": bytes}
    fill(tmp_path / "p", "alpha/notes.txt", f"beta/1/submission.{ending}", "beta/0/x")
    for place in ("alpha", "beta/1"):
        (tmp_path / "p" / place / f"submission.{ending}").write_bytes(packed(compress[ending], x=place))
    source = opened(tmp_path / "p")
    assert keys(source) == ["alpha/0", "beta/0", "beta/1"]
    take(source, "alpha/0", tmp_path / "alpha")
    take(source, "beta/1", tmp_path / "beta")
    assert [path.name for path in (tmp_path / "alpha").iterdir()] == ["x"]
    assert (tmp_path / "beta" / "x").read_text() == "beta/1"


def test_one_repository_with_its_task_named(tmp_path: Path) -> None:
    """`--task` says that the given folder is what `<predictions>/<task>` would be."""
    assert keys(opened(fill(tmp_path / "work", "src/x"), task="alpha")) == ["alpha/0"]
    assert keys(opened(fill(tmp_path / "many", "0/x", "1/x"), task="alpha")) == ["alpha/0", "alpha/1"]
    (tmp_path / "mine.tar").write_bytes(packed(x="1"))
    source = opened(tmp_path / "mine.tar", task="beta")
    assert take(source, "beta/0", tmp_path / "out").files == 1


def test_lines_of_json(tmp_path: Path) -> None:
    """A JSONL file names trees and archives beside it; a task named again is its next attempt."""
    fill(tmp_path, "a/x", "b/y")
    (tmp_path / "c.tar").write_bytes(packed(z="1"))
    entries: list[dict[str, str | None]] = [
        {"instance_id": "alpha", "model_name_or_path": "m", "path": "a"},
        {"instance_id": "alpha", "model_name_or_path": "m", "path": None},
        {"instance_id": "alpha", "model_name_or_path": "m", "path": str(tmp_path / "b")},
        {"instance_id": "beta", "model_name_or_path": "m", "path": "c.tar", "cost": "unknown to us"},
    ]
    text = "\ufeff" + "\n\n".join(json.dumps(entry) for entry in entries)
    (tmp_path / "p.jsonl").write_text(text, encoding="utf-8")
    source = opened(tmp_path / "p.jsonl")
    assert keys(source) == ["alpha/0", "alpha/2", "beta/0"]
    assert not source.holds(AttemptKey(task="alpha", index=1))
    assert take(source, "alpha/2", tmp_path / "out").provenance.model_name == "m"
    assert (tmp_path / "out" / "y").read_text() == "b/y"
    assert model_named_in(tmp_path / "p.jsonl") == "m"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"instance_id": "alpha", "path": "a"', "line 2: not JSON: Expecting ',' delimiter (column 37)"),
        (b"[" * 100_000, "line 2: not JSON"),
        (b'"alpha"', "line 2: the line"),
        (b'{"path": "a"}', "line 2: instance_id: it is missing"),
        (b'{"instance_id": "alpha", "path": 3}', "line 2: path"),
        (b'{"instance_id": "alpah", "path": "a"}', "line 2: unknown task 'alpah'; did you mean 'alpha'"),
        (b'{"instance_id": "caf\xe9", "path": "a"}', "line 2: not UTF-8"),
        (b'{"instance_id": "alpha", "model_patch": "diff"}', "line 2: this suite takes whole repositories"),
        (b'{"instance_id": "alpha", "model_name_or_path": "n", "path": "a"}', "line 2: a second model"),
        (b"x" * (16 * 1024 * 1024 + 2), "line 2 is longer"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: bytes, says: str) -> None:
    """One sentence with file and line, before anything is graded."""
    good = b'{"instance_id": "beta", "model_name_or_path": "m", "path": "a"}\n'
    (tmp_path / "p.jsonl").write_bytes(good + line + b"\n")
    with pytest.raises(UsageError) as caught:
        opened(tmp_path / "p.jsonl")
    assert says in str(caught.value)


def test_a_path_in_a_line_stays_beside_its_file_unless_it_is_absolute(tmp_path: Path) -> None:
    """A relative path with `..`, half a surrogate or a NUL is named before anything runs."""
    fill(tmp_path, "outside/x", "p/a/x")
    paths = ["../outside", "\ud800", "a\0", "missing", "a"]
    lines = [json.dumps({"instance_id": "alpha", "path": path}) for path in paths]
    (tmp_path / "p" / "p.jsonl").write_text("\n".join(lines))
    source = opened(tmp_path / "p" / "p.jsonl")
    assert "leads out" in unusable(source, "alpha/0")
    assert "no path" in unusable(source, "alpha/1")
    assert "no path" in unusable(source, "alpha/2")
    assert "missing is not there; put" in unusable(source, "alpha/3")
    assert take(source, "alpha/4", tmp_path / "4").files == 1


def test_an_unknown_task_suggests_the_nearest(tmp_path: Path) -> None:
    """A folder that is no task stops the run before it starts: a slip must not look like a missing task."""
    with pytest.raises(UsageError, match=r"unknown task 'alhpa'; did you mean 'alpha'"):
        opened(fill(tmp_path / "p", "alhpa/x", "beta/x"))
    with pytest.raises(UsageError, match="did you mean 'gamma'"):
        opened(tmp_path / "p", task="gama")


def test_a_folder_of_predictions_one_level_down_is_named(tmp_path: Path) -> None:
    """Who unpacks an archive has a folder around them. It may also be a repository whose package is so named."""
    fill(tmp_path, "outer/beta/a.py")
    told = "unknown task 'outer'.*--task; if outer/beta is one, give -p .*/outer"
    with pytest.raises(UsageError, match=told):
        opened(tmp_path)


@pytest.mark.parametrize("inner", ["setup.py", "src/alpha.py", "alpha/__init__.py", "tests/test_it.py", "0/x"])
def test_a_task_that_is_named_beside_predictions_chooses_among_them(tmp_path: Path, inner: str) -> None:
    """`-p predictions/ --task alpha` is no repository that lacks everything, but predictions/alpha."""
    source = opened(fill(tmp_path / "p", f"alpha/{inner}", "beta/x", "notes.txt"), task="alpha")
    assert keys(source) == ["alpha/0"]
    take(source, "alpha/0", tmp_path / "out")
    assert (tmp_path / "out" / inner.removeprefix("0/")).is_file()


def test_a_task_that_is_not_among_the_predictions_is_refused(tmp_path: Path) -> None:
    """Those of other tasks are not graded as one repository for it, and neither is an empty folder."""
    with pytest.raises(UsageError, match="holds predictions for alpha, beta and none for gamma"):
        opened(fill(tmp_path / "p", "alpha/setup.py", "beta/x"), task="gamma")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is empty"):
        opened(tmp_path / "empty", task="gamma")


@pytest.mark.parametrize("files", [("alpha/__init__.py",), ("alpha/a.py", "setup.py"), ("alpha/x", "main.py")])
def test_a_package_that_is_called_as_its_task_is_no_prediction(tmp_path: Path, files: tuple[str, ...]) -> None:
    """One repository is taken whole, though its package has the task's name."""
    source = opened(fill(tmp_path / "p", *files), task="alpha")
    take(source, "alpha/0", tmp_path / "out")
    assert (tmp_path / "out" / files[0]).is_file()


def test_a_repository_one_folder_too_deep_is_named(tmp_path: Path) -> None:
    """Grading it as it lies would find nothing in it: the slip costs a sentence, and no points."""
    source = opened(fill(tmp_path / "p", "alpha/alpha/pyproject.toml", "alpha/alpha/alpha/a.py"))
    assert "alpha holds only the folder alpha/alpha, which has the pyproject.toml" in unusable(source, "alpha/0")


def test_an_attempt_of_a_run_is_no_repository(tmp_path: Path) -> None:
    """Copied as it lies, it would be graded with its records, and without its code where it should be."""
    folder = fill(tmp_path / "p", "alpha/submission/a.py") / "alpha"
    record = Submission(digest="d", files=1, bytes=0, provenance=Provenance(source="nop"))
    (folder / "submission.json").write_text(record.model_dump_json())
    assert "alpha is an attempt of a run; `groundup regrade RUN`" in unusable(opened(tmp_path / "p"), "alpha/0")


def test_a_repository_instead_of_predictions_gets_advice(tmp_path: Path) -> None:
    """Somebody who forgot `--task` learns of it."""
    with pytest.raises(UsageError, match=r"with --task$"):
        opened(fill(tmp_path / "p", "src/x", "setup.py"))
    with pytest.raises(UsageError, match=r"holds pyproject.toml, so it is one repository; .* --task alpha"):
        opened(fill(tmp_path / "alpha", "alpha/__init__.py", "pyproject.toml"))
    assert keys(opened(fill(tmp_path / "both", "alpha/x", "beta/x", "pyproject.toml"))) == ["alpha/0", "beta/0"]


@pytest.mark.parametrize("names", [[], ["README.md"], [".git/config"]])
def test_predictions_without_any_are_refused(tmp_path: Path, names: list[str]) -> None:
    """An empty folder, or one with notes only, is a mistake and not 104 tasks that no one attempted."""
    (tmp_path / "p").mkdir()
    with pytest.raises(UsageError, match=r"holds no predictions; expected .*/p/<task>/ with a repository in it"):
        opened(fill(tmp_path / "p", *names))
    (tmp_path / "lines.jsonl").write_text('{"instance_id": "alpha"}\n')
    with pytest.raises(UsageError, match="holds no predictions; expected lines with `instance_id` and `path`"):
        opened(tmp_path / "lines.jsonl")


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    """No such folder, and no such file."""
    for task in (None, "alpha"):
        with pytest.raises(UsageError, match=r"-p$"):
            opened(tmp_path / "missing", task=task)
        with pytest.raises(UsageError, match="-p; fetch what lies at an address first, such as by `git clone`"):
            opened(Path("https://host/predictions"), task=task)


def test_an_archive_at_the_wrong_place_gets_its_place_named(tmp_path: Path) -> None:
    """An archive beside the tasks would otherwise be overlooked."""
    with pytest.raises(UsageError, match=r"put it at alpha/submission\.tar\.gz"):
        opened(fill(tmp_path / "p", "alpha.tar.gz", "beta/x"))
    with pytest.raises(UsageError, match=r"put it at <task>/submission\.zip"):
        opened(fill(tmp_path / "other", "delta.zip", "beta/x"))
    with pytest.raises(UsageError, match="--task"):
        opened(tmp_path / "p" / "alpha.tar.gz")


def test_numbers_from_one_are_refused(tmp_path: Path) -> None:
    """Attempts count from 0; a set that starts at 1 would lose its denominator's meaning."""
    with pytest.raises(UsageError, match="count from 0"):
        opened(fill(tmp_path / "p", "alpha/1/x", "alpha/2/x"))


def test_what_was_laid_out_badly_is_named_before_anything_runs(tmp_path: Path) -> None:
    """A file, a dangling, circling or escaping link, a fifo, two archives: one sentence; others can be run."""
    root = fill(tmp_path / "p", "alpha/0/x", "gamma", "beta/3/submission.tar", "beta/3/submission.zip", "beta/4/x")
    fill(tmp_path, "secret/x")
    (root / "alpha" / "1").symlink_to("nowhere")
    (root / "alpha" / "2").symlink_to(tmp_path / "secret")
    (root / "alpha" / "3").symlink_to("3")
    (root / "alpha" / "4").symlink_to("0")
    (root / "alpha" / "5").symlink_to("/dev/null")
    os.mkfifo(root / "alpha" / "6")
    source = opened(root)
    expected = {
        "alpha/1": "link to nothing",
        "alpha/2": "leads out of the predictions",
        "alpha/3": "circle",
        "alpha/5": "leads out",
        "alpha/6": "neither a folder nor a file",
        "beta/3": "submission.tar and submission.zip; leave one",
        "gamma/0": "gamma is a file; a prediction is a folder gamma/",
    }
    for key, says in expected.items():
        assert says in unusable(source, key)
    with pytest.raises(UsageError, match=r"alpha/1 is a link to nothing.*\(6 more cannot be used\)"):
        digests(source)
    assert take(source, "alpha/4", tmp_path / "linked").files == 1
    assert take(source, "beta/4", tmp_path / "plain").files == 1


def test_a_tree_beyond_the_limits_is_the_submission_s_fault(tmp_path: Path) -> None:
    """A huge log in a prediction is refused before it is read, also when its digest is asked for."""
    root = fill(tmp_path / "p", "alpha/x")
    with (root / "alpha" / "huge.log").open("wb") as file:
        file.truncate(5 * 1024**3)
    source = opened(root)
    assert digests(source).keys() == {"alpha/0"}
    assert "huge.log" in refusal(source, "alpha/0", tmp_path / "out")


@pytest.mark.parametrize("ending", [".tar.gz", ".tar", ".tar.xz", ".tar.zst", ".zip"])
def test_an_archive_that_nobody_can_read_stops_the_run_before_it_starts(tmp_path: Path, ending: str) -> None:
    """Who packed it can pack it again; a zero would blame the model for the operator's disk."""
    fill(tmp_path / "p", f"alpha/submission{ending}", "beta/x")
    assert f"alpha/submission{ending}: the archive" in unusable(opened(tmp_path / "p"), "alpha/0")
    good = packed(gzip.compress, **{"x.py": "x" * 90_000})
    (tmp_path / "p" / f"alpha/submission{ending}").write_bytes(good[: len(good) // 2])
    assert "pack it again" in unusable(opened(tmp_path / "p"), "alpha/0")
    assert opened(tmp_path / "p").identity([AttemptKey(task="beta")]).keys() == {"beta/0"}


def test_an_archive_beyond_the_limits_is_the_submission_s_fault(tmp_path: Path) -> None:
    """It can be read, so the operator can mend nothing."""
    fill(tmp_path / "p", "alpha/submission.tar.gz")
    (tmp_path / "p" / "alpha/submission.tar.gz").write_bytes(packed(gzip.compress, **{"x.py": "x" * 90_000}))
    source = opened(tmp_path / "p", limits=TreeLimits(bytes=10_000))
    assert digests(source).keys() == {"alpha/0"}
    assert "10000" in refusal(source, "alpha/0", tmp_path / "out")


def test_what_was_dropped_is_reported_up_to_twenty(tmp_path: Path) -> None:
    """The record stays small, and says how many more there are."""
    (tmp_path / "p" / "alpha").mkdir(parents=True)
    for number in range(30):
        os.mkfifo(tmp_path / "p" / "alpha" / f"{number:02}")
    dropped = take(opened(tmp_path / "p"), "alpha/0", tmp_path / "out").dropped
    assert len(dropped) == 20
    assert dropped[0] == "00: fifo"
    assert dropped[-1] == "and 11 more"


def test_a_changed_prediction_changes_its_identity_and_no_other(tmp_path: Path) -> None:
    """A resume can say which prediction changed."""
    root = fill(tmp_path / "p", "alpha/x", "beta/x")
    before = digests(opened(root))
    (root / "beta" / "x").write_text("other")
    after = digests(opened(root))
    assert before["alpha/0"] == after["alpha/0"]
    assert before["beta/0"] != after["beta/0"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize(
    ("closed", "mode"),
    [("alpha", 0), ("alpha", 0o400), ("alpha/inner", 0), ("alpha/inner", 0o400), ("alpha/inner/x.py", 0)],
)
def test_what_may_not_be_read_is_named_before_anything_runs(tmp_path: Path, closed: str, mode: int) -> None:
    """A folder or file without permissions would leave holes that look like the model's."""
    root = fill(tmp_path / "p", "alpha/inner/x.py", "beta/x")
    place = root / closed
    usual = place.stat().st_mode
    place.chmod(mode)
    try:
        assert "cannot be read" in unusable(opened(root), "alpha/0")
    finally:
        place.chmod(usual)
