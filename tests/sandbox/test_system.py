"""Guests' system: what is listed is there and works, and nothing else; a throw-away root is a container's."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.sandbox.bubblewrap import BubblewrapProvider, find_bubblewrap
from groundup.sandbox.composition import write_etc
from groundup.sandbox.protocol import Mount, Sandbox, SandboxSpec
from groundup.sandbox.system import PROGRAMS, SharedLibraries, guest_system, missing_programs, read_dynamic
from tests.sandbox.contract import sh

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed on this platform"),
]


@pytest.fixture
async def provider() -> AsyncIterator[BubblewrapProvider]:
    """Yield a provider; closing it closes its sandboxes."""
    async with BubblewrapProvider() as provider:
        yield provider


@pytest.fixture
async def sandbox(provider: BubblewrapProvider, tmp_path: Path) -> Sandbox:
    """Return a sandbox with the listed system."""
    return await provider.open(SandboxSpec(workspace=folder(tmp_path / "workspace")))


async def container(provider: BubblewrapProvider, workspace: Path, *mounts: Mount) -> Sandbox:
    """Return a sandbox like a container."""
    return await provider.open(
        SandboxSpec(workspace=folder(workspace), mounts=mounts, user="root", throw_away_root=True)
    )


def folder(path: Path) -> Path:
    """Make a folder."""
    path.mkdir()
    return path


async def test_what_is_listed_and_nothing_else(sandbox: Sandbox) -> None:
    """Of the machine's programs a guest finds those of the list, whatever else is installed."""
    listed = {name for names in PROGRAMS.values() for name in names.split()}
    lacking = {name for names in missing_programs().values() for name in names}
    result = await sandbox.run(sh("ls /usr/bin /usr/sbin /bin/ /sbin/ | grep -v ':$'"))
    assert set(result.stdout.decode().split()) == (listed - lacking) | {"nc", "netcat"}


async def test_every_program_finds_its_libraries(sandbox: Sandbox) -> None:
    """The closure is complete: the dynamic linker misses nothing, neither for programs nor for libraries."""
    script = (
        "ldd /usr/bin/* /usr/sbin/* $(find /usr/lib /usr/lib64 -name '*.so*' -type f) 2>/dev/null "
        "| grep -e '^/' -e 'not found' | grep -B 1 'not found'; bash --version | head -c 8; "
        "perl -e 'use List::Util; print q(perl);'; ldconfig -p | grep -c 'libc.so.6'"
    )
    result = await sandbox.run(sh(f"PATH=$PATH:/usr/sbin; {script}"))
    assert result.stdout == b"GNU bashperl1\n", result


async def test_the_time_zone_is_no_accident(provider: BubblewrapProvider, tmp_path: Path) -> None:
    """A guest lives in UTC wherever the machine stands, and knows the other zones."""
    for system in ("listed", "host"):
        spec = SandboxSpec.model_validate({"workspace": folder(tmp_path / system), "system": system})
        result = await (await provider.open(spec)).run(sh("date +%Z; TZ=Asia/Tokyo date +%Z"))
        assert result.stdout == b"UTC\nJST\n"


async def test_nc(sandbox: Sandbox) -> None:
    """`nc` says whether a port is open, listens, sends and receives, as start scripts use it."""
    script = """
        nc -z localhost 4000 || echo closed
        (echo from the server | nc -l -N 4000 > got) & server=$!
        until echo from the client | nc -N -w 5 127.0.0.1 4000 2>/dev/null; do sleep 0.05; done
        wait $server; cat got
        nc -lk 4001 > /dev/null & server=$!
        until nc -z 127.0.0.1 4001; do sleep 0.05; done
        nc -zv -w1 localhost 4000-4001 2>&1 | grep -oE 'port (\\[|4).*'; kill $server
        nc 2> /dev/null || echo usage
    """
    result = await sandbox.run(sh(script))
    assert result.stdout.decode().splitlines() == [
        "closed",
        "from the server",
        "from the client",
        "port 4000 (tcp) failed: Connection refused",
        "port [tcp/*] succeeded!",
        "usage",
    ]


async def test_a_throw_away_root(provider: BubblewrapProvider, tmp_path: Path) -> None:
    """Root inside writes where a container's root does, gone with the sandbox; it is no one outside."""
    layer = folder(tmp_path / "layer")
    (layer / "module.py").write_text("layer")
    places = "/app/data /var/log/app /srv/x /usr/local/share/x /root/x ~/x /data /etc/app"
    script = (
        f"for place in {places}; do mkdir -p $place && echo x > $place/file || echo $place; done; "
        "echo '127.0.0.1 notes' >> /etc/hosts; getent hosts notes; id -u; touch /workspace/made; "
        "for file in /usr/bin/env /opt/env/module.py /.groundup/supervisor.pyc; do "
        "echo x >> $file && echo wrote $file; rm -f $file && echo removed $file; done"
    )
    one = await container(provider, tmp_path / "one", Mount(source=layer, target="/opt/env"))
    result = await one.run(sh(f"({script}) 2>/dev/null"))
    assert result.stdout.split() == [b"127.0.0.1", b"notes", b"0"], result
    uid = (tmp_path / "one" / "made").stat().st_uid
    assert uid != 0
    assert os.geteuid() in (0, uid)
    two = await container(provider, tmp_path / "two")
    result = await two.run(sh("ls -d /app /var/log/app /data 2>/dev/null; grep -c notes /etc/hosts"))
    assert result.stdout == b"0\n"
    assert (layer / "module.py").read_text() == "layer"


async def test_a_throw_away_root_is_limited(provider: BubblewrapProvider, tmp_path: Path) -> None:
    """It holds no more than the limit of the sandbox's disk."""
    spec = SandboxSpec.model_validate(
        {
            "workspace": folder(tmp_path / "workspace"),
            "user": "root",
            "throw_away_root": True,
            "limits": {"disk_mb": 8, "memory_mb": 256},
        }
    )
    result = await (await provider.open(spec)).run(sh("head -c 20000000 /dev/zero > /var/big"))
    assert not result.ok
    assert b"No space left" in result.stderr


async def test_a_view_is_composed_once(tmp_path: Path) -> None:
    """As long as the machine stays as it is; what is old is removed when a new one is made."""
    bubblewrap = find_bubblewrap()
    assert bubblewrap is not None
    old = folder(tmp_path / ("0" * 16))
    other = folder(tmp_path / "no-view")
    os.utime(other, (0, 0))
    os.utime(old, (0, 0))
    first = guest_system(tmp_path, write_etc, bubblewrap)
    made = (first.path / "usr/bin").stat().st_ctime_ns
    assert guest_system(tmp_path, write_etc, bubblewrap).path == first.path
    assert (first.path / "usr/bin").stat().st_ctime_ns == made
    assert {*tmp_path.iterdir()} == {first.path, other}


def test_libraries_of_a_program() -> None:
    """Needed libraries and the dynamic linker are read from the file, for what they need, too."""
    names, _, linker = read_dynamic(Path("/bin/bash").resolve())
    assert any(name.startswith("libc.") for name in names)
    assert linker is not None
    closure = {path.name for path in SharedLibraries().closure([Path("/bin/bash").resolve()])}
    assert {*names, linker.name} <= closure
    assert read_dynamic(Path(__file__)) == ([], [], None)
