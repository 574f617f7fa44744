"""What requirement lines that nobody locked came to, kept for a while: resolving takes longer than installing.

    <cache>/resolutions/<short digest>.json    lines with hashes, and when they were resolved

A resolution is taken again only for the same question: the same lines in the same order, interpreter, uv, indexes,
refused names and cut-off. It is never older than the lifetime, and one that was made from outdated index pages is
not kept. Every environment carries the resolution that it was made from, so that a verdict can name it.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.records import Record
from groundup.environments.interpreters import Interpreter
from groundup.environments.requests import Resolution, ResolvedRequest
from groundup.gateways.indexes import ClientConfiguration
from groundup.gateways.uv import uv_version
from groundup.trees.writer import disk_errors

_FORMAT = 1
"""Counts up when the same question is answered differently."""
Clock = Callable[[], datetime]


def resolution_key(request: ResolvedRequest, interpreter: Interpreter, configuration: ClientConfiguration) -> str:
    """Return the digest of everything that decides the answer but the day; not who asks, nor for how long."""
    told = request.model_dump(include={"requirements", "exclude_newer"})
    told["refused"] = sorted(request.refused)
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    return digest_of(
        {
            "format": _FORMAT,
            "request": told,
            "indexes": [
                [index.url, index.credentials and index.credentials.username] for index in configuration.indexes
            ],
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
        """Write *resolution* for whoever asks next, in this process or another."""
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
        """Remove what nobody will take again."""
        before = (self._now() - self._lifetime).timestamp()
        for path in self._root.iterdir():
            with suppress(FileNotFoundError):  # somebody else removed it
                if path.stat().st_mtime < before:
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self._root / f"{short(key)}.json"
