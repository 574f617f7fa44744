"""Tests of groundup.registries.pypi.pages."""

import contextlib
import hashlib
import json
import string
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from groundup.domain.errors import UsageError
from groundup.registries.client import cutoff_instant
from groundup.registries.pypi.pages import (
    HTML_TYPE,
    JSON_TYPE,
    ProjectFile,
    ProjectPage,
    SimplePageError,
    is_name,
    lacks_all,
    normalised,
    page_as_html,
    page_as_json,
    parse_page,
    shortened,
    wants_json,
)

PAGE = "http://index.test/simple/demo/"
ATTRIBUTE = st.text(alphabet=string.printable.replace("\x0b", "").replace("\x0c", ""), min_size=1, max_size=30)
FILES = st.builds(
    ProjectFile,
    filename=st.from_regex(
        r"[a-z][a-z0-9_]{0,10}-[0-9](\.[0-9]){0,2}(\.tar\.gz|-py3-none-any\.whl)", fullmatch=True
    ),
    url=st.just("http://files.test/a/b%20c"),
    hashes=st.binary(max_size=4).map(lambda data: {"sha256": hashlib.sha256(data).hexdigest()}) | st.just({}),
    requires_python=st.none() | ATTRIBUTE,
    upload_time=st.none() | st.just("2023-08-14T13:22:50.869044Z"),
    yanked=st.booleans() | ATTRIBUTE,
    metadata=st.none() | st.just({}) | st.just({"sha256": "0" * 64}),
)


@given(st.lists(FILES, max_size=5))
def test_both_forms_say_the_same(files: list[ProjectFile]) -> None:
    """What is written in either form reads back as it was, whatever the attributes hold."""
    page = ProjectPage(name="demo", files=tuple(files))
    for kind, text in (
        (JSON_TYPE, page_as_json(page, lambda file: file.url)),
        (HTML_TYPE, page_as_html(page, lambda file: file.url)),
    ):
        assert parse_page("demo", PAGE, kind, text) == page


@example(body=b"<![\x00", kind=HTML_TYPE)
@given(
    st.binary(max_size=400), st.sampled_from([JSON_TYPE, HTML_TYPE, "text/html; charset=utf-8", "image/png", ""])
)
def test_any_bytes_are_a_page_or_an_error(body: bytes, kind: str) -> None:
    """An index that answers nonsense is distinguished; nothing else is raised."""
    with contextlib.suppress(SimplePageError):
        parse_page("demo", PAGE, kind, body)


@given(st.text(max_size=40))
def test_a_name_has_one_spelling(name: str) -> None:
    """Normalising twice is normalising once, and what is no name is refused."""
    try:
        once = normalised(name)
    except ValueError:
        return
    assert normalised(once) == once
    assert normalised(name.upper()) == once


