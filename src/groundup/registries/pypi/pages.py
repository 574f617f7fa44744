"""Project pages of the Simple API: read from an index in either form, written for a sandbox in either form.

Pure: no I/O. Pages come from strangers, so what is not understood is left out, never trusted.
"""

import functools
import html
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from html.parser import HTMLParser
from string import hexdigits
from typing import Annotated, NotRequired
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, Field, OnErrorOmit, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict, Unpack

from groundup.domain.records import Record
from groundup.languages.spelling import python_name
from groundup.registries.client import instant

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
ACCEPTED = f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.01"

_SUFFIXES = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz")
_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}")
_WHEEL = re.compile(r"(?!.*__.*?-)[\w.]+-(?P<version>[^-]+)(-\d[^-]*)?-[^-+]+(-[^-]+){2}\.whl")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_HASHES = {"sha256": 64, "sha512": 128, "sha384": 96, "blake2b": 128, "sha3_256": 64, "sha1": 40, "md5": 32}
"""By how many digits each has, the best first."""
_WHOLE = re.compile(r"https?://[A-Za-z0-9.-]+(/[\w.~%+!-]+)+", re.ASCII)


class SimplePageError(ValueError):
    """A page that is not one of the Simple API's."""


class ProjectFile(Record):
    """One file that a project page offers."""

    filename: str
    url: str
    hashes: dict[str, str] = {}
    requires_python: str | None = None
    size: int | None = None
    upload_time: str | None = None
    yanked: bool | str = False
    metadata: dict[str, str] | None = Field(
        default=None, description="hashes of the separate metadata file; None: the index offers none"
    )

    @property
    def version(self) -> str | None:
        """The version that the file's name tells; None when it tells none."""
        if self.filename.endswith(".whl"):
            wheel = _WHEEL.fullmatch(self.filename)  # packaging would read all tags as well
            return None if wheel is None else spelled_version(wheel["version"])
        try:
            return str(parse_sdist_filename(self.filename)[1])
        except InvalidSdistFilename:
            return None

    @property
    def is_source(self) -> bool:
        return not self.filename.endswith(".whl")

    def uploaded_by(self, cutoff: datetime) -> bool:
        """Whether it is known to have been on the index before *cutoff*; without an upload time it is not."""
        uploaded = instant(self.upload_time)
        return uploaded is not None and uploaded < cutoff


class ProjectPage(Record):
    """All files that one index offers under a name."""

    name: str
    files: tuple[ProjectFile, ...] = ()

    def first_after(self, cutoff: datetime) -> datetime | None:
        """Return when the first file came that *cutoff* hides; None: none is known to."""
        dates = (instant(file.upload_time) for file in self.files)
        return min((date for date in dates if date is not None and date >= cutoff), default=None)


def shortened(page: ProjectPage, wanted: frozenset[str]) -> ProjectPage:
    files = tuple(file for file in page.files if file.hashes.get("sha256") in wanted)
    return page.but(files=files)


def lacks_all(page: ProjectPage, wanted: frozenset[str]) -> bool:
    """Whether *page* has none of the files *wanted*, by sha256; where none are wanted it lacks nothing."""
    return bool(wanted) and not any(file.hashes.get("sha256") in wanted for file in page.files)


@functools.lru_cache(maxsize=65536)
def spelled_version(version: str) -> str | None:
    """Return *version* in its one spelling; None when it is none."""
    try:
        return str(Version(version))
    except InvalidVersion:
        return None


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def normalised(name: str) -> str:
    """Return the one spelling of a project's *name*; raise `ValueError` when it cannot be a name."""
    if not is_name(name):
        raise ValueError(f"{name[:80]!r} is not a project name")
    return python_name(name)


def parse_page(name: str, url: str, content_type: str, body: bytes) -> ProjectPage:
    """Read the page that an index sent for *name* from *url*. Raises `SimplePageError`."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in {JSON_TYPE, "application/json"}:
        return _parse_json(name, url, body)
    if kind in {HTML_TYPE, "text/html", "application/xhtml+xml"}:
        return _parse_html(name, url, body)
    raise SimplePageError(f"the index answered with {kind[:80] or 'no content type'!r} instead of a project page")


def sound_hashes(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return those of *hashes* that this Python can verify, lower case."""
    kept = {}
    for algorithm, value in hashes.items():
        name, digits = algorithm.lower(), value.lower()
        if len(digits) == _HASHES.get(name) and not digits.strip(hexdigits):
            kept[name] = digits
    return kept


