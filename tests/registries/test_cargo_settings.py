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


@pytest.mark.parametrize(
    ("config", "secrets", "token"),
    [
        (f'[registries.a]\nindex = "sparse+{INDEX}"\ntoken = "own"\n', "", "own"),
        (f'[registries.a]\nindex = "{INDEX}"\ntoken = "own"\n', '[registries.a]\ntoken = "filed"\n', "filed"),
        (f'[registries.a]\nindex = "{INDEX}"\n', "", None),
        (f'[registries.a]\nindex = "{INDEX}"\n[registries.b]\nindex = "{INDEX}/"\ntoken = "b"\n', "", "b"),
        (f'[registries.a]\nindex = "{INDEX}"\ntoken = 5\n', "", None),
        ('[registries.a]\nindex = 3\ntoken = "own"\n', "", None),
        ("registries = 3\n", "registries = 4\n", None),
        ("[registries]\na = 3\n", "", None),
        ('[registries.a]\nindex = "sparse+https://other.test/"\ntoken = "own"\n', "", None),
    ],
)
async def test_which_token_is_the_index_s(tmp_path: Path, config: str, secrets: str, token: str | None) -> None:
    """That of a registry with its address, from the credentials before the configuration."""
    found = await crates_settings(user(tmp_path, config, secrets))
    assert (found.token and found.token.get_secret_value()) == token
    assert (found.proxy, found.ca_bundle, found.origin) == (None, None, "Cargo's configuration")


async def test_what_cargo_s_table_for_http_says(tmp_path: Path) -> None:
    """A bundle that is there, and a proxy that is named."""
    (tmp_path / "bundle.pem").write_text("x")
    config = f'[http]\ncainfo = "{tmp_path / "bundle.pem"}"\nproxy = "https://p.test:1"\n'
    found = await crates_settings(user(tmp_path, config))
    assert (found.ca_bundle, found.proxy and found.proxy.get_secret_value()) == (
        tmp_path / "bundle.pem", "https://p.test:1",
    )  # fmt: skip
    for text in ('[http]\ncainfo = "/not/there"\nproxy = ""\n', "[http]\ncainfo = 1\nproxy = 2\n", "http = 1\n"):
        (tmp_path / ".cargo" / "config.toml").write_text(text)
        found = await crates_settings({"PATH": f"{tmp_path / '.cargo/bin'}:{os.defpath}", "HOME": str(tmp_path)})
        assert (found.ca_bundle, found.proxy) == (None, None)
