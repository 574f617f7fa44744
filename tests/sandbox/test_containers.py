"""Docker's and Podman's containers keep both contracts, where the engine answers or can be started."""

import asyncio
import os
import shutil
import subprocess
import sysconfig
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from groundup.domain.errors import NoSandboxesError
from groundup.sandbox.composition import INSIDE, PYTHON
from groundup.sandbox.containers.engine import DOCKER, PODMAN, Engine
from groundup.sandbox.containers.provider import ContainerProvider
from tests import needs
from tests.sandbox.contract import SandboxContract
from tests.sandbox.isolation import IsolationContract

pytestmark = pytest.mark.end_to_end
KINDS = {kind.name: kind for kind in (DOCKER, PODMAN)}


@pytest.fixture(scope="module", params=sorted(KINDS))
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the name of an engine that answers; Podman's service is started for it."""
    kind = KINDS[request.param]
    if not os.environ.get("CONTAINERS"):
        needs.lack(kind.name, "set CONTAINERS=1 (`make test-containers`): it takes minutes")
    with pytest.MonkeyPatch.context() as patch:
        service = None
        if kind is PODMAN and shutil.which("podman") and not kind.address().startswith("tcp"):
            socket = tmp_path_factory.mktemp("podman") / "podman.sock"
            mixed = Path("/sys/fs/cgroup/unified").is_dir()  # crun does not know this kind of control groups
            command = ["podman", *(("--runtime", "runc") if mixed and shutil.which("runc") else ())]
            service = subprocess.Popen([*command, "system", "service", "--time=0", f"unix://{socket}"])
            patch.setenv(kind.variable, f"unix://{socket}")
            for _ in range(100):
                if socket.exists() or service.poll() is not None:
                    break
                asyncio.run(asyncio.sleep(0.1))
        try:
            Engine.reach(kind).close()
        except NoSandboxesError as error:
            needs.lack(kind.name, error)
        try:
            yield kind.name
        finally:
            if service:
                service.terminate()
                service.wait()


@pytest.fixture
async def provider(engine: str) -> AsyncIterator[ContainerProvider]:
    """Yield a provider; closing it closes its sandboxes."""
    async with ContainerProvider(KINDS[engine]) as provider:
        yield provider


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


class TestBehaviour(SandboxContract):
    """It does what callers want."""


class TestIsolation(IsolationContract):
    """It does nothing of what guests want."""

    python = (PYTHON, "-I", "-S", "-B", "-c")
    python_environment = (
        {"LD_LIBRARY_PATH": f"{INSIDE}/python/lib"} if sysconfig.get_config_var("Py_ENABLE_SHARED") else {}
    )
