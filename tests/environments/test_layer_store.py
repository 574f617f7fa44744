"""Tests of groundup.environments.layers: one whole layer, however many build, die or look."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, TaskError
from groundup.environments.layers import Built, LayerStore

DIGEST = digest_of("demo")
OTHER_PROCESS = """
import asyncio, sys, time
from pathlib import Path
from groundup.domain.digests import digest_of
from groundup.environments.layers import Built, LayerStore

async def build(room):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    (room / "tree").mkdir()
    (room / "tree" / "half").write_text("half")
    print("building", flush=True)
    await asyncio.sleep(float(sys.argv[3]))
    (room / "tree" / "whole").write_text("whole")
    return Built()

asyncio.run(LayerStore(Path(sys.argv[1])).get("demo", digest_of("demo"), build))
"""


async def fill(room: Path) -> Built:
    """Build a small layer with awkward permissions."""
    tree = room / "tree"
    (tree / "closed").mkdir(parents=True)
    (tree / "closed/program").write_text("run")
    (tree / "closed/program").chmod(0o4700)
    (tree / "whole").write_text("whole")
    (tree / "whole").chmod(0o600)
    (tree / "dangling").symlink_to("/nowhere")
    (tree / "closed").chmod(0)
    (room / "workspace").mkdir()
    return Built(built={"python": "3.11.9"}, warnings=("old",))


def other_process(root: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that builds the layer and takes *seconds* for it."""
    argv = [sys.executable, "-c", OTHER_PROCESS, str(root), str(log), str(seconds)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


async def test_a_layer_is_what_its_build_left(tmp_path: Path) -> None:
    """The tree is kept, everything else of the build is not; the record comes back with it."""
    store = LayerStore(tmp_path)
    assert store.find("demo", DIGEST) is None
    layer = await store.get("demo", DIGEST, fill)
    assert (layer.path / "whole").read_text() == "whole"
    assert (layer.built, layer.warnings) == ({"python": "3.11.9"}, ("old",))
    assert store.find("demo", DIGEST) == layer
    assert sorted(path.name for path in layer.path.parent.iterdir()) == ["layer.json", "tree"]


async def test_every_user_can_read_a_layer_and_none_gains_rights(tmp_path: Path) -> None:
    """Permissions are opened for reading, set-user-id bits are gone, links are left as they are."""
    layer = await LayerStore(tmp_path).get("demo", DIGEST, fill)
    modes = {path.name: path.lstat().st_mode & 0o7777 for path in layer.path.rglob("*") if not path.is_symlink()}
    assert modes == {"closed": 0o755, "program": 0o755, "whole": 0o644}
    assert (layer.path / "dangling").readlink() == Path("/nowhere")


async def test_processes_that_build_at_once_build_once(tmp_path: Path) -> None:
    """The second builder waits and takes the first one's layer."""
    log = tmp_path / "log"
    others = [other_process(tmp_path / "layers", log, 0.3) for _ in range(3)]
    for other in others:
        other.communicate()
        assert other.returncode == 0
    assert log.read_text() == "built\n"


async def test_a_killed_build_leaves_nothing_harmful(tmp_path: Path) -> None:
    """After `kill -9` in its middle the next build starts at once, from nothing, and sweeps what was left."""
    other = other_process(tmp_path, tmp_path / "log", 60)
    assert other.stdout is not None
    assert other.stdout.readline() == "building\n"
    store = LayerStore(tmp_path)
    assert store.find("demo", DIGEST) is None
    os.kill(other.pid, signal.SIGKILL)
    other.communicate()
    layer = await store.get("demo", DIGEST, fill)
    assert not (layer.path / "half").exists()
    assert [path.name for path in (tmp_path / "demo").iterdir() if path.name.startswith(".")] == []


async def test_a_failed_build_leaves_no_layer(tmp_path: Path) -> None:
    """The error goes through, nothing is left, and the next build can succeed."""

    async def fail(room: Path) -> Built:
        (room / "tree").mkdir()
        raise TaskError("no")

    store = LayerStore(tmp_path)
    with pytest.raises(TaskError, match="no"):
        await store.get("demo", DIGEST, fail)
    assert [path.name for path in (tmp_path / "demo").iterdir() if path.is_dir()] == []
    assert (await store.get("demo", DIGEST, fill)).path.is_dir()


async def test_builds_wait_in_turn_within_a_process(tmp_path: Path) -> None:
    """Two stores of one process exclude each other as two processes do."""
    running = most = 0

    async def build(room: Path) -> Built:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return await fill(room)

    await asyncio.gather(*(LayerStore(tmp_path).get("demo", DIGEST, build) for _ in range(5)))
    assert most == 1


async def test_a_cache_that_cannot_be_written_serves_what_it_has(tmp_path: Path) -> None:
    """A read-only cache is enough for layers that are there; for others the error names the folder."""
    await LayerStore(tmp_path).get("demo", DIGEST, fill)
    writes = 0

    class ReadOnly(LayerStore):
        @staticmethod
        def _make_folder(path: Path) -> None:
            nonlocal writes
            writes += 1
            raise OSError(30, "Read-only file system")

    store = ReadOnly(tmp_path)
    assert (await store.get("demo", DIGEST, fill)).path.is_dir()
    assert writes == 0
    with pytest.raises(InfrastructureError, match="Read-only file system"):
        await store.get("demo", digest_of("another"), fill)


async def test_a_damaged_layer_is_named(tmp_path: Path) -> None:
    """A record that cannot be read is an error with the folder to remove, not a silent rebuild under a user."""
    layer = await LayerStore(tmp_path).get("demo", DIGEST, fill)
    (layer.path.parent / "layer.json").write_text("{torn")
    with pytest.raises(InfrastructureError, match="remove that folder"):
        LayerStore(tmp_path).find("demo", DIGEST)


async def test_another_layer_with_the_same_short_name_is_not_taken(tmp_path: Path) -> None:
    """The whole digest decides, not the folder's name."""
    layer = await LayerStore(tmp_path).get("demo", DIGEST, fill)
    record = layer.path.parent / "layer.json"
    ended = json.loads(record.read_text())
    record.write_text(json.dumps(ended | {"digest": DIGEST[:-1] + "x"}))
    assert LayerStore(tmp_path).find("demo", DIGEST) is None
    assert (await LayerStore(tmp_path).get("demo", DIGEST, fill)).digest == DIGEST


async def test_asking_for_a_layer_keeps_it_young(tmp_path: Path) -> None:
    """What is still in use is not among the old, however long ago it was built."""
    layer = await LayerStore(tmp_path).get("demo", DIGEST, fill)
    record = layer.path.parent / "layer.json"
    os.utime(record, (0, 0))
    assert LayerStore(tmp_path).unused(3600) == [layer.path.parent]
    assert LayerStore(tmp_path).find("demo", DIGEST) is not None
    assert LayerStore(tmp_path).unused(3600) == []
    assert time.time() - record.stat().st_mtime < 3600


async def test_a_layer_in_use_is_not_removed(tmp_path: Path) -> None:
    """While a store that handed it out lives it stays, at any age; afterwards it goes with its log."""
    user, other = LayerStore(tmp_path), LayerStore(tmp_path)
    layer = await user.get("demo", DIGEST, fill)
    user.keep_log("demo", DIGEST, b"built")
    os.utime(layer.path.parent / "layer.json", (0, 0))
    assert other.unused(3600) == []
    assert not other.remove(layer.path.parent)
    assert (layer.path / "whole").is_file()
    del user
    assert other.unused(3600) == [layer.path.parent]
    assert other.remove(layer.path.parent)
    assert [path.name for path in (tmp_path / "demo").iterdir() if path.suffix != ".lock"] == []


async def test_a_layer_that_somebody_removed_is_built_again(tmp_path: Path) -> None:
    """A store that had handed it out does not stand in its own way."""
    store = LayerStore(tmp_path)
    layer = await store.get("demo", DIGEST, fill)
    (layer.path / "closed").chmod(0o755)
    shutil.rmtree(layer.path.parent)
    assert store.find("demo", DIGEST) is None
    assert (await store.get("demo", DIGEST, fill)).path.is_dir()
