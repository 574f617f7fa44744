"""Which Python package indexes the user is configured for: what uv and pip read, uv.toml, pip.conf and netrc."""

import configparser
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import SecretStr

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.registries.settings import Index, RegistrySettings, certificates, home_of, parse_index
from groundup.registries.uv import default_index_url

_PIP_SECTIONS = ("global", "install", "download")


class _Found(Record):
    """What one client's configuration says."""

    default: Index | None = None
    extra: tuple[Index, ...] = ()


async def pypi_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return how the user whose *environment* this is reaches package indexes. Raises `UsageError`.

    uv's configuration counts when it names any index, else pip's; what neither names is the client's own default.
    """
    pip = _pip_settings(environment)
    found, origin = _uv_indexes(environment), "uv's configuration"
    if found.default is None and not found.extra:
        found, origin = _pip_indexes(pip), "pip's configuration"
    default = found.default
    if default is None:
        origin = f"{origin} and uv's default" if found.extra else "uv's default"
        default = parse_index(await default_index_url())
    proxy = pip.get("proxy")
    netrc_file = Path(environment.get("NETRC") or home_of(environment) / ".netrc")
    return RegistrySettings(
        indexes=(*found.extra, default),
        ca_bundle=certificates(environment, {"pip's setting 'cert'": pip.get("cert")}),
        proxy=SecretStr(proxy) if proxy else None,
        netrc_file=netrc_file if netrc_file.is_file() else None,
        origin=origin,
    )


# --- uv


def _uv_indexes(environment: Mapping[str, str]) -> _Found:
    tables = [] if environment.get("UV_NO_CONFIG") else list(_uv_files(environment))
    default = environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL")
    extra = f"{environment.get('UV_INDEX', '')} {environment.get('UV_EXTRA_INDEX_URL', '')}".split()
    found_default = parse_index(default, environment) if default else None
    found_extra = [parse_index(text, environment) for text in extra]
    for table in tables:
        for text, is_default in _uv_table(table):
            index = parse_index(text, environment)
            if not is_default:
                found_extra.append(index)
            elif found_default is None:
                found_default = index
    return _Found(default=found_default, extra=_distinct(found_extra))


def _uv_table(table: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """Yield (`name=url` or `url`, whether it is the default) of one uv.toml, strongest first."""
    pip = table.get("pip")
    for scope in (pip, table):
        if not isinstance(scope, Mapping):
            continue
        entries = scope.get("index")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and isinstance(entry.get("url"), str) and not entry.get("explicit"):
                name = entry.get("name")
                yield (f"{name}={entry['url']}" if name else entry["url"]), bool(entry.get("default"))
        if isinstance(scope.get("index-url"), str):
            yield str(scope["index-url"]), True
        extra = scope.get("extra-index-url")
        for text in extra if isinstance(extra, list) else ():
            yield str(text), False


def _uv_files(environment: Mapping[str, str]) -> Iterator[Mapping[str, object]]:
    named = environment.get("UV_CONFIG_FILE")
    home = environment.get("XDG_CONFIG_HOME") or str(home_of(environment) / ".config")
    system = [Path(part) for part in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if part]
    user_first = [Path(home) / "uv/uv.toml", *(part / "uv/uv.toml" for part in system), Path("/etc/uv/uv.toml")]
    for path in [Path(named)] if named else user_first:
        try:
            yield tomllib.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: uv's configuration is not valid TOML: {error}") from error


# --- pip


def _pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by their long option names; the environment is stronger than files."""
    settings: dict[str, str] = {}
    for path in _pip_files(environment):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: pip's configuration cannot be read: {error}") from error
        for section in _PIP_SECTIONS:
            if parser.has_section(section):
                settings.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    for key in ("index-url", "extra-index-url", "proxy"):
        value = environment.get("PIP_" + key.upper().replace("-", "_"))
        if value:
            settings[key] = value
    return settings


def _pip_files(environment: Mapping[str, str]) -> Iterable[Path]:
    """Return pip's configuration files, weakest first."""
    named = environment.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return ()
    home = home_of(environment)
    config_home = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    system = [
        Path(part) / "pip/pip.conf" for part in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if part
    ]
    mac = home / "Library/Application Support/pip/pip.conf"
    files = [*system, Path("/etc/pip.conf"), home / ".pip/pip.conf", mac, config_home / "pip/pip.conf"]
    return [*files, Path(sys.prefix) / "pip.conf", *([Path(named)] if named else [])]


def _pip_indexes(settings: Mapping[str, str]) -> _Found:
    default = settings.get("index-url")
    extra = [parse_index(text) for text in settings.get("extra-index-url", "").split()]
    return _Found(default=parse_index(default) if default else None, extra=_distinct(extra))


def _distinct(indexes: Iterable[Index]) -> tuple[Index, ...]:
    return tuple({index.url: index for index in reversed(list(indexes))}.values())[::-1]
