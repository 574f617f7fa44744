"""Tests of registries.pypi.client and registries.settings: the user's own configuration counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import UsageError
from groundup.registries.pypi.client import pypi_settings
from groundup.registries.settings import parse_index
from groundup.registries.uv import default_index_url, uv_version

Variables = dict[str, str]


@pytest.fixture
def home(tmp_path: Path) -> Variables:
    """The environment of a user without any configuration, whatever machine this is."""
    empty = tmp_path / "empty.conf"
    empty.write_text("")
    (tmp_path / "xdg").mkdir()
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PIP_INDEX_URL": "",
    }


def write(path: Path, text: str) -> Path:
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def urls(environment: Variables) -> list[str]:
    """Return the addresses that count, in order."""
    return [index.url for index in (await pypi_settings(environment)).indexes]


async def test_without_configuration_the_client_is_asked(home: Variables) -> None:
    """uv itself says its default index; it is an address, and needs no network to be known."""
    assert await urls(home) == [(await default_index_url()).rstrip("/")]
    assert (await default_index_url()).startswith("https://")
    assert uv_version()[0].isdigit()


async def test_uv_variables_count_with_their_credentials(home: Variables) -> None:
    """Default and extra indexes come from uv's variables; passwords are held apart from addresses."""
    home |= {
        "UV_DEFAULT_INDEX": "https://me:p%40ss@mirror.test/simple/",
        "UV_INDEX": "corp-a=https://a.test/simple https://b.test/simple",
        "UV_INDEX_CORP_A_USERNAME": "bob",
        "UV_INDEX_CORP_A_PASSWORD": "pw",
    }
    configuration = await pypi_settings(home)
    assert [index.url for index in configuration.indexes] == [
        "https://a.test/simple",
        "https://b.test/simple",
        "https://mirror.test/simple",
    ]
    found = configuration.credentials_for("https://mirror.test/files/x.whl")
    assert found is not None
    assert (found.username, found.password.get_secret_value()) == ("me", "p@ss")
    named = configuration.credentials_for("https://a.test/x")
    assert named is not None
    assert named.username == "bob"
    assert configuration.credentials_for("https://elsewhere.test/x") is None
    assert configuration.credentials_for("http://mirror.test/x") is None


async def test_uv_toml_counts_below_uv_variables(home: Variables, tmp_path: Path) -> None:
    """The user's uv.toml names indexes; explicit ones are for named packages only and do not count."""
    write(
        tmp_path / "config/uv/uv.toml",
        'extra-index-url = ["https://extra.test/s"]\n[[index]]\nurl = "https://d.test/s"\ndefault = true\n'
        '[[index]]\nname = "e"\nurl = "https://explicit.test/s"\nexplicit = true\n',
    )
    assert await urls(home) == ["https://extra.test/s", "https://d.test/s"]
    assert await urls(home | {"UV_INDEX_URL": "https://v.test/s"}) == ["https://extra.test/s", "https://v.test/s"]


async def test_pip_configuration_counts_where_uv_says_nothing(home: Variables, tmp_path: Path) -> None:
    """pip.conf in the user's folder, its extra indexes, proxy and certificate, and pip's variables above it."""
    bundle = write(tmp_path / "ca.pem", "")
    write(
        tmp_path / "config/pip/pip.conf",
        f"[global]\nindex-url = https://conf.test/simple\nproxy = http://u:pw@proxy.test:3128\ncert = {bundle}\n"
        "[install]\nextra_index_url =\n  https://x.test/simple\n  https://y.test/simple\n",
    )
    configuration = await pypi_settings(home)
    expected = ["https://x.test/simple", "https://y.test/simple", "https://conf.test/simple"]
    assert [index.url for index in configuration.indexes] == expected
    assert configuration.ca_bundle == bundle
    assert configuration.proxy is not None
    assert "pw" not in repr(configuration)
    assert (await urls(home | {"PIP_INDEX_URL": "https://env.test/simple"}))[-1] == "https://env.test/simple"
    assert await urls(home | {"PIP_CONFIG_FILE": "/dev/null"}) == [(await default_index_url()).rstrip("/")]


async def test_netrc_has_credentials_for_hosts(home: Variables, tmp_path: Path) -> None:
    """A password in netrc is used for its host and no other."""
    write(tmp_path / ".netrc", "machine a.test login carol password pw\n").chmod(0o600)
    configuration = await pypi_settings(home | {"UV_DEFAULT_INDEX": "https://a.test/simple"})
    found = configuration.credentials_for("https://a.test/simple/x/")
    assert found is not None
    assert found.username == "carol"
    assert configuration.credentials_for("https://b.test/") is None


