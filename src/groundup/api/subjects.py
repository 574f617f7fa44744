"""From flags to a subject: an agent with its model, settings, limits and strategy."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from groundup.api.flags import Assignments, EpisodeFlags, ModelFlags, SubjectFlags, money
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.store.records import Generated
from groundup.trees.walking import read_regular


def assigned(given: Assignments, flag: str) -> dict[str, JsonValue]:
    """Return settings by name, each as it would arrive from the command line. Raises `UsageError`."""
    if isinstance(given, Mapping):
        given = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in given.items()
        ]
    return read_assignments(given or (), flag)


def read_assignments(texts: Iterable[str], flag: str) -> dict[str, JsonValue]:
    """Read `NAME=VALUE`; an object, a list, true, false and null are what they say, all else is a text.

    `NAME=@FILE` takes the file's text, which the run then keeps. The option decides whether a text is a number:
    for some, 3.10 is a version. Raises `UsageError`.
    """
    found: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
        if value.startswith("@"):
            value = _text_of(value[1:], flag)
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):
            said = value
        plain = isinstance(said, str | int | float) and not isinstance(said, bool)
        found[name.strip().replace("-", "_")] = value if plain else said
    return found


def _text_of(path: str, flag: str) -> str:
    try:
        return read_regular(Path(path)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(f"{flag}: the file {path} cannot be read: {reason}") from error


def subject_of(agent: str, given: SubjectFlags) -> Generated:
    """Return the subject that *given* describes, not checked against a suite. Raises `UsageError`."""
    return Generated(
        agent=agent,
        model=given.get("model"),
        model_settings=settings_of_model(given),
        options=assigned(given.get("agent_option"), "--agent-option"),
        limits=EpisodeLimits(
            turns=given.get("max_turns"),
            tokens=given.get("max_tokens"),
            cost_usd=money("--max-attempt-cost", given.get("max_attempt_cost")),
            wall_clock_s=given.get("max_seconds"),
        ),
        feedback=feedback_of(given),
        rounds=given.get("rounds", 1),
        select=_selection(given),
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


def feedback_of(given: SubjectFlags | EpisodeFlags) -> Feedback:
    """Return what `submit` says. Raises `UsageError`."""
    hidden, ends = given.get("hide_scores"), given.get("end_at_submit")
    if hidden and ends:
        raise UsageError("--end-at-submit shows no score either; leave --hide-scores out")
    return Feedback.HIDDEN if hidden else Feedback.END if ends else Feedback.SCORE