@pytest.mark.parametrize("name", ["", "../etc", "a/b", "-x", "x-", "a b", "é", "x" * 200, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    """Nothing that could be a path or an address passes for a project's name."""
    with pytest.raises(ValueError, match="is not a project name"):
        normalised(name)


def test_spellings_of_one_name_are_one() -> None:
    """A refused name cannot be had by writing it differently."""
    assert {normalised(name) for name in ("Foo.Bar", "foo_bar", "FOO--bar", "foo-._bar")} == {"foo-bar"}


def test_relative_addresses_and_base_are_resolved() -> None:
    """Files of indexes that link relatively, or name a base, are found."""
    plain = b'<a href="../../files/demo-1.0.tar.gz#sha256=' + b"a" * 64 + b'">demo-1.0.tar.gz</a>'
    (file,) = parse_page("demo", PAGE, "text/html", plain).files
    assert file.url == "http://index.test/files/demo-1.0.tar.gz"
    assert file.hashes == {"sha256": "a" * 64}
    (file,) = parse_page(
        "demo", PAGE, "text/html", b'<base href="http://b.test/x/">' + plain.replace(b"../../", b"")
    ).files
    assert file.url == "http://b.test/x/files/demo-1.0.tar.gz"


@pytest.mark.parametrize(
    "anchor",
    [
        b'<a href="file:///etc/passwd">demo-1.0.tar.gz</a>',
        b'<a href="javascript:0">demo-1.0.tar.gz</a>',
        b'<a href="http://[bad/">demo-1.0.tar.gz</a>',
        b'<a href="x.exe">x.exe</a>',
        b'<a href="..%2f..%2fdemo-1.0.tar.gz"></a>',
        b"<a>demo-1.0.tar.gz</a><a",
    ],
)
def test_links_that_are_no_package_files_are_left_out(anchor: bytes) -> None:
    """A page cannot make the gateway read local files or use strange names."""
    assert parse_page("demo", PAGE, "text/html", anchor).files == ()


def test_a_hash_that_cannot_be_verified_is_not_believed() -> None:
    """Unknown algorithms and malformed digests are dropped, so they never count as verified."""
    body = (
        b'{"files": [{"filename": "d-1.tar.gz", "url": "d", "hashes": {"sha256": "abc", "crc": "00", "MD5": "'
        + b"A" * 32
        + b'"}}]}'
    )
    (file,) = parse_page("d", PAGE, JSON_TYPE, body).files
    assert file.hashes == {"md5": "a" * 32}


def test_another_major_version_is_not_guessed_at() -> None:
    """An index that speaks a future version is an error, not a misreading."""
    with pytest.raises(SimplePageError, match=r"version '2\.0'"):
        parse_page("d", PAGE, JSON_TYPE, b'{"meta": {"api-version": "2.0"}, "files": []}')


def test_the_cutoff_counts_a_date_to_its_end() -> None:
    """A date includes its whole day in UTC; files of unknown age are never older than a cut-off."""
    cutoff = cutoff_instant("2024-01-31")
    assert cutoff == datetime(2024, 2, 1, tzinfo=UTC)
    file = ProjectFile(filename="d-1.tar.gz", url="u", upload_time="2024-01-31T23:59:59Z")
    assert file.uploaded_by(cutoff)
    assert not file.but(upload_time="2024-02-01T00:00:00Z").uploaded_by(cutoff)
    assert not file.but(upload_time=None).uploaded_by(cutoff)
    assert not file.but(upload_time="yesterday").uploaded_by(cutoff)
    with pytest.raises(UsageError, match="RFC 3339"):
        cutoff_instant("soon")


@pytest.mark.parametrize(
    ("accept", "json_wanted"),
    [
        ("", False),
        ("text/html", False),
        ("*/*", False),
        (JSON_TYPE, True),
        (f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.01", True),
        (f"{JSON_TYPE};q=0.1, text/html", False),
        (f"{JSON_TYPE};q=nonsense", False),
        (f"{JSON_TYPE};q=0", False),
        (f"{JSON_TYPE};q=0.5, text/html;q=0.5", True),
        (f"text/html;q=0.6, {JSON_TYPE};q=0.5", False),
        (f"text/plain, {JSON_TYPE};q=0.5", True),
        (f"{JSON_TYPE};charset=utf-8;q=0.2, */*;q=0.3", False),
        ("application/vnd.pypi.simple.latest+json", True),
        (f"{JSON_TYPE};q=0.9, {JSON_TYPE};q=0.1, text/*;q=0.5", True),
        (f"{JSON_TYPE};q=2, text/html", False),
        (", " * 49 + JSON_TYPE, True),
        (", " * 50 + JSON_TYPE, False),
    ],
)
def test_clients_get_the_form_they_like(accept: str, json_wanted: bool) -> None:
    """pip and uv get JSON, a browser or an old client HTML."""
    assert wants_json(accept) is json_wanted


@pytest.mark.parametrize(
    "name",
    [
        *("demo-1.0-py3-none-any.whl", "demo-1.00-1-py2.py3-none-any.whl", "a_b-2!1.0rc1-cp311-cp311-linux.whl"),
        *("a__b-1.0-py3-none-any.whl", "a-1.0-x-py3-none-any.whl", "a-1.0-py3-none.whl", "a-b-py3-none-any.whl"),
        *("a b-1-py3-none-any.whl", "a-1.0-py36+-none-any.whl", "a-1.0-py3-none-any-b-c.whl", "a-.whl", "-.whl"),
    ],
)
def test_the_version_of_a_wheel_is_the_one_that_packaging_reads(name: str) -> None:
    """The quick way to read a version agrees with the standard's own, also about names that tell none."""
    try:
        expected = str(parse_wheel_filename(name)[1])
    except InvalidWheelFilename:
        expected = None
    assert ProjectFile(filename=name, url="http://files.test/a").version == expected


FULL = ProjectFile(
    filename="demo-1.0-py3-none-any.whl",
    url="http://files.test/w",
    hashes={"md5": "1" * 32, "sha256": "2" * 64},
    requires_python=">=3.8",
    size=5,
    upload_time="2023-08-14T13:22:50Z",
    yanked="broken & old",
    metadata={"sha256": "3" * 64},
)
BARE = ProjectFile(filename="demo-0.9.tar.gz", url="http://files.test/s", yanked=True, metadata={})


def test_a_page_in_json_to_the_key() -> None:
    """What is not known has no key; versions are sorted; metadata of unknown hashes is there."""
    page = ProjectPage(name="demo", files=(FULL, BARE, BARE.but(filename="odd.zip", yanked=False, metadata=None)))
    assert json.loads(page_as_json(page, lambda file: f"/x/{file.filename}")) == {
        "meta": {"api-version": "1.1"},
        "name": "demo",
        "versions": ["0.9", "1.0"],
        "files": [
            {
                "filename": FULL.filename,
                "url": f"/x/{FULL.filename}",
                "hashes": FULL.hashes,
                "yanked": "broken & old",
                "requires-python": ">=3.8",
                "size": 5,
                "upload-time": "2023-08-14T13:22:50Z",
                "core-metadata": {"sha256": "3" * 64},
                "dist-info-metadata": {"sha256": "3" * 64},
            },
            {
                "filename": "demo-0.9.tar.gz",
                "url": "/x/demo-0.9.tar.gz",
                "hashes": {},
                "yanked": True,
                "core-metadata": True,
                "dist-info-metadata": True,
            },
            {"filename": "odd.zip", "url": "/x/odd.zip", "hashes": {}, "yanked": False},
        ],
    }


def test_a_page_in_html_to_the_letter() -> None:
    """With the best hash that there is."""
    page = ProjectPage(name="de<mo", files=(FULL, BARE))
    metadata = f"sha256={'3' * 64}"
    assert page_as_html(page, lambda file: file.url).decode().splitlines() == [
        "<!DOCTYPE html>",
        '<html><head><meta name="pypi:repository-version" content="1.0">',
        "<title>de&lt;mo</title></head><body>",
        f'<a href="http://files.test/w#sha256={"2" * 64}" data-requires-python="&gt;=3.8" '
        f'data-yanked="broken &amp; old" data-core-metadata="{metadata}" data-dist-info-metadata="{metadata}" '
        'data-upload-time="2023-08-14T13:22:50Z">demo-1.0-py3-none-any.whl</a><br>',
        '<a href="http://files.test/s" data-yanked="" data-core-metadata="true" data-dist-info-metadata="true">'
        "demo-0.9.tar.gz</a><br>",
        "</body></html>",
    ]


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("image/png", b"", "the index answered with 'image/png' instead of a project page"),
        ("", b"", "the index answered with 'no content type' instead of a project page"),
        (JSON_TYPE, b"[]", "the index answered with JSON that is not a project page"),
        (
            JSON_TYPE,
            b'{"meta": {"api-version": "10.1"}}',
            "the index speaks version '10.1' of the Simple API, not 1",
        ),
    ],
)
def test_what_is_no_page_says_why(kind: str, body: bytes, says: str) -> None:
    """In a sentence that ends behind an address."""
    with pytest.raises(SimplePageError) as caught:
        parse_page("demo", PAGE, kind, body)
    assert str(caught.value) == says


def test_what_a_page_lacks() -> None:
    """By hashes: all of what is wanted, and nothing where nothing is; the first that a cut-off hides is known."""
    page = ProjectPage(name="demo", files=(FULL, BARE.but(upload_time="2022-01-01T00:00:00Z")))
    assert lacks_all(page, frozenset({"0" * 64}))
    assert not lacks_all(page, frozenset({"0" * 64, "2" * 64}))
    assert not lacks_all(page, frozenset())
    assert shortened(page, frozenset({"2" * 64})).files == (FULL,)
    for year, first in ((2021, 2022), (2023, 2023), (2024, None)):
        hidden = page.first_after(datetime(year, 1, 1, tzinfo=UTC))
        assert (hidden and hidden.year) == first
    assert page.first_after(datetime(2022, 1, 1, tzinfo=UTC)) == datetime(2022, 1, 1, tzinfo=UTC)
    assert [file.is_source for file in page.files] == [False, True]


NAMED = "demo-1.0.tar.gz"


@pytest.mark.parametrize(
    ("body", "files"),
    [
        ('before <a href="x/download">demo-1.0.tar.gz</a> after', [NAMED]),
        ('<a href="x/download">demo<b>-1.0</b><span>.tar.gz</span></a>', [NAMED]),
        ('<a href="x/download">demo&#45;1.0.tar.gz', [NAMED]),
        ('<a href="x/demo-1.0.tar.gz#frag">the <i>source</i></a>', [NAMED]),
        ('<a href="x/demo%2D1.0.tar.gz">Download</a>.zip', [NAMED]),
        ('<p>demo-9.zip</p><a href="x/download">demo-1.0.tar.gz</a><p>demo-8.zip</p>', [NAMED]),
        ('<a href="x/1">a-1.zip</a><a href="x/2">b-1.zip</a>', ["a-1.zip", "b-1.zip"]),
        ('<base><base href="http://b.test/"><a href="demo-1.0.tar.gz"></a>', [NAMED]),
        ('<a href="x/download">no file</a>', []),
        ("", []),
    ],
)
def test_a_file_is_named_by_its_link_or_else_by_its_address(body: str, files: list[str]) -> None:
    """The whole text of a link counts, with all marks in it and nothing around it."""
    assert [file.filename for file in parse_page("demo", PAGE, "text/html", body.encode()).files] == files


@pytest.mark.parametrize(
    ("attributes", "yanked", "metadata"),
    [
        ("", False, None),
        ("data-yanked", True, None),
        ('data-yanked=""', True, None),
        ('data-yanked="broken"', "broken", None),
        ('data-core-metadata="true"', False, {}),
        (f'data-core-metadata="sha256={"a" * 64}"', False, {"sha256": "a" * 64}),
        (f'data-dist-info-metadata="sha256={"b" * 64}"', False, {"sha256": "b" * 64}),
        (f'data-core-metadata="sha256={"a" * 64}" data-dist-info-metadata="true"', False, {"sha256": "a" * 64}),
        ('data-core-metadata="sha256=short"', False, {}),
        ('data-core-metadata=""', False, None),
    ],
)
def test_what_a_link_says_of_its_file(attributes: str, yanked: object, metadata: object) -> None:
    """Whether it was withdrawn and why, and whether its metadata can be had."""
    (file,) = parse_page("demo", PAGE, "text/html", f'<a href="{NAMED}" {attributes}>d</a>'.encode()).files
    assert (file.yanked, file.metadata) == (yanked, metadata)
    assert (file.requires_python, file.upload_time, file.size, file.hashes) == (None, None, None, {})


@pytest.mark.parametrize(
    ("keys", "metadata"),
    [
        ({}, None),
        ({"core-metadata": False}, None),
        ({"core-metadata": None}, None),
        ({"core-metadata": True}, {}),
        ({"core-metadata": {"sha256": "a" * 64, "crc": "1"}}, {"sha256": "a" * 64}),
        ({"dist-info-metadata": True}, {}),
        ({"core-metadata": False, "dist-info-metadata": True}, None),
        ({"core-metadata": None, "dist-info-metadata": {}}, {}),
    ],
)
def test_what_json_says_of_metadata(keys: dict[str, object], metadata: object) -> None:
    """The newer of its two names counts; a file without an address, or that is none, is left out."""
    entries = [{"filename": NAMED, "url": "x", **keys}, {"filename": NAMED}, {"filename": NAMED, "url": ""}, 3]
    (file,) = parse_page("demo", PAGE, JSON_TYPE, json.dumps({"files": entries}).encode()).files
    assert (file.metadata, file.yanked, file.size) == (metadata, False, None)
    assert file.url == "http://index.test/simple/demo/x"


def test_what_is_named_in_an_error_is_short() -> None:
    """Whoever sent it decides how long it is."""
    with pytest.raises(ValueError, match="is not a project name") as caught:
        normalised("-" * 90)
    assert str(caught.value) == f"{'-' * 80!r} is not a project name"
    with pytest.raises(SimplePageError) as wrong:
        parse_page("d", PAGE, "x" * 90, b"")
    assert str(wrong.value) == f"the index answered with {'x' * 80!r} instead of a project page"
    with pytest.raises(SimplePageError) as future:
        parse_page("d", PAGE, JSON_TYPE, json.dumps({"meta": {"api-version": "2." + "0" * 40}}).encode())
    assert str(future.value) == f"the index speaks version {'2.' + '0' * 18!r} of the Simple API, not 1"


@pytest.mark.parametrize(
    ("name", "good"), [("x", True), ("x" * 128, True), ("x" * 129, False), ("a.-_b", True), ("a.", False)]
)
def test_how_long_a_name_can_be(name: str, good: bool) -> None:
    """Both ends are letters or digits."""
    assert is_name(name) is good
