"""Tests of groundup.environments.locking."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from groundup.domain.errors import NetworkError, TaskError, UsageError
from groundup.environments.locking import lock_requirements, locked_lines, named_requirements
from groundup.environments.requests import PythonRequest
from tests.environments.conftest import MINOR
from tests.registries.fake_index import FakeIndex, make_wheel

LINE = st.builds(
    lambda name, version, digests: " ".join(
        [f"{name}=={version}", *(f"--hash=sha256:{d * 8:064x}" for d in sorted(digests))]
    ),
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True),
    st.sets(st.integers(0, 2**200), min_size=1, max_size=3),
)


@pytest.fixture
def user(index: FakeIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeIndex:
    """A user whose uv is configured for the local index, with a cache of its own."""
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXCLUDE_NEWER", "UV_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{index.url}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    return index


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


@pytest.mark.parametrize(
    "line", ["-e .", "--pre", "demo @ https://a.test/x.whl", "./demo", "demo==", "a b", "demo;"]
)
def test_only_names_and_versions_can_be_locked(line: str) -> None:
    """Options, addresses and paths are refused."""
    with pytest.raises(UsageError):
        named_requirements([line])


@given(st.text(alphabet=string.printable, max_size=60))
def test_any_line_is_a_requirement_or_a_usage_error(line: str) -> None:
    """What comes back is one requirement a line, so nothing can be smuggled into a file of requirements."""
    try:
        found = named_requirements([line])
    except UsageError:
        return
    assert all("\n" not in text and "\r" not in text and not text.startswith("-") for text in found)


@given(st.lists(LINE, max_size=5, unique=True))
def test_locked_lines_read_back_as_they_are(lines: list[str]) -> None:
    """One line a pin, however the compiled file breaks them."""
    broken = "# header\n--index-url x\n" + "".join(
        line.replace(" --hash", " \\\n    --hash") + "\n" for line in lines
    )
    assert sorted(locked_lines(broken)) == sorted(lines)


@pytest.mark.parametrize(
    "line",
    [
        "demo",
        "demo==1.0",
        "demo>=1 --hash=sha256:" + "0" * 64,
        "-r x",
        "demo==1.0 --hash=md5:00",
        "demo==1.0 --hash=sha256:" + "0" * 64 + "\n-r x",
    ],
)
def test_a_request_takes_only_hashed_pins(line: str) -> None:
    """Nothing unpinned, unhashed or foreign reaches the installer."""
    with pytest.raises(ValidationError):
        PythonRequest(python=MINOR, requirements=(line,))
