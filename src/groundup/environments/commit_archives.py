"""Originals without Git: a commit as the archive that its repository's host makes of it.

GitHub, Gitea and Forgejo hand one out at `ADDRESS/archive/COMMIT.tar.gz`. Their Git applies the attributes of the
commit to it, so that a few archives hold another tree than the commit: the tree's digest tells.
"""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from groundup.domain.errors import NetworkError
from groundup.settings import environment

_LARGEST = 512 * 1024 * 1024
_ADVICE = "install Git, or name a mirror that is a folder or an https:// address (setting git_mirror)"


async def fetch_archive(addresses: Iterable[str], commit: str, place: Path) -> None:
    """Write to *place* the archive of *commit*, from the first address that has it. Raises `NetworkError`."""
    refused = []
    for address in addresses:
        url = f"{_base(address)}/archive/{commit}.tar.gz"
        try:
            found = await _page(url)
        except NetworkError as error:
            refused.append(str(error))
            continue
        if found is not None:
            place.write_bytes(found)
            return
        refused.append(f"{url} is not there")
    raise NetworkError(f"{'; '.join(refused)}; {_ADVICE}")


async def is_served(addresses: Iterable[str]) -> bool:
    """Whether one of *addresses* answers as Git's repositories do over HTTP."""
    for address in addresses:
        try:
            if await _page(f"{_base(address)}/info/refs?service=git-upload-pack") is not None:
                return True
        except NetworkError:
            continue
    return False


def _base(address: str) -> str:
    return address.rstrip("/").removesuffix(".git")


async def _page(url: str) -> bytes | None:
    """Return what *url* holds; None: there is no such thing. Raises `NetworkError`."""
    from groundup.registries.settings import direct  # few machines are without Git
    from groundup.registries.upstream import Upstream

    if urlsplit(url).scheme not in {"http", "https"}:
        raise NetworkError(f"{url.partition('/archive/')[0]} is read by Git alone, which is not installed")
    upstream = Upstream(direct(url, environment()))
    try:
        reply = await upstream.page(url, accept="*/*", max_bytes=_LARGEST)
    finally:
        await upstream.close()
    return reply.body if reply.status == 200 else None
