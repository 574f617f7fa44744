"""Where the uv program is, and its version and default index. Owns no use of it: `environments` builds with it."""

from importlib.metadata import version
from pathlib import Path

from groundup.domain.errors import InfrastructureError, MachineError
from groundup.sandbox.programs import run_program
from groundup.settings import environment
from groundup.trees.scratch import scratch_folder

_QUICK_S = 30.0


def uv_program() -> Path:
    """Return the uv executable that came with groundup's installation."""
    import uv

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise MachineError(
            "the uv program is missing from this installation; reinstall it with pip install --force-reinstall uv"
        ) from error


def uv_version() -> str:
    """Return uv's version, such as `0.13.0`."""
    return version("uv")


async def default_index_url() -> str:
    """Return the address of the package index that uv uses when none is configured.

    The client is asked, so that no registry address is written down here. Needs no network.
    """
    with scratch_folder("uv") as folder:
        argv = ["pip", "compile", "--emit-index-url", "--no-config", "--offline", "--no-header", "-"]
        result = await run_program(
            [uv_program(), *argv],
            cwd=folder,
            environment={**_bare_environment(), "UV_CACHE_DIR": f"{folder}/cache", "UV_PYTHON_DOWNLOADS": "never"},
            timeout_s=_QUICK_S,
        )
    for line in result.stdout.decode(errors="replace").splitlines():
        option, _, value = line.partition(" ")
        if option == "--index-url" and value.strip():
            return value.strip()
    raise InfrastructureError(
        f"uv does not say its default package index ({result.text().strip()[:200]!r}); "
        "name one in UV_DEFAULT_INDEX or PIP_INDEX_URL"
    )


def _bare_environment() -> dict[str, str]:
    """Return an environment without any setting of uv's: only programs are found, and their libraries."""
    import sys

    libraries = environment().get("LD_LIBRARY_PATH")
    return {
        "PATH": f"{Path(sys.executable).parent}:{environment().get('PATH', '/usr/bin:/bin')}",
        "HOME": "/nonexistent",
        **({"LD_LIBRARY_PATH": libraries} if libraries else {}),
    }
