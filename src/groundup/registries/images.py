"""Container images of a registry, fetched without an engine into a folder in OCI's layout.

Speaks the distribution protocol, anonymously or with what `docker login` left in `~/.docker/config.json`. Every
blob is checked against its digest.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.names import printable

if TYPE_CHECKING:
    import httpx

_NAME = re.compile(
    r"(?P<host>[\w-]+(?:\.[\w-]+)+(?::\d+)?|[\w-]+:\d+|localhost)/(?P<path>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?P<digest>@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_LOCAL = re.compile(r"(localhost|127\.\d+\.\d+\.\d+)(:\d+)?")
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_PATIENCE_S = 60.0


class _Place(NamedTuple):
    """Where an image is published."""

    host: str
    path: str
    reference: str

    def url(self, kind: str, which: str) -> str:
        scheme = "http" if _LOCAL.fullmatch(self.host) else "https"
        return f"{scheme}://{self.host}/v2/{self.path}/{kind}/{which}"


def _place(name: str) -> _Place:
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"--image {name}: without an engine, name a registry's image whole, HOST/NAME:TAG, or a file that "
            "`docker save` wrote; with one, say `--sandbox docker`"
        )
    digest = (found["digest"] or "").removeprefix("@")
    return _Place(found["host"], found["path"], digest or found["tag"] or "latest")


class ImageClient:
    """Fetches one image."""

    def __init__(self, name: str, home: Path | None = None) -> None:
        """Name the image; *home* is where `docker login` leaves what it knows. Raises `UsageError`."""
        self._name = name
        self._at = _place(name)
        self._home = Path.home() if home is None else home
        self._token: dict[str, str] = {}

    async def fetch(self, folder: Path) -> None:
        """Write the image into the empty *folder*. Raises `NetworkError` and `UsageError`."""
        import httpx

        (folder / "blobs" / "sha256").mkdir(parents=True)
        try:
            is_here = _LOCAL.fullmatch(self._at.host) is not None  # and not behind a proxy
            async with httpx.AsyncClient(
                follow_redirects=True, timeout=_PATIENCE_S, trust_env=not is_here
            ) as client:
                digest, manifest = await self._manifest(client, self._at.reference)
                if "manifests" in manifest:
                    digest, manifest = await self._manifest(client, self._of_machine(manifest))
                for part in (manifest["config"], *manifest["layers"]):
                    await self._blob(client, str(part["digest"]), folder)
        except httpx.HTTPError as error:
            raise NetworkError(f"cannot fetch the image {self._name}: {error or type(error).__name__}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the registry's answer on {self._name} describes no image: {error}") from error
        (folder / "blobs" / "sha256" / digest).write_text(json.dumps(manifest))
        (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": f"sha256:{digest}"}]}))

    def _of_machine(self, index: Mapping[str, Any]) -> str:
        machine = platform.machine()
        wanted = ("linux", _MACHINES.get(machine, machine))
        for one in index["manifests"]:
            described = one.get("platform", {})
            if (described.get("os"), described.get("architecture")) == wanted:
                return str(one["digest"])
        raise UsageError(f"{self._name} is published for other machines than {machine} alone")

    async def _manifest(self, client: "httpx.AsyncClient", reference: str) -> tuple[str, dict[str, Any]]:
        reply = await self._get(client, self._at.url("manifests", reference), {"Accept": _MANIFESTS})
        document = reply.json()
        # It is written anew, so it is named by what is written.
        digest = hashlib.sha256(reply.content).hexdigest()
        if reference.startswith("sha256:") and reference != f"sha256:{digest}":
            raise ValueError(f"{reference[:19]} has another content")
        return hashlib.sha256(json.dumps(document).encode()).hexdigest(), document

    async def _get(self, client: "httpx.AsyncClient", url: str, headers: dict[str, str]) -> "httpx.Response":
        reply = await client.get(url, headers={**headers, **self._token})
        if reply.status_code == 401 and not self._token:
            await self._log_in(client, reply.headers.get("WWW-Authenticate", ""))
            reply = await client.get(url, headers={**headers, **self._token})
        if reply.status_code in (401, 403, 404):
            raise UsageError(
                f"the registry has no image {self._name} for you ({reply.status_code}); look at the name, or "
                f"`docker login {self._at.host}`"
            )
        reply.raise_for_status()
        return reply

    async def _log_in(self, client: "httpx.AsyncClient", challenge: str) -> None:
        kind, _, rest = challenge.partition(" ")
        told, basic = dict(_PARAMETER.findall(rest)), self._known_login()
        if kind.lower() == "basic" and basic:
            self._token = basic
        elif kind.lower() == "bearer" and "realm" in told:
            asked = {"service": told.get("service", ""), "scope": told.get("scope", "")}
            reply = await client.get(told["realm"], params=asked, headers=basic)
            reply.raise_for_status()
            given = reply.json()
            self._token = {"Authorization": f"Bearer {given.get('token') or given['access_token']}"}

    def _known_login(self) -> dict[str, str]:
        try:
            text = (self._home / ".docker" / "config.json").read_text(encoding="utf-8")
            return {"Authorization": f"Basic {json.loads(text)['auths'][self._at.host]['auth']}"}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    async def _blob(self, client: "httpx.AsyncClient", digest: str, folder: Path) -> None:
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
            raise ValueError(f"{printable(digest)[:80]} is no digest")
        found, place = hashlib.sha256(), folder / "blobs" / "sha256" / digest.partition(":")[2]
        async with client.stream("GET", self._at.url("blobs", digest), headers=self._token) as reply:
            reply.raise_for_status()
            with place.open("wb") as file:
                async for piece in reply.aiter_raw():
                    found.update(piece)
                    file.write(piece)
        if f"sha256:{found.hexdigest()}" != digest:
            raise NetworkError(f"a part of the image {self._name} has other bytes than its digest; try again")
