"""Which package indexes the user's own clients are configured for: credentials, certificates, proxy.

Reads what uv and pip read (environment, uv.toml, pip.conf, netrc); holds no address of its own. What a record
holds here never leaves the host: secrets are hidden from its text, and a sandbox only ever sees the gateway.
"""

import configparser
import netrc
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import Field, SecretStr

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.registries.uv import default_index_url

_CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PIP_SECTIONS = ("global", "install", "download")


class Credentials(Record):
    """A user name and password for one index."""

    username: str
    password: SecretStr = SecretStr("")


class Index(Record):
    """One package index. The address holds no credentials, so it can be shown and be part of a cache key."""

    url: str
    credentials: Credentials | None = None


class Authorization(Record):
    """What is sent as `Authorization` to addresses that begin with a place."""

    place: str = Field(description="`//host[:port]/path`, without scheme and last slash")
    header: SecretStr


class ClientConfiguration(Record):
    """How this user reaches package indexes."""

    indexes: tuple[Index, ...] = Field(
        min_length=1, description="the first one that knows a name is the only one asked for it"
    )
    ca_bundle: Path | None = Field(default=None, description="None: the default trust store")
    proxy: SecretStr | None = Field(
        default=None, description="pip's proxy setting; else the usual variables count"
    )
    netrc_file: Path | None = None
    authorizations: tuple[Authorization, ...] = Field(
        default=(), description="tokens; the longest place counts, and the last of equals"
    )
    trust_environment: bool = Field(default=True, description="whether HTTP_PROXY and its like count")
    origin: str = Field(default="given", description="who named the indexes, for messages and lock files")

    def credentials_for(self, url: str) -> Credentials | None:
        """Return what an address may be asked with: an index's own credentials on its own origin, else netrc's."""
        for index in self.indexes:
            if index.credentials and _origin(index.url) == _origin(url):
                return index.credentials
        return _from_netrc(self.netrc_file, urlsplit(url).hostname or "")

    def authorization_for(self, url: str) -> str | None:
        """Return the header to send to *url*, when a token is known for it."""
        parts = urlsplit(url)
        place = f"//{parts.netloc.rpartition('@')[2]}{parts.path}/"
        found = [entry for entry in self.authorizations if place.startswith(f"{entry.place}/")]
        return (
            max(reversed(found), key=lambda entry: len(entry.place)).header.get_secret_value() if found else None
        )


class _Found(Record):
    """What one client's configuration says."""

    default: Index | None = None
    extra: tuple[Index, ...] = ()


async def client_configuration(environment: Mapping[str, str]) -> ClientConfiguration:
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
    return ClientConfiguration(
        indexes=(*found.extra, default),
        ca_bundle=certificates(environment, pip),
        proxy=SecretStr(proxy) if proxy else None,
        netrc_file=_netrc_file(environment),
        origin=origin,
    )


def parse_index(text: str, environment: Mapping[str, str] | None = None) -> Index:
    """Return the index of `url` or `name=url`, credentials taken out of the address. Raises `UsageError`."""
    name, separator, rest = text.partition("=")
    named = bool(separator) and "/" not in name
    try:
        parts = urlsplit(rest if named else text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"the package index {_without_userinfo(text)!r} is not an http or https address; "
            "name one in UV_DEFAULT_INDEX or PIP_INDEX_URL"
        )
    credentials = None
    if parts.username:
        password = SecretStr(unquote(parts.password or ""))
        credentials = Credentials(username=unquote(parts.username), password=password)
    elif named and environment is not None:
        credentials = _named_credentials(name, environment)
    host = parts.netloc.rpartition("@")[2]
    return Index(url=urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), credentials=credentials)


def _without_userinfo(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _named_credentials(name: str, environment: Mapping[str, str]) -> Credentials | None:
    key = "UV_INDEX_" + "".join(letter.upper() if letter.isalnum() else "_" for letter in name)
    username, password = environment.get(f"{key}_USERNAME"), environment.get(f"{key}_PASSWORD")
    if username is None and password is None:
        return None
    return Credentials(username=username or "", password=SecretStr(password or ""))


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
    home = environment.get("XDG_CONFIG_HOME") or str(_home(environment) / ".config")
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
    home = _home(environment)
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


# --- certificates, netrc


def certificates(environment: Mapping[str, str], pip: Mapping[str, str] | None = None) -> Path | None:
    """Return the bundle of certificates that the user's clients trust; None: the default. Raises `UsageError`."""
    named = [(name, environment[name]) for name in _CA_VARIABLES if environment.get(name)]
    if pip and pip.get("cert"):
        named.append(("pip's setting 'cert'", pip["cert"]))
    for name, value in named:
        if not Path(value).is_file():
            raise UsageError(f"{name} names the certificate bundle {value}, which is not a file; mend or unset it")
        return Path(value)
    return None


def _netrc_file(environment: Mapping[str, str]) -> Path | None:
    path = Path(environment.get("NETRC") or _home(environment) / ".netrc")
    return path if path.is_file() else None


def _from_netrc(path: Path | None, host: str) -> Credentials | None:
    if path is None:
        return None
    try:
        entry = netrc.netrc(str(path)).authenticators(host)
    except (netrc.NetrcParseError, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a netrc file: {getattr(error, 'msg', error)}") from error
    return Credentials(username=entry[0], password=SecretStr(entry[2] or "")) if entry else None


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or "/nonexistent")


def _distinct(indexes: Iterable[Index]) -> tuple[Index, ...]:
    return tuple({index.url: index for index in reversed(list(indexes))}.values())[::-1]
