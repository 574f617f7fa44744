"""Control groups say what they limit in the words of either version."""

from pathlib import Path

import pytest

from groundup.sandbox.launcher.limits import (
    CgroupFolders,
    Quota,
    SandboxGroups,
    _can_make_groups,
    find_places,
    memory_limits_bytes,
)


def test_version_2(tmp_path: Path) -> None:
    """Version 2 gets one folder, limits without swap, and counts what it refused."""
    places = CgroupFolders(2, dict.fromkeys(("memory", "pids", "cpu"), tmp_path))
    group = SandboxGroups.named(places, "box")
    group.make(memory_bytes=1000, processes=7, cpus=0.5)
    folder = tmp_path / "box"
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert texts == {
        "memory.max": "1000",
        "memory.swap.max": "0",
        "cpu.max": "50000 100000",
        "cpu.weight": "50",
        "pids.max": "7",
    }
    (folder / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    (folder / "pids.events").write_text("max 5\n")
    (folder / "memory.peak").write_text("900\n")
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    assert (group.memory_kills(), group.refused_processes()) == (2, 5)
    assert (group.peak_memory_bytes(), group.cpu_s()) == (900, 1.5)


def test_version_1(tmp_path: Path) -> None:
    """Version 1 gets a folder per controller; one that is missing limits and counts nothing."""
    places = CgroupFolders(1, {"memory": tmp_path / "memory", "cpu": tmp_path / "cpu"})
    for folder in places.folders.values():
        folder.mkdir()
    group = SandboxGroups.named(places, "box")
    group.make(memory_bytes=1000, processes=7, cpus=0.25)
    assert (tmp_path / "memory" / "box" / "memory.limit_in_bytes").read_text() == "1000"
    assert (tmp_path / "cpu" / "box" / "cpu.cfs_quota_us").read_text() == "25000"
    (tmp_path / "memory" / "box" / "memory.oom_control").write_text(
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"
    )
    assert (group.memory_kills(), group.refused_processes(), group.cpu_s()) == (4, 0, None)


def test_what_a_quota_has_been_used_of(tmp_path: Path) -> None:
    """Either version's count, in seconds; 0 for one that cannot be read."""
    counter = tmp_path / "cpu.stat"
    assert Quota(2.0, counter).used_s() == 0.0
    for text, used_s in (
        ("2500000000\n", 2.5),
        ("usage_usec 1500000\nuser_usec 1\n", 1.5),
        ("user_usec 1\n", 0.0),
    ):
        counter.write_text(text)
        assert Quota(2.0, counter).used_s() == used_s


def test_a_nice_guest_has_a_smaller_share(tmp_path: Path) -> None:
    """By the kernel's own step: groups know nothing of the niceness of what is in them."""
    for version, file, share in ((1, "cpu.shares", "18"), (2, "cpu.weight", "2")):
        folder = tmp_path / file
        folder.mkdir()
        group = SandboxGroups.named(CgroupFolders(version, {"cpu": folder}), "box")
        group.make(memory_bytes=1000, processes=7, cpus=1, niceness=15)
        assert (folder / "box" / file).read_text() == share


@pytest.mark.parametrize(
    ("version", "quota", "share", "threads", "memory"),
    [
        (2, ("cpu.max", "max 100000", "max"), ("cpu.weight", "200"), "cgroup.threads", "memory.max"),
        (1, ("cpu.cfs_quota_us", "-1", "-1"), ("cpu.shares", "2048"), "tasks", "memory.limit_in_bytes"),
    ],
)
def test_what_is_being_ended_gets_all_processors(
    tmp_path: Path, version: int, quota: tuple[str, str, str], share: tuple[str, str], threads: str, memory: str
) -> None:
    """As does one that may have more than there are; its threads and limits are read from its folder."""
    group = SandboxGroups.named(CgroupFolders(version, dict.fromkeys(("memory", "pids", "cpu"), tmp_path)), "box")
    group.make(memory_bytes=1000, processes=7, cpus=10_000)
    folder = tmp_path / "box"
    assert (folder / quota[0]).read_text() == quota[1]
    assert (group.limits(), group.threads()) == ((1000, 7), [])
    group.make(memory_bytes=1000, processes=7, cpus=0.5)
    group.hasten()
    (folder / threads).write_text("11\n12\n")
    assert ((folder / quota[0]).read_text(), (folder / share[0]).read_text()) == (quota[2], share[1])
    assert group.threads() == ["11", "12"]
    assert group.can_be_entered is (version == 1)
    if version == 1:
        group.enter()
        assert (folder / "tasks").read_text() == "0"
    assert not group.remove(tries=2), "what is not empty is not gone"
    (folder / memory).write_text("max\n")
    assert group.limits() == (None, 7)


def test_limits_of_groups_around_ours_are_found(tmp_path: Path) -> None:
    """Of both versions, from our own group up to where the hierarchy is mounted, in a container, too."""
    proc, two, one = tmp_path / "proc", tmp_path / "two", tmp_path / "one"
    (proc / "self").mkdir(parents=True)
    (proc / "self/cgroup").write_text("4:memory:/docker/x/own\n0::/a/b\n")
    (proc / "self/mountinfo").write_text(
        f"30 1 0:26 / {two} rw - cgroup2 cgroup2 rw\n"
        f"31 1 0:27 /docker/x {one} rw shared:1 - cgroup cgroup rw,memory\n"
    )
    for folder, name, text in (
        (two / "a/b", "memory.max", "300"),
        (two / "a", "memory.max", "max"),
        (two, "memory.max", "900"),
        (one / "own", "memory.limit_in_bytes", "400"),
        (one, "memory.limit_in_bytes", "500"),
        (tmp_path, "memory.max", "1"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    assert list(memory_limits_bytes(proc)) == [300, 900, 400, 500]
    assert list(memory_limits_bytes(tmp_path / "none")) == []


def test_without_any() -> None:
    """Where nothing can be made, a group limits nothing and knows nothing."""
    group = SandboxGroups.named(CgroupFolders(), "box")
    group.make(memory_bytes=1, processes=1, cpus=1)
    assert (group.memory_kills(), group.peak_memory_bytes(), group.cpu_s()) == (0, None, None)
    assert group.remove()


def test_places_can_be_used() -> None:
    """What is found can be made and removed."""
    group = SandboxGroups.named(find_places(), "groundup-test-places")
    group.make(memory_bytes=2**24, processes=10, cpus=1)
    assert group.remove()


def test_where_no_groups_can_be_made_nothing_is_left(tmp_path: Path) -> None:
    """A plain folder is no control group; the probe is gone afterwards, and a missing folder is none either."""
    assert not _can_make_groups(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not _can_make_groups(tmp_path / "none")
