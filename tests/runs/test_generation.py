"""Runs that make their submissions: what is kept, what is graded, what is paid, and what a resume goes on with."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.api.reports import read_report
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import Status
from groundup.reports.views import views_of
from groundup.runs import api
from groundup.runs.progress import AttemptMade, AttemptSays, Warned
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder, Step, read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import EarlierRun, Generated, RunConfiguration
from tests.runs.configurations import PROVIDER, QUICK, TWO, Recorder
from tests.runs.toy import BEHAVIOUR
from tests.runs.toy_agent import AGENT, BUILDER

WRITTEN = "tests.runs.toy:create_written"
EDITS = "tests.runs.toy:create_edits"
FIRST, SECOND = AttemptKey(task="task-0000"), AttemptKey(task="task-0001")
ONLY_MADE = QUICK.but(generate_only=True)


def generated(suite: str = WRITTEN, agent: str = AGENT, **fields: object) -> RunConfiguration:
    """Return a configuration whose submissions an agent makes."""
    submissions = Generated.model_validate({"agent": agent, **fields})
    return RunConfiguration(suite=suite, submissions=submissions, sandbox=PROVIDER)


def toy(suite: str = WRITTEN, feedback: Feedback = Feedback.SCORE, **options: JsonValue) -> RunConfiguration:
    """Return a configuration of the toy agent."""
    return generated(suite, options=options, feedback=feedback)


def folder(result: api.Run, key: AttemptKey = FIRST) -> AttemptFolder:
    """Return an attempt's folder."""
    return RunFolder(result.folder).attempt(key)


def record(result: api.Run, key: AttemptKey = FIRST) -> Submission:
    """Return what was handed in."""
    found = folder(result, key).record()
    assert found is not None
    return found


def steps(result: api.Run, kind: str, key: AttemptKey = FIRST) -> list[Step]:
    """Return an attempt's steps of one kind."""
    return [step for step in read_trajectory(folder(result, key).trajectory_file) if step["kind"] == kind]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A model that hands in a submission which passes half; each reply costs 10 cents at $100 a million tokens."""
    path = tmp_path / "script.json"
    content = f"```path={BEHAVIOUR}\nhalf\n```\n"
    path.write_text(json.dumps({"turn": [{"content": content, "output_tokens": 1000}], "then": "repeat"}))
    return path


# --- what is kept


def test_a_submission_is_made_and_graded(settings: Settings, script: Path) -> None:
    """The run's verdicts are of what the model wrote; who made it and what it took is on record."""
    result = api.NewRun(
        generated(agent="oneshot", model=f"scripted/{script}"), QUICK, settings, run_id="one"
    ).work()
    assert result.exit_code == 0
    lines = RunFolder(result.folder).latest()
    assert [lines[key].verdict.score.value for key in (FIRST, SECOND)] == [0.5, 0.5]  # type: ignore[union-attr]
    made = record(result)
    assert made.digest == lines[FIRST].submission
    assert (made.provenance.source, made.provenance.agent_name) == ("agent", "oneshot")
    assert made.effort is not None
    assert (made.effort.turns, made.effort.usage.output_tokens) == (1, 1000)
    assert [step["kind"] for step in read_trajectory(folder(result).trajectory_file)] == [
        "began", "message", "message", "reply", "files", "workspace", "ended",
    ]  # fmt: skip


def test_what_the_agent_printed_is_kept(settings: Settings) -> None:
    """Beside the trajectory lie the agent's own logs."""
    result = api.NewRun(toy(), QUICK, settings, run_id="one").work()
    assert (folder(result).agent_logs / "agent.log").read_bytes() == b"words"


