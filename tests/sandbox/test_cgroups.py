"""Control groups say what they limit in the words of either version."""

from pathlib import Path

from groundup.sandbox.launcher.limits import CgroupFolders, Quota, SandboxGroups, _can_make_groups, find_places


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
