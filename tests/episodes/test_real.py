"""A driven episode in the default sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from groundup.domain.limits import Limits
from groundup.domain.verdicts import Score
from groundup.episodes.backends import Backends
from groundup.episodes.driving import DrivenEpisode, Observation, open_episode
from groundup.episodes.loading import load_grading
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from tests.episodes.theatre import an_episode
from tests.grading.library.laboratory import HostBuilder
from tests.needs import real_sandboxes


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """Bubblewrap; skips where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "cache"), tmp_path / "try") as found:
        yield found


@asynccontextmanager
async def _opened(
    tmp_path: Path, provider: SandboxProvider, limits: Limits | None = None
) -> AsyncIterator[DrivenEpisode]:
    spec, settings = an_episode(), Settings(cache_dir=tmp_path / "cache")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    grading = load_grading(spec, Backends(provider, HostBuilder(tmp_path / "layers")), settings)
    if limits is not None:
        grading = replace(grading, task=grading.task.but(limits=limits))
    async with open_episode(spec, grading, scratch) as episode:
        yield episode


@pytest.mark.end_to_end
async def test_a_driven_episode_in_a_real_sandbox(tmp_path: Path, provider: SandboxProvider) -> None:
    """Commands share files and processes, see nothing of the host or the grader, and all is gone afterwards."""
    async with _opened(tmp_path, provider) as episode:
        await episode.write_file("notes/plan", "first behave, then submit")
        seen = await episode.run("cat notes/plan; echo half > behaviour; (sleep 500 & echo $! > /tmp/pid); exit 3")
        assert (seen.output, seen.exit_code) == ("first behave, then submit\n[exit code 3]", 3)
        assert (await episode.run("kill -0 $(cat /tmp/pid) && echo alive")).output.startswith("alive")
        assert (await episode.run(f"ls {tmp_path} 2>/dev/null")).exit_code != 0
        assert (await episode.submit()).message == "Submitted. Score 0.5000: 1 of 2 passed."
        await episode.run("echo pass > behaviour; ln -s /etc/passwd way-out")
        result = await episode.grade()
    assert result.graded is not None
    assert result.graded.verdict.score == Score(numerator=2, denominator=2)
    assert result.submission is not None
    assert [dropped.partition(":")[0] for dropped in result.submission.dropped] == ["way-out"]
    assert not any((tmp_path / "scratch").iterdir())


@pytest.mark.end_to_end
async def test_a_workspace_that_is_closed_can_be_handed_in(tmp_path: Path, provider: SandboxProvider) -> None:
    """Also where groundup is an ordinary user, and the guest is the same one: else it could void its attempt."""
    async with _opened(tmp_path, provider) as episode:
        await episode.run("echo half > behaviour; chmod 000 /workspace")
        result = await episode.hand_in()
    assert result.settled().score == Score(numerator=1, denominator=2)


async def _tried(episode: DrivenEpisode, command: str, times: int) -> AsyncIterator[Observation]:
    """Yield what the command did, until it did not end by itself."""
    for _ in range(times):
        yield (seen := await episode.run(command))
        if seen.exit_code is None:
            return
        await asyncio.sleep(0.1)


BOMB = "(sleep 0.5; while true; do sleep 9 & done) > /dev/null 2>&1 &"


@pytest.mark.end_to_end
async def test_a_long_command_is_run_or_says_why_not(tmp_path: Path, provider: SandboxProvider) -> None:
    """Where the guest has taken its file's place, or ended the sandbox meanwhile: both would void its attempt."""
    long = f"cat; echo done # {'x' * 200_000}"
    async with _opened(tmp_path, provider) as episode:
        assert (await episode.run(long)).output == "done\n[exit code 0]"
        await episode.run("rm /tmp/.command; mkdir /tmp/.command")
        assert "directory" in (await episode.run(long)).output
        if provider.guests_are_others:  # an ordinary user's bomb meets its own limit and ends nothing
            await episode.run(BOMB)
            assert [one async for one in _tried(episode, long, 100) if one.exit_code is None]
            assert (await episode.run(long)).output == "done\n[exit code 0]"


@pytest.mark.end_to_end
async def test_limits_are_named_and_the_episode_goes_on(tmp_path: Path, provider: SandboxProvider) -> None:
    """Whoever fills the disk, also from the background, can write, run and hand in afterwards."""
    fills = "head -c 40000000 /dev/zero > large; sleep 20"
    async with _opened(tmp_path, provider, Limits(memory_mb=128, disk_mb=16)) as episode:
        await episode.write_file("behaviour", "half")
        seen = await episode.run("head -c 2G /dev/zero | tail; true")
        assert "128 MB" in seen.output  # an ordinary user's memory is watched, which ends the sandbox
        seen = await episode.run(fills)
        assert "more than 16 MB lay in /workspace" in seen.output
        assert "removed what left no room on the disk: /workspace/large" in seen.output
        await episode.run(f"({fills}) > /dev/null 2>&1 & sleep 0.1")
        await asyncio.sleep(4)
        await episode.write_file("behaviour", "pass")
        assert (await episode.run("cat behaviour")).output == "pass\n[exit code 0]"
        assert await episode.read_file("behaviour") == b"pass"
        result = await episode.grade()
    assert result.settled().score == Score(numerator=2, denominator=2)
