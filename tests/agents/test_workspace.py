"""The agents' sandbox: what is in it, what is not, and that it comes back when it dies."""

import platform
import shutil
import zipfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.agents.base import EpisodeLimits
from groundup.agents.loop import create
from groundup.agents.tools import run_bash
from groundup.agents.workspace import (
    HOME,
    PREFIX,
    SandboxExtras,
    home_of,
    make_prefix,
    open_workspace,
    task_python,
    tools_lock,
)
from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.environments.requests import Layer, PythonEnvironment, PythonRequest
from groundup.inside import stand_in_pip
from groundup.sandbox.bubblewrap import listed_system
from groundup.sandbox.protocol import Command, CommandResult, Ending, Sandbox, SandboxProvider, SandboxSpec
from groundup.sandbox.rooted import UnpackedImage
from groundup.settings import Settings
from tests.agents.fakes import FakeBuilder, FakeModel, a_task, agent_context, runs, says
from tests.grading.library.laboratory import HostBuilder
from tests.needs import real_sandboxes
from tests.sandbox.fake import FakeProvider, answer


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """The default sandbox provider; skips where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "cache"), tmp_path / "try") as found:
        yield found


def test_every_python_has_tools() -> None:
    """The lock names pytest, setuptools and wheel with hashes for every version that a task may ask for."""
    for python in ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        lines = tools_lock(python, ())
        names = [line.partition("==")[0] for line in lines]
        assert {"pytest", "setuptools", "wheel"} <= set(names)
        assert len(set(names)) == len(names)
        assert all(" --hash=sha256:" in line and ";" not in line for line in lines)


@pytest.mark.parametrize("name", ["pluggy", "Typing_Extensions", "pytest"])
def test_what_is_to_be_written_is_not_among_the_tools(name: str) -> None:
    """A task that asks to write a part of pytest finds no pytest."""
    assert tools_lock("3.10", (name,)) == ()


def test_the_task_names_its_python() -> None:
    """And what is no version is not believed."""
    assert task_python(a_task(metadata={"python": "3.9"})) == "3.9"
    assert task_python(a_task(metadata={"python": "../../3"})) == task_python(a_task()) == "3.12"


def test_the_prefix_lies_on_top_of_the_layer(tmp_path: Path) -> None:
    """Scripts of the layer run in the agent's own environment, into which it can install."""
    layer = tmp_path / "layer"
    (layer / "bin").mkdir(parents=True)
    (layer / "bin/pip").write_text("#!/opt/env/bin/python\nimport pip\n")
    (layer / "bin/data").write_text("no script")
    (layer / "bin/python").symlink_to("/opt/python/bin/python3.12")
    (layer / "pyvenv.cfg").write_text("home = /opt/python/bin\n")
    environment = PythonEnvironment(
        layer=Layer(digest="sha256:0", kind="python", path=layer), mounts=(), path=(), python_version="3.12.1"
    )
    prefix = tmp_path / "prefix"
    make_prefix(environment, prefix)
    assert (prefix / "bin/pip").read_text() == f"#!{PREFIX}/bin/python\nimport pip\n"
    assert not (prefix / "bin/data").exists()
    assert str((prefix / "bin/python").readlink()) == "/opt/python/bin/python3.12"
    lines = (prefix / "lib/python3.12/site-packages/_layer.pth").read_text().splitlines()
    assert lines[0] == "/opt/env/lib/python3.12/site-packages"


async def test_a_sandbox_that_dies_is_opened_again_but_not_for_ever(tmp_path: Path) -> None:
    """An agent that kills its sandbox in every command ends as a failure of the machine, not in a loop."""
    provider = FakeProvider(lambda spec, command: answer(None, ending=Ending.SANDBOX_DIED))
    async with open_workspace(agent_context(tmp_path, FakeModel(), provider=provider)) as place:
        for _ in range(20):
            await place.run(Command(argv=("x",)))
        with pytest.raises(SandboxError, match="died 20 times"):
            await place.run(Command(argv=("x",)))
    assert len(provider.sandboxes) == 20
    assert all(sandbox.closed for sandbox in provider.sandboxes)


