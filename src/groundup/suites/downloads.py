"""Fetching one packed set from an address, with the user's proxies and certificates."""

import hashlib
import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit

from groundup.domain.errors import NetworkError, UsageError
from groundup.registries.cache import FetchCache
from groundup.registries.settings import direct
from groundup.registries.upstream import Upstream, shown
from groundup.settings import Settings, environment

_MOST_BYTES = 20 * 1024**3
_DIGEST = re.compile(r"sha256=([0-9a-f]{64})")


def address_of(text: str) -> str | None:
    """Return *text* where it is an address; None for a path. A path object has lost a slash, which comes back."""
    found = re.match(r"(https?|file):/+", text)
    if found is None:
        return None
    return f"{found[1]}:{'///' if found[1] == 'file' else '//'}{text[found.end() :]}"


async def fetched(address: str, work: Path, settings: Settings) -> Path:
    """Return the file at *address*, in the folder *work* unless it is here. `#sha256=HEX` is what it must have.

    Raises `UsageError` for an address that makes no sense, and `NetworkError` for what is absent or another file.
    """
    plain, fragment = urldefrag(address)
    wanted = _DIGEST.fullmatch(fragment)
    if fragment and wanted is None:
        raise UsageError(f"{fragment!r} is no digest; write ADDRESS#sha256=HEX, or the address alone")
    if plain.startswith("file:"):
        path = Path(unquote(urlsplit(plain).path))
        if not path.is_file():
            raise UsageError(f"{path} cannot be read; name a packed set")
    else:
        path = work / (PurePosixPath(urlsplit(plain).path).name or "set")
        await _download(plain, path, settings)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted is not None and found != wanted[1]:
        raise NetworkError(f"{shown(plain)} has not the SHA-256 {wanted[1]}; ask for the right one")
    return path


async def _download(address: str, path: Path, settings: Settings) -> None:
    upstream = Upstream(direct(address, environment()))
    try:
        with FetchCache(settings.cache_dir / "registry").incoming() as incoming:
            if not await upstream.download(address, incoming, _MOST_BYTES):
                raise NetworkError(f"{shown(address)} does not exist; ask whoever named it")
            incoming.rename(path)
    finally:
        await upstream.close()
