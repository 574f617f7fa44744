"""From flags to a subject: an agent with its model, settings, limits and strategy."""

from pathlib import Path

from pydantic import JsonValue

from groundup.api.assignments import assigned
from groundup.api.extras import extras_from
from groundup.api.flags import AnyPath, EpisodeFlags, ModelFlags, SubjectFlags, money
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.runs.submissions import Named


def subject_of(agent: str, given: SubjectFlags) -> Named:
    """Return the subject that *given* describes. Raises `UsageError`."""
    return Named(
        agent=agent,
        model=given.get("model"),
        model_settings=settings_of_model(given),
        agent_options=assigned(given.get("agent_option"), "--agent-option"),
        limits=EpisodeLimits(
            turns=given.get("max_turns"),
            tokens=given.get("max_tokens"),
            cost_usd=money("--max-attempt-cost", given.get("max_attempt_cost")),
            wall_clock_s=given.get("max_seconds"),
        ),
        feedback=feedback_of(given),
        rounds=given.get("rounds", 1),
        select=_selection(given),
        extras=extras_from(_path(given.get("mcp")), _path(given.get("skills"))),
    )


def settings_of_model(given: ModelFlags) -> dict[str, JsonValue]:
    """Return the settings of a model that *given* says, not yet checked."""
    asked: dict[str, JsonValue] = {
        "base_url": given.get("base_url"),
        "temperature": given.get("temperature"),
        "max_output_tokens": given.get("max_output_tokens"),
        "context_tokens": given.get("context_tokens"),
        "reasoning_effort": given.get("reasoning_effort"),
    }
    return {
        **assigned(given.get("model_option"), "--model-option"),
        **{name: value for name, value in asked.items() if value is not None},
    }


def _selection(given: SubjectFlags) -> Selection | None:
    select = given.get("select")
    return None if select is None else Selection(select)


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


def feedback_of(given: SubjectFlags | EpisodeFlags) -> Feedback:
    """Return what `submit` says. Raises `UsageError`."""
    hidden, ends = given.get("hide_scores"), given.get("end_at_submit")
    if hidden and ends:
        raise UsageError("--end-at-submit shows no score either; leave --hide-scores out")
    return Feedback.HIDDEN if hidden else Feedback.END if ends else Feedback.SCORE
