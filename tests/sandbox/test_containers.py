"""Docker's and Podman's containers keep both contracts, where the engine answers or can be started."""

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import NoSandboxesError, SandboxError
from groundup.grading.ci.records import JobOutcome
from groundup.sandbox.composition import INSIDE, PYTHON
from groundup.sandbox.containers.engine import DOCKER, LABEL, PODMAN, Engine, stale_containers
from groundup.sandbox.containers.layout import EMPTY, own_image
from groundup.sandbox.containers.provider import ContainerProvider
from groundup.sandbox.host_state import HostState
from groundup.sandbox.protocol import SandboxSpec
from tests import needs
from tests.grading.ci.bench import log_of, run, steps
from tests.patience import patient
from tests.sandbox.contract import SandboxContract, sh
from tests.sandbox.isolation import IsolationContract

pytestmark = pytest.mark.end_to_end
KINDS = {kind.name: kind for kind in (DOCKER, PODMAN)}
JOB = "{name: test, run: 'test -f marker && test -f /tmp/b && test $A = 1'}"


@pytest.fixture(scope="module", params=sorted(KINDS))
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the name of an engine that answers; Podman's service is started for it."""
    kind = KINDS[request.param]
    if not os.environ.get("CONTAINERS"):
        needs.lack("make test-containers", "containers take minutes")
    with pytest.MonkeyPatch.context() as patch:
        service = None
        if kind is PODMAN and shutil.which("podman") and not kind.address().startswith("tcp"):
            socket = tmp_path_factory.mktemp("podman") / "podman.sock"
            mixed = Path("/sys/fs/cgroup/unified").is_dir()  # crun does not know this kind of control groups
            command = ["podman", *(("--runtime", "runc") if mixed and shutil.which("runc") else ())]
            service = subprocess.Popen([*command, "system", "service", "--time=0", f"unix://{socket}"])
            patch.setenv(kind.variable, f"unix://{socket}")
            for _ in range(100):
                if socket.exists() or service.poll() is not None:
                    break
                asyncio.run(asyncio.sleep(0.1))
        try:
            Engine.reach(kind).close()
        except NoSandboxesError as error:
            needs.lack(kind.name, error)
        try:
            yield kind.name
        finally:
            if service:
                service.terminate()
                service.wait()


