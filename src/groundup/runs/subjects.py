"""From what a user names to where submissions come from: the suite's own subjects, or an agent and its model."""

import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from pydantic import JsonValue, ValidationError

from groundup import catalog
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback
from groundup.domain.names import unknown
from groundup.domain.plainly import plainly
from groundup.domain.records import Record
from groundup.settings import Settings
from groundup.store.records import Generated, References
from groundup.suites.base import open_suite

MODEL_SETTINGS = (
    "base_url", "api", "key_variable", "context_tokens", "temperature", "max_output_tokens", "extra", "stream",
    "timeout_s", "first_pause_s", "patience_s",
)  # fmt: skip
"""Settings of a model that a run's configuration holds: they may change replies, or are needed to resume."""


class Named(Record):
    """A subject as a user names it."""

    agent: str
    model: str | None = None
    model_settings: dict[str, JsonValue] = {}
    agent_options: dict[str, JsonValue] = {}
    limits: EpisodeLimits = EpisodeLimits()
    feedback: Feedback = Feedback.SCORE


def submissions_of(suite_name: str, named: Named, settings: Settings) -> References | Generated:
    """Return where the submissions come from. Raises `UsageError`, also for settings that nothing would heed."""
    references = open_suite(suite_name, settings).subjects
    if named.agent in references:
        if named != Named(agent=named.agent):
            raise UsageError(f"{named.agent} is played by the suite: it takes no model, options or limits")
        return References(which=named.agent)
    agents = catalog.names("agent")
    if ":" not in named.agent and named.agent not in agents:
        raise UsageError(unknown("agent", named.agent, [*references, *agents]))
    return Generated(
        agent=named.agent,
        options=named.agent_options,
        model=named.model,
        model_settings=_checked(named.model_settings),
        limits=named.limits,
        feedback=named.feedback,
    )


def read_assignments(texts: Iterable[str], flag: str) -> dict[str, JsonValue]:
    """Read `NAME=VALUE`; an object, a list, true, false and null are what they say, all else is a text.

    The option decides whether a text is a number: for some, 3.10 is a version. Raises `UsageError`.
    """
    found: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):
            said = value
        plain = isinstance(said, str | int | float) and not isinstance(said, bool)
        found[name.strip().replace("-", "_")] = value if plain else said
    return found


def _checked(settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
    from groundup.models.settings import ModelSettings

    for name in settings:
        if name not in MODEL_SETTINGS:
            raise UsageError(unknown("setting of a model", name, MODEL_SETTINGS))
    try:
        checked = ModelSettings.model_validate(settings).model_dump(mode="json", include=set(settings))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"model setting {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    address = settings.get("base_url")
    if isinstance(address, str) and "@" in urlsplit(address).netloc:
        raise UsageError("--base-url holds credentials, which runs never store; put the key into the environment")
    return checked
