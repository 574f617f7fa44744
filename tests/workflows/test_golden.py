"""What is told of each expression, command, script, program and workflow in `cases.json`, as a record.

`python -m tests.workflows.test_golden` writes golden/ anew: read what changed, for users see it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.workflows.commands import commands_of, needed_programs
from groundup.workflows.endings import is_empty_harness, swallows
from groundup.workflows.events import events_of
from groundup.workflows.expressions import UNKNOWN, Contexts
from groundup.workflows.jobs import JobReader
from groundup.workflows.matrix import leg_keys, legs, pinned
from groundup.workflows.meanings import Meanings, is_followed
from groundup.workflows.runners import meaning_of
from groundup.workflows.workflow import Workflow, WorkflowError, read_workflow
from tests.workflows.made import MadeTree
from tests.workflows.test_looks import FOREIGN, RECORDED
from tests.workflows.test_looks import told as look_told
from tests.workflows.test_meanings import REPOSITORY
from tests.workflows.test_meanings import told as meaning_told

GOLDEN = Path(__file__).parent / "golden"
CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
MATRIX: dict[str, JsonValue] = {
    "os": "Ubuntu",
    "n": 3,
    "f": 1.5,
    "on": True,
    "off": None,
    "list": ["a", "B", 2],
    "in": {"x": {"y": "z"}},
}
ENVIRONMENT = {"A": "${{ matrix.n }}", "B": "b", "C": "${{ steps.s.outputs.o }}"}
MACHINE = {"bin/t": "pytest\n", "tests/unit.sh": "#!/bin/bash -e\n$1 || exit 3\n", **REPOSITORY}


def _expression(text: str) -> str:
    told = []
    for contexts in (
        Contexts(MATRIX, ENVIRONMENT, {"i": "1"}, "pull_request"),
        Contexts(inputs=None, event="push"),
    ):
        value, holds = contexts.value(text), contexts.holds(text)
        shown = "unknown" if value is UNKNOWN else json.dumps(value)
        told.append(f"{shown} {holds} {contexts.text(f'<${{{{ {text} }}}}>')!r}")
    return " | ".join(told)


def _command(text: str) -> str:
    meaning = meaning_of(text.split())
    known = meaning_told(meaning) if meaning else "-"
    return f"{known} {'followed' if is_followed(text.split()) else ''}"


def _script(text: str) -> str:
    taken = [
        f"{' '.join(one.words)}{' lost' if one.may_fail else ''} {one.subshells}" for one in commands_of(text)
    ]
    loose = [one.may_fail for one in commands_of(text, stops=False)]
    meant = [meaning_told(one) for one in Meanings(MadeTree(MACHINE)).of(text)]
    return f"{taken} {[int(one) for one in loose]}\n  {sorted(needed_programs(text))}\n  {meant}"


def _program(text: str) -> str:
    """Return whether faults of a program are lost; its first line says what runs it."""
    command, _, source = text.partition("\n")
    name = command.partition(": ")[0]
    tree = MadeTree({name: source, "Cargo.toml": '[package]\nname = "p"\n'})
    heard = [swallows(tree, "", one.split()) for one in command.partition(": ")[2].split(" ; ")]
    return f"{heard} {is_empty_harness(source) if name.endswith('.rs') else ''}"


def _workflow(text: str) -> str:
    try:
        workflow = read_workflow(text.encode(), "w.yml")
    except WorkflowError as error:
        return f"refused: {error}"
    told = [f"{events_of(workflow)} {workflow.event} {workflow.model_dump_json(exclude={'document', 'path'})}"]
    return "\n  ".join([*told, *_jobs(workflow)])


def _jobs(workflow: Workflow) -> Iterator[str]:
    for job in workflow.jobs:
        yield f"{job.id}: {[step.title for step in job.steps]} {legs(job.matrix)} {leg_keys(job)}"
        for wanted in ({}, {"v": "1"}, {"os": "windows-latest"}, {"v": "1.0", "in.x": "2"}, {"w": "9"}):
            try:
                leg = pinned(job, wanted)
                needed = [one.id for one in workflow.needed(job.id)]
                look = look_told(JobReader(MadeTree(RECORDED["files"]), FOREIGN).look(workflow, job, leg))
                yield f"{wanted}: {leg} {needed} {json.dumps(look)}"
            except WorkflowError as error:
                yield f"{wanted}: {error}"


TELLERS: Mapping[str, Callable[[str], str]] = {
    "expressions": _expression,
    "commands": _command,
    "scripts": _script,
    "programs": _program,
    "workflows": _workflow,
}


def all_told(kind: str) -> str:
    """Return what is told of all cases of a kind."""
    return "".join(f"{case!r}\n  {TELLERS[kind](case)}\n" for case in CASES[kind])


@pytest.mark.parametrize("kind", TELLERS)
def test_all_is_told_as_ever(kind: str) -> None:
    """Values, purposes, what is lost, which programs are needed, and the legs, events and looks of workflows."""
    assert all_told(kind) == (GOLDEN / f"{kind}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for kind in TELLERS:
        (GOLDEN / f"{kind}.txt").write_text(all_told(kind), encoding="utf-8")
