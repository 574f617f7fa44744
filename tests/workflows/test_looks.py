"""What a job does in one leg, as a whole: steps, actions, called workflows, and matrices made by other jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundup.workflows.foretelling import with_known_values
from groundup.workflows.jobs import JobReader, Look
from groundup.workflows.runners import Meaning, Purpose
from groundup.workflows.workflow import Matrix, read_workflow
from tests.workflows.made import MadeTree

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("looks.json").read_text(encoding="utf-8"))
FOREIGN = {name: text.encode() for name, text in RECORDED["foreign"].items()}


def told(look: Look) -> dict[str, object]:
    """Return what is said of a job, without what is empty."""
    said: dict[str, object] = {
        "runner": look.runner,
        "tests": [_told(one) for one in look.tests],
        "others": [one.command for _, one in look.meanings if one.purpose is not Purpose.TEST],
        "versions": [f"{kind} {version}" for kind, version in look.versions],
        "through": look.through,
        "foreign": look.foreign,
        "in_machine": look.in_machine,
        "services": list(look.services),
        "container": look.container,
    }
    return {name: value for name, value in said.items() if value}


def _told(test: Meaning) -> str:
    part = f" ({test.part})" if test.part else ""
    return f"{test.command} {test.certainty}{part}{' lost' if test.may_fail else ''}"


@pytest.mark.parametrize("at", range(len(RECORDED["looks"])))
def test_what_a_job_does(at: int) -> None:
    """Runner, tests and what else it does, versions set up before the tests, and where a called workflow led."""
    recorded = RECORDED["looks"][at]
    document = {"on": "push", "jobs": {"job": {"runs-on": "ubuntu-latest", **recorded["job"]}}}
    workflow = read_workflow(json.dumps(document).encode(), "ci.yml")
    reader = JobReader(MadeTree(RECORDED["files"]), FOREIGN)
    assert told(reader.look(workflow, workflow.job("job"), recorded["leg"])) == recorded["look"]


CLASSIFIERS = (
    '[project]\nclassifiers = [\n  "Programming Language :: Python :: 3.11",\n'
    '  "Programming Language :: Python :: 3.12",\n]\n'
)
FILES = {
    "pyproject.toml": CLASSIFIERS,
    "setup.cfg": "Programming Language :: Python :: 3.12\nProgramming Language :: Python :: 3.13\n",
    "versions.json": '[\n  "1",\n  "2"\n]\n',
    "broken.json": "[",
}
MADE: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    # the matrix of the job; what the script of the other job writes; what of the matrix is known then
    ({"v": ["a"]}, "", {"axes": {"v": ["a"]}}),
    ({"v": "${{ fromJSON('[1, 2]') }}"}, "", {"axes": {"v": [1, 2]}}),
    ({"v": "${{ fromJSON('{}') }}"}, "", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON('[]') }}"}, "", {"dynamic": ["v"]}),
    ({"v": "${{ inputs.x }}"}, "", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "echo o=[1,2] >> $GITHUB_OUTPUT", {"axes": {"v": [1, 2]}}),
    (
        {"v": "${{ fromJSON(needs.a.outputs.o) }}", "w": [3]},
        'printf "o=[1]\\n" >> "${GITHUB_OUTPUT}"',
        {"axes": {"w": [3], "v": [1]}},
    ),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "echo o=$X >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "echo p=[1] >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "tee o=[1] >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "echo >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.o) }}"}, "echo o=[1]", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.b.outputs.o) }}"}, "echo o=[1] >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.x) }}"}, "echo o=[1] >> $GITHUB_OUTPUT", {"dynamic": ["v"]}),
    ({"v": "${{ fromJSON(needs.a.outputs.plain) }}"}, "", {"axes": {"v": [7]}}),
    (
        {"v": "${{ fromJSON(needs.a.outputs.o) }}"},
        "if x; then\n  echo o=[1] >> $GITHUB_OUTPUT\nelse\n  echo o=[2] >> $GITHUB_OUTPUT\nfi",
        {"axes": {"v": [2]}},
    ),
    ({"v": "${{ fromJSON(needs.a.outputs.o || '[5]') }}"}, "", {"axes": {"v": [5]}}),
    ({"v": "${{ fromJSON(needs.a.outputs.o && '[5]') }}"}, "", {"dynamic": ["v"]}),
    (
        {"v": "${{ fromJSON(needs.a.outputs.o) }}"},
        'echo "o=$(cat ./versions.json)" >> $GITHUB_OUTPUT',
        {"axes": {"v": ["1", "2"]}},
    ),
    (
        {"v": "${{ fromJSON(needs.a.outputs.o) }}"},
        'echo "o=$(jq -c . < versions.json)" >> $GITHUB_OUTPUT',
        {"axes": {"v": ["1", "2"]}},
    ),
    (
        {"v": "${{ fromJSON(needs.a.outputs.o) }}"},
        'echo "o=$(cat broken.json)" >> $GITHUB_OUTPUT',
        {"dynamic": ["v"]},
    ),
    (
        {"v": "${{ fromJSON(needs.a.outputs.supported_python_classifiers_json_array) }}"},
        "",
        {"axes": {"v": ["3.11", "3.12", "3.13"]}},
    ),
    (
        {"include": "${{ fromJSON(needs.a.outputs.o) }}", "exclude": "${{ fromJSON('[{}, 1]') }}", "v": [1]},
        "echo 'o=[{\"v\": 2}, 3]' >> $GITHUB_OUTPUT",
        {"axes": {"v": [1]}, "include": [{"v": 2}], "exclude": [{}]},
    ),
]


@pytest.mark.parametrize(("matrix", "script", "known"), MADE)
def test_values_that_another_job_makes(matrix: dict[str, Any], script: str, known: dict[str, Any]) -> None:
    """Constants, what a script writes or reads from a file, and supported versions; all else stays unknown."""
    found = _foretold(matrix, script)
    said = {"axes": found.axes, "include": found.include, "exclude": found.exclude, "dynamic": found.dynamic}
    assert json.loads(json.dumps({name: value for name, value in said.items() if value})) == known


def test_a_whole_matrix_that_another_job_makes() -> None:
    """Its axes and rows are read as if they stood there."""
    script = 'echo \'o={"v": [1, 2], "include": [{"v": 3}]}\' >> $GITHUB_OUTPUT'
    found = _foretold("${{ fromJSON(needs.a.outputs.o) }}", script)
    assert (found.axes, found.include, found.dynamic) == ({"v": (1, 2)}, ({"v": 3},), ())
    assert _foretold("${{ fromJSON(needs.a.outputs.o) }}", "echo o=[1] >> $GITHUB_OUTPUT").dynamic == ("matrix",)


def _foretold(matrix: object, script: str) -> Matrix:
    outputs = {"o": "${{ steps.s.outputs.o }}", "plain": "[7]"}
    first = {"outputs": outputs, "steps": [{"run": "echo o=[9]"}, {"id": "s", "run": script}]}
    second = {"needs": "a", "strategy": {"matrix": matrix}, "steps": []}
    workflow = read_workflow(json.dumps({"on": "push", "jobs": {"a": first, "t": second}}).encode(), "ci.yml")
    return with_known_values(workflow, workflow.job("t"), MadeTree(FILES))
