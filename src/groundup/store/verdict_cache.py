"""Verdicts that were given before, by everything that decides them. An unusable cache costs time, nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.domain.verdicts import TestResult, Verdict
from groundup.store.records import write_atomically


class CachedVerdict(Record):
    """A verdict with its evidence."""

    key_digest: str
    verdict: Verdict
    tests: tuple[TestResult, ...] = ()


class VerdictCache:
    """Content-addressed verdicts below one folder; *warn* is called once for each kind of trouble."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self._root = root
        self._warn = warn
        self._warned: set[str] = set()

    def find(self, key: Mapping[str, object]) -> CachedVerdict | None:
        """Return the verdict of *key*, or None."""
        path, digest = self._place(key)
        try:
            found = CachedVerdict.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValidationError):
            self._once("damaged", f"the cached verdict {path} cannot be read and is not used; remove it")
            return None
        if found.key_digest != digest:
            self._once(
                "damaged", f"the cached verdict {path} belongs to something else and is not used; remove it"
            )
            return None
        return found

    def keep(self, key: Mapping[str, object], verdict: Verdict, tests: tuple[TestResult, ...]) -> None:
        """Keep *verdict* when it may be kept; a cache that cannot be written only warns."""
        if not (verdict.cacheable and verdict.settles):
            return
        path, digest = self._place(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = CachedVerdict(key_digest=digest, verdict=verdict, tests=tests).model_dump_json().encode()
            write_atomically(path, content, durable=False)
        except (OSError, InfrastructureError) as error:
            self._once("unwritable", f"verdicts are not cached: {error}")

    def _place(self, key: Mapping[str, object]) -> tuple[Path, str]:
        digest = digest_of(key)
        name = digest.partition(":")[2]
        return self._root / name[:2] / f"{name}.json", digest

    def _once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(message)
