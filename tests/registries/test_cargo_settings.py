"""Tests of groundup.registries.crates: what Cargo is configured for is what is asked."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.registries.crates import crates_settings

INDEX = "https://mirror.example/index"


def user(tmp_path: Path, config: str = "", credentials: str = "") -> dict[str, str]:
    """Return the environment of a user whose Cargo asks `INDEX` and has these files."""
    home = tmp_path / ".cargo"
    (home / "bin").mkdir(parents=True)
    (home / "config.toml").write_text(config)
    (home / "credentials.toml").write_text(credentials)
    script = f'#!/bin/sh\necho "  failed to download from \\`{INDEX}/config.json\\`" >&2; exit 101\n'
    (home / "bin" / "cargo").write_text(script)
    (home / "bin" / "cargo").chmod(0o755)
    return {"PATH": f"{home / 'bin'}:{os.defpath}", "HOME": str(tmp_path)}


async def test_tokens_belong_to_the_registry_with_that_index(tmp_path: Path) -> None:
    """The token is found by the address of the index, in the credentials or, stronger, in the environment."""
    config = (
        f'[registries.own-one]\nindex = "sparse+{INDEX}/"\n[registries.b]\nindex = "sparse+https://b.example/"\n'
    )
    secrets = '[registries.own-one]\ntoken = "filed"\n[registries.b]\ntoken = "other"\n'
    environment = user(tmp_path, config, secrets)
    found = await crates_settings(environment)
    assert (found.indexes[0].url, found.token and found.token.get_secret_value()) == (INDEX, "filed")
    found = await crates_settings({**environment, "CARGO_REGISTRIES_OWN_ONE_TOKEN": "named"})
    assert found.token is not None
    assert found.token.get_secret_value() == "named"
    assert "named" not in repr(found)


async def test_a_registry_may_be_named_by_variables(tmp_path: Path) -> None:
    """Index and token of a registry need no file; a proxy is what Cargo's own setting says."""
    environment = {
        **user(tmp_path, '[http]\nproxy = "proxy.example:3128"\n'),
        "CARGO_REGISTRIES_X_INDEX": f"sparse+{INDEX}/",
        "CARGO_REGISTRIES_X_TOKEN": "t",
    }
    found = await crates_settings(environment)
    assert found.token is not None
    assert found.proxy is not None
    assert found.proxy.get_secret_value() == "http://proxy.example:3128"


async def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    """Without Cargo, with a Git index, or with a broken file, the error says what to do."""
    with pytest.raises(InfrastructureError, match="install Rust"):
        await crates_settings({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    environment = user(tmp_path, config="[broken")
    with pytest.raises(UsageError, match="not valid TOML"):
        await crates_settings(environment)
    (tmp_path / ".cargo/bin/cargo").write_text("#!/bin/sh\nexit 101\n")
    with pytest.raises(InfrastructureError, match="sparse index"):
        await crates_settings(environment)
