"""Programs of groundup are compiled once for each interpreter of an environment."""

import sys
from pathlib import Path

import pytest

from groundup.environments.bytecode import bytecode_for
from groundup.environments.requests import PYTHON_TARGET, Layer, PythonEnvironment
from groundup.sandbox.programs import run_program
from groundup.sandbox.protocol import Mount

MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
PROGRAM = b"import sys\ndef told(): return told.__code__.co_filename\nprint(told(), sys.argv[1])\n"


def environment(interpreter: Path | None) -> PythonEnvironment:
    """Return an environment that shows *interpreter*."""
    shown = (
        () if interpreter is None else (Mount(source=interpreter, target=f"{PYTHON_TARGET}/bin/python{MINOR}"),)
    )
    layer = Layer(kind="python", digest="sha256:0", path=Path("/nowhere"), built={})
    return PythonEnvironment(layer=layer, mounts=shown, path=(), python_version=f"{MINOR}.0")


@pytest.fixture(autouse=True)
def own_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep bytecode in a folder of the test's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


async def test_bytecode_runs_like_its_source(tmp_path: Path) -> None:
    """The interpreter runs it as a program, whose code lies where the source is seen."""
    found = await bytecode_for(environment(Path(sys.executable)), PROGRAM, "/opt/groundup/program.py")
    assert found is not None
    (tmp_path / "program.pyc").write_bytes(found)
    said = await run_program(
        [sys.executable, tmp_path / "program.pyc", "well"], cwd=tmp_path, environment={}, timeout_s=60.0
    )
    assert said.stdout == b"/opt/groundup/program.py well\n"


async def test_an_interpreter_compiles_a_program_once(tmp_path: Path) -> None:
    """It is started again for another text only."""
    counting = tmp_path / "python"
    counting.write_text(f'#!/bin/sh\necho x >> {tmp_path}/started\nexec {sys.executable} "$@"\n')
    counting.chmod(0o755)
    for program in (PROGRAM, PROGRAM, b"print()\n", PROGRAM):
        assert await bytecode_for(environment(counting), program, "/program.py") is not None
    assert (tmp_path / "started").read_text() == "x\nx\n"


async def test_without_an_interpreter_there_is_none(tmp_path: Path) -> None:
    """An image's interpreter is not here, and one that fails is no reason to grade nothing: the source runs."""
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\nexit 3\n")
    failing.chmod(0o755)
    for interpreter in (None, failing, tmp_path / "absent"):
        assert await bytecode_for(environment(interpreter), PROGRAM, "/program.py") is None
