"""A job that calls another workflow, written out."""

from typing import Any

import pytest

from groundup.workflows.matrix import Leg
from groundup.workflows.workflow import WorkflowError, read_workflow
from groundup_factory.instances.called import written_out

_CALLED = b"""
name: Reused
run-name: never kept
on:
  workflow_call:
    inputs:
      text: {type: string, default: it's}
      none: {type: string}
      flag: {type: boolean}
      yes: {type: boolean, default: true}
      count: {type: number, default: 3}
      list: {type: string, default: '["3.9", "3.10"]'}
      odd:
    secrets: {token: {}}
concurrency: dropped
env: {A: '${{ inputs.text }}', B: 'inputs.text'}
defaults: {run: {shell: bash}}
permissions: {contents: read}
jobs:
  test:
    if: inputs.flag && inputs['count'] > 2
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix:
        python: ${{ fromJSON(inputs.list) }}
        os: [linux, 5]
        unknown: ${{ fromJSON(needs.x.outputs.y) }}
    steps:
      - run: echo ${{ inputs.text }} ${{ inputs.count }} ${{ inputs.none }} ${{ inputs.missing }} inputs.flag
        if: ${{ inputs.yes && inputs.flag == false }}
  whole:
    runs-on: ubuntu-latest
    strategy: {matrix: '${{ fromJSON(inputs.list) }}'}
    steps: [{run: 'echo ${{ inputs.odd }}'}]
  plain: {runs-on: ubuntu-latest, strategy: {max-parallel: 2}, steps: [{run: 'true'}]}
"""


def written(given: str, remark: str = "") -> tuple[str, dict[str, Any]]:
    """Return what stands before the document, and the document, where a job gives *given*."""
    text = f"on: [pull_request, push]\njobs:\n  a:\n    uses: ./.github/workflows/b.yml\n    with: {given}\n"
    caller, called = read_workflow(text.encode(), "a.yml"), read_workflow(_CALLED, "b.yml")
    whole = written_out(caller, caller.jobs[0], Leg({"python": "3.12"}), called, remark).decode()
    head = "".join(line for line in whole.splitlines(keepends=True) if line.startswith("#"))
    return head, read_workflow(whole.encode(), "w.yml").document


def test_inputs_stand_as_literals_where_they_are_used() -> None:
    """Defaults by their types; what is no expression stays as it is, and so does what only a run knows."""
    head, made = written("{}", "one\ntwo")
    assert head == "# one\n# two\n"
    assert list(made) == ["name", "env", "defaults", "permissions", "jobs", "on"]
    assert made["on"] == "push"
    assert made["env"] == {"A": "${{ 'it''s' }}", "B": "inputs.text"}
    jobs = made["jobs"]
    test = jobs["test"]
    assert test["if"] == "'' && 3 > 2"
    assert test["strategy"] == {
        "fail-fast": False,
        "matrix": {
            "python": ["3.9", "3.10"],
            "os": ["linux", 5],
            "unknown": "${{ fromJSON(needs.x.outputs.y) }}",
        },
    }
    assert test["steps"] == [
        {"run": "echo ${{ 'it''s' }} ${{ 3 }} ${{ '' }} ${{ '' }} inputs.flag", "if": "${{ true && '' == false }}"}
    ]
    assert jobs["whole"]["strategy"] == {"matrix": ["3.9", "3.10"]}
    assert jobs["whole"]["steps"] == [{"run": "echo ${{ '' }}"}]
    assert jobs["plain"]["strategy"] == {"max-parallel": 2}


@pytest.mark.parametrize(
    ("given", "condition", "shown"),
    [
        ("{flag: true, count: 5}", "true && 5 > 2", "'it''s'"),
        ("{flag: 'true', count: '-5'}", "true && -5 > 2", "'it''s'"),
        ("{flag: 'false', count: '5.5'}", "false && '5.5' > 2", "'it''s'"),
        ("{flag: '', count: x}", "false && 'x' > 2", "'it''s'"),
        ("{flag: maybe, text: 7}", "'maybe' && 3 > 2", "'7'"),
        ("{text: true}", "'' && 3 > 2", "'true'"),
        ("{text: ''}", "'' && 3 > 2", "''"),
        ("{text: '${{ matrix.python }}'}", "'' && 3 > 2", "'3.12'"),
        ("{text: '${{ secrets.key }}'}", "'' && 3 > 2", "''"),
        ("{text: '${{ github.sha }}'}", "'' && 3 > 2", "(github.sha)"),
    ],
)
def test_what_the_caller_gives_is_as_the_input_is_declared(given: str, condition: str, shown: str) -> None:
    """A text of an expression becomes what the declaration says; one that is known later stays an expression."""
    jobs = written(given)[1]["jobs"]
    assert jobs["test"]["if"] == condition
    assert jobs["test"]["steps"][0]["run"].startswith(f"echo ${{{{ {shown} }}}} ")


@pytest.mark.parametrize("value", ["${{ needs.x.outputs.y }}", "a ${{ github.sha }} b"])
def test_what_only_a_run_knows_cannot_be_written_out(value: str) -> None:
    """The sentence names the input."""
    with pytest.raises(WorkflowError) as error:
        written(f"{{text: '{value}'}}")
    assert str(error.value) == "the input text of a called workflow is known only while the workflow runs"
