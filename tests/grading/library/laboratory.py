"""A tiny library with its hidden tests, and a builder that needs no registry: for trials."""

import json
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import (
    ENVIRONMENT_TARGET,
    PYTHON_TARGET,
    AnySource,
    Layer,
    PythonEnvironment,
    PythonRequest,
)
from groundup.sandbox.protocol import Command, Mount

LIBRARY = """
from importlib.metadata import version

__version__ = version("calc-lab")

def add(a, b): return a + b

def subtract(a, b): return a - b

def multiply(a, b): return a * b

def main():
    import sys
    print(add(int(sys.argv[1]), int(sys.argv[2])))
"""
TESTS = """
import subprocess
import sys
from pathlib import Path

import calc

def test_add(three): assert calc.add(1, 2) == three

def test_subtract(): assert calc.subtract(5, 3) == 2

def test_multiply(): assert calc.multiply(3, 4) == 12

def test_data(): assert (Path(__file__).parent / "data.txt").read_text() == "original"

def test_version(): assert calc.__version__ == "1.2.3"

def test_program(): assert subprocess.check_output(["calc", "2", "3"], text=True) == "5\\n"

def test_module():
    code = "import calc; calc.main()"
    assert subprocess.check_output([sys.executable, "-c", code, "4", "5"]) == b"9\\n"
"""
MORE_TESTS = """
from calc import multiply

def test_large(): assert multiply(10**6, 10**6) == 10**12
"""
ORIGINAL = {
    "calc/__init__.py": LIBRARY,
    "calc/__main__.py": "from calc import main\nmain()\n",
    "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef three(): return 3\n",
    "tests/test_calc.py": TESTS,
    "tests/test_more.py": MORE_TESTS,
    "tests/data.txt": "original",
}
EXPECTED_TESTS = 8


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write *files* below *root*."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def asked_in(command: Command) -> dict[str, Any]:
    """Return what the runner of hidden tests is asked, in the one or two lines of its standard input."""
    return {key: value for line in command.stdin.splitlines() for key, value in json.loads(line).items()}


NO_ENVIRONMENT = PythonEnvironment(
    layer=Layer(digest="sha256:0", kind="python", path=Path("/nowhere")),
    mounts=(),
    path=(),
    executable="/usr/bin/python3",
    python_version="3.11.0",
)
"""Where nothing is run."""


class HostBuilder(EnvironmentBuilder):
    """Hands out the interpreter and packages that run these tests, and an original written by the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return an environment made of the running one."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        tree = self._folder / "environment"
        packages = f"lib/python{version}/site-packages"
        if not tree.exists():
            write_tree(tree, {"pyvenv.cfg": f"home = {PYTHON_TARGET}/bin\ninclude-system-site-packages = false\n"})
            (tree / packages).mkdir(parents=True)
            (tree / "bin").mkdir()
            (tree / "bin/python").symlink_to(f"{PYTHON_TARGET}/bin/python{version}")
        return PythonEnvironment(
            layer=Layer(digest="sha256:0", kind="python", path=tree),
            mounts=(
                Mount(source=Path(sys.base_prefix), target=PYTHON_TARGET),
                Mount(source=tree, target=ENVIRONMENT_TARGET),
                Mount(source=Path(sysconfig.get_path("purelib")), target=f"{ENVIRONMENT_TARGET}/{packages}"),
            ),
            path=(f"{ENVIRONMENT_TARGET}/bin",),
            python_version=sys.version.split()[0],
            environment={"LD_LIBRARY_PATH": f"{PYTHON_TARGET}/lib"}
            if sysconfig.get_config_var("Py_ENABLE_SHARED")
            else {},
        )

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return the tiny library."""
        tree = self._folder / "original"
        if not tree.exists():
            write_tree(tree, ORIGINAL)
        return Layer(digest="sha256:1", kind="source", path=tree)

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}
