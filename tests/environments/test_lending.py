"""A builder lends its package index to a sandbox that it did not open."""

from pathlib import Path

import pytest

from groundup.environments.local import LocalBuilder
from groundup.environments.requests import PythonRequest
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from tests.environments.conftest import MINOR
from tests.registries.fake_index import FakeIndex, make_wheel

pytestmark = pytest.mark.end_to_end

ASK = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1] + sys.argv[2] + '/').status)"


async def test_a_lent_index_serves_and_refuses(
    builder: LocalBuilder, provider: SandboxProvider, index: FakeIndex, tmp_path: Path
) -> None:
    """A grader's sandbox reaches what the index has, but for the names that its grader refuses."""
    index.add(make_wheel("helper", "1.0"))
    index.add(make_wheel("original", "1.0"))
    environment = await builder.python(PythonRequest(python=MINOR))
    (tmp_path / "work").mkdir()
    spec = SandboxSpec(workspace=tmp_path / "work", mounts=environment.mounts, path=environment.path)
    async with builder.gateway(refused=("original",)) as gateway, await provider.open(spec) as sandbox:
        address = await gateway.attach(sandbox)
        ended = [
            await sandbox.run(Command(argv=(environment.executable, "-c", ASK, address, name)))
            for name in ("helper", "original")
        ]

    assert ended[0].stdout == b"200\n"
    assert b"403" in ended[1].stderr
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [("refused", "original")]
