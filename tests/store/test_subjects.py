"""Whose submissions a run has, by its configuration."""

import pytest

from groundup.domain.digests import digest_of
from groundup.domain.subjects import Subject
from groundup.store.records import RunConfiguration


def of(**submissions: object) -> Subject:
    """Return the subject of a run whose submissions are recorded so."""
    return RunConfiguration.model_validate({"suite": "toy", "submissions": submissions}).subject


def test_who_made_submissions_stays_known() -> None:
    """Regraded and ablated submissions have the names of who made them, and say what was done to them."""
    made = {"agent": "loop", "model": "m1", "settings": {"turns": 9}}
    settings = {"turns": 9, "regraded": "first"}
    again = of(kind="regraded", path="/runs/first", subject=made)
    assert again == Subject(agent="loop", model="m1", settings=settings)
    changed = of(
        kind="ablated", path="/p", agent_name="loop", model_name="m1", ablation="without-fakes", run="first"
    )
    assert changed.settings == {"ablation": "without-fakes", "ablated run": "first"}
    assert (changed.agent, changed.model) == ("loop", "m1")
    assert of(kind="reference", which="oracle") == Subject(agent="oracle")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("scripted//home/me/forgetful.json", "scripted/forgetful.json"),
        ("scripted/script.toml", "scripted/script.toml"),
        ("openrouter/meta/llama", "openrouter/meta/llama"),
        (None, None),
    ],
)
def test_a_script_is_named_without_its_folders(model: str | None, name: str | None) -> None:
    """A path tells readers of a table nothing, and whose machine it was; other models keep all of their names."""
    assert Subject(agent="loop", model=model).model_name == name


def test_regrades_of_earlier_versions_are_read() -> None:
    """They did not say whose the submissions were."""
    assert of(kind="run", path="/runs/first") == Subject(agent="regrade", settings={"run": "/runs/first"})


SERVER: dict[str, object] = {
    "name": "clock",
    "command": "python",
    "args": [],
    "env": {},
    "install": None,
    "folder": None,
    "url": None,
    "headers": {},
}
"""As earlier versions recorded a tool server of a run."""


@pytest.mark.parametrize(
    ("servers", "digest"),
    [
        ((), "e4cb56a9bebbcabf0873b8b328ea0d122bc6aad8baddd0d6c2be73033d7cdea6"),
        ((SERVER,), "a2f76ac1b5bda4a996a3c800512383d82e0bcf90193c7002e43b954c29139785"),
    ],
)
def test_runs_with_tool_servers_are_read(servers: tuple[object, ...], digest: str) -> None:
    """Their configuration has the digest that it had, whether they gave their agents servers or none."""
    extras = {"servers": list(servers), "skills": None}
    submissions = {"kind": "agent", "agent": "loop", "extras": extras}
    found = digest_of(RunConfiguration.model_validate({"suite": "toy", "submissions": submissions}))
    assert found == f"sha256:{digest}"
