"""What keeps a job from being run here, reported before anything is run."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from groundup.grading.ci.actions import CHECKOUT, Action, misunderstood, parse_uses, stub_of, why_unsupported
from groundup.grading.ci.records import Obstacle
from groundup.workflows.commands import program_of, simple_commands
from groundup.workflows.expressions import Contexts
from groundup.workflows.matrix import Leg
from groundup.workflows.steps import PlacedStep, contexts_of, placed_steps
from groundup.workflows.tree import RepositoryTree
from groundup.workflows.workflow import Job, Step, Workflow

_SHELLS = ("bash", "sh", "python", "python3", "node")
_LINUX = re.compile(r"ubuntu|linux", re.IGNORECASE)
_OTHER_SYSTEM = re.compile(r"windows|macos|mac-", re.IGNORECASE)
_OTHER_MACHINE = re.compile(r"arm64|aarch64|-arm\b|s390x|ppc64le|riscv", re.IGNORECASE)
_UPLOADER = re.compile(r"(?:coveralls|codecov|codacy|codeclimate|cc-test-reporter)\b")
_PREPARES_UPLOAD = re.compile(
    r"(?:python -m )?pip install |(?:curl|wget|chmod) |coverage (?:xml|lcov|json)\b|(?:bash|sh) (?:-|$)"
)


class JobNeeds(NamedTuple):
    """What a job with all that it needs consists of."""

    obstacles: tuple[Obstacle, ...]
    actions: tuple[Action, ...]
    """Those with a stand-in, each once."""
    local_actions: dict[str, frozenset[int]]
    """Folders of the repository's own actions, with the positions of their steps that may run in some call."""
    steps: tuple[PlacedStep, ...]
    """Steps of the wanted job that may run, those of local actions included."""


def needs_of(workflow: Workflow, job: Job, leg: Leg, tree: RepositoryTree) -> JobNeeds:
    """Look at *job* and what it needs, without running anything."""
    looking = _Looking(workflow, tree)
    for needed in workflow.needed(job.id):
        # A needed job runs in all its legs, so nothing is known of its matrix.
        looking.job(needed, leg if needed.id == job.id else None, wanted=needed.id == job.id)
    return JobNeeds(
        obstacles=tuple(dict.fromkeys(looking.obstacles)),
        actions=tuple(dict.fromkeys(looking.actions)),
        local_actions={folder: frozenset(steps) for folder, steps in looking.local.items()},
        steps=tuple(looking.steps),
    )


class _Looking:
    def __init__(self, workflow: Workflow, tree: RepositoryTree) -> None:
        self.obstacles: list[Obstacle] = []
        self.actions: list[Action] = []
        self.local: dict[str, set[int]] = {}
        self.steps: list[PlacedStep] = []
        self._workflow = workflow
        self._tree = tree

    def job(self, job: Job, leg: Leg | None, *, wanted: bool) -> None:
        if job.reusable:
            self._tell("reusable workflow", job.reusable)
        if job.services:
            self._tell("services", ", ".join(job.services))
        if job.container:
            self._tell("container", job.container)
        contexts = contexts_of(self._workflow, job, leg)
        self._runner(job, contexts)
        for placed in placed_steps(job.steps, contexts, self._tree):
            if placed.calls:
                self.local.setdefault(placed.calls, set())
            if only_uploads(placed.step):
                continue
            if placed.action:
                self.local[placed.action].add(placed.step.index)
            if wanted:
                self.steps.append(placed)
            self._step(placed, job)

    def _runner(self, job: Job, contexts: Contexts) -> None:
        labels = [contexts.text(label) for label in job.runs_on]
        known = " ".join(label for label in labels if label is not None)
        if _OTHER_MACHINE.search(known) or (_OTHER_SYSTEM.search(known) and not _LINUX.search(known)):
            self._tell("runner", known)

    def _step(self, placed: PlacedStep, job: Job) -> None:
        step = placed.step
        if step.run is not None:
            default = None if placed.action else job.shell
            program = (step.shell or default or "bash").split()[0]
            if program not in _SHELLS and "${{" not in program:
                self._tell("shell", f"{program} (step {step.title!r})")
        elif step.uses:
            self._uses(placed, step.uses)

    def _uses(self, placed: PlacedStep, uses: str) -> None:
        if uses.startswith("docker://"):
            self._tell("container", uses)
        elif uses.startswith("./"):
            if placed.trouble is not None:
                self._tell("action", placed.trouble)
        elif (action := parse_uses(uses)) is None:
            self._tell("action", f"{uses} cannot be understood")
        elif action.name.lower() == CHECKOUT:
            self._checkout(placed)
        elif stub_of(action) is None:
            self._tell("action", why_unsupported(action))
        else:
            self.actions.append(action)
            given = {name: placed.contexts.text(text) for name, text in placed.step.inputs.items()}
            for why in misunderstood(action, given):
                self._tell("action", why)

    def _checkout(self, placed: PlacedStep) -> None:
        inputs = placed.step.inputs
        other = placed.contexts.text(inputs.get("repository", ""))
        if other != "" and "github.repository" not in inputs.get("repository", ""):
            self._tell("checkout", f"of another repository, {other or inputs['repository']}")
        if inputs.get("path", ".").strip("./"):
            self._tell("checkout", f"into the folder {inputs['path']}")

    def _tell(self, kind: str, what: str) -> None:
        self.obstacles.append(Obstacle(kind=kind, what=what[:200]))


def only_uploads(step: Step) -> bool:
    """Whether a step's script does nothing but send a report to a service, and prepare that."""
    commands = list(simple_commands(step.run or ""))
    sending = [_sends_report(words) for words in commands]
    return any(sending) and all(
        sends or _PREPARES_UPLOAD.match(" ".join((program_of(words[0]), *words[1:], "")))
        for sends, words in zip(sending, commands, strict=True)
    )


def _sends_report(words: Sequence[str]) -> bool:
    program = program_of(words[0])
    module = words[2] if program == "python" and words[1:2] == ["-m"] and len(words) > 2 else ""
    fetched = program in ("bash", "sh", "curl", "wget") and any("codecov.io" in word for word in words[1:])
    return fetched or bool(_UPLOADER.match(module or program))
