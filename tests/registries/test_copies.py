"""Gateways refuse what brings a copy of a task's original, by whatever name and however deep."""

import inspect
import io
import textwrap
import zipfile
from pathlib import Path

from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.trees.fingerprints import Fingerprint
from tests.registries.fake_index import FakeIndex, make_wheel
from tests.registries.test_pypi import guest

CODE = inspect.getsource(textwrap)
ORIGINAL = Fingerprint.of("textwrap", {"textwrap.py": CODE.encode()})


def with_inner_wheel(outer: tuple[str, bytes], inner: tuple[str, bytes]) -> tuple[str, bytes]:
    """Return the wheel *outer* with the wheel *inner* in it, as virtualenv has pip's."""
    buffer = io.BytesIO(outer[1])
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(f"tool/embed/{inner[0]}", inner[1])
    return outer[0], buffer.getvalue()


async def test_a_copy_is_refused_wherever_it_lies(index: FakeIndex, registry: PyPIClient) -> None:
    """A fork by another name and a wheel inside a wheel answer 403 and are in the ledger; others are served."""
    fork = make_wheel("fork", "1.0", body=CODE.replace("TextWrapper", "Folder"))
    index.add(fork)
    index.add(with_inner_wheel(make_wheel("tool", "2.0"), fork))
    index.add(make_wheel("harmless", "1.0", body=inspect.getsource(inspect)))
    gateway = PyPIGateway(registry, original=ORIGINAL)
    async with guest(gateway) as client:
        told = {}
        for name in ("fork", "tool", "harmless"):
            (file,) = (await client.get(f"/simple/{name}/")).json()["files"]
            told[name] = await client.get(file["url"])
    assert {name: answer.status_code for name, answer in told.items()} == {
        "fork": 403,
        "tool": 403,
        "harmless": 200,
    }
    assert "tool-2.0-py3-none-any.whl!tool/embed/fork-1.0-py3-none-any.whl!fork.py" in told["tool"].text
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [
        ("refused", "fork-1.0-py3-none-any.whl"),
        ("refused", "tool-2.0-py3-none-any.whl"),
    ]
    assert [fetched.name for fetched in gateway.fetched if fetched.kind == "file"] == ["harmless"]


async def test_each_archive_is_looked_through_once(index: FakeIndex, registry: PyPIClient, tmp_path: Path) -> None:
    """What an archive holds is kept by its digest, for every task; another task may have it."""
    index.add(make_wheel("fork", "1.0", body=CODE))
    answers = []
    for original in (ORIGINAL, Fingerprint.of("other", {"i.py": inspect.getsource(inspect).encode()}), None):
        async with guest(PyPIGateway(registry, original=original)) as client:
            (file,) = (await client.get("/simple/fork/")).json()["files"]
            answers.append((await client.get(file["url"])).status_code)
        assert len(list((tmp_path / "cache/records/contents-1").iterdir())) == 1
    assert answers == [403, 200, 200]