# --- JSON


class _JSONFile(TypedDict):
    filename: str
    url: str
    hashes: NotRequired[dict[str, str]]
    requires_python: NotRequired[Annotated[str | None, Field(alias="requires-python")]]
    size: NotRequired[int | None]
    upload_time: NotRequired[Annotated[str | None, Field(alias="upload-time")]]
    yanked: NotRequired[bool | str]
    core_metadata: NotRequired[Annotated[bool | dict[str, str] | None, Field(alias="core-metadata")]]
    dist_info_metadata: NotRequired[Annotated[bool | dict[str, str] | None, Field(alias="dist-info-metadata")]]


class _JSONMeta(BaseModel):
    api_version: str = Field(default="1.0", alias="api-version")


class _JSONPage(BaseModel):
    meta: _JSONMeta = _JSONMeta()
    files: list[OnErrorOmit[_JSONFile]] = []


def _parse_json(name: str, url: str, body: bytes) -> ProjectPage:
    try:
        page = _JSONPage.model_validate_json(body)
    except ValidationError as error:
        raise SimplePageError("the index answered with JSON that is not a project page") from error
    if page.meta.api_version.partition(".")[0] != "1":
        raise SimplePageError(f"the index speaks version {page.meta.api_version[:20]!r} of the Simple API, not 1")
    files = (_from_json(url, file) for file in page.files)
    return ProjectPage(name=name, files=tuple(file for file in files if file))


def _from_json(base: str, file: _JSONFile) -> ProjectFile | None:
    metadata = file.get("core_metadata")
    if metadata is None:
        metadata = file.get("dist_info_metadata")
    return _checked(
        base,
        filename=file["filename"],
        url=file["url"],
        hashes=file.get("hashes", {}),
        requires_python=file.get("requires_python"),
        size=file.get("size"),
        upload_time=file.get("upload_time"),
        yanked=file.get("yanked", False),
        metadata=metadata if isinstance(metadata, dict) else ({} if metadata else None),
    )


# --- HTML


class _Anchors(HTMLParser):
    """Collects anchors with their attributes and texts, and the base address."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.base: str | None = None
        self.found: list[tuple[dict[str, str | None], list[str]]] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors and the first base."""
        if tag == "base" and self.base is None:
            self.base = dict(attrs).get("href")
        elif tag == "a":
            self.found.append((dict(attrs), []))
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open = False

    def handle_data(self, data: str) -> None:
        """Keep an anchor's text."""
        if self._open:
            self.found[-1][1].append(data)


def _parse_html(name: str, url: str, body: bytes) -> ProjectPage:
    anchors = _Anchors()
    try:
        anchors.feed(body.decode("utf-8", errors="replace"))
        anchors.close()
    except AssertionError as error:  # what html.parser raises for some declarations that it cannot read
        raise SimplePageError(f"the page of {name!r} is not HTML: {error}") from error
    try:
        base = urljoin(url, anchors.base or "")
    except ValueError:
        base = url
    files = []
    for attributes, words in anchors.found:
        kept = _from_anchor(base, attributes, "".join(words).strip())
        if kept:
            files.append(kept)
    return ProjectPage(name=name, files=tuple(files))


def _from_anchor(base: str, attributes: Mapping[str, str | None], text: str) -> ProjectFile | None:
    address, fragment = urldefrag(attributes.get("href") or "")
    algorithm, _, value = fragment.partition("=")
    metadata = attributes.get("data-core-metadata") or attributes.get("data-dist-info-metadata")
    kind, _, digits = (metadata or "").partition("=")
    last = unquote(address.rpartition("/")[2])
    yanked = attributes.get("data-yanked") if "data-yanked" in attributes else False
    return _checked(
        base,
        filename=text if text.endswith(_SUFFIXES) else last,
        url=address,
        hashes={algorithm: value} if value else {},
        requires_python=attributes.get("data-requires-python") or None,
        upload_time=attributes.get("data-upload-time") or None,
        yanked=True if yanked is None or yanked == "" else yanked,
        metadata=({kind: digits} if digits else {}) if metadata else None,
    )


