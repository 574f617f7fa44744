"""What people read of who made a submission."""

import pytest

from groundup.domain.subjects import Subject


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
