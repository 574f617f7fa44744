"""What `groundup.judge` and its plan do with what they are given, and the sentences on the way."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.settings import Settings, load
from groundup.store.judgements import Judgement, JudgementsFile, Opinion
from groundup_judging.api import JudgingPlan, judge, judging_plan, opinions
from groundup_judging.questions import CRITERIA
from tests.cli.conftest import TWO, Groundup
from tests.groundup_judging.test_work import GOOD, hand_in
from tests.reports.made import Word
from tests.viewer.made import write_run

Script = Callable[..., str]


@pytest.fixture
def at(tmp_path: Path) -> Settings:
    """Runs of the test's own: one of twelve attempts at a task, of which the first handed in a README."""
    ended: dict[str, list[Word]] = {"task-0000": [(1, 2)] * 12}
    run = write_run(tmp_path / "runs", "r1", ended, suite=TWO)
    for number in range(12):
        hand_in(run, "task-0000", number, *(["README.md"] if number == 0 else ["a.py"]))
    return load({"output": str(tmp_path / "runs"), "cache_dir": str(tmp_path / "cache")})


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a judge that always says this; return its name."""

    def write(name: str, answer: str) -> str:
        said = f"then = \"repeat\"\n[[turn]]\ncontent = '''{answer}'''\n"
        (tmp_path / f"{name}.toml").write_text(said)
        return f"scripted/{tmp_path}/{name}.toml"

    return write


def test_what_is_said_while_judges_work(at: Settings, script: Script) -> None:
    """How much there is to ask, of whom there is nothing, by ten names, and who gives no scores; no good ones."""
    kind, never = script("kind", GOOD), script("never", "Ten!")
    said: list[str] = []
    found = judge("r1", progress=said.append, settings=at, model=[kind, never], of="readme,tests")
    names = [f"task-0000/{number}" for number in range(12)]
    assert said[:3] == [
        "2 judgements to ask for, 0 there already",
        f"nothing to judge as tests in 12 attempts: {', '.join(names[:10])}",
        f"nothing to judge as readme in 11 attempts: {', '.join(names[1:11])}",
    ]
    assert said[3:] == [
        f"task-0000/0 readme: {never} gives no scores: its answer is not in the form: it is not one JSON object: "
        "Expecting value: line 1 column 1 (char 0)"
    ]
    (one,) = found
    assert (one.overall.scores, list(one.failed)) == ({kind: 8.0}, [never])
    assert opinions("r1", settings=at) == found
    plan = judging_plan("r1", settings=at, model=[kind, never], of="readme")
    assert plan == JudgingPlan(pending=1, done=1, input_tokens=plan.input_tokens, output_tokens=4000)
    assert 500 < plan.input_tokens < 2000
    assert judge("r1", settings=at, model=kind, of="readme") == found, "nobody needs to hear it"


@pytest.mark.parametrize(
    ("urls", "judges", "error"),
    [
        (["http://127.0.0.1:1"], 2, None),
        (["http://127.0.0.1:1", "http://127.0.0.1:2"], 2, None),
        ([], 2, None),
        (["http://127.0.0.1:1"] * 2, 1, "2 times --base-url for 1 judges: say one for all, or one for each"),
        (["http://127.0.0.1:1"] * 3, 2, "3 times --base-url for 2 judges: say one for all, or one for each"),
    ],
)
def test_one_address_for_all_or_one_for_each(
    at: Settings, urls: list[str], judges: int, error: str | None
) -> None:
    """Any other number is a mistake."""
    models = [f"openai/m{number}" for number in range(judges)]
    if error is None:
        assert judging_plan("r1", settings=at, model=models, base_url=urls, of="readme").pending == judges
        return
    with pytest.raises(UsageError, match=f"^{error}$"):
        judging_plan("r1", settings=at, model=models, base_url=urls, of="readme")


def test_a_mistake_in_what_is_asked(at: Settings) -> None:
    """A judge twice, and a matter that is none, are refused; without a matter all three are asked for."""
    with pytest.raises(UsageError, match=r"^the same judge twice is no second opinion; name each -m once$"):
        judging_plan("r1", settings=at, model=["openai/m", "openai/m"])
    with pytest.raises(UsageError, match=r"^unknown matter to judge 'looks'"):
        judging_plan("r1", settings=at, model="openai/m", of="readme,looks")
    assert judging_plan("r1", settings=at, model="openai/m", tasks="task-0000").pending == 13
    assert judging_plan("r1", settings=at).pending == 0


def judged(judge: str, score: int | None, task: str = "task-0000", *, swayed: bool = False) -> Judgement:
    """Return a judgement with one score for everything, or none."""
    return Judgement(
        attempt=AttemptKey(task=task, index=0),
        of="readme",
        judge=judge,
        question="sha256:0",
        scores={} if score is None else {name: Opinion(score=score, reason="") for name in CRITERIA},
        influenced=swayed,
        failed="refused" if score is None else None,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("given", "row", "code"),
    [
        ([judged("p/a", 9)], ["9", "yes", *["9"] * 5], 4),
        (
            [judged("p/a", 9), judged("p/b", 6, swayed=True)],
            ["7.5", "yes", *["7.5"] * 5, "p/b sees an attempt to sway it"],
            4,
        ),
        ([judged("p/a", 6), judged("p/b", None)], ["6", "no", *["6"] * 5, "p/b gives no scores"], 4),
        ([judged("p/a", 9), judged("p/b", 2)], ["disagree: 9, 2", "-", *["disagree: 9, 2"] * 5], 4),
        ([judged("p/a", None)], ["-", "-", *["-"] * 5, "p/a gives no scores"], 3),
    ],
)
def test_rows_of_the_command(
    at: Settings,
    groundup: Groundup,
    monkeypatch: pytest.MonkeyPatch,
    given: list[Judgement],
    row: list[str],
    code: int,
) -> None:
    """A mean, every score where judges disagree, a dash where there is none; and what a reader must know.

    4 in place of 0: the run's folder was filled by hand.
    """
    monkeypatch.setenv("COLUMNS", "500")
    with JudgementsFile(Path(str(at.output)) / "r1") as file:
        for one in given:
            file.append(one)
    ended = groundup("judge", "r1")
    assert ended.code == code
    title, *_, last = (line.strip() for line in ended.out.splitlines() if line.strip())
    assert title == "What judges say (0 to 10; apart from tests)"
    assert re.split(r"  +", last) == ["task-0000/0", "readme", *row]
    assert ("no judge gave scores that can be used" in ended.err) == (code == 3)
    planned = groundup("judge", "r1", "-m", "openai/gpt-4.1", "--of", "readme", "--dry-run")
    assert planned.code == 4
    assert re.fullmatch(r"1  +0  +at most about \d+  +at most 4000", planned.out.strip().splitlines()[-1].strip())


def test_what_judges_need_is_asked_for(at: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key before anybody is asked, and a file of prices where one is named."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        judge("r1", settings=at, model="openai/m", of="readme")
    with pytest.raises(UsageError, match="/none/prices"):
        judging_plan("r1", settings=at, model="openai/m", of="readme", prices="/none/prices.toml")
