"""Talking to Docker, or to Podman by its socket that speaks Docker's language: images, containers, and errors.

One library, docker-py, serves both. It blocks, so every call runs in a thread.

Leftovers are containers that were made and, because groundup was killed in that moment, never started.
"""

import asyncio
import contextlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from groundup.configuration import environment
from groundup.domain.errors import MissingExtraError, NoSandboxesError, SandboxError, UsageError
from groundup.sandbox.host_state import is_abandoned

_T = TypeVar("_T")
_CALL_S, _LAST_WORDS_S = 300, 20
_AT_ONCE = 8
"""Calls to the engine at a time: more only wait for one another there."""
_ROUNDS, _PAUSE_S = 100, 0.1
"""Podman removes a container that holds a network only after those that share it."""
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_ID = "sha256:"
_STEPS = 20
"""In which a pull says how far it is."""
_MIXED = "cgroups in hybrid mode not supported"
"""What crun says of such a machine, whatever is asked of it."""
_UNSEEN = re.compile(r"bind source path does not exist: (/\S+)|statfs (/\S+): no such file")
"""The errors of engines that do not find the source of a mount."""
LABEL = "groundup.state"
"""Of every container of ours: the state folder of the program that made it."""


@dataclass(frozen=True)
class EngineKind:
    """An engine and how its users reach it."""

    name: str
    title: str
    variable: str
    sockets: tuple[str, ...]
    start: str
    admission: str
    """How its socket's owner lets one in."""
    load: str
    """Brings an image from a file."""

    def address(self) -> str:
        """Return where the engine answers: as the environment says, else the first usual socket that is there."""
        given = environment().get(self.variable)
        if given:
            return given
        user = os.geteuid()
        own = (environment().get("XDG_RUNTIME_DIR") or f"/run/user/{user}") if user else "/run"
        places = [place.replace("{own}", own) for place in self.sockets]
        return f"unix://{next((place for place in places if _is_there(place)), places[0])}"


DOCKER = EngineKind(
    "docker",
    "Docker",
    "DOCKER_HOST",
    ("/var/run/docker.sock", "{own}/docker.sock"),
    "start it (`systemctl start docker`)",
    "become a member of its group, which is as good as being root (`sudo usermod -aG docker $USER`, then log in "
    "again), or run it rootless",
    "docker load -i FILE",
)
PODMAN = EngineKind(
    "podman",
    "Podman",
    "CONTAINER_HOST",
    ("{own}/podman/podman.sock", "/run/podman/podman.sock"),
    "start its service (`systemctl --user start podman.socket`, as root without `--user`; or "
    "`podman system service --time=0 &`)",
    "start one of your own (`systemctl --user start podman.socket`)",
    "podman load -i FILE",
)


@dataclass(frozen=True)
class EngineImage:
    """An image that the engine has."""

    name: str
    id: str
    environment: Mapping[str, str]


