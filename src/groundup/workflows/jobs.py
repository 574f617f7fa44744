"""What a job of a workflow does in one leg: its steps, and which of them run tests. Decided here alone.

Local actions and called workflows are followed. Instances are made of jobs by this; grading judges a job by it.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from groundup.domain.errors import TaskError
from groundup.domain.languages import SetupKind
from groundup.languages import SETUPS
from groundup.workflows.events import events_of
from groundup.workflows.expressions import Contexts
from groundup.workflows.matrix import Leg, flat, legs
from groundup.workflows.meanings import Meanings
from groundup.workflows.runners import Meaning, Purpose
from groundup.workflows.shell import written_files
from groundup.workflows.tree import InFolder, RepositoryTree, WithFile
from groundup.workflows.workflow import (
    Job,
    Step,
    Workflow,
    WorkflowError,
    as_text,
    read_workflow,
    read_yaml,
    steps_of,
)

_DEEPEST = 8
_DEEPEST_CALLED = 4
"""How many workflows may call each other."""
CALLS = " → "
"""Stands in `Look.through` between a job that calls a workflow, and the job in that."""
_MOST = 2000
_SETS_VARIABLE = re.compile(r"(\w+)(?:=|<<)")


class LocalAction(NamedTuple):
    """A composite action of the repository's own."""

    folder: str
    inputs: dict[str, JsonValue]
    """Declared inputs with their defaults."""
    steps: tuple[Step, ...]


class PlacedStep(NamedTuple):
    """A step that may run: the job's own, or a part of a local action that the job uses."""

    step: Step
    contexts: Contexts
    """The step's own variables included."""
    origin: Step
    """The job's own step that leads here."""
    action: str = ""
    """The folder of the local action that the step is a part of; "" for the job's own steps."""
    calls: str = ""
    """The folder of the local action that the step uses, where it can be followed."""
    trouble: str | None = None
    """Why the local action that the step uses cannot be followed."""

    @property
    def may_run(self) -> bool:
        """Whether nothing that is known before the workflow runs skips the step."""
        return self.contexts.holds(self.step.condition) is not False


def contexts_of(
    workflow: Workflow, job: Job, leg: Leg | None, inputs: Mapping[str, JsonValue] | None = None, event: str = ""
) -> Contexts:
    """Return what names stand for in *job*; *leg* None means any of its legs, *event* "" the workflow's own.

    Variables that a step of the job sets anew are unknown.
    """
    whole = Contexts(leg, {}, inputs, event or workflow.event).mapping(job.environment_expression)
    environment = {**workflow.environment, **job.environment, **whole}
    for step in job.steps:
        if step.run is not None and "GITHUB_ENV" in step.run:
            for name in _SETS_VARIABLE.findall(step.run):
                environment.pop(name, None)
    return Contexts(leg, environment, inputs, event or workflow.event)


def placed_steps(
    steps: Sequence[Step], contexts: Contexts, tree: RepositoryTree, *, skipped: bool = False
) -> Iterator[PlacedStep]:
    """Yield the job's own *steps* that may run, each local action's steps after the step that calls it.

    With *skipped*, yield also the steps whose conditions do not hold.
    """
    own = own_steps(steps, contexts)
    followed = (found for placed in own for found in _followed(placed, tree, _DEEPEST, skipped=skipped))
    yield from itertools.islice(followed, _MOST)  # actions that call actions multiply


def checkout_folder(job: Job) -> str:
    """Return the folder below its workspace into which *job* checks the repository out; "" for the workspace."""
    return next((place for step in job.steps if (place := folder_of_checkout(step)) is not None), "")


def folder_of_checkout(step: Step) -> str | None:
    """Return where *step* checks the repository out; None where it does not, or only a running workflow knows."""
    of_this = "github.repository" in step.inputs.get("repository", "github.repository")
    place = step.inputs.get("path", "")
    if not (step.uses or "").lower().startswith("actions/checkout@") or not of_this or "${{" in place:
        return None
    return str(PurePosixPath(place)).strip("./")


