"""Tests of `groundup judge`: judgements of a run by scripted models that speak real HTTP."""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import groundup as groundup_package
from groundup_judging.api import judge, judge_async
from groundup_judging.questions import CRITERIA
from tests.cli.conftest import TWO, Groundup, Predict
from tests.store.folders import edit_line

Judge = Callable[..., str]


def said(score: int, *, influenced: bool = False) -> str:
    """Return an answer with one score for everything."""
    scores = {name: {"score": score, "reason": "so"} for name in CRITERIA}
    return json.dumps({"scores": scores, "influenced": influenced})


@pytest.fixture
def scripted_judge(tmp_path: Path) -> Judge:
    """Write a scripted judge that says these things one after the other; return its name."""

    def write(name: str, *answers: str, head: str = "") -> str:
        turns = "".join(f"[[turn]]\ncontent = '''{answer}'''\n" for answer in answers)
        (tmp_path / f"{name}.toml").write_text(f"{head}\n{turns}")
        return f"scripted/{tmp_path}/{name}.toml"

    return write


@pytest.fixture
def run(groundup: Groundup, predict: Predict) -> str:
    """A run of two tasks; one submission has a README and tests."""
    folder = predict({"task-0000": "pass", "task-0001": "half"})
    (folder / "task-0000" / "README.md").write_text("# One\n")
    (folder / "task-0000" / "tests").mkdir()
    (folder / "task-0000" / "tests" / "test_one.py").write_text("def test(): ...\n")
    assert groundup("evaluate", TWO, "-p", folder, "--run-id", "one").code == 0
    return "one"


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    """Return the recorded judgements."""
    return [json.loads(line) for line in (tmp_path / "runs/one/judgements.jsonl").read_text().splitlines()]


