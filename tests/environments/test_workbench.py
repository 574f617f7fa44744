"""Real clients in real sandboxes, with registries lent to them and toolchains of the host."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.languages import ToolchainName
from groundup.domain.limits import Limits
from groundup.environments.local import LocalBuilder
from groundup.environments.toolchains import Toolchain, find_toolchain
from groundup.registries.lending import LendingRules, RegistryLending, RegistrySet
from groundup.sandbox.protocol import Command, CommandResult, Sandbox, SandboxProvider, SandboxSpec
from groundup.settings import environment
from tests.needs import lack, need
from tests.registries.fake_crates import FakeCrates
from tests.registries.fake_npm import FakeNpm
from tests.registries.fake_site import Site

pytestmark = pytest.mark.end_to_end

LIMITS = Limits(memory_mb=4096, processes=512, disk_mb=2048, wall_clock_s=600.0, command_s=240.0)
PROGRAM = 'fn main() { println!("{}", helper::name()); }\n'
CARGO_TOML = '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nhelper = "1"\n'


@pytest.fixture
async def npm() -> AsyncIterator[FakeNpm]:
    """An npm registry with a package, its dependency, and one that the task forbids."""
    async with Site.serving() as site:
        found = FakeNpm(site)
        found.add("@own/helper", "1.2.0")
        found.add("tool", "1.0.0", dependencies={"@own/helper": "^1.0.0"})
        found.add("original", "1.0.0")
        yield found


@pytest.fixture
async def crates() -> AsyncIterator[FakeCrates]:
    """An index with one crate."""
    async with Site.serving() as site:
        found = FakeCrates(site)
        found.add("helper", "1.2.0")
        yield found


PROGRAMS: dict[ToolchainName, str] = {"node": "npm", "rust": "cargo"}


async def installed(name: ToolchainName, tmp_path: Path) -> Toolchain:
    """Return a toolchain; skip where this machine has none."""
    need(PROGRAMS[name])
    try:
        return await find_toolchain(name, environment(), tmp_path / "staging")
    except InfrastructureError as error:
        lack(name, error)


def spec_of(toolchain: Toolchain, workspace: Path) -> SandboxSpec:
    """Return a sandbox with a toolchain."""
    return SandboxSpec(
        workspace=workspace,
        mounts=toolchain.mounts,
        path=toolchain.path,
        environment=toolchain.environment,
        limits=LIMITS,
        system="host",  # as everything that builds has it: npm's scripts and Rust's linker are the host's
    )


async def run(sandbox: Sandbox, lent: RegistrySet, *argv: str) -> CommandResult:
    """Run a client with everything that the registries' clients need."""
    return await sandbox.run(Command(argv=argv, environment=await lent.attach(sandbox)))


async def test_npm_installs_and_installs_again_while_the_registry_is_down(
    npm: FakeNpm, provider: SandboxProvider, tmp_path: Path
) -> None:
    """`npm install` writes a lock without addresses; `npm ci` needs no network, whatever its lock names."""
    node = await installed("node", tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    (work / "package.json").write_text(json.dumps({"name": "app", "dependencies": {"tool": "^1.0.0"}}))
    lender = RegistryLending({}, tmp_path / "cache", {"npm": npm.configuration()})
    wanted = LendingRules(kinds=("npm",), refused={"npm": ("original",)})
    async with lender.lend(wanted) as lent, await provider.open(spec_of(node, work)) as sandbox:
        first = await run(sandbox, lent, "npm", "install")
        assert first.ok, first.stderr
        refused = await run(sandbox, lent, "npm", "install", "original")
    assert not refused.ok
    assert [(trouble.kind, trouble.name) for trouble in lent.troubles["npm"]] == [("refused", "original")]
    lock = (work / "package-lock.json").read_text()
    assert "127.0.0.1" not in lock
    await npm.site.close()
    document = json.loads(lock)
    document["packages"]["node_modules/tool"]["resolved"] = "https://elsewhere.example/npm/tool/-/tool-1.0.0.tgz"
    (work / "package-lock.json").write_text(json.dumps(document))
    async with lender.lend(wanted) as lent, await provider.open(spec_of(node, work)) as sandbox:
        again = await run(sandbox, lent, "npm", "ci")
        assert again.ok, again.stderr
        said = await sandbox.run(Command(argv=("node", "-p", "require('tool')")))
    assert said.stdout == b"tool 1.0.0\n"
    assert all(fetched.from_cache for fetched in lent.fetched["npm"])


async def test_cargo_builds_and_builds_again_while_the_index_is_down(
    crates: FakeCrates, provider: SandboxProvider, tmp_path: Path
) -> None:
    """A lock file keeps the source that packages name, whatever served it; the second build needs no network."""
    rust = await installed("rust", tmp_path)
    lender = RegistryLending({}, tmp_path / "cache", {"crates": crates.configuration()})
    lock = b""
    for turn in ("first", "second"):
        work = tmp_path / turn
        (work / "src").mkdir(parents=True)
        (work / "Cargo.toml").write_text(CARGO_TOML)
        (work / "src/main.rs").write_text(PROGRAM)
        if lock:
            (work / "Cargo.lock").write_bytes(lock)
            await crates.site.close()
        async with (
            lender.lend(LendingRules(kinds=("crates",))) as lent,
            await provider.open(spec_of(rust, work)) as sandbox,
        ):
            result = await run(sandbox, lent, "cargo", "run", "-q", *(["--locked"] if lock else []))
        assert result.stdout == b"helper 1.2.0\n", result.stderr
        lock = (work / "Cargo.lock").read_bytes()
        assert b"127.0.0.1" not in lock
    assert [fetched.from_cache for fetched in lent.fetched["crates"]] == [True, True]


async def test_a_builder_is_a_workbench(builder: LocalBuilder) -> None:
    """What graders and agents ask for is there: they need only the builder."""
    async with builder.registries(LendingRules(kinds=("pypi",))) as lent:
        assert lent.troubles == {"pypi": ()}