async def test_who_ends_the_sandbox_by_its_limits_is_no_failure_of_the_machine(tmp_path: Path) -> None:
    """A model that bombs its sandbox again and again can hand in, and nothing else: it cannot void its attempt."""
    provider = FakeProvider(lambda spec, command: answer(None, ending=Ending.PROCESSES))
    async with open_workspace(agent_context(tmp_path, FakeModel(), provider=provider)) as place:
        seen = [await run_bash(place, "bomb", 5, 1000) for _ in range(25)]
    assert all("more than 256 processes and threads ran at once" in one.content for one in seen[:20])
    assert all(one.content.startswith("[not run: ") for one in seen[20:])
    assert len(provider.sandboxes) == 20


async def test_who_closes_the_workspace_is_not_locked_out(tmp_path: Path) -> None:
    """It is open to its owner before the next command, whose output says so; home and environment likewise."""
    given = agent_context(tmp_path, FakeModel())
    closed = [given.workspace, home_of(given)]

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        assert all(folder.stat().st_mode & 0o700 == 0o700 for folder in closed)
        if command.stdin == b"chmod":
            for folder in closed:
                folder.chmod(0)
        return answer(0)

    async with open_workspace(replace(given, provider=FakeProvider(script))) as place:
        await place.run(Command(argv=("x",), stdin=b"chmod"))
        told = await place.run(Command(argv=("x",)))
        quiet = await place.run(Command(argv=("x",)))
    said = f"sandbox: opened again what an earlier command closed to everybody: /workspace, {HOME}\n"
    assert (told.stderr.decode(), quiet.stderr) == (said, b"")


async def test_a_home_that_installers_cannot_use_is_emptied(tmp_path: Path) -> None:
    """When a sandbox is opened again: else a model that ends its own could end its attempt, or the whole run."""
    given = agent_context(tmp_path, FakeModel())
    config = home_of(given) / ".cargo" / "config.toml"

    async def attach(sandbox: Sandbox) -> Mapping[str, str]:
        await sandbox.write_file(f"{HOME}/.cargo/config.toml", b"ours")
        return {}

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        config.unlink()
        (config / "theirs").mkdir(parents=True)
        return answer(None, ending=Ending.MEMORY)

    provider = FakeProvider(script)
    async with open_workspace(replace(given, provider=provider), None, attach) as place:
        await place.run(Command(argv=("x",)))
        assert config.is_dir()
        await place.sandbox()
        assert config.read_bytes() == b"ours"
    assert [sandbox.closed for sandbox in provider.sandboxes] == [True] * 3


async def test_the_sandbox_has_the_tasks_limits_and_the_attempts_time(tmp_path: Path) -> None:
    """One processor and 2 GB where the task says so; the clock is the attempt's."""
    provider = FakeProvider()
    given = agent_context(tmp_path, FakeModel(), provider=provider, limits=EpisodeLimits(wall_clock_s=77))
    async with open_workspace(given, SandboxExtras(environment={"A": "b"})) as place:
        await place.run(Command(argv=("x",)))
    (spec,) = provider.specs
    assert spec.limits == Limits(memory_mb=512, wall_clock_s=77)
    assert spec.environment["A"] == "b"


@pytest.mark.end_to_end
async def test_an_episode_in_a_real_sandbox(tmp_path: Path, provider: SandboxProvider) -> None:
    """Commands share files and background processes, output is one stream and capped, nothing outlives the end."""
    model = FakeModel(
        [
            runs(
                "echo out; echo err >&2; exit 3", "touch /workspace/made; cd /; (sleep 1000 & echo $! > /tmp/pid)"
            ),
            runs("pwd; ls; kill -0 $(cat /tmp/pid) && echo alive", "seq 100000"),
            runs("kill -9 -1", "ls"),
            says("Done."),
            says("Done."),
        ]
    )
    given = agent_context(tmp_path, model, provider=provider)
    ended = await create({"output_bytes": 600}).attempt(given)
    assert ended.turns == 5
    printed = [message.content for message in model.requests[-1].messages if message.role == "tool"]
    assert printed[0] == "out\nerr\n[exit code 3]"
    assert printed[2] == "/workspace\nmade\nalive\n[exit code 0]"
    assert "bytes left out" in printed[3]
    assert len(printed[3]) < 800
    assert printed[5] == "made\n[exit code 0]"
    assert (given.workspace / "made").exists()


