"""Tests of groundup.registries.npm: reading what registries say, whatever it is."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.registries.client import Published, cutoff_instant, first_after
from groundup.registries.npm import (
    PackumentError,
    _newest,
    all_of_old,
    is_name,
    manifest_of,
    parse_packument,
    parse_release,
    version_of,
    written,
)
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


MANIFEST = {
    "name": "@a/ms",
    "version": "1.0.0",
    "description": "for people",
    "bin": {"ms": "m"},
    "scripts": {"postinstall": "y"},
    "dist": {"tarball": "ms-1.0.0.tgz", "shasum": "AB" * 20, "size": 1},
}
SECOND = {
    "version": "2.0.0",
    "scripts": {"test": "z", "install": ""},
    "dist": {"tarball": "../other/%6ds-2.0.0.tgz?x"},
}
WHOLE = {
    "name": "other",
    "readme": "r",
    "modified": "2023-01-01T00:00:00Z",
    "time": {
        "created": "2019-01-01T00:00:00Z",
        "modified": "2023-01-01T00:00:00Z",
        "1.0.0": "2020-01-01T00:00:00Z",
        "2.0.0": "2022-01-01T00:00:00Z",
        "3.0.0": 5,
    },
    "dist-tags": {"latest": "2.0.0", "old": "1.0.0", "next": "3.0.0-rc"},
    "versions": {"1.0.0": MANIFEST, "2.0.0": SECOND, "bad": {"dist": {}}, "worse": 3},
}
AT = "https://registry.example/npm/@a%2fms"
FIRST_TOLD = {
    "name": "@a/ms",
    "version": "1.0.0",
    "bin": {"ms": "m"},
    "hasInstallScript": True,
    "dist": {"tarball": "http://gateway/@a/ms/-/ms-1.0.0.tgz", "shasum": "AB" * 20, "size": 1},
}
SECOND_TOLD = {"version": "2.0.0", "dist": {"tarball": "http://gateway/@a/ms/-/ms-2.0.0.tgz"}}


def told(body: bytes | None) -> object:
    """Return what a gateway answers."""
    return None if body is None else json.loads(body)


def test_an_installer_gets_what_it_needs() -> None:
    """Addresses of tarballs lead to the gateway, whatever they were, and what only people read is left out."""
    packument = parse_packument("@a/ms", AT, json.dumps(WHOLE).encode(), whole=False)
    assert told(written(packument, "http://gateway")) == {
        "name": "@a/ms",
        "versions": {"1.0.0": FIRST_TOLD, "2.0.0": SECOND_TOLD},
        "dist-tags": WHOLE["dist-tags"],
        "time": {key: value for key, value in WHOLE["time"].items() if key != "3.0.0"},  # type: ignore[attr-defined]
        "modified": "2023-01-01T00:00:00Z",
    }
    assert {name: (one.version, one.url) for name, one in packument.releases.items()} == {
        "ms-1.0.0.tgz": ("1.0.0", "https://registry.example/npm/ms-1.0.0.tgz"),
        "ms-2.0.0.tgz": ("2.0.0", "https://registry.example/other/%6ds-2.0.0.tgz?x"),
    }
    assert packument.releases["ms-1.0.0.tgz"].hashes == {"sha1": "ab" * 20}


def test_who_asks_for_all_gets_all() -> None:
    """With the document's own name, readme and scripts."""
    packument = parse_packument("@a/ms", AT, json.dumps(WHOLE).encode(), whole=True)
    document = told(written(packument, "http://gateway"))
    assert isinstance(document, dict)
    assert (document["name"], document["readme"]) == ("other", "r")
    assert document["versions"]["1.0.0"] == {**MANIFEST, **FIRST_TOLD}
    assert document["versions"]["2.0.0"] == {**SECOND, **SECOND_TOLD}


