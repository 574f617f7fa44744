"""What installing a program runs, in a sandbox that answers by a script, and what comes back."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.environments import python_builder
from groundup.environments.interpreters import Interpreter
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import ProgramRequest
from groundup.environments.toolchains import Toolchain
from groundup.registries.uv import uv_version
from groundup.sandbox.protocol import Mount
from tests.environments.test_python_builder import Bench
from tests.sandbox.fake import answer

PYTHON = "/opt/agent/python/bin/python3.12"
PLACE = "/opt/agent/env"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A builder over scripted sandboxes, with an interpreter and a Node made up here."""
    made = Bench(tmp_path)

    async def known(minor: str, cache: Path) -> Interpreter:
        return made.interpreter

    async def toolchain(self: LocalBuilder, name: str) -> Toolchain:
        assert name == "node"
        return Toolchain(
            name="node",
            versions={"node": "20.1.0", "npm": "10.2"},
            mounts=(Mount(source=tmp_path, target="/opt/node"),),
            path=("/opt/node/bin",),
            environment={"NODE": "1"},
        )

    monkeypatch.setattr(python_builder, "known_interpreter", known)
    monkeypatch.setattr(LocalBuilder, "toolchain", toolchain)
    return made


async def test_a_program_of_pypi_is_installed_beside_all_else(bench: Bench) -> None:
    """With what is added and without what is left out; once, and found by another builder."""
    bench.says["uv pip freeze"] = answer(stdout=b"agent==1.0\nsix==1.16\n")
    request = ProgramRequest(
        registry="pypi", package="agent", version="1.0", also=("six",), without=("torch", "x")
    )
    made = await bench.builder.program(request)
    place = made.bin.removesuffix("/bin")
    into = f"--python {place}/bin/python"
    assert bench.ran == [
        f"uv venv {place} --python {PYTHON} --allow-existing --no-project",
        f"uv pip install {into} --compile-bytecode -r /workspace/wanted.txt --override /workspace/never.txt",
        f"uv pip freeze {into}",
    ]
    assert bench.files == {
        "wanted.txt": "agent==1.0\nsix\n",
        "never.txt": "torch ; python_version < '0'\nx ; python_version < '0'\n",
    }
    layer = made.mounts[-1]
    assert (layer.target, made.path, made.environment) == (place, (), {})
    assert made.identity["packages"] == "agent==1.0 six==1.16"
    assert made.identity["layer"].startswith("sha256:")
    assert not any(mount.target.startswith("/opt/python") for mount in made.mounts)
    (spec,) = bench.provider.specs
    assert (spec.label, spec.system) == ("installing agent 1.0", "host")
    assert spec.environment["UV_CACHE_DIR"] == f"{place}/.uv-cache"
    assert [mount.target for mount in spec.mounts if mount.writable] == [place]
    found = bench.builder._store.find("program-python", made.identity["layer"])
    assert found is not None
    assert (found.built["uv"], found.built["files"]) == (uv_version(), "0")
    again = LocalBuilder(bench.settings, bench.provider)
    assert await again.program(request) == await bench.builder.program(request) == made
    assert bench.ran == []
    assert (await again.program(request.but(version="2.0"))).identity["layer"] != made.identity["layer"]


@pytest.mark.needs("npm")
async def test_a_program_of_npm_is_installed_beside_all_else(bench: Bench) -> None:
    """It needs Node, whose versions are a part of what it is."""
    listing = {"dependencies": {"agent": {"version": "2.0", "dependencies": {"left-pad": {"version": "1.3"}}}}}
    bench.says["npm ls"] = answer(1, stdout=json.dumps(listing).encode())
    made = await bench.builder.program(
        ProgramRequest(registry="npm", package="agent", version="2.0", also=("b@1",))
    )
    place = made.bin.removesuffix("/bin")
    assert [command.argv for command in bench.provider.commands] == [
        ("npm", "install", "--global", "--prefix", place, "--no-audit", "--no-fund", "agent@2.0", "b@1"),
        ("npm", "ls", "--global", "--prefix", place, "--all", "--json"),
    ]
    assert all("npm_config_registry" in command.environment for command in bench.provider.commands)
    assert made.path == ("/opt/node/bin",)
    assert made.environment == {"NODE": "1"}
    assert made.identity.pop("layer").startswith("sha256:")
    assert made.identity == {"packages": "agent@2.0 left-pad@1.3", "node": "20.1.0", "npm": "10.2"}
    assert [mount.target for mount in made.mounts] == ["/opt/node", place]
    (spec,) = bench.provider.specs
    assert spec.environment == {"NODE": "1", "npm_config_cache": "/workspace/cache"}
    assert (spec.label, spec.path) == ("installing agent 2.0", ("/opt/node/bin",))


@pytest.mark.parametrize("registry", ["pypi", pytest.param("npm", marks=pytest.mark.needs("npm"))])
async def test_a_program_that_cannot_be_installed_is_tried_once(bench: Bench, registry: str) -> None:
    """The sentence says what to do, and comes again at once."""
    bench.says["uv pip install"] = answer(
        1, stderr=b"error: No solution found\n  cause: there is no version of agent"
    )
    bench.says["npm install"] = answer(1, stderr=b"error: could not be found")
    request = ProgramRequest.model_validate({"registry": registry, "package": "agent", "version": "9"})
    told = set()
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            await bench.builder.program(request)
        told.add(str(caught.value))
    (sentence,) = told
    assert sentence.startswith("installing agent 9: unknown package: ")
    assert "; pin another version (the log is " in sentence
    assert sum("install agent" in one or " install " in one for one in bench.ran) == 1


async def test_what_a_builder_is_made_of(bench: Bench) -> None:
    """Versions of what it used so far."""
    assert bench.builder.identity() == {"uv": uv_version()}
    await bench.builder.interpreter("3.12")
    assert bench.builder.identity() == {"uv": uv_version(), "python3.12": "3.12.4"}
