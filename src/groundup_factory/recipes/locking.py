"""Requirement lines locked with hashes, by uv on the host and the user's own indexes."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.locking import locked_lines, named_requirements
from groundup.registries.client import cutoff_instant
from groundup.registries.pypi.client import pypi_settings
from groundup.registries.uv import uv_program
from groundup.sandbox.programs import run_program
from groundup.settings import environment
from groundup.trees.scratch import scratch_folder

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
    complete: bool = False,
    without: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return lines `name==version --hash=sha256:... --hash=...` for *lines* and all they need, sorted by name.

    *python* is a minor version (`3.11`); *exclude_newer* an RFC 3339 date after which files do not count. A source
    distribution that declares no static metadata would have to run its own code on the host to be asked, so such
    versions do not count.
    *complete*: *lines* are all there is, whatever they need. *without*: names that come from elsewhere, whatever
    needs them. Raises `UsageError`, `TaskError` or `NetworkError`.
    """
    requirements = named_requirements(lines)
    if not requirements:
        return ()
    argv = ["pip", "compile", "-", "--python-version", python, "--generate-hashes", "--no-header", "--no-annotate"]
    argv += ["--no-emit-index-url", "--no-emit-find-links", "--no-sources", "--no-build", "--quiet"]
    if exclude_newer:
        argv += ["--exclude-newer", cutoff_instant(exclude_newer).isoformat()]
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