@pytest.mark.parametrize("outcome", [Outcome.LIMIT, Outcome.BUDGET, Outcome.REFUSED, Outcome.CRASHED])
def test_every_outcome_is_graded(settings: Settings, outcome: Outcome) -> None:
    """However an attempt ended, what lies in its workspace counts, and its line says how it ended."""
    result = api.NewRun(toy(outcome=outcome.value, behaviour="half"), QUICK, settings, run_id="one").work()
    line = RunFolder(result.folder).latest()[FIRST]
    assert line.outcome is outcome
    assert line.verdict is not None
    assert line.verdict.score is not None
    assert line.verdict.score.value == 0.5


def test_what_is_left_is_taken_in_like_a_strangers_tree(settings: Settings) -> None:
    """A link that leads outside is dropped and reported."""
    made = record(api.NewRun(toy(fault="hostile"), QUICK, settings, run_id="one").work())
    assert len(made.dropped) == 1
    assert made.dropped[0].startswith("way-out: ")


def test_of_edits_only_changes_are_handed_in(settings: Settings) -> None:
    """Files of the seeds that are as they were are no part of the submission."""
    result = api.NewRun(toy(EDITS), QUICK, settings, run_id="one").work()
    handed_in = folder(result).submission
    assert [path.name for path in handed_in.rglob("*")] == [BEHAVIOUR]
    assert steps(result, "note")[0]["withheld"] == ["the-original"]


def test_submissions_can_be_graded_again(settings: Settings) -> None:
    """A regrade takes what the agent handed in, with its effort."""
    result = api.NewRun(toy(behaviour="half"), QUICK, settings, run_id="one").work()
    again = api.regrading(result.folder, QUICK, settings, changes={"grader": "lax"}).work()
    assert record(again).effort == record(result).effort
    configuration = RunFolder(again.folder).config().configuration
    assert isinstance(configuration.submissions, EarlierRun)


# --- what the agent is reported


def test_submit_grades_what_is_there_and_tells_counts(settings: Settings) -> None:
    """The score is of the workspace at that moment, and the final verdict is of the end."""
    result = api.NewRun(toy(first="half", behaviour="pass"), QUICK, settings, run_id="one").work()
    assert steps(result, "told")[0]["message"] == "Submitted. Score 0.5000: 1 of 2 passed."
    line = RunFolder(result.folder).latest()[FIRST]
    assert line.verdict is not None
    assert line.verdict.score is not None
    assert line.verdict.score.value == 1.0
    assert not RunFolder(result.folder).scratch.exists()


@pytest.mark.parametrize("feedback", [Feedback.HIDDEN, Feedback.END])
def test_scores_can_be_hidden(settings: Settings, feedback: Feedback) -> None:
    """Then nothing is graded before the end, and the agent reads nothing of a score."""
    configuration = toy(first="half", feedback=feedback)
    (ended,) = steps(api.NewRun(configuration, QUICK, settings, run_id="one").work(), "told")
    assert "core" not in str(ended["message"]).replace("score is not shown", "")
    assert ended["ends"] is (feedback is Feedback.END)
    gradings = settings.cache_dir.parent / "gradings"
    assert (gradings / "task-0000").read_text().splitlines() == ["graded"]


def test_a_submission_that_cannot_be_graded_tells_zero(settings: Settings) -> None:
    """A fault of what was submitted is a score, not a failure."""
    (ended,) = steps(api.NewRun(toy(first="submission"), QUICK, settings, run_id="one").work(), "told")
    assert ended["message"] == "Submitted. Score 0.0000: 0 of 2 passed."


# --- faults


def test_a_failing_endpoint_is_tried_again_and_is_no_zero(settings: Settings) -> None:
    """The second try goes on from the trajectory of the first; both lines are there."""
    result = api.NewRun(toy(fault="infrastructure"), QUICK, settings, run_id="one").work()
    lines = [line for line in RunFolder(result.folder).lines() if line.attempt == FIRST]
    assert [line.outcome for line in lines] == [Outcome.INFRASTRUCTURE, Outcome.SUBMITTED]
    assert lines[0].verdict is not None
    assert lines[0].verdict.status is Status.INFRASTRUCTURE
    assert [step["tries"] for step in steps(result, "note")] == [0, 1]


