"""What engines are asked for, and what users read when one does not answer: without an engine."""

import asyncio
import io
import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from groundup.domain.errors import NoSandboxesError, SandboxError, UsageError
from groundup.sandbox.containers.engine import DOCKER, PODMAN, Engine, EngineKind
from groundup.sandbox.containers.layout import Base, Guest, accounts, compose, own_image
from groundup.sandbox.containers.provider import ContainerProvider
from groundup.sandbox.protocol import Mount, SandboxSpec
from tests.patience import patient
from tests.sandbox.ordinary import run_as_ordinary


class FakeClient:
    """Answers like an engine without images, whose registry has some."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.events = events
        self.image: dict[str, Any] = {}
        self.architecture = "amd64"

    def version(self) -> dict[str, str]:
        """Say which one it is."""
        return {"Version": "1.2.3"}

    def info(self) -> dict[str, Any]:
        """Be rootless."""
        return {"SecurityOptions": ["name=rootless"], "CgroupVersion": "2"}

    def inspect_image(self, name: str) -> dict[str, Any]:
        """Have what was pulled."""
        if not self.image:
            raise docker.errors.ImageNotFound(name)
        return self.image

    def pull(self, repository: str, **options: object) -> Iterator[dict[str, Any]]:
        """Tell the events, and have the image."""
        yield from self.events
        self.image = {"Id": "sha256:1", "RepoDigests": [f"{repository}@sha256:2"], "Os": "linux"}
        self.image |= {"Architecture": self.architecture, "Config": {"Env": ["A=b=c"]}}

    def close(self) -> None:
        """Hold nothing."""


async def test_a_pull_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing image is pulled, with the megabytes of all its layers, and known by its digest."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    detail = {"current": 1 << 20, "total": 4 << 20}
    events: list[dict[str, Any]] = [
        {"id": "a", "progressDetail": detail},
        {"id": "b", "progressDetail": detail},
        {"status": "done"},
    ]
    engine, told = Engine(DOCKER, "unix:///x", FakeClient(events)), list[str]()
    image = await engine.image("example/base:1", told.append)
    assert told == ["pulling example/base:1: 1 of 4 MB", "pulling example/base:1: 2 of 8 MB"]
    assert (image.name, image.id, image.environment) == ("example/base@sha256:2", "sha256:1", {"A": "b=c"})
    assert engine.is_rootless
    engine.close()


@pytest.mark.parametrize(
    ("told", "rootless"),
    [
        ({"SecurityOptions": ["name=rootless"]}, True),
        ({"Rootless": True, "SecurityOptions": []}, True),
        ({}, False),
    ],
)
def test_a_rootless_engine_is_known(told: dict[str, Any], rootless: bool) -> None:
    """Docker and Podman say it in different places; whose files a guest's are depends on it."""
    client = FakeClient([])
    client.info = lambda: {**told, "CgroupVersion": "2"}  # type: ignore[method-assign]
    assert Engine(DOCKER, "unix:///x", client).is_rootless is rootless


def test_an_engine_that_cannot_limit_is_refused() -> None:
    """A fork bomb in a container of a rootless engine held this machine for minutes before."""
    client = FakeClient([])
    client.info = lambda: {"Rootless": True, "CgroupVersion": "1"}  # type: ignore[method-assign]
    with pytest.raises(NoSandboxesError, match="limits neither memory nor processes; use `--sandbox bubblewrap`"):
        Engine(DOCKER, "unix:///x", client)


async def test_a_runtime_that_starts_nothing_here() -> None:
    """Where crun cannot work at all, no attempt is tried again, and the reason says which runtime can."""

    def started(client: object) -> None:
        raise docker.errors.APIError("500", explanation="crun: cgroups in hybrid mode not supported, drop them")

    with pytest.raises(NoSandboxesError, match=r"crun starts nothing .* `podman --runtime runc system service"):
        await Engine(PODMAN, "unix:///x", FakeClient([])).ask(started)


@pytest.mark.parametrize(
    "words",
    [
        "invalid mount config for type 'bind': bind source path does not exist: {}",
        "statfs {}: no such file or directory",
    ],
)
async def test_an_engine_that_sees_other_files(words: str, tmp_path: Path) -> None:
    """Docker Desktop's engine is in a virtual machine: a folder that is here, it does not find. One that is not
    here is another fault.
    """

    def started(path: Path) -> Callable[[object], None]:
        def fail(client: object) -> None:
            raise docker.errors.APIError("400", explanation=words.format(path))

        return fail

    engine = Engine(DOCKER, "unix:///x", FakeClient([]))
    with pytest.raises(NoSandboxesError, match="Docker Desktop's; run groundup beside it"):
        await engine.ask(started(tmp_path))
    with pytest.raises(SandboxError, match=r"Docker refused: .*no-such"):
        await engine.ask(started(tmp_path / "no-such"))


