"""How one user reaches a registry: its address, credentials, certificates and proxy.

Each registry reads these from the configuration of its own client; no registry's address is written down here.
What a record holds never leaves the host: secrets are hidden from its text, and a sandbox sees a gateway only.
"""

import netrc
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import Field, SecretStr

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.records import Record
from groundup.sandbox.programs import ProgramResult, run_program
from groundup.trees.scratch import scratch_folder

_CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_QUICK_S = 60.0


class Credentials(Record):
    """A user name and password for one index."""

    username: str
    password: SecretStr = SecretStr("")


class Index(Record):
    """One registry. The address holds no credentials, so it can be shown and be part of a cache key."""

    url: str
    credentials: Credentials | None = None


class Authorization(Record):
    """What is sent as `Authorization` to addresses that begin with a place."""

    place: str = Field(description="`//host[:port]/path`, without scheme and last slash")
    header: SecretStr


class RegistrySettings(Record):
    """How this user reaches registries of one kind."""

    indexes: tuple[Index, ...] = Field(
        min_length=1, description="the first one that knows a name is the only one asked for it"
    )
    folders: tuple[Path, ...] = Field(
        default=(), description="of packages on this machine, beside the indexes: find-links, NuGet's folders"
    )
    ca_bundle: Path | None = Field(default=None, description="None: the default trust store")
    proxy: SecretStr | None = Field(
        default=None, description="the proxy in the client's configuration; else the usual variables count"
    )
    netrc_file: Path | None = None
    authorizations: tuple[Authorization, ...] = Field(
        default=(), description="tokens; the longest place counts, and the last of equals"
    )
    trust_environment: bool = Field(default=True, description="whether HTTP_PROXY and its like count")
    origin: str = Field(default="given", description="who named the indexes, for messages and lock files")

    def authorization_for(self, url: str) -> str | None:
        """Return the header to send to *url*, when a token is known for it."""
        parts = urlsplit(url)
        place = f"//{parts.netloc.rpartition('@')[2]}{parts.path}/"
        found = [entry for entry in self.authorizations if place.startswith(f"{entry.place}/")]
        longest = max(reversed(found), key=lambda entry: len(entry.place), default=None)
        return longest.header.get_secret_value() if longest else None

    def credentials_for(self, url: str) -> Credentials | None:
        """Return what an address may be asked with: an index's own credentials on its own origin, else netrc's."""
        for index in self.indexes:
            if index.credentials and _origin(index.url) == _origin(url):
                return index.credentials
        return _from_netrc(self.netrc_file, urlsplit(url).hostname or "")


def direct(url: str, environment: Mapping[str, str], origin: str = "the environment") -> RegistrySettings:
    """Return how to reach one address, with the user's certificates and proxies. Raises `UsageError`."""
    return RegistrySettings(indexes=(parse_index(url),), ca_bundle=certificates(environment), origin=origin)


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


def certificates(environment: Mapping[str, str], own: Mapping[str, object] | None = None) -> Path | None:
    """Return the bundle of certificates that the user's clients trust; None: the default.

    *own* is what the client's own settings name, by the setting's name. Raises `UsageError`.
    """
    named = [(name, environment[name]) for name in _CA_VARIABLES if environment.get(name)]
    named += [(name, value) for name, value in (own or {}).items() if isinstance(value, str) and value]
    for name, value in named:
        if not Path(value).is_file():
            raise UsageError(f"{name} names the certificate bundle {value}, which is not a file; mend or unset it")
        return Path(value)
    return None


async def ask_client(
    argv: Sequence[str], environment: Mapping[str, str], files: Mapping[str, str] | None = None
) -> ProgramResult | None:
    """Run a package manager in an empty folder (with *files* in it); None when it is not installed."""
    with scratch_folder("client") as folder:
        for name, content in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        try:
            return await run_program(list(argv), cwd=folder, environment=dict(environment), timeout_s=_QUICK_S)
        except InfrastructureError:
            return None


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the user's home, or a folder that does not exist."""
    return Path(environment.get("HOME") or "/nonexistent")


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


def _from_netrc(path: Path | None, host: str) -> Credentials | None:
    if path is None:
        return None
    try:
        entry = netrc.netrc(str(path)).authenticators(host)
    except (netrc.NetrcParseError, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a netrc file: {getattr(error, 'msg', error)}") from error
    return Credentials(username=entry[0], password=SecretStr(entry[2] or "")) if entry else None