class VendoringBuilder(HostBuilder):
    """A builder whose pip brings a copy of `rich` along, as pip's own `_vendor` does."""

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return an environment, with or without pip."""
        if not request.with_pip:
            return await super().python(request)
        other = self._folder / "with-pip"
        found = await HostBuilder(other).python(request)
        vendored = found.layer.path / "lib/pip/_vendor/rich"
        vendored.mkdir(parents=True, exist_ok=True)
        (vendored / "__init__.py").touch()
        return found


@pytest.mark.end_to_end
async def test_pip_is_there_also_where_pip_is_withheld(tmp_path: Path, provider: SandboxProvider) -> None:
    """`pip`, `python -m pip` and `pip download` work, in environments of `python -m venv`, too."""
    given = agent_context(
        tmp_path, FakeModel(), provider=provider, withheld=("rich",), builder=VendoringBuilder(tmp_path)
    )
    index = given.workspace / "simple" / "tiny"
    index.mkdir(parents=True)
    (index / "index.html").write_text('<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')
    with zipfile.ZipFile(index / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "ANSWER = 42")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    script = """
        set -e
        exec 2>&1
        python -m http.server --bind 127.0.0.1 8000 > /dev/null 2>&1 &
        export UV_DEFAULT_INDEX=http://127.0.0.1:8000/simple
        until (exec 3<> /dev/tcp/127.0.0.1/8000) 2> /dev/null; do sleep 0.1; done
        pip --version; python -m pip --version
        pip download --no-deps tiny -d files; ls files
        python -m pip install -q --no-cache-dir tiny; python -c 'import tiny; print(tiny.ANSWER)'
        python -m venv own; own/bin/pip install -q tiny; own/bin/python -m pip list
        pip install rich || echo refused
        pip wheel tiny || echo not offered
        pip uninstall -y tiny
    """
    async with open_workspace(given) as place:
        result = await place.run(Command(argv=("bash", "-c", script)))
    printed = result.stdout.decode()
    assert result.ok, printed
    assert printed.count("pip by uv") == 2
    assert "tiny-1.0-py3-none-any.whl\n42\n" in printed
    assert (
        printed.index("tiny    1.0")
        < printed.index("refused")
        < printed.index("not offered")
        < printed.index("- tiny==1.0")
    )


@pytest.mark.parametrize(
    ("filename", "fits"),
    [
        ("My_Tiny-1.0-py3-none-any.whl", True),
        ("my-tiny-1.0.tar.gz", True),
        ("my_tiny-1.0-cp32-abi3-manylinux_2_17_x86_64.whl", platform.machine() == "x86_64"),
        ("my_tiny-1.0-cp32-cp32-manylinux_2_17_x86_64.whl", False),
        ("my_tiny-1.0-py3-none-win_amd64.whl", False),
        ("my_tiny-1.0.1-py3-none-any.whl", False),
        ("other-1.0-py3-none-any.whl", False),
    ],
)
def test_files_that_fit(filename: str, fits: bool) -> None:
    """The stand-in for pip saves a file of the wanted version for the Python that asks."""
    assert bool(stand_in_pip._fitness(filename, "my.tiny", "1.0")) is fits


@pytest.mark.end_to_end
async def test_nothing_of_the_host_is_in_the_sandbox(tmp_path: Path, provider: SandboxProvider) -> None:
    """No way out, no credentials in the environment, no home of the host, no graders, no run folder."""
    model = FakeModel(
        [runs("env; ls -a ~ / /opt; cat /proc/1/environ", "echo > /dev/tcp/1.1.1.1/80"), says("x"), says("x")]
    )
    given = agent_context(tmp_path, model, provider=provider)
    await create({}).attempt(given)
    printed = [message.content for message in model.requests[-1].messages if message.role == "tool"]
    assert str(tmp_path) not in printed[0]
    assert "groundup" not in printed[0].lower().replace(".groundup", "").replace("hostname=groundup", "")
    assert "KEY" not in printed[0]
    assert "[exit code 1]" in printed[1]


async def test_what_the_tasks_image_has_is_installed_and_said(tmp_path: Path) -> None:
    """Its lines and those tools of ours that it lacks; no sentence and no package where there is no such thing."""
    pytest_line, attrs = f"pytest==8.0.0 --hash=sha256:{'0' * 64}", f"attrs==25.1.0 --hash=sha256:{'1' * 64}"
    image = PythonRequest(python="3.12", requirements=(attrs, pytest_line))
    builder = FakeBuilder(tmp_path)
    given = replace(agent_context(tmp_path, FakeModel(), builder=builder), environment=image)
    async with open_workspace(given) as place:
        assert "The packages that the task's image has" in place.tools.sentence
    (request,) = builder.requests
    assert request.with_pip
    assert request.requirements[:2] == (attrs, pytest_line)
    names = [line.partition("==")[0] for line in request.requirements]
    assert {"setuptools", "wheel"} < set(names)
    assert len(names) == len(set(names))


async def test_another_python_than_the_images_has_pip_and_pytest_only(tmp_path: Path) -> None:
    """Locked packages are those of one version of Python."""
    builder = FakeBuilder(tmp_path)
    image = PythonRequest(python="3.9", requirements=(f"attrs==25.1.0 --hash=sha256:{'1' * 64}",))
    given = replace(agent_context(tmp_path, FakeModel(), builder=builder), environment=image)
    async with open_workspace(given, SandboxExtras(python="3.12")) as place:
        assert place.tools.sentence == ""
    assert not any(line.startswith("attrs") for line in builder.requests[0].requirements)


@pytest.mark.end_to_end
async def test_programs_see_the_processors_and_the_memory_that_there_are(
    tmp_path: Path, provider: SandboxProvider
) -> None:
    """What plans by the machine's size, such as a test runner with workers, is not misled."""
    if provider.name != "bubblewrap":
        pytest.skip("only bubblewrap's sandboxes show the limit of memory")
    async with open_workspace(agent_context(tmp_path, FakeModel(), provider=provider)) as place:
        told = await place.run(Command(argv=("sh", "-c", "nproc; grep MemTotal /proc/meminfo")))
    assert told.stdout.split() == [b"1", b"MemTotal:", str(a_task().limits.memory_mb * 1024).encode(), b"kB"]


