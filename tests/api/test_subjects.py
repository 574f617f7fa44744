"""From flags to an agent with its model, settings, limits and strategy."""

from typing import Any

import pytest

from groundup.api.subjects import settings_of_model, subject_of
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.store.records import Generated


@pytest.mark.parametrize(
    ("flags", "subject"),
    [
        ({}, {}),
        ({"model": "a/b", "rounds": 3}, {"model": "a/b", "rounds": 3}),
        ({"select": "own-tests"}, {"select": Selection.OWN_TESTS}),
        ({"hide_scores": True}, {"feedback": Feedback.HIDDEN}),
        ({"end_at_submit": True}, {"feedback": Feedback.END}),
        ({"agent_option": ["a=1"]}, {"options": {"a": "1"}}),
        ({"model_option": {"b": True}, "temperature": 0.5}, {"model_settings": {"b": True, "temperature": 0.5}}),
        (
            {"max_turns": 1, "max_tokens": 2, "max_attempt_cost": 3.0, "max_seconds": 4.0},
            {"limits": EpisodeLimits(turns=1, tokens=2, cost_usd=3.0, wall_clock_s=4.0)},
        ),
    ],
)
def test_flags_become_a_subject(flags: dict[str, Any], subject: dict[str, Any]) -> None:
    """What is not said is as the record has it."""
    assert subject_of("loop", flags) == Generated(agent="loop", **subject)  # type: ignore[arg-type]


def test_every_setting_of_a_model_has_a_flag() -> None:
    """And counts before an option of its name."""
    flags: dict[str, Any] = {
        "base_url": "http://x",
        "temperature": 0.0,
        "max_output_tokens": 1,
        "context_tokens": 2,
        "reasoning_effort": "low",
    }
    assert settings_of_model(flags) == flags  # type: ignore[arg-type]
    assert settings_of_model({"model_option": ["temperature=1", "top-p=2"], **flags}) == {**flags, "top_p": "2"}  # type: ignore[typeddict-item]


@pytest.mark.parametrize("cost", [0.0, -1.0])
def test_a_limit_that_allows_nothing_is_refused(cost: float) -> None:
    """By the flag's name."""
    with pytest.raises(UsageError) as caught:
        subject_of("loop", {"max_attempt_cost": cost})
    assert str(caught.value) == (
        f"--max-attempt-cost {cost:g} is no limit to spend up to; name a sum above 0, or leave it out for none"
    )
