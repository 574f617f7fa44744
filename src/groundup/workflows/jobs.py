"""What one job of a workflow does in one leg: its steps, with local actions and called workflows followed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from groundup.domain.errors import TaskError
from groundup.workflows.expressions import Contexts
from groundup.workflows.matrix import Leg, flat
from groundup.workflows.meanings import Meanings
from groundup.workflows.runners import Meaning, Purpose
from groundup.workflows.tree import RepositoryTree
from groundup.workflows.workflow import Job, Step, Workflow, read_workflow, read_yaml

_DEEPEST = 4
_RUNS_INPUT = ("run", "command", "commands", "runcmd", "script")
"""Inputs of actions that hold a script."""
_SETUP: Mapping[str, tuple[str, str]] = {
    "setup-python": ("python", "python-version"),
    "setup-uv": ("python", "python-version"),
    "setup-miniconda": ("python", "python-version"),
    "setup-micromamba": ("python", "python-version"),
    "deadsnakes/action": ("python", "python-version"),
    "setup-node": ("node", "node-version"),
    "rust-toolchain": ("rust", "toolchain"),
    "setup-rust-toolchain": ("rust", "toolchain"),
    "actions-rs/toolchain": ("rust", "toolchain"),
    "setup-dotnet": ("dotnet", "dotnet-version"),
}
_TESTING_ACTION = re.compile(r"/(?:run-)?(?:tox|nox|pytest|unit-?tests?|cargo-test)(?:-action)?$", re.IGNORECASE)
_TESTING_FILE = re.compile(r"tox|tests?|pytest|ci", re.IGNORECASE)


class Look(NamedTuple):
    """What a job does in one leg."""

    runner: str
    meanings: tuple[tuple[Step, Meaning], ...]
    versions: tuple[tuple[str, str], ...]
    """Kind of language and version, as setup actions are told."""
    through: str | None
    foreign: str | None
    """A workflow of another repository that it calls."""
    in_machine: bool
    """Whether tests run in a machine or container that an action starts."""
    services: tuple[str, ...]
    container: str | None

    @property
    def tests(self) -> tuple[Meaning, ...]:
        """Return what runs tests."""
        return tuple(meaning for _, meaning in self.meanings if meaning.purpose is Purpose.TEST)


class Jobs:
    """Looks at the jobs of one repository."""

    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._meanings = Meanings(tree)

    def look(self, workflow: Workflow, job: Job, leg: Leg, inputs: Mapping[str, JsonValue] | None = None) -> Look:
        """Return what *job* does in *leg*."""
        contexts = Contexts(leg, {**workflow.environment, **job.environment}, inputs)
        if job.reusable is not None:
            return self._called(workflow, job, contexts)
        meanings: list[tuple[Step, Meaning]] = []
        versions: list[tuple[str, str]] = []
        in_machine = False
        for step, local in self._steps(job.steps, contexts, _DEEPEST):
            if not any(meaning.purpose is Purpose.TEST for _, meaning in meanings):
                versions += _versions(step, local)  # a later one is for something else
            meanings += [(step, meaning) for meaning in self._of(step, job, local, leg)]
            in_machine = in_machine or bool(step.uses and re.search(r"-vm@|docker-run|-vm/", step.uses))
        return Look(
            runner=", ".join(contexts.shown(label) for label in job.runs_on),
            meanings=tuple(meanings),
            versions=tuple(versions),
            through=None,
            foreign=None,
            in_machine=in_machine,
            services=job.services,
            container=_container(job, contexts),
        )

    def _steps(self, steps: Sequence[Step], contexts: Contexts, depth: int) -> Iterator[tuple[Step, Contexts]]:
        """Yield the steps that may run, those of local actions in the place of their call."""
        for step in steps:
            if contexts.holds(step.condition) is False:
                continue
            if step.uses and step.uses.startswith("./") and depth:
                yield from self._composite(step, contexts, depth)
            else:
                yield step, contexts

    def _composite(self, step: Step, contexts: Contexts, depth: int) -> Iterator[tuple[Step, Contexts]]:
        folder = str(PurePosixPath((step.uses or "").split("@")[0]))
        for name in ("action.yml", "action.yaml"):
            data = self._tree.read(f"{folder}/{name}" if folder != "." else name)
            if data is None:
                continue
            try:
                document = read_yaml(data, name)
            except TaskError:
                return
            given = _inputs(document, {key: contexts.text(value) for key, value in step.inputs.items()})
            inner = Contexts(contexts.matrix, contexts.environment, given)
            yield from self._steps(_steps_of_action(document, name), inner, depth - 1)

    def _of(self, step: Step, job: Job, contexts: Contexts, leg: Leg) -> Iterator[Meaning]:
        variables = {
            key: contexts.text(value) or "" for key, value in {**contexts.environment, **step.environment}.items()
        }
        for key, value in flat(leg):
            if key.rpartition(".")[2].lower().replace("-", "").replace("_", "") == "toxenv":
                variables.setdefault("TOXENV", value)
        folder = contexts.shown(step.working_directory or job.working_directory or "")
        folder = "" if "${{" in folder else str(PurePosixPath(folder)).removeprefix("./")
        folder = "" if folder == "." else folder
        action = (step.uses or "").split("@")[0]
        if action and _TESTING_ACTION.search(action):
            yield Meaning(purpose=Purpose.TEST, command=action, certainty=0.6)
        for script in _scripts(step):
            shown = _expanded(contexts.shown(script), variables)
            sure = contexts.holds(step.condition) is not None
            for meaning in self._meanings.of(shown, folder, variables):
                certainty = meaning.certainty if sure else meaning.certainty * 0.8
                part = meaning.part or (f"only {folder}/" if folder else None)
                yield meaning.model_copy(update={"certainty": certainty, "part": part})

    def _called(self, workflow: Workflow, job: Job, contexts: Contexts) -> Look:
        """Look at the workflow that *job* calls: its best job counts."""
        called = job.reusable or ""
        if not called.startswith("./"):
            name = called.split("@")[0].rpartition("/")[2]
            guess = Meaning(purpose=Purpose.TEST, command=called, certainty=0.5)
            step = Step(index=0, uses=called)
            seems = bool(_TESTING_FILE.search(f"{name} {job.id}"))
            told = {**dict(flat(contexts.matrix)), **_given(workflow, job, contexts)}
            runner = next((str(value) for key, value in told.items() if key in ("os", "runner", "runs-on")), "")
            found = ((step, guess),) if seems else ()
            return Look(runner or "ubuntu-latest", found, (), None, called, False, (), None)
        path = called.removeprefix("./").split("@")[0]
        data = self._tree.read(path)
        best: Look | None = None
        if data is not None:
            try:
                inner = read_workflow(data, path)
            except TaskError:
                inner = None
            for other in inner.jobs if inner is not None else ():
                look = self._inside(workflow, job, contexts, inner, other) if inner is not None else None
                if look is not None and (best is None or _strength(look) > _strength(best)):
                    best = look._replace(through=f"{path}: {other.id}")
        return best or Look("", (), (), path, None, False, (), None)

    def _inside(
        self, workflow: Workflow, job: Job, contexts: Contexts, inner: Workflow, other: Job
    ) -> Look | None:
        from groundup.workflows.matrix import legs

        if other.reusable is not None and other.reusable.startswith("./"):
            return None  # one level is what people write
        given = _inputs({"on": inner.document.get("on")}, _given(workflow, job, contexts))
        if Contexts({}, {}, given).holds(other.condition) is False:
            return None
        looks = [self.look(inner, other, leg, given) for leg in legs(other.matrix)[:24]]
        return max(looks, key=_strength)


def _strength(look: Look) -> tuple[float, bool]:
    tests = [meaning.certainty * (0.5 if meaning.part else 1.0) for meaning in look.tests]
    return max(tests, default=0.0), "ubuntu" in look.runner


def _given(workflow: Workflow, job: Job, contexts: Contexts) -> dict[str, JsonValue]:
    jobs = workflow.document.get("jobs")
    table = jobs.get(job.id) if isinstance(jobs, dict) else None
    given = table.get("with") if isinstance(table, dict) else None
    found: dict[str, JsonValue] = {}
    for key, value in given.items() if isinstance(given, dict) else ():
        found[key] = contexts.shown(value) if isinstance(value, str) else value
    return found


def _inputs(document: JsonValue, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the inputs of an action or a called workflow, defaults included; unknown ones are left out."""
    declared: JsonValue = document.get("inputs") if isinstance(document, dict) else None
    if declared is None and isinstance(document, dict) and isinstance(on := document.get("on"), dict):
        call = on.get("workflow_call")
        declared = call.get("inputs") if isinstance(call, dict) else None
    found: dict[str, JsonValue] = {}
    for key, table in declared.items() if isinstance(declared, dict) else ():
        found[key] = table.get("default") if isinstance(table, dict) else None
    return {**found, **{key: value for key, value in given.items() if value is not None}}