def own_steps(steps: Iterable[Step], contexts: Contexts) -> Iterator[PlacedStep]:
    """Yield *steps* as they stand, whether they may run or not."""
    return (PlacedStep(step, _within(contexts, step), step) for step in steps)


def _within(contexts: Contexts, step: Step) -> Contexts:
    return contexts.within({**step.environment, **contexts.mapping(step.environment_expression)})


def _followed(placed: PlacedStep, tree: RepositoryTree, depth: int, *, skipped: bool) -> Iterator[PlacedStep]:
    if not (skipped or placed.may_run):
        return
    uses = placed.step.uses or ""
    if not uses.startswith("./"):
        yield placed
        return
    try:
        action = read_local_action(uses, tree, depth)
    except WorkflowError as error:
        yield placed._replace(trouble=str(error))
        return
    yield placed._replace(calls=action.folder)
    # What is unknown stays an expression, which reads as unknown inside the action.
    given = {key: placed.contexts.shown(value) for key, value in placed.step.inputs.items()}
    contexts = placed.contexts.called({**action.inputs, **given})
    for step in action.steps:
        inner = PlacedStep(step, _within(contexts, step), placed.origin, action.folder)
        yield from _followed(inner, tree, depth - 1, skipped=skipped)


def read_local_action(uses: str, tree: RepositoryTree, depth: int = 1) -> LocalAction:
    """Return the composite action that `uses: ./...` names. Raises `WorkflowError`."""
    folder = str(PurePosixPath(uses.partition("@")[0]))
    paths = [str(PurePosixPath(folder, name)) for name in ("action.yml", "action.yaml")]
    data = next((data for path in paths if (data := tree.read(path)) is not None), None)
    if data is None or depth <= 0:
        raise WorkflowError(f"{uses} is not in the repository" if data is None else f"{uses} calls itself")
    document = read_yaml(data, folder)
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(runs, dict) or runs.get("using") != "composite":
        raise WorkflowError(f"{uses} is no composite action")
    # Inputs of actions are always texts, whatever their defaults look like.
    inputs: dict[str, JsonValue] = {key: as_text(value) for key, value in declared_inputs(document).items()}
    return LocalAction(folder, inputs, steps_of(runs.get("steps")))


def declared_inputs(document: JsonValue) -> dict[str, JsonValue]:
    """Return the inputs that an action, or the `workflow_call` of a workflow, declares, with their defaults."""
    declared = document.get("inputs") if isinstance(document, dict) else None
    found: dict[str, JsonValue] = {}
    for key, table in declared.items() if isinstance(declared, dict) else ():
        found[key] = table.get("default") if isinstance(table, dict) else None
    return found


_TOOLCHAIN = re.compile(r"stable|beta|nightly|\d")


class Setup(NamedTuple):
    """A setup action's request."""

    kind: SetupKind
    versions: tuple[str, ...]
    """As written, in their order; a version that only a running workflow knows is left out."""


def setup_of(placed: PlacedStep) -> Setup | None:
    """Return what the action of a step is asked to set up; None where it is no setup action."""
    action, _, ref = (placed.step.uses or "").partition("@")
    for kind, language in SETUPS.items():
        if not re.search(language.setup_actions, action):
            continue
        given = [placed.step.inputs[key] for key in language.setup_inputs if key in placed.step.inputs]
        texts = [placed.contexts.text(text) or "" for text in given]
        # `dtolnay/rust-toolchain@1.70`: the reference is the version.
        if kind == "rust" and not given and ("dtolnay/" in action or _TOOLCHAIN.match(ref)):
            texts = [ref]
        return Setup(kind, tuple(line.strip() for text in texts for line in text.splitlines() if line.strip()))
    return None


_RUNS_INPUT = ("run", "command", "commands", "runcmd", "script")
"""Inputs of actions that hold a script."""
_TESTING_ACTION = re.compile(r"/(?:run-)?(?:tox|nox|pytest|unit-?tests?|cargo-test)(?:-action)?$", re.IGNORECASE)
_TESTING_FILE = re.compile(r"tox|tests?|pytest|ci", re.IGNORECASE)
_TESTING_STEP = re.compile(r"\btests?\b", re.IGNORECASE)


