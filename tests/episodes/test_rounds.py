"""Feedback rounds: what an agent is told between them, what they start from, and that none is made twice."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.episodes.rounds import public_part
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import RunConfiguration
from tests.runs.configurations import PROVIDER, QUICK
from tests.runs.test_generation import folder, generated, record, steps
from tests.runs.toy_agent import BUILDER

ONE = QUICK.but(retries=0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that write nowhere else."""
    return Settings(cache_dir=tmp_path / "cache", output=tmp_path / "runs", sandbox=PROVIDER, builder=BUILDER)


def rounds(number: int, *words: str, limits: EpisodeLimits | None = None) -> RunConfiguration:
    """Return a run of one task, of whose rounds each hands in the next of *words*."""
    made = generated(options={"by_round": list(words)}, rounds=number, limits=limits or EpisodeLimits())
    return made.but(tasks=("task-0000",))


def test_each_round_goes_on_and_is_told_its_counts(settings: Settings) -> None:
    """A round starts from what the one before left; the verdict is on the last, and each score is kept."""
    result = api.NewRun(rounds(3, "fail", "half", "half"), ONE, settings, run_id="one").work()
    began = steps(result, "round began")
    assert [step["lay"] for step in began] == ["", "fail", "half"]
    assert began[0]["told"] == ""
    assert "0 of 2 passed" in str(began[1]["told"])
    assert "1 of 2 passed" in str(began[2]["told"])
    assert "It will be tested again" in str(began[1]["told"])
    assert "It will be tested again" not in str(began[2]["told"])
    effort = record(result).effort
    assert effort is not None
    assert effort.rounds == (0.0, 0.5)
    assert (effort.turns, effort.cost_usd) == (6, 1.5)
    assert [step["turn"] for step in began] == [1, 3, 5], "turns are counted through all rounds"
    config = RunFolder(result.folder).config()
    assert config.configuration.subject.settings["rounds"] == 3


def test_full_points_and_spent_limits_end_it(settings: Settings) -> None:
    """There is no further round with nothing to gain, or nothing left to work with."""
    result = api.NewRun(rounds(3, "pass", "half", "half"), ONE, settings, run_id="full").work()
    assert len(steps(result, "round began")) == 1
    limited = rounds(3, "fail", "half", "half", limits=EpisodeLimits(turns=4))
    result = api.NewRun(limited, ONE, settings, run_id="limited").work()
    assert [step["turns"] for step in steps(result, "round began")] == [4, 2]


def test_an_interrupted_attempt_goes_on_in_its_round(settings: Settings) -> None:
    """What a round handed in is kept: no round is made, and no submission graded for its agent, twice."""
    result = api.NewRun(rounds(3, "fail", "half down", "pass"), ONE, settings, run_id="one").work()
    assert result.exit_code == 3
    result = api.Resumption(result.folder, ONE, settings).work()
    assert result.exit_code == 0
    assert [step["number"] for step in steps(result, "round began")] == [1, 2, 2, 3]
    assert [step["number"] for step in steps(result, "told")] == [1, 2]
    assert [step["lay"] for step in steps(result, "round began")] == ["", "fail", "fail", "half"]
    effort = record(result).effort
    assert effort is not None
    assert effort.rounds == (0.0, 0.5)
    kept = folder(result).path / "rounds"
    assert sorted(path.name for path in kept.iterdir()) == ["1", "2"]


def test_the_public_part_quotes_no_test() -> None:
    """Reasons, which quote hidden tests, and further scores stay where they are; the stage is told."""
    verdict = Verdict(
        status=Status.GRADED,
        score=Score(numerator=3, denominator=4),
        scores={"on_fresh_inputs": Score(numerator=1, denominator=4)},
        reasons=(Reason(stage=Stage.TEST, message="tests/test_secret.py::test_it: assert f(17) == 4711"),),
        grader=GraderIdentity(name="strict", version="1", data_version="1", environment="rebuilt"),
    )
    assert public_part(verdict) == "Score 0.7500: 3 of 4 passed. Where points were lost: tests failed."


def test_agents_that_do_not_look_back_have_no_rounds(settings: Settings) -> None:
    """One question and one reply: a score would tell nobody anything."""
    with pytest.raises(UsageError, match="leave --rounds out"):
        api.NewRun(generated(agent="oneshot", model="scripted/x", rounds=2), ONE, settings).plan()
