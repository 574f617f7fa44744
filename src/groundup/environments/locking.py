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
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.environments.interpreters import Interpreter
from groundup.environments.requests import Resolution, ResolvedRequest
from groundup.registries.uv import uv_version
from groundup.trees.writer import disk_errors

if TYPE_CHECKING:
    from groundup.registries.settings import RegistrySettings


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