def test_several_judges(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """Every matter that there is gets an opinion of each judge; agreement and disagreement are reported."""
    before = (tmp_path / "runs/one/verdicts.jsonl").read_bytes()
    kind, strict = scripted_judge("kind", said(9)), scripted_judge("strict", said(5, influenced=True))
    ended = groundup("judge", run, "-m", kind, "-m", strict, "--json")
    assert ended.code == 0, ended.err
    printed = json.loads(ended.out)["judged"]
    assert [(one["attempt"]["task"], one["of"]) for one in printed] == [
        ("task-0000", "readme"),
        ("task-0000", "repository"),
        ("task-0000", "tests"),
        ("task-0001", "repository"),
    ]
    assert not any(one["overall"]["agreed"] for one in printed)
    assert printed[0]["influenced"] == [strict]
    assert "nothing to judge as tests in 1 attempt: task-0001/0" in ended.err
    assert len(lines(tmp_path)) == 8
    assert (tmp_path / "runs/one/verdicts.jsonl").read_bytes() == before


def test_judging_from_python(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """`groundup.judge` returns what the command shows, and its twin for event loops takes the same."""
    assert {"judge", "judge_async"} <= {*dir(groundup_package)}
    assert groundup_package.judge is judge
    assert groundup_package.judge_async is judge_async
    plain, twin = (inspect.signature(one).parameters.keys() for one in (judge, judge_async))
    assert plain == twin
    (found,) = judge(run, model=[scripted_judge("kind", said(9))], of="readme", output=tmp_path / "runs")
    assert (found.attempt.task, found.of, found.overall.mean) == ("task-0000", "readme", 9)
    assert json.loads(groundup("judge", run, "--json").out)["judged"] == [found.model_dump(mode="json")]


def test_nothing_is_asked_twice(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """A second start asks only for what is missing; another judge is asked for everything."""
    assert groundup("judge", run, "-m", scripted_judge("one", said(8)), "--tasks", "task-0000").code == 0
    assert len(lines(tmp_path)) == 3
    again = groundup("judge", run, "-m", scripted_judge("one", said(8)))
    assert "1 judgement to ask for, 3 there already" in again.err
    assert "4 judgements to ask for, 0" in groundup("judge", run, "-m", scripted_judge("two", said(7))).err
    shown = groundup("judge", run)
    assert shown.out.count("yes") == 4


def test_a_torn_line_is_asked_again(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """A judgement that a killed process had half written counts as never made."""
    one = scripted_judge("one", said(8))
    assert groundup("judge", run, "-m", one).code == 0
    file = tmp_path / "runs/one/judgements.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    assert "1 judgement to ask for, 3 there already" in groundup("judge", run, "-m", one).err
    assert len(lines(tmp_path)) == 4


def test_answers_in_the_wrong_form(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """A judge may mend its answer; one that cannot has no opinion, costs no score, and is pending again."""
    late = scripted_judge("late", "I would say nine.", said(9))
    assert (
        json.loads(groundup("judge", run, "-m", late, "--of", "readme", "--json").out)["judged"][0]["overall"][
            "mean"
        ]
        == 9
    )
    assert groundup("judge", run, "-m", scripted_judge("prompt", said(9)), "--of", "readme").code == 0
    twice, once = (line["usage"]["output_tokens"] for line in lines(tmp_path))
    assert twice > once > 100  # both answers are paid for
    never = scripted_judge("never", "Ten!", head='then = "repeat"')
    ended = groundup("judge", run, "-m", never, "--of", "readme")
    assert ended.code == 0  # of the other judge there is an opinion
    assert "gives no scores: its answer is not in the form" in ended.err
    assert lines(tmp_path)[-1]["scores"] == {}
    assert "1 judgement to ask for, 0 there already" in groundup("judge", run, "-m", never, "--of", "readme").err


def test_a_run_that_was_changed_is_said(
    groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path
) -> None:
    """Exit code 4, before anybody is asked and with the judgements: whoever reads them knows what they are of."""
    edit_line(tmp_path / "runs/one", 1, lambda line: line["verdict"]["score"].update(numerator=3))
    for more in (("-m", scripted_judge("one", said(8)), "--dry-run"), ("-m", scripted_judge("one", said(8))), ()):
        ended = groundup("judge", run, *more)
        assert ended.code == 4
        assert "verdicts.jsonl, line 1: its score is 3 of 2" in " ".join(ended.err.split())


def test_money_ends_the_work(groundup: Groundup, run: str, scripted_judge: Judge) -> None:
    """A limit on the cost holds; what it leaves is pending."""
    one = scripted_judge("one", said(8))
    ended = groundup("judge", run, "-m", one, "-j", "1", "--price", "1:1", "--max-cost", "0.0065", "--json")
    assert ended.code == 3
    assert "raise --max-cost" in ended.err
    kept = len(json.loads(ended.out)["judged"])
    assert 0 < kept < 4
    assert (
        f"{4 - kept} judgement{'s' * (kept < 3)} to ask for, {kept} there" in groundup("judge", run, "-m", one).err
    )


def test_a_dry_run_needs_no_key(groundup: Groundup, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No one is asked, so no one wants to know who asks."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert groundup("judge", run, "-m", "openai/gpt-4.1", "--dry-run").code == 0
    refused = groundup("judge", run, "-m", "openai/gpt-4.1")
    assert refused.code == 2
    assert "OPENAI_API_KEY" in refused.err


def test_what_would_be_asked(groundup: Groundup, run: str, scripted_judge: Judge, tmp_path: Path) -> None:
    """A dry run tells how many questions and tokens there are, and asks nothing."""
    ended = groundup("judge", run, "-m", scripted_judge("one", said(8)), "--dry-run", "--json")
    assert json.loads(ended.out)["pending"] == 4
    assert json.loads(ended.out)["input_tokens"] > 0
    assert not (tmp_path / "runs/one/judgements.jsonl").exists()


def test_a_question_leaves_room_for_the_answer(
    groundup: Groundup, predict: Predict, scripted_judge: Judge
) -> None:
    """However large a submission is: its question fills a judge's window up to the 4,000 tokens of an answer."""
    (predict({"task-0000": "pass"}) / "task-0000" / "README.md").write_text("of words, and more\n" * 20_000)
    assert groundup("evaluate", TWO, "-p", "predictions", "--run-id", "large").code == 0
    asked = ("judge", "large", "-m", scripted_judge("one", said(8)), "--of", "readme", "--tasks", "task-0000")
    for window in (6000, 20_000):
        ended = groundup(*asked, "--context-tokens", window, "--dry-run", "--json")
        assert 0.6 * (window - 4000) < json.loads(ended.out)["input_tokens"] <= window - 4000


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--of", "looks"), "unknown matter"),
        (("--tasks", "task-9"), "unknown task"),
        (("--base-url", "http://127.0.0.1:1", "--base-url", "http://127.0.0.1:2"), "one for each"),
    ],
)
def test_bad_input(
    groundup: Groundup, run: str, scripted_judge: Judge, arguments: tuple[str, ...], hint: str
) -> None:
    """What cannot be judged is reported before anything is asked."""
    ended = groundup("judge", run, "-m", scripted_judge("one", said(8)), *arguments)
    assert ended.code == 2
    assert hint in ended.err


def test_no_usable_judgement_is_no_success(groundup: Groundup, run: str, scripted_judge: Judge) -> None:
    """2 before anybody was asked, 3 where nobody scored: after 0 a script would go on with nothing."""
    nobody = groundup("judge", run)
    assert (nobody.code, "name a judge with -m" in nobody.err) == (2, True)
    assert json.loads(groundup("judge", run, "--json").out)["exit_code"] == 2
    never = scripted_judge("never", "Ten!", head='then = "repeat"')
    ended = groundup("judge", run, "-m", never, "--json")
    assert ended.code == 3
    assert "no judge gave scores" in ended.err
    assert len(json.loads(ended.out)["judged"]) == 4
    assert groundup("judge", run).code == 3


def test_what_is_printed_to_the_letter(
    groundup: Groundup, run: str, scripted_judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row each: means, disagreements with every score, a dash where there is none, and notes."""
    monkeypatch.setenv("COLUMNS", "500")
    kind, mild = scripted_judge("kind", said(9)), scripted_judge("mild", said(6, influenced=True))
    hard, never = scripted_judge("hard", said(2)), scripted_judge("never", "Ten!", head='then = "repeat"')

    def rows(*arguments: str) -> list[list[str]]:
        ended = groundup("judge", run, "--of", "readme,tests", *arguments)
        assert ended.code in (0, 3), ended.err
        return [re.split(r"  +", line.strip()) for line in ended.out.splitlines() if "task-" in line]

    each = (["task-0000/0", "readme"], ["task-0000/0", "tests"])
    notes = f"{never} gives no scores"
    assert rows("-m", never) == [[*one, *["-"] * 7, notes] for one in each]
    assert rows("-m", kind) == [[*one, "9", "yes", *["9"] * 5, notes] for one in each]
    notes = f"{mild} sees an attempt to sway it; {notes}"
    assert rows("-m", mild) == [[*one, "7.5", "yes", *["7.5"] * 5, notes] for one in each]
    apart = "disagree: 9, 6, 2"
    assert rows("-m", hard) == [[*one, apart, "-", *[apart] * 5, notes] for one in each]


def test_what_is_said_to_the_letter(groundup: Groundup, run: str, scripted_judge: Judge) -> None:
    """How much there is to ask, what has nothing to judge, who gives no scores; the plan before that."""
    never = scripted_judge("never", "Ten!", head='then = "repeat"')
    plan = groundup("judge", run, "-m", never, "--of", "tests", "--dry-run")
    assert plan.code == 0
    assert re.fullmatch(
        r"\s*What would be asked\s+questions +judged already +input tokens +output tokens\s+─+\s+"
        r"1 +0 +at most about \d+ +at most 4000\s*",
        plan.out,
    )
    ended = groundup("judge", run, "-m", never, "--of", "tests")
    assert [" ".join(line.split()) for line in " ".join(ended.err.split()).split("groundup: ")] == [
        f"1 judgement to ask for, 0 there already nothing to judge as tests in 1 attempt: task-0001/0"
        f" task-0000/0 tests: {never} gives no scores: its answer is not in the form: it is not one JSON object:"
        f" Expecting value: line 1 column 1 (char 0)",
        "no judge gave scores that can be used; the same command asks again",
    ]
    twice = groundup("judge", run, "-m", never, "-m", never)
    assert (twice.code, " ".join(twice.err.split())) == (
        2,
        "groundup: the same judge twice is no second opinion; name each -m once",
    )