def test_an_engine_by_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of another machine is refused with the reason, not as one that does not answer."""
    monkeypatch.setenv("DOCKER_HOST", "ssh://user@host")
    with pytest.raises(NoSandboxesError, match=r"on another machine, ssh://user@host, .*run groundup there"):
        Engine.reach(DOCKER)


async def test_images_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused pull and an image for another machine are one sentence each, with what to do."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    engine = Engine(DOCKER, "unix:///x", FakeClient([{"error": "denied"}]))
    with pytest.raises(
        SandboxError, match=r"base is not here and cannot be pulled \(denied\); .*`docker load -i FILE`"
    ):
        await engine.image("base", print)
    client = FakeClient([])
    client.architecture = "s390x"
    with pytest.raises(UsageError, match="is for linux/s390x, this machine is linux/amd64"):
        await Engine(DOCKER, "unix:///x", client).image("base", print)


def test_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing daemon is one sentence that says how to start it and what needs none."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(
        NoSandboxesError, match=r"Docker does not answer at unix://.*systemctl start docker.*bubblewrap"
    ):
        Engine.reach(DOCKER)


@pytest.mark.parametrize(
    ("kind", "advice"), [(DOCKER, "become a member of its group"), (PODMAN, "start one of your own")]
)
def test_no_permission(kind: EngineKind, advice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A socket of another user's engine is one sentence with what helps with that engine, and what needs none."""

    def refused(**_: object) -> None:
        raise docker.errors.DockerException("Error while fetching ... PermissionError(13, 'Permission denied')")

    (tmp_path / "socket").touch()
    monkeypatch.setenv(kind.variable, f"unix://{tmp_path}/socket")
    monkeypatch.setattr("docker.APIClient", refused)
    with pytest.raises(NoSandboxesError, match=f"does not let you in: {advice}.*bubblewrap"):
        Engine.reach(kind)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a folder that another user cannot look into")
def test_folders_of_others_are_passed_over(tmp_path: Path) -> None:
    """After `su`, XDG_RUNTIME_DIR is still that of another user; engines are found where all see them."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    code = (
        "from groundup.sandbox.containers.engine import DOCKER, PODMAN\nprint(DOCKER.address(), PODMAN.address())"
    )
    command = [sys.executable, "-c", code]
    done = run_as_ordinary(command, {"XDG_RUNTIME_DIR": str(closed)}, patient(60))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split()[0] == "unix:///var/run/docker.sock"


@pytest.mark.parametrize("number", [0, 1000, 4321])
def test_accounts(number: int, tmp_path: Path) -> None:
    """The guest has exactly one name, whatever its number is."""
    spec = SandboxSpec(workspace=tmp_path)
    files = dict(accounts(spec, Guest(number, number)))
    lines = [line.split(":") for line in files["passwd"].splitlines()]
    assert [line[0] for line in lines if line[2] == str(number)] == ["user"]
    assert [line[0] for line in lines].count("user") == 1


def test_request(tmp_path: Path) -> None:
    """No capability, no network of its own asking, read-only mounts, and limits; places of mounts are ours.

    Nothing is mounted where something else is: Podman refuses that.
    """
    state, work, layer = tmp_path / "state", tmp_path / "work", tmp_path / "layer"
    for folder in (state, work, layer):
        folder.mkdir()
    targets = ("/opt/layer", "/workspace/a/b", "/home/user")
    mounts = tuple(Mount(source=layer, target=target) for target in targets)
    spec = SandboxSpec(workspace=work, mounts=mounts)
    base = Base("sha256:1", {}, is_ours=False)
    request = compose(spec, base, Guest(1000, 1000), state, None, state / "control")
    host = request["HostConfig"]
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert host["ReadonlyRootfs"]
    assert host["AutoRemove"]
    assert host["Memory"] == host["MemorySwap"] > 0
    assert host["PidsLimit"] > spec.limits.processes
    assert "Privileged" not in json.dumps(request)
    writable = [mount["Target"] for mount in host["Mounts"] if not mount["ReadOnly"]]
    assert writable == ["/workspace"]
    assert (work / "a" / "b").is_dir()
    assert set(host["Tmpfs"]) == {"/tmp", "/run"}


@pytest.mark.parametrize(
    ("guest", "options"),
    [
        (Guest(1000, 1001), {"mode=0755", "uid=1000", "gid=1001"}),
        (Guest(0, 0), {"mode=0755"}),
        (Guest(1000, 1001, owns_tmpfs=False), {"mode=0777"}),
        (Guest(0, 0, owns_tmpfs=False), {"mode=0755"}),
    ],
)
def test_a_guest_can_write_to_its_home(tmp_path: Path, guest: Guest, options: set[str]) -> None:
    """It owns the folder in memory, or where no engine can make it the owner, all may write there."""
    spec, base = SandboxSpec(workspace=tmp_path), Base("sha256:1", {}, is_ours=False)
    request = compose(spec, base, guest, tmp_path, None, tmp_path / "control")
    home = request["HostConfig"]["Tmpfs"]["/home/user"].split(",")
    assert {one for one in home if one.startswith(("mode=", "uid=", "gid="))} == options


def test_libraries_below_a_closed_folder(tmp_path: Path) -> None:
    """An image's /root, which only root may enter, gives way to a folder for all where a layer is shown in it."""
    base = Base("sha256:1", {}, is_ours=False)
    for target, given_way in (("/root/python/lib", True), ("/opt/lib", False)):
        spec = SandboxSpec(workspace=tmp_path, mounts=(Mount(source=tmp_path, target=target),))
        request = compose(spec, base, Guest(1000, 1000), tmp_path, None, tmp_path / "control")
        targets = [mount["Target"] for mount in request["HostConfig"]["Mounts"]]
        assert ("/root" in targets) is given_way
    assert (tmp_path / "control-root" / "python" / "lib").is_dir()