@pytest.mark.parametrize(
    ("fault", "said"), [("task", "the task is at fault"), ("crash", "the agent crashed: Zero")]
)
def test_other_faults_are_owed_and_named(settings: Settings, fault: str, said: str) -> None:
    """A task that an agent cannot do, and a bug of the agent, are no scores and say who is to blame."""
    result = api.NewRun(toy(fault=fault), QUICK, settings, run_id="one").work()
    assert result.exit_code == 3
    verdict = RunFolder(result.folder).latest()[FIRST].verdict
    assert verdict is not None
    assert said in verdict.reasons[0].message


# --- generating only


def test_generating_only_grades_nothing_and_a_resume_grades(settings: Settings) -> None:
    """The run is complete without verdicts; a resume grades the same submissions and asks no agent again."""
    recorder = Recorder()
    made = api.NewRun(toy(), ONLY_MADE, settings, run_id="one").work(recorder)
    assert (made.exit_code, made.standing.made, made.standing.graded) == (0, 2, 0)
    assert sum(isinstance(event, AttemptMade) for event in recorder.events) == 2
    assert not (settings.cache_dir.parent / "gradings").exists()
    again = api.Resumption(made.folder, ONLY_MADE, settings).work()
    assert (again.exit_code, again.standing.made) == (0, 2)
    graded = api.Resumption(made.folder, QUICK, settings).work()
    assert (graded.exit_code, graded.standing.graded) == (0, 2)
    assert len(steps(graded, "began")) == 1


# --- money


def test_a_spent_budget_ends_the_run_and_a_larger_one_finishes_it(settings: Settings, script: Path) -> None:
    """What was not paid for is pending, not scored; earlier starts' costs count; nothing is asked twice."""
    recorder = Recorder()
    options = QUICK.but(jobs=1, max_cost_usd=0.15, price="0:100")
    settings_of_model = {"max_output_tokens": 1000}
    configuration = generated(agent="oneshot", model=f"scripted/{script}", model_settings=settings_of_model)
    result = api.NewRun(configuration, options, settings, run_id="one").work(recorder)
    assert (result.exit_code, result.standing.graded, result.pending) == (3, 1, 1)
    warnings = [event.message for event in recorder.events if isinstance(event, Warned)]
    assert any("--max-cost" in message for message in warnings)
    still = api.Resumption(result.folder, options, settings).work()
    assert still.standing.graded == 1
    richer = options.but(max_cost_usd=0.25)
    done = api.Resumption(result.folder, richer, settings).work()
    assert (done.exit_code, done.standing.graded) == (0, 2)
    assert [len(steps(done, "reply", key)) for key in (FIRST, SECOND)] == [1, 1]


def test_what_broken_answers_cost_is_on_record(settings: Settings, tmp_path: Path) -> None:
    """Three broken answers end a try, and the next gets a reply after one more: all four are paid for."""
    path = tmp_path / "script.json"
    failed = {"content": f"```path={BEHAVIOUR}\nhalf\n```\n", "output_tokens": 1000, "fail": ["broken"] * 4}
    path.write_text(json.dumps({"turn": [failed], "then": "repeat"}))
    configuration = generated(agent="oneshot", model=f"scripted/{path}", model_settings={"first_pause_s": 0.01})
    options = QUICK.but(jobs=1, max_cost_usd=5.0, price="0:100", retries=1, retry_delay_s=0.0)
    result = api.NewRun(configuration, options, settings, run_id="one").work()
    assert (result.exit_code, result.standing.graded) == (0, 2)
    (lost,), (reply,) = steps(result, "lost"), steps(result, "reply")
    uses = [TokenUsage.model_validate(use) for use in (lost["usage"], reply["usage"], reply["lost"])]
    effort = record(result).effort
    assert effort is not None
    assert effort.usage == uses[0] + uses[1] + uses[2]
    assert effort.cost_usd is not None
    assert effort.cost_usd == pytest.approx(float(str(lost["cost_usd"])) + float(str(reply["cost_usd"])))
    assert effort.cost_usd > 0.1
    assert effort.estimated