@pytest.fixture
async def provider(engine: str) -> AsyncIterator[ContainerProvider]:
    """Yield a provider; closing it closes its sandboxes."""
    async with ContainerProvider(KINDS[engine]) as provider:
        yield provider


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def image(engine: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the name of a base image that was made here and loaded."""
    folder = tmp_path_factory.mktemp("image")
    needs.need("groundup_bridges")
    from groundup_bridges.base_image import build_base

    name = build_base("groundup/base", folder / "layout")
    packed = shutil.make_archive(str(folder / "image"), "tar", folder / "layout")
    reached = Engine.reach(KINDS[engine])
    try:
        asyncio.run(reached.ask(partial(_load, Path(packed))))
    finally:
        reached.close()
    return name


def _load(packed: Path, client: Any) -> None:
    with packed.open("rb") as file:
        list(client.load_image(file.read()))


class TestImage(SandboxContract):
    """It does what callers want in an image of theirs, too, whose programs and variables are then there."""

    @pytest.fixture
    async def provider(self, engine: str, image: str) -> AsyncIterator[ContainerProvider]:
        """Yield a provider with an image."""
        async with ContainerProvider(KINDS[engine], image) as provider:
            yield provider

    async def test_the_image_is_known(self, provider: ContainerProvider, image: str, workspace: Path) -> None:
        """An image's PATH is there after the specification's, and its digest is what the run depends on."""
        async with await provider.open(SandboxSpec(workspace=workspace, path=("/opt/mine",))) as sandbox:
            seen = await sandbox.run(sh("echo $PATH; id -un; ls /etc/groundup 2>&1"))
        assert seen.stdout.splitlines()[:2] == [b"/opt/mine:/usr/local/bin:/usr/bin:/bin", b"user"]
        assert provider.identity()["image id"].startswith("sha256:")


async def test_a_root_that_is_thrown_away(provider: ContainerProvider, workspace: Path) -> None:
    """A guest that is root inside may write beside its mounts, in a pod, too; it has an /etc, and its name."""
    spec = SandboxSpec(workspace=workspace, user="root", throw_away_root=True)
    async with await provider.pod() as pod, await pod.open(spec) as sandbox:
        done = await sandbox.run(sh("id -un; cd / && echo x > /opt/x && touch /etc/mine && ls /etc/services"))
    assert (done.exit_code, done.stdout) == (0, b"root\n/etc/services\n"), done


async def test_a_root_that_is_thrown_away_has_no_more_than_others(
    provider: ContainerProvider, workspace: Path, tmp_path: Path
) -> None:
    """Its /etc is that of the listed programs, not this machine's: a service sees the same everywhere."""
    (tmp_path / "other").mkdir()
    look = sh("cd /etc; find . | grep -v mtab | sort")
    async with (
        await provider.open(SandboxSpec(workspace=workspace, user="root", throw_away_root=True)) as one,
        await provider.open(SandboxSpec(workspace=tmp_path / "other", user="root")) as other,
    ):
        seen, usual = await one.run(look), await other.run(look)
    assert b"./services" in seen.stdout
    assert seen.stdout == usual.stdout


@pytest.mark.parametrize("in_image", [False, True])
async def test_root_changes_no_names_for_its_pod(
    engine: str, image: str, in_image: bool, workspace: Path, tmp_path: Path
) -> None:
    """What a service that is root writes into an engine's files in /etc, the tests beside it do not see."""
    (tmp_path / "other").mkdir()
    mine = SandboxSpec(workspace=workspace, user="root", throw_away_root=True)
    files = "/etc/hosts /etc/hostname /etc/resolv.conf"
    async with (
        ContainerProvider(KINDS[engine], image if in_image else None) as provider,
        await provider.pod() as pod,
        await pod.open(mine) as first,
    ):
        second = await pod.open(SandboxSpec(workspace=tmp_path / "other"))
        written = await first.run(sh(f"for f in {files}; do echo '127.0.0.9 mine' >> $f; done; cat {files}"))
        seen = await second.run(sh(f"cat {files}; hostname"))
    assert b"mine" in written.stdout
    assert seen.stdout.endswith(b"\ngroundup\n")
    assert b"localhost" in seen.stdout
    assert b"mine" not in seen.stdout


async def test_a_ci_job(engine: str, tmp_path: Path) -> None:
    """act runs in one container and a job's steps in another, which keep their files from step to step."""
    workflow = steps("uses: actions/checkout@v4", "run: 'echo A=1 >> $GITHUB_ENV; touch /tmp/b'", JOB)
    result = await run(tmp_path, workflow, {"marker": ""}, provider=ContainerProvider(KINDS[engine]))
    assert result.outcome is JobOutcome.PASSED, log_of(result)


async def test_an_image_that_is_not_there(engine: str) -> None:
    """What cannot be pulled is one sentence that names the image."""
    with pytest.raises(SandboxError, match="the image localhost/none-such:1 is not here and cannot be pulled"):
        async with ContainerProvider(KINDS[engine], "localhost/none-such:1"):
            pass


async def test_an_image_without_a_shell(engine: str) -> None:
    """An image in which nothing runs is refused before anything is graded in it, alone and as one of many."""
    reached = Engine.reach(KINDS[engine])
    try:
        await reached.have(EMPTY, lambda: own_image(throw_away=False))
    finally:
        reached.close()
    with pytest.raises(SandboxError, match=r"in the image .* do not run .* it needs sh"):
        async with ContainerProvider(KINDS[engine], EMPTY):
            pass
    async with ContainerProvider(KINDS[engine]) as provider:
        with pytest.raises(SandboxError, match="do not run"):
            await provider.in_image(EMPTY)


async def test_an_image_of_its_own(engine: str, image: str, provider: ContainerProvider, workspace: Path) -> None:
    """A provider opens sandboxes and pods in other images beside its own, whose networks serve both."""
    inside = await provider.in_image(image)
    spec = SandboxSpec(workspace=workspace)
    async with await inside.pod() as pod, await pod.open(spec) as sandbox:
        own = await sandbox.run(sh("echo $PATH"))
    async with await provider.open(spec) as sandbox:
        other = await sandbox.run(sh("echo $PATH"))
    assert (own.stdout, other.stdout) == (b"/usr/local/bin:/usr/bin:/bin\n", b"/usr/bin:/bin\n")
    assert inside.identity()["image id"].startswith("sha256:")
    assert "image" not in provider.identity()
    assert await provider.in_image(image) is inside


class TestBehaviour(SandboxContract):
    """It does what callers want."""


class TestIsolation(IsolationContract):
    """It does nothing of what guests want."""

    python = (PYTHON, "-I", "-S", "-B", "-c")
    python_environment = (
        {"LD_LIBRARY_PATH": f"{INSIDE}/python/lib"} if sysconfig.get_config_var("Py_ENABLE_SHARED") else {}
    )


VICTIM = """
import asyncio, sys
from pathlib import Path
from groundup.sandbox.containers import engine, provider
from groundup.sandbox.protocol import Command, SandboxSpec

async def main():
    kind = {kind.name: kind for kind in (engine.DOCKER, engine.PODMAN)}[sys.argv[2]]
    async with provider.ContainerProvider(kind) as containers:
        sandbox = await containers.open(SandboxSpec(workspace=Path(sys.argv[1], "work")))
        await sandbox.run(Command(argv=("sh", "-c", "mkdir -p d/e; echo x > d/e/f; chmod 000 d/e/f d/e d")))
        await sandbox.start(Command(argv=("sh", "-c", "(setsid sleep 300 &); sleep 300")))
        print("ready", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


def containers_of(engine: str, top: Path) -> list[str]:
    """Return the containers of programs whose state lies below *top*."""
    reached = Engine.reach(KINDS[engine])
    try:
        return [one for one, state in asyncio.run(reached.ours()).items() if state.startswith(str(top))]
    finally:
        reached.close()


def test_kill_of_groundup(engine: str, tmp_path: Path) -> None:
    """After kill -9 the container ends, the engine removes it, and the workspace is the caller's again."""
    work, temporary = tmp_path / "work", tmp_path / "tmp"
    work.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(tmp_path), engine], env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert len(containers_of(engine, temporary)) == 1
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + patient(60)
    while containers_of(engine, temporary) or any(temporary.glob("groundup-*/*/lock")):
        assert time.monotonic() < deadline, (containers_of(engine, temporary), list(temporary.glob("*/*")))
        time.sleep(0.1)
    assert {path.stat().st_uid for path in (work, *work.rglob("*"))} == {os.geteuid()}


def _made(request: dict[str, object], client: Any) -> dict[str, str]:
    made: dict[str, str] = client.create_container_from_config(request)
    return made


async def test_a_container_that_was_never_started(
    engine: str, provider: ContainerProvider, tmp_path: Path
) -> None:
    """What a killed program made and did not start is found by its label and removed; others stay."""
    reached = Engine.reach(KINDS[engine])
    try:
        image = await reached.have(EMPTY, lambda: own_image(throw_away=False))
        gone, alive = HostState(), HostState()
        made = []
        for state in (gone, alive):
            request: dict[str, object] = {
                "Image": image,
                "Entrypoint": ["/none"],
                "Labels": {LABEL: str(state.path)},
            }
            made.append((await reached.ask(partial(_made, request)))["Id"])
        gone.release()
        stale = await asyncio.to_thread(stale_containers, remove=True)
        assert f"{engine}/{made[0][:12]}" in stale
        assert f"{engine}/{made[1][:12]}" not in stale
        left = await reached.ours()
        assert made[0] not in left
        assert made[1] in left
        await reached.remove(made[1])
        await reached.remove(made[1])
    finally:
        alive.release()
        reached.close()
