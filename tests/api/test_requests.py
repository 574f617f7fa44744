"""From flags to requests, and each sentence about a flag that cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.api.flags import EvaluateFlags
from groundup.api.requests import _grader, _sandbox, checked, evaluation, regrading
from groundup.api.selection import chosen_tasks, task_of
from groundup.api.subjects import assigned, feedback_of, settings_of_model
from groundup.domain.errors import UsageError
from groundup.runs.plan import RunOptions
from groundup.settings import Settings
from groundup.store.records import Predictions, RunConfiguration
from tests.runs.configurations import PROVIDER, TWO

FIRST, SECOND = "task-0000", "task-0001"


def sentence(asked: Callable[[], object]) -> str:
    """Return why something is refused."""
    with pytest.raises(UsageError) as caught:
        asked()
    return str(caught.value)


@pytest.mark.parametrize(
    ("folder", "flags", "task", "tasks"),
    [
        ("one", {"tasks": FIRST}, FIRST, (FIRST,)),
        ("one", {"tasks": [FIRST, SECOND]}, None, (FIRST, SECOND)),
        ("one", {"task": FIRST}, FIRST, None),
        ("one", {"task": FIRST, "tasks": FIRST}, FIRST, (FIRST,)),
        ("one", {"task": SECOND, "tasks": FIRST}, None, (SECOND, FIRST)),
        ("one", {}, None, None),
        ("many", {"tasks": FIRST}, None, (FIRST,)),
        ("many", {"task": FIRST}, FIRST, None),
        ("many", {"task": FIRST, "tasks": FIRST}, None, (FIRST,)),
        ("many", {}, None, None),
    ],
)
def test_a_repository_is_for_the_one_task_that_is_named(
    tmp_path: Path, settings: Settings, folder: str, flags: dict[str, Any], task: str | None, tasks: object
) -> None:
    """However it is named; a folder of predictions has one for each."""
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    (tmp_path / "one" / "setup.py").touch()
    configuration = evaluation(TWO, tmp_path / folder, settings=settings, **flags).configuration
    assert isinstance(configuration.submissions, Predictions)
    assert (configuration.submissions.task, configuration.tasks) == (task, tasks)


def test_a_request_without_flags_is_what_settings_say(tmp_path: Path, settings: Settings) -> None:
    """And what flags say with them."""
    plain = evaluation(TWO, tmp_path / "p", settings=settings)
    submissions = Predictions(path=str(tmp_path / "p"))
    assert plain.configuration == RunConfiguration(suite=TWO, submissions=submissions, sandbox=PROVIDER)
    assert plain.options == RunOptions(jobs=2, retry_delay_s=0)
    assert (plain.run_id, plain.only_predicted, plain.limit, plain.seed) == (None, False, None, 0)
    told = evaluation(
        TWO,
        tmp_path / "p",
        settings=settings,
        exclude=SECOND,
        attempts=2,
        timeout="5m",
        time="1h",
        no_cache=True,
        keep=True,
        jobs=3,
        limit=1,
        seed=4,
        only_predicted=True,
        run_id="mine",
        agent_name="a",
        model_name="m",
        strict_names=True,
    )
    assert told.configuration == RunConfiguration(
        suite=TWO,
        submissions=submissions.but(agent_name="a", model_name="m", strict_names=True),
        exclude=(SECOND,),
        attempts=2,
        timeout_s=300.0,
        sandbox=PROVIDER,
    )
    assert told.options == RunOptions(jobs=3, retry_delay_s=0, time_s=3600.0, use_cache=False, keep=True)
    assert (told.run_id, told.only_predicted, told.limit, told.seed) == ("mine", True, 1, 4)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"agent_jobs": 0}, "unknown option 'agent_jobs'; did you mean 'agent_name'?"),
        ({"jobs": 0}, "jobs: 0 is too little; it must be at least 1"),
        ({"jobs": True}, "jobs: must be a whole number"),
        ({"jobs": "x"}, "jobs: must be a whole number"),
        ({"attempts": 0}, "attempts: 0 is too little; it must be at least 1"),
        ({"limit": 0}, "limit: 0 is too little; it must be at least 1"),
        ({"timeout": -1}, "timeout: -1.0 is too little; it must be at least 0.1"),
        ({"seed": float("nan")}, "seed: must be a finite number"),
        ({"tasks": 3}, "tasks: must be text"),
        (
            {"timeout": "soon"},
            "timeout: 'soon' is no time: it must be a number with s, m, h, d or w, such as 30d, 8h or 90s",
        ),
    ],
)
def test_a_flag_that_cannot_be_is_named(flags: dict[str, object], says: str) -> None:
    """With what it must be."""
    assert sentence(lambda: checked(EvaluateFlags, flags)) == says


def test_flags_become_what_they_stand_for() -> None:
    """Those that say nothing are none; the least is allowed."""
    assert checked(EvaluateFlags, {"timeout": "5m", "time": 60, "keep": None, "jobs": "1", "limit": 1}) == {
        "timeout": 300.0,
        "time": 60.0,
        "jobs": 1,
        "limit": 1,
    }


@pytest.mark.parametrize(
    ("flags", "grader"),
    [
        ({}, None),
        ({"grader": "lax"}, "lax"),
        ({"no_exec": True}, "static"),
        ({"no_exec": True, "grader": "static"}, "static"),
        ({"integrity": "spot"}, "strict"),
        ({"integrity": "full", "grader": "full"}, "full"),
    ],
)
def test_flags_mean_graders(flags: dict[str, Any], grader: str | None) -> None:
    """Also where the same one is named."""
    assert _grader(flags) == grader  # type: ignore[arg-type]  # each key is a flag


def test_two_flags_that_mean_two_graders_are_refused() -> None:
    """The one to leave out is named."""
    for flags, says in (
        ({"no_exec": True, "grader": "strict"}, "--no-exec means the grader static; leave --grader strict out"),
        ({"integrity": "spot", "grader": "x"}, "--integrity spot means the grader strict; leave --grader x out"),
        ({"integrity": "full", "no_exec": True}, "--integrity full means the grader full; leave --no-exec out"),
    ):
        assert sentence(lambda flags=flags: _grader(flags)) == says  # type: ignore[misc]


def test_an_image_is_part_of_its_sandbox() -> None:
    """A file needs no engine; a name without one is refused."""
    for name, image, found in (
        (None, None, None),
        ("docker", None, "docker"),
        ("docker", "img", "docker@img"),
        ("docker@other", "img", "docker@img"),
        (None, "./img.tar", "bubblewrap@./img.tar"),
    ):
        assert _sandbox(name, image) == found
    assert sentence(lambda: _sandbox(None, "img")) == (
        "--image says what containers are made from; say `--sandbox docker` or `podman`, too, or name a file"
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["a-b=1"], {"a_b": "1"}),
        ([" a = true"], {"a": True}),
        (["a=null", "b=false"], {"a": None, "b": False}),
        (["a=3.10"], {"a": "3.10"}),
        (['a="x"'], {"a": '"x"'}),
        (['a={"b":[1]}'], {"a": {"b": [1]}}),
        (["a=", "b=x=y"], {"a": "", "b": "x=y"}),
        (["a=1", "a=2"], {"a": "2"}),
        ({"a": 1, "b": "x=y", "c": None, "d": [1]}, {"a": "1", "b": "x=y", "c": None, "d": [1]}),
        (None, {}),
    ],
)
def test_settings_are_read_alike_from_flags_and_from_python(given: Any, found: dict[str, object]) -> None:
    """Numbers stay texts, of which an option knows more; the last of a name counts."""
    assert assigned(given, "--option") == found


def test_a_setting_may_stand_in_a_file(tmp_path: Path) -> None:
    """As a text, or as what it says."""
    (tmp_path / "json").write_text('  {"a": 1}\n')
    (tmp_path / "text").write_text("\ufeffline\n")
    (tmp_path / "odd").write_bytes(b"\xff")
    assert assigned([f"a=@{tmp_path}/json", f"b=@{tmp_path}/text"], "--o") == {"a": {"a": 1}, "b": "line\n"}
    for text, says in (
        (f"a=@{tmp_path}/odd", f"--o: the file {tmp_path}/odd cannot be read: it is no text in UTF-8"),
        (f"a=@{tmp_path}/none", f"--o: the file {tmp_path}/none cannot be read: No such file or directory"),
        ("a", "--o 'a': write NAME=VALUE"),
        (" =1", "--o ' =1': write NAME=VALUE"),
    ):
        assert sentence(lambda text=text: assigned([text], "--o")) == says  # type: ignore[misc]


def test_tasks_are_named_with_commas(settings: Settings) -> None:
    """Each once, in order; none is no choice."""
    assert chosen_tasks(f"{SECOND},{FIRST},{SECOND}", settings) == (SECOND, FIRST)
    assert chosen_tasks(None, settings) is chosen_tasks([], settings) is None
    for given in ("a;b", "a b", " a ;; b "):
        assert sentence(lambda given=given: chosen_tasks(given, settings)) == (  # type: ignore[misc]
            "names are separated by commas: --tasks a,b"
        )
    assert sentence(lambda: chosen_tasks("failed:", settings)) == "--tasks failed: names no run; write failed:RUN"


def test_a_subject_s_flags() -> None:
    """What submit says, and which settings of a model are named: a flag of its own counts last."""
    told = [feedback_of({}), feedback_of({"hide_scores": True}), feedback_of({"end_at_submit": True})]
    assert told == ["score", "hidden", "end"]
    assert sentence(lambda: feedback_of({"hide_scores": True, "end_at_submit": True})) == (
        "--end-at-submit shows no score either; leave --hide-scores out"
    )
    assert settings_of_model({"model_option": ["a=1", "temperature=3"], "temperature": 0.0}) == {
        "a": "1",
        "temperature": 0.0,
    }


def test_what_is_not_there_is_for_no_task(tmp_path: Path, settings: Settings) -> None:
    """The sentence says what to look at; a run that is graded again has its tasks."""
    assert sentence(lambda: task_of(Path("absent"), None, settings)) == (
        "absent: no such suite, folder or archive; `groundup suites` lists the suites"
    )
    (tmp_path / "mine").mkdir()
    assert sentence(lambda: task_of(tmp_path / "mine", "made-up", settings)) == (
        f"no task is called 'made-up'; say which one {tmp_path / 'mine'} is for: `groundup evaluate SUITE -p "
        f"{tmp_path / 'mine'} --task TASK`; `groundup suites` and `groundup tasks SUITE` list them"
    )
    (tmp_path / "mine" / "six").mkdir()
    assert sentence(lambda: task_of(tmp_path / "mine", None, settings)) == (
        f"{tmp_path / 'mine'} holds predictions for nl2repobench: `groundup evaluate nl2repobench -p "
        f"{tmp_path / 'mine'}`"
    )
    assert sentence(lambda: regrading("absent", settings=settings)) == (
        f"unknown run 'absent'; choose from: (none) (looked in {tmp_path}/runs; --output names another folder)"
    )
