"""Asking a package manager where its registry is, so that no registry's address is written down here."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.registries.pypi.settings import ClientConfiguration, certificates, parse_index
from groundup.registries.upstream import Upstream
from groundup.sandbox.programs import ProgramResult, run_program

_QUICK_S = 60.0


async def ask_client(
    argv: Sequence[str], environment: Mapping[str, str], files: Mapping[str, str] | None = None
) -> ProgramResult | None:
    """Run a client in an empty folder (with *files* in it); None when it is not installed."""
    with tempfile.TemporaryDirectory(prefix="groundup-client-") as folder:
        for name, content in (files or {}).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        try:
            return await run_program(
                list(argv), cwd=Path(folder), environment=dict(environment), timeout_s=_QUICK_S
            )
        except InfrastructureError:
            return None


def reach(url: str, environment: Mapping[str, str], origin: str) -> tuple[str, Upstream]:
    """Return the address without credentials, and connections that use them. Raises `UsageError`."""
    configuration = direct(url, environment, origin)
    return configuration.indexes[0].url, Upstream(configuration)


def direct(url: str, environment: Mapping[str, str], origin: str = "the environment") -> ClientConfiguration:
    """Return how to reach one address, with the user's certificates and proxies. Raises `UsageError`."""
    return ClientConfiguration(indexes=(parse_index(url),), ca_bundle=certificates(environment), origin=origin)
