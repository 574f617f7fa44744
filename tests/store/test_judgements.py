"""`store.judgements`: what models said of a run, one process at a time."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.usage import TokenUsage
from groundup.store.judgements import FILE_NAME, Judgement, JudgementsFile, read_judgements


def judgement(task: str, vote: int = 0) -> Judgement:
    """Return a judgement of a task's first attempt."""
    key, day = AttemptKey(task=task), datetime(2026, 1, 1, tzinfo=UTC)
    return Judgement(attempt=key, of="readme", judge="one/model", question="sha256:0", vote=vote, at=day)


def test_judgements_are_read_in_their_order(tmp_path: Path) -> None:
    """Also those of an earlier process; further votes of earlier versions, and a torn last line, count nothing."""
    assert list(read_judgements(tmp_path)) == []
    for task, vote in (("b", 0), ("a", 0), ("a", 1)):
        with JudgementsFile(tmp_path) as file:
            file.append(judgement(task, vote))
    with (tmp_path / FILE_NAME).open("ab") as torn:
        torn.write(b'{"attempt"')
    assert list(read_judgements(tmp_path)) == [judgement("b"), judgement("a")]


def test_a_damaged_judgement_is_named_by_its_line(tmp_path: Path) -> None:
    """Nothing is left out unseen."""
    (tmp_path / FILE_NAME).write_text(f"{judgement('a').model_dump_json()}\n{{}}\n")
    with pytest.raises(UsageError, match=r"judgements\.jsonl, line 2 is damaged; restore the file or remove"):
        list(read_judgements(tmp_path))


def test_a_run_is_judged_by_one_process_at_a_time(tmp_path: Path) -> None:
    """Two would ask, and pay, for the same."""
    with JudgementsFile(tmp_path), pytest.raises(UsageError, match="another process judges the run"):
        JudgementsFile(tmp_path)
    with JudgementsFile(tmp_path) as file:
        file.append(judgement("a"))
    assert [one.attempt.task for one in read_judgements(tmp_path)] == ["a"]


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"scores": {"coverage": {"score": 10, "reason": "x" * 400}}}, True),
        ({"scores": {"coverage": {"score": 0, "reason": ""}}}, True),
        ({"scores": {"coverage": {"score": 11, "reason": ""}}}, False),
        ({"scores": {"coverage": {"score": -1, "reason": ""}}}, False),
        ({"scores": {"coverage": {"score": 1, "reason": "x" * 401}}}, False),
        ({"scores": {"beauty": {"score": 1, "reason": ""}}}, False),
        ({"of": "sources"}, False),
        ({"failed": "x" * 400}, True),
        ({"failed": "x" * 401}, False),
        ({"vote": -1}, False),
        ({"further": 1}, False),
    ],
)
def test_a_line_says_what_a_judge_can_say(tmp_path: Path, changes: dict[str, object], *, holds: bool) -> None:
    """Of known matters, by known criteria, from 0 to 10, in 400 characters."""
    document = {**judgement("a").model_dump(mode="json"), **changes}
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps(document) + "\n")
    if holds:
        (found,) = read_judgements(tmp_path)
        assert found.model_dump(mode="json") == document
        return
    with pytest.raises(UsageError) as damaged:
        list(read_judgements(tmp_path))
    assert str(damaged.value) == f"{path}, line 1 is damaged; restore the file or remove that line"


def test_what_a_judge_did_not_say_is_nothing() -> None:
    """No scores, no cost, not swayed; the first vote."""
    found = judgement("a")
    assert (found.vote, found.scores, found.influenced, found.failed) == (0, {}, False, None)
    assert (found.shown_files, found.all_files, found.usage, found.cost_usd) == (0, 0, TokenUsage(), None)