class Look(NamedTuple):
    """What a job does in one leg."""

    runner: str
    meanings: tuple[tuple[Step, Meaning], ...]
    """What its steps do, each with the job's own step that leads there."""
    versions: tuple[tuple[str, str], ...]
    """Kind of language and version, as setup actions are asked for them."""
    through: str | None
    """The called workflow's path and job; where that calls another, these follow after `CALLS`."""
    foreign: str | None
    """A workflow of another repository that it calls."""
    in_machine: bool
    """Whether tests run in a machine or container that an action starts."""
    services: tuple[str, ...]
    container: str | None

    @property
    def tests(self) -> tuple[Meaning, ...]:
        return tuple(meaning for _, meaning in self.meanings if meaning.purpose is Purpose.TEST)


class JobReader:
    """Reads the jobs of one repository."""

    def __init__(self, tree: RepositoryTree, foreign: Mapping[str, bytes] | None = None) -> None:
        """Take the repository, and the called workflows of others that could be had, by what `uses` says."""
        self._tree = tree
        self._foreign = foreign or {}
        self._seen: dict[str, tuple[RepositoryTree, Meanings]] = {}

    def look(self, workflow: Workflow, job: Job, leg: Leg) -> Look:
        contexts = contexts_of(workflow, job, leg)
        return self._own(job, contexts) if job.reusable is None else self._called(workflow, job, contexts)

    def started(self, workflow: Workflow, job: Job, leg: Leg | None = None) -> Workflow:
        """Return *workflow* as the event starts it in which most tests of *job* run; of equals, by `events_of`.

        *leg* None means any leg.
        """
        events = events_of(workflow)
        if len(events) == 1:
            return workflow.but(started_by=events[0])
        return max(
            (workflow.but(started_by=event) for event in events), key=lambda one: self._worth(one, job, leg)
        )

    def _worth(self, workflow: Workflow, job: Job, leg: Leg | None) -> tuple[int, int]:
        """Return how few of *job* and what it needs the event leaves out, and how many of its steps then test."""
        contexts = contexts_of(workflow, job, leg)
        try:
            needed = workflow.needed(job.id)
        except WorkflowError:
            needed = (job,)
        left_out = sum(contexts_of(workflow, one, None).holds(one.condition) is False for one in needed)
        if job.reusable is not None:
            return -left_out, len(self._called(workflow, job, contexts).tests)
        steps = tuple(placed_steps(job.steps, contexts, self._seen_by(job)[0]))
        testing = {step.index for step, one in self._meanings_of(steps, job) if one.purpose is Purpose.TEST}
        return -left_out, len(testing)

    def test_steps(self, workflow: Workflow, job: Job, leg: Leg) -> tuple[Step, ...]:
        """Return the job's own steps that run tests in *leg*, by themselves or through a local action.

        Where the leg skips all of them, the skipped ones are returned: the job has tests, and they do not run.
        """
        contexts = contexts_of(workflow, job, leg)
        found: dict[int, Step] = {}
        for skipped in (False, True):
            if not found:
                steps = tuple(placed_steps(job.steps, contexts, self._seen_by(job)[0], skipped=skipped))
                pairs = self._meanings_of(steps, job)
                found = {step.index: step for step, meaning in pairs if meaning.purpose is Purpose.TEST}
        return tuple(found[index] for index in sorted(found))

    def _seen_by(self, job: Job) -> tuple[RepositoryTree, Meanings]:
        """Return the repository as *job* has it, and what scripts do there."""
        place = checkout_folder(job)
        written = {path: text for step in job.steps for path, text in written_files(step.run or "")}
        key = json.dumps((place, written))
        if key not in self._seen:
            tree = InFolder(self._tree, place) if place else self._tree
            for path, text in written.items():
                tree = WithFile(tree, path, text.encode())
            self._seen[key] = tree, Meanings(tree)
        return self._seen[key]

    def _own(self, job: Job, contexts: Contexts) -> Look:
        """Look at the steps of *job*."""
        steps = tuple(placed_steps(job.steps, contexts, self._seen_by(job)[0]))
        meanings = self._meanings_of(steps, job)
        testing = {step.index for step, meaning in meanings if meaning.purpose is Purpose.TEST}
        first = min(testing, default=len(job.steps))  # what is set up later is for something else
        return Look(
            runner=", ".join(contexts.shown(label) for label in job.runs_on),
            meanings=meanings,
            versions=tuple(
                (setup.kind, setup.versions[0])
                for placed in steps
                if placed.origin.index <= first and (setup := setup_of(placed)) and len(setup.versions) == 1
            ),
            through=None,
            foreign=None,
            in_machine=any(re.search(r"-vm@|docker-run|-vm/", placed.step.uses or "") for placed in steps),
            services=job.services,
            container=_container(job, contexts),
        )

    def _meanings_of(self, steps: Sequence[PlacedStep], job: Job) -> tuple[tuple[Step, Meaning], ...]:
        """Return what *steps* do, each with the job's own step; their names count where no script runs tests."""
        found = tuple((placed.origin, meaning) for placed in steps for meaning in self.of_step(placed, job))
        if any(meaning.purpose is Purpose.TEST for _, meaning in found):
            return found
        known = {step.index for step, meaning in found if meaning.purpose not in (Purpose.OTHER, Purpose.OWN)}
        named = {
            placed.origin.index: placed.origin
            for placed in steps
            if placed.step.run and _TESTING_STEP.search(placed.step.name or "")
        }
        return found + tuple(
            (step, Meaning(purpose=Purpose.TEST, command=step.title[:160], certainty=0.3))
            for index, step in named.items()
            if index not in known
        )

    def of_step(self, placed: PlacedStep, job: Job) -> tuple[Meaning, ...]:
        return tuple(self._of(placed, job))

    def _of(self, placed: PlacedStep, job: Job) -> Iterator[Meaning]:
        step, contexts = placed.step, placed.contexts
        variables = {key: value for key, value in contexts.environment.items() if "${{" not in value}
        for key, value in flat(contexts.matrix or {}):
            if key.rpartition(".")[2].lower().replace("-", "").replace("_", "") == "toxenv":
                variables.setdefault("TOXENV", value)
        default = None if placed.action else job.working_directory
        folder = contexts.shown(step.working_directory or default or "")
        folder = "" if "${{" in folder else str(PurePosixPath(folder)).removeprefix("./")
        folder = "" if folder == "." else folder
        action = (step.uses or "").split("@")[0]
        if not action.startswith("./") and _TESTING_ACTION.search(action):
            yield Meaning(purpose=Purpose.TEST, command=action, certainty=0.6)
        sure = contexts.holds(step.condition) is not None
        for script in _scripts(step):
            meanings = self._seen_by(job)[1]
            text = expanded(contexts.shown(script), variables)
            for meaning in meanings.of(_options_of_shell(step.shell or job.shell) + text, folder, variables):
                certainty = meaning.certainty if sure else meaning.certainty * 0.8
                below = folder.removeprefix(checkout_folder(job)).lstrip("/")
                part = meaning.part or (f"only {below}/" if below else None)
                yield meaning.but(certainty=certainty, part=part)

    def _called(self, workflow: Workflow, job: Job, contexts: Contexts, depth: int = _DEEPEST_CALLED) -> Look:
        """Look at the workflow that *job* calls: its best job counts, which may call a further one."""
        called = job.reusable or ""
        given = given_inputs(workflow, job, contexts)
        if not called.startswith("./") and called not in self._foreign:
            return _foreign(job, called, {**dict(flat(contexts.matrix or {})), **given})
        path = called.removeprefix("./").split("@")[0]
        data = self._foreign.get(called) or self._tree.read(path)
        best: Look | None = None
        try:
            inner = read_workflow(data or b"", path)
        except TaskError:
            return _NOTHING._replace(through=path)
        for other in inner.jobs:
            look = self._inside(inner, other, given, contexts.event, depth - 1)
            if look is not None and (best is None or _strength(look) > _strength(best)):
                further = f"{CALLS}{look.through}" if look.through else ""
                best = look._replace(through=f"{path}: {other.id}{further}")
        return best or _NOTHING._replace(through=path)

    def _inside(
        self, inner: Workflow, other: Job, given: Mapping[str, JsonValue], event: str, depth: int
    ) -> Look | None:
        """Look at one job of a called workflow; None where it calls too many others, or does not run."""
        if other.reusable is not None and depth <= 0:
            return None
        on = inner.document.get("on")
        call = on.get("workflow_call") if isinstance(on, dict) else None
        inputs = {**declared_inputs(call), **given}
        if Contexts({}, {}, inputs, event).holds(other.condition) is False:
            return None
        looks = []
        for leg in legs(other.matrix)[:24]:
            contexts = contexts_of(inner, other, leg, inputs, event)
            looks.append(
                self._own(other, contexts)
                if other.reusable is None
                else self._called(inner, other, contexts, depth)
            )
        return max(looks, key=_strength)


