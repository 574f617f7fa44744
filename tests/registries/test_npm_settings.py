"""Tests of groundup.registries.npm: what npm is configured for is what is asked."""

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.registries.npm import npm_settings


def user(tmp_path: Path, settings: Mapping[str, str], npmrc: str = "") -> dict[str, str]:
    """Return the environment of a user whose npm has these settings and this .npmrc."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".npmrc").write_text(npmrc)
    ended = json.dumps({"userconfig": str(tmp_path / ".npmrc"), **settings})
    (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\ncat <<'END'\n{ended}\nEND\n")
    (tmp_path / "bin" / "npm").chmod(0o755)
    return {"PATH": f"{tmp_path / 'bin'}:{os.defpath}", "HOME": str(tmp_path)}


async def test_registries_by_scope_and_tokens_by_place(tmp_path: Path) -> None:
    """A scope has its own registry; a token goes to its place and below, and to no other one."""
    password = base64.b64encode(b"pw").decode()
    npmrc = (
        "; //a.example/:_authToken=commented\n"
        "//a.example/:_authToken=${TOKEN}\n"
        "//b.example/npm/:username=me\n"
        f"//b.example/npm/:_password={password}\n"
        "//a.example/deep/:_auth = c2VjcmV0\n"
    )
    settings = {"registry": "https://a.example/", "@own:registry": "https://b.example/npm/"}
    environment = {**user(tmp_path, settings, npmrc), "TOKEN": "t1"}
    found = await npm_settings(environment)
    assert found.registry_of("ms") == "https://a.example"
    assert found.registry_of("@own/x") == "https://b.example/npm"
    assert found.registry_of("@other/x") == "https://a.example"
    sent = found.authorization_for
    assert sent("https://a.example/ms") == "Bearer t1"
    assert sent("https://a.example/deep/x") == "Basic c2VjcmV0"
    assert sent("https://b.example/npm/@own%2fx") == "Basic " + base64.b64encode(b"me:pw").decode()
    assert sent("https://b.example/npmx") is None
    assert sent("https://a.example.evil/ms") is None
    assert "t1" not in repr(found)


async def test_the_environment_is_stronger(tmp_path: Path) -> None:
    """A token in the environment replaces the file's."""
    environment = user(tmp_path, {"registry": "https://a.example/"}, "//a.example/:_authToken=old\n")
    found = await npm_settings({**environment, "npm_config_//a.example/:_authToken": "new"})
    assert found.authorization_for("https://a.example/ms") == "Bearer new"


async def test_without_npm_no_one_says_where_the_registry_is(tmp_path: Path) -> None:
    """The error says what to install."""
    with pytest.raises(InfrastructureError, match=r"install Node\.js"):
        await npm_settings({"PATH": str(tmp_path), "HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("{}", "npm names no registry; set one with `npm config set registry`"),
        ('{"registry": 3}', "npm names no registry; set one with `npm config set registry`"),
        ('{"@a:registry": "https://a.example"}', "npm names no registry; set one with `npm config set registry`"),
        ("[]", "npm names no registry; set one with `npm config set registry`"),
        ("warn: old", "`npm config list -l --json` prints no JSON; mend npm's configuration"),
    ],
)
async def test_settings_without_a_registry_say_what_to_do(tmp_path: Path, printed: str, says: str) -> None:
    """Whatever npm prints."""
    environment = user(tmp_path, {})
    (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\necho '{printed}'\n")
    with pytest.raises(InfrastructureError) as caught:
        await npm_settings(environment)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("settings", "proxy"),
    [
        ({"proxy": "http://a", "https-proxy": "http://b"}, "http://b"),
        ({"proxy": "http://a", "https-proxy": None}, "http://a"),
        ({"proxy": False}, None),
    ],
)
async def test_the_proxy_is_the_one_for_https(tmp_path: Path, settings: dict[str, str], proxy: str | None) -> None:
    """Else the other one, if it is an address."""
    found = await npm_settings(user(tmp_path, {"registry": "https://a.example/", **settings}))
    assert (found.proxy and found.proxy.get_secret_value()) == proxy
    assert (found.origin, found.scopes, found.ca_bundle) == ("npm's configuration", {}, None)