def test_what_a_model_writes_is_told_and_then_gone(settings: Settings, script: Path) -> None:
    """Where replies come as streams, those who look on hear of them; nothing of that stays in the folder."""
    recorder = Recorder()
    streamed = {"stream": True}
    configuration = generated(agent="oneshot", model=f"scripted/{script}", model_settings=streamed)
    result = api.NewRun(configuration, QUICK.but(jobs=1), settings, run_id="one").work(recorder)
    said = [event.text for event in recorder.events if isinstance(event, AttemptSays)]
    assert len(said) == 4
    assert f"path={BEHAVIOUR}" in said[0]
    assert said[1::2] == ["", ""]
    assert not folder(result).saying_file.exists()


def test_a_limit_on_money_needs_a_price(settings: Settings, script: Path) -> None:
    """Otherwise it would silently limit nothing."""
    configuration = generated(agent="oneshot", model=f"scripted/{script}")
    with pytest.raises(UsageError, match="needs a price"):
        api.NewRun(configuration, QUICK.but(max_cost_usd=1.0), settings, run_id="one").work()
    assert not (settings.output / "one").exists()


# --- what no attempt survives


@pytest.mark.parametrize(
    ("failure", "said"),
    [("key", "rejects the key"), ("absent", "check the model's name"), ("quota", "no money or quota left")],
)
@pytest.mark.parametrize("agent", ["oneshot", "loop"])
def test_an_unusable_model_ends_the_run_with_one_sentence(
    settings: Settings, tmp_path: Path, agent: str, failure: str, said: str
) -> None:
    """A wrong key, an absent model or an empty account is asked once, not three times for each attempt."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turn": [{"content": "", "fail": [failure] * 9}]}))
    recorder = Recorder()
    configuration = generated(agent=agent, model=f"scripted/{path}")
    options = QUICK.but(jobs=1, retries=2)
    quick = settings.but(builder=BUILDER)
    result = api.NewRun(configuration, options, quick, run_id="one").work(recorder)
    assert (result.exit_code, result.pending, result.standing.infrastructure) == (3, 2, 0)
    (warning,) = [event.message for event in recorder.events if isinstance(event, Warned)]
    assert said in warning
    assert [len(steps(result, "began", key)) <= 1 for key in (FIRST, SECOND)] == [True, True]
    path.write_text(json.dumps({"turn": [{"content": f"```path={BEHAVIOUR}\nhalf\n```\n"}], "then": "repeat"}))
    assert api.Resumption(result.folder, options, quick).work().exit_code == 0


def test_a_rejected_request_is_not_sent_again(settings: Settings, tmp_path: Path) -> None:
    """What an endpoint does not understand it will not understand the next time."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turn": [{"content": "", "fail": ["request"] * 9}]}))
    result = api.NewRun(
        generated(agent="oneshot", model=f"scripted/{path}"), QUICK.but(retries=2), settings, run_id="one"
    ).work()
    assert result.standing.infrastructure == 2
    assert [len(steps(result, "began", key)) for key in (FIRST, SECOND)] == [1, 1]


def test_a_program_that_cannot_be_installed_ends_the_run(settings: Settings, tmp_path: Path) -> None:
    """What the user named cannot work: one sentence, no "crashed: UsageError", and nothing is tried again."""
    path = tmp_path / "script.json"
    path.write_text('{"turn": []}')
    recorder = Recorder()
    configuration = generated(agent="cli", model=f"scripted/{path}", options={"preset": "codex@0.169.0"})
    options = QUICK.but(jobs=1)
    quick = settings.but(builder=BUILDER)
    result = api.NewRun(configuration, options, quick, run_id="one").work(recorder)
    assert (result.exit_code, result.pending, result.standing.infrastructure) == (3, 2, 0)
    (warning,) = [event.message for event in recorder.events if isinstance(event, Warned)]
    assert "cli:codex" in warning
    assert "crashed" not in warning