_NOTHING = Look("", (), (), None, None, False, (), None)


def _foreign(job: Job, called: str, given: Mapping[str, JsonValue]) -> Look:
    """Return what the name of another repository's workflow suggests: its steps cannot be read here."""
    name = called.split("@", maxsplit=1)[0].rpartition("/")[2]
    guess = Meaning(purpose=Purpose.TEST, command=called, certainty=0.5)
    seems = bool(_TESTING_FILE.search(f"{name} {job.id}"))
    runner = next((str(value) for key, value in given.items() if key in ("os", "runner", "runs-on")), "")
    found = ((Step(index=0, uses=called), guess),) if seems else ()
    return _NOTHING._replace(runner=runner or "ubuntu-latest", meanings=found, foreign=called)


def _strength(look: Look) -> tuple[float, bool]:
    tests = [meaning.certainty * (0.5 if meaning.part else 1.0) for meaning in look.tests]
    return max(tests, default=0.0), "ubuntu" in look.runner


def given_inputs(workflow: Workflow, job: Job, contexts: Contexts) -> dict[str, JsonValue]:
    """Return what *job* gives the workflow that it calls; expressions that are unknown stay."""
    jobs = workflow.document.get("jobs")
    table = jobs.get(job.id) if isinstance(jobs, dict) else None
    given = table.get("with") if isinstance(table, dict) else None
    found: dict[str, JsonValue] = {}
    for key, value in given.items() if isinstance(given, dict) else ():
        found[key] = contexts.shown(value) if isinstance(value, str) else value
    return found