class Engine:
    """An engine that answers. Raises `SandboxError` from everything when it fails."""

    def __init__(self, kind: EngineKind, address: str, client: Any) -> None:
        self.kind = kind
        self.address = address
        self._client = client
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=kind.name)
        self._closed = False
        self.version = str(client.version().get("Version", "unknown"))
        told = client.info()
        options = told.get("SecurityOptions") or []  # Docker says it there, Podman beside it
        self.is_rootless = bool(told.get("Rootless")) or any("rootless" in option for option in options)
        if self.is_rootless and str(told.get("CgroupVersion")) != "2":
            raise NoSandboxesError(
                f"{kind.title} at {address} is rootless, and with control groups of version 1, as here, "
                "it limits neither memory nor processes; use `--sandbox bubblewrap`, or an engine of root"
            )

    @classmethod
    def reach(cls, kind: EngineKind) -> "Engine":
        """Connect. Raises `NoSandboxesError` and `MissingExtraError` with what to do."""
        try:
            import docker
        except ImportError as error:
            raise MissingExtraError(
                f"`--sandbox {kind.name}` needs the client library of engines; "
                "install it with `pip install 'groundup[containers]'`"
            ) from error
        address = kind.address()
        absent = (
            f"{kind.title} does not answer at {address}: {kind.start}, name its address in {kind.variable}, "
            "or use `--sandbox bubblewrap`, which needs no engine"
        )
        if address.startswith("ssh://"):
            raise NoSandboxesError(
                f"{kind.variable} names {kind.title} on another machine, {address}, which cannot see this one's "
                "files; run groundup there, or unset the variable"
            )
        if address.startswith("unix://") and not _is_there(address.removeprefix("unix://")):
            raise NoSandboxesError(absent)
        try:
            return cls(kind, address, docker.APIClient(base_url=address, version="auto", timeout=_CALL_S))
        except docker.errors.DockerException as error:
            reason = str(error)
            if "Permission denied" in reason or "PermissionError" in reason:
                raise NoSandboxesError(
                    f"{kind.title} at {address} does not let you in: {kind.admission}, "
                    "or use `--sandbox bubblewrap`, which needs no engine"
                ) from error
            raise NoSandboxesError(absent) from error

    async def ask(self, what: Callable[[Any], _T]) -> _T:
        """Call *what* with the client, in a thread. Raises `SandboxError`."""
        import docker
        import requests

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, what, self._client)
        except docker.errors.APIError as error:
            reason = " ".join(str(error.explanation or error).split())
            if _MIXED in reason:
                raise NoSandboxesError(
                    f"{self.kind.title}'s runtime crun starts nothing where both versions of control groups "
                    "are in use, as here; install runc and start the service with "
                    "`podman --runtime runc system service --time=0 &`"
                ) from error
            if (unseen := _UNSEEN.search(reason)) and _is_there(unseen[1] or unseen[2]):
                raise NoSandboxesError(
                    f"{self.kind.title} at {self.address} does not see this machine's files: it is on another "
                    "one, or in a virtual one such as Docker Desktop's; run groundup beside it, or use "
                    "`--sandbox bubblewrap`"
                ) from error
            raise SandboxError(f"{self.kind.title} refused: {reason}") from error
        except (docker.errors.DockerException, requests.RequestException) as error:
            reason = " ".join(str(error).split())
            raise SandboxError(f"{self.kind.title} at {self.address} failed: {reason}; is it running?") from error

    async def start(self, request: dict[str, Any]) -> str:
        """Make and start a container; return its id. One that does not start is removed."""

        def work(client: Any) -> str:
            made: str = client.create_container_from_config(request)["Id"]
            try:
                client.start(made)
            except BaseException:
                _remove(client, made)
                raise
            return made

        return await self.ask(work)

    async def is_running(self, container: str) -> bool:
        return bool(await self.ask(lambda client: client.containers(filters={"id": container})))

    async def remove(self, container: str) -> None:
        """Remove a container, running or not; one that is gone already is no error."""
        await self.ask(lambda client: _remove(client, container))

    async def last_words(self, request: dict[str, Any]) -> str:
        """Start a container like one that failed once more, and return what it says."""

        def work(client: Any) -> str:
            host = {**request["HostConfig"], "AutoRemove": False}
            host.pop("LogConfig")
            made: str = client.create_container_from_config({**request, "HostConfig": host})["Id"]
            try:
                client.start(made)
                client.wait(made, timeout=_LAST_WORDS_S)
                return str(client.logs(made, tail=5).decode(errors="replace")).strip().replace("\n", "; ")
            finally:
                _remove(client, made)

        try:
            return await self.ask(work)
        except SandboxError as error:
            return str(error)

    async def ours(self) -> dict[str, str]:
        """Return id -> state folder of every container that a program like this one made."""
        found = await self.ask(lambda client: client.containers(all=True, filters={"label": LABEL}))
        return {one["Id"]: one["Labels"][LABEL] for one in found}

    async def remove_all(self, state: str) -> None:
        """Have the engine remove what is left of *state*; it does so by itself, but for what another one needs."""
        for _ in range(_ROUNDS):
            mine = [one for one, of in (await self.ours()).items() if of == state]
            if not mine:
                return
            await asyncio.gather(*(self.remove(one) for one in mine), return_exceptions=True)
            await asyncio.sleep(_PAUSE_S)

    @classmethod
    def here(cls) -> "Iterator[Engine]":
        """Yield the engines that answer on this machine."""
        for kind in (DOCKER, PODMAN):
            if _is_there(kind.address().removeprefix("unix://")):
                with contextlib.suppress(NoSandboxesError, MissingExtraError):
                    yield cls.reach(kind)

    async def have(self, name: str, archive: Callable[[], bytes]) -> str:
        """Return the id of one of our own images; it is made of the files in *archive* when it is not there."""
        import docker

        def work(client: Any) -> str:
            try:
                return str(client.inspect_image(name)["Id"])
            except docker.errors.ImageNotFound:
                repository, _, tag = name.partition(":")
                answer = client.import_image_from_data(archive(), repository=repository, tag=tag)
                made = json.loads(answer.strip().splitlines()[-1])
                if "error" in made:
                    raise SandboxError(f"{self.kind.title} did not take the image {name}: {made}") from None
                client.tag(made["status"], repository, tag, force=True)  # Podman's import leaves the tag out
                return str(made["status"]).strip()

        return await self.ask(work)

    async def image(self, name: str, progress: Callable[[str], None]) -> EngineImage:
        """Return the user's image; it is pulled when it is not there. Raises `UsageError` and `SandboxError`.

        *name* can be the id that an image had when a run began with it, too.
        """
        import docker

        def work(client: Any) -> dict[str, Any]:
            try:
                found: dict[str, Any] = client.inspect_image(name)
            except docker.errors.ImageNotFound:
                if name.startswith(_ID):
                    raise SandboxError(
                        f"the image {name[: len(_ID) + 12]}, with which the run began, is not here any more, and "
                        "no registry knows it by that; load it again, or start a new run"
                    ) from None
                self._pull(client, name, progress)
                found = client.inspect_image(name)
            return found

        found = await self.ask(work)
        wanted = _MACHINES.get(platform.machine(), platform.machine())
        if (found.get("Os"), found.get("Architecture")) != ("linux", wanted):
            has = f"{found.get('Os')}/{found.get('Architecture')}"
            raise UsageError(f"the image {name} is for {has}, this machine is linux/{wanted}; name one for it")
        variables = (found.get("Config") or {}).get("Env") or []
        digests = found.get("RepoDigests") or [found["Id"]]
        return EngineImage(digests[0], found["Id"], dict(text.split("=", 1) for text in variables))

    async def files(self, image: str, folder: str) -> tuple[dict[str, Any], bytes]:
        """Return an image's configuration, and *folder* in it as an archive: empty where there is none."""
        import docker

        def work(client: Any) -> tuple[dict[str, Any], bytes]:
            configuration: dict[str, Any] = client.inspect_image(image).get("Config") or {}
            made = client.create_container_from_config({"Image": image, "Cmd": ["/none"], "HostConfig": {}})["Id"]
            try:
                return configuration, b"".join(client.get_archive(made, folder)[0])
            except docker.errors.NotFound:
                return configuration, b""
            finally:
                _remove(client, made)

        return await self.ask(work)

    def _pull(self, client: Any, name: str, progress: Callable[[str], None]) -> None:
        import docker

        repository, tag = docker.utils.parse_repository_tag(name)
        try:
            layers: dict[str, tuple[int, int]] = {}
            told = (-1, 0)
            for event in client.pull(repository, tag=tag or "latest", stream=True, decode=True):
                if self._closed:  # by ^C: the program would wait for this thread
                    return
                if "error" in event:
                    raise SandboxError(self._not_there(name, event["error"]))
                detail = event.get("progressDetail") or {}
                if detail.get("total"):
                    layers[event.get("id", "")] = (detail["current"], detail["total"])
                    done, total = (sum(part) for part in zip(*layers.values(), strict=True))
                    if (step := (_STEPS * done // total, total)) != told:
                        told = step
                        progress(f"pulling {name}: {done >> 20} of {total >> 20} MB")
        except docker.errors.APIError as error:
            raise SandboxError(self._not_there(name, str(error.explanation or error))) from error

    def _not_there(self, name: str, reason: object) -> str:
        text = " ".join(str(reason).split())
        advice = f"check its name, or load it from a file (`{self.kind.load}`)"
        return f"the image {name} is not here and cannot be pulled ({text}); {advice}"

    def close(self) -> None:
        """Let go of the connection."""
        self._closed = True
        self._threads.shutdown(wait=False)
        self._client.close()


def _remove(client: Any, container: str) -> None:
    import docker

    try:
        client.remove_container(container, force=True, v=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        if error.status_code != 409:  # it is being removed: it has just ended by itself
            raise


def _is_there(place: str) -> bool:
    """Whether *place* is there as far as one can see: the folders of other users are closed."""
    try:
        return Path(place).exists()
    except PermissionError:
        return False


def stale_containers(*, remove: bool = False) -> list[str]:
    """Return such containers of all engines that answer, as `engine/id`; *remove* them if wished."""
    return asyncio.run(_stale(remove))


async def _stale(remove: bool) -> list[str]:
    found = []
    for engine in Engine.here():
        try:
            for container, state in (await engine.ours()).items():
                if is_abandoned(Path(state)):
                    found.append(f"{engine.kind.name}/{container[:12]}")
                    if remove:
                        await engine.remove(container)
        except SandboxError:  # it stopped meanwhile: what it has is looked at the next time
            continue
        finally:
            engine.close()
    return found
