"""Tests of groundup.environments.toolchains: the host's toolchains, and nothing else of theirs."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.languages import ToolchainName
from groundup.environments.toolchains import find_toolchain, icu_fact, toolchain_facts
from groundup.languages import TOOLCHAINS


def program(path: Path, script: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def node_of(prefix: Path) -> dict[str, str]:
    """Install a Node.js with npm and a tool of its user's below *prefix*; return an environment that finds it."""
    node = program(prefix / "bin/node", f'[ "$1" = -p ] && echo {prefix}/bin/node || echo v20.1.0')
    for name in ("npm/bin/npm-cli.js", "npm/bin/npx-cli.js", "secret-tool/index.js"):
        program(prefix / "lib/node_modules" / name, "echo 10.2.0")
    (prefix / "bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
    (prefix / "include/node").mkdir(parents=True)
    return {"PATH": f"{node.parent}:{os.defpath}"}


async def test_node_comes_with_npm_and_without_what_its_user_installed(tmp_path: Path) -> None:
    """Mounted are the program, npm and the headers; links for PATH are staged once."""
    prefix, staging = tmp_path / "node", tmp_path / "staging"
    environment = node_of(prefix)
    found = await find_toolchain("node", environment, staging)
    assert found == await find_toolchain("node", environment, staging)
    assert found.versions == {"node": "20.1.0", "npm": "10.2.0"}
    targets = {mount.target: mount.source for mount in found.mounts[1:]}
    assert targets == {
        "/opt/toolchains/node/bin/node": prefix / "bin/node",
        "/opt/toolchains/node/lib/node_modules/npm": prefix / "lib/node_modules/npm",
        "/opt/toolchains/node/include/node": prefix / "include/node",
    }
    (staged,) = staging.iterdir()
    assert found.mounts[0].source == staged
    assert {path.name for path in (staged / "bin").iterdir()} == {"node", "npm", "npx"}
    assert (staged / "bin/npx").readlink() == Path("../lib/node_modules/npm/bin/npx-cli.js")
    assert found.path == ("/opt/toolchains/node/bin",)


async def test_rust_is_what_rustc_says(tmp_path: Path) -> None:
    """The toolchain is rustc's sysroot, where rustup keeps it; the programs on PATH only lead there."""
    root = tmp_path / "rustup/toolchains/stable"
    program(root / "bin/cargo", 'echo "cargo 1.80.0 (abc 2024-01-01)"')
    program(tmp_path / "bin/rustc", f'[ "$1" = --print ] && echo {root} || echo "rustc 1.80.0 (abc 2024-01-01)"')
    program(tmp_path / "bin/cargo", "exit 1")
    found = await find_toolchain("rust", {"PATH": f"{tmp_path / 'bin'}:{os.defpath}"}, tmp_path / "staging")
    assert found.versions == {"rustc": "1.80.0", "cargo": "1.80.0"}
    assert [(mount.source, mount.target) for mount in found.mounts] == [(root, "/opt/toolchains/rust")]


async def test_go_is_its_root(tmp_path: Path) -> None:
    """Mounted as a whole, and told not to fetch another one."""
    root = tmp_path / "go1.22"
    go = program(root / "bin/go", f'[ "$1" = env ] && echo {root} || echo "go version go1.22.3 linux/amd64"')
    found = await find_toolchain("go", {"PATH": f"{go.parent}:{os.defpath}"}, tmp_path / "staging")
    assert found.versions == {"go": "1.22.3"}
    assert [(mount.source, mount.target) for mount in found.mounts] == [(root, "/opt/toolchains/go")]
    assert found.environment["GOTOOLCHAIN"] == "local"


async def test_dotnet_is_the_folder_of_its_program(tmp_path: Path) -> None:
    """A link on PATH leads to the SDK, which knows its own place inside."""
    program(tmp_path / "share/dotnet/dotnet", "echo 8.0.100")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/dotnet").symlink_to("../share/dotnet/dotnet")
    found = await find_toolchain("dotnet", {"PATH": f"{tmp_path / 'bin'}:{os.defpath}"}, tmp_path / "staging")
    assert found.versions == {"dotnet": "8.0.100"}
    assert found.environment["DOTNET_ROOT"] == found.path[0] == found.mounts[0].target
    assert found.mounts[0].source == tmp_path / "share/dotnet"


@pytest.mark.needs("dotnet")
async def test_programs_find_the_runtime_wherever_it_lies(tmp_path: Path) -> None:
    """An apphost looks for its runtime in DOTNET_ROOT, which names the folder that a sandbox sees."""
    found = await find_toolchain("dotnet", os.environ, tmp_path / "staging")
    place = next((mount.source for mount in found.mounts), Path(found.environment["DOTNET_ROOT"]))
    assert (place / "shared/Microsoft.NETCore.App").is_dir()


@pytest.mark.parametrize("name", TOOLCHAINS)
async def test_what_is_absent_or_broken_is_said(name: ToolchainName, tmp_path: Path) -> None:
    """The error says what to install; a program that does not work is no toolchain."""
    empty = {"PATH": str(tmp_path)}
    with pytest.raises(InfrastructureError, match="is not on this machine; install"):
        await find_toolchain(name, empty, tmp_path / "staging")
    for broken in ("node", "npm", "rustc", "cargo", "dotnet", "go"):
        program(tmp_path / broken, "echo broken >&2; exit 1")
    with pytest.raises(InfrastructureError, match="does not work and says 'broken'"):
        await find_toolchain(name, empty, tmp_path / "staging")


def test_missing_toolchains_are_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each toolchain: where it is, or how it comes here and what it is for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path / "dotnet", "exit 1")
    facts = {fact.name: fact for fact in toolchain_facts()}
    assert (facts[".NET"].value, facts[".NET"].advice) == (str(tmp_path / "dotnet"), "")
    assert facts["Rust"].value == "missing"
    assert facts["Rust"].advice.endswith("put `cargo` and `rustc` on PATH, to execute CI jobs in Rust")


def test_doctor_says_whether_dotnet_can_start(tmp_path: Path) -> None:
    """Without ICU the SDK aborts: the line names the library that is there, or the package that has it."""
    assert (icu_fact(tmp_path).value, "libicu" in icu_fact(tmp_path).advice) == ("missing", True)
    library = tmp_path / "lib/x86_64-linux-gnu/libicuuc.so.72"
    library.parent.mkdir(parents=True)
    library.touch()
    assert icu_fact(tmp_path).value == str(library)
