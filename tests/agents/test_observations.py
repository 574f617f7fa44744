"""A command that meets a limit says which, in one sentence, and the session goes on."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from groundup.agents.folder_repair import make_room
from groundup.agents.observations import in_words
from groundup.agents.tools import run_bash
from groundup.agents.workspace import open_workspace
from groundup.domain.limits import Limits
from groundup.sandbox.launcher.limits import find_places
from groundup.sandbox.protocol import Ending, SandboxProvider
from groundup.settings import Settings
from tests.agents.fakes import FakeModel, a_task, agent_context
from tests.grading.library.laboratory import HostBuilder
from tests.needs import real_sandboxes
from tests.sandbox.fake import answer

LIMITS = Limits(memory_mb=128, processes=24, disk_mb=24)
EATS_MEMORY = "python -c 'x = []\nwhile True: x.append(bytes(2**20))'"


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """The default sandbox provider; skips where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "cache"), tmp_path / "try") as found:
        yield found


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("dd: error writing 'x': No space left on device\n", "/tmp takes 24 MB"),
        ("OSError: [Errno 28] No space left on device: 'x'\n", "/tmp takes 24 MB"),
        ("OSError: [Errno 24] Too many open files: '/dev/null'\n", "ulimit -n"),
        ("bash: fork: Cannot allocate memory\n", "128 MB"),
        ("Traceback (most recent call last):\nMemoryError\n", "128 MB"),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", "128 MB"),
        ("memory allocation of 99 bytes failed\n", "128 MB"),
        ("bash: fork: Resource temporarily unavailable\n", "24 may run at once"),
        ("RuntimeError: can't start new thread\n", "24 may run at once"),
        ("a page about No space left on device\n", ""),
        ("how to catch MemoryError\n", ""),
    ],
)
def test_the_words_of_programs_name_the_limit(printed: str, told: str) -> None:
    """Where no counter of the kernel tells; a text that only mentions them does not."""
    for code in (0, 1):
        shown = in_words(answer(code, printed.encode()), 5, LIMITS)
        assert shown.startswith(f"{printed}[exit code {code}")
        assert told in shown if told else shown == f"{printed}[exit code {code}]"


def test_a_limit_that_a_child_met_is_told_beside_an_exit_code_of_0() -> None:
    """A shell's exit code is that of its last command."""
    shown = in_words(answer(0).but(met=(Ending.MEMORY,)), 5, LIMITS)
    assert shown == (
        "[exit code 0; out of memory: a process was killed, for all together may use 128 MB, /tmp included]"
    )


def test_room_is_made_by_removing_the_largest_files(tmp_path: Path) -> None:
    """As many as it takes, through no link; what is small stays."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(bytes(3 * 2**20))
    folder = tmp_path / "workspace"
    (folder / "deep" / "er").mkdir(parents=True)
    for place, megabytes in (("deep/er/large", 4), ("middle", 2), ("small", 1)):
        (folder / place).write_bytes(bytes(megabytes * 2**20))
    (folder / "link").symlink_to(outside)
    gone = make_room([("/workspace", folder)], 4 * 2**20)
    assert gone == ["/workspace/deep/er/large (4 MB)"]
    assert sorted(path.name for path in folder.rglob("*")) == ["deep", "er", "link", "middle", "small"]
    assert (outside / "kept").exists()
    assert make_room([("/workspace", folder)], 2**40) == []


def test_what_is_too_deep_to_be_measured_is_removed(tmp_path: Path) -> None:
    """The sandbox's watcher refuses it as well."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "file").touch()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert make_room([("/workspace", folder)], 2**40) == ["/workspace/d"]
    assert list(folder.iterdir()) == [folder / "file"]


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (EATS_MEMORY, "all together may use 128 MB"),
        (f"{EATS_MEMORY} | cat; true", "[exit code 0; out of memory"),
        ("head -c 99000000 /dev/zero > /tmp/large; true", "/tmp takes 24 MB"),
        ("head -c 99000000 /dev/zero > large; sleep 9", "more than 24 MB lay in /workspace"),
        ("for i in $(seq 99); do sleep 99 & done; wait", "24 may run at once"),
        ("python -c 'l = []\nwhile True: l.append(open(\"/dev/null\"))'", "ulimit -n"),
        ("seq 99999", "its middle is left out"),
        ("sleep 99", "longer than 30 s"),
        ("rm -rf /workspace/* ~; chmod 000 /workspace", "[exit code "),
    ],
    ids=["memory", "memory of a child", "/tmp", "disk", "processes", "descriptors", "output", "time", "closed"],
)
async def test_a_limit_is_named_and_the_next_command_runs(
    tmp_path: Path, provider: SandboxProvider, command: str, told: str
) -> None:
    """Whatever a command eats: its observation names the limit, and the session can go on at once."""
    if provider.name != "bubblewrap":
        pytest.skip("the counters are those of bubblewrap's sandboxes")
    given = agent_context(tmp_path, FakeModel(), provider=provider, builder=HostBuilder(tmp_path))
    async with open_workspace(replace(given, task=a_task(limits=LIMITS))) as place:
        await run_bash(place, "echo kept > kept", 30, 1000)
        ended = await run_bash(place, command, 30, 1000)
        after = await run_bash(place, "(echo alive); echo more > more; ls", 30, 1000)
    assert told in ended.content
    assert ended.content.endswith("]")
    assert "alive\n" in after.content
    assert "more\n" in after.content
    assert after.content.endswith("[exit code 0]")
    assert "kept" in after.content or "rm -rf" in command


@pytest.mark.end_to_end
async def test_what_the_background_eats_is_told_of_by_the_next_command(
    tmp_path: Path, provider: SandboxProvider
) -> None:
    """A process that the kernel killed meanwhile is not lost without a word."""
    if not find_places().has("memory"):
        pytest.skip("without control groups nothing counts what the kernel refused")
    given = agent_context(tmp_path, FakeModel(), provider=provider, builder=HostBuilder(tmp_path))
    async with open_workspace(replace(given, task=a_task(limits=LIMITS))) as place:
        begun = await run_bash(place, f"({EATS_MEMORY}; echo > ended) > log 2>&1 & echo begun", 30, 1000)
        seen = await run_bash(place, "until [ -e ended ]; do sleep 0.1; done", 60, 1000)
        quiet = await run_bash(place, "true", 30, 1000)
    assert begun.content == "begun\n[exit code 0]"
    assert "out of memory" in seen.content
    assert quiet.content == "[exit code 0]"
