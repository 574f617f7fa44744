"""Requirements files of pip."""

from pathlib import Path, PurePosixPath

import pytest
from pip_requirements_parser import RequirementsFile  # type: ignore[import-untyped]  # it ships no types

from groundup.languages.python.requirement import RequirementsTxt, key_of_file
from groundup.manifests.records import DependencyKind, DependencySource
from tests.manifests.span_laws import assert_laws

FORMAT = RequirementsTxt()
PATH = "requirements.txt"

FULL = b"""\
# This is a header, apart from all

-i https://example.org/simple
-r base.txt
-cconstraints.txt
attrs==19.1 \\
    --hash=sha256:aaaa \\
    --hash=sha256:bbbb
    # via
    #   jsonschema
requests[security,tests] >= 2.8.1, == 2.8.* ; python_version < "2.7"  # comment
git+https://github.com/a/b.git@master#egg=b
-e git+https://github.com/a/b.git@master#egg=bb&subdirectory=x
-e .
-e ./libs/foo[x]
.[test]
./downloads/numpy-1.9.2-cp34-none-win32.whl
foo @ https://example.org/y.zip ; python_version>"3"
SomeProject == 5.4 \\
 ; python_version < '3.8'
docopt == 0.6.1             # Version Matching.
--pre
"""


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_laws(ends: bytes, bom: bytes) -> None:
    """The laws hold for all that pip reads, with either line end, with and without BOM."""
    assert_laws(FORMAT, bom + FULL.replace(b"\n", ends), PATH, most_removed=20)


def test_utf_16() -> None:
    """A file that `pip freeze >` wrote on Windows is read, and stays UTF-16."""
    data = "numpy==1.0\r\npandas\r\n".encode("utf-16")
    assert [item.name for item in FORMAT.read(data, PATH).dependencies] == ["numpy", "pandas"]
    assert_laws(FORMAT, data, PATH)
    assert FORMAT.mask(data, PATH) == "".encode("utf-16")


def test_all_forms() -> None:
    """Hashes, options, editable, local, named and unnamed locations differ; the project itself is none."""
    manifest = FORMAT.read(FULL, PATH)
    found = {item.name or item.origin: item for item in manifest.dependencies}
    assert dict(found["attrs"].details)["options"] == "--hash=sha256:aaaa --hash=sha256:bbbb"
    assert found["requests"].constraint == ">= 2.8.1, == 2.8.*"
    assert dict(found["bb"].details) == {"editable": "true", "rev": "master", "subdirectory": "x"}
    assert found["./libs/foo"].source is DependencySource.PATH
    assert found["numpy"].source is DependencySource.PATH
    assert found["foo"].source is DependencySource.URL
    assert found["SomeProject"].marker == "python_version < '3.8'"
    assert len(found) == 9
    assert [note.target for note in manifest.notes] == ["base.txt", "constraints.txt"]


def test_mask_keeps_options_and_forgets_comments() -> None:
    """A mask leaves options and comments that stand apart, and takes the comments that touch a requirement."""
    assert FORMAT.mask(FULL, PATH) == (
        b"# This is a header, apart from all\n\n-i https://example.org/simple\n-r base.txt\n-cconstraints.txt\n"
        b"-e .\n.[test]\n--pre\n"
    )


def test_names_agree_with_another_parser(tmp_path: Path) -> None:
    """The names are those that pip-requirements-parser finds, which follows pip's own code."""
    text = "".join(line for line in FULL.decode().splitlines(keepends=True) if not line.startswith(("-r", "-c")))
    (tmp_path / PATH).write_text(text)
    other = RequirementsFile.from_file(str(tmp_path / PATH))
    expected = {item.name.lower() for item in other.requirements if item.name}
    ours = {item.normalised for item in FORMAT.read(text.encode(), PATH).dependencies if item.name}
    assert ours == expected


@pytest.mark.parametrize(
    ("path", "kind", "group"),
    [
        ("requirements.txt", DependencyKind.RUNTIME, ""),
        ("requirements/base.txt", DependencyKind.RUNTIME, ""),
        ("requirements-dev.txt", DependencyKind.DEV, "requirements-dev"),
        ("test_requirements.in", DependencyKind.TEST, "test_requirements"),
        ("requirements/tests.txt", DependencyKind.TEST, "tests"),
        ("requirements/extras/redis.txt", DependencyKind.GROUP, "redis"),
        ("constraints.txt", DependencyKind.CONSTRAINT, "constraints"),
        ("docs/requirements.txt", DependencyKind.GROUP, "docs"),
    ],
)
def test_the_name_says_the_kind(path: str, kind: DependencyKind, group: str) -> None:
    """A file's name, or its folder, says what its requirements are for."""
    assert FORMAT.recognises(PurePosixPath(path))
    assert key_of_file(PurePosixPath(path))[:2] == (kind, group)


@pytest.mark.parametrize("path", ["x.egg-info/requires.txt", "notes.txt", "requirements.py", "requirements.md"])
def test_other_files_are_not_recognised(path: str) -> None:
    """What setuptools generates, prose and programs are no requirements files."""
    assert not FORMAT.recognises(PurePosixPath(path))


def test_odd_addresses() -> None:
    """An address that no URL parser would take is still an address."""
    (found,) = FORMAT.read(b"https://[x/y-1.0.tar.gz\n", PATH).dependencies
    assert (found.name, found.source) == ("y", DependencySource.URL)


@pytest.mark.parametrize(
    ("address", "source", "origin", "details"),
    [
        ("git+https://git.test#egg=a", DependencySource.GIT, "https://git.test", {}),
        ("git+https://me@git.test#egg=a", DependencySource.GIT, "https://me@git.test", {}),
        ("git+ssh://git@git.test/a@v1#egg=a", DependencySource.GIT, "ssh://git@git.test/a", {"rev": "v1"}),
        ("hg+https://hg.test/a@3#egg=a", DependencySource.URL, "https://hg.test/a", {"rev": "3", "vcs": "hg"}),
        ("https://web.test/a@1.zip#egg=a", DependencySource.URL, "https://web.test/a@1.zip", {}),
    ],
)
def test_a_revision_stands_behind_the_path_alone(
    address: str, source: DependencySource, origin: str, details: dict[str, str]
) -> None:
    """An `@` before the first path is a user, and an address of a file has no revision."""
    (found,) = FORMAT.read(f"{address}\n".encode(), PATH).dependencies
    assert (found.name, found.source, found.origin, dict(found.details)) == ("a", source, origin, details)


def test_nonsense_is_kept_as_invalid() -> None:
    """A line that is no requirement does not fail the file: it gets a detail, and is masked with the others."""
    data = b"good\n4 + 4 = 2\nbad package name\n\xff\xfe\n"
    found = FORMAT.read(data, PATH).dependencies
    assert [dict(item.details).get("invalid") is None for item in found] == [True, False, False, False]
    assert FORMAT.mask(data, PATH) == b""