def _steps_of_action(document: JsonValue, path: str) -> tuple[Step, ...]:
    """Return the steps of a composite action as those of a job: JSON is YAML."""
    runs = document.get("runs") if isinstance(document, dict) else None
    steps = runs.get("steps") if isinstance(runs, dict) else None
    if not isinstance(steps, list):
        return ()
    return read_workflow(json.dumps({"jobs": {"action": {"steps": steps}}}).encode(), path).jobs[0].steps


def _scripts(step: Step) -> Iterator[str]:
    if step.run is not None:
        yield step.run
    if step.uses is None:
        return
    action = step.uses.split("@")[0].lower()
    if action in ("actions-rs/cargo", "actions-rs-plus/cargo"):
        yield f"cargo {step.inputs.get('command', '')} {step.inputs.get('args', '')}"
        return
    for key, value in step.inputs.items():
        if key.lower() in _RUNS_INPUT and "github-script" not in action:
            yield value


def _versions(step: Step, contexts: Contexts) -> Iterator[tuple[str, str]]:
    if step.uses is None:
        return
    action, _, ref = step.uses.partition("@")
    for name, (kind, key) in _SETUP.items():
        if name in action and key in step.inputs:
            version = contexts.text(step.inputs[key])
            if version is not None and "\n" not in version.strip():
                yield kind, version.strip()
        elif name in action and kind == "rust" and re.match(r"stable|beta|nightly|\d", ref):
            yield kind, ref


def _container(job: Job, contexts: Contexts) -> str | None:
    """Return the image that a job runs in; an expression that comes to nothing is none."""
    if job.container is None:
        return None
    text = contexts.text(job.container)
    return job.container if text is None else text if text not in ("", "false") else None


def _expanded(script: str, variables: Mapping[str, str]) -> str:
    """Return *script* with the variables replaced that are known and not empty."""

    def known(match: re.Match[str]) -> str:
        return variables.get(match[1] or match[2]) or match[0]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", known, script)
