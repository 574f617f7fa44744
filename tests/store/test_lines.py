"""`store.lines`: every verdict line is short, and a damaged one is named."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.store.folder import LINE_BYTES, encode, read_lines
from groundup.store.records import VerdictLine

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def line(verdict: Verdict | None = None, task: str = "a") -> VerdictLine:
    """Return a line with *verdict*."""
    return VerdictLine(
        attempt=AttemptKey(task=task),
        outcome=Outcome.SUBMITTED if verdict else Outcome.NOT_ATTEMPTED,
        submission="sha256:" + "0" * 64,
        verdict=verdict,
        started_at=NOW,
        finished_at=NOW,
    )


def verdict(**further: object) -> Verdict:
    """Return a graded verdict with *further* fields."""
    fields = {
        "status": Status.GRADED,
        "score": Score(numerator=1, denominator=2),
        "grader": GraderIdentity(name="strict", version="1"),
        **further,
    }
    return Verdict.model_validate(fields)


def test_an_ordinary_line_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Nothing of a verdict is lost between writing and reading."""
    written = line(verdict(facts={"passed": 3}, reasons=(Reason(stage=Stage.TEST, message="é"),)))
    data, shortened = encode(written)
    assert not shortened
    (tmp_path / "verdicts.jsonl").write_bytes(data + b"\n")
    assert list(read_lines(tmp_path / "verdicts.jsonl")) == [written]


@given(
    messages=st.lists(st.text(max_size=400), max_size=4),
    facts=st.dictionaries(st.text(max_size=50), st.text(max_size=3000), max_size=20),
    scores=st.dictionaries(st.text(max_size=50), st.just(Score(numerator=1, denominator=3)), max_size=40),
)
def test_a_line_is_always_short_and_keeps_its_score(
    messages: list[str], facts: dict[str, str], scores: dict[str, Score]
) -> None:
    """However much a grader has to say, the line fits and status and main score stay."""
    reasons = tuple(Reason(stage=Stage.TEST, message=message) for message in messages)
    long = line(verdict(facts=facts, scores=scores, reasons=reasons))
    data, shortened = encode(long)
    assert len(data) <= LINE_BYTES
    assert b"\n" not in data
    back = VerdictLine.model_validate_json(data)
    assert back.verdict is not None
    assert back.verdict.score == Score(numerator=1, denominator=2)
    assert [reason.stage for reason in back.verdict.reasons] == [Stage.TEST] * len(messages)
    assert (back == long) is not shortened


def test_a_shortened_line_says_so() -> None:
    """A reader of a shortened verdict knows that there is more."""
    data, shortened = encode(line(verdict(facts={"long": "x" * 5000})))
    assert shortened
    back = VerdictLine.model_validate_json(data).verdict
    assert back is not None
    assert back.facts == {"shortened": True}


@pytest.mark.parametrize("damage", [b"garbage", b"", b'{"attempt": {"task": "../x"}}', b"\xff\xfe", b"[]"])
def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path, damage: bytes) -> None:
    """The error says which file and which line, and what to do."""
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(encode(line())[0] + b"\n" + damage + b"\n" + encode(line(task="b"))[0] + b"\n")
    with pytest.raises(UsageError, match=r"verdicts\.jsonl, line 2 is damaged .*resume the run"):
        list(read_lines(path))
