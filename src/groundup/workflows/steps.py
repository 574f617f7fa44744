"""The steps of a job that may run in one leg, and which versions of languages its setup actions ask for."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from pydantic import JsonValue

from groundup.workflows.expressions import Contexts
from groundup.workflows.matrix import Leg
from groundup.workflows.tree import RepositoryTree
from groundup.workflows.workflow import Job, Step, Workflow, WorkflowError, as_text, read_yaml, steps_of

_DEEPEST = 8
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
    environment = {**workflow.environment, **job.environment}
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
    own = (PlacedStep(step, contexts.within(step.environment), step) for step in steps)
    followed = (found for placed in own for found in _followed(placed, tree, _DEEPEST, skipped=skipped))
    yield from itertools.islice(followed, _MOST)  # actions that call actions multiply


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
        inner = PlacedStep(step, contexts.within(step.environment), placed.origin, action.folder)
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


SetupKind = Literal["python", "node", "rust", "dotnet"]
_ACTIONS: tuple[tuple[re.Pattern[str], SetupKind, tuple[str, ...]], ...] = (
    (
        re.compile(r"setup-(?:python|uv|pdm|cached-uv|miniconda|micromamba)|deadsnakes/action"),
        "python",
        ("python-version",),
    ),
    (re.compile(r"setup-node"), "node", ("node-version",)),
    (
        re.compile(r"rust-toolchain|setup-rust|actions-rs/toolchain"),
        "rust",
        ("toolchain", "rust-version", "channel"),
    ),
    (re.compile(r"setup-dotnet"), "dotnet", ("dotnet-version",)),
)
"""Names of actions, what they set up, and their inputs that name versions."""
_TOOLCHAIN = re.compile(r"stable|beta|nightly|\d")


class Setup(NamedTuple):
    """A setup action's request."""

    kind: SetupKind
    versions: tuple[str, ...]
    """As written, in their order; a version that only a running workflow knows is left out."""


def setup_of(placed: PlacedStep) -> Setup | None:
    """Return what the action of a step is asked to set up; None where it is no setup action."""
    action, _, ref = (placed.step.uses or "").partition("@")
    for name, kind, inputs in _ACTIONS:
        if not name.search(action):
            continue
        given = [placed.step.inputs[key] for key in inputs if key in placed.step.inputs]
        texts = [placed.contexts.text(text) or "" for text in given]
        # `dtolnay/rust-toolchain@1.70`: the reference is the version.
        if kind == "rust" and not given and ("dtolnay/" in action or _TOOLCHAIN.match(ref)):
            texts = [ref]
        return Setup(kind, tuple(line.strip() for text in texts for line in text.splitlines() if line.strip()))
    return None
