"""Tests of groundup_factory.recipes.locking."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.requests import PythonRequest
from groundup_factory.recipes.locking import lock_requirements
from tests.environments.conftest import MINOR
from tests.registries.fake_index import FakeIndex, make_wheel, serving


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeIndex]:
    """A user whose uv is configured for a local index, with a cache of its own."""
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXCLUDE_NEWER", "UV_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with serving() as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{index.url}/simple")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")
        yield index


async def test_a_lock_is_complete_hashed_and_names_no_address(user: FakeIndex) -> None:
    """Dependencies are locked too, nothing after the cut-off counts, and the lines are a request as they are."""
    user.add(make_wheel("helper", "1.0"))
    user.add(make_wheel("helper", "2.0"), uploaded="2030-01-01T00:00:00Z")
    user.add(make_wheel("demo", "1.0", requires=("helper",)))
    lines = await lock_requirements(["Demo  # comment"], MINOR, "2024-01-01")
    assert [line.split(" --hash=sha256:")[0] for line in lines] == ["demo==1.0", "helper==1.0"]
    assert "http" not in "".join(lines)
    assert PythonRequest(python=MINOR, requirements=lines).requirements == lines


async def test_a_complete_environment_is_locked_as_it_stands(user: FakeIndex) -> None:
    """Versions that once stood together can be locked though one of them asks for another that is not there."""
    user.add(make_wheel("helper", "1.0"))
    user.add(make_wheel("demo", "1.0", requires=("helper>=2",)))
    with pytest.raises(TaskError, match="cannot be locked"):
        await lock_requirements(["demo==1.0", "helper==1.0"], MINOR)
    lines = await lock_requirements(["demo==1.0", "helper==1.0"], MINOR, complete=True)
    assert [line.split(" --hash=sha256:")[0] for line in lines] == ["demo==1.0", "helper==1.0"]


async def test_nothing_is_locked_without_asking(user: FakeIndex) -> None:
    """No lines, no index."""
    assert await lock_requirements(["", "# nothing"], MINOR) == ()
    assert user.asked == []


async def test_what_cannot_be_locked_is_the_tasks_fault(user: FakeIndex) -> None:
    """An unknown name is reported with what to change; an index that does not answer is the network's fault."""
    with pytest.raises(TaskError, match="absent cannot be locked"):
        await lock_requirements(["absent"], MINOR)


async def test_an_index_that_cannot_be_reached_is_the_networks_fault(
    user: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed port is no statement about packages."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(NetworkError, match="cannot be reached"):
        await lock_requirements(["demo"], MINOR)
