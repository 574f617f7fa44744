"""What keeps a job from being run here, told before anything is run."""

import re
from collections.abc import Callable, Iterator, Mapping

from groundup.domain.records import Record
from groundup.grading.ci.action_inputs import misunderstood
from groundup.grading.ci.actions import CHECKOUT, Action, parse_uses, stub_of, why_unsupported
from groundup.grading.ci.records import Obstacle
from groundup.workflows.expressions import resolved
from groundup.workflows.matrix import Leg
from groundup.workflows.workflow import Job, Step, Workflow, WorkflowError, read_yaml, steps_of

Read = Callable[[str], bytes | None]
"""Returns a file of the repository; None for a missing one."""
_SHELLS = ("bash", "sh", "python", "python3", "node")
_LINUX = re.compile(r"ubuntu|linux", re.IGNORECASE)
_OTHER_SYSTEM = re.compile(r"windows|macos|mac-", re.IGNORECASE)
_OTHER_MACHINE = re.compile(r"arm64|aarch64|-arm\b|s390x|ppc64le|riscv", re.IGNORECASE)
_DEEPEST = 8
_UPLOAD = re.compile(
    r"^(?:\S+\s+-m\s+)?(?:\S*/)?(?:coveralls|codecov|codacy|codeclimate|cc-test-reporter)\b|codecov\.io"
)
_PREPARES_UPLOAD = re.compile(
    r"^(?:(?:python\S*\s+-m\s+)?pip3?\s+install|curl|wget|chmod|coverage\s+(?:xml|lcov|json))\b"
)


class JobNeeds(Record):
    """What a job with all that it needs consists of."""

    obstacles: tuple[Obstacle, ...] = ()
    actions: tuple[Action, ...] = ()
    """Those with a stand-in, each once."""
    local_actions: tuple[str, ...] = ()
    """Folders of the repository's own actions."""
    steps: tuple[Step, ...] = ()
    """Steps of the wanted job and of the local actions that it uses."""


def needs_of(workflow: Workflow, job: Job, leg: Leg, read: Read) -> JobNeeds:
    """Look at *job* and what it needs, without running anything."""
    looking = _Looking(workflow, read)
    for needed in workflow.needed(job.id):
        looking.job(needed, leg if needed.id == job.id else {}, wanted=needed.id == job.id)
    return JobNeeds(
        obstacles=tuple(dict.fromkeys(looking.obstacles)),
        actions=tuple(dict.fromkeys(looking.actions)),
        local_actions=tuple(dict.fromkeys(looking.local)),
        steps=tuple(looking.steps),
    )


