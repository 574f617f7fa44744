"""The event that starts a job here."""

import pytest

from groundup.workflows.events import events_of, github_of, payload_of
from groundup.workflows.jobs import JobReader
from groundup.workflows.workflow import read_workflow
from tests.workflows.made import MadeTree


@pytest.mark.parametrize(
    ("on", "events"),
    [
        ("[push, pull_request]", ("pull_request", "push")),
        ("[schedule, push]", ("push", "schedule")),
        ("{workflow_dispatch: , push: {tags: ['v*']}}", ("workflow_dispatch", "push")),
        ("{workflow_dispatch: , push: {tags: ['v*'], branches: [main]}}", ("push", "workflow_dispatch")),
        ("{push: , pull_request: {types: [closed]}}", ("push", "pull_request")),
        ("{push: , pull_request: {types: closed}}", ("push", "pull_request")),
        ("{push: , pull_request: {types: [labeled, synchronize]}}", ("pull_request", "push")),
        ("{push: , pull_request: {paths: [src]}}", ("pull_request", "push")),
        ("[]", ("push",)),
    ],
)
def test_the_event_that_publishes_least_comes_first(on: str, events: tuple[str, ...]) -> None:
    """A fork's request, then a push to a branch; closing a request or a tag starts what nobody means by tests."""
    assert events_of(read_workflow(f"on: {on}\njobs: {{}}".encode(), "x")) == events


CALLED = "on: workflow_call\njobs: {unit: {steps: [{run: pytest}]}}"


@pytest.mark.parametrize(
    ("jobs", "event"),
    [
        ("test: {steps: [{run: pytest}]}", "pull_request"),
        ("test: {if: github.event_name == 'push', steps: [{run: pytest}]}", "push"),
        ("test: {steps: [{run: pytest}, {run: tox, if: github.ref_name == 'main'}]}", "push"),
        ("test: {needs: build, steps: [{run: pytest}]}, build: {if: github.head_ref == '', steps: []}", "push"),
        ("test: {uses: ./called.yml}", "pull_request"),
        ("test: {uses: ./called.yml, if: github.event_name == 'push'}", "push"),
    ],
)
def test_a_job_is_started_by_the_event_in_which_its_tests_run(jobs: str, event: str) -> None:
    """What it needs must run as well; where all events do as well, the first one counts."""
    workflow = read_workflow(f"on: [push, pull_request]\njobs: {{{jobs}}}".encode(), "ci.yml")
    reader = JobReader(MadeTree({"called.yml": CALLED}))
    assert reader.started(workflow, workflow.job("test")).started_by == event


def test_a_request_comes_from_a_fork_and_a_push_from_the_main_branch() -> None:
    """What steps ask of `github`, and what GitHub says of the event, agree."""
    push, request = github_of("push"), github_of("pull_request")
    assert (push["ref"], push["ref_name"], push["head_ref"]) == ("refs/heads/main", "main", "")
    assert (request["ref"], request["base_ref"], request["head_ref"]) == ("refs/pull/1/merge", "main", "change")
    assert request["event"] == payload_of("pull_request")
    assert "event" not in push
    assert payload_of("push")["ref"] == push["ref"]
    assert payload_of("schedule").keys() == {"repository", "sender"}

    told = payload_of("pull_request", "pallets/flask")
    assert isinstance(told["repository"], dict)
    assert (told["repository"]["full_name"], told["repository"]["owner"]) == (
        "pallets/flask",
        {"login": "pallets"},
    )
    assert isinstance(told["pull_request"], dict)
    assert isinstance(head := told["pull_request"]["head"], dict)
    assert isinstance(fork := head["repo"], dict)
    assert (fork["full_name"], fork["fork"], told["repository"]["fork"]) == ("somebody/flask", True, False)
