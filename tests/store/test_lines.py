"""`store.lines`: a line holds its whole verdict, and a damaged one is named."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.store.lines import Chain, encode, sealed_anew, written_lines
from groundup.store.records import (
    ConfigFile,
    JournalEnd,
    LockFile,
    Planned,
    References,
    RunConfiguration,
    Start,
    VerdictLine,
)

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
CONFIG = ConfigFile(
    run_id="one",
    created_at=NOW,
    suite_name="toy",
    grader="strict",
    configuration=RunConfiguration(suite="toy", submissions=References(which="nop")),
    planned=Planned(tasks=("a",), attempts=1),
    pinned={},
    digest="",
)


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


@given(
    messages=st.lists(st.text(max_size=400), max_size=4),
    facts=st.dictionaries(st.text(max_size=50), st.text(max_size=3000), max_size=20),
    scores=st.dictionaries(st.text(max_size=50), st.just(Score(numerator=1, denominator=3)), max_size=40),
)
def test_a_line_is_read_back_as_it_was(
    messages: list[str], facts: dict[str, str], scores: dict[str, Score]
) -> None:
    """Nothing of a verdict is lost between writing and reading, however much a grader has to say."""
    reasons = tuple(Reason(stage=Stage.TEST, message=message) for message in messages)
    long = line(verdict(facts=facts, scores=scores, reasons=reasons, counts={"of": [1, {"a": None}]}))
    data = encode(long)
    assert b"\n" not in data
    assert VerdictLine.model_validate_json(data) == long


@pytest.mark.parametrize("damage", [b"garbage", b"", b'{"attempt": {"task": "../x"}}', b"\xff\xfe", b"[]"])
def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path, damage: bytes) -> None:
    """By its number, with what is wrong; the lines around it are read."""
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(encode(line()) + b"\n" + damage + b"\n" + encode(line(task="b")) + b"\n")
    found = list(written_lines(path))
    assert [one.line and one.line.attempt.task for one in found] == ["a", None, "b"]
    assert found[1].number == 2
    assert found[1].why.startswith("it is damaged (")


@given(
    tasks=st.lists(st.sampled_from("abcd"), min_size=1, max_size=6),
    position=st.integers(min_value=0),
    other=st.binary(min_size=1, max_size=1),
)
def test_a_changed_byte_breaks_the_chain(tasks: list[str], position: int, other: bytes) -> None:
    """Whichever it is of whichever line: that line, or the next, does not fit any more."""
    chain, written = Chain(CONFIG), list[bytes]()
    for task in tasks:
        written.append(chain.seal(encode(line(verdict(), task)), 0))
        chain.add(written[-1])
    assert _fitting(written) == [True] * len(written)
    text = b"\n".join(written)
    position %= len(text)
    changed = text[:position] + other + text[position + 1 :]
    assume(changed != text)
    assert not all(_fitting(changed.split(b"\n")))


def _fitting(lines: list[bytes]) -> list[bool]:
    chain, fitting = Chain(CONFIG), []
    for data in lines:
        fitting.append(chain.fits(data, 0))
        chain.add(data)
    return fitting


def test_a_line_of_another_run_or_start_does_not_fit() -> None:
    """Each is bound to the run's name and grader, and to the machine and time of the start that wrote it."""
    start = Start(at=NOW, pid=1, groundup="1")
    chain = Chain(CONFIG)
    chain.know([start])
    sealed = chain.seal(encode(line(verdict())), 0)
    assert chain.fits(sealed, 0)
    for config, starts in (
        (CONFIG.but(run_id="other"), [start]),
        (CONFIG.but(grader="lax"), [start]),
        (CONFIG, [start.but(groundup="2")]),
        (CONFIG, []),
    ):
        other = Chain(config)
        other.know(starts)
        assert not other.fits(sealed, 0)


def test_lines_are_sealed_anew_for_a_run_that_says_other_things(tmp_path: Path) -> None:
    """Each with its chain, of which the lock tells; those that cannot be read, or have none, stay as they are."""
    start = Start(at=NOW, pid=1, groundup="1")
    lock, other = LockFile(starts=(start,)), CONFIG.but(run_id="other")
    chain, written = Chain(CONFIG), list[bytes]()
    chain.know(lock.starts)
    plain, damaged = encode(line(task="d")), b"no line"
    for data in (encode(line(verdict())), damaged, encode(line(task="b")), plain):
        written.append(data if data in (damaged, plain) else chain.seal(data, 0))
        chain.add(written[-1], is_line=data != damaged)
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b"".join(data + b"\n" for data in written))
    whole = hashlib.sha256(b"".join(written[:2])).hexdigest()
    had = lock.but(journal=JournalEnd(lines=4, chain=chain.end), mended=JournalEnd(lines=2, chain=whole))

    assert sealed_anew(written_lines(path), CONFIG, had) == (path.read_bytes(), had)
    assert sealed_anew(written_lines(path), CONFIG, lock) == (path.read_bytes(), lock)

    made, told = sealed_anew(
        written_lines(path), other, had, lambda one: one.but(submission=None) if one.attempt.task == "b" else one
    )
    assert made.endswith(b"\n")
    lines = made.split(b"\n")[:-1]
    assert (lines[1], lines[3]) == (damaged, plain)
    again = Chain(other)
    again.know(lock.starts)
    for number, data in enumerate(lines):
        assert again.fits(data, 0) is (number in (0, 2))
        again.add(data, is_line=data != damaged)
    assert told == had.but(
        journal=JournalEnd(lines=4, chain=again.end),
        mended=JournalEnd(lines=2, chain=hashlib.sha256(lines[0] + lines[1]).hexdigest()),
    )
    assert VerdictLine.model_validate_json(lines[2]).submission is None
    assert VerdictLine.model_validate_json(lines[0]).verdict == verdict()
    assert sealed_anew([], CONFIG, lock) == (b"", lock)