class _Offered(TypedDict):
    """What an index says of a file; see `ProjectFile`."""

    filename: str
    url: str
    hashes: dict[str, str]
    requires_python: str | None
    size: NotRequired[int | None]
    upload_time: str | None
    yanked: bool | str
    metadata: dict[str, str] | None


def _checked(base: str, **file: Unpack[_Offered]) -> ProjectFile | None:
    """Return a file with an absolute address and usable hashes; None when it cannot be fetched or named."""
    address = file["url"]
    if not address or not _FILENAME.fullmatch(file["filename"]) or not file["filename"].endswith(_SUFFIXES):
        return None
    if not _WHOLE.fullmatch(address):  # else it is what the rest would make of it
        try:
            address = urldefrag(urljoin(base, address))[0]
            parts = urlsplit(address)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            return None
        if not usable:
            return None
    file["url"], file["hashes"] = address, sound_hashes(file["hashes"])
    if file["metadata"] is not None:
        file["metadata"] = sound_hashes(file["metadata"])
    return ProjectFile(**file)


# --- writing


def page_as_json(page: ProjectPage, address: Callable[[ProjectFile], str]) -> bytes:
    """Return the JSON form; *address* says where the reader finds a file."""
    files: list[dict[str, object]] = []
    for file in page.files:
        entry: dict[str, object] = {
            "filename": file.filename,
            "url": address(file),
            "hashes": file.hashes,
            "yanked": file.yanked,
        }
        if file.requires_python is not None:
            entry["requires-python"] = file.requires_python
        if file.size is not None:
            entry["size"] = file.size
        if file.upload_time is not None:
            entry["upload-time"] = file.upload_time
        if file.metadata is not None:
            entry["core-metadata"] = entry["dist-info-metadata"] = file.metadata or True
        files.append(entry)
    versions = sorted({version for file in page.files if (version := file.version)})
    meta = {"api-version": "1.1"}
    return to_json({"meta": meta, "name": page.name, "versions": versions, "files": files})


def page_as_html(page: ProjectPage, address: Callable[[ProjectFile], str]) -> bytes:
    """Return the HTML form; *address* says where the reader finds a file."""
    lines = ["<!DOCTYPE html>", '<html><head><meta name="pypi:repository-version" content="1.0">']
    lines += [f"<title>{html.escape(page.name)}</title></head><body>"]
    for file in page.files:
        best = next((name for name in _HASHES if name in file.hashes), None)
        attributes = {"href": address(file) + (f"#{best}={file.hashes[best]}" if best else "")}
        if file.requires_python:
            attributes["data-requires-python"] = file.requires_python
        if file.yanked is not False:
            attributes["data-yanked"] = file.yanked if isinstance(file.yanked, str) else ""
        if file.metadata is not None:
            digest = next((f"{name}={file.metadata[name]}" for name in _HASHES if name in file.metadata), "true")
            attributes["data-core-metadata"] = attributes["data-dist-info-metadata"] = digest
        if file.upload_time:
            attributes["data-upload-time"] = file.upload_time
        written = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
        lines.append(f"<a {written}>{html.escape(file.filename)}</a><br>")
    return "\n".join([*lines, "</body></html>", ""]).encode()


def wants_json(accept: str) -> bool:
    """Whether a client with this Accept header likes JSON no less than HTML."""
    best = {"json": 0.0, "html": 0.0}
    for part in accept.split(",")[:50]:
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                quality = _quality(parameter[2:])
        if kind in {JSON_TYPE, "application/vnd.pypi.simple.latest+json"}:
            best["json"] = max(best["json"], quality)
        elif kind in {HTML_TYPE, "text/html", "*/*", "text/*"}:
            best["html"] = max(best["html"], quality)
    return best["json"] > 0 and best["json"] >= best["html"]


def _quality(text: str) -> float:
    return float(text) if re.fullmatch(r"[01](\.\d{0,3})?", text) else 0.0