def test_own_images_hold_no_file() -> None:
    """Our own images are folders and links, so nothing in them can be old."""
    for throw_away in (False, True):
        with tarfile.open(fileobj=io.BytesIO(own_image(throw_away=throw_away))) as archive:
            assert not any(member.isfile() for member in archive)
            assert {"usr", "var"} <= set(archive.getnames())


class Members(ContainerProvider):
    """Opens sandboxes without an engine, and notes whose network each one joined."""

    def __init__(self) -> None:
        super().__init__(DOCKER)
        self.joined: list[str | None] = []
        self.gone: set[str] = set()

    async def open_in(self, spec: SandboxSpec, holder: str | None, image: Any) -> Any:
        """Open the next one, which takes a moment."""
        number = len(self.joined)
        self.joined.append(holder)
        await asyncio.sleep(0)
        if holder in self.gone:
            raise SandboxError("cannot join the network of a container that does not run")
        return Member(f"container {number}"), f"container {number}"

    async def is_running(self, container: str) -> bool:
        """Whether it was not said to be gone."""
        return container not in self.gone


class Member:
    """A sandbox of no use, but that it can end."""

    ended = False

    def __init__(self, name: str) -> None:
        self.name = name

    async def close(self) -> None:
        """End."""
        self.ended = True


async def test_the_first_of_a_pod_makes_its_network() -> None:
    """The others join it, also those that come while it opens: a pod costs no container of its own."""
    provider, spec = Members(), SandboxSpec(workspace=Path())
    async with await provider.pod() as pod:
        await asyncio.gather(*(pod.open(spec) for _ in range(3)))
    assert provider.joined == [None, "container 0", "container 0"]
    with pytest.raises(SandboxError, match="the pod is closed"):
        await pod.open(spec)


async def test_who_comes_late_joins_who_runs() -> None:
    """A pod whose first has ended goes on in the network of another, even if that is known to the engine only."""
    provider, spec = Members(), SandboxSpec(workspace=Path())
    async with await provider.pod() as pod:
        first = await pod.open(spec)
        second = await pod.open(spec)
        provider.gone.add("container 0")
        await pod.open(spec)
        assert provider.joined == [None, "container 0", "container 0", "container 1"]
        await asyncio.gather(first.close(), second.close())
        await pod.open(spec)
        assert provider.joined[4:] == ["container 3"]


async def test_a_pod_in_which_nothing_runs() -> None:
    """Its next sandbox has a network of its own, as none is left to share one with."""
    provider, spec = Members(), SandboxSpec(workspace=Path())
    async with await provider.pod() as pod:
        first = await pod.open(spec)
        await first.close()
        observer = await pod.observer(spec)
        with pytest.raises(ConnectionRefusedError, match="port 80"):
            await observer.connect(80)
        await pod.open(spec)
    assert provider.joined == [None, None]