def a_base(root: Path) -> UnpackedImage:
    """Return an image of this machine's listed programs, with one of its own and a copy of what is asked for."""
    system = listed_system()
    shown = [(system.path / "usr", "/usr"), (system.path / "etc", "/etc"), *system.data]
    for source, target in shown:
        shutil.copytree(source, root / target.lstrip("/"), symlinks=True, dirs_exist_ok=True)
    for name in system.links:
        (root / name).symlink_to(f"usr/{name}")
    (root / "usr/bin/only-here").write_text("#!/bin/sh\necho of the base\n")
    (root / "usr/bin/only-here").chmod(0o755)
    copy = root / "usr/lib/python3/dist-packages/wanted"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_text("ORIGINAL = 1\n")
    return UnpackedImage(name="./base", digest="sha256:0", root=root)


@pytest.mark.end_to_end
async def test_a_base_brings_its_programs_and_nothing_else(tmp_path: Path, provider: SandboxProvider) -> None:
    """Python stays the task's, the host's own programs are gone, and no copy of the original is shown."""
    if provider.name != "bubblewrap":
        pytest.skip("engines have images of their own")
    (tmp_path / "state").mkdir()
    builder = HostBuilder(tmp_path)
    given = agent_context(
        tmp_path / "state", FakeModel(), provider=provider, withheld=("wanted",), builder=builder
    )
    looks = (
        "python -c 'import sys; print(sys.prefix)'",
        "ls /usr/lib/python3/dist-packages/wanted",
        "ls /usr/bin",
    )
    script = "; ".join(("only-here", *looks))
    async with open_workspace(replace(given, base=a_base(tmp_path / "root"))) as place:
        told = await place.run(Command(argv=("bash", "-c", script)))
    first, prefix, *names = told.stdout.decode().splitlines()
    assert (first, prefix) == ("of the base", PREFIX), told
    assert "__init__.py" not in names
    assert {*names} == {"only-here", *(path.name for path in (listed_system().path / "usr/bin").iterdir())}


@pytest.mark.end_to_end
async def test_the_fixed_list_is_a_base(tmp_path: Path, provider: SandboxProvider) -> None:
    """An agent then has the programs that submissions have when they are graded."""
    given = agent_context(tmp_path, FakeModel(), provider=provider, builder=HostBuilder(tmp_path))
    async with open_workspace(replace(given, base="listed")) as place:
        told = await place.run(Command(argv=("bash", "-c", "ls /usr/bin; python --version")))
    assert told.ok
    if provider.name == "bubblewrap":
        assert {*told.stdout.decode().split()} >= {"awk", "bash"}
        assert "git" not in told.stdout.decode().split()