class _Looking:
    def __init__(self, workflow: Workflow, read: Read) -> None:
        self.obstacles: list[Obstacle] = []
        self.actions: list[Action] = []
        self.local: list[str] = []
        self.steps: list[Step] = []
        self._workflow = workflow
        self._read = read

    def job(self, job: Job, leg: Leg, *, wanted: bool) -> None:
        if job.reusable:
            self._tell("reusable workflow", job.reusable)
        if job.services:
            self._tell("services", ", ".join(job.services))
        if job.container:
            self._tell("container", job.container)
        self._runner(job, leg)
        environment = {**self._workflow.environment, **job.environment}
        if wanted:
            self.steps += job.steps
        for step in job.steps:
            self._step(step, step.shell or job.shell, leg, environment, wanted=wanted, depth=0)

    def _runner(self, job: Job, leg: Leg) -> None:
        labels = [resolved(label, leg, {}) for label in job.runs_on]
        known = " ".join(label for label in labels if label is not None)
        if _OTHER_MACHINE.search(known) or (_OTHER_SYSTEM.search(known) and not _LINUX.search(known)):
            self._tell("runner", known)

    def _step(
        self, step: Step, shell: str | None, leg: Leg, environment: Mapping[str, str], *, wanted: bool, depth: int
    ) -> None:
        if never_runs(step, leg):
            return
        if step.run is not None:
            program = (shell or "bash").split()[0]
            if program not in _SHELLS and "${{" not in program:
                self._tell("shell", f"{program} (step {step.title!r})")
        elif step.uses:
            self._uses(step, leg, environment, wanted=wanted, depth=depth)

    def _uses(self, step: Step, leg: Leg, environment: Mapping[str, str], *, wanted: bool, depth: int) -> None:
        uses = step.uses or ""
        if uses.startswith("docker://"):
            self._tell("container", uses)
        elif uses.startswith("./"):
            self._local(uses, leg, environment, wanted=wanted, depth=depth)
        elif (action := parse_uses(uses)) is None:
            self._tell("action", f"{uses} cannot be understood")
        elif action.name.lower() == CHECKOUT:
            self._checkout(step, leg, environment)
        elif stub_of(action) is None:
            self._tell("action", why_unsupported(action))
        else:
            self.actions.append(action)
            given = {name: resolved(text, leg, environment) for name, text in step.inputs.items()}
            for why in misunderstood(action, given):
                self._tell("action", why)

    def _checkout(self, step: Step, leg: Leg, environment: Mapping[str, str]) -> None:
        other = resolved(step.inputs.get("repository", ""), leg, environment)
        if other != "" and "github.repository" not in step.inputs.get("repository", ""):
            self._tell("checkout", f"of another repository, {other or step.inputs['repository']}")
        if step.inputs.get("path", ".").strip("./"):
            self._tell("checkout", f"into the folder {step.inputs['path']}")

    def _local(self, uses: str, leg: Leg, environment: Mapping[str, str], *, wanted: bool, depth: int) -> None:
        folder = uses.removeprefix("./").rstrip("/")
        found = next(
            (
                data
                for name in ("action.yml", "action.yaml")
                if (data := self._read(f"{folder}/{name}")) is not None
            ),
            None,
        )
        if found is None or depth >= _DEEPEST:
            self._tell("action", f"{uses} is not in the repository")
            return
        try:
            document = read_yaml(found, folder)
        except WorkflowError as error:
            self._tell("action", str(error))
            return
        runs = document.get("runs") if isinstance(document, dict) else None
        if not isinstance(runs, dict) or runs.get("using") != "composite":
            self._tell("action", f"{uses} is no composite action")
            return
        self.local.append(folder)
        for step in steps_of(runs.get("steps")):
            if wanted:
                self.steps.append(step)
            self._step(step, step.shell, leg, environment, wanted=wanted, depth=depth + 1)

    def _tell(self, kind: str, what: str) -> None:
        self.obstacles.append(Obstacle(kind=kind, what=what[:200]))


def only_uploads(step: Step) -> bool:
    """Whether a step's script does nothing but send a report to somebody."""
    lines = [line.strip() for line in (step.run or "").splitlines() if line.strip() and line.strip()[0] != "#"]
    return (
        bool(lines)
        and all(_UPLOAD.search(line) or _PREPARES_UPLOAD.match(line) for line in lines)
        and any(_UPLOAD.search(line) for line in lines)
    )


def never_runs(step: Step, leg: Leg) -> bool:
    """Whether a step is skipped: by a condition on system or matrix, or because nobody is there to report to."""
    return only_uploads(step) or any(_fails(part.strip(), leg) for part in _conjuncts(step.condition or ""))


def _conjuncts(condition: str) -> Iterator[str]:
    text = condition.strip().removeprefix("${{").removesuffix("}}")
    if "||" not in text and "(" not in text:
        yield from text.split("&&")


_BARE = re.compile(r"!?\s*(matrix\.[\w.-]+)")
_COMPARED = re.compile(r"(runner\.os|matrix\.[\w.-]+)\s*(==|!=)\s*('[^']*'|[\d.]+|true|false)")


def _fails(part: str, leg: Leg) -> bool:
    match = _COMPARED.fullmatch(part)
    if match is None:
        bare = _BARE.fullmatch(part)
        value = resolved(f"${{{{ {bare[1]} }}}}", leg, {}) if bare else None
        return value is not None and (value in ("", "false", "0")) != part.startswith("!")
    value = resolved(f"${{{{ {match[1]} }}}}", leg, {})
    if value is None:
        return False
    same = value.lower() == match[3].strip("'").lower()
    return same != (match[2] == "==")
