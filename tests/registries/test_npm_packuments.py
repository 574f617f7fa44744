"""Tests of groundup.registries.npm: reading what registries say, whatever it is."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.registries.client import Published, cutoff_instant, first_after
from groundup.registries.npm import PackumentError, is_name, parse_packument, version_of, written
from groundup.registries.pypi.pages import ProjectFile

URL = "https://registry.example/ms"


def page(versions: dict[str, dict[str, object]], **more: object) -> bytes:
    """Return a packument."""
    found = {
        version: {"dist": {"tarball": f"{URL}/-/x-{version}.tgz"}, **rest} for version, rest in versions.items()
    }
    return json.dumps({"name": "ms", "versions": found, **more}).encode()


def test_hashes_are_read_in_both_forms() -> None:
    """Integrity may name several algorithms and options; an old package has a SHA-1 only."""
    dist = {"tarball": "x.tgz", "integrity": "sha512-AAAA?opt sha1-AQID md5-xx", "shasum": "0" * 40}
    body = json.dumps({"versions": {"1.0.0": {"dist": dist}}}).encode()
    (release,) = parse_packument("ms", URL, body, whole=False).releases.values()
    assert release.hashes == {"sha512": "000000", "sha1": "010203"}
    assert release.url == "https://registry.example/x.tgz"


def test_a_registry_without_times_gets_none() -> None:
    """An empty table of times would tell npm that nothing was published before any day."""
    assert "time" not in json.loads(parse_packument("ms", URL, page({"1.0.0": {}}), whole=False).document)


def test_two_versions_never_share_a_file_name() -> None:
    """Where a registry names two tarballs alike, the second gets the usual name."""
    dist = {"tarball": "https://registry.example/download.tgz"}
    body = json.dumps({"versions": {"1.0.0": {"dist": dist}, "2.0.0": {"dist": dist}}}).encode()
    releases = parse_packument("@a/ms", URL, body, whole=False).releases
    assert {name: release.version for name, release in releases.items()} == {
        "download.tgz": "1.0.0",
        "ms-2.0.0.tgz": "2.0.0",
    }


@pytest.mark.parametrize(
    ("versions", "latest", "expected"),
    [
        (["1.0.0", "1.10.0", "1.9.0"], "2.0.0", "1.10.0"),
        (["1.0.0", "3.0.0"], "2.0.0", "1.0.0"),
        (["2.0.0-rc.2", "2.0.0-rc.10"], "2.0.0", "2.0.0-rc.10"),
        (["not a version", "1.0.0"], "2.0.0", "1.0.0"),
    ],
)
def test_latest_of_then(versions: list[str], latest: str, expected: str) -> None:
    """The tag means the newest release of then, by the order of semantic versions, up to what it means today."""
    times = dict.fromkeys(versions, "2020-01-01T00:00:00Z") | {latest: "2022-01-01T00:00:00Z"}
    body = page({version: {} for version in times}, time=times, **{"dist-tags": {"latest": latest}})
    text = written(parse_packument("ms", URL, body, whole=False), "http://gateway", cutoff_instant("2021-01-01"))
    assert text is not None
    assert json.loads(text)["dist-tags"]["latest"] == expected


def test_a_cut_off_is_the_first_instant_that_it_hides() -> None:
    """As for Python's packages: what came in that instant is newer, for each kind of registry."""
    cutoff = cutoff_instant("2021-12-31")
    at_once = Published(published=datetime(2022, 1, 1, tzinfo=UTC))
    assert not at_once.published_by(cutoff)
    assert not ProjectFile(filename="a-1.tar.gz", url="", upload_time="2022-01-01T00:00:00Z").uploaded_by(cutoff)
    assert first_after([at_once], cutoff) == cutoff


def test_versions_without_a_time_are_not_known_to_be_old() -> None:
    """A cut-off hides what no one can date."""
    packument = parse_packument("ms", URL, page({"1.0.0": {}}), whole=False)
    assert written(packument, "http://gateway", cutoff_instant("2021-01-01")) is None
    assert not packument.dated


@given(
    st.one_of(
        st.binary(max_size=50),
        st.recursive(st.none() | st.text(), st.lists).map(repr).map(str.encode),
    )
)
def test_nonsense_is_an_error_of_its_own(body: bytes) -> None:
    """Whatever a registry sends, it is a packument or it is not."""
    with pytest.raises(PackumentError):
        parse_packument("ms", URL, body, whole=False)


def test_names() -> None:
    """What npm could have, and what is a path."""
    assert all(is_name(name) for name in ("ms", "@types/node", "JSONStream", "lodash._base", "a~b"))
    assert not any(is_name(name) for name in ("", ".", "..", "a/b", "@a/..", "a b", "a\nb", "@a", "x" * 300))
    assert version_of("@types/ms", "ms-1.0.0-rc.1.tgz") == "1.0.0-rc.1"
    assert version_of("ms", "other-1.0.0.tgz") is None
