"""The workflow that act is given."""

import json

import pytest

from groundup.grading.ci.act_sandbox import derived_action, derived_workflow
from groundup.workflows.workflow import read_workflow, read_yaml


@pytest.mark.parametrize("name", ["tests \N{PACKAGE}", "\\ud83d\\ude00", "a\\\N{PACKAGE}", 'é "q"', "\x07"])
def test_names_of_any_characters_reach_act_as_they_are(name: str) -> None:
    """What is written is YAML: characters beyond the basic plane are one escape, as act's parser wants them."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\x07", "\\a")
    source = f'on: push\njobs:\n  a:\n    name: "{quoted}"\n    runs-on: ubuntu-latest\n    steps: [{{run: x}}]\n'
    derived = derived_workflow(read_workflow(source.encode(), "a.yml"), "a", {})

    document = read_yaml(derived, "b.yml")
    assert isinstance(document, dict)
    jobs = document["jobs"]
    assert isinstance(jobs, dict)
    assert isinstance(jobs["a"], dict)
    assert jobs["a"]["name"] == name
    assert b"\\ud8" not in derived.replace(b"\\\\", b"")


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
    one = read_workflow(json.dumps({"on": "push", "jobs": jobs, "env": {"A": "b"}}).encode(), "ci.yml")
    derived = json.loads(derived_workflow(one, "test", {"os": "b"}))
    assert set(derived["jobs"]) == {"pre", "test"}
    assert derived["jobs"]["test"]["strategy"] == {"matrix": {"include": [{"os": "b"}]}}
    assert {job["runs-on"] for job in derived["jobs"].values()} == {"ubuntu-latest"}
    assert derived["env"] == {"A": "b"}
    kept, skipped = derived["jobs"]["test"]["steps"]
    assert kept == {"run": "pytest", "id": "t"}
    assert (skipped["if"], skipped["id"]) == (False, "w")


def test_scripts_stand_in_the_place_of_the_jobs_own() -> None:
    """Only the named steps of the wanted job change, and a skipped one stays skipped."""
    jobs = {
        "pre": {"steps": [{"run": "echo"}]},
        "test": {
            "needs": "pre",
            "steps": [{"run": "ruff ."}, {"run": "pytest"}, {"run": "ruff .", "if": "false"}],
        },
    }
    one = read_workflow(json.dumps({"on": "push", "jobs": jobs}).encode(), "ci.yml")
    derived = json.loads(derived_workflow(one, "test", {}, {0: "ruff . || echo", 2: "ruff . || echo"}))["jobs"]
    assert [step["run"] for step in derived["test"]["steps"]] == ["ruff . || echo", "pytest", "exit 1"]
    assert derived["pre"]["steps"][0]["run"] == "echo"


def test_a_needed_job_keeps_the_steps_of_all_its_legs() -> None:
    """It runs in each of its legs, so a condition on its matrix skips none of its steps beforehand."""
    jobs = {
        "pre": {"strategy": {"matrix": {"v": [1, 2]}}, "steps": [{"run": "echo", "if": "matrix.v == 2"}]},
        "test": {"needs": "pre", "steps": [{"run": "pytest"}]},
    }
    one = read_workflow(json.dumps({"on": "push", "jobs": jobs}).encode(), "ci.yml")
    (step,) = json.loads(derived_workflow(one, "test", {}))["jobs"]["pre"]["steps"]
    assert step["run"] == "echo"


def test_an_action_keeps_the_steps_that_may_run() -> None:
    """act looks for the actions of skipped steps, too, so those are replaced by a step that does nothing."""
    text = b"runs: {using: composite, steps: [{uses: somebody/unheard-of@v1, if: 'false'}, {run: x, shell: sh}]}"
    skipped, kept = json.loads(derived_action(text, "action.yml", {1}))["runs"]["steps"]
    assert (skipped["if"], skipped.get("uses")) == (False, None)
    assert kept == {"run": "x", "shell": "sh"}
