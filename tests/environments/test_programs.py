"""Programs of the package index, such as agents, apart from the Python that is worked on."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.environments.local import LocalBuilder
from groundup.environments.program_layers import _names
from groundup.environments.requests import ProgramRequest, PythonRequest
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from tests.environments.conftest import MINOR
from tests.registries.fake_index import FakeIndex, make_wheel


def request(version: str = "1.0", **fields: object) -> ProgramRequest:
    """Return what is asked for a tiny program."""
    return ProgramRequest.model_validate(
        {"registry": "pypi", "package": "tool", "version": version, "python": MINOR, **fields}
    )


@pytest.fixture
def filled(index: FakeIndex) -> FakeIndex:
    """An index with a program, and what it needs."""
    index.add(make_wheel("tool", "1.0", requires=("needed", "heavy")))
    index.add(make_wheel("tool", "2.0"), "2024-01-01T00:00:00Z")
    for name in ("needed", "heavy", "forgotten"):
        index.add(make_wheel(name, "1.0"))
    return index


@pytest.mark.end_to_end
async def test_a_program_has_its_own_packages(
    builder: LocalBuilder, provider: SandboxProvider, filled: FakeIndex, tmp_path: Path
) -> None:
    """It runs with its own interpreter at its own place; the Python that is worked on sees nothing of it."""
    program = await builder.program(request())
    task = await builder.python(PythonRequest(python=MINOR))
    (tmp_path / "work").mkdir()
    spec = SandboxSpec(workspace=tmp_path / "work", mounts=(*task.mounts, *program.mounts), path=task.path)
    code = "import sys, needed, tool; print(sys.prefix, tool.version)"
    async with await provider.open(spec) as sandbox:
        own = await sandbox.run(Command(argv=(f"{program.bin}/python", "-c", code)))
        tasks = await sandbox.run(Command(argv=("python", "-c", code)))
    assert own.stdout == b"/opt/agent/env 1.0\n", own.stderr.decode()
    assert b"No module named 'needed'" in tasks.stderr
    assert program.identity["packages"] == "heavy==1.0 needed==1.0 tool==1.0"


@pytest.mark.end_to_end
async def test_requirements_can_be_added_and_left_out(builder: LocalBuilder, filled: FakeIndex) -> None:
    """What a program forgets to require comes along, what it never loads stays away."""
    program = await builder.program(request(also=("forgotten",), without=("heavy",)))
    assert program.identity["packages"] == "forgotten==1.0 needed==1.0 tool==1.0"
    assert not any(name.startswith("heavy") for name in filled.files_asked())


@pytest.mark.end_to_end
async def test_a_version_that_does_not_exist_is_the_users_mistake(
    builder: LocalBuilder, filled: FakeIndex
) -> None:
    """The error names program, version and log, and is given at once the next time; so is one beyond a cut-off."""
    for wrong in (request("9.9"), request("2.0", exclude_newer="2022-01-01")):
        with pytest.raises(UsageError, match=rf"installing tool {wrong.version}.*pin another version.*log"):
            await builder.program(wrong)
    asked = len(filled.asked)
    with pytest.raises(UsageError, match="pin another version"):
        await builder.program(request("9.9"))
    assert len(filled.asked) == asked


def test_what_npm_installed_is_listed() -> None:
    """Every package of the tree is named with its version; what is no listing names none."""
    inner = b'{"dependencies": {"b": {"version": "2"}}, "version": "1"}'
    assert _names(b'{"dependencies": {"@x/a": ' + inner + b', "optional": {}}}') == {"@x/a@1", "b@2"}
    assert _names(b"npm failed") == set()