def _options_of_shell(shell: str | None) -> str:
    """Return the line that sets what a step's *shell* has otherwise than `bash -e`, the default."""
    if shell == "bash":
        return "set -o pipefail\n"
    return "set +e\n" if shell and "{0}" in shell and not re.search(r"\s-\w*e", shell) else ""


def _scripts(step: Step) -> Iterator[str]:
    if step.run is not None:
        yield step.run
    if step.uses is None:
        return
    action = step.uses.split("@")[0].lower()
    if action.startswith("docker://"):
        yield f"docker run image {step.inputs.get('args', '')}"
        return
    if action in ("actions-rs/cargo", "actions-rs-plus/cargo"):
        yield f"cargo {step.inputs.get('command', '')} {step.inputs.get('args', '')}"
        return
    for key, value in step.inputs.items():
        if key.lower() in _RUNS_INPUT and "github-script" not in action:
            yield value


def _container(job: Job, contexts: Contexts) -> str | None:
    """Return the image that a job runs in; None where its expression is empty."""
    if job.container is None:
        return None
    text = contexts.text(job.container)
    return job.container if text is None else text if text not in ("", "false") else None


def expanded(script: str, variables: Mapping[str, str]) -> str:
    """Return *script* with the variables replaced that are known and not empty, and defaults where they stand."""

    def default(match: re.Match[str]) -> str:
        return variables.get(match[1]) or match[2]

    def known(match: re.Match[str]) -> str:
        return variables.get(match[1] or match[2]) or match[0]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", known, re.sub(r"\$\{(\w+):?-([^{}]*)\}", default, script))
