"""What keeps a job from being run here, and what act is given of a workflow."""

import json
from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from groundup.grading.ci.actions import Action, parse_uses, stub_of, supported_actions, unsupported_actions
from groundup.grading.ci.derived import derived_workflow, event_of
from groundup.grading.ci.obstacles import Needs, needs_of, only_uploads
from groundup.grading.ci.workflow import Step, Workflow, read_workflow

CHECKOUT = {"uses": "actions/checkout@v4"}


def workflow(jobs: Mapping[str, object], **more: object) -> Workflow:
    """Return a workflow of these jobs."""
    return read_workflow(json.dumps({"on": "push", "jobs": jobs, **more}).encode(), "ci.yml")


def needs(
    job: Mapping[str, object],
    leg: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, str] | None = None,
) -> Needs:
    """Return what a job consists of, in a repository of these files."""
    one = workflow({"test": {"runs-on": "ubuntu-latest", **job}})
    texts = files or {}
    return needs_of(
        one, one.job("test"), dict(leg or {}), lambda path: texts[path].encode() if path in texts else None
    )


@pytest.mark.parametrize(
    ("job", "kind"),
    [
        ({"services": {"db": {"image": "postgres"}}}, "services"),
        ({"container": "python:3.11"}, "container"),
        ({"runs-on": "windows-latest"}, "runner"),
        ({"runs-on": "ubuntu-24.04-arm"}, "runner"),
        ({"uses": "./.github/workflows/other.yml"}, "reusable workflow"),
        ({"steps": [{"uses": "docker://alpine"}]}, "container"),
        ({"steps": [{"uses": "somebody/unheard-of@v1"}]}, "action"),
        ({"steps": [{"uses": "actions/setup-java@v4"}]}, "action"),
        ({"steps": [{"uses": "./absent"}]}, "action"),
        ({"steps": [{"run": "Get-Item", "shell": "pwsh"}]}, "shell"),
        ({"steps": [{**CHECKOUT, "with": {"repository": "other/one"}}]}, "checkout"),
        ({"steps": [{**CHECKOUT, "with": {"path": "below"}}]}, "checkout"),
    ],
)
def test_obstacles_are_named(job: Mapping[str, object], kind: str) -> None:
    """Whatever cannot be had here is told by its kind, before anything runs."""
    assert [one.kind for one in needs(job).obstacles] == [kind]


def test_an_unknown_action_is_told_by_name() -> None:
    """The sentence holds the action, so that a reader knows what is missing."""
    (obstacle,) = needs({"steps": [{"uses": "somebody/unheard-of/below@v1"}]}).obstacles
    assert "somebody/unheard-of/below" in obstacle.what


def test_what_never_runs_is_no_obstacle() -> None:
    """A step of another system, or that the leg leaves out, may use whatever it likes."""
    steps = [
        {"uses": "somebody/windows-only@v1", "if": "runner.os == 'Windows'"},
        {"uses": "somebody/benches@v1", "if": "matrix.benches"},
        {"uses": "somebody/old@v1", "if": "matrix.python == '3.7' && github.ref == 'x'"},
    ]
    assert not needs({"steps": steps}, {"python": "3.12"}).obstacles
    assert needs({"steps": steps}, {"python": "3.7", "benches": True}).obstacles


def test_local_composite_actions_are_followed() -> None:
    """Actions of the repository are read with all that they use; others than composite ones are refused."""
    composite = "runs: {using: composite, steps: [{uses: 'actions/setup-node@v4'}, {run: npm ci, shell: bash}]}"
    found = needs(
        {"steps": [{"uses": "./.github/actions/setup"}]}, files={".github/actions/setup/action.yml": composite}
    )
    assert found.local_actions == (".github/actions/setup",)
    assert [action.name for action in found.actions] == ["actions/setup-node"]
    refused = needs({"steps": [{"uses": "./a"}]}, files={"a/action.yaml": "runs: {using: node20, main: x.js}"})
    assert [one.kind for one in refused.obstacles] == ["action"]


def test_needs_count_too() -> None:
    """What a needed job cannot have here, the wanted one cannot either."""
    one = workflow({"a": {"services": {"db": {}}}, "test": {"needs": "a", "steps": []}})
    assert needs_of(one, one.job("test"), {}, lambda path: None).obstacles


def test_the_tables_agree_with_the_stand_ins() -> None:
    """Every action in the table has its stand-in, none is in both tables, and case does not matter."""
    assert not supported_actions().keys() & unsupported_actions().keys()
    action = parse_uses("swatinem/Rust-Cache@v2")
    assert action == Action(repository="swatinem/Rust-Cache", ref="v2")
    assert stub_of(action) == "nothing"
    assert parse_uses("actions/cache/restore@v4") == Action(repository="actions/cache", below="/restore", ref="v4")
    assert parse_uses("./local") is None


def test_act_gets_one_leg_and_what_it_needs() -> None:
    """The derived workflow holds the wanted leg alone, needed jobs, and no other job, label or filter."""
    jobs = {
        "other": {"runs-on": "x", "steps": []},
        "pre": {"runs-on": "x", "steps": [{"run": "echo"}]},
        "test": {
            "needs": ["pre"],
            "runs-on": "${{ matrix.os }}",
            "strategy": {"matrix": {"os": ["a", "b"]}},
            "steps": [{"run": "pytest", "id": "t"}, {"run": "x", "id": "w", "if": "runner.os == 'Windows'"}],
        },
    }
    one = workflow(jobs, env={"A": "b"})
    derived = json.loads(derived_workflow(one, "test", {"os": "b"}, event_of(one)))
    assert set(derived["jobs"]) == {"pre", "test"}
    assert derived["jobs"]["test"]["strategy"] == {"matrix": {"include": [{"os": "b"}]}}
    assert {job["runs-on"] for job in derived["jobs"].values()} == {"ubuntu-latest"}
    assert derived["env"] == {"A": "b"}
    kept, skipped = derived["jobs"]["test"]["steps"]
    assert kept == {"run": "pytest", "id": "t"}
    assert (skipped["if"], skipped["id"]) == (False, "w")


@pytest.mark.parametrize("event", ["pull_request", "workflow_dispatch", "schedule"])
def test_a_workflow_without_pushes_is_started_as_it_says(event: str) -> None:
    """Where a push starts nothing, the event that does is used."""
    assert event_of(read_workflow(f"on: {event}\njobs: {{}}".encode(), "x")) == event


@pytest.mark.parametrize(
    ("script", "uploads"),
    [
        ("coveralls --service=github", True),
        ("pip install codecov\ncodecov", True),
        ("bash <(curl -s https://codecov.io/bash)", True),
        ("pytest --cov\ncodecov", False),
        ("pip install codecov", False),
    ],
)
def test_reports_to_others_are_not_sent(script: str, uploads: bool) -> None:
    """A step that only uploads a report is skipped; one that does anything else is not."""
    assert only_uploads(Step(index=0, run=script)) is uploads
