"""Tests of groundup.environments.locking and of builders that keep them."""

import asyncio
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError
from groundup.environments.failures import OutOfTimeError, WorkTime
from groundup.environments.local import LocalBuilder
from groundup.environments.locking import Resolutions
from groundup.environments.requests import Resolution, ResolvedRequest
from groundup.sandbox.protocol import SandboxProvider, SandboxSpec
from groundup.settings import Settings
from groundup.trees.walking import remove_tree
from tests.environments.conftest import MINOR, MakeBuilder
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel
from tests.sandbox.fake import FakeProvider

LINE = f"demo==1.0 --hash=sha256:{'0' * 64}"
KEY = f"sha256:{'a' * 64}"


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


def test_a_resolution_is_found_until_it_is_too_old(tmp_path: Path) -> None:
    """An hour later the index is asked again; another process finds it as well; the stamp stays the first."""
    clock = Clock()
    mine, theirs = (Resolutions(tmp_path / "kept", 3600, clock) for _ in range(2))
    assert mine.find(KEY) is None
    mine.keep(KEY, mine.made((LINE,)))
    clock.now += timedelta(minutes=59)
    found = theirs.find(KEY)
    assert found == Resolution(lines=(LINE,), resolved_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert LINE.encode() in found.as_text()
    clock.now += timedelta(minutes=1)
    assert mine.find(KEY) is None


def test_what_nobody_would_use_again_is_removed(tmp_path: Path) -> None:
    """As another one is written; stamps have whole seconds, and no lifetime means no file."""
    clock = Clock()
    clock.now = clock.now.replace(microsecond=5)
    kept = Resolutions(tmp_path / "kept", 3600, clock)
    assert kept.made((LINE,)).resolved_at == clock.now.replace(microsecond=0)
    for name, age_s in (("old", 3601.0), ("young", 3599.0)):
        path = tmp_path / "kept" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        os.utime(path, (clock.now.timestamp() - age_s,) * 2)
    kept.keep(KEY, kept.made((LINE,)))
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [f"{'a' * 16}.json", "young"]
    Resolutions(tmp_path / "none", 0, clock).keep(KEY, kept.made((LINE,)))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("fault", ["future", "another question", "damaged", "no lifetime"])
def test_what_cannot_be_trusted_is_as_good_as_none(tmp_path: Path, fault: str) -> None:
    """A stamp in the future, a file under another's name, damage: the answer is made anew, never guessed."""
    clock = Clock()
    kept = Resolutions(tmp_path, 0 if fault == "no lifetime" else 3600, clock)
    kept.keep(KEY, kept.made((LINE,)))
    key = KEY
    match fault:
        case "future":
            clock.now -= timedelta(seconds=1)
        case "another question":
            key = KEY[:-1] + "b"  # the same first digits, and so the same file
        case "damaged":
            (file,) = tmp_path.iterdir()
            file.write_text("{")
    assert kept.find(key) is None


@pytest.mark.end_to_end
async def test_the_same_requirements_are_resolved_once_in_a_while(
    index: FakeIndex, make_builder: MakeBuilder, tmp_path: Path
) -> None:
    """The second builder needs no index and says when the first one resolved; other lines are another question."""
    index.add(make_wheel("demo", "1.0"))
    asked = ResolvedRequest(python=MINOR, requirements=("demo>=1",))
    first = await make_builder().submission_environment(asked)
    asks = len(index.asked)
    index.add(make_wheel("demo", "2.0"))
    second = await make_builder().submission_environment(asked)
    assert second.resolution == first.resolution
    assert second.layer.digest == first.layer.digest
    assert len(index.asked) == asks
    remove_tree(tmp_path / "cache/registry")  # pages are looked at again
    other = await make_builder().submission_environment(asked.but(requirements=("demo>=1.0",)))
    assert other.resolution is not None
    assert [line.partition(" ")[0] for line in other.resolution.lines] == ["demo==2.0"]


@pytest.mark.end_to_end
async def test_what_is_refused_is_another_question(index: FakeIndex, make_builder: MakeBuilder) -> None:
    """A kept resolution never brings in a package that the gateway would refuse."""
    index.add(make_wheel("demo", "1.0"))
    builder = make_builder()
    asked = ResolvedRequest(python=MINOR, requirements=("demo",))
    await builder.submission_environment(asked)
    with pytest.raises(SubmissionError, match="forbids installing 'demo'"):
        await builder.submission_environment(asked.but(refused=("demo",)))


@pytest.mark.end_to_end
async def test_an_answer_from_outdated_pages_is_not_kept(
    index: FakeIndex, make_builder: MakeBuilder, tmp_path: Path
) -> None:
    """With the index gone, pages seen before serve; once it is back, it is asked again."""
    index.add(make_wheel("demo", "1.0"))
    asked = ResolvedRequest(python=MINOR, requirements=("demo",))
    await make_builder().resolve(asked)
    (kept,) = (tmp_path / "cache/resolutions").iterdir()
    kept.unlink()
    for page in (tmp_path / "cache/registry").rglob("*.json"):  # as if they had been fetched long ago
        page.write_text(re.sub(r'"fetched_at":\s*[\d.]+', '"fetched_at": 1.0', page.read_text()))
    index.failing = 503
    await make_builder().resolve(asked)
    assert list((tmp_path / "cache/resolutions").iterdir()) == []


DEMO = ResolvedRequest(python=MINOR, requirements=("demo",))


def keeping_nothing(index: FakeIndex, provider: SandboxProvider, folder: Path) -> LocalBuilder:
    """Return a builder without a registry cache, whose index has `demo`."""
    index.add(make_wheel("demo", "1.0"))
    return LocalBuilder(
        Settings(cache_dir=folder / "cache", registry_cache=False), provider, index.configuration()
    )


@pytest.mark.end_to_end
async def test_who_wants_nothing_kept_finds_no_resolutions(
    index: FakeIndex, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Without a registry cache there is none of them either."""
    await keeping_nothing(index, provider, tmp_path).resolve(DEMO)
    assert not (tmp_path / "cache/resolutions").exists()


@pytest.mark.end_to_end
async def test_a_page_that_was_read_to_resolve_is_at_hand_to_install(
    index: FakeIndex, provider: SandboxProvider, tmp_path: Path
) -> None:
    """The index is asked for it once, even where nothing fetched is kept."""
    await keeping_nothing(index, provider, tmp_path).submission_environment(DEMO)
    assert [path for path in index.asked if path.endswith("/demo/")] == ["/simple/demo/"]


async def test_the_clock_stands_while_nothing_runs(tmp_path: Path) -> None:
    """Two parts of 0.05 s with a pause of 0.4 s between them fit into 0.3 s; a third that never ends does not."""
    work = WorkTime(0.3, "installing demo")
    sandbox = await FakeProvider().open(SandboxSpec(workspace=tmp_path))
    async with work.running(sandbox):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.4)
    async with work.running(sandbox):
        await asyncio.sleep(0.05)
    with pytest.raises(OutOfTimeError, match="installing demo: not done within"):
        async with work.running(sandbox):
            await asyncio.sleep(60)


async def test_other_timeouts_go_through(tmp_path: Path) -> None:
    """A time limit of something inside is not taken for this one."""
    sandbox = await FakeProvider().open(SandboxSpec(workspace=tmp_path))
    with pytest.raises(TimeoutError):
        async with WorkTime(60, "installing demo").running(sandbox):
            raise TimeoutError


@pytest.mark.end_to_end
async def test_an_install_that_takes_too_long_is_the_submissions_fault_and_tried_again(
    index: FakeIndex, make_builder: MakeBuilder
) -> None:
    """The limit ends the work; the next attempt tries anew, because the machine may be quieter."""
    index.add(make_sdist("slow", "1.0", extra="import time; time.sleep(60)"))
    builder = make_builder()
    asked = ResolvedRequest(python=MINOR, requirements=("slow",), work_s=4)
    for _ in range(2):
        with pytest.raises(OutOfTimeError):
            await builder.submission_environment(asked)
