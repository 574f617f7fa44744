"""What people read of who made a submission."""

import pytest

from groundup.domain.subjects import AttemptKey, Subject


@pytest.mark.parametrize(
    ("subject", "title", "further"),
    [
        (Subject(agent="nop"), "nop", ""),
        (Subject(agent="loop", model="m/1", settings={"turns": 9}), "loop with m/1", "turns=9"),
        (
            Subject(agent="cli", model="m/1", settings={"preset": "codex@0.169.0", "rounds": 2}),
            "codex@0.169.0 with m/1",
            "rounds=2",
        ),
        (Subject(agent="my:agent", settings={"preset": "a"}), "my:agent", "preset=a"),
    ],
)
def test_a_program_is_called_by_its_own_name(subject: Subject, title: str, further: str) -> None:
    """Who typed `-a codex` reads codex, not what records call all programs."""
    assert (subject.title, subject.told_settings) == (title, further)


def test_attempts_are_the_same_by_task_and_index() -> None:
    """In sets and tables, too."""
    one = AttemptKey(task="a", index=1)
    assert one == AttemptKey(task="a", index=1)
    assert one not in (AttemptKey(task="b", index=1), AttemptKey(task="a"), "a/1", ("a", 1))
    assert len({one, AttemptKey(task="a", index=1), AttemptKey(task="a")}) == 2
    assert [str(one), str(AttemptKey(task="b"))] == ["a/1", "b/0"]
