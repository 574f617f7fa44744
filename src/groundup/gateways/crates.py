"""Which crates a sparse index has. Cargo itself says where its index is, replaced sources included."""

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from groundup.domain.errors import NetworkError
from groundup.gateways.registry_clients import ask_client, reach
from groundup.gateways.upstream import Upstream, shown

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_ASKED = re.compile(r"failed to download from `(?P<url>https?://[^`]+)/config\.json`")
_ABSENT = (404, 410, 451)
_PROJECT = {
    "Cargo.toml": '[package]\nname = "question"\nversion = "0.0.0"\n[dependencies]\nserde = "1"\n',
    "src/lib.rs": "",
}
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that answers to nobody: Cargo then names the address that it wanted to ask, and asks nobody."""


async def open_index(environment: Mapping[str, str]) -> "SparseIndex | None":
    """Return the index that Cargo is configured for; None when Cargo does not say, or has a Git index."""
    with tempfile.TemporaryDirectory(prefix="groundup-cargo-") as home:
        _copy_configuration(environment, Path(home))
        asked = {**environment, "CARGO_HOME": home, "CARGO_HTTP_PROXY": _NOWHERE, "CARGO_NET_RETRY": "0"}
        asked["CARGO_NET_OFFLINE"] = "false"
        result = await ask_client(["cargo", "generate-lockfile", "--color", "never"], asked, _PROJECT)
    told = _ASKED.search(result.text()) if result is not None else None
    if told is None:
        return None
    return SparseIndex(*reach(told["url"], environment, "Cargo's configuration"))


def _copy_configuration(environment: Mapping[str, str], home: Path) -> None:
    """Give Cargo its configuration and nothing that it has fetched before."""
    usual = Path(environment.get("CARGO_HOME") or Path(environment.get("HOME", "/nonexistent"), ".cargo"))
    for name in ("config.toml", "config"):
        try:
            (home / name).write_bytes((usual / name).read_bytes())
        except OSError:
            continue


class SparseIndex:
    """A sparse index. Belongs to one event loop."""

    def __init__(self, url: str, upstream: Upstream) -> None:
        self._url = url
        self._upstream = upstream

    async def close(self) -> None:
        """Close all connections."""
        await self._upstream.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name* but yanked ones, None when it does not exist. Raises `NetworkError`."""
        if not _NAME.fullmatch(name):
            return None
        url = f"{self._url}/{_place(name.lower())}"
        answer = await self._upstream.page(url, accept="text/plain, */*")
        if answer.status != 200:
            if answer.code in _ABSENT:
                return None
            raise NetworkError(f"{shown(url)} answers with HTTP {answer.code}")
        try:
            rows = [json.loads(line) for line in answer.body.splitlines() if line.strip()]
            found = [str(row["vers"]) for row in rows if row["name"] == name and not row.get("yanked")]
            known = any(row["name"] == name for row in rows)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NetworkError(f"{shown(url)} is no page of a sparse index") from error
        return tuple(found) if known else None


def _place(name: str) -> str:
    """Return where a crate's file lies in an index."""
    if len(name) <= 2:
        return f"{len(name)}/{name}"
    if len(name) == 3:
        return f"3/{name[0]}/{name}"
    return f"{name[:2]}/{name[2:4]}/{name}"
