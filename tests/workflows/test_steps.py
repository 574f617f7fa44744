"""Steps that may run, with those of local actions."""

import json
from collections.abc import Mapping

import pytest

from groundup.workflows.expressions import Contexts
from groundup.workflows.jobs import PlacedStep, contexts_of, placed_steps
from groundup.workflows.workflow import Workflow, read_workflow
from tests.workflows.made import MadeTree

ACTION = """
inputs:
  python: {default: "3.12"}
  lint: {default: false}
runs:
  using: composite
  steps:
    - {uses: actions/setup-python@v5, with: {python-version: "${{ inputs.python }}"}}
    - {run: ruff check, shell: bash, if: "inputs.lint == 'true'"}
    - {run: "pytest -k ${{ env.PART }}", shell: bash}
"""
FILES = {".github/actions/test/action.yml": ACTION}
CALL = {"uses": "./.github/actions/test"}


def workflow(*steps: Mapping[str, object], **more: object) -> Workflow:
    """Return a workflow with one job of these steps."""
    job = {"runs-on": "ubuntu-latest", "steps": steps, **more}
    return read_workflow(json.dumps({"on": "push", "jobs": {"test": job}}).encode(), "ci.yml")


def placed(*steps: Mapping[str, object], files: Mapping[str, str] = FILES) -> list[PlacedStep]:
    """Return the steps that may run."""
    one = workflow(*steps)
    job = one.job("test")
    return list(placed_steps(job.steps, contexts_of(one, job, {"py": "3.11"}), MadeTree(files)))


def test_a_local_action_is_given_its_inputs_and_variables() -> None:
    """Inputs are those of the call, else the defaults; variables of the calling step are known inside."""
    call = {**CALL, "with": {"python": "${{ matrix.py }}"}, "env": {"PART": "fast"}}
    calling, setup, tests = placed({"run": "echo"}, call)[1:]

    assert (calling.calls, calling.action) == (".github/actions/test", "")
    assert setup.contexts.text(setup.step.inputs["python-version"]) == "3.11"
    assert tests.contexts.text(tests.step.run or "") == "pytest -k fast"
    assert {one.origin.index for one in (calling, setup, tests)} == {1}
    default = placed(CALL)[1]
    assert default.contexts.text(default.step.inputs["python-version"]) == "3.12"


def test_an_input_that_is_made_at_run_time_is_unknown_not_its_default() -> None:
    """A condition on such an input skips nothing, and a version is not guessed."""
    _, setup, lint, _ = placed(
        {**CALL, "with": {"lint": "${{ steps.x.outputs.y }}", "python": "${{ needs.a.outputs.py }}"}}
    )

    assert lint.step.run == "ruff check"
    assert setup.contexts.text(setup.step.inputs["python-version"]) is None


@pytest.mark.parametrize(
    ("files", "trouble"),
    [
        ({}, "not in the repository"),
        ({".github/actions/test/action.yml": "runs: {using: node20, main: x.js}"}, "no composite action"),
        ({".github/actions/test/action.yml": "runs: ["}, "not YAML"),
        (
            {
                ".github/actions/test/action.yml": "runs: {using: composite, steps: ["
                "{uses: ./.github/actions/test}, {uses: ./.github/actions/test}]}"
            },
            "calls itself",
        ),
    ],
)
def test_an_action_that_cannot_be_followed_says_why(files: Mapping[str, str], trouble: str) -> None:
    """The calling step is there with the reason; an action that calls itself twice over ends quickly."""
    found = placed(CALL, files=files)

    assert len(found) <= 2000
    assert any(trouble in (one.trouble or "") for one in found)


def test_what_is_skipped_is_left_out_unless_it_is_asked_for() -> None:
    """A condition that is known not to hold leaves out the step with all that its action does."""
    never = {**CALL, "if": "runner.os == 'Windows'"}
    one = workflow(never)

    assert not placed(never)
    assert len(list(placed_steps(one.job("test").steps, Contexts({}), MadeTree(FILES), skipped=True))) == 4


def test_a_variable_that_a_step_sets_anew_is_unknown() -> None:
    """What the job says of a variable holds only until a step appends it to GITHUB_ENV."""
    one = workflow({"run": 'echo "SKIP=$(./choose)" >> "$GITHUB_ENV"'}, env={"SKIP": "1", "KEPT": "1"})
    contexts = contexts_of(one, one.job("test"), {})

    assert contexts.holds("env.SKIP == '1'") is None
    assert contexts.holds("env.KEPT == '1'") is True
