"""The bubblewrap provider keeps both contracts; `test_bubblewrap_ordinary.py` repeats this as an ordinary user."""

import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.sandbox.bubblewrap import BubblewrapProvider, find_bubblewrap
from groundup.sandbox.composition import INSIDE, PYTHON
from tests.sandbox.contract import SandboxContract
from tests.sandbox.isolation import IsolationContract

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed on this platform"),
]


@pytest.fixture
async def provider() -> AsyncIterator[BubblewrapProvider]:
    """Yield a provider; closing it closes its sandboxes."""
    async with BubblewrapProvider() as provider:
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