def test_a_cut_off_shows_a_package_as_it_was() -> None:
    """Versions, tags and times of then; changed last at the cut-off; nothing where nothing is older."""
    packument = parse_packument("@a/ms", AT, json.dumps(WHOLE).encode(), whole=False)
    cutoff = datetime(2021, 1, 1, tzinfo=UTC)
    assert told(written(packument, "http://gateway", cutoff)) == {
        "name": "@a/ms",
        "versions": {"1.0.0": FIRST_TOLD},
        "dist-tags": {"old": "1.0.0", "latest": "1.0.0"},
        "time": {
            "created": "2019-01-01T00:00:00Z",
            "1.0.0": "2020-01-01T00:00:00Z",
            "modified": "2021-01-01T00:00:00+00:00",
        },
        "modified": "2021-01-01T00:00:00+00:00",
    }
    assert written(packument, "http://gateway", datetime(2020, 1, 1, tzinfo=UTC)) is None
    undated = told(written(all_of_old(packument), "http://gateway", datetime(2020, 1, 1, tzinfo=UTC)))
    assert isinstance(undated, dict)
    assert list(undated["versions"]) == ["1.0.0", "2.0.0"]
    for wanted, when, found in (
        ("old", None, FIRST_TOLD),
        ("latest", None, SECOND_TOLD),
        ("latest", cutoff, FIRST_TOLD),
        ("2.0.0", None, SECOND_TOLD),
        ("2.0.0", cutoff, None),
        ("next", None, None),
        ("old", datetime(2020, 1, 1, tzinfo=UTC), None),
    ):
        assert told(manifest_of(packument, wanted, "http://gateway", when)) == found


def test_one_version_names_its_own_tarball() -> None:
    """And no other one."""
    body = json.dumps(MANIFEST).encode()
    release = parse_release("@a/ms", "ms-1.0.0.tgz", AT, body)
    assert release is not None
    assert (release.version, release.published) == ("1.0.0", None)
    assert parse_release("@a/ms", "ms-1.0.1.tgz", AT, body) is None
    assert parse_release("@a/ms", "ms-1.0.0.tgz", AT, b"{}") is None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"x", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[]", "it is no JSON object"),
        (b"{}", "it names no versions"),
        (b'{"versions": []}', "it names no versions"),
        (page({"1.0.0": {"dist": {"tarball": "a", "integrity": "sha512-!"}}}), "'sha512-!' is no integrity"),
    ],
)
def test_what_is_no_packument_says_why(body: bytes, says: str) -> None:
    """In words that fit behind a registry's address."""
    with pytest.raises(PackumentError) as caught:
        parse_packument("ms", URL, body, whole=False)
    assert str(caught.value) == says


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


@pytest.mark.parametrize(
    ("versions", "latest", "newest"),
    [
        (["1.0.0", "2.0.0-a"], None, "1.0.0"),
        (["1.0.0-a", "1.0.0-b"], None, "1.0.0-b"),
        (["1.0.0", "1.0.0-a"], "1.0.0", "1.0.0"),
        (["3.0.0", "4.0.0"], "2.0.0", "4.0.0"),
        (["1.0.0", "3.0.0"], "2.0.0-rc", "3.0.0"),
        (["1.0.0-a.b", "1.0.0-a.1", "1.0.0-10", "1.0.0-9"], "x", "1.0.0-a.b"),
        (["1.0.0-10", "1.0.0-9"], "x", "1.0.0-10"),
        (["v1.2.0", "1.1.9"], None, "v1.2.0"),
    ],
)
def test_the_newest_by_semantic_versions(versions: list[str], latest: object, newest: str) -> None:
    """Releases before pre-releases, not beyond today's where one is within, and numbers as numbers."""
    assert _newest(versions, latest) == newest
    assert _newest(reversed(versions), latest) == newest


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


def test_a_version_without_a_tarball_hides_no_other() -> None:
    """It cannot be installed; those after it can."""
    good = {"dist": {"tarball": "a-3.0.0.tgz"}}
    odd = {"1.0.0": {}, "1.1.0": {"dist": 1}, "1.2.0": {"dist": {"tarball": 1}}, "2.0.0": 5}
    body = json.dumps({"versions": {**odd, "3.0.0": good}}).encode()
    for whole in (True, False):
        found = parse_packument("a", URL, body, whole=whole)
        assert {name: release.version for name, release in found.releases.items()} == {"a-3.0.0.tgz": "3.0.0"}
        assert list(json.loads(found.document)["versions"]) == ["3.0.0"]
        assert manifest_of(found, "1.0.0", "http://gateway", None) is None
        assert manifest_of(found, "latest", "http://gateway", None) is None
        assert told(manifest_of(found, "3.0.0", "http://gateway", None)) is not None
