"""Which crate index the user's Cargo is configured for, replaced sources included, and with which token.

Cargo itself says where its index is; tokens are read from the files and variables that Cargo reads.
"""

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr

from groundup.domain.errors import InfrastructureError, MachineError, UsageError
from groundup.registries.settings import RegistrySettings, ask_client, certificates, home_of, parse_index

_ASKED = re.compile(r"failed to download from `(?P<url>https?://[^`]+)/config\.json`")
_PROJECT = {
    "Cargo.toml": '[package]\nname = "question"\nversion = "0.0.0"\n[dependencies]\nserde = "1"\n',
    "src/lib.rs": "",
}
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not answer: Cargo then names the address that it wanted to ask, and asks no registry."""
_CREDENTIALS = ("credentials.toml", "credentials")


class CratesSettings(RegistrySettings):
    """How this user reaches crates: by one sparse index."""

    token: SecretStr | None = Field(default=None, description="sent when the index says that it is needed")


async def crates_settings(environment: Mapping[str, str]) -> CratesSettings:
    """Return how the user whose *environment* this is reaches crates.

    Raises `InfrastructureError` when Cargo is not there to say or has a Git index, and `UsageError`.
    """
    home = Path(environment.get("CARGO_HOME") or home_of(environment) / ".cargo")
    with tempfile.TemporaryDirectory(prefix="groundup-cargo-") as empty:
        _copy_configuration(home, Path(empty))
        asked = {**environment, "CARGO_HOME": empty, "CARGO_HTTP_PROXY": _NOWHERE, "CARGO_NET_RETRY": "0"}
        asked["CARGO_NET_OFFLINE"] = "false"
        result = await ask_client(["cargo", "generate-lockfile", "--color", "never"], asked, _PROJECT)
    if result is None:
        raise MachineError("cargo is not on this machine to say where its index is; install Rust")
    answer = _ASKED.search(result.text())
    if answer is None:
        raise InfrastructureError(
            "cargo does not name a sparse index; set one in its configuration (a Git index cannot be used here)"
        )
    index = parse_index(answer["url"])
    settings = _settings(home)
    return CratesSettings(
        indexes=(index,),
        ca_bundle=certificates(environment) or _authorities(settings),
        proxy=_proxy(settings),
        origin="Cargo's configuration",
        token=_token(index.url, home, settings, environment),
    )


def _copy_configuration(home: Path, empty: Path) -> None:
    """Give Cargo its configuration and nothing that it has fetched before."""
    for name in ("config.toml", "config"):
        try:
            (empty / name).write_bytes((home / name).read_bytes())
        except OSError:
            continue


def _settings(home: Path) -> dict[str, Any]:
    return next(_tables(home, ("config.toml", "config")), {})


def _tables(home: Path, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name in names:
        try:
            yield tomllib.loads((home / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{home / name}: Cargo's configuration is not valid TOML: {error}") from error


def _authorities(settings: Mapping[str, Any]) -> Path | None:
    named = _table(settings, "http").get("cainfo")
    return Path(named) if isinstance(named, str) and Path(named).is_file() else None


def _proxy(settings: Mapping[str, Any]) -> SecretStr | None:
    named = _table(settings, "http").get("proxy")
    if not isinstance(named, str) or not named:
        return None
    return SecretStr(named if "://" in named else f"http://{named}")


def _token(
    index: str, home: Path, settings: Mapping[str, Any], environment: Mapping[str, str]
) -> SecretStr | None:
    """Return the token of the registry that has this index; a replaced source may be a registry by its address."""
    secrets = next(_tables(home, _CREDENTIALS), {})
    registries = {**_table(settings, "registries")}
    for name, value in environment.items():
        if match := re.fullmatch(r"CARGO_REGISTRIES_(\w+)_INDEX", name):
            registries[match[1].lower().replace("_", "-")] = {"index": value}
    for name, registry in registries.items():
        address = _table(registries, name).get("index") if isinstance(registry, dict) else None
        if not isinstance(address, str) or address.removeprefix("sparse+").rstrip("/") != index:
            continue
        variable = f"CARGO_REGISTRIES_{name.upper().replace('-', '_')}_TOKEN"
        found = environment.get(variable) or _table(_table(secrets, "registries"), name).get("token")
        found = found or _table(registries, name).get("token")
        if isinstance(found, str):
            return SecretStr(found)
    return None


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}