@pytest.mark.parametrize(
    "text", ["/srv/packages", "file:///srv", "https://", "ftp://a.test/", "https://a.test:x/", "name=/srv", ""]
)
def test_what_is_no_index_address_is_named(text: str) -> None:
    """A folder or a malformed address is refused with what to do."""
    with pytest.raises(UsageError, match="not an http or https address"):
        parse_index(text)


def test_a_refused_address_is_shown_without_its_password() -> None:
    """Even an error text holds no password."""
    with pytest.raises(UsageError) as caught:
        parse_index("ftp://me:hunter2@a.test/")
    assert "hunter2" not in str(caught.value)


@given(st.text(alphabet="abc:/@=.%19[]?#", max_size=40))
def test_any_text_is_an_index_or_a_usage_error(text: str) -> None:
    """Nothing that a user may have configured raises anything else."""
    try:
        index = parse_index(f"https://{text}")
    except UsageError:
        return
    assert "@" not in index.url.split("/")[2]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("config/uv/uv.toml", "index = [", "not valid TOML"),
        ("config/pip/pip.conf", "no section", "pip's configuration cannot be read"),
        (".netrc", "machine", "netrc"),
    ],
)
async def test_configuration_that_cannot_be_read_is_named(
    home: Variables, tmp_path: Path, path: str, text: str, expected: str
) -> None:
    """A broken file is a usage error that names it."""
    write(tmp_path / path, text)
    with pytest.raises(UsageError, match=expected):
        (await pypi_settings(home)).credentials_for("https://a.test/")


async def test_a_missing_certificate_bundle_is_named(home: Variables) -> None:
    """The variable that names no file is reported."""
    with pytest.raises(UsageError, match="SSL_CERT_FILE names"):
        await pypi_settings(home | {"SSL_CERT_FILE": "/nowhere.pem"})


@pytest.mark.parametrize(
    ("name", "variables", "found"),
    [
        ("corp", {}, None),
        ("corp", {"UV_INDEX_CORP_USERNAME": "me"}, ("me", "")),
        ("corp", {"UV_INDEX_CORP_PASSWORD": "pw"}, ("", "pw")),
        ("my.corp-1", {"UV_INDEX_MY_CORP_1_USERNAME": "me", "UV_INDEX_MY_CORP_1_PASSWORD": "pw"}, ("me", "pw")),
        ("corp", {"UV_INDEX_OTHER_USERNAME": "me"}, None),
    ],
)
def test_credentials_of_a_named_index(name: str, variables: Variables, found: tuple[str, str] | None) -> None:
    """Either alone is enough; an address's own are stronger."""
    credentials = parse_index(f"{name}=https://a.test/simple", variables).credentials
    assert (credentials and (credentials.username, credentials.password.get_secret_value())) == found
    own = parse_index(f"{name}=https://you@a.test/simple", variables).credentials
    assert own is not None
    assert (own.username, own.password.get_secret_value()) == ("you", "")
    assert parse_index(f"{name}=https://a.test/simple").credentials is None


@pytest.mark.parametrize("word", ["1", "true", "YES", "on", "0", "false", "", "off"])
async def test_no_index_counts_where_there_are_folders(home: Variables, tmp_path: Path, word: str) -> None:
    """Said in pip's or uv's way; without a folder there would be nothing at all."""
    refused = word.lower() in ("1", "true", "yes", "on")
    home |= {"UV_DEFAULT_INDEX": "https://a.test/simple", "UV_NO_INDEX": word}
    assert await urls(home) == ["https://a.test/simple"]
    (tmp_path / "wheels").mkdir()
    assert await urls(home | {"UV_FIND_LINKS": str(tmp_path / "wheels")}) == (
        [] if refused else ["https://a.test/simple"]
    )


async def test_each_way_in_which_uv_toml_names_indexes(home: Variables, tmp_path: Path) -> None:
    """The table for pip is stronger; lists, tables and one address count, and what is none of them does not."""
    write(
        tmp_path / "config/uv/uv.toml",
        'index-url = "https://weak.test/s"\nextra-index-url = ["https://c.test/s", "https://a.test/s"]\n'
        'index = [{url = "https://b.test/s"}, {name = "no address"}, 3, {url = 4}]\n'
        '[pip]\nindex-url = "https://strong.test/s"\nextra-index-url = ["https://a.test/s"]\n',
    )
    extra = ["https://a.test/s", "https://b.test/s", "https://c.test/s"]
    assert await urls(home) == [*extra, "https://strong.test/s"]
    alone = home | {"UV_NO_CONFIG": "1", "UV_DEFAULT_INDEX": "https://v.test/s"}
    assert await urls(alone) == ["https://v.test/s"]
    write(
        tmp_path / "config/uv/uv.toml",
        'pip = 1\nindex = "x"\nextra-index-url = "y"\nindex-url = "https://d.test/s"\n',
    )
    assert await urls(home) == ["https://d.test/s"]
