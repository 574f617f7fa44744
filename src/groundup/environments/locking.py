"""Hashed locks of requirement lines: resolved completely, without addresses, and kept for reuse.

<cache>/resolutions/<short digest>.json    lines with hashes, and when they were resolved

A resolution is taken again only for the same question: the same lines in the same order, interpreter, uv, indexes,
refused names and cut-off. It is never older than the lifetime, and one that was made from outdated index pages is
not kept. Every environment carries the resolution that it was made from, so that a verdict can name it.
"""

import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import NetworkError, TaskError, UsageError
from groundup.domain.records import Record
from groundup.environments.interpreters import Interpreter
from groundup.environments.requests import Resolution, ResolvedRequest
from groundup.registries.uv import uv_program, uv_version
from groundup.sandbox.programs import run_program
from groundup.settings import environment
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors

if TYPE_CHECKING:
    from groundup.registries.settings import Index, RegistrySettings

_TIMEOUT_S = 600.0
_UNREACHABLE = re.compile(
    r"error sending request|dns error|connection refused|timed out|operation timed out|network was disabled",
    re.IGNORECASE,
)


async def lock_requirements(
    lines: Iterable[str],
    python: str,
    exclude_newer: str | None = None,
    *,
    run_setup_code: bool = False,
    complete: bool = False,
    without: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return lines `name==version --hash=sha256:... --hash=...` for *lines* and all they need, sorted by name.

    *python* is a minor version (`3.11`); *exclude_newer* an RFC 3339 date after which files do not count. A source
    distribution that declares no static metadata would have to run its own code on the host to be asked, so such
    versions do not count unless *run_setup_code*.
    *complete*: *lines* are all there is, whatever they need. *without*: names that come from elsewhere, whatever
    needs them. Raises `UsageError`, `TaskError` or `NetworkError`.
    """
    from groundup.registries.pypi.client import pypi_settings

    requirements = named_requirements(lines)
    if not requirements:
        return ()
    argv = ["pip", "compile", "-", "--python-version", python, "--generate-hashes", "--no-header", "--no-annotate"]
    argv += ["--no-emit-index-url", "--no-emit-find-links", "--no-sources", "--quiet"]
    if exclude_newer:
        from groundup.registries.client import cutoff_instant

        argv += ["--exclude-newer", cutoff_instant(exclude_newer).isoformat()]
    argv += [] if run_setup_code else ["--no-build"]
    argv += ["--no-deps"] if complete else []
    # An override whose marker never holds takes a name out of the resolution, whatever needs it.
    never = "".join(f"{name} ; python_version < '0'\n" for name in without)
    argv += ["--overrides", "overrides.txt"] if never else []
    configuration = await pypi_settings(environment())
    with scratch_folder("lock") as folder:
        (folder / "overrides.txt").write_text(never, encoding="utf-8")
        result = await run_program(
            [uv_program(), *argv],
            cwd=folder,
            environment=client_environment(configuration),
            timeout_s=_TIMEOUT_S,
            stdin="\n".join(requirements).encode() + b"\n",
        )
    if not result.ok:
        raise _explained(result.stderr.decode(errors="replace"), requirements)
    return locked_lines(result.stdout.decode())


def named_requirements(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements in *lines*, comments dropped; `UsageError` for anything but names and versions."""
    from packaging.requirements import InvalidRequirement, Requirement

    kept = []
    for line in lines:
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not text:
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise UsageError(
                f"{text[:200]!r} is not a requirement by name and version, which is all that can be locked"
            ) from error
        if requirement.url:
            raise UsageError(
                f"{requirement.name!r} is required by address; name a version instead, such as 'name==1.0'"
            )
        kept.append(str(requirement))
    return tuple(kept)


def locked_lines(text: str) -> tuple[str, ...]:
    """Return one line per pin of a compiled requirements file, hashes sorted."""
    joined = re.sub(r"\\\s*\n", " ", text)
    pins = []
    for line in joined.splitlines():
        words = line.split()
        if not words or words[0].startswith(("#", "-")):
            continue
        hashes = sorted(word for word in words if word.startswith("--hash="))
        pins.append(" ".join([" ".join(word for word in words if not word.startswith("--hash=")), *hashes]))
    return tuple(sorted(pins))


def client_environment(configuration: "RegistrySettings") -> dict[str, str]:
    """Return the user's environment with the indexes as uv reads them, so that pip's configuration counts too."""
    # An active environment, or the default index by its old name, would count beside what is set here.
    kept = {name: value for name, value in environment().items() if name not in {"VIRTUAL_ENV", "UV_INDEX_URL"}}
    for name in ("UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "UV_NO_INDEX"):
        kept.pop(name, None)
    kept["UV_NO_CONFIG"] = "1"
    if configuration.indexes:
        *extra, default = configuration.indexes
        kept |= {"UV_DEFAULT_INDEX": _address(default), "UV_INDEX": " ".join(map(_address, extra))}
    else:
        kept["UV_NO_INDEX"] = "1"
    if configuration.folders:
        kept["UV_FIND_LINKS"] = ",".join(map(str, configuration.folders))
    if configuration.ca_bundle:
        kept["SSL_CERT_FILE"] = str(configuration.ca_bundle)
    return kept


def _address(index: "Index") -> str:
    if not index.credentials:
        return index.url
    from urllib.parse import quote

    scheme, _, rest = index.url.partition("://")
    secret = quote(index.credentials.password.get_secret_value(), safe="")
    return f"{scheme}://{quote(index.credentials.username, safe='')}:{secret}@{rest}"


def _explained(stderr: str, requirements: tuple[str, ...]) -> TaskError | NetworkError:
    why = " ".join(line.strip() for line in stderr.splitlines() if "cause:" in line or "error" in line)[:600]
    if _UNREACHABLE.search(stderr):
        return NetworkError(f"the package index cannot be reached to lock {', '.join(requirements)[:200]}: {why}")
    return TaskError(
        f"{', '.join(requirements)[:200]} cannot be locked: {why}; change the versions or the cut-off date"
    )


_FORMAT = 1
"""Counts up when the same question is answered differently."""
Clock = Callable[[], datetime]


def resolution_key(request: ResolvedRequest, interpreter: Interpreter, configuration: "RegistrySettings") -> str:
    """Return the digest of everything that decides the answer but the day; not who asks, nor for how long."""
    asked = request.model_dump(include={"requirements", "exclude_newer"})
    asked["refused"] = sorted(request.refused)
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    return digest_of(
        {
            "format": _FORMAT,
            "request": asked,
            "indexes": [
                [index.url, index.credentials and index.credentials.username] for index in configuration.indexes
            ],
            **({"folders": list(map(str, configuration.folders))} if configuration.folders else {}),
            **machine,
        }
    )


class _Kept(Record):
    key: str
    resolution: Resolution


class Resolutions:
    """The resolutions of one cache. Files that cannot be read, or lie in the future, are as good as none."""

    def __init__(self, root: Path, lifetime_s: float, now: Clock | None = None) -> None:
        self._root = root
        self._lifetime = timedelta(seconds=lifetime_s)
        self._now = now or (lambda: datetime.now(UTC))

    def find(self, key: str) -> Resolution | None:
        """Return the resolution under *key* when it is young enough."""
        try:
            kept = _Kept.model_validate_json(self._path(key).read_bytes())
        except (OSError, ValidationError):
            return None
        age = self._now() - kept.resolution.resolved_at
        if kept.key != key or not timedelta(0) <= age < self._lifetime:
            return None
        return kept.resolution

    def made(self, lines: tuple[str, ...]) -> Resolution:
        """Return *lines* as a resolution of now."""
        return Resolution(lines=lines, resolved_at=self._now().replace(microsecond=0))

    def keep(self, key: str, resolution: Resolution) -> None:
        """Write *resolution* for the next one to ask, in this process or another."""
        if not self._lifetime:
            return
        path = self._path(key)
        temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
        with disk_errors(self._root):
            self._root.mkdir(parents=True, exist_ok=True)
            self._remove_old()
            temporary.write_text(_Kept(key=key, resolution=resolution).model_dump_json(), encoding="utf-8")
            temporary.replace(path)

    def _remove_old(self) -> None:
        """Remove what is too old to be used again."""
        before = (self._now() - self._lifetime).timestamp()
        for path in self._root.iterdir():
            with suppress(FileNotFoundError):  # another process removed it
                if path.stat().st_mtime < before:
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self._root / f"{short(key)}.json"