def test_what_is_made_is_not_shown_as_infrastructure(settings: Settings) -> None:
    """A try that failed and one that made the submission: it is made, and waits to be graded."""
    configuration = toy(fault="infrastructure")
    result = api.NewRun(configuration, ONLY_MADE.but(retries=2), settings, run_id="one").work()
    assert (result.standing.made, result.standing.infrastructure, result.exit_code) == (2, 0, 0)
    report = read_report([result.folder]).runs[0]
    assert (report.counts.made, report.counts.infrastructure) == (2, 0)
    assert {row.standing for row in report.attempts} == {"made"}
    (_, figures, *_) = views_of(read_report([result.folder]))
    assert ("made, without a score yet", "2") in figures.rows
    assert "infrastructure" not in str(figures.rows)
    graded = api.Resumption(result.folder, QUICK, settings).work()
    assert read_report([graded.folder]).runs[0].counts.graded == 2


def test_a_report_names_the_program_of_an_agent(settings: Settings, tmp_path: Path) -> None:
    """Codex and Claude Code are distinguished: in the table, in the name of the run, in what was handed in."""
    result = api.NewRun(toy(behaviour="half"), QUICK, settings).work()
    (view, *_) = views_of(read_report([result.folder]))
    assert "(behaviour=half)" in " ".join(view.above)
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turn": [{"content": "", "fail": ["key"]}]}))
    options: JsonValue = {"preset": "codex@0.169.0"}
    quick = settings.but(builder=BUILDER)
    result = api.NewRun(generated(agent="cli", model=f"scripted/{path}", options=options), QUICK, quick).work()
    assert "cli-codex" in result.folder.name
    (view, *_) = views_of(read_report([result.folder]))
    assert any(line.startswith("codex@0.169.0 with scripted/") for line in view.above)


# --- configurations


def test_an_agent_without_a_model_is_refused(settings: Settings) -> None:
    """Before anything is done, with what to say."""
    with pytest.raises(UsageError, match="name one with -m"):
        api.NewRun(generated(agent="loop"), QUICK, settings).plan()


def test_tasks_without_specification_are_refused(settings: Settings) -> None:
    """An agent cannot do what no one can tell it."""
    with pytest.raises(UsageError, match="groundup data pull"):
        api.NewRun(generated(TWO), QUICK, settings).plan()


def test_an_agent_s_run_pins_what_the_agent_reads(settings: Settings) -> None:
    """Another specification is another task for an agent, though the graders are the same."""
    (settings.cache_dir.parent / "instruction").touch()
    folder = api.NewRun(toy("tests.runs.toy:create_pulled"), ONLY_MADE, settings, run_id="one").work().folder
    kept = RunFolder(folder).config().pinned["task task-0000"]
    task = api.NewRun(toy("tests.runs.toy:create_pulled"), QUICK, settings).plan().tasks["task-0000"]
    assert kept == task.digest != task.graded_digest


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"behaviour": "half"}},
        {"limits": EpisodeLimits(turns=3)},
        {"model_settings": {"temperature": 1.0}},
        {"feedback": Feedback.HIDDEN},
    ],
)
def test_another_subject_is_another_run(settings: Settings, change: dict[str, object]) -> None:
    """A resume under other settings of agent, model or limits is refused by name."""
    result = api.NewRun(generated(), QUICK, settings, run_id="one").work()
    other = Generated.model_validate({"agent": AGENT, **change})
    with pytest.raises(UsageError, match="submissions"):
        api.Resumption(result.folder, QUICK, settings, changes={"submissions": other}).work()
